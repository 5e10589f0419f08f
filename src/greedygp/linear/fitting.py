"""Fast GCV and the fast relevance vector machine: the loop with their measure and their start.

The noise of the relevance vector machine is always the best one for the model (see `evidence`). A
model that begins with all of the variance as noise stays too small: the first functions are judged
against noise that the later ones would have explained. So, as Tipping and Faul recommend, the noise
is held at a hundredth of the variance to begin with, until the evidence (with the best noise) has
not risen for a while or the loop has come to rest; then it is let go. On data that are mostly noise
the first phase ends soon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from greedygp.linear.dictionary import Dictionary
from greedygp.linear.evidence import Evidence
from greedygp.linear.gcv import GCV
from greedygp.linear.loop import Limits, Loop, Path
from greedygp.linear.pool import AllCandidates, SampledCandidates
from greedygp.linear.state import LinearState

__all__ = ["Watch", "fast_gcv", "fast_rvm", "make_pool"]

START_NOISE = 0.01  # of the variance
START_TOL = 10.0  # tolerance of the first phase, in units of that of the second
START_PATIENCE = 30  # actions without a rise of the evidence that end the first phase

Watch = Callable[[Loop], bool]


def make_pool(
    state: LinearState, working_set: int | None, rng: np.random.Generator
) -> AllCandidates | SampledCandidates:
    """Return the candidates: all columns, or so many random ones a step."""
    if working_set is None:
        return AllCandidates(state)
    return SampledCandidates(state, working_set, rng)


def fast_gcv(
    dictionary: Dictionary,
    t: np.ndarray,
    limits: Limits,
    working_set: int | None = None,
    rng: np.random.Generator | None = None,
    watch: Watch | None = None,
) -> Loop:
    """Minimise GCV and return the finished loop.

    Parameters
    ----------
    dictionary : Dictionary
    t : (N,) array
        The target, weighted and centred.
    limits : Limits
        `tol` is a relative decrease of GCV.
    working_set : int or None
    rng : numpy.random.Generator, needed where `working_set` is given
    watch : callable, optional
        Called with the loop after every action; a true result ends it.
    """
    state = LinearState(dictionary, t)
    pool = make_pool(state, working_set, rng or np.random.default_rng(0))
    return _finished(Loop(state, pool, GCV(state.rows, state.dof), limits), watch)


def fast_rvm(
    dictionary: Dictionary,
    t: np.ndarray,
    limits: Limits,
    noise_variance: float | None = None,
    working_set: int | None = None,
    rng: np.random.Generator | None = None,
    watch: Watch | None = None,
) -> Loop:
    """Maximise the evidence and return the finished loop; parameters as `fast_gcv`.

    `limits.tol` is an increase of the log evidence per row, `noise_variance` None: learnt.
    """
    state = LinearState(dictionary, t, squares=False)
    pool = make_pool(state, working_set, rng or np.random.default_rng(0))
    limits = replace(limits, tol=limits.tol * max(state.dof, 1.0))
    free = Evidence(state.dof, noise_variance)
    if noise_variance is not None or not state.square > 0.0:
        return _finished(Loop(state, pool, free, limits), watch)
    start = Evidence(state.dof, START_NOISE * state.square / max(state.dof, 1.0))
    first = Loop(state, pool, start, replace(limits, tol=START_TOL * limits.tol), reported=free)
    best, best_step, stopped = -np.inf, 0, False

    def enough(path: Path) -> bool:
        nonlocal best, best_step, stopped
        value = path.steps[-1][2]
        if value > best:
            best, best_step = value, len(path)
        stopped = watch is not None and watch(first)
        return stopped or len(path) - best_step >= START_PATIENCE

    path = first.run(enough)
    first.measure = free
    if stopped or path.reason in ("interrupted", "ill_conditioned", "max_iter"):
        state.recompute()
        return first
    return _finished(Loop(state, pool, free, limits, path=path), watch)


def _finished(loop: Loop, watch: Watch | None) -> Loop:
    """Run the loop, and compute its state a last time from scratch."""
    loop.run(None if watch is None else lambda _: watch(loop))
    loop.state.recompute()
    return loop
