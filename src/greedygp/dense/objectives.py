"""Learning objectives of a full GP: the evidence, and leave-one-out measures in closed form.

The evidence is that of `greedygp.full_gp`. A measure of `greedygp.measures` is a function of the
left-out rows' residuals and variances (`loo.py`), which depend on `alpha = G y` (n, p) and on
`g = diag(G)` (n,), `G = C^-1`, `C = K + s2 diag(1 / w)`. Its gradient needs the derivatives
`A_bar = dF/dalpha` and `g_bar = dF/dg`, one adjoint

    dF/dC = -G diag(g_bar) G - (G A_bar alpha' + alpha A_bar' G) / 2,

contracted with the kernel, and what depends on s2 otherwise. An evaluation costs the Cholesky
factor and the inverse of C, as the evidence does, and one symmetric product of the size n^3 / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.linalg

from greedygp.dense.loo import LeftOut, inverse_diagonal
from greedygp.full_gp import evidence, factor_and_solve, triangle_gradient
from greedygp.hyperparameters import Evaluation, Point
from greedygp.measures import MEASURES, LooMeasure

__all__ = ["DENSE_OBJECTIVES", "DenseObjective", "Evidence", "LeaveOneOut"]

BLOCK = 256  # rows of a triangle that are handled together


class DenseObjective:
    """A learning objective as a function of the hyperparameters.

    Parameters
    ----------
    X : (n, D) array
    y : (n, p) array
    weights : (n,) array or None
        Positive.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None):
        self.X, self.y, self.weights = X, y, weights

    def __call__(self, point: Point) -> Evaluation:
        """Return the value and its gradient."""
        raise NotImplementedError

    def value(self, point: Point) -> float:
        """Return the value alone."""
        return self(point).value


class Evidence(DenseObjective):
    """The negative log marginal likelihood, a sum over rows and targets."""

    def __call__(self, point: Point) -> Evaluation:
        return evidence(point.kernel, point.noise_variance, self.X, self.y, self.weights)


class LeaveOneOut(DenseObjective):
    """A leave-one-out measure: a mean over rows and targets.

    Parameters
    ----------
    measure : LooMeasure
    X, y, weights
        As those of every objective.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.dense.objectives import LeaveOneOut
    >>> from greedygp.hyperparameters import Point
    >>> from greedygp.kernels import Gaussian
    >>> from greedygp.measures import MEASURES
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> objective = LeaveOneOut(MEASURES["loo_cve"], X, np.sin(X), None)
    >>> good, poor = (objective(Point(Gaussian(1.0, scale), 1e-4)) for scale in (1.5, 0.1))
    >>> good.value < 1e-4 < 0.1 < poor.value
    True
    """

    def __init__(
        self, measure: LooMeasure, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ):
        super().__init__(X, y, weights)
        self.measure = measure

    def __call__(self, point: Point) -> Evaluation:
        s2 = point.noise_variance
        L, alpha = self._factor(point)
        lower, _ = scipy.linalg.lapack.dpotri(L, lower=True, overwrite_c=True)
        G = _mirrored(lower)
        left_out = LeftOut(np.diagonal(G), alpha, s2, self.weights)
        r_bar, t_bar = self.measure.slopes(np, left_out.r.T, left_out.t, left_out.share)
        A_bar, g_bar, d_noise = left_out.adjoints(r_bar.T, t_bar)
        dF_dC = _inverse_adjoint(G, g_bar, alpha, G @ A_bar)
        d_noise += s2 * float(np.sum(np.diagonal(dF_dC) / left_out.w))
        gradient = triangle_gradient(point.kernel, dF_dC, self.X)
        return Evaluation(left_out.mean_of(self.measure), gradient, d_noise)

    def value(self, point: Point) -> float:
        return self._left_out(point).mean_of(self.measure)

    def scale(self, point: Point) -> float:
        """Return `mean(r^2 / t)`: the factor of all variances that left-out targets ask for."""
        left_out = self._left_out(point)
        return float(np.average(left_out.square / left_out.t, weights=left_out.w))

    def sum_over_rows(self, start: Point) -> float:
        """Return the factor that makes the measure a sum of nats over the rows, near the start.

        A mean of squares is taken relative to where it starts, whatever the units of y.
        """
        total = len(self.X) if self.weights is None else float(np.sum(self.weights))
        if self.measure.tells_scale:
            return 0.5 * total
        first = self.value(start)
        return 0.5 * total / first if np.isfinite(first) and first > 1e-300 else 0.5 * total

    def _left_out(self, point: Point) -> LeftOut:
        L, alpha = self._factor(point)
        return LeftOut(inverse_diagonal(L), alpha, point.noise_variance, self.weights)

    def _factor(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        """Return the Cholesky factor of C and `C^-1 y`."""
        return factor_and_solve(point.kernel, point.noise_variance, self.X, self.y, self.weights)


# Each is called with X, y and weights.
DENSE_OBJECTIVES: dict[str, Callable[..., DenseObjective]] = {
    "nlml": Evidence,
    **{name: partial(LeaveOneOut, measure) for name, measure in MEASURES.items()},
}


def _inverse_adjoint(
    G: np.ndarray, g_bar: np.ndarray, alpha: np.ndarray, G_A_bar: np.ndarray
) -> np.ndarray:
    """Return the lower triangle of `-G diag(g_bar) G - (G A_bar alpha' + alpha A_bar' G) / 2`.

    Overwrites G. The first term is a symmetric product for the rows of each sign of `g_bar`. It is
    negative except, with NLGPP, for some rows that weigh less than one.
    """
    n = len(G)
    adjoint = np.zeros((n, n), order="F")
    G *= np.sqrt(np.abs(g_bar))[:, None]
    for sign in (-1.0, 1.0):
        rows = sign * g_bar > 0
        if np.any(rows):  # rows of the symmetric G are the columns that BLAS wants
            scaled = G if np.all(rows) else G[rows]
            adjoint = scipy.linalg.blas.dsyrk(
                -sign, scaled.T, beta=1.0, c=adjoint, lower=True, overwrite_c=True
            )
    return scipy.linalg.blas.dsyr2k(
        -0.5, G_A_bar, alpha, beta=1.0, c=adjoint, lower=True, overwrite_c=True
    )


def _mirrored(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of a lower triangle in columns, in place and as C-ordered."""
    upper = lower.T
    for start in range(0, len(upper), BLOCK):
        stop = min(start + BLOCK, len(upper))
        square = np.triu(upper[start:stop, start:stop])
        upper[start:stop, start:stop] = square + np.triu(square, 1).T
        upper[stop:, start:stop] = upper[start:stop, stop:].T
    return upper
