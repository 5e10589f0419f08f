"""The file of a solve: what is interrupted goes on as if nothing had happened."""

import os
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from greedygp.dense import checkpoint as module
from greedygp.dense.checkpoint import Checkpoint
from greedygp.dense.estimator import GPRegressor
from greedygp.dense.solvers import SOLVERS
from greedygp.dense.solving import Limits, solve
from greedygp.exceptions import FitInterrupted
from greedygp.kernels import Gaussian
from recorders import InterruptAfter

SMALL = {"block_size": 8, "working_set": 5, "rank": 6}
INTERRUPTED = 3  # after so many steps

each_solver = pytest.mark.parametrize("name", SOLVERS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "solve.npz"


def step(solver, times):
    for _ in range(times):
        solver.step()
    return solver


def fixed(**parameters):
    defaults = {
        "kernel": Gaussian(1.0, 0.4),
        "noise_variance": 0.3,
        "objective": None,
        "block_size": 8,
        "working_set": 5,
        "preconditioner_rank": 4,
        "tol": 1e-5,
        "random_state": 0,
    }
    return GPRegressor(**(defaults | parameters))


# --------------------------------------------------------------------------- there and back


@each_solver
@pytest.mark.parametrize("p", [1, 6])
def test_a_solve_goes_on_bit_for_bit(Problem, path, name, p):
    problem = Problem(n=40, p=p, weighted=True)
    first = step(problem.solver(name, **SMALL), 4)
    Checkpoint(path, first).write(4)
    second = problem.solver(name, **SMALL)
    assert Checkpoint(path, second).resume() == 4
    assert_array_equal(second.alpha, first.alpha)
    step(first, 3)
    step(second, 3)
    assert_array_equal(second.alpha, first.alpha)
    assert_array_equal(second.gradient, first.gradient)


@pytest.mark.parametrize("steps", [0, 1])
def test_greedy_descent_without_earlier_steps(Problem, path, steps):
    """Nothing to be conjugate to, and no held block yet."""
    problem = Problem(n=40)
    first = step(problem.solver("gbcd", **SMALL, accelerate=bool(steps)), steps)
    Checkpoint(path, first).write(steps)
    second = problem.solver("gbcd", **SMALL, accelerate=bool(steps))
    assert Checkpoint(path, second).resume() == steps
    assert_array_equal(step(second, 3).alpha, step(first, 3).alpha)


def test_no_file_no_steps(Problem, path):
    solver = Problem().solver("cg")
    assert Checkpoint(path, solver).resume() == 0
    assert_array_equal(solver.alpha, np.zeros((1, 60)))


def test_the_solve_that_goes_on_gives_the_same_answer(Problem, path):
    problem = Problem(n=40)
    whole = solve(problem.solver("gbcd", **SMALL), Limits(1e-5))
    assert whole.n_iter > 3
    solver = problem.solver("gbcd", **SMALL)
    begun = solve(solver, Limits(1e-5, max_iter=3))
    Checkpoint(path, solver).write(begun.n_iter)
    later = problem.solver("gbcd", **SMALL)
    ended = solve(later, Limits(1e-5), first=Checkpoint(path, later).resume())
    assert ended.n_iter == whole.n_iter
    assert_array_equal(ended.alpha, whole.alpha)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(Problem, path, library):
    xp = pytest.importorskip(library)
    problem = Problem(n=20)
    first = step(problem.solver("gbcd", to=xp.asarray, **SMALL), 3)
    Checkpoint(path, first).write(3)
    second = problem.solver("gbcd", to=xp.asarray, **SMALL)
    assert Checkpoint(path, second).resume() == 3
    assert type(second.alpha) is type(first.alpha)
    assert_array_equal(np.asarray(step(second, 1).alpha), np.asarray(step(first, 1).alpha))


# ------------------------------------------------------------------------------- the estimator


def data(n=40):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=n)


@each_solver
def test_an_interrupted_fit_goes_on_and_gives_the_same_answer(path, name):
    X, y = data()
    whole = fixed(solver=name).fit(X, y)
    after = min(INTERRUPTED, whole.n_iter_)
    estimator = fixed(solver=name, checkpoint=path).set_callbacks(InterruptAfter(after))
    with pytest.raises(FitInterrupted):
        estimator.fit(X, y)
    assert estimator.n_iter_ == after
    assert path.exists()
    resumed = fixed(solver=name, checkpoint=str(path)).fit(X, y)
    assert resumed.converged_
    assert resumed.n_iter_ == whole.n_iter_
    assert_array_equal(resumed.dual_coef_, whole.dual_coef_)
    assert_array_equal(resumed.predict(X), whole.predict(X))
    assert len(resumed.history_) == whole.n_iter_ - after + 1
    assert os.listdir(path.parent) == []


def test_learnt_hyperparameters_are_learnt_again(path):
    X, y = data()
    options = {"kernel": None, "noise_variance": None, "objective": "nlml", "solver": "gbcd"}
    whole = fixed(**options).fit(X, y)
    estimator = fixed(checkpoint=path, **options).set_callbacks(InterruptAfter(2))
    with pytest.raises(FitInterrupted):
        estimator.fit(X, y)
    assert_array_equal(fixed(checkpoint=path, **options).fit(X, y).dual_coef_, whole.dual_coef_)


def test_max_iter_counts_all_steps(path):
    X, y = data()
    for most in (2, 5):
        with pytest.warns(ConvergenceWarning, match="'max_iter'"):
            model = fixed(solver="smo", checkpoint=path, max_iter=most).fit(X, y)
        assert model.n_iter_ == most
    assert len(model.history_) == 1 + 3


def test_nothing_is_left_after_a_whole_fit(path):
    X, y = data()
    fixed(solver="gbcd", checkpoint=path).fit(X, y)
    assert os.listdir(path.parent) == []


def test_an_error_in_a_callback_leaves_no_partial_file(path):
    class Failing(InterruptAfter):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("in the callback")

    X, y = data()
    with pytest.raises(RuntimeError, match="in the callback"):
        fixed(solver="gbcd", checkpoint=path).set_callbacks(Failing(1)).fit(X, y)
    assert set(os.listdir(path.parent)) <= {path.name}


# ----------------------------------------------------------------------------------- the file


def test_it_is_written_now_and_then(Problem, path, monkeypatch):
    solver = Problem().solver("cg")
    file = Checkpoint(path, solver)
    file.after_step(1)
    assert not path.exists()
    monkeypatch.setattr(module, "SECONDS", -1.0)
    file.after_step(2)
    assert path.exists()
    assert Checkpoint(path, solver).resume() == 2
    file.remove()
    assert not path.exists()
    file.remove()


def test_folders_are_made(Problem, tmp_path):
    path = tmp_path / "runs" / "first" / "solve"
    solver = Problem().solver("cg")
    Checkpoint(path, solver).write(0)
    assert os.listdir(path.parent) == ["solve"]
    assert Checkpoint(path, solver).resume() == 0


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_writing_leaves_the_last_file(Problem, path, monkeypatch, error):
    solver = Problem().solver("cg")
    file = Checkpoint(path, solver)
    file.write(5)

    def failing(handle, **parts):
        handle.write(b"half")
        raise error

    monkeypatch.setattr(np, "savez", failing)
    with pytest.raises(type(error)):
        file.write(6)
    assert os.listdir(path.parent) == [path.name]
    assert Checkpoint(path, solver).resume() == 5


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "npy", "pickle", "no step", "bits"])
def test_a_damaged_file_is_refused(Problem, path, damage):
    solver = Problem().solver("gbcd", **SMALL)
    Checkpoint(path, solver).write(5)
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "garbage":
        path.write_bytes(b"not a file of numbers")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "npy":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif damage == "pickle":
        with path.open("wb") as file:
            np.savez(file, problem=np.array([{}], dtype=object))
    elif damage == "no step":
        with np.load(path) as stored, (path.parent / "other.npz").open("wb") as file:
            np.savez(file, **{name: stored[name] for name in stored.files if name != "alpha"})
        os.replace(path.parent / "other.npz", path)
    else:
        middle = len(whole) // 3
        path.write_bytes(
            whole[:middle]
            + bytes(255 - b for b in whole[middle : middle + 40])
            + whole[middle + 40 :]
        )
    before = solver.alpha.copy()
    with pytest.raises(ValueError, match=r"checkpoint: .*solve\.npz .*remove it, or give another"):
        Checkpoint(path, solver).resume()
    assert_array_equal(solver.alpha, before)


@pytest.mark.parametrize("other", ["X", "y", "weights", "kernel", "noise", "solver"])
def test_the_file_of_another_problem_is_refused(Problem, path, other):
    Checkpoint(path, Problem().solver("cg")).write(5)
    problem, name = Problem(), "cg"
    if other in ("X", "y"):
        getattr(problem, other)[0, 0] += 1e-9
    elif other == "weights":
        problem.weights = np.linspace(1, 2, 60)
    elif other == "kernel":
        problem.kernel = Gaussian(1.3, 0.5 + 1e-12)
    elif other == "noise":
        problem.noise = 0.1 + 1e-12
    else:
        name = "pcg"
    solver = problem.solver(name)
    with pytest.raises(ValueError, match=r"is of another solve \(other data, hyperparameters,"):
        Checkpoint(path, solver).resume()
    assert Checkpoint(path, Problem().solver("cg")).resume() == 5


def test_a_fit_refuses_the_file_of_other_data(path):
    X, y = data()
    with pytest.warns(ConvergenceWarning):
        fixed(solver="smo", checkpoint=path, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="another solve"):
        fixed(solver="smo", checkpoint=path).fit(X, -y)
    assert path.exists()


def test_a_folder_is_no_file(tmp_path):
    X, y = data()
    with pytest.raises(ValueError, match=r"checkpoint: .* cannot be read"):
        fixed(solver="smo", checkpoint=tmp_path).fit(X, y)


def test_without_a_checkpoint_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fixed(solver="smo", max_iter=1).fit(X, y)
    assert os.listdir(tmp_path) == []
