"""The words at the top of a report say what the numbers say."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from sklearn.dummy import DummyClassifier, DummyRegressor  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402

from greedygp.report import page  # noqa: E402
from greedygp.report.advice import next_steps  # noqa: E402
from greedygp.report.subject import Subject  # noqa: E402
from greedygp.report.verdict import verdict  # noqa: E402
from greedygp.tables.training import Predictions, Trained  # noqa: E402
from report_problems import fitted_by, table  # noqa: E402


def judged(y, mean, std=None, probabilities=None, facts=None):
    """A subject whose model says exactly this."""
    classes = probabilities is not None
    made = LogisticRegression() if classes else Ridge()
    model = fitted_by(made, "classification" if classes else "regression", "c" if classes else "y",
                      table(60)).model  # fmt: skip
    model.facts |= facts or {}
    if classes:
        model.estimator.classes_ = np.unique(y)
    rows = pandas.concat([table(60)] * (1 + len(y) // 60)).iloc[: len(y)]
    return Subject(Trained(model, rows, Predictions(y, mean, std, probabilities)))


def normal(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize(
    ("noise", "word"), [(0.1, "Very good"), (0.4, "Good"), (0.65, "Fair"), (0.85, "Weak")]
)
def test_how_good(noise, word):
    mean = normal(2000)
    y = np.sqrt(1 - noise**2) * mean + noise * normal(2000, 1)
    answer, _, _ = verdict(judged(y, np.sqrt(1 - noise**2) * mean))
    assert answer.short == word
    share = float(answer.sentences[0].split("explains ")[1].split(" %")[0])
    assert share == pytest.approx(100 * (1 - noise**2), abs=4)
    low, high = (
        float(s.rstrip(" %).")) for s in answer.sentences[0].split("judge by, ")[1].split(" % to ")
    )
    assert low <= share <= high


def test_no_better_than_guessing():
    answer, bars, steps = verdict(judged(normal(200), normal(200, 1)))
    assert (answer.short, answer.tone) == ("No better than guessing", "poor")
    assert "explains nothing" in answer.sentences[0]
    assert bars.short == "There are none"
    assert any("greedygp compare" in step for step in steps.sentences)


@pytest.mark.parametrize(
    ("factor", "word", "times"),
    [(1.0, "Yes", None), (0.5, "Too narrow", 2.0), (2.0, "Too wide", 0.5)],
)
def test_error_bars(factor, word, times):
    mean, error = normal(3000), normal(3000, 1)
    _, answer, _ = verdict(judged(mean + 0.1 * error, mean, np.full(3000, 0.1 * factor)))
    assert answer.short == word
    if times is not None:
        said = float(answer.sentences[1].removeprefix("Error bars ").split(" times")[0])
        assert said == pytest.approx(times, rel=0.1)


def test_error_bars_of_few_rows_that_are_too_wide():
    """All of 80 rows inside is no surprise, but errors of two thirds of the size are."""
    mean, error = normal(80), normal(80, 1)
    _, answer, _ = verdict(judged(mean + 0.06 * error, mean, np.full(80, 0.1)))
    assert answer.short == "Too wide"


def test_error_bars_of_another_shape():
    """95 % inside, but most errors are far smaller than the error bars."""
    mean = normal(2000)
    error = np.where(np.arange(2000) % 20 == 0, 3.0, 0.05) * normal(2000, 1)
    scale = np.quantile(np.abs(error), 0.95) / 1.96
    _, answer, _ = verdict(judged(mean + error, mean, np.full(2000, scale)))
    assert answer.short == "For 95 %, yes"
    assert "shape" in answer.sentences[1]


def test_few_rows_are_said_to_be_few():
    mean = normal(20)
    subject = judged(
        mean + 0.1 * normal(20, 1), mean, np.full(20, 0.1), facts={"judged_by": "test"}
    )
    _, answer, steps = verdict(subject)
    assert answer.short == "Hard to say"
    assert "20 rows are few to judge by" in " ".join(steps.sentences)


@pytest.mark.parametrize(
    ("rows", "outside", "word"),
    [(3, 1, "Hard to say"), (6, 2, "Hard to say"), (6, 3, "Too narrow"), (30, 4, "Hard to say")],
)
def test_what_chance_does_to_few_rows(rows, outside, word):
    """Two of six rows are outside a right interval in one case of thirty."""
    mean = normal(rows)
    error = np.where(np.arange(rows) < outside, 3.0, 0.5)
    _, answer, _ = verdict(judged(mean + error, mean, np.ones(rows)))
    assert answer.short == word


def classes_with(probability, truth_probability=None, n=2000, seed=0):
    """Labels "no" and "yes" and a model that says the probability of "yes"."""
    drawn = np.random.default_rng(seed).random(n)
    y = np.where(
        drawn < (probability if truth_probability is None else truth_probability), "yes", "no"
    )
    predicted = np.where(probability > 0.5, "yes", "no")
    return judged(y, predicted, probabilities=np.column_stack([1 - probability, probability]))


def test_rare_classes_are_judged_by_what_is_found():
    x = normal(2000, 3)
    probability = 1 / (1 + np.exp(-(3.5 * x - 6)))
    subject = classes_with(probability)
    good, sure, steps = verdict(subject)
    assert sure.short == "Yes"
    assert good.short == "Fair"  # although nearly every row is "no"
    assert "rows of yes, the rarest class" in good.sentences[1]
    assert "always saying the commonest class would be wrong in" in good.sentences[0]
    found = next(step for step in steps.sentences if "To find more of yes" in step)
    threshold = float(found.split("probability of ")[1].split(" on")[0])
    recall = np.mean(probability[subject.targets == "yes"] >= threshold * 0.97)
    assert 0.8 < recall < 1


def test_too_sure_and_too_cautious():
    x = normal(2000, 3)
    sure, cautious = 1 / (1 + np.exp(-4 * x)), 1 / (1 + np.exp(-0.3 * x))
    assert verdict(classes_with(sure, cautious))[1].short == "Too sure of itself"
    assert verdict(classes_with(cautious, sure))[1].short == "Too cautious"


def test_a_long_tail_is_seen():
    mean = np.exp(normal(500))
    y = mean * np.exp(0.3 * normal(500, 1))
    assert any("logarithm" in step for step in next_steps(judged(y, mean)))
    assert not any(
        "logarithm" in step for step in next_steps(judged(mean + 0.1 * normal(500, 2), mean))
    )


def test_time_limits_words_and_idle_columns_are_mentioned():
    mean = normal(500)
    facts = {
        "ended_early": True,
        "left_out": {"town": "it holds 300 different words; --max-categories allows more than 50"},
        "relevance": {"a": 1.0} | {f"x{k}": 0.0 for k in range(9)},
    }
    time, words, idle = next_steps(judged(mean, mean + 0.01 * normal(500, 1), facts=facts))
    assert "--time-limit" in time
    assert "town" in words
    assert "9 of 10 columns" in idle


def test_a_good_model_is_to_be_used():
    mean = normal(500)
    answer = verdict(judged(mean + 0.1 * normal(500, 1), mean, np.full(500, 0.1)))[-1]
    assert (answer.short, answer.tone) == ("Use it", "good")


def test_models_that_are_not_judged():
    trained = fitted_by(Ridge(), "regression", "y", table())
    trained.predictions = None
    first, last = verdict(Subject(trained))
    assert first.short == "Not known"
    assert "--test" in last.sentences[0]


@pytest.mark.parametrize(
    ("estimator", "task", "target"),
    [
        (DummyRegressor(), "regression", "y"),
        (DummyClassifier(), "classification", "c"),
        (DummyClassifier(strategy="constant", constant="x"), "classification", "c"),
    ],
)
def test_models_that_know_nothing_have_a_page(estimator, task, target):
    text = page(fitted_by(estimator, task, target, table(200)), "test rows")
    assert "No better than guessing" in text
