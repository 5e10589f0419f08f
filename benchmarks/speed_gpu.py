"""Sparse and full regression on a GPU: time, error, coverage and peak of the GPU's memory.

    python -m benchmarks.speed_gpu                # Friedman1, 100,000 and 1,000,000 rows
    python -m benchmarks.speed_gpu --rows 20000   # other numbers of rows
    python -m benchmarks.speed_gpu --write        # to docs/results/speed_gpu.md, too
    python -m benchmarks.speed_gpu --criteria     # instead: selection by criterion, and learning
    python -m benchmarks.speed_gpu --streamed     # instead: 10,000,000 rows of a memory map
    python -m benchmarks.speed_gpu --operations   # instead: what a step asks of the device, counted

Needs torch and a CUDA device (counting needs none). The data are torch tensors on the device and
stay there; nothing else differs from a fit on NumPy arrays. First a small problem is fitted on
both, and what the predictions differ by is printed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.printed_page import also_on_a_page
from greedygp import DeviceRows, GPRegressor, SparseGPRegressor, datasets
from greedygp.kernels import Gaussian

BASIS, ITERATIONS = 500, 20
TEST_ROWS = 10_000
SMALL_ROWS = 2000
MOST_ROWS_OF_A_FULL_GP = 100_000
BYTES_A_MS = 4.8e9  # that an H200 moves, as its maker says
# Of Friedman1 in unit variances: what a fit of 2000 rows finds, rounded.
KERNEL = Gaussian(4.0, [0.9, 0.9, 1.6, 5.0, 6.0, *[1e4] * 5])
NOISE = 0.04
CRITERIA = ("nlgpp", "loo_cve", "nlml")
GIVEN: dict[str, Any] = {
    "kernel": KERNEL,
    "noise_variance": NOISE,
    "objective": None,
    "approximation": "dtc",
    "patience": None,
    "learning_rows": None,
}
HEADER = "| model | rows | seconds | NMSE | 95 % interval covers | basis, or steps | peak GiB |"


def problem(rows: int) -> tuple[np.ndarray, ...]:
    """Training and test rows of Friedman1, in about unit variances."""
    data = datasets.make_friedman(1, rows + TEST_ROWS, random_state=0)
    X, y = (np.asarray(part, dtype=float) for part in (data.X, data.y))
    X, y = X - X[:rows].mean(axis=0), (y - y[:rows].mean()) / y[:rows].std()
    return X[:rows], y[:rows], X[rows:], y[rows:]


def sparse(**parameters: Any) -> SparseGPRegressor:
    return SparseGPRegressor(max_basis=BASIS, max_iter=ITERATIONS, random_state=0, **parameters)


def full(solver: str) -> GPRegressor:
    """Never holds the matrix."""
    fixed: dict[str, Any] = {"kernel": KERNEL, "noise_variance": NOISE, "objective": None}
    return GPRegressor(solver=solver, memory_limit=0, random_state=0, **fixed)


class Device:
    """The GPU, through torch."""

    def __init__(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise SystemExit("There is no CUDA device that torch can use.")
        self.torch = torch

    def __call__(self, array: np.ndarray) -> Any:
        return self.torch.as_tensor(array, device="cuda")

    @property
    def name(self) -> str:
        return self.torch.cuda.get_device_name()

    def timed(self, model: Any, *rows: Any) -> tuple[float, float]:
        """Fit; return seconds and the peak of memory in GiB."""
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats()
        begin = time.perf_counter()
        model.fit(*rows)
        self.torch.cuda.synchronize()
        return time.perf_counter() - begin, self.torch.cuda.max_memory_allocated() / 2**30


def same_on_both(on: Device) -> None:
    """Print what the predictions of a small problem differ by."""
    X, y, X_test, _ = problem(SMALL_ROWS)
    for name, model in (("sparse, fixed", fixed_sparse()), ("full, pcg", full("pcg"))):
        host = model.fit(X, y).predict(X_test, return_std=True)
        device = model.fit(on(X), on(y)).predict(on(X_test), return_std=True)
        differences = [
            float(np.max(np.abs(a - b.cpu().numpy()))) for a, b in zip(host, device, strict=True)
        ]
        print(
            f"{name}, {SMALL_ROWS} rows, GPU against NumPy: means differ by at most "
            f"{differences[0]:.1e}, standard deviations by {differences[1]:.1e}.\n"
        )


def fixed_sparse() -> SparseGPRegressor:
    return sparse(kernel=KERNEL, noise_variance=NOISE, objective=None)


def line(name: str, rows: int, on: Device, model: Any) -> None:
    """Fit and print a line of the table."""
    X, y, X_test, y_test = problem(rows)
    seconds, peak = on.timed(model, on(X), on(y))
    covered, size = "", getattr(model, "n_basis_", None)
    if size is None:
        mean = model.predict(on(X_test)).cpu().numpy()
        size = model.n_iter_
    else:
        mean, std = (part.cpu().numpy() for part in model.predict(on(X_test), return_std=True))
        covered = f"{100 * np.mean(np.abs(y_test - mean) < 1.959964 * std):.1f}"
    nmse = float(np.mean((y_test - mean) ** 2) / np.var(y_test))
    print(
        f"| {name} | {rows:,} | {seconds:.2f} | {nmse:.4f} | {covered} | {size} | {peak:.2f} |",
        flush=True,
    )


def by_criterion(on: Device, sizes: Sequence[int]) -> None:
    """Print the seconds of selecting a basis of all rows, and of learning from all of them."""
    small = [on(part) for part in problem(SMALL_ROWS)[:2]]
    for criterion in CRITERIA:  # torch compiles its kernels
        sparse(criterion=criterion, **GIVEN).fit(*small)
    sparse(criterion="random", learning_rows=None).fit(*small)
    print(
        f"All rows select {BASIS} of themselves (59 candidates a step, DTC, hyperparameters given)."
        "\n\n| rows | criterion | selection, s | fit, s | basis | rounding met | peak GiB |\n"
        "|--:|---|--:|--:|--:|--:|--:|",
        flush=True,
    )
    for rows in sizes:
        X, y = (on(part) for part in problem(rows)[:2])
        for criterion in CRITERIA:
            model = sparse(criterion=criterion, **GIVEN)
            seconds, peak = on.timed(model, X, y)
            print(
                f"| {rows:,} | `{criterion}` | {model.path_['seconds'][-1]:.2f} | {seconds:.2f} | "
                f"{model.n_basis_} | {model.drift_:.0e} | {peak:.2f} |",
                flush=True,
            )
    seconds, peak = on.timed(sparse(learning_rows=None, criterion="random"), X, y)
    print(
        f"\nStart, a random basis, {ITERATIONS} iterations of learning by NLGPP from all "
        f"{sizes[-1]:,} rows, posterior: {seconds:.2f} s, peak {peak:.2f} GiB.",
        flush=True,
    )


def streamed(on: Device, rows: int) -> None:
    """Fit to a memory map whose rows are sent to the device a chunk at a time, and print it."""
    X, y, X_test, y_test = problem(rows)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        there = DeviceRows(np.load(f"{folder}/X.npy", mmap_mode="r"), y)
        model = sparse()
        seconds, peak = on.timed(model, there)
    mean = model.predict(on(X_test)).cpu().numpy()
    print(
        f"{rows:,} rows of a memory map, sent to the device a chunk at a time; 100,000 of them "
        f"learn, {model.n_basis_} basis vectors, {ITERATIONS} iterations: {seconds:.1f} s, NMSE "
        f"{np.mean((y_test - mean) ** 2) / np.var(y_test):.4f}, peak {peak:.2f} GiB.",
        flush=True,
    )


def operations(steps: int = 100) -> None:
    """Print how much a step of a selection asks of the device: the same on any of them."""
    import torch

    X, y = (torch.as_tensor(part) for part in problem(SMALL_ROWS)[:2])
    print(
        f"Friedman1, {SMALL_ROWS:,} rows, 59 candidates a step, DTC, hyperparameters given; "
        "counted by torch on the processor. The number of rows changes nothing. Numbers for each "
        f"row: what the operations of a step read and write, {steps // 2} to {steps} basis "
        "vectors. An H200 moves 4.8 TB a second: for a million rows that alone takes the last "
        "column's time. There the scores of `nlgpp` and `loo_cve` are one kernel, which saves the "
        "most of what they move here.\n"
    )
    print(
        "| criterion | operations a step | times a step that the host waits for an answer "
        "| times that it sends some | numbers for each row | ms a step |\n"
        "|---|--:|--:|--:|--:|--:|"
    )
    for criterion in (*CRITERIA, "matching_pursuit"):
        counts = []
        for size in (steps // 2, steps):
            model = sparse(criterion=criterion, noise_model="constant", **GIVEN)
            with counted_operations() as count:
                model.set_params(max_basis=size).fit(X, y)
            counts.append(count)
        all_of_them, answers, sent, moved = (
            (counts[1][what] - counts[0][what]) / (steps - steps // 2)
            for what in ("operations", "answers", "sent", "moved")
        )
        moved /= SMALL_ROWS
        print(
            f"| `{criterion}` | {all_of_them:.0f} | {answers:.1f} | {sent:.1f} | {moved:.0f} "
            f"| {moved * 8e6 / BYTES_A_MS:.1f} |"
        )


@contextmanager
def counted_operations() -> Iterator[Counter[str]]:
    """Count torch's operations, the numbers they move, and how often host and device exchange any.

    Views and empty arrays move nothing; what picks lines moves what it gives.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    from greedygp.arrays import Backend

    count: Counter[str] = Counter()
    bring, send = torch.Tensor.cpu, Backend.sent

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            found = function(*args, **(kwargs or {}))
            name = str(function)
            count["operations"] += 1
            count["answers"] += "_local_scalar_dense" in name
            if not (function.is_view or "empty" in name):
                read = () if "index_select" in name else (args, {**(kwargs or {}), "out": None})
                count["moved"] += _size_of(tree_leaves(read)) + _size_of(tree_leaves(found))
            return found

    def brought(self, *arguments, **options):
        count["answers"] += 1
        return bring(self, *arguments, **options)

    def sent(self, *arguments):
        count["sent"] += 1
        return send(self, *arguments)

    torch.Tensor.cpu, Backend.sent = brought, sent
    try:
        with Counted():
            yield count
    finally:
        torch.Tensor.cpu, Backend.sent = bring, send


def _size_of(leaves: Sequence[Any]) -> int:
    """Return how many numbers the tensors among them have, each tensor counted once."""
    tensors = {(x.data_ptr(), x.numel()) for x in leaves if hasattr(x, "data_ptr")}
    return sum(size for _, size in tensors)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", help="default: 100,000 and 1,000,000")
    parser.add_argument("--criteria", action="store_true", help="selection by criterion")
    parser.add_argument("--streamed", action="store_true", help="rows beyond the device's memory")
    parser.add_argument("--operations", action="store_true", help="what a step asks of the device")
    parser.add_argument("--write", action="store_true", help="write docs/results/speed_gpu.md")
    options = parser.parse_args(arguments)
    if options.operations:
        with also_on_a_page(
            "speed_gpu",
            "What a GPU is asked",
            options.write,
            arguments="--operations",
            page="speed_gpu_operations",
        ):
            operations()
        return
    on = Device()
    warnings.simplefilter("ignore", ConvergenceWarning)  # of max_iter, which is set low
    if options.streamed:
        with also_on_a_page(
            "speed_gpu",
            "Rows sent to a GPU",
            options.write,
            arguments="--streamed",
            page="speed_gpu_streamed",
        ):
            print(f"Friedman1 on {on.name}.\n")
            streamed(on, (options.rows or [10_000_000])[-1])
        return
    sizes = options.rows or [100_000, 1_000_000]
    if options.criteria:
        with also_on_a_page(
            "speed_gpu",
            "Selection on a GPU",
            options.write,
            arguments="--criteria",
            page="speed_gpu_criteria",
        ):
            print(f"Friedman1 on {on.name}.\n")
            by_criterion(on, sizes)
        return
    with also_on_a_page("speed_gpu", "Regression on a GPU", options.write):
        print(f"Friedman1 on {on.name}.\n")
        same_on_both(on)
        print(f"{HEADER}\n|---" + "|--:" * (HEADER.count("|") - 2) + "|", flush=True)
        for rows in sizes:
            line("sparse, hyperparameters given", rows, on, fixed_sparse())
            line(f"sparse, learnt in {ITERATIONS} iterations", rows, on, sparse())
            if rows <= MOST_ROWS_OF_A_FULL_GP:
                for solver in ("pcg", "gbcd"):
                    line(f"full, {solver}, K not held", rows, on, full(solver))


if __name__ == "__main__":
    main()
