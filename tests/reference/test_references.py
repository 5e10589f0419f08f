"""The references against each other, and against what is known in closed form."""

import numpy as np
import pytest

from reference.sparse_regression import (
    APPROXIMATIONS,
    SparseGP,
    gaussian_kernel,
    gaussian_kl,
    greedy,
    log_normal_density,
)


def model(seed=0, n=14, m=5, approximation="dtc", columns=1, weights=None, noise_variance=0.05):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(X @ rng.normal(size=(2, columns))) + 0.2 * rng.normal(size=(n, columns))
    kernel = gaussian_kernel(1.3, [0.8, 1.4])
    return SparseGP(kernel, X[:m], X, y, noise_variance, approximation, weights)


@pytest.mark.parametrize("weights", [None, np.linspace(0.4, 3, 14)])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_both_predictions_agree(approximation, weights):
    gp = model(approximation=approximation, columns=2, weights=weights)
    X_new = np.random.default_rng(1).normal(size=(6, 2))
    for noise in (True, False):
        mean, cov = gp.predict(X_new, noise)
        mean_explicit, cov_explicit = gp.predict_explicit(X_new, noise)
        np.testing.assert_allclose(mean, mean_explicit, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(cov, cov_explicit, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_all_rows_in_the_basis_is_the_exact_gp(approximation):
    gp = model(n=10, m=10, approximation=approximation)
    X_new = np.random.default_rng(1).normal(size=(4, 2))
    K = gp.kernel(gp.X, gp.X) + gp.noise_variance * np.eye(10)
    k_new = gp.kernel(X_new, gp.X)
    mean, cov = gp.predict(X_new, noise=False)
    np.testing.assert_allclose(mean, k_new @ np.linalg.solve(K, gp.y), rtol=1e-7)
    exact = gp.kernel(X_new, X_new) - k_new @ np.linalg.solve(K, k_new.T)
    np.testing.assert_allclose(cov, exact, rtol=1e-7, atol=1e-9)
    assert gp.nlml() == pytest.approx(-log_normal_density(gp.y[:, 0], K), rel=1e-9)


@pytest.mark.parametrize("measure", ["loo_cve", "nlgpp", "gpe", "nlml", "nlpp"])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_integer_weights_are_repeated_rows(approximation, measure):
    weights = np.random.default_rng(2).integers(1, 4, size=14)
    gp = model(approximation=approximation, columns=2, weights=weights)
    assert gp.measure(measure) == pytest.approx(gp.repeated().measure(measure), rel=1e-10)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_leave_one_out_equals_the_closed_form(approximation):
    """The printed closed forms, fractional weights included, with explicit inverses."""
    w = np.random.default_rng(3).uniform(0.3, 2.5, size=14)
    gp = model(approximation=approximation, weights=w)
    row_variance = gp.row_variance()
    K_uf = gp.kernel(gp.basis, gp.X)
    Sigma = np.linalg.inv(gp.kernel(gp.basis, gp.basis) + K_uf * (w / row_variance) @ K_uf.T)
    eta = np.einsum("ui,uv,vi->i", K_uf, Sigma, K_uf) / row_variance
    f = K_uf.T @ Sigma @ (K_uf * (w / row_variance)) @ gp.y[:, 0]
    c = np.minimum(w, 1)
    residual = (gp.y[:, 0] - f) / (1 - c * eta)
    spread = row_variance * eta / (1 - c * eta)
    q = np.diag(gp.low_rank(gp.X, gp.X))
    unexplained = 0 if approximation == "sor" else np.diag(gp.kernel(gp.X, gp.X)) - q
    mean, variance = gp.leave_one_out()
    np.testing.assert_allclose(gp.y[:, 0] - mean[:, 0], residual, rtol=1e-9)
    np.testing.assert_allclose(variance, unexplained + gp.noise_variance + spread, rtol=1e-9)


def test_information_gain_equals_the_two_variable_expression():
    """The KL over all basis values and f_i is the KL over (projected latent, f_i)."""
    gp = model(m=4)
    s2 = gp.noise_variance
    mean, _ = gp.predict(gp.X)
    spread = np.diag(gp.predict_explicit(gp.X, noise=False)[1])
    left = np.diag(gp.kernel(gp.X, gp.X) - gp.low_rank(gp.X, gp.X))
    for i in range(5, 14):
        precision = np.array([[1 / (spread[i] - left[i]), 0], [0, 0]])
        precision += np.array([[1, -1], [-1, 1]]) / left[i]
        shift = precision @ np.array([mean[i, 0], mean[i, 0]])
        new_precision = precision + np.diag([-1 / s2, 1 / s2])
        new_shift = shift + np.array([-1, 1]) * gp.y[i, 0] / s2
        new_cov, old_cov = np.linalg.inv(new_precision), np.linalg.inv(precision)
        expected = gaussian_kl(new_cov @ new_shift, new_cov, old_cov @ shift, old_cov)
        assert gp.information_gain(i) == pytest.approx(expected, rel=1e-8)


def test_information_gain_of_an_empty_basis():
    gp = model(m=0)
    k, s2 = 1.3, gp.noise_variance
    for i in range(3):
        mean, variance = np.array([k * gp.y[i, 0] / (k + s2)]), np.array([[k * s2 / (k + s2)]])
        expected = gaussian_kl(mean, variance, np.zeros(1), np.array([[k]]))
        assert gp.information_gain(i) == pytest.approx(expected, rel=1e-10)


def test_matching_pursuit_equals_equations_7_and_8():
    gp = model(m=4, weights=np.linspace(0.5, 2, 14))
    K_uf = gp.kernel(gp.basis, gp.X)
    W, s2 = np.diag(gp.weights), gp.noise_variance
    H = s2 * gp.kernel(gp.basis, gp.basis) + K_uf @ W @ K_uf.T
    alpha = np.linalg.solve(H, K_uf @ W @ gp.y)[:, 0]
    for x in gp.X[5:]:
        k_f, k_u = gp.kernel(x[None], gp.X)[0], gp.kernel(x[None], gp.basis)[0]
        numerator = k_f @ W @ (gp.y[:, 0] - K_uf.T @ alpha) - s2 * k_u @ alpha
        expected = -0.5 * numerator**2 / (s2 * 1.3 + k_f @ W @ k_f)
        assert gp.matching_pursuit_change(x) == pytest.approx(expected, rel=1e-8)


def test_greedy_steps_are_minima_and_skip_duplicates():
    gp = model(n=12)
    X = np.vstack([gp.X, gp.X])
    gp = SparseGP(gp.kernel, X[:0], X, np.vstack([gp.y, gp.y]), gp.noise_variance)
    chosen, scores = greedy(gp, "nlml", 12)
    assert len(set(chosen % 12)) == len(chosen)
    assert all(step[c] == np.nanmin(step) for c, step in zip(chosen, scores))
