"""The fast GCV paper's algorithms beside Orr's full model, Gaussian processes, other libraries."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.frame import Record, Suite, Task
from benchmarks.suites.fast_gcv_tables import Pair, averages_table, collect

PEERS = {"fastrvm": "fastrvm", "ard": "ARDRegression", "svr": "SVR"}
SIMILAR = {
    "fgcv": "FGCV",
    "orr": "Orr's full model",
    "sgp": "sparse GP of FGCV's size",
    "gp": "full GP",
}
BESIDE = {"fgcv": "FGCV", "frvm": "FRVM", **PEERS}


def similar_models(suite: Suite, records: Sequence[Record]) -> list[str]:
    """Orr's full model, and Gaussian processes, on the partitions that have them."""
    lines = [
        "## Orr's full model and Gaussian processes",
        "",
        "The paper's algorithm is a fast way to the model of Orr, who begins with all functions: "
        "`LocalRidgeRegressor`, at the width of FGCV, not on Abalone, where a cycle takes 3000 "
        "cubed steps. The full GP is `GPRegressor`, the sparse one `SparseGPRegressor` with as "
        "many basis vectors as FGCV has functions; both learn a length scale for every input, "
        "which the linear models do not have.",
        "",
    ]
    for task in suite.tasks:
        lines += [f"### {task.title}, models", "", *averages_table(suite, records, task, SIMILAR)]
    return lines


def other_libraries(suite: Suite, records: Sequence[Record]) -> list[str]:
    """Ours beside fastrvm, ARDRegression and SVR on the partitions that have them."""
    lines = [
        "## Other libraries",
        "",
        "The same partitions, one thread. `fastrvm` (with intercept) and scikit-learn's "
        "`ARDRegression` on the kernel matrix maximise the evidence as FRVM does. `fastrvm` looks "
        "for its width as ours do. ARDRegression is slow: its width comes from one fold, five "
        "widths and 30 iterations, and it is not run on Abalone, where it would begin with the "
        "inverse of a matrix of all 3000 columns. SVR has a 5-fold grid (width, C, epsilon); its "
        "basis functions are the support vectors. Times are in seconds of the processor: one fit "
        "at the width found, and the search for it (our own with a fit in it).",
        "",
    ]
    for task in suite.tasks:
        lines += [f"### {task.title}", ""]
        lines += averages_table(suite, records, task, BESIDE)
        lines += [line for peer in PEERS for line in beside(suite, records, task, peer)]
    return lines


def beside(suite: Suite, records: Sequence[Record], task: Task, peer: str) -> list[str]:
    """A line on a peer: FRVM's error and time in units of its own, on common partitions."""
    error = Pair.of(collect(suite, records, "nmse"), task.name, "frvm", peer)
    seconds = Pair.of(collect(suite, records, "fit_cpu_seconds"), task.name, "frvm", peer)
    if not len(error):
        return []
    text = (
        f"{PEERS[peer]}: {error.right.mean() / error.left.mean():.2f} times the error of FRVM "
        f"(p = {error.p:.2g}, {len(error)} pairs) in "
        f"{seconds.right.sum() / seconds.left.sum():.1f} times its time."
    )
    return [text, ""]


def peer_versions(records: Sequence[Record]) -> list[str]:
    """The versions of the peer's own environment, and how it is made."""
    found = {
        ", ".join(f"{name} {version}" for name, version in record["peer_versions"].items())
        for record in records
        if record.get("peer_versions")
    }
    if not found:
        return []
    return [
        "",
        "fastrvm runs in an environment of its own, made by "
        "`python -m benchmarks.peers.environments fastrvm`: " + "; ".join(sorted(found)) + ".",
    ]
