"""The left part of Figure 3 of the additive-model paper: how many candidates a step needs.

Adaptive and uniform sampling with 1 to 20 candidates a step, beside validation with 59, on Waveform
and Twonorm with 40 and 80 basis vectors; hyperparameters as in the suite `sparse_classification`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.suites import sparse_classification
from benchmarks.suites.sparse_classification_page import PAPER

SIZES = (40, 80)
CANDIDATES = (1, 2, 5, 10, 20)
WAYS = {"adaptive": "adaptive", "random": "random"}
ALIKE = 0.02  # nats: two NLPs are called similar
MEASURES = {"nlp": "NLP", "error": "error"}


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Select to the larger size; error and NLP on the test rows at both."""
    return sparse_classification.run(task, method, partition, prepared, SIZES)


def means(suite: Suite, records: list[Record]) -> dict[tuple[str, str, str, int], float]:
    """(Measure, set, method, size) -> mean over the partitions that all methods have."""
    found = {}
    for task in suite.tasks:
        for measure in MEASURES:
            for size in SIZES:
                values = {
                    m.name: pages.by_partition(
                        records,
                        task.name,
                        m.name,
                        lambda r, key=f"{measure}_{size}": r["metrics"][key],
                    )
                    for m in suite.methods
                }
                common = set.intersection(*(set(v) for v in values.values()))
                for name, by_partition in values.items():
                    if common:
                        mean = float(np.mean([by_partition[p] for p in common]))
                        found[measure, task.name, name, size] = mean
    return found


Means = dict[tuple[str, str, str, int], float]


def claims(suite: Suite, values: Means) -> list[pages.Claim]:
    """What the paper says of this part of its figure."""
    cells = [(t.name, s) for t in suite.tasks for s in SIZES]
    known = [(n, s) for n, s in cells if ("nlp", n, "validation", s) in values]

    def nlp(name: str, method: str, size: int) -> float:
        return values["nlp", name, method, size]

    better: list[bool | None] = [
        nlp(n, f"adaptive{k}", s) < nlp(n, f"random{k}", s) for n, s in known for k in CANDIDATES
    ]
    gaps = {
        (n, s): [nlp(n, f"random{k}", s) - nlp(n, f"adaptive{k}", s) for k in CANDIDATES]
        for n, s in known
    }
    shrinks: list[bool | None] = [abs(gap[-1]) < abs(gap[0]) for gap in gaps.values()]
    close = {(n, s): nlp(n, "adaptive2", s) - nlp(n, "validation", s) for n, s in known}
    absent: list[bool | None] = [None] * (len(cells) - len(known))
    return [
        pages.counted(
            "Adaptive sampling has a lower NLP than random sampling, with as many candidates",
            "",
            better + absent * len(CANDIDATES),
        ),
        pages.counted(
            "The difference is smaller with more candidates",
            f"{CANDIDATES[0]} : {CANDIDATES[-1]} candidates, "
            + "; ".join(f"{n}, {s}: {g[0]:.4f} : {g[-1]:.4f}" for (n, s), g in gaps.items()),
            shrinks + absent,
        ),
        pages.counted(
            "Two adaptive candidates are enough for an NLP similar to that of validation (59)",
            f"at most {ALIKE:g} above it; "
            + ", ".join(f"{n}, {s}: {gap:+.4f}" for (n, s), gap in close.items()),
            [gap <= ALIKE for gap in close.values()] + absent,
        ),
    ]


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    values = means(suite, records)
    lines = [
        f"# {suite.title}",
        "",
        f"{PAPER}, Figure 3, left. Candidates a step from 1 to {CANDIDATES[-1]}, drawn by the "
        "predicted chance of error, or evenly. The former are judged by the loss over all rows "
        "(5), the latter, as those of validation, by that over the rows outside the basis (4): "
        "with at most 80 of 4000 rows in it the two losses are nearly one. Sites by moment "
        "matching; kernel and bias are those of {doc}`sparse_classification`, shared by all "
        "methods of a partition.",
        "",
        pages.partitions_line(suite, records) + " The paper has 25.",
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(suite, values)),
        *figure(suite, values, folder),
    ]
    for measure, title in MEASURES.items():
        digits = 4 if measure == "nlp" else 3
        rows = [
            [f"{task.title}, {size}, {way}"]
            + [
                f"{values[key]:.{digits}f}" if key in values else pages.MISSING
                for key in [(measure, task.name, f"{way}{k}", size) for k in CANDIDATES]
                + [(measure, task.name, "validation", size)]
            ]
            for task in suite.tasks
            for size in SIZES
            for way in WAYS
        ]
        header = ["", *map(str, CANDIDATES), "validation (59)"]
        lines += [f"## {title[0].upper()}{title[1:]}", "", *pages.table(header, rows)]
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def figure(suite: Suite, values: Means, folder: Path) -> list[str]:
    """Error and NLP against the number of candidates, a row of axes for each set and size."""
    drawing, axes = pages.new_figure(2, len(suite.tasks) * len(SIZES), width=3.2, height=2.8)
    for row, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        pairs = [(task, size) for task in suite.tasks for size in SIZES]
        for axis, (task, size) in zip(row, pairs, strict=True):
            for way, label in WAYS.items():
                keys = [(measure, task.name, f"{way}{k}", size) for k in CANDIDATES]
                if all(key in values for key in keys):
                    axis.plot(CANDIDATES, [values[key] for key in keys], "o-", label=label)
            best = values.get((measure, task.name, "validation", size))
            if best is not None:
                axis.axhline(best, color="k", linestyle="-.", label="validation (59)")
            axis.set(title=f"{task.title}, {size}", ylabel=title, xlabel="candidates")
    pages.add_legend(axes[0, 0])
    caption = "Error and NLP against the number of candidates a step"
    return pages.save_figure(drawing, folder, suite.name, caption)


def _methods() -> list[Method]:
    criteria = {"adaptive": "adaptive", "random": "validation"}
    methods = [
        Method(f"{way}{k}", f"{way} ({k})", {"criterion": criteria[way], "working_set": k})
        for way in WAYS
        for k in CANDIDATES
    ]
    validation = {"criterion": "validation", "working_set": 59}
    return [*methods, Method("validation", "validation (59)", validation)]


SUITE = Suite(
    name="adaptive_candidates",
    title="Sparse classification: how many candidates a step needs",
    tasks=[sparse_classification.make_task(name) for name in ("waveform", "twonorm")],
    methods=_methods(),
    metrics=[f"{measure}_{size}" for measure in MEASURES for size in SIZES],
    repeats=5,
    run=run,
    render=render,
    prepare=sparse_classification.prepare,
    prepared_in="sparse_classification",
)
