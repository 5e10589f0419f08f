"""The posterior of rows that all have a site, against the dense one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from classification.problems import SmallProblem
from greedygp.classification.system import SiteSystem
from greedygp.exceptions import NotPositiveDefiniteError
from reference.classification import gaussian_kernel, posterior
from tolerances import assert_close


def sites(n, least, seed=0):
    """Return means of either sign, and precisions from `least` to one."""
    rng = np.random.default_rng(seed)
    return rng.normal(scale=3.0, size=n), np.exp(rng.uniform(np.log(least), 0.0, n))


@pytest.mark.parametrize("variance", [0.1, 3.0, 500.0])
@pytest.mark.parametrize("least", [0.1, 1e-6, 1e-14])
def test_marginals_and_inverse(variance, least):
    problem = SmallProblem(n=40)
    K = gaussian_kernel(problem.X, problem.X, variance, 0.8)
    system = SiteSystem(K)
    for seed in (0, 1):  # the second time in place of the first
        means, precisions = sites(40, least, seed)
        system.place(precisions * means, precisions)
        f, A = posterior(K, means, precisions)
        assert_close(system.f, f, 40, variance, factor=1e3)
        # Digits of p a are lost, no more than the least share leaves.
        assert_allclose(system.a, np.diag(A), rtol=1e-6)
        expected = np.linalg.slogdet(np.eye(40) + K * precisions)[1]
        assert_close(system.log_determinant, expected, 40, variance)
    W = np.linalg.inv(K + np.diag(1.0 / precisions))
    assert_close(system.beta, W @ means, 40, variance, factor=1e3)
    assert_close(system.inverse(), W, 40, variance, factor=1e3)


def test_sites_that_say_nothing():
    problem = SmallProblem(n=12)
    K = gaussian_kernel(problem.X, problem.X, 3.0, 0.8)
    system, precisions = SiteSystem(K), np.zeros(12)
    system.place(precisions, precisions)
    assert_allclose(system.a, np.diag(K), rtol=1e-15)
    assert_allclose(system.f, 0.0, atol=0)
    precisions[3] = 0.7
    system.place(2.0 * precisions, precisions)
    f, A = posterior(K, np.full(12, 2.0), precisions)
    assert_close(system.f, f)
    assert_close(system.a, np.diag(A))
    assert_close(system.means, np.where(precisions > 0, 2.0, 0.0))


def test_duplicate_rows():
    K = np.full((5, 5), 4.0)
    means, precisions = sites(5, 0.1)
    system = SiteSystem(K)
    system.place(precisions * means, precisions)
    f, A = posterior(K, means, precisions)
    assert_close(system.f, f, factor=100)
    assert_close(system.a, np.diag(A), factor=100)


def test_what_is_not_a_number():
    with pytest.raises(NotPositiveDefiniteError, match="kernel's variance"):
        SiteSystem(np.eye(2)).place(np.zeros(2), np.array([np.nan, 1.0]))
