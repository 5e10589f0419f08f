"""What may move, within which bounds, and where the search ends."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedygp import progress
from greedygp.descent import Memory
from greedygp.exceptions import NotPositiveDefiniteError
from greedygp.hyperparameters import Evaluation, Point, moving_parts
from greedygp.kernels import Constant, Gaussian, Matern
from greedygp.minimise import minimise
from greedygp.progress import Deadline
from tolerances import assert_close

KERNELS = {
    "ARD": Gaussian(variance=1.3, length_scale=[0.5, 0.9]),
    "fixed variance": Gaussian(variance=1.3, length_scale=[0.5, 0.9], fixed="variance"),
    "nothing free": Gaussian(1.3, 0.6, fixed=("variance", "length_scale")),
    "sum": Matern(nu=1.5, variance=0.7, length_scale=0.8) + Constant(0.4, fixed="variance"),
}
BASIS = np.array([[0.3, -2.0], [0.1, 5.0], [-0.7, 1.0]])
BOX = np.array([[-1.0, -10.0], [1.0, 10.0]])
SCALE = np.array([0.5, 4.0])
MOVES = list(itertools.product([True, False], repeat=3))

each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
each_move = pytest.mark.parametrize(
    ("moves", "noise", "basis"), MOVES, ids=["".join("yn"[not m] for m in move) for move in MOVES]
)


def coordinates(
    kernel=KERNELS["ARD"], *, moves=True, noise=True, basis=True, noise_variance=0.05, **options
):
    """Three basis inputs in two dimensions; by default all of it moves."""
    box = {"basis_box": BOX, "basis_units": SCALE} if basis else {}
    start = Point(kernel, noise_variance, BASIS)
    return moving_parts(start, 2.0, kernel=moves, noise=noise, **box, **options)


class Bowl:
    """A quadratic function of everything, with its least value 1.5 where it is told."""

    def __init__(self, theta, log_noise=-2.0, basis=BASIS + [0.2, -1.0], refuses=None):
        self.theta, self.log_noise, self.basis = np.asarray(theta), log_noise, basis
        self.refuses = refuses
        self.values = []

    def __call__(self, point):
        theta = point.kernel.theta - self.theta
        noise = np.log(point.noise_variance) - self.log_noise
        basis = point.basis - self.basis
        slope = np.arange(1.0, len(theta) + 1)
        value = 1.5 + 0.5 * (theta @ (slope * theta) + 3 * noise**2 + np.sum(basis**2))
        found = Evaluation(float(value), slope * theta, 3 * noise, basis)
        if self.refuses is not None:
            found = self.refuses(point, found)
        self.values.append(found.value)
        return found


# ------------------------------------------------------------------------------- coordinates


@each_move
@each_kernel
def test_round_trip(kernel, moves, noise, basis):
    where = coordinates(kernel, moves=moves, noise=noise, basis=basis)
    x = where.vector(where.start)
    assert x.shape == (moves * len(kernel.theta) + noise + 6 * basis,)
    back = where.point(x)
    assert_allclose(back.kernel.theta, kernel.theta, rtol=1e-12)
    assert_allclose(back.noise_variance, 0.05, rtol=1e-12)
    assert_allclose(back.basis, BASIS, rtol=1e-12)
    elsewhere = x + np.linspace(-1, 1, len(x))
    assert_close(where.vector(where.point(elsewhere)), elsewhere)


@each_move
def test_what_does_not_move_stays(moves, noise, basis):
    where = coordinates(moves=moves, noise=noise, basis=basis)
    moved = where.point(where.vector(where.start) + 1.0)
    assert (moved.kernel == where.start.kernel) == (not moves)
    assert (moved.noise_variance == 0.05) == (not noise)
    assert np.array_equal(moved.basis, BASIS) == (not basis)


def test_fixed_parameters_are_no_part_of_the_vector():
    where = coordinates(KERNELS["fixed variance"])
    moved = where.point(where.vector(where.start) + 1.0).kernel
    assert moved.variance == 1.3
    assert np.all(moved.length_scale > [0.5, 0.9])


def test_units_of_a_step():
    """A step of one is a tenth of a logarithm, or of the unit of an input."""
    where = coordinates()
    moved = where.point(where.vector(where.start) + 1.0)
    assert_allclose(moved.kernel.theta, where.start.kernel.theta + 0.1)
    assert_allclose(np.log(moved.noise_variance), np.log(0.05) + 0.1)
    assert_allclose(moved.basis, BASIS + 0.1 * SCALE)


@each_move
@each_kernel
def test_the_gradient_is_that_of_the_vector(kernel, moves, noise, basis):
    where = coordinates(kernel, moves=moves, noise=noise, basis=basis)
    bowl, h = Bowl(kernel.theta + 0.3), 1e-4
    x = where.vector(where.start)
    gradient = where.gradient(bowl(where.point(x)))
    assert gradient.shape == x.shape
    for i, step in enumerate(h * np.eye(len(x))):
        slope = bowl(where.point(x + step)).value - bowl(where.point(x - step)).value
        assert_allclose(gradient[i], slope / (2 * h), rtol=1e-6, atol=1e-8)


# ------------------------------------------------------------------------------------ bounds


def ends(where):
    """The points at the lower and at the upper bounds."""
    bounds = where.bounds()
    assert bounds.shape == (len(where.vector(where.start)), 2)
    assert np.all(bounds[:, 0] <= bounds[:, 1])
    return where.point(bounds[:, 0]), where.point(bounds[:, 1])


@each_move
@each_kernel
def test_the_start_is_within_the_bounds(kernel, moves, noise, basis):
    where = coordinates(kernel, moves=moves, noise=noise, basis=basis)
    ends(where)
    x, bounds = where.vector(where.start), where.bounds()
    assert np.all(bounds[:, 0] < x)
    assert np.all(x < bounds[:, 1])


def test_bounds_of_the_kernel():
    kernel = Gaussian(1.3, [0.5, 0.9], variance_bounds=(1.0, 2.0), length_scale_bounds=(0.1, 3.0))
    low, high = ends(coordinates(kernel))
    assert_allclose([low.kernel.variance, high.kernel.variance], [1.0, 2.0])
    assert_allclose([low.kernel.length_scale, high.kernel.length_scale], [[0.1] * 2, [3.0] * 2])


@pytest.mark.parametrize("reach", [3.0, 100.0])
def test_bounds_by_the_reach(reach):
    low, high = ends(coordinates(reach=reach))
    theta = KERNELS["ARD"].theta
    assert_allclose(low.kernel.theta, theta - np.log(reach))
    assert_allclose(high.kernel.theta, theta + np.log(reach))


def test_the_reach_narrows_the_bounds_of_the_kernel():
    kernel = Gaussian(1.0, 1.0, variance_bounds=(0.9, 1e3), length_scale_bounds=(1e-3, 1.1))
    low, high = ends(coordinates(kernel, reach=10.0))
    assert_allclose([low.kernel.variance, high.kernel.variance], [0.9, 10.0])
    assert_allclose([low.kernel.length_scale, high.kernel.length_scale], [0.1, 1.1])


@pytest.mark.parametrize(
    ("start", "low", "high"),
    [(0.05, 2e-6, 0.6), (0.5, 2e-6, 1.0), (1.8, 2e-6, 3.6), (1e-7, 1e-7, 0.6)],
)
def test_bounds_of_the_noise_with_a_basis(start, low, high):
    """Down to a millionth of the variance, 2; not up unless it was high to begin with."""
    found = [end.noise_variance for end in ends(coordinates(noise_variance=start))]
    assert_allclose(found, [low, high])


@pytest.mark.parametrize(("start", "low"), [(0.05, 2e-6), (1e-7, 1e-7)])
def test_bounds_of_the_noise_of_a_full_gp(start, low):
    where = moving_parts(Point(KERNELS["ARD"], start), 2.0)
    assert_allclose([end.noise_variance for end in ends(where)], [low, 20.0])


def test_bounds_of_the_basis():
    low, high = ends(coordinates())
    assert_allclose(low.basis, [BOX[0]] * 3)
    assert_allclose(high.basis, [BOX[1]] * 3)


# ---------------------------------------------------------------------------------- minimise


@each_move
@each_kernel
def test_the_minimum_of_what_moves(kernel, moves, noise, basis):
    where = coordinates(kernel, moves=moves, noise=noise, basis=basis)
    bowl = Bowl(kernel.theta + 0.3)
    found = minimise(bowl, where, max_iter=200, tol=1e-14)
    assert found.converged
    assert not found.interrupted
    assert found.first_value == bowl.values[0]
    theta = bowl.theta if moves else kernel.theta
    assert_allclose(found.point.kernel.theta, theta, atol=1e-3)
    log_noise = bowl.log_noise if noise else np.log(0.05)
    assert_allclose(np.log(found.point.noise_variance), log_noise, atol=1e-3)
    assert_allclose(found.point.basis, bowl.basis if basis else BASIS, atol=1e-3)
    assert_allclose(bowl(found.point).value, found.value, rtol=1e-12)


def test_a_minimum_out_of_bounds():
    """The search ends on the border, and nothing beyond it is ever asked."""
    beyond = BASIS + [5.0, 0.0]
    asked = []

    def note(point, found):
        asked.append(point.basis)
        return found

    bowl = Bowl(KERNELS["ARD"].theta - 10, log_noise=3.0, basis=beyond, refuses=note)
    found = minimise(bowl, coordinates(reach=2.0), max_iter=100)
    assert_allclose(found.point.kernel.theta, KERNELS["ARD"].theta - np.log(2))
    assert_allclose(found.point.noise_variance, 0.6)
    assert_allclose(found.point.basis[:, 0], 1.0)
    assert max(np.max(basis[:, 0]) for basis in asked) <= 1.0 + 1e-12


def test_no_iterations_are_one_evaluation():
    bowl, where = Bowl([1.0, 1.0, 1.0]), coordinates()
    found = minimise(bowl, where, max_iter=0)
    assert len(bowl.values) == 1
    assert found.point is where.start
    assert found.value == found.first_value == bowl.values[0]
    assert found.n_iter == 0
    assert not found.converged


def test_nothing_to_move():
    bowl, where = Bowl([1.0, 1.0, 1.0]), coordinates(moves=False, noise=False, basis=False)
    found = minimise(bowl, where, max_iter=10)
    assert len(bowl.values) == 1
    assert found.point is where.start
    assert (found.value, found.n_iter, found.converged) == (bowl.values[0], 0, True)


def test_the_limit_of_iterations():
    bowl = Bowl([3.0, 2.0, -1.0])
    found = minimise(bowl, coordinates(), max_iter=2)
    assert found.n_iter == 2
    assert not found.converged
    assert found.value == min(bowl.values) < found.first_value


@pytest.mark.parametrize("window", [3, 10])
@pytest.mark.parametrize("with_memory", [False, True])
def test_the_search_ends_where_several_iterations_gain_too_little(with_memory, window):
    def found(**options):
        memory = Memory() if with_memory else None
        where = coordinates(basis=False)
        return minimise(rosenbrock, where, max_iter=200, memory=memory, **options)

    whole, short = found(), found(little=2.0, window=window)
    values = np.array([short.first_value, *short.values])
    gains = values[:-window] - values[window:]
    assert short.converged
    assert np.all(gains[:-1] >= 2.0)
    assert gains[-1] < 2.0
    assert window <= short.n_iter < whole.n_iter
    assert_allclose(short.values, whole.values[: short.n_iter])


def rosenbrock(point):
    """A bent valley in the logarithms of kernel parameters and noise."""
    z = np.append(point.kernel.theta, np.log(point.noise_variance))
    away = z[1:] - z[:-1] ** 2
    slope = np.zeros(len(z))
    slope[:-1] = -400.0 * z[:-1] * away - 2.0 * (1.0 - z[:-1])
    slope[1:] += 200.0 * away
    value = float(np.sum(100.0 * away**2 + (1.0 - z[:-1]) ** 2))
    return Evaluation(value, slope[:-1], float(slope[-1]))


def test_a_deadline_in_the_past():
    bowl, where = Bowl([1.0, 1.0, 1.0]), coordinates()
    found = minimise(bowl, where, max_iter=50, deadline=Deadline.after(-1.0))
    assert len(bowl.values) == 1
    assert found.point is where.start
    assert not found.converged


def test_a_deadline_on_the_way(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    bowl = Bowl([3.0, 2.0, -1.0])
    found = minimise(bowl, coordinates(), max_iter=50, deadline=Deadline(2.5))
    assert found.n_iter == 3  # the clock is read once before the first
    assert not found.converged
    assert found.value == min(bowl.values)


def test_watching():
    seen = []

    def watch(point, value):
        seen.append((point, value))
        return len(seen) == 3

    bowl = Bowl([3.0, 2.0, -1.0])
    found = minimise(bowl, coordinates(), max_iter=50, watch=watch)
    assert len(seen) == found.n_iter == 3
    assert not found.converged
    assert not found.interrupted
    assert np.all(np.diff([value for _, value in seen]) < 0)
    for point, value in seen:
        assert_allclose(Bowl([3.0, 2.0, -1.0])(point).value, value)
    assert found.value == seen[-1][1] == min(bowl.values)
    assert found.values == tuple(value for _, value in seen)
    assert_array_equal(found.point.basis, seen[-1][0].basis)


# --------------------------------------------------------------------------- where it is rough


def no_factor(found):
    raise NotPositiveDefiniteError("K", 3, 0.0, "")


def changed(**parts):
    return lambda found: Evaluation(**(vars(found) | parts))


ROUGH = {
    "no factor": no_factor,
    "value NaN": changed(value=np.nan),
    "value inf": changed(value=np.inf),
    "value -inf": changed(value=-np.inf),
    "gradient NaN": changed(log_noise=np.nan),
    "gradient inf": changed(theta=np.full(3, np.inf)),
}


@pytest.mark.parametrize("rough", ROUGH.values(), ids=ROUGH)
def test_from_where_there_are_no_numbers_the_way_leads_back(rough):
    """The bowl's bottom is out there; the best point is one with numbers, near the border."""
    refused = []

    def refuses(point, found):
        if point.noise_variance > 0.1:
            refused.append(point)
            return rough(found)
        return found

    bowl = Bowl(KERNELS["ARD"].theta + 0.3, log_noise=np.log(0.3), refuses=refuses)
    where = coordinates()
    found = minimise(bowl, where, max_iter=100)
    assert refused
    assert 0.05 < found.point.noise_variance <= 0.1
    assert np.isfinite(found.value)
    assert found.value < found.first_value
    assert_allclose(bowl(found.point).value, found.value, rtol=1e-12)


def test_a_start_without_a_factor_is_an_error():
    bowl = Bowl([1.0, 1.0, 1.0], refuses=lambda point, found: no_factor(found))
    with pytest.raises(NotPositiveDefiniteError):
        minimise(bowl, coordinates(), max_iter=5)


@pytest.mark.parametrize("number", [2, 5])
def test_an_interrupt_returns_the_best_point(number):
    def refuses(point, found):
        if len(bowl.values) == number:
            raise KeyboardInterrupt
        return found

    bowl = Bowl([3.0, 2.0, -1.0], refuses=refuses)
    found = minimise(bowl, coordinates(), max_iter=50, keep_if_interrupted=True)
    assert found.interrupted
    assert not found.converged
    assert found.value == min(bowl.values)
    bowl.refuses = None
    assert_allclose(bowl(found.point).value, found.value, rtol=1e-12)


@pytest.mark.parametrize("number", [1, 4])
def test_an_interrupt_goes_up_where_nobody_wants_half_a_search(number):
    def refuses(point, found):
        if len(bowl.values) == number - 1:
            raise KeyboardInterrupt
        return found

    bowl = Bowl([3.0, 2.0, -1.0], refuses=refuses)
    with pytest.raises(KeyboardInterrupt):
        minimise(bowl, coordinates(), max_iter=50)


def test_the_best_point_need_not_be_the_last():
    """Here it only gets worse, however short the step."""

    def refuses(point, found):
        if len(bowl.values) == 4:
            raise KeyboardInterrupt
        return changed(value=found.value + 100.0 * len(bowl.values))(found)

    bowl, where = Bowl([3.0, 2.0, -1.0], refuses=refuses), coordinates()
    found = minimise(bowl, where, max_iter=50, keep_if_interrupted=True)
    assert found.interrupted
    assert found.value == found.first_value == bowl.values[0]
    assert_allclose(where.vector(found.point), where.vector(where.start))


def test_an_interrupt_of_the_watch():
    def watch(point, value):
        raise KeyboardInterrupt

    bowl = Bowl([3.0, 2.0, -1.0])
    found = minimise(bowl, coordinates(), max_iter=50, watch=watch, keep_if_interrupted=True)
    assert found.interrupted
    assert found.n_iter == 1
    assert found.value == min(bowl.values) < found.first_value


@pytest.mark.parametrize("factor", [0.25, 64.0])
@pytest.mark.parametrize("max_iter", [0, 2, 100])
def test_the_factor_is_for_the_optimiser_alone(factor, max_iter):
    values = []

    def watch(point, value):
        values.append((value, bowl(point).value))
        return False

    bowl = Bowl([1.0, 0.5, -0.5])
    found = minimise(bowl, coordinates(), max_iter=max_iter, factor=factor, watch=watch)
    assert_allclose(found.first_value, bowl.values[0])
    assert_allclose(found.value, bowl(found.point).value)
    assert len(values) == found.n_iter
    if max_iter:
        assert_allclose(*np.transpose(values))
    if max_iter == 100:
        assert_allclose(found.value, 1.5, rtol=1e-5)
