"""Estimators where scikit-learn has callbacks, and where it has none."""

import io
import subprocess
import sys

import numpy as np
import pytest

from greedygp import versions

FIT = """
import sys, warnings
import numpy as np
import sklearn.pipeline
from sklearn.exceptions import ConvergenceWarning
kept = sys.modules.get("sklearn.callback")
sys.modules["sklearn.callback"] = None  # as in scikit-learn before 1.9
from greedygp import versions
sys.modules["sklearn.callback"] = kept
import greedygp

X = np.random.default_rng(0).normal(size=(40, 2))
names = [name for name in greedygp.__all__ if name.endswith(("Regressor", "Classifier"))]
y = np.sin(X[:, 0])
for name in names:
    estimator = getattr(greedygp, name)()
    assert not hasattr(estimator, "set_callbacks"), name
    if name in ("AutoGPRegressor", "SparseGPRegressor", "FastGCVRegressor", "SparseGPClassifier"):
        estimator.fit(X, y > 0 if name.endswith("Classifier") else y).predict(X)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    greedygp.GPRegressor(solver="smo", max_iter=1).fit(X, y)
assert [w.filename for w in seen if w.category is ConvergenceWarning] == ["<string>"], seen
print(versions.HAS_CALLBACKS, len(names) > 5)
"""


def test_without_callbacks_everything_fits_and_nothing_pretends_to_have_them():
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_numbers_in_text_are_read_to_their_last_digit():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=1000)
    text = io.StringIO("x\n" + "\n".join(map(repr, X.tolist())))
    table = pandas.read_csv(text, **versions.exact_numbers(pandas))
    np.testing.assert_array_equal(table["x"], X)


def test_fit_keeps_its_name_and_text():
    def fit(self):
        """Fit."""

    assert versions.with_callbacks(fit).__doc__ == "Fit."
    assert versions.with_callbacks(fit).__name__ == "fit"


@pytest.mark.skipif(not versions.HAS_CALLBACKS, reason="this scikit-learn has no callbacks")
def test_with_callbacks_estimators_are_scikit_learns():
    from sklearn.callback import CallbackSupportMixin

    assert versions.CallbackSupportMixin is CallbackSupportMixin
