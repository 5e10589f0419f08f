"""What one basis function of a sparse linear model is worth: by GCV, or by the evidence.

A criterion judges one basis function j with everything else held fixed, from what the model would
be without it (`state.Without`). `optimum` returns the best `zeta_j` in [least, infinity], infinity
meaning that j should not be in the model; `change` returns how the cost (smaller is better)
differs from that of the model without j. Both take all basis functions at once, as arrays.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from greedygp.linear.state import LinearState, Without

__all__ = ["GCV", "LEAST_TRACE", "Criterion", "Evidence"]

LEAST_ZETA = 1e-12  # relative to phi'phi
LEAST_LEFT = 1e-14  # smallest error, relative to that without the function; smallest energy, to t't
LEAST_TRACE = 0.1  # smallest tr P that GCV may reach, relative to that of the empty model


class Criterion(Protocol):
    """GCV or the evidence."""

    def least(self, without: Without, state: LinearState) -> np.ndarray:
        """Return the smallest zeta that is used for each basis function."""

    def optimum(self, without: Without, least: np.ndarray) -> np.ndarray:
        """Return the best zeta of each basis function."""

    def change(self, without: Without, zeta: np.ndarray) -> np.ndarray:
        """Return the cost with the basis function at zeta, less the cost without it."""

    def cost(self, state: LinearState) -> float:
        """Return the cost of the model."""

    def value(self, state: LinearState) -> float:
        """Return the criterion of the model, as it is reported."""

    def noise(self, state: LinearState) -> float:
        """Return the noise variance of the model."""


def _inverse_delta(without: Without, zeta: np.ndarray) -> np.ndarray:
    """Return 1 / Delta_j = 1 / (phi'P_-j phi + zeta) (equation 15); zero where zeta is infinite."""
    return 1.0 / (without.gamma + zeta)


class GCV:
    """Generalised cross-validation, whose best zeta has a closed form; log V is the cost.

        V = N t'P^2 t / tr(P)^2,    s2 = t'P^2 t / tr(P)      (equations 7 and 8).

    As a function of one zeta, with everything taken without the basis function (equations 9-13),

        t'P^2 t = a - 2 b / Delta + c / Delta^2,    tr P = delta - epsilon / Delta,
        a = error,  b = xi r,  c = u r^2,  delta = trace,  epsilon = u,  Delta = gamma + zeta,

    and the derivative of V has the sign of `g + h zeta` (appendix I),

        h = delta b - a epsilon,    g = h gamma - (delta c - b epsilon).

    That gives five cases. Both negative: infinity. Both positive: zero. g < 0 < h: the minimum
    `-g / h`. h < 0 < g: the better one of zero and infinity (this needs `u > gamma tr P`, so no
    projection has it). h = 0: the sign of g decides. Zero is replaced by a least value,
    alpha = 1/N for targets of unit variance and basis functions whose largest entry is one:
    `zeta = s2 / (N t't / n) max|phi|^2`, or by `ridge` where that is less.

    The cost is a logarithm, so that changes are relative ones. GCV estimates nothing where `tr P`
    is next to nothing (with as many columns as rows it falls without end towards interpolation), so
    no action may take the trace below a tenth of that of the empty model.

    Parameters
    ----------
    rows : float
        N, the sum of the weights.
    dof : float
        tr P of the empty model: N, less one for an intercept.

    Attributes
    ----------
    ridge : float
        The least zeta is not above it.
    held : float or None
        The noise variance that alpha and zeta are told apart by; None: (8) of the model as it is.
    """

    def __init__(self, rows: float, dof: float):
        self.rows, self.dof = rows, dof
        self.ridge = np.inf
        self.held: float | None = None

    def least(self, without: Without, state: LinearState) -> np.ndarray:
        """Return the smallest zeta that is used for each basis function."""
        noise = self.noise(state) if self.held is None else self.held
        unexplained = noise * max(self.dof, 1.0) / max(state.square, 1e-300)
        least = np.minimum(unexplained / self.rows * without.peak**2, self.ridge)
        return np.maximum(least, LEAST_ZETA * without.norm)

    def optimum(self, without: Without, least: np.ndarray) -> np.ndarray:
        """Return the best zeta of each basis function (appendix I)."""
        b, c = without.xi * without.r, without.u * without.r**2
        h = without.trace * b - without.error * without.u
        g = h * without.gamma - (without.trace * c - b * without.u)
        inner = (g < 0.0) & (h > 0.0)  # case 3
        zeta = np.where(inner, -g / np.where(inner, h, 1.0), np.inf)  # case 1 otherwise
        at_zero = (g >= 0.0) & (h >= 0.0) & (g + h > 0.0)  # cases 2 and 5
        unsure = (g > 0.0) & (h < 0.0)  # case 4
        if np.any(unsure):
            at_zero = at_zero | (unsure & (self.change(without, least) < 0.0))
        return np.maximum(np.where(at_zero, 0.0, zeta), least)

    def change(self, without: Without, zeta: np.ndarray) -> np.ndarray:
        """Return the cost with the basis function at zeta, less the cost without it."""
        x = _inverse_delta(without, zeta)
        r_x = without.r * x
        error = 1.0 + r_x * (without.u * r_x - 2.0 * without.xi) / without.error
        trace = 1.0 - without.u * x / without.trace
        possible = without.trace * trace > LEAST_TRACE * self.dof
        change = np.log(np.maximum(error, LEAST_LEFT))
        change -= 2.0 * np.log(np.where(possible, trace, 1.0))
        return np.where(possible | np.isinf(zeta), change, np.inf)

    def cost(self, state: LinearState) -> float:
        """Return log V."""
        value = self.value(state)
        return float(np.log(value)) if value > 0.0 else -np.inf

    def noise(self, state: LinearState) -> float:
        """Return the noise variance (8)."""
        return state.error / state.trace if state.trace > 0.0 else 0.0

    def value(self, state: LinearState) -> float:
        """Return V (7)."""
        return self.rows * state.error / state.trace**2 if state.trace > 0.0 else 0.0


class Evidence:
    """The evidence (Tipping and Faul, 2003), with the noise on board; minus its log is the cost.

    With `zeta = alpha s2` the covariance of the target is `C = s2 P^-1`, so the log evidence is

        -1/2 [ n log(2 pi s2) - log|P| + t'P t / s2 ],

    and the best noise for given zeta is `s2 = t'P t / n` with no change to P. (At fixed alpha, as
    in the original algorithm, new noise means a new P, and everything has to be computed afresh;
    the stationary points are the same.) Putting it in leaves `n log t'P t - log|P|` to be
    minimised. With `1/Delta = x`, and r, gamma, energy taken without the basis function, the part
    of one zeta is

        n log(1 - r^2 x / energy) - log(1 - gamma x),

    which has one minimum: the function is relevant iff `n r^2 > gamma energy`, and then

        zeta = gamma (gamma energy - r^2) / (n r^2 - gamma energy).

    Where the noise is given, Tipping and Faul's formulas hold: with `s = gamma / s2`, `q = r / s2`,
    relevant iff `q^2 > s`, then `alpha = s^2 / (q^2 - s)`. An intercept has a flat prior:
    integrating it out leaves the same formulas for centred columns with `n` one less, and the
    factor `(sum of weights)^-1/2`.

    Parameters
    ----------
    dof : float
        n, the number of rows, less one for an intercept.
    noise_variance : float or None
        Held fixed; None: always the best for the model as it is.
    """

    def __init__(self, dof: float, noise_variance: float | None = None):
        self.dof, self.noise_variance = dof, noise_variance

    def least(self, without: Without, state: LinearState) -> np.ndarray:
        """Return the smallest zeta that is used for each basis function."""
        return LEAST_ZETA * without.norm

    def optimum(self, without: Without, least: np.ndarray) -> np.ndarray:
        """Return the best zeta of each basis function."""
        r2, gamma = without.r**2, without.gamma
        if self.noise_variance is None:
            excess = self.dof * r2 - gamma * without.energy
            numerator = gamma * np.maximum(gamma * without.energy - r2, 0.0)
        else:
            excess = r2 - self.noise_variance * gamma
            numerator = self.noise_variance * gamma**2
        relevant = excess > 1e-14 * (r2 + gamma * (self.noise_variance or without.energy))
        zeta = numerator / np.where(relevant, excess, 1.0)
        return np.where(relevant, np.maximum(zeta, least), np.inf)

    def change(self, without: Without, zeta: np.ndarray) -> np.ndarray:
        """Return the cost with the basis function at zeta, less the cost without it."""
        x = _inverse_delta(without, zeta)
        occam = -0.5 * np.log1p(-without.gamma * x)
        if self.noise_variance is not None:
            return occam - 0.5 * without.r**2 * x / self.noise_variance
        share = np.minimum(without.r**2 * x / without.energy, 1.0 - LEAST_LEFT)
        return occam + 0.5 * self.dof * np.log1p(-share)

    def cost(self, state: LinearState) -> float:
        """Return minus the log evidence."""
        return -self.value(state)

    def noise(self, state: LinearState) -> float:
        """Return the noise variance: that which was given, or the best one."""
        if self.noise_variance is not None:
            return self.noise_variance
        return max(state.energy, LEAST_LEFT * state.square) / max(self.dof, 1.0)

    def value(self, state: LinearState) -> float:
        """Return the log evidence."""
        s2 = self.noise(state)
        if not s2 > 0.0:
            return np.inf
        flat = np.log(state.rows) if state.dictionary.intercept else 0.0
        fit = self.dof * np.log(2.0 * np.pi * s2) - state.log_det + state.energy / s2
        return -0.5 * float(fit + flat)
