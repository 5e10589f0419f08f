"""Verdicts on made-up cases: what the paper claims, not what most cases say."""

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.verdicts import Claim, claims_table, counted

ALL, MOST = 1, Fraction(6, 8)


@pytest.mark.parametrize(
    ("true", "false", "missing", "share", "verdict"),
    [
        (8, 0, 0, ALL, "yes"),
        (7, 1, 0, ALL, "no"),  # a majority is not all
        (5, 3, 0, ALL, "no"),
        (6, 2, 0, MOST, "yes"),
        (5, 3, 0, MOST, "no"),
        (3, 0, 5, ALL, "so far"),  # what was left out does not count as true
        (3, 1, 4, ALL, "no"),  # nor as false, but it cannot hold any more
        (6, 0, 2, MOST, "yes"),  # whatever the others are
        (3, 1, 4, MOST, "so far"),
        (2, 1, 5, MOST, "open"),
        (0, 3, 5, MOST, "no"),
        (0, 0, 8, ALL, "open"),
        (0, 0, 0, ALL, "open"),
    ],
)
def test_a_count_is_judged_by_what_the_paper_claims(true, false, missing, share, verdict):
    cases = [np.True_] * true + [np.False_] * false + [None] * missing
    claim = counted("a finding", "names", cases, share, "sets")
    assert claim.verdict == verdict
    if true + false:
        more = f", {missing} more not known" if missing else ""
        assert claim.ours == f"{true} of {true + false} sets{more}: names"


def test_without_a_case_there_is_nothing_to_count():
    assert counted("a finding", "", []).ours == "-"
    assert counted("a finding", "neither ended", [None, None]).ours == "neither ended"
    assert counted("a finding", "", [True]).ours == "1 of 1 cases"


def test_the_table_explains_the_verdicts_that_it_has():
    text = "\n".join(claims_table([Claim("a", "b", True), Claim("c", "d", False)]))
    assert "| a | b | yes |" in text
    assert "So far" not in text
    assert "Open" not in text
    text = "\n".join(claims_table([Claim("a", "b", True, 2), Claim("c", "d", None)]))
    assert "| a | b | so far |" in text
    assert "| c | d | open |" in text
    assert "So far: in the cases that were run, others are missing. Open: these" in text
