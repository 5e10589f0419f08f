"""The evidence of a sparse linear model (Tipping and Faul, 2003), with the noise on board.

With `zeta = alpha s2` the covariance of the target is `C = s2 P^-1`, so the log evidence is

    -1/2 [ n log(2 pi s2) - log|P| + t'P t / s2 ],

and the best noise for given zeta is `s2 = t'P t / n` with no change to P. (At fixed alpha, as in
the original algorithm, new noise means a new P, and everything has to be computed afresh; the
stationary points are the same.) Putting it in leaves `n log t'P t - log|P|` to be minimised. With
`1/Delta = x`, and r, gamma, energy taken without the basis function, the part of one zeta is

    n log(1 - r^2 x / energy) - log(1 - gamma x),

which has one minimum: the function is relevant iff `n r^2 > gamma energy`, and then

    zeta = gamma (gamma energy - r^2) / (n r^2 - gamma energy).

Where the noise is given, Tipping and Faul's formulas hold: with `s = gamma / s2`, `q = r / s2`,
relevant iff `q^2 > s`, then `alpha = s^2 / (q^2 - s)`. An intercept has a flat prior: integrating
it out leaves the same formulas for centred columns with `n` one less, and the factor
`(sum of weights)^-1/2`.
"""

from __future__ import annotations

import numpy as np

from greedygp.linear.measures import delta_of
from greedygp.linear.state import LinearState, Without

__all__ = ["Evidence"]

LEAST = 1e-12  # of zeta, relative to phi'phi
EXACT = 1e-14  # smallest energy, relative to t't


class Evidence:
    """Minus the log evidence as a cost.

    Parameters
    ----------
    dof : float
        n, the number of rows, less one for an intercept.
    noise_variance : float or None
        Held fixed; None: always the best for the model as it is.
    """

    squares = False

    def __init__(self, dof: float, noise_variance: float | None = None):
        self.dof, self.noise_variance = dof, noise_variance

    def least(self, without: Without, state: LinearState) -> np.ndarray:
        """Return the smallest zeta that is used for each basis function."""
        return LEAST * without.norm

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
        x = delta_of(without, zeta)
        occam = -0.5 * np.log1p(-without.gamma * x)
        if self.noise_variance is not None:
            return occam - 0.5 * without.r**2 * x / self.noise_variance
        share = np.minimum(without.r**2 * x / without.energy, 1.0 - EXACT)
        return occam + 0.5 * self.dof * np.log1p(-share)

    def cost(self, state: LinearState) -> float:
        """Return minus the log evidence."""
        return -self.value(state)

    def noise(self, state: LinearState) -> float:
        """Return the noise variance: that which was given, or the best one."""
        if self.noise_variance is not None:
            return self.noise_variance
        return max(state.energy, EXACT * state.square) / max(self.dof, 1.0)

    def value(self, state: LinearState) -> float:
        """Return the log evidence."""
        s2 = self.noise(state)
        if not s2 > 0.0:
            return np.inf
        flat = np.log(state.rows) if state.dictionary.intercept else 0.0
        fit = self.dof * np.log(2.0 * np.pi * s2) - state.log_det + state.energy / s2
        return -0.5 * float(fit + flat)
