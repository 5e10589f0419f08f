"""Families of models, and their parameters as text."""

import numpy as np
import pytest

import greedygp
from greedygp import SparseGPRegressor
from greedygp.kernels import Linear, Matern

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
    parsed_settings,
)


def test_families_come_from_the_package():
    known = families("regression")
    assert known["SparseGPRegressor"] is SparseGPRegressor
    assert set(known) <= set(greedygp.__all__)
    assert default_family("regression") is SparseGPRegressor
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
    ("text", "message"),
    [
        ("rbf", "rbf is not known here.*Gaussian, Matern, Linear"),
        ("__import__('os').getcwd()", "is not known here"),
        ("Matern(nu=7)", "nu of Matern must be"),
        ("Matern(", "is not a kernel"),
        ("Gaussian(colour=1)", "colour"),
    ],
)
def test_what_is_no_kernel(text, message):
    with pytest.raises(DataProblem, match=message):
        kernel_from(text)
