"""How many evaluations learning needs, in this version and in another one.

    git worktree add ../before 98465f9
    python -m benchmarks.evaluations ../before            # the sets the defaults are chosen on
    python -m benchmarks.evaluations ../before --write    # to docs/results/evaluations.md, too

Each version fits its default regressor twice to the same rows: as it is, and with many iterations
that nothing ends early.
The lowest value of the long fit, by the objective that it ends with, is the converged objective of
that version. What is counted are all values with a gradient, those of trials that are thrown away
among them, until that objective is within 0.01 nats a row of it. A version that ends lower has
farther to go. So it is also counted when this version is as close to where the other one has
converged, where both judge alike.

An evaluation among a part of the rows counts as that part, and its value is not looked at: what is
asked is when all rows are close.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.sets import CHOSEN_ON
from benchmarks.printed_page import also_on_a_page

ROWS, TEST_ROWS, BASIS = 4000, 4000, 200
LONG, CLOSE = 300, 0.01  # iterations of the long fit, nats a row
SUMS = ("nlml", "vfe")  # objectives that are sums over rows; the others are twice a mean

Seen = tuple[str, float, float]  # by what was judged, the value in nats a row, how many rows


class Trace:
    """Every value with a gradient that fits ask for while it is active."""

    def __init__(self) -> None:
        from greedygp.sparse.objectives import SparseObjective

        self.kind, self.original, self.seen = SparseObjective, SparseObjective.__call__, []

    def __enter__(self) -> list[Seen]:
        original, seen = self.original, self.seen

        def noted(objective: Any, *arguments: Any, **options: Any) -> Any:
            found = original(objective, *arguments, **options)
            holder = getattr(objective, "guarded", objective)  # where versions keep the name
            name = holder.objective.name
            rows = objective._data[0].shape[0]
            unit = rows if name in SUMS else 2.0
            judge = f"{name} {objective._approximation} guard {objective.guard:.3g}"
            seen.append((judge, float(found.value) / unit, rows))
            return found

        self.kind.__call__ = noted  # type: ignore[method-assign]
        return seen

    def __exit__(self, *_: object) -> None:
        self.kind.__call__ = self.original  # type: ignore[method-assign]


def never_too_little() -> None:
    """Let this process's searches go on however little they gain, in versions that look at that."""
    if importlib.util.find_spec("greedygp.sparse.search") is not None:
        importlib.import_module("greedygp.sparse.search").Search.little = 0.0


def counted(seen: Sequence[Seen], most: float | None = None) -> float:
    """Return the evaluations, those that see less than the most rows counted as a part of one."""
    most = most or max(rows for _, _, rows in seen)
    return sum(rows for _, _, rows in seen) / most


def of_last_judge(seen: Sequence[Seen]) -> list[tuple[int, float]]:
    """Return number and value of the evaluations by the last judge, among all rows."""
    judge, most = seen[-1][0], max(rows for _, _, rows in seen)
    return [
        (i, value) for i, (name, value, rows) in enumerate(seen) if (name, rows) == (judge, most)
    ]


def needed(seen: Sequence[Seen], lowest: float | None = None, close: float = CLOSE) -> float | None:
    """Evaluations until the last judge's value is close to `lowest`: to its own, if not given."""
    own = of_last_judge(seen)
    if lowest is None:
        lowest = min(value for _, value in own)
    first = next((i for i, value in own if value <= lowest + close), None)
    return None if first is None else counted(seen[: first + 1], max(rows for *_, rows in seen))


def measured(
    name: str,
    rows: int = ROWS,
    basis: int = BASIS,
    long: int = LONG,
    lowest: dict[str, float] | None = None,
) -> dict[str, Any]:
    """What this process's version needs on a set; `lowest` are values to reach, by judge."""
    from greedygp import SparseGPRegressor, datasets
    from greedygp.metrics import nlpd

    data = datasets.load(name)
    count = min(rows, int(0.8 * len(data.X)))
    tests = min(TEST_ROWS, len(data.X) - count)
    train, test = datasets.random_partition(len(data.X), count, tests, seed=0)
    X, y, size = data.X[train], data.y[train], min(basis, count // 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice
        with Trace() as seen:
            model = SparseGPRegressor(max_basis=size, random_state=0).fit(X, y)
        loss = nlpd(data.y[test], *model.predict(data.X[test], return_std=True))
        never_too_little()
        with Trace() as longer:
            SparseGPRegressor(max_basis=size, max_iter=long, random_state=0).fit(X, y)
    judge, goal = longer[-1][0], (lowest or {}).get(longer[-1][0])
    return {
        "all": counted(seen),
        "needed": needed(longer),
        "needed_for_goal": None if goal is None else needed(longer, goal),
        "lowest": min(value for _, value in of_last_judge(longer)),
        "judge": judge,
        "nlpd": loss - float(np.log(np.std(data.y))),
    }


def measured_in(root: Path, name: str, lowest: dict[str, float]) -> dict[str, Any]:
    """What the version in a folder needs on a set."""
    here = Path(__file__).resolve().parents[1]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, "1")
    environment |= {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(here)])}
    command = [sys.executable, "-m", "benchmarks.evaluations", "--measure", name]
    command += ["--lowest", json.dumps(lowest)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed in {root}:\n{done.stderr}")
    return json.loads(done.stdout)


def report(other: Path, sets: Sequence[str]) -> None:
    """Measure and print."""
    here = Path(__file__).resolve().parents[1]
    print(
        f"At most {ROWS} rows and {BASIS} basis vectors, the default otherwise; before and now. "
        f"*To converge*: evaluations until within {CLOSE} nats a row of the lowest value that "
        f"{LONG} iterations find. *As low as before*: now, until as close to the earlier lowest "
        "value, where both judge alike. *In all*: those of a default fit. An evaluation among "
        "a part of the rows counts as that part. NLPD: of a default fit.\n"
    )
    print(
        "| set | to converge | ratio | lowest value | as low as before | ratio | in all | ratio "
        "| NLPD | judged by, now |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    )
    ratios = []
    for name in sets:
        old = measured_in(other, name, {})
        new = measured_in(here, name, {old["judge"]: old["lowest"]})
        goal = new["needed_for_goal"]
        counts = (new["needed"], goal or np.nan, new["all"])
        ratios.append(np.divide(counts, (old["needed"], old["needed"], old["all"])))
        print(
            f"| {name} | {old['needed']:.0f}, {new['needed']:.0f} | {ratios[-1][0]:.2f} "
            f"| {old['lowest']:.3f}, {new['lowest']:.3f} | {'' if goal is None else f'{goal:.0f}'} "
            f"| {'' if goal is None else f'{ratios[-1][1]:.2f}'} "
            f"| {old['all']:.0f}, {new['all']:.0f} | {ratios[-1][2]:.2f} "
            f"| {old['nlpd']:.3f}, {new['nlpd']:.3f} | {new['judge']} |",
            flush=True,
        )
    to_converge, as_low, in_all = np.nanmedian(ratios, axis=0)
    print(
        f"\nMedian ratios: {to_converge:.2f} to converge, {as_low:.2f} to be as low as before, "
        f"{in_all:.2f} in all; wanted: 0.5."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("other", type=Path, nargs="?", help="the checkout to compare with")
    parser.add_argument("--sets", nargs="+", default=CHOSEN_ON, metavar="NAME")
    parser.add_argument("--write", action="store_true", help="write docs/results/evaluations.md")
    parser.add_argument("--measure", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--lowest", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measured(options.measure, lowest=options.lowest)))
        return
    if options.other is None or not (options.other / "src" / "greedygp").is_dir():
        parser.error("name a checkout of another version: a folder with src/greedygp")
    with also_on_a_page(
        "evaluations", "Evaluations of learning", options.write, arguments="../before"
    ):
        report(options.other.resolve(), options.sets)


if __name__ == "__main__":
    main()
