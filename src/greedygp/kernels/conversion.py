"""Kernels of scikit-learn, translated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from greedygp.kernels.base import Kernel
from greedygp.kernels.linear import Constant, Linear
from greedygp.kernels.parametric import ParametricKernel
from greedygp.kernels.periodic import Periodic
from greedygp.kernels.rational_quadratic import RationalQuadratic
from greedygp.kernels.stationary import Gaussian, Matern

__all__ = ["NoiseStart", "as_kernel", "from_sklearn", "kernel_and_noise", "noise_from_sklearn"]

SUPPORTED = (
    "ConstantKernel, RBF, Matern (nu = 0.5, 1.5, 2.5 or inf), RationalQuadratic, ExpSineSquared, "
    "DotProduct, and sums and products of these"
)


class NoiseStart(NamedTuple):
    """The noise variance that scikit-learn's `WhiteKernel` stands for."""

    variance: float
    held: bool  # its bounds are "fixed"


def as_kernel(kernel: Any, n_features: int, names: Sequence[Any] | None = None) -> Kernel | None:
    """Return a kernel as an estimator was given it, translated and checked; None stays None.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel or None
    n_features : int
        Of the inputs: a parameter with one value per feature must match.
    names : sequence of str, optional
        Of the inputs' columns, which kernels may name.
    """
    kernel, noise = kernel_and_noise(kernel, n_features, names)
    if noise is not None:
        raise ValueError(
            f"The kernel has a WhiteKernel of {noise.variance:g}, but this model has no noise "
            "variance to start with it: leave it out of the kernel"
        )
    return kernel


def kernel_and_noise(
    kernel: Any, n_features: int, names: Sequence[Any] | None = None
) -> tuple[Kernel | None, NoiseStart | None]:
    """Return a kernel as :func:`as_kernel` does, and the noise that it had, where it had some."""
    if kernel is None:
        return None, None
    noise = noise_from_sklearn(kernel)
    kernel = _translated(kernel, n_features).for_inputs(n_features, names)
    return kernel, noise


def noise_from_sklearn(kernel: Any) -> NoiseStart | None:
    """Return the noise variance in a kernel of scikit-learn: its `WhiteKernel` terms, added up.

    Parameters
    ----------
    kernel : Kernel or scikit-learn kernel

    Returns
    -------
    (variance, held) or None
        None where there is no `WhiteKernel`. `held` tells that the bounds of all of
        them are "fixed".

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> from greedygp.kernels import noise_from_sklearn
    >>> noise_from_sklearn(RBF() + WhiteKernel(0.25))
    NoiseStart(variance=0.25, held=False)
    """
    if isinstance(kernel, Kernel):
        return None
    return _split(kernel)[1]


def from_sklearn(kernel: Any) -> Kernel:
    """Return the kernel of this library that equals a kernel of scikit-learn.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Built from `ConstantKernel`, `RBF`, `Matern` (nu = 0.5, 1.5, 2.5 or inf),
        `RationalQuadratic`, `ExpSineSquared`, `DotProduct`, sums and products. A kernel of this
        library comes back as it is.

    Returns
    -------
    kernel : Kernel
        With the same values and the same bounds; what is `"fixed"` there is fixed here.
        `ConstantKernel() * RBF()` becomes one `Gaussian`. A `WhiteKernel` in a sum is noise, and is
        left out: regressors start their noise variance with it (:func:`noise_from_sklearn`).
        `ExpSineSquared` becomes `Periodic`, which equals it for one feature; for several,
        scikit-learn's is no covariance function.

    Raises
    ------
    ValueError
        For a `WhiteKernel` that is not a term of a sum, and for kernels that have no counterpart.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    >>> from greedygp.kernels import from_sklearn
    >>> from_sklearn(ConstantKernel(2.0, "fixed") * RBF([1.0, 3.0], "fixed"))
    Gaussian(variance=2.0, length_scale=[1.0, 3.0], fixed=('variance', 'length_scale'))
    """
    return _translated(kernel, None)


def _translated(kernel: Any, n_features: int | None) -> Kernel:
    """Return a kernel of scikit-learn as one of this library, without the noise in it."""
    if isinstance(kernel, Kernel):
        return kernel
    from sklearn.gaussian_process import kernels as sk

    if not isinstance(kernel, sk.Kernel):
        raise TypeError(f"kernel must be a kernel, got {type(kernel).__name__}: {kernel!r}")
    function, _ = _split(kernel)
    if function is None:
        raise ValueError(
            f"{kernel!r} is noise, not covariance of the function: add the kernel of a function to "
            "it, or leave it out and pass noise_variance to the estimator"
        )
    return _of_function(function, n_features)


def _of_function(kernel: Any, n_features: int | None) -> Kernel:
    """Return a kernel of scikit-learn that has no noise in it."""
    from sklearn.gaussian_process import kernels as sk

    # Exact types, since a subclass may compute anything.
    kind = type(kernel)
    if kind in (sk.Sum, sk.Product):
        left, right = _of_function(kernel.k1, n_features), _of_function(kernel.k2, n_features)
        return left + right if kind is sk.Sum else _product(left, right)
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
    if kind is sk.RationalQuadratic:
        return _unit_variance(RationalQuadratic, kernel, "alpha")
    if kind is sk.ExpSineSquared:
        _check_one_feature(kernel, n_features)
        return _unit_variance(Periodic, kernel, period="periodicity")
    raise ValueError(f"{kernel!r} has no counterpart here; supported are {SUPPORTED}")


def _check_one_feature(kernel: Any, n_features: int | None) -> None:
    """Raise where scikit-learn's periodic kernel would have several features."""
    if n_features not in (None, 1):
        raise ValueError(
            f"{kernel!r} of {n_features} features is not a covariance function (its matrices can "
            "be indefinite); use greedygp.kernels.Periodic, with active_dims for the columns that "
            "are periodic"
        )


def _split(kernel: Any) -> tuple[Any, NoiseStart | None]:
    """Return a scikit-learn kernel without its noise (None: nothing is left), and the noise."""
    from sklearn.gaussian_process import kernels as sk

    if type(kernel) is sk.WhiteKernel:
        return None, NoiseStart(float(kernel.noise_level), _is_fixed(kernel.noise_level_bounds))
    if type(kernel) not in (sk.Sum, sk.Product):
        return kernel, None
    (left, left_noise), (right, right_noise) = _split(kernel.k1), _split(kernel.k2)
    if left_noise is None and right_noise is None:
        return kernel, None
    if type(kernel) is sk.Sum:
        kept = [part for part in (left, right) if part is not None]
        noises = [noise for noise in (left_noise, right_noise) if noise is not None]
        noise = NoiseStart(sum(n.variance for n in noises), all(n.held for n in noises))
        return (sk.Sum(*kept) if len(kept) == 2 else next(iter(kept), None)), noise
    for constant, rest, inner in ((left, right, right_noise), (right, left, left_noise)):
        if type(constant) is sk.ConstantKernel and inner is not None:
            held = inner.held and _is_fixed(constant.constant_value_bounds)
            noise = NoiseStart(constant.constant_value * inner.variance, held)
            return (None if rest is None else sk.Product(constant, rest)), noise
    raise ValueError(
        f"{kernel!r} multiplies a WhiteKernel, which is noise, by a kernel; add it instead, or "
        "leave it out and pass noise_variance to the estimator"
    )


def _is_fixed(bounds: Any) -> bool:
    return isinstance(bounds, str)


def _unit_variance(
    kind: type, kernel: Any, *same: str, nu: float | None = None, **renamed: str
) -> Kernel:
    """Return a kernel of variance 1, held fixed.

    `same` are its parameters besides the length scale; `renamed` are those with another name there.
    """
    arguments: dict[str, Any] = {} if nu is None else {"nu": nu}
    fixed = ["variance"]
    names = {"length_scale": "length_scale"} | {name: name for name in same} | renamed
    for ours, theirs in names.items():
        arguments[ours] = getattr(kernel, theirs)
        limits = _limits(ours, getattr(kernel, f"{theirs}_bounds"))
        fixed += limits.pop("fixed", ())
        arguments |= limits
    return kind(fixed=fixed, **arguments)


def _limits(name: str, bounds: Any, power: int = 1) -> dict[str, Any]:
    """Return scikit-learn's bounds (or "fixed") as constructor arguments."""
    if _is_fixed(bounds):
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
