"""Writing and opening model files."""

from __future__ import annotations

import json
import platform
import warnings
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import numpy as np

from greedygp.arrays import is_foreign, to_numpy
from greedygp.persistence.contents import FORMAT, HEADER, Contents, ModelFileError, brief
from greedygp.persistence.unneeded import unneeded_hidden
from greedygp.persistence.writing import replacing

__all__ = ["load", "portable", "read_header", "save"]


# ----------------------------------------------------------------------------------------- save


def save(model: Any, path: str | Path) -> Path:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        One of greedygp's, or a scikit-learn pipeline around it.
    path : str or Path
        By convention it ends in ``.skops``. An existing file is replaced when the new one is
        complete.

    Returns
    -------
    Path

    Raises
    ------
    ModelFileError
        If the model holds something that `load` would refuse; nothing is written then.

    Examples
    --------
    >>> import tempfile, numpy as np, greedygp
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = greedygp.SparseGPRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = greedygp.save(model, f"{folder}/model.skops")
    ...     again = greedygp.load(path)
    >>> bool(np.all(again.predict(X) == model.predict(X)))
    True
    """
    skops = _skops()
    path = Path(path)
    try:
        data = skops.dumps(portable(model))
    except Exception as error:
        raise ModelFileError(
            f"This {type(model).__name__} cannot be written to {path}: {error}"
        ) from error
    with replacing(path) as temporary:
        temporary.write_bytes(data)
        with zipfile.ZipFile(temporary, "a", zipfile.ZIP_STORED) as archive:
            archive.writestr(HEADER, json.dumps(_header_of(model), indent=1))
        with temporary.open("rb") as file:
            Contents(file, path).checked()
    return path


def _header_of(model: Any) -> dict[str, Any]:
    import scipy
    import sklearn

    from greedygp import __version__

    return {
        "format": FORMAT,
        "greedygp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": type(model).__name__,
        "facts": getattr(model, "facts", None),
    }


def portable(value: Any, _known: dict[int, Any] | None = None) -> Any:
    """Return a copy of a model with NumPy arrays in place of other libraries', and no callbacks.

    Parameters
    ----------
    value : object
        Arrays, plain containers and objects of greedygp and scikit-learn are looked into; whatever
        else is met is passed on as it is.
    """
    known: dict[int, Any] = {} if _known is None else _known
    if id(value) in known:
        return known[id(value)][1]
    if is_foreign(value) and not isinstance(value, type):
        copy: Any = to_numpy(value)
    elif type(value) is dict:
        copy = {key: portable(item, known) for key, item in value.items()}
    elif type(value) in (list, tuple):
        copy = type(value)(portable(item, known) for item in value)
    elif type(value).__module__.split(".")[0] in ("greedygp", "sklearn") and hasattr(
        value, "__dict__"
    ):
        copy = object.__new__(type(value))
        known[id(value)] = value, copy
        attributes = {key: item for key, item in vars(value).items() if key != "_skl_callbacks"}
        vars(copy).update({key: portable(item, known) for key, item in attributes.items()})
    else:
        copy = value
    known[id(value)] = value, copy  # keeps the value, so that its id is not reused
    return copy


# ----------------------------------------------------------------------------------------- load


def load(path: str | Path) -> Any:
    """Open a model file written by :func:`save`, without running anything inside it.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    model
        Its predictions are bit for bit those of the model that was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, was written by a newer version, or holds anything but types of
        greedygp, NumPy and scikit-learn.
    FileNotFoundError
        If there is no such file.
    """
    path = Path(path)
    with _opened(path) as file:
        safe, trusted = Contents(file, path).checked()
        skops = _skops()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                return skops.load(safe, trusted=sorted(trusted))
        except Exception as error:
            raise ModelFileError(f"{path} is damaged: {brief(error)}") from error


def read_header(path: str | Path) -> dict[str, Any]:
    """Return the header of a model file, without opening the model.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        ``format``, versions, when it was written, the model's class, and ``facts``: what the
        command line noted of a model that it fitted, else None.
    """
    path = Path(path)
    with _opened(path) as file:
        return Contents(file, path).header


def _opened(path: Path) -> IO[bytes]:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    if not path.is_file():
        raise ModelFileError(f"{path} is not a file.")
    return path.open("rb")


def _skops() -> Any:
    try:
        with unneeded_hidden():
            import skops.io
    except ImportError as error:
        raise ImportError(
            "Saving and loading models needs skops: pip install 'greedygp[cli]' or pip install "
            "skops."
        ) from error
    return skops.io
