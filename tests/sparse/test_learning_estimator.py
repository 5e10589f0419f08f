"""`SparseGPRegressor` that learns: hyperparameters and basis positions, in rounds."""

import pickle
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from greedygp import SparseGPRegressor
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian
from greedygp.metrics import coverage
from greedygp.start import subset_evidence
from reference.sparse_objectives import dense_kernel
from reference.sparse_regression import SparseGP

CASES = [(n, a) for n in ("nlgpp", "loo_cve", "gpe", "nlml") for a in ("dtc", "fitc")]
CASES.append(("vfe", "dtc"))
each_case = pytest.mark.parametrize(("objective", "approximation"), CASES)
some_cases = pytest.mark.parametrize(("objective", "approximation"), [*CASES[:3], CASES[-1]])
each_objective = pytest.mark.parametrize("objective", ["nlgpp", "gpe", "nlml"])
each_refinement = pytest.mark.parametrize("refine_basis", [True, False])


def data(n=60, D=2, seed=0, columns=None, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    directions = np.random.default_rng(99).normal(size=(D, columns or 1))
    y = np.sin(3 * X @ (directions / np.linalg.norm(directions, axis=0)))
    y = y + noise * rng.normal(size=y.shape)
    return X, y if columns else y[:, 0]


def learner(**parameters):
    """A small basis, two rounds and few iterations."""
    few = {"max_basis": 8, "max_iter": 10, "rounds": 2, "random_state": 0}
    return SparseGPRegressor(**(few | parameters))


def quiet_fit(estimator, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*args, **options)


def assert_finite(model, X):
    mean, std = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std) & (std > 0))
    for part in model.loo_predict():
        assert np.all(np.isfinite(part))


# ---------------------------------------------------------------------------- what is learnt


@each_refinement
@each_case
def test_the_objective_falls(objective, approximation, refine_basis):
    parameters = {"objective": objective, "approximation": approximation}
    model = quiet_fit(learner(refine_basis=refine_basis, **parameters), *data())
    assert 1 <= len(model.rounds_) <= 2
    assert np.all(model.rounds_["value"] <= model.rounds_["value_before"])
    assert np.any(model.rounds_["value"] < model.rounds_["value_before"])
    assert np.all(model.rounds_["n_iter"] <= 10)
    trace = model.trace_
    assert len(trace) == np.sum(model.rounds_["n_iter"] + 1)
    assert_array_equal(trace["value"][trace["iteration"] == 0], model.rounds_["value_before"])
    for number, line in enumerate(model.rounds_):
        values = trace["value"][trace["round"] == number]
        assert np.all(np.diff(values) <= 0)  # the best so far
        assert_allclose(values[-1], line["value"], rtol=1e-9)
    if objective not in ("loo_cve", "gpe"):  # whose scale is set afterwards
        kept = model.rounds_["value"][-1] if refine_basis else model.rounds_["value"].min()
        assert_allclose(model.objective_value_, kept, rtol=1e-9)
    assert_finite(model, data(seed=1)[0])
    assert model.score(*data(n=200, seed=1)) > 0.8


def test_the_bound_needs_dtc():
    with pytest.raises(ValueError, match=r"(?s)(?=.*vfe)(?=.*fitc)(?=.*dtc)"):
        learner(objective="vfe", approximation="fitc").fit(*data())
    assert learner(objective="vfe").fit(*data()).approximation_ == "dtc"


# ------------------------------------------------------------------------ which approximation


def two_fits(X, y, **parameters):
    """The models that FITC and DTC would give, and the one of the two that was chosen."""
    fits = {
        name: learner(
            rounds=1, max_iter=60, objective="nlgpp", approximation=name, **parameters
        ).fit(X, y)
        for name in ("fitc", "dtc", "auto")
    }
    return fits["fitc"], fits["dtc"], fits["auto"]


def test_even_noise_is_for_dtc_and_uneven_noise_for_fitc():
    rng = np.random.default_rng(0)
    X, y = data(n=400, D=3, noise=0.01)
    fitc, dtc, chosen = two_fits(X, y, max_basis=30)
    assert dtc.objective_value_ < fitc.objective_value_
    assert chosen.approximation_ == "dtc"
    y = y + 0.3 * np.exp(2.0 * X[:, 0]) * rng.normal(size=400)
    fitc, dtc, chosen = two_fits(X, y, max_basis=30)
    assert fitc.objective_value_ < dtc.objective_value_
    assert chosen.approximation_ == "fitc"


@pytest.mark.parametrize(
    "change",
    [{"objective": None}, {"objective": "loo_cve"}, {"refine_basis": False}, {"rounds": 0}],
)
def test_fitc_where_nothing_is_compared(change):
    model = quiet_fit(learner(**change), *data())
    assert model.approximation_ == "fitc"
    same = quiet_fit(learner(approximation="fitc", **change), *data())
    assert_array_equal(model.predict(data()[0]), same.predict(data()[0]))


BAD = {
    "rounds": [-1, 1.5, None, True],
    "max_iter": [-1, None, "many"],
    "guard": [-0.1, np.nan, np.inf, None, "none"],
    "refine_basis": [1, None, "last"],
    "patience": ["long", 0, 2.0],
    "objective": ["evidence", 1],
}


@pytest.mark.parametrize(("name", "value"), [(name, v) for name in BAD for v in BAD[name]])
def test_bad_parameters_are_named(name, value):
    with pytest.raises((TypeError, ValueError), match=f"^{name} must be .*got {value!r}.$"):
        learner(**{name: value}).fit(*data())


# ----------------------------------------------------------------------------- refined models


def test_moved_basis_vectors_have_no_places():
    X, y = data()
    model = learner().fit(X, y)
    assert not hasattr(model, "basis_indices_")
    assert model.basis_.shape == (8, 2)
    assert not np.array_equal(model.basis_, X[model.path_["index"]])
    quiet_fit(model.set_params(refine_basis=False), X, y)
    assert_array_equal(model.basis_, X[model.basis_indices_])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moved_basis_vectors_stay_near_the_data(dtype):
    X, y = data(D=3)
    X = (X * [1.0, 1e3, 1e-3] + [0.0, 5e3, 1.0]).astype(dtype)
    model = learner(max_iter=60, objective="nlgpp").fit(X, y.astype(dtype))
    low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    room = 0.1 * (high - low) + max(4 * np.finfo(dtype).eps, 2e-12) * np.abs(high)
    assert np.all((low - room <= model.basis_) & (model.basis_ <= high + room))
    if dtype is np.float64:  # some use the room; in single precision rounding decides which
        assert np.any((model.basis_ < low) | (model.basis_ > high))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("approximation", ["fitc", "dtc"])
def test_leave_one_out_of_a_refined_model_is_that_of_refits(approximation, weighted):
    X, y = data(n=30)
    weights = np.random.default_rng(1).integers(1, 4, size=30) if weighted else None
    model = learner(approximation=approximation, max_basis=6).fit(X, y, sample_weight=weights)
    centre = np.average(y, weights=weights)
    width = np.sqrt(np.average((y - centre) ** 2, weights=weights))
    given = X, (y - centre) / width, model.noise_variance_, approximation, weights
    expected = SparseGP(dense_kernel(model.kernel_), model.basis_, *given).leave_one_out()
    mean, std = model.loo_predict()
    assert_allclose(mean, expected[0][:, 0] * width + centre, rtol=1e-5, atol=1e-6)
    assert_allclose(std, np.sqrt(expected[1]) * width, rtol=1e-5)


@each_refinement
def test_copies_and_another_fit_predict_the_same(refine_basis):
    X, y = data()
    model = quiet_fit(learner(refine_basis=refine_basis), X, y)
    for other in (pickle.loads(pickle.dumps(model)), quiet_fit(clone(model), X, y)):
        for a, b in zip(other.predict(X, return_std=True), model.predict(X, return_std=True)):
            assert_array_equal(a, b)
        assert_array_equal(other.loo_predict()[1], model.loo_predict()[1])
        assert_array_equal(other.rounds_["value"], model.rounds_["value"])
        assert hasattr(other, "basis_indices_") == (not refine_basis)


# ------------------------------------------------------------------------------ what is held


def test_no_rounds_keep_the_start():
    X, y = data()
    start = subset_evidence(None, None, X, (y - y.mean()) / y.std()).point
    for change, lines in [({"rounds": 0}, 0), ({"max_iter": 0}, 2)]:
        model = learner(**change).fit(X, y)
        assert_allclose(model.kernel_.theta, start.kernel.theta, rtol=1e-6)
        assert_allclose(model.noise_variance_, start.noise_variance, rtol=1e-6)
        assert_array_equal(model.basis_, X[model.basis_indices_])
        assert len(model.rounds_) == lines


@some_cases
def test_given_noise_is_held(objective, approximation):
    model = learner(noise_variance=0.0321, objective=objective, approximation=approximation)
    assert model.fit(*data()).noise_variance_ == 0.0321
    assert model.rounds_["n_iter"].max() > 0


@some_cases
def test_fixed_kernel_parameters_are_held(objective, approximation):
    kernel = Gaussian(0.77, [0.5, 0.9], fixed="variance")
    model = learner(kernel=kernel, objective=objective, approximation=approximation).fit(*data())
    assert model.kernel_.variance == 0.77
    assert np.all(model.kernel_.length_scale != [0.5, 0.9])


# -------------------------------------------------------------------------- kinds of input


@some_cases
def test_torch_learns_the_same(objective, approximation):
    torch = pytest.importorskip("torch")
    X, y = data()
    estimator = learner(objective=objective, approximation=approximation)
    expected = clone(estimator).fit(X, y).predict(X, return_std=True)
    model = estimator.fit(torch.asarray(X), torch.asarray(y))
    for tensor, array in zip(model.predict(torch.asarray(X), return_std=True), expected):
        assert isinstance(tensor, torch.Tensor)
        assert_allclose(tensor.numpy(), array, atol=1e-6)
    assert isinstance(model.basis_, torch.Tensor)


@some_cases
def test_float32(objective, approximation):
    X, y = (array.astype(np.float32) for array in data())
    model = learner(objective=objective, approximation=approximation).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert mean.dtype == std.dtype == model.basis_.dtype == np.float32
    assert_finite(model, X)
    assert model.score(*data(n=200, seed=1)) > 0.8


@some_cases
def test_weights_and_copies_learn_the_same(objective, approximation):
    """With all rows considered and one round, chance has no part in it."""
    X, y = data(n=40)
    weights = np.random.default_rng(2).integers(0, 4, size=40)
    rows = np.repeat(np.arange(40), weights)
    options = {"kernel": Gaussian(1.0, 0.8), "rounds": 1, "working_set": None, "max_iter": 10}
    estimator = learner(objective=objective, approximation=approximation, **options)
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    copied = clone(estimator).fit(X[rows], y[rows])
    assert_allclose(weighted.rounds_["value"], copied.rounds_["value"], rtol=1e-4)
    for a, b in zip(weighted.predict(X, return_std=True), copied.predict(X, return_std=True)):
        assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@some_cases
def test_two_targets(objective, approximation):
    X, Y = data(n=80, columns=2)
    model = learner(objective=objective, approximation=approximation, max_basis=12).fit(X, Y)
    assert all(part.shape == (80, 2) for part in model.predict(X, return_std=True))
    assert model.score(*data(n=200, seed=1, columns=2)) > 0.8


def test_tables():
    pd = pytest.importorskip("pandas")
    X, y = data()
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = learner().fit(frame, pd.Series(y))
    assert_allclose(model.predict(frame), learner().fit(X, y).predict(X), atol=1e-6)


# ------------------------------------------------------------------ the defaults in hard cases


def fit_default(X, y, **parameters):
    model = quiet_fit(SparseGPRegressor(random_state=0, **parameters), X, y)
    assert_finite(model, X)
    assert_finite(model, X + 100.0)
    return model


def test_few_rows():
    X, y = data(n=450)
    model = fit_default(X[:50], y[:50])
    assert model.score(X[50:], y[50:]) > 0.9
    assert coverage(y[50:], *model.predict(X[50:], return_std=True), 0.95) > 0.8


def test_nearly_as_many_features_as_rows():
    X = np.random.default_rng(0).normal(size=(320, 100))
    y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=320)
    assert fit_default(X[:120], y[:120]).score(X[120:], y[120:]) > 0.8


def test_pure_noise():
    """Of twelve seeds, 3 is the one where the refined basis makes most of chance."""
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, size=(800, 3)), rng.normal(size=800)
    model = fit_default(X[:300], y[:300])
    assert -0.3 < model.score(X[300:], y[300:]) < 0.05
    assert 0.35 < model.noise_variance_ * np.var(y[:300]) < 1.3
    assert 0.85 < coverage(y[300:], *model.predict(X[300:], return_std=True), 0.95) <= 1


@each_objective
def test_no_noise(objective):
    X, y = data(n=400, noise=0.0)
    assert fit_default(X[:100], y[:100], objective=objective).score(X[100:], y[100:]) > 0.99


@each_objective
class TestDegenerate:
    @pytest.mark.parametrize("constant", [0.0, -1e8])
    def test_constant_target(self, objective, constant):
        X, _ = data()
        model = fit_default(X, np.full(60, constant), objective=objective)
        assert_allclose(model.predict(X), constant, rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize("n", [1, 2])
    def test_next_to_no_rows(self, objective, n):
        X, y = data(n=n)
        assert fit_default(X, y, objective=objective).n_basis_ <= n

    def test_duplicate_rows(self, objective):
        X = np.repeat(data(n=30)[0], 4, axis=0)
        y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=120)
        model = fit_default(X, y, objective=objective)
        assert model.n_basis_ <= 30
        assert model.score(X, y) > 0.9

    @pytest.mark.parametrize("constant", [0.0, 1e9])
    def test_constant_column(self, objective, constant):
        X, y = data(n=100)
        X = np.column_stack([X, np.full(100, constant)])
        model = fit_default(X[:60], y[:60], objective=objective)
        assert model.score(X[60:], y[60:]) > 0.8
        assert_allclose(model.basis_[:, 2], constant, rtol=1e-9)


# -------------------------------------------------------------------------- ends before time


@each_refinement
def test_time_limit(refine_basis):
    X, y = data(n=3000, D=3)
    model = SparseGPRegressor(time_limit=1.0, refine_basis=refine_basis, random_state=0)
    begin = time.process_time()  # whatever else the machine does
    quiet_fit(model, X, y)
    assert time.process_time() - begin < 4.0
    assert model.n_basis_ >= 1
    assert np.all(np.isfinite(model.predict(X, return_std=True)))


class Watcher:
    """Notes the tasks; at the n-th step of the k-th stage of a kind it does what it is told."""

    def __init__(self, stage=None, which=0, step=1, interrupt=False):
        self.at, self.interrupt = (stage, which, step), interrupt
        self.tasks, self.counts = [], {"select": 0, "optimise": 0}

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append(("begin", context.task_name))
        if context.task_name in self.counts:
            self.counts[context.task_name] += 1
            self.steps = 0

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(("end", context.task_name))
        stage = {"basis vector": "select", "iteration": "optimise"}.get(context.task_name)
        if stage is None:
            return False
        self.steps += 1
        here = (stage, self.counts[stage] - 1, self.steps) == self.at
        if here and self.interrupt:
            raise KeyboardInterrupt
        return here


@each_refinement
def test_callbacks_see_selections_and_optimisations_by_turns(refine_basis):
    X, y = data()
    watcher = Watcher()
    model = quiet_fit(learner(refine_basis=refine_basis).set_callbacks(watcher), X, y)
    turn = [(kind, name) for name in ("select", "optimise") for kind in ("begin", "end")]
    assert [task for task in watcher.tasks if task in turn] == turn * 2
    assert watcher.tasks.count(("end", "basis vector")) == model.rounds_["n_basis"].sum()
    assert watcher.tasks.count(("end", "iteration")) == model.rounds_["n_iter"].sum()
    plain = quiet_fit(learner(refine_basis=refine_basis), X, y)
    assert_array_equal(model.predict(X), plain.predict(X))


@each_refinement
@pytest.mark.parametrize(("stage", "which"), [("select", 0), ("optimise", 0), ("optimise", 1)])
def test_an_interrupt_leaves_a_model_and_is_told(stage, which, refine_basis):
    X, y = data()
    watcher = Watcher(stage, which, 3, interrupt=True)
    model = learner(refine_basis=refine_basis).set_callbacks(watcher)
    with pytest.raises(FitInterrupted, match="SparseGPRegressor holds the best model"):
        model.fit(X, y)
    assert watcher.counts["select"] == which + 1
    assert watcher.counts["optimise"] == (which + 1 if stage == "optimise" else 0)
    assert_finite(model, X)
    assert model.n_basis_ == (3 if stage == "select" else 8)
    assert stage == "select" or model.score(X, y) > 0.8


@each_refinement
def test_an_interrupt_of_the_last_selection(refine_basis):
    """The model of the round before is better than one of two basis vectors."""
    X, y = data()
    watcher = Watcher("select", 1, 2, interrupt=True)
    model = learner(refine_basis=refine_basis).set_callbacks(watcher)
    with pytest.raises(FitInterrupted, match="SparseGPRegressor holds the best model"):
        model.fit(X, y)
    assert model.n_basis_ == 8
    assert model.score(X, y) > 0.8


def test_a_callback_that_stops_is_not_told_of_max_iter():
    estimator = learner(refine_basis=False, max_iter=100).set_callbacks(Watcher("optimise", 0, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        estimator.fit(*data())


def test_candidates_and_rows_of_weight_zero():
    X, y = data()
    weights = np.where(np.arange(60) < 10, 0.0, 1.0)
    candidates = data(n=200, seed=1)[0]
    model = learner().fit(X, y, sample_weight=weights, candidates=candidates)
    assert_finite(model, X)
