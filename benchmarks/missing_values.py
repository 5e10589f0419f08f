"""Error bars where values are missing: how often they hold, and the density of the targets there.

In some columns of a table a share of the values is taken away. A model is fitted to two thirds of
the rows and predicts the others, with their own holes. "marked" is what `greedygp fit` does: a
missing number becomes the median, and a feature says so. "filled" has the median alone, as the
command line did it first. Only rows with missing values are judged.

    python -m benchmarks.missing_values            # goes on where it was interrupted
    python -m benchmarks.missing_values --write    # docs/results/missing_values.md

Tables: two that come with scikit-learn or are generated, a made-up one with words, and those of
`GREEDYGP_DATA` among the sets that defaults are chosen on.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn.datasets import load_diabetes, make_friedman1

from greedygp import AutoGPRegressor, datasets
from greedygp.metrics import coverage, nlpd
from greedygp.tables import TableEncoder

ROOT = Path(__file__).parent
RESULTS = ROOT / "results" / "missing_values.json"
PAGE = ROOT.parent / "docs" / "results" / "missing_values.md"
SHARES, DRAWS, MOST_ROWS = (0.1, 0.2, 0.4), 2, 900
COLUMNS_WITH_HOLES = 3
STORED = ("boston", "concrete", "abalone", "bank8FM", "cpu_small")
WAYS = ("marked", "filled")


def tables() -> dict[str, tuple[pandas.DataFrame, np.ndarray]]:
    """Return the tables that are at hand, and their targets."""
    found = {"houses": houses()}
    arrays = {
        "diabetes": load_diabetes(return_X_y=True),
        "friedman1": make_friedman1(MOST_ROWS, noise=1.0, random_state=0),
    }
    for name in STORED:
        with contextlib.suppress(OSError, ValueError):  # it is in a folder that is not there
            stored = datasets.load(name)
            arrays[name] = stored.X, stored.y
    for name, (X, y) in arrays.items():
        order = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        names = [f"x{k}" for k in range(X.shape[1])]
        found[name] = pandas.DataFrame(X[order], columns=names), y[order]
    return found


def houses() -> tuple[pandas.DataFrame, np.ndarray]:
    """Return a made-up table with words."""
    rng = np.random.default_rng(0)
    n = MOST_ROWS
    table = pandas.DataFrame({
        "area": rng.gamma(8.0, 12.0, n),
        "rooms": rng.integers(1, 7, n).astype(float),
        "age": rng.exponential(30.0, n),
        "distance": rng.uniform(0.0, 20.0, n),
        "town": rng.choice(["Ulm", "Bonn", "Trier"], n),
    })  # fmt: skip
    price = 2.0 * table["area"] * np.exp(-table["distance"] / 15) + 8.0 * table["rooms"]
    price += 20.0 * (table["town"] == "Bonn") - 15.0 * np.log1p(table["age"])
    return table, price.to_numpy() + rng.normal(0, 6, n)


def with_holes(table: pandas.DataFrame, y: np.ndarray, share: float, rng: Any) -> pandas.DataFrame:
    """Return the table with holes in the columns of numbers that say most about the target."""
    numbers = [name for name in table if table[name].dtype.kind in "if"]
    known = {name: abs(np.corrcoef(table[name].rank(), y)[0, 1]) for name in numbers}
    chosen = sorted(numbers, key=lambda name: -known[name])[:COLUMNS_WITH_HOLES]
    holed = table.copy()
    for name in chosen:
        holed.loc[rng.random(len(table)) < share, name] = np.nan
    return holed


def one(table: pandas.DataFrame, y: np.ndarray, share: float, draw: int) -> dict[str, Any]:
    """Fit and judge both ways on one table with holes."""
    rng = np.random.default_rng(draw)
    holed = with_holes(table, y, share, rng)
    order = rng.permutation(len(y))
    train, test = np.split(order, [2 * len(y) // 3])
    encoder = TableEncoder().fit(holed.iloc[train])
    A, B = encoder.transform(holed.iloc[train]), encoder.transform(holed.iloc[test])
    marks = np.array([name.endswith(" is missing") for name in encoder.feature_names])
    gaps = holed.iloc[test].isna().any(axis=1).to_numpy()
    found: dict[str, Any] = {"rows": int(gaps.sum())}
    unit = float(np.std(y))
    for way in WAYS:
        used = slice(None) if way == "marked" else ~marks
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice
            model = AutoGPRegressor(random_state=draw).fit(A[:, used], y[train])
        mean, std = model.predict(B[:, used], return_std=True)
        found[way] = {"seconds": round(time.process_time() - begin, 2)}
        for rows, which in ((gaps, "gaps"), (~gaps, "whole")):
            if rows.sum():
                target = y[test][rows], mean[rows], std[rows]
                found[way][which] = {
                    "coverage": coverage(*target, 0.95),
                    "nlpd": nlpd(*target) - float(np.log(unit)),
                }
    return found


def runs(names: Iterable[str]) -> Iterator[tuple[str, str, float, int]]:
    """Yield the key, table, share and draw of every run."""
    for draw in range(DRAWS):
        for share in SHARES:
            for name in names:
                yield f"{name} {share:g} {draw}", name, share, draw


def averages(stored: dict[str, Any], name: str, share: float | None) -> list[float] | None:
    """Return rows, coverage and NLPD of both ways on rows with holes, and coverage elsewhere."""
    keys = [f"{name} {s:g} {d}" for s in SHARES for d in range(DRAWS) if share in (None, s)]
    done = [stored[key] for key in keys if key in stored]
    if not done:
        return None
    rows = [one["rows"] for one in done]

    def mean(way: str, what: str, which: str = "gaps") -> float:
        weights = rows if which == "gaps" else None
        return float(np.average([one[way][which][what] for one in done], weights=weights))

    return [
        float(sum(rows)),
        *(mean(way, what) for what in ("coverage", "nlpd") for way in WAYS),
        mean("marked", "coverage", "whole"),
    ]


def page(stored: dict[str, Any]) -> str:
    """Return the page."""
    names = list(dict.fromkeys(key.split()[0] for key in stored))
    lines = []
    for name in names:
        for share in (*SHARES, None):
            found = averages(stored, name, share)
            if found is not None:
                label = "all" if share is None else f"{share:.0%}"
                rows, marked, filled, ours, theirs, whole = found
                lines.append(
                    f"| {name} | {label} | {rows:.0f} | {marked:.1%} | {filled:.1%} "
                    f"| {ours:.3f} | {theirs:.3f} | {whole:.1%} |"
                )
    good = [name for name in names if 0.9 <= averages(stored, name, None)[1] <= 0.98]  # type: ignore
    better = [n for n in names if (a := averages(stored, n, None)) and a[3] < a[4]]
    return f"""# Where values are missing

Written by `python -m benchmarks.missing_values --write`.

In the {COLUMNS_WITH_HOLES} columns of numbers that say most about the target, a share of the values
is taken away at random. `AutoGPRegressor` with its defaults learns from two thirds of at most
{MOST_ROWS} rows and predicts the others, whose holes are their own; {DRAWS} draws. "Marked": a
missing number becomes the median and a feature says so, as `greedygp fit` does it. "Filled": the
median alone. Coverage of 95 % intervals and NLPD (of the target in units of its standard deviation;
smaller is better) on rows with at least one missing value.

On {len(good)} of {len(names)} tables the coverage of the marked rows is between 90 % and 98 %, over
all shares together; on {len(better)} their NLPD is better than that of the filled ones.

| table | missing | rows | covered, marked | filled | NLPD, marked | filled | complete rows |
|---|---|---|---|---|---|---|---|
{chr(10).join(lines)}
"""


def main() -> int:
    """Do what is not done yet, or write the page."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if "--write" in sys.argv:
        PAGE.write_text(page(stored), encoding="utf-8")
        return 0
    known = tables()
    for key, name, share, draw in runs(known):
        if key not in stored:
            stored[key] = one(*known[name], share, draw)
            RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
            print(key, json.dumps(stored[key]), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
