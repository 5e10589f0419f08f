"""Covariance functions: values, diagonal, and gradients contracted with a given matrix.

Every kernel works on arrays of any array-API namespace (NumPy, torch on any device, ...) and
keeps their dtype and device. Its parameters are plain positive numbers, fixed once the kernel
is built; :meth:`Kernel.with_theta` returns the same kernel with other ones.

Symbols: `A` (a, D) and `B` (b, D) are inputs, `K` (a, b) the kernel matrix, `W = dF/dK` (a, b) the
derivatives of some scalar F, `theta` (p,) the logarithms of the parameters that are not fixed.

======================  ========================================================
`Gaussian`              `variance * exp(-r^2 / 2)`
`Matern`                `variance * polynomial(r) * exp(-sqrt(2 nu) r)`
`RationalQuadratic`     `variance * (1 + r^2 / (2 alpha))^-alpha`
`Periodic`              `variance * exp(-2 sum_k (sin(pi d_k / period_k) / l_k)^2)`
`Categorical`           `variance * exp(-sum_k [a_k != b_k] / length_scale_k)`
`Constant`              `variance`
`Linear`                `variance * a . b`
`Sum`, `Product`        `k1 + k2`, `k1 * k2`
`Additive`              `sum_k kernel_k(a_k, b_k)`
======================  ========================================================

with `d_k = a_k - b_k` and `r^2 = sum_k (d_k / length_scale_k)^2`. Each of them looks at all columns
of the inputs, or at some, its `active_dims`. A kernel of your own is a subclass of
`ParametricKernel`, `Stationary` or `Kernel`; `check_kernel` tells whether it keeps its promises.
"""

from greedygp.kernels.additive import Additive
from greedygp.kernels.base import Kernel
from greedygp.kernels.categorical import Categorical
from greedygp.kernels.checking import KernelCheckError, check_kernel
from greedygp.kernels.composite import Product, Sum
from greedygp.kernels.conversion import from_sklearn, noise_from_sklearn
from greedygp.kernels.cross import Cross
from greedygp.kernels.linear import Constant, Linear
from greedygp.kernels.parametric import ParametricKernel
from greedygp.kernels.periodic import Periodic
from greedygp.kernels.rational_quadratic import RationalQuadratic
from greedygp.kernels.stationary import Gaussian, Matern, Stationary

__all__ = [
    "Kernel",
    "Gaussian",
    "Matern",
    "RationalQuadratic",
    "Periodic",
    "Categorical",
    "Constant",
    "Linear",
    "Sum",
    "Product",
    "Additive",
    "from_sklearn",
    "noise_from_sklearn",
    "check_kernel",
    "KernelCheckError",
    "ParametricKernel",
    "Stationary",
    "Cross",
]
