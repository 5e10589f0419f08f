"""Hyperparameters of a full GP, by the evidence and by leave-one-out measures."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.dense import learning
from greedygp.dense.learning import LITTLE, Schedule, learn_hyperparameters
from greedygp.dense.objectives import DENSE_OBJECTIVES, LeaveOneOut
from greedygp.hyperparameters import Point
from greedygp.kernels import Constant, Gaussian, Matern
from greedygp.measures import MEASURES
from greedygp.progress import NEVER, Deadline
from greedygp.start import default_kernel, subset_evidence
from names import DENSE_OBJECTIVES as NAMES
from reference.dense_objectives import objective_value
from reference.sparse_objectives import dense_kernel

LOO = NAMES[1:]
SCALELESS = [name for name, measure in MEASURES.items() if not measure.tells_scale]

each_name = pytest.mark.parametrize("name", NAMES)
each_loo = pytest.mark.parametrize("name", LOO)
each_scaleless = pytest.mark.parametrize("name", SCALELESS)


def data(n=30, p=1, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(3 * X @ rng.normal(size=(2, p))) + noise * rng.normal(size=(n, p))
    return X, y


def learn(name, X, y, weights=None, kernel=None, noise_variance=None, **options):
    seed = options.pop("random_state", 0)
    schedule = Schedule(name, **{"n_rows": 500} | options)
    return learn_hyperparameters(schedule, kernel, noise_variance, X, y, weights, random_state=seed)


def scale_at(point, X, y, weights=None):
    return DENSE_OBJECTIVES["nlgpp"](X, y, weights).scale(point)


@pytest.fixture
def searches(monkeypatch):
    """What each search for a leave-one-out measure is about: the measure, the coordinates."""
    made, original = [], learning.minimise

    def noted(objective, coordinates, **options):
        made.append((objective, coordinates, options))
        return original(objective, coordinates, **options)

    monkeypatch.setattr(learning, "minimise", noted)
    return made


# ---------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("n_rows", [12, 30, 500])
def test_the_evidence_is_that_of_the_start(n_rows):
    X, y = data()
    weights = np.random.default_rng(1).uniform(0.5, 2, size=30)
    learnt = learn("nlml", X, y, weights, n_rows=n_rows)
    same = subset_evidence(None, None, X, y, weights, n_rows=n_rows, little=LITTLE, random_state=0)
    assert learnt == same


def test_an_objective_that_is_not_there():
    with pytest.raises(ValueError, match=r"objective.*nlml.*'mse'"):
        Schedule("mse", n_rows=10)


def test_without_an_objective_the_noise_alone_is_learnt():
    X, y = data()
    kernel = Gaussian(1.3, 0.6)
    learnt = learn(None, X, y, kernel=kernel)
    assert learnt.point.kernel == kernel
    assert learnt == subset_evidence(kernel, None, X, y, learn_kernel=False, little=LITTLE)


@each_loo
def test_learning_goes_on_from_the_evidence(name, searches):
    X, y = data(p=2)
    learnt = learn(name, X, y)
    start = subset_evidence(None, None, X, y, little=LITTLE).point
    (_, coordinates, _), *others = searches
    assert not others
    assert coordinates.start == start
    before = objective_value(name, dense_kernel(start.kernel), start.noise_variance, X, y)
    assert_allclose(learnt.first_value, before, rtol=1e-6)
    point = learnt.point
    after = objective_value(name, dense_kernel(point.kernel), point.noise_variance, X, y)
    assert_allclose(learnt.value, after, rtol=1e-6)
    if MEASURES[name].tells_scale or not MEASURES[name].uses_variance:  # not set afterwards
        assert learnt.value < learnt.first_value
    assert learnt.converged
    assert learnt.n_iter > 0


def test_learning_ends_at_a_minimum():
    X, y = data(n=40)
    learnt = learn("nlgpp", X, y)
    found = DENSE_OBJECTIVES["nlgpp"](X, y, None)(learnt.point)
    start = subset_evidence(None, None, X, y, little=LITTLE).point
    before = DENSE_OBJECTIVES["nlgpp"](X, y, None)(start)
    slopes = [np.max(np.abs([*each.theta, each.log_noise])) for each in (found, before)]
    assert slopes[0] < 1e-3 < 1e-2 < slopes[1]


@each_loo
def test_noise_alone_is_found_as_on_a_grid(name):
    X, y = data(n=25)
    fixed = ("variance", "length_scale")
    kernel = Gaussian(variance=1.3, length_scale=0.6, fixed=fixed)
    learnt = learn(name, X, y, kernel=kernel)
    assert learnt.point.kernel == kernel
    objective = DENSE_OBJECTIVES[name](X, y, None)
    grid = [objective.value(Point(kernel, s2)) for s2 in np.geomspace(1e-6, 1.0, 200)]
    assert learnt.value <= min(grid) + 1e-6 * abs(min(grid))


@each_name
def test_the_noise_of_the_data_is_found(name):
    X, y = data(n=150, noise=0.1)
    assert 0.006 < learn(name, X, y).point.noise_variance < 0.016


@each_name
def test_given_noise_is_held(name):
    X, y = data()
    learnt = learn(name, X, y, noise_variance=0.123)
    assert learnt.point.noise_variance == 0.123
    assert learnt.point.kernel != default_kernel(X, y, None)
    assert learnt.value < learnt.first_value


@each_name
def test_a_fixed_parameter_is_held(name):
    X, y = data()
    kernel = Matern(variance=1.3, length_scale=0.7, fixed="variance") + Constant(0.2)
    learnt = learn(name, X, y, kernel=kernel)
    assert learnt.point.kernel.kernels[0].variance == 1.3
    assert learnt.point.kernel.kernels[0].length_scale != 0.7
    assert learnt.value < learnt.first_value


@each_name
def test_nothing_to_learn(name):
    X, y = data()
    kernel = Gaussian(1.3, 0.6, fixed=("variance", "length_scale"))
    learnt = learn(name, X, y, kernel=kernel, noise_variance=0.05)
    assert learnt.point.kernel == kernel
    assert learnt.point.noise_variance == 0.05
    assert learnt.converged
    expected = objective_value(name, dense_kernel(kernel), 0.05, X, y)
    assert_allclose(learnt.value, expected, rtol=1e-8)


@each_name
def test_targets_may_be_a_vector(name):
    X, y = data(n=20)
    vector, column = (learn(name, X, t, max_iter=5) for t in (y[:, 0], y))
    assert vector == column


@each_name
def test_weights_and_copies_learn_the_same(name):
    X, y = data(n=20)
    copies = np.random.default_rng(1).integers(1, 3, size=20)
    rows = np.repeat(np.arange(20), copies)
    weighted = learn(name, X, y, copies.astype(float), noise_variance=0.02, max_iter=10)
    repeated = learn(name, X[rows], y[rows], noise_variance=0.02, max_iter=10)
    assert_allclose(weighted.value, repeated.value, rtol=1e-4)


# -------------------------------------------------------------------------------- the scale


@each_scaleless
@pytest.mark.parametrize("weighted", [False, True])
def test_the_scale_is_set_where_it_is_free(name, weighted, searches):
    X, y = data(p=2)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=30) if weighted else None
    learnt = learn(name, X, y, weights)
    assert_allclose(scale_at(learnt.point, X, y, weights), 1.0, rtol=1e-6)
    objective = DENSE_OBJECTIVES[name](X, y, weights)
    assert_allclose(learnt.value, objective(learnt.point).value, rtol=1e-8)


def test_the_scale_does_not_change_the_squared_errors(monkeypatch):
    X, y = data()
    learnt = learn("loo_cve", X, y)
    monkeypatch.setattr(learning, "_set_scale", lambda measure, found: None)
    unscaled = learn("loo_cve", X, y)
    assert_allclose(learnt.value, unscaled.value, rtol=1e-6)
    factor = scale_at(unscaled.point, X, y)
    assert_allclose(learnt.point.noise_variance, factor * unscaled.point.noise_variance)
    assert_allclose(learnt.point.kernel.variance, factor * unscaled.point.kernel.variance)
    assert_allclose(learnt.point.kernel.length_scale, unscaled.point.kernel.length_scale)


@each_scaleless
def test_the_scale_keeps_to_the_kernel_s_bounds(name):
    X, y = data()
    bounds = (1e-3, 1.1e-3)
    kernel = Gaussian(1e-3, 0.6, variance_bounds=bounds)
    learnt = learn(name, X, y, kernel=kernel)
    assert bounds[0] * (1 - 1e-9) <= learnt.point.kernel.variance <= bounds[1] * (1 + 1e-9)


# ------------------------------------------------------------------------------------ subset


class TestSubset:
    """Of many rows only some are used, chosen by the seed."""

    def rows(self, searches, X, y, weights=None, **options):
        searches.clear()
        learn("nlgpp", X, y, weights, max_iter=1, **options)
        ((measure, _, _),) = searches
        rows = [int(np.flatnonzero(np.all(x == X, axis=1))[0]) for x in measure.X]
        assert_array_equal(measure.y, y[rows])
        assert weights is None or np.array_equal(measure.weights, weights[rows])
        assert rows == sorted(set(rows))
        return rows

    def test_rows_stay_together(self, searches):
        X, y = data(n=40)
        weights = np.random.default_rng(2).uniform(0.5, 2, size=40)
        assert len(self.rows(searches, X, y, weights, n_rows=15)) == 15

    def test_the_seed_decides(self, searches):
        X, y = data(n=40)
        first, again, other = (
            self.rows(searches, X, y, n_rows=15, random_state=seed) for seed in (0, 0, 1)
        )
        assert first == again != other

    @pytest.mark.parametrize("n_rows", [30, 31])
    def test_few_rows_are_all_used(self, searches, n_rows):
        X, y = data(n=30)
        assert self.rows(searches, X, y, n_rows=n_rows) == list(range(30))

    @pytest.mark.parametrize(("name", "expected"), [("nlml", 20), ("nlgpp", 12)])
    def test_the_start_of_a_measure_is_cheap(self, monkeypatch, name, expected):
        seen = []

        def noted(*args, **options):
            seen.append(options["n_rows"])
            return subset_evidence(*args, **options)

        monkeypatch.setattr(learning, "subset_evidence", noted)
        monkeypatch.setattr(learning, "SUBSET_ROWS", 12)
        learn(name, *data(n=40), n_rows=20, max_iter=1)
        learn(name, *data(n=40), n_rows=10, max_iter=1)
        assert seen == [expected, 10]


# ------------------------------------------------------------------------- limits of the search


@each_name
@pytest.mark.parametrize("max_iter", [0, 2])
def test_the_limit_of_iterations_is_kept(name, max_iter):
    learnt = learn(name, *data(), max_iter=max_iter)
    assert learnt.n_iter <= max_iter
    assert not learnt.converged
    assert np.isfinite(learnt.value)


@each_name
def test_the_time_limit_is_kept(name):
    learnt = learn(name, *data(n=100), max_iter=10_000, deadline=Deadline.after(0.0))
    assert learnt.n_iter == 0
    assert np.isfinite(learnt.value)


@each_name
def test_the_start_of_a_measure_leaves_time(name, monkeypatch):
    seen = []

    def noted(*args, **options):
        seen.append(options["deadline"])
        return subset_evidence(*args, **options)

    monkeypatch.setattr(learning, "subset_evidence", noted)
    now = time.perf_counter()
    learn(name, *data(), max_iter=1, deadline=Deadline(now + 1000.0))
    learn(name, *data(), max_iter=1)
    expected = now + 1000.0 if name == "nlml" else now + 300.0
    assert abs(seen[0].moment - expected) < 50.0
    assert seen[1] == NEVER


@pytest.mark.parametrize("call", [1, 2, 6])
@each_loo
def test_an_interrupt_goes_up(monkeypatch, name, call):
    """There is no model before the solve, so there is nothing to keep."""
    count, original = 0, LeaveOneOut._factor

    def counted(self, point):
        nonlocal count
        count += 1
        if count == call:
            raise KeyboardInterrupt
        return original(self, point)

    monkeypatch.setattr(LeaveOneOut, "_factor", counted)
    with pytest.raises(KeyboardInterrupt):
        learn(name, *data())


# -------------------------------------------------------------------------------- degenerate


@each_name
class TestDegenerate:
    def assert_usable(self, learnt, X):
        assert np.isfinite(learnt.value)
        assert 0 < learnt.point.noise_variance < np.inf
        assert np.all(np.isfinite(learnt.point.kernel(X)))

    def test_one_row(self, name):
        X, y = data(n=1)
        self.assert_usable(learn(name, X, y), X)

    @pytest.mark.parametrize("constant", [0.0, 3.0])
    def test_constant_target(self, name, constant):
        X, y = data()
        self.assert_usable(learn(name, X, np.full_like(y, constant)), X)

    def test_constant_inputs(self, name):
        X, y = data()
        self.assert_usable(learn(name, 0 * X, y), X)

    def test_duplicate_rows(self, name):
        X, y = (np.repeat(part, 2, axis=0) for part in data())
        self.assert_usable(learn(name, X, y), X)

    def test_no_noise(self, name):
        X, y = data(n=60, noise=0.0)
        learnt = learn(name, X, y)
        self.assert_usable(learnt, X)
        assert learnt.point.noise_variance < 1e-4

    def test_nothing_but_noise(self, name):
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
        self.assert_usable(learn(name, X, y), X)


# -------------------------------------------------------------------------------- invariants


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 1000), name=st.sampled_from(NAMES), c=st.sampled_from([2.0**-12, 2.0**9])
)
def test_units_of_the_target(seed, name, c):
    X, y = data(n=20, seed=seed)
    a, b = learn(name, X, y, max_iter=8), learn(name, X, c * y, max_iter=8)
    assert_allclose(b.point.noise_variance, c**2 * a.point.noise_variance, rtol=1e-3)
    assert_allclose(b.point.kernel.length_scale, a.point.kernel.length_scale, rtol=1e-3)
