"""Missing values and words in X, where estimators are asked to take them."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

import greedygp
from greedygp import AutoGPRegressor, GPRegressor, SparseGPClassifier, SparseGPRegressor
from greedygp.exceptions import ModelAdvice
from greedygp.inputs import InputEncoder, input_names
from greedygp.kernels import Gaussian
from scikit_versions import parametrize_with_checks

pandas = pytest.importorskip("pandas")

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
QUICK = {"random_state": 0, "missing": "indicator"}
MODELS = [
    SparseGPRegressor(max_basis=8, max_iter=3, **QUICK),
    GPRegressor(objective=None, kernel=Gaussian(), noise_variance=0.1, **QUICK),
    AutoGPRegressor(max_basis=8, kernel=Gaussian(), noise_variance=0.1, **QUICK),
    SparseGPClassifier(max_basis=6, max_iter=3, **QUICK),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def holes(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = X[:, 0] + 0.5 * X[:, 1]
    X[rng.random((n, 2)) < 0.2] = np.nan
    return X, y


def frame(n=60):
    X, y = holes(n)
    town = pandas.Categorical(np.array(["Ulm", "Bonn", None] * (n // 3), dtype=object))
    colour = np.array(["red", None] * (n // 2), dtype=object)
    table = pandas.DataFrame({"size": X[:, 0], "town": town, "age": X[:, 1], "colour": colour})
    return table, y + (town == "Ulm")


def target_of(model, y):
    return (y > 0).astype(int) if hasattr(model, "predict_proba") else y


@each_model
def test_against_scikit_learns_encoders(model):
    """On numbers and words: the same as an estimator on what scikit-learn makes of them."""
    X, y = frame()
    y = target_of(model, y)
    ours = clone(model).fit(X, y)
    theirs = make_column_transformer(
        (SimpleImputer(strategy="median", add_indicator=True), ["size", "age"]),
        (OneHotEncoder(sparse_output=False), ["town", "colour"]),
    )
    text = X.astype({"town": object}).fillna({"town": "(missing)", "colour": "(missing)"})
    plain = clone(model).set_params(missing="error").fit(theirs.fit_transform(text), y)
    np.testing.assert_array_equal(ours.predict(X), plain.predict(theirs.transform(text)))
    assert ours.n_features_in_ == 4
    assert list(ours.feature_names_in_) == ["size", "town", "age", "colour"]


@each_model
def test_arrays_with_holes(model):
    X, y = holes()
    y = target_of(model, y)
    with pytest.raises(ValueError, match="NaN"):
        clone(model).set_params(missing="error").fit(X, y)
    fitted = clone(model).fit(X, y)
    assert np.all(np.isfinite(fitted.predict(X)))
    whole = fitted.predict(np.nan_to_num(X))  # holes in training, none now
    assert np.all(np.isfinite(whole))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


DAYS = pandas.date_range("2020-01-01", periods=60)


@pytest.mark.parametrize(
    "days",
    [
        DAYS,
        DAYS.tz_localize("UTC"),
        DAYS - DAYS[0],
        DAYS.to_period("D"),
        pandas.Categorical(DAYS),
        [None, *(day.date() for day in DAYS[1:])],
    ],
    ids=["days", "in a zone", "durations", "periods", "categories", "Python's"],
)
def test_dates_are_refused(days):
    """A feature for each day explains all training rows."""
    X, y = frame()
    X = X.assign(sold=days)
    with pytest.raises(ValueError, match=r"These columns of X hold dates or times: 'sold'\. Make"):
        clone(MODELS[0]).fit(X, y)
    with pytest.raises(ValueError, match=r"not numbers: .*'sold'\..*TableEncoder for dates"):
        clone(MODELS[0]).set_params(missing="error").fit(X, y)


def test_names_of_rows_are_advised_against():
    X, y = frame()
    with pytest.warns(ModelAdvice, match=r"Column 'who' of X holds 60 different words in 60 rows"):
        clone(MODELS[0]).fit(X.assign(who=[f"P{k}" for k in range(60)]), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelAdvice)
        InputEncoder().fit(X)


def test_new_words_and_wrong_columns():
    X, y = frame()
    model = clone(MODELS[0]).fit(X, y)
    with pytest.warns(UserWarning, match="unknown categories"):
        predicted = model.predict(X.assign(town="Rom"))
    assert np.all(np.isfinite(predicted))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"size": "Size"}))
    with pytest.raises(ValueError, match="X has 2 features, but SparseGPRegressor is expecting 4"):
        model.predict(holes()[0])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X.assign(size=np.inf))
    with pytest.raises(ValueError, match=r"missing must be one of 'error', 'indicator'"):
        SparseGPRegressor(missing="mean").fit(X, y)


def test_words_are_still_refused_where_they_are_not_asked_for():
    X, y = frame()
    with pytest.raises(ValueError, match=r"X are not numbers: 'town', 'colour'.*missing='indicat"):
        SparseGPRegressor().fit(X, y)


def test_names_of_what_the_model_works_on():
    X, y = frame()
    kernel = Gaussian(length_scale=[1.0, 2.0], active_dims=["age", "colour=red"])
    given = {"kernel": kernel, "objective": None, "noise_variance": 0.1, "missing": "indicator"}
    model = GPRegressor(**given).fit(X, y)
    names = ["size", "age", "size is missing", "age is missing"]
    names += [f"town={word}" for word in ("(missing)", "Bonn", "Ulm")]
    assert input_names(model) == [*names, "colour=(missing)", "colour=red"]
    assert "colour=red" in str(model.summary()) or "age" in str(model.summary())
    assert input_names(clone(MODELS[0]).fit(*holes())) == ["x0", "x1", "x0 is missing",
                                                          "x1 is missing"]  # fmt: skip


def test_rows_that_are_not_looked_at_for_holes(tmp_path):
    X, y = holes()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")  # this is read into the memory
    model, same = clone(MODELS[0]).fit(mapped, y), clone(MODELS[0]).fit(X, y)
    np.testing.assert_array_equal(model.predict(mapped), same.predict(X))
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="takes NumPy arrays, lists and pandas tables in memory"):
        clone(MODELS[0]).fit(torch.tensor(X), torch.tensor(y))


def test_a_saved_model_knows(tmp_path):
    pytest.importorskip("skops.io")
    X, y = frame()
    model = clone(MODELS[0]).fit(X, y)
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_numbers_as_objects_and_empty_columns():
    table = pandas.DataFrame(
        {"a": [1, None, 3.5, 2] * 3, "b": [None] * 12, "c": [True, None, False, True] * 3}
    )
    table["a"] = table["a"].astype(object)
    encoder = InputEncoder().fit(table)
    assert encoder.words_ == []
    X = encoder.transform(table)
    assert np.all(np.isfinite(X))
    np.testing.assert_array_equal(X[:2, 0], [1.0, 2.0])
    np.testing.assert_array_equal(X[:2, 2], [1.0, 1.0])


@pytest.mark.slow
@parametrize_with_checks(
    [SparseGPRegressor(missing="indicator", max_iter=5)],
    expected_failed_checks=lambda _: {WEIGHTS: "flat optimum of the evidence of noise-free rows"},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
