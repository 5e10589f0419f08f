"""A long fit on disk: what it had found is not computed again by the fit that finds the file.

An optimiser's state cannot be put into a file and taken out again. What it was told can: a fit is a
function of its data, its seed, the bases that were selected, and every value and gradient of the
objective. The file has these. The next fit goes the same way again, and where the file knows the
answer nobody computes it. So it ends at the same model, bit for bit where the first part of the way
is the same (one machine, as many threads). A selection that was not finished begins again.
"""

from __future__ import annotations

import hashlib
import json
import numbers
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from greedygp import greedy
from greedygp.arrays import Array, Backend, to_numpy
from greedygp.checkpoints import read_arrays, remove_arrays, write_arrays
from greedygp.data import TrainingData
from greedygp.exceptions import ClusterError
from greedygp.hyperparameters import Evaluation, Point
from greedygp.sparse.selection import Selected

__all__ = ["FitCheckpoint", "NoFitCheckpoint", "checkpoint_of", "kept_in"]

SECONDS = 10.0  # between two writes
FORMAT = 2
CLOSE = 0.01  # to another, a start must be if only rounding has led there
FREE = ("checkpoint", "time_limit")  # parameters that may differ


class NoFitCheckpoint:
    """A fit that is kept nowhere."""

    def seed(self, drawn: int) -> int:
        """Return the seed of the fit, given one that was drawn for it."""
        return drawn

    def open(self, options: Any, data: TrainingData, candidates: Array | None) -> None:
        """Raise a sentence if the file is of another fit, or cannot be written."""

    def start(self, point: Point) -> Point:
        """Return the hyperparameters that the fit begins with."""
        return point

    def selection(
        self, make: Callable[[], Selected], inputs: Array, rng: np.random.Generator
    ) -> Selected:
        """Return the next basis, selected now or before."""
        return make()

    def evaluation(
        self, question: np.ndarray, point: Point, compute: Callable[[], Evaluation]
    ) -> Evaluation:
        """Return the objective's next value and gradient, computed now or before."""
        return compute()

    def save(self) -> None:
        """Write what is known."""

    def remove(self) -> None:
        """Forget it all: the fit is done."""


class FitCheckpoint(NoFitCheckpoint):
    """The file of a fit.

    Parameters
    ----------
    path : path
        An .npz file.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self._stored = read_arrays(self.path) if self.path.exists() else {}
        self._known: dict[str, Any] = {}
        self._selections = self._evaluations = 0  # how many there were until now
        self._written = time.perf_counter()

    # --- whose file it is ----------------------------------------------------------------------

    def seed(self, drawn: int) -> int:
        self._known["seed"] = int(self._stored.get("seed", drawn))
        return self._known["seed"]

    def open(self, options: Any, data: TrainingData, candidates: Array | None) -> None:
        fit = _identity(options, data, candidates, self._known["seed"])
        if self._stored and str(self._stored.get("fit")) != fit:
            raise self._of_another_fit()
        if not self._stored:
            write_arrays(self.path, self._known | {"fit": fit})
        self._known["fit"] = fit  # from now on the file is this fit's, and may be written

    def _of_another_fit(self) -> ValueError:
        return ValueError(
            f"checkpoint: {self.path} is of another fit (other data, parameters or release); "
            "remove it, or give another name."
        )

    # --- what was found ------------------------------------------------------------------------

    def start(self, point: Point) -> Point:
        """Return the file's start where another number of threads has led to another one."""
        here = np.array([*point.kernel.theta, point.noise_variance])
        kept = self._stored.get("start", here)
        self._known["start"] = kept
        if np.array_equal(kept, here):
            return point
        if kept.shape != here.shape or not np.allclose(kept, here, rtol=CLOSE, atol=CLOSE):
            raise self._of_another_fit()
        return Point(point.kernel.with_theta(kept[:-1]), float(kept[-1]))

    def selection(
        self, make: Callable[[], Selected], inputs: Array, rng: np.random.Generator
    ) -> Selected:
        prefix, self._selections = f"selection{self._selections}_", self._selections + 1
        kept = self._kept(prefix)
        if kept:
            self._known |= kept
            return _restored(kept, prefix, inputs, rng)
        selected = make()
        if not selected.path.cut_short:  # else the next fit may do better
            self._known |= _described(selected, prefix, rng)
            self._save_now_and_then()
        return selected

    def evaluation(
        self, question: np.ndarray, point: Point, compute: Callable[[], Evaluation]
    ) -> Evaluation:
        prefix = f"evaluation{self._evaluations}_"
        kept = self._kept(prefix)
        if kept and np.array_equal(kept[f"{prefix}question"], question):
            answer = _evaluation(kept[f"{prefix}answer"], point)
        else:
            answer = compute()  # may raise: then it is no part of the way
            self._forget_later_ones()
            kept = {f"{prefix}question": question, f"{prefix}answer": _numbers(answer)}
        self._known |= kept
        self._evaluations += 1
        self._save_now_and_then()
        return answer

    def _kept(self, prefix: str) -> dict[str, np.ndarray]:
        return {name: part for name, part in self._stored.items() if name.startswith(prefix)}

    def _forget_later_ones(self) -> None:
        """Forget what the file has of a way that was not taken."""
        self._stored = {n: a for n, a in self._stored.items() if not n.startswith("evaluation")}

    # --- the file ------------------------------------------------------------------------------

    def _save_now_and_then(self) -> None:
        replaying = bool(self._kept(f"evaluation{self._evaluations}_"))
        if not replaying and time.perf_counter() - self._written > SECONDS:
            self.save()

    def save(self) -> None:
        """Write what is known; a fit does not end because that fails."""
        if "fit" not in self._known:
            return
        try:
            write_arrays(self.path, self._known | self._rest())
        except OSError as error:
            warnings.warn(
                f"{error.strerror}. The fit goes on; its file is the last one that could be "
                "written.",
                RuntimeWarning,
                stacklevel=2,
            )
        self._written = time.perf_counter()

    def _rest(self) -> dict[str, np.ndarray]:
        """Return what an earlier fit has found beyond the place that this one has come to."""
        return {name: part for name, part in self._stored.items() if name not in self._known}

    def remove(self) -> None:
        remove_arrays(self.path)


def checkpoint_of(path: str | os.PathLike | None) -> NoFitCheckpoint:
    """Return the file of a fit; None: it has none."""
    return NoFitCheckpoint() if path is None else FitCheckpoint(path)


@contextmanager
def kept_in(file: NoFitCheckpoint) -> Iterator[None]:
    """See to it that a fit which does not come to its end is in its file."""
    try:
        yield
    except ClusterError as error:
        file.save()
        if isinstance(file, FitCheckpoint) and file.path.exists():
            raise ClusterError(f"{error} The fit then goes on from {file.path}.") from error
        raise
    except BaseException:
        file.save()
        raise


def _identity(options: Any, data: TrainingData, candidates: Array | None, seed: int) -> str:
    """Return a name for the fit; the same data and parameters have the same name."""
    digest = hashlib.sha256()
    parameters = options.get_params()  # of a kernel of scikit-learn, too, whose repr is rounded
    named = {name: value for name, value in parameters.items() if name not in FREE}
    if not isinstance(named["random_state"], numbers.Integral):
        del named["random_state"]  # the file has the seed
    digest.update(repr((FORMAT, seed, sorted(named.items()))).encode())
    if data.whole is not None:
        found = data.whole.survey
        digest.update(repr((found.n_rows, found.n_used, found.fingerprint)).encode())
    for array in (data.X, data.y, data.weights, candidates):
        if array is not None:
            digest.update(np.ascontiguousarray(to_numpy(array)).tobytes())
    return digest.hexdigest()


# --- as arrays, and back -------------------------------------------------------------------------


def _described(selected: Selected, prefix: str, rng: np.random.Generator) -> dict[str, Any]:
    path = selected.path
    parts = {
        "indices": np.array(selected.indices, dtype=np.int64),
        "path": path.as_array(),
        "reason": path.reason,
        "seconds": path.seconds,
        "from_rows": selected.from_rows,
        "rng": json.dumps(rng.bit_generator.state),
    }
    return {f"{prefix}{name}": part for name, part in parts.items()}


def _restored(
    kept: dict[str, Any], prefix: str, inputs: Array, rng: np.random.Generator
) -> Selected:
    """Return a selection, and put the generator where it had left it."""
    parts = {name.removeprefix(prefix): part for name, part in kept.items()}
    rng.bit_generator.state = json.loads(str(parts["rng"]))
    indices = parts["indices"]
    backend = Backend(inputs)
    path = greedy.Path(
        parts["path"].dtype,
        parts["path"].tolist(),
        str(parts["reason"]),
        float(parts["seconds"]),
        len(indices),
    )
    basis = backend.xp.take(inputs, backend.integers(indices), axis=0)
    return Selected(basis, indices.tolist(), path, None, bool(parts["from_rows"]))


def _numbers(found: Evaluation) -> np.ndarray:
    basis = np.empty(0) if found.basis is None else np.ravel(found.basis)
    return np.concatenate([[found.value, found.log_noise], found.theta, basis])


def _evaluation(numbers: np.ndarray, point: Point) -> Evaluation:
    end = 2 + len(point.kernel.theta)
    basis = None
    if len(numbers) > end:
        assert point.basis is not None
        basis = numbers[end:].reshape(point.basis.shape)
    return Evaluation(float(numbers[0]), numbers[2:end], float(numbers[1]), basis)
