"""The list of the papers' tables and figures, from made-up pages."""

import pytest

from benchmarks import paper_index
from benchmarks.__main__ import main
from benchmarks.paper_index import ITEMS, Item, judge, write_index
from benchmarks.suites import SUITES
from benchmarks.verdicts import Claim, claims_table, counted


def page(folder, name, claims):
    lines = ["# A suite", "", "## Findings", "", *claims_table(claims), "| other | table | no |"]
    (folder / f"{name}.md").write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("claims", "mark", "why"),
    [
        ([Claim("a", "1", True), Claim("b", "2", True)], "✓", "2 of 2 findings hold"),
        ([Claim("a", "1", True, 3)], "(✓)", "1 of 1 findings hold; 1 of them where it was run"),
        ([Claim("a", "1", True), Claim("b", "2", False)], "✗", "1 of 2 findings hold"),
        ([Claim("a", "1", None)], "open", "0 of 1 findings hold; 1 cannot be told"),
        ([Claim("a", "1", True), Claim("(not in the paper) b", "", False)], "✓", "1 of 1"),
        ([], "no data", "its page has no finding"),
    ],
)
def test_a_mark_is_that_of_the_findings(tmp_path, claims, mark, why):
    page(tmp_path, "some", claims)
    verdict = judge(Item("P", "Table 1", "what", "some"), tmp_path)
    assert verdict.mark == mark
    assert verdict.why.startswith(why)
    assert [finding.paper for finding in verdict.failed] == (["b"] if mark == "✗" else [])


def test_an_item_has_findings_of_its_own(tmp_path):
    page(tmp_path, "some", [Claim("on Boston", "", True), Claim("on Abalone", "", False)])
    assert judge(Item("P", "T", "w", "some", only="Boston"), tmp_path).mark == "✓"
    assert judge(Item("P", "T", "w", "some", only="Abalone"), tmp_path).mark == "✗"
    assert judge(Item("P", "T", "w", "some", only="Friedman"), tmp_path).mark == "no data"
    assert judge(Item("P", "T", "w", "other"), tmp_path).mark == "no data"


def test_what_does_not_hold_is_said_with_our_count(tmp_path):
    claims = [
        counted(
            "A beats B (in the paper 8 of 8 sets)", "x, y; z", [True, False, None], what="sets"
        ),
        Claim("C is fast", "1.5 times", False),
    ]
    page(tmp_path, "some", claims)
    items = [Item("P", name, "what", "some") for name in ("Table 1", "Table 2")]
    text = write_index(tmp_path, [*items, Item("P", "Table 3", "what", "some", only="fast")])
    found = text.read_text()
    assert "| [Table 1](some.md) | what | ✗ | 0 of 2 findings hold |" in found
    shared = (
        "Not so here, Table 1 and Table 2:\n\n"
        "- A beats B (in the paper 8 of 8 sets). Here: 1 of 2 sets, 1 more not known\n"
        "- C is fast. Here: 1.5 times\n"
    )
    assert found.count(shared) == 1
    assert "| P | 2 | 0 | 0 | 2 | 0 |" in found  # of the page, whatever the items
    assert "Not so here, Table 3:\n\n- C is fast. Here: 1.5 times\n" in found


def test_the_page_lists_every_item_once(tmp_path):
    page(tmp_path, ITEMS[1].suite, [Claim("a", "1", True)])
    assert main(["index", "--docs", str(tmp_path)]) == 0
    text = (tmp_path / "papers.md").read_text()
    assert text.count("\n## ") == 6
    assert f"| [Table 2]({ITEMS[1].suite}.md) | fixed hyperparameters, four sets | ✓ | 1 of" in text
    rows = [line for line in text.splitlines() if line.startswith(("| Table", "| Fig", "| ["))]
    assert len(rows) == len(ITEMS) == len({(item.paper, item.name) for item in ITEMS})
    assert {item.suite for item in ITEMS if item.suite} <= set(SUITES)


def test_the_stored_page_is_that_of_the_stored_pages(tmp_path):
    docs = paper_index.Path(__file__).parents[2] / "docs" / "results"
    for path in docs.glob("*.md"):
        (tmp_path / path.name).write_text(path.read_text())
    assert write_index(tmp_path).read_text() == (docs / "papers.md").read_text()
