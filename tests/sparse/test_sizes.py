"""The size of a basis that moves, where the user does not say it."""

import numpy as np
import pytest

from greedygp import SparseGPRegressor
from greedygp.exceptions import FitInterrupted
from greedygp.sparse import fitting, sizes
from greedygp.sparse.sizes import PAYS, Tried, best_size, sizes_to_try
from recorders import InterruptAfter, Recorder, StopAfter


def trials(losses, **marks):
    """A way to learn that has these losses by size, and the list of sizes that were asked for."""
    asked = []

    def learn(size):
        asked.append(size)
        if losses[size] is KeyboardInterrupt:
            raise KeyboardInterrupt
        return Tried(f"model {size}", losses[size], **marks.get(f"at{size}", {}))

    return asked, learn


@pytest.mark.parametrize("n", [1, 2, 17, 2000, 2001, 15_000, 15_700, 10**6])
@pytest.mark.parametrize("most", [1, 30, 1000])
def test_sizes_are_multiples_of_the_root_of_the_rows_and_grow(n, most):
    found = np.array(sizes_to_try(n, most))
    assert np.all((found >= 1) & (found <= most))
    assert found[-1] >= min(most, int(16 * np.sqrt(n))) / sizes.STEP
    assert np.all(found[1:] >= sizes.STEP * found[:-1])


def test_sizes_are_tried_until_two_in_a_row_gain_little():
    losses = {10: 1.0, 20: 1.0 - 2 * PAYS, 40: 1.0 - 2.5 * PAYS, 80: 1.0 - 2.2 * PAYS, 160: 0.0}
    asked, learn = trials(losses)
    best = best_size((10, 20, 40, 80, 160), learn)
    assert asked == [10, 20, 40, 80]
    assert best.model == "model 40"  # it is better, though by little


def test_one_size_that_gains_little_is_passed_over():
    asked, learn = trials({10: 1.0, 20: 1.1, 40: 0.5, 80: 0.4})
    assert best_size((10, 20, 40, 80), learn).model == "model 80"
    assert asked == [10, 20, 40, 80]


def test_a_larger_basis_that_predicts_worse_is_not_kept():
    asked, learn = trials({10: 0.5, 20: 0.6, 40: 0.7, 80: 0.0})
    assert best_size((10, 20, 40, 80), learn).model == "model 10"
    assert asked == [10, 20, 40]


def test_no_larger_one_is_tried_where_time_is_up():
    asked, learn = trials({10: 1.0, 20: 0.0}, at10={"last": True})
    best = best_size((10, 20), learn)
    assert asked == [10]
    assert not best.interrupted


@pytest.mark.parametrize(("loss", "kept"), [(0.0, "model 20"), (2.0, "model 10")])
def test_ctrl_c_in_a_larger_one_keeps_the_better_model(loss, kept):
    asked, learn = trials({10: 1.0, 20: loss, 40: 0.0}, at20={"interrupted": True})
    best = best_size((10, 20, 40), learn)
    assert (best.model, best.interrupted, asked) == (kept, True, [10, 20])


def test_ctrl_c_before_a_larger_one_has_a_model_keeps_the_smaller_one():
    _, learn = trials({10: 1.0, 20: KeyboardInterrupt})
    best = best_size((10, 20), learn)
    assert (best.model, best.interrupted) == ("model 10", True)


def test_ctrl_c_before_there_is_any_model_goes_up():
    _, learn = trials({10: KeyboardInterrupt})
    with pytest.raises(KeyboardInterrupt):
        best_size((10, 20), learn)


# ----------------------------------------------------------------------------- in an estimator


@pytest.fixture(scope="module")
def wavy():
    """Rows of a function that a small basis cannot follow."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(400, 2))
    return X, np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.05 * rng.normal(size=400)


@pytest.fixture
def asks_from_300_rows(monkeypatch):
    monkeypatch.setattr(fitting, "FEWEST_ROWS", 300)


def model_of(X, y, callback=None, max_basis="auto", **options):
    model = SparseGPRegressor(max_basis=max_basis, max_iter=20, random_state=0, **options)
    if callback is not None:
        model.set_callbacks(callback)
    return model.fit(X, y)


def test_auto_tries_sizes_and_takes_the_best(wavy, asks_from_300_rows):
    model = model_of(*wavy)
    tried = list(model.rounds_["n_basis"])
    assert tried == [40, 80, 160, 320][: len(tried)]
    assert len(tried) > 1
    assert model.n_basis_ in tried
    assert set(model.trace_["round"]) == set(range(len(tried)))


def test_the_model_is_the_one_that_its_size_gives(wavy, asks_from_300_rows):
    """A size that was tried among others is learnt with as if it were given."""
    X, y = wavy
    model = model_of(X, y, criterion="info_gain")  # which draws no random numbers
    alone = model_of(X, y, criterion="info_gain", max_basis=model.n_basis_)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.objective_value_, alone.objective_value_, rtol=1e-9)
    assert model.approximation_ == alone.approximation_


def test_noise_takes_a_small_basis(asks_from_300_rows):
    rng = np.random.default_rng(1)
    model = model_of(rng.normal(size=(400, 3)), rng.normal(size=400))
    assert model.n_basis_ <= 80
    assert max(model.rounds_["n_basis"]) <= 160


def test_a_given_size_is_not_questioned(wavy, asks_from_300_rows):
    assert list(model_of(*wavy, max_basis=30).rounds_["n_basis"]) == [30]


def test_a_basis_that_stays_has_its_size_from_the_criterion(wavy, asks_from_300_rows):
    assert len(model_of(*wavy, refine_basis=False).rounds_) == 1


def ended(recorder, task):
    return sum(call[:2] == ("end", task) for call in recorder.calls)


def test_callbacks_hear_of_every_size(wavy, asks_from_300_rows):
    recorder = Recorder()
    model = model_of(*wavy, callback=recorder)
    assert len(model.rounds_) > 1
    assert ended(recorder, "select") == ended(recorder, "optimise") == len(model.rounds_)
    assert ended(recorder, "basis vector") == model.rounds_["n_basis"].sum()
    assert ended(recorder, "iteration") >= model.rounds_["n_iter"].sum()  # and those of rivals


def test_a_callback_that_ends_the_fit_ends_the_trials(wavy, asks_from_300_rows):
    model = model_of(*wavy, callback=StopAfter(50))  # 40 basis vectors, 10 iterations
    assert list(model.rounds_["n_basis"]) == [40]


def test_ctrl_c_while_a_larger_basis_is_selected_keeps_the_model(wavy, asks_from_300_rows):
    X, y = wavy
    first, steps = model_of(X, y, max_basis=40), Recorder()
    model_of(X, y, max_basis=40, callback=steps)
    model = SparseGPRegressor(max_basis="auto", max_iter=20, random_state=0)
    model.set_callbacks(InterruptAfter(steps.ended + 5))
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.n_basis_ == 40
    np.testing.assert_allclose(model.kernel_.theta, first.kernel_.theta, rtol=1e-6)
    np.testing.assert_allclose(model.basis_, first.basis_, rtol=1e-6, atol=1e-6)
