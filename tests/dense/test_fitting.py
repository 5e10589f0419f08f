"""A fit under way: callbacks, limits, interrupts, warnings, a change of the solver."""

import gc
import warnings
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from dense.models import NAMES, data, fixed
from greedygp.dense import choosing, fitting
from greedygp.dense.estimator import GPRegressor
from greedygp.exceptions import FitInterrupted
from recorders import InterruptAfter, Recorder, Slow, StopAfter
from scikit_versions import FitCallback, ProgressBar, ScoringMonitor

each_solver = pytest.mark.parametrize("solver", NAMES)


# ------------------------------------------------------------------------- callbacks, limits


@each_solver
def test_callback_sees_every_step(solver):
    X, y = data()
    recorder = Recorder()
    model = fixed(solver=solver).set_callbacks(recorder).fit(X, y)
    assert isinstance(recorder, FitCallback)
    assert recorder.ended == model.n_iter_ >= 1
    assert recorder.calls[0] == "setup"
    assert recorder.calls[-1] == "teardown"
    steps = [call for call in recorder.calls[1:-1] if call[:2] == ("begin", "step")]
    assert len(steps) == model.n_iter_
    assert_array_equal(model.dual_coef_, fixed(solver=solver).fit(X, y).dual_coef_)


def test_callback_stops_the_solve():
    X, y = data()
    estimator = fixed(solver="smo").set_callbacks(StopAfter(3))
    with pytest.warns(ConvergenceWarning, match="'callback' after 3 steps of 'smo'"):
        model = estimator.fit(X, y)
    assert (model.status_, model.n_iter_, model.converged_) == ("callback", 3, False)
    with pytest.warns(ConvergenceWarning):
        three = fixed(solver="smo", max_iter=3).fit(X, y)
    assert_array_equal(model.dual_coef_, three.dual_coef_)


def test_an_interrupt_leaves_a_model():
    X, y = data()
    model = fixed(solver="smo").set_callbacks(InterruptAfter(4))
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert (model.status_, model.n_iter_) == ("interrupted", 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.all(np.isfinite(model.predict(X, return_std=True)))


def test_time_limit():
    X, y = data()
    estimator = fixed(solver="smo", tol=1e-12, time_limit=0.1).set_callbacks(Slow())
    with pytest.warns(ConvergenceWarning, match="'time_limit' after .* Raise max_iter, time_limit"):
        model = estimator.fit(X, y)
    assert model.n_iter_ <= 6  # five steps take as long, on a machine that is not busy
    assert model.status_ == "time_limit"


def test_a_time_limit_of_next_to_nothing():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="'time_limit' after 0 steps"):
        model = GPRegressor(solver="smo", time_limit=1e-9, random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.predict(X, return_std=True)))
    model = GPRegressor(time_limit=1e-9, random_state=0).fit(X, y)
    assert (model.solver_, model.status_) == ("cholesky", "converged")
    assert model.score(X, y) > 0.5  # the kernel may not be learnt; what it says of the rows is


@pytest.mark.parametrize("max_iter", [0, 2])
def test_max_iter_and_the_words_of_the_warning(max_iter):
    X, y = data()
    message = (
        rf"The solve ended with 'max_iter' after {max_iter} steps of 'smo' at a gradient of "
        rf"\d\.\de[-+]\d\d; {1e-6 * np.std(y):.1e} was asked for\. Raise max_iter, time_limit or "
        r"tol, or try another solver\."
    )
    with pytest.warns(ConvergenceWarning, match=message) as warned:
        model = fixed(solver="smo", max_iter=max_iter).fit(X, y)
    assert warned[0].filename == __file__
    assert (model.status_, model.n_iter_) == ("max_iter", max_iter)
    assert model.gradient_norm_ > 1e-6


def test_a_tolerance_below_rounding_is_told():
    X, y = data()
    for solver in ("cholesky", "cg", "pcg", "gbcd"):
        with pytest.warns(ConvergenceWarning, match=r"'stalled'.*Raise tol or noise_variance"):
            model = fixed(solver=solver, tol=1e-18).fit(X, y)
        assert model.gradient_norm_ < 1e-12
        assert_allclose(model.predict(X), fixed().fit(X, y).predict(X), rtol=0, atol=1e-10)


def test_no_warning_without_a_reason():
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for solver in NAMES:
            fixed(solver=solver).fit(X, y).predict(X, return_std=True)
        GPRegressor(random_state=0).fit(X, y).predict(X, return_std=True)


def test_variances_that_did_not_converge_are_told_where_they_were_asked_for():
    X, y = data()
    model = fixed(solver="smo", max_iter=4, memory_limit=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="variances"):
        model.predict(X, return_std=True)


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    X, y = data()
    fixed(solver="gbcd").set_callbacks(ProgressBar()).fit(X, y)
    assert "GPRegressor" in capsys.readouterr().out


def test_scoring_monitor():
    """The model as of each step is given to the callbacks, and scores better and better."""
    X, y = data()
    monitor = ScoringMonitor(scoring="r2")
    model = fixed(solver="gbcd").set_callbacks(monitor).fit(X, y)
    logs = monitor.get_logs()
    logs = logs[0] if isinstance(logs, list) else logs
    scores = [row["r2"] for row in logs.data if row["task_name"] == "step"]
    assert len(scores) == model.n_iter_
    assert scores[-1] == pytest.approx(model.score(X, y), abs=1e-6)
    assert scores[-1] > scores[0]


@pytest.mark.parametrize("solver", ["pcg", "cholesky"])
@pytest.mark.parametrize("watched", [False, True])
def test_the_matrix_does_not_outlive_the_fit(monkeypatch, solver, watched):
    """Without waiting for the garbage collector: it may be large."""
    systems = []

    class Noted(fitting.System):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            systems.append(weakref.ref(self))

    monkeypatch.setattr(fitting, "System", Noted)
    estimator = fixed(solver=solver)
    if watched:
        estimator.set_callbacks(Recorder())
    gc.disable()
    try:
        estimator.fit(*data())
        assert [system() for system in systems] == [None]
    finally:
        gc.enable()


# ---------------------------------------------------------- conjugate gradients without hope


@pytest.fixture
def hopeless(monkeypatch):
    """Begin with conjugate gradients even for a few rows, and give them up after 3 steps."""
    monkeypatch.setattr(fitting, "choose_solver", lambda *sizes: "pcg")
    monkeypatch.setattr(choosing, "is_hopeless", lambda norms, tol, n: len(norms) > 3)


def test_steps_without_hope_are_followed_by_a_factorisation(hopeless):
    X, y = data()
    options = {"solver": "auto", "preconditioner_rank": 1, "noise_variance": 1e-3}
    recorder = Recorder()
    model = fixed(**options).set_callbacks(recorder).fit(X, y)
    assert (model.solver_, model.status_) == ("cholesky", "converged")
    assert model.n_iter_ == recorder.ended == 4
    assert len(model.history_) == 5
    assert np.all(np.diff(model.history_["seconds"]) >= 0.0)
    assert np.all(np.diff(model.history_["kernel_passes"]) >= 0.0)
    direct = fixed(solver="cholesky", noise_variance=1e-3).fit(X, y)
    for a, b in zip(model.predict(X, True), direct.predict(X, True), strict=True):
        assert_allclose(a, b, rtol=0, atol=1e-9)
    assert_allclose(model.loo_predict()[0], direct.loo_predict()[0], rtol=0, atol=1e-9)


def test_who_chose_the_solver_keeps_it(hopeless):
    X, y = data()
    options = {"preconditioner_rank": 1, "noise_variance": 1e-3}
    assert fixed(solver="pcg", **options).fit(X, y).solver_ == "pcg"
    assert fixed(solver="auto", memory_limit=0, **options).fit(X, y).solver_ == "pcg"


def test_a_factorisation_in_the_end_leaves_no_file(hopeless, tmp_path, monkeypatch):
    """The file of the steps before is not taken for that of the factorisation."""
    monkeypatch.setattr("greedygp.dense.checkpoint.SECONDS", -1.0)
    X, y = data()
    options = {"solver": "auto", "preconditioner_rank": 1, "noise_variance": 1e-3}
    model = fixed(**options, checkpoint=tmp_path / "solve.npz").fit(X, y)
    assert (model.solver_, model.status_) == ("cholesky", "converged")
    assert list(tmp_path.iterdir()) == []


def test_a_callback_that_stops_is_obeyed_before_that(hopeless):
    X, y = data()
    options = {"solver": "auto", "preconditioner_rank": 1, "noise_variance": 1e-3}
    model = fixed(**options).set_callbacks(StopAfter(3))
    with pytest.warns(ConvergenceWarning, match="'callback' after 3 steps of 'pcg'"):
        model.fit(X, y)
    assert model.solver_ == "pcg"
