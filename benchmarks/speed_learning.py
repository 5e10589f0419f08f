"""How close one value and gradient of learning is to its matrix products, in one process.

The objective is `nlgpp` with the guard, with free basis inputs, as a default fit has it. The floor
is the same multiply-adds at the speed of the machine's best matrix product, measured in the same
run. With n rows, m basis vectors and D features a value and gradient needs

    n m^2 / 2 each for V, V V', Z, Z diag(eta) Z', Z diag(kappa) Z' and the two ways back through
      the factors of V and Z (V is a solve, the other three are products with a triangle),
    n m^2 for H Z,                                                   4.5 n m^2 in all,
    n m (2 D + 2) for the kernel's distances and for the contraction of its gradient.

Nothing is counted for exponentials, for passes that only read and write, or for what is of the
basis alone (m^3). The second table has each product on its own, in the shape that the evaluation
uses: what share of the best matrix product's speed it reaches. Times are those of the processor,
with one thread; the smallest of several in turns.

    python -m benchmarks.speed_learning [--quick] [--write]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from benchmarks.printed_page import also_on_a_page
from greedygp.arrays import Backend
from greedygp.kernels import Gaussian
from greedygp.sparse.objectives import SparseObjective
from greedygp.threads import serial_blas
from greedygp.triangular import multiply_in_place

D = 8
CASES = {(10_000, 500): 1.6, (10_000, 200): 2.0, (2_000, 100): 2.5}  # (n, m): target
APPROXIMATIONS = ("dtc", "fitc")
TILE = 1024  # rows that the bare products are measured on
HALF_PRODUCTS, WHOLE_PRODUCTS = 7, 1


def seconds(function: Callable[[], object]) -> float:
    """Return the processor seconds of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def evaluation(n: int, m: int, approximation: str) -> Callable[[], object]:
    """Return one value and gradient, ready to be called."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1] * X[:, 2]) + 0.1 * rng.standard_normal(n)
    objective = SparseObjective(
        "nlgpp", X, y[None, :], None, approximation=approximation, capacity=m, guard=0.1
    )
    basis = X[:m] + 0.1 * rng.standard_normal((m, D))
    return lambda: objective(Gaussian(1.0, [2.5] * D), 0.02, basis)


class Products:
    """The bare products of an evaluation with m basis vectors, on one tile of rows."""

    def __init__(self, m: int):
        rng = np.random.default_rng(1)
        self.m, self.backend = m, Backend(np.empty(0))
        self.rows = rng.standard_normal((m, TILE))
        self.weights = rng.standard_normal(TILE)
        self.out = np.empty_like(self.rows)
        self.square = rng.standard_normal((m, m))
        spread = rng.standard_normal((m, 2 * m))
        self.factor = np.linalg.cholesky(spread @ spread.T / m)
        # Of norm one, so that no product grows when it is repeated.
        self.triangle = self.factor / np.linalg.norm(self.factor, 2)

    def all(self) -> dict[str, tuple[Callable[[], object], float]]:
        """Return each product by its name, with its multiply-adds."""
        backend, factor, rows, out = self.backend, self.factor, self.rows, self.out
        half = 0.5 * self.m**2 * TILE
        return {
            "matrix product": (lambda: backend.matmul(self.square, rows, out=out), 2 * half),
            "solve": (lambda: backend.solve_lower(factor, rows, out=out), half),
            "product with a triangle": (
                lambda: multiply_in_place(self.triangle, False, out),
                half,
            ),
            "product with a triangle, transposed": (
                lambda: multiply_in_place(self.triangle, True, out),
                half,
            ),
            "product with itself": (lambda: backend.matmul(rows, rows.T), half),
            "product with itself, weights of one sign": (
                lambda: backend.weighted_product(rows, abs(self.weights), out),
                half,
            ),
            "the same, of both signs": (
                lambda: backend.weighted_product(rows, self.weights, out),
                half,
            ),
        }


def best_speed(products: list[Products]) -> float:
    """Return the multiply-adds a second of the machine's best matrix product."""
    speeds = []
    for of_size in products:
        product, count = of_size.all()["matrix product"]
        speeds.append(count / seconds(product))
    return max(speeds)


def floor(n: int, m: int, speed: float) -> float:
    """Return the seconds that the multiply-adds of a value and gradient take at that speed."""
    squares = 0.5 * HALF_PRODUCTS + WHOLE_PRODUCTS
    return n * m * (squares * m + 2 * D + 2) / speed


def measure(cases: list[tuple[int, int]], repeats: int) -> tuple[dict, dict, float]:
    """Return the smallest seconds of evaluations and products, and the best speed, in turns."""
    calls = {(n, m, name): evaluation(n, m, name) for n, m in cases for name in APPROXIMATIONS}
    products = [Products(m) for _, m in cases]
    found = dict.fromkeys(calls, np.inf)
    bare: dict[tuple[int, str], float] = {}
    speed = 0.0
    for repeat in range(repeats + 1):
        for key, call in calls.items():
            took = seconds(call)
            found[key] = min(found[key], took if repeat else np.inf)  # the first one warms up
            speed = max(speed, best_speed(products))
        for of_size in products:
            for name, (product, _) in of_size.all().items():
                key = of_size.m, name
                bare[key] = min(bare.get(key, np.inf), seconds(product))
    return found, bare, speed


def report(cases: list[tuple[int, int]], repeats: int) -> None:
    """Measure and print."""
    with serial_blas(1):
        found, bare, speed = measure(cases, repeats)
    print("One value and gradient of `nlgpp` with the guard and free basis inputs, one thread;")
    print(f"{D} features. The best matrix product does {2e-9 * speed:.1f} GFLOP/s.\n")
    print("| rows x basis vectors | approximation | ms | floor, ms | ratio | target: at most |")
    print("|---|---|---|---|---|---|")
    for (n, m, name), took in found.items():
        least = floor(n, m, speed)
        target = CASES.get((n, m), "")
        numbers = f"{1e3 * took:.1f} | {1e3 * least:.1f} | {took / least:.2f} | {target}"
        print(f"| {n} x {m} | {name} | {numbers} |")
    print("\nShare of the best matrix product's speed, on tiles of", TILE, "rows:\n")
    sizes = [m for _, m in cases]
    print("| product | " + " | ".join(f"{m} basis vectors" for m in sizes) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    counts = {m: Products(m).all() for m in sizes}
    for name in counts[sizes[0]]:
        shares = [counts[m][name][1] / bare[m, name] / speed for m in sizes]
        print(f"| {name} | " + " | ".join(f"{share:.0%}" for share in shares) + " |")


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small problem, to see that it runs")
    parser.add_argument("--write", action="store_true", help="write docs/results/speed_learning.md")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    cases = [(500, 40)] if options.quick else list(CASES)
    with also_on_a_page("speed_learning", "Speed of learning", options.write):
        report(cases, options.repeats)


if __name__ == "__main__":
    main()
