"""Fast GCV for two classes: regression on the labels, and probabilities from left-out values.

GCV is an estimate of a squared error, so the machine is the regressor's, on targets +1 and -1; what
it estimates is `2 p - 1`. (On the weighted least squares of a logistic model, GCV would have to be
compared across weights that move with the model, and classes that can be separated have no
minimum.) The value of row i without it is known in closed form,

    f_(-i) = t_i - (t_i - f_i) / (1 - h_i),    h_i = phi_i' S^-1 phi_i + 1 / N,

with the basis functions and ridges held. A logistic function of these values,
`p = sigmoid(a f + b)`, is fitted to the labels drawn in a little (Platt, 1999); `a` and `b` go into
the weights. Values of the training rows themselves would say too much.

Symbols: `t` (N,) labels, `f` (N,) values, `h` (N,) leverages, weights as copies of rows, of which
one is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from greedygp.greedy import Path
from greedygp.linear.algorithms import ClassificationAlgorithm, FastGCV, Random, Watch
from greedygp.linear.dictionary import Dictionary
from greedygp.linear.laplace import find_mode
from greedygp.linear.posterior import CalibratedMode
from greedygp.linear.selection import LinearSelection
from greedygp.progress import NEVER, Deadline

__all__ = ["FastGCVClassification", "LabelProblem", "left_out_values"]

LARGEST_LEVERAGE = 1.0 - 1e-6  # of a row; beyond it nothing is known of its value without it
PENALTY = 1e-6  # of the slope of the calibration


class LabelProblem:
    """A two-class problem as one of regression on +1 and -1.

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
        self.labels, self.weights = labels, weights
        self.dictionary = columns.reweighted(weights, intercept)
        self.targets = 2.0 * labels - 1.0
        self.t, self.mean = self.dictionary.centred(self.targets)


def left_out_values(
    lines: np.ndarray, t: np.ndarray, w: np.ndarray, inverse: np.ndarray, extra: float
) -> np.ndarray:
    """Return the value of each row by the model without it, from columns that are centred.

    Parameters
    ----------
    lines : (m, N) array
        Not weighted.
    t : (N,) array
        Targets less their mean.
    w : (m,) array
    inverse : (m, m) array
        `S^-1`.
    extra : float
        The leverage of the intercept.
    """
    leverage = np.einsum("ij,ij->j", lines, inverse @ lines) + extra
    left = np.maximum(1.0 - leverage, 1.0 - LARGEST_LEVERAGE)
    return t - (t - w @ lines) / left


class LabelSelection:
    """A regressor's selection on the labels; `mode` is the classifier that it would be now.

    Parameters
    ----------
    problem : LabelProblem
    algorithm : FastGCV
    rng : numpy.random.Generator
    """

    fields = LinearSelection.fields

    def __init__(self, problem: LabelProblem, algorithm: FastGCV, rng: Random):
        self.problem = problem
        self.inner = algorithm.start(problem.dictionary, problem.t, rng)
        self.actions = Path(LinearSelection.fields)

    @property
    def mode(self) -> CalibratedMode:
        """The weights, calibrated."""
        problem, state = self.problem, self.inner.state
        dictionary, chosen = problem.dictionary, list(state.chosen)
        m = len(chosen)
        means = dictionary.means[chosen]
        slope, offset = self._calibration()
        w = slope * state.w
        intercept = offset + slope * problem.mean - float(w @ means)
        alpha = state.zeta / max(self.inner.reported.noise(state), 1e-300)
        return CalibratedMode(
            chosen, alpha, w, intercept, np.nan, np.zeros((m, m)), self.inner.reported_value
        )

    best = mode

    def _calibration(self) -> tuple[float, float]:
        """Return slope and offset of the log odds by the left-out values."""
        problem, state = self.problem, self.inner.state
        positive = float(problem.weights @ problem.labels)
        negative = float(np.sum(problem.weights)) - positive
        low, high = 1.0 / (negative + 2.0), (positive + 1.0) / (positive + 2.0)
        prior = 0.0, float(logit((positive + 1.0) / (positive + negative + 2.0)))
        if not state.size:
            return prior
        dictionary = problem.dictionary
        root = 1.0 if dictionary.root is None else dictionary.root
        extra = 1.0 / dictionary.total if dictionary.intercept else 0.0
        values = problem.mean + left_out_values(
            state.lines / root, problem.targets - problem.mean, state.w, state.inverse, extra
        )
        drawn_in = np.where(problem.labels > 0, high, low)
        (slope, offset), *_ = find_mode(
            values[None], drawn_in, problem.weights, np.array([PENALTY]), True, np.zeros(2)
        )
        return (float(slope), float(offset)) if slope > 0.0 else prior


@dataclass(frozen=True)
class FastGCVClassification(ClassificationAlgorithm):
    """Minimise GCV of the labels; parameters as :class:`FastGCV`."""

    step_name = None
    problem = LabelProblem

    start_from: str = "rfs"
    first: str = "gcv"

    @property
    def _regression(self) -> FastGCV:
        return FastGCV(
            self.tol, self.max_basis, self.max_iter, self.working_set, self.start_from, self.first
        )

    def start(self, problem: LabelProblem, rng: Random) -> LabelSelection:
        """Return the empty model."""
        return LabelSelection(problem, self._regression, rng)

    def run(
        self, selection: LabelSelection, watch: Watch | None = None, deadline: Deadline = NEVER
    ) -> Path:
        """Choose basis functions; `watch` is called after every action."""

        def look(path: Path) -> bool:
            selection.actions = path
            return watch is not None and watch(path)

        selection.actions = self._regression.run(selection.inner, look, deadline)
        return selection.actions
