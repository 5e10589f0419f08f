"""Hyperparameters of a full GP: by the evidence, or by what is predicted of left-out rows.

The evidence of a few hundred rows is cheap and has few minima, so every search starts with it. The
leave-one-out measures go on from there, on more rows. A common factor of kernel and noise does not
change the residuals: LOO-CVE leaves it undetermined and GPE would have it vanish. Afterwards it is
set to `mean(r^2 / t)`, what NLGPP would choose, so that the error bars have the right size.
"""

from __future__ import annotations

import numpy as np

from greedygp.data import mean_variance
from greedygp.dense.objectives import DenseObjective
from greedygp.hyperparameters import Point, moving_parts
from greedygp.kernels import Kernel
from greedygp.minimise import Minimum, minimise
from greedygp.progress import NEVER, Deadline
from greedygp.start import SUBSET_ROWS, subset_evidence

__all__ = ["learn_hyperparameters"]

REACH = 100.0  # the largest factor between a kernel parameter's start and where it may go
OPTIMISER_TOL = 1e-7  # relative improvement of the sum over rows
START_SHARE = 0.3  # of the time that is left
SCALELESS = ("loo_cve", "gpe")


def learn_hyperparameters(
    kernel: Kernel | None,
    noise_variance: float | None,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    objective: str,
    n_rows: int,
    max_iter: int = 100,
    deadline: Deadline = NEVER,
    random_state: np.random.Generator | int | None = None,
) -> Minimum:
    """Learn hyperparameters on at most `n_rows` random rows.

    Parameters
    ----------
    kernel : Kernel or None
        The start; None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed; None: learnt.
    X, y : (n, D) and (n, p) or (n,) arrays
    weights : (n,) array, optional
        Positive.
    objective : {"nlml", "loo_cve", "nlgpp", "gpe"}
    n_rows, max_iter : int
    deadline : Deadline
        When to stop with what there is.
    random_state : Generator, int or None
        Chooses the rows.

    Returns
    -------
    Minimum
        Values are the objective's on the rows that were used.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.dense.learning import learn_hyperparameters
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(80, 1))
    >>> y = np.sin(X) + 0.1 * rng.normal(size=X.shape)
    >>> learnt = learn_hyperparameters(None, None, X, y, objective="nlgpp", n_rows=80)
    >>> 0.005 < learnt.point.noise_variance < 0.02
    True
    """
    y = y[:, None] if y.ndim == 1 else y
    rng = np.random.default_rng(random_state)
    loo = objective != "nlml"
    start = subset_evidence(
        kernel,
        noise_variance,
        X,
        y,
        weights,
        n_rows=min(n_rows, SUBSET_ROWS) if loo else n_rows,
        max_iter=max_iter,
        deadline=deadline.share(START_SHARE) if loo else deadline,
        random_state=rng,
    )
    if not loo:
        return start
    if len(X) > n_rows:
        rows = np.sort(rng.choice(len(X), n_rows, replace=False))
        X, y, weights = X[rows], y[rows], None if weights is None else weights[rows]
    measure = DenseObjective(objective, X, y, weights)
    coordinates = moving_parts(
        start.point, mean_variance(y, weights), noise=noise_variance is None, reach=REACH
    )
    found = Minimum(start.point, np.nan, np.nan, 0, False, start.interrupted)
    try:
        found = minimise(
            measure,
            coordinates,
            max_iter=0 if start.interrupted else max_iter,
            factor=_sum_over_rows(measure, start.point),
            tol=OPTIMISER_TOL,
            deadline=deadline,
        )
        found.interrupted |= start.interrupted
        if objective in SCALELESS and noise_variance is None and not found.interrupted:
            _set_scale(measure, found)
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def _sum_over_rows(measure: DenseObjective, start: Point) -> float:
    """Return the factor that turns the measure into nats, summed over the rows, near the start.

    A mean of squares is taken relative to where it starts, whatever the units of y.
    """
    total = len(measure.X) if measure.weights is None else float(np.sum(measure.weights))
    if measure.name not in SCALELESS:
        return 0.5 * total
    first = measure.value(start)
    return 0.5 * total / first if np.isfinite(first) and first > 1e-300 else 0.5 * total


def _set_scale(measure: DenseObjective, found: Minimum) -> None:
    """Scale kernel and noise, in place, to the size of the left-out residuals, where both may."""
    factor = measure.scale(found.point)
    kernel = found.point.kernel.scaled(factor) if np.isfinite(factor) and factor > 0 else None
    if kernel is None or not kernel.within_bounds():
        return
    found.point = Point(kernel, factor * found.point.noise_variance)
    found.value = measure.value(found.point)
