"""The classifiers that live in our own environment: greedygp itself and scikit-learn's models.

What comes back is the probability of +1 (in the answer's first array) and the predicted label (in
its second): a support vector machine decides by its own score, whatever Platt's curve says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from benchmarks.peers.exchange import Answer, Predict, Request, timed_answer

FOLDS = 5
SVC_GRID = {"C": [0.3, 1.0, 3.0, 10.0, 30.0, 100.0], "gamma": [0.1, 0.3, 1.0, 3.0, 10.0]}
LOGISTIC_GRID = {"C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]}


def greedygp(request: Request) -> Answer:
    """Our estimator as it comes, with the size of its basis among the facts."""
    return _ours(request)


def ivm(request: Request) -> Answer:
    """The informative vector machine in our code: entropy, sites as they were matched."""
    return _ours(request, criterion="entropy", ep_passes=0, refine=False)


def _ours(request: Request, **parameters: Any) -> Answer:
    from greedygp import SparseGPClassifier

    model = SparseGPClassifier(random_state=request.options["seed"], **parameters)
    answer = timed_answer(request, lambda request: _fitted(model, request))
    answer.facts["basis"] = int(model.n_basis_)
    return answer


def svc(request: Request) -> Answer:
    """A support vector machine: C and gamma by cross-validated error, then Platt's scaling."""

    def fit(request: Request) -> Predict:
        folds = _folds(request)
        grid = {**SVC_GRID, "gamma": [g / request.X.shape[1] for g in SVC_GRID["gamma"]]}
        search = GridSearchCV(SVC(cache_size=1000), grid, cv=folds).fit(request.X, request.y)
        machine = search.best_estimator_
        scaled = CalibratedClassifierCV(machine, method="sigmoid", cv=folds, ensemble=False)
        scaled.fit(request.X, request.y)
        return lambda X: (scaled.predict_proba(X)[:, 1], machine.predict(X))

    return timed_answer(request, fit)


def exact_gpc(request: Request) -> Answer:
    """An exact GP by Laplace's approximation, from the sparse GPs' starting values."""
    d = request.X.shape[1]
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(np.sqrt(d), (1e-2, 1e4))
    model = GaussianProcessClassifier(kernel, random_state=request.options["seed"])
    return timed_answer(request, lambda request: _fitted(model, request))


def logistic(request: Request) -> Answer:
    """Logistic regression, its penalty by cross-validated log loss."""

    def fit(request: Request) -> Predict:
        search = GridSearchCV(
            LogisticRegression(max_iter=1000),
            LOGISTIC_GRID,
            cv=_folds(request),
            scoring="neg_log_loss",
        )
        return _fitted(search, request)

    return timed_answer(request, fit)


def trees(request: Request) -> Answer:
    """Boosted trees, stopped early on a tenth of the rows."""
    model = HistGradientBoostingClassifier(
        max_iter=1000,
        early_stopping=True,
        n_iter_no_change=20,
        random_state=request.options["seed"],
    )
    return timed_answer(request, lambda request: _fitted(model, request))


def _fitted(model: Any, request: Request) -> Predict:
    model.fit(request.X, request.y)
    return lambda X: (model.predict_proba(X)[:, 1], model.predict(X))


def _folds(request: Request) -> StratifiedKFold:
    return StratifiedKFold(FOLDS, shuffle=True, random_state=request.options["seed"])
