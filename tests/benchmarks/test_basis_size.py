"""The benchmark of basis sizes, on made-up data."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import basis_size


@pytest.fixture
def made_up(monkeypatch):
    rng = np.random.default_rng(0)
    X = 5 + rng.uniform(-2, 2, size=(200, 2))
    data = SimpleNamespace(X=X, y=100 + 9 * np.sin(2 * X[:, 0]) + rng.normal(size=200))
    monkeypatch.setattr(basis_size.datasets, "load", lambda name: data)
    monkeypatch.setattr(basis_size, "sizes_to_try", lambda rows, most: (5, 10))
    return data


def test_parts_are_standardised_by_the_training_rows(made_up):
    X, y, X_test, y_test = basis_size.standardised("made_up", 0)
    assert (len(X), len(X_test)) == (160, 40)
    np.testing.assert_allclose(np.mean(X, axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose((np.mean(y), np.std(y)), (0.0, 1.0), atol=1e-10)
    assert abs(np.mean(y_test)) < 1.0


def test_a_page(made_up, capsys):
    basis_size.main(["--sets", "made_up"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| made_up")]
    sizes = [line.split("|")[2].strip() for line in lines]
    assert sizes[:2] == ["5", "10"]
    assert sizes[2].startswith("**auto: ")
    errors = [float(line.split("|")[5]) for line in lines]
    assert errors[1] < 0.5
