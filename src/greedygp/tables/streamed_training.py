"""From files to a model: one look at all rows decides, and a model of them passes over them.

Means and widths of the columns are those of a random sample of the rows with a target; words and
holes are those of all rows. A regression learns as `SparseGPRegressor` does: a sample selects and
learns, all rows make the posterior. Of classes, a sample is all that is learnt from.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from greedygp.exceptions import FitInterrupted
from greedygp.tables.families import family_named, make, name_columns, short_name
from greedygp.tables.model import TableModel
from greedygp.tables.problems import DataProblem, TableProblem
from greedygp.tables.source import Source
from greedygp.tables.streaming import (
    KEY,
    FileRows,
    Look,
    Watch,
    columns_of,
    files_with,
    look_at,
    look_at_file,
)
from greedygp.tables.targets import numbers_of, take_target
from greedygp.tables.training import (
    Prepared,
    Recipe,
    Trained,
    TrainingInterrupted,
    encoder_for,
    facts_of,
    predictions_of,
    train,
)

__all__ = ["Means", "train_from_files"]

SAMPLE_ROWS = 100_000  # by which columns are encoded, and from which classes are learnt
FEWEST_ROWS = 1000  # of that sample, whatever the memory
HELD_OUT_ROWS = 20_000  # at most, to judge the model
STATE_SHARE, TABLE_SHARE = 0.3, 0.1  # of the memory: for the state of rows, for tables
BYTES_A_CELL = 64.0  # of a table in pandas, words included, about


@dataclass
class Means:
    """What there is to work with.

    Attributes
    ----------
    memory : float
        Bytes that rows may take, whatever the program takes besides.
    client : distributed.Client or None
        Of the cluster that goes over the files; None: this process does.
    watch : callable or None
        Is told of how many rows have gone by.
    """

    memory: float
    client: Any = None
    watch: Watch | None = None


def train_from_files(
    sources: list[Source], recipe: Recipe, means: Means, callbacks: tuple = (), known: Any = None
) -> Trained:
    """Fit a model to tables in files, and judge it on rows that are held out.

    Raises
    ------
    TrainingInterrupted
        After Ctrl-C, with the model that there is.
    """
    sources, look = _looked_at(sources, recipe, means)
    held_out, limit = _held_out(look, recipe)
    rows = look.to_decide_by()
    learnt_from = np.flatnonzero(rows[KEY] < limit)
    taken = rows.drop(columns=[KEY, recipe.target, *recipe.drop])
    with _rows_of(sources, rows[KEY], recipe.seed):
        target = take_target(rows, recipe.target, recipe.task)
        if target.task == "classification":
            return _of_sample(rows.drop(columns=KEY), recipe, callbacks, known, look)
        encoder = encoder_for(recipe).fit(taken, train=learnt_from)
    taken = taken.iloc[learnt_from]
    _, _, grouped = numbers_of(recipe.target, rows[recipe.target])
    store = FileRows(
        sources, encoder, recipe.target, bool(grouped), recipe.seed, limit, means.watch
    )
    keys = look.held_out[KEY]
    with _rows_of(sources, keys[keys >= limit], recipe.seed):
        known_y = store.numbers(held_out)  # or a sentence, before anything is learnt
    estimator = _estimator(recipe, means, store.n_features)
    if callbacks:
        estimator.set_callbacks(*callbacks)
    name_columns(estimator, encoder.feature_names)
    begin, interrupted = time.perf_counter(), False
    try:
        estimator.fit(store if means.client is None else _on_cluster(store, means.client))
    except FitInterrupted:
        interrupted = True
    except TableProblem:
        raise
    except (ValueError, TypeError) as error:
        raise DataProblem(f"SparseGPRegressor could not be fitted: {error}") from error
    seconds = time.perf_counter() - begin
    ready = Prepared(taken, target, encoder, np.arange(len(taken)), np.arange(len(held_out)))
    trained = _judged(estimator, ready, recipe, (held_out, known_y), look, seconds)
    trained.model.facts = (known or {}) | trained.model.facts
    if interrupted:
        trained.model.facts["interrupted"] = True
        raise TrainingInterrupted(trained)
    return trained


@contextmanager
def _rows_of(sources: list[Source], keys: Any, seed: int) -> Iterator[None]:
    """Where a sentence names a row of several files, say of which, or that each counts its own."""
    try:
        yield
    except DataProblem as error:
        row = re.search(r" row (\d+)", str(error))
        if len(sources) < 2 or row is None:
            raise
        files = files_with(int(row[1]) - 1, keys, sources, seed)
        if len(files) == 1:
            raise DataProblem(f"{files[0].name}: {error}") from error
        raise DataProblem(f"{error} Rows are counted within each file.") from error


def _looked_at(sources: list[Source], recipe: Recipe, means: Means) -> tuple[list[Source], Look]:
    """Look at all rows; once more where some chunks of words look like numbers."""
    columns = columns_of(sources[0])
    for name in (recipe.target, *recipe.drop):
        if name not in columns:
            raise DataProblem(f"There is no column {name!r}; the first file has {columns[:12]}.")
    sample = int(min(SAMPLE_ROWS, TABLE_SHARE * means.memory / (BYTES_A_CELL * len(columns))))
    most = (max(sample, FEWEST_ROWS), HELD_OUT_ROWS if recipe.test else 0)
    look = _look(sources, recipe, means, most)
    if look.mixed:
        words = tuple(look.mixed)
        sources = [replace(s, text_columns=(*s.text_columns, *words)) for s in sources]
        look = _look(sources, recipe, means, most)
    return sources, look


def _look(sources: list[Source], recipe: Recipe, means: Means, most: tuple[int, int]) -> Look:
    if means.client is None:
        return look_at(sources, recipe.target, recipe.seed, most, means.watch)
    from dask import delayed

    from greedygp.rows.cluster import Cluster

    cluster = Cluster(means.client)
    cluster.check_workers()
    tasks = []
    for number, source in enumerate(sources):
        work = partial(look_at_file, source, recipe.target, recipe.seed, number, most)
        tasks.append(delayed(work, pure=False, traverse=False)())
    looks = cluster.values(tasks)
    return sum(looks[1:], start=looks[0])


def _held_out(look: Look, recipe: Recipe) -> tuple[Any, float]:
    """Return the rows to judge the model on, and the key from which rows are held out."""
    count = min(len(look.held_out), int(recipe.test * look.n_known))
    if count == 0:
        return look.held_out.iloc[:0].drop(columns=KEY), 1.0
    rows = look.held_out.nlargest(count, KEY)
    return rows.drop(columns=KEY), float(rows[KEY].min())


def _estimator(recipe: Recipe, means: Means, n_features: int) -> Any:
    kind = family_named(recipe.model or "SparseGPRegressor", "regression")
    if short_name(kind.__name__) not in ("sparsegp", "autogp"):
        raise DataProblem(
            f"{kind.__name__} holds all rows in memory; SparseGPRegressor need not. Leave --model "
            "out, or give more --memory."
        )
    kind = family_named("SparseGPRegressor", "regression")
    state = STATE_SHARE * means.memory
    offered = {
        "random_state": recipe.seed,
        "memory_limit": state,
        "learning_rows": int(max(1000, min(100_000, state / (24.0 * n_features)))),
    }
    return make(kind, recipe.settings, offered | recipe.offered)


def _on_cluster(store: FileRows, client: Any) -> Any:
    """Return the rows on the workers of a cluster, a chunk for each file."""
    import dask.array as da
    from dask import delayed

    from greedygp.rows.cluster import DaskRows

    store.watch = None
    sent = delayed(store, pure=False, traverse=False)
    read = delayed(FileRows.whole_file, pure=False, nout=2)
    files = [read(sent, number) for number in range(len(store.sources))]
    width = store.n_features
    X = da.concatenate([da.from_delayed(f[0], (np.nan, width), np.float64) for f in files])
    y = da.concatenate([da.from_delayed(f[1], (np.nan,), np.float64) for f in files])
    return DaskRows(X, y, client=client)


def _judged(
    estimator: Any, ready: Prepared, recipe: Recipe, held_out: tuple, look: Look, seconds: float
) -> Trained:
    """Return the model with its facts, and what it says of the rows that were held out."""
    model = TableModel(ready.encoder, estimator, recipe.target, "regression", {})
    rows, said = ready.rows, None
    table, y = held_out
    if len(table):
        rows = table.drop(columns=[recipe.target, *recipe.drop])
        said = predictions_of(model, rows, y)
    some = ready.encoder.transform(ready.rows.iloc[:2000])
    model.facts = facts_of(model, recipe, ready, rows, said, seconds, some) | {
        "rows": look.n_rows,
        "rows_without_target": look.n_rows - look.n_known,
        "rows_train": look.n_known - len(table),
        "rows_encoded_by": len(ready.rows),
        "model_because": "A sparse GP: the rows are not held in memory.",
        "ended_early": False,
    }
    return Trained(model, rows, said)


def _of_sample(rows: Any, recipe: Recipe, callbacks: tuple, known: Any, look: Look) -> Trained:
    """Learn classes from a sample of the rows."""
    trained = train(rows, recipe, callbacks, known)
    trained.model.facts |= {
        "rows": look.n_rows,
        "rows_without_target": look.n_rows - look.n_known,
        "model_because": f"classes were learnt from a random sample of {len(rows)} rows",
    }
    return trained
