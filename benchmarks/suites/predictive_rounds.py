"""Figure 1: Friedman3, measure, NMSE and NPDL along the selection, as hyperparameters are learnt.

Learning is that of Table 5. Then a basis is chosen afresh with the hyperparameters where it ended,
past the measure's minimum to the limit; and, for comparison, with those where it started.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.suites import learning, predictive
from benchmarks.suites.predictive_learnt import LOO_MEASURES, MAX_ITER, ROUNDS
from benchmarks.suites.predictive_paths import along_the_path, draw, minima, to_the_end
from benchmarks.suites.problems import prepare, problem, sparse_model

STAGES = {"start": "before learning", "learnt": "after learning"}
CHOOSE_SIZE = ("nlml", *LOO_MEASURES)


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Learn as in Table 5 (or not), then select to the limit with what was learnt."""
    data = problem(task, partition)
    parameters = predictive.selection(task, method.parameters["criterion"])
    held: dict[str, Any] = {}
    rounds: dict[str, list[float]] = {}
    if method.parameters["stage"] == "learnt":
        turns = learning.interleaved(method.parameters["rounds"], method.parameters["max_iter"])
        learner = sparse_model(prepared, partition, **parameters | turns)
        learning.fit(learner, data)
        held = dict(zip(("kernel", "noise_variance"), learning.hyperparameters(learner)))
        rounds = learning.rounds_of(learner)
    model = sparse_model(prepared, partition, **parameters | to_the_end(task) | held)
    outcome = along_the_path(task, model.fit(data.X, data.y), data)
    outcome["metrics"]["size_variation"] = variation(rounds.get("round_n_basis", []))
    outcome["curves"] |= rounds
    return outcome


def variation(sizes: list[float]) -> float:
    """Standard deviation of the rounds' basis sizes, relative to their mean."""
    return float(np.std(sizes) / np.mean(sizes)) if sizes else 0.0


# Page --------------------------------------------------------------------------------------------


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    """The page: findings, the figure, where the minima are."""
    (task,) = suite.tasks
    columns = [(f"{task.title}, {title}", task.name, f"-{s}") for s, title in STAGES.items()]
    caption = "Measure, NMSE and NPDL on Friedman3 before and after learning"
    lines = [
        f"# {suite.title}",
        "",
        f"{predictive.PAPER}, Figure 1. Friedman3, 200 training and 5000 test rows, DTC, "
        f"{predictive.WORKING_SET} random candidates a step, no cache. Each measure is scaled to "
        "run from 0 to 1; NPDL is of the standardised target; curves are averages over partitions.",
        "",
        pages.partitions_line(suite, records)
        + " The paper does not say over how many its figure runs; its curves are only drawn, so "
        "its words are compared.",
        "",
        "## Findings",
        "",
        *pages.claims_table(claims(task, records)),
        "The paper draws one line for each round of learning. Here there are two: the "
        "hyperparameters at the start (a full GP on 100 rows), and those where the learning of "
        f"Table 5 ended ({ROUNDS} rounds of at most {MAX_ITER} iterations). In both a basis is "
        "chosen from nothing and past the minimum of its measure, to "
        f"{task.parameters['limit']} vectors.",
        "",
        *draw(records, columns, folder, suite.name, caption),
        "## Where the minima are",
        "",
        "Number of basis vectors at which the measure, and the NPDL of the test set, is smallest.",
        "",
        *minima(records, columns),
        *pages.provenance(suite, records),
    ]
    return pages.write_page(folder, suite, lines)


def claims(task: Task, records: list[Record]) -> list[pages.Claim]:
    """What the paper reads off its figure, and the same read off ours."""

    def metric(criterion: str, name: str) -> list[float]:
        method = f"{criterion}-learnt"
        found = pages.by_partition(records, task.name, method, lambda r: r["metrics"][name])
        return list(found.values())

    def turning(criterion: str) -> list[bool]:
        minimum, reached = metric(criterion, "measure_minimum_at"), metric(criterion, "basis")
        return [at < last for at, last in zip(minimum, reached, strict=True)]

    turn = {c: turning(c) for c in predictive.TITLES}
    choosing: list[bool | None] = [found for c in CHOOSE_SIZE for found in turn[c]]
    sizes = {c: metric(c, "measure_minimum_at") for c in LOO_MEASURES}
    known = all(sizes.values())
    average = {c: float(np.mean(v)) for c, v in sizes.items() if v}
    spread = [v for c in CHOOSE_SIZE for v in metric(c, "size_variation")]
    shown = ", ".join(f"{predictive.TITLES[c]} {v:.0f}" for c, v in average.items())
    return [
        pages.counted(
            "After a certain number of basis vectors NLML and the LOO measures start to rise",
            "; ".join(
                f"{predictive.TITLES[c]} in {sum(turn[c])} of {len(turn[c])}" for c in CHOOSE_SIZE
            ),
            choosing,
            what="runs",
        ),
        pages.Claim(
            "NLPP's measure need not rise",
            f"it rises in {sum(turn['nlpp'])} of {len(turn['nlpp'])} runs",
            not all(turn["nlpp"]) if turn["nlpp"] else None,
        ),
        pages.Claim(
            "Of the LOO measures GPE has its minimum at the largest basis",
            f"on average at {shown}" if known else pages.MISSING,
            average["gpe"] >= max(average.values()) if known else None,
        ),
        pages.Claim(
            "The size at the minimum varies by about 10 % as the hyperparameters are learnt",
            f"standard deviation over the rounds of a run, relative to their mean: median "
            f"{100 * float(np.median(spread)):.0f} % (NLML and the LOO measures)"
            if spread
            else pages.MISSING,
            0.05 <= float(np.median(spread)) <= 0.15 if spread else None,
        ),
    ]


def _methods() -> list[Method]:
    turns = {"rounds": ROUNDS, "max_iter": MAX_ITER}
    return [
        Method(
            f"{c}-{stage}",
            title,
            {"criterion": c, "stage": stage, **(turns if stage == "learnt" else {})},
        )
        for stage in STAGES
        for c, title in predictive.TITLES.items()
    ]


SUITE = Suite(
    name="predictive_rounds",
    title="Predictive approaches: the measures on Friedman3 as hyperparameters are learnt",
    tasks=[task for task in predictive.TASKS if task.name == "friedman3"],
    methods=_methods(),
    metrics=["basis", "measure_minimum_at", "npdl_minimum_at", "seconds", "size_variation"],
    repeats=5,
    run=run,
    render=render,
    prepare=prepare,
    prepared_in="predictive",
)
