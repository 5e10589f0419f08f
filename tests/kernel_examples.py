"""Kernels of every kind, for tests that hold for all of them; those for inputs have 3 features."""

from greedygp.kernels import Constant, Gaussian, Linear, Matern

KERNELS = [
    Gaussian(),
    Gaussian(variance=2.5, length_scale=0.7),
    Gaussian(variance=0.3, length_scale=[0.5, 1.5, 4.0]),
    Gaussian(variance=0.3, length_scale=[0.5, 1.5, 4.0], fixed="variance"),
    Gaussian(variance=3.0, length_scale=[0.5, 1.5, 4.0], fixed="length_scale"),
    Gaussian(fixed=("variance", "length_scale")),
    Matern(nu=0.5, variance=2.0, length_scale=1.3),
    Matern(nu=0.5, variance=2.0, length_scale=[0.5, 1.5, 4.0]),
    Matern(nu=1.5, variance=2.0, length_scale=[0.5, 1.5, 4.0]),
    Matern(nu=1.5, length_scale=2.0, fixed="variance"),
    Matern(nu=2.5, variance=2.0, length_scale=[0.5, 1.5, 4.0]),
    Constant(1.7),
    Linear(1.7),
    Linear([0.3, 1.0, 2.0]),
    Gaussian(2.0) + Constant(0.5),
    Constant(3.0) + Linear() + Matern(length_scale=[1.0, 2.0, 3.0]),
    Gaussian(2.0) * Linear([0.3, 1.0, 2.0]),
    Constant(3.0) * Gaussian() * Matern(nu=1.5),
    (Gaussian() + Linear(fixed="variance")) * Matern(nu=0.5) + 2.0 * Constant(0.5),
]
