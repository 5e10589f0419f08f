"""A check of anyone's kernel: that it is one, that its gradients are right, that it can be kept.

Everything is compared with a slow twin: entries with single values, gradients with central
differences, copies with the original.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from greedygp.arrays import Backend, is_foreign, to_numpy
from greedygp.kernels.base import Kernel

__all__ = ["KernelCheckError", "check_kernel"]

MOST_ROWS = 12  # of X that are looked at: differences take two kernel matrices for each number
STEP = 1e-5  # of central differences, in logarithms and in units of the inputs
ROUNDING = 1e-9  # relative to the largest entry
DIFFERENCE = 2e-4  # relative to the largest entry of a gradient


class KernelCheckError(ValueError):
    """A kernel does not do what kernels promise; each line says what and where.

    Attributes
    ----------
    problems : list of str
    """

    def __init__(self, kernel: str, problems: list[str]):
        self.problems = problems
        lines = "\n".join(f"- {problem}" for problem in problems)
        super().__init__(f"{kernel} is not a kernel that models can use:\n{lines}")


def check_kernel(
    kernel: Kernel, X: Any, *, names: Any = None, random_state: int | None = 0
) -> None:
    """Check that a kernel keeps the promises that models rely on; raise where it does not.

    Parameters
    ----------
    kernel : Kernel
        One of greedygp, or your own.
    X : (n, D) array
        Inputs as it will see them; some rows are enough. A torch tensor checks the kernel on torch,
        too.
    names : sequence of str, optional
        Names of the columns, where the kernel has `active_dims` by name; those of a DataFrame are
        known.
    random_state : int or None
        Draws the directions of the gradients.

    Raises
    ------
    KernelCheckError
        With one line for each broken promise: values (shape, finite, symmetric, positive
        semidefinite, `out` is filled), diagonal, gradients by parameters and inputs against central
        differences, `theta` and its names and bounds, answers to what others may ask, copies.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.kernels import Gaussian, check_kernel
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> check_kernel(Gaussian(length_scale=[1.0, 2.0, 3.0]), X)
    >>> class Wrong(Gaussian):
    ...     def _diag(self, A):
    ...         return 2.0 * super()._diag(A)
    >>> try:
    ...     check_kernel(Wrong(), X)
    ... except ValueError as error:
    ...     print(error.problems[0])
    diag(A) is not the diagonal of K(A, A): 2 instead of 1 in row 0.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a greedygp kernel, got {type(kernel).__name__}")
    names = getattr(X, "columns", None) if names is None else names
    given = X if is_foreign(X) else np.asarray(X, dtype=np.float64)
    A = to_numpy(given).astype(np.float64)
    if A.ndim != 2 or len(A) < 2:
        raise ValueError(f"X must have at least two rows and be 2-D, got shape {A.shape}")
    bound = kernel.for_inputs(A.shape[1], names)
    problems = list(_Check(bound, A, given, np.random.default_rng(random_state)).problems())
    if problems:
        raise KernelCheckError(type(kernel).__name__, problems)


class _Check:
    """The checks, on some rows `A` and, as the other side, some rows `B`."""

    def __init__(self, kernel: Kernel, X: np.ndarray, given: Any, rng: np.random.Generator):
        self.kernel, self.rng, self.given = kernel, rng, given
        half = min(MOST_ROWS, len(X) // 2)
        self.A, self.B = X[:half].copy(), X[half : 2 * half + 1].copy()
        self.spread = np.std(X, axis=0)
        self.spread[self.spread == 0] = 1.0

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each broken promise; a check that raises is one, too."""
        checks = (
            self._values,
            self._out,
            self._diagonal,
            self._positive,
            self._theta,
            self._theta_gradients,
            self._input_gradients,
            self._diag_gradients,
            self._answers,
            self._copies,
            self._other_library,
        )
        for check in checks:
            try:
                yield from check()
            except Exception as error:  # a kernel may raise anything
                what = check.__name__.strip("_").replace("_", " ")
                yield f"{type(error).__name__} in the check of {what}: {error}"

    # --- values --------------------------------------------------------------------------------

    def _values(self) -> Iterator[str]:
        kernel, A, B = self.kernel, self.A, self.B
        before = A.copy(), B.copy()
        K = np.asarray(kernel.against(B)(A))
        if not (np.array_equal(A, before[0]) and np.array_equal(B, before[1])):
            yield "The inputs were changed in place."
            self.A, self.B = before
            return
        if K.shape != (len(A), len(B)):
            yield f"K(A, B) has shape {K.shape} instead of {(len(A), len(B))}."
            return
        if not np.all(np.isfinite(K)):
            yield "K(A, B) has entries that are NaN or infinite."
            return
        yield from _differing("K(A, B) is not the transpose of K(B, A)", K, kernel(B, A).T)
        cross = kernel.against(B)
        one_by_one = np.concatenate([cross(A[i : i + 1]) for i in range(len(A))])
        yield from _differing("A row of K(A, B) depends on the other rows of A", K, one_by_one)
        by_column = [kernel.against(B[j : j + 1])(A) for j in range(len(B))]
        yield from _differing(
            "A column of K(A, B) depends on the other rows of B", K, np.concatenate(by_column, 1)
        )

    def _out(self) -> Iterator[str]:
        cross = self.kernel.against(self.B)
        out = np.full((len(self.A), len(self.B)), np.nan)
        if cross(self.A, out=out) is not out:
            yield "against(B)(A, out=out) does not return out."
        yield from _differing("against(B)(A, out=out) does not fill out", out, cross(self.A))

    def _diagonal(self) -> Iterator[str]:
        diag = np.asarray(self.kernel.diag(self.A))
        full = np.diagonal(self.kernel.against(self.A)(self.A))
        if diag.shape != full.shape:
            yield f"diag(A) has shape {diag.shape} instead of {full.shape}."
            return
        yield from _differing("diag(A) is not the diagonal of K(A, A)", diag, full, "in row {}")

    def _positive(self) -> Iterator[str]:
        rows = np.concatenate([self.A, self.B, self.A[:2]])
        K = np.asarray(self.kernel.against(rows)(rows))
        least = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
        if least < -1e-8 * len(rows) * max(np.abs(K).max(), 1e-300):
            yield (
                f"K(X, X) of {len(rows)} rows is not positive semidefinite: its smallest "
                f"eigenvalue is {least:.3g}."
            )

    # --- parameters ----------------------------------------------------------------------------

    def _theta(self) -> Iterator[str]:
        kernel, theta = self.kernel, np.asarray(self.kernel.theta)
        p = theta.size
        if theta.ndim != 1 or not np.all(np.isfinite(theta)):
            yield f"theta must be a vector of finite numbers; it is {theta}."
            return
        names, bounds = kernel.theta_names, np.asarray(kernel.bounds)
        if len(names) != p or bounds.shape != (p, 2):
            yield (
                f"theta has {p} entries, theta_names {len(names)}, and bounds the shape "
                f"{bounds.shape} instead of {(p, 2)}."
            )
            return
        for k in np.flatnonzero((theta < bounds[:, 0]) | (theta > bounds[:, 1])):
            yield f"theta is outside its bounds at {names[k]}: {theta[k]:.6g} not in {bounds[k]}."
        K = kernel(self.A, self.B)
        again = kernel.with_theta(theta)
        yield from _differing("with_theta(theta) is another kernel", again(self.A, self.B), K)
        shift = 0.1 * (1.0 + np.arange(p))
        moved = kernel.with_theta(theta + shift)
        yield from _differing(
            "with_theta(t).theta is not t", np.asarray(moved.theta), theta + shift, "at entry {}"
        )
        yield from _differing("with_theta changes the kernel itself", kernel(self.A, self.B), K)

    # --- gradients -----------------------------------------------------------------------------

    def _theta_gradients(self) -> Iterator[str]:
        kernel, A, B = self.kernel, self.A, self.B
        what = "{} is not the derivative of K({}) by theta"
        for label, sides in (("A, B", (A, B)), ("A, A", (A,))):
            W = self._weights(*sides)
            before = W.copy()
            found = kernel.gradient(W, *sides)
            if not np.array_equal(W, before):
                yield "gradient changes W in place."
            expected = self._by_theta(lambda k: np.sum(W * k(*sides)))  # noqa: B023
            yield from self._compare(what.format("gradient", label), found, expected)

    def _input_gradients(self) -> Iterator[str]:
        kernel, A, B = self.kernel, self.A, self.B
        what = "input_gradient is not the derivative of K({}) by A"
        for label, sides in (("A, B", (A, B)), ("A, A", (A,))):
            W = self._weights(*sides)
            found = np.asarray(kernel.input_gradient(W, *sides))
            expected = self._by_inputs(lambda X: np.sum(W * kernel(X, *sides[1:])))  # noqa: B023
            yield from self._compare_inputs(what.format(label), found, expected)

    def _diag_gradients(self) -> Iterator[str]:
        kernel, A = self.kernel, self.A
        w = self.rng.uniform(0.5, 1.5, len(A))
        found = kernel.diag_gradient(w, A)
        expected = self._by_theta(lambda k: np.sum(w * k.diag(A)))
        what = "diag_gradient is not the derivative of diag by theta"
        yield from self._compare(what, found, expected)
        found = np.asarray(kernel.diag_input_gradient(w, A))
        expected = self._by_inputs(lambda X: np.sum(w * kernel.diag(X)))
        what = "diag_input_gradient is not the derivative of diag by A"
        yield from self._compare_inputs(what, found, expected)

    def _weights(self, A: np.ndarray, B: np.ndarray | None = None) -> np.ndarray:
        return self.rng.normal(size=(len(A), len(A if B is None else B)))

    def _by_theta(self, function: Callable[[Kernel], float]) -> np.ndarray:
        """Return central differences by theta."""
        theta = np.asarray(self.kernel.theta, dtype=np.float64)
        steps = STEP * np.eye(len(theta))
        ends = [
            function(self.kernel.with_theta(theta + step))
            - function(self.kernel.with_theta(theta - step))
            for step in steps
        ]
        return np.array(ends) / (2.0 * STEP)

    def _by_inputs(self, function: Callable[[np.ndarray], float]) -> np.ndarray:
        """Return central differences by A; NaN along features with categories."""
        D = self.A.shape[1]
        scales = self.kernel.length_scales(D)
        units = self.spread if scales is None else np.minimum(scales, self.spread)
        categories = self.kernel.has_categories(D)
        gradient = np.full(self.A.shape, np.nan)
        for i, k in np.ndindex(self.A.shape):
            if categories[k]:
                continue
            up, down = self.A.copy(), self.A.copy()
            up[i, k] += STEP * units[k]
            down[i, k] -= STEP * units[k]
            gradient[i, k] = (function(up) - function(down)) / (up[i, k] - down[i, k])
        return gradient

    def _compare(self, what: str, found: Any, expected: np.ndarray) -> Iterator[str]:
        found = np.asarray(found)
        if found.shape != expected.shape:
            yield f"{what}: its shape is {found.shape} instead of {expected.shape}."
            return
        names = self.kernel.theta_names
        off = np.abs(found - expected) > DIFFERENCE * max(np.max(np.abs(expected), initial=0), 1e-6)
        if np.any(off):
            k = int(np.argmax(off))
            yield f"{what}: {found[k]:.3g} instead of {expected[k]:.3g} for {names[k]}."

    def _compare_inputs(self, what: str, found: np.ndarray, expected: np.ndarray) -> Iterator[str]:
        if found.shape != expected.shape:
            yield f"{what}: its shape is {found.shape} instead of {expected.shape}."
            return
        largest = np.max(np.abs(expected), initial=0, where=np.isfinite(expected))
        off = np.abs(found - expected) > DIFFERENCE * max(largest, 1e-6)
        if np.any(off):
            i, k = (int(place[0]) for place in np.nonzero(off))
            yield (
                f"{what}: {found[i, k]:.3g} instead of {expected[i, k]:.3g} in row {i} of feature "
                f"{k}."
            )

    # --- the rest ------------------------------------------------------------------------------

    def _answers(self) -> Iterator[str]:
        kernel, D, p = self.kernel, self.A.shape[1], len(self.kernel.theta)
        flags = np.asarray(kernel.is_length_scale)
        if flags.shape != (p,) or flags.dtype != bool:
            yield f"is_length_scale must be {p} booleans, one for each entry of theta."
        for name in ("length_scales", "relevances", "has_categories"):
            answer = getattr(kernel, name)(D)
            if answer is not None and np.shape(answer) != (D,):
                yield f"{name}({D}) has shape {np.shape(answer)} instead of {(D,)}."
            elif answer is not None and np.any(np.asarray(answer) < 0):
                yield f"{name}({D}) has negative entries."
        scaled = kernel.scaled(2.0)
        if scaled is not None:
            K = kernel(self.A, self.B)
            yield from _differing(
                "scaled(2) is not twice the kernel", scaled(self.A, self.B), 2 * K
            )

    def _copies(self) -> Iterator[str]:
        kernel, K = self.kernel, self.kernel(self.A, self.B)
        try:
            kept = pickle.loads(pickle.dumps(kernel))
        except Exception as error:  # pickle may raise anything
            yield f"It cannot be pickled, so it cannot be used by several processes: {error}."
        else:
            yield from _differing("A pickled kernel is another one", kept(self.A, self.B), K)
        # scikit-learn's clone copies deeply what is no estimator.
        copied = copy.deepcopy(kernel)
        yield from _differing("A copied kernel is another one", copied(self.A, self.B), K)

    def _other_library(self) -> Iterator[str]:
        if not is_foreign(self.given):
            return
        backend = Backend(self.given)
        A, B = backend.asarray(self.A), backend.asarray(self.B)
        K = self.kernel(A, B)
        if type(K) is not type(A) or K.dtype != A.dtype:
            yield f"K(A, B) of {type(A).__name__} is {type(K).__name__} with {K.dtype}."
            return
        ours, tolerance = self.kernel(self.A, self.B), 1e3 * backend.epsilon
        off = np.abs(to_numpy(K) - ours)
        if off.max() > tolerance * max(np.abs(ours).max(), 1e-300):
            yield f"K(A, B) of {type(A).__name__} differs from NumPy's by {off.max():.3g}."


def _differing(what: str, found: Any, expected: Any, where: str = "at {}") -> Iterator[str]:
    """Yield a sentence where two arrays differ by more than rounding."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        yield f"{what}: the shape is {found.shape} instead of {expected.shape}."
        return
    off = ~(np.abs(found - expected) <= ROUNDING * np.max(np.abs(expected), initial=1e-300))
    if np.any(off):
        place = tuple(int(k[0]) for k in np.nonzero(off))
        at = where.format(place[0] if len(place) == 1 else place)
        yield f"{what}: {found[place]:.6g} instead of {expected[place]:.6g} {at}."
