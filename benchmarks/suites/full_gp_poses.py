"""Table 5 of the paper on greedy block coordinate descent: poses of HumanEva.

A pose, the positions of 15 joints relative to the root, from a descriptor of the silhouette: 45
targets, predicted together. The full GP by greedy blocks beside 2000 regressors by matching
pursuit. The data must be asked for; the suite runs when their file is there.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pages
from benchmarks.frame import Method, Record, Suite, Task
from benchmarks.hyperparameters import Hyperparameters
from benchmarks.suites import full_gp
from benchmarks.suites.full_gp import EVIDENCE_ROWS, PAPER, STEPS, TOL
from benchmarks.suites.full_gp_beside_sparse import CANDIDATES, SIZE
from benchmarks.suites.problems import sparse_model
from greedygp import datasets
from greedygp.kernels import Gaussian
from greedygp.start import subset_evidence

PRINTED = {"mpgp": (5237.0, 62.4), "gbcd": (3891.0, 59.6)}  # seconds, millimetres
JOINTS = 15


def halves(task: Task, partition: int) -> tuple[np.ndarray, ...]:
    """Inputs and poses of training and test rows: the file's own partition, if it has one."""
    data = datasets.load(task.name)
    if data.partitions:
        train, test = data.partitions[0]
    else:
        sizes = task.parameters["n_train"], task.parameters["n_test"]
        train, test = datasets.random_partition(len(data.X), *sizes, seed=partition)
    poses = np.asarray(data.y, dtype=float)
    centre, scale = data.X[train].mean(axis=0), data.X[train].std(axis=0)
    X = (data.X - centre) / np.where(scale > 0, scale, 1.0)
    return X[train], poses[train], X[test], poses[test]


def standardised(poses: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Poses with mean zero and deviation one, and both; a coordinate that is constant stays."""
    centre, scale = poses.mean(axis=0), poses.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return (poses - centre) / scale, centre, scale


def prepare(task: Task, partition: int) -> dict[str, Any]:
    """One length scale and one noise for all targets, by the evidence of some rows."""
    X, poses, _, _ = halves(task, partition)
    rows = np.random.default_rng(partition).permutation(len(X))[:EVIDENCE_ROWS]
    kernel = Gaussian(1.0, np.sqrt(X.shape[1]), fixed="variance")
    y = standardised(poses)[0][rows]
    best = subset_evidence(kernel, None, X[rows], y, n_rows=len(rows), max_iter=STEPS)
    return Hyperparameters(
        variance=1.0,
        length_scale=[float(best.point.kernel.length_scale)] * X.shape[1],
        noise_variance=best.point.noise_variance,
        bias=None,
        negative_log_evidence=best.value,
        n_rows=len(rows),
    ).as_dict()


def joint_error(poses: np.ndarray, predicted: np.ndarray) -> float:
    """The mean distance of a joint from where it is, in the units of the poses."""
    difference = (poses - predicted).reshape(len(poses), -1, 3)
    return float(np.mean(np.linalg.norm(difference, axis=2)))


def run(task: Task, method: Method, partition: int, prepared: Any) -> dict[str, Any]:
    """Fit, and measure the error of the joints on the test rows."""
    X, poses, X_test, poses_test = halves(task, partition)
    y, centre, scale = standardised(poses)
    parameters = dict(method.parameters)
    if parameters.pop("kind") == "sparse":
        size = min(task.parameters.get("size", SIZE), len(X))
        model = sparse_model(prepared, partition, max_basis=size, patience=None, **parameters)
    else:
        model = full_gp.dense_model(prepared, partition, **parameters)
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    predicted = centre + scale * np.asarray(model.predict(X_test))
    error = joint_error(poses_test, predicted)
    return {"metrics": {"joint_error": error, "seconds": seconds}}


# Page --------------------------------------------------------------------------------------------


def render(suite: Suite, records: list[Record], folder: Path) -> Path:
    error = {
        method.name: pages.by_partition(
            records, suite.tasks[0].name, method.name, lambda r: r["metrics"]["joint_error"]
        )
        for method in suite.methods
    }
    lines = [
        f"# {suite.title}",
        "",
        f"{PAPER}, Table 5. HumanEva-1: poses of {JOINTS} joints from a histogram of shape "
        "contexts. One length scale and one noise for all targets, by the evidence of "
        f"{EVIDENCE_ROWS} rows; the full GP to {TOL:g}, K never held; {SIZE} regressors by "
        f"matching pursuit, {CANDIDATES} candidates a step. The error is the mean distance of a "
        "joint from where it is, in millimetres.",
        "",
        pages.partitions_line(suite, records),
        "",
        "## Findings",
        "",
        *pages.claims_table([more_accurate(error)]),
        "## Seconds and errors",
        "",
        *pages.table(
            ["", *(method.title for method in suite.methods)],
            [
                ["seconds, paper", *(f"{PRINTED[m.name][0]:g}" for m in suite.methods)],
                ["seconds, ours", *(_seconds(records, m.name) for m in suite.methods)],
                ["mm, paper", *(f"{PRINTED[m.name][1]:g}" for m in suite.methods)],
                [
                    "mm, ours",
                    *(
                        pages.mean_and_deviation(list(error[m.name].values()), 1)
                        for m in suite.methods
                    ),
                ],
            ],
        ),
    ]
    lines += pages.provenance(suite, records)
    return pages.write_page(folder, suite, lines)


def _seconds(records: list[Record], method: str) -> str:
    found = [r["metrics"]["seconds"] for r in records if r["method"] == method]
    return f"{np.median(found):.0f}" if found else pages.MISSING


def more_accurate(error: dict[str, dict[int, float]]) -> pages.Claim:
    """The full GP against matching pursuit, partition by partition."""
    common = sorted(set(error["gbcd"]) & set(error["mpgp"]))
    cases: list[bool | None] = [error["gbcd"][p] < error["mpgp"][p] for p in common]
    return pages.counted(
        "The full GP is more accurate than the sparse one", "", cases or [None], what="partitions"
    )


SUITE = Suite(
    name="full_gp_poses",
    title="Full GP regression: poses from silhouettes",
    tasks=[Task("humaneva", "HumanEva", {"n_train": 26_572, "n_test": 8757})],
    methods=[
        Method(
            "mpgp",
            "MPGP",
            {
                "kind": "sparse",
                "criterion": "matching_pursuit",
                "working_set": CANDIDATES,
                "cache_size": 2 * CANDIDATES,
            },
        ),
        Method("gbcd", "GBCD+", {"kind": "full", "solver": "gbcd"}),
    ],
    metrics=["joint_error", "seconds"],
    repeats=1,
    run=run,
    render=render,
    prepare=prepare,
    applies=full_gp.is_there,
)
