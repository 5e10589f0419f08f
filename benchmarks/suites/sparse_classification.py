"""Figures 2 and 3 of the additive-model paper: ways to choose the basis of a GP classifier.

Six of Raetsch's sets, enlarged as in the paper. Kernel and bias are learnt once for each partition,
by the evidence of a full GP on 500 training rows, and shared by all methods. Sites are those of the
moment that their rows came in, so a run to 320 basis vectors gives all smaller sizes:
:func:`prefix_scores`. Runs of the two methods of Figure 2 keep its curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtr

from benchmarks.frame import Method, Suite, Task
from benchmarks.suites import sparse_classification_page as page
from benchmarks.suites.raetsch import SETS, Problem, error, nlp, problem
from benchmarks.suites.sparse_classification_cells import SIZES
from greedygp.kernels import Gaussian, Kernel
from greedygp.progress import NEVER

# Test rows that the paper moved to the training part.
MOVED = {"banana": 3600, "waveform": 3600, "twonorm": 3600, "ringnorm": 3600, "splice": 1000}
ORDER = ("banana", "waveform", "twonorm", "ringnorm", "splice", "image")
SUBSET, STEPS = 500, 50
FIGURE_2 = ("waveform", "image")
POINTS = 30  # of a curve of Figure 2


def make_task(name: str) -> Task:
    title, n_train, n_test = SETS[name]
    moved = MOVED.get(name, 0)
    sizes = {"n_train": n_train, "n_test": n_test, "moved": moved, "subset": SUBSET}
    return Task(name, title, sizes)


def prepare(task: Task, partition: int) -> dict[str, Any]:
    """Variance, length scale and bias by the evidence of a full GP on random training rows."""
    from greedygp.classification.data import LabelledRows
    from greedygp.classification.start import learnt_start, starting_point

    data = problem(task, partition)
    rng = np.random.default_rng(partition)
    rows = np.sort(rng.permutation(len(data.y))[: task.parameters["subset"]])
    subset = LabelledRows(data.X[rows], data.y[rows])
    kernel = Gaussian(variance=4.0, length_scale=float(np.sqrt(data.X.shape[1])))
    found = learnt_start(
        starting_point(subset, kernel, None),
        subset,
        prior=None,
        learn_bias=True,
        max_iter=STEPS,
        deadline=NEVER,
        rng=rng,
    )
    learnt: Any = found.point
    return {
        "variance": float(learnt.kernel.variance),
        "length_scale": float(learnt.kernel.length_scale),
        "bias": float(learnt.bias),
        "negative_log_evidence": float(found.value),
        "n_rows": len(rows),
    }


def run(
    task: Task, method: Method, partition: int, prepared: Any, sizes: Sequence[int] = ()
) -> dict[str, Any]:
    """Select to the largest size; error and NLP on the test rows at each size (SIZES)."""
    from greedygp import SparseGPClassifier

    sizes = sizes or SIZES
    data = problem(task, partition)
    kernel = Gaussian(variance=prepared["variance"], length_scale=prepared["length_scale"])
    model = SparseGPClassifier(
        kernel=kernel,
        bias=prepared["bias"],
        objective=None,
        ep_passes=0,
        refine=False,
        max_basis=max(sizes),
        random_state=partition,
        **method.parameters,
    ).fit(data.X, data.y)
    sites = model.site_means_, model.site_precisions_
    scores = prefix_scores(kernel, model.bias_, model.basis_, *sites, data.X_test, sizes)
    metrics: dict[str, float] = {}
    for size, score in zip(sizes, scores, strict=True):
        metrics[f"error_{size}"] = error(data.y_test, np.where(score > 0, 1.0, -1.0))
        metrics[f"nlp_{size}"] = nlp(data.y_test, ndtr(score))
    metrics["seconds"] = float(model.path_["seconds"][-1])
    curves = {"size": sizes, "loo_loss": model.path_["value"][np.array(sizes) - 1]}
    if task.name in FIGURE_2 and method.name in page.OF_FIGURE_2:
        curves |= on_the_way(kernel, model, data)
    return {"metrics": metrics, "curves": curves}


def on_the_way(kernel: Kernel, model: Any, data: Problem) -> dict[str, Any]:
    """The curves of Figure 2: error and NLP of training and test rows as the basis grows."""
    sizes = np.unique(np.geomspace(1, model.n_basis_, POINTS).round().astype(int))
    sites = model.site_means_, model.site_precisions_
    curves: dict[str, Any] = {"on_the_way": sizes}
    for part, X, y in (("training", data.X, data.y), ("test", data.X_test, data.y_test)):
        scores = list(prefix_scores(kernel, model.bias_, model.basis_, *sites, X, sizes))
        curves[f"error_{part}"] = [error(y, np.where(s > 0, 1.0, -1.0)) for s in scores]
        curves[f"nlp_{part}"] = [nlp(y, ndtr(s)) for s in scores]
    return curves


def prefix_scores(
    kernel: Kernel,
    bias: float,
    basis: np.ndarray,
    means: np.ndarray,
    precisions: np.ndarray,
    X: np.ndarray,
    sizes: Sequence[int],
) -> Iterator[np.ndarray]:
    """``(f + b) / sqrt(1 + v)`` at the rows of X by the first ``size`` sites, for each size.

    A factor of a prefix is the prefix of the factor: with ``L L' = I + S K_uu S`` and
    ``M = L^-1 S K_u*`` the mean is the sum of the first rows of M times ``L^-1 S m``, the variance
    the kernel's less the sum of their squares.
    """
    root = np.sqrt(precisions)
    inner = np.eye(len(root)) + root[:, None] * np.asarray(kernel(basis, basis)) * root
    L = cholesky(inner, lower=True)
    M = solve_triangular(L, root[:, None] * np.asarray(kernel(basis, X)), lower=True)
    coefficient = solve_triangular(L, root * means, lower=True)
    for size in sizes:
        mean = coefficient[:size] @ M[:size]
        variance = kernel.diag(X) - np.einsum("ij,ij->j", M[:size], M[:size])
        yield (mean + bias) / np.sqrt(1.0 + np.maximum(variance, 0.0))


def applies(task: Task, method: Method) -> bool:
    """Whether a method is run on a set: optimised sites only on the sets of Figure 2."""
    return method.name != "optimized" or task.name in FIGURE_2


METHODS = [
    Method("entropy", "entropy", {"criterion": "entropy"}),
    Method("info_gain", "information gain", {"criterion": "info_gain"}),
    Method("validation", "validation (59)", {"criterion": "validation", "working_set": 59}),
    Method("adaptive1", "adaptive (1)", {"criterion": "adaptive", "working_set": 1}),
    Method("adaptive2", "adaptive (2)", {"criterion": "adaptive", "working_set": 2}),
    Method("random1", "random (1)", {"criterion": "random"}),
    Method("random2", "random (2)", {"criterion": "validation", "working_set": 2}),
    Method(
        "optimized",
        "adaptive (2), optimised sites",
        {"criterion": "adaptive", "working_set": 2, "sites": "optimized"},
    ),
]

SUITE = Suite(
    name="sparse_classification",
    title="Sparse classification: ways to choose a basis",
    tasks=[make_task(name) for name in ORDER],
    methods=METHODS,
    metrics=[f"{measure}_{size}" for measure in ("error", "nlp") for size in SIZES] + ["seconds"],
    repeats=10,
    run=run,
    render=page.render,
    prepare=prepare,
    applies=applies,
)
