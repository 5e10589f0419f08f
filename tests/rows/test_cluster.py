"""Rows on the workers of a Dask cluster: a small one, in this process."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import DaskRows, SparseGPRegressor
from greedygp.exceptions import ClusterError
from greedygp.kernels import Gaussian
from greedygp.rows import ArrayRows, cluster, survey

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

FIXED = {"kernel": Gaussian(1.0, [0.4, 0.6]), "noise_variance": 0.05, "objective": None}
CHUNKS = {"even": 128, "uneven": (1, 199, 250, 60, 90), "one": 600}


@pytest.fixture(scope="module")
def client():
    """Two workers with a thread each."""
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        yield client


def rows(n=600, p=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = 5 + 3 * (np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n))
    return X, y if p is None else np.column_stack([y, y**2])


def dask_rows(X, y, chunks=128):
    """X and y in chunks of rows that differ."""
    return da.from_array(X, chunks=(chunks, 1)), da.from_array(y, chunks=(77, *y.shape[1:]))


def estimator(**parameters):
    defaults = {"max_basis": 12, "max_iter": 4, "random_state": 0, "learning_rows": 200}
    return SparseGPRegressor(**(defaults | FIXED | parameters))


def unknown(array, mask):
    """Return rows of a Dask array in chunks whose sizes Dask does not know."""
    return array[da.from_array(mask, chunks=array.chunks[0])]


def assert_same_predictions(model, other, X, tolerance=1e-8):
    for got, expected in zip(model.predict(X, return_std=True), other.predict(X, return_std=True)):
        assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
class TestStore:
    def test_what_a_store_does(self, client, chunks):
        X, y = rows()
        weights = (np.arange(600) % 3).astype(float)
        here = ArrayRows(X, y, weights)
        there = DaskRows(*dask_rows(X, y, chunks), weights)
        assert there.check() == ()
        found, expected = survey(there), survey(here)
        assert (found.n_rows, found.n_used, found.fingerprint) == (
            expected.n_rows,
            expected.n_used,
            expected.fingerprint,
        )
        assert_allclose(found.mean, expected.mean)
        for got, known in zip(there.everything(), here.everything()):
            assert_array_equal(got, known)
        places = np.array([0, 3, 4, 120, 399])
        for got, known in zip(there.gather(places), here.gather(places)):
            assert_array_equal(got, known)

    def test_map_keeps_the_order_and_tells_who_watches(self, client, chunks):
        X, y = rows()
        there, gone_by = DaskRows(*dask_rows(X, y, chunks)), []
        starts = list(there.map(lambda chunk: chunk.start, 50, gone_by.append))
        assert starts == sorted(starts)
        assert sum(gone_by) == 600
        assert there.reduce(len, 50, gone_by.append) == 600
        assert sum(gone_by) == 1200


class TestFit:
    @pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
    def test_as_an_array(self, client, chunks):
        X, y = rows(p=2)
        model = estimator().fit(X, y)
        other = estimator().fit(*dask_rows(X, y, chunks))
        assert_array_equal(other.basis_indices_, model.basis_indices_)
        assert_same_predictions(other, model, X)
        assert "600" in str(other.summary())

    def test_unknown_chunks_and_weights(self, client):
        X, y = rows()
        weights = np.random.default_rng(1).integers(0, 3, size=600).astype(float)
        keep = X[:, 0] > -0.3
        dX, dy = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)
        model = estimator().fit(X[keep], y[keep], weights[keep])
        other = estimator().fit(
            unknown(dX, keep), unknown(dy, keep), unknown(da.from_array(weights, chunks=100), keep)
        )
        assert_array_equal(other.basis_indices_, model.basis_indices_)
        assert_same_predictions(other, model, X)
        uneven = unknown(dy, keep).compute()
        assert_same_predictions(estimator().fit(unknown(dX, keep), uneven, weights[keep]), model, X)

    def test_chunks_without_rows(self, client):
        """A filter leaves such, and Dask does not know it."""
        X, y = rows()
        weights = np.random.default_rng(1).integers(0, 3, size=600).astype(float)
        keep = (np.arange(600) >= 100) & ((np.arange(600) < 200) | (np.arange(600) >= 350))
        collections = [
            unknown(da.from_array(each, chunks=(50, *each.shape[1:])), keep)
            for each in (X, y, weights)
        ]
        model = estimator().fit(X[keep], y[keep], weights[keep])
        other = estimator().fit(*collections)
        assert_array_equal(other.basis_indices_, model.basis_indices_)
        assert_same_predictions(other, model, X)
        assert_allclose(other.predict(collections[0]).compute(), model.predict(X[keep]), rtol=1e-8)
        for got, expected in zip(other.loo_predict(*collections), model.loo_predict()):
            assert_allclose(got.compute(), expected, rtol=1e-8, atol=1e-8)
        learnt = estimator(learning_rows=None, memory_limit=0, objective="nlml")
        assert np.all(np.isfinite(learnt.fit(*collections).predict(X)))

    def test_targets_and_weights_of_other_kinds(self, client):
        X, y = rows()
        dX, dy = dask_rows(X, y)
        expected = estimator().fit(X, y, np.full(600, 2.0))
        for targets, weights in ((list(y), [2.0] * 600), (dy.astype(object), 2)):
            assert_same_predictions(estimator().fit(dX, targets, weights), expected, X)

    def test_few_rows_are_all_learnt_from(self, client):
        X, y = rows(150)
        options = {"learning_rows": None, "objective": "nlgpp", "noise_variance": None}
        model = estimator(**options).fit(X, y)
        other = estimator(**options).fit(*dask_rows(X, y, 40))
        assert_array_equal(other.predict(X), model.predict(X))

    def test_rows_that_do_not_fit_are_made_in_each_pass(self, client, monkeypatch):
        X, y = rows()
        model = estimator().fit(X, y)
        monkeypatch.setattr(cluster, "KEPT_SHARE", 0.0)
        assert_same_predictions(estimator().fit(*dask_rows(X, y)), model, X)

    def test_single_precision(self, client):
        X, y = rows()
        dX, dy = dask_rows(X.astype(np.float32), y)
        model = estimator().fit(dX, dy)
        assert model.predict(dX).dtype == np.float32
        assert_same_predictions(model, estimator().fit(X, y), X, 1e-3)

    def test_the_client_that_is_given(self, client):
        X, y = rows()
        model = estimator().fit(DaskRows(*dask_rows(X, y), client=client))
        assert_same_predictions(model, estimator().fit(X, y), X)
        pickle.loads(pickle.dumps(model)).predict(X)


class TestFrames:
    def frames(self, X, y):
        pandas = pytest.importorskip("pandas")
        frames = pytest.importorskip("dask.dataframe")
        table = pandas.DataFrame(X, columns=["a", "b"])
        table["y"] = y
        return table, frames.from_pandas(table, npartitions=4)

    def test_fit_and_predict(self, client):
        X, y = rows()
        table, frame = self.frames(X, y)
        model = estimator().fit(table[["a", "b"]], table["y"])
        other = estimator().fit(frame[["a", "b"]], frame["y"])
        assert list(other.feature_names_in_) == ["a", "b"]
        assert_same_predictions(other, model, table[["a", "b"]])
        lazily = other.predict(frame[["a", "b"]])
        assert_allclose(lazily.compute(), model.predict(table[["a", "b"]]), rtol=1e-8)
        # An array of targets in other chunks serves as well.
        other = estimator().fit(frame[["a", "b"]], da.from_array(y, chunks=91))
        assert_same_predictions(other, model, table[["a", "b"]])

    def test_columns(self, client):
        X, y = rows()
        _, frame = self.frames(X, y)
        words = frame.assign(b=frame["b"].astype("string"))
        with pytest.raises(ValueError, match=r"its column 'b' holds .*Encode it or leave it out"):
            estimator().fit(words[["a", "b"]], frame["y"])
        with pytest.raises(
            ValueError, match=r"it is the series 'a'\. Take a dataframe with one col"
        ):
            estimator().fit(frame["a"], frame["y"])
        with pytest.raises(ValueError, match="X has no columns"):
            estimator().fit(frame[[]], frame["y"])
        with pytest.raises(ValueError, match="y must hold numbers; its dtype is str"):
            estimator().fit(frame[["a", "b"]], words["b"])
        model = estimator().fit(frame[["a", "b"]], frame["y"])
        with pytest.raises(ValueError, match=r"in the same order: a, b; got b, a"):
            model.predict(frame[["b", "a"]])

    def test_missing_values_of_any_kind(self, client):
        pandas = pytest.importorskip("pandas")
        frames = pytest.importorskip("dask.dataframe")
        table = pandas.DataFrame({"a": pandas.array([1] * 50 + [None] + [2] * 29, dtype="Int64")})
        frame = frames.from_pandas(table, npartitions=2)
        with pytest.raises(ValueError, match=r"NaN in row 10 of chunk 1, .*column 'a'"):
            estimator().fit(frame, np.arange(80.0))


class TestPredictions:
    @pytest.mark.parametrize("p", [None, 2])
    def test_are_lazy(self, client, p):
        X, y = rows(p=p)
        dX, dy = dask_rows(X, y)
        model = estimator(noise_model="input").fit(X, y)
        mean = model.predict(dX)
        assert mean.shape == y.shape
        assert_allclose(mean.compute(), model.predict(X), rtol=1e-12)
        lazily = model.predict(dX, return_std=True)
        for got, expected in zip(lazily, model.predict(X, return_std=True)):
            assert_allclose(got.compute(scheduler="synchronous"), expected, rtol=1e-12)
        for got, expected in zip(model.loo_predict(dX, dy), model.loo_predict(X, y)):
            assert got.shape == y.shape
            assert_allclose(got.compute(), expected, rtol=1e-10)

    def test_intervals_and_quantiles(self, client):
        X, y = rows()
        model = estimator().fit(X, y)
        dX = da.from_array(X, chunks=(200, 2))
        for method in ("gaussian", "jackknife+"):
            for got, expected in zip(
                model.predict_interval(dX, 0.9, method=method),
                model.predict_interval(X, 0.9, method=method),
            ):
                assert_allclose(got.compute(), expected, rtol=1e-10)
        quantiles = model.predict_quantiles(dX, (0.1, 0.5), method="jackknife+")
        assert_allclose(quantiles.compute()[:, 1], model.predict(X), atol=0.5)
        assert quantiles.shape == (600, 2)

    def test_no_covariance(self, client):
        X, y = rows()
        model = estimator().fit(X, y)
        with pytest.raises(ValueError, match="return_cov needs all rows at once"):
            model.predict(da.from_array(X), return_cov=True)


class TestSentences:
    def test_a_far_nan(self, client):
        X, y = rows()
        X[555, 1] = np.nan
        dX, dy = dask_rows(X, y, 100)
        place = r"NaN in row 55 of chunk 5, which begins at row 500 of all \(counted from 0\), col"
        with pytest.raises(ValueError, match=place):
            estimator().fit(dX, dy)
        model = estimator().fit(np.nan_to_num(X), y)
        with pytest.raises(ValueError, match="NaN in row 55 of chunk 5"):
            model.predict(dX).compute()

    @pytest.mark.parametrize(
        ("cut", "sentence"),
        [
            (lambda y: y[:-1], r"X has 600 rows in 5 chunks, but y has 599 in 8"),
            (lambda y: y[:-1].rechunk(128), r"chunk 4 of y has 87 rows, and that of X has 88"),
            (lambda y: y[:-1].compute(), r"X has 600 rows in 5 chunks, but y has 599"),
            (lambda y: y[:, None, None], r"y must have shape \(n,\) or \(n, n_targets\)"),
            (lambda y: None, "requires targets, but the rows have none"),
        ],
    )
    def test_chunks_that_do_not_fit(self, client, cut, sentence):
        dX, dy = dask_rows(*rows())
        with pytest.raises(ValueError, match=sentence):
            estimator().fit(dX, cut(dy))

    def test_other_shapes_and_kinds(self, client):
        X, y = rows()
        dX, dy = dask_rows(X, y)
        with pytest.raises(ValueError, match=r"its shape is \(600,\)\. Reshape"):
            estimator().fit(dX[:, 0], dy)
        with pytest.raises(ValueError, match="its dtype is <U"):
            estimator().fit(dX.astype(str), dy)
        for weights in (dX, X, X[:, :1]):
            with pytest.raises(ValueError, match="sample_weight must have one number per row"):
                estimator().fit(dX, dy, weights)
        with pytest.raises(
            ValueError, match=r"sample_weight has 1e\+15; .* and 1e\+12 is the most"
        ):
            estimator().fit(dX, dy, np.full(600, 1e15))
        for words in (dy.astype(str), np.array(["a"] * 600), dy.astype(complex)):
            with pytest.raises(ValueError, match="y must hold numbers; its dtype is"):
                estimator().fit(dX, words)
        words = y.astype(object)
        words[333] = "many"
        with pytest.raises(ValueError, match=r"y must hold numbers; not so in chunk 2, .*'many'"):
            estimator().fit(dX, words)
        with pytest.raises(TypeError, match="but X is not; make X one"):
            estimator().fit(X, dy)
        with pytest.raises(TypeError, match="X must be a Dask array or dataframe; got ndarray"):
            DaskRows(X, y)
        with pytest.raises(ValueError, match="X has 1 features"):
            estimator().fit(X, y).predict(dX[:, :1])

    def test_no_client(self, monkeypatch):
        def none():
            raise ValueError("No clients found")

        monkeypatch.setattr(distributed, "default_client", none)
        with pytest.raises(ValueError, match=r"no Dask client\. Make one first .*X\.compute\(\)"):
            estimator().fit(*dask_rows(*rows()))

    def test_no_workers(self, monkeypatch):
        monkeypatch.setattr(cluster, "SECONDS_WITHOUT_WORKERS", 0.2)
        with (
            distributed.Client(processes=False, n_workers=0, dashboard_address=":0") as alone,
            pytest.raises(ClusterError, match="has no workers; start some"),
        ):
            estimator().fit(DaskRows(*dask_rows(*rows()), client=alone))
        with pytest.raises(ClusterError, match="The Dask client is closed; make another one"):
            estimator().fit(DaskRows(*dask_rows(*rows()), client=alone))

    def test_the_last_worker_goes(self, monkeypatch):
        monkeypatch.setattr(cluster, "SECONDS_WITHOUT_WORKERS", 0.6)
        monkeypatch.setattr(cluster, "POLL_SECONDS", 0.1)
        with (
            distributed.LocalCluster(
                processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
            ) as small,
            distributed.Client(small) as client,
        ):
            there = DaskRows(*dask_rows(*rows()), client=client)
            assert there.reduce(len, 50) == 600
            small.scale(0)
            small.sync(small._correct_state)
            with pytest.raises(ClusterError, match=r"failed: all its workers are gone\. Start it"):
                there.reduce(len, 50)
