"""Does the start run away? Ten fits of the same rows that should agree.

For each set and number of rows the default `SparseGPRegressor` is fitted ten times to the same
rows. The fits differ in the seed and in the order of the features, and three features are pure
noise, other noise in each. No fit should have more than 1.15 times the median error of its ten.

Where a length scale ends above 100 spreads (standard deviations) of its feature, it is set to 3
spreads, and learning goes on for 20 iterations. That should not lower the objective by more than
1e-3 nats a row. Since a fit ends before it has converged, learning goes on for as long from the
model as it is, too; `gain` compares with that, `gain_over_end` with the model itself.

    python -m benchmarks.start_stability --jobs 16 --seconds 500   # again, until none is missing
    python -m benchmarks.start_stability --report [--write]

Lines of JSON go to `benchmarks/results/start_stability.jsonl`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import slices
from benchmarks.slices import Run

SETS = ("bank8FM", "bank32NH", "california_housing", "cpu_small", "cpu_act", "kin40k")
ROWS, FITS, NOISE_FEATURES, TEST_ROWS = (1000, 4000), 10, 3, 4000
FAR, BACK, ITERATIONS = 100.0, 3.0, 20  # spreads, spreads, iterations
WORST, LARGEST_GAIN = 1.15, 1e-3
RESULTS = Path(__file__).parent / "results" / "start_stability.jsonl"


def rows_of(name: str, rows: int, draw: int) -> tuple[np.ndarray, ...]:
    """Training and test rows of a draw: `X, y, X_test, y_test`."""
    from greedygp import datasets

    data = datasets.load(name)
    n_test = min(TEST_ROWS, len(data.X) - rows)
    train, test = datasets.random_partition(len(data.X), rows, n_test, seed=draw)
    return data.X[train], data.y[train], data.X[test], data.y[test]


def with_noise_features(X: np.ndarray, order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The rows with features of noise added, in another order."""
    return np.hstack([X, rng.normal(size=(len(X), NOISE_FEATURES))])[:, order]


def work(run: Run) -> Run:
    """One fit, its error, and whether length scales that are far off come back."""
    from greedygp import SparseGPRegressor
    from greedygp.metrics import nlpd, nmse

    X, y, X_test, y_test = rows_of(run["set"], run["rows"], run["draw"])
    rng = np.random.default_rng([run["draw"], run["fit"]])
    order = rng.permutation(X.shape[1] + NOISE_FEATURES)
    X, X_test = (with_noise_features(part, order, rng) for part in (X, X_test))
    model = SparseGPRegressor(random_state=run["fit"]).fit(X, y)
    mean, std = model.predict(X_test, return_std=True)
    return {
        "nmse": nmse(y_test, mean),
        "nlpd": nlpd(y_test, mean, std) - float(np.log(np.std(y))),
        **far_scales(model, X, y),
    }


def far_scales(model: Any, X: np.ndarray, y: np.ndarray) -> Run:
    """How many length scales are far off, and what it gains to bring them back."""
    from greedygp.data import TrainingData
    from greedygp.hyperparameters import Point
    from greedygp.kernels import Gaussian
    from greedygp.sparse.learning import Learner, Schedule

    spread = np.std(X, axis=0)
    scales = model.kernel_.length_scales(X.shape[1])
    far = scales > FAR * spread
    found: Run = {"longest": float(np.max(scales / spread)), "far": int(np.sum(far))}
    if not np.any(far):
        return found
    schedule = Schedule(
        objective=model.objective_,
        approximation=model.approximation_,
        rounds=1,
        max_iter=ITERATIONS,
        refine_basis=True,
        guard=model.guard,
    )
    end = Point(model.kernel_, model.noise_variance_, np.array(model.basis_))
    search = Learner(TrainingData(X, y, None, True), schedule, end).search
    search.begin(len(model.basis_), guarded=True)
    back = Gaussian(model.kernel_.variance, np.where(far, BACK * spread, scales))
    brought = Point(back, model.noise_variance_, np.array(model.basis_))
    value = search.value(end)
    on, other = (search.minimise(point, True, ITERATIONS, None).value for point in (end, brought))
    unit = search.nats_per_row
    return found | {"gain": (on - other) / unit, "gain_over_end": (value - other) / unit}


def report(results: list[Run]) -> bool:
    """Print a table of what is there; true if all of it is as it should be."""
    print(
        "Ten fits of the same rows each, with other seeds, orders of the features and features of\n"
        f"noise. worst/median: of their NMSE; wanted: at most {WORST}. far: length scales above\n"
        f"{FAR:g} spreads. gain: by how many nats a row {ITERATIONS} iterations end lower with\n"
        f"those brought back to {BACK:g} spreads than from the model as it is; wanted: at most\n"
        f"{LARGEST_GAIN:g}. over end: the same, than the model itself.\n"
    )
    print("set                 rows fits  median NMSE  worst/median    NLPD  far    gain  over end")
    good = True
    for name, rows, draw in sorted({(r["set"], r["rows"], r["draw"]) for r in results}):
        some = [r for r in results if (r["set"], r["rows"], r["draw"]) == (name, rows, draw)]
        failed = sum("error" in r for r in some)
        some = [r for r in some if "error" not in r]
        if not some:
            continue
        errors = np.array([r["nmse"] for r in some])
        worst = float(np.max(errors) / np.median(errors))
        gain = max((r["gain"] for r in some if "gain" in r), default=0.0)
        over = max((r["gain_over_end"] for r in some if "gain" in r), default=0.0)
        fine = worst <= WORST and gain <= LARGEST_GAIN and failed == 0
        good &= fine
        print(
            f"{name:<18} {rows:>5} {len(some):>4} {np.median(errors):>12.4f} {worst:>13.3f} "
            f"{np.mean([r['nlpd'] for r in some]):>7.3f} {sum(r['far'] for r in some):>4} "
            f"{gain:>7.4f} {over:>9.4f}{'' if fine else '  MISSED'}"
            f"{f'  {failed} failed' if failed else ''}"
        )
    return good


def main(given: Sequence[str] | None = None) -> int:
    """Do what is missing, then show all of it."""
    parser = slices.arguments(__doc__.splitlines()[0], RESULTS)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--fits", type=int, default=FITS)
    options = parser.parse_args(given)
    runs = [
        {"set": name, "rows": rows, "draw": 0, "fit": fit}
        for rows in options.rows
        for name in options.sets
        for fit in range(options.fits)
    ]
    runs.sort(key=lambda run: -run["rows"])  # the long ones first
    if not options.report:
        left = slices.do(runs, work, options.results, jobs=options.jobs, seconds=options.seconds)
        print(f"{left} runs are missing")
    slices.show(report, options, "start_stability", "Does the start run away?")
    return 0


if __name__ == "__main__":
    sys.exit(main())
