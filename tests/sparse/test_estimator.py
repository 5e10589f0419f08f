"""`SparseGPRegressor` as a scikit-learn estimator."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedygp import SparseGPRegressor
from greedygp.datasets import make_friedman
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian
from greedygp.sparse.objectives import OBJECTIVES
from names import CRITERIA
from recorders import InterruptAfter, Recorder, Slow, StopAfter
from scikit_versions import FitCallback, ProgressBar, ScoringMonitor, parametrize_with_checks
from tolerances import assert_close
from waves import data, truth


def fixed(**parameters):
    """An estimator with fixed hyperparameters and a fixed number of basis vectors."""
    defaults = {
        "kernel": Gaussian(variance=1.0, length_scale=0.8),
        "noise_variance": 0.01,
        "objective": None,
        "approximation": "dtc",
        "normalize_y": False,
        "patience": None,
        "max_basis": 8,
        "random_state": 0,
    }
    return SparseGPRegressor(**(defaults | parameters))


# ------------------------------------------------------------------ scikit-learn's own checks


def expected_failures(estimator):
    """Return what may fail, and why.

    The evidence of 15 noise-free rows is nearly flat at its best, and L-BFGS stops wherever
    rounding takes it, so weights and repeated rows learn hyperparameters that differ in the sixth
    digit. With fixed hyperparameters the check passes.
    """
    if estimator.objective is None:
        return {}
    return {"check_sample_weight_equivalence_on_dense_data": "flat optimum of the evidence"}


@parametrize_with_checks(
    [
        SparseGPRegressor(max_basis=5, max_iter=2, rounds=1),
        SparseGPRegressor(criterion="gpe", approximation="fitc", objective=None, max_basis=10),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SparseGPRegressor(criterion=criterion, objective=None, max_basis=20)
        for criterion in ("nlml", "matching_pursuit", "info_gain")
    ]
)
def test_scikit_learn_checks_of_other_criteria(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------ parameters, copies


def test_constructor_only_stores():
    kernel = Gaussian(variance=2.0, length_scale=[1.0, 2.0])
    estimator = fixed(kernel=kernel)
    assert estimator.kernel is kernel
    assert estimator.get_params()["kernel"] is kernel
    assert is_regressor(estimator)
    assert [name for name in vars(estimator) if name.endswith("_")] == []


@pytest.mark.parametrize("objective", [None, "nlml"])
def test_fit_leaves_parameters_and_data_alone(objective):
    X, y = data()
    X_before, y_before = X.copy(), y.copy()
    estimator = fixed(objective=objective)
    before = {name: repr(value) for name, value in estimator.get_params().items()}
    assert estimator.fit(X, y) is estimator
    assert {name: repr(value) for name, value in estimator.get_params().items()} == before
    assert_array_equal(X, X_before)
    assert_array_equal(y, y_before)


def test_fitted_attributes():
    X, y = data()
    model = fixed().fit(X, y)
    assert model.n_features_in_ == 2
    assert model.n_basis_ == 8
    assert model.basis_.shape == (8, 2)
    assert model.basis_indices_.shape == (8,)
    assert_array_equal(model.basis_, X[model.basis_indices_])
    assert model.noise_variance_ == pytest.approx(0.01)
    assert_allclose(model.kernel_(X), fixed().kernel(X))
    assert model.path_.shape == (8,)
    assert set(model.path_.dtype.names) == {"index", "value", "score", "seconds"}
    assert np.all(np.diff(model.path_["seconds"]) >= 0) or np.all(model.path_["seconds"] >= 0)


def test_clone_and_copies():
    X, y = data()
    model = fixed(criterion="nlml").fit(X, y)
    fresh = clone(model)
    assert not hasattr(fresh, "basis_")
    assert_array_equal(fresh.fit(X, y).predict(X), model.predict(X))
    assert_array_equal(copy.deepcopy(model).predict(X), model.predict(X))


@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
def test_pickle_round_trip(approximation):
    X, y = data()
    model = fixed(approximation=approximation).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    for a, b in zip(again.predict(X, return_std=True), model.predict(X, return_std=True)):
        assert_array_equal(a, b)
    for a, b in zip(again.loo_predict(), model.loo_predict()):
        assert_array_equal(a, b)
    assert_array_equal(again.path_["value"], model.path_["value"])
    assert_array_equal(again.basis_indices_, model.basis_indices_)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_same_random_state_same_model(criterion):
    X, y = data(n=120)
    estimator = fixed(criterion=criterion, working_set=5, cache_size=5)
    a, b = clone(estimator).fit(X, y), clone(estimator).fit(X, y)
    assert_array_equal(a.basis_indices_, b.basis_indices_)
    assert_array_equal(a.predict(X), b.predict(X))
    if criterion != "info_gain":
        other = clone(estimator).set_params(random_state=1).fit(X, y)
        assert not np.array_equal(a.basis_indices_, other.basis_indices_)


def test_random_state_instance_and_none():
    X, y = data(n=120)
    a = fixed(criterion="random", random_state=np.random.RandomState(3)).fit(X, y)
    b = fixed(criterion="random", random_state=np.random.RandomState(3)).fit(X, y)
    assert_array_equal(a.basis_indices_, b.basis_indices_)
    fixed(criterion="random", random_state=None).fit(X, y)


def test_refitting_forgets_the_first_fit():
    X, y = data(columns=2)
    model = fixed().fit(X, y)
    model.set_params(max_basis=3).fit(X[:30, :1], y[:30, 0])
    fresh = fixed(max_basis=3).fit(X[:30, :1], y[:30, 0])
    assert model.n_features_in_ == 1
    assert_array_equal(model.predict(X[:, :1]), fresh.predict(X[:, :1]))


# -------------------------------------------------------------------- scikit-learn's machinery


def test_pipeline_and_score():
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), fixed(kernel=Gaussian(length_scale=1.5)))
    pipeline.fit(X, y)
    assert pipeline.score(X, y) > 0.8
    mean, std = pipeline.predict(X, return_std=True)
    assert mean.shape == std.shape == (60,)


def test_grid_search_and_cross_validation():
    X, y = data()
    grid = {"criterion": ["nlml", "nlgpp"], "noise_variance": [1e-2, 1.0]}
    search = GridSearchCV(fixed(max_basis=5), grid, cv=3).fit(X, y)
    assert search.best_params_["noise_variance"] == 1e-2
    assert search.best_estimator_.n_basis_ == 5
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert cross_val_predict(fixed(), X, y, cv=3).shape == y.shape
    assert np.mean(cross_val_score(fixed(max_basis=20), X, y, cv=3)) > 0.7


def test_sample_weight_can_be_routed():
    with config_context(enable_metadata_routing=True):
        estimator = fixed().set_fit_request(sample_weight=True, candidates=False)
        assert estimator.get_metadata_routing().fit.requests["sample_weight"] is True


def test_pandas_input():
    pd = pytest.importorskip("pandas")
    X, y = data()
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = fixed().fit(frame, pd.Series(y, name="target"))
    assert_array_equal(model.feature_names_in_, ["width", "height"])
    plain = fixed().fit(X, y)
    assert_allclose(model.predict(frame), plain.predict(X), rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["height", "width"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    two = fixed().fit(frame, pd.DataFrame({"a": y, "b": -y}))
    assert two.predict(frame).shape == (60, 2)


def test_scikit_learn_kernel():
    X, y = data()
    theirs = fixed(kernel=ConstantKernel(1.0) * RBF(0.8)).fit(X, y)
    ours = fixed().fit(X, y)
    assert_array_equal(theirs.basis_indices_, ours.basis_indices_)
    assert_allclose(theirs.predict(X), ours.predict(X), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("objective", [None, *OBJECTIVES])
def test_defaults_learn_something(objective):
    X, y = data(n=150)
    approximation = "dtc" if objective == "vfe" else "fitc"
    model = SparseGPRegressor(objective=objective, approximation=approximation, random_state=0).fit(
        X, y
    )
    X_new, _ = data(n=150, seed=1)
    mean, std = model.predict(X_new, return_std=True)
    assert np.mean((mean - truth(X_new)) ** 2) < 0.1 * np.var(truth(X_new))
    assert 0.03 < np.median(std) < 0.5
    if objective is not None:
        assert np.isfinite(model.objective_value_)
        assert model.noise_variance_ * np.var(y) < 0.05


# ------------------------------------------------------------------------- targets and weights


@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
@pytest.mark.parametrize("normalize_y", [True, False])
def test_shapes_of_several_targets(approximation, normalize_y):
    X, Y = data(columns=3)
    model = fixed(approximation=approximation, normalize_y=normalize_y).fit(X, Y)
    mean, std = model.predict(X[:7], return_std=True)
    assert mean.shape == std.shape == (7, 3)
    mean, cov = model.predict(X[:7], return_cov=True)
    assert cov.shape == (7, 7, 3)
    assert_allclose(np.sqrt(np.diagonal(cov)).T, std, rtol=1e-8)
    lower, upper = model.predict_interval(X[:7], coverage=0.9)
    assert lower.shape == upper.shape == (7, 3)
    assert model.sample_y(X[:7], n_samples=4, random_state=0).shape == (7, 3, 4)
    loo_mean, loo_std = model.loo_predict()
    assert loo_mean.shape == loo_std.shape == (60, 3)
    assert model.score(X, Y) > 0.3


def test_columns_share_the_basis_and_are_else_independent():
    X, Y = data(columns=3)
    together = fixed(criterion="random").fit(X, Y)
    for k in range(3):
        alone = fixed(criterion="random").fit(X, Y[:, k])
        assert_array_equal(alone.basis_indices_, together.basis_indices_)
        assert_allclose(alone.predict(X), together.predict(X)[:, k], rtol=1e-9, atol=1e-10)


def test_one_column_keeps_its_dimension():
    X, y = data()
    model = fixed().fit(X, y[:, None])
    flat = fixed().fit(X, y)
    assert model.predict(X).shape == (60, 1) or model.predict(X).shape == (60,)
    assert_allclose(np.ravel(model.predict(X)), flat.predict(X))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_equal_weights(criterion):
    """A weight of one is no weight."""
    X, y = data()
    plain = fixed(criterion=criterion).fit(X, y)
    weighted = fixed(criterion=criterion).fit(X, y, sample_weight=np.ones(60))
    assert_array_equal(plain.basis_indices_, weighted.basis_indices_)
    assert_allclose(plain.predict(X), weighted.predict(X), rtol=1e-10)


def test_weights_move_the_fit():
    X, y = data()
    y = y.copy()
    y[:30] += 2
    weights = np.where(np.arange(60) < 30, 1e-3, 1.0)
    model = fixed(max_basis=20).fit(X, y, sample_weight=weights)
    kept = fixed(max_basis=20).fit(X[30:], y[30:])
    assert np.mean(np.abs(model.predict(X[30:]) - kept.predict(X[30:]))) < 0.1


@pytest.mark.parametrize("normalize_y", [True, False])
def test_learnt_weights_equal_repetition(normalize_y):
    """Weights count as repeated rows in all that is estimated from the data, too."""
    X, y = data(n=25)
    weights = np.random.default_rng(0).integers(0, 4, size=25)
    rows = np.repeat(np.arange(25), weights)
    options = {"criterion": "nlml", "max_basis": 6, "working_set": None, "random_state": 0}
    options |= {"objective": "nlml", "approximation": "dtc", "refine_basis": False, "rounds": 1}
    weighted = SparseGPRegressor(normalize_y=normalize_y, **options)
    weighted.fit(X, y, sample_weight=weights.astype(float))
    repeated = SparseGPRegressor(normalize_y=normalize_y, **options).fit(X[rows], y[rows])
    assert_allclose(weighted.noise_variance_, repeated.noise_variance_, rtol=1e-3)
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-3, atol=1e-3)


# -------------------------------------------------------------------------------- prediction


@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
def test_each_row_is_predicted_on_its_own(approximation):
    """Tiles do not show: one row gives what it gives among many."""
    X, y = data()
    model = fixed(approximation=approximation).fit(X, y)
    X_new = np.random.default_rng(2).uniform(-1, 1, size=(20_001, 2))
    mean, std = model.predict(X_new, return_std=True)
    for i in (0, 1, 4095, 4096, 9999, 20_000):
        mean_i, std_i = model.predict(X_new[i : i + 1], return_std=True)
        assert_allclose(mean[i], mean_i[0], rtol=1e-10, atol=1e-12)
        assert_allclose(std[i], std_i[0], rtol=1e-10)
    assert_close(model.predict(X_new), mean)


@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
@pytest.mark.parametrize("normalize_y", [True, False])
def test_noise_in_the_spread(approximation, normalize_y):
    X, y = data()
    y = 10 * y + 5
    model = fixed(approximation=approximation, normalize_y=normalize_y).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    quiet_mean, quiet = model.predict(X, return_std=True, noise=False)
    noise = 0.01 * (np.var(y) if normalize_y else 1.0)
    assert_array_equal(mean, quiet_mean)
    assert_allclose(std**2 - quiet**2, noise, rtol=1e-6)
    _, cov = model.predict(X, return_cov=True)
    _, quiet_cov = model.predict(X, return_cov=True, noise=False)
    assert_allclose(np.sqrt(np.diag(cov)), std, rtol=1e-8)
    assert_allclose(cov - quiet_cov, noise * np.eye(60), atol=1e-8 * max(1.0, np.max(cov)))
    assert np.linalg.eigvalsh(quiet_cov).min() > -1e-8 * quiet_cov.max()


def test_intervals():
    X, y = data(n=400)
    model = fixed(max_basis=25).fit(X[:200], y[:200])
    mean, std = model.predict(X[200:], return_std=True)
    previous = np.zeros(200)
    for coverage, z in ((0.5, 0.6744897501960817), (0.9, 1.6448536269514722)):
        lower, upper = model.predict_interval(X[200:], coverage=coverage)
        assert np.all(lower < mean)
        assert np.all(mean < upper)
        assert np.all(upper - lower > previous)
        assert_allclose(upper - mean, z * std, rtol=1e-8)
        assert_allclose(mean - lower, z * std, rtol=1e-8)
        inside = np.mean((lower <= y[200:]) & (y[200:] <= upper))
        assert abs(inside - coverage) < 0.12
        previous = upper - lower


@pytest.mark.parametrize("noise", [True, False])
def test_samples_have_the_predictive_moments(noise):
    X, y = data()
    model = fixed(normalize_y=True).fit(X, y)
    X_new = X[:5] + 0.05
    mean, cov = model.predict(X_new, return_cov=True, noise=noise)
    samples = model.sample_y(X_new, n_samples=20_000, random_state=0, noise=noise)
    assert samples.shape == (5, 20_000)
    assert_allclose(samples.mean(axis=1), mean, atol=5 * np.sqrt(cov.max() / 20_000))
    assert_allclose(np.cov(samples), cov, atol=0.05 * cov.max())
    again = model.sample_y(X_new, n_samples=20_000, random_state=0, noise=noise)
    assert_array_equal(samples, again)


def test_float32():
    X, y = data(n=100)
    double = fixed().fit(X, y)
    single = fixed().fit(X.astype(np.float32), y.astype(np.float32))
    X_new = X[:20].astype(np.float32)
    mean, std = single.predict(X_new, return_std=True)
    assert mean.dtype == std.dtype == np.float32
    assert all(a.dtype == np.float32 for a in single.loo_predict())
    assert_array_equal(single.basis_indices_, double.basis_indices_)
    expected_mean, expected_std = double.predict(X[:20], return_std=True)
    assert_allclose(mean, expected_mean, rtol=1e-3, atol=1e-3)
    assert_allclose(std, expected_std, rtol=1e-3)
    assert_allclose(single.path_["value"], double.path_["value"], rtol=1e-3)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("approximation", ["sor", "dtc", "fitc"])
def test_float32_is_close_to_float64(criterion, approximation):
    X, y = data(n=80)
    double = fixed(criterion="random", approximation=approximation).fit(X, y)
    single = fixed(criterion=criterion, approximation=approximation)
    single.fit(X.astype(np.float32), y.astype(np.float32))
    mean, std = single.predict(X.astype(np.float32), return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std >= np.sqrt(0.01) * (1 - 1e-4))
    if criterion == "random":
        assert_allclose(mean, double.predict(X), rtol=1e-3, atol=1e-3)


def test_column_order_and_strides_do_not_matter():
    X, y = data()
    expected = fixed().fit(X, y).predict(X)
    for variant in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert_allclose(fixed().fit(variant, y).predict(variant), expected, rtol=1e-9)
    frozen = X.copy()
    frozen.setflags(write=False)
    assert_allclose(fixed().fit(frozen, y).predict(frozen), expected, rtol=1e-9)


# --------------------------------------------------------------------------------- callbacks


@pytest.mark.parametrize("criterion", CRITERIA)
def test_callback_sees_every_step(criterion):
    X, y = data()
    recorder = Recorder()
    model = fixed(criterion=criterion).set_callbacks(recorder).fit(X, y)
    assert isinstance(recorder, FitCallback)
    assert recorder.begun == recorder.ended == model.n_basis_ == 8
    assert recorder.calls[0] == "setup"
    assert recorder.calls[-1] == "teardown"
    plain = fixed(criterion=criterion).fit(X, y)
    assert_array_equal(model.basis_indices_, plain.basis_indices_)


@pytest.mark.parametrize("criterion", ["nlml", "matching_pursuit", "info_gain", "random"])
def test_callback_stops_the_selection(criterion):
    X, y = data()
    model = fixed(criterion=criterion).set_callbacks(StopAfter(3)).fit(X, y)
    assert model.n_basis_ == 3
    full = fixed(criterion=criterion).fit(X, y)
    assert_array_equal(model.basis_indices_, full.basis_indices_[:3])
    assert np.all(np.isfinite(model.predict(X, return_std=True)))


@pytest.mark.parametrize("objective", [None, "nlml"])
def test_interrupt_leaves_a_model(objective):
    X, y = data()
    estimator = fixed(objective=objective).set_callbacks(InterruptAfter(4))
    with pytest.raises(FitInterrupted):
        estimator.fit(X, y)
    model = estimator
    assert 3 <= model.n_basis_ <= 8
    mean, std = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(std > 0)
    if objective is None:
        full = fixed().fit(X, y)
        assert model.n_basis_ <= 4
        assert_array_equal(model.basis_indices_, full.basis_indices_[: model.n_basis_])


def test_time_limit():
    X, y = data(n=200)
    estimator = fixed(max_basis=100, time_limit=0.15).set_callbacks(Slow())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator.fit(X, y)
    assert 1 <= model.n_basis_ <= 6  # five steps take as long, on a machine that is not busy
    assert np.all(np.isfinite(model.predict(X, return_std=True)))


def test_time_limit_of_next_to_nothing():
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SparseGPRegressor(time_limit=1e-9, random_state=0).fit(X, y)
    assert model.n_basis_ >= 1
    assert np.all(np.isfinite(model.predict(X, return_std=True)))


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    X, y = data()
    model = fixed().set_callbacks(ProgressBar()).fit(X, y)
    assert model.n_basis_ == 8
    assert "SparseGPRegressor" in capsys.readouterr().out


def test_progress_bar_in_a_grid_search(capsys):
    pytest.importorskip("rich")
    X, y = data()
    search = GridSearchCV(fixed(), {"max_basis": [2, 4]}, cv=2)
    if not hasattr(search, "set_callbacks"):
        pytest.skip("this GridSearchCV has no callbacks")
    search.set_callbacks(ProgressBar()).fit(X, y)
    assert search.best_params_["max_basis"] in (2, 4)


def test_scoring_monitor():
    """The model as of each step is given to the callbacks, and scores better and better."""
    X, y = data()
    monitor = ScoringMonitor(scoring="r2")
    fixed(criterion="nlpp", max_basis=6).set_callbacks(monitor).fit(X, y)
    logs = monitor.get_logs()
    logs = logs[0] if isinstance(logs, list) else logs
    scores = [row["r2"] for row in logs.data if row["task_name"] == "basis vector"]
    assert len(scores) == 6
    assert scores[5] > scores[0]


def test_callbacks_that_are_none():
    with pytest.raises(TypeError):
        fixed().set_callbacks("progress")


# -------------------------------------------------------------------------- easy to get wrong


@pytest.mark.parametrize("which", [1, 2])
def test_noise_free_data(which):
    """The NLGPP of a small basis rises where there is no noise; the run must not end there."""
    made = make_friedman(which, 300, random_state=1, noise=0.0)
    X, y = made.X, made.y
    model = SparseGPRegressor(random_state=0, max_basis=150).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.99


@pytest.mark.parametrize("criterion", ["nlml", "loo_cve", "gpe"])
def test_cached_winners_do_not_spoil_the_factors(criterion):
    X, y = make_friedman1(400, noise=0.5, random_state=0)
    model = fixed(
        kernel=Gaussian(1.0, [1.0] * 10),
        criterion=criterion,
        cache_size=241,
        working_set=59,
        max_basis=100,
        normalize_y=True,
    ).fit(X, y)
    assert model.drift_ < 1e-8


def test_targets_far_from_zero_without_normalisation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = 1e6 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=100)
    model = SparseGPRegressor(normalize_y=False, random_state=0).fit(X[:80], y[:80])
    assert np.max(np.abs(model.predict(X[80:]) - y[80:])) < 10


def test_inputs_with_a_tiny_spread():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=150)
    model = SparseGPRegressor(random_state=0).fit(1e6 + 1e-4 * X[:100], y[:100])
    assert model.score(1e6 + 1e-4 * X[100:], y[100:]) > 0.9


def test_single_precision_inputs_of_a_double_precision_model():
    X, y = make_friedman1(300, noise=0.1, random_state=0)
    model = SparseGPRegressor(random_state=0).fit(X, y)
    single = model.predict(X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, model.predict(X), atol=1e-3)


def test_a_limit_of_iterations_is_told():
    X, y = make_friedman1(100, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        SparseGPRegressor(max_iter=1, refine_basis=False, random_state=0).fit(X, y)


def test_the_basis_is_the_users_to_change():
    X, y = data()
    model = fixed().fit(X, y)
    before = model.predict(X)
    model.basis_[...] = 0.0
    assert_array_equal(model.predict(X), before)


def test_a_working_set_of_many_pieces_with_a_cache():
    X, y = make_friedman1(400, noise=0.5, random_state=0)
    model = fixed(
        kernel=Gaussian(1.0, [1.0] * 10), working_set=300, cache_size=10, max_basis=5
    ).fit(X, y)
    assert model.n_basis_ == 5


@pytest.mark.parametrize("objective", ["loo_cve", "gpe"])
def test_objectives_that_do_not_know_the_scale_get_it_from_the_left_out_targets(objective):
    X, y = make_friedman1(300, noise=0.5, random_state=0)
    model = SparseGPRegressor(objective=objective, random_state=0).fit(X, y)
    mean, std = model.loo_predict()
    assert_allclose(np.mean(((y - mean) / std) ** 2), 1.0 / model.widening_, rtol=1e-4)


def test_a_function_that_changes_over_short_distances():
    """From length scales of the size of the data it would be taken for noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(400, 1))
    y = np.sin(4 * X[:, 0]) + 0.3 * rng.normal(size=400)
    assert SparseGPRegressor(random_state=0).fit(X, y).score(X, y) > 0.8
