"""The last section of a report: what was done, with which columns, and how to do it again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from greedygp.fitted import each
from greedygp.kernels import Kernel
from greedygp.report.numbers import counted, percent, plain
from greedygp.report.places import is_truth
from greedygp.report.subject import Subject

__all__ = ["making", "prose"]

MOST_COLUMNS = 15  # in the table before the fold
MOST_SCALES = 12
LISTED = re.compile(r"(\w+)=\[([^\]]*)\]")
OPTION = re.compile(r"--[a-z][a-z-]*")
NUMBER = re.compile(r"\d+\.\d+(e[-+]?\d+)?")


def prose(text: str) -> str:
    """Return a text as HTML in which no line ends within an option of the command line."""
    return OPTION.sub(r'<span class="option">\g<0></span>', escape(text))


def making(subject: Subject) -> str:
    """Return the section."""
    facts = subject.model.facts
    how = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{prose(str(value))}</td></tr>"
        for name, value in _steps(facts, subject.model.estimator)
    )
    command = facts.get("command")
    again = f"<h3>To do it again</h3><pre>{prose(command)}</pre>" if command else ""
    return f"""<section id="made" class="wide"><h2>What was done</h2>
<div class="scroll"><table>{how}</table></div>
{_scales(subject)}
<h3>Columns</h3>
{_columns(subject)}
{again}</section>
"""


def _steps(facts: dict[str, Any], estimator: Any) -> Iterator[tuple[str, Any]]:
    if "data" in facts:
        yield "data", facts["data"]["name"]
        yield "SHA-256", facts["data"]["sha256"]
    if "task_because" in facts:
        yield "task", f"{facts['task']}: {facts['task_because']}"
        parts = (
            f"{counted(facts['rows_train'], 'row')} to learn from, {facts['rows_test']} held out"
        )
        if facts["rows_without_target"]:
            parts += f", {facts['rows_without_target']} without a target left out"
        yield "rows", parts
        yield "random seed", facts["recipe"]["seed"]
    for sentence in facts.get("assumptions", ()):
        yield "assumed", sentence
    settings = ", ".join(f"{name}={value!r}" for name, value in facts.get("settings", {}).items())
    yield "model", f"{type(estimator).__name__}({settings})"
    kernels = each(getattr(estimator, "kernel_", None))
    if kernels:
        more = f" (and {len(kernels) - 1} more, one for each class)" if len(kernels) > 1 else ""
        yield "kernel", _named(kernels[0]) + more
    if hasattr(estimator, "noise_variance_"):
        yield "noise variance, of the scaled target", _noise(estimator)
    if hasattr(estimator, "stop_reason_"):
        reasons = np.atleast_1d(estimator.stop_reason_).tolist()
        yield "the selection ended by", ", ".join(dict.fromkeys(map(str, reasons)))


def _named(kernel: Any) -> str:
    """Return a kernel in a line; what it has for each feature is in a table of its own."""
    text = LISTED.sub(_in_short, repr(kernel))
    return NUMBER.sub(lambda number: plain(float(number[0])), text)


def _in_short(listed: re.Match) -> str:
    """Return a list of numbers in a few words."""
    numbers = set(listed[2].replace(",", " ").split())
    if len(numbers) == 1:
        return f"{listed[1]}={numbers.pop()} for every feature"
    return f"{listed[1]} of each feature below"


def _noise(estimator: Any) -> str:
    function = getattr(estimator, "_noise", None)
    if function is None:
        return plain(np.ravel(estimator.noise_variance_)[0])
    low, high = function.typical
    return f"{plain(low)} to {plain(high)}, by the input"


# ------------------------------------------------------------------------------- columns


def _scales(subject: Subject) -> str:
    """Return a table of the kernel's length scales by feature, the shortest first."""
    encoder, X = subject.model.encoder, subject.X
    kernels = [
        kernel
        for kernel in each(getattr(subject.model.estimator, "kernel_", None))
        if isinstance(kernel, Kernel) and kernel.n_features is not None
    ]
    scales = kernels[0].length_scales(X.shape[1]) if kernels else None
    if scales is None or len(scales) != X.shape[1] or np.ptp(scales) == 0:
        return ""
    spread = np.std(X, axis=0)
    order = np.argsort(scales / np.maximum(spread, 1e-12), kind="stable")
    lines = [
        f"<tr><td>{escape(encoder.feature_names[k])}</td>"
        f'<td class="number">{plain(scales[k], 3)}</td>'
        f'<td class="number">{_in_units(subject, k, scales[k])}</td></tr>'
        for k in order
    ]
    head = (
        '<thead><tr><th>feature</th><th class="number">length scale</th>'
        '<th class="number">in its own units</th></tr></thead>'
    )
    note = (
        '<p class="caption">Over such a distance the function can change. A long one means that it '
        "hardly depends on the feature, or depends on it in a straight line.</p>"
    )
    first = "" if len(kernels) == 1 else " of the first class"
    return f"<h3>Length scales{first}</h3>{_folded(head, lines, MOST_SCALES)}{note}"


def _in_units(subject: Subject, feature: int, scale: float) -> str:
    """Return a length scale in the units of a column of numbers."""
    encoder = subject.model.encoder
    column = encoder.columns_[encoder.groups[feature]]
    parts = {part.name: part for part in (column, *column.parts)}
    found = parts.get(encoder.feature_names[feature])
    if found is None or found.kind != "number" or is_truth(subject.trained.rows[column.name]):
        return ""
    return plain(scale * found.width, 3)


def _columns(subject: Subject) -> str:
    """Return a table of what became of each column, the most relevant ones first."""
    facts, encoder = subject.model.facts, subject.model.encoder
    best = facts.get("relevance") or {}
    lines = []
    for column in sorted(encoder.columns_, key=lambda c: -best.get(c.name, 0.0)):
        kind, becomes = _became(subject, column)
        missing = counted(column.missing, "row") if column.missing else ""
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in (column.name, kind, becomes))
        lines.append(f'<tr>{cells}<td class="number">{missing}</td></tr>')
    left_out = [
        f"<tr><td>{escape(name)}</td><td>left out</td><td>{prose(why)}</td><td></td></tr>"
        for name, why in facts.get("left_out", {}).items()
    ]
    head = (
        "<thead><tr><th>column</th><th>kind</th><th>becomes</th>"
        '<th class="number">missing</th></tr></thead>'
    )
    return _folded(head, [*left_out, *lines], MOST_COLUMNS)


def _became(subject: Subject, column: Any) -> tuple[str, str]:
    """Return the kind of a column, and what it was made into."""
    marks = ", and a feature that marks missing values" if column.marks_missing else ""
    if column.kind == "date":
        names = (part.name.removeprefix(f"{column.name}: ") for part in column.parts)
        return "date", ", ".join(names)
    if column.kind == "category":
        return "words", f"{counted(len(column.words), 'feature')}, one for each word"
    if is_truth(subject.trained.rows[column.name]):
        return "yes or no", f"one feature, {percent(column.centre, 0)} yes{marks}"
    return "number", f"scaled: mean {plain(column.centre)}, deviation {plain(column.width)}{marks}"


def _folded(head: str, lines: list[str], most: int) -> str:
    """Return a table; the lines after the first `most` are behind a fold."""
    shown, rest = lines[:most], lines[most:]
    opened = f'<div class="scroll"><table class="columns">{head}<tbody>'
    table = f"{opened}{''.join(shown)}</tbody></table></div>"
    if not rest:
        return table
    return (
        f"{table}<details><summary>{len(rest)} more</summary>"
        f"{opened}{''.join(rest)}</tbody></table></div></details>"
    )
