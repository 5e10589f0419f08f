"""The methods that live in our own environment: greedygp itself and scikit-learn's models.

A model without a predictive distribution gets a constant standard deviation: the root of its mean
squared error on a tenth of the training rows that it did not see.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from benchmarks.peers.exchange import Answer, Predict, Request, timed_answer, without_a_tenth

SVR_GRID = {"C": [1.0, 10.0], "gamma": [0.3, 1.0, 3.0], "epsilon": [0.03, 0.1]}


def greedygp(request: Request) -> Answer:
    """Our estimator as it comes, with the size of its basis among the facts."""
    from greedygp import SparseGPRegressor

    model = SparseGPRegressor(
        max_basis=request.options["basis"], random_state=request.options["seed"]
    )

    def fit(request: Request) -> Predict:
        model.fit(request.X, request.y)
        return lambda X: model.predict(X, return_std=True)

    answer = timed_answer(request, fit)
    answer.facts["basis"] = int(model.n_basis_)
    return answer


def greedygp_auto(request: Request) -> Answer:
    """Our front door, nothing set."""
    from greedygp import AutoGPRegressor

    model = AutoGPRegressor(random_state=request.options["seed"])

    def fit(request: Request) -> Predict:
        model.fit(request.X, request.y)
        return lambda X: model.predict(X, return_std=True)

    return timed_answer(request, fit)


def sklearn_gp(request: Request) -> Answer:
    """An exact GP: constant times ARD Gaussian plus noise, from the peers' starting values."""
    d = request.X.shape[1]
    kernel = ConstantKernel(1.0) * RBF(np.full(d, np.sqrt(d)), (1e-2, 1e4)) + WhiteKernel(
        0.1, (1e-8, 10.0)
    )

    def fit(request: Request) -> Predict:
        model = GaussianProcessRegressor(kernel, random_state=request.options["seed"])
        model.fit(request.X, request.y)
        return lambda X: model.predict(X, return_std=True)

    return timed_answer(request, fit)


def trees(request: Request) -> Answer:
    """Boosted trees, stopped early on rows held out, with that tenth's error as deviation."""

    def fit(request: Request) -> Predict:
        seed = request.options["seed"]
        X, X_held, y, y_held = without_a_tenth(request)
        model = HistGradientBoostingRegressor(
            max_iter=1000, early_stopping=True, n_iter_no_change=20, random_state=seed
        )
        model.fit(X, y, X_val=X_held, y_val=y_held)
        return with_deviation(model.predict, y_held - model.predict(X_held))

    return timed_answer(request, fit)


def svr(request: Request) -> Answer:
    """A support vector machine: a grid on at most 2000 rows, then one fit on all."""

    def fit(request: Request) -> Predict:
        rng = np.random.default_rng(request.options["seed"])
        n, d = request.X.shape
        order = rng.permutation(n)
        rows, held = order[: request.options["grid_rows"]], order[: n // 10]
        grid = {**SVR_GRID, "gamma": [g / d for g in SVR_GRID["gamma"]]}
        search = GridSearchCV(SVR(cache_size=1000), grid, cv=3, refit=False)
        search.fit(request.X[rows], request.y[rows])
        best = search.best_params_
        rest = order[n // 10 :]
        part = SVR(cache_size=1000, **best).fit(request.X[rest], request.y[rest])
        errors = request.y[held] - part.predict(request.X[held])
        whole = SVR(cache_size=1000, **best).fit(request.X, request.y)
        return with_deviation(whole.predict, errors)

    return timed_answer(request, fit)


def with_deviation(mean_of, errors: np.ndarray) -> Predict:
    """Predictions with the root of the mean squared error as every row's deviation."""
    deviation = float(np.sqrt(np.mean(errors**2)))
    return lambda X: (mean_of(X), np.full(len(X), deviation))
