"""Print every sentence that a user of the package can meet: errors, warnings, remarks, reports.

    python tools/messages.py                  # all, with the places where they are
    python tools/messages.py tables cli       # those of some folders or modules

They are read from the source: all texts of three words or more that are not docstrings. What is
filled in stands in braces.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "greedygp"
FEWEST_WORDS = 3
WORD = re.compile(r"[A-Za-z]{2,}")
CODE = re.compile(r":\s*[\w-]+;|\\[dw(]|\(\?|var\(--|->|^[\w.]+$|=\"\{")  # CSS, SVG and patterns


def text_of(node: ast.expr) -> str | None:
    """Return a text, with what is filled in in braces; None: it is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = []
        for value in node.values:
            if isinstance(value, ast.FormattedValue):
                parts.append("{" + ast.unparse(value.value) + "}")
            else:
                parts.append(str(value.value))  # type: ignore[attr-defined]
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None or right is None else left + right
    return None


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every sentence of a module."""
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
    }  # texts that stand alone
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr) and id(node) not in docstrings:
            text = text_of(node)
            if text is not None:
                shown = re.sub(r"<[^<>]*>", " ", text)  # the tags of a report
                plain = re.sub(r"\{[^}]*\}", " ", shown)
                if len(WORD.findall(plain)) >= FEWEST_WORDS and not CODE.search(text):
                    yield node.lineno, " ".join(shown.split())
                continue
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            continue
        waiting += reversed(list(ast.iter_child_nodes(node)))


def main(chosen: list[str]) -> int:
    """Print the messages of some modules (all where none is named)."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if chosen and not any(name.startswith(start) for start in chosen):
            continue
        for line, text in messages(ast.parse(path.read_text(encoding="utf-8"))):
            print(f"{name}:{line}: {text}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
