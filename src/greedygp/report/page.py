"""The page: one HTML file that needs nothing else, readable without its script."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

import numpy as np

from greedygp import __version__
from greedygp.report.figures import figures_of
from greedygp.report.making import making, prose
from greedygp.report.numbers import counted, percent, plain
from greedygp.report.subject import Figure, Subject
from greedygp.report.verdict import Answer, verdict
from greedygp.tables.evaluation import baseline_of_classes, baseline_of_numbers
from greedygp.tables.training import Trained, scores_of
from greedygp.threads import serial_blas

__all__ = ["page"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
# Each score: what it is called, and what is said of it besides the baseline.
CARDS = {
    "r2": ("R²", "1 is perfect, 0 as good as the mean"),
    "rmse": ("typical error (RMSE)", ""),
    "nlpd": ("NLPD", "smaller is better"),
    "nmse": ("NMSE", "0 is perfect, 1 as good as the mean"),
    "coverage_95": ("inside the 95 % interval", "95 % is right"),
    "error": ("error rate", ""),
    "balanced_error": ("balanced error rate", "classes weighted equally"),
    "log_loss": ("log loss", "smaller is better"),
    "calibration_error": ("calibration error", "0 is perfect"),
}
GUESSES = {"error": "commonest class alone", "log_loss": "shares of the classes alone"}
PERCENT = ("coverage_95", "error", "balanced_error")


def page(trained: Trained, judged_on: str) -> str:
    """Return the report of a model.

    Parameters
    ----------
    trained : Trained
    judged_on : str
        Which rows the predictions are of, in words.
    """
    subject = Subject(trained)
    with serial_blas(1):  # thousands of predictions of a few hundred rows
        figures = figures_of(subject)
    anchors = "".join(f'<a href="#{f.key}">{escape(f.title)}</a>' for f in figures)
    title = f"{trained.model.target}, predicted by {trained.model.facts.get('model', 'a model')}"
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
<p class="lead">Judged on {escape(judged_on)}. {escape(" ".join(_learnt_from(trained)))}</p>
<div class="verdict">{"".join(map(_answer, verdict(subject)))}</div>
<dl class="figures">{_cards(trained)}</dl>
<nav>{anchors}<a href="#made">What was done</a></nav>
</header>
<main>
{"".join(_sections(figures))}
{making(subject)}
</main>
<footer>{escape(_versions())}</footer>
<script>{script}</script>
</body>
</html>
"""


def _learnt_from(trained: Trained) -> Iterator[str]:
    """Yield sentences on the size of the model."""
    facts = trained.model.facts
    if facts.get("rows_train") is not None and facts.get("features") is not None:
        columns = counted(len(trained.model.encoder.columns_), "column")
        features = counted(facts["features"], "feature")
        yield f"Learnt from {counted(facts['rows_train'], 'row')}, {features} made of {columns}."
    seconds = f"{plain(facts['seconds_fit'], 2)} s" if "seconds_fit" in facts else ""
    if facts.get("basis") is not None:
        made = counted(facts["basis"], "basis vector")
        yield f"It keeps {made}, found in {seconds}." if seconds else f"It keeps {made}."
    elif seconds:
        yield f"The fit took {seconds}."


def _answer(answer: Answer) -> str:
    if answer.is_list:
        said = f"<ul>{''.join(f'<li>{prose(s)}</li>' for s in answer.sentences)}</ul>"
    else:
        said = f"<p>{prose(' '.join(answer.sentences))}</p>"
    return (
        f'<div class="answer {answer.tone}"><h2>{escape(answer.question)}</h2>'
        f'<p class="short">{escape(answer.short)}</p>{said}</div>'
    )


def _sections(figures: list[Figure]) -> list[str]:
    """Return the sections in an order that leaves no half of a row empty.

    One that needs the whole width does not part two that share a row; one without a partner gets
    the whole width, and its caption stands beside the chart.
    """
    sections: list[str] = []
    waiting: list[Figure] = []
    for figure in figures:
        if figure.is_wide:
            sections.append(_section(figure, "wide"))
            continue
        waiting.append(figure)
        if len(waiting) == 2:
            sections += [_section(each, "") for each in waiting]
            waiting = []
    return sections + [_section(figure, "wide alone") for figure in waiting]


def _section(figure: Figure, kind: str) -> str:
    kind = f' class="{kind}"' if kind else ""
    return (
        f'<section id="{figure.key}"{kind}><h2>{escape(figure.title)}</h2>{figure.switches}'
        f'<div class="charts n{len(figure.charts)}">{"".join(figure.charts)}</div>'
        f'<p class="caption">{escape(figure.caption)}</p></section>'
    )


def _cards(trained: Trained) -> str:
    said = trained.predictions
    if said is None:
        return ""
    classes = trained.model.task == "classification"
    baseline = baseline_of_classes(said.y) if classes else baseline_of_numbers(said.y)
    scores = scores_of(trained.model, said)
    cards = []
    for name, (label, note) in CARDS.items():
        value = scores.get(name)
        if value is None:
            continue
        alone = baseline.get(name)
        if alone is not None:
            guess = "mean alone" if not classes else GUESSES.get(name, "guessing")
            note = f"{guess}: {_shown(name, alone)}" + (f"; {note}" if note else "")
        cards.append((label, _shown(name, value), note))
    return "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd>"
        f'<dd class="note">{escape(note)}</dd></div>'
        for label, value, note in cards
    )


def _shown(name: str, value: float) -> str:
    return percent(value) if name in PERCENT else plain(value, 3)


def _versions() -> str:
    import sklearn

    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Written {now} by greedygp {__version__} with scikit-learn {sklearn.__version__}, NumPy "
        f"{np.__version__}, Python {platform.python_version()} on {platform.system()}."
    )
