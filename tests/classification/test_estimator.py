"""`SparseGPClassifier` as a scikit-learn estimator."""

import copy
import pickle
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr, ndtr
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from classification.models import data, fixed
from greedygp import SparseGPClassifier
from greedygp.classification import start
from greedygp.classification.criteria import CRITERIA
from greedygp.classification.data import LabelledRows
from greedygp.classification.hyperparameters import LatentPoint
from greedygp.classification.objectives import OBJECTIVES
from greedygp.classification.propagation import propagated_evidence
from greedygp.classification.state import ClassificationState
from greedygp.datasets import available, load
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian, Linear
from reference.classification import gaussian_kernel, posterior
from scikit_versions import parametrize_with_checks

# ------------------------------------------------------------------ scikit-learn's own checks


def expected_failures(estimator):
    """Return what may fail, and why.

    A likelihood to the power w has one Gaussian site, w rows have w sites; scikit-learn's own SVC
    has the same entry.
    """
    return {"check_sample_weight_equivalence_on_dense_data": "one site a row, whatever its weight"}


@parametrize_with_checks(
    [
        SparseGPClassifier(max_basis=5, rounds=1, max_iter=2, criterion="entropy"),
        SparseGPClassifier(objective=None, max_basis=5),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    monkeypatch.setattr(start, "SUBSET_ROWS", 40)  # learning begins with fewer rows
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [SparseGPClassifier(objective=None, sites="optimized", max_basis=10)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_of_optimised_sites(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------ parameters, copies


def test_constructor_only_stores():
    kernel = Gaussian(variance=2.0, length_scale=[1.0, 2.0])
    estimator = fixed(kernel=kernel)
    assert estimator.get_params()["kernel"] is kernel
    assert is_classifier(estimator)
    assert [name for name in vars(estimator) if name.endswith("_")] == []


def test_fitted_attributes():
    X, y = data()
    model = fixed().fit(X, y)
    assert_array_equal(model.classes_, [0, 1])
    assert model.n_basis_ == 8
    assert_array_equal(model.basis_, X[model.basis_indices_])
    assert model.site_means_.shape == model.site_precisions_.shape == (8,)
    assert np.all(model.site_precisions_ > 0)
    assert model.bias_ == 0.1
    assert model.kernel_ is not None
    assert model.path_.dtype.names == ("index", "value", "score", "seconds")
    assert_array_equal(model.path_["index"], model.basis_indices_)
    assert np.isnan(model.objective_value_)
    assert model.stop_reason_ == "max_basis"
    assert len(model.rounds_) == 0


def test_predictions_are_those_of_the_definition():
    X, y = data()
    model = fixed().fit(X, y)
    X_new = np.random.default_rng(5).normal(size=(7, 2))
    u = model.basis_indices_
    K = gaussian_kernel(np.vstack([X[u], X_new]), np.vstack([X[u], X_new]), 4.0, 0.8)
    means, precisions = np.zeros(15), np.zeros(15)
    means[:8], precisions[:8] = model.site_means_, model.site_precisions_
    f, A = posterior(K, means, precisions)
    mean, variance = model.latent(X_new)
    assert_allclose(mean, f[8:], atol=1e-10)
    assert_allclose(variance, np.diag(A)[8:], atol=1e-10)
    z = (mean + 0.1) / np.sqrt(1 + variance)
    assert_allclose(model.decision_function(X_new), z)
    assert_allclose(model.predict_proba(X_new)[:, 1], ndtr(z))
    assert_allclose(model.predict_log_proba(X_new)[:, 0], log_ndtr(-z))
    assert_array_equal(model.predict(X_new), (z > 0).astype(int))


def test_clone_copy_pickle():
    X, y = data()
    model = fixed().fit(X, y)
    expected = model.predict_proba(X)
    assert_array_equal(clone(model).fit(X, y).predict_proba(X), expected)
    assert_array_equal(copy.deepcopy(model).predict_proba(X), expected)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_same_random_state_same_model(criterion):
    X, y = data()
    models = [fixed(criterion=criterion).fit(X, y) for _ in range(2)]
    assert_array_equal(models[0].basis_indices_, models[1].basis_indices_)
    assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_pipeline_grid_search_and_kernels():
    X, y = data()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), fixed()),
        {"sparsegpclassifier__max_basis": [2, 20]},
        cv=2,
    ).fit(X, y)
    assert search.score(X, y) > 0.8
    theirs = fixed(kernel=ConstantKernel(4.0) * RBF(0.8)).fit(X, y)
    assert_allclose(theirs.predict_proba(X), fixed().fit(X, y).predict_proba(X))


def test_pandas_and_strings():
    pd = pytest.importorskip("pandas")
    X, y = data()
    names = np.array(["no", "yes"])[y]
    model = fixed().fit(pd.DataFrame(X, columns=["a", "b"]), pd.Series(names))
    assert list(model.feature_names_in_) == ["a", "b"]
    assert set(model.predict(pd.DataFrame(X, columns=["a", "b"]))) <= {"no", "yes"}


# --------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("max_basis", [None, 15])
def test_learning(objective, max_basis):
    X, y = make_moons(120, noise=0.2, random_state=0)
    model = SparseGPClassifier(objective=objective, max_basis=max_basis, random_state=0)
    model.fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.85
    assert np.isfinite(model.objective_value_)
    assert model.n_basis_ == (max_basis or 80)
    if len(model.rounds_):
        assert model.objective_value_ <= model.rounds_["value_before"][0]


def test_all_rows_start_is_the_minimum_of_the_evidence():
    X, y = data(60)
    model = SparseGPClassifier(random_state=0).fit(X, y)
    length_scale = model.kernel_.length_scale / X.std(axis=0)
    assert_allclose(length_scale, length_scale[0])  # two features do not pay for their own
    for factor in (0.8, 1.25):
        kernel = Gaussian(model.kernel_.variance, factor * model.kernel_.length_scale)
        at, rows = LatentPoint(kernel, model.bias_), LabelledRows(X, 2.0 * y - 1)
        other, *_ = propagated_evidence(at, rows, np.zeros(60), np.zeros(60))
        assert other.value > model.objective_value_ - 1e-6


def test_a_useless_feature_gets_a_long_length_scale_where_it_pays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = (np.sin(3 * X[:, 0]) > 0).astype(int)
    model = SparseGPClassifier(random_state=0).fit(X, y)
    length_scale = model.kernel_.length_scale
    assert length_scale[1:].min() > 3 * length_scale[0]


def test_sites_are_refined_where_rows_abound():
    X, y = make_moons(600, noise=0.25, random_state=0)
    train, test = slice(0, 300), slice(300, None)
    kernel = Gaussian(4.0, 0.5)
    options = {"max_basis": 10, "criterion": "random", "kernel": kernel, "random_state": 0}
    options |= {"objective": None, "bias": 0.0}
    plain = SparseGPClassifier(refine=False, ep_passes=0, **options).fit(X[train], y[train])
    refined = SparseGPClassifier(refine=True, ep_passes=0, **options).fit(X[train], y[train])
    assert_array_equal(plain.basis_indices_, refined.basis_indices_)

    def loss(model):
        return -np.mean(model.predict_log_proba(X[test])[np.arange(300), y[test]])

    assert loss(refined) < loss(plain)
    assert refined.kernel_ == kernel
    assert refined.bias_ == 0.0
    learnt = SparseGPClassifier(max_basis=10, max_iter=5, kernel=kernel, random_state=0)
    learnt.fit(X[:100], y[:100])
    assert learnt.kernel_ != kernel
    assert loss(learnt) < 0.4


def test_bias_is_learnt_or_held():
    X, y = data(60)
    y = (np.arange(60) < 50).astype(int)
    learnt = SparseGPClassifier(random_state=0).fit(X, y)
    assert learnt.bias_ > 0.3
    assert SparseGPClassifier(bias=-0.5, random_state=0).fit(X, y).bias_ == -0.5


def test_patience():
    X, y = data(80)
    model = fixed(max_basis=None, patience=3, criterion="validation").fit(X, y)
    assert model.stop_reason_ == "patience"
    assert model.n_basis_ == np.argmin(model.path_["value"]) + 1
    assert model.n_iter_ == model.n_basis_ + 3


# --------------------------------------------------------------------------- several classes


def test_several_classes():
    X, y = data(120, classes=3)
    names = np.array(["low", "middle", "high"])[y]
    model = fixed(max_basis=20).fit(X, names)
    assert_array_equal(model.classes_, ["high", "low", "middle"])
    assert len(model.basis_indices_) == len(model.path_) == len(model.kernel_) == 3
    proba = model.predict_proba(X)
    assert proba.shape == (120, 3)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert_array_equal(model.predict(X), model.classes_[np.argmax(proba, axis=1)])
    assert model.decision_function(X).shape == (120, 3)
    assert model.latent(X)[0].shape == (120, 3)
    assert model.score(X, names) > 0.75


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", [Gaussian(4.0, 0.8), Linear(1e6), Gaussian(1e8, 1e-2)])
def test_far_out_points_have_probabilities(classes, kernel):
    X, y = data(60, classes=classes)
    model = fixed(kernel=kernel, max_basis=None).fit(X, y)
    far = np.array([[1e6, -1e6], [-1e9, 0.0], [1e-300, 1e3], [0.0, 0.0]])
    proba = model.predict_proba(far)
    assert np.all(np.isfinite(proba))
    assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(np.isfinite(model.predict_log_proba(far)))


# ----------------------------------------------------------------------------------- weights


def test_equal_weights_are_no_weights():
    X, y = data()
    plain = fixed().fit(X, y)
    assert_array_equal(
        fixed().fit(X, y, sample_weight=np.ones(80)).predict_proba(X), plain.predict_proba(X)
    )


def test_rows_of_weight_zero_are_left_out():
    X, y = data()
    weights = np.where(np.arange(80) < 60, 1.0, 0.0)
    order = np.random.default_rng(0).permutation(80)
    X, y, weights = X[order], y[order], weights[order]
    model = fixed().fit(X, y, sample_weight=weights)
    kept = weights > 0
    alone = fixed().fit(X[kept], y[kept])
    assert_array_equal(model.predict_proba(X), alone.predict_proba(X))
    assert_array_equal(model.basis_indices_, np.flatnonzero(kept)[alone.basis_indices_])
    assert np.all(kept[model.path_["index"]])


def test_weights_are_nearly_repetitions():
    """With every row in the basis and settled sites, a weight of 2 is close to two rows."""
    X, y = data(40)
    weights = np.where(np.arange(40) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(40), weights.astype(int))
    weighted = fixed(max_basis=None).fit(X, y, sample_weight=weights).predict_proba(X)
    repeated = fixed(max_basis=None).fit(X[twice], y[twice]).predict_proba(X)
    plain = fixed(max_basis=None).fit(X, y).predict_proba(X)
    assert np.max(np.abs(weighted - repeated)) < 0.02
    assert np.max(np.abs(plain - repeated)) > 0.03


def test_class_weight():
    X, y = data(100)
    y = ((y == 1) & (np.arange(100) % 4 == 0)).astype(int)
    plain = fixed(max_basis=None).fit(X, y)
    balanced = fixed(max_basis=None, class_weight="balanced").fit(X, y)
    assert balanced.predict(X).sum() > plain.predict(X).sum()
    share = 100 / (2 * np.bincount(y))
    given = fixed(max_basis=None, class_weight={0: share[0], 1: share[1]}).fit(X, y)
    assert_allclose(given.predict_proba(X), balanced.predict_proba(X))
    by_hand = fixed(max_basis=None).fit(X, y, sample_weight=share[y])
    assert_allclose(by_hand.predict_proba(X), balanced.predict_proba(X))


# ------------------------------------------------------------------------ interruption, time


@pytest.mark.parametrize("objective", [None, "loo"])
@pytest.mark.parametrize("size", [0, 4])
def test_interrupt_keeps_what_there_is(monkeypatch, size, objective):
    append = ClassificationState.append

    def interrupted(self, *args):
        if self.size == size:
            raise KeyboardInterrupt
        append(self, *args)

    monkeypatch.setattr(ClassificationState, "append", interrupted)
    X, y = data()
    model = fixed(objective=objective, max_iter=2)
    with pytest.raises(KeyboardInterrupt) as raised:
        model.fit(X, y)
    assert isinstance(raised.value, FitInterrupted) == (size > 0)
    if size > 0:
        assert model.n_basis_ == size
        assert np.all(np.isfinite(model.predict_proba(X)))


def test_time_limit():
    X, y = make_moons(3000, noise=0.3, random_state=0)
    begin = time.perf_counter()
    model = SparseGPClassifier(time_limit=0.5, random_state=0).fit(X, y)
    assert time.perf_counter() - begin < 10
    assert np.all(np.isfinite(model.predict_proba(X[:5])))


# --------------------------------------------------------------------------------- real data


@pytest.mark.parametrize(("name", "error", "loss"), [("titanic", 0.24, 0.54), ("image", 0.06, 0.2)])
def test_real_data(name, error, loss):
    """Close to what a support vector machine and a full process reach (image: with less data)."""
    if name not in available():
        pytest.skip(f"GREEDYGP_DATA has no {name}")
    data = load(name)
    train, test = data.partitions[0]
    train = train[:250]
    model = SparseGPClassifier(random_state=0).fit(data.X[train], data.y[train])
    assert 1 - model.score(data.X[test], data.y[test]) < error
    places = (data.y[test] > 0).astype(int)
    log_proba = model.predict_log_proba(data.X[test])
    assert -np.mean(log_proba[np.arange(len(test)), places]) < loss
