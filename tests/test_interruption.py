"""Ctrl-C in a fit: the estimator keeps the model it has, and everything around it stops."""

import signal
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greedygp
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian
from recorders import StopAfter

KERNEL = Gaussian(length_scale=1.0)
REGRESSORS = [
    greedygp.SparseGPRegressor(max_basis=8, random_state=0),
    greedygp.GPRegressor(solver="smo", tol=0.1, random_state=0),
    greedygp.FastGCVRegressor(kernel=KERNEL),
    greedygp.FastRVMRegressor(kernel=KERNEL),
    greedygp.OLSRegressor(kernel=KERNEL),
    greedygp.RFSRegressor(kernel=KERNEL),
    greedygp.LocalRidgeRegressor(kernel=KERNEL),
]
CLASSIFIERS = [
    greedygp.SparseGPClassifier(max_basis=8, random_state=0),
    greedygp.FastRVMClassifier(kernel=KERNEL),
    greedygp.FastGCVClassifier(kernel=KERNEL),
]


def name_of(estimator):
    return type(estimator).__name__


each_estimator = pytest.mark.parametrize("estimator", REGRESSORS + CLASSIFIERS, ids=name_of)
each_classifier = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)


class SignalAfter(StopAfter):
    """The signal of Ctrl-C in some step."""

    def on_step(self, number):
        if number == self.number:
            signal.raise_signal(signal.SIGINT)
        return False


@pytest.fixture(autouse=True)
def python_takes_the_signal():
    """A worker of pytest-xdist may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def data(estimator, n=80, classes=2):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    if estimator in CLASSIFIERS:
        return X, np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))
    return X, f + 0.05 * rng.normal(size=n)


@each_estimator
def test_the_model_is_kept_and_the_interrupt_goes_on(estimator):
    X, y = data(estimator)
    model = clone(estimator).set_callbacks(SignalAfter(3))
    with pytest.raises(KeyboardInterrupt, match=f"{name_of(estimator)} holds the best model"):
        model.fit(X, y)
    assert np.all(np.isfinite(model.score(X, y)))
    assert "features" in dict(model.summary().facts)
    reason = getattr(model, "status_", getattr(model, "stop_reason_", None))
    assert reason == "interrupted"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = clone(estimator).set_callbacks(StopAfter(3)).fit(X, y)
    assert_array_equal(model.predict(X), whole.predict(X))


@each_estimator
def test_cross_validation_stops(estimator):
    X, y = data(estimator)
    watcher = SignalAfter(2)
    with pytest.raises(FitInterrupted):
        cross_val_score(clone(estimator).set_callbacks(watcher), X, y, cv=3)
    assert watcher.ended == 2  # steps, all of them in the first fold


def test_a_pipeline_stops_with_a_model():
    X, y = data(REGRESSORS[0])
    pipeline = make_pipeline(StandardScaler(), clone(REGRESSORS[0]).set_callbacks(SignalAfter(3)))
    with pytest.raises(KeyboardInterrupt):
        pipeline.fit(X, y)
    assert np.all(np.isfinite(pipeline.predict(X)))


class SignalInEvidence:
    """The signal of Ctrl-C in some evaluation of the evidence of a full GP."""

    def __init__(self, monkeypatch, number):
        self.evidence, self.number, self.calls = greedygp.start.evidence, number, 0
        monkeypatch.setattr("greedygp.start.evidence", self)

    def __call__(self, *arguments):
        self.calls += 1
        if self.calls == self.number:
            signal.raise_signal(signal.SIGINT)
        return self.evidence(*arguments)


@pytest.mark.parametrize("objective", ["nlml", "nlgpp"])
def test_a_full_gp_keeps_what_it_has_learnt_so_far(monkeypatch, objective):
    X, y = data(greedygp.GPRegressor)
    SignalInEvidence(monkeypatch, 12)
    model = greedygp.GPRegressor(objective=objective, random_state=0)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert (model.status_, model.converged_) == ("interrupted", False)
    assert 2 <= len(model.trace_) <= 20
    assert np.all(np.diff(model.trace_["value"]) <= 0)
    assert np.isnan(model.objective_value_)
    assert model.score(X, y) > 0.9
    inside = np.abs(y - model.predict(X)) < 2 * model.predict(X, return_std=True)[1]
    assert np.mean(inside) > 0.8
    assert model.kernel_ != greedygp.GPRegressor(objective=objective).fit(X, y).kernel_


@pytest.mark.parametrize(
    "model",
    [greedygp.GPRegressor(), greedygp.GPRegressor(solver="smo"), greedygp.AutoGPRegressor()],
    ids=["many rows", "another solver", "auto"],
)
def test_a_solve_that_would_last_is_not_begun(monkeypatch, model):
    X, y = data(model)
    SignalInEvidence(monkeypatch, 12)
    monkeypatch.setattr("greedygp.dense.fitting.SOON_SOLVED", len(X) - 1)
    with pytest.raises(KeyboardInterrupt) as raised:
        clone(model).fit(X, y)
    assert not isinstance(raised.value, FitInterrupted)


def interrupt_before(monkeypatch, place):
    def interrupted(*args, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(place, interrupted)


@pytest.mark.parametrize(
    ("estimator", "place"),
    [
        (greedygp.SparseGPRegressor(), "greedygp.start.evidence"),
        (greedygp.GPRegressor(), "greedygp.start.evidence"),
        (greedygp.GPRegressor(objective="nlgpp"), "greedygp.dense.learning.random_rows"),
        (greedygp.FastGCVRegressor(), "greedygp.linear.selection.FastSelection.propose"),
        (
            greedygp.FastGCVRegressor(kernel=KERNEL, start="empty"),
            "greedygp.linear.selection.FastSelection.propose",
        ),
        (
            greedygp.FastGCVRegressor(kernel=KERNEL),
            "greedygp.linear.ridge_selection.RidgeSelection.propose",
        ),
        (greedygp.RFSRegressor(), "greedygp.linear.ridge_selection.RidgeSelection.propose"),
        (CLASSIFIERS[0], "greedygp.classification.start.propagated_evidence"),
        (CLASSIFIERS[1], "greedygp.linear.laplace.LaplaceSelection.propose"),
    ],
    ids=str,
)
def test_without_a_model_there_is_nothing_to_keep(monkeypatch, estimator, place):
    """In the start, in the search for a width, before the first basis vector."""
    X, y = data(estimator)
    interrupt_before(monkeypatch, place)
    model = clone(estimator)
    with pytest.raises(KeyboardInterrupt) as raised:
        model.fit(X, y)
    assert not isinstance(raised.value, FitInterrupted)
    assert not hasattr(model, "n_basis_")


@pytest.mark.parametrize("estimator", REGRESSORS[:2], ids=name_of)
def test_after_the_mean_the_noise_stays_constant(monkeypatch, estimator):
    X, y = data(estimator)
    interrupt_before(monkeypatch, "greedygp.noise.learn_noise")
    model = clone(estimator)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.noise_model_ == "constant"
    monkeypatch.undo()
    constant = clone(estimator).set_params(noise_model="constant").fit(X, y)
    assert_array_equal(model.predict(X, return_std=True), constant.predict(X, return_std=True))
    assert np.all(model.loo_predict()[1] > 0)


def test_the_last_look_at_the_objective_is_made_again(monkeypatch):
    """Ctrl-C where learning is over but its result is not there yet."""
    from greedygp.sparse.learning import Learner

    X, y = data(REGRESSORS[0])
    original, calls = Learner.result, []

    def interrupted_once(self):
        calls.append(self)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return original(self)

    monkeypatch.setattr(Learner, "result", interrupted_once)
    model = clone(REGRESSORS[0])
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.score(X, y) > 0.9


@each_classifier
def test_classes_whose_turn_did_not_come(estimator):
    """They are predicted by what is known before: their shares."""
    X, y = data(estimator, n=90, classes=3)
    model = clone(estimator).set_callbacks(SignalAfter(1))
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (90, 3)
    assert np.all(probabilities > 0)
    if isinstance(model.n_basis_, list):
        assert model.n_basis_[0] > 0
        assert model.n_basis_[1:] == [0, 0]
    others = probabilities[:, 1] / probabilities[:, 2]
    assert np.ptp(probabilities[:, 0]) > 0.1
    assert np.ptp(others) < 0.2


def test_in_the_propagation_of_sites(monkeypatch):
    X, y = data(CLASSIFIERS[0])
    interrupt_before(monkeypatch, "greedygp.classification.selection.propagate")
    model = clone(CLASSIFIERS[0])
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.n_basis_ == 8
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("place", ["Schedule.value", "BasisSelector.select"])
def test_between_rounds_of_a_classifier(monkeypatch, place):
    X, y = data(CLASSIFIERS[0])
    kind = getattr(greedygp.classification.learning, place.split(".")[0])
    name = place.split(".")[1]
    original, calls = getattr(kind, name), []

    def interrupted(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(kind, name, interrupted)
    model = clone(CLASSIFIERS[0]).set_params(max_basis=20)  # too many to be refined
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert len(calls) == 2
    assert model.score(X, y) > 0.7


def test_predictive_variances(monkeypatch):
    """Variances that are solved for: half a solve is not returned."""
    X, y = data(REGRESSORS[1])
    given = {"kernel": KERNEL, "noise_variance": 0.1, "objective": None, "noise_model": "constant"}
    model = greedygp.GPRegressor(**given, solver="cg", memory_limit=1.0).fit(X, y)
    interrupt_before(
        monkeypatch, "greedygp.dense.solvers.conjugate_gradient.ConjugateGradient.step"
    )
    with pytest.raises(KeyboardInterrupt):
        model.predict(X, return_std=True)
