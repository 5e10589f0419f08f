"""
Watching the selection
======================

A sparse Gaussian process picks its basis vectors one at a time. ``path_`` keeps what happened:
the row that was chosen at each step and the value of the criterion after it. The leave-one-out
criteria have a minimum. With ``patience``, and a basis that is not refined afterwards, that is
where the selection stops by itself.
"""

# %%
# One input, a bend in the middle, and a stretch without data.

import matplotlib.pyplot as plt
import numpy as np

from greedygp import SparseGPRegressor
from greedygp.kernels import Gaussian

rng = np.random.default_rng(1)
x = np.concatenate([rng.uniform(0.0, 4.0, 200), rng.uniform(6.0, 10.0, 200)])
y = np.sin(x) + 0.4 * np.sin(4.0 * x) * (x > 5.0) + 0.2 * rng.standard_normal(x.size)
X = x[:, np.newaxis]

# %%
# Four criteria, the same kernel and noise for all of them (``objective=None`` holds them), every
# row a candidate at every step. ``patience=None`` lets the run go on past the minimum, to see the
# whole curve. With DTC a candidate's exact score is cheap; with FITC it is not.

criteria = {"loo_cve": "LOO-CVE", "nlgpp": "NLGPP", "gpe": "GPE", "nlml": "NLML"}
settings = {
    "kernel": Gaussian(variance=1.0, length_scale=0.7),
    "noise_variance": 0.04,
    "objective": None,
    "approximation": "dtc",
    "normalize_y": False,
    "working_set": None,
    "max_basis": 30,
    "random_state": 0,
}

fig, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
for ax, (criterion, label) in zip(axes, criteria.items()):
    model = SparseGPRegressor(criterion=criterion, patience=None, **settings).fit(X, y)
    values = model.path_["value"]
    best = int(np.argmin(values))
    ax.plot(np.arange(1, values.size + 1), values, color="tab:blue")
    ax.plot(best + 1, values[best], "o", color="tab:red")
    ax.set(title=label, xlabel="basis vectors")
    # The first steps are far above the rest: show the part where the decision falls.
    ax.set_ylim(values.min() - 0.05 * np.ptp(values[8:]), values[8:].max())
plt.show()

# %%
# With patience the run stops there. The error bars widen where there are no data, since the
# predictive variance of DTC keeps the part of the prior that the basis does not explain.

model = SparseGPRegressor(criterion="nlgpp", patience=5, **settings).fit(X, y)
grid = np.linspace(-1.0, 11.0, 400)[:, np.newaxis]
mean, std = model.predict(grid, return_std=True)
lower, upper = model.predict_interval(grid, coverage=0.95)

fig, ax = plt.subplots(figsize=(9, 3.5), layout="constrained")
ax.plot(x, y, ".", color="0.6", markersize=3, label="data")
ax.plot(grid, mean, color="tab:blue", label="mean")
ax.fill_between(grid[:, 0], lower, upper, color="tab:blue", alpha=0.15, label="95 % interval")
basis = model.basis_[:, 0]
ax.plot(basis, np.full(basis.size, y.min() - 0.2), "|", color="tab:red", label="basis vectors")
ax.set(xlabel="x", ylabel="y", title=f"NLGPP chose {model.n_basis_} of {x.size} rows")
ax.legend(loc="lower left", ncols=4)
plt.show()

# %%
# Leave-one-out predictions of all training rows come in closed form, without refitting.

loo_mean, loo_std = model.loo_predict()
z = (y - loo_mean) / loo_std
print(f"standard deviation of the standardised leave-one-out residuals: {z.std():.2f}")
