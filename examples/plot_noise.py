"""
Error bars that follow the data
===============================

Where the noise varies over the inputs, one noise level cannot be right. The noise is learnt as a
function of the input from the errors of left-out rows, unless a constant predicts them as well.
"""

# %%
# Data like the well-known motorcycle experiment: nothing, then a crash, then a ringing that dies
# out, measured with noise that comes with the crash.

import matplotlib.pyplot as plt
import numpy as np

from greedygp import SparseGPRegressor
from greedygp.metrics import coverage, nlpd

rng = np.random.default_rng(0)


def draw(n):
    x = np.sort(rng.uniform(0, 60, n))
    crash = np.clip(x - 14, 0, None)
    mean = -120 * np.exp(-((crash - 7) ** 2) / 30) * (crash > 0) + 60 * np.exp(
        -((crash - 19) ** 2) / 60
    )
    std = 2 + 25 / (1 + np.exp(-(x - 16))) * np.exp(-crash / 60)
    return x[:, None], mean + std * rng.normal(size=n), std


X, y, _ = draw(250)
X_test, y_test, std_test = draw(2000)

# %%
# The same model twice: with one noise level, and as it comes.

models = {
    "one noise level": SparseGPRegressor(noise_model="constant", random_state=0).fit(X, y),
    "noise by the input": SparseGPRegressor(random_state=0).fit(X, y),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    mean, std = model.predict(X_test, return_std=True)
    ax.fill_between(X_test[:, 0], mean - 2 * std, mean + 2 * std, alpha=0.3, label="two std")
    ax.plot(X_test[:, 0], mean, label="mean")
    ax.plot(X[:, 0], y, ".", color="black", markersize=3)
    ax.set(title=name, xlabel="time")
    print(
        f"{name}: negative log density {nlpd(y_test, mean, std):.2f}, "
        f"95 % intervals cover {coverage(y_test, mean, std, 0.95):.1%}"
    )
axes[0].legend(loc="lower right")
figure.tight_layout()

# %%
# What was learnt beside the truth.

model = models["noise by the input"]
figure, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(X_test[:, 0], std_test, color="black", label="true")
ax.plot(X_test[:, 0], np.sqrt(model.noise_variance_at(X_test)), label="learnt")
ax.set(xlabel="time", ylabel="standard deviation of the noise", ylim=(0, None))
ax.legend()
figure.tight_layout()
plt.show()
