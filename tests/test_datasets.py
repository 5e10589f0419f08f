"""Loading stored data sets, and generating Friedman's."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

from greedygp import datasets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GREEDYGP_DATA", str(tmp_path))
    return tmp_path


def test_load_reads_everything_in_the_file(folder):
    X = np.arange(12.0).reshape(6, 2)
    np.savez(
        folder / "toy.npz",
        X=X,
        y=X[:, 0],
        feature_names=np.array(["a", "b"]),
        target_name=np.array("height"),
        task=np.array("regression"),
        train_index=np.array([[0, 1, 2, 3], [2, 3, 4, 5]], dtype=np.int32),
        test_index=np.array([[4, 5], [0, 1]], dtype=np.int32),
        fold_id=np.arange(6, dtype=np.int8),
    )
    data = datasets.load("toy")
    np.testing.assert_array_equal(data.X, X)
    assert (data.name, data.task, data.target_name) == ("toy", "regression", "height")
    assert data.feature_names == ["a", "b"]
    assert len(data.partitions) == 2
    np.testing.assert_array_equal(data.partitions[1][0], [2, 3, 4, 5])
    np.testing.assert_array_equal(data.partitions[1][1], [0, 1])
    np.testing.assert_array_equal(data.fold_id, np.arange(6))


def test_load_fills_in_what_the_file_leaves_out(folder):
    np.savez(folder / "bare.npz", X=np.ones((3, 2)), y=np.ones(3))
    data = datasets.load("bare")
    assert data.feature_names == ["x0", "x1"]
    assert data.partitions is None
    assert data.fold_id is None


def test_available_lists_the_folder(folder):
    np.savez(folder / "b.npz", X=np.ones((1, 1)), y=np.ones(1))
    np.savez(folder / "a.npz", X=np.ones((1, 1)), y=np.ones(1))
    assert datasets.available() == ["a", "b"]


@pytest.mark.parametrize("name", datasets.SUPPLIED)
def test_sets_that_must_be_supplied_say_where_they_are(folder, name):
    wanted = datasets.SUPPLIED[name]
    with pytest.raises(FileNotFoundError) as error:
        datasets.load(name)
    assert wanted.source in str(error.value)
    assert "http" in wanted.source


@pytest.mark.parametrize("name", datasets.SUPPLIED)
def test_a_supplied_set_must_have_the_shape_of_the_paper(folder, name, monkeypatch):
    wanted = datasets.Supplied(6, 3, datasets.SUPPLIED[name].targets, "Get it there.")
    monkeypatch.setitem(datasets.SUPPLIED, name, wanted)
    shape = (6,) if wanted.targets == 1 else (6, wanted.targets)
    np.savez(folder / f"{name}.npz", X=np.ones((6, 3)), y=np.ones(shape))
    assert datasets.load(name).y.shape == shape
    np.savez(folder / f"{name}.npz", X=np.ones((6, 2)), y=np.ones(shape))
    with pytest.raises(ValueError, match=r"X must be \(6, 3\) and y \(6,.*Get it there"):
        datasets.load(name)


def test_without_the_variable_the_error_says_what_to_set(monkeypatch):
    monkeypatch.delenv("GREEDYGP_DATA", raising=False)
    assert datasets.available() == []
    with pytest.raises(FileNotFoundError, match="export GREEDYGP_DATA="):
        datasets.load("boston")


def test_a_variable_that_names_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("GREEDYGP_DATA", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError, match="not a folder"):
        datasets.load("boston")


def test_an_absent_file_is_named_with_those_present(folder):
    np.savez(folder / "toy.npz", X=np.ones((1, 1)), y=np.ones(1))
    with pytest.raises(FileNotFoundError, match=r"sarcos\.npz does not exist.*toy"):
        datasets.load("sarcos")


def test_a_file_that_is_no_data_set(folder):
    np.savez(folder / "odd.npz", X=np.ones((1, 1)))
    with pytest.raises(ValueError, match="holds no array y"):
        datasets.load("odd")


@pytest.mark.parametrize(
    ("name", "shape"), [("boston", (506, 13)), ("kin40k", (40000, 8)), ("abalone", (4177, 10))]
)
def test_real_sets_have_their_known_shape(name, shape):
    if name not in datasets.available():
        pytest.skip(f"GREEDYGP_DATA is not set or holds no {name}.npz")
    data = datasets.load(name)
    assert data.X.shape == shape
    assert data.y.shape == shape[:1]
    assert len(data.feature_names) == shape[1]
    assert np.all(np.isfinite(data.X))


@pytest.mark.parametrize(
    ("which", "generator"), [(1, make_friedman1), (2, make_friedman2), (3, make_friedman3)]
)
def test_friedman_agrees_with_scikit_learn(which, generator):
    """Same distribution: ranges of the inputs, mean and deviation of the target."""
    noise = {1: 1.0, 2: 125.0, 3: 0.1}[which]
    X, y = generator(n_samples=100_000, noise=noise, random_state=0)
    data = datasets.make_friedman(which, 100_000, random_state=1)
    assert data.X.shape == X.shape
    np.testing.assert_allclose(data.X.mean(axis=0), X.mean(axis=0), rtol=0.02)
    np.testing.assert_allclose(data.X.std(axis=0), X.std(axis=0), rtol=0.02)
    assert data.y.mean() == pytest.approx(y.mean(), rel=0.02)
    assert data.y.std() == pytest.approx(y.std(), rel=0.02)


@pytest.mark.parametrize("which", [1, 2, 3])
def test_friedman_noise_is_a_standard_deviation(which):
    clean = datasets.make_friedman(which, 50_000, random_state=3, noise=0.0)
    noisy = datasets.make_friedman(which, 50_000, random_state=3)
    np.testing.assert_array_equal(clean.X, noisy.X)
    expected = {1: 1.0, 2: 125.0, 3: 0.1}[which]
    assert np.std(noisy.y - clean.y) == pytest.approx(expected, rel=0.02)


def test_friedman_same_seed_same_data():
    a, b = (datasets.make_friedman(3, 20, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(a.y, b.y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((4, 10), "which must be 1, 2 or 3"), ((1, 0), "n must be at least 1")],
)
def test_friedman_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        datasets.make_friedman(*arguments)


def test_friedman_negative_noise():
    with pytest.raises(ValueError, match="noise must not be negative"):
        datasets.make_friedman(1, 10, noise=-1.0)


def test_random_partition_is_disjoint_and_repeatable():
    train, test = datasets.random_partition(100, 60, 30, seed=4)
    assert (len(train), len(test)) == (60, 30)
    assert len(np.union1d(train, test)) == 90
    again, _ = datasets.random_partition(100, 60, 30, seed=4)
    np.testing.assert_array_equal(train, again)
    assert len(datasets.random_partition(100, 60)[1]) == 40


@pytest.mark.parametrize(("n_train", "n_test"), [(0, 5), (5, 0), (80, 30)])
def test_random_partition_bad_sizes(n_train, n_test):
    with pytest.raises(ValueError, match="sum to at most n = 100"):
        datasets.random_partition(100, n_train, n_test)
