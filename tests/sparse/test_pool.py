"""The working set: drawing, and the two caches whatever is dropped from them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from greedygp.sparse.pool import HOST_ARRAYS, CandidateCache, KernelRowCache, Pool

BASIS = [4, 17, 0, 25]
NOBODY = np.empty(0, dtype=np.intp)

pytestmark = pytest.mark.usefixtures("three_blocks")
patterns = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def pool(count=10, seed=0):
    return Pool(count, np.random.default_rng(seed))


# ------------------------------------------------------------------------------------ pool


class TestPool:
    def test_starts_full(self):
        assert len(pool(7)) == 7
        assert_array_equal(pool(7).members, np.arange(7))

    def test_draws_without_replacement_in_ascending_order(self):
        for seed in range(20):
            drawn = pool(seed=seed).draw(6)
            assert_array_equal(drawn, np.unique(drawn))
            assert len(drawn) == 6

    def test_drawing_takes_nobody_out(self):
        everyone = pool()
        everyone.draw(4)
        assert len(everyone) == 10

    @pytest.mark.parametrize("size", [10, 11, 1000])
    def test_draws_no_more_than_there_are(self, size):
        assert_array_equal(pool().draw(size), np.arange(10))

    def test_draws_nobody_from_an_empty_pool(self):
        empty = pool(3)
        empty.remove(np.arange(3))
        assert len(empty) == 0
        assert len(empty.draw(5)) == 0

    def test_the_seed_decides(self):
        assert_array_equal(pool(100, seed=3).draw(10), pool(100, seed=3).draw(10))
        assert not np.array_equal(pool(100, seed=3).draw(10), pool(100, seed=4).draw(10))

    def test_removed_members_are_not_drawn(self):
        some = pool()
        some.remove(np.array([0, 4, 9]))
        assert_array_equal(some.draw(100), [1, 2, 3, 5, 6, 7, 8])

    def test_removing_and_putting_back_twice_is_harmless(self):
        some = pool()
        some.remove(np.array([3, 3]))
        some.remove(np.array([3]))
        assert len(some) == 9
        some.put_back(np.array([3, 3]))
        some.put_back(np.array([3, 1]))
        assert_array_equal(some.members, np.arange(10))

    @patterns
    @given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 9), max_size=6)), max_size=9))
    def test_follows_a_set(self, changes):
        some, expected = pool(), set(range(10))
        for out, index in changes:
            (some.remove if out else some.put_back)(np.array(index, dtype=np.intp))
            expected = expected - set(index) if out else expected | set(index)
            assert_array_equal(some.members, sorted(expected))
            assert len(some) == len(expected)
            assert_array_equal(some.holds(np.arange(10)), np.isin(np.arange(10), list(expected)))
            assert set(some.draw(3)) <= expected

    def test_everyone_is_drawn_equally_often(self):
        some = pool(12)
        some.remove(np.array([2, 7]))
        some.remove(np.array([11]))
        some.put_back(np.array([7]))
        counts = np.zeros(12)
        for _ in range(3000):
            counts[some.draw(3)] += 1
        assert counts[2] == counts[11] == 0
        # Each of ten is drawn with probability 0.3; five standard deviations.
        assert_allclose(np.delete(counts, [2, 11]), 900, atol=5 * np.sqrt(3000 * 0.3 * 0.7))


# ------------------------------------------------------------------------- candidate cache


def joined(rows):
    return np.concatenate([np.asarray(part) for part in rows], axis=-1)


@pytest.fixture(params=[False, True], ids=["direct", "stable"])
def scene(request, SmallProblem):
    """A state, and all its rows as candidates, to look up what a cache should hold."""
    problem = SmallProblem(p=2)
    state = problem.grown(BASIS, keep_v=request.param)
    return problem, state, problem.evaluate(state, np.arange(len(problem.X)))


def assert_holds(cache, everyone, expected):
    """The cache holds exactly these candidates, each with all that is its own."""
    assert len(cache) == len(expected)
    if not len(expected):
        assert cache.kept is None
        return
    kept = cache.kept
    assert sorted(kept.index) == sorted(expected)
    for name in HOST_ARRAYS:
        assert_allclose(
            getattr(kept, name), getattr(everyone, name)[kept.index], atol=1e-10, err_msg=name
        )
    assert_array_equal(kept.inputs, everyone.inputs[kept.index])
    for name in ("base", "residual"):
        rows = getattr(kept, name)
        if rows is not None:
            expected_rows = joined(getattr(everyone, name))[kept.index]
            assert_allclose(joined(rows), expected_rows, atol=1e-10, err_msg=name)


@st.composite
def rounds(draw, capacity=6):
    """Return a few rounds of (which old ones stay, how many fresh there are, which of them)."""
    kept, result = 0, []
    for _ in range(draw(st.integers(1, 4))):
        old = draw(st.sets(st.integers(0, kept - 1))) if kept else set()
        fresh = draw(st.integers(0, 7))
        room = min(fresh, capacity - len(old))
        new = draw(st.sets(st.integers(0, fresh - 1), max_size=room)) if room else set()
        kept = len(old) + len(new)
        result.append((sorted(old), fresh, sorted(new)))
    return result


class TestCandidateCache:
    @pytest.mark.parametrize("with_residual", [True, False])
    @patterns
    @given(rounds())
    def test_retains_whatever_stays(self, scene, with_residual, plan):
        problem, state, everyone = scene
        cache = CandidateCache(6)
        for keep_old, n_fresh, keep_new in plan:
            held = [] if cache.kept is None else list(cache.kept.index)
            outside = [j for j in range(len(problem.X)) if j not in [*held, *BASIS]]
            fresh = None
            if n_fresh:
                fresh = problem.evaluate(state, outside[:n_fresh], with_residual=with_residual)
            cache.retain(
                state, fresh, np.array(keep_old, dtype=np.intp), np.array(keep_new, dtype=np.intp)
            )
            expected = [held[i] for i in keep_old] + [outside[i] for i in keep_new]
            assert_holds(cache, everyone, expected)

    @pytest.mark.parametrize("dropped", range(1 << 4))
    def test_every_pattern_of_holes(self, scene, dropped):
        problem, state, everyone = scene
        stay = np.array([i for i in range(4) if not dropped >> i & 1], dtype=np.intp)
        for n_new in range(4):
            cache = CandidateCache(6)
            cache.retain(state, problem.evaluate(state, [1, 2, 3, 5]), NOBODY, np.arange(4))
            fresh = problem.evaluate(state, [6, 7, 8])
            keep_new = np.arange(3)[3 - n_new :] if len(stay) + n_new <= 6 else NOBODY
            expected = [*np.array([1, 2, 3, 5])[stay], *np.array([6, 7, 8])[keep_new]]
            cache.retain(state, fresh, stay, keep_new)
            assert_holds(cache, everyone, expected)

    def test_does_not_point_into_the_buffers_of_fresh_candidates(self, scene):
        problem, state, everyone = scene
        fresh = problem.evaluate(state, [1, 2, 3])
        cache = CandidateCache(4)
        cache.retain(state, fresh, NOBODY, np.array([0, 2]))
        for rows in (*fresh.base, *fresh.residual):
            rows[...] = np.nan
        assert_holds(cache, everyone, [1, 3])

    def test_advances_with_the_state(self, scene):
        problem, state, _ = scene
        cache = CandidateCache(4)
        cache.advance(state, problem.append(state, 12))  # nobody to bring up to date
        cache.retain(state, problem.evaluate(state, [1, 2, 3]), NOBODY, np.array([0, 2]))
        cache.advance(state, problem.append(state, 9))
        assert_holds(cache, problem.evaluate(state, np.arange(len(problem.X))), [1, 3])

    def test_clear(self, scene):
        problem, state, everyone = scene
        cache = CandidateCache(4)
        assert len(cache.clear()) == 0
        fresh = problem.evaluate(state, [1, 2, 3])
        cache.retain(state, fresh, NOBODY, np.array([0, 2]))
        assert_array_equal(cache.clear(), [1, 3])
        assert len(cache) == 0
        cache.retain(state, fresh, NOBODY, np.array([1]))
        assert_holds(cache, everyone, [2])


# ------------------------------------------------------------------------ kernel-row cache


def assert_rows_held(cache, problem, state, expected):
    """The cache holds exactly these rows, and their products are the right ones."""
    assert sorted(cache.index) == sorted(expected)
    if not len(expected):
        return
    dense = problem.dense(state)
    Kt = problem.reference_kernel(problem.X[cache.index], problem.X) * dense.scale
    product, squares = cache.products(state)
    assert_allclose(product, Kt @ (dense.yt - dense.fit).T, rtol=0, atol=1e-9)
    assert_allclose(squares, np.sum(Kt**2, axis=1), rtol=1e-10)


@st.composite
def replacements(draw, capacity=6):
    """Return a few rounds of (places to drop, how many come)."""
    held, result = 0, []
    for _ in range(draw(st.integers(1, 5))):
        drop = sorted(draw(st.sets(st.integers(0, held - 1)))) if held else []
        come = draw(st.integers(0, capacity - held + len(drop)))
        held += come - len(drop)
        result.append((drop, come))
    return result


class TestKernelRowCache:
    @patterns
    @given(plan=replacements(), weights=st.booleans(), spare=st.sampled_from([0, 1, 4, 30]))
    def test_replaces_whatever_is_dropped(self, SmallProblem, plan, weights, spare):
        problem = SmallProblem(p=2, weights=weights)
        state = problem.grown(BASIS)
        cache = KernelRowCache(state, 6, spare)
        held = []
        for drop, come in plan:
            fresh = [j for j in range(len(problem.X)) if j not in cache.index][:come]
            held = [j for i, j in enumerate(cache.index) if i not in drop] + fresh
            index = np.array(fresh, dtype=np.intp)
            cache.replace(state, np.array(drop, dtype=np.intp), index, problem.X[index])
            assert_rows_held(cache, problem, state, held)

    def test_who_comes_back_from_the_discarded(self, SmallProblem):
        problem = SmallProblem(p=2)
        state = problem.grown(BASIS)
        cache = KernelRowCache(state, 3, spare=2)
        plan = [
            ([], [1, 2, 3], 3),
            ([0, 1], [5, 6], 5),  # 1 and 2 are put aside
            ([2], [1], 5),  # 1 comes back; 3 goes to its line
            ([0, 1, 2], [2, 3, 7], 6),  # 2 and 3 come back; of 5, 6 and 1 the last two are kept
            ([0, 1, 2], [5, 6, 1], 7),
        ]
        for drop, come, evaluated in plan:
            index = np.array(come, dtype=np.intp)
            held = [j for i, j in enumerate(cache.index) if i not in drop] + come
            cache.replace(state, np.array(drop, dtype=np.intp), index, problem.X[index])
            assert_rows_held(cache, problem, state, held)
            assert cache.evaluated == evaluated

    def test_rows_stay_right_while_the_basis_grows(self, SmallProblem):
        problem = SmallProblem()
        state = problem.state()
        cache = KernelRowCache(state, 3)
        cache.replace(state, NOBODY, np.array([1, 2, 3]), problem.X[[1, 2, 3]])
        for j in BASIS:
            problem.append(state, j)
            assert_rows_held(cache, problem, state, [1, 2, 3])
