"""Fast GCV and its rivals: Tables 1 to 4 and Figures 1 to 4 of the fast GCV paper.

FGCV, FRVM, RFS and OLS on four sets, Gaussian kernel, the width chosen for each method and
partition by 5-fold cross-validation. Beside them, on the same partitions: Orr's full model at the
width of FGCV; a full Gaussian process (a length scale for every input, by the evidence) and a
sparse one with as many basis vectors as FGCV has functions; the package fastrvm, scikit-learn's
ARDRegression on the kernel matrix, and a support vector machine, each with a search of its own.
The time of the search is kept apart from that of the fit at the width found.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import ARDRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits

from benchmarks.frame import Method, Suite, Task
from benchmarks.peers.exchange import Request
from benchmarks.peers.scripted import call
from benchmarks.suites import fast_gcv_page
from benchmarks.suites.problems import Problem, problem
from greedygp import (
    FastGCVRegressor,
    FastRVMRegressor,
    GPRegressor,
    LocalRidgeRegressor,
    OLSRegressor,
    RFSRegressor,
    SparseGPRegressor,
)
from greedygp.datasets import make_friedman
from greedygp.kernels import Gaussian
from greedygp.metrics import nmse

FOLDS = 5
TEST_SEED = 10**6  # of the one test set that all partitions of a Friedman set share
KINDS = {
    "fgcv": FastGCVRegressor,
    "frvm": FastRVMRegressor,
    "rfs": RFSRegressor,
    "ols": OLSRegressor,
}
SEARCH_ROWS = 1000  # as many as our own search for the width looks at
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # in units of the median distance, as in our own search
ARD_STEPS = 30  # of ARDRegression while it looks for its width
SVR_GRID = {"C": [1.0, 10.0, 100.0], "epsilon": [0.03, 0.1, 0.3]}

Fitted = tuple[Callable[[np.ndarray], np.ndarray], dict[str, Any]]


# Data --------------------------------------------------------------------------------------------


def partition_of(task: Task, partition: int) -> Problem:
    """Training and test part; a Friedman set has noise in its training part only."""
    if "friedman" not in task.parameters:
        return problem(task, partition)
    which, sizes = task.parameters["friedman"], task.parameters
    train = make_friedman(which, sizes["n_train"], random_state=partition)
    test = make_friedman(which, sizes["n_test"], random_state=TEST_SEED, noise=0.0)
    centre, scale = train.X.mean(axis=0), train.X.std(axis=0)
    y_mean, y_scale = float(train.y.mean()), float(train.y.std())
    return Problem(
        X=(train.X - centre) / scale,
        y=(train.y - y_mean) / y_scale,
        X_test=(test.X - centre) / scale,
        y_test=test.y,
        y_mean=y_mean,
        y_scale=y_scale,
    )


# Widths ------------------------------------------------------------------------------------------


def prepare(task: Task, partition: int) -> dict[str, Any]:
    """The width that FGCV's search chooses, and how many functions it takes there."""
    return width_of("fgcv", partition_of(task, partition), partition)


def width_of(name: str, data: Problem, seed: int) -> dict[str, float]:
    """The length scale of the standardised inputs that the estimator's own search chooses."""
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KINDS[name](cv=FOLDS, random_state=seed).fit(data.X, data.y)
    return {
        "length_scale": float(np.mean(np.atleast_1d(model.kernel_.length_scale))),
        "basis": int(model.n_basis_),
        "search_cpu_seconds": time.process_time() - start,
    }


def svr_parameters(data: Problem, seed: int) -> dict[str, float]:
    """C, epsilon and width of a support vector machine from a grid, by 5-fold cross-validation."""
    start = time.process_time()
    X, y = some_rows(data, seed)
    grid = {**SVR_GRID, "gamma": (0.5 / widths(X) ** 2).tolist()}
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(SVR(), grid, cv=folds, scoring="neg_mean_squared_error", refit=False)
    best = search.fit(X, y).best_params_
    return {
        "C": best["C"],
        "epsilon": best["epsilon"],
        "length_scale": float(np.sqrt(0.5 / best["gamma"])),
        "search_cpu_seconds": time.process_time() - start,
    }


def ard_parameters(data: Problem, seed: int) -> dict[str, float]:
    """The width of ARDRegression by one fold and few iterations: it is slow."""
    start = time.process_time()
    X, y = some_rows(data, seed)
    train, test = next(KFold(FOLDS, shuffle=True, random_state=seed).split(X))
    errors = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for width in widths(X):
            kernel = Gaussian(length_scale=float(width))
            model = ARDRegression(max_iter=ARD_STEPS).fit(kernel(X[train]), y[train])
            mean = model.predict(kernel(X[test], X[train]))
            errors[float(width)] = float(np.mean((y[test] - mean) ** 2))
    return {
        "length_scale": min(errors, key=lambda width: errors[width]),
        "search_cpu_seconds": time.process_time() - start,
    }


def some_rows(data: Problem, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random training rows for a search, at most 1000."""
    rows = np.random.default_rng(seed).permutation(len(data.X))[:SEARCH_ROWS]
    return data.X[rows], data.y[rows]


def widths(X: np.ndarray) -> np.ndarray:
    """Length scales to try: factors of the median distance between different rows."""
    norms = np.sum(X**2, axis=1)
    squares = norms[:, None] + norms - 2 * X @ X.T
    apart = squares[np.triu_indices(len(X), 1)]
    return np.array(WIDTHS) * np.sqrt(np.median(apart[apart > 1e-12]))


# Runs --------------------------------------------------------------------------------------------


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Fit at the width that is chosen, predict, measure."""
    data = partition_of(task, partition)
    if method.name == "fastrvm":
        outcome = run_fastrvm(data, partition)
    else:
        choice = choice_of(method.name, data, partition, prepared)
        outcome = run_here(FITS.get(method.name, fit_ours), method.name, data, choice)
        for name in ("length_scale", "search_cpu_seconds"):
            outcome["metrics"].setdefault(name, choice[name])
    if method.name == "fgcv":
        rfs = run_here(fit_ours, "rfs", data, choice)
        outcome["metrics"]["rfs_gcv"] = rfs["metrics"]["gcv"]  # at the width of FGCV
    mean = outcome.pop("mean")
    outcome["metrics"]["nmse"] = nmse(data.y_test, data.y_mean + data.y_scale * mean)
    return outcome


def choice_of(name: str, data: Problem, seed: int, prepared: Any) -> dict[str, float]:
    """The width and what else a method needs, by its own search or by that of FGCV."""
    if name == "svr":
        with threadpool_limits(1):
            return svr_parameters(data, seed)
    if name == "ard":
        return ard_parameters(data, seed)
    return prepared if name in AT_FGCV else width_of(name, data, seed)


def run_here(
    fit: Callable[..., Fitted], name: str, data: Problem, choice: dict[str, float]
) -> dict[str, Any]:
    """Fit in this process with one thread; warnings are kept as text."""
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wall, cpu = time.perf_counter(), time.process_time()
        predict, facts = fit(name, data, choice)
        seconds = {
            "fit_seconds": time.perf_counter() - wall,
            "fit_cpu_seconds": time.process_time() - cpu,
        }
        mean = predict(data.X_test)
    warned = sorted({str(warning.message) for warning in caught})
    return {"metrics": {**facts, **seconds}, "curves": {}, "mean": mean, "warned": warned}


def fit_ours(name: str, data: Problem, choice: dict[str, float]) -> Fitted:
    model = KINDS[name](kernel=Gaussian(length_scale=choice["length_scale"]))
    model.fit(data.X, data.y)
    facts: dict[str, Any] = {"basis": int(model.n_basis_), "actions": int(model.n_iter_)}
    if hasattr(model, "gcv_"):
        facts["gcv"] = float(model.gcv_)
    return model.predict, facts


def fit_orr(name: str, data: Problem, choice: dict[str, float]) -> Fitted:
    """Orr's full model: every weight's ridge by GCV in turn, from all functions."""
    model = LocalRidgeRegressor(kernel=Gaussian(length_scale=choice["length_scale"]))
    model.fit(data.X, data.y)
    return model.predict, {"basis": int(model.n_basis_), "gcv": float(model.gcv_)}


def fit_gp(name: str, data: Problem, choice: dict[str, float]) -> Fitted:
    """A full GP with a length scale for every input, or a sparse one of the size of FGCV."""
    size = max(int(choice["basis"]), 1)
    sparse = SparseGPRegressor(max_basis=size, patience=None, random_state=0)
    model = GPRegressor(random_state=0) if name == "gp" else sparse
    model.fit(data.X, data.y)
    basis = len(data.X) if name == "gp" else int(model.n_basis_)
    scales = model.kernel_.length_scales(data.X.shape[1])
    width = np.nan if scales is None else float(np.exp(np.mean(np.log(scales))))
    return model.predict, {"basis": basis, "length_scale": width, "search_cpu_seconds": 0.0}


def fit_ard(name: str, data: Problem, choice: dict[str, float]) -> Fitted:
    """scikit-learn's ARDRegression on the kernel at every training row."""
    kernel = Gaussian(length_scale=choice["length_scale"])
    model = ARDRegression().fit(kernel(data.X), data.y)
    return lambda X: model.predict(kernel(X, data.X)), {"basis": int(np.count_nonzero(model.coef_))}


def fit_svr(name: str, data: Problem, choice: dict[str, float]) -> Fitted:
    gamma = 0.5 / choice["length_scale"] ** 2
    model = SVR(C=choice["C"], epsilon=choice["epsilon"], gamma=gamma).fit(data.X, data.y)
    return model.predict, {"basis": len(model.support_)}


def run_fastrvm(data: Problem, seed: int) -> dict[str, Any]:
    """The package fastrvm, in its own environment, where it looks for its width, too."""
    X, y = some_rows(data, seed)
    options = {
        "widths": widths(X).tolist(),
        "search_rows": len(y),
        "folds": FOLDS,
        "seed": seed,
        "threads": 1,
    }
    answer = call("fastrvm", FASTRVM, Request(data.X, data.y, data.X_test, options))
    facts = dict(answer.facts)
    versions = facts.pop("versions")
    return {"metrics": facts, "curves": {}, "mean": answer.mean, "peer_versions": versions}


def applies(task: Task, method: Method) -> bool:
    """ARDRegression inverts matrices of all columns, Orr's model has cycles of N^3: few rows."""
    return method.name not in ("ard", "orr") or task.parameters["n_train"] <= FEW_ROWS


FASTRVM = "benchmarks.peers.scripts.fastrvm_rvr"
FITS = {"orr": fit_orr, "gp": fit_gp, "sgp": fit_gp, "ard": fit_ard, "svr": fit_svr}
AT_FGCV = ("fgcv", "orr", "gp", "sgp")  # at the width of FGCV, or of its size
FEW_ROWS = 1000

SUITE = Suite(
    name="fast_gcv",
    title="Sparse linear models: fast GCV and its rivals",
    tasks=[
        Task("friedman2", "Friedman2", {"n_train": 200, "n_test": 1000, "friedman": 2}),
        Task("friedman3", "Friedman3", {"n_train": 200, "n_test": 1000, "friedman": 3}),
        Task("boston", "Boston", {"n_train": 481, "n_test": 25}),
        Task("abalone", "Abalone", {"n_train": 3000, "n_test": 1177}),
    ],
    methods=[
        Method("fgcv", "FGCV"),
        Method("frvm", "FRVM"),
        Method("rfs", "RFS"),
        Method("ols", "OLS"),
        Method("orr", "Orr's full model"),
        Method("gp", "full GP"),
        Method("sgp", "sparse GP"),
        Method("fastrvm", "fastrvm"),
        Method("ard", "ARDRegression"),
        Method("svr", "SVR"),
    ],
    metrics=[
        "nmse",
        "basis",
        "length_scale",
        "fit_seconds",
        "fit_cpu_seconds",
        "search_cpu_seconds",
    ],
    repeats=100,
    run=run,
    render=fast_gcv_page.render,
    prepare=prepare,
    applies=applies,
)
