"""Families of models, and their parameters as text."""

import numpy as np
import pytest

import greedygp
from greedygp import AutoGPRegressor, GPRegressor, SparseGPClassifier, SparseGPRegressor
from greedygp.kernels import (
    Additive,
    Categorical,
    Constant,
    Gaussian,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
)

pandas = pytest.importorskip("pandas")

from greedygp.tables import (  # noqa: E402
    DataProblem,
)
from greedygp.tables.families import (  # noqa: E402
    default_family,
    families,
    family_named,
    kernel_from,
    make,
    name_columns,
    parsed_settings,
)


def test_families_come_from_the_package():
    known = families("regression")
    assert known["SparseGPRegressor"] is SparseGPRegressor
    assert set(known) <= set(greedygp.__all__)
    assert default_family("classification") is SparseGPClassifier
    for settings, kind in (
        ((), AutoGPRegressor),
        (("max_basis", "kernel"), AutoGPRegressor),
        (("max_basis", "max_iter"), SparseGPRegressor),
        (("solver",), GPRegressor),
        (("no such thing",), AutoGPRegressor),
    ):
        assert default_family("regression", settings) is kind
    for name in ("sparsegp", "SPARSEGPREGRESSOR"):
        assert family_named(name, "regression") is SparseGPRegressor
    with pytest.raises(DataProblem, match="no model 'sparsegpp'"):
        family_named("sparsegpp", "regression")


def test_settings():
    model = make(SparseGPRegressor, {"max_basis": 5}, {"random_state": 0, "unknown": 3})
    assert (model.max_basis, model.random_state) == (5, 0)
    with pytest.raises(DataProblem, match=r"no parameter 'max_bases'; did you mean 'max_basis'"):
        make(SparseGPRegressor, {"max_bases": 5}, {})
    with pytest.raises(DataProblem, match="name=value"):
        parsed_settings(["max_basis"])


def test_kernels_as_text():
    kernel = parsed_settings(["kernel = 2.0 * Matern(nu=1.5) + Linear"])["kernel"]
    X = np.linspace(0, 1, 5)[:, None]
    np.testing.assert_array_equal(kernel(X), (2.0 * Matern(nu=1.5) + Linear())(X))
    assert parsed_settings(["kernel=None"]) == {"kernel": None}


@pytest.mark.parametrize(
    "kernel",
    [
        RationalQuadratic(alpha=2.0),
        Periodic(period=7.0, active_dims="day") * Gaussian(length_scale=[1.0, 2.0]),
        Categorical(active_dims=[0, 2], fixed="variance"),
        Additive(Gaussian() + Constant(), active_dims=("day", "size")),
    ],
    ids=repr,
)
def test_every_kernel_can_be_written(kernel):
    assert kernel_from(repr(kernel)) == kernel


def test_columns_of_a_table_have_names():
    model = SparseGPRegressor(kernel=Gaussian(active_dims="size"))
    name_columns(model, ["day", "size"])
    X = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(model.kernel(X), Gaussian()(X[:, 1:]))
    name_columns(SparseGPRegressor(), ["day"])  # nothing to tell
    with pytest.raises(ValueError, match=r"names 'weight', but the columns are day, size"):
        name_columns(SparseGPRegressor(kernel=Gaussian(active_dims="weight")), ["day", "size"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rbf", "rbf is not known here.*Gaussian, Matern, RationalQuadratic"),
        ("__import__('os').getcwd()", "is not known here"),
        ("Matern(nu=7)", "nu of Matern must be"),
        ("Matern(", "is not a kernel"),
        ("Gaussian(colour=1)", "colour"),
    ],
)
def test_what_is_no_kernel(text, message):
    with pytest.raises(DataProblem, match=message):
        kernel_from(text)
