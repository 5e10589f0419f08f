"""Anderson's acceleration of a fixed-point iteration.

Of an iteration `x <- x + r(x)` the last few x and r are kept. The next x is that at which r would
vanish, were it linear between them: with the differences dX, dR to the latest pair,

    g = argmin |scale * (r - dR g)|,   x <- x - dX g + step (r - dR g).

Plain damped steps want many more passes where the rows' sites depend strongly on each other.
(Walker and Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49, 2011.)
"""

from __future__ import annotations

import numpy as np

__all__ = ["Anderson"]

DEPTH = 5  # pairs that are kept besides the latest
RIDGE = 1e-12  # of the least squares, relative
WORSE = 2.0  # a residual that is so much longer than the shortest one begins anew there
SHORTEST = 0.1  # step


class Anderson:
    """Proposes where to go next; remembers where it has been.

    Parameters
    ----------
    step : float
        Share of the residual that is gone along.
    """

    def __init__(self, step: float = 1.0):
        self.step = step
        self._points: list[np.ndarray] = []
        self._residuals: list[np.ndarray] = []
        self._shortest = np.inf
        self._best: tuple[np.ndarray, np.ndarray] | None = None

    def next(self, x: np.ndarray, residual: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return the next point.

        Parameters
        ----------
        x, residual : (N,) arrays
            The present point, and by how much the iteration would move it.
        scale : (N,) array
            Units in which residuals are compared.
        """
        length = float(np.linalg.norm(scale * residual))
        if self._best is not None and not length <= WORSE * self._shortest:
            self._points, self._residuals = [], []
            self.step = max(0.5 * self.step, SHORTEST)
            x, residual = self._best
        elif length < self._shortest:
            self._shortest, self._best = length, (x, residual)
        dX = np.array([x - other for other in self._points])
        dR = np.array([residual - other for other in self._residuals])
        self._points = [*self._points[-DEPTH + 1 :], x]
        self._residuals = [*self._residuals[-DEPTH + 1 :], residual]
        if len(dX) == 0:
            return x + self.step * residual
        g = _least_squares(dR * scale, residual * scale)
        return x - g @ dX + self.step * (residual - g @ dR)


def _least_squares(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return g that minimises `|right - rows' g|`, as far as the rows can be told apart."""
    products = rows @ rows.T
    products[np.diag_indices(len(rows))] *= 1.0 + RIDGE
    return np.linalg.lstsq(products, rows @ right, rcond=RIDGE)[0]
