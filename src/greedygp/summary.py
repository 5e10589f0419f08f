"""The essential facts of a fitted model, as text and as a table of HTML.

Everything is read from fitted attributes, so one mixin serves all families. With several classes
some attributes have one entry for each class; the facts then list them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from greedygp.arrays import to_numpy
from greedygp.fitted import each, relevance
from greedygp.inputs import input_names

__all__ = ["Summary", "SummaryMixin"]

MOST_FEATURES, MOST_CLASSES = 5, 8
LONGEST_KERNEL = 160  # characters
NUMBER = re.compile(r"\d+\.\d+(e[+-]?\d+)?")
MEASURES = {
    "gcv_": "generalised cross-validation",
    "log_evidence_": "log evidence",
    "criterion_value_": "criterion",
}


class Summary:
    """A title, and facts as names and values; `str` gives text, a notebook shows a table.

    Parameters
    ----------
    title : str
    facts : sequence of pairs of str

    Examples
    --------
    >>> from greedygp.summary import Summary
    >>> Summary("Model", [("rows", "100"), ("basis vectors", "7")])
    Model
      rows           100
      basis vectors  7
    """

    def __init__(self, title: str, facts: Sequence[tuple[str, str]]):
        self.title, self.facts = title, list(facts)

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self.facts), default=0)
        return "\n".join([self.title, *(f"  {name:<{width}}  {text}" for name, text in self.facts)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self.facts
        )
        return f"<table><caption>{html.escape(self.title)}</caption><tbody>{lines}</tbody></table>"


class SummaryMixin:
    """Gives an estimator `summary()`."""

    def summary(self) -> Summary:
        """Return the essential facts of the fitted model.

        Returns
        -------
        Summary
            Its `str` is a table of text, and a notebook shows it as one; `facts` has the pairs of
            names and values.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from greedygp import SparseGPRegressor
        >>> X, y = make_friedman1(100, random_state=0)
        >>> model = SparseGPRegressor(max_basis=9, max_iter=5, random_state=0).fit(X, y)
        >>> dict(model.summary().facts)["basis"]
        '9 vectors (stopped by max_basis)'
        """
        check_is_fitted(self)
        return Summary(type(self).__name__, list(_facts(self)))


def _facts(model: Any) -> Iterator[tuple[str, str]]:
    if is_classifier(model):
        names = [str(label) for label in model.classes_]
        more = ", ..." if len(names) > MOST_CLASSES else ""
        yield "classes", f"{len(names)}: {', '.join(names[:MOST_CLASSES])}{more}"
    rows = _rows(model)
    if rows is not None:
        yield "rows", str(rows)
    yield "features", str(model.n_features_in_)
    if getattr(model, "_target_shape", ()):
        yield "targets", str(model._target_shape[0])
    kernel = each(getattr(model, "kernel_", None))
    if kernel:
        shown = NUMBER.sub(lambda number: f"{float(number[0]):.4g}", str(kernel[0]))
        shown = shown if len(shown) <= LONGEST_KERNEL else shown[: LONGEST_KERNEL - 4] + " ..."
        yield "kernel", shown if len(kernel) == 1 else f"{shown} (of the first class)"
    if hasattr(model, "n_basis_"):
        reasons = dict.fromkeys(str(reason) for reason in each(getattr(model, "stop_reason_", ())))
        why = f" (stopped by {', '.join(reasons)})" if reasons else ""
        yield "basis", f"{', '.join(map(str, each(model.n_basis_)))} vectors{why}"
    yield from _noise(model)
    yield from _method(model)
    yield from _time(model)
    relevant = _relevant(model)
    if relevant:
        yield "most relevant features", relevant


def _rows(model: Any) -> int | None:
    """Return how many rows the model was fitted to, where it knows."""
    if hasattr(model, "dual_coef_"):
        return int(model.dual_coef_.shape[0])
    if getattr(model, "_n_rows", None) is not None:
        return model._n_rows
    if not hasattr(model, "_loo"):
        return None
    dropped = getattr(model, "_loo_dropped", None)
    return int(model._loo[0].shape[0]) + (0 if dropped is None else int(np.sum(~dropped[0])))


def _noise(model: Any) -> Iterator[tuple[str, str]]:
    variance = getattr(model, "noise_variance_", None)
    if variance is None:
        return
    scale = getattr(model, "_scale", None)
    widths = np.ones(1) if scale is None else np.atleast_1d(scale.width)
    function = getattr(model, "_noise", None)
    ends = [variance] if function is None else function.typical
    deviations = ", ".join(
        " to ".join(f"{np.sqrt(end) * width:.4g}" for end in ends)
        for width in widths[:MOST_CLASSES]
    )
    varies = "" if function is None else ", by the input"
    yield "noise", f"standard deviation {deviations} in the units of y{varies}"


def _method(model: Any) -> Iterator[tuple[str, str]]:
    if hasattr(model, "approximation_"):
        yield "approximation", str(model.approximation_)
    if hasattr(model, "solver_"):
        state = "converged" if model.converged_ else f"ended with {model.status_}"
        yield "solver", f"{model.solver_}, {state} after {model.n_iter_} steps"
    elif hasattr(model, "criterion"):
        yield "criterion", str(model.criterion)
    if hasattr(model, "objective_value_"):
        known = [f"{float(v):.5g}" for v in each(model.objective_value_) if not np.isnan(v)]
        name = getattr(model, "objective_", model.objective)
        yield "objective", "none: held as given" if name is None else ", ".join((name, *known))
    for name, words in MEASURES.items():
        if hasattr(model, name):
            values = ", ".join(f"{value:.5g}" for value in np.atleast_1d(getattr(model, name)))
            yield words, values


def _time(model: Any) -> Iterator[tuple[str, str]]:
    """Yield steps and seconds of what the fit was made of."""
    for path in each(getattr(model, "path_", None))[:1]:
        if len(path):
            yield "selection", f"{len(path)} steps in {_seconds(path['seconds'][-1])}"
    rounds = [line for line in each(getattr(model, "rounds_", None)) if len(line)]
    if rounds:
        steps = sum(int(np.sum(line["n_iter"])) for line in rounds)
        seconds = sum(float(np.sum(line["seconds"])) for line in rounds)
        yield "learning", f"{steps} iterations in {_seconds(seconds)}"
    history: Any = getattr(model, "history_", ())
    if len(history):
        yield "solve", _seconds(history["seconds"][-1])


def _seconds(value: float) -> str:
    return f"{float(value):.3g} s"


def _relevant(model: Any) -> str | None:
    """Return the features by relevance, where the kernel has a length scale for each."""
    inputs = each(getattr(model, "basis_", None))
    if not inputs and hasattr(getattr(model, "_posterior", None), "X"):
        inputs = [model._posterior.X]
    known = [to_numpy(part) for part in inputs]
    X = np.concatenate(known) if known else None
    values = relevance(model, X if X is not None and len(X) > 1 else None)
    if values is None:
        return None
    known = input_names(model)
    names = [f"x{k}" for k in range(len(values))] if known is None else known
    order = np.argsort(-values, kind="stable")[:MOST_FEATURES]
    return ", ".join(f"{names[k]} ({values[k]:.2f})" for k in order)
