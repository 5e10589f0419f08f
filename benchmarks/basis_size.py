"""What a larger or smaller basis gives, and which one `max_basis="auto"` takes.

    python -m benchmarks.basis_size            # sets of GREEDYGP_DATA with many rows
    python -m benchmarks.basis_size --write    # to docs/results/basis_size.md, too

`SparseGPRegressor(max_basis="auto")` tries bases of doubling size and asks left-out rows which one
is the best. Here each size is learnt with by itself as well, from the same rows, and judged by test
rows. The default is four times the root of the number of rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers.sets import CHOSEN_ON, ROWS
from benchmarks.printed_page import also_on_a_page
from greedygp import SparseGPRegressor, datasets
from greedygp.metrics import nlpd, nmse
from greedygp.sparse.parameters import LARGEST_TRIED
from greedygp.sparse.sizes import FEWEST_ROWS, sizes_to_try

MOST_ROWS, TEST_ROWS, SHARE = 3000, 5000, 0.8


def standardised(name: str, seed: int) -> list[np.ndarray]:
    """Return training inputs and targets, and test inputs and targets."""
    data = datasets.load(name)
    rows = min(MOST_ROWS, int(SHARE * len(data.X)))
    train, test = datasets.random_partition(
        len(data.X), rows, min(TEST_ROWS, len(data.X) - rows), seed=seed
    )
    X, y = data.X[train], data.y[train]
    spread = np.where(np.std(X, axis=0) > 0, np.std(X, axis=0), 1.0)
    parts = []
    for index in (train, test):
        parts += [(data.X[index] - np.mean(X, axis=0)) / spread]
        parts += [(data.y[index] - np.mean(y)) / np.std(y)]
    return parts


def scores(parts: Sequence[np.ndarray], size: int | str) -> tuple[int, list[float]]:
    """Return the size, and losses of left-out and of test rows, NMSE, seconds of the processor."""
    X, y, X_test, y_test = parts
    begin = time.process_time()
    model = SparseGPRegressor(max_basis=size, random_state=0).fit(X, y)
    seconds = time.process_time() - begin
    left_out, (mean, std) = model.loo_predict(), model.predict(X_test, return_std=True)
    losses = [nlpd(y, *left_out), nlpd(y_test, mean, std)]
    return model.n_basis_, [*losses, nmse(y_test, mean), seconds]


def report(name: str, seed: int) -> None:
    """Print the lines of one set."""
    parts = standardised(name, seed)
    for size in (*sizes_to_try(len(parts[0]), LARGEST_TRIED), "auto"):
        taken, (left_out, loss, error, seconds) = scores(parts, size)
        what = f"**auto: {taken}**" if size == "auto" else str(size)
        print(
            f"| {name} | {what} | {left_out:.3f} | {loss:.3f} | {error:.4f} | {seconds:.1f} |",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write if asked to."""
    many = [s for s in CHOSEN_ON if SHARE * ROWS[s][1] >= FEWEST_ROWS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sets", nargs="+", default=many, help="names of data sets")
    parser.add_argument("--seed", type=int, default=0, help="of the partition")
    parser.add_argument("--write", action="store_true", help="write the page of the docs, too")
    options = parser.parse_args(arguments)
    with (
        also_on_a_page("basis_size", "The size of the basis", options.write),
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # advice
        print(
            "`SparseGPRegressor(max_basis=size)` with numbers and with 'auto', on at most "
            f"{MOST_ROWS} training rows of one partition. NLPD of left-out rows, and NLPD and NMSE "
            "of test rows, of the standardised target; seconds of the processor for a fit, one "
            "thread. Four times the root of the number of rows, the second size of each set, is "
            "the default. These are sets that the defaults were chosen on.\n"
        )
        print("| set | basis | NLPD, left out | NLPD, test | NMSE, test | seconds |")
        print("|---|---|--:|--:|--:|--:|")
        for name in options.sets:
            report(name, options.seed)


if __name__ == "__main__":
    main()
