"""The closed-form optimum of one zeta, and the loop's optimality, by brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from greedygp.linear.evidence import Evidence
from greedygp.linear.fitting import fast_gcv, fast_rvm
from greedygp.linear.gcv import GCV
from greedygp.linear.loop import Limits
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
        measure = GCV(rows, 1e-9)  # no limit to the trace
        cost = log_gcv(rows, without)
        zeta = measure.optimum(without, least)[0]
        lowest, at = reference.minimise_over_one(
            lambda z, cost=cost: float(cost(z)[0] if np.ndim(cost(z)) else cost(z)),
            least[0],
            1e10 * without.norm[0],
        )
        assert float(np.squeeze(cost(zeta))) <= lowest + 1e-5, (case, zeta, at)
        change = measure.change(without, np.array([zeta]))[0]
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


@pytest.mark.parametrize("noise", [None, 0.3])
def test_evidence_optimum_is_the_numerical_one(noise):
    rng = np.random.default_rng(1)
    kinds = set()
    for _ in range(300):
        rows, without = random_without(rng)
        measure = Evidence(float(rows), noise)

        def cost(zeta, without=without, rows=rows):
            x = 0.0 if np.isinf(zeta) else 1.0 / (without.gamma[0] + zeta)
            energy = without.energy - without.r[0] ** 2 * x
            log_det = np.log(max(1.0 - without.gamma[0] * x, 1e-300))
            if noise is None:
                return 0.5 * (rows * np.log(energy) - log_det)
            return 0.5 * (energy / noise - log_det)

        least = np.array([1e-10 * without.norm[0]])
        zeta = measure.optimum(without, least)[0]
        lowest, _ = reference.minimise_over_one(cost, least[0], 1e10 * without.norm[0])
        assert cost(zeta) <= lowest + 1e-7 * max(1.0, abs(lowest))
        change = measure.change(without, np.array([zeta]))[0]
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


# ------------------------------------------------------------- optimality at convergence


def all_zeta(state, M):
    zeta = np.full(M, np.inf)
    zeta[state.chosen] = state.zeta
    return zeta


CASES = [
    {"seed": 0, "N": 30},
    {"seed": 1, "N": 25, "weights": True},
    {"seed": 2, "N": 30, "intercept": False, "width": 0.3},
    {"seed": 3, "N": 40, "M": 30, "noise": 0.5},
    {"seed": 4, "N": 30, "width": 1.5},
    {"seed": 5, "N": 25, "noise": 1.0},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_single_change_lowers_gcv(problem, case):
    p = problem(**case)
    loop = fast_gcv(p.dictionary, p.t, Limits(1e-7))
    assert loop.path.reason == "converged"
    state = loop.state
    zeta = all_zeta(state, p.Phi.shape[1])
    now = np.log(reference.gcv(p.Phi, p.t, zeta, p.rows, p.dof))
    assert now == pytest.approx(np.log(loop.measure.value(state)), abs=1e-8)
    least = loop.measure.noise(state) * p.dof / state.square / p.rows
    least = least * np.max(np.abs(p.Phi_raw), axis=0) ** 2
    for j in range(len(zeta)):
        others = zeta.copy()

        def cost(z, j=j, others=others):
            others[j] = z
            return np.log(reference.gcv(p.Phi, p.t, others, p.rows, p.dof))

        low = min(least[j], zeta[j])
        grid = [*np.geomspace(low, 1e4, 12), np.inf]
        if np.isfinite(zeta[j]):
            grid += [zeta[j] * f for f in (0.9, 0.99, 1.01, 1.1) if zeta[j] * f >= low]
        assert min(cost(z) for z in grid) > now - 2e-6, j


@pytest.mark.parametrize("noise", [None, 0.05])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_single_change_raises_the_evidence(problem, case, noise):
    p = problem(**case)
    loop = fast_rvm(p.dictionary, p.t, Limits(1e-7), noise)
    assert loop.path.reason == "converged"
    state = loop.state
    zeta = all_zeta(state, p.Phi.shape[1])

    def evidence(zeta):
        if noise is None:
            return reference.best_log_evidence(p.Phi, p.t, zeta, p.dof)
        return reference.log_evidence(p.Phi, p.t, zeta, noise)

    now = evidence(zeta)
    for j in range(len(zeta)):
        others = zeta.copy()
        grid = [*np.geomspace(1e-6, 1e4, 12), np.inf]
        if np.isfinite(zeta[j]):
            grid += [zeta[j] * f for f in (0.9, 0.99, 1.01, 1.1)]
        for z in grid:
            others[j] = z
            assert evidence(others) < now + 1e-4, (j, z)


@pytest.mark.parametrize("seed", range(3))
def test_more_columns_than_rows_come_to_rest(problem, seed):
    """Both measures lead towards interpolation there; it is approached, not reached."""
    p = problem(seed=seed, N=25, M=40)
    loop = fast_gcv(p.dictionary, p.t, Limits(1e-6))
    assert loop.path.reason == "converged"
    assert loop.state.trace >= 0.1 * p.dof
    loop = fast_rvm(p.dictionary, p.t, Limits(1e-6))
    assert loop.path.reason in ("converged", "exact")
    assert loop.state.size <= 25


def test_noise_of_the_evidence_is_the_fixed_point(problem):
    """s2 = |t - Phi w|^2 / (N - sum_j (1 - alpha_j Sigma_jj)), Tipping and Faul's equation."""
    p = problem(seed=7, N=60, weights=True)
    loop = fast_rvm(p.dictionary, p.t, Limits(1e-12))
    state = loop.state
    used = np.sum(1.0 - state.zeta * np.diagonal(state.inverse))
    residual = p.t - p.Phi[:, state.chosen] @ state.w
    expected = residual @ residual / (p.dof - used)
    assert loop.measure.noise(state) == pytest.approx(expected, rel=1e-4)


def test_log_evidence_has_a_flat_intercept(problem):
    p = problem(seed=8, N=30)
    loop = fast_rvm(p.dictionary, p.t, Limits(1e-6))
    state, noise = loop.state, loop.measure.noise(loop.state)
    expected = reference.flat_intercept_log_evidence(
        p.Phi_raw[:, state.chosen], p.y, state.zeta, noise
    )
    assert loop.measure.value(state) == pytest.approx(expected, rel=1e-7)


def test_first_choice_is_the_best_single_function(problem):
    """Appendix II: every first basis function with its best zeta, by brute force."""
    p = problem(seed=9, N=25)
    loop = fast_gcv(p.dictionary, p.t, Limits(1e-6, max_iter=1))
    values = []
    least = 1.0 / p.rows
    for j in range(25):

        def cost(z, j=j):
            zeta = np.full(25, np.inf)
            zeta[j] = z
            return reference.gcv(p.Phi, p.t, zeta, p.rows, p.dof)

        values.append(reference.minimise_over_one(cost, least, 1e8)[0])
    assert loop.state.chosen == [int(np.argmin(values))]
    assert loop.path.steps[0][2] == pytest.approx(min(values), rel=1e-6)


def test_max_basis_and_max_iter(problem):
    p = problem(seed=1, N=60)
    loop = fast_gcv(p.dictionary, p.t, Limits(1e-6, max_basis=3))
    assert loop.state.size == 3
    assert loop.path.reason == "converged"
    loop = fast_rvm(p.dictionary, p.t, Limits(1e-6, max_iter=4))
    assert loop.path.reason == "max_iter"
    assert len(loop.path) == 4


def test_state_value_after_recompute(problem):
    p = problem(seed=1, N=60, weights=True)
    state = LinearState(p.dictionary, p.t)
    state.start_with([1, 5], np.array([0.1, 0.2]))
    zeta = np.full(60, np.inf)
    zeta[[1, 5]] = [0.1, 0.2]
    assert_allclose(
        GCV(p.rows, p.dof).value(state), reference.gcv(p.Phi, p.t, zeta, p.rows, p.dof), rtol=1e-10
    )
