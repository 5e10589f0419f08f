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

change any more, H being the Hessian at the mode. A renewal costs a product of the N x M dictionary
with the m chosen columns. The best model seen is kept.

Both loops are the greedy one: a renewal is an action of the outer loop, and runs the inner one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import expit

from greedygp.greedy import Action, GreedyModel, Path, Stopping, run
from greedygp.linear.algorithms import ClassificationAlgorithm, Watch
from greedygp.linear.candidates import candidates_of
from greedygp.linear.criteria import Evidence
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.posterior import Mode
from greedygp.linear.selection import FastSelection, LinearSelection
from greedygp.linear.state import LinearState
from greedygp.progress import NEVER, Deadline

__all__ = ["FastRVMClassification", "LaplaceProblem", "LaplaceSelection", "find_mode"]

SMALLEST_WEIGHT = 1e-6  # of a row, relative to its sample weight
GROWTH = 0.25  # additions between renewals, relative to the size
FEWEST_ADDITIONS = 3  # between renewals, at least
PATIENCE = 5  # renewals without a rise of the evidence


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


class LaplaceProblem:
    """A two-class problem, and the mode of the posterior for given columns and precisions.

    Parameters
    ----------
    columns : Dictionary
        Without weights and intercept.
    labels : (N,) array of 0 and 1
    weights : (N,) array
        Sample weights.
    intercept : bool
    """

    def __init__(
        self, columns: Dictionary, labels: np.ndarray, weights: np.ndarray, intercept: bool
    ):
        self.columns, self.labels, self.weights = columns, labels, weights
        self.intercept = intercept

    def mode(self, chosen: list[int], alpha: np.ndarray, start: dict[int, float]) -> Mode:
        """Return the mode of the given columns; `start` has weights by column (-1: intercept)."""
        lines = self.columns.columns(chosen) if chosen else np.empty((0, len(self.labels)))
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

    def linearised(self, mode: Mode) -> LinearState:
        """Return the regression problem that this looks like around the mode, with its model."""
        f = np.full(len(self.labels), mode.intercept)
        if mode.chosen:
            f += mode.w @ self.columns.columns(mode.chosen)
        p = expit(f)
        curvature = _curvature(p)
        dictionary = self.columns.reweighted(self.weights * curvature, self.intercept)
        t, _ = dictionary.centred(f + (self.labels - p) / curvature)
        state = LinearState(dictionary, t, squares=False)
        state.start_with(mode.chosen, mode.alpha)
        return state


class LinearisedSelection(FastSelection):
    """The selection between two renewals: it ends after a limited number of additions.

    Parameters
    ----------
    state : LinearState
    algorithm : FastRVMClassification
    tol : float
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        state: LinearState,
        algorithm: FastRVMClassification,
        tol: float,
        rng: np.random.Generator,
    ):
        candidates = candidates_of(state, algorithm.working_set, rng)
        super().__init__(state, candidates, Evidence(state.dof, 1.0), tol, algorithm.max_basis)
        self._additions_left = max(FEWEST_ADDITIONS, int(GROWTH * state.size))

    def act(self, action: Action) -> None:
        super().act(action)
        self._additions_left -= action.name == "add"

    def done(self) -> str | None:
        return super().done() or (None if self._additions_left > 0 else "renewal")


class LaplaceSelection(GreedyModel):
    """A relevance vector machine for two classes; an action is a renewal of the approximation.

    Between two renewals the regression machine's actions are taken, by the same loop: `actions` is
    their path.

    Parameters
    ----------
    problem : LaplaceProblem
    algorithm : FastRVMClassification
    rng : numpy.random.Generator
    """

    fields = LinearSelection.fields

    def __init__(
        self, problem: LaplaceProblem, algorithm: FastRVMClassification, rng: np.random.Generator
    ):
        self.problem, self.algorithm, self.rng = problem, algorithm, rng
        self.deadline = NEVER
        self.tol = algorithm.tol * float(np.sum(problem.weights))
        self.mode = self.best = problem.mode([], np.empty(0), {})
        self.actions = Path(LinearSelection.fields)
        self._misses = 0
        self._reason: str | None = None

    @property
    def size(self) -> int:
        return len(self.mode.chosen)

    @property
    def value(self) -> float:
        return -self.mode.log_evidence

    def done(self) -> str | None:
        if self._reason is None and len(self.actions) >= self.algorithm.max_iter:
            return "max_iter"
        return self._reason

    def propose(self) -> Action:
        return Action(len(self.actions), self.value, "renewal")

    def act(self, action: Action) -> None:
        """Change the model as if it were one for regression, and find its mode, in place."""
        state = self.problem.linearised(self.mode)
        selection = LinearisedSelection(state, self.algorithm, self.tol, self.rng)
        stopping = Stopping(max_steps=self.algorithm.max_iter, deadline=self.deadline)
        reason = run(selection, stopping, path=self.actions).reason
        start = dict(zip(state.chosen, state.w, strict=True)) | {-1: self.mode.intercept}
        self.mode = self.problem.mode(state.chosen, state.zeta.copy(), start)
        now, best = self.mode.log_evidence, self.best.log_evidence
        self._misses = 0 if now > best + self.tol else self._misses + 1
        if now > best:
            self.best = self.mode
        if reason in ("interrupted", "ill_conditioned", "time_limit"):
            self._reason = reason
        elif len(self.actions) == action.index or self._misses >= PATIENCE:
            self._reason = "converged"

    def line(self, action: Action, seconds: float) -> tuple:
        return action.name, action.index, self.mode.log_evidence, seconds


@dataclass(frozen=True)
class FastRVMClassification(ClassificationAlgorithm):
    """Maximise the approximate evidence of two classes.

    `tol` is an increase of the log evidence per row; other parameters as `FastAlgorithm`.
    """

    step_name = "renewal"
    problem = LaplaceProblem

    def start(self, problem: LaplaceProblem, rng: np.random.Generator) -> LaplaceSelection:
        """Return the empty model."""
        return LaplaceSelection(problem, self, rng)

    def run(
        self, selection: LaplaceSelection, watch: Watch | None = None, deadline: Deadline = NEVER
    ) -> Path:
        """Renew until nothing changes or time is up; `watch` is called after every renewal.

        Returns
        -------
        Path
            The actions of all renewals; `selection.best` is the best model seen.
        """
        selection.deadline = deadline
        selection.actions.reason = run(selection, Stopping(deadline=deadline), watch).reason
        return selection.actions
