"""Few combinations of many parameters, in which every two values meet.

Most faults show with one value or two together; a table in which each value of a parameter meets
each value of every other needs a fraction of all combinations.
"""

from itertools import combinations, product

import pytest


def each_pair(parameters):
    """A decorator like `pytest.mark.parametrize`, for `{name: values}` of all parameters.

    A name may stand for several parameters, `("name", "approximation")`, whose values are tuples.
    """
    names, values = list(parameters), [list(each) for each in parameters.values()]
    flat = [part for name in names for part in ([name] if isinstance(name, str) else name)]
    rows = []
    for row in covering(values):
        cells = zip(names, row, strict=True)
        rows.append(
            [c for name, cell in cells for c in ([cell] if isinstance(name, str) else cell)]
        )
    return pytest.mark.parametrize(flat, rows)


def covering(values):
    """Rows of one entry from each list, such that any two entries of two lists share a row."""
    sizes = [range(len(each)) for each in values]
    missing = {
        (i, a, j, b)
        for i, j in combinations(range(len(values)), 2)
        for a, b in product(sizes[i], sizes[j])
    }
    rows = []
    while missing:
        i, a, j, b = min(missing)
        row = {i: a, j: b}
        for k in set(range(len(values))) - {i, j}:
            used = [sum(each[k] == c for each in rows) for c in sizes[k]]

            met = [sum(pair_of(k, c, *other) in missing for other in row.items()) for c in sizes[k]]
            row[k] = max(sizes[k], key=lambda c, met=met, used=used: (met[c], -used[c], -c))
        rows.append([row[k] for k in range(len(values))])
        missing -= {(i, row[i], j, row[j]) for i, j in combinations(range(len(values)), 2)}
    return [[each[k] for each, k in zip(values, row, strict=True)] for row in rows]


def pair_of(i, a, j, b):
    return (i, a, j, b) if i < j else (j, b, i, a)
