"""Figures printed in L. Bo and C. Sminchisescu, greedy block coordinate descent: Tables 2 to 4.

Seconds are those of a 3.6 GHz Pentium 4. ``inf``: "> 10 hours"; ``nan``: not available.
"""

from __future__ import annotations

SOLVERS = ("cholesky", "cg", "smo", "bcd_cyclic", "bcd_gradient", "gbcd_paper")
SPARSE = ("sd", "sr", "mpgp", "gbcd")

# One line a data set: training seconds of the six solvers, then RMSE.
_TABLE_2 = """
    california_housing  128 1958 231 331 25563 92        0.477 0.477 0.477 0.477 0.477 0.477
    outaouais           136 24408 10320 5366 inf 1154    0.216 0.216 0.216 0.216 nan 0.216
    kin40k              130 14956 5910 3677 inf 975      0.098 0.098 0.098 0.098 nan 0.098
    sarcos              132 12880 4295 2172 inf 217      0.128 0.128 0.128 0.128 nan 0.128
    friedman1           126 4732 32899 122 inf 106       0.017 0.017 0.017 0.017 nan 0.017"""

# One line a data set: seconds a test row, error of the variance relative to Cholesky's.
_TABLE_3 = """
    california_housing  12 0.00004
    outaouais           6 0.001
    kin40k              20 0.02
    sarcos              6 0.002
    friedman1           4 0.001"""

# One line a data set: training seconds of the four models, seconds of a variance, RMSE.
_TABLE_4 = """
    california_housing  3 48 514 221      0.02 0.02 0.02 19   0.514 0.477 0.475 0.472
    outaouais           5 61 627 5021     0.02 0.02 0.02 12   0.434 0.326 0.221 0.122
    kin40k              3 85 815 4233     0.02 0.02 0.02 48   0.386 0.164 0.113 0.071
    sarcos              4 142 1389 1879   0.02 0.02 0.02 31   0.169 0.128 0.121 0.107
    friedman1           3 231 2721 3301   0.02 0.02 0.02 75   0.031 0.015 0.012 0.009"""

Columns = dict[str, dict[str, dict[str, float]]]


def table_2() -> Columns:
    """Data set -> ``"seconds"`` or ``"rmse"`` -> solver -> value."""
    return _columns(_TABLE_2, ("seconds", "rmse"), SOLVERS)


def table_3() -> dict[str, tuple[float, float]]:
    """Data set -> seconds a test row, relative error of the variance."""
    return {name: (values[0], values[1]) for name, values in _lines(_TABLE_3)}


def table_4() -> Columns:
    """Data set -> ``"seconds"``, ``"variance_seconds"`` or ``"rmse"`` -> model -> value."""
    return _columns(_TABLE_4, ("seconds", "variance_seconds", "rmse"), SPARSE)


def _columns(text: str, metrics: tuple[str, ...], methods: tuple[str, ...]) -> Columns:
    size = len(methods)
    return {
        name: {
            metric: dict(zip(methods, values[k * size : (k + 1) * size], strict=True))
            for k, metric in enumerate(metrics)
        }
        for name, values in _lines(text)
    }


def _lines(text: str) -> list[tuple[str, list[float]]]:
    split = [line.split() for line in text.strip().splitlines()]
    return [(name, [float(cell) for cell in cells]) for name, *cells in split]
