"""The closed-form optimum of one zeta, and the value of a model, by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.linear.criteria import GCV, Evidence
from greedygp.linear.state import LinearState, Without
from reference import sparse_linear as reference


def log_gcv(rows, without):
    """log V as a function of zeta, from the two rational functions of section 2.1."""

    def value(zeta):
        x = 0.0 if np.isinf(zeta) else 1.0 / (without.gamma + zeta)
        error = without.error - 2 * without.xi * without.r * x + without.u * (without.r * x) ** 2
        return np.log(rows * error / (without.trace - without.u * x) ** 2)

    return value


def random_without(rng):
    """Quantities of a random projection, target and column: all that can occur."""
    N = int(rng.integers(3, 12))
    m = int(rng.integers(0, N - 1))
    Phi = rng.normal(size=(N, m))
    P = reference.projection(Phi, 10 ** rng.uniform(-3, 2, size=m))
    phi = rng.normal(size=N) * 10 ** rng.uniform(-2, 2)
    t = rng.normal(size=N) + rng.choice([0, 0.1, 1, 10]) * phi
    if rng.random() < 0.3:  # nearly orthogonal to the target as the model sees it
        t = t - phi * (phi @ P @ t) / (phi @ P @ phi) * rng.uniform(0.5, 1.5)
    p = P @ phi
    return N, Without(
        r=np.array([t @ p]),
        gamma=np.array([phi @ p]),
        energy=t @ P @ t,
        norm=np.array([phi @ phi]),
        peak=np.array([np.abs(phi).max()]),
        xi=np.array([t @ P @ p]),
        u=np.array([p @ p]),
        trace=np.trace(P),
        error=t @ P @ P @ t,
    )


def case_of(w):
    """Which of the five cases of appendix I."""
    b, c = w.xi * w.r, w.u * w.r**2
    h = (w.trace * b - w.error * w.u)[0]
    g = (h * w.gamma - (w.trace * c - b * w.u))[0]
    if h == 0:
        return 5
    return {(False, False): 1, (True, True): 2, (False, True): 3, (True, False): 4}[(g > 0, h > 0)]


def test_gcv_optimum_is_the_numerical_one_in_all_cases():
    rng = np.random.default_rng(0)
    seen = dict.fromkeys(range(1, 6), 0)
    for _ in range(1500):
        rows, without = random_without(rng)
        case = case_of(without)
        if seen[case] >= 40:
            continue
        least = np.array([1e-6 * without.norm[0]])
        seen[case] += 1
        criterion = GCV(rows, 1e-9)  # no limit to the trace
        cost = log_gcv(rows, without)
        zeta = criterion.optimum(without, least)[0]
        lowest, at = reference.minimise_over_one(
            lambda z, cost=cost: float(cost(z)[0] if np.ndim(cost(z)) else cost(z)),
            least[0],
            1e10 * without.norm[0],
        )
        assert float(np.squeeze(cost(zeta))) <= lowest + 1e-5, (case, zeta, at)
        change = criterion.change(without, np.array([zeta]))[0]
        assert change == pytest.approx(
            float(np.squeeze(cost(zeta)) - np.squeeze(cost(np.inf))), rel=1e-6, abs=1e-8
        )
    assert all(seen[case] >= 10 for case in (1, 2, 3)), seen
    assert seen[4] == 0  # it needs u > gamma tr P: a negative trace at zeta = 0


def test_fourth_case():
    """No projection gives it, numbers can: the better end wins."""
    rng = np.random.default_rng(3)
    ends = []
    for _ in range(20_000):
        u, trace, r = rng.uniform(0.5, 1.5), rng.uniform(0.1, 1.5), rng.uniform(-2, 2)
        xi = np.sqrt(u) * rng.uniform(-1, 1)
        least = rng.uniform(0.0, 4.0)
        one = np.array([1.0])
        w = Without(r * one, one, None, one, one, xi * one, u * one, trace, 1.0)
        x = 1.0 / (1.0 + least)
        error = 1.0 - 2.0 * xi * r * x + u * (r * x) ** 2
        if case_of(w) != 4 or trace <= u * x or error <= 1e-6:
            continue
        expected = least if error / (trace - u * x) ** 2 < 1.0 / trace**2 else np.inf
        assert GCV(1.0, 1e-9).optimum(w, least * one)[0] == expected
        ends.append(np.isinf(expected))
    assert len(ends) >= 20


@pytest.mark.parametrize("sign", [-1.0, 0.0, 1.0])
def test_fifth_case(sign):
    """h = 0 exactly: the sign of g decides."""
    # delta b = a epsilon by construction; g = -(delta c - b epsilon)
    without = Without(
        r=np.array([1.0 + 0.25 * sign]),
        gamma=np.array([1.0]),
        energy=None,
        norm=np.array([1.0]),
        peak=np.array([1.0]),
        xi=np.array([0.8 / (1.0 + 0.25 * sign)]),
        u=np.array([0.8]),
        trace=1.0,
        error=1.0,
    )
    g = -(0.8 * without.r[0] ** 2 - 0.8 * 0.8)
    best = GCV(1.0, 1.0).optimum(without, np.array([1e-3]))[0]
    assert (best == 1e-3) if g > 0 else np.isinf(best)


@pytest.mark.parametrize(("gamma", "expected"), [(1.5, 1e-3), (1.0, 1e-3), (0.5, 0.5)])
def test_between_the_second_and_the_third_case(gamma, expected):
    """h is one and g is `gamma - 1`: with g = 0 GCV rises from zero on."""
    one = np.array([1.0])
    without = Without(one, gamma * one, None, one, one, one, one, 2.0, 1.0)
    assert case_of(without) == (2 if gamma > 1.0 else 3)
    assert GCV(1.0, 1e-9).optimum(without, np.array([1e-3]))[0] == expected


@pytest.mark.parametrize("criterion", [GCV(9.0, 9.0), Evidence(9.0), Evidence(9.0, 0.3)])
def test_a_column_that_the_model_has_already(criterion):
    """Nothing is left of it: it stays outside, without a warning."""
    nothing = np.zeros(1)
    without = Without(nothing, nothing, 1.0, 1.0 + nothing, None, nothing, nothing, 5.0, 1.0)
    assert np.isinf(criterion.optimum(without, np.array([1e-3]))[0])


@pytest.mark.parametrize("noise", [None, 0.3])
def test_evidence_optimum_is_the_numerical_one(noise):
    rng = np.random.default_rng(1)
    kinds = set()
    for _ in range(300):
        rows, without = random_without(rng)
        criterion = Evidence(float(rows), noise)

        def cost(zeta, without=without, rows=rows):
            x = 0.0 if np.isinf(zeta) else 1.0 / (without.gamma[0] + zeta)
            energy = without.energy - without.r[0] ** 2 * x
            log_det = np.log(max(1.0 - without.gamma[0] * x, 1e-300))
            if noise is None:
                return 0.5 * (rows * np.log(energy) - log_det)
            return 0.5 * (energy / noise - log_det)

        least = np.array([1e-10 * without.norm[0]])
        zeta = criterion.optimum(without, least)[0]
        lowest, _ = reference.minimise_over_one(cost, least[0], 1e10 * without.norm[0])
        assert cost(zeta) <= lowest + 1e-7 * max(1.0, abs(lowest))
        change = criterion.change(without, np.array([zeta]))[0]
        assert change == pytest.approx(cost(zeta) - cost(np.inf), rel=1e-6, abs=1e-7)
        kinds.add(bool(np.isinf(zeta)))
    assert kinds == {True, False}


def test_fixed_noise_is_tipping_and_faul():
    """alpha = s^2 / (q^2 - s) with s = phi'C^-1 phi, q = phi'C^-1 t."""
    rng = np.random.default_rng(2)
    N, noise = 12, 0.3
    Phi = rng.normal(size=(N, 3))
    alpha = np.array([0.5, 2.0, 1.0])
    phi = rng.normal(size=N)
    t = 2 * phi + rng.normal(size=N)
    C = noise * np.eye(N) + (Phi / alpha) @ Phi.T
    s, q = phi @ np.linalg.solve(C, phi), phi @ np.linalg.solve(C, t)
    P = noise * np.linalg.inv(C)
    without = Without(
        r=np.array([phi @ P @ t]),
        gamma=np.array([phi @ P @ phi]),
        energy=t @ P @ t,
        norm=np.array([phi @ phi]),
        peak=None,
    )
    zeta = Evidence(float(N), noise).optimum(without, np.array([0.0]))[0]
    assert zeta / noise == pytest.approx(s**2 / (q**2 - s), rel=1e-9)


def test_state_value_after_recompute(problem):
    p = problem(seed=1, N=60, weights=True)
    state = LinearState(p.dictionary, p.t)
    state.start_with([1, 5], np.array([0.1, 0.2]))
    zeta = np.full(60, np.inf)
    zeta[[1, 5]] = [0.1, 0.2]
    assert_allclose(
        GCV(p.rows, p.dof).value(state), reference.gcv(p.Phi, p.t, zeta, p.rows, p.dof), rtol=1e-10
    )


@pytest.mark.parametrize(("total", "dof"), [(60.0, 59.0), (1.5, 1.0)])
def test_least_zeta_of_gcv(problem, total, dof):
    """alpha is 1 / N where targets have unit variance and columns a largest entry of one."""
    p = problem(seed=1, N=60)
    state = LinearState(p.dictionary, p.t)
    state.start_with([1, 5], np.array([0.1, 0.2]))
    norm, peak = np.array([4.0, 1e30]), np.array([2.0, 1.0])
    without = Without(r=None, gamma=None, energy=None, norm=norm, peak=peak)
    noise, variance = state.error / state.trace, state.square / dof
    least = GCV(total, total - 1.0).least(without, state)  # an intercept takes one
    assert_allclose(least[0], noise / variance / total * peak[0] ** 2, rtol=1e-12)
    assert_allclose(least[1], 1e-12 * norm[1])  # less cannot be told from zero
    state.error = 0.0
    assert_allclose(GCV(total, total - 1.0).least(without, state), 1e-12 * norm)
