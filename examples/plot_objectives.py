"""
Objectives compared
===================

``objective`` says what hyperparameters and basis positions are learnt by. The variational bound
asks how probable the training targets are under the prior; the leave-one-out predictive density
asks how well each training row is predicted from the others, error bars included. The two differ
where the model is wrong. Here it is wrong about the noise, which varies over the input while the
model has one noise variance.
"""

# %%
# One input, noise that grows from left to right, and a test set from the same source.

import matplotlib.pyplot as plt
import numpy as np

from greedygp import SparseGPRegressor
from greedygp.metrics import coverage, nlpd, nmse


def noise_std(x):
    """Return the standard deviation of the noise at x."""
    return 0.03 + 0.5 / (1.0 + np.exp(-2.0 * (x - 5.0)))


def draw(n, rng):
    """Return inputs and targets."""
    x = rng.uniform(0.0, 10.0, n)
    return x[:, np.newaxis], np.sin(1.5 * x) + noise_std(x) * rng.standard_normal(n)


rng = np.random.default_rng(0)
X, y = draw(600, rng)
X_test, y_test = draw(4000, rng)

# %%
# The bound belongs to DTC. The default is the leave-one-out density with FITC, which counts rows
# that the basis explains badly as noisier. Both get the same number of basis vectors.

models = {
    "variational bound": SparseGPRegressor(
        objective="vfe", approximation="dtc", max_basis=20, random_state=0
    ),
    "leave-one-out density": SparseGPRegressor(max_basis=20, random_state=0),
}
for name, model in models.items():
    mean, std = model.fit(X, y).predict(X_test, return_std=True)
    print(
        f"{name:<22} basis {model.n_basis_:2d}, NMSE {nmse(y_test, mean):.3f}, "
        f"NLPD {nlpd(y_test, mean, std):.3f}, "
        f"95 % interval covers {coverage(y_test, mean, std):.1%}"
    )

# %%
# The coverage over all test rows hides where the errors are. It should be 95 % on the quiet left
# and on the noisy right alike.

for name, model in models.items():
    mean, std = model.predict(X_test, return_std=True)
    left = X_test[:, 0] < 4.0
    shares = [coverage(y_test[part], mean[part], std[part]) for part in (left, ~left)]
    print(f"{name:<22} covers {shares[0]:.1%} for x < 4, {shares[1]:.1%} beyond")

# %%
# Mean, 95 % interval and basis positions. The red lines are the true function and the interval
# that the true noise would give.

grid = np.linspace(0.0, 10.0, 500)
truth = np.sin(1.5 * grid)
fig, axes = plt.subplots(2, 1, figsize=(9, 6), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    mean = model.predict(grid[:, np.newaxis])
    lower, upper = model.predict_interval(grid[:, np.newaxis], coverage=0.95)
    ax.plot(X[:, 0], y, ".", color="0.7", markersize=3, label="data")
    ax.fill_between(grid, lower, upper, color="tab:blue", alpha=0.2, label="95 % interval")
    ax.plot(grid, mean, color="tab:blue", label="mean")
    ax.plot(grid, truth, color="tab:red", lw=0.8, label="truth")
    for sign in (-1.0, 1.0):
        ax.plot(grid, truth + sign * 1.96 * noise_std(grid), color="tab:red", lw=0.8, ls="--")
    basis = model.basis_[:, 0]
    ax.plot(basis, np.full(basis.size, -2.4), "|", color="black", label="basis positions")
    ax.set(title=name, ylabel="y", ylim=(-2.7, 2.7))
axes[0].legend(loc="upper left", ncols=5, fontsize=8)
axes[1].set_xlabel("x")
plt.show()
