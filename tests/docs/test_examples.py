"""Every Python and console example of the README and of the documentation is run.

A page is a story: its blocks run in the order of the page, in one namespace and one empty folder.

- ``python``: run as it stands. A ``text`` block right below it is what it prints.
- ``console``: lines ``$ ...`` that call greedygp are run by a shell, with the installed program on
  the path; they must end with the exit code 0. The lines below are what it prints. A line that
  expects another code ends in ``; echo $?``.
- A comment ``<!-- not run: reason -->`` right above a block keeps it from being run.

Pages that call the program are slow tests: each call is a process that imports everything.

What is printed is compared word by word; any number stands for any other, and ``...`` for any
lines.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import NamedTuple

import pytest

from greedygp.versions import HAS_CALLBACKS

ROOT = Path(__file__).parents[2]
BUILT = ("_build", "auto_examples", "generated")
FENCE = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]*?) -->\s*\n)?"
    r"(?P<indent>[ \t]*)```(?P<language>[^\n]*)\n(?P<code>.*?)\n?(?P=indent)```",
    re.DOTALL,
)
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "GREEDYGP_DATA"} | {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    "COLUMNS": "100",
}


class Block(NamedTuple):
    line: int
    language: str
    code: str
    reason: str | None
    printed: str | None


def blocks_of(text):
    """Return the fenced blocks of a page that can be run."""
    found = []
    end = 0
    for match in FENCE.finditer(text):
        language = match["language"].strip()
        code = textwrap.dedent(match["code"])
        below = text[end : match.start("language") - 3].strip() == "" and end > 0
        if language == "text" and below and found and found[-1][1] == end:
            found[-1] = found[-1][0]._replace(printed=code), None
        elif language in ("python", "console"):
            line = text.count("\n", 0, match.start("code")) + 1
            found.append((Block(line, language, code, match["reason"], None), match.end()))
        end = match.end()
    return [block for block, _ in found]


def pages():
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    files += [
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if not set(path.relative_to(ROOT).parts) & set(BUILT)
    ]
    return {
        path.relative_to(ROOT).as_posix(): found
        for path in files
        if path.exists() and (found := blocks_of(path.read_text(encoding="utf-8")))
    }


PAGES = pages()
# tests/test_readme.py runs the first example of the README and looks at its numbers.
PAGES["README.md"] = PAGES.get("README.md", [])[1:]


def calls_the_program(name):
    return any(block.language == "console" and not block.reason for block in PAGES[name])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if calls_the_program(name) else [])
        for name in PAGES
    ],
)
def test_page(name, tmp_path, monkeypatch):
    for package in ("click", "rich", "skops", "pandas", "matplotlib"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # As in a notebook: classes of the page can be pickled.
    page = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", page)
    namespace = vars(page)
    for block in PAGES[name]:
        if "sklearn.callback" in block.code and not HAS_CALLBACKS:
            continue
        if block.reason is None:
            run = run_python if block.language == "python" else run_console
            run(block, namespace, f"{name}, line {block.line}")


@pytest.mark.parametrize(
    ("name", "block"),
    [(name, block) for name, found in PAGES.items() for block in found if block.reason],
    ids=lambda value: value if isinstance(value, str) else f"line {value.line}",
)
def test_block_that_is_not_run(name, block):
    if block.language == "python":
        compile(block.code, f"{name}, line {block.line}", "exec")
    pytest.skip(block.reason)


def run_python(block, namespace, where):
    output = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.code, where, "exec")
    with contextlib.redirect_stdout(output):
        exec(code, namespace)
    if block.printed is not None:
        check_printed(block.printed, output.getvalue(), where)


def run_console(block, namespace, where):
    for command, printed in commands_of(block.code):
        if not re.search(r"\bgreedygp (?=[a-z-])", command):
            continue
        done = subprocess.run(
            command, shell=True, env=ENVIRONMENT, capture_output=True, timeout=120
        )
        output = done.stdout.decode() + done.stderr.decode()
        assert done.returncode == 0, f"{where}: {command}\n{output}"
        check_printed(printed, output, f"{where}: {command}")
        if command.endswith("echo $?"):
            assert done.stdout.split()[-1].decode() == printed.split()[-1], f"{where}: {command}"


def commands_of(code):
    """Yield the commands of a console block, each with what the block shows below it."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        long = next(k for k, line in enumerate(lines) if not line.endswith("\\")) + 1
        command = "\n".join(lines[:long])
        yield re.sub(r"\s+#.*$", "", command), "\n".join(lines[long:])


def check_printed(expected, output, where):
    known = [plain(line) for line in output.splitlines()]
    for line in expected.splitlines():
        if line.strip() not in ("", "..."):
            assert plain(line) in known, f"{where} does not print\n{line}\nbut\n{output}"


def plain(line):
    """Return a line with one sign for every number, gap or rule."""
    line = re.sub(r"-?\d[\d.,]*(e[+-]?\d+)?", "#", line)
    return re.sub(r"[ \t]+", " ", re.sub(r"[─━-]+", "-", line)).strip()


def test_the_parts_of_a_page():
    page = "\n".join(
        (
            "```python",
            "print('a', 1)",
            "```",
            "",
            "```text",
            "a 2",
            "```",
            "words",
            "```text",
            "no output",
            "```",
            "<!-- not run: no GPU -->",
            "```console",
            "$ greedygp a \\",
            "    b   # remark",
            "shown",
            "$ ls",
            "```",
        )
    )
    first, second = blocks_of(page)
    assert (first.line, first.language, first.printed, first.reason) == (2, "python", "a 2", None)
    assert (second.reason, second.printed) == ("no GPU", None)
    assert list(commands_of(second.code)) == [("greedygp a \\\n    b", "shown"), ("ls", "")]


def test_a_wrong_output_is_seen():
    check_printed("a 2\n...", "a 1\nb\n", "here")
    with pytest.raises(AssertionError, match="does not print"):
        check_printed("b 2", "a 1\n", "here")
    with pytest.raises(AssertionError, match="greedygp fit"):
        run_console(Block(1, "console", "$ greedygp fit", None, None), {}, "here")


def test_every_page_is_looked_at():
    if not (ROOT / "docs").exists():
        pytest.skip("the pages are not beside the tests")
    assert {"README.md", "docs/getting_started.md", "docs/learning.md"} <= set(PAGES)


def test_the_table_of_exit_codes():
    pytest.importorskip("click")
    from greedygp.cli.codes import EXIT_CODES

    page = ROOT / "docs" / "command_line.md"
    if not page.exists():
        pytest.skip("the pages are not beside the tests")
    lines = re.findall(r"^\| (\d+) \| (.*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [(int(code), text) for code, text in lines] == [
        (int(code), text) for code, text in EXIT_CODES.items()
    ]
