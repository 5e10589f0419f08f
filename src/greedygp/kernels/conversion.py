"""Kernels of scikit-learn, translated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from greedygp.kernels.base import Kernel
from greedygp.kernels.linear import Constant, Linear
from greedygp.kernels.parametric import ParametricKernel
from greedygp.kernels.stationary import Gaussian, Matern

__all__ = ["as_kernel", "from_sklearn"]

SUPPORTED = (
    "ConstantKernel, RBF, Matern (nu = 0.5, 1.5, 2.5 or inf), DotProduct, and sums and products "
    "of these"
)


def as_kernel(kernel: Any, n_features: int) -> Kernel | None:
    """Return a kernel as an estimator was given it, translated and checked; None stays None.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel or None
    n_features : int
        Of the inputs: a parameter with one value per feature must match.
    """
    if kernel is None:
        return None
    kernel = from_sklearn(kernel)
    kernel.check_features(n_features)
    return kernel


def from_sklearn(kernel: Any) -> Kernel:
    """Return the kernel of this library that equals a kernel of scikit-learn.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Built from `ConstantKernel`, `RBF`, `Matern` (nu = 0.5, 1.5, 2.5 or inf), `DotProduct`,
        sums and products. A kernel of this library comes back as it is.

    Returns
    -------
    kernel : Kernel
        With the same values and the same bounds; what is `"fixed"` there is fixed here.
        `ConstantKernel() * RBF()` becomes one `Gaussian`.

    Raises
    ------
    ValueError
        For `WhiteKernel`, which is the estimator's `noise_variance`, and for kernels that have
        no counterpart.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    >>> from greedygp.kernels import from_sklearn
    >>> from_sklearn(ConstantKernel(2.0, "fixed") * RBF([1.0, 3.0], "fixed"))
    Gaussian(variance=2.0, length_scale=[1.0, 3.0], fixed=('variance', 'length_scale'))
    """
    if isinstance(kernel, Kernel):
        return kernel
    from sklearn.gaussian_process import kernels as sk

    if not isinstance(kernel, sk.Kernel):
        raise TypeError(f"kernel must be a kernel, got {type(kernel).__name__}: {kernel!r}")
    if isinstance(kernel, sk.WhiteKernel):
        raise ValueError(
            f"{kernel!r} is noise, not covariance of the function: leave it out of the kernel and "
            f"pass noise_variance={kernel.noise_level} to the estimator"
        )
    # Exact types, since a subclass may compute anything.
    kind = type(kernel)
    if kind is sk.Sum:
        return from_sklearn(kernel.k1) + from_sklearn(kernel.k2)
    if kind is sk.Product:
        return _product(from_sklearn(kernel.k1), from_sklearn(kernel.k2))
    if kind is sk.ConstantKernel:
        return Constant(kernel.constant_value, **_limits("variance", kernel.constant_value_bounds))
    if kind is sk.DotProduct:
        linear = Linear(1.0, fixed="variance")
        if kernel.sigma_0 == 0:
            return linear
        limits = _limits("variance", kernel.sigma_0_bounds, power=2)
        return Constant(kernel.sigma_0**2, **limits) + linear
    if kind is sk.RBF or (kind is sk.Matern and kernel.nu == math.inf):
        return _unit_variance(Gaussian, kernel)
    if kind is sk.Matern and kernel.nu in (0.5, 1.5, 2.5):
        return _unit_variance(Matern, kernel, nu=kernel.nu)
    raise ValueError(f"{kernel!r} has no counterpart here; supported are {SUPPORTED}")


def _unit_variance(kind: type, kernel: Any, **arguments: Any) -> Kernel:
    """Return a stationary kernel of variance 1, held fixed."""
    limits = _limits("length_scale", kernel.length_scale_bounds)
    limits["fixed"] = ("variance", *limits.get("fixed", ()))
    return kind(length_scale=kernel.length_scale, **limits, **arguments)


def _limits(name: str, bounds: Any, power: int = 1) -> dict[str, Any]:
    """Return scikit-learn's bounds (or "fixed") as constructor arguments."""
    if isinstance(bounds, str):
        return {"fixed": (name,)}
    return {f"{name}_bounds": np.asarray(bounds, dtype=np.float64) ** power}


def _product(left: Kernel, right: Kernel) -> Kernel:
    """Multiply; a constant goes into the variance of a kernel that has it fixed at 1."""
    for scale, kernel in ((left, right), (right, left)):
        if (
            isinstance(scale, Constant)
            and isinstance(kernel, ParametricKernel)
            and np.ndim(kernel.variance) == 0
            and kernel.variance == 1.0
            and "variance" in kernel.fixed
        ):
            arguments = kernel._arguments()
            others = tuple(name for name in kernel.fixed if name != "variance")
            arguments |= {
                "variance": scale.variance,
                "variance_bounds": scale.variance_bounds,
                "fixed": scale.fixed + others,
            }
            return type(kernel)(**arguments)
    return left * right
