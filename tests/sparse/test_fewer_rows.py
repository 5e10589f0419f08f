"""Learning among few rows before all are seen: which rows, for how long, and what comes out."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import SparseGPRegressor
from greedygp.data import TrainingData
from greedygp.greedy import ForwardSelection, Path
from greedygp.hyperparameters import Point
from greedygp.kernels import Gaussian
from greedygp.metrics import nlpd
from greedygp.progress import Deadline
from greedygp.sparse import fewer_rows, learning
from greedygp.sparse.fewer_rows import AT_LEAST, FEWEST, GROWTH, FewerRows
from greedygp.sparse.learning import EARLY_ITERATIONS, Learner, Schedule
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.selection import Selected

START = Point(Gaussian(variance=0.5, length_scale=[1.5, 0.4]), 0.2)
SCHEDULE = Schedule(
    "nlgpp", "fitc", rivals=("dtc",), rounds=1, max_iter=100, refine_basis=True, guard=0.1
)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def training_data(n, weights=None):
    X, y = table(n)
    return TrainingData(X, y, weights, True)


# ------------------------------------------------------------------------------------ the parts


@pytest.mark.parametrize(
    ("n", "size", "counts"),
    [
        (1400, 20, []),  # a part of 1000 rows would be more than 0.7 of them
        (1500, 20, [1000]),
        (10_000, 200, [3000]),  # 15,000 are more than there are
        (5000, 200, [2500]),  # half of them
        (3341, 200, [2000]),  # ten for each basis vector
        (2800, 200, []),
        (6000, 500, []),
        (10_000, 500, [5000]),
        (40_000, 200, [3000, 15_000]),
        (100_000, 500, [7500, 37_500]),
    ],
)
def test_how_many_rows(n, size, counts):
    data = TrainingData(np.zeros((n, 1)), np.arange(float(n)), None, True)
    parts = FewerRows(data, np.random.default_rng(0)).parts(size)
    assert [len(part.X) for part in parts] == counts
    assert all(count >= max(FEWEST, AT_LEAST * size) for count in counts[:1])
    assert all(later == GROWTH * earlier for earlier, later in pairwise(counts))


def test_each_part_holds_the_one_before_and_is_spread_over_all_rows():
    data = training_data(9000)
    small, large = FewerRows(data, np.random.default_rng(1)).parts(20)
    assert set(small.places) < set(large.places)
    assert_array_equal(large.places, np.unique(large.places))
    assert abs(np.mean(small.places) - 4500) < 500
    (other,) = FewerRows(data, np.random.default_rng(1)).parts(200)
    assert set(small.places) < set(other.places)  # whatever the size of the basis


@pytest.mark.parametrize(("n", "size"), [(1200, 10), (3000, 300)])
def test_nothing_is_drawn_where_rows_are_few(n, size):
    """So that a seed gives the models that it gave without parts."""
    rng = np.random.default_rng(1)
    assert FewerRows(training_data(n), rng).parts(size) == []
    assert rng.random() == np.random.default_rng(1).random()


@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_of_training_data(weighted):
    n = 50
    weights = np.arange(1.0, n + 1) if weighted else None
    data = training_data(n, weights).trusting(np.linspace(0.5, 1.0, n))
    places = np.array([3, 11, 40])
    part = data.at(places)
    assert_array_equal(part.X, data.X[places])
    assert_array_equal(part.y, data.y[:, places])
    assert_array_equal(part.weights, data.weights[places])
    assert_array_equal(part.trust, data.trust[places])
    assert_array_equal(part.left_out_weights, data.left_out_weights[places])
    assert_array_equal(part.original_places(np.array([2, 0])), [40, 3])
    assert len(data.X) == n


@pytest.mark.parametrize("from_rows", [True, False])
def test_a_basis_of_a_part_is_one_of_all_rows(from_rows):
    data = training_data(50)
    part = data.at(np.array([3, 11, 40]))
    path = Path(ForwardSelection.fields, [(2, 0.5, 0.1, 0.0), (0, 0.4, 0.1, 0.0)], "max_basis")
    selected = Selected(part.X[[2, 0]], [2, 0], path, None, from_rows).among_all(part)
    places = [40, 3] if from_rows else [2, 0]
    assert selected.indices == places
    assert_array_equal(selected.path.as_array()["index"], places)
    assert selected.path.reason == "max_basis"
    if from_rows:
        assert_array_equal(data.X[selected.indices], selected.basis)


# ----------------------------------------------------------------------------------- the search


@pytest.fixture
def seen(monkeypatch):
    """How many rows each evaluation has seen."""
    counts, evaluate = [], SparseObjective.__call__

    def counted(self, *arguments, **options):
        counts.append(self._data[0].shape[0])
        return evaluate(self, *arguments, **options)

    monkeypatch.setattr(SparseObjective, "__call__", counted)
    return counts


def learnt_among(data, counts, schedule=SCHEDULE, size=12):
    parts = [data.at(np.arange(count)) for count in counts]
    learner = Learner(data, schedule, START, parts=parts)
    basis = list(range(size))
    path = Path(ForwardSelection.fields, reason="max_basis")
    learner.round(Selected(data.X[basis], basis, path))
    return learner, learner.result()


def value_at(data, learner, point, name="nlgpp"):
    """The objective of all rows, computed by one that has seen nothing else."""
    objective = learner.objective
    fresh = SparseObjective(
        name,
        data.X,
        data.y,
        data.weights,
        approximation=objective.approximation,
        capacity=len(point.basis),
        guard=objective.guard,
    )
    return fresh.value(point.kernel, point.noise_variance, point.basis)


@pytest.mark.parametrize("counts", [[], [80], [80, 200]])
def test_more_and_more_rows_are_seen_and_all_judge(seen, counts):
    data = training_data(400)
    learner, learnt = learnt_among(data, counts)
    assert list(dict.fromkeys(seen)) == [*counts, 400]
    assert seen == sorted(seen)
    assert_allclose(learnt.value, value_at(data, learner, learnt.point), rtol=1e-10)
    (line,) = learnt.rounds
    assert line.n_iter == len(line.trace) - 1 <= SCHEDULE.max_iter
    if counts:
        # A step may take several evaluations, and each search begins with one.
        assert seen.count(counts[0]) < 3 * EARLY_ITERATIONS


def test_it_ends_as_well_as_among_all_rows():
    data = training_data(600)
    values = [learnt_among(data, counts)[1].value for counts in ([], [150])]
    assert values[1] < values[0] + 0.02


@pytest.mark.parametrize("max_iter", [16, 31])
def test_few_iterations_are_made_among_all_rows(seen, max_iter):
    learnt_among(training_data(300), [80], replace(SCHEDULE, max_iter=max_iter))
    assert set(seen) == {300}


@pytest.mark.parametrize("counts", [[80], [80, 150]])
def test_when_time_is_up_all_rows_still_judge(seen, counts):
    data = training_data(300)
    schedule = replace(SCHEDULE, deadline=Deadline.after(-1.0))
    learner, learnt = learnt_among(data, counts, schedule)
    assert set(seen) == {80}
    assert_allclose(learnt.value, value_at(data, learner, learnt.point), rtol=1e-10)


def test_sums_have_the_size_that_they_have_for_all_rows():
    """The optimiser sees the same function, nearly, whatever part of the rows there is."""
    data = training_data(400)
    schedule = replace(SCHEDULE, objective="nlml", approximation="dtc", rivals=(), guard=0.0)
    learner = Learner(data, schedule, START, parts=[data.at(np.arange(100))])
    search = learner.search
    search.begin(12, guarded=True)
    point = replace(START, basis=data.X[:12])
    of_all, slope_of_all = search.value(point), search._evaluate(point)
    with search.among(learner.parts[0]):
        of_part, slope_of_part = search.value(point), search._evaluate(point)
    assert 0.7 < of_part / of_all < 1.6  # the sum itself has a quarter of the rows
    assert_allclose(slope_of_part.value, of_part, rtol=1e-12)
    part = value_at(learner.parts[0], learner, point, "nlml")
    assert_allclose(of_part, 4.0 * part, rtol=1e-10)
    for name in ("theta", "log_noise", "basis"):
        of = [np.linalg.norm(getattr(each, name)) for each in (slope_of_all, slope_of_part)]
        assert 0.3 < of[1] / of[0] < 3.0
    assert search.value(point) == of_all


@pytest.mark.parametrize("counts", [[80], [80, 150]])
def test_an_interrupt_among_all_rows_keeps_the_model_of_the_part(monkeypatch, counts):
    """Ctrl-C while the first value among all rows is computed: the longest one of a fit."""
    data, evaluate = training_data(300), SparseObjective.__call__

    def interrupted(self, *arguments, **options):
        if self._data[0].shape[0] == 300:
            raise KeyboardInterrupt
        return evaluate(self, *arguments, **options)

    monkeypatch.setattr(SparseObjective, "__call__", interrupted)
    learner, learnt = learnt_among(data, counts)
    assert learnt.interrupted
    (line,) = learnt.rounds
    assert line.value == learnt.value
    assert_allclose(learnt.value, value_at(data, learner, learnt.point), rtol=1e-10)


def test_an_error_among_a_part_leaves_the_search_as_it_was():
    data = training_data(300)
    learner = Learner(data, SCHEDULE, START, parts=[data.at(np.arange(80))])
    search = learner.search
    search.begin(12, guarded=True)
    whole = search.objective

    def fails():
        assert search.objective is not whole
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"), search.among(learner.parts[0]):
        fails()
    assert search.objective is whole
    assert search.seen_weight == search.total_weight == 300.0


# ---------------------------------------------------------------------------------- whole fits


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(fewer_rows, "FEWEST", 200)
    monkeypatch.setattr(fewer_rows, "PER_BASIS_VECTOR", 5)
    monkeypatch.setattr(fewer_rows, "AT_LEAST", 5)


def test_a_fit_is_as_good_as_one_that_sees_all_rows_from_the_start(small_parts, monkeypatch):
    X, y = table(1500)
    X_new, y_new = table(1000, seed=1)
    losses = []
    for _ in range(2):
        model = SparseGPRegressor(max_basis=20, random_state=0).fit(X, y)
        losses.append(nlpd(y_new, *model.predict(X_new, return_std=True)))
        monkeypatch.setattr(fewer_rows, "LARGEST", 0.0)
    assert losses[0] < losses[1] + 0.02


def test_the_same_seed_gives_the_same_model(small_parts):
    X, y = table(700)
    models = [SparseGPRegressor(max_basis=15, random_state=3).fit(X, y) for _ in range(2)]
    assert_array_equal(models[0].basis_, models[1].basis_)
    assert models[0].kernel_ == models[1].kernel_


def test_places_are_those_of_the_table(small_parts, monkeypatch):
    """A search that makes no iteration leaves rows as the basis; their places are told."""
    monkeypatch.setattr(learning, "TRIAL_ITERATIONS", 0)
    monkeypatch.setattr(learning, "BRANCH_ITERATIONS", 0)
    X, y = table(700)
    seen = []
    original = Learner.round

    def noted(self, selected, watch=None):
        seen.append(selected)
        return original(self, selected, watch)

    monkeypatch.setattr(Learner, "round", noted)
    SparseGPRegressor(max_basis=15, random_state=3).fit(X, y)
    (selected,) = seen
    assert_array_equal(X[selected.indices], selected.basis)
    assert max(selected.indices) > 200  # not places in the part


def test_weights_of_zero_are_no_rows_of_a_part(small_parts):
    X, y = table(900)
    weights = np.ones(900)
    weights[::3] = 0.0
    y[::3] = 1e6
    model = SparseGPRegressor(max_basis=15, random_state=3).fit(X, y, sample_weight=weights)
    used = np.flatnonzero(weights)
    assert model.score(X[used], y[used]) > 0.8
