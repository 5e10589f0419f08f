"""`check_kernel`: every kernel of the library passes, and each broken promise has its sentence."""

import numpy as np
import pandas as pd
import pytest

from greedygp.kernels import (
    Additive,
    Constant,
    Cross,
    Gaussian,
    Kernel,
    KernelCheckError,
    Linear,
    ParametricKernel,
    Periodic,
    check_kernel,
)
from kernel_examples import KERNELS


def inputs(n=12, D=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, D))
    X[:, 2] = np.random.default_rng(seed).integers(0, 3, n)  # with equal values
    return X


@pytest.mark.parametrize("kernel", [*KERNELS, Additive(Linear() + Periodic())], ids=repr)
def test_every_kernel_passes(kernel):
    check_kernel(kernel, inputs())
    check_kernel(kernel, 1e3 + 50.0 * inputs())


def test_a_table_knows_its_columns():
    table = pd.DataFrame(inputs(), columns=["age", "height", "sex"])
    kernel = Gaussian(active_dims="age") + Linear(active_dims=["sex", "height"])
    check_kernel(kernel, table)
    check_kernel(kernel, inputs(), names=["age", "height", "sex"])
    with pytest.raises(ValueError, match="inputs have no column names"):
        check_kernel(kernel, inputs())


def test_torch_is_checked_where_it_is_given():
    torch = pytest.importorskip("torch")
    X = torch.asarray(inputs())
    check_kernel(Gaussian(), X)
    check_kernel(Gaussian(), X.to(torch.float32))

    class OnlyNumpy(Gaussian):
        def against(self, B):
            return NumpyCross(super().against(np.asarray(B)), B)

    with pytest.raises(KernelCheckError, match=r"K\(A, B\) of Tensor is ndarray"):
        check_kernel(OnlyNumpy(), X)


class NumpyCross(Cross):
    def __init__(self, inner, B):
        super().__init__(B)
        self.inner = inner

    def __call__(self, A, out=None):
        return self.inner(np.asarray(A), out)


# --- broken kernels ----------------------------------------------------------------------------


class Cosine(ParametricKernel):
    """`k(a, b) = variance * sum_k cos(a_k - b_k)`: right, and short."""

    def _values(self, A, B):
        return self.variance * np.cos(A[:, None, :] - B[None, :, :]).sum(axis=2)

    def _contracted(self, W, A, B):
        sines = np.sin(A[:, None, :] - B[None, :, :])
        moved = -self.variance * np.einsum("ij,ijk->ik", W, sines)
        return self._free_vector(variance=np.sum(W * self._values(A, B))), moved

    def _diag(self, A):
        return np.full(len(A), A.shape[1] * self.variance)

    def _diag_gradient(self, w, A):
        return self._free_vector(variance=A.shape[1] * self.variance * np.sum(w))


class OtherDiagonal(Cosine):
    def _diag(self, A):
        return np.full(len(A), self.variance)


class LongDiagonal(Cosine):
    def _diag(self, A):
        return np.full(len(A) + 1, self.variance)


class NotSymmetric(Cosine):
    def _values(self, A, B):
        return super()._values(A, B) + A[:, :1]


class NotPositive(Cosine):
    """`max |a_k - b_k|` grows with the distance."""

    def _values(self, A, B):
        return self.variance * np.abs(A[:, None, :] - B[None, :, :]).max(axis=2)


class NotFinite(Cosine):
    def _values(self, A, B):
        return np.nan * super()._values(A, B)


class WrongShape(Cosine):
    def _values(self, A, B):
        return super()._values(A, B).T


class WrongSign(Cosine):
    def _contracted(self, W, A, B):
        theta, moved = super()._contracted(W, A, B)
        return theta, -moved


class ForgotTheLogarithm(Cosine):
    def _contracted(self, W, A, B):
        theta, moved = super()._contracted(W, A, B)
        return theta / self.variance, moved


class NoDiagGradient(Cosine):
    def _diag_gradient(self, w, A):
        return np.zeros(1)


class MovingDiagonal(Cosine):
    def _diag_input_gradient(self, w, A):
        return np.ones(A.shape)


class ChangesInputs(Cosine):
    def _values(self, A, B):
        A += 1.0
        return super()._values(A - 1.0, B)


class ChangesWeights(Cosine):
    def _contracted(self, W, A, B):
        found = super()._contracted(W, A, B)
        W *= 2.0
        return found


class DependsOnOthers(Cosine):
    def _values(self, A, B):
        return super()._values(A - A.mean(axis=0), B - A.mean(axis=0)) * np.exp(-np.var(A))


class ForgetsTheta(Cosine):
    def with_theta(self, theta):
        return self


class ChangesItself(Cosine):
    def with_theta(self, theta):
        self.variance = float(np.exp(theta[0]))
        return self


class OutOfBounds(Cosine):
    @property
    def bounds(self):
        return self.theta[:, None] + [[1.0, 2.0]]


class TooManyNames(Cosine):
    @property
    def theta_names(self):
        return ["variance", "period"]


class NotTwice(Cosine):
    def scaled(self, factor):
        return self


class WrongAnswers(Cosine):
    is_length_scale = np.zeros(1)

    def length_scales(self, n_features):
        return np.ones(n_features + 1)

    def relevances(self, n_features):
        return -np.ones(n_features)


class CannotBePickled(Cosine):
    def __reduce__(self):
        raise TypeError("no pickles here")


class LosesItsParameters(Cosine):
    def __reduce__(self):
        return (LosesItsParameters, ())


class IgnoresOut(Cosine):
    def _cross(self, B):
        inner = super()._cross(B)

        class Ignoring(Cross):
            def __call__(self, A, out=None):
                return inner(A)

        return Ignoring(B)


class Empty(Kernel):
    pass


BROKEN = {
    OtherDiagonal: r"diag\(A\) is not the diagonal of K\(A, A\): 2 instead of 6 in row 0",
    LongDiagonal: r"diag\(A\) has shape \(7,\) instead of \(6,\)",
    NotSymmetric: r"K\(A, B\) is not the transpose of K\(B, A\)",
    NotPositive: r"is not positive semidefinite: its smallest eigenvalue is -",
    NotFinite: r"K\(A, B\) has entries that are NaN or infinite",
    WrongShape: r"K\(A, B\) has shape \(7, 6\) instead of \(6, 7\)",
    WrongSign: r"input_gradient is not the derivative of K\(A, B\) by A: .* in row 0 of feature",
    ForgotTheLogarithm: r"gradient is not the derivative of K\(A, B\) by theta: .* for variance",
    NoDiagGradient: "diag_gradient is not the derivative of diag by theta: 0 instead of",
    MovingDiagonal: "diag_input_gradient is not the derivative of diag by A: 1 instead of",
    ChangesInputs: "The inputs were changed in place",
    ChangesWeights: "gradient changes W in place",
    DependsOnOthers: r"A row of K\(A, B\) depends on the other rows of A",
    ForgetsTheta: r"with_theta\(t\).theta is not t: 0.693147 instead of 0.793147 at entry 0",
    ChangesItself: "with_theta changes the kernel itself",
    OutOfBounds: "theta is outside its bounds at variance: 0.693147 not in",
    TooManyNames: r"theta has 1 entries, theta_names 2, and bounds the shape \(1, 2\)",
    NotTwice: r"scaled\(2\) is not twice the kernel",
    WrongAnswers: r"is_length_scale must be 1 booleans(.|\n)*length_scales\(3\) has shape \(4,\)"
    r"(.|\n)*relevances\(3\) has negative",
    CannotBePickled: "It cannot be pickled.*: no pickles here",
    LosesItsParameters: "A pickled kernel is another one",
    IgnoresOut: r"against\(B\)\(A, out=out\) does not return out",
    Empty: "NotImplementedError in the check of values",
}


def test_the_kernel_that_the_broken_ones_come_from_is_right():
    check_kernel(Cosine(2.0), inputs())
    check_kernel(Cosine(2.0, active_dims=[0, 2]) * Gaussian(fixed="variance"), inputs())


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_broken_kernels_are_told_what_is_wrong(kind):
    kernel = kind() if kind is Empty else kind(2.0)
    with pytest.raises(KernelCheckError, match=BROKEN[kind]) as raised:
        check_kernel(kernel, inputs(13))
    assert str(raised.value).startswith(f"{kind.__name__} is not a kernel that models can use:\n- ")
    assert len(raised.value.problems) >= 1


def test_what_it_cannot_check():
    with pytest.raises(TypeError, match="must be a greedygp kernel, got str"):
        check_kernel("rbf", inputs())
    with pytest.raises(ValueError, match="at least two rows"):
        check_kernel(Constant(), inputs(1))
