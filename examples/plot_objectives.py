"""
Objectives compared
===================

``objective`` says what hyperparameters and basis positions are learnt by. The variational bound
asks how probable the training targets are under the model; the leave-one-out predictive density
asks how well each training row is predicted from the others, error bars included. The two differ
where the model is wrong. Here it is made wrong about the noise, which varies over the input while
``noise_model="constant"`` gives the model one noise variance. (By default it would learn the noise,
too: see :ref:`sphx_glr_auto_examples_plot_noise.py`.)
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


rng = np.random.default_rng(2)
X, y = draw(600, rng)
X_test, y_test = draw(4000, rng)

# %%
# The bound belongs to DTC. The default is the leave-one-out density, with FITC or DTC, whichever it
# finds better. Where the basis leaves prior variance unexplained, the error bars are wider: with
# few basis vectors, that can imitate noise that varies. The guard makes it expensive, since the
# same freedom over-fits. The third model does without the guard.

settings = {
    "variational bound": {"objective": "vfe", "approximation": "dtc"},
    "leave-one-out density (default)": {},
    "leave-one-out density, no guard": {"guard": 0.0},
}


def describe(name, model):
    """Print how a model predicts the test rows."""
    mean, std = model.predict(X_test, return_std=True)
    print(
        f"{name:<32} NMSE {nmse(y_test, mean):.3f}, NLPD {nlpd(y_test, mean, std):6.3f}, "
        f"95 % interval covers {coverage(y_test, mean, std):.1%}"
    )


options = {"noise_model": "constant", "random_state": 0}
models = {}
for name, chosen in settings.items():
    models[name] = SparseGPRegressor(max_basis=10, **options, **chosen).fit(X, y)
    describe(name, models[name])

# %%
# The coverage over all test rows hides where the errors are. It should be 95 % on the quiet left
# and on the noisy right alike. Without the guard it is nearer to that, and still the density of the
# test targets is the worst of the three.

left = X_test[:, 0] < 4.0
for name, model in models.items():
    mean, std = model.predict(X_test, return_std=True)
    shares = [coverage(y_test[part], mean[part], std[part]) for part in (left, ~left)]
    print(f"{name:<32} covers {shares[0]:.1%} for x < 4, {shares[1]:.1%} beyond")

# %%
# Mean, 95 % interval and basis positions. The red lines are the true function and the interval
# that the true noise would give. The leave-one-out density moves most of the basis to the quiet
# rows, and unexplained prior variance plays the part of the noise beyond. That has a price: the
# interval narrows around a basis vector among noisy rows. The guard keeps this in bounds. Without
# it the noise variance falls to that of the quiet rows. The interval fits them well, but almost
# closes at the basis vectors among the noisy ones, and targets far outside of it are very costly.

grid = np.linspace(0.0, 10.0, 500)
truth = np.sin(1.5 * grid)
fig, axes = plt.subplots(3, 1, figsize=(9, 8), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    mean = model.predict(grid[:, np.newaxis])
    lower, upper = model.predict_interval(grid[:, np.newaxis], coverage=0.95)
    ax.plot(X[:, 0], y, ".", color="0.7", markersize=3, label="data")
    ax.fill_between(grid, lower, upper, color="tab:blue", alpha=0.2, lw=0, label="95 % interval")
    ax.plot(grid, mean, color="tab:blue", label="mean")
    ax.plot(grid, truth, color="tab:red", lw=0.8, label="truth")
    for sign in (-1.0, 1.0):
        ax.plot(grid, truth + sign * 1.96 * noise_std(grid), color="tab:red", lw=0.8, ls="--")
    basis = model.basis_[:, 0]
    ax.plot(basis, np.full(basis.size, -2.5), "|", color="black", ms=9, label="basis positions")
    ax.set(title=name, ylabel="y", ylim=(-2.8, 2.8))
axes[0].legend(loc="upper left", ncols=5, fontsize=8)
axes[-1].set_xlabel("x")
plt.show()

# %%
# With basis vectors to spare nothing is left unexplained, and the objectives agree: one noise
# variance for all rows.

for name, chosen in settings.items():
    describe(name, SparseGPRegressor(max_basis=20, **options, **chosen).fit(X, y))
