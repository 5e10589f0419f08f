"""The page: one HTML file that needs nothing else, readable without its script."""

from __future__ import annotations

import platform
import re
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from greedygp import __version__
from greedygp.report.figures import figures_of
from greedygp.report.subject import Figure
from greedygp.report.svg import short
from greedygp.tables.training import Trained, scores_of

__all__ = ["page"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
CARDS = {
    "nmse": "NMSE: 0 is perfect, 1 as good as the mean",
    "rmse": "root mean squared error",
    "nlpd": "NLPD: smaller is better",
    "coverage_95": "inside the 95 % interval",
    "error": "error rate",
    "log_loss": "log loss: smaller is better",
    "calibration_error": "calibration error: 0 is perfect",
}
PERCENT = ("coverage_95", "error")


def page(trained: Trained, judged_on: str) -> str:
    """Return the report of a model.

    Parameters
    ----------
    trained : Trained
    judged_on : str
        Which rows the predictions are of, in words.
    """
    facts = trained.model.facts
    figures = figures_of(trained)
    anchors = "".join(f'<a href="#{f.key}">{escape(f.title)}</a>' for f in figures)
    title = f"{facts.get('model', 'Model')} for {trained.model.target}"
    assets = files("greedygp.report")
    style = (assets / "style.css").read_text(encoding="utf-8")
    script = (assets / "script.js").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="lead">Judged on {escape(judged_on)}.</p>
<dl class="figures">{_cards(trained)}</dl>
<nav>{anchors}<a href="#made">What was done</a></nav>
</header>
<main>
{"".join(map(_section, figures))}
{_made(trained)}
</main>
<footer>{escape(_versions())}</footer>
<script>{script}</script>
</body>
</html>
"""


def _section(figure: Figure) -> str:
    charts = "".join(figure.charts)
    wide = "" if len(figure.charts) == 1 or figure.switches else ' class="wide"'
    return (
        f'<section id="{figure.key}"{wide}><h2>{escape(figure.title)}</h2>{figure.switches}'
        f'<div class="charts">{charts}</div><p class="caption">{escape(figure.caption)}</p>'
        "</section>\n"
    )


def _cards(trained: Trained) -> str:
    facts = trained.model.facts
    cards = []
    if trained.predictions is not None:
        for name, value in scores_of(trained.model, trained.predictions).items():
            if name in CARDS and value is not None:
                shown = f"{value:.1%}" if name in PERCENT else short(value)
                cards.append((CARDS[name], shown))
    rows = facts.get("rows_train")
    pairs = [("rows to learn from", rows), ("features", facts.get("features")),
             ("basis vectors", facts.get("basis"))]  # fmt: skip
    cards += [(name, str(value)) for name, value in pairs if value is not None]
    if "seconds_fit" in facts:
        cards.append(("seconds to fit", f"{facts['seconds_fit']:.1f}"))
    return "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in cards
    )


def _made(trained: Trained) -> str:
    """Return what was done to the columns, with which settings, and how to do it again."""
    facts, model = trained.model.facts, trained.model
    lines = []
    for column in model.encoder.columns:
        if column.kind == "number":
            what = f"scaled: mean {short(column.centre)}, deviation {short(column.width)}"
            what += ", and a feature that marks missing values" if column.marks_missing else ""
        elif column.kind == "date":
            what = ", ".join(part.name.removeprefix(f"{column.name}: ") for part in column.parts)
        else:
            what = f"{len(column.words)} features, one per word"
        missing = str(column.missing) if column.missing else ""
        cells = (column.name, column.kind, what)
        lines.append(
            "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells)
            + f'<td class="number">{missing}</td></tr>'
        )  # fmt: skip
    left_out = "".join(
        f"<tr><td>{escape(name)}</td><td>left out</td><td>{escape(why)}</td><td></td></tr>"
        for name, why in facts.get("left_out", {}).items()
    )
    how = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in _steps(facts, model.estimator)
    )
    command = facts.get("command")
    again = f"<h3>To do it again</h3><pre>{escape(command)}</pre>" if command else ""
    return f"""<section id="made" class="wide"><h2>What was done</h2>
<div class="scroll"><table>{how}</table></div>
<h3>Columns</h3>
<div class="scroll"><table><thead><tr><th>column</th><th>kind</th><th>becomes</th>
<th class="number">missing</th></tr></thead><tbody>{"".join(lines)}{left_out}</tbody></table></div>
{again}</section>
"""


def _steps(facts: dict[str, Any], estimator: Any) -> list[tuple[str, Any]]:
    steps: list[tuple[str, Any]] = []
    if "data" in facts:
        steps += [("data", facts["data"]["name"]), ("SHA-256", facts["data"]["sha256"])]
    if "task_because" in facts:
        steps.append(("task", f"{facts['task']}: {facts['task_because']}"))
        parts = f"{facts['rows_train']} to learn from, {facts['rows_test']} held out"
        if facts["rows_without_target"]:
            parts += f", {facts['rows_without_target']} without a target left out"
        steps += [("rows", parts), ("random seed", facts["recipe"]["seed"])]
    steps += [("assumed", sentence) for sentence in facts.get("assumptions", ())]
    settings = ", ".join(f"{name}={value!r}" for name, value in facts.get("settings", {}).items())
    steps.append(("model", f"{type(estimator).__name__}({settings})"))
    kernel = getattr(estimator, "kernel_", None)
    if kernel is not None:
        steps.append(("kernel", re.sub(r"\d+\.\d+(e[-+]?\d+)?", _rounded, repr(kernel))))
    if hasattr(estimator, "noise_variance_"):
        value = np.ravel(estimator.noise_variance_)[0]
        function = getattr(estimator, "_noise", None)
        ends = [value] if function is None else function.typical
        shown = " to ".join(f"{float(end):.4g}" for end in ends)
        varies = "" if function is None else " (it depends on the row)"
        steps.append(("noise variance, in the model's units", shown + varies))
    if hasattr(estimator, "stop_reason_"):
        reasons = np.atleast_1d(estimator.stop_reason_).tolist()
        steps.append(("the selection ended by", ", ".join(dict.fromkeys(map(str, reasons)))))
    return steps


def _rounded(number: re.Match) -> str:
    return f"{float(number[0]):.4g}"


def _versions() -> str:
    import sklearn

    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Written {now} by greedygp {__version__} with scikit-learn {sklearn.__version__}, NumPy "
        f"{np.__version__}, Python {platform.python_version()} on {platform.system()}."
    )
