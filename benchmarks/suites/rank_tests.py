"""Tests of several methods on several sets (J. Demsar, JMLR 7, 2006): ranks, Friedman's test,
Bonferroni-Dunn against one method, critical difference diagrams; and Wilcoxon's test of pairs.

Values are arrays of shape (N sets, k methods), smaller ones better.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, norm, rankdata, wilcoxon


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Mean rank of each method over the sets; 1 is the best."""
    return rankdata(values, axis=1).mean(axis=0)


def friedman(values: np.ndarray) -> float:
    """p-value of Friedman's test that all methods are alike; 1 where they tie everywhere."""
    if np.all(values == values[:, :1]):
        return 1.0
    return float(friedmanchisquare(*values.T).pvalue)


def bonferroni_dunn(values: np.ndarray) -> np.ndarray:
    """p-values (k, k) of the differences of mean ranks, times the k - 1 comparisons with one.

    The row of a method holds its Bonferroni-Dunn test against the others.
    """
    n, k = values.shape
    ranks = mean_ranks(values)
    z = np.abs(ranks[:, None] - ranks) / np.sqrt(k * (k + 1) / (6.0 * n))
    p = np.minimum((k - 1) * 2.0 * norm.sf(z), 1.0)
    np.fill_diagonal(p, 1.0)
    return p


def critical_difference(n: int, k: int, level: float) -> float:
    """The difference of mean ranks from which on Bonferroni-Dunn is significant."""
    return float(norm.isf(level / (2.0 * (k - 1))) * np.sqrt(k * (k + 1) / (6.0 * n)))


def signed_rank(left: Sequence[float], right: Sequence[float]) -> float:
    """p-value of Wilcoxon's signed-rank test of pairs; 1 where all are equal."""
    difference = np.subtract(left, right)
    return 1.0 if np.all(difference == 0) else float(wilcoxon(difference).pvalue)


def can_draw() -> bool:
    """Whether scikit-posthocs is there."""
    return find_spec("scikit_posthocs") is not None


def draw_ranks(axis: Any, names: Sequence[str], values: np.ndarray, level: float) -> None:
    """A critical difference diagram: methods that a bar joins do not differ significantly."""
    import pandas as pd
    from scikit_posthocs import critical_difference_diagram

    p = pd.DataFrame(bonferroni_dunn(values), index=list(names), columns=list(names))
    ranks = dict(zip(names, mean_ranks(values), strict=True))
    critical_difference_diagram(
        ranks, p, alpha=level, ax=axis, label_props={"size": 7}, marker_props={"s": 12}
    )
