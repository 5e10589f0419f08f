"""Train a sparse Gaussian process on generated data and write a model file and a report.

Run it with ``make demo``, or with ``python examples/demo.py [output folder]`` where greedygp is
installed. Friedman's first function is the data: five of the ten inputs matter, the noise has
variance one, so even the true function has a mean squared error of about one.
"""

from __future__ import annotations

import html
import platform
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import sklearn
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

import greedygp
from greedygp import SparseGPRegressor
from greedygp.metrics import coverage, nlpd, nmse

N_ROWS, NOISE, COVERAGE = 4000, 1.0, 0.95


def main(folder: Path) -> None:
    X, y = make_friedman1(n_samples=N_ROWS, n_features=10, noise=NOISE, random_state=0)
    _, truth = make_friedman1(n_samples=N_ROWS, n_features=10, noise=0.0, random_state=0)
    X_train, X_test, y_train, y_test, _, truth_test = train_test_split(
        X, y, truth, test_size=0.5, random_state=0
    )

    model = SparseGPRegressor(max_basis=100, random_state=0)
    start = time.perf_counter()
    model.fit(X_train, y_train)
    seconds_fit = time.perf_counter() - start

    start = time.perf_counter()
    mean, std = model.predict(X_test, return_std=True)
    seconds_predict = time.perf_counter() - start

    figures = {
        "training rows": f"{len(X_train)}",
        "test rows": f"{len(X_test)}",
        "basis vectors": f"{model.n_basis_}",
        "noise variance (true: 1.0)": f"{model.noise_variance_ * np.var(y_train):.3f}",
        "test NMSE": f"{nmse(y_test, mean):.4f}",
        "NMSE of the true function": f"{nmse(y_test, truth_test):.4f}",
        "test NLPD": f"{nlpd(y_test, mean, std):.4f}",
        f"coverage of the {COVERAGE:.0%} interval": f"{coverage(y_test, mean, std, COVERAGE):.1%}",
        "seconds to fit": f"{seconds_fit:.2f}",
        "seconds to predict": f"{seconds_predict:.2f}",
    }
    width = max(map(len, figures))
    for name, value in figures.items():
        print(f"{name:<{width}}  {value}")

    folder.mkdir(parents=True, exist_ok=True)
    joblib.dump(model, folder / "model.joblib")
    again = joblib.load(folder / "model.joblib")
    assert np.array_equal(again.predict(X_test), mean), "the stored model predicts otherwise"
    report = render(figures, model, y_test, mean, std)
    (folder / "report.html").write_text(report, encoding="utf-8")
    print(f"\nwrote {folder / 'model.joblib'} and {folder / 'report.html'}")


# ------------------------------------------------------------------ the report
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } td { padding: .2rem 1.2rem .2rem 0 }
td:last-child { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 1.5rem 0 } svg { width: 100%; height: auto; background: #fafafa }
svg text { font: 12px system-ui, sans-serif; fill: #444 }
footer { color: #777; font-size: .85rem }
"""


def render(
    figures: dict[str, str],
    model: SparseGPRegressor,
    y_test: np.ndarray,
    mean: np.ndarray,
    std: np.ndarray,
) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{value}</td></tr>" for name, value in figures.items()
    )
    levels = np.linspace(0.05, 0.95, 19)
    shares = np.array([coverage(y_test, mean, std, level) for level in levels])
    calibration = Plot([0, 1], [0, 1], "level of the interval", "share inside")
    calibration.line(np.array([0, 1]), np.array([0, 1]))
    calibration.dots(levels, shares, radius=3)

    shown = np.random.default_rng(0).choice(len(y_test), size=min(300, len(y_test)), replace=False)
    fit = Plot(mean, np.r_[y_test, mean - 2 * std, mean + 2 * std], "predicted", "observed")
    ends = np.array([mean.min(), mean.max()])
    fit.line(ends, ends)
    fit.bars(mean[shown], (mean - 1.96 * std)[shown], (mean + 1.96 * std)[shown])
    fit.dots(mean[shown], y_test[shown])
    versions = (
        f"greedygp {greedygp.__version__}, scikit-learn {sklearn.__version__}, "
        f"NumPy {np.__version__}, Python {platform.python_version()}, {platform.platform()}"
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>greedygp demo</title><style>{STYLE}</style>
<h1>A sparse Gaussian process on Friedman's first function</h1>
<table>{rows}</table>
<h2>Rounds of learning</h2>
<table>{rounds_of(model)}</table>
<p>A round selects a basis and then lowers the objective: first the hyperparameters with a random
basis, to prepare, then hyperparameters and basis positions together.</p>
<figure>{fit.svg()}<figcaption>Test rows: observed against predicted, with the interval that should
hold 95 % of them.</figcaption></figure>
<figure>{calibration.svg()}<figcaption>Calibration: the share of test rows inside the predictive
interval of each level. The line is what it should be.</figcaption></figure>
<p>The model: <code>{html.escape(repr(model))}</code></p>
<footer>{html.escape(versions)}</footer>
</html>
"""


def rounds_of(model: SparseGPRegressor) -> str:
    """Return the rounds of learning as rows of a table."""
    names = ("basis vectors", "objective before", "after", "iterations", "seconds")
    lines = [names] + [
        (f"{size}", f"{before:.4f}", f"{after:.4f}", f"{iterations}", f"{seconds:.2f}")
        for size, before, after, iterations, seconds in model.rounds_.tolist()
    ]
    return "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells in lines
    )


class Plot:
    """Just enough SVG for one pair of axes, so that the report needs no plotting library."""

    WIDTH, HEIGHT, MARGIN = 720, 360, 56

    def __init__(self, x, y, x_label: str, y_label: str) -> None:
        self.x_range = (float(np.min(x)), float(np.max(x)))
        self.y_range = (float(np.min(y)), float(np.max(y)))
        self.parts = self._axes(x_label, y_label)

    def line(self, x, y) -> None:
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*self._place(x, y)))
        self.parts.append(f'<polyline points="{points}" fill="none" stroke="#c44e52"/>')

    def dots(self, x, y, radius: float = 2) -> None:
        self.parts += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius}" fill="#1f4e79"/>'
            for a, b in zip(*self._place(x, y))
        ]

    def bars(self, x, lower, upper) -> None:
        across, low = self._place(x, lower)
        _, high = self._place(x, upper)
        self.parts += [
            f'<path d="M{a:.1f} {b:.1f}V{c:.1f}" stroke="#9db7d1" stroke-width="1"/>'
            for a, b, c in zip(across, low, high)
        ]

    def svg(self) -> str:
        return f'<svg viewBox="0 0 {self.WIDTH} {self.HEIGHT}">{"".join(self.parts)}</svg>'

    def _place(self, x, y):
        """Data to pixels."""
        inner_width = self.WIDTH - 2 * self.MARGIN
        inner_height = self.HEIGHT - 2 * self.MARGIN
        (x_low, x_high), (y_low, y_high) = self.x_range, self.y_range
        across = (np.asarray(x, dtype=float) - x_low) / ((x_high - x_low) or 1.0)
        up = (np.asarray(y, dtype=float) - y_low) / ((y_high - y_low) or 1.0)
        return self.MARGIN + inner_width * across, self.HEIGHT - self.MARGIN - inner_height * up

    def _axes(self, x_label: str, y_label: str) -> list[str]:
        left, bottom = self.MARGIN, self.HEIGHT - self.MARGIN
        parts = [
            f'<path d="M{left} {self.MARGIN}V{bottom}H{self.WIDTH - self.MARGIN}" '
            'fill="none" stroke="#444"/>',
            f'<text x="{self.WIDTH / 2}" y="{self.HEIGHT - 12}" text-anchor="middle">'
            f"{x_label}</text>",
            f'<text x="{left}" y="{self.MARGIN - 16}" text-anchor="middle">{y_label}</text>',
        ]
        for share in (0.0, 0.5, 1.0):
            x = self.x_range[0] + share * (self.x_range[1] - self.x_range[0])
            y = self.y_range[0] + share * (self.y_range[1] - self.y_range[0])
            (across,), _ = self._place([x], [y])
            _, (height,) = self._place([x], [y])
            parts.append(
                f'<text x="{across:.0f}" y="{bottom + 18}" text-anchor="middle">{x:.4g}</text>'
                f'<text x="{left - 6}" y="{height + 4:.0f}" text-anchor="end">{y:.4g}</text>'
            )
        return parts


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output"))
