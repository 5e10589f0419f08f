"""The verdict in words: how good the model is, how far to trust its error bars, what to do next.

Every sentence rests on the rows that the model was judged on, and says how sure it can be with so
many of them. Thresholds are named here, not scattered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, chdtrc

from greedygp.metrics import coverage, pit
from greedygp.plotting import curves
from greedygp.report.advice import next_steps
from greedygp.report.noise_figures import noise_follows_input
from greedygp.report.numbers import counted, percent, plain
from greedygp.report.subject import Subject
from greedygp.tables.evaluation import (
    baseline_of_classes,
    baseline_of_numbers,
    scores_of_each_class,
)
from greedygp.tables.training import coverage_where_missing, scores_of

__all__ = ["Answer", "verdict"]

# The least R2, or the share of the baseline's errors that is avoided, that deserves the word.
LOW_RECALL, WORTH_TELLING = 0.5, 0.7  # of a rare class; the latter: area under the ROC curve
WORDS = (
    (0.95, "Very good", "good"),
    (0.8, "Good", "good"),
    (0.5, "Fair", "fair"),
    (0.2, "Weak", "fair"),
    (0.03, "Poor", "poor"),
)
NO_BETTER = ("No better than guessing", "poor")
FEW_ROWS = 40  # fewer tell little about a coverage of 95 %
SURE = 2.5  # standard errors from which a difference is called one
SUSPECTED = 1.7  # and from which it is mentioned
SO_FEW_INSIDE = 0.006  # a chance below which they are called too few; that of `SURE` errors
UNLIKELY = 1e-3  # p-value from which a shape is called wrong
RESAMPLES = 300
MOST_RESAMPLED = 3000  # rows: with more, the uncertainty is not worth telling
FINE_AS_IT_IS = (
    "Nothing here calls for a change. Predict new rows with greedygp predict, and check now and "
    "then that their errors are like those on this page."
)


@dataclass
class Answer:
    """A question about the model, and its answer.

    Attributes
    ----------
    question, short : str
        The answer in a word or two is `short`.
    sentences : list of str
    tone : {"good", "fair", "poor", "plain"}
    is_list : bool
        Whether the sentences are points of a list.
    """

    question: str
    short: str
    sentences: list[str]
    tone: str = "plain"
    is_list: bool = False


def verdict(subject: Subject) -> list[Answer]:
    """Return the answers that stand at the top of a report."""
    if subject.trained.predictions is None:
        answers = [
            Answer(
                "How good is it?",
                "Not known",
                ["There were no rows to judge the model on: it has seen all of them."],
            )
        ]
    elif subject.model.task == "regression":
        answers = [_how_good(subject), _error_bars(subject)]
    else:
        answers = [_how_good_at_classes(subject), _probabilities(subject)]
    steps = next_steps(subject)
    if steps:
        last = Answer("What next?", "Worth trying", steps, is_list=len(steps) > 1)
    else:
        last = Answer("What next?", "Use it", [FINE_AS_IT_IS], "good")
    return [*answers, last]


# ----------------------------------------------------------------------------- how good


def _word(share: float) -> tuple[str, str]:
    return next(((word, tone) for least, word, tone in WORDS if share >= least), NO_BETTER)


def _how_good(subject: Subject) -> Answer:
    said, target = subject.predictions, subject.model.target
    scores, baseline = scores_of(subject.model, said), baseline_of_numbers(said.y)
    question = "How good is it?"
    r2, rmse = scores["r2"], scores["rmse"]
    assert rmse is not None
    typical = f"A typical error is {plain(rmse, 3)}"
    if r2 is None:
        return Answer(question, "Not known", [f"{target} is the same in all rows.", f"{typical}."])
    short, tone = _word(r2)
    between = _between(said.y, said.mean)
    share = percent(r2, 1 if r2 > 0.9 else 0) if r2 > 0 else "nothing"
    guess = plain(baseline["rmse"] or 0.0, 3)
    sentences = [
        f"It explains {share} of the variation of {target}{between}.",
        f"{typical}; with the mean as the only prediction it would be {guess}.",
    ]
    return Answer(question, short, sentences, tone)


def _between(y: np.ndarray, mean: np.ndarray) -> str:
    """Return the 95 % interval of R2, by drawing the rows again and again."""
    n = len(y)
    if n > MOST_RESAMPLED:
        return ""
    draws = np.random.default_rng(0).integers(n, size=(RESAMPLES, n))
    spread = np.var(y[draws], axis=1)
    some = spread > 0
    if not some.any():
        return ""
    error = np.mean((y - mean)[draws] ** 2, axis=1)
    low, high = np.quantile(1 - error[some] / spread[some], [0.025, 0.975])
    ends = [percent(max(end, 0.0), 1 if low > 0.9 else 0) for end in (low, high)]
    return f" (with {counted(n, 'row')} to judge by, {ends[0]} to {ends[1]})"


def _how_good_at_classes(subject: Subject) -> Answer:
    said, model = subject.predictions, subject.model
    scores, baseline = scores_of(model, said), baseline_of_classes(said.y)
    wrong, guess = scores["error"] or 0.0, baseline["error"] or 0.0
    each = scores_of_each_class(said.y, said.mean, said.probabilities, model.classes)
    short, tone = _word(_avoided(scores, baseline))
    spread = 1.96 * float(np.sqrt(max(wrong * (1 - wrong), 1 / len(said.y)) / len(said.y)))
    sentences = [
        f"It is wrong in {percent(wrong)} of the rows (give or take {percent(spread)}); always "
        f"saying the commonest class would be wrong in {percent(guess)}."
    ]
    rarest = min(each, key=lambda label: each[label]["rows"])
    rows, recall, precision = (each[rarest][name] for name in ("rows", "recall", "precision"))
    found = f"It finds {percent(recall, 0)} of the {rows} rows of {rarest}, the rarest class"
    if precision is not None:
        found += f"; {percent(precision, 0)} of what it calls {rarest} is {rarest}"
    sentences.append(found + ".")
    area = each[rarest]["roc_auc"]
    if recall < LOW_RECALL and area is not None and area > WORTH_TELLING:
        sentences.append(
            f"Yet the probabilities help: of two rows, one of {rarest} and one not, the first has "
            f"the higher one in {percent(area, 0)} of cases."
        )
    return Answer("How good is it?", short, sentences, tone)


def _avoided(scores: dict[str, float | None], baseline: dict[str, float | None]) -> float:
    """Return the share of the baseline's loss that a model avoids.

    By the log loss where there are probabilities: with rare classes the error rate tells little.
    """
    name = "log_loss" if scores.get("log_loss") is not None else "error"
    own, guess = scores[name] or 0.0, baseline[name] or 0.0
    return 1.0 - own / guess if guess > 0 else 0.0


# ---------------------------------------------------------------------------- how sure


def _error_bars(subject: Subject) -> Answer:
    said = subject.predictions
    question = "Can the error bars be trusted?"
    if said.std is None:
        return Answer(question, "There are none", ["This model predicts without error bars."])
    n = len(said.y)
    inside = coverage(said.y, said.mean, said.std, 0.95)
    short, tone = _trust(inside, said, n)
    sentences = [f"{percent(inside)} of {counted(n, 'row')} lie in their 95 % interval."]
    factor = float(np.quantile(np.abs(said.y - said.mean) / said.std, 0.95)) / 1.959964
    if short in ("Too narrow", "Too wide"):
        sentences.append(f"Error bars {plain(factor, 2)} times as wide would be right.")
    if n < FEW_ROWS:
        sentences.append("So few rows cannot tell much.")
    elif short == "Nearly":
        sentences.append("They may be a little narrow.")
    elif short == "For 95 %, yes":
        sentences.append("But the errors do not have the shape of the error bars: see calibration.")
    holes = coverage_where_missing(subject.model, subject.trained.rows, said)
    if holes is not None:
        share = percent(holes["coverage_95"])
        sentences.append(f"Of the {holes['rows']} rows with missing values it is {share}.")
    if noise_follows_input(subject.model.estimator):
        low, high = np.quantile(said.std, [0.05, 0.95])
        sentences.append(
            "They vary with the input: the standard deviation goes from "
            f"{plain(low, 2)} to {plain(high, 2)}."
        )
    return Answer(question, short, sentences, tone)


def _trust(inside: float, said, n: int) -> tuple[str, str]:
    if n < FEW_ROWS:  # too few for what follows: the chance itself of no more inside
        chance = bdtr(round(inside * n), n, 0.95)
        return ("Too narrow", "poor") if chance < SO_FEW_INSIDE else ("Hard to say", "plain")
    off = (inside - 0.95) / np.sqrt(0.95 * 0.05 / n)
    if off < -SURE:
        return "Too narrow", "poor"
    size = np.mean(((said.y - said.mean) / said.std) ** 2)  # 1 where the error bars are right
    if off > SURE or (off > 0 and size < 1 - SURE * np.sqrt(2 / n)):
        return "Too wide", "fair"
    if off < -SUSPECTED:
        return "Nearly", "fair"
    counts, _ = np.histogram(pit(said.y, said.mean, said.std), bins=10, range=(0.0, 1.0))
    misfit = float(np.sum((counts - n / 10) ** 2 / (n / 10)))
    if n >= 100 and chdtrc(9, misfit) < UNLIKELY:
        return "For 95 %, yes", "fair"
    return "Yes", "good"


def _probabilities(subject: Subject) -> Answer:
    said = subject.predictions
    question = "Can the probabilities be trusted?"
    if said.probabilities is None:
        return Answer(question, "There are none", ["This model predicts classes only."])
    found = curves.reliability(said.y, said.probabilities, subject.model.estimator.classes_)
    n = int(found.count.sum())
    sure = float(np.sum(found.count * found.confidence) / n)
    right = float(np.sum(found.count * found.accuracy) / n)
    top = np.max(said.probabilities, axis=1)
    off = (right - sure) / np.sqrt(max(float(np.sum(top * (1 - top))), 1e-12) / n**2)
    if off < -SURE:
        short, tone = "Too sure of itself", "poor"
    elif off > SURE:
        short, tone = "Too cautious", "fair"
    else:
        short, tone = ("Yes", "good") if n >= FEW_ROWS else ("Hard to say", "plain")
    sentences = [
        f"On average it gives its answer a probability of {percent(sure)}, and is right in "
        f"{percent(right)} of {counted(n, 'row')}."
    ]
    if n < FEW_ROWS:
        sentences.append("So few rows cannot tell much.")
    return Answer(question, short, sentences, tone)
