"""Kernels of columns, periods and categories in every family, by numbers and by names."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk

import greedygp
from greedygp import (
    FastGCVClassifier,
    FastGCVRegressor,
    FastRVMClassifier,
    FastRVMRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPRegressor,
)
from greedygp.advice import uneven_scales
from greedygp.fitted import relevance
from greedygp.kernels import (
    Additive,
    Categorical,
    Gaussian,
    Linear,
    Periodic,
    RationalQuadratic,
    Sum,
)
from greedygp.plotting import RelevanceDisplay

BY_NAME = (
    Periodic(period=5.1, active_dims="day")
    + RationalQuadratic(active_dims="size")
    + Categorical(active_dims="shop")
)
BY_NUMBER = (
    Periodic(period=5.1, active_dims=0)
    + RationalQuadratic(active_dims=1)
    + Categorical(active_dims=2)
)
SPARSE = {"max_basis": 25, "max_iter": 12, "random_state": 0}


def sales(n=120, seed=0):
    """Return a table with a period, a curve and a category, and what depends on them."""
    rng = np.random.default_rng(seed)
    shop = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {"day": rng.uniform(0, 20, n), "size": rng.normal(size=n), "shop": shop.astype(float)}
    )
    season = np.sin(2 * np.pi * table["day"].to_numpy() / 5.0)
    curve = 0.5 * table["size"].to_numpy() ** 2
    return table, season + curve + np.array([0.0, 1.0, -1.0])[shop] + 0.1 * rng.normal(size=n)


def test_every_family_takes_columns_by_name():
    table, y = sales()
    for model in (
        SparseGPRegressor(kernel=BY_NAME, **SPARSE),
        GPRegressor(kernel=BY_NAME, random_state=0),
        FastRVMRegressor(kernel=BY_NAME),
        FastGCVRegressor(kernel=BY_NAME),
    ):
        model.fit(table[:90], y[:90])
        assert model.score(table[90:], y[90:]) > 0.9
        assert "active_dims=('day',)" in repr(model.kernel_)
        shown = str(model.summary())
        assert "day" in shown.partition("relevant")[2]
    for classifier in (SparseGPClassifier(max_basis=15), FastRVMClassifier(), FastGCVClassifier()):
        classifier.set_params(kernel=BY_NAME, random_state=0).fit(table[:90], y[:90] > 0.5)
        assert classifier.score(table[90:], y[90:] > 0.5) > 0.85


def test_names_that_the_model_does_not_know():
    table, y = sales(40)
    for model in (SparseGPRegressor, GPRegressor, FastRVMRegressor):
        with pytest.raises(ValueError, match="names the column 'day', but the inputs have no"):
            model(kernel=BY_NAME).fit(table.to_numpy(), y)
        with pytest.raises(ValueError, match=r"names 'shop', but the columns are day, size$"):
            model(kernel=BY_NAME).fit(table[["day", "size"]], y)


def test_numbers_and_names_are_the_same_model():
    table, y = sales()
    named = GPRegressor(kernel=BY_NAME, random_state=0).fit(table, y)
    numbered = GPRegressor(kernel=BY_NUMBER, random_state=0).fit(table.to_numpy(), y)
    assert_allclose(named.kernel_.theta, numbered.kernel_.theta, rtol=1e-8)
    assert_allclose(named.predict(table), numbered.predict(table.to_numpy()), rtol=1e-8)
    # The same columns in another order are found again by a fresh fit.
    others = table[["shop", "day", "size"]]
    again = clone(named).fit(others, y)
    assert_allclose(again.predict(others), named.predict(table), rtol=1e-6)


def test_basis_inputs_stay_at_their_categories():
    table, y = sales()
    kernel = Gaussian(length_scale=[1.0, 1.0, 1.0]) * Categorical(active_dims=2, fixed="variance")
    model = SparseGPRegressor(kernel=kernel, **SPARSE).fit(table.to_numpy(), y)
    assert not hasattr(model, "basis_indices_")  # they were moved
    assert set(model.basis_[:, 2]) <= {0.0, 1.0, 2.0}
    rows = table.to_numpy()
    moved = [not np.any(np.all(np.isclose(rows, basis), axis=1)) for basis in model.basis_]
    assert np.mean(moved) > 0.5
    only = SparseGPRegressor(kernel=Categorical(), **SPARSE).fit(rows[:, 2:], y)
    assert_array_equal(np.unique(only.basis_), [0.0, 1.0, 2.0])


def test_unseen_categories_go_back_to_the_prior():
    table, y = sales()
    model = GPRegressor(kernel=Categorical(), noise_variance=0.1, random_state=0)
    model.fit(table[["shop"]], y)
    known, unknown = pd.DataFrame({"shop": [0.0]}), pd.DataFrame({"shop": [7.0]})
    assert model.predict(unknown, return_std=True)[1] > model.predict(known, return_std=True)[1]


def test_additive_models_are_as_wide_as_the_table():
    table, y = sales()
    model = SparseGPRegressor(kernel=Additive(Gaussian()), **SPARSE).fit(table, y)
    assert isinstance(model.kernel_, Sum)
    assert [kernel.active_dims for kernel in model.kernel_.kernels] == [(0,), (1,), (2,)]
    values = relevance(model)
    assert values.shape == (3,)
    assert RelevanceDisplay.from_estimator(model, table, method="ard").bars_ is not None
    # A sum over features has the same slope along one whatever the others are.
    at = pd.DataFrame({"day": [1.0, 2.0] * 2, "size": [0.0, 0.0, 1.0, 1.0], "shop": 1.0})
    means = model.predict(at)
    assert_allclose(means[1] - means[0], means[3] - means[2], atol=1e-8)


def test_models_with_these_kernels_can_be_kept(tmp_path):
    table, y = sales()
    for model in (
        SparseGPRegressor(kernel=BY_NAME, **SPARSE),
        GPRegressor(kernel=Additive(RationalQuadratic()), random_state=0),
    ):
        greedygp.save(model.fit(table, y), tmp_path / "model.skops")
        again = greedygp.load(tmp_path / "model.skops")
        assert again.kernel == model.kernel
        assert_array_equal(again.predict(table), model.predict(table))
        assert repr(again.kernel_) == repr(model.kernel_)


def test_torch_gives_the_same_model():
    torch = pytest.importorskip("torch")
    table, y = sales()
    X = table.to_numpy()
    settings = {"kernel": BY_NUMBER, "noise_variance": 0.01, "objective": None, "max_basis": 9}
    ours = SparseGPRegressor(**settings, random_state=0).fit(X, y)
    theirs = SparseGPRegressor(**settings, random_state=0).fit(torch.tensor(X), torch.tensor(y))
    assert_allclose(theirs.predict(torch.tensor(X)).numpy(), ours.predict(X), rtol=1e-5, atol=1e-5)


def test_advice_looks_at_the_columns_that_share_a_length_scale():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e5, 2.0]
    assert uneven_scales(Gaussian(active_dims=[0, 2]), X) is None
    assert uneven_scales(Additive(Gaussian()), X) is None
    found = uneven_scales(Linear() + Gaussian(active_dims=["c", "b"]), X, ["a", "b", "c"])
    assert found.startswith("The kernel has one length scale for 2 features, but")
    assert "(feature 2) to" in found
    assert "(feature 1)" in found


# --- the noise in scikit-learn's kernels -------------------------------------------------------


@pytest.mark.parametrize("kind", [GPRegressor, SparseGPRegressor])
def test_a_white_kernel_is_the_start_of_the_noise(kind):
    table, y = sales()
    kernel = sk.ConstantKernel() * sk.RBF(2.0)
    options = {"random_state": 0} | ({"max_basis": 15} if kind is SparseGPRegressor else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learnt = kind(kernel=kernel + sk.WhiteKernel(0.3), **options).fit(table, y)
        held = kind(kernel=kernel + sk.WhiteKernel(0.3, "fixed"), **options).fit(table, y)
        given = kind(kernel=kernel, noise_variance=0.3, noise_model="auto", **options)
        given.fit(table, y)
    assert learnt.noise_variance_ != 0.3
    assert held.noise_variance_ == given.noise_variance_ == 0.3
    assert_allclose(held.predict(table), given.predict(table))
    assert isinstance(learnt.kernel_, Gaussian)


def test_without_learning_a_fixed_white_kernel_is_the_noise():
    table, y = sales()
    kernel = sk.RBF(2.0) + sk.WhiteKernel(0.3, "fixed")
    model = GPRegressor(kernel=kernel, objective=None).fit(table, y)
    same = GPRegressor(kernel=sk.RBF(2.0), noise_variance=0.3, objective=None).fit(table, y)
    assert_allclose(model.predict(table), same.predict(table), rtol=1e-12)


def test_noise_is_given_once_and_only_to_models_that_have_some():
    table, y = sales(40)
    kernel = sk.RBF() + sk.WhiteKernel(0.3)
    with pytest.raises(ValueError, match=r"given twice: noise_variance=0.1, and a WhiteKernel of"):
        GPRegressor(kernel=kernel, noise_variance=0.1).fit(table, y)
    for model in (SparseGPClassifier, FastRVMClassifier):
        with pytest.raises(ValueError, match="this model has no noise variance to start with it"):
            model(kernel=kernel).fit(table, y > 0)
