"""Limits of BLAS: set, restored in any order, from several threads."""

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401, so that its BLAS library is loaded
from threadpoolctl import ThreadpoolController, threadpool_limits

from greedygp.threads import numpy_threads_only, scipy_threads_only, serial_blas, thread_count


def libraries():
    found = ThreadpoolController().lib_controllers
    return {each.filepath: each.num_threads for each in found if each.user_api == "blas"}


def of_numpy():
    return {count for path, count in libraries().items() if "numpy" in path}


def of_others():
    return {count for path, count in libraries().items() if "numpy" not in path}


pytestmark = pytest.mark.skipif(not libraries(), reason="no BLAS library that can be limited")


@pytest.fixture(autouse=True)
def two_threads():
    """Each library may use two; whatever a test does, they may again after it."""
    with threadpool_limits(2, user_api="blas"):
        before = libraries()
        yield
        assert libraries() == before


def test_serial():
    with serial_blas(2):
        assert set(libraries().values()) == {1}
        assert thread_count() == 2
    assert thread_count() == max(libraries().values())


def test_only_numpys():
    if not of_numpy():
        pytest.skip("NumPy and SciPy share a BLAS library")
    before = of_numpy()
    with numpy_threads_only():
        assert of_numpy() == before
        assert of_others() <= {1}
        with serial_blas(2):
            assert set(libraries().values()) == {1}
        assert of_numpy() == before
        assert of_others() <= {1}


def test_only_scipys():
    if not of_numpy() or not of_others():
        pytest.skip("NumPy and SciPy share a BLAS library")
    before = of_others()
    for most, others in ((None, before), (1, {1}), (2, before), (64, before)):
        with scipy_threads_only(most):
            assert of_others() == others
            assert of_numpy() == {1}


def test_after_an_error():
    with pytest.raises(ValueError, match="inside"), numpy_threads_only(), serial_blas(2):
        raise ValueError("inside")


@pytest.mark.parametrize("second", [numpy_threads_only, lambda: serial_blas(2)])
@pytest.mark.parametrize("first", [numpy_threads_only, lambda: serial_blas(2)])
def test_who_begins_first_may_end_first(first, second):
    """Two threads of a program overlap: when both have ended, the limits are what they were."""
    inside, go_on = threading.Event(), threading.Event()

    def other():
        with second():
            inside.set()
            go_on.wait(10)
        done.set()

    done = threading.Event()
    thread = threading.Thread(target=other)
    with first():
        thread.start()
        assert inside.wait(10)
    go_on.set()
    thread.join()
    assert done.is_set()


def test_a_users_limit_is_kept():
    with threadpool_limits(1, user_api="blas"):
        with serial_blas(1), numpy_threads_only():
            np.ones((50, 50)) @ np.ones((50, 50))
        assert set(libraries().values()) == {1}
        assert thread_count() == 1


def test_another_thread_does_not_have_the_threads():
    """Only who works on blocks of rows may start threads."""
    found = []
    with serial_blas(2):
        thread = threading.Thread(target=lambda: found.append(thread_count()))
        thread.start()
        thread.join()
    assert found == [1]
