"""Where learning starts: the evidence of a full GP on a random subset of the rows.

The evidence (see `full_gp`) is minimised over the logarithms of the kernel's free parameters and of
the noise variance by L-BFGS. An evaluation costs O(n^3), so n is a few hundred. For the default
kernel a weak prior is added (see `prior`), so that length scales do not run away.

A few hundred rows may still lead to a poor minimum. With many rows two subsets can be learnt from,
and other rows say which of the two results is the better one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from greedygp.data import feature_spreads, mean_variance
from greedygp.descent import Memory
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.full_gp import evidence, evidence_value
from greedygp.hyperparameters import Evaluation, Point, moving_parts
from greedygp.inputs import input_names
from greedygp.kernels import Gaussian, Kernel
from greedygp.kernels.conversion import kernel_and_noise
from greedygp.messages import shown
from greedygp.minimise import Minimum, minimise
from greedygp.prior import KernelPrior, NoisePrior
from greedygp.progress import NEVER, Deadline

__all__ = [
    "SUBSET_ROWS",
    "Given",
    "default_kernel",
    "random_places",
    "random_rows",
    "subset_evidence",
]

SUBSET_ROWS = 500
SUBSETS = 2  # that are learnt from where they are compared; as many rows again are the judge
NOISE_LEVELS = np.array([0.01, 0.1, 0.5])  # where the noise starts, relative to y's variance
ONLY_NOISE = 0.5  # where the noise has this share of y's variance, shorter length scales are tried
SHORTER_SCALES = (0.3, 0.1, 0.03)  # relative to the default
CLEAR_GAIN = 0.02  # nats per row by which shorter length scales must be better
WINDOW = 3  # iterations that together may gain too little for a search to go on

Rows = tuple[np.ndarray, np.ndarray, np.ndarray | None]  # X (n, D), y (n, p), weights (n,)


def default_kernel(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Gaussian:
    """Return an ARD Gaussian scaled to the data.

    Parameters
    ----------
    X : (n, D) array
    y : (n, p) array
    weights : (n,) array or None
    """
    # Mean squares rather than variances, since the prior mean is zero.
    square = float(np.mean(np.average(y**2, axis=0, weights=weights)))
    variance = square if square > 1e-300 else 1.0
    return Gaussian(variance, feature_spreads(X, weights) * np.sqrt(X.shape[1]))


@dataclass(frozen=True)
class Given:
    """What a regressor was given to start with, where it was given something."""

    kernel: Kernel | None
    noise_variance: float | None  # held fixed
    first_noise: float | None = None  # where the search begins

    @classmethod
    def to(cls, options: Any, n_features: int) -> Given:
        """Return what an estimator with the parameters `kernel` and `noise_variance` has.

        A `WhiteKernel` of scikit-learn is the start of the noise, or holds it fixed.
        """
        names = input_names(options)
        kernel, white = kernel_and_noise(options.kernel, n_features, names)
        if white is None:
            held = options.noise_variance
            return cls(kernel, None if held is None else float(held))
        if options.noise_variance is not None:
            raise ValueError(
                f"The noise is given twice: noise_variance={shown(options.noise_variance)}, and a "
                f"WhiteKernel of {white.variance:g} in the kernel; leave one of them out"
            )
        return cls(kernel, white.variance) if white.held else cls(kernel, None, white.variance)


def subset_evidence(
    kernel: Kernel | None,
    noise_variance: float | None,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    first_noise: float | None = None,
    n_rows: int = SUBSET_ROWS,
    max_iter: int = 100,
    learn_kernel: bool = True,
    compare: bool = False,
    little: float = 0.0,
    deadline: Deadline = NEVER,
    random_state: np.random.Generator | int | None = None,
) -> Minimum:
    """Learn hyperparameters by the evidence of a full GP on at most `n_rows` random rows.

    Parameters
    ----------
    kernel : Kernel or None
        Where to start; None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed; None: learnt.
    X, y : (n, D) and (n, p) or (n,) arrays
    weights : (n,) array, optional
    first_noise : float, optional
        Where the noise starts, if it is learnt; else the best of some levels.
    n_rows, max_iter : int
    learn_kernel : bool
        False: only the noise is learnt.
    compare : bool
        Learn from two subsets where there are three times as many rows, and return what gives the
        rows of neither the higher evidence.
    little : float
        A search has converged, too, where three iterations together gain less nats than that.
    deadline : Deadline
        When to stop with what there is.
    random_state : Generator, int or None
        Chooses the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.start import subset_evidence
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> learnt = subset_evidence(None, None, X, np.sin(X[:, 0]), random_state=0)
    >>> learnt.point.noise_variance < 1e-3
    True
    """
    y = y[:, None] if y.ndim == 1 else y
    first = default_kernel(X, y, weights) if kernel is None else kernel
    prior = KernelPrior(first) if kernel is None and learn_kernel else None

    def learnt(rows: Rows, deadline: Deadline) -> Minimum[Point]:
        variance = mean_variance(rows[1], rows[2])
        levels = variance * NOISE_LEVELS if first_noise is None else np.array([first_noise])
        ending = max_iter, little, deadline
        search = _Search(noise_variance, levels, variance, learn_kernel, prior, *ending)
        return search.learnt(first, rows)

    if not compare or len(X) < (SUBSETS + 1) * n_rows:
        return learnt(random_rows(X, y, weights, n_rows, random_state), deadline)
    return _better_of_subsets(learnt, X, y, weights, n_rows, deadline, random_state)


def _better_of_subsets(
    learnt: Callable[[Rows, Deadline], Minimum[Point]],
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    n_rows: int,
    deadline: Deadline,
    random_state: np.random.Generator | int | None,
) -> Minimum[Point]:
    """Learn from disjoint subsets; return what other rows find the most probable."""
    places = np.random.default_rng(random_state).permutation(len(X))[: (SUBSETS + 1) * n_rows]
    parts = np.sort(places.reshape(SUBSETS + 1, n_rows), axis=1)
    *subsets, judge = [_at(part, X, y, weights) for part in parts]
    found: list[Minimum[Point]] = []
    for left, rows in zip(range(SUBSETS, 0, -1), subsets, strict=True):
        if not (found and deadline.passed):
            found.append(learnt(rows, deadline.share(1 / left)))

    def cost(minimum: Minimum[Point]) -> float:
        try:
            return evidence_value(minimum.point.kernel, minimum.point.noise_variance, *judge)
        except NotPositiveDefiniteError:
            return np.inf

    return min(found, key=cost)


@dataclass(frozen=True)
class _Search:
    """What moves in a search, from where, and how long; `variance` is that of the targets."""

    noise_variance: float | None
    first_levels: np.ndarray  # where the noise may start, if it is learnt
    variance: float
    learn_kernel: bool
    prior: KernelPrior | None
    max_iter: int
    little: float  # nats that some iterations must gain together for the search to go on
    deadline: Deadline

    def objective(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ) -> Callable[[Point], Evaluation]:
        """Return what is minimised: the evidence of these rows, with the prior if there is one."""

        def of_rows(point: Point) -> Evaluation:
            return evidence(point.kernel, point.noise_variance, X, y, weights)

        if self.prior is None:
            return of_rows
        return NoisePrior(self.variance).added_to(self.prior.added_to(of_rows))

    def prior_loss(self, point: Point) -> float:
        """Return what the prior adds to the evidence."""
        if self.prior is None:
            return 0.0
        noise = NoisePrior(self.variance).loss(point.noise_variance)[0]
        return self.prior.loss(point.kernel)[0] + noise

    def minimum(
        self, kernel: Kernel, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ) -> Minimum:
        """Search from a kernel and the best of some noise variances."""
        noise = self.noise_variance
        levels = self.first_levels if noise is None else [noise]
        starts = [Point(kernel, float(level)) for level in levels]

        def cost(point: Point) -> float:
            own = evidence_value(point.kernel, point.noise_variance, X, y, weights)
            return own + self.prior_loss(point)

        point = _best_start(cost, starts) if len(starts) > 1 else starts[0]
        coordinates = moving_parts(
            point, self.variance, kernel=self.learn_kernel, noise=noise is None
        )
        return minimise(
            self.objective(X, y, weights),
            coordinates,
            max_iter=self.max_iter,
            deadline=self.deadline,
            memory=Memory(),
            little=self.little,
            window=WINDOW,
        )

    def learnt(self, first: Kernel, rows: Rows) -> Minimum:
        """Search from a kernel, and from shorter length scales where only noise was found."""
        found = self.minimum(first, *rows)
        if self.prior is None:
            return found
        # What is reported is the evidence of all rows, alone.
        if found.point.noise_variance < ONLY_NOISE * self.variance:
            found.value -= self.prior_loss(found.point)
            return found
        found = _with_shorter_scales(self, first, found, *_distinct_rows(*rows))
        found.value = evidence_value(found.point.kernel, found.point.noise_variance, *rows)
        return found


def _with_shorter_scales(
    search: _Search,
    kernel: Kernel,
    found: Minimum,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
) -> Minimum:
    """Try shorter length scales where nothing but noise was found; return the best minimum.

    Perhaps the function changes over shorter distances. The gain must be clear, because a kernel
    of tiny length scales is noise by another name. The rows must be distinct, because such a kernel
    explains copies of a row perfectly.
    """
    best = found
    least = search.objective(X, y, weights)(found.point).value
    least -= CLEAR_GAIN * len(X)
    for factor in SHORTER_SCALES:
        shorter = kernel.with_theta(kernel.theta + np.log(factor) * kernel.is_length_scale)
        other = search.minimum(shorter, X, y, weights)
        if other.value < least:
            best, least = other, other.value
    return best


def random_rows(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    n_rows: int,
    random_state: np.random.Generator | int | None,
) -> Rows:
    """Return at most `n_rows` of the rows, in their order."""
    if len(X) <= n_rows:
        return X, y, weights
    return _at(random_places(len(X), n_rows, random_state), X, y, weights)


def _at(places: np.ndarray, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Rows:
    """Return the rows at some places."""
    return X[places], y[places], None if weights is None else weights[places]


def random_places(
    n: int, n_rows: int, random_state: np.random.Generator | int | None
) -> np.ndarray:
    """Return the places of at most `n_rows` of n rows, in their order."""
    if n <= n_rows:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, n_rows, replace=False))


def _distinct_rows(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Rows:
    """Return every row once, whether it came as copies or with a weight above one."""
    _, first = np.unique(np.hstack([X, y]), axis=0, return_index=True)
    first = np.sort(first)
    return X[first], y[first], None if weights is None else np.minimum(weights[first], 1.0)


def _best_start(cost: Callable[[Point], float], points: list[Point]) -> Point:
    """Return the point of the lowest cost; those that cannot be evaluated are passed over."""
    values = []
    for point in points:
        try:
            values.append(cost(point))
        except NotPositiveDefiniteError:
            values.append(np.inf)
    return points[int(np.argmin(values))] if np.isfinite(min(values)) else points[-1]
