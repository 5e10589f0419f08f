"""`greedygp datasets`: data to try things on, listed or written as CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from greedygp.cli.errors import Unavailable
from greedygp.cli.options import check_writable, common
from greedygp.cli.screen import Screen

if TYPE_CHECKING:
    import pandas

__all__ = ["datasets"]

BUNDLED = {
    "diabetes": ("regression", "target"),
    "iris": ("classification", "target"),
    "wine": ("classification", "target"),
    "breast_cancer": ("classification", "target"),
}
GENERATED = {"friedman1": 1, "friedman2": 2, "friedman3": 3}
GENERATED_ROWS = 1000
OPENML = ("abalone", "boston", "cpu_act", "cpu_small", "house_16H", "house_8L", "kin8nm")


@click.command(
    short_help="List data sets, or write one as CSV.",
    epilog="\b\nExamples:\n"
    "  greedygp datasets\n"
    "  greedygp datasets diabetes --out diabetes.csv\n"
    "  greedygp datasets openml:kin8nm --out kin8nm.csv",
)
@click.argument("name", required=False)
@click.option("--out", metavar="FILE", help="Default: NAME.csv.")
@common
def datasets(screen: Screen, name: str | None, out: str | None) -> None:
    """List data sets, or write the one called NAME as a CSV file.

    Sets come with scikit-learn, are generated, lie in the folder that GREEDYGP_DATA names, or are
    fetched from OpenML: openml:NAME gives any of its sets.
    """
    if name is None:
        lines = _listed()
        screen.table("Data sets", ["name", "task", "where it comes from"], lines)
        keys = ("name", "task", "source")
        screen.result({"datasets": [dict(zip(keys, line)) for line in lines]})
        return
    out = out or f"{name.removeprefix('openml:')}.csv"
    check_writable(out)
    from greedygp.persistence import replacing

    table, target = _table(name)
    with replacing(out) as temporary:
        table.to_csv(temporary, index=False)
    screen.note(f"Wrote {len(table)} rows to {out}; the target is {target!r}.")
    screen.result({"written": out, "rows": len(table), "target": target})


def _listed() -> list[tuple[str, str, str]]:
    from greedygp.datasets import available

    stored = set(available())
    lines = [(name, task, "comes with scikit-learn") for name, (task, _) in BUNDLED.items()]
    lines += [(name, "regression", "generated (Friedman 1991)") for name in GENERATED]
    lines += [(name, "-", "stored in $GREEDYGP_DATA") for name in sorted(stored)]
    lines += [(f"openml:{name}", "-", "fetched from openml.org") for name in OPENML]
    return lines


def _table(name: str) -> tuple[pandas.DataFrame, str]:
    """Return a data set as a table, and the name of its target."""
    import pandas

    from greedygp import datasets as ours
    from greedygp.tables.problems import DataProblem, did_you_mean

    if name.startswith("openml:"):
        return _fetched(name.removeprefix("openml:"))
    if name in BUNDLED:
        import sklearn.datasets

        bunch = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
        table = bunch.frame
        if "target_names" in bunch:
            table["target"] = [str(bunch.target_names[k]) for k in table["target"]]
        return table, "target"
    if name in GENERATED:
        data: Any = ours.make_friedman(GENERATED[name], GENERATED_ROWS, random_state=0)
    elif name in ours.available():
        data = ours.load(name)
    else:
        known = [line[0] for line in _listed()]
        hint = did_you_mean(name, known).replace("its columns", "the sets")
        raise DataProblem(f"There is no data set {name!r}; {hint}")
    table = pandas.DataFrame(data.X, columns=data.feature_names)
    table[data.target_name] = data.y
    return table, data.target_name


def _fetched(name: str) -> tuple[pandas.DataFrame, str]:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(name=name, as_frame=True, parser="auto", n_retries=1, delay=0.5)
    except Exception as error:
        what = " ".join(str(error).split())[:200]
        raise Unavailable(f"{name!r} could not be fetched from OpenML: {what}") from error
    return bunch.frame, str(bunch.target_names[0])
