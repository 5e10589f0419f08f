"""The tables of pairs are whole and short."""

from itertools import combinations, product

import pytest

from pairwise import covering


@pytest.mark.parametrize("sizes", [(3, 4), (2, 2, 2), (13, 10, 2, 2), (8, 3, 3), (8, 3, 2, 2)])
def test_every_pair_meets_in_few_rows(sizes):
    values = [[f"{k}{c}" for c in range(size)] for k, size in enumerate(sizes)]
    rows = covering(values)
    for i, j in combinations(range(len(sizes)), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(values[i], values[j]))
    first, second = sorted(sizes)[-2:]
    assert len(rows) <= first * second + 2
