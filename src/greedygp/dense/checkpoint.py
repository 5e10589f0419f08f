"""A long solve on disk: written now and then, and continued by the fit that finds the file."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from greedygp.arrays import to_numpy
from greedygp.checkpoints import read_arrays, remove_arrays, write_arrays
from greedygp.dense.solvers.base import Solver

__all__ = ["Checkpoint", "NoCheckpoint"]

SECONDS = 30.0  # between two writes


class NoCheckpoint:
    """A solve that is kept nowhere."""

    def resume(self) -> int:
        """Return the number of steps made before."""
        return 0

    def after_step(self, n_iter: int) -> None:
        """Write what is known after so many steps, unless that was done a moment ago."""

    def write(self, n_iter: int) -> None:
        """Write what is known after so many steps."""

    def remove(self) -> None:
        """Forget it all: the solve is done."""


class Checkpoint(NoCheckpoint):
    """The file of a solve.

    Parameters
    ----------
    path : path
        An .npz file; written under another name first, and then renamed.
    solver : Solver
    """

    def __init__(self, path: str | os.PathLike, solver: Solver):
        self.path, self.solver = Path(path), solver
        self.problem = _fingerprint(solver)
        self._written = time.perf_counter()

    def resume(self) -> int:
        """Continue from the file, and return the number of steps made before; 0 without a file.

        A file of another problem or solver is refused with a ValueError.
        """
        if not self.path.exists():
            return 0
        kept = read_arrays(self.path)
        needed = {"n_iter", *self.solver.snapshot()}
        if str(kept.get("problem")) != self.problem or not needed <= set(kept):
            raise ValueError(
                f"checkpoint: {self.path} is of another solve (other data, hyperparameters, solver "
                "or release); remove it, or give another name."
            )
        self.solver.restore(_unpacked(kept))
        return int(kept["n_iter"])

    def after_step(self, n_iter: int) -> None:
        if time.perf_counter() - self._written > SECONDS:
            self.write(n_iter)

    def write(self, n_iter: int) -> None:
        parts = _packed(self.solver.snapshot()) | {"n_iter": n_iter, "problem": self.problem}
        write_arrays(self.path, parts)
        self._written = time.perf_counter()

    def remove(self) -> None:
        remove_arrays(self.path)


def _fingerprint(solver: Solver) -> str:
    """Return a name for the problem; the same data, kernel and solver have the same name."""
    system, digest = solver.system, hashlib.sha256()
    for array in (system.X, system.ridge, solver.y):
        digest.update(np.ascontiguousarray(to_numpy(array)).tobytes())
    digest.update(repr((solver.name, system.kernel, system.noise_variance)).encode())
    return digest.hexdigest()


def _packed(kept: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot as plain arrays: a generator's state as JSON, a list of pairs stacked."""
    packed = dict(kept)
    if "rng" in packed:
        packed["rng"] = json.dumps(packed["rng"])
    if "steps" in packed:
        steps = packed.pop("steps")
        packed["steps"] = np.array(steps) if steps else np.empty((0, 2, 0, 0))
    return packed


def _unpacked(packed: dict[str, Any]) -> dict[str, Any]:
    kept = dict(packed)
    if "rng" in kept:
        kept["rng"] = json.loads(str(kept["rng"]))
    if "steps" in kept:
        kept["steps"] = [tuple(step) for step in kept["steps"]]
    return kept
