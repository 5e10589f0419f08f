"""Making model files, whole and broken, for the tests of them."""

import json
import zipfile

import numpy as np
import pytest

import greedygp
from greedygp import SparseGPRegressor
from greedygp.persistence import FORMAT, ModelFileError
from greedygp.persistence.contents import HEADER


def data(n=60, D=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n)


def quick(**parameters):
    return SparseGPRegressor(**({"max_basis": 15, "max_iter": 5, "random_state": 0} | parameters))


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, parts, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def with_header(path, target):
    """Give a file of skops greedygp's header."""
    header = {"format": FORMAT, "greedygp": greedygp.__version__}
    return write(target, parts_of(path) | {HEADER: json.dumps(header)})


def refusal(path):
    """Return the sentence with which the file is refused."""
    with pytest.raises(ModelFileError) as error:
        greedygp.load(path)
    sentence = str(error.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence
