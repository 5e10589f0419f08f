"""Is the default of the command line as good as the better of its two models?

    python -m benchmarks.front_door            # sets of GREEDYGP_DATA with at most 5000 rows
    python -m benchmarks.front_door --write    # to docs/results/front_door.md, too

`AutoGPRegressor()` takes the full or the sparse GP by the number of rows. Here both are fitted to
the same random partitions (four fifths of the rows for training), one thread, in turns.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.printed_page import also_on_a_page
from greedygp import AutoGPRegressor, datasets
from greedygp.metrics import coverage, nlpd, nmse

SETS = (
    "yacht",
    "boston",
    "energy",
    "concrete",
    "airfoil",
    "wine_red",
    "abalone",
    "sarcos_test4449",
)
PARTITIONS, SHARE = 3, 0.8
CLOSE = 0.02  # nats by which the default may be worse than the better of the two
MODELS = ("full", "sparse")
FIELDS = ("NLPD", "NMSE", "coverage", "seconds")


def scores(X: np.ndarray, y: np.ndarray, partition: int) -> tuple[str, dict[str, np.ndarray]]:
    """Return which model the default takes, and the scores of both, by `FIELDS`."""
    rows = int(SHARE * len(X))
    train, test = datasets.random_partition(len(X), rows, len(X) - rows, seed=partition)
    found = {}
    for name in MODELS:
        begin = time.process_time()
        model = AutoGPRegressor(model=name, random_state=partition).fit(X[train], y[train])
        seconds = time.process_time() - begin
        mean, std = model.predict(X[test], return_std=True)
        loss = nlpd(y[test], mean, std) - float(np.log(np.std(y)))
        covered = 100 * coverage(y[test], mean, std, 0.95)
        found[name] = np.array([loss, nmse(y[test], mean), covered, seconds])
    taken = "full" if rows <= AutoGPRegressor().full_rows else "sparse"
    return taken, found


def line(name: str, taken: str, means: dict[str, np.ndarray]) -> tuple[str, float]:
    """Return a line of the table, and by how much the default is worse than the better model."""
    lag = means[taken][0] - min(each[0] for each in means.values())
    cells = [f"{means[model][0]:.3f} | {means[model][1]:.4f}" for model in MODELS]
    covered = " | ".join(f"{means[model][2]:.1f}" for model in MODELS)
    seconds = " | ".join(f"{means[model][3]:.1f}" for model in MODELS)
    return f"| {name} | {taken} | {' | '.join(cells)} | {covered} | {seconds} | {lag:.3f} |", lag


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sets", nargs="+", default=SETS, help="names of data sets")
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--write", action="store_true", help="write the page of the docs, too")
    options = parser.parse_args(arguments)
    title = "The default of the command line"
    with also_on_a_page("front_door", title, options.write), threadpool_limits(1):
        print(
            f"Means over {options.partitions} random partitions, four fifths of the rows for "
            "training; NLPD in nats of the standardised target; per cent of the test rows inside "
            "95 % intervals; seconds of the processor for a fit, one thread. *Behind*: by how many "
            "nats the model that the default takes is behind the better of the two.\n"
        )
        print(
            "| set | the default takes | NLPD, full | NMSE, full | NLPD, sparse | NMSE, sparse "
            "| covered, full | covered, sparse | seconds, full | seconds, sparse | behind |\n"
            "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
        )
        lags, seconds = [], {"default": 0.0, "sparse": 0.0}
        for name in options.sets:
            data = datasets.load(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # advice
                runs = [scores(data.X, data.y, k) for k in range(options.partitions)]
            taken = runs[0][0]
            means = {model: np.mean([run[1][model] for run in runs], axis=0) for model in MODELS}
            text, lag = line(name, taken, means)
            print(text, flush=True)
            lags.append(lag)
            seconds["default"] += means[taken][3]
            seconds["sparse"] += means["sparse"][3]
        close = sum(lag <= CLOSE for lag in lags)
        print(
            f"\nWithin {CLOSE} nats of the better model on {close} of {len(lags)} sets (wanted: "
            f"all). Seconds, one fit to each set: the default {seconds['default']:.1f}, the sparse "
            f"model {seconds['sparse']:.1f}."
        )


if __name__ == "__main__":
    main()
