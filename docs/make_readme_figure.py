"""Draw docs/_static/readme.png: a fit in one dimension and the path of its criterion.

Run with ``make figure``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from greedygp import SparseGPRegressor
from greedygp.kernels import Gaussian

BLUE, RED, GREY = "#1f4e79", "#c44e52", "#9a9a9a"


def main(target: Path) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(0.0, 4.0, 300), rng.uniform(6.0, 10.0, 300)])
    y = np.sin(x) + 0.4 * np.sin(4.0 * x) * (x > 5.0) + 0.25 * rng.standard_normal(x.size)
    settings = {
        "kernel": Gaussian(variance=1.0, length_scale=0.6),
        "noise_variance": 0.0625,
        "objective": None,
        "normalize_y": False,
        "criterion": "nlgpp",
        "max_basis": 40,
        "working_set": None,
        "random_state": 0,
    }
    model = SparseGPRegressor(patience=5, **settings).fit(x[:, np.newaxis], y)
    full = SparseGPRegressor(patience=None, **settings).fit(x[:, np.newaxis], y)

    fig, (left, right) = plt.subplots(
        1, 2, figsize=(11, 3.6), width_ratios=[2.2, 1], layout="constrained"
    )
    draw_fit(left, model, x, y)
    draw_path(right, full.path_["value"])
    target.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(target, dpi=130, metadata={"Software": None})
    print(f"{target}: {model.n_basis_} basis vectors from {x.size} rows")


def draw_fit(ax, model, x, y) -> None:
    grid = np.linspace(-0.7, 10.7, 500)
    mean = model.predict(grid[:, np.newaxis])
    lower, upper = model.predict_interval(grid[:, np.newaxis], coverage=0.95)
    ax.fill_between(grid, lower, upper, color=BLUE, alpha=0.15, lw=0, label="95 % interval")
    ax.plot(x, y, ".", color=GREY, markersize=3, label="data")
    ax.plot(grid, mean, color=BLUE, label="mean")
    at_basis = model.predict(model.basis_)
    ax.plot(model.basis_[:, 0], at_basis, "o", color=RED, markersize=5, label="basis vectors")
    ax.set(
        title=f"{model.n_basis_} basis vectors chosen from {x.size} rows", xlabel="x", ylabel="y"
    )
    ax.legend(loc="lower left", fontsize=8, ncols=2)


def draw_path(ax, values) -> None:
    best = int(np.argmin(values))
    shown = values[6:]
    ax.plot(np.arange(1, values.size + 1), values, color=BLUE)
    ax.plot(best + 1, values[best], "o", color=RED)
    ax.set_ylim(values.min() - 0.08 * np.ptp(shown), shown.max())
    ax.set(title="leave-one-out criterion (NLGPP)", xlabel="basis vectors")


if __name__ == "__main__":
    main(Path(__file__).parent / "_static" / "readme.png")
