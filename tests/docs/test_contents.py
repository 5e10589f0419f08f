"""Every page of the documentation can be reached, and the header has room for its links."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BUILT = ("_build", "auto_examples", "generated", "_static", "_templates")
TOCTREE = re.compile(r"```\{toctree\}\n((?::[^\n]*\n)*)(.*?)```", re.DOTALL)

if not DOCS.exists():
    pytest.skip("the documentation is not part of the installed package", allow_module_level=True)


def listed(page):
    """Return the pages that the lists of a page name."""
    found = []
    for _, body in TOCTREE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        folder = Path(page).parent
        found += [(folder / line.strip()).as_posix() for line in body.splitlines() if line.strip()]
    return found


def test_every_page_is_listed_once():
    pages = {
        path.relative_to(DOCS).with_suffix("").as_posix()
        for path in DOCS.rglob("*.md")
        if path.relative_to(DOCS).parts[0] not in BUILT
    }
    named = [name for page in pages for name in listed(page)]
    assert sorted(named) == sorted((pages - {"index"}) | {"auto_examples/index"})


def test_header_has_few_links():
    assert len(listed("index")) <= 7
