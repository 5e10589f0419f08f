"""Predictions of a full GP against the joint Gaussian, by factor and by solves."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from dense.posteriors import new_inputs, posterior
from greedygp.dense import posterior as module
from greedygp.dense.solvers import SOLVERS
from greedygp.prediction import sample

ITERATIVE = tuple(name for name in SOLVERS if name != "cholesky")
LOOSE = {"cg": 3, "pcg": 1, "smo": 20, "bcd_cyclic": 3, "bcd_gradient": 3, "gbcd": 1}

each_solver = pytest.mark.parametrize("solver", SOLVERS)


# ------------------------------------------------------------------------------- against dense


@each_solver
@pytest.mark.parametrize("options", [{"p": 1}, {"p": 2, "weighted": True}, {"duplicates": True}])
def test_predictions_are_those_of_the_joint_gaussian(Problem, solver, options):
    problem = Problem(n=24, **options)
    fitted, X = posterior(problem, solver), new_inputs(5)
    mean, covariance = problem.dense().predict(X)
    assert_allclose(fitted.mean(X), mean, rtol=0, atol=1e-10)
    same_mean, variance = fitted.mean_and_variance(X)
    assert_allclose(same_mean, mean, rtol=0, atol=1e-10)
    assert_allclose(variance, np.diag(covariance), rtol=0, atol=1e-8)
    assert_allclose(fitted.covariance(X), covariance, rtol=0, atol=1e-8)


@each_solver
def test_the_diagonal_of_the_covariance_is_the_variance(Problem, solver):
    fitted, X = posterior(Problem(n=24), solver), new_inputs(5)
    covariance = fitted.covariance(X)
    assert_allclose(np.diag(covariance), fitted.mean_and_variance(X)[1], rtol=0, atol=1e-8)
    assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance)[0] > -1e-10


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("weighted", [False, True])
def test_an_inexact_variance_is_never_too_small(Problem, solver, weighted):
    """Nor is a covariance, as a matrix; and the error is of second order in the gradient."""
    problem, X = Problem(n=40, weighted=weighted), new_inputs(7)
    exact = problem.dense().predict(X)[1]
    fitted = posterior(problem, solver, tol=1e-300, max_iter=LOOSE.get(solver, 3))
    with pytest.warns(ConvergenceWarning):
        _, variance = fitted.mean_and_variance(X)
    with pytest.warns(ConvergenceWarning):
        covariance = fitted.covariance(X)
    assert np.all(variance >= np.diag(exact) - 1e-12)
    assert np.max(variance - np.diag(exact)) > 1e-6  # it is inexact
    assert np.linalg.eigvalsh(covariance - exact)[0] > -1e-12


@pytest.mark.parametrize("solver", ITERATIVE)
def test_the_error_of_a_variance_is_of_second_order(Problem, solver):
    problem, X, tol = Problem(n=24), new_inputs(3), 1e-3
    _, variance = posterior(problem, solver, tol=tol).mean_and_variance(X)
    dense = problem.dense()
    most = 24 * tol**2 / np.linalg.eigvalsh(dense.A)[0]
    error = variance - np.diag(dense.predict(X)[1])
    assert np.all(error >= -1e-12)
    assert np.all(error <= most)


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("accuracy", [0.3, 1e-2])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_solve_ends_when_its_variances_are_certain_enough(
    Problem, monkeypatch, solver, accuracy, weighted
):
    """The bound holds against dense algebra, and saves steps."""
    problem, X, solutions = Problem(n=60, weighted=weighted), new_inputs(9), []

    def noted(*arguments, **options):
        solutions.append(original(*arguments, **options))
        return solutions[-1]

    monkeypatch.setattr(module, "solve", noted)
    exact = np.diag(problem.dense().predict(X)[1]) + problem.noise
    fitted = posterior(problem, solver, tol=1e-12, accuracy=accuracy)
    for found in (fitted.mean_and_variance(X)[1], np.diag(fitted.covariance(X))):
        error = (found + problem.noise) / exact - 1.0
        assert np.all(error >= -1e-9)
        assert np.all(error <= accuracy)
    posterior(problem, solver, tol=1e-12).mean_and_variance(X)
    early, _, late = (solution.n_iter for solution in solutions)
    assert all(solution.converged for solution in solutions)
    assert 0 < early < late


def test_variances_are_solved_for_by_the_solver_of_the_fit(Problem, monkeypatch):
    names = []

    def noted(solver, *arguments, **options):
        names.append((solver.name, solver.y.shape[0]))
        return original(solver, *arguments, **options)

    monkeypatch.setattr(module, "solve", noted)
    for solver in ITERATIVE:
        posterior(Problem(n=24), solver).mean_and_variance(new_inputs(9))
    assert names == [(solver, 9) for solver in ITERATIVE]


def test_the_right_hand_sides_of_very_many_rows_are_fewer(Problem, monkeypatch):
    problem, X = Problem(n=24), new_inputs(7)
    fitted = posterior(problem, "gbcd")
    expected = fitted.mean_and_variance(X)[1]
    monkeypatch.setattr(module, "BYTES_TOGETHER", 3 * 8 * 24)
    assert fitted._rows_together() == 3
    assert_allclose(fitted.mean_and_variance(X)[1], expected, rtol=0, atol=1e-9)


@each_solver
def test_at_a_training_row_without_noise_nothing_is_left(Problem, solver):
    problem = Problem(n=12, noise=1e-3)
    _, variance = posterior(problem, solver).mean_and_variance(problem.X[:4])
    assert np.all(variance >= 0.0)
    assert np.all(variance < 1.1e-3)


@each_solver
def test_far_away_is_the_prior(Problem, solver):
    fitted = posterior(Problem(n=24), solver)
    mean, variance = fitted.mean_and_variance(new_inputs(4) + 100)
    assert_array_equal(mean, np.zeros((4, 1)))
    assert_allclose(variance, 1.3, rtol=1e-12)


def test_a_variance_is_never_negative(Problem):
    """Where rounding takes more from the prior than there is."""
    problem = Problem(n=40, length_scale=3.0, noise=1e-9)
    fitted = posterior(problem, "cholesky")
    assert np.all(fitted.mean_and_variance(problem.X)[1] >= 0.0)


# ------------------------------------------------------------------------------ rows together


@pytest.mark.parametrize("solver", ["cholesky", "cg", "gbcd"])
@pytest.mark.parametrize("together", [1, 4, 16, 17, 18])
def test_more_rows_than_are_solved_together(Problem, monkeypatch, solver, together):
    problem = Problem(n=24, p=2)
    fitted, X = posterior(problem, solver, tol=1e-8), new_inputs()
    mean, covariance = problem.dense().predict(X)
    monkeypatch.setattr(module, "ROWS_TOGETHER", together)
    monkeypatch.setattr(module, "TILE_ENTRIES", 24 * together)
    same_mean, variance = fitted.mean_and_variance(X)
    assert_allclose(same_mean, mean, rtol=0, atol=1e-10)
    assert_allclose(fitted.mean(X), mean, rtol=0, atol=1e-10)
    assert_allclose(variance, np.diag(covariance), rtol=0, atol=1e-8)


def test_rows_share_the_kernel_columns_of_a_solve(Problem, monkeypatch):
    """As many solves as groups of rows, not as rows."""
    solves = []
    monkeypatch.setattr(
        module,
        "solve",
        lambda solver, *rest, **more: (
            solves.append(solver.y.shape),
            original(solver, *rest, **more),
        )[1],
    )
    fitted = posterior(Problem(n=24), "gbcd")
    fitted.mean_and_variance(new_inputs())
    assert solves == [(17, 24)]
    monkeypatch.setattr(module, "ROWS_TOGETHER", 10)
    fitted.mean_and_variance(new_inputs())
    assert solves[1:] == [(10, 24), (7, 24)]


original = module.solve


def test_tiles_of_less_than_a_row(Problem, monkeypatch):
    problem, X = Problem(n=24), new_inputs()
    monkeypatch.setattr(module, "TILE_ENTRIES", 5)
    expected = problem.dense().predict(X)[0]
    assert_allclose(posterior(problem, "cholesky").mean(X), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("memory_limit", "wanted"), [(0.0, "solve"), (1e9, "factor")])
@pytest.mark.parametrize("task", ["mean_and_variance", "covariance"])
def test_a_factor_is_made_where_the_matrix_may_be_held(Problem, task, memory_limit, wanted):
    problem = Problem(n=24, weighted=True)
    fitted = posterior(problem, "cg", memory_limit=memory_limit)
    found, X = getattr(fitted, task), new_inputs(3)
    made = found(X)
    assert (fitted.any_factor is not None) == (wanted == "factor")
    exact = problem.dense().predict(X)[1]
    made, exact = (made, exact) if task == "covariance" else (made[1], np.diag(exact))
    assert_allclose(made, exact, rtol=0, atol=1e-8)


def test_few_variances_need_no_factor(Problem, monkeypatch):
    """Their solves are shorter."""
    monkeypatch.setattr(module, "STEPS_OF_A_SOLVE", 2)
    fitted = posterior(Problem(n=24), "cg", memory_limit=1e9)
    fitted.mean_and_variance(new_inputs(3))
    assert fitted.any_factor is None
    fitted.mean_and_variance(new_inputs(4))
    assert fitted.any_factor is not None


def test_the_matrix_of_few_solves_is_held_where_it_may(Problem, monkeypatch):
    systems = []

    class Watched(module.System):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            systems.append(self)

    monkeypatch.setattr(module, "System", Watched)
    monkeypatch.setattr(module, "STEPS_OF_A_SOLVE", 0)
    for memory_limit in (0.0, 1e9):
        posterior(Problem(n=24), "cg", memory_limit=memory_limit).mean_and_variance(new_inputs(3))
    assert [system.hold for system in systems] == [False, True]


def test_a_factor_made_on_demand_is_not_stored_with_the_model(Problem):
    fitted = posterior(Problem(n=24), "cg", memory_limit=1e9)
    variance = fitted.mean_and_variance(new_inputs())[1]
    again = pickle.loads(pickle.dumps(fitted))
    assert fitted.any_factor is not None
    assert again.any_factor is None
    assert_array_equal(again.mean_and_variance(new_inputs())[1], variance)
    given = posterior(Problem(n=24), "cholesky")
    assert pickle.loads(pickle.dumps(given)).any_factor is not None


# ----------------------------------------------------------------------------------- the warning


def test_variances_that_did_not_converge_are_told(Problem):
    fitted = posterior(Problem(n=40), "cg", max_iter=1)
    message = r"17 predictive variances .*ended with 'max_iter' at a gradient of .*Raise max_iter"
    with pytest.warns(ConvergenceWarning, match=message):
        fitted.mean_and_variance(new_inputs())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.mean(new_inputs())
        posterior(Problem(n=40), "cg").mean_and_variance(new_inputs())


# -------------------------------------------------------------------------- samples, libraries


@pytest.mark.parametrize("solver", ["cholesky", "gbcd"])
def test_samples_have_the_moments_of_the_joint_gaussian(Problem, solver):
    problem, X = Problem(n=24), new_inputs(4)
    fitted = posterior(problem, solver)
    mean, covariance = problem.dense().predict(X)
    drawn = sample(fitted.mean(X)[:, 0], fitted.covariance(X), 20_000, np.random.RandomState(0))
    assert_allclose(drawn.mean(axis=1), mean[:, 0], rtol=0, atol=0.03)
    assert_allclose(np.cov(drawn), covariance, rtol=0, atol=0.04 * np.max(covariance))


@each_solver
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(Problem, monkeypatch, solver, library):
    xp = pytest.importorskip(library)
    monkeypatch.setattr(module, "ROWS_TOGETHER", 4)
    problem, X = Problem(n=12, p=2, noise=0.5, weighted=True), new_inputs(5)
    fitted = posterior(problem, solver, tol=1e-4, to=xp.asarray)
    mean, covariance = problem.dense().predict(X)
    given = xp.asarray(X)
    made = (fitted.mean(given), *fitted.mean_and_variance(given), fitted.covariance(given))
    for array, expected in zip(made, (mean, mean, np.diag(covariance), covariance), strict=True):
        assert type(array) is type(given)
        assert_allclose(np.asarray(array), expected, rtol=0, atol=1e-7)
    assert_allclose(np.asarray(fitted.mean(X)), mean, rtol=0, atol=1e-10)  # NumPy is taken, too


@each_solver
def test_single_precision(Problem, solver):
    problem, X = Problem(n=24), new_inputs(5)
    fitted = posterior(problem, solver, tol=1e-4, to=lambda a: np.asarray(a, dtype=np.float32))
    mean, covariance = problem.dense().predict(X)
    same_mean, variance = fitted.mean_and_variance(X)
    assert same_mean.dtype == variance.dtype == np.float32
    assert_allclose(same_mean, mean, rtol=0, atol=1e-4)
    assert_allclose(variance, np.diag(covariance), rtol=0, atol=1e-4)
