"""Wrote `version_0.1.0.tar.xz`: model files, and what their models said, with version 0.1.0.

The archive must not be made again: it holds what users of that version have on their disks, with
the names that classes and modules had then. Made by today's code, it would only show that today's
code reads its own files, which `tests/test_persistence.py` shows anyway. A later release gets an
archive of its own beside it, made when that release is:

    python -m tests.saved_models.make_fixtures tests/saved_models/version_X.Y.Z.tar.xz
"""

import subprocess
import sys
import tarfile
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas
from sklearn.gaussian_process import kernels as sk
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greedygp
from greedygp import (
    FastGCVClassifier,
    FastGCVRegressor,
    FastRVMClassifier,
    FastRVMRegressor,
    GPRegressor,
    LocalRidgeRegressor,
    OLSRegressor,
    RFSRegressor,
    SparseGPClassifier,
    SparseGPRegressor,
)
from greedygp.kernels import Constant, Gaussian, Linear, Matern
from tests.saved_models.answers import answers

N, N_NEW = 30, 12
ARD = Gaussian(variance=1.2, length_scale=[0.9, 1.4, 2.0])
GIVEN = {"kernel": ARD, "noise_variance": 0.05, "objective": None}


def problem(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(3)
    return X, (np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)).round(3)


X, Y = problem()
Y2 = np.column_stack([Y, Y**2 - X[:, 2]])
WEIGHTS = np.r_[0.0, 0.0, np.tile([0.5, 1.0, 2.0, 1.0], 7)]
TWO = np.where(Y > 0, "up", "down")
THREE = np.digitize(Y, [-0.5, 0.5])


def sparse(**parameters):
    return SparseGPRegressor(**{"max_basis": 6, "max_iter": 4, "random_state": 0} | parameters)


def dense(**parameters):
    return GPRegressor(**{"random_state": 0, "tol": 1e-9, "block_size": 8} | parameters)


def classifier(**parameters):
    return SparseGPClassifier(**{"max_basis": 6, "max_iter": 4, "random_state": 0} | parameters)


SPARSE = {
    "default": sparse(),
    "dtc_nlgpp_by_nlml": sparse(
        approximation="dtc", criterion="nlgpp", objective="nlml", refine_basis=False, rounds=2
    ),
    "fitc_loo_cve": sparse(approximation="fitc", criterion="loo_cve", objective="loo_cve"),
    "dtc_gpe": sparse(approximation="dtc", criterion="gpe", objective="gpe", guard=0.0),
    "sor_info_gain": sparse(approximation="sor", criterion="info_gain", **GIVEN),
    "sor_nlml": sparse(approximation="sor", criterion="nlml", rounds=0),
    "vfe": sparse(objective="vfe", criterion="nlpp", kernel=Matern(nu=2.5)),
    "matching_pursuit_cache": sparse(cache_size=3, **GIVEN),
    "random": sparse(criterion="random", patience=None, **GIVEN),
    "size_by_patience": sparse(
        criterion="nlml", approximation="dtc", patience=1, working_set=None, **GIVEN
    ),
    "noise_given": sparse(normalize_y=False, noise_variance=0.1),
    "one_basis_vector": sparse(max_basis=1),
    "random_state": sparse(random_state=np.random.RandomState(3), max_iter=1),
}
KERNELS = {
    "matern_half": Matern(nu=0.5, variance=1.5, length_scale=0.8),
    "matern_ard_bounds": Matern(
        nu=1.5, length_scale=[1.0, 2.0, 3.0], length_scale_bounds=(0.1, 50.0)
    ),
    "sum": Gaussian(0.7, 1.1, fixed="variance") + Linear(0.3) + Constant(0.5),
    "product": Gaussian(1.0, 2.0) * Linear([0.5, 0.2, 0.1]) + Matern(nu=2.5),
    "sklearn": sk.ConstantKernel(2.0) * sk.RBF([1.0, 2.0, 3.0])
    + sk.DotProduct(0.5) * sk.Matern(1.5, nu=1.5),
    "sklearn_fixed": sk.ConstantKernel(2.0, "fixed") * sk.RBF(1.5, "fixed"),
}
DENSE = {
    "cholesky": dense(solver="cholesky"),
    "pcg": dense(solver="pcg", preconditioner_rank=5, objective="nlgpp"),
    "gbcd_without_matrix": dense(solver="gbcd", memory_limit=0, hyperparameter_rows=20, **GIVEN),
    "smo": dense(solver="smo", tol=1e-6, normalize_y=False, **GIVEN),
    "auto_loo_cve": dense(objective="loo_cve", kernel=Matern(nu=1.5)),
}
LINEAR = {
    "gcv": FastGCVRegressor(cv=3, random_state=0),
    "gcv_precomputed": FastGCVRegressor(kernel="precomputed", fit_intercept=False),
    "rvm": FastRVMRegressor(kernel=ARD, noise_variance=0.1),
    "rvm_working_set": FastRVMRegressor(kernel=sk.RBF(1.5), working_set=5, random_state=0),
    "ols_err": OLSRegressor(kernel=ARD, criterion="err", tol=0.2),
    "ols_bic": OLSRegressor(cv=3, criterion="bic", random_state=0),
    "rfs": RFSRegressor(kernel=ARD, max_basis=5),
    "local_ridge": LocalRidgeRegressor(kernel=ARD),
}
CLASSIFIERS = {
    "two": (classifier(), TWO),
    "two_given": (
        classifier(kernel=ARD, bias=0.1, objective=None, criterion="validation"),
        TWO,
    ),
    "two_refined": (classifier(refine=True, class_weight="balanced", objective="loo"), TWO),
    "two_optimized": (
        classifier(sites="optimized", criterion="info_gain", objective="nlp", ep_passes=0),
        TWO == "up",
    ),
    "three": (classifier(criterion="entropy", max_basis=4, max_iter=2), THREE),
    "rvm_two": (FastRVMClassifier(kernel=ARD), TWO),
    "rvm_three": (FastRVMClassifier(cv=2, random_state=0), THREE),
    "gcv_two": (FastGCVClassifier(kernel=ARD), TWO),
}


def fitted():
    """Yield names and fitted models."""
    for name, model in (SPARSE | KERNELS | DENSE | LINEAR).items():
        if name in KERNELS:
            model = sparse(kernel=model, max_iter=2)
        yield f"{family(model)}_{name}", model.fit(X, Y)
    for name, (model, labels) in CLASSIFIERS.items():
        yield f"classifier_{name}", model.fit(X, labels)
    yield "sparse_two_targets_weighted", sparse().fit(X, Y2, sample_weight=WEIGHTS)
    yield "sparse_candidates", sparse(refine_basis=False).fit(X, Y, candidates=problem(20, 5)[0])
    yield "dense_two_targets_weighted", dense(**GIVEN).fit(X, Y2, sample_weight=WEIGHTS)
    yield "linear_rvm_weighted", FastRVMRegressor(kernel=ARD).fit(X, Y, sample_weight=WEIGHTS)
    frame = pandas.DataFrame(X.astype(np.float32), columns=["a", "b", "c"])
    yield "sparse_float32_names", sparse().fit(frame, Y.astype(np.float32))
    yield "pipeline", make_pipeline(StandardScaler(), sparse(**GIVEN)).fit(X, Y)


def family(model):
    if isinstance(model, SparseGPRegressor):
        return "sparse"
    return "dense" if isinstance(model, GPRegressor) else "linear"


def houses(n, seed=0):
    """A table with numbers, words, truth values, and holes."""
    rng = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "area": rng.normal(80, 20, n).round(2),
            "rooms": rng.integers(1, 6, n),
            "town": rng.choice(["Ulm", "Bonn", "Köln"], n),
            "garden": rng.random(n) < 0.4,
        }
    )
    price = 3.0 * table["area"] + 20.0 * table["rooms"] + 50.0 * (table["town"] == "Bonn")
    table["price"] = (price + rng.normal(0, 5, n)).round(3)
    table["dear"] = np.where(table["price"] > 310, "yes", "no")
    table.loc[::17, "area"] = np.nan
    table.loc[3::23, "town"] = None
    return table


def write_tables(folder):
    """Let the program fit and predict a table; its answers are tables too."""
    houses(40).to_csv(folder / "houses.csv", index=False)
    new = folder / "houses_new.csv"
    houses(15, seed=1).drop(columns=["price", "dear"]).to_csv(new, index=False)
    for target, other in (("price", "dear"), ("dear", "price")):
        model = f"table_{target}.skops"
        program(folder, "fit", "houses.csv", "--target", target, "--drop", other, "--out", model)
        program(folder, "predict", model, new.name, "--out", f"table_{target}.csv")
    (folder / "houses.csv").unlink()


def program(folder, command, *arguments):
    quick = ["--max-basis", "6", "--set", "max_iter=3"] if command == "fit" else []
    line = [sys.executable, "-m", "greedygp", command, *arguments, *quick]
    subprocess.run(line, cwd=folder, check=True)


def write_all(folder):
    X_new = problem(N_NEW, 9)[0]
    said = {"X_new": X_new}
    for name, model in fitted():
        greedygp.save(model, folder / f"{name}.skops")
        said |= {f"{name}/{key}": value for key, value in answers(model, X_new).items()}
    np.savez(folder / "answers.npz", **said)
    write_tables(folder)


def packed(path, folder):
    """Write a folder into an archive; the files are so much alike that it is a tenth of them."""

    def without_owner(info):
        info.uid, info.gid, info.uname, info.gname, info.mtime = 0, 0, "", "", 0
        return info

    with tarfile.open(path, "x:xz", preset=9) as archive:
        for file in sorted(folder.iterdir()):
            archive.add(file, file.name, filter=without_owner)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        write_all(Path(name))
        packed(sys.argv[1], Path(name))
