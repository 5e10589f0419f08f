"""
Classification with a small basis
=================================

Two crescents that overlap. ``SparseGPClassifier`` draws candidates where it expects to be wrong,
takes the one that lowers the predictive loss most, and in the end moves the sites of all of its
basis vectors together.
"""

# %%
# Data like the banana benchmark: two features, two classes, no clean border.

import matplotlib.pyplot as plt
import numpy as np

from greedygp import SparseGPClassifier

rng = np.random.default_rng(0)
y = rng.choice([-1, 1], 800)
angle = rng.uniform(0.0, np.pi, y.size)
X = np.stack([np.cos(angle) + 0.5 * (y > 0), y * (np.sin(angle) - 0.25)], axis=1)
X += 0.3 * rng.normal(size=X.shape)
X_train, y_train, X_test, y_test = X[:400], y[:400], X[400:], y[400:]

# %%
# Twenty basis vectors out of four hundred rows.

model = SparseGPClassifier(max_basis=20, random_state=0).fit(X_train, y_train)
print(f"test accuracy {model.score(X_test, y_test):.3f} with {model.n_basis_} basis vectors")

# %%
# The probability of the upper class, and the rows that were chosen. Far from the data the variance
# of the latent function grows and the probability goes back to the prior's.

low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
sides = [np.linspace(*ends, 120) for ends in zip(low, high)]
grid = np.stack(np.meshgrid(*sides), axis=-1)
probability = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
_, ax = plt.subplots(layout="constrained")
shades = ax.contourf(
    grid[..., 0], grid[..., 1], probability, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.7
)
plt.colorbar(shades, ax=ax, label="probability of +1")
for label, colour in ((-1, "tab:red"), (1, "tab:blue")):
    rows = X_train[y_train == label]
    ax.scatter(rows[:, 0], rows[:, 1], s=6, c=colour)
ax.scatter(*model.basis_.T, s=60, facecolors="none", edgecolors="black", label="basis")
ax.set(xlabel="first feature", ylabel="second feature")
ax.legend(loc="lower right")

# %%
# The leave-one-out loss after each step of the selection.

_, ax = plt.subplots(layout="constrained")
ax.plot(np.arange(1, len(model.path_) + 1), model.path_["value"])
ax.set(xlabel="basis vectors", ylabel="leave-one-out NLP")
plt.show()
