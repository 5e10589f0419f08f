"""Model files: bit-exact, whole or absent, and harmless whatever is inside them."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import greedygp
from greedygp.kernels import Constant, Gaussian, Linear, Matern
from greedygp.persistence import FORMAT, ModelFileError, portable, read_header
from greedygp.tables.families import default_family, families, make
from model_files import data, quick, with_header
from scikit_versions import ProgressBar

skops_io = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(*data())


@pytest.fixture
def saved(fitted, tmp_path):
    return greedygp.save(fitted, tmp_path / "model.skops")


# ------------------------------------------------------------------------------- round trip


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"approximation": "dtc", "criterion": "nlgpp", "refine_basis": False},
        {"approximation": "sor", "criterion": "info_gain", "rounds": 0},
        {"kernel": Gaussian() + Linear() + Constant(), "objective": None},
        {"kernel": Matern(nu=1.5, length_scale=[1.0, 2.0, 3.0])},
        {"kernel": 2.0 * RBF(1.5)},
        {"normalize_y": False, "noise_variance": 0.1},
        {"random_state": np.random.RandomState(3)},
        {"max_basis": 1},
    ],
    ids=lambda parameters: "-".join(parameters) or "default",
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predictions_are_bit_exact(parameters, tmp_path):
    X, y = data()
    model = quick(**parameters).fit(X, y)
    new = np.random.default_rng(1).normal(size=(500, 3))
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    for ours, theirs in zip(again.predict(new, return_std=True), model.predict(new, True)):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(again.loo_predict(), model.loo_predict()):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.path_, model.path_)
    np.testing.assert_array_equal(again.rounds_, model.rounds_)
    assert again.kernel_ == model.kernel_
    if not isinstance(parameters.get("random_state"), np.random.RandomState):
        np.testing.assert_array_equal(again.sample_y(new[:9]), model.sample_y(new[:9]))
        assert repr(again) == repr(model)


def test_float32_targets_weights_and_names(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data()
    table = pandas.DataFrame(X.astype(np.float32), columns=["a", "b", "c"])
    weights = np.r_[np.zeros(5), np.ones(55)]
    model = quick().fit(table, np.column_stack([y, -y]), sample_weight=weights)
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    np.testing.assert_array_equal(again.loo_predict()[1], model.loo_predict()[1])
    assert list(again.feature_names_in_) == ["a", "b", "c"]


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_family(task, tmp_path):
    """Whatever families there are: models of all of them come back as they were."""
    X, y = data(40)
    targets = np.where(y > 0, "up", "down") if task == "classification" else y
    for name, kind in families(task).items():
        model = make(kind, {}, {"random_state": 0, "max_basis": 8}).fit(X, targets)
        again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
        np.testing.assert_array_equal(again.predict(X), model.predict(X), err_msg=name)
        if task == "classification":
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X), name)


def test_three_classes(tmp_path):
    if not families("classification"):
        pytest.skip("there is no classifier")
    X, y = data(60)
    targets = np.digitize(y, [-0.5, 0.5])
    model = make(default_family("classification"), {}, {"random_state": 0, "max_basis": 8})
    model.fit(X, targets)
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_pipeline(tmp_path):
    X, y = data()
    model = make_pipeline(StandardScaler(), quick()).fit(X, y)
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_loaded_model_can_be_fitted_and_saved_again(saved, fitted, tmp_path):
    X, y = data()
    again = greedygp.load(saved).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    greedygp.load(greedygp.save(greedygp.load(saved), tmp_path / "second.skops"))


def test_callbacks_are_left_behind(tmp_path):
    pytest.importorskip("rich")
    X, y = data()
    model = quick().set_callbacks(ProgressBar()).fit(X, y)
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert hasattr(model, "_skl_callbacks")  # the model itself is as it was


def test_other_array_libraries_become_numpy(tmp_path):
    strict = pytest.importorskip("array_api_strict")
    X, y = data()
    model = quick(refine_basis=False, rounds=0).fit(strict.asarray(X), strict.asarray(y))
    again = greedygp.load(greedygp.save(model, tmp_path / "m.skops"))
    assert type(again.basis_) is np.ndarray
    expected = np.asarray(model.predict(strict.asarray(X)))
    np.testing.assert_allclose(again.predict(X), expected, rtol=1e-12)


@pytest.mark.torch
def test_fitted_with_torch_loads_without_torch(tmp_path):
    torch = pytest.importorskip("torch")
    X, y = data()
    model = quick().fit(torch.asarray(X), torch.asarray(y))
    path = greedygp.save(model, tmp_path / "m.skops")
    np.save(tmp_path / "X.npy", X)
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'torch':\n"
        "            raise ImportError('no torch here')\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import numpy as np, greedygp\n"
        f"model = greedygp.load({str(path)!r})\n"
        f"X = np.load({str(tmp_path / 'X.npy')!r})\n"
        f"np.save({str(tmp_path / 'mean.npy')!r}, model.predict(X))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    expected = model.predict(torch.asarray(X)).numpy()
    np.testing.assert_allclose(np.load(tmp_path / "mean.npy"), expected, rtol=1e-9)


def test_a_pipeline_is_saved_and_loaded_without_other_array_libraries(tmp_path):
    """scikit-learn has layers for them, which a search for its estimators comes by."""
    script = (
        "import sys, numpy as np, greedygp\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import StandardScaler\n"
        "X = np.random.default_rng(0).normal(size=(20, 2))\n"
        "model = greedygp.SparseGPRegressor(\n"
        "    kernel=greedygp.kernels.Gaussian(), noise_variance=0.1, objective=None, max_basis=4)\n"
        "model = make_pipeline(StandardScaler(), model).fit(X, X[:, 0])\n"
        f"greedygp.load(greedygp.save(model, {str(tmp_path / 'm.skops')!r})).predict(X)\n"
        "found = {'torch', 'dask', 'cupy', 'jax'} & set(sys.modules)\n"
        "hiding = [finder for finder in sys.meta_path if 'greedygp' in type(finder).__module__]\n"
        "print(sorted(found), hiding)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert done.stdout.split() == [b"[]", b"[]"]


def test_portable_keeps_what_is_shared_and_survives_circles():
    model = quick().fit(*data())
    model.itself = model
    copy = portable(model)
    assert copy.itself is copy
    assert copy.kernel_ is copy._posterior.kernel
    assert copy is not model


# ---------------------------------------------------------------------------------- writing


def test_header_can_be_read_alone(saved):
    header = read_header(saved)
    assert header["format"] == FORMAT
    assert header["greedygp"] == greedygp.__version__
    assert header["model"] == "SparseGPRegressor"


class Foreign(RegressorMixin, BaseEstimator):
    pass


@pytest.mark.parametrize(
    "model",
    [Foreign(), make_pipeline(FunctionTransformer(os.path.basename)), FunctionTransformer(print)],
    ids=["class", "function", "builtin"],
)
def test_what_could_not_be_loaded_is_not_written(model, tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("what was there before")
    with pytest.raises(ModelFileError):
        greedygp.save(model, path)
    assert path.read_text() == "what was there before"
    assert os.listdir(tmp_path) == ["model.skops"]


def test_nothing_is_left_of_a_write_that_fails(fitted, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        greedygp.save(fitted, tmp_path / "model.skops")
    assert os.listdir(tmp_path) == []


def test_no_folder(fitted, tmp_path):
    with pytest.raises(FileNotFoundError):
        greedygp.save(fitted, tmp_path / "nowhere" / "model.skops")


def test_importing_greedygp_imports_neither_skops_nor_scikit_learn():
    script = "import sys, greedygp; print([m for m in ('skops', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_format_is_that_of_skops_and_a_header(tmp_path, fitted):
    """A file of skops with the header added is a model file."""
    path = tmp_path / "plain.skops"
    skops_io.dump(fitted, path)
    assert greedygp.load(with_header(path, tmp_path / "m.skops")).n_basis_ == fitted.n_basis_
