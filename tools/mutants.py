"""Break the numerical core on purpose, one small change at a time, and see whether a test fails.

    make mutants                                   draw 100 mutations, run the tests, list survivors
    make mutants MUTANTS_ARGS="--count 20 --seed 3"
    make mutants MUTANTS_ARGS="--files sparse/loo" of some files
    make mutants MUTANTS_ARGS="--list"             only show what would be changed

A mutation is one edit of one expression: a sign (`a + b` to `a - b`, `-a` to `a`), an operator (`*`
to `/`), a factor (`2.0` to `3.0`), an index (`[0]` to `[1]`, `axis=0` to `axis=1`), the end of a
comparison (`<` to `<=`), a minimum instead of a maximum. They are drawn with a seed, evenly from
all places of the core. Left alone are docstrings, annotations, messages, defaults of parameters,
and module constants that are plain numbers (sizes of tiles, thresholds: they say when something is
done, not what), and tiny or huge numbers that only guard a division.

First the numerical tests run once under coverage, which tells the tests that reach each line and
how long each takes. A mutant then meets only those, in a copy of the project, the tests of the file
of the same name first, the quick ones before the slow ones, until one fails. A mutant that takes
far longer than the tests do without it counts as caught. Results are appended to a file of JSON
lines, and a run that was interrupted goes on from there; `--fresh` begins again.

Survivors are for reading: some mutations change no result (an equivalent formula, a tie that cannot
happen), the others ask for a test.

This file is its own pytest plugin: it notes the durations in the run under coverage.
"""

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from runs import NOT_NUMERICAL

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".mutants"
PACKAGE = Path("src/greedygp")
# Files and folders of the core.
CORE = (
    "arrays.py",
    "cholesky.py",
    "coordinates.py",
    "data.py",
    "full_gp.py",
    "greedy.py",
    "hyperparameters.py",
    "measures.py",
    "minimise.py",
    "noise.py",
    "prediction.py",
    "prior.py",
    "progress.py",
    "rounds.py",
    "rows",
    "start.py",
    "triangular.py",
    "classification",
    "dense",
    "kernels",
    "linear",
    "sparse",
)
COPIED = ("src", "tests", "benchmarks", "docs", "examples", "tools", "pyproject.toml", "README.md")
FIRST_TESTS = 40
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

SIGNS = {ast.Add: "-", ast.Sub: "+"}
OPERATORS = {ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.FloorDiv: "*"}
TEXT = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//"}
ENDS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
COMPARISON = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
EXTREMES = {"min": "max", "argmin": "argmax", "minimum": "maximum", "nanmin": "nanmax"}
EXTREMES |= {new: old for old, new in EXTREMES.items()}
FUNCTIONS = {"add": "subtract", "subtract": "add", "multiply": "divide", "divide": "multiply"}
MESSAGES = {"warn", "format", "join", "ValueError", "TypeError", "check_scalar"}


@dataclass(frozen=True)
class Mutation:
    """One edit: in `path`, the text from `begin` to `end` becomes `new`."""

    path: str
    kind: str
    line: int
    last_line: int
    begin: int
    end: int
    old: str
    new: str

    def applied(self, source):
        """The source with the edit; offsets are those of the encoded text."""
        data = source.encode()
        assert data[self.begin : self.end].decode() == self.old
        return (data[: self.begin] + self.new.encode() + data[self.end :]).decode()

    def diff(self, source):
        """The changed lines."""
        both = [text.splitlines() for text in (source, self.applied(source))]
        lines = list(difflib.unified_diff(*both, n=0, lineterm=""))[3:]
        return "\n".join(line[:1] + " " + line[1:].strip() for line in lines)


# --------------------------------------------------------------- where there is something


class Places(ast.NodeVisitor):
    """Every mutation of one file."""

    def __init__(self, path, source):
        self.path, self.found, self.data = path, [], source.encode()
        self.starts = [0]
        for each in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(each.encode()))
        self.in_index = False
        self.visit(ast.parse(source))

    def at(self, node):
        """Where a node begins and ends, in bytes."""
        begin = self.starts[node.lineno - 1] + node.col_offset
        return begin, self.starts[node.end_lineno - 1] + node.end_col_offset

    def add(self, kind, node, begin, end, new):
        """Note a mutation of a part of `node`."""
        old = self.data[begin:end].decode()
        lines = (node.lineno, node.end_lineno)
        self.found.append(Mutation(self.path, kind, *lines, begin, end, old, new))

    def between(self, kind, node, left, right, text, new):
        """Note another operator between two operands."""
        low, high = self.at(left)[1], self.at(right)[0]
        place = self.data.find(text.encode(), low, high)
        if place >= 0:
            self.add(kind, node, place, place + len(text), new)

    # -- left alone

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Raise(self, node):
        return

    def visit_JoinedStr(self, node):
        return

    def visit_arguments(self, node):
        return

    def visit_AnnAssign(self, node):
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_FunctionDef(self, node):
        for each in node.body:
            self.visit(each)

    def visit_ClassDef(self, node):
        for each in node.body:
            if not isinstance(each, ast.Assign | ast.AnnAssign):  # constraints of parameters
                self.visit(each)

    def visit_Module(self, node):
        for each in node.body:
            number = isinstance(each, ast.Assign) and not any(
                isinstance(part, ast.Call | ast.Name | ast.BinOp) for part in ast.walk(each.value)
            )
            if not number:
                self.visit(each)

    # -- changed

    def visit_BinOp(self, node):
        kind = type(node.op)
        parts = (node.left, node.right)
        is_text = any(
            isinstance(part, ast.JoinedStr | ast.List | ast.Tuple)
            or (isinstance(part, ast.Constant) and isinstance(part.value, str))
            for part in parts
        )
        if is_text:
            return
        for name, table in (("sign", SIGNS), ("operator", OPERATORS)):
            if kind in table:
                self.between(name, node, *parts, TEXT[kind], table[kind])
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        kind = type(node.op)
        for name, table in (("sign", SIGNS), ("operator", OPERATORS)):
            if kind in table:
                self.between(
                    name, node, node.target, node.value, f"{TEXT[kind]}=", f"{table[kind]}="
                )
        self.visit(node.target)
        self.visit(node.value)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.USub) and not self.in_index:
            begin = self.at(node)[0]
            self.add("sign", node, begin, begin + 1, "")
        self.generic_visit(node)

    def visit_Compare(self, node):
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            is_name = isinstance(right, ast.Constant) and isinstance(right.value, str)
            if type(op) in ENDS and not is_name:
                text, new = COMPARISON[type(op)], ENDS[type(op)]
                self.between("comparison", node, left, right, text, new)
            left = right
        self.generic_visit(node)

    def visit_Call(self, node):
        function = node.func
        name = getattr(function, "attr", getattr(function, "id", ""))
        if name in MESSAGES:
            return
        end = self.at(function)[1]
        if name in EXTREMES:
            self.add("extreme", node, end - len(name), end, EXTREMES[name])
        elif name in FUNCTIONS and isinstance(function, ast.Attribute) and len(node.args) > 1:
            kind = "sign" if name in ("add", "subtract") else "operator"
            self.add(kind, node, end - len(name), end, FUNCTIONS[name])
        self.generic_visit(node)

    def visit_keyword(self, node):
        value = node.value
        if node.arg == "axis" and isinstance(value, ast.Constant) and value.value in (0, 1):
            self.add("index", value, *self.at(value), str(1 - value.value))
        elif node.arg != "axis":
            self.generic_visit(node)

    def visit_Subscript(self, node):
        self.visit(node.value)
        outside, self.in_index = self.in_index, True
        self.visit(node.slice)
        self.in_index = outside

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if self.in_index:
            self.add("index", node, *self.at(node), str(value + 1))
        else:
            if value and not 1e-8 < abs(value) < 1e6:  # a guard against overflow or a division by 0
                return
            new = 1 if value == 0 else (1.5 * value if isinstance(value, float) else value + 1)
            self.add("factor", node, *self.at(node), repr(type(value)(new)))


def core_files():
    """The files of the numerical core."""
    for name in CORE:
        place = ROOT / PACKAGE / name
        if place.is_dir():
            yield from sorted(place.rglob("*.py"))
        elif place.exists():
            yield place
        else:
            sys.exit(f"{PACKAGE / name} is not there: mend CORE in tools/mutants.py")


def drawn(count, seed, among=""):
    """A seeded choice of mutations, in random order, of the files with `among` in their path."""
    found = []
    for file in core_files():
        if among not in str(file.relative_to(ROOT)):
            continue
        found += Places(str(file.relative_to(ROOT)), file.read_text()).found
    random.Random(seed).shuffle(found)
    return found[:count], len(found)


# ------------------------------------------------------------------ which tests reach it


def pytest_runtest_logreport(report):
    """Note how long a test takes (in the run under coverage, where this file is a plugin)."""
    place = os.environ.get("GREEDYGP_DURATIONS")
    if place and report.when == "call" and not os.environ.get("PYTEST_XDIST_WORKER"):
        with open(place, "a") as stream:
            stream.write(json.dumps([report.nodeid, report.duration, report.outcome]) + "\n")


def measure(options):
    """Run the numerical tests under coverage: which lines each of them reaches, and its time."""
    KEPT.mkdir(exist_ok=True)
    durations, data = KEPT / "durations.jsonl", KEPT / "coverage"
    for each in KEPT.glob("coverage*"):
        each.unlink()
    durations.unlink(missing_ok=True)
    print("the tests, once, under coverage ...", flush=True)
    environment = os.environ | ONE_THREAD
    environment |= {"COVERAGE_FILE": str(data), "GREEDYGP_DURATIONS": str(durations)}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tools"), str(ROOT / "src")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants", "-n", str(options.processes)]
    command += ["--cov=greedygp", "--cov-context=test", "--cov-report=", "--no-cov-on-fail"]
    command += [f"--ignore={ROOT / name}" for name in NOT_NUMERICAL] + ["-m", "not slow"]
    code = subprocess.run([*command, *options.tests], cwd=ROOT, env=environment).returncode
    if code:
        sys.exit("the tests must pass before mutants can be judged")


class Reach:
    """The tests of each line, from the run under coverage."""

    def __init__(self):
        from coverage import CoverageData

        self.data = CoverageData(str(KEPT / "coverage"))
        self.data.read()
        lines = (KEPT / "durations.jsonl").read_text().splitlines()
        self.seconds = {name: s for name, s, outcome in map(json.loads, lines)}

    def tests(self, mutation):
        """Those that reach a mutation, the most promising first; all where it is import time."""
        reached = self.data.contexts_by_lineno(str(ROOT / mutation.path))
        names = set()
        for line in range(mutation.line, mutation.last_line + 1):
            names.update(context.rsplit("|", 1)[0] for context in reached.get(line, []))
        at_import = "" in names
        names = set(self.seconds) if names == {""} else names & set(self.seconds)
        stem = Path(mutation.path).relative_to(PACKAGE)
        mirror = str(Path("tests") / stem.with_name(f"test_{stem.name}"))
        folder = str(Path("tests") / stem.parent) + "/"

        def order(name):
            return not name.startswith(mirror), not name.startswith(folder), self.seconds[name]

        chosen = sorted(names, key=order)
        return chosen, sum(self.seconds[name] for name in chosen), at_import


# ---------------------------------------------------------------------------- judgement


def scratch(folder):
    """Copy the project; the copy is what gets broken."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "_build", "auto_examples", "generated")
            shutil.copytree(source, folder / name, ignore=ignored)
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def judge(mutation, folder, reach):
    """Whether a test notices the mutation: one record of the results."""
    source = (ROOT / mutation.path).read_text()
    record = asdict(mutation) | {"diff": mutation.diff(source)}
    tests, expected, _ = reach.tests(mutation)
    if not tests:
        return record | {"outcome": "survived", "by": "no test reaches the line", "seconds": 0.0}
    place = folder / mutation.path
    place.write_text(mutation.applied(source))
    begin = time.perf_counter()
    try:
        # Most mutants end here: to collect a few tests takes less time than to collect all.
        outcome, by = run_tests(folder, tests[:FIRST_TESTS], 60 + 4 * expected)
        if outcome == "survived" and tests[FIRST_TESTS:]:
            outcome, by = run_tests(folder, tests[FIRST_TESTS:], 60 + 4 * expected)
    finally:
        place.write_text(source)
    return record | {
        "outcome": outcome,
        "by": by if outcome != "survived" else f"{len(tests)} tests pass",
        "seconds": round(time.perf_counter() - begin, 1),
    }


def run_tests(folder, tests, seconds):
    """Run some tests in a copy of the project until one fails; return the outcome, and by whom."""
    (folder / "chosen").write_text("\n".join(tests))
    environment = os.environ | ONE_THREAD | {"PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = str(folder / "src")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
    command += ["--no-header", "--tb=no", "-rfE", "--override-ini=addopts="]
    command += ["--import-mode=importlib", "--doctest-modules", "@chosen"]
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, timeout=seconds, **options)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    outcome = {0: "survived", 1: "caught", 2: "caught"}.get(done.returncode, "error")
    told = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return outcome, told[0] if told else done.stdout[-300:] + done.stderr[-300:]


def report(records, total):
    """Print the counts and the survivors."""
    counts = {}
    for each in records:
        counts[each["outcome"]] = counts.get(each["outcome"], 0) + 1
    print(f"\n{len(records)} of {total} possible mutations: {counts}")
    for each in records:
        if each["outcome"] not in ("caught", "timeout"):
            print(f"\n{each['path']}:{each['line']}  {each['kind']}, {each['by']}")
            print(each["diff"])


def main():
    """Draw, judge what has no record yet, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--files", default="", help="only files with this in their path")
    parser.add_argument("--list", action="store_true", help="show the mutations and end")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--results", default=str(KEPT / "results.jsonl"))
    parser.add_argument("tests", nargs="*", help="tests to use; all numerical ones by default")
    options = parser.parse_args()
    mutations, total = drawn(options.count, options.seed, options.files)
    if options.list:
        for each in mutations:
            source = (ROOT / each.path).read_text()
            print(f"{each.path}:{each.line} {each.kind}\n{each.diff(source)}")
        return
    results = Path(options.results)
    if options.fresh or not (KEPT / "coverage").exists():
        results.unlink(missing_ok=True)
        measure(options)
    known = {}
    if results.exists():
        for each in map(json.loads, results.read_text().splitlines()):
            known[each["path"], each["begin"], each["old"], each["new"]] = each
    reach, folders, records = Reach(), SimpleQueue(), []

    def one(mutation):
        key = (mutation.path, mutation.begin, mutation.old, mutation.new)
        if key not in known:
            folder = folders.get()
            known[key] = judge(mutation, folder, reach)
            folders.put(folder)
            with results.open("a") as stream:
                stream.write(json.dumps(known[key]) + "\n")
            print("{outcome:9} {seconds:6} s  {path}:{line}  {by}".format(**known[key]), flush=True)
        records.append(known[key])

    with tempfile.TemporaryDirectory() as home:
        for number in range(options.processes):
            folders.put(scratch(Path(home) / str(number)))
        with ThreadPoolExecutor(options.processes) as pool:
            list(pool.map(one, mutations))
    report(records, total)


if __name__ == "__main__":
    main()
