"""The backend: the same numbers from NumPy, torch and array-api-strict; threads over blocks."""

import multiprocessing
import threading
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import ThreadpoolController, threadpool_limits

from greedygp.arrays import Backend, as_array, detached, is_foreign, namespace, to_numpy
from greedygp.threads import Background, thread_count
from tolerances import rounding

FLOATS = ("float64", "float32")


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def library(request):
    return pytest.importorskip(request.param)


@pytest.fixture(params=FLOATS)
def backend(request, library):
    return Backend(library.zeros(1, dtype=getattr(library, request.param)))


@pytest.fixture
def strict():
    return pytest.importorskip("array_api_strict")


def close(backend):
    """Tolerances of a few roundings in the backend's dtype."""
    allowed = rounding(dtype=str(backend.dtype).split(".")[-1])
    return {"rtol": allowed, "atol": allowed}


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# ------------------------------------------------------------------------- making, moving


class TestArrays:
    def test_rows_are_taken_into_an_array(self, backend):
        rows, index = normal(5, 3), np.array([4, 0, 4])
        out = backend.empty((3, 3))
        assert backend.take_rows(backend.asarray(rows), index, out) is out
        assert_allclose(to_numpy(out), rows[index], **close(backend))

    def test_rows_are_put_into_an_array(self, backend):
        rows, index, values = normal(5, 3), np.array([4, 0]), normal(2, 3, seed=1)
        array = backend.asarray(rows.copy())
        backend.put_rows(array, index, backend.asarray(values))
        rows[index] = values
        assert_allclose(to_numpy(array), rows, **close(backend))

    def test_columns_are_added_to(self, backend):
        lines, index, values = normal(2, 5), np.array([4, 0, 3]), normal(2, 3, seed=1)
        sums = backend.asarray(lines.copy())
        backend.add_to_columns(sums, index, backend.asarray(values))
        lines[:, index] += values
        assert_allclose(to_numpy(sums), lines, **close(backend))

    def test_what_the_backend_knows(self, backend, library):
        numpy = library.__name__ == "numpy"
        assert backend.tile_size(10, 30) == (10 if numpy else 30)
        assert backend.tile_size(10, 7) == 7
        assert not backend.is_accelerator  # on a processor
        assert is_foreign(backend.zeros((2,))) == (not numpy)
        assert backend.epsilon == np.finfo(str(backend.dtype).split(".")[-1]).eps
        assert backend.float64 == library.float64

    def test_arrays_and_what_becomes_one(self, backend):
        array = backend.zeros((2,))
        assert as_array(array) is array
        assert_array_equal(as_array([1, 2]), np.array([1, 2]))
        assert not is_foreign([1.0])
        assert not is_foreign(np.float64(1.0))

    def test_asarray(self, backend):
        array = backend.asarray([[1, 2], [3, 4]])
        assert array.dtype == backend.dtype
        assert namespace(array) is backend.xp
        assert_array_equal(to_numpy(array), [[1, 2], [3, 4]])
        assert backend.asarray(np.ones(2), backend.float64).dtype == backend.float64
        assert backend.asarray(1.5).shape == ()

    def test_integers_can_index(self, backend):
        taken = backend.xp.take(
            backend.asarray([5.0, 6.0, 7.0]), backend.integers(np.array([2, 0]))
        )
        assert_array_equal(to_numpy(taken), [7, 5])

    @pytest.mark.parametrize("axis", [0, 1])
    def test_lines_are_taken(self, backend, axis):
        rows, index = normal(4, 5), np.array([3, 0, 3])
        taken = backend.take(backend.asarray(rows), index, axis=axis)
        assert_allclose(to_numpy(taken), np.take(rows, index, axis=axis), **close(backend))

    def test_arrays_come_to_the_host_together(self, backend):
        arrays = [normal(2, 3), normal(4), np.array(1.5), np.zeros((0, 2)), normal(1)]
        found = backend.to_host(*map(backend.asarray, arrays))
        for one, array in zip(found, arrays, strict=True):
            assert isinstance(one, np.ndarray)
            assert one.dtype == np.float64
            assert one.shape == array.shape
            assert_allclose(one, array, **close(backend))

    def test_a_device_is_waited_for_once(self, monkeypatch):
        torch = pytest.importorskip("torch")
        count, bring = [], torch.Tensor.cpu
        monkeypatch.setattr(
            torch.Tensor, "cpu", lambda self, *args: (count.append(1), bring(self, *args))[1]
        )
        Backend(torch.zeros(1)).to_host(torch.ones(2), torch.ones(3, 2), torch.tensor(1.0))
        assert len(count) == 1

    def test_empty_and_zeros(self, backend):
        assert tuple(backend.empty((3, 2)).shape) == (3, 2)
        assert backend.empty((3, 2)).dtype == backend.dtype
        assert_array_equal(to_numpy(backend.zeros((2,))), [0, 0])
        assert backend.zeros((2,), backend.float64).dtype == backend.float64

    def test_to_numpy(self, backend):
        values = to_numpy(backend.asarray([1.0, 2.0]))
        assert isinstance(values, np.ndarray)
        assert_array_equal(values, [1, 2])

    def test_to_numpy_does_not_copy_numpy(self):
        array = np.ones(2)
        assert to_numpy(array) is array

    def test_gradients_are_left_behind(self):
        torch = pytest.importorskip("torch")
        recorded = torch.ones(2, requires_grad=True)
        assert not detached(recorded).requires_grad
        assert_array_equal(to_numpy(recorded), [1, 1])
        assert detached(np.ones(2)).shape == (2,)

    def test_libraries_cannot_be_mixed(self, strict):
        with pytest.raises(TypeError):
            namespace(np.ones(2), strict.ones(2))


# ------------------------------------------------------------------------------ arithmetic


class TestArithmetic:
    @pytest.mark.parametrize("in_place", [False, True])
    @pytest.mark.parametrize("name", ["multiply", "subtract", "divide"])
    def test_two_arguments(self, backend, name, in_place):
        left, right = normal(3, 4), normal(3, 4, seed=1)
        out = backend.empty((3, 4)) if in_place else None
        result = getattr(backend, name)(backend.asarray(left), backend.asarray(right), out=out)
        assert out is None or result is out
        expected = getattr(np, name)(
            to_numpy(backend.asarray(left)), to_numpy(backend.asarray(right))
        )
        assert_allclose(to_numpy(result), expected, **close(backend))

    def test_bounded_from_below(self, backend):
        values, out = normal(3, 4), backend.empty((3, 4))
        assert backend.at_least(backend.asarray(values), 0.25, out) is out
        assert_allclose(to_numpy(out), np.maximum(values, 0.25), **close(backend))

    def test_inverse(self, backend):
        values, out = 2.0 + normal(3, 4) ** 2, backend.empty((3, 4))
        assert backend.inverse(backend.asarray(values), out) is out
        assert_allclose(to_numpy(out), 1.0 / values, **close(backend))

    @pytest.mark.parametrize("onto_a_factor", [False, True])
    def test_minus_multiple(self, backend, onto_a_factor):
        """A row is subtracted from, as in the scores."""
        values, left, right = normal(4), normal(3, 4, seed=1), normal(3, 1, seed=2)
        factor = backend.asarray(left.copy())
        out = factor if onto_a_factor else backend.empty((3, 4))
        found = backend.minus_multiple(
            backend.asarray(values), factor, backend.asarray(right), out=out
        )
        assert found is out
        assert_allclose(to_numpy(out), values - left * right, **close(backend))

    @pytest.mark.parametrize("in_place", [False, True])
    def test_minus_product(self, backend, in_place):
        values, left, right = normal(3, 4), normal(3, 2, seed=1), normal(2, 4, seed=2)
        rows = backend.asarray(values.copy())
        out = rows if in_place else backend.empty((3, 4))
        found = backend.minus_product(rows, backend.asarray(left), backend.asarray(right), out=out)
        assert found is out
        assert_allclose(to_numpy(out), values - left @ right, **close(backend))

    @pytest.mark.parametrize("in_place", [False, True])
    def test_plus_product(self, backend, in_place):
        values, left, right = normal(3, 4), normal(3, 2, seed=1), normal(2, 4, seed=2)
        rows = backend.asarray(values.copy())
        out = rows if in_place else backend.empty((3, 4))
        found = backend.plus_product(
            rows, backend.asarray(left), backend.asarray(right), out, times=0.5, factor=3.0
        )
        assert found is out
        assert_allclose(to_numpy(out), 0.5 * values + 3.0 * left @ right, **close(backend))
        if not in_place:
            assert_allclose(to_numpy(rows), values, **close(backend))

    @pytest.mark.parametrize("in_place", [False, True])
    def test_matmul(self, backend, in_place):
        left, right = normal(3, 4), normal(4, 2, seed=1)
        out = backend.empty((3, 2)) if in_place else None
        result = backend.matmul(backend.asarray(left), backend.asarray(right), out=out)
        assert out is None or result is out
        assert_allclose(to_numpy(result), left @ right, **close(backend))

    @pytest.mark.parametrize("in_place", [False, True])
    def test_exp(self, backend, in_place):
        out = backend.empty((3, 4)) if in_place else None
        result = backend.exp(backend.asarray(normal(3, 4)), out=out)
        assert out is None or result is out
        assert_allclose(to_numpy(result), np.exp(normal(3, 4)), **close(backend))

    def test_out_may_be_an_argument(self, backend):
        values = backend.asarray(normal(3, 4))
        assert backend.multiply(values, values, out=values) is values
        assert_allclose(to_numpy(values), normal(3, 4) ** 2, **close(backend))

    def test_out_may_be_a_view(self, backend):
        whole = backend.zeros((5, 4))
        rows = backend.asarray(normal(2, 4))
        backend.multiply(rows, rows, out=whole[1:3, :])
        expected = np.zeros((5, 4))
        expected[1:3] = normal(2, 4) ** 2
        assert_allclose(to_numpy(whole), expected, **close(backend))

    @pytest.mark.parametrize("same", [False, True])
    def test_dots(self, backend, same):
        left = normal(3, 50)
        right = left if same else normal(3, 50, seed=1)
        on = backend.asarray(left)
        dots = backend.dots(on, on if same else backend.asarray(right))
        assert dots.dtype == backend.float64
        assert_allclose(to_numpy(dots), np.sum(left * right, axis=1), **close(backend))

    def test_row_dots(self, backend):
        left, right = normal(3, 40), normal(3, 40, seed=1)
        dots = backend.row_dots(backend.asarray(left), backend.asarray(right))
        assert isinstance(dots, np.ndarray)
        assert dots.dtype == np.float64
        assert_allclose(dots, np.sum(left * right, axis=1), rtol=0, atol=close(backend)["atol"])

    def test_sums_are_in_float64(self, backend):
        """Ones that float32 would lose beside a large number count."""
        values = np.array([[2.0**25, 1, 1, 1], [1, 1, 1, 2.0**25]])
        total = backend.sums(backend.asarray(values))
        assert isinstance(total, np.ndarray)
        assert total.dtype == np.float64
        assert total == 2.0**26 + 6
        assert_array_equal(backend.sums(backend.asarray(values), axis=1), [2.0**25 + 3] * 2)
        columns = backend.sums(backend.asarray(values), axis=0)
        assert_array_equal(columns, [2.0**25 + 1, 2, 2, 2.0**25 + 1])

    def test_swap_entries(self, backend):
        rows = backend.asarray(np.arange(12.0).reshape(3, 4))
        lines, columns = (backend.integers(np.array(i)) for i in ([0, 2, 1], [3, 0, 1]))
        before = backend.swap_entries(rows, lines, columns, backend.asarray([-1.0, -2.0, -3.0]))
        assert_array_equal(to_numpy(before), [3, 8, 5])
        assert_array_equal(to_numpy(rows), [[0, 1, 2, -1], [4, -3, 6, 7], [-2, 9, 10, 11]])
        backend.swap_entries(rows, lines, columns, before)
        assert_array_equal(to_numpy(rows), np.arange(12.0).reshape(3, 4))

    def test_swap_no_entries(self, backend):
        rows = backend.asarray(np.arange(4.0).reshape(2, 2))
        nobody = backend.integers(np.empty(0, dtype=np.intp))
        before = backend.swap_entries(rows, nobody, nobody, backend.empty((0,)))
        assert tuple(before.shape) == (0,)
        assert_array_equal(to_numpy(rows), [[0, 1], [2, 3]])

    def test_solve_lower(self, backend):
        factor = np.tril(normal(5, 5), -1) + 3 * np.eye(5)
        right = normal(5, 7, seed=1)
        solved = backend.solve_lower(factor, backend.asarray(right))
        assert solved.dtype == backend.dtype
        assert_allclose(to_numpy(solved), np.linalg.solve(factor, right), **close(backend))

    @pytest.mark.parametrize("m", [0, 1, 5, 64, 65, 150])
    @pytest.mark.parametrize("transposed", [False, True])
    def test_solve_lower_as_on_a_gpu(self, backend, monkeypatch, m, transposed):
        """By products; the numbers are the same, also where they replace the right-hand side."""
        rng = np.random.default_rng(m)
        factor = np.tril(rng.normal(size=(m, m))) + m * np.eye(m)
        square, right = (factor.T if transposed else factor), rng.normal(size=(m, 9))
        plain = to_numpy(backend.solve_lower(factor, backend.asarray(right), transposed=transposed))
        monkeypatch.setattr(Backend, "is_accelerator", True)
        on, other = backend.asarray(right.copy()), backend.empty(right.shape)
        found = backend.solve_lower(factor, on, transposed=transposed)
        assert_allclose(to_numpy(found), plain, rtol=1e-5, atol=1e-6)
        assert_allclose(square @ to_numpy(found), right, rtol=1e-4, atol=1e-4)
        assert backend.solve_lower(factor, on, transposed=transposed, out=other) is other
        assert_allclose(to_numpy(other), to_numpy(found), **close(backend))
        assert_array_equal(to_numpy(on), to_numpy(backend.asarray(right)))
        assert backend.solve_lower(factor, on, transposed=transposed, out=on) is on
        assert_allclose(to_numpy(on), to_numpy(found), **close(backend))

    def test_solve_lower_is_in_float64(self, backend):
        """Only the result is rounded: here float32 would lose all digits on the way."""
        factor = np.array([[1.0, 0.0], [1.0, 1e-6]])
        right = np.array([[0.125], [0.125 + 2.0**-22]])
        expected = np.array([[0.125], [2.0**-22 / 1e-6]])
        solved = backend.solve_lower(factor, backend.asarray(right))
        assert_allclose(to_numpy(solved), expected, rtol=1e-6)


# ---------------------------------------------------------------------------------- blocks


class TestBlockSizes:
    @pytest.mark.parametrize("threads", [1, 2, 3, 16])
    @pytest.mark.parametrize("n_rows", [1, 2, 7, 1499, 1500, 8192, 8193, 50_001])
    def test_blocks_add_up(self, n_rows, threads):
        backend = Backend(np.zeros(1))
        backend.threads = threads
        sizes = backend.block_sizes(n_rows)
        assert sum(sizes) == n_rows
        assert max(sizes) - min(sizes) <= 1
        assert min(sizes) >= 1
        assert max(sizes) <= 8192
        if n_rows >= 1500:
            assert len(sizes) % threads == 0

    def test_few_rows_are_one_block(self):
        backend = Backend(np.zeros(1))
        backend.threads = 8
        assert backend.block_sizes(1499) == [1499]

    def test_fewer_rows_than_are_shared_are_one_block(self):
        backend = Backend(np.zeros(1))
        backend.threads = 2
        assert backend.block_sizes(11_999, shared_from=12_000) == [11_999]
        assert len(backend.block_sizes(12_000, shared_from=12_000)) == 2

    def test_the_largest_block_can_be_given(self):
        backend = Backend(np.zeros(1))
        backend.threads = 2
        assert backend.block_sizes(4000, most=1000) == [1000] * 4

    @pytest.mark.parametrize("name", ["torch", "array_api_strict"])
    def test_other_libraries_have_threads_of_their_own(self, name):
        xp = pytest.importorskip(name)
        backend = Backend(xp.zeros(1))
        assert backend.threads == 1
        assert backend.block_sizes(50_000) == [50_000]


# --------------------------------------------------------------------------------- threads


def threaded(threads=3):
    backend = Backend(np.zeros(1))
    backend.threads = threads
    return backend


class TestMap:
    @pytest.mark.parametrize("light", [True, False])
    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_results_come_in_order(self, threads, light):
        def slow_at_first(i):
            time.sleep(0.002 * (8 - i))
            return i * i

        results = threaded(threads).map(slow_at_first, range(8), light=light)
        assert results == [i * i for i in range(8)]

    def test_heavy_work_is_shared(self):
        first, second = shared_between_threads(threaded(2))
        assert first == threading.current_thread().name
        assert second.startswith("greedygp-")

    @pytest.mark.parametrize(
        ("threads", "items", "light"), [(3, 6, True), (1, 6, False), (3, 1, False)]
    )
    def test_the_caller_does_light_work_alone(self, threads, items, light):
        idents = threaded(threads).map(lambda _: threading.get_ident(), range(items), light=light)
        assert set(idents) == {threading.get_ident()}

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    @pytest.mark.parametrize("failing", [0, 1, 5])
    def test_errors_come_out_after_all_work_has_ended(self, failing, error):
        """Whoever catches the error may count on nobody writing to the rows any more."""
        running, ended = set(), set()

        def work(i):
            running.add(i)
            if i == failing:
                ended.add(i)
                raise error("on purpose")
            time.sleep(0.01)
            ended.add(i)

        with pytest.raises(error, match="on purpose"):
            threaded().map(work, range(6))
        after = set(running)
        assert after == ended
        time.sleep(0.03)
        assert running == after

    def test_works_after_an_error(self):
        backend = threaded()
        with pytest.raises(ZeroDivisionError):
            backend.map(lambda i: 1 / i, [1, 2, 0, 3])
        assert backend.map(lambda i: 2 * i, [1, 2, 3]) == [2, 4, 6]


class TestBackground:
    @pytest.mark.parametrize("threads", [1, 2, 3])
    def test_results_come_in_order(self, threads):
        begun = Background(threads, lambda i: i * i, range(6))
        assert begun.results() == [i * i for i in range(6)]

    def test_helpers_work_before_they_are_asked(self):
        done = threading.Event()
        begun = Background(2, lambda _: done.set(), [0])
        assert done.wait(10)
        assert begun.results() == [None]

    def test_without_helpers_the_work_is_done_when_asked_for(self):
        done = []
        begun = Background(1, done.append, range(3))
        assert done == []
        begun.results()
        assert sorted(done) == [0, 1, 2]

    def test_the_caller_does_what_nobody_has_begun(self):
        free = threading.Event()
        busy = Background(2, lambda _: free.wait(10), [0])
        try:
            idents = Background(2, lambda _: threading.get_ident(), range(3)).results()
            assert idents == [threading.get_ident()] * 3
        finally:
            free.set()
        assert busy.results() == [True]

    def test_nothing_runs_after_an_error(self):
        log = []

        def work(i):
            time.sleep(0.005)
            if i == 1:
                raise ValueError("on purpose")
            log.append(i)

        begun = Background(3, work, range(8))
        with pytest.raises(ValueError, match="on purpose"):
            begun.results()
        after = len(log)
        time.sleep(0.03)
        assert len(log) == after

    def test_no_work(self):
        assert Background(2, float, []).results() == []


def blas_threads():
    controllers = ThreadpoolController().lib_controllers
    return [each.num_threads for each in controllers if each.user_api == "blas"]


needs_blas = pytest.mark.skipif(not blas_threads(), reason="no BLAS library that can be limited")


@needs_blas
class TestLimits:
    def test_blas_is_serial_while_it_lasts(self):
        with threadpool_limits(2, user_api="blas"):
            before = blas_threads()
            with threaded(2).threads_over_blocks():
                assert set(blas_threads()) == {1}
            assert blas_threads() == before

    def test_limits_come_back_after_an_error(self):
        with threadpool_limits(2, user_api="blas"):
            before = blas_threads()
            with pytest.raises(ValueError, match="inside"), threaded(2).threads_over_blocks():
                raise ValueError("inside")
            assert blas_threads() == before

    def test_one_thread_changes_nothing(self):
        with threadpool_limits(2, user_api="blas"):
            before = blas_threads()
            with threaded(1).threads_over_blocks():
                assert blas_threads() == before

    @pytest.mark.parametrize("accelerator", [False, True])
    def test_the_host_is_serial_beside_an_accelerator(self, monkeypatch, accelerator):
        monkeypatch.setattr(Backend, "is_accelerator", accelerator)
        with threadpool_limits(2, user_api="blas"):
            before = blas_threads()
            with threaded(1).serial_host():
                assert blas_threads() == ([1] * len(before) if accelerator else before)
            assert blas_threads() == before

    @pytest.mark.parametrize("limit", [1, 2])
    def test_the_number_of_threads_is_that_of_blas(self, limit):
        with threadpool_limits(limit, user_api="blas"):
            assert thread_count() == max(blas_threads())
            assert Backend(np.zeros(1)).threads == max(blas_threads())

    def test_a_limit_of_one_is_respected(self):
        with threadpool_limits(1, user_api="blas"):
            assert thread_count() == 1
            assert len(Backend(np.zeros(1)).block_sizes(8192)) == 1

    def test_a_backend_made_inside_has_the_same_threads(self):
        """The limit that BLAS has inside is not the user's."""
        with threaded(2).threads_over_blocks():
            inside = Backend(np.zeros(1))
            assert inside.threads == 2
            with inside.threads_over_blocks():
                assert thread_count() == 2
            assert set(blas_threads()) == {1}
        with threadpool_limits(1, user_api="blas"):
            assert thread_count() == 1

    def test_a_helper_works_alone(self):
        """What is made in another thread does not start threads of its own."""
        backend = threaded(2)
        with backend.threads_over_blocks():
            found = Background(2, lambda _: Backend(np.zeros(1)).threads, [0])
            wait_for(found)
            assert found.results() == [1]


def wait_for(background):
    while not all(task.done() for task in background._tasks):
        time.sleep(0.001)


def shared_between_threads(backend):
    """Map two items, the first of which waits for the second; return who did them, if anybody."""
    begun = threading.Event()

    def work(i):
        if i == 0 and not begun.wait(5):
            return None
        begun.set()
        return threading.current_thread().name

    return backend.map(work, range(2))


def work_in_child(connection):
    connection.send(shared_between_threads(threaded(2)))


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked"
)
def test_a_forked_process_has_helpers_of_its_own():
    """The threads of a pool do not survive a fork."""
    caller, helper = shared_between_threads(threaded(2))
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=work_in_child, args=(sender,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        child.start()
    try:
        assert receiver.poll(20), "the child hangs"
        child_caller, child_helper = receiver.recv()
        assert child_caller == caller
        assert child_helper.startswith(f"greedygp-{child.pid}")
        assert child_helper != helper
    finally:
        child.join(1)
        if child.is_alive():
            child.kill()


def test_a_room_is_the_same_again_in_one_thread_only():
    backend, others = Backend(np.zeros(1)), []
    room = backend.room("work", (2, 3))
    assert backend.room("work", (2, 3)) is room
    assert backend.room("other", (2, 3)) is not room
    thread = threading.Thread(target=lambda: others.append(backend.room("work", (2, 3))))
    thread.start()
    thread.join()
    assert others[0] is not room
    assert backend.room("work", (3, 2)).shape == (3, 2)
