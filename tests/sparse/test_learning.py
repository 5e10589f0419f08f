"""The schedule of learning, with bases that the test hands in."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.data import TrainingData
from greedygp.greedy import ForwardSelection, Path
from greedygp.hyperparameters import Point
from greedygp.kernels import Constant, Gaussian, Linear, Matern
from greedygp.progress import Deadline
from greedygp.sparse import search
from greedygp.sparse.checkpoint import NoFitCheckpoint
from greedygp.sparse.learning import Learner, Schedule
from greedygp.sparse.loo import loo_scale
from greedygp.sparse.objectives import SparseObjective
from greedygp.sparse.selection import Selected
from pairwise import each_pair

EACH = [(n, a) for n in ("nlgpp", "loo_cve", "gpe", "nlml") for a in ("dtc", "fitc")]
EACH.append(("vfe", "dtc"))
START = Point(Gaussian(variance=0.5, length_scale=[1.5, 0.4]), 0.2)
PLAIN = Schedule("nlgpp", "dtc", rounds=4, max_iter=60, refine_basis=False, guard=0.2)
REFINING = replace(PLAIN, rounds=3, refine_basis=True, approximation="fitc")
each_case = pytest.mark.parametrize(("name", "approximation"), EACH)
each_schedule = pytest.mark.parametrize("schedule", [PLAIN, REFINING], ids=["plain", "refining"])


def data(n=60, p=1, weights=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = np.sin(3 * X @ rng.normal(size=(2, p))) + 0.1 * rng.normal(size=(n, p))
    return TrainingData(X, y, weights, True)


class Select:
    """Hands in rows of the data: one entry a round, a number of them or their places."""

    def __init__(self, data, *bases, reasons=()):
        self.data, self.bases, self.reasons = data, bases, reasons
        self.calls, self.made = [], []

    def __call__(self, point, previous, preparing):
        number = len(self.calls)
        self.calls.append((point, previous, preparing))
        basis = self.bases[min(number, len(self.bases) - 1)]
        if isinstance(basis, int):
            basis = np.random.default_rng(number).permutation(len(self.data.X))[:basis]
        reason = self.reasons[number] if number < len(self.reasons) else "max_basis"
        indices = [int(j) for j in basis]
        self.made.append(
            Selected(self.data.X[indices], indices, Path(ForwardSelection.fields, reason=reason))
        )
        return self.made[-1]


def learn(data, schedule, start, select, watch=None):
    """Select and learn in turn; `watch` is told the round, the best point and the objective."""
    learner = Learner(data, schedule, start)
    while learner.goes_on:
        selected = select(learner.point, learner.previous, learner.preparing)
        number = learner.number

        def watched(point, value, number=number):
            return watch(number, point, learner.objective)

        learner.round(selected, None if watch is None else watched)
    return learner.result(), learner.objective


@pytest.fixture
def searches(monkeypatch):
    """What each search is asked, and what it finds."""
    made, original = [], search.minimise

    def noted(objective, coordinates, **options):
        guard = objective.__self__.objective.guard
        asked = options | {"guard": guard, "coordinates": coordinates}
        made.append(asked | {"found": original(objective, coordinates, **options)})
        return made[-1]["found"]

    monkeypatch.setattr(search, "minimise", noted)
    return made


def value_at(data, schedule, point, guard=0.0):
    """The objective, computed by one that has seen nothing else."""
    fresh = SparseObjective(
        schedule.objective,
        data.X,
        data.y,
        data.weights,
        approximation=schedule.approximation,
        capacity=len(point.basis),
        guard=guard,
    )
    return fresh.value(point.kernel, point.noise_variance, point.basis)


# ------------------------------------------------------------------------------------ rounds


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("refine", [True, False])
def test_as_many_rounds_as_bases_get_better(rounds, refine):
    given = data()
    select = Select(given, 2, 6, 20)
    schedule = replace(REFINING if refine else PLAIN, rounds=rounds)
    learnt, _ = learn(given, schedule, START, select)
    assert len(select.calls) == rounds
    lines = learnt.rounds_array()
    assert lines.dtype.names == ("n_basis", "value_before", "value", "n_iter", "seconds")
    assert_array_equal(lines["n_basis"], [2, 6, 20][:rounds])
    assert np.all(lines["value"] < lines["value_before"])
    assert np.all(lines["seconds"] > 0)
    assert_allclose(learnt.value, lines["value"][-1], rtol=1e-12)
    assert learnt.selected is select.made[-1]
    assert learnt.refined == refine


def test_the_best_is_kept_and_a_round_without_gain_is_the_last():
    given = data()
    select = Select(given, 20, 2)
    learnt, objective = learn(given, PLAIN, START, select)
    assert len(select.calls) == 2
    lines = learnt.rounds_array()
    assert_array_equal(lines["n_basis"], [20, 2])
    assert lines["value"][1] > lines["value"][0]
    assert_allclose(learnt.value, lines["value"][0], rtol=1e-12)
    assert learnt.selected is select.made[0]
    assert_array_equal(learnt.point.basis, select.made[0].basis)
    assert objective.state.size == 20
    assert_allclose(value_at(given, PLAIN, learnt.point), learnt.value, rtol=1e-10)


def test_the_same_basis_again_gains_too_little_for_a_third_round():
    select = Select(data(), range(20))
    learn(select.data, PLAIN, START, select)
    assert len(select.calls) == 2


def test_a_round_begins_where_the_best_one_ended():
    given = data()
    select = Select(given, 2, 20, 3)
    learnt, _ = learn(given, replace(PLAIN, rounds=3), START, select)
    points, previous, preparing = zip(*select.calls)
    assert points[0] is START
    assert points[1].kernel != START.kernel
    assert all(point.basis is None for point in points)
    assert previous == (None, *select.made[:2])
    assert not any(preparing)
    assert learnt.selected is select.made[1]
    assert points[2].kernel == learnt.point.kernel
    assert points[2].noise_variance == learnt.point.noise_variance


# ---------------------------------------------------------------------------------- refining


def test_early_rounds_prepare_and_the_last_one_moves_the_basis(searches):
    given = data()
    select = Select(given, 8)
    learnt, _ = learn(given, REFINING, START, select)
    assert [preparing for *_, preparing in select.calls] == [True, True, False]
    assert [search["max_iter"] for search in searches] == [20, 20, 20, 40]
    assert [search["guard"] for search in searches[:2]] == [0.0, 0.0]
    moving = [[part.name for part in search["coordinates"].parts] for search in searches]
    assert ["basis" in names for names in moving] == [False, False, True, True]
    assert [one["little"] > 0.0 for one in searches] == [False, False, False, True]
    assert np.all(learnt.rounds_array()["n_iter"][:2] <= 20)
    assert learnt.refined
    assert np.all(np.any(learnt.point.basis != select.made[-1].basis, axis=1))
    low, high = given.X.min(axis=0), given.X.max(axis=0)
    room = 0.1 * (high - low) + 1e-9
    assert np.all((low - room <= learnt.point.basis) & (learnt.point.basis <= high + room))


@pytest.mark.parametrize(("max_iter", "refining"), [(0, [0]), (3, [3]), (20, [20]), (30, [20, 10])])
def test_preparing_is_never_longer_than_the_user_allows(searches, max_iter, refining):
    given = data()
    learn(given, replace(REFINING, max_iter=max_iter), START, Select(given, 8))
    assert [s["max_iter"] for s in searches] == [min(max_iter, 20)] * 2 + refining


@pytest.mark.parametrize(("little", "iterations"), [(0.0, 60), (1e9, 29)])
def test_refinement_ends_where_it_gains_too_little(monkeypatch, little, iterations):
    monkeypatch.setattr(search.Search, "little", little)
    given = data()
    learnt, _ = learn(given, REFINING, START, Select(given, 8))
    assert learnt.rounds_array()["n_iter"][-1] == iterations
    assert learnt.converged == (little > 0.0)


@pytest.mark.parametrize(("rows", "little"), [(100, 0.01), (5000, 0.01), (20_000, 0.005)])
def test_what_is_too_little(rows, little):
    """The standard error of a mean of squares of Gaussian errors, halved, or less."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 1))
    seeker = search.Search(TrainingData(X, X, None, True), REFINING, NoFitCheckpoint())
    assert_allclose(seeker.little, little)
    if rows == 20_000:
        losses = 0.5 * rng.normal(size=(500, rows)) ** 2
        assert_allclose(np.std(losses.mean(axis=1)), seeker.little, rtol=0.15)


def test_the_refined_model_is_kept_whatever_its_value():
    """Its value has the guard in it, and cannot be compared with those before."""
    given = data()
    select = Select(given, 30, 3)
    learnt, objective = learn(given, replace(REFINING, rounds=2, guard=1.0), START, select)
    lines = learnt.rounds_array()
    assert learnt.refined
    assert_allclose(learnt.value, lines["value"][1], rtol=1e-12)
    assert lines["value"][1] > lines["value"][0]
    assert objective.state.size == 3


# ------------------------------------------------------------------------------------- guard


@pytest.mark.parametrize("name", ["nlgpp", "loo_cve", "gpe"])
@pytest.mark.parametrize(
    ("m", "copies", "share"), [(3, 1, 0.1), (15, 1, 0.5), (15, 5, 0.1), (30, 1, 1.0), (45, 1, 1.5)]
)
def test_the_guard_grows_with_the_free_numbers_of_a_row(searches, name, m, copies, share):
    given = data(weights=np.full(60, float(copies)))  # 60 rows in 2 dimensions
    learn(given, replace(REFINING, rounds=1, objective=name, max_iter=1), START, Select(given, m))
    assert_allclose(searches[0]["guard"], 0.2 * (1 + 10 * share))


@pytest.mark.parametrize("change", [{"objective": "nlml"}, {"guard": 0.0}, {"objective": "vfe"}])
def test_the_evidence_and_who_wants_none_have_no_guard(searches, change):
    given = data()
    schedule = replace(PLAIN, refine_basis=True, rounds=1, max_iter=1, **change)
    learn(given, schedule, START, Select(given, 10))
    assert searches[0]["guard"] == 0.0


def test_a_guard_leaves_more_noise():
    given = data(n=40)
    select, schedule = Select(given, 20), replace(REFINING, rounds=1)
    free, guarded = (learn(given, replace(schedule, guard=g), START, select)[0] for g in (0.0, 2.0))
    assert free.point.noise_variance < guarded.point.noise_variance


@each_case
def test_the_optimiser_sees_a_sum_over_rows_in_nats(searches, name, approximation):
    given = data(n=40)
    schedule = replace(PLAIN, objective=name, approximation=approximation, rounds=1, max_iter=1)
    learn(given, schedule, START, Select(given, 5))
    assert searches[0]["factor"] == (1.0 if name in ("nlml", "vfe") else 20.0)


# ------------------------------------------------------------------------- which approximation

RIVALS = replace(REFINING, rounds=1, max_iter=40, rivals=("dtc",))


def test_the_better_trial_goes_on(searches):
    given = data()
    learnt, objective = learn(given, RIVALS, START, Select(given, 10))
    trunk, dtc, fitc, rest = searches
    assert [search["max_iter"] for search in searches] == [15, 3, 3, 22]
    for branch in (dtc, fitc):
        assert_array_equal(branch["coordinates"].start.basis, trunk["found"].point.basis)
    better = "dtc" if dtc["found"].value < fitc["found"].value - 2 * 0.003 else "fitc"
    assert objective.approximation == objective.state.approximation == better
    stays = {"dtc": dtc, "fitc": fitc}[better]["found"]
    assert_array_equal(rest["coordinates"].start.basis, stays.point.basis)
    assert learnt.value <= min(dtc["found"].value, fitc["found"].value) + 2 * 0.003
    (round_,) = learnt.rounds
    assert round_.n_iter == 40
    assert len(round_.trace) == 41
    guard = searches[0]["guard"]
    schedule = replace(RIVALS, approximation=better)
    assert_allclose(value_at(given, schedule, learnt.point, guard), learnt.value, rtol=1e-9)


def test_few_iterations_are_not_spent_on_trials(searches):
    given = data()
    learn(given, replace(RIVALS, max_iter=15), START, Select(given, 10))
    assert len(searches) == 1


def test_an_interrupt_of_a_trial_keeps_the_better_model(monkeypatch):
    given, calls = data(), []
    original = SparseObjective.__call__

    def interrupted(self, *args, **options):
        calls.append(self.approximation)
        if calls.count("dtc") == 3:
            raise KeyboardInterrupt
        return original(self, *args, **options)

    monkeypatch.setattr(SparseObjective, "__call__", interrupted)
    learnt, _ = learn(given, RIVALS, START, Select(given, 10))
    assert learnt.interrupted
    assert calls[-1] == "dtc"
    assert np.isfinite(learnt.value)


# ------------------------------------------------------------------------- the model at the end


@each_pair({("name", "approximation"): EACH, "p": [1, 2], "refine": [True, False]})
def test_the_state_is_that_of_the_best_model(name, approximation, p, refine):
    given = data(p=p, weights=np.linspace(0.5, 2.0, 60))
    schedule = replace(PLAIN, objective=name, approximation=approximation, max_iter=8, rounds=2)
    schedule = replace(schedule, refine_basis=refine)
    learnt, objective = learn(given, schedule, START, Select(given, 12, 5))
    state, point = objective.state, learnt.point
    assert state.kernel == point.kernel
    assert state.noise_variance == point.noise_variance
    assert_array_equal(state.basis, point.basis)
    guarded = refine and name not in ("nlml", "vfe")
    guard = 0.2 * (1 + 10 * 5 * 2 / given.weights.sum()) if guarded else 0.0
    assert_allclose(value_at(given, schedule, point, guard), learnt.value, rtol=1e-9)


def test_given_noise_is_held():
    given = data()
    learnt, _ = learn(given, replace(REFINING, learn_noise=False), START, Select(given, 8))
    assert learnt.point.noise_variance == START.noise_variance
    assert learnt.point.kernel != START.kernel


@pytest.mark.parametrize("approximation", ["dtc", "fitc", "sor"])
@pytest.mark.parametrize("name", ["loo_cve", "gpe"])
def test_squared_errors_leave_the_scale_to_the_left_out_targets(name, approximation):
    """A common factor of kernel and noise is set so that they are as far off as they should be."""
    given = data(p=2, weights=np.linspace(0.5, 2.0, 60))
    schedule = replace(PLAIN, objective=name, approximation=approximation, rounds=1)
    select = Select(given, 12)
    learnt, objective = learn(given, schedule, START, select)
    assert_allclose(loo_scale(objective.state), 1.0, rtol=1e-8)
    assert learnt.point.kernel == objective.state.kernel
    fixed = Point(Gaussian(0.5, [1.5, 0.4], fixed="variance"), 0.2)
    for start, held in [(START, True), (fixed, False)]:
        learnt, _ = learn(given, replace(schedule, learn_noise=not held), start, select)
        assert (learnt.point.noise_variance == 0.2) == held
        assert_allclose(learnt.value, learnt.rounds_array()["value"][-1], rtol=1e-12)


@pytest.mark.parametrize("refine", [True, False])
def test_nothing_is_left_to_learn(refine):
    given = data()
    start = Point(Gaussian(1.0, 0.7, fixed=("variance", "length_scale")), 0.1)
    schedule = replace(PLAIN, refine_basis=refine, learn_noise=False, rounds=1)
    learnt, _ = learn(given, schedule, start, Select(given, 8))
    assert learnt.point.kernel == start.kernel
    assert learnt.rounds_array()["n_iter"][0] > 0 or not refine
    assert learnt.converged or refine


# ----------------------------------------------------------------------------- ends before time


@pytest.mark.parametrize("reason", ["interrupted", "callback"])
@each_schedule
@pytest.mark.parametrize("number", [0, 1])
def test_a_selection_broken_off_ends_learning(schedule, reason, number):
    given = data()
    reasons = ["max_basis"] * number + [reason]
    select = Select(given, 6, 12, 20, reasons=reasons)
    learnt, objective = learn(given, schedule, START, select)
    assert len(select.calls) == number + 1
    rounds = learnt.rounds_array()
    assert len(rounds) == 1  # a later selection is not worth a round; the one before is kept
    assert (rounds["n_iter"][0] == 0) == (number == 0)
    assert learnt.point.basis.shape == learnt.selected.basis.shape
    assert objective.state.size == len(learnt.point.basis)
    assert np.isfinite(learnt.value)


@pytest.mark.parametrize("reason", ["time_limit", "patience", "exhausted", "max_basis"])
def test_other_ends_of_a_selection_do_not(reason):
    given = data()
    select = Select(given, 8, reasons=[reason] * 3)
    learn(given, REFINING, START, select)
    assert len(select.calls) == 3


def test_a_broken_last_selection_does_not_spoil_the_model():
    """Two basis vectors that nobody optimised are no match for what the rounds before found."""
    given = data()
    select = Select(given, 20, 20, 2, reasons=["max_basis", "max_basis", "interrupted"])
    learnt, objective = learn(given, REFINING, START, select)
    assert objective.state.size == 20
    assert not learnt.refined
    assert learnt.interrupted


@each_schedule
def test_an_empty_basis(schedule):
    given = data()
    learnt, objective = learn(given, schedule, START, Select(given, 0, reasons=["interrupted"]))
    assert objective.state.size == 0
    assert learnt.point.basis.shape == (0, 2)
    assert learnt.point.kernel == START.kernel
    assert not learnt.refined
    t = START.noise_variance + START.kernel.variance
    assert_allclose(learnt.value, np.mean(given.y**2) / t + np.log(t), rtol=1e-10)


def test_an_empty_basis_is_no_end():
    given = data()
    learnt, _ = learn(given, REFINING, START, Select(given, 0, 0, 8))
    assert learnt.refined
    assert len(learnt.point.basis) == 8


@pytest.mark.parametrize(("schedule", "rounds"), [(PLAIN, 2), (REFINING, 3)])
def test_watching(schedule, rounds):
    given, seen = data(), []

    def watch(number, point, objective):
        seen.append((number, point, objective))
        return False

    learnt, objective = learn(given, schedule, START, Select(given, range(8)), watch)
    numbers = [number for number, *_ in seen]
    counts = [numbers.count(number) for number in range(rounds)]
    assert_array_equal(counts, learnt.rounds_array()["n_iter"])
    assert all(point.basis.shape == (8, 2) for _, point, _ in seen)
    assert all(about is objective for *_, about in seen)


@pytest.mark.parametrize("interrupt", [False, True])
@each_schedule
@pytest.mark.parametrize("last", [0, 1])
def test_the_watch_ends_learning(schedule, last, interrupt):
    given = data()

    def watch(number, point, objective):
        if number == last and interrupt:
            raise KeyboardInterrupt
        return number == last

    select = Select(given, 4, 12, 20)
    learnt, _ = learn(given, schedule, START, select, watch)
    assert len(select.calls) == last + 1
    assert learnt.rounds_array()["n_iter"][-1] == 1
    assert learnt.interrupted == interrupt


@each_schedule
def test_a_deadline_in_the_past_leaves_the_start(schedule):
    given = data()
    select = Select(given, 8)
    learnt, _ = learn(given, replace(schedule, deadline=Deadline.after(-1.0)), START, select)
    assert len(select.calls) == 1
    assert learnt.point.kernel == START.kernel
    assert_allclose(learnt.value, learnt.rounds_array()["value_before"][0], rtol=1e-12)


# ------------------------------------------------------------------------------- input units

SPREAD = np.array([0.3, 2.0])


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Gaussian(1.0, [0.2, 1.0]), [0.2, 1.0]),
        (Gaussian(1.0, 0.7), [0.7, 0.7]),
        (Gaussian(1.0, [1e5, 1.0]), [3.0, 1.0]),
        (Linear(0.5), SPREAD),
        (Constant(0.5), SPREAD),
        (Constant(0.5) + Matern(nu=1.5, length_scale=[0.2, 1.0]), [0.2, 1.0]),
        (Linear(0.5) * Gaussian(1.0, 0.7), [0.7, 0.7]),
        (Constant(0.5) + Linear(0.5), SPREAD),
    ],
    ids=repr,
)
def test_units_of_the_inputs(kernel, expected):
    """The kernel's length scales where it has some, at most ten spreads of the data."""
    units = search._input_units(kernel, SPREAD)
    assert units.shape == (2,)
    assert_allclose(units, expected)


@pytest.mark.parametrize("kernel", [Linear(0.5), Gaussian(0.5, 0.7) * Linear(0.5) + Constant(1.0)])
def test_refining_without_a_length_scale(kernel):
    given = data()
    schedule = replace(REFINING, rounds=1, max_iter=10)
    learnt, _ = learn(given, schedule, Point(kernel, 0.2), Select(given, 4))
    assert np.all(np.isfinite(learnt.point.basis))
    assert learnt.value < learnt.rounds_array()["value_before"][0]
