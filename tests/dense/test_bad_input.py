"""Bad input: an error that names the parameter, what was given and what to do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dense.models import NAMES, data, fixed
from greedygp.dense.estimator import GPRegressor
from greedygp.kernels import Gaussian

each_solver = pytest.mark.parametrize("solver", NAMES)


@pytest.mark.parametrize(
    ("parameter", "value", "error", "words"),
    [
        ("kernel", "rbf", TypeError, "kernel must be a greedygp kernel, a scikit-learn kernel or"),
        ("noise_variance", 0.0, ValueError, "noise_variance must be a finite number above 0"),
        ("noise_variance", -1.0, ValueError, "noise_variance must be"),
        ("noise_variance", "small", TypeError, "noise_variance must be"),
        ("noise_model", "varying", ValueError, "noise_model must be one of"),
        ("solver", "lu", ValueError, "solver must be one of 'auto', 'cholesky', 'cg', 'pcg'"),
        ("solver", None, ValueError, "solver must be one of"),
        ("block_size", 0, ValueError, "block_size must be an integer of at least 1, or None"),
        ("block_size", 2.5, TypeError, "block_size must be an integer"),
        ("working_set", 0, ValueError, "working_set must be an integer of at least 1"),
        ("working_set", 1.5, TypeError, "working_set must be an integer"),
        ("block_choice", "best", ValueError, "block_choice must be one of"),
        ("accelerate", 1, TypeError, "accelerate must be True or False; got 1"),
        ("preconditioner_rank", 0, ValueError, "preconditioner_rank must be an integer of at"),
        ("tol", 0.0, ValueError, "tol must be a finite number above 0"),
        ("tol", np.nan, ValueError, "tol must be a finite number above 0"),
        ("tol", None, TypeError, "tol must be a finite number above 0"),
        ("max_iter", -1, ValueError, "max_iter must be an integer of at least 0, or None"),
        ("max_iter", 1.0, TypeError, "max_iter must be an integer"),
        ("warm_start", "yes", TypeError, "warm_start must be True or False; got 'yes'"),
        ("memory_limit", -1, ValueError, "memory_limit must be a finite number of at least 0"),
        ("memory_limit", None, TypeError, "memory_limit must be a finite number"),
        ("objective", "evidence", ValueError, "objective must be one of 'nlml', 'loo_cve'"),
        ("hyperparameter_rows", 0, ValueError, "hyperparameter_rows must be an integer of at"),
        ("normalize_y", None, TypeError, "normalize_y must be True or False"),
        ("checkpoint", 3, TypeError, "checkpoint must be a path, or None; got 3"),
        ("time_limit", 0, ValueError, "time_limit must be a finite number above 0, or None"),
        ("time_limit", "soon", TypeError, "time_limit must be a finite number"),
        ("missing", "mean", ValueError, "missing must be one of 'error', 'indicator'"),
        ("random_state", "seed", ValueError, "seed"),
        ("random_state", -1, ValueError, "random_state must be an integer from 0 to 2"),
    ],
)
def test_bad_parameters(parameter, value, error, words):
    X, y = data(n=10)
    with pytest.raises(error, match=words):
        fixed(**{parameter: value}).fit(X, y)


def test_every_parameter_has_its_sentence():
    table = test_bad_parameters.pytestmark[0].args[1]
    assert {row[0] for row in table} == set(GPRegressor().get_params(deep=False))


def test_a_kernel_of_other_features():
    X, y = data(n=10)
    with pytest.raises(ValueError, match=r"length_scale.*3.*2|3.*features.*2|2.*features.*3"):
        fixed(kernel=Gaussian(1.0, [1.0, 1.0, 1.0])).fit(X, y)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_values_that_are_not_finite(value, word):
    X, y = data(n=10)
    bad_X, bad_y, weights = X.copy(), y.copy(), np.ones(10)
    bad_X[3, 1] = bad_y[3] = weights[3] = value
    for arguments in ((bad_X, y), (X, bad_y), (X, y, weights)):
        with pytest.raises(ValueError, match=f"(?i){word}"):
            fixed().fit(*arguments)
    with pytest.raises(ValueError, match=f"(?i){word}"):
        fixed().fit(X, y).predict(bad_X)


def test_wrong_shapes():
    X, y = data(n=10)
    for wrong, words in (
        ((X, y[:-1]), r"10.*9|9.*10"),
        ((X[:, 0], y), "2D"),
        ((X[:0], y[:0]), "0 sample"),
        ((X, None), "y"),
        ((X, y, np.ones(9)), "sample_weight"),
        ((X, y, -np.ones(10)), "negative"),
        ((X, y, np.zeros(10)), "zero"),
    ):
        with pytest.raises(ValueError, match=words):
            fixed().fit(*wrong)
    model = fixed().fit(X, y)
    with pytest.raises(ValueError, match=r"3 features.*2 features"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="return_std and return_cov"):
        model.predict(X, return_std=True, return_cov=True)


@each_solver
def test_targets_and_inputs_of_extreme_size(solver):
    X, y = data()
    large = fixed(solver=solver, normalize_y=True).fit(1e6 + 1e-3 * X, 1e12 * y)
    assert np.all(np.isfinite(large.predict(1e6 + 1e-3 * X, return_std=True)))
    tiny = fixed(solver=solver, normalize_y=True).fit(X, 1e-12 * y)
    assert_allclose(
        tiny.predict(X), 1e-12 * fixed(normalize_y=True).fit(X, y).predict(X), rtol=1e-3
    )
