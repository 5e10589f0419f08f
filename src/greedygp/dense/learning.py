"""Hyperparameters of a full GP: by the evidence, or by what is predicted of left-out rows.

The evidence of a few hundred rows is cheap and has few minima, so every search starts with it. The
leave-one-out measures go on from there, on more rows. A common factor of kernel and noise that a
measure does not tell is set afterwards (:func:`greedygp.hyperparameters.rescaled`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedygp.data import mean_variance
from greedygp.dense.objectives import DENSE_OBJECTIVES, LeaveOneOut
from greedygp.hyperparameters import Point, moving_parts, rescaled
from greedygp.kernels import Kernel
from greedygp.measures import MEASURES
from greedygp.minimise import Minimum, minimise
from greedygp.progress import NEVER, Deadline
from greedygp.start import SUBSET_ROWS, random_rows, subset_evidence
from greedygp.validation import check_choice

__all__ = ["Schedule", "learn_hyperparameters"]

REACH = 100.0  # the largest factor between a kernel parameter's start and where it may go
OPTIMISER_TOL = 1e-7  # relative improvement of the sum over rows
START_SHARE = 0.3  # of the time that is left
# Nats of all rows: a few iterations that together gain less are not worth their time. The evidence
# tells a hyperparameter to half a nat.
LITTLE = 0.1


@dataclass(frozen=True)
class Schedule:
    """What hyperparameters are learnt by, on how many rows, and for how long.

    Parameters
    ----------
    objective : {"nlml", "loo_cve", "nlgpp", "gpe", None}
        None: the kernel is held, and the noise is learnt by the evidence.
    n_rows : int
        The most rows that are used.
    max_iter : int
    deadline : Deadline
        When to stop with what there is.
    """

    objective: str | None
    n_rows: int
    max_iter: int = 100
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, (*DENSE_OBJECTIVES, None))


def learn_hyperparameters(
    schedule: Schedule,
    kernel: Kernel | None,
    noise_variance: float | None,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    first_noise: float | None = None,
    random_state: np.random.Generator | int | None = None,
) -> Minimum:
    """Learn hyperparameters on random rows.

    Parameters
    ----------
    schedule : Schedule
    kernel, noise_variance, X, y, weights, first_noise, random_state
        As those of :func:`greedygp.start.subset_evidence`; weights are positive.

    Returns
    -------
    Minimum
        Values are the objective's on the rows that were used.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.dense.learning import Schedule, learn_hyperparameters
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(80, 1))
    >>> y = np.sin(X) + 0.1 * rng.normal(size=X.shape)
    >>> learnt = learn_hyperparameters(Schedule("nlgpp", n_rows=80), None, None, X, y)
    >>> 0.005 < learnt.point.noise_variance < 0.02
    True
    """
    y = y[:, None] if y.ndim == 1 else y
    rng = np.random.default_rng(random_state)
    measure = None if schedule.objective is None else MEASURES.get(schedule.objective)
    by_evidence = measure is None  # which is what the start is learnt by
    start = subset_evidence(
        kernel,
        noise_variance,
        X,
        y,
        weights,
        first_noise=first_noise,
        n_rows=schedule.n_rows if by_evidence else min(schedule.n_rows, SUBSET_ROWS),
        max_iter=schedule.max_iter,
        learn_kernel=schedule.objective is not None,
        little=LITTLE,
        deadline=schedule.deadline if by_evidence else schedule.deadline.share(START_SHARE),
        random_state=rng,
    )
    if measure is None:
        return start
    objective = LeaveOneOut(measure, *random_rows(X, y, weights, schedule.n_rows, rng))
    return _search(objective, start, noise_variance is None, schedule)


def _search(
    objective: LeaveOneOut, start: Minimum[Point], learn_noise: bool, schedule: Schedule
) -> Minimum[Point]:
    """Minimise a leave-one-out measure from the start, and set the scale if it is free."""
    variance = mean_variance(objective.y, objective.weights)
    coordinates = moving_parts(start.point, variance, noise=learn_noise, reach=REACH)
    found = minimise(
        objective,
        coordinates,
        max_iter=schedule.max_iter,
        factor=objective.sum_over_rows(start.point),
        tol=OPTIMISER_TOL,
        deadline=schedule.deadline,
    )
    if learn_noise and not objective.measure.tells_scale:
        _set_scale(objective, found)
    return found


def _set_scale(objective: LeaveOneOut, found: Minimum[Point]) -> None:
    """Scale kernel and noise, in place, to the size of left-out residuals, if that is allowed."""
    point = rescaled(found.point, objective.scale(found.point))
    if point is not None:
        found.point = point
        found.value = objective.value(point)
