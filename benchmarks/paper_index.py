"""One page for all tables and figures of the five papers: what holds here, and why not.

The verdicts are those of the suites' own pages, which are written from the stored results; this
page follows them whenever one of them is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.frame import write_atomically

__all__ = ["ITEMS", "Item", "write_index"]

HEADER = "| the paper | these runs | holds |"
OUR_OWN = "(not in the paper)"
COUNT = re.compile(r"\d+ of \d+ [^:;,]*(, \d+ more not known)?(?=:|$)")
TICK, CROSS, PART, OPEN, NOTHING = "✓", "✗", "(✓)", "open", "no data"


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper.

    Attributes
    ----------
    paper, name, what : str
    suite : str
        The suite that repeats it; empty: none.
    why : str
        What must be known beside the suite's own findings.
    only : str
        Words of the findings that belong to this item, as a pattern; empty: all of the page.
    """

    paper: str
    name: str
    what: str
    suite: str = ""
    why: str = ""
    only: str = ""


PREDICTIVE = "Predictive approaches for sparse Gaussian process regression"
PURSUIT = "A matching pursuit approach to sparse Gaussian process regression"
BLOCKS = "Greedy block coordinate descent for large scale Gaussian process regression"
GCV = "Fast generalized cross validation for sparse model learning"
ADDITIVE = "An additive model view to sparse Gaussian process classifier design"

SETS = "a list of data sets, no result"

ITEMS = (
    Item(PREDICTIVE, "Table 1", "data sets", why=SETS),
    Item(PREDICTIVE, "Table 2", "fixed hyperparameters, four sets", "predictive_fixed"),
    Item(PREDICTIVE, "Table 3", "the same, four more sets", "predictive_fixed"),
    Item(PREDICTIVE, "Table 4", "hyperparameters learnt, four sets", "predictive_learnt"),
    Item(PREDICTIVE, "Table 5", "the same, Friedman's sets", "predictive_learnt"),
    Item(PREDICTIVE, "Figure 1", "measures as hyperparameters are learnt", "predictive_rounds"),
    Item(PREDICTIVE, "Figure 2", "measure, NMSE and NPDL by size", "predictive_paths"),
    Item(PREDICTIVE, "Figure 3", "the same, three more sets", "predictive_paths"),
    Item(PREDICTIVE, "Figure 4", "the same, Friedman's sets", "predictive_paths"),
    Item(PURSUIT, "Table 1", "three methods on seven sets", "matching_pursuit_learnt"),
    Item(PURSUIT, "Figure 1", "five methods on kin40k", "matching_pursuit_kin40k"),
    Item(BLOCKS, "Table 1", "data sets", why=SETS),
    Item(
        BLOCKS, "Table 2", "six solvers", "full_gp_solvers", only="^(?!.*(step by step|Figure 2))"
    ),
    Item(BLOCKS, "Table 3", "variances by GBCD", "full_gp_variances"),
    Item(BLOCKS, "Table 4", "beside sparse models", "full_gp_beside_sparse"),
    Item(BLOCKS, "Table 5", "poses of HumanEva", "full_gp_poses"),
    Item(BLOCKS, "Figure 1", "gradients of neighbours", "full_gp_neighbours"),
    Item(
        BLOCKS,
        "Figure 2",
        "norm, objective and error against time",
        "full_gp_solvers",
        only="faster than CG|Figure 2",
    ),
    Item(
        BLOCKS,
        "Figure 3",
        "objective and norm step by step",
        "full_gp_solvers",
        only="step by step",
    ),
    Item(BLOCKS, "Figure 4", "time against the number of rows", "full_gp_growth"),
    *(
        Item(GCV, f"{kind} {number}", f"{what}, {title}", "fast_gcv", only=title + only)
        for kind, what, only in (
            ("Table", "p-values", "(?!.*basis functions)"),
            ("Figure", "errors and sizes", ""),
        )
        for number, title in enumerate(("Friedman2", "Friedman3", "Boston", "Abalone"), start=1)
    ),
    Item(ADDITIVE, "Table 1", "data sets", why=SETS),
    Item(
        ADDITIVE,
        "Figure 1",
        "loss functions",
        why="formulas, drawn on the page of Figures 2 and 3; nothing is measured",
    ),
    Item(
        ADDITIVE,
        "Figure 2",
        "optimised and matched sites",
        "sparse_classification",
        only="Figure 2",
    ),
    Item(
        ADDITIVE,
        "Figure 3, left",
        "adaptive and random sampling by candidates a step",
        "adaptive_candidates",
    ),
    Item(
        ADDITIVE,
        "Figure 3, right",
        "ways to choose a basis, each with hyperparameters of its own",
        "sparse_classification_learnt",
        only="^(?!.*Figure 3, left)",
    ),
    Item(
        ADDITIVE,
        "Figure 3, right, shared",
        "the same with hyperparameters that all share, and the tests of section 5",
        "sparse_classification",
        only="^(?!.*(Figure 2|Figure 3, left))",
    ),
)


@dataclass(frozen=True)
class Finding:
    """A line of a page's table of findings."""

    paper: str
    ours: str
    verdict: str

    def __str__(self) -> str:
        """The paper's words, and what was found: the count alone, where there is one."""
        count = COUNT.match(self.ours)
        return f"{self.paper}. Here: {count[0] if count else self.ours}"


@dataclass(frozen=True)
class Verdict:
    """What is said of an item: a mark, a line why, and its findings that do not hold."""

    mark: str
    why: str
    failed: tuple[Finding, ...] = ()


def findings_of(page: Path) -> list[Finding]:
    """The paper's findings on a suite's page, with their verdicts."""
    lines = page.read_text(encoding="utf-8").splitlines()
    if HEADER not in lines:
        return []
    found = []
    for line in lines[lines.index(HEADER) + 2 :]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        found.append(Finding(cells[0], cells[1], cells[-1]))
    return [finding for finding in found if not finding.paper.startswith(OUR_OWN)]


def judge(item: Item, docs: Path) -> Verdict:
    """A tick, a cross or "no data", and why."""
    if not item.suite:
        return Verdict("-", item.why)
    page = docs / f"{item.suite}.md"
    if not page.exists():
        why = item.why or "the data cannot be had here; the suite runs where they are"
        return Verdict(NOTHING, why)
    found = [f for f in findings_of(page) if re.search(item.only, f.paper)]
    if not found:
        return Verdict(NOTHING, item.why or "its page has no finding of this item")
    counts = {v: sum(f.verdict == v for f in found) for v in ("yes", "so far", "no", "open")}
    rest = [
        f"{counts['so far']} of them where it was run" if counts["so far"] else "",
        f"{counts['open']} cannot be told" if counts["open"] else "",
    ]
    held = f"{counts['yes'] + counts['so far']} of {len(found)} findings hold"
    why = "; ".join([held, *filter(None, rest)])
    failed = tuple(f for f in found if f.verdict == "no")
    if failed:
        return Verdict(CROSS, why, failed)
    if counts["open"] == len(found):
        return Verdict(OPEN, why)
    return Verdict(TICK if counts["yes"] == len(found) else PART, why)


def totals(docs: Path, items: Sequence[Item]) -> list[str]:
    """A table: of each paper's findings, how many hold, and how many do not."""
    lines = [
        "| paper | findings | hold | hold where it was run | do not | cannot be told |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for paper in dict.fromkeys(item.paper for item in items):
        suites = dict.fromkeys(i.suite for i in items if i.paper == paper and i.suite)
        pages = [docs / f"{suite}.md" for suite in suites]
        found = [f.verdict for page in pages if page.exists() for f in findings_of(page)]
        counts = [found.count(verdict) for verdict in ("yes", "so far", "no", "open")]
        lines.append(f"| {paper} | {len(found)} | {' | '.join(map(str, counts))} |")
    return [*lines, ""]


def not_so(judged: Sequence[tuple[Item, Verdict]]) -> list[str]:
    """The findings of a paper that do not hold here: items that share them share a paragraph."""
    names: dict[tuple[Finding, ...], list[str]] = {}
    for item, verdict in judged:
        if verdict.failed:
            names.setdefault(verdict.failed, []).append(item.name)
    lines = []
    for failed, items in names.items():
        lines += [f"Not so here, {' and '.join(items)}:", ""]
        lines += [f"- {finding}" for finding in failed]
        lines.append("")
    return lines


def write_index(docs: Path, items: Sequence[Item] = ITEMS) -> Path:
    """Write the page; returns its path."""
    judged = [(item, judge(item, docs)) for item in items]
    lines = [
        "# The papers' tables and figures",
        "",
        f"All of them, in one list. {TICK}: every finding that the paper reads off it holds here, "
        f"in full; {PART}: those hold that could be told, others are missing; {CROSS}: at least "
        f"one does not hold; {OPEN}: the runs cannot tell; {NOTHING}: it was not run. Below each "
        "list: what the paper finds and we do not, with our count or figures. The "
        "pages say how many partitions they have, and show the numbers side by side. Findings of "
        "an experiment that was done in two ways count twice.",
        "",
        *totals(docs, items),
    ]
    for paper in dict.fromkeys(item.paper for item in items):
        lines += [f"## {paper}", "", "| | what | | why |", "|---|---|---|---|"]
        of_paper = [(item, verdict) for item, verdict in judged if item.paper == paper]
        for item, verdict in of_paper:
            there = item.suite and (docs / f"{item.suite}.md").exists()
            name = f"[{item.name}]({item.suite}.md)" if there else item.name
            lines.append(f"| {name} | {item.what} | {verdict.mark} | {verdict.why} |")
        lines += ["", *not_so(of_paper)]
    lines += ["## How this page was made", "", "```", "python -m benchmarks index", "```", ""]
    path = docs / "papers.md"
    write_atomically(path, "\n".join(lines).rstrip() + "\n")
    return path
