"""Figures printed in S. Sundararajan et al., fast GCV for sparse models: Tables 1 to 4.

The p-values of Wilcoxon's matched-pairs signed-rank test on the test errors. The box plots of
Figures 1 to 4 have no numbers.
"""

from __future__ import annotations

PARTITIONS = {"friedman2": 100, "friedman3": 100, "boston": 100, "abalone": 10}
PAIRS = (
    ("fgcv", "frvm"),
    ("fgcv", "rfs"),
    ("fgcv", "ols"),
    ("frvm", "rfs"),
    ("frvm", "ols"),
    ("rfs", "ols"),
)

# Full Gaussian process regression against the two: where p < 0.05 it is the better one.
AGAINST_GP = {
    ("boston", "fgcv"): 3.4e-10,
    ("boston", "frvm"): 1.22e-12,
    ("abalone", "fgcv"): 0.012,
    ("abalone", "frvm"): 0.095,
}

# One line a data set, in the order of PAIRS.
_P_VALUES = """
    friedman2  1.3e-12  .013    .47     .097  9.4e-5  .119
    friedman3  3.0e-6   2.1e-6  4.6e-9  .139  .002    .054
    boston     2.0e-5   .003    2.6e-5  .647  .096    .156
    abalone    .462     .023    9.8e-4  .005  9.8e-4  .403"""


def p_values() -> dict[str, dict[tuple[str, str], float]]:
    """Data set -> pair of methods -> p-value."""
    lines = [line.split() for line in _P_VALUES.strip().splitlines()]
    return {
        name: dict(zip(PAIRS, (float(cell) for cell in cells), strict=True))
        for name, *cells in lines
    }
