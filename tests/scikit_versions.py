"""What tests use of scikit-learn that older versions lack; without it, they are skipped."""

import inspect

import pytest
import sklearn

from greedygp.versions import HAS_CALLBACKS, searchable

with searchable(sklearn):
    from sklearn.utils import estimator_checks

NO_CALLBACKS = "this scikit-learn has no callbacks"

if HAS_CALLBACKS:
    from sklearn.callback import FitCallback, ProgressBar, ScoringMonitor
else:

    class FitCallback:
        """Stands for each of the three: who makes one is skipped."""

        def __init__(self, *arguments, **options):
            pytest.skip(NO_CALLBACKS)

    ProgressBar = ScoringMonitor = FitCallback

__all__ = ["FitCallback", "ProgressBar", "ScoringMonitor", "parametrize_with_checks"]


def parametrize_with_checks(estimators, *, expected_failed_checks=None):
    """scikit-learn's own; a check that may fail need not."""
    options = {"expected_failed_checks": expected_failed_checks}
    if "xfail_strict" in inspect.signature(estimator_checks.parametrize_with_checks).parameters:
        options["xfail_strict"] = False
    mark = estimator_checks.parametrize_with_checks(estimators, **options).mark
    cases = [need_not_fail(case) for case in mark.args[1]]
    return pytest.mark.parametrize(mark.args[0], cases, **mark.kwargs)


def need_not_fail(case):
    """A case of a parametrisation whose mark `xfail`, if it has one, is not strict."""
    marks = getattr(case, "marks", ())
    loose = [
        pytest.mark.xfail(**(mark.kwargs | {"strict": False})) if mark.name == "xfail" else mark
        for mark in marks
    ]
    return pytest.param(*case.values, id=case.id, marks=loose) if marks else case
