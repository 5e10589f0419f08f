"""What is worth doing next with a model, by what its report shows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from greedygp.plotting import curves
from greedygp.report.noise_figures import noise_follows_input
from greedygp.report.numbers import counted, percent, plain
from greedygp.report.subject import Subject
from greedygp.tables.evaluation import scores_of_each_class
from greedygp.tables.training import scores_of

__all__ = ["next_steps"]

MOST_STEPS = 3
LITTLE_EXPLAINED = 0.5  # R2 below which other models and more columns are proposed
FEW_TO_JUDGE = 100
LOW_RECALL = 0.7
WANTED_RECALL = 0.85
USEFUL_PRECISION, USEFUL_LIFT = 0.3, 1.8  # the latter: times the share of the class
SKEWED = 1.0
GROWS = 0.3  # correlation of the size of errors with the prediction
NEXT_TO_NOTHING = 0.01
MANY_IDLE = 5  # columns


def next_steps(subject: Subject) -> list[str]:
    """Return the most useful steps, the most pressing first; empty: the model is fine as it is."""
    return list(_steps(subject))[:MOST_STEPS]


def _steps(subject: Subject) -> Iterator[str]:
    facts, said = subject.model.facts, subject.trained.predictions
    name = facts.get("data", {}).get("name", "table.csv")
    if said is None:
        yield "Hold rows out (--test 0.2), so that the model can be judged."
        return
    if facts.get("ended_early"):
        yield "The fit was ended by its time limit. Give it more time (--time-limit)."
    if subject.model.task == "regression":
        yield from _for_numbers(subject)
    else:
        yield from _for_classes(subject)
    score = scores_of(subject.model, said).get("r2")
    if score is not None and score < LITTLE_EXPLAINED:
        yield (
            "Much is left unexplained. Look for columns that tell more about "
            f"{subject.model.target}, and see whether another model does better: greedygp compare "
            f"{name} --target {subject.model.target}."
        )
    if len(said.y) < FEW_TO_JUDGE and facts.get("judged_by") == "test":
        yield (
            f"{counted(len(said.y), 'row')} are few to judge by. Without rows held out (--test 0) "
            "the model learns from all of them, and is judged by leaving each one out in turn."
            if subject.model.task == "regression"
            else f"{counted(len(said.y), 'row')} are few to judge by. Hold out more (--test 0.4)."
        )
    yield from _about_columns(subject)


def _for_numbers(subject: Subject) -> Iterator[str]:
    said, model = subject.predictions, subject.model
    y, error = said.y, np.abs(said.y - said.mean)
    tail = not noise_follows_input(model.estimator)  # otherwise that is taken care of
    if tail and len(y) > 20 and np.std(error) > 0 and np.std(said.mean) > 0 and np.min(y) > 0:
        skew = float(np.mean((y - y.mean()) ** 3) / max(np.std(y) ** 3, 1e-300))
        if skew > SKEWED and np.corrcoef(error, said.mean)[0, 1] > GROWS:
            yield (
                f"Errors grow with {model.target}, which has a long tail. Try its logarithm as the "
                "target."
            )
    if str(getattr(model.estimator, "stop_reason_", "")) == "max_basis":
        for curve in curves.selection_paths(model)[:1]:
            share = _last_tenth(curve.value)
            if share > 0.01:
                size = 2 * len(curve.value)
                yield (
                    f"The last tenth of the basis vectors still brought {percent(share)} of the "
                    f"gain. Allow more of them: --set max_basis={size}."
                )


def _last_tenth(values: np.ndarray) -> float:
    """Return the share of the fall that the last tenth of the steps brought."""
    fall = float(values[0] - values[-1])
    place = len(values) - 1 - max(1, len(values) // 10)
    return float(values[place] - values[-1]) / fall if fall > 0 and place >= 0 else 0.0


def _for_classes(subject: Subject) -> Iterator[str]:
    said, classes = subject.predictions, subject.model.classes
    if said.probabilities is None:
        return
    each = scores_of_each_class(said.y, said.mean, said.probabilities, classes)
    if len(each) < 2:
        return
    rarest = min(each, key=lambda label: each[label]["rows"])
    if each[rarest]["recall"] >= LOW_RECALL:
        return
    place = classes.index(rarest)
    curve = curves.ranking(said.y == rarest, said.probabilities[:, place])
    enough = np.flatnonzero(curve.recall >= WANTED_RECALL)
    best = int(enough[np.argmax(curve.precision[enough])])
    share = float(np.mean(said.y == rarest))
    if curve.precision[best] > min(USEFUL_PRECISION, USEFUL_LIFT * share):
        yield (
            f"To find more of {rarest}, act from a probability of {plain(curve.threshold[best], 2)}"
            f" on. On these rows that finds {percent(curve.recall[best], 0)}, and "
            f"{percent(curve.precision[best], 0)} of the alarms are right."
        )
    else:
        yield f"Collect more rows of {rarest}: it is rare, and seldom found."


def _about_columns(subject: Subject) -> Iterator[str]:
    facts = subject.model.facts
    many = [name for name, why in facts.get("left_out", {}).items() if "--max-cat" in why]
    if many:
        were = "was" if len(many) == 1 else "were"
        yield (
            f"{', '.join(many[:3])} {were} left out: too many different words. Group them into "
            "fewer, or allow more with --max-categories."
        )
    relevance = facts.get("relevance") or {}
    idle = [name for name, value in relevance.items() if value < NEXT_TO_NOTHING]
    if len(idle) >= MANY_IDLE and len(idle) >= len(relevance) / 2:
        yield (
            f"{len(idle)} of {len(relevance)} columns tell next to nothing. A model of the others "
            "is quicker and easier to explain (--drop)."
        )
