"""The choice of a greedy block and its cost: ``python -m benchmarks.speed_blocks``.

The algorithm of Bo and Sminchisescu with 60 random variables for each place, with all of them, and
with their equation (7) (prefitting). Friedman1 and, where its file is, kin40k, with the
hyperparameters of the suites `full_gp_*`. Prints a Markdown table; ``--write`` makes a page of it.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from benchmarks.frame import RESULTS
from benchmarks.printed_page import also_on_a_page
from benchmarks.suites import full_gp
from greedygp import datasets

WAYS: dict[str, dict[str, Any]] = {
    "60 random ones": {},
    "all": {"working_set": None},
    "60, prefitting": {"block_choice": "prefitting"},
}
SETS = ("friedman1", "kin40k")
BLOCK, TOL = 200, 1e-3


def measure(name: str, rows: int, way: str) -> tuple[int, float]:
    """Steps and seconds of the processor of a solve."""
    task = next(task for task in full_gp.TASKS if task.name == name)
    path = RESULTS / "prepared" / "full_gp" / f"{name}-0.json"
    prepared = json.loads(path.read_text())["content"]
    data = full_gp.problem(task, 0, rows)
    model = full_gp.dense_model(
        prepared, 0, solver="gbcd", accelerate=False, block_size=BLOCK, tol=TOL, **WAYS[way]
    )
    begin = time.process_time()
    model.fit(data.X, data.y)
    return model.n_iter_, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--write", action="store_true", help="write docs/results/speed_blocks.md")
    options = parser.parse_args()
    title = "Speed: the choice of a greedy block"
    with also_on_a_page("speed_blocks", title, options.write):
        print(
            f"{options.rows} rows, blocks of {BLOCK} variables, to a gradient of {TOL:g}, "
            "`accelerate=False`, K not held: steps, and seconds of the processor in brackets.\n"
        )
        print("| looked at for each place |", " | ".join(SETS), "|")
        print("|---|" + "--:|" * len(SETS))
        for way in WAYS:
            cells = []
            for name in SETS:
                if name == "friedman1" or name in datasets.available():
                    steps, seconds = measure(name, options.rows, way)
                    cells.append(f"{steps} ({seconds:.1f})")
                else:
                    cells.append("no data")
            print(f"| {way} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
