"""Data sets: stored ones from the folder named by ``GREEDYGP_DATA``, and generated ones.

A stored set is one ``.npz`` archive with ``X`` (n, d), ``y`` (n,), ``feature_names``,
``target_name``, ``task`` and, where its source has them, ``train_index`` and ``test_index``
(partitions, size) or ``fold_id`` (n,).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SUPPLIED",
    "Dataset",
    "Supplied",
    "available",
    "load",
    "make_friedman",
    "random_partition",
]

ENVIRONMENT_VARIABLE = "GREEDYGP_DATA"

# Standard deviations that give the signal-to-noise ratio of 3 in Friedman (1991); 1 for the first.
_FRIEDMAN_NOISE = {1: 1.0, 2: 125.0, 3: 0.1}

IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Supplied:
    """A data set of the papers that everyone must get for himself.

    Attributes
    ----------
    rows, inputs, targets : int
        What its file must hold: `X` (rows, inputs) and `y` (rows,), or (rows, targets) where there
        are more than one.
    source : str
        Where to get it, and how it becomes a file, in a sentence or two.
    """

    rows: int
    inputs: int
    targets: int
    source: str


SUPPLIED = {
    "sarcos": Supplied(
        48_933,
        21,
        1,
        "Get sarcos_inv.mat and sarcos_inv_test.mat from http://gaussianprocess.org/gpml/data/; "
        "X are the columns 1 to 21 of both, one after the other, y is column 22.",
    ),
    "outaouais": Supplied(
        29_000,
        37,
        1,
        "Get the labelled rows of Outaouais from the Evaluating Predictive Uncertainty Challenge "
        "(http://predict.kyb.tuebingen.mpg.de); X are its 37 inputs, y its target.",
    ),
    "humaneva": Supplied(
        35_329,
        300,
        45,
        "Ask for HumanEva-1 at http://humaneva.is.tue.mpg.de; X are histograms of shape contexts "
        "over a codebook of 300 clusters, y the 15 joints' positions relative to the root, in mm; "
        "train_index (1, 26572) and test_index (1, 8757) say which rows are which.",
    ),
}


@dataclass(frozen=True)
class Dataset:
    """One data set.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,), or (n, p) with p targets
        Floats for regression, labels -1 and +1 for classification.
    feature_names : list of str
    target_name : str
    task : {"regression", "classification"}
    partitions : list of (train, test) index arrays, or None
        The partitions that the source of the data defines.
    fold_id : ndarray of shape (n,) or None
        The test fold of each row in the source's own cross-validation.
    """

    name: str
    X: FloatArray
    y: NDArray[np.generic]
    feature_names: list[str]
    target_name: str
    task: str
    partitions: list[tuple[IntArray, IntArray]] | None = field(default=None, repr=False)
    fold_id: NDArray[np.generic] | None = field(default=None, repr=False)


def data_folder() -> Path:
    """Folder of the stored data sets, from the environment variable ``GREEDYGP_DATA``.

    Raises
    ------
    FileNotFoundError
        If the variable is not set, or names no folder.
    """
    value = os.environ.get(ENVIRONMENT_VARIABLE)
    if not value:
        raise FileNotFoundError(
            f"The environment variable {ENVIRONMENT_VARIABLE} is not set: set it to the folder "
            f"that holds the .npz data files, e.g. `export {ENVIRONMENT_VARIABLE}=~/data`."
        )
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{ENVIRONMENT_VARIABLE} is {value!r}, which is not a folder: set it to the folder "
            "that holds the .npz data files."
        )
    return folder


def available() -> list[str]:
    """Names of the stored data sets, sorted; empty when ``GREEDYGP_DATA`` names no folder."""
    try:
        folder = data_folder()
    except FileNotFoundError:
        return []
    return sorted(path.stem for path in folder.glob("*.npz"))


def load(name: str) -> Dataset:
    """Load a stored data set.

    Parameters
    ----------
    name : str
        The file's name without ``.npz``; see :func:`available`.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If ``GREEDYGP_DATA`` is not set or holds no such file; the message says what to do.
    """
    path = data_folder() / f"{name}.npz"
    if not path.is_file():
        where = f" {SUPPLIED[name].source}" if name in SUPPLIED else ""
        raise FileNotFoundError(
            f"No data set {name!r}: {path} does not exist. Put the file there, or choose one of "
            f"those present: {', '.join(available()) or 'none'}.{where}"
        )
    with np.load(path, allow_pickle=False) as archive:
        missing = [key for key in ("X", "y") if key not in archive]
        if missing:
            raise ValueError(f"{path} holds no array {' and '.join(missing)}; not a data set file.")
        X = np.asarray(archive["X"], dtype=np.float64)
        y = archive["y"]
        if name in SUPPLIED:
            _check_supplied(path, SUPPLIED[name], X, y)
        names = archive.get("feature_names")
        partitions = None
        if "train_index" in archive and "test_index" in archive:
            train, test = archive["train_index"], archive["test_index"]
            partitions = [
                (a.astype(np.intp), b.astype(np.intp)) for a, b in zip(train, test, strict=True)
            ]
        return Dataset(
            name=name,
            X=X,
            y=y,
            feature_names=_default_names(X.shape[1]) if names is None else [str(s) for s in names],
            target_name=str(archive["target_name"]) if "target_name" in archive else "y",
            task=str(archive["task"]) if "task" in archive else "regression",
            partitions=partitions,
            fold_id=archive.get("fold_id"),
        )


def _check_supplied(path: Path, wanted: Supplied, X: np.ndarray, y: np.ndarray) -> None:
    targets = (wanted.rows,) if wanted.targets == 1 else (wanted.rows, wanted.targets)
    shapes = (wanted.rows, wanted.inputs), targets
    if (X.shape, y.shape) != shapes:
        raise ValueError(
            f"{path} holds X {X.shape} and y {y.shape}; X must be {shapes[0]} and y {shapes[1]}. "
            f"{wanted.source}"
        )


def make_friedman(
    which: int,
    n: int,
    random_state: int | np.random.Generator | None = None,
    *,
    noise: float | None = None,
) -> Dataset:
    """Generate one of Friedman's three regression problems [1]_.

    1. ``y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4``, ten inputs uniform on [0, 1];
    2. ``y = sqrt(x0^2 + (x1 x2 - 1 / (x1 x3))^2)``;
    3. ``y = arctan((x1 x2 - 1 / (x1 x3)) / x0)``,

    with, in 2 and 3, x0 uniform on [0, 100], x1 on [40 pi, 560 pi], x2 on [0, 1], x3 on [1, 11].

    Parameters
    ----------
    which : {1, 2, 3}
    n : int
        Number of rows.
    random_state : int, Generator or None
    noise : float or None
        Standard deviation of the Gaussian noise; None: 1, 125 and 0.1 respectively.

    Returns
    -------
    Dataset

    References
    ----------
    .. [1] J. H. Friedman, "Multivariate adaptive regression splines", Annals of Statistics 19,
       1991.

    Examples
    --------
    >>> from greedygp.datasets import make_friedman
    >>> make_friedman(2, 200, random_state=0).X.shape
    (200, 4)
    """
    if which not in _FRIEDMAN_NOISE:
        raise ValueError(f"which must be 1, 2 or 3; got {which!r}.")
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    noise = _FRIEDMAN_NOISE[which] if noise is None else noise
    if not noise >= 0:
        raise ValueError(f"noise must not be negative; got {noise}.")
    rng = np.random.default_rng(random_state)
    if which == 1:
        X = rng.uniform(size=(n, 10))
        signal = (
            10 * np.sin(np.pi * X[:, 0] * X[:, 1])
            + 20 * (X[:, 2] - 0.5) ** 2
            + 10 * X[:, 3]
            + 5 * X[:, 4]
        )
    else:
        low, high = [0, 40 * np.pi, 0, 1], [100, 560 * np.pi, 1, 11]
        X = rng.uniform(low, high, size=(n, 4))
        reactance = X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3])
        signal = np.hypot(X[:, 0], reactance) if which == 2 else np.arctan2(reactance, X[:, 0])
    y = signal + noise * rng.standard_normal(n)
    return Dataset(
        name=f"friedman{which}",
        X=X,
        y=y,
        feature_names=_default_names(X.shape[1]),
        target_name="y",
        task="regression",
    )


def random_partition(
    n: int, n_train: int, n_test: int | None = None, seed: int = 0
) -> tuple[IntArray, IntArray]:
    """Draw disjoint random training and test rows.

    Parameters
    ----------
    n : int
        Number of rows.
    n_train, n_test : int
        Sizes; ``n_test=None`` takes all rows that are left.
    seed : int
        The same seed gives the same partition.

    Returns
    -------
    train, test : ndarrays of row numbers, in random order
    """
    n_test = n - n_train if n_test is None else n_test
    if n_train < 1 or n_test < 1 or n_train + n_test > n:
        raise ValueError(
            f"n_train and n_test must be at least 1 and sum to at most n = {n}; "
            f"got n_train = {n_train} and n_test = {n_test}."
        )
    order = np.random.default_rng(seed).permutation(n)
    return order[:n_train], order[n_train : n_train + n_test]


def _default_names(d: int) -> list[str]:
    return [f"x{k}" for k in range(d)]
