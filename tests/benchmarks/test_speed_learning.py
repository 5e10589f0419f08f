"""The benchmark of one value and gradient: what it counts, and that it prints both tables."""

import numpy as np
import pytest

from benchmarks import speed_learning


def test_a_small_run_prints_ratios_and_shares(capsys):
    speed_learning.report([(60, 8)], repeats=1)
    printed = capsys.readouterr().out
    assert printed.count("| 60 x 8 |") == len(speed_learning.APPROXIMATIONS)
    assert "| product with itself, weights of one sign | " in printed


def test_the_floor_counts_multiply_adds():
    n, m, d = 30, 7, speed_learning.D
    counted = n * m * m * 4.5 + n * m * (d + 2) + n * m * d
    assert speed_learning.floor(n, m, speed=1.0) == pytest.approx(counted)


def test_the_products_are_what_their_names_say():
    products = speed_learning.Products(6)
    rows, factor = products.rows, products.factor
    calls = {name: call for name, (call, _) in products.all().items()}
    np.testing.assert_allclose(factor @ calls["solve"](), rows, atol=1e-8)
    for name, triangle in (("", products.triangle), (", transposed", products.triangle.T)):
        products.out[...] = rows
        calls["product with a triangle" + name]()
        np.testing.assert_allclose(products.out, triangle @ rows, atol=1e-8)
    of_both = (rows * products.weights) @ rows.T
    np.testing.assert_allclose(calls["the same, of both signs"](), of_both, atol=1e-8)
    of_one = (rows * abs(products.weights)) @ rows.T
    found = calls["product with itself, weights of one sign"]()
    np.testing.assert_allclose(found, of_one, atol=1e-8)
