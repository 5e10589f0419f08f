"""A page that explains a model: one HTML file, no network, light and dark, screen and paper."""

from __future__ import annotations

from pathlib import Path

from greedygp.persistence import replacing
from greedygp.report.page import page
from greedygp.tables.training import Trained

__all__ = ["page", "write_report"]


def write_report(trained: Trained, path: str | Path, judged_on: str | None = None) -> Path:
    """Write the report of a model, whole or not at all.

    Parameters
    ----------
    trained : Trained
        From :func:`greedygp.tables.training.train`.
    path : str or Path
    judged_on : str, optional
        Which rows the predictions are of, in words; None: as the model's facts have it.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from greedygp.report import write_report
    >>> from greedygp.tables.training import Recipe, train
    >>> table = load_diabetes(as_frame=True).frame[:80]
    >>> trained = train(table, Recipe("target", settings={"max_basis": 5, "max_iter": 2}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = write_report(trained, f"{folder}/report.html").read_text()
    >>> "How good is it?" in text
    True
    """
    if judged_on is None:
        count = len(trained.rows)
        judged_on = {
            "test": f"{count} rows that were held out",
            "leave-one-out": f"the {count} training rows, each predicted from the others",
        }.get(str(trained.model.facts.get("judged_by")), "no rows")
    text = page(trained, judged_on)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)
