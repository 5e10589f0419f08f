"""Whether a finding of a paper holds, by the cases that it is about.

A case is a data set, or a set and a method, or a run: true, false, or None where it was not run or
cannot be told. The paper says in how large a share of the cases its finding is true: in all of
them, unless its own figures say otherwise. So a finding holds when ours are as many; a majority is
not "always".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["LEGEND", "Claim", "claims_table", "counted", "in_the_paper"]

Case = bool | None

WORDS = {True: "yes", False: "no", None: "open"}
SO_FAR = "so far"
LEGEND = {
    "so far": "So far: in the cases that were run, others are missing.",
    "open": "Open: these runs cannot tell.",
}


@dataclass(frozen=True)
class Claim:
    """A finding of a paper, what our records say about it, and whether it holds.

    Attributes
    ----------
    holds : bool or None
        None: these runs cannot tell.
    missing : int
        Cases that the paper's finding is about and that are not in our records.
    """

    paper: str
    ours: str
    holds: bool | None
    missing: int = 0

    @property
    def verdict(self) -> str:
        return SO_FAR if self.holds and self.missing else WORDS[self.holds]


def in_the_paper(true: int, known: int, what: str, note: str = "") -> str:
    """Behind a finding: in how many of its cases the paper's own figures have it."""
    return f" (in the paper {true} of {known} {what}{note})"


def counted(
    paper: str,
    ours: str,
    cases: Sequence[Case],
    share: Fraction | float = 1,
    what: str = "cases",
) -> Claim:
    """A claim that is judged by how many of its cases are true.

    Parameters
    ----------
    paper, ours : str
        ``ours`` follows the count, which is put in front of it.
    cases : sequence of bool or None
    share : fraction
        Of the cases, that must be true.
    what : str
        What a case is, in the plural.
    """
    true, missing = sum(bool(case) for case in cases), sum(case is None for case in cases)
    known, needed = len(cases) - missing, share * len(cases)
    absent = f", {missing} more not known" if missing else ""
    count = f"{true} of {known} {what}{absent}" if known else "-"
    text = f"{count}: {ours}" if ours and known else ours or count
    if known == 0:
        return Claim(paper, text, None)
    if true + missing < needed:  # it can no longer hold
        return Claim(paper, text, False)
    if true >= needed:
        return Claim(paper, text, True)
    return Claim(paper, text, True if true >= share * known else None, missing)


def claims_table(claims: Sequence[Claim]) -> list[str]:
    """A Markdown table of claims, all text to the left, and what its verdicts mean."""
    lines = ["| the paper | these runs | holds |", "|---|---|---|"]
    lines += [f"| {claim.paper} | {claim.ours} | {claim.verdict} |" for claim in claims]
    shown = {claim.verdict for claim in claims}
    notes = [text for verdict, text in LEGEND.items() if verdict in shown]
    return [*lines, "", *([" ".join(notes), ""] if notes else [])]
