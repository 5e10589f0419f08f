"""L-BFGS of our own: bounds, memory, functions that bend down, and SciPy's minimum."""

import numpy as np
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.descent import FARTHEST, LEAST_SLOPE, PAIRS, SPREAD, Descent, Memory

WIDE = np.array([[-np.inf, np.inf]])


def rosenbrock(x):
    return scipy.optimize.rosen(x), scipy.optimize.rosen_der(x)


def bowl(stiffness, centre):
    return lambda x: (
        0.5 * float(stiffness @ (x - centre) ** 2),
        stiffness * (x - centre),
    )


def run(descent, steps=500):
    """Go down until there is no lower point; return the values on the way."""
    values = [descent.value]
    while len(values) <= steps and descent.step():
        values.append(descent.value)
    return values


def test_it_falls_at_every_step_and_ends_at_the_minimum():
    descent = Descent(rosenbrock, np.zeros(6), np.repeat(WIDE, 6, axis=0), Memory())
    values = run(descent)
    assert np.all(np.diff(values) < 0)
    assert np.max(np.abs(descent.slope)) <= LEAST_SLOPE
    assert_allclose(descent.x, 1.0, atol=1e-5)


def test_a_minimum_at_the_bounds_is_scipys():
    bounds = np.tile([-0.4, 0.7], (5, 1))
    descent = Descent(rosenbrock, np.full(5, -0.3), bounds, Memory())
    run(descent)
    expected = scipy.optimize.minimize(
        rosenbrock, np.full(5, -0.3), jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-14
    )
    assert_allclose(descent.value, expected.fun, rtol=1e-6)
    assert np.all((descent.x >= -0.4) & (descent.x <= 0.7))


def test_where_all_is_pushed_out_nothing_moves():
    descent = Descent(
        bowl(np.ones(3), np.full(3, 9.0)), np.ones(3), np.tile([0.0, 1.0], (3, 1)), Memory()
    )
    assert not descent.step()
    assert_array_equal(descent.x, 1.0)


def test_a_function_that_bends_down_everywhere():
    """Along no step does the slope grow: there are no pairs, and still it falls to the bound."""
    descent = Descent(
        lambda x: (-0.5 * float(x @ x), -x),
        np.array([0.1, -0.2]),
        np.tile([-1.0, 1.0], (2, 1)),
        Memory(),
    )
    run(descent)
    assert_array_equal(descent.x, [1.0, -1.0])
    assert descent.memory.pairs == []


def test_values_that_are_huge_where_there_are_no_numbers():
    """A step into the wall is shortened."""

    def walled(x):
        if x[0] > 0.5:
            return 1e10 * (1.0 + float(x @ x)), 2e10 * x
        return -float(x[0]) + float(x[1] ** 2), np.array([-1.0, 2.0 * x[1]])

    descent = Descent(walled, np.array([0.0, 1.0]), np.repeat(WIDE, 2, axis=0), Memory())
    values = run(descent, 60)
    assert np.all(np.diff(values) < 0)
    assert 0.3 < descent.x[0] <= 0.5


def test_no_step_goes_far_where_the_curvature_is_hardly_known():
    """The minimum is 200 steps of the first length away, and the second pair already tells."""
    descent = Descent(bowl(np.array([1e-4]), np.array([200.0])), np.zeros(1), WIDE, Memory())
    places = [0.0]
    while descent.step():
        places.append(float(descent.x[0]))
    steps = np.diff(places)
    assert np.max(np.abs(steps)) <= FARTHEST * (1 + 1e-12)
    assert np.sum(np.abs(steps) > 0.9 * FARTHEST) > 10
    assert_allclose(places[-1], 200.0, atol=0.2)


def test_a_memory_goes_on():
    """With what another descent has learnt the minimum is nearer."""
    stiffness, centre = np.geomspace(1.0, 1e4, 12), np.arange(12.0)
    bounds, memory = np.repeat(WIDE, 12, axis=0), Memory()
    run(Descent(bowl(stiffness, centre), np.zeros(12), bounds, memory))
    elsewhere = bowl(stiffness, centre + 1.0)
    new = len(run(Descent(elsewhere, np.zeros(12), bounds, Memory())))
    known = len(run(Descent(elsewhere, np.zeros(12), bounds, Memory([*memory.pairs]))))
    assert known < new


def test_the_diagonal_by_its_definition():
    """`sqrt(sum w s^2 / sum w y^2)` with `w = 0.8^age / s'y`, near `s'y / y'y` of the last pair."""
    rng = np.random.default_rng(0)
    stiffness, memory = np.array([1.0, 2.0, 5.0, 1e6, 1.0]), Memory()
    for _ in range(3):
        step = np.append(rng.normal(size=4), 0.0)  # the last coordinate stays at its bound
        memory.note(step, stiffness * step)
    (*_, (last, bent)) = memory.pairs
    usual = (last @ bent) / (bent @ bent)
    expected = []
    for i in range(5):
        above = below = 0.0
        for age, (step, change) in enumerate(reversed(memory.pairs)):
            weight = 0.8**age / (step @ change)
            above, below = above + weight * step[i] ** 2, below + weight * change[i] ** 2
        value = np.sqrt(above / below) if below else usual
        expected.append(min(max(value, usual / SPREAD), usual * SPREAD))
    assert_allclose(memory.diagonal(), expected, rtol=1e-12)
    assert_allclose(memory.diagonal()[:3], usual * SPREAD)  # the stiff coordinate decides `usual`
    assert_allclose(memory.diagonal()[4], usual)


def test_a_diagonal_makes_a_bowl_of_unequal_sides_easier(monkeypatch):
    rng = np.random.default_rng(0)
    stiffness = np.geomspace(1.0, 300.0, 60)
    start, bounds = rng.normal(size=60), np.repeat(WIDE, 60, axis=0)

    def evaluations():
        descent = Descent(bowl(stiffness, np.zeros(60)), start, bounds, Memory())
        return len(run(descent, 200))

    with_diagonal = evaluations()
    monkeypatch.setattr("greedygp.descent.SPREAD", 1.0)  # one number for all coordinates
    assert with_diagonal < 0.8 * evaluations()


def test_the_last_pairs_are_kept_and_a_copy_does_not_change():
    memory = Memory()
    for k in range(PAIRS + 5):
        memory.note(np.array([1.0, k]), np.array([1.0, k]))
    copy = Memory([*memory.pairs])
    assert [pair[0][1] for pair in memory.pairs] == list(range(5, PAIRS + 5))
    memory.note(np.ones(2), np.ones(2))
    assert [pair[0][1] for pair in copy.pairs] == list(range(5, PAIRS + 5))
