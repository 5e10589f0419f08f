"""A first look at rows: counts, moments, a fingerprint, and where something is wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.rows import ArrayRows, Chunk, memory, survey
from greedygp.rows.survey import check_inputs


def problem(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), 1e6 + rng.normal(size=(n, 2))
    weights = rng.uniform(size=n) * (rng.uniform(size=n) > 0.2)
    return X, y, weights


@pytest.mark.parametrize("rows", [7, 100, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_whatever_the_chunks(rows, weighted, monkeypatch):
    monkeypatch.setattr(memory, "READ_ROWS", rows)
    X, y, weights = problem()
    weights = weights if weighted else None
    found = survey(ArrayRows(X, y, weights))
    total = len(X) if weights is None else weights.sum()
    mean = np.average(y, axis=0, weights=weights)
    assert found.n_rows == 500
    assert found.n_used == (500 if weights is None else np.count_nonzero(weights))
    assert_allclose(found.weight, total)
    assert found.largest == (1.0 if weights is None else weights.max())
    assert_allclose(found.mean, mean, rtol=1e-14)
    assert_allclose(found.variance, np.average((y - mean) ** 2, axis=0, weights=weights), rtol=1e-9)


class TestFingerprint:
    def of(self, *arrays, rows=100):
        return survey(ArrayRows(*arrays)).fingerprint

    def test_the_same_whatever_the_chunks(self, monkeypatch):
        arrays = problem()
        found = set()
        for rows in (7, 64, 1000):
            monkeypatch.setattr(memory, "READ_ROWS", rows)
            found.add(self.of(*arrays))
        assert len(found) == 1

    def test_another_for_other_data(self):
        X, y, weights = problem()
        found = {self.of(X, y, weights)}
        for array, place in ((X, (400, 1)), (y, (3, 0)), (weights, 5)):
            before = array[place]
            array[place] += 1e-9
            found.add(self.of(X, y, weights))
            array[place] = before
        found.add(self.of(X[::-1], y, weights))
        found.add(self.of(X[:, ::-1], y, weights))
        found.add(self.of(X[:-1], y[:-1], weights[:-1]))
        assert len(found) == 7


class TestSentences:
    @pytest.fixture(autouse=True)
    def small_chunks(self, monkeypatch):
        monkeypatch.setattr(memory, "READ_ROWS", 64)

    @pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (-np.inf, "infinity")])
    def test_a_far_row(self, value, name):
        X, y, _ = problem()
        X[431, 2] = value
        match = rf"Input X contains {name} in row 431 \(counted from 0\), column 2; impute"
        with pytest.raises(ValueError, match=match):
            survey(ArrayRows(X, y))

    def test_a_far_row_of_a_file(self, tmp_path):
        X, y, _ = problem()
        y[400:403, 1] = np.nan
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        match = r"Input y contains NaN in row 400 of .*X\.npy .*column 1 and 2 more rows near it"
        with pytest.raises(ValueError, match=match):
            survey(ArrayRows(mapped, y))

    def test_a_single_target_has_no_column(self):
        X, y, _ = problem()
        y[400, 0] = np.nan
        with pytest.raises(ValueError, match=r"y contains NaN in row 400 \(counted from 0\); imp"):
            survey(ArrayRows(X, y[:, 0]))

    def test_overflow_of_a_sum_is_no_harm(self):
        X, y, _ = problem()
        X[:, 0] = 1e308
        assert survey(ArrayRows(X, y)).n_rows == 500

    def test_weights(self):
        X, y, weights = problem()
        weights[300] = -2.0
        with pytest.raises(ValueError, match=r"must not be negative; got -2\.0 in row 300"):
            survey(ArrayRows(X, y, weights))
        weights[300] = np.nan
        with pytest.raises(ValueError, match="Input sample_weight contains NaN in row 300"):
            survey(ArrayRows(X, y, weights))
        with pytest.raises(ValueError, match="zero for every row"):
            survey(ArrayRows(X, y, 0 * problem()[2]))

    def test_no_rows(self):
        with pytest.raises(ValueError, match="There are no rows"):
            survey(ArrayRows(np.empty((0, 2)), np.empty(0)))

    def test_inputs_alone(self):
        X = problem()[0]
        assert check_inputs(Chunk(X)) is X
        X[3] = np.nan
        with pytest.raises(ValueError, match=r"row 13 of f\.csv"):
            check_inputs(Chunk(X, where="f.csv", first=10))
