"""Covariance functions: values, diagonal, and gradients contracted with a given matrix.

Every kernel works on arrays of any array-API namespace (NumPy, torch on any device, ...) and
keeps their dtype and device. Its parameters are plain positive numbers, fixed once the kernel
is built; :meth:`Kernel.with_theta` returns the same kernel with other ones.

Symbols: `A` (a, D) and `B` (b, D) are inputs, `K` (a, b) the kernel matrix, `W = dF/dK` (a, b) the
derivatives of some scalar F, `theta` (p,) the logarithms of the parameters that are not fixed.

======================  ========================================================
`Gaussian`              `variance * exp(-r^2 / 2)`
`Matern`                `variance * polynomial(r) * exp(-sqrt(2 nu) r)`
`Constant`              `variance`
`Linear`                `variance * a . b`
`Sum`, `Product`        `k1 + k2`, `k1 * k2`
======================  ========================================================

with `r^2 = sum_k ((a_k - b_k) / length_scale_k)^2`.
"""

from greedygp.kernels.base import Kernel
from greedygp.kernels.composite import Product, Sum
from greedygp.kernels.conversion import from_sklearn
from greedygp.kernels.linear import Constant, Linear
from greedygp.kernels.stationary import Gaussian, Matern

__all__ = [
    "Kernel",
    "Gaussian",
    "Matern",
    "Constant",
    "Linear",
    "Sum",
    "Product",
    "from_sklearn",
]
