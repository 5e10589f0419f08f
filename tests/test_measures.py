"""Leave-one-out measures: values, derivatives, and what they say of themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.measures import MEASURES

each_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)


def residuals_and_variances(p=2, n=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(p, n)), rng.uniform(0.5, 2.0, size=n)


def value(measure, r, t, share):
    return np.sum(share * measure.each(np, np.mean(r * r, axis=0), t))


def test_the_equations():
    s, t = np.array([4.0, 1.0]), np.array([2.0, 0.5])
    assert_allclose(MEASURES["loo_cve"].each(np, s, t), [4.0, 1.0])
    assert_allclose(MEASURES["nlgpp"].each(np, s, t), [2.0 + np.log(2.0), 2.0 - np.log(2.0)])
    assert_allclose(MEASURES["gpe"].each(np, s, t), [6.0, 1.5])


@each_measure
def test_slopes_are_derivatives(measure):
    r, t = residuals_and_variances()
    share, step = np.linspace(0.1, 0.3, len(t)), 1e-6
    by_r, by_t = measure.slopes(np, r, t, share)
    for k, i in np.ndindex(*r.shape):
        move = np.zeros_like(r)
        move[k, i] = step
        ends = [value(measure, r + sign * move, t, share) for sign in (1, -1)]
        assert_allclose(by_r[k, i], (ends[0] - ends[1]) / (2 * step), rtol=1e-7, atol=1e-9)
    for i in range(len(t)):
        move = np.zeros_like(t)
        move[i] = step
        ends = [value(measure, r, t + sign * move, share) for sign in (1, -1)]
        assert_allclose(by_t[i], (ends[0] - ends[1]) / (2 * step), rtol=1e-7, atol=1e-9)


@each_measure
def test_what_a_measure_says_of_the_variances_is_so(measure):
    r, t = residuals_and_variances()
    s = np.mean(r * r, axis=0)
    each = measure.each(np, s, t)
    assert np.array_equal(each, measure.each(np, s, 2 * t)) == (not measure.uses_variance)
    added = np.allclose(measure.each(np, s, t + 1.0), each + 1.0)
    assert added == measure.adds_variance
    assert measure.needs_each_variance == (measure.uses_variance and not added)


@each_measure
def test_what_a_measure_says_of_the_scale_is_so(measure):
    """At the best common factor of all variances, `mean(s / t)` is one, where that is a minimum."""
    r, t = residuals_and_variances()
    s = np.mean(r * r, axis=0)
    t = t * np.mean(s / t)
    values = [np.mean(measure.each(np, s, factor * t)) for factor in (0.9, 1.0, 1.1)]
    assert (values[1] < min(values[0], values[2])) == measure.tells_scale
