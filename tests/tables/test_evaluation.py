"""Scores, and what guessing would score."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss, precision_score, r2_score

from greedygp.metrics import nlpd
from greedygp.tables.evaluation import (
    baseline_of_classes,
    baseline_of_numbers,
    scores_of_classes,
    scores_of_each_class,
    scores_of_numbers,
)

RNG = np.random.default_rng(0)
Y = RNG.normal(3.0, 2.0, 50)
LABELS = np.array(["a"] * 40 + ["b"] * 15 + ["c"] * 5)
PREDICTED = np.where(RNG.random(60) < 0.3, "a", LABELS)
PROBABILITIES = RNG.dirichlet([1, 1, 1], 60)


def test_numbers_and_their_baseline():
    mean = Y + RNG.normal(size=50)
    scores = scores_of_numbers(Y, mean, None)
    assert scores["r2"] == pytest.approx(r2_score(Y, mean))
    assert scores["r2"] + scores["nmse"] == pytest.approx(1.0)
    alone = baseline_of_numbers(Y)
    constant = np.full(50, Y.mean())
    assert alone["rmse"] == pytest.approx(scores_of_numbers(Y, constant, None)["rmse"])
    assert alone["nlpd"] == pytest.approx(nlpd(Y, constant, np.full(50, Y.std())))
    assert baseline_of_numbers(np.ones(3)) == {"rmse": 0.0, "nlpd": None}
    assert scores_of_numbers(np.ones(3), np.zeros(3), None)["r2"] is None


def test_classes_and_their_baseline():
    scores = scores_of_classes(LABELS, PREDICTED, PROBABILITIES, ["a", "b", "c"])
    assert scores["balanced_error"] == pytest.approx(1 - balanced_accuracy_score(LABELS, PREDICTED))
    X = np.zeros((60, 1))
    guess = DummyClassifier(strategy="prior").fit(X, LABELS)
    alone = baseline_of_classes(LABELS)
    assert alone["error"] == pytest.approx(1 - guess.score(X, LABELS))
    assert alone["log_loss"] == pytest.approx(log_loss(LABELS, guess.predict_proba(X)))
    assert alone["balanced_error"] == pytest.approx(2 / 3)


def test_each_class():
    found = scores_of_each_class(LABELS, PREDICTED, PROBABILITIES, ["a", "b", "c", "d"])
    assert list(found) == ["a", "b", "c"]  # d does not occur
    assert [found[label]["rows"] for label in "abc"] == [40, 15, 5]
    expected = precision_score(LABELS, PREDICTED, labels=["a", "b"], average=None)
    assert [found[label]["precision"] for label in "ab"] == pytest.approx(list(expected))
    never = scores_of_each_class(LABELS, np.full(60, "a"), None, ["a", "b", "c"])
    assert never["b"] == {"rows": 15, "recall": 0.0, "precision": None, "roc_auc": None}


def test_probabilities_that_are_the_shares_are_calibrated_exactly():
    """Not up to rounding: people read the number."""
    labels = np.array(["a"] * 30 + ["b"] * 19 + ["c"] * 21)
    shares = np.tile([30 / 70, 19 / 70, 21 / 70], (70, 1))
    scores = scores_of_classes(labels, np.full(70, "a"), shares, ["a", "b", "c"])
    assert scores["calibration_error"] == 0.0
