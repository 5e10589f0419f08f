"""Candidates: the two forms agree, with each other, with the definition and when carried along."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.sparse.candidates import (
    advance,
    evaluate,
    evaluate_one,
    fill_kernel_rows,
    make_buffers,
)
from tolerances import assert_close, rounding

BASIS = [4, 17, 0, 25, 9]
OTHERS = np.array([1, 2, 8, 14, 20, 27])

pytestmark = pytest.mark.usefixtures("three_blocks")


def joined(rows):
    return np.concatenate([np.asarray(part) for part in rows], axis=-1)


def assert_same(got, expected, tolerance, names=("e2", "d2", "gain")):
    for name in names:
        value = getattr(expected, name)
        atol = tolerance * max(1.0, np.max(np.abs(value), initial=0.0))
        assert_allclose(getattr(got, name), value, rtol=0, atol=atol, err_msg=name)


def assert_same_rows(got, expected, tolerance, names=("residual",)):
    for name in names:
        value = joined(getattr(expected, name))
        atol = tolerance * max(1.0, np.max(np.abs(value)))
        assert_allclose(joined(getattr(got, name)), value, rtol=0, atol=atol, err_msg=name)


# ------------------------------------------------------------------------------ evaluation


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_direct_and_stable_form_agree(SmallProblem, size, p, weights):
    problem = SmallProblem(p=p, weights=weights)
    direct = problem.evaluate(problem.grown(BASIS[:size]), OTHERS)
    stable = problem.evaluate(problem.grown(BASIS[:size], keep_v=True), OTHERS)
    assert not direct.stable
    assert stable.stable
    assert_same(direct, stable, 1e-11, ("e2", "d2", "gain", "nu", "prior"))
    assert_same_rows(direct, stable, 1e-11)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-8])
def test_forms_differ_by_the_digits_that_cancel(SmallProblem, noise):
    """In the direct form the sum `k_j + |Kt_j|^2` is rounded before most of it is taken away."""
    problem = SmallProblem(n=60, length_scale=2.5, noise=noise)
    state = problem.grown(range(10), keep_v=True)
    stable = problem.evaluate(state, np.arange(10, 20))
    state.keep_v = False
    direct = problem.evaluate(state, np.arange(10, 20))
    lost = rounding() * (direct.prior + direct.base2)
    assert np.all(np.abs(direct.d2 - stable.d2) < lost)
    assert_close(direct.e2, stable.e2, scale=np.max(direct.prior))


@pytest.mark.parametrize("approximation", ["dtc", "fitc"])
@pytest.mark.parametrize("keep_v", [True, False])
def test_evaluation_equals_the_definition(SmallProblem, keep_v, approximation):
    """With Lambda frozen, a candidate's numbers are the last ones of the grown factors."""
    problem = SmallProblem(p=2, weights=True)
    state = problem.grown(BASIS, keep_v=keep_v, approximation=approximation)
    scale = problem.dense(state).scale
    found = problem.evaluate(state, OTHERS)
    kernel, X = problem.reference_kernel, problem.X
    for i, j in enumerate(OTHERS):
        basis = X[[*BASIS, j]]
        Kt = kernel(basis, X) * scale
        L = np.linalg.cholesky(kernel(basis, basis) + Kt @ Kt.T)
        zeta = np.linalg.solve(L, Kt)[-1]
        G = np.linalg.cholesky(kernel(basis, basis))
        assert_allclose(found.e2[i], G[-1, -1] ** 2, rtol=1e-9)
        assert_allclose(found.nu[i], G[-1, :-1], rtol=0, atol=1e-10)
        assert_allclose(found.d2[i], L[-1, -1] ** 2, rtol=1e-9)
        assert_allclose(joined(found.residual)[i], zeta * L[-1, -1], rtol=0, atol=1e-8)
        assert_allclose(found.gain[i] / L[-1, -1], (problem.y * scale) @ zeta, atol=1e-8)


def test_inputs_that_are_not_training_rows(SmallProblem):
    """Anywhere in the input space: the stable form, with the same numbers at a training row."""
    problem = SmallProblem(p=2)
    state = problem.grown(BASIS)
    expected = problem.evaluate(state, OTHERS)
    found = problem.evaluate(state, OTHERS, from_rows=False)
    assert found.stable
    assert state.keep_v
    assert_same(found, expected, 1e-11)
    assert_same_rows(found, expected, 1e-11)


def test_base_of_the_direct_form_is_the_kernel_row(SmallProblem):
    """The entry of the candidate's own row, changed for a product, is put back exactly."""
    problem = SmallProblem(weights=True)
    state = problem.grown(BASIS)
    found = problem.evaluate(state, OTHERS)
    blocks = state.rows.blocks
    expected = [block.cross(problem.X[OTHERS]) * block.row_scale for block in blocks]
    assert_array_equal(joined(found.base), np.concatenate(expected, axis=1))
    assert_allclose(found.base2, np.sum(joined(found.base) ** 2, axis=1), rtol=1e-12)


@pytest.mark.parametrize("keep_v", [True, False])
def test_one_alone_equals_one_of_many(SmallProblem, keep_v):
    problem = SmallProblem()
    state = problem.grown(BASIS, keep_v=keep_v)
    many = problem.evaluate(state, OTHERS, with_residual=False)
    for i, j in enumerate(OTHERS):
        one = evaluate_one(state, int(j), problem.X[j], from_rows=True)
        assert one.residual is None
        assert len(one) == 1
        for name in ("e2", "d2", "gain", "z", "nu"):
            assert_allclose(getattr(one, name)[0], getattr(many, name)[i], rtol=0, atol=1e-10)


@pytest.mark.parametrize("keep_v", [True, False])
def test_kernel_rows_may_be_prepared(SmallProblem, keep_v):
    problem = SmallProblem(p=2, weights=True)
    state = problem.grown(BASIS, keep_v=keep_v)
    buffers = make_buffers(state, len(OTHERS) + 1), make_buffers(state, len(OTHERS))
    fill_kernel_rows(state, problem.X[OTHERS], buffers[0]).results()
    found = evaluate(
        state,
        OTHERS,
        problem.X[OTHERS],
        from_rows=True,
        with_residual=True,
        buffers=buffers,
        kernel_rows_ready=True,
    )
    expected = problem.evaluate(state, OTHERS)
    assert_same(found, expected, rounding())
    assert_same_rows(found, expected, rounding(), ("base", "residual"))


def test_column(SmallProblem):
    problem = SmallProblem(p=2)
    found = problem.evaluate(problem.grown(BASIS), OTHERS)
    column = found.column(3)
    assert column.index == OTHERS[3]
    assert column.e == np.sqrt(found.e2[3])
    assert not column.stable
    assert_array_equal(column.inputs, problem.X[OTHERS[3]])
    assert_array_equal(np.concatenate(column.base), joined(found.base)[3])
    assert_array_equal(np.concatenate(column.residual), joined(found.residual)[3])


def test_float32(SmallProblem):
    single, double = SmallProblem(dtype=np.float32), SmallProblem()
    found = single.evaluate(single.grown(BASIS), OTHERS)
    expected = double.evaluate(double.grown(BASIS, keep_v=True), OTHERS)
    assert found.stable
    assert_same(found, expected, 1e-4)
    assert joined(found.residual).dtype == np.float32


# --------------------------------------------------------------------- what cannot be used


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("keep_v", [True, False])
def test_duplicates_of_basis_vectors_are_dependent(SmallProblem, keep_v, dtype):
    problem = SmallProblem(dtype=dtype)
    problem.X[5] = problem.X[17]
    state = problem.grown(BASIS, keep_v=keep_v)
    found = problem.evaluate(state, [5, 8, 17, 20])
    assert_array_equal(found.dependent(state.backend), [True, False, True, False])


def test_nothing_depends_on_an_empty_basis(SmallProblem):
    problem = SmallProblem()
    state = problem.state()
    assert not np.any(problem.evaluate(state, OTHERS).dependent(state.backend))


@pytest.mark.parametrize("d2", [0.0, -1.0, np.nan])
@pytest.mark.parametrize("keep_v", [True, False])
def test_without_a_new_direction_is_dependent(SmallProblem, keep_v, d2):
    problem = SmallProblem()
    state = problem.grown(BASIS, keep_v=keep_v)
    found = problem.evaluate(state, OTHERS)
    found.d2[2] = d2
    expected = np.arange(len(OTHERS)) == 2
    assert_array_equal(found.dependent(state.backend), expected)


def test_tiny_noise_is_unreliable_in_the_direct_form_only(SmallProblem):
    options = {"n": 60, "length_scale": 2.5}
    noisy, exact = SmallProblem(noise=1e-1, **options), SmallProblem(noise=1e-8, **options)
    for problem, unreliable in ((noisy, False), (exact, True)):
        state = problem.grown(range(10), keep_v=True)
        found = problem.evaluate(state, np.arange(10, 20))
        assert not found.unreliable(state.backend)
        state.keep_v = False
        found = problem.evaluate(state, np.arange(10, 20))
        assert not found.stable
        assert found.unreliable(state.backend) == unreliable


def test_dependent_candidates_are_not_unreliable(SmallProblem):
    """There is nothing of them to lose."""
    problem = SmallProblem()
    problem.X[5] = problem.X[17]
    state = problem.grown(BASIS)
    assert not problem.evaluate(state, [5]).unreliable(state.backend)


# -------------------------------------------------------------------------------- carrying


@pytest.mark.parametrize("with_residual", [True, False])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("keep_v", [True, False])
def test_carried_candidates_equal_fresh_ones(SmallProblem, keep_v, weights, with_residual):
    problem = SmallProblem(p=2, weights=weights)
    state = problem.state(keep_v=keep_v)
    kept = problem.evaluate(state, OTHERS, with_residual=with_residual)
    for j in BASIS:
        appended = problem.append(state, j)
        advance(kept, state, appended)
        fresh = problem.evaluate(state, OTHERS, with_residual=with_residual)
        assert_same(kept, fresh, 1e-11, ("e2", "d2", "gain", "z", "nu", "base2"))
        assert_same_rows(kept, fresh, 1e-11, ("base", "residual") if with_residual else ("base",))
    assert kept.z.shape == kept.nu.shape == (len(OTHERS), len(BASIS))
    assert (kept.residual is None) == (not with_residual)


@pytest.mark.parametrize("keep_v", [True, False])
def test_a_carried_candidate_can_be_appended(SmallProblem, keep_v):
    problem = SmallProblem(p=2)
    state = problem.grown(BASIS[:2], keep_v=keep_v)
    kept = problem.evaluate(state, OTHERS)
    for j in BASIS[2:]:
        advance(kept, state, problem.append(state, j))
    state.append(kept.column(1))
    expected = problem.grown([*BASIS, OTHERS[1]], keep_v=keep_v)
    assert_allclose(state.w, expected.w, atol=1e-10)
    assert_allclose(state.L_B.lower, expected.L_B.lower, atol=1e-10)
    assert_allclose(state.nlml(), expected.nlml(), rtol=1e-12)


@pytest.mark.parametrize("keep_v", [True, False])
def test_more_carried_candidates_than_are_updated_at_a_time(SmallProblem, keep_v):
    problem = SmallProblem(n=50)
    state = problem.grown(BASIS[:3], keep_v=keep_v)
    others = np.arange(30, 50)
    kept = problem.evaluate(state, others)
    advance(kept, state, problem.append(state, BASIS[3]))
    assert_same_rows(kept, problem.evaluate(state, others), 1e-11, ("base", "residual"))
