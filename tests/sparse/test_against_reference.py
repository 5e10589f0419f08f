"""`SparseGPRegressor` against brute force: refit without each row, try every candidate."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from greedygp import SparseGPRegressor
from greedygp.kernels import Gaussian
from names import CRITERIA
from pairwise import each_pair
from reference.sparse_regression import (
    APPROXIMATIONS,
    CRITERIA_OF_DTC,
    SparseGP,
    candidate_score,
    gaussian_kernel,
    greedy,
    values_along,
)

OWN_FITC_FORM = [criterion for criterion in CRITERIA if criterion not in CRITERIA_OF_DTC]
GREEDY_CRITERIA = [criterion for criterion in CRITERIA if criterion != "random"]


@dataclass(frozen=True)
class Problem:
    """A small random data set and the hyperparameters to use on it."""

    X: np.ndarray
    y: np.ndarray
    noise_variance: float
    variance: float
    length_scale: object
    weights: np.ndarray | None = None

    def estimator(self, criterion, approximation="dtc", max_basis=8, **parameters):
        defaults = {"working_set": None, "patience": None, "cache_size": 0, "random_state": 0}
        return SparseGPRegressor(
            kernel=Gaussian(variance=self.variance, length_scale=self.length_scale),
            noise_variance=self.noise_variance,
            criterion=criterion,
            approximation=approximation,
            max_basis=max_basis,
            objective=None,
            normalize_y=False,
            **(defaults | parameters),
        )

    def fit(self, *args, candidates=None, **kwargs):
        estimator = self.estimator(*args, **kwargs)
        options = {} if candidates is None else {"candidates": candidates}
        return estimator.fit(self.X, self.y, sample_weight=self.weights, **options)

    def reference(self, approximation="dtc", basis=None):
        kernel = gaussian_kernel(self.variance, self.length_scale)
        basis = self.X[:0] if basis is None else basis
        return SparseGP(
            kernel, basis, self.X, self.y, self.noise_variance, approximation, self.weights
        )


def make_problem(
    seed, n=20, D=2, noise_variance=1e-2, length_scale=None, columns=None, weights=None
):
    """Smooth functions of uniform inputs plus noise; ARD length scales around 0.5."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D))
    shape = n if columns is None else (n, columns)
    directions = rng.normal(size=D if columns is None else (D, columns))
    y = np.sin(3 * X @ directions) + np.sqrt(noise_variance) * rng.normal(size=shape)
    if length_scale is None:
        length_scale = rng.uniform(0.3, 0.7, size=D) * np.sqrt(D)
    if weights == "integer":
        weights = rng.integers(1, 4, size=n).astype(float)
    elif weights == "fractional":
        weights = rng.uniform(0.2, 2.5, size=n)
    return Problem(X, y, noise_variance, rng.uniform(0.7, 1.6), length_scale, weights)


def chosen(estimator):
    return np.asarray(estimator.basis_indices_)


def assert_values_exact(estimator, problem, approximation="dtc", ill_conditioned=False):
    """Every value of the path is the measure, from scratch, of the basis up to that step.

    Where K_uu is nearly singular no method in double precision, the reference included, is more
    exact than what the rounding of the kernel's entries leaves of the digits.
    """
    reference = problem.reference(approximation)
    expected = values_along(reference, estimator.criterion, estimator.basis_)
    assert_array_equal(np.asarray(estimator.path_["index"]), chosen(estimator))
    for m, (value, exact) in enumerate(zip(estimator.path_["value"], expected), start=1):
        rtol = 1e-8
        if ill_conditioned:
            K_uu = reference.kernel(estimator.basis_[:m], estimator.basis_[:m])
            rtol = max(10 * np.finfo(float).eps * np.linalg.cond(K_uu), 1e-8)
            if rtol > 1e-4:  # here the reference has no digits to compare with either
                assert np.all(np.isfinite(estimator.path_["value"][m - 1 :]))
                break
        assert_allclose(value, exact, rtol=rtol, atol=1e-10, err_msg=f"after {m} steps")


# ------------------------------------------------------------------------ values after a step


@each_pair({"criterion": CRITERIA, "approximation": APPROXIMATIONS, "seed": range(3)})
def test_values_equal_brute_force(criterion, approximation, seed):
    problem = make_problem(
        seed,
        n=(15, 24, 40)[seed],
        D=(1, 2, 4)[seed],
        noise_variance=(1e-1, 1e-2, 1e-3)[seed],
    )
    model = problem.fit(criterion, approximation, max_basis=(6, 9, 12)[seed])
    assert model.n_basis_ == (6, 9, 12)[seed]
    assert_array_equal(model.basis_, problem.X[chosen(model)])
    assert_values_exact(model, problem, approximation)


@each_pair({"criterion": CRITERIA, "approximation": APPROXIMATIONS, "columns": [1, 2, 3]})
def test_values_with_several_targets(criterion, approximation, columns):
    """The NLML and the posterior sum over columns, the leave-one-out measures average."""
    problem = make_problem(columns, n=18, columns=columns)
    model = problem.fit(criterion, approximation, max_basis=6)
    assert_values_exact(model, problem, approximation)


@each_pair(
    {"criterion": CRITERIA, "approximation": APPROXIMATIONS, "kind": ["integer", "fractional"]}
)
def test_values_with_weights(criterion, approximation, kind):
    problem = make_problem(7, n=18, weights=kind)
    model = problem.fit(criterion, approximation, max_basis=6)
    assert_values_exact(model, problem, approximation)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("criterion", OWN_FITC_FORM)
def test_integer_weights_equal_repeated_rows(criterion, approximation):
    """The same values, inputs and predictions as the data with its rows physically repeated."""
    problem = make_problem(8, n=14, weights="integer")
    rows = np.repeat(np.arange(14), problem.weights.astype(int))
    repeated = Problem(
        problem.X[rows],
        problem.y[rows],
        problem.noise_variance,
        problem.variance,
        problem.length_scale,
    )
    weighted = problem.fit(criterion, approximation, max_basis=5)
    plain = repeated.fit(criterion, approximation, max_basis=5)
    assert_allclose(weighted.basis_, plain.basis_)
    assert_allclose(weighted.path_["value"], plain.path_["value"], rtol=1e-8)
    X_new = make_problem(9).X
    for a, b in zip(
        weighted.predict(X_new, return_std=True), plain.predict(X_new, return_std=True)
    ):
        assert_allclose(a, b, rtol=1e-8, atol=1e-10)


@each_pair(
    {
        "criterion": GREEDY_CRITERIA,
        "approximation": ["dtc", "fitc"],
        "length_scale": [1.5, 3.0, 10.0],
    }
)
def test_values_of_ill_conditioned_problems(criterion, approximation, length_scale):
    """Long length scales: K_uu is nearly singular, and candidates run out."""
    rng = np.random.default_rng(10)
    X = rng.uniform(-1, 1, size=(25, 1))
    y = 1 + X[:, 0] - 0.5 * X[:, 0] ** 2 + 0.1 * rng.normal(size=25)
    problem = Problem(X, y, 1e-2, 4.0, length_scale)
    model = problem.fit(criterion, approximation, max_basis=10)
    assert 1 <= model.n_basis_ <= 10
    assert_values_exact(model, problem, approximation, ill_conditioned=True)


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_duplicate_rows_are_taken_once(criterion, approximation):
    """Twins of a basis vector are dependent on it; when all are used up the run ends cleanly."""
    half = make_problem(11, n=7)
    y = np.concatenate([half.y, half.y + 0.1])
    problem = Problem(
        np.vstack([half.X, half.X]), y, half.noise_variance, half.variance, half.length_scale
    )
    model = problem.fit(criterion, approximation, max_basis=14)
    assert model.n_basis_ == 7
    assert len(np.unique(chosen(model) % 7)) == 7
    assert_values_exact(model, problem, approximation)


@pytest.mark.parametrize("cache_size", [5, 20])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_values_with_small_working_set_and_cache(criterion, cache_size):
    problem = make_problem(12, n=40, D=3)
    model = problem.fit(criterion, max_basis=12, working_set=4, cache_size=cache_size)
    assert model.n_basis_ == 12
    assert_values_exact(model, problem)


@pytest.mark.parametrize("length_scale", [0.5, 4.0])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_candidates_run_out_with_a_cache(criterion, length_scale):
    """Nothing fresh is left, then nothing at all: the cache is used up and the run ends."""
    problem = make_problem(14, n=20, D=1, noise_variance=0.05, length_scale=length_scale)
    model = problem.fit(criterion, max_basis=20, working_set=6, cache_size=8)
    assert 3 <= model.n_basis_ <= 20
    assert len(np.unique(chosen(model))) == model.n_basis_
    assert_values_exact(model, problem, ill_conditioned=True)


@pytest.mark.parametrize("criterion", OWN_FITC_FORM)
def test_values_under_fitc_with_screening(criterion):
    """With a working set candidates are screened under FITC; the values stay exact."""
    problem = make_problem(13, n=40, D=3)
    model = problem.fit(criterion, "fitc", max_basis=10, working_set=6)
    assert_values_exact(model, problem, "fitc")


# ------------------------------------------------------------------------- chosen sequences


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("criterion", GREEDY_CRITERIA)
def test_sequence_equals_brute_force_greedy_dtc(criterion, seed):
    problem = make_problem(
        20 + seed,
        n=(15, 18, 20, 22)[seed],
        D=(1, 2, 3, 4)[seed],
        noise_variance=(1e-1, 1e-2, 1e-2, 1e-3)[seed],
    )
    steps = (5, 7, 7, 8)[seed]
    model = problem.fit(criterion, max_basis=steps)
    expected, scores = greedy(problem.reference(), criterion, steps)
    assert_array_equal(chosen(model), expected)
    assert np.all(np.isfinite(model.path_["score"]))
    assert scores.shape == (steps, len(problem.X))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("criterion", ["info_gain", "matching_pursuit"])
def test_scores_equal_the_definition(criterion, seed):
    """Information gain is the KL of dense Gaussians, matching pursuit the posterior's decrease."""
    problem = make_problem(25 + seed, n=25, D=seed + 1, noise_variance=(1e-1, 1e-2, 1e-3)[seed])
    model = problem.fit(criterion, max_basis=8)
    picks = chosen(model)
    for step, pick in enumerate(picks):
        reference = problem.reference(basis=problem.X[picks[:step]])
        expected = candidate_score(reference, criterion, problem.X[pick], pick)
        assert abs(model.path_["score"][step]) == pytest.approx(abs(expected), rel=1e-7)


@each_pair({"criterion": OWN_FITC_FORM, "approximation": ["sor", "fitc"], "seed": range(2)})
def test_sequence_equals_brute_force_greedy_other(criterion, approximation, seed):
    problem = make_problem(30 + seed, n=16, D=seed + 1, noise_variance=(1e-1, 1e-2)[seed])
    model = problem.fit(criterion, approximation, max_basis=6)
    expected, _ = greedy(problem.reference(approximation), criterion, 6)
    assert_array_equal(chosen(model), expected)


@pytest.mark.parametrize("criterion", [c for c in GREEDY_CRITERIA if c != "info_gain"])
def test_sequence_with_weights_and_several_targets(criterion):
    problem = make_problem(33, n=16, columns=2, weights="fractional")
    model = problem.fit(criterion, max_basis=6)
    expected, _ = greedy(problem.reference(), criterion, 6)
    assert_array_equal(chosen(model), expected)


@pytest.mark.parametrize("criterion", ["nlpp", "matching_pursuit", "info_gain", "random"])
def test_criteria_without_a_fitc_form_choose_as_under_dtc(criterion):
    problem = make_problem(34, n=30, D=2)
    dtc = problem.fit(criterion, "dtc", max_basis=8)
    fitc = problem.fit(criterion, "fitc", max_basis=8)
    assert_array_equal(chosen(dtc), chosen(fitc))


@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c not in ("random", "info_gain")])
def test_cached_scores_equal_fresh_scores(criterion):
    """A working set of all rows with a cache chooses what scoring everything afresh chooses."""
    problem = make_problem(35, n=30, D=3)
    fresh = problem.fit(criterion, max_basis=10)
    for cache_size in (3, 10, 30):
        cached = problem.fit(criterion, max_basis=10, working_set=30, cache_size=cache_size)
        assert_array_equal(chosen(cached), chosen(fresh))
        assert_allclose(cached.path_["score"], fresh.path_["score"], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c not in ("random", "info_gain")])
def test_cache_never_offers_worse_than_its_working_set(criterion):
    """Cached candidates that compete are scored against the present basis, not an old one.

    With room for every row in the cache and a few fresh ones a step, all rows have been seen
    after some steps; from then on each choice is the best of all by brute force.
    """
    problem = make_problem(36, n=16, D=2)
    model = problem.fit(criterion, max_basis=7, working_set=8, cache_size=16)
    picks = chosen(model)
    for step in range(3, 7):
        reference = problem.reference(basis=problem.X[picks[:step]])
        _, scores = greedy_continuation(reference, criterion, picks[:step])
        assert picks[step] == np.nanargmin(scores)


def greedy_continuation(model, criterion, picks):
    """Scores of all candidates given that ``picks`` were chosen before."""
    scores = np.full(len(model.X), np.nan)
    for j in set(range(len(model.X))) - set(picks.tolist()):
        scores[j] = candidate_score(model, criterion, model.X[j], j)
    return int(np.nanargmin(scores)), scores


# ------------------------------------------------------------------------------ prediction


@pytest.mark.parametrize("columns", [None, 2])
@pytest.mark.parametrize("weights", [None, "fractional"])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_predictions_equal_the_joint_gaussian(approximation, weights, columns):
    problem = make_problem(40, n=25, columns=columns, weights=weights)
    model = problem.fit("nlml", approximation, max_basis=7)
    X_new = np.random.default_rng(41).uniform(-1.5, 1.5, size=(9, 2))
    reference = problem.reference(approximation, model.basis_)
    for noise in (True, False):
        mean, cov = reference.predict(X_new, noise=noise)
        expected_mean = mean if columns else mean[:, 0]
        std = model.predict(X_new, return_std=True, noise=noise)[1]
        got_mean, got_cov = model.predict(X_new, return_cov=True, noise=noise)
        assert_allclose(got_mean, expected_mean, rtol=1e-8, atol=1e-10)
        assert_allclose(model.predict(X_new), expected_mean, rtol=1e-8, atol=1e-10)
        expected_std = np.sqrt(np.diag(cov))
        if columns:
            got_cov = np.asarray(got_cov)
            assert std.shape == (9, columns)
            assert got_cov.shape == (9, 9, columns)
            assert_allclose(std, np.repeat(expected_std[:, None], columns, axis=1), rtol=1e-7)
            for k in range(columns):
                assert_allclose(got_cov[:, :, k], cov, rtol=1e-7, atol=1e-9)
        else:
            assert_allclose(std, expected_std, rtol=1e-7)
            assert_allclose(got_cov, cov, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("weights", [None, "integer", "fractional"])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_loo_predict_equals_refitting(approximation, weights):
    problem = make_problem(42, n=20, weights=weights)
    model = problem.fit("nlgpp", approximation, max_basis=6)
    mean, std = model.loo_predict()
    expected_mean, variance = problem.reference(approximation, model.basis_).leave_one_out()
    assert_allclose(mean, expected_mean[:, 0], rtol=1e-8, atol=1e-10)
    assert_allclose(std, np.sqrt(variance), rtol=1e-8)


def test_loo_predict_of_several_targets_in_their_units():
    """Normalised targets come back in the units of y."""
    problem = make_problem(43, n=20, columns=2)
    y = problem.y * [3.0, 50.0] + [100.0, -7.0]
    estimator = problem.estimator("nlml", max_basis=6).set_params(normalize_y=True)
    model = estimator.fit(problem.X, y)
    scaled = Problem(
        problem.X,
        (y - y.mean(axis=0)) / y.std(axis=0),
        problem.noise_variance,
        problem.variance,
        problem.length_scale,
    )
    expected_mean, variance = scaled.reference(basis=model.basis_).leave_one_out()
    mean, std = model.loo_predict()
    assert_allclose(mean, expected_mean * y.std(axis=0) + y.mean(axis=0), rtol=1e-8)
    assert_allclose(std, np.sqrt(variance)[:, None] * y.std(axis=0), rtol=1e-8)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_every_row_in_the_basis_is_the_exact_gp(approximation, criterion):
    problem = make_problem(44, n=15, D=2, noise_variance=1e-2)
    model = problem.fit(criterion, approximation, max_basis=15)
    assert model.n_basis_ == 15
    kernel = ConstantKernel(problem.variance, "fixed") * RBF(problem.length_scale, "fixed")
    exact = GaussianProcessRegressor(kernel, alpha=problem.noise_variance, optimizer=None)
    exact.fit(problem.X, problem.y)
    X_new = np.random.default_rng(45).uniform(-1.5, 1.5, size=(20, 2))
    expected_mean, expected_std = exact.predict(X_new, return_std=True)
    mean, std = model.predict(X_new, return_std=True, noise=False)
    assert_allclose(mean, expected_mean, rtol=1e-6, atol=1e-6)
    assert_allclose(std, expected_std, rtol=1e-6, atol=1e-6)
    _, noisy = model.predict(X_new, return_std=True)
    assert_allclose(noisy**2, expected_std**2 + problem.noise_variance, rtol=1e-6)
    _, cov = model.predict(X_new, return_cov=True, noise=False)
    assert_allclose(cov, exact.predict(X_new, return_cov=True)[1], rtol=1e-6, atol=1e-6)
    if criterion in ("nlml", "info_gain", "random"):
        assert model.path_["value"][-1] == pytest.approx(-exact.log_marginal_likelihood_value_)


# ---------------------------------------------------------------------------- transduction


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
@pytest.mark.parametrize("criterion", [c for c in GREEDY_CRITERIA if c != "info_gain"])
def test_basis_from_given_candidates(criterion, approximation):
    problem = make_problem(50, n=16)
    candidates = np.random.default_rng(51).uniform(-1.2, 1.2, size=(12, 2))
    model = problem.fit(criterion, approximation, max_basis=6, candidates=candidates)
    assert_array_equal(model.basis_, candidates[chosen(model)])
    assert_values_exact(model, problem, approximation)
    expected, _ = greedy(problem.reference(approximation), criterion, 6, candidates)
    assert_array_equal(chosen(model), expected)


def test_random_basis_from_given_candidates():
    problem = make_problem(52, n=16)
    candidates = np.random.default_rng(53).uniform(-1.2, 1.2, size=(12, 2))
    model = problem.fit("random", max_basis=6, candidates=candidates)
    assert_array_equal(model.basis_, candidates[chosen(model)])
    assert_values_exact(model, problem)


@pytest.mark.parametrize("criterion", ["nlpp", "nlgpp", "matching_pursuit"])
def test_candidates_with_working_set_and_cache(criterion):
    problem = make_problem(54, n=20)
    candidates = np.random.default_rng(55).uniform(-1.2, 1.2, size=(30, 2))
    model = problem.fit(criterion, max_basis=8, working_set=5, cache_size=6, candidates=candidates)
    assert_array_equal(model.basis_, candidates[chosen(model)])
    assert_values_exact(model, problem)


# -------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize("criterion", OWN_FITC_FORM)
@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
def test_patience_returns_to_the_minimum(approximation, criterion):
    problem = make_problem(60, n=30, D=2, noise_variance=0.3)
    full = problem.fit(criterion, approximation, max_basis=20)
    model = problem.fit(criterion, approximation, max_basis=20, patience=3, tol=0.0)
    best = int(np.argmin(full.path_["value"][: len(model.path_)])) + 1
    assert model.n_basis_ == best == len(model.basis_) == len(chosen(model))
    assert_array_equal(chosen(model), chosen(full)[:best])
    last_progress = best
    if criterion == "nlgpp":  # a new minimum of the leave-one-out error counts, too
        tried = full.basis_[: len(model.path_)]
        errors = values_along(problem.reference(approximation), "loo_cve", tried)
        last_progress = max(best, int(np.argmin(errors)) + 1)
    if len(model.path_) < 20:
        assert len(model.path_) == last_progress + 3
    mean, std = model.predict(problem.X, return_std=True)
    expected_mean, cov = problem.reference(approximation, model.basis_).predict(problem.X)
    assert_allclose(mean, expected_mean[:, 0], rtol=1e-8, atol=1e-9)
    assert_allclose(std, np.sqrt(np.diag(cov)), rtol=1e-8)


@pytest.mark.parametrize("criterion", ["nlpp", "matching_pursuit", "info_gain", "random"])
def test_patience_has_no_effect_on_criteria_without_a_minimum(criterion):
    problem = make_problem(61, n=30, D=2, noise_variance=0.3)
    model = problem.fit(criterion, max_basis=12, patience=1)
    assert model.n_basis_ == 12


# ------------------------------------------------------------------------------ invariants

fast = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 10_000)


@fast
@given(seed=seeds, criterion=st.sampled_from(GREEDY_CRITERIA))
def test_order_of_the_rows_does_not_matter(seed, criterion):
    problem = make_problem(seed, n=15, noise_variance=0.05)
    order = np.random.default_rng(seed).permutation(15)
    permuted = Problem(
        problem.X[order],
        problem.y[order],
        problem.noise_variance,
        problem.variance,
        problem.length_scale,
    )
    a, b = problem.fit(criterion, max_basis=5), permuted.fit(criterion, max_basis=5)
    assert_allclose(a.path_["value"], b.path_["value"], rtol=1e-7, atol=1e-9)
    assert_array_equal(chosen(a), order[chosen(b)])


@fast
@given(
    seed=seeds,
    noise_variance=st.floats(1e-4, 10),
    approximation=st.sampled_from(APPROXIMATIONS),
    criterion=st.sampled_from(CRITERIA),
)
def test_spread_is_at_least_the_noise(seed, noise_variance, approximation, criterion):
    problem = make_problem(seed, n=15, noise_variance=noise_variance)
    model = problem.fit(criterion, approximation, max_basis=5)
    X_new = np.random.default_rng(seed).normal(size=(30, 2))
    _, std = model.predict(np.vstack([X_new, problem.X, 1e3 * X_new]), return_std=True)
    assert np.all(std >= np.sqrt(noise_variance) * (1 - 1e-9))


@fast
@given(
    seed=seeds,
    criterion=st.sampled_from(GREEDY_CRITERIA),
    approximation=st.sampled_from(APPROXIMATIONS),
)
def test_rows_of_weight_zero_change_nothing(seed, criterion, approximation):
    problem = make_problem(seed, n=12)
    rng = np.random.default_rng(seed)
    X = np.vstack([problem.X, rng.normal(size=(5, 2))])
    y = np.concatenate([problem.y, 100 * rng.normal(size=5)])
    weights = np.repeat([1.0, 0.0], [12, 5])
    padded = Problem(X, y, problem.noise_variance, problem.variance, problem.length_scale, weights)
    a = problem.fit(criterion, approximation, max_basis=4)
    b = padded.fit(criterion, approximation, max_basis=4)
    assert_array_equal(chosen(a), chosen(b))
    assert_allclose(a.path_["value"], b.path_["value"], rtol=1e-9)
    assert_allclose(a.predict(X), b.predict(X), rtol=1e-9, atol=1e-12)


@fast
@given(seed=seeds, criterion=st.sampled_from(["nlpp", "matching_pursuit"]))
def test_negative_log_posterior_only_falls(seed, criterion):
    problem = make_problem(seed, n=20, D=3)
    model = problem.fit(criterion, max_basis=12, working_set=5, cache_size=4)
    values = model.path_["value"]
    assert values[0] < 0
    assert np.all(np.diff(values) <= 1e-10 * abs(values[-1]))


@fast
@given(
    seed=seeds,
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-100, 100),
    criterion=st.sampled_from(GREEDY_CRITERIA),
)
def test_normalised_targets_make_predictions_follow_the_units(seed, scale, shift, criterion):
    problem = make_problem(seed, n=15)
    a = problem.estimator(criterion, max_basis=5).set_params(normalize_y=True)
    b = problem.estimator(criterion, max_basis=5).set_params(normalize_y=True)
    a.fit(problem.X, problem.y)
    b.fit(problem.X, scale * problem.y + shift)
    assert_array_equal(chosen(a), chosen(b))
    X_new = np.random.default_rng(seed).normal(size=(10, 2))
    mean_a, std_a = a.predict(X_new, return_std=True)
    mean_b, std_b = b.predict(X_new, return_std=True)
    assert_allclose(mean_b, scale * mean_a + shift, rtol=1e-6, atol=1e-6 * scale)
    assert_allclose(std_b, scale * std_a, rtol=1e-6)


# ---------------------------------------------------------------------------------- limits


def assert_finite(model, X):
    mean, std = model.predict(X, return_std=True)
    loo_mean, loo_std = model.loo_predict()
    for values in (mean, std, loo_mean, loo_std, model.path_["value"]):
        assert np.all(np.isfinite(values))
    assert np.all(std > 0)
    assert np.all(loo_std > 0)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("criterion", CRITERIA)
class TestLimits:
    def test_one_basis_vector(self, criterion, approximation):
        problem = make_problem(70, n=15)
        model = problem.fit(criterion, approximation, max_basis=1)
        assert model.n_basis_ == 1
        assert_values_exact(model, problem, approximation)
        assert_finite(model, problem.X)

    def test_as_many_basis_vectors_as_rows(self, criterion, approximation):
        problem = make_problem(71, n=10)
        model = problem.fit(criterion, approximation, max_basis=10)
        assert sorted(chosen(model)) == list(range(10))
        assert_values_exact(model, problem, approximation)
        assert_finite(model, problem.X)

    def test_huge_noise(self, criterion, approximation):
        """Nothing is learnt: the mean is near zero, the spread is the noise."""
        rng = np.random.default_rng(72)
        X, y = rng.uniform(-1, 1, size=(15, 2)), rng.normal(size=15)
        problem = Problem(X, y, 1e6, 1.0, 0.7)
        model = problem.fit(criterion, approximation, max_basis=5)
        assert_values_exact(model, problem, approximation)
        mean, std = model.predict(X, return_std=True)
        assert_allclose(mean, 0, atol=1e-4)
        assert_allclose(std, 1e3, rtol=1e-5)
        assert_finite(model, X)

    def test_tiny_noise(self, criterion, approximation):
        """A smooth function with almost no noise: interpolation without NaN."""
        X = np.linspace(-1, 1, 30)[:, None]
        problem = Problem(X, np.sin(3 * X[:, 0]), 1e-8, 1.0, 0.5)
        model = problem.fit(criterion, approximation, max_basis=15)
        assert_finite(model, X)
        if criterion not in ("random", "info_gain"):
            assert_allclose(model.predict(X), problem.y, atol=1e-2)


@each_pair(
    {
        "criterion": CRITERIA,
        "approximation": APPROXIMATIONS,
        "constant": [0.0, 3.0],
        "normalize_y": [True, False],
    }
)
def test_constant_target(criterion, approximation, constant, normalize_y):
    X = make_problem(73, n=15).X
    problem = Problem(X, np.full(15, constant), 1e-2, 1.0, 1.0)
    estimator = problem.estimator(criterion, approximation, max_basis=8)
    model = estimator.set_params(normalize_y=normalize_y).fit(X, problem.y)
    assert_finite(model, X)
    assert_allclose(model.predict(X), constant, atol=1e-8 if normalize_y else 0.3 * constant)
