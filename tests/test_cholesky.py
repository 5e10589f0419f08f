"""Growing matrices and factors against dense ones, and jitter that is reported."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.cholesky import (
    JITTERS,
    STEP,
    GrowingFactor,
    GrowingMatrix,
    GrowingTriangle,
    factor_and_inverse_with_sites,
    factorise,
    factorise_with_sites,
    inverse_from_factor,
)
from greedygp.exceptions import NotPositiveDefiniteError
from tolerances import assert_close

SIZES = (0, 1, 5, STEP - 1, STEP, STEP + 1, 2 * STEP + 3)


def lower(m, seed=0):
    """A well-conditioned lower triangular matrix."""
    rng = np.random.default_rng(seed)
    return np.tril(rng.normal(size=(m, m)), -1) / max(m, 1) + np.diag(rng.uniform(1, 2, size=m))


def grown_factor(L):
    factor = GrowingFactor()
    for m in range(len(L)):
        factor.append(L[m, :m], L[m, m])
    return factor


# --------------------------------------------------------------------------------- growing


@pytest.mark.parametrize("m", SIZES)
def test_factor_grows(m):
    L = lower(m)
    factor = grown_factor(L)
    assert factor.size == m
    assert_array_equal(factor.lower, L)


@pytest.mark.parametrize("m", SIZES)
def test_triangle_grows(m):
    U = lower(m).T
    triangle = GrowingTriangle()
    for k in range(m):
        triangle.append(U[:k, k], U[k, k])
    assert_array_equal(triangle.square, U)


@pytest.mark.parametrize("m", SIZES)
def test_symmetric_matrix_grows(m):
    S = lower(m) + lower(m).T
    matrix = GrowingMatrix()
    for k in range(m):
        matrix.append_symmetric(S[k, : k + 1])
    assert_array_equal(matrix.square, S)


def test_earlier_entries_stay_while_growing():
    L = lower(STEP + 2)
    factor = GrowingFactor()
    for m in range(len(L)):
        factor.append(L[m, :m], L[m, m])
        assert_array_equal(factor.lower, L[: m + 1, : m + 1])


# --------------------------------------------------------------------------------- solving


@pytest.mark.parametrize("m", SIZES)
class TestSolves:
    def right(self, *shape):
        return np.random.default_rng(1).normal(size=shape)

    def test_vector(self, m):
        L, b = lower(m), self.right(m)
        factor = grown_factor(L)
        for solved, matrix in (
            (factor.solve(b), L),
            (factor.solve_transposed(b), L.T),
            (factor.solve_rows(b), L),
        ):
            assert solved.shape == (m,)
            assert_close(solved, np.linalg.solve(matrix, b))

    @pytest.mark.parametrize("columns", [1, 3])
    def test_columns(self, m, columns):
        L, B = lower(m), self.right(m, columns)
        factor = grown_factor(L)
        assert_close(factor.solve(B), np.linalg.solve(L, B))
        assert_close(factor.solve_transposed(B), np.linalg.solve(L.T, B))

    @pytest.mark.parametrize("rows", [1, 4])
    def test_rows(self, m, rows):
        L, R = lower(m), self.right(rows, m)
        expected = np.linalg.solve(L, R.T).T
        solved = grown_factor(L).solve_rows(R)
        assert solved.shape == (rows, m)
        assert_close(solved, expected)

    def test_right_hand_sides_are_left_alone(self, m):
        factor, b, B = grown_factor(lower(m)), self.right(m), self.right(m, 3)
        b_before, B_before = b.copy(), B.copy()
        factor.solve(b), factor.solve(B), factor.solve_transposed(B), factor.solve_rows(B.T)
        assert_array_equal(b, b_before)
        assert_array_equal(B, B_before)
        assert_array_equal(factor.lower, lower(m))


# -------------------------------------------------------------------------------- replacing


@pytest.mark.parametrize("before", [0, 3, STEP, STEP + 5])
@pytest.mark.parametrize("after", [0, 2, STEP - 1, STEP, STEP + 1])
def test_replace_then_append(before, after):
    """Nothing of the matrix that was there shows, neither at once nor when it grows again."""
    factor, L = grown_factor(lower(before, seed=1)), lower(after + 3, seed=2)
    factor.replace(L[:after, :after])
    assert_array_equal(factor.lower, L[:after, :after])
    for m in range(after, after + 3):
        factor.append(L[m, :m], L[m, m])
    assert_array_equal(factor.lower, L)
    b = np.arange(after + 3.0)
    assert_allclose(factor.solve(b), np.linalg.solve(L, b), rtol=0, atol=1e-10)
    assert_allclose(factor.solve_transposed(b), np.linalg.solve(L.T, b), rtol=0, atol=1e-10)


def test_replace_keeps_a_copy():
    L = lower(3)
    factor = GrowingFactor()
    factor.replace(L)
    L[...] = np.nan
    assert_array_equal(factor.lower, lower(3))


# ------------------------------------------------------------------------------ factorising


def spectrum(values, seed=0):
    """Return a symmetric matrix with these eigenvalues."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    S = (Q * np.asarray(values)) @ Q.T
    return 0.5 * (S + S.T)


def test_factorise_needs_no_jitter():
    S = spectrum([1.0, 2.0, 3.0, 4.0])
    factor, jitter = factorise(S, "S", "")
    assert jitter == 0
    assert_close(factor @ factor.T, S)
    assert_array_equal(factor, np.tril(factor))


def test_factorise_reads_the_lower_triangle():
    S = spectrum([1.0, 2.0, 3.0])
    spoilt = S.copy()
    spoilt[np.triu_indices(3, 1)] = np.nan
    assert_allclose(factorise(spoilt, "S", "")[0], factorise(S, "S", "")[0])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("smallest", [-1e-13, -1e-9, -1e-7])
def test_factorise_reports_the_least_jitter(smallest, scale):
    """The jitter is relative to the mean of the diagonal, and what is returned was added."""
    S = scale * spectrum([smallest, 1.0, 1.0, 2.0])
    factor, jitter = factorise(S, "S", "")
    mean = np.mean(np.diag(S))
    tried = [relative * mean for relative in JITTERS]
    assert jitter in tried
    assert jitter > -0.9 * smallest * scale
    assert jitter <= -200 * smallest * scale
    assert_close(factor @ factor.T, S + jitter * np.eye(4))


def test_factorise_leaves_the_matrix_alone():
    S = spectrum([-1e-9, 1.0, 2.0])
    before = S.copy()
    factorise(S, "S", "")
    assert_array_equal(S, before)


def test_factorise_nothing():
    factor, jitter = factorise(np.zeros((0, 0)), "S", "")
    assert factor.shape == (0, 0)
    assert jitter == 0


def test_the_error_says_what_to_do():
    S = spectrum([-1.0, 4.0, 5.0, 4.0])  # the mean of the diagonal is 3
    message = (
        r"^The matrix S \(4 x 4\) is not positive definite, even with a jitter of 3\.0e-06 on its "
        r"diagonal\. Try another one\.$"
    )
    with pytest.raises(NotPositiveDefiniteError, match=message):
        factorise(S, "The matrix S", "Try another one.")


def test_what_is_not_a_number_is_not_positive_definite():
    S = spectrum([1.0, 2.0, 3.0])
    S[1, 1] = np.nan
    with pytest.raises(NotPositiveDefiniteError, match="S"):
        factorise(S, "S", "")


def test_the_error_is_a_value_error():
    assert issubclass(NotPositiveDefiniteError, ValueError)


# ----------------------------------------------------------------------------------- sites


@pytest.mark.parametrize("precisions", [[2.0, 0.5, 3.0, 1e4], [2.0, 0.0, 3.0, 1e-8]])
def test_a_kernel_matrix_with_sites(precisions):
    """With precisions zero the inverse is that of the other rows, and zero elsewhere."""
    K, root = spectrum([1e-17, 1.0, 2.0, 3.0]), np.sqrt(precisions)
    L = factorise_with_sites(K, root)
    assert_allclose(L @ L.T, np.eye(4) + np.diag(root) @ K @ np.diag(root), rtol=1e-12)
    W, some = np.zeros((4, 4)), np.flatnonzero(precisions)
    pair = np.ix_(some, some)
    W[pair] = np.linalg.inv(K[pair] + np.diag(1.0 / np.array(precisions)[some]))
    diagonal, inverse = factor_and_inverse_with_sites(K, root, np.empty((4, 4)))
    assert_allclose(diagonal, np.diagonal(L), rtol=1e-12)
    assert_allclose(inverse @ L, np.eye(4), atol=1e-10)
    assert_allclose(inverse_from_factor(inverse, root), W, rtol=1e-10, atol=1e-12)


def test_sites_that_are_not_numbers():
    with pytest.raises(NotPositiveDefiniteError, match=r"I \+ S K S .*kernel's variance"):
        factorise_with_sites(np.eye(3), np.array([1.0, np.nan, 1.0]))
    with pytest.raises(NotPositiveDefiniteError, match=r"I \+ S K S .*kernel's variance"):
        factor_and_inverse_with_sites(np.eye(3), np.array([1.0, np.nan, 1.0]), np.empty((3, 3)))
