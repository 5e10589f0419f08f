"""Candidate columns, their products, and what is held in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.kernels import Gaussian
from greedygp.linear import dictionary as module
from greedygp.linear.dictionary import FEW_LINES, LARGE, Dictionary, Store, few_lines_times
from reference import sparse_linear as reference
from tolerances import assert_close


def make(held, weights=None, intercept=True, N=57):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    kernel = Gaussian(1.0, 1.3)
    limit = 2**29 if held else 4 * N * N
    dictionary = Dictionary.of_kernel(kernel, X, weights, intercept, memory_limit=limit)
    assert (dictionary.held is not None) == held
    return dictionary, reference.centred(kernel(X), weights, intercept)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_columns_and_products(held, intercept, weighted, monkeypatch):
    monkeypatch.setattr(module, "TILE_BYTES", 8 * 57 * 10)  # several tiles
    weights = np.random.default_rng(1).uniform(0.2, 3, 57) if weighted else None
    d, Phi = make(held, weights, intercept)
    assert_allclose(d.columns([5, 0, 56]), Phi.T[[5, 0, 56]], atol=1e-12)
    assert_allclose(d.square_norms, np.sum(Phi**2, axis=0), rtol=1e-12)
    lines = np.random.default_rng(2).normal(size=(4, 57))
    for k in (1, 2, 4):
        assert_allclose(d.products(lines[:k]), lines[:k] @ Phi, atol=1e-12)
    gram = Phi.T @ Phi
    assert_allclose(d.gram(7, [8, 9]), gram[7], atol=1e-12)
    assert len(d.grams) == 3
    for j in range(57):  # beyond the point where all of them are computed, if they fit
        assert_allclose(d.gram(j), gram[j], atol=1e-12)
    assert_allclose(d.peaks, 1.0)


def test_nothing_large_is_held(monkeypatch):
    d, _ = make(held=False)
    for j in range(57):
        d.gram(j)
    assert d._whole is None
    assert d.grams.bytes <= 4 * 57 * 57


@pytest.mark.parametrize("room", [True, False])
def test_all_gram_rows_are_computed_where_they_just_fit(room):
    Phi = np.random.default_rng(0).normal(size=(20, 57))
    d = Dictionary.of_matrix(Phi, memory_limit=8 * 57 * 57 - (not room))
    for j in range(10):
        d.gram(j)
    assert (d._whole is not None) == room


def test_design_matrix_is_not_copied():
    Phi = np.random.default_rng(0).normal(size=(20, 7))
    d = Dictionary.of_matrix(Phi)
    assert np.shares_memory(d.held, Phi)
    before = Phi.copy()
    d.columns([1])[0][:] = 0.0
    assert_array_equal(Phi, before)


@pytest.mark.parametrize("value", [0.0, 1.0, 3.7e5, 1e-9])
def test_constant_columns_are_zero_columns(value):
    Phi = np.random.default_rng(0).normal(size=(20, 3))
    Phi[:, 1] = value
    d = Dictionary.of_matrix(Phi)
    assert d.square_norms[1] == 0.0
    assert np.all(d.square_norms[[0, 2]] > 0)


def test_constant_target():
    d = Dictionary.of_matrix(np.random.default_rng(0).normal(size=(20, 3)))
    t, mean = d.centred(np.full(20, 0.1) * 3)
    assert_array_equal(t, 0.0)
    assert mean == pytest.approx(0.3)


def test_store_forgets_the_least_recently_used():
    store = Store(3 * 80)
    for key in range(3):
        store.put(key, np.zeros(10))
    store.get(0)
    store.put(3, np.zeros(10))
    assert 1 not in store
    assert all(key in store for key in (0, 2, 3))
    assert store.bytes == 240
    store.put(3, np.zeros(5))
    assert store.bytes == 200
    assert store.get(9) is None


@pytest.mark.parametrize("columns", [5, LARGE // 4])
@pytest.mark.parametrize("count", [1, 2, FEW_LINES, FEW_LINES + 1])
def test_few_lines_times_a_matrix(count, columns):
    rng = np.random.default_rng(0)
    lines, matrix = rng.normal(size=(count, 8)), rng.normal(size=(8, columns))
    assert_close(few_lines_times(lines, matrix), lines @ matrix)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_all_gram_rows_in_tiles(monkeypatch, weighted, intercept):
    """Against the product of the weighted, centred columns; what is held stays as it is."""
    rng = np.random.default_rng(0)
    Phi, weights = rng.normal(size=(30, 6)), rng.uniform(0.5, 2.0, size=30) if weighted else None
    before = Phi.copy()
    d = Dictionary.of_matrix(Phi, weights, intercept)
    columns = d.columns(range(6))
    for rows in (30, 7):
        monkeypatch.setattr(module, "GRAM_TILE_BYTES", 8 * 6 * rows)
        assert_close(d._whole_gram(), columns @ columns.T)
    assert_array_equal(Phi, before)
