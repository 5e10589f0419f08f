"""Which hyperparameters move."""

import pytest
from numpy.testing import assert_allclose

from greedygp.classification.hyperparameters import LatentPoint, moving_parts
from greedygp.kernels import Gaussian


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_coordinates(tied, bias):
    point = LatentPoint(Gaussian(2.0, [0.5, 1.0, 3.0]), 0.4)
    coordinates = moving_parts(point, bias=bias, tied=tied)
    x = coordinates.vector(point)
    assert len(x) == (2 if tied else 4) + bias
    assert len(coordinates.bounds()) == len(x)
    moved = coordinates.point(x + 1.0)
    assert (moved.bias != point.bias) == bias
    if tied:
        ratio = moved.kernel.length_scale / point.kernel.length_scale
        assert_allclose(ratio, ratio[0])
    assert_allclose(coordinates.vector(moved), x + 1.0, atol=1e-12)
