"""Tables in files that are gone over in chunks: the same rows, words and holes as in one table."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.exceptions import ClusterError, FitInterrupted
from greedygp.rows import cluster
from greedygp.tables import reading, streamed_training, streaming
from greedygp.tables.problems import DataProblem, FileProblem
from greedygp.tables.source import Source
from greedygp.tables.streamed_training import Means, train_from_files
from greedygp.tables.streaming import KEY, FileRows, look_at, look_at_file
from greedygp.tables.training import Recipe, TrainingInterrupted

MEMORY = 2.0**30


def table(n=900, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0, 6, size=n)
    colour = rng.choice(["red", "blue"], size=n).astype(object)
    y = np.sin(a) + (colour == "red") + 0.1 * rng.normal(size=n)
    rows = pandas.DataFrame({"a": a, "colour": colour, "code": rng.choice(["01", "02"], n), "y": y})
    rows.loc[range(n - 7, n * 9 // 10, -10), "colour"] = "violet"
    rows.loc[range(n - 5, 2 * n // 3, -2), "code"] = "X"  # in the last file only
    rows.loc[n - 3, "a"] = np.nan
    rows.loc[11, "y"] = np.nan
    return rows


def write(rows, folder, kind="csv", parts=3):
    sources = []
    for number, places in enumerate(np.array_split(np.arange(len(rows)), parts)):
        path = folder / f"{number}.{kind}"
        part = rows.iloc[places]
        part.to_csv(path, index=False) if kind == "csv" else part.to_parquet(path, index=False)
        sources.append(Source(str(path)))
    return sources


def recipe(**options):
    settings = {"max_basis": 12, "max_iter": 3, "learning_rows": 300}
    return Recipe("y", settings=settings, **options)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(reading.chunks, "__defaults__", (70,))


class TestLook:
    def test_counts_sample_and_held_out(self, tmp_path):
        sources = write(table(), tmp_path)
        gone_by = []
        look = look_at(sources, "y", 0, (100, 50), gone_by.append)
        assert (look.n_rows, look.n_known, sum(gone_by)) == (900, 899, 900)
        assert (len(look.sample), len(look.held_out)) == (100, 50)
        assert look.sample[KEY].max() < look.held_out[KEY].min()
        # A uniform sample: all files have about as many of its rows.
        assert look.sample["a"].between(0, 3).mean() == pytest.approx(0.5, abs=0.2)

    def test_words_and_holes_that_the_sample_lacks(self, tmp_path):
        look = look_at(write(table(), tmp_path), "y", 0, (20, 0))
        rows = look.to_decide_by()
        assert {"red", "blue", "violet"} <= set(rows["colour"])
        assert rows["a"].isna().any()
        assert len(rows) < 40

    def test_columns_that_look_like_numbers_at_times(self, tmp_path):
        assert look_at(write(table(), tmp_path), "y", 0, (20, 0)).mixed == ["code"]

    def test_keys_do_not_depend_on_the_chunks(self, tmp_path, monkeypatch):
        sources = write(table(), tmp_path)
        look = look_at(sources, "y", 0, (60, 30))
        monkeypatch.setattr(reading.chunks, "__defaults__", (1000,))
        other = look_at(sources, "y", 0, (60, 30))
        assert set(look.sample[KEY]) == set(other.sample[KEY])
        assert set(look.held_out["a"]) == set(other.held_out["a"])
        assert set(look_at(sources, "y", 1, (60, 30)).sample[KEY]) != set(look.sample[KEY])

    def test_other_columns(self, tmp_path):
        sources = write(table(), tmp_path)
        table().drop(columns="colour").to_csv(sources[2].path, index=False)
        with pytest.raises(
            FileProblem, match=r"must have the same columns; .*2\.csv lacks 'colour'\."
        ):
            look_at(sources, "y", 0, (60, 30))
        table().assign(more=1).to_csv(sources[1].path, index=False)
        with pytest.raises(FileProblem, match=r"1\.csv has 'more', which .*0\.csv has not\."):
            look_at(sources, "y", 0, (60, 30))

    def test_one_file(self, tmp_path):
        (source,) = write(table(50), tmp_path, parts=1)
        look = look_at_file(source, "y", 0, 0, (100, 10))
        assert len(look.sample) == look.n_known == 49


@pytest.mark.parametrize("kind", ["csv", "parquet"])
class TestTraining:
    def test_a_model_of_all_files(self, tmp_path, kind):
        sources, gone_by = write(table(), tmp_path, kind), []
        trained = train_from_files(sources, recipe(), Means(MEMORY, watch=gone_by.append))
        model, facts = trained.model, trained.model.facts
        assert (facts["rows"], facts["rows_without_target"]) == (900, 1)
        assert facts["rows_test"] == int(0.2 * 899) == len(trained.rows)
        assert facts["rows_train"] + facts["rows_test"] == 899
        assert facts["scores"]["nmse"] < 0.1
        assert "colour=violet" in model.encoder.feature_names
        assert {c.name: c.kind for c in model.encoder.columns_}["code"] == "category"
        assert sum(gone_by) >= 3 * 900
        assert len(model.predict(table(20, seed=1))) == 20

    def test_the_posterior_has_the_rows_that_are_not_held_out(self, tmp_path, kind):
        sources = write(table(), tmp_path, kind)
        trained = train_from_files(sources, recipe(), Means(MEMORY))
        assert trained.model.estimator._n_rows == trained.model.facts["rows_train"]
        again = train_from_files(sources, recipe(), Means(MEMORY))
        new = table(20, seed=1)
        assert_array_equal(trained.model.predict(new), again.model.predict(new))

    def test_columns_in_another_order_and_files_without_rows(self, tmp_path, kind):
        rows, other = table(), tmp_path / "other"
        other.mkdir()
        sources = write(rows, tmp_path, kind)
        expected = train_from_files(sources, recipe(), Means(MEMORY)).model
        turned = write(rows[["y", "code", "colour", "a"]], other, kind)
        sources = [sources[0], turned[1], sources[2]]
        model = train_from_files(sources, recipe(), Means(MEMORY)).model
        new = table(20, seed=1)
        assert_array_equal(model.predict(new[["code", "a", "colour"]]), expected.predict(new))
        empty = write(rows[:0], other, kind, parts=1)
        trained = train_from_files([*sources, *empty], recipe(), Means(MEMORY))
        assert trained.model.facts["rows"] == 900
        assert_array_equal(trained.model.predict(new), expected.predict(new))

    def test_nothing_held_out(self, tmp_path, kind):
        trained = train_from_files(write(table(), tmp_path, kind), recipe(test=0), Means(MEMORY))
        assert trained.predictions is None
        assert trained.model.facts["rows_train"] == 899

    def test_on_a_cluster(self, tmp_path, kind):
        distributed = pytest.importorskip("distributed")
        sources = write(table(), tmp_path, kind)
        here = train_from_files(sources, recipe(), Means(MEMORY)).model
        with distributed.Client(
            processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as client:
            there = train_from_files(sources, recipe(), Means(MEMORY, client)).model
        new = table(20, seed=1)
        assert_allclose(there.predict(new), here.predict(new), rtol=1e-6)
        assert there.facts["scores"]["nmse"] == pytest.approx(here.facts["scores"]["nmse"], 1e-6)


def test_a_cluster_without_workers(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "SECONDS_WITHOUT_WORKERS", 0.2)
    with (
        distributed.Client(processes=False, n_workers=0, dashboard_address=":0") as alone,
        pytest.raises(ClusterError, match="has no workers; start some"),
    ):
        train_from_files(write(table(), tmp_path), recipe(), Means(MEMORY, alone))


class TestSentences:
    def test_a_word_among_the_targets_of_a_far_file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(streamed_training, "FEWEST_ROWS", 50)
        rows = table(900).astype({"y": object})
        rows.loc[850, "y"] = "many"
        sources = write(rows, tmp_path)
        sentence = r"2\.csv: The target 'y' holds numbers, except for 'many' in row 251"
        with pytest.raises(DataProblem, match=sentence):
            train_from_files(sources, recipe(task="regression"), Means(2.0**16))

    def test_a_word_of_the_sample_in_a_far_file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(streamed_training, "FEWEST_ROWS", 50)
        monkeypatch.setattr(streaming, "MOST_WITNESSED", 5)
        rows = table(900)
        sources = write(rows, tmp_path)
        sample = look_at(sources, "y", 0, (50, 0)).sample
        late = sample[sample.index >= 200]
        place = next(k for k in late.index if (sample.index == k).sum() == 1)
        of_parts = rows.a.to_numpy().reshape(3, 300)[:, place]
        part = int(np.flatnonzero(np.isclose(of_parts, late.a[place]))[0])
        rows = rows.astype({"a": object})
        rows.loc[300 * part + place, "a"] = "many"
        sources = write(rows, tmp_path)
        with pytest.raises(DataProblem, match=rf"{part}\.csv: .*'many' in row {place + 1}"):
            train_from_files(sources, recipe(), Means(2.0**16))

    @pytest.mark.parametrize("task", ["regression", "classification"])
    @pytest.mark.parametrize("parts", [1, 3])
    def test_rows_of_several_files(self, tmp_path, parts, task):
        rows = table(90).astype({"a": object})
        rows["y"] = rows["y"] if task == "regression" else np.arange(90) % 2
        rows.loc[80, "a"] = "many"
        sentence = f"'many' in row {21 if parts == 3 else 81}"
        with pytest.raises(DataProblem, match=sentence) as raised:
            train_from_files(write(rows, tmp_path, parts=parts), recipe(task=task), Means(MEMORY))
        assert ("Rows are counted within each file" in str(raised.value)) == (parts > 1)

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"target": "z"}, "There is no column 'z'"),
            ({"drop": ["b"]}, "There is no column 'b'"),
            ({"model": "gp"}, "GPRegressor holds all rows in memory; SparseGPRegressor need not"),
            ({"settings": {"size": 3}}, "SparseGPRegressor has no parameter 'size'"),
            ({"settings": {"max_basis": -3}}, "could not be fitted: max_basis must be"),
        ],
    )
    def test_recipes(self, tmp_path, changes, sentence):
        options = {"target": "y", **changes}
        with pytest.raises(DataProblem, match=sentence):
            train_from_files(write(table(), tmp_path), Recipe(**options), Means(MEMORY))

    def test_an_infinite_target(self, tmp_path):
        sources = write(table(100), tmp_path)
        look = look_at(sources, "y", 0, (1000, 0))
        from greedygp.tables.encoder import TableEncoder

        rows = look.to_decide_by().drop(columns=[KEY, "y"])
        bad = pandas.read_csv(sources[1].path)
        bad.loc[3, "y"] = np.inf
        bad.to_csv(sources[1].path, index=False)
        store = FileRows(sources, TableEncoder().fit(rows), "y", False, 0, 1.0)
        with pytest.raises(DataProblem, match=r"1\.csv: The target 'y' holds an infinite value in"):
            list(store.chunks())


def test_classes_are_learnt_from_a_sample(tmp_path):
    rows = table().assign(y=lambda rows: np.where(rows["a"] > 3, "yes", "no"))
    trained = train_from_files(
        write(rows, tmp_path), Recipe("y", settings={"max_basis": 5}), Means(MEMORY)
    )
    assert trained.model.task == "classification"
    assert "random sample of" in trained.model.facts["model_because"]
    assert trained.model.facts["scores"]["error"] < 0.1


def test_ctrl_c(tmp_path, monkeypatch):
    from greedygp import SparseGPRegressor

    fit = SparseGPRegressor.fit

    def interrupted(self, *rows):
        fit(self, *rows)
        raise FitInterrupted("SparseGPRegressor")

    monkeypatch.setattr(SparseGPRegressor, "fit", interrupted)
    with pytest.raises(TrainingInterrupted) as stopped:
        train_from_files(write(table(), tmp_path), recipe(), Means(MEMORY))
    assert stopped.value.trained.model.facts["interrupted"]
