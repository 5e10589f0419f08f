"""The relevance vector machine for two classes: Laplace's approximation around the fast loop.

With labels y in {0, 1} and `p = sigmoid(f)`, `f = Phi w + b`, the posterior of the weights at given
precisions alpha is replaced by a Gaussian at its mode. Around the mode the model looks like
regression with unit noise (Tipping and Faul, 2003, section 3.2):

    targets  f + (y - p) / beta,    row weights  beta = p (1 - p).

So the loop of the regression machine runs on the same dictionary with these weights (times the
sample weights) and noise variance one; the intercept, unpenalised, is taken out by weighted
centring as there. After a limited number of additions the mode is found again by Newton's method
and the weights and targets are renewed, until neither actions nor the approximate evidence

    log p(y | w, b) - 1/2 w'A w + 1/2 log|A| - 1/2 log|H|

change any more, H being the Hessian at the mode. A renewal costs a product of N x M with the m
chosen columns; so does the next one with what follows. The best model seen is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import expit

from greedygp.linear.dictionary import Dictionary
from greedygp.linear.evidence import Evidence
from greedygp.linear.fitting import make_pool
from greedygp.linear.loop import Limits, Loop, Path
from greedygp.linear.state import LinearState

__all__ = ["Mode", "fast_rvm_classifier", "find_mode"]

SMALLEST_WEIGHT = 1e-6  # of a row, relative to its sample weight
GROWTH = 0.25  # additions between renewals, relative to the size
FEWEST = 3  # but at least so many


@dataclass
class Mode:
    """A model: columns, precisions, weights at the mode, and the Hessian there."""

    chosen: list[int]
    alpha: np.ndarray
    w: np.ndarray
    intercept: float
    log_evidence: float
    covariance: np.ndarray  # of the weights, then of the intercept where there is one


def find_mode(
    lines: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    alpha: np.ndarray,
    intercept: bool,
    start: np.ndarray,
    max_iter: int = 50,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the mode (w, then b), the Cholesky factor of the Hessian, the penalised likelihood.

    Parameters
    ----------
    lines : (m, N) array
        The columns as they are: neither weighted nor centred.
    labels, weights : (N,) arrays
    alpha : (m,) array
    intercept : bool
    start : (m,) or (m + 1,) array
    """
    A = np.vstack([lines, np.ones(lines.shape[1])]) if intercept else lines
    penalty = np.append(alpha, 0.0) if intercept else alpha

    def penalised(w: np.ndarray) -> tuple[float, np.ndarray]:
        f = w @ A
        value = float(weights @ (labels * f - np.logaddexp(0.0, f)) - 0.5 * penalty @ w**2)
        return value, f

    w = start.copy()
    value, f = penalised(w)
    for _ in range(max_iter):
        p = expit(f)
        gradient = A @ (weights * (labels - p)) - penalty * w
        L = _factor(A, weights * _curvature(p), penalty)
        step = scipy.linalg.cho_solve((L, True), gradient, check_finite=False)
        gain = float(gradient @ step)
        scale = 1.0
        while True:  # Newton's step, halved until it does not overshoot
            new_value, new_f = penalised(w + scale * step)
            if new_value >= value - 1e-12 * abs(value) or scale < 1e-8:
                break
            scale *= 0.5
        w, value, f = w + scale * step, new_value, new_f
        if gain < 1e-10 * max(1.0, abs(value)):
            break
    return w, _factor(A, weights * _curvature(expit(f)), penalty), value


def _curvature(p: np.ndarray) -> np.ndarray:
    return np.maximum(p * (1.0 - p), SMALLEST_WEIGHT)


def _factor(A: np.ndarray, beta: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    H = (A * beta) @ A.T
    H[np.diag_indices(len(H))] += penalty
    H[np.diag_indices(len(H))] += 1e-13 * np.diagonal(H)
    return scipy.linalg.cholesky(H, lower=True, check_finite=False)


class _Machine:
    """The mode of a changing set of columns."""

    def __init__(self, plain: Dictionary, labels: np.ndarray, weights: np.ndarray, intercept: bool):
        self.plain, self.labels, self.weights = plain, labels, weights
        self.intercept = intercept

    def mode(self, chosen: list[int], alpha: np.ndarray, start: dict[int, float]) -> Mode:
        """Return the mode of the given columns; `start` has weights by column (-1: intercept)."""
        lines = self.plain.columns(chosen) if chosen else np.empty((0, len(self.labels)))
        first = [start.get(j, 0.0) for j in chosen] + [start.get(-1, 0.0)] * self.intercept
        if not len(first):
            value = -float(np.sum(self.weights)) * np.log(2.0)
            return Mode([], alpha, np.empty(0), 0.0, value, np.empty((0, 0)))
        w, L, value = find_mode(
            lines, self.labels, self.weights, alpha, self.intercept, np.array(first)
        )
        inverse = scipy.linalg.cho_solve((L, True), np.eye(len(L)), check_finite=False)
        log_det = 2.0 * float(np.sum(np.log(np.diagonal(L))))
        flat = 0.5 * np.log(2.0 * np.pi) if self.intercept else 0.0
        evidence = value + 0.5 * float(np.sum(np.log(alpha))) - 0.5 * log_det + flat
        m = len(chosen)
        b = float(w[m]) if self.intercept else 0.0
        return Mode(list(chosen), alpha.copy(), w[:m], b, evidence, inverse)

    def latent(self, mode: Mode) -> np.ndarray:
        """Return f at the training rows."""
        f = np.full(len(self.labels), mode.intercept)
        if mode.chosen:
            f += mode.w @ self.plain.columns(mode.chosen)
        return f


def fast_rvm_classifier(
    plain: Dictionary,
    reweighted: Callable[[np.ndarray], Dictionary],
    labels: np.ndarray,
    weights: np.ndarray,
    limits: Limits,
    working_set: int | None,
    rng: np.random.Generator,
    watch: Callable[[Path, Mode], bool] | None = None,
) -> tuple[Mode, Path]:
    """Maximise the approximate evidence; return the best model and all actions.

    Parameters
    ----------
    plain : Dictionary
        The columns without weights and intercept.
    reweighted : callable
        Returns the same dictionary with other weights of the rows (and the intercept).
    labels : (N,) array of 0 and 1
    weights : (N,) array
        Sample weights.
    limits : Limits
        `tol` is an increase of the log evidence per row.
    working_set : int or None
    rng : numpy.random.Generator
    watch : callable, optional
        Called with the path and the model after every renewal; a true result ends the run.
    """
    total = float(np.sum(weights))
    path = Path()
    tol = limits.tol * total
    machine = _Machine(plain, labels, weights, reweighted(weights).intercept)
    mode = best = machine.mode([], np.empty(0), {})
    misses = 0
    path.reason = "max_iter"
    while len(path) < limits.max_iter:
        loop = _linearised(machine, mode, reweighted, limits, tol, working_set, rng, path)
        before = len(path)
        room = max(FEWEST, int(GROWTH * loop.state.size))
        added = [0]

        def enough(path: Path, added=added, room=room) -> bool:
            added[0] += path.steps[-1][0] == "add"
            return added[0] >= room

        reason = loop.run(enough).reason
        start = dict(zip(loop.state.chosen, loop.state.w, strict=True)) | {-1: mode.intercept}
        mode = machine.mode(loop.state.chosen, loop.state.zeta.copy(), start)
        misses = 0 if mode.log_evidence > best.log_evidence + tol else misses + 1
        if mode.log_evidence > best.log_evidence:
            best = mode
        if watch is not None and watch(path, mode):
            path.reason = "callback"
            break
        if reason in ("interrupted", "ill_conditioned"):
            path.reason = reason
            break
        if len(path) == before or misses >= 5:
            path.reason = "converged"
            break
    return best, path


def _linearised(machine, mode, reweighted, limits, tol, working_set, rng, path) -> Loop:
    """Return the loop on the regression problem that the model looks like around its mode."""
    f = machine.latent(mode)
    p = expit(f)
    curvature = _curvature(p)
    dictionary = reweighted(machine.weights * curvature)
    t, _ = dictionary.centred(f + (machine.labels - p) / curvature)
    state = LinearState(dictionary, t, squares=False)
    state.start_with(mode.chosen, mode.alpha)
    pool = make_pool(state, working_set, rng)
    inner = Limits(tol, limits.max_basis, limits.max_iter)
    return Loop(state, pool, Evidence(state.dof, 1.0), inner, path=path)
