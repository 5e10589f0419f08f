"""
The exact Gaussian process, without its matrix
==============================================

``GPRegressor`` solves the system of a full Gaussian process. Here greedy block coordinate descent
does it without ever holding the kernel matrix, and its way down is drawn beside those of others.
"""

# %%
# Friedman's first problem: ten features, of which five matter.

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from greedygp import GPRegressor
from greedygp.datasets import make_friedman

data = make_friedman(1, 3000, random_state=0)
X, y, X_test, y_test = data.X[:2000], data.y[:2000], data.X[2000:], data.y[2000:]

# %%
# Hyperparameters are learnt by the evidence of a few hundred rows, then all rows are solved for.
# ``memory_limit=0`` forbids to hold an n x n matrix.

settings = {"memory_limit": 0, "random_state": 0}
model = GPRegressor(solver="gbcd", hyperparameter_rows=400, **settings).fit(X, y)
print(f"{model.n_iter_} steps, largest entry of the gradient {model.gradient_norm_:.1e}")
print(f"R2 on the test rows: {model.score(X_test, y_test):.3f}")
print(f"kernel entries evaluated: {model.kernel_passes_:.1f} times n^2")

# %%
# Other solvers with the same hyperparameters. What they evaluate of the kernel is what they cost
# where the matrix does not fit into memory. A few are stopped early.

fixed = {"kernel": model.kernel_, "noise_variance": model.noise_variance_, "objective": None}
solvers = {
    "gbcd": {},
    "gbcd as in the paper": {"solver": "gbcd", "accelerate": False, "block_size": 200},
    "pcg": {},
    "cg": {},
    "bcd_cyclic": {"block_size": 200},
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for label, options in solvers.items():
    chosen = {"solver": label, **options, **fixed, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        history = GPRegressor(max_iter=100, **chosen).fit(X, y).history_
    axes[0].semilogy(history["gradient_norm"], label=label)
    axes[1].semilogy(history["kernel_passes"], history["gradient_norm"], label=label)
for axis, title in zip(axes, ("steps", "kernel entries / n^2")):
    axis.axhline(model.tol, color="0.7", zorder=0)
    axis.set(xlabel=title, ylabel="largest entry of the gradient")
axes[0].legend()
plt.show()

# %%
# The variances of many test rows are solved for together.

mean, std = model.predict(X_test, return_std=True)
inside = abs(y_test - mean) < 1.96 * std
print(f"{inside.mean():.1%} of the test targets lie in their 95 % intervals")
