"""Checks of what users hand in, and the sentences in which they are refused."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

import greedygp
from greedygp.arrays import to_numpy
from greedygp.messages import shown
from greedygp.validation import (
    check_choice,
    check_integer,
    check_number,
    check_predict_inputs,
    check_training_data,
    check_weights,
)


class Model(BaseEstimator):
    """Something that data are checked for."""


# ------------------------------------------------------------------------------ parameters


class TestChoice:
    @pytest.mark.parametrize("value", ["a", np.str_("b"), None])
    def test_one_of_them(self, value):
        check_choice("option", value, ("a", "b", None))

    @pytest.mark.parametrize("value", ["A", "", 1, True, ["a"], np.array(["a", "b"])])
    def test_another(self, value):
        message = re.escape(f"option must be one of 'a', 'b', None; got {value!r}.")
        with pytest.raises(ValueError, match=message):
            check_choice("option", value, ("a", "b", None))

    def test_none_where_it_is_no_choice(self):
        with pytest.raises(ValueError, match="got None"):
            check_choice("option", None, ("a", "b"))


class TestInteger:
    @pytest.mark.parametrize("value", [1, 10**30, np.int64(3), np.uint8(1)])
    def test_good(self, value):
        check_integer("count", value, 1)

    @pytest.mark.parametrize("value", [1.0, "1", True, np.True_, None, np.array(1), 2j])
    def test_of_the_wrong_type(self, value):
        message = re.escape(f"count must be an integer of at least 1; got {shown(value)}.")
        with pytest.raises(TypeError, match=message):
            check_integer("count", value, 1)

    @pytest.mark.parametrize("value", [0, -1, np.int32(-5)])
    def test_too_small(self, value):
        with pytest.raises(ValueError, match="count must be an integer of at least 1; got"):
            check_integer("count", value, 1)

    def test_or_none(self):
        check_integer("count", None, 1, or_none=True)
        with pytest.raises(TypeError, match="at least 1, or None; got 'x'"):
            check_integer("count", "x", 1, or_none=True)


class TestNumber:
    @pytest.mark.parametrize("value", [0.5, 1, np.float32(2), np.int64(3), 1e-300])
    def test_good(self, value):
        check_number("size", value, above=0)
        check_number("size", value, least=0)

    def test_the_bound_itself(self):
        check_number("size", 0.0, least=0)
        with pytest.raises(ValueError, match=r"size must be a finite number above 0; got 0\.0\."):
            check_number("size", 0.0, above=0)
        with pytest.raises(ValueError, match=r"size must be a finite number of at least 0; got -1"):
            check_number("size", -1e-9, least=0)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, value):
        for bound in ({"above": -1}, {"least": -1}):
            with pytest.raises(ValueError, match="size must be a finite number"):
                check_number("size", value, **bound)

    @pytest.mark.parametrize("value", ["1", True, None, 1j, np.array([1.0])])
    def test_of_the_wrong_type(self, value):
        with pytest.raises(TypeError, match="size must be a finite number above 0; got"):
            check_number("size", value, above=0)

    def test_or_none(self):
        check_number("size", None, above=0, or_none=True)
        with pytest.raises(ValueError, match="above 0, or None; got -1"):
            check_number("size", -1, above=0, or_none=True)


# --------------------------------------------------------------------------------- weights


class TestWeights:
    X = np.zeros((3, 2))

    @pytest.mark.parametrize("value", [None, 1, 1.0, np.ones(3), [1, 1, 1]])
    def test_ones_are_no_weights(self, value):
        assert check_weights(value, self.X) is None

    @pytest.mark.parametrize("value", [[1, 0, 2], np.array([1, 0, 2], dtype=np.float32)])
    def test_weights_come_out_in_float64(self, value):
        weights = check_weights(value, self.X)
        assert weights.dtype == np.float64
        assert_array_equal(weights, [1, 0, 2])

    def test_one_number_for_all(self):
        assert_array_equal(check_weights(2.5, self.X), [2.5] * 3)

    def test_torch(self):
        torch = pytest.importorskip("torch")
        weights = check_weights(torch.asarray([1.0, 0.0, 2.0], requires_grad=True), self.X)
        assert_array_equal(weights, [1, 0, 2])

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ([1, 2], r"sample_weight\.shape == \(2,\), expected \(3,\): one weight per row"),
            (np.ones((3, 1)), r"sample_weight\.shape == \(3, 1\), expected \(3,\)"),
            ([1, np.nan, 1], "Input sample_weight contains NaN"),
            ([1, np.inf, 1], "Input sample_weight contains infinity"),
            ([1, -0.5, 1], r"must not be negative; got -0\.5 in row 1"),
            (-1, r"must not be negative; got -1\.0 in row 0"),
            ([0, 0, 0], "sample_weight is zero for every row"),
            (["a", "b", "c"], "sample_weight must hold numbers"),
            ([[1], [1, 2], [1]], "sample_weight must hold numbers"),
        ],
    )
    def test_refused(self, value, message):
        with pytest.raises(ValueError, match=message):
            check_weights(value, self.X)


# --------------------------------------------------------------------- data, as NumPy has it


class TestTrainingData:
    X = np.arange(6.0).reshape(3, 2)
    y = np.array([1.0, 2.0, 3.0])

    def test_lists(self):
        model = Model()
        X, y = check_training_data(model, self.X.tolist(), [1, 2, 3])
        assert X.dtype == y.dtype == np.float64
        assert_array_equal(X, self.X)
        assert_array_equal(y, self.y)
        assert model.n_features_in_ == 2

    def test_targets_take_the_dtype_of_the_inputs(self):
        _, y = check_training_data(Model(), self.X.astype(np.float32), self.y)
        assert y.dtype == np.float32
        X, y = check_training_data(Model(), self.X.astype(int), self.y.astype(np.float32))
        assert X.dtype == y.dtype == np.float64

    def test_several_targets(self):
        assert check_training_data(Model(), self.X, np.ones((3, 2)))[1].shape == (3, 2)

    def test_no_targets(self):
        with pytest.raises(ValueError, match="Model estimator requires y to be passed"):
            check_training_data(Model(), self.X, None)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_targets_that_are_not_finite(self, value):
        with pytest.raises(ValueError, match="Input y contains"):
            check_training_data(Model(), self.X, np.array([1.0, value, 3.0]))

    def test_targets_too_large_for_their_new_dtype(self):
        X, y = self.X.astype(np.float32), np.array([1.0, 1e300, 3.0])
        with (
            np.errstate(over="ignore"),
            pytest.raises(ValueError, match="Input y contains NaN or infinity"),
        ):
            check_training_data(Model(), X, y)

    def test_columns_that_are_not_numbers_are_named(self):
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"size": [1.0, 2, 3], "colour": ["red", "green", "blue"]})
        with pytest.raises(ValueError, match=r"These columns of X are not numbers: 'colour'\. Enc"):
            check_training_data(Model(), table, self.y)

    @pytest.mark.parametrize("as_table", [False, True])
    def test_what_helps_against_missing_values(self, as_table):
        X = np.array([[1.0], [np.nan], [3]])
        if as_table:
            X = pytest.importorskip("pandas").DataFrame(X, columns=["size"])
        with pytest.raises(ValueError, match=r"^Input X contains NaN: impute or remove those rows"):
            check_training_data(Model(), X, self.y)
        marks = r"^Input X contains NaN: missing='indicator' fills and marks missing values; or imp"
        with pytest.raises(ValueError, match=marks):
            greedygp.GPRegressor().fit(X, self.y)

    def test_other_troubles_of_a_table_stay_as_they_are(self):
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"size": [1.0, np.inf, 3]})
        with pytest.raises(ValueError, match="Input X contains infinity"):
            check_training_data(Model(), table, self.y)

    def test_names_of_features(self):
        pandas = pytest.importorskip("pandas")
        model = Model()
        check_training_data(model, pandas.DataFrame(self.X, columns=["a", "b"]), self.y)
        assert list(model.feature_names_in_) == ["a", "b"]
        with pytest.raises(ValueError, match="feature names"):
            check_predict_inputs(model, pandas.DataFrame(self.X, columns=["a", "c"]))

    def test_prediction_inputs(self):
        model = Model()
        check_training_data(model, self.X, self.y)
        assert_array_equal(check_predict_inputs(model, self.X.tolist()), self.X)
        with pytest.raises(ValueError, match="X has 3 features, but Model is expecting 2 features"):
            check_predict_inputs(model, np.ones((4, 3)))


# ----------------------------------------------------------------- data of other libraries


@pytest.fixture(params=["torch", "array_api_strict"])
def xp(request):
    return pytest.importorskip(request.param)


class TestOtherLibraries:
    X = np.arange(6.0).reshape(3, 2)
    y = np.array([1.0, 2.0, 3.0])

    def check(self, xp, X=None, y=None):
        X = xp.asarray(self.X) if X is None else X
        return check_training_data(Model(), X, xp.asarray(self.y) if y is None else y)

    def test_arrays_stay_where_they_are(self, xp):
        model = Model()
        X, y = check_training_data(model, xp.asarray(self.X), xp.asarray(self.y))
        assert type(X) is type(y) is type(xp.asarray(self.X))
        assert_array_equal(to_numpy(X), self.X)
        assert_array_equal(to_numpy(y), self.y)
        assert model.n_features_in_ == 2

    @pytest.mark.parametrize("name", ["float32", "float64"])
    def test_dtypes_of_floats_stay(self, xp, name):
        X, y = self.check(xp, xp.asarray(self.X, dtype=getattr(xp, name)))
        assert X.dtype == y.dtype == getattr(xp, name)

    def test_integers_become_float64(self, xp):
        X, y = self.check(xp, xp.asarray(self.X.astype(int)), xp.asarray([1, 2, 3]))
        assert X.dtype == y.dtype == xp.float64

    def test_half_precision_becomes_float32(self):
        torch = pytest.importorskip("torch")
        X, _ = self.check(torch, torch.asarray(self.X, dtype=torch.float16))
        assert X.dtype == torch.float32

    def test_gradients_are_left_behind(self):
        torch = pytest.importorskip("torch")
        X, y = self.check(torch, torch.asarray(self.X, requires_grad=True))
        assert not X.requires_grad
        assert not y.requires_grad

    @pytest.mark.parametrize("y", [[1.0, 2.0, 3.0], np.array([1, 2, 3])])
    def test_targets_may_be_numpy(self, xp, y):
        _, checked = self.check(xp, y=y)
        assert type(checked) is type(xp.asarray(self.y))
        assert_array_equal(to_numpy(checked), self.y)

    def test_targets_of_another_library(self):
        torch, strict = (pytest.importorskip(name) for name in ("torch", "array_api_strict"))
        with pytest.raises(TypeError, match="X and y come from different array libraries"):
            self.check(torch, y=strict.asarray(self.y))

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.ones(3), r"Expected 2D array, got 1D array instead: X has shape \(3,\)"),
            (np.ones((0, 2)), r"X has shape \(0, 2\): at least one row and one feature"),
            (np.ones((3, 0)), r"X has shape \(3, 0\): at least one row and one feature"),
            (np.array([[1.0], [np.nan], [1]]), "Input X contains NaN; impute or remove"),
            (np.array([[1.0], [np.inf], [1]]), "Input X contains infinity; remove"),
            (np.ones((3, 1)) * 1j, "Complex data not supported"),
        ],
    )
    def test_refused_inputs(self, xp, X, message):
        with pytest.raises(ValueError, match=message):
            self.check(xp, xp.asarray(X))

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (np.ones(2), r"y must have shape \(3,\) or \(3, n_targets\) to go with X; got \(2,\)"),
            (np.ones((3, 1, 1)), r"y must have shape .* got \(3, 1, 1\)"),
            (np.array([1.0, np.nan, 1]), "Input y contains NaN"),
            (np.array([1.0, -np.inf, 1]), "Input y contains infinity"),
        ],
    )
    def test_refused_targets(self, xp, y, message):
        with pytest.raises(ValueError, match=message):
            self.check(xp, y=xp.asarray(y))

    def test_no_targets(self, xp):
        with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
            check_training_data(Model(), xp.asarray(self.X), None)

    def test_prediction_inputs(self, xp):
        model = Model()
        check_training_data(model, self.X, self.y)
        assert type(check_predict_inputs(model, xp.asarray(self.X))) is type(xp.asarray(self.X))
        with pytest.raises(ValueError, match="X has 3 features, but Model is expecting 2 features"):
            check_predict_inputs(model, xp.asarray(np.ones((4, 3))))


class TestSizes:
    @pytest.mark.parametrize(
        ("X_scale", "y_scale", "said"),
        [
            (1e200, 1.0, "X has values as large as .*e.200.*divide"),
            (1.0, 1e200, "y has values as large as .*divide"),
            (1.0, 1e-200, "y has no value larger than .*e-200.*multiply"),
        ],
    )
    def test_beyond_what_can_be_squared(self, X_scale, y_scale, said):
        X = np.random.default_rng(0).normal(size=(20, 2))
        with pytest.raises(ValueError, match=said):
            greedygp.AutoGPRegressor().fit(X_scale * X, y_scale * X[:, 0])

    def test_zero_and_far_apart(self):
        X = np.array([[1e-300, 1e100], [0.0, 1.0]])
        check_training_data(Model(), X, np.zeros(2))
        check_training_data(Model(), X, np.array([1e-300, 1.0]))


def test_words_in_x_are_named_as_they_are():
    with pytest.raises(
        ValueError, match=r"X must hold numbers: .* float: 'a'; missing='indicator'"
    ):
        greedygp.AutoGPRegressor().fit(np.array([["a"]] * 9), np.arange(9.0))
    with pytest.raises(ValueError, match=r"y must hold numbers .* float: 'a'\."):
        greedygp.AutoGPRegressor().fit(np.ones((4, 1)), ["a", "b"] * 2)
