"""What a model answers, as arrays that can be stored and compared."""

import numpy as np
from sklearn.pipeline import Pipeline


def answers(model, X_new):
    """Return predictions at X_new and the fitted attributes of a model, by name."""
    estimator = model[-1] if isinstance(model, Pipeline) else model
    found = {"predict": model.predict(X_new), "kernel": np.array(repr(estimator.kernel_))}
    if hasattr(model, "predict_proba"):
        found["predict_proba"] = model.predict_proba(X_new)
        found["decision_function"] = model.decision_function(X_new)
    elif hasattr(estimator, "noise_variance_") and "std" in str(type(estimator).predict.__doc__):
        found["std"] = model.predict(X_new, return_std=True)[1]
        found["latent_std"] = model.predict(X_new, return_std=True, noise=False)[1]
    if hasattr(estimator, "predict_interval"):
        found["covariance"] = estimator.predict(X_new, return_cov=True)[1]
        found["lower"], found["upper"] = estimator.predict_interval(X_new, 0.8)
    if hasattr(estimator, "loo_predict") and getattr(estimator, "memory_limit", 1) > 0:
        found["loo_mean"], found["loo_std"] = estimator.loo_predict()
    return found | attributes(estimator)


def attributes(estimator):
    """Return the fitted attributes that are numbers, text or arrays; of lists, every entry."""
    found = {}
    for name, value in vars(estimator).items():
        if name.startswith("_") or not name.endswith("_") or name == "kernel_":
            continue
        entries = {name: value}
        if isinstance(value, list):
            entries = {f"{name}{place}": entry for place, entry in enumerate(value)}
        for key, entry in entries.items():
            array = np.asarray(entry)
            if array.dtype == object:  # names of features
                array = array.astype(str)
            found[key] = array
    return found
