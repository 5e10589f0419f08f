"""Rows that live on the workers of a Dask cluster: they stay there, and passes travel to them.

A pass is sent to the workers once, as a task of its own, so that those who have it hand it on and
the scheduler can make it again. Each chunk of rows is worked through where it lies. What the chunks
give is added up in a tree of tasks, whose shape depends on the chunks alone: the same chunks give
the same sums on any number of workers. A lost worker costs the tasks that it had done.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from greedygp.arrays import Array, Backend
from greedygp.exceptions import ClusterError
from greedygp.rows.collections import (
    Aligned,
    Place,
    aligned,
    as_targets,
    check_column_types,
    chunk_of,
    dtype_of,
    is_dask,
    names_of,
)
from greedygp.rows.device import backend_of, sent, sent_chunk
from greedygp.rows.store import Chunk, RowStore, Watch, joined
from greedygp.rows.work import added, alone, count_used, mapped, reduced, taken

__all__ = ["Cluster", "DaskRows"]

FAN_IN = 8  # partial sums that a task of the tree adds up
KEPT_SHARE = 0.4  # of the workers' memory that rows may take; beyond it they are made in each pass
SECONDS_WITHOUT_WORKERS = 30.0  # after which a fit gives up
SECONDS_WITHOUT_SCHEDULER = 30.0
POLL_SECONDS = 0.5
AHEAD = 4  # chunks for each thread of the workers whose results are under way


class DaskRows(RowStore):
    """Rows of Dask arrays or dataframes, wherever their chunks are.

    `SparseGPRegressor.fit` makes one of the Dask collections that it is given; make it yourself to
    name the client.

    Parameters
    ----------
    X : dask array (n, D) or dask dataframe
        Chunks may be of any sizes, known or not.
    y : dask array, series or dataframe, or NumPy array, (n,) or (n, p)
        None: the rows are only to be predicted.
    sample_weight : the like, (n,), or None
        A weight of w means the row w times.
    client : distributed.Client or None
        None: the current one.
    device : str, torch.device or None
        Of each worker, and here, where a sample selects and learns: "cuda", say. Give a worker a
        GPU of its own by `CUDA_VISIBLE_DEVICES`. Chunks go to it from the worker's memory as they
        are worked on. None: NumPy.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from distributed import Client
    >>> from greedygp import DaskRows, SparseGPRegressor
    >>> client = Client(processes=False, dashboard_address=":0")
    >>> X = da.linspace(0, 6, 400, chunks=100)[:, None]
    >>> rows = DaskRows(X, da.sin(X[:, 0]), client=client)
    >>> model = SparseGPRegressor(max_basis=10, max_iter=5, random_state=0).fit(rows)
    >>> model.predict(X).compute().shape
    (400,)
    >>> client.close()
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        client: Any = None,
        device: Any = None,
    ):
        if not is_dask(X):
            raise TypeError(
                f"X must be a Dask array or dataframe; got {type(X).__name__}. Make one of it, or "
                "give NumPy arrays throughout."
            )
        check_column_types(X)
        self.X, self.client = X, client
        self.y, self.weights = as_targets("y", y), as_targets("sample_weight", sample_weight)
        self.n_features = len(X.columns) if X.ndim == 2 and hasattr(X, "columns") else X.shape[-1]
        self.feature_names = names_of(X)
        self.device = device
        self.backend = Backend(np.empty(0, dtype_of(X)))
        if device is not None:
            self.backend = backend_of(device, self.backend.epsilon)
        self._blocks: list[Any] | None = None
        self._lengths: list[int] = []

    def check(self) -> tuple[int, ...] | None:
        """Find the client and the lengths of the chunks, and hand out the rows."""
        if self.X.ndim != 2:
            raise ValueError(
                f"X must have rows and columns; its shape is {tuple(self.X.shape)}. Reshape it "
                "with X.reshape(-1, 1) if it has a single feature."
            )
        if self.n_features == 0:
            raise ValueError("X has no columns; at least one is required.")
        shape = _target_shape(self.y)
        self.blocks  # noqa: B018, which aligns the chunks, or says why they cannot be
        return shape

    # --- where the chunks are ------------------------------------------------------------------

    @property
    def cluster(self) -> Cluster:
        """Who works on the rows."""
        return Cluster(_client(self.client))

    @property
    def blocks(self) -> list[Any]:
        """One `Delayed` chunk of rows after the other, aligned with targets and weights."""
        if self._blocks is None:
            cluster = self.cluster
            cluster.check_workers()
            found = aligned(self.X, self.y, self.weights, cluster.values)
            self._lengths = found.lengths
            self._blocks = self._handed_out(found, cluster)
        return self._blocks

    @property
    def lengths(self) -> list[int]:
        """How many rows each chunk has."""
        self.blocks  # noqa: B018
        return self._lengths

    def _handed_out(self, found: Aligned, cluster: Cluster) -> list[Any]:
        """Return the chunks, made on the workers and kept there if they fit."""
        from dask import delayed

        names = tuple(self.feature_names or ())
        starts = np.cumsum([0, *found.lengths])
        make = delayed(chunk_of, pure=False)
        blocks = [
            make(X, y, weights, Place(number, names, dtype_of(self.X), int(starts[number])))
            for number, (X, y, weights) in enumerate(found.parts)
        ]
        bytes_of_row = 8.0 * (self.n_features + 1 + (found.n_targets or 0))
        if starts[-1] * bytes_of_row < KEPT_SHARE * cluster.memory:
            return list(cluster.client.persist(blocks))
        return blocks

    # --- what a store does ---------------------------------------------------------------------

    def on_host(self) -> RowStore:
        other = copy.copy(self)
        other.device, other.backend = None, Backend(np.empty(0, dtype_of(self.X)))
        return other

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks themselves, fetched one after the other."""
        cluster = self.cluster
        for block in self.blocks:
            chunk = cluster.result(cluster.client.compute(block))
            yield chunk if self.device is None else sent_chunk(chunk, self.backend)

    def map(
        self, function: Callable[[Chunk], Any], rows: int, watch: Watch | None = None
    ) -> Iterator[Any]:
        from dask import delayed

        cluster, work = self.cluster, delayed(mapped, pure=False)
        given = delayed(function, pure=False, traverse=False)
        blocks, group = self.blocks, AHEAD * cluster.threads
        for begin in range(0, len(blocks), group):
            part = slice(begin, begin + group)
            tasks = [work(given, block, rows, self.device) for block in blocks[part]]
            for length, found in zip(self.lengths[part], cluster.values(tasks), strict=True):
                yield from found
                if watch is not None:
                    watch(length)

    def reduce(
        self, function: Callable[[Chunk], Any], rows: int, watch: Watch | None = None
    ) -> Any:
        from dask import delayed

        work, add = delayed(reduced, pure=False), delayed(added, pure=False)
        given = delayed(function, pure=False, traverse=False)
        parts = [work(given, block, rows, self.device) for block in self.blocks]
        while len(parts) > 1:
            groups = range(0, len(parts), FAN_IN)
            parts = [add(parts[begin : begin + FAN_IN]) for begin in groups]
        total = self.cluster.values(parts)[0] if parts else None
        if watch is not None:
            watch(sum(self.lengths))
        return total

    def gather(self, places: np.ndarray) -> tuple[Array, Array, Array, np.ndarray]:
        from dask import delayed

        counts = self.lengths
        if self.weights is not None:
            count = delayed(count_used, pure=False)
            counts = self.cluster.values([count(block) for block in self.blocks])
        starts = np.cumsum([0, *counts])
        ends = np.searchsorted(places, starts)
        take, tasks = delayed(taken, pure=False), []
        for number, block in enumerate(self.blocks):
            local = places[ends[number] : ends[number + 1]] - starts[number]
            if len(local):
                tasks.append(take(block, local))
        columns = list(zip(*self.cluster.values(tasks), strict=True))
        X, y, weights, numbers = (joined(column) for column in columns)
        if self.device is not None:
            X, y = sent(X, self.backend), sent(y, self.backend)
        return X, y, weights, numbers

    def lazily(self, function: Callable[[Chunk], np.ndarray], shape: tuple[int, ...]) -> Any:
        """Return a Dask array of what a function gives for each row, of that shape."""
        import dask.array as da
        from dask import delayed

        work, given = delayed(alone, pure=False), delayed(function, pure=False, traverse=False)
        return da.concatenate(
            [
                da.from_delayed(work(given, block, self.device), (length, *shape), dtype_of(self.X))
                for block, length in zip(self.blocks, self.lengths, strict=True)
            ]
        )


# --- the cluster ---------------------------------------------------------------------------------


class Cluster:
    """A client, asked in a way that ends: with results, or with a sentence."""

    def __init__(self, client: Any):
        self.client = client

    @property
    def address(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", "an unknown address"))

    @property
    def threads(self) -> int:
        """Threads of all workers."""
        return max(1, sum(self.client.nthreads().values()))

    @property
    def memory(self) -> float:
        """Bytes that the workers may take together."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker["memory_limit"] or np.inf for worker in workers]
        return float(sum(limits))

    def check_workers(self) -> None:
        """Raise a sentence if nobody is there to work, nor comes soon."""
        if self.client.nthreads():
            return
        try:
            self.client.wait_for_workers(1, timeout=SECONDS_WITHOUT_WORKERS)
        except TimeoutError as error:
            raise ClusterError(
                f"The Dask cluster at {self.address} has no workers; start some and call again."
            ) from error

    def values(self, tasks: list[Any]) -> list[Any]:
        """Return what tasks give, in order."""
        futures = self.client.compute(tasks)
        try:
            return [self.result(future) for future in futures]
        except BaseException:
            if self.client.status == "running":
                self.client.cancel(futures)
            raise

    def result(self, future: Any) -> Any:
        """Return what a task gives; raise a ClusterError if it cannot come any more."""
        from distributed import wait

        idle = away = 0.0
        while not future.done():
            try:
                wait([future], timeout=POLL_SECONDS)
            except TimeoutError:
                connected = self._is_connected()
                away = 0.0 if connected else away + POLL_SECONDS
                idle = idle + POLL_SECONDS if connected and not self._has_workers() else 0.0
            except Exception:  # of the task, or of the connection: told apart below
                break
            if idle >= SECONDS_WITHOUT_WORKERS:
                raise self._lost("all its workers are gone")
            if away >= SECONDS_WITHOUT_SCHEDULER or self.client.status == "closed":
                raise self._lost("its scheduler cannot be reached")
        return self._finished(future)

    def _finished(self, future: Any) -> Any:
        from distributed.scheduler import KilledWorker

        if future.status in ("cancelled", "lost", "pending"):
            raise self._lost("the connection to its scheduler was cut")
        try:
            return future.result(timeout=SECONDS_WITHOUT_SCHEDULER)
        except KilledWorker as error:
            raise self._lost(
                "workers died again and again while they worked on the same rows; they may need "
                "more memory, or smaller chunks"
            ) from error
        except (TimeoutError, OSError) as error:
            if future.status == "error":
                raise
            raise self._lost("its scheduler cannot be reached") from error

    def _is_connected(self) -> bool:
        comm = self.client.scheduler_comm
        return self.client.status == "running" and comm is not None and not comm.comm.closed()

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.nthreads())
        except Exception:  # of whatever kind the connection's trouble is
            return True

    def _lost(self, why: str) -> ClusterError:
        return ClusterError(
            f"The Dask cluster at {self.address} failed: {why}. Start it again, and call again."
        )


def _client(given: Any) -> Any:
    """Return the client to work with: the one given, or the current one."""
    try:
        from distributed import default_client
    except ImportError as error:
        raise ImportError(
            "Rows on a Dask cluster need distributed: pip install 'greedygp[dask]'."
        ) from error
    if given is None:
        try:
            given = default_client()
        except ValueError as error:
            raise ValueError(
                "X is a Dask collection, but there is no Dask client. Make one first (`from "
                "distributed import Client; client = Client()` uses the cores of this machine), "
                "or pass X.compute() if the rows fit into the memory."
            ) from error
    end = time.monotonic() + SECONDS_WITHOUT_SCHEDULER
    while given.status == "connecting" and time.monotonic() < end:
        time.sleep(0.05)
    if given.status != "running":
        raise ClusterError(
            f"The Dask client is {given.status}; make another one with Client(address)."
        )
    return given


def _target_shape(y: Any) -> tuple[int, ...] | None:
    """Return the shape of a row's targets."""
    if y is None:
        return None
    if y.ndim not in (1, 2):
        raise ValueError(
            f"y must have shape (n,) or (n, n_targets); its shape is {tuple(y.shape)}."
        )
    return () if y.ndim == 1 else (int(y.shape[1]),)
