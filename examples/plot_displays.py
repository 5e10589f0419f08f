"""
Pictures of a fitted model
==========================

`greedygp.plotting` has display objects in the manner of scikit-learn's: made by
``from_estimator``, drawn by ``plot``, with the axes and artists kept as attributes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from greedygp import SparseGPRegressor
from greedygp.plotting import (
    PosteriorDisplay,
    RegressionCalibrationDisplay,
    RelevanceDisplay,
    SelectionPathDisplay,
)

# %%
# Friedman's first function has ten inputs, of which five matter.
X, y = make_friedman1(n_samples=600, noise=1.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = SparseGPRegressor(random_state=0).fit(X_train, y_train)

# %%
# The measure along the path of selection
# ---------------------------------------
# Where the criterion chooses the size, the path shows it: here the leave-one-out predictive
# density and the expected leave-one-out squared error, each with its minimum.
_, ax = plt.subplots(layout="constrained")
for criterion in ("nlgpp", "gpe"):
    chosen = SparseGPRegressor(criterion=criterion, rounds=0, random_state=0)
    chosen.fit(X_train, y_train)
    SelectionPathDisplay.from_estimator(chosen, ax=ax, name=criterion)
ax.set_ylabel("measure")

# %%
# Calibration
# -----------
# Rows that the model has not seen fall evenly over the predictive distributions, and intervals
# of every level hold their share.
RegressionCalibrationDisplay.from_estimator(model, X_test, y_test)

# %%
# Relevance
# ---------
# How steeply the predictions vary with each input; the last five do nothing.
RelevanceDisplay.from_estimator(model, X_train)

# %%
# The posterior along one input, and over two
# -------------------------------------------
# The other inputs are held at their medians.
PosteriorDisplay.from_estimator(model, X_train, features=2, noise=False)

# %%
# A model of two inputs is shown whole; crosses are the basis vectors.
rng = np.random.default_rng(0)
plane = rng.uniform(-3, 3, size=(300, 2))
heights = np.sin(plane[:, 0]) * np.cos(plane[:, 1]) + 0.1 * rng.standard_normal(300)
surface = SparseGPRegressor(max_basis=30, random_state=0).fit(plane, heights)
PosteriorDisplay.from_estimator(surface, plane, heights)
plt.show()
