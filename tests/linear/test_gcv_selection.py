"""Fast GCV's starts: against slow twins, and against regularised forward selection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import FastGCVRegressor, RFSRegressor
from greedygp.datasets import make_friedman
from greedygp.kernels import Gaussian
from greedygp.linear.algorithms import FastGCV, RegularisedForwardSelection
from reference import sparse_linear as reference

WIDTHS = (0.7, 1.4, 2.8, 5.6, 11.0, 22.0)


def values_of(path):
    return np.array([line[2] for line in path.steps])


# ------------------------------------------------------------------------------ slow twins


@pytest.mark.parametrize(
    "case", [{"N": 25}, {"N": 25, "M": 15, "noise": 1.0}, {"N": 20, "weights": True}], ids=str
)
def test_forward_selection_is_that_of_the_definition(problem, case):
    p = problem(seed=4, **case)
    algorithm = RegularisedForwardSelection(0.0, 6, None)
    selection = algorithm.start(p.dictionary, p.t)
    path = algorithm.run(selection)
    chosen, ridge, values = reference.regularised_forward_selection(p.Phi, p.t, 6, p.rows, p.dof)
    assert [line[1] for line in path.steps] == chosen
    assert_allclose(values_of(path), values, rtol=1e-6)
    if selection.size == 6:
        assert selection.ridge == pytest.approx(ridge, rel=1e-2)


@pytest.mark.parametrize("width", [0.2, 0.5, 3.0])
def test_a_ridge_that_stays_costs_next_to_nothing(problem, width):
    """With a tolerance GCV is within it of the smallest for the same columns, at every size."""
    p = problem(seed=1, N=50, width=width)
    algorithm = RegularisedForwardSelection(1e-4, 25, None)
    selection = algorithm.start(p.dictionary, p.t)
    excess = []

    def look(path):
        chosen = selection.state.chosen
        ridges = selection.ridge * np.geomspace(1e-3, 1e3, 61)
        best = min(
            reference.gcv(p.Phi[:, chosen], p.t, np.full(len(chosen), r), p.rows, p.dof)
            for r in ridges
        )
        excess.append(path.steps[-1][2] / best - 1)
        return False

    algorithm.run(selection, look)
    assert max(excess) < 1e-2
    assert np.median(excess) < 1e-3
    if width < 3.0:
        assert len(set(selection.ridges)) < len(selection.ridges)  # it does stay
    chosen = selection.state.chosen
    now = reference.gcv(p.Phi[:, chosen], p.t, selection.state.zeta, p.rows, p.dof)
    assert selection.value == pytest.approx(now, rel=1e-6)


@pytest.mark.parametrize("start", ["empty", "paper"])
def test_actions_are_those_of_the_definition(problem, start):
    p = problem(seed=6, N=12)
    algorithm = FastGCV(1e-9, start_from=start, max_iter=400)
    selection = algorithm.start(p.dictionary, p.t)
    path = algorithm.run(selection, lambda path: len(path) >= 9)
    zeta, least = np.full(12, np.inf), np.max(np.abs(p.Phi_raw), axis=0) ** 2 / p.rows
    expected = reference.fast_gcv(
        p.Phi, p.t, zeta, least, p.rows, p.dof, 9, hold_noise=start == "paper"
    )
    assert_allclose(values_of(path), expected[: len(path)], rtol=1e-5)
    assert len(path) > 5


@pytest.mark.parametrize("start", ["rfs", "paper"])
@pytest.mark.parametrize("width", [0.3, 1.0, 4.0])
def test_values_on_the_way_are_those_of_the_definition(problem, start, width):
    p = problem(seed=2, N=40, width=width, noise=0.3)
    algorithm = FastGCV(1e-6, start_from=start)
    selection = algorithm.start(p.dictionary, p.t)
    truth = []

    def look(path):
        state = selection.state
        zeta = np.full(p.Phi.shape[1], np.inf)
        zeta[state.chosen] = state.zeta
        truth.append(reference.gcv(p.Phi, p.t, zeta, p.rows, p.dof))
        return False

    path = algorithm.run(selection, look)
    assert path.reason == "converged"
    deleted = [k for k, line in enumerate(path.steps) if line[0] == "delete"]
    first = deleted[0] if start == "rfs" and deleted else 0  # what the start takes back at once
    kept = [k for k in range(len(path)) if not first <= k < first + 20]
    assert_allclose(values_of(path)[kept], np.array(truth)[kept], rtol=1e-3)  # drift is repaired
    # The end is decided on fresh numbers. Ridges of 1e-11 make S as ill-conditioned as 1e13.
    look(path)
    fresh = 1e-4 if start == "rfs" else 1e-9
    assert selection.reported_value == pytest.approx(truth[-1], rel=fresh)


def test_the_paper_and_the_projection_choose_a_first_function(problem):
    """By the largest projection on the normalised function (section 3.2, item 1)."""
    p = problem(seed=3, N=30, M=20, noise=2.0)
    for start in ("empty", "paper"):
        algorithm = FastGCV(1e-6, max_iter=1, start_from=start, first="projection")
        selection = algorithm.start(p.dictionary, p.t)
        algorithm.run(selection)
        share = (p.Phi.T @ p.t) ** 2 / np.sum(p.Phi**2, axis=0)
        assert selection.state.chosen == [int(np.argmax(share))]


def test_the_paper_estimates_the_noise_every_five_actions(problem):
    p = problem(seed=2, N=60)
    algorithm = FastGCV(1e-6, start_from="paper")
    selection = algorithm.start(p.dictionary, p.t)
    held = []

    def look(path):
        held.append(selection.criterion.held)
        return len(path) >= 17

    algorithm.run(selection, look)
    assert_array_equal(1 + np.flatnonzero(np.diff(held)), [5, 10, 15])


# ------------------------------------------------------------------------------ what they reach


def problems(count):
    """Friedman's three functions in turn, standardised: training rows, test rows without noise."""
    for seed in range(count):
        which = (3, 2, 1)[seed % 3]
        train = make_friedman(which, 100 + 10 * (seed % 7), random_state=seed)
        test = make_friedman(which, 500, random_state=10**6 + seed, noise=0.0)
        centre, scale = train.X.mean(axis=0), train.X.std(axis=0)
        mean, deviation = train.y.mean(), train.y.std()
        yield (
            (train.X - centre) / scale,
            (train.y - mean) / deviation,
            (test.X - centre) / scale,
            (test.y - mean) / deviation,
        )


def compare(count):
    """Fast GCV over forward selection at all widths: GCV, sizes of both, log ratio of the NMSE."""
    gcv, sizes, errors = [], [], []
    for X, y, X_test, y_test in problems(count):
        for width in WIDTHS:
            models = [
                kind(kernel=Gaussian(length_scale=width))
                for kind in (FastGCVRegressor, RFSRegressor)
            ]
            fast, forward = (model.fit(X, y) for model in models)
            gcv.append(fast.gcv_ / forward.gcv_)
            sizes.append((fast.n_basis_, forward.n_basis_))
            errors.append([np.mean((m.predict(X_test) - y_test) ** 2) for m in (fast, forward)])
    return np.array(gcv), np.mean(sizes, axis=0), np.diff(np.log(errors), axis=1)


def test_gcv_is_at_most_that_of_forward_selection():
    gcv, (fast, forward), gain = compare(2)
    assert np.max(gcv) <= 1.0 + 1e-9  # the loop only goes down from there
    assert fast < forward
    assert np.mean(gain) > -0.05


@pytest.mark.slow
def test_gcv_sizes_and_errors_on_fifty_problems():
    gcv, (fast, forward), gain = compare(50)
    assert np.max(gcv) <= 1.0 + 1e-9  # the loop only goes down from there
    assert fast < forward
    assert np.mean(gain) > -0.01  # NMSE is the same on average, within one per cent


@pytest.mark.parametrize("start", ["rfs", "empty", "paper"])
@pytest.mark.parametrize("case", ["constant", "one row", "duplicates", "exact"])
def test_limit_cases(start, case):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(30, 2))
    y = np.sin(3 * X[:, 0])
    if case == "constant":
        y = np.full(30, 2.0)
    elif case == "one row":
        X, y = X[:1], y[:1]
    elif case == "duplicates":
        X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3) + 0.1 * rng.normal(size=90)
    model = FastGCVRegressor(kernel=Gaussian(length_scale=0.6), start=start).fit(X, y)
    assert np.all(np.isfinite(model.predict(X)))
    if case in ("constant", "one row"):
        assert model.n_basis_ == 0
        assert_array_equal(model.predict(X), y)
    else:
        assert np.mean((model.predict(X) - y) ** 2) < 0.1 * np.var(y)


@pytest.mark.parametrize("most", [1, 5])
def test_max_basis_holds_in_the_start(most):
    X, y, *_ = next(problems(1))
    model = FastGCVRegressor(kernel=Gaussian(length_scale=2.8), max_basis=most).fit(X, y)
    assert model.n_basis_ <= most
    forward = RFSRegressor(kernel=Gaussian(length_scale=2.8), max_basis=most).fit(X, y)
    assert model.gcv_ <= forward.gcv_ * 1.01


def test_max_iter_may_end_the_start():
    X, y, *_ = next(problems(1))
    with pytest.warns(match="max_iter=4"):
        model = FastGCVRegressor(kernel=Gaussian(length_scale=2.8), max_iter=4).fit(X, y)
    assert len(model.path_) == 4
    assert model.stop_reason_ == "max_iter"
