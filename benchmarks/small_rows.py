"""Few rows: is noise that may vary any worse than constant noise?

With 50, 200 and 500 rows of each set (at most four fifths of it), ten draws each, a model is fitted
with `noise_model="auto"` and with `"constant"`. The mean negative log predictive density of the
first should not be worse on average over the sets, and by more than 0.03 nats on no set.

    python -m benchmarks.small_rows --jobs 16 --seconds 500     # again, until none is missing
    python -m benchmarks.small_rows --models sparse auto        # AutoGPRegressor, too
    python -m benchmarks.small_rows --report [--write]

Lines of JSON go to `benchmarks/results/small_rows.jsonl`. Without `--sets` the sets are those that
the defaults are chosen on (`peers/sets.py`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import slices
from benchmarks.peers.sets import CHOSEN_ON, ROWS
from benchmarks.slices import Run

COUNTS, DRAWS, TEST_ROWS, SHARE = (50, 200, 500), 10, 4000, 0.8
NOISES = ("auto", "constant")
MODELS = ("sparse", "auto", "full")
LARGEST_LOSS = 0.03
WIDTHS = ("narrow_nlpd", "nlpd", "narrow_coverage_95", "coverage_95")
RESULTS = Path(__file__).parent / "results" / "small_rows.jsonl"


def work(run: Run) -> Run:
    """One fit with each of the two noise models, to the same rows."""
    from greedygp import AutoGPRegressor, GPRegressor, SparseGPRegressor, datasets
    from greedygp.metrics import coverage, crps, nlpd, nmse

    kind = {"sparse": SparseGPRegressor, "full": GPRegressor, "auto": AutoGPRegressor}[run["model"]]
    data = datasets.load(run["set"])
    rows = min(run["rows"], int(SHARE * len(data.X)))
    n_test = min(TEST_ROWS, len(data.X) - rows)
    train, test = datasets.random_partition(len(data.X), rows, n_test, seed=run["draw"])
    X, y, X_test, y_test = data.X[train], data.y[train], data.X[test], data.y[test]
    unit = float(np.std(data.y))
    found: Run = {}
    for noise in NOISES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice
            model = kind(noise_model=noise, random_state=run["draw"]).fit(X, y)
        mean, std = model.predict(X_test, return_std=True)
        fitted = getattr(model, "model_", model)
        narrow = std / np.sqrt(fitted.widening_)  # as if learning had spent nothing
        found[noise] = {
            "noise_model": model.noise_model_,
            "nlpd": nlpd(y_test, mean, std) - float(np.log(unit)),
            "nmse": nmse(y_test, mean),
            "crps": crps(y_test, mean, std) / unit,
            "coverage_95": coverage(y_test, mean, std, 0.95),
            "narrow_nlpd": nlpd(y_test, mean, narrow) - float(np.log(unit)),
            "narrow_coverage_95": coverage(y_test, mean, narrow, 0.95),
        }
    return found


def report(results: list[Run]) -> bool:
    """Print a table for each model; true if all of it is as it should be."""
    good = True
    results = [r for r in results if "error" not in r]
    print(
        "NLPD of new rows in nats of the standardised target, with noise_model='constant' and\n"
        "'auto': means over draws of the rows. How often 'auto' let the noise vary (input).\n"
        f"Wanted: no worse on average, and by more than {LARGEST_LOSS} on no set.\n"
        "At the end, of 'auto': NLPD and the percentage of new rows inside the 95 % interval,\n"
        "without and with the factor for what learning has spent (`widening_`)."
    )
    for model, rows in sorted({(r["model"], r["rows"]) for r in results}):
        print(f"\n{model}, {rows} rows: NLPD, constant noise and auto")
        losses, widths = [], []
        for name in ROWS:
            some = [r for r in results if (r["model"], r["rows"], r["set"]) == (model, rows, name)]
            if not some:
                continue
            constant, auto = (np.array([r[k]["nlpd"] for r in some]) for k in ("constant", "auto"))
            errors = [np.mean([r[k]["nmse"] for r in some]) for k in ("constant", "auto")]
            used = sum(r["auto"]["noise_model"] == "input" for r in some)
            losses.append(float(np.mean(auto - constant)))
            widths.append([np.mean([r["auto"][k] for r in some]) for k in WIDTHS])
            print(
                f"{name:<18} {len(some):>3} draws  {np.mean(constant):>7.3f} {np.mean(auto):>7.3f} "
                f"{losses[-1]:>+7.3f}  input {used:>2}  NMSE {errors[0]:.4f} {errors[1]:.4f}"
                f"  {in_words(widths[-1])}"
                f"{'  MISSED' if losses[-1] > LARGEST_LOSS else ''}"
            )
        fine = np.mean(losses) <= 0.0 and max(losses) <= LARGEST_LOSS
        good &= bool(fine)
        mean = in_words(np.mean(widths, axis=0))
        print(f"{'mean':<44} {np.mean(losses):>+7.3f}{mean:>58}{'' if fine else '  MISSED'}")
    return good


def in_words(widths: Sequence[float] | np.ndarray) -> str:
    """NLPD and coverage without and with widening, as the table has them."""
    before, after, inside_before, inside_after = widths
    return f"{before:>7.3f} {after:>7.3f}  {100 * inside_before:.1f} {100 * inside_after:.1f}"


def main(given: Sequence[str] | None = None) -> int:
    """Do what is missing, then show all of it."""
    parser = slices.arguments(__doc__.splitlines()[0], RESULTS)
    parser.add_argument("--sets", nargs="+", default=CHOSEN_ON, choices=tuple(ROWS))
    parser.add_argument("--rows", nargs="+", type=int, default=COUNTS)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--models", nargs="+", default=["sparse"], choices=MODELS)
    options = parser.parse_args(given)
    runs = [
        {"model": model, "set": name, "rows": rows, "draw": draw}
        for rows in sorted(options.rows, reverse=True)
        for model in options.models
        for draw in range(options.draws)
        for name in options.sets
    ]
    if not options.report:
        left = slices.do(runs, work, options.results, jobs=options.jobs, seconds=options.seconds)
        print(f"{left} runs are missing")
    slices.show(report, options, "small_rows", "Noise that varies, on few rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
