"""Error bars of new rows are wider than those of left-out rows, by what learning has spent.

A row that is left out in closed form was there when hyperparameters, basis inputs and noise were
learnt, so left-out rows are predicted a little better than new ones will be. With p free numbers
learnt from n rows, Akaike's final prediction error says by how much: the squared error of a new
row is `(n + p) / (n - p)` times as large. Kernel and noise variance are multiplied by that factor
after learning. The mean stays as it is, and every predictive variance grows by the factor.

What is spent: one for each free hyperparameter, and half of the effective degrees of freedom of the
mean where the basis inputs moved. The noise function spends its own (`greedygp.noise`).
"""

from __future__ import annotations

from greedygp.hyperparameters import Point, rescaled

__all__ = ["widened", "widening"]

MOST_SPENT = 1 / 3  # of the rows: no variance is more than doubled


def widening(n_rows: float, spent: float) -> float:
    """Return the factor on variances when so many free numbers were learnt from so many rows."""
    share = min(spent / n_rows, MOST_SPENT) if n_rows > 0 else MOST_SPENT
    return (1.0 + share) / (1.0 - share)


def widened(point: Point, n_rows: float, basis_spent: float = 0.0) -> tuple[Point, float]:
    """Return the point with kernel and noise multiplied by the factor, and the factor.

    Parameters
    ----------
    point : Point
        Learnt: the kernel's free parameters and the noise.
    n_rows : float
        What it was learnt from: the sum of the weights, for each target.
    basis_spent : float
        What moving the basis inputs has spent.

    Returns
    -------
    point : Point
        As it was where bounds or fixed variances of the kernel forbid the factor.
    factor : float
    """
    factor = widening(n_rows, len(point.kernel.theta) + 1.0 + basis_spent)
    found = rescaled(point, factor)
    return (point, 1.0) if found is None else (found, factor)
