"""Hyperparameters as the papers fix them: the evidence of a full GP on a random subset.

Kernel ``variance * exp(-0.5 sum_k ((a_k - b_k) / length_scale_k)^2) [+ bias]`` with noise
``noise_variance``, by the library's own evidence, from two starts, the better of which after a few
steps is followed to the end.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from greedygp.kernels import Constant, Gaussian, Kernel
from greedygp.minimise import Minimum
from greedygp.start import subset_evidence

FIRST_STEPS = 15


@dataclass(frozen=True)
class Hyperparameters:
    """Of an ARD Gaussian kernel, with a bias where the paper has one."""

    variance: float
    length_scale: list[float]
    noise_variance: float
    bias: float | None
    negative_log_evidence: float
    n_rows: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def kernel(self) -> Kernel:
        """The kernel in greedygp's terms."""
        gaussian = Gaussian(variance=self.variance, length_scale=self.length_scale)
        return gaussian if self.bias is None else gaussian + Constant(self.bias)


def full_gp_on_subset(
    X: np.ndarray, y: np.ndarray, n_rows: int, seed: int, *, bias: bool = False, max_iter: int = 200
) -> Hyperparameters:
    """Maximise the evidence of a full GP on ``n_rows`` random rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised inputs.
    y : ndarray of shape (n,)
        Standardised target.
    n_rows : int
        Rows to use; all when there are no more than this.
    seed : int
        Seed of the subset.
    bias : bool
        Whether the kernel has a constant term.
    max_iter : int
        Iterations of the optimiser, after the few that choose the start.

    Returns
    -------
    Hyperparameters
    """
    rows = np.random.default_rng(seed).permutation(len(X))[:n_rows]
    X, y = X[rows], y[rows]
    length_scale = np.full(X.shape[1], np.sqrt(X.shape[1]))
    starts = [Gaussian(1.0, factor * length_scale) for factor in (1.0, 2.0)]
    kernels: list[Kernel] = [start + Constant(1.0) if bias else start for start in starts]
    first = min((_search(kernel, X, y, FIRST_STEPS) for kernel in kernels), key=_value)
    best = _search(first.point.kernel, X, y, max_iter)
    gaussian, *others = getattr(best.point.kernel, "kernels", [best.point.kernel])
    return Hyperparameters(
        variance=float(gaussian.variance),
        length_scale=[float(length) for length in gaussian.length_scale],
        noise_variance=best.point.noise_variance,
        bias=float(others[0].variance) if bias else None,
        negative_log_evidence=best.value,
        n_rows=len(rows),
    )


def _search(kernel: Kernel, X: np.ndarray, y: np.ndarray, steps: int) -> Minimum:
    return subset_evidence(kernel, None, X, y, n_rows=len(X), max_iter=steps)


def _value(learnt: Minimum) -> float:
    return learnt.value
