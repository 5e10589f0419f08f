"""Bad input: an error that names what was given, or a sensible model, never NaN."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from greedygp import SparseGPRegressor
from greedygp.kernels import Gaussian
from names import APPROXIMATIONS, CRITERIA

INPUT_ERRORS = (ValueError, TypeError)


def data(n=20, D=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def fixed(**parameters):
    """An estimator with fixed hyperparameters."""
    defaults = {
        "kernel": Gaussian(variance=1.0, length_scale=1.0),
        "noise_variance": 0.01,
        "objective": None,
        "random_state": 0,
    }
    return SparseGPRegressor(**(defaults | parameters))


def learnt(**parameters):
    """An estimator that sets its hyperparameters itself."""
    return SparseGPRegressor(random_state=0, **parameters)


def fit_or_message(estimator, X, y, **options):
    """Return the fitted model and None, or None and the text of the error."""
    try:
        return estimator.fit(X, y, **options), None
    except INPUT_ERRORS as error:
        return None, str(error)


def assert_sensible(model, X, y):
    """A fitted model gives finite means, positive finite spreads, in the range of the targets."""
    mean, std = model.predict(X, return_std=True)
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))
    assert np.all(std > 0)
    loo_mean, loo_std = model.loo_predict()
    assert np.all(np.isfinite(loo_mean))
    assert np.all(np.isfinite(loo_std))
    assert np.all(np.isfinite(model.path_["value"]))
    assert 1 <= model.n_basis_ <= len(X)
    assert np.max(np.abs(mean)) <= 3 * np.max(np.abs(y)) + 1
    far = model.predict(X + 1e6, return_std=True)
    assert np.all(np.isfinite(far))


# ------------------------------------------------------------------------------- the values


@pytest.mark.parametrize("make", [fixed, learnt])
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
class TestNotFinite:
    def test_inputs(self, make, value, word):
        X, y = data()
        X[3, 1] = value
        with pytest.raises(ValueError, match=f"(?i){word}") as error:
            make().fit(X, y)
        assert "X" in str(error.value)

    def test_targets(self, make, value, word):
        X, y = data()
        y[3] = value
        with pytest.raises(ValueError, match=f"(?i){word}") as error:
            make().fit(X, y)
        assert "y" in str(error.value)

    def test_second_target_column(self, make, value, word):
        X, y = data()
        Y = np.column_stack([y, y])
        Y[3, 1] = value
        with pytest.raises(ValueError, match=f"(?i){word}"):
            make().fit(X, Y)

    def test_weights(self, make, value, word):
        X, y = data()
        weights = np.ones(20)
        weights[0] = value
        with pytest.raises(ValueError, match=f"(?i){word}") as error:
            make().fit(X, y, sample_weight=weights)
        assert "weight" in str(error.value)

    def test_candidates(self, make, value, word):
        X, y = data()
        candidates = X[:5].copy()
        candidates[0, 0] = value
        with pytest.raises(ValueError, match=f"(?i){word}") as error:
            make().fit(X, y, candidates=candidates)
        assert "candidates" in str(error.value)

    def test_prediction(self, make, value, word):
        X, y = data()
        model = make(max_basis=3).fit(X, y)
        X[0, 0] = value
        for method in (model.predict, model.sample_y):
            with pytest.raises(ValueError, match=f"(?i){word}"):
                method(X)


@pytest.mark.parametrize("make", [fixed, learnt])
class TestShapes:
    def test_no_rows(self, make):
        with pytest.raises(ValueError, match=r"0 sample|empty|no rows|one row"):
            make().fit(np.empty((0, 2)), np.empty(0))

    def test_no_features(self, make):
        with pytest.raises(ValueError, match=r"0 feature|no feature"):
            make().fit(np.empty((5, 0)), np.zeros(5))

    def test_no_target_columns(self, make):
        with pytest.raises(ValueError, match=r"y|target"):
            make().fit(np.zeros((5, 1)), np.empty((5, 0)))

    def test_one_dimensional_inputs(self, make):
        with pytest.raises(ValueError, match=r"2D|2-D|two-dimensional|2 dim"):
            make().fit(np.arange(5.0), np.arange(5.0))

    def test_three_dimensional_inputs(self, make):
        with pytest.raises(ValueError, match=r"dim"):
            make().fit(np.zeros((5, 2, 2)), np.arange(5.0))

    def test_three_dimensional_targets(self, make):
        with pytest.raises(ValueError, match=r"y|dim"):
            make().fit(np.zeros((5, 2)), np.zeros((5, 1, 2)))

    def test_scalars(self, make):
        with pytest.raises(INPUT_ERRORS):
            make().fit(3.0, 4.0)

    def test_different_numbers_of_rows(self, make):
        X, y = data()
        with pytest.raises(ValueError, match=r"20.*19|19.*20"):
            make().fit(X, y[:-1])

    def test_no_targets(self, make):
        X, _ = data()
        with pytest.raises(INPUT_ERRORS, match=r"y"):
            make().fit(X, None)

    def test_wrong_number_of_features(self, make):
        X, y = data(D=2)
        model = make(max_basis=3).fit(X, y)
        wrong = np.zeros((4, 3))
        message = r"3 features.*2 features|2 features.*3 features"
        calls = (
            lambda: model.predict(wrong),
            lambda: model.predict(wrong, return_std=True),
            lambda: model.sample_y(wrong),
            lambda: model.predict_interval(wrong, coverage=0.9),
        )
        for call in calls:
            with pytest.raises(ValueError, match=message):
                call()

    def test_predict_nothing(self, make):
        X, y = data()
        model = make(max_basis=3).fit(X, y)
        with pytest.raises(ValueError, match=r"0 sample|empty|no rows|one row"):
            model.predict(np.empty((0, 2)))

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.ones(19), r"19|sample_weight"),
            (np.ones((20, 2)), r"sample_weight|1D|1-D"),
            (-np.ones(20), r"(?i)negative"),
            (np.zeros(20), r"(?i)zero|positive|weight"),
            (["a"] * 20, r"sample_weight|convert|string|numeric|dtype"),
        ],
    )
    def test_weights(self, make, weights, message):
        X, y = data()
        with pytest.raises(INPUT_ERRORS, match=message):
            make().fit(X, y, sample_weight=weights)

    @pytest.mark.parametrize(
        ("candidates", "message"),
        [
            (np.zeros((4, 3)), r"candidates.*3|3.*candidates|3 features"),
            (np.empty((0, 2)), r"candidates|0 sample"),
            (np.zeros(4), r"candidates|2D|2-D|dim"),
            ("rows", r"candidates|2D|2-D|string|convert"),
        ],
    )
    def test_candidates(self, make, candidates, message):
        X, y = data(D=2)
        with pytest.raises(INPUT_ERRORS, match=message):
            make().fit(X, y, candidates=candidates)

    def test_one_row(self, make):
        """A model of one row, or an error that says so."""
        X, y = np.array([[0.3, 0.5]]), np.array([2.0])
        model, message = fit_or_message(make(), X, y)
        if model is None:
            assert re.search(r"(?i)1 sample|one row|minimum of 2", message)
        else:
            assert_sensible(model, X, y)

    def test_two_rows(self, make):
        X, y = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
        assert_sensible(make().fit(X, y), X, y)

    def test_unfitted(self, make):
        X, _ = data()
        calls = (
            lambda: make().predict(X),
            lambda: make().sample_y(X),
            lambda: make().predict_interval(X, coverage=0.9),
            lambda: make().loo_predict(),
        )
        for call in calls:
            with pytest.raises(NotFittedError):
                call()


@pytest.mark.parametrize("make", [fixed, learnt])
class TestTypes:
    def test_strings(self, make):
        X, y = data(n=4, D=1)
        with pytest.raises(INPUT_ERRORS, match=r"string|convert|numeric|str"):
            make().fit(np.array([["a"], ["b"], ["c"], ["d"]]), y)
        with pytest.raises(INPUT_ERRORS, match=r"string|convert|numeric|str"):
            make().fit(X, np.array(["a", "b", "c", "d"]))

    def test_objects_that_are_not_numbers(self, make):
        _, y = data(n=4)
        X = np.array([[1, 2], [3, {}], [5, 6], [7, 8]], dtype=object)
        with pytest.raises(INPUT_ERRORS):
            make().fit(X, y)
        with pytest.raises(INPUT_ERRORS):
            make().fit(np.array([[None], ["x"], [1], [2]], dtype=object), y)

    def test_objects_that_are_numbers(self, make):
        """Numbers in an object array are numbers, or an error says that they are not."""
        X, y = data(n=12)
        model, message = fit_or_message(make(max_basis=4), X.astype(object), y.astype(object))
        if model is None:
            assert re.search(r"object|dtype|numeric", message)
        else:
            assert np.allclose(model.predict(X), make(max_basis=4).fit(X, y).predict(X))

    @pytest.mark.parametrize("layout", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array"])
    def test_sparse_matrices(self, make, layout):
        X, y = data()
        sparse = getattr(scipy.sparse, layout)(X)
        with pytest.raises(INPUT_ERRORS, match=r"(?i)sparse"):
            make().fit(sparse, y)
        model = make(max_basis=3).fit(X, y)
        with pytest.raises(INPUT_ERRORS, match=r"(?i)sparse"):
            model.predict(sparse)

    def test_complex_numbers(self, make):
        X, y = data()
        with pytest.raises(INPUT_ERRORS, match=r"(?i)complex"):
            make().fit(X + 1j, y)

    def test_booleans_and_integers_are_numbers(self, make):
        X = np.array([[i % 7, i % 3] for i in range(21)])
        y = X[:, 0] > 3
        model = make(max_basis=4).fit(X, y)
        assert_sensible(model, X.astype(float), y.astype(float))

    def test_lists_are_arrays(self, make):
        X, y = data()
        model = make(max_basis=4).fit(X.tolist(), y.tolist())
        assert np.allclose(model.predict(X.tolist()), make(max_basis=4).fit(X, y).predict(X))


# ----------------------------------------------------------------------- odd, but not wrong


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("criterion", CRITERIA)
class TestOddData:
    def fit(self, X, y, criterion, approximation, **parameters):
        model = fixed(criterion=criterion, approximation=approximation, **parameters).fit(X, y)
        assert_sensible(model, X, y)
        return model

    def test_constant_column(self, criterion, approximation):
        X, y = data()
        X[:, 1] = 4.0
        self.fit(X, y, criterion, approximation, max_basis=6)

    def test_all_columns_constant(self, criterion, approximation):
        """All rows equal: one basis vector explains them, the model is their mean."""
        X, y = np.full((20, 2), 3.0), data()[1] + 1.0
        model = self.fit(X, y, criterion, approximation, max_basis=6)
        assert model.n_basis_ == 1
        assert np.allclose(model.predict(X), y.mean(), atol=0.05)

    def test_constant_target(self, criterion, approximation):
        X, _ = data()
        y = np.full(20, 2.5)
        self.fit(X, y, criterion, approximation, max_basis=6)

    def test_duplicate_rows(self, criterion, approximation):
        X, y = data(n=8)
        model = self.fit(
            np.repeat(X, 3, axis=0), np.repeat(y, 3), criterion, approximation, max_basis=24
        )
        assert model.n_basis_ <= 8

    def test_more_basis_vectors_than_rows(self, criterion, approximation):
        X, y = data(n=8)
        model = self.fit(X, y, criterion, approximation, max_basis=500)
        assert model.n_basis_ <= 8

    def test_huge_and_tiny_numbers(self, criterion, approximation):
        X, y = data()
        kernel = Gaussian(variance=1.0, length_scale=1e8)
        self.fit(1e8 * X, 1e8 * y, criterion, approximation, kernel=kernel, normalize_y=True)
        kernel = Gaussian(variance=1.0, length_scale=1e-8)
        self.fit(1e-8 * X, 1e-8 * y, criterion, approximation, kernel=kernel, normalize_y=True)


class TestOddDataLearnt:
    """The same with hyperparameters from the data."""

    @pytest.fixture(autouse=True)
    def iteration_limits_do_not_matter(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            yield

    def test_constant_column(self):
        X, y = data()
        X[:, 1] = 4.0
        assert_sensible(learnt().fit(X, y), X, y)

    def test_all_rows_equal(self):
        X, y = np.full((20, 2), 3.0), data()[1] + 1.0
        model = learnt().fit(X, y)
        assert_sensible(model, X, y)
        assert np.allclose(model.predict(X), y.mean(), atol=0.2)

    @pytest.mark.parametrize("constant", [0.0, 1e-12, 2.5, 1e9])
    @pytest.mark.parametrize("normalize_y", [True, False])
    def test_constant_target(self, constant, normalize_y):
        X, _ = data()
        y = np.full(20, constant)
        model = learnt(normalize_y=normalize_y).fit(X, y)
        assert_sensible(model, X, y)
        if normalize_y:
            assert np.allclose(model.predict(X), constant, rtol=1e-3, atol=1e-3)

    def test_all_rows_and_targets_equal(self):
        X, y = np.full((20, 2), 3.0), np.full(20, 2.0)
        assert_sensible(learnt().fit(X, y), X, y)

    def test_duplicate_rows(self):
        X, y = data(n=8)
        X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
        assert_sensible(learnt().fit(X, y), X, y)

    def test_noise_free_line(self):
        X = np.linspace(0, 1, 25)[:, None]
        y = 2 * X[:, 0] + 1
        model = learnt().fit(X, y)
        assert_sensible(model, X, y)
        assert np.allclose(model.predict(X), y, atol=0.1)

    @pytest.mark.parametrize("scale", [1e-10, 1e10])
    def test_scales(self, scale):
        X, y = data(n=40)
        assert_sensible(learnt().fit(scale * X, y), scale * X, y)
        assert_sensible(learnt().fit(X, scale * y), X, scale * y)


# ----------------------------------------------------------------------------- parameters

BAD_PARAMETERS = [
    ("kernel", "gaussian"),
    ("kernel", 3.0),
    ("kernel", Gaussian),
    ("noise_variance", 0),
    ("noise_variance", 0.0),
    ("noise_variance", -0.1),
    ("noise_variance", np.nan),
    ("noise_variance", np.inf),
    ("noise_variance", "small"),
    ("noise_variance", [0.1, 0.2]),
    ("criterion", "foo"),
    ("criterion", None),
    ("criterion", 3),
    ("approximation", "vfe"),
    ("approximation", None),
    ("max_basis", 0),
    ("max_basis", -3),
    ("max_basis", 2.5),
    ("max_basis", "all"),
    ("working_set", -1),
    ("working_set", 0),
    ("working_set", 5.5),
    ("working_set", "all"),
    ("cache_size", -1),
    ("cache_size", 1.5),
    ("cache_size", "large"),
    ("patience", 0),
    ("patience", -2),
    ("patience", 1.5),
    ("tol", -1e-3),
    ("tol", np.nan),
    ("tol", "tight"),
    ("objective", "evidence"),
    ("objective", 1),
    ("rounds", -1),
    ("rounds", 1.5),
    ("max_iter", -1),
    ("max_iter", "many"),
    ("normalize_y", "yes"),
    ("time_limit", -1.0),
    ("time_limit", np.nan),
    ("time_limit", "soon"),
    ("random_state", -1),
    ("random_state", "seed"),
    ("random_state", 1.5),
]


@pytest.mark.parametrize(
    ("name", "value"), BAD_PARAMETERS, ids=[f"{name}={value!r}" for name, value in BAD_PARAMETERS]
)
def test_bad_parameter(name, value):
    """The error comes from `fit`, and names the parameter and what was given."""
    X, y = data()
    if name not in SparseGPRegressor().get_params():
        pytest.skip(f"there is no parameter {name}")
    estimator = SparseGPRegressor(**{name: value})
    with pytest.raises(INPUT_ERRORS) as error:
        estimator.fit(X, y)
    message = str(error.value)
    assert name in message
    given = getattr(value, "__name__", None) or (value if isinstance(value, str) else repr(value))
    assert given in message or str(value) in message


@pytest.mark.parametrize(
    "kernel",
    [
        lambda: Gaussian(variance=-1.0),
        lambda: Gaussian(variance=np.nan),
        lambda: Gaussian(length_scale=0.0),
        lambda: Gaussian(length_scale=[1.0, -1.0]),
        lambda: Gaussian(length_scale="long"),
        lambda: Gaussian(length_scale=[1.0, 2.0, 3.0]),  # the data have two columns
    ],
)
def test_bad_kernel_parameters(kernel):
    X, y = data()
    with pytest.raises(INPUT_ERRORS, match=r"variance|length_scale"):
        SparseGPRegressor(kernel=kernel(), noise_variance=0.1, objective=None).fit(X, y)


def test_both_kinds_of_spread_at_once():
    X, y = data()
    model = fixed(max_basis=3).fit(X, y)
    with pytest.raises(ValueError, match=r"return_std.*return_cov|return_cov.*return_std"):
        model.predict(X, return_std=True, return_cov=True)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 1.5, np.nan, "most"])
def test_bad_coverage(coverage):
    X, y = data()
    model = fixed(max_basis=3).fit(X, y)
    with pytest.raises(INPUT_ERRORS, match=r"coverage"):
        model.predict_interval(X, coverage=coverage)


@pytest.mark.parametrize("n_samples", [0, -1, 1.5, "few"])
def test_bad_number_of_samples(n_samples):
    X, y = data()
    model = fixed(max_basis=3).fit(X, y)
    with pytest.raises(INPUT_ERRORS, match=r"n_samples"):
        model.sample_y(X, n_samples=n_samples)


def test_positional_parameters_are_refused():
    with pytest.raises(TypeError):
        SparseGPRegressor(Gaussian())


def test_a_failed_fit_leaves_the_parameters_alone():
    X, _ = data()
    estimator = fixed(max_basis=3)
    before = estimator.get_params()
    with pytest.raises(ValueError):
        estimator.fit(X, np.full(20, np.nan))
    assert {k: repr(v) for k, v in before.items()} == {
        k: repr(v) for k, v in estimator.get_params().items()
    }


def test_information_gain_of_inputs_without_targets():
    """Candidates without targets have no information gain: an error that says so, or a model."""
    X, y = data()
    candidates = data(n=6, seed=1)[0]
    model, message = fit_or_message(
        fixed(criterion="info_gain", max_basis=3), X, y, candidates=candidates
    )
    if model is None:
        assert "info_gain" in message
        assert "candidates" in message
    else:
        assert_sensible(model, X, y)
