"""Tables and models for the tests of the report."""

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")

from greedygp.tables import TableModel  # noqa: E402
from greedygp.tables.training import Recipe, Trained, predictions_of, prepare  # noqa: E402

QUICK = {"max_basis": 10, "max_iter": 3}


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(["x", "y"], n)}
    )
    frame["y"] = np.sin(2 * frame["a"]) + (frame["c"] == "x") + 0.1 * rng.normal(size=n)
    return frame


def fitted_by(estimator, task, target, frame):
    ready = prepare(frame, Recipe(target, task=task))
    rows, y = ready.rows, ready.target.values
    encoder = ready.encoder
    estimator.fit(encoder.transform(rows.iloc[ready.train]), y[ready.train])
    model = TableModel(encoder, estimator, target, task, {})
    test = rows.iloc[ready.test]
    return Trained(model, test, predictions_of(model, test, y[ready.test]))
