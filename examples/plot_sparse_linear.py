"""
Sparse linear models
====================

Five ways to choose a few basis functions from many: which rows they take, how well they fit, and
how sure they are.
"""

# %%
# Noisy samples of a sinc function. The candidates are Gaussians at all training rows; their width
# is chosen by cross-validation.

import matplotlib.pyplot as plt
import numpy as np

from greedygp import FastGCVRegressor, FastRVMRegressor, OLSRegressor, RFSRegressor

rng = np.random.default_rng(0)
x = rng.uniform(-10.0, 10.0, 150)
X, y = x[:, np.newaxis], np.sinc(x / np.pi) + 0.1 * rng.standard_normal(x.size)
grid = np.linspace(-10.0, 10.0, 400)[:, np.newaxis]
truth = np.sinc(grid[:, 0] / np.pi)

kinds = [FastGCVRegressor, FastRVMRegressor, RFSRegressor, OLSRegressor]
fig, axes = plt.subplots(1, 4, figsize=(13, 3), sharey=True, layout="constrained")
for ax, kind in zip(axes, kinds):
    model = kind(random_state=0).fit(X, y)
    mean = model.predict(grid)
    error = np.sqrt(np.mean((mean - truth) ** 2))
    ax.plot(x, y, ".", color="0.7", markersize=3)
    ax.plot(grid, mean, color="tab:blue")
    if kind in (FastGCVRegressor, FastRVMRegressor):
        mean, std = model.predict(grid, return_std=True)
        ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="tab:blue", alpha=0.15)
    ax.plot(x[model.relevance_], y[model.relevance_], "o", mfc="none", color="tab:red")
    ax.set(title=f"{kind.__name__}\n{model.n_basis_} functions, error {error:.3f}", xlabel="x")
plt.show()

# %%
# ``path_`` keeps every action. Fast GCV lowers its measure with each of them; the relevance vector
# machine raises the evidence once its noise has been let go.

fig, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
colours = {"add": "tab:green", "reestimate": "tab:blue", "delete": "tab:red"}
for ax, kind, label in zip(axes, kinds, ("GCV", "log evidence")):
    path = kind(random_state=0).fit(X, y).path_
    for action, colour in colours.items():
        where = np.flatnonzero(path["action"] == action)
        ax.plot(where, path["value"][where], ".", color=colour, label=action)
    ax.set(title=kind.__name__, xlabel="action", ylabel=label)
    ax.legend()
plt.show()
