"""`GPRegressor`: validates, fits, stores. No algebra here."""

from __future__ import annotations

import os
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel as ScikitLearnKernel
from sklearn.utils import check_random_state

from greedygp import advice
from greedygp.arrays import Array, to_numpy
from greedygp.data import TrainingData
from greedygp.dense.fitting import DenseFit, FittedGP
from greedygp.dense.influence import DenseInfluence
from greedygp.dense.parameters import check_parameters
from greedygp.dense.pathwise import pathwise_samples
from greedygp.dense.posterior import DensePosterior
from greedygp.exceptions import FitInterrupted
from greedygp.inputs import HolesMixin
from greedygp.jackknife import Influence
from greedygp.kernels import Kernel
from greedygp.prediction import PredictionMixin
from greedygp.progress import Deadline, FitProgress
from greedygp.validation import check_training_data, check_weights
from greedygp.versions import CallbackSupportMixin, with_callbacks

__all__ = ["GPRegressor"]

LIMITS = "max_iter, time_limit or tol"
REMEDIES = {"stalled": "tol or noise_variance"}


class GPRegressor(
    HolesMixin,
    PredictionMixin,
    CallbackSupportMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Full Gaussian process regression, without the n x n matrix where that is too large.

    The hyperparameters are learnt on a random subset of the rows; then the system of all rows is
    solved, by a Cholesky factor or by one of several iterative methods, which evaluate the kernel
    as they need it. See the user guide for the solvers and the paper.

    Parameters
    ----------
    kernel : Kernel, scikit-learn kernel or None
        Where learning starts; None: an ARD Gaussian scaled to the data.
    noise_variance : float or None
        Held fixed where given (in the units of the normalised y if `normalize_y`); None: learnt.
    noise_model : {"auto", "constant", "input"}
        Whether the noise depends on the input: "input" learns its logarithm as a function of the
        inputs and of the predicted mean, from the errors of left-out rows; "auto" does so unless
        `noise_variance` is given, and keeps the function where it predicts left-out rows better
        than one constant does. Then noisier rows also count less for the mean, where that predicts
        left-out rows better (up to 4000 rows), and so do rows that a column of two values marks as
        noisier (a filled number, say).
    solver : {"auto", "cholesky", "cg", "pcg", "smo", "bcd_cyclic", "bcd_gradient", "gbcd"}
        Cholesky factor, conjugate gradients, the same with a randomly pivoted Cholesky
        preconditioner, sequential minimal optimisation, block coordinate descent with blocks in
        order, with the largest gradients, or chosen greedily. Predictive variances that no factor
        gives are solved for in the same way.
    block_size : int or None
        Variables of a block (500 in the paper); None: by the number of rows.
    working_set : int or None
        Random candidates for a place in a greedy block; None: all rows are looked at.
    block_choice : {"residual", "prefitting"}
        How a candidate for a greedy block is judged: by what it alone would gain beside the block's
        step, or by what the block would gain with it, solved for again; that costs more.
    accelerate : bool
        Whether "gbcd" goes beyond the paper: several variables enter at once, steps are made
        conjugate to earlier ones, and some of them are made over all variables at once,
        preconditioned by a first block.
    preconditioner_rank : int or None
        For "pcg", and the first block of "gbcd" with `accelerate`; None: by the number of rows.
    tol : float
        The solve ends when the largest entry of the gradient, computed from scratch, is no more
        than this, relative to the standard deviation of y. That of predictive variances may end
        earlier: when it is certain that none of them is too large by more than 100 tol, relatively.
    max_iter : int or None
        The most steps of the solver; None: no limit.
    warm_start : bool
        Whether the solve starts from the solution of the fit before (of as many rows).
    memory_limit : float
        Bytes that an n x n matrix may take; beyond that it is never held. What blocks, factors of
        lower rank and vectors need comes on top.
    objective : {"nlml", "loo_cve", "nlgpp", "gpe", None}
        What hyperparameters are learnt by: evidence, or a leave-one-out measure in closed form.
        None: the kernel is held fixed; noise that is not given is learnt by the evidence.
    hyperparameter_rows : int
        Random rows that hyperparameters are learnt on; all of them where there are no more.
    normalize_y : bool
        Whether targets are centred and scaled to unit variance for the fit.
    checkpoint : path or None
        A file in which the state of the solve is kept while it runs. A fit that finds it goes on
        from there; it is removed when the solve has converged.
    missing : {"error", "indicator"}
        What becomes of missing values and words in X. "indicator": a missing number becomes the
        median of its column, and a feature marks it; words and pandas' categoricals become a
        feature per word.
    time_limit : float or None
        Seconds after which the fit ends with what it has.
    random_state : int, RandomState or None

    Attributes
    ----------
    dual_coef_ : (n,) or (n, p) array
        The solution of `(K + noise) a = y`, in the units of the normalised y.
    kernel_ : Kernel
    noise_variance_ : float
        The constant noise variance that the mean was learnt with, in the units of the normalised
        y. :meth:`noise_variance_at` gives the noise that predictions have.
    noise_model_ : {"constant", "input"}
        Whether the noise of predictions depends on the input.
    widening_ : float
        What kernel and noise were multiplied by after learning, for error bars of new rows.
    solver_ : str
        The solver that was used.
    n_iter_ : int
        Its steps.
    converged_ : bool
    status_ : str
        Why the solve ended: "converged", "max_iter", "time_limit", "callback", "interrupted" or
        "stalled"; "interrupted", too, where Ctrl-C ended the learning before it.
    gradient_norm_ : float
        The largest entry of the gradient at the end.
    kernel_passes_ : float
        Kernel entries that were evaluated by the solve, over n^2.
    history_ : structured array with the fields objective, gradient_norm, seconds, kernel_passes
        One line for the start, and one for every step.
    objective_value_ : float
        The learning objective on the rows that it saw, before widening; NaN where nothing was
        learnt.
    trace_ : structured array with the fields round, iteration, value
        The learning objective at the start and after each iteration; of an interrupted fit, what
        the search minimised that Ctrl-C ended.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had them.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from greedygp import GPRegressor
    >>> X, y = make_friedman1(400, noise=0.5, random_state=0)
    >>> model = GPRegressor(solver="gbcd", random_state=0).fit(X[:300], y[:300])
    >>> mean, std = model.predict(X[300:], return_std=True)
    >>> round(model.score(X[300:], y[300:]), 1)
    1.0
    """

    _counts: Array | None = None  # how many rows each stands for; files of 0.1.0 lack it

    kernel_: Kernel
    noise_variance_: float

    def __init__(
        self,
        *,
        kernel: Kernel | ScikitLearnKernel | None = None,
        noise_variance: float | None = None,
        noise_model: str = "auto",
        solver: str = "auto",
        block_size: int | None = None,
        working_set: int | None = 60,
        block_choice: str = "residual",
        accelerate: bool = True,
        preconditioner_rank: int | None = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        warm_start: bool = False,
        memory_limit: float = 2.0**31,
        objective: str | None = "nlml",
        hyperparameter_rows: int = 2000,
        normalize_y: bool = True,
        checkpoint: str | os.PathLike | None = None,
        missing: str = "error",
        time_limit: float | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.noise_model = noise_model
        self.solver = solver
        self.block_size = block_size
        self.working_set = working_set
        self.block_choice = block_choice
        self.accelerate = accelerate
        self.preconditioner_rank = preconditioner_rank
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.memory_limit = memory_limit
        self.objective = objective
        self.hyperparameter_rows = hyperparameter_rows
        self.normalize_y = normalize_y
        self.checkpoint = checkpoint
        self.missing = missing
        self.time_limit = time_limit
        self.random_state = random_state

    # --- fitting -------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn hyperparameters and solve the system.

        Parameters
        ----------
        X : (n, D) array-like
            NumPy, pandas, lists; or torch tensors, which are worked on where they are.
        y : (n,) or (n, p) array-like
        sample_weight : (n,) array-like, optional
            A weight of w means the row w times; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        deadline = Deadline.after(self.time_limit)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        X, y = check_training_data(self, X, y)
        data = TrainingData(X, y, check_weights(sample_weight, X), self.normalize_y)
        self._target_shape, self._scale = tuple(y.shape[1:]), data.scale
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        progress = FitProgress(self, given, max_subtasks=self.max_iter)
        fit = DenseFit(self, data, self._earlier_solution(data), rng, progress, deadline)
        fitted = fit.run()
        self._store(data, fitted)
        progress.end()
        if fitted.interrupted:
            raise FitInterrupted(type(self).__name__)
        self._warn(fitted)
        advice.warn(advice.of_dense(self, data))
        return self

    def _earlier_solution(self, data: TrainingData) -> Array | None:
        """Return where a warm start begins, (p, n), if there is something to begin with."""
        earlier = getattr(self, "dual_coef_", None) if self.warm_start else None
        if earlier is None:
            return None
        earlier = to_numpy(earlier).reshape(earlier.shape[0], -1)
        if earlier.shape != (data.n_given, data.y.shape[0]):
            return None
        used = earlier if data.used is None else earlier[data.used]
        return data.backend.asarray(used.T.copy())

    def _store(self, data: TrainingData, fitted: FittedGP) -> None:
        """Keep what predictions need, and what happened."""
        solution = fitted.solution
        self.kernel_, self.noise_variance_ = fitted.point.kernel, fitted.point.noise_variance
        self.objective_value_, self.trace_ = fitted.objective_value, fitted.trace
        self.widening_ = fitted.widening
        self._posterior, self._noise = fitted.posterior, fitted.noise
        self.noise_model_ = "constant" if fitted.noise is None else "input"
        self._targets, self._loo_dropped = data.y, data.dropped
        self._counts = data.weights
        places = np.zeros((data.y.shape[0], data.n_given))
        places[:, slice(None) if data.used is None else data.used] = to_numpy(solution.alpha)
        coefficients = data.backend.asarray(places)
        self.dual_coef_ = coefficients.T if self._target_shape else coefficients[0, :]
        self.solver_ = fitted.solver
        self.n_iter_ = solution.n_iter
        self.status_, self.converged_ = solution.status, solution.converged
        self.gradient_norm_ = solution.norm
        self.kernel_passes_ = solution.kernel_passes
        self.history_ = solution.history_array()

    def _warn(self, fitted: FittedGP) -> None:
        """Warn of a solve that did not come to its end."""
        solution = fitted.solution
        if not solution.converged:
            warnings.warn(
                f"The solve ended with {solution.status!r} after {solution.n_iter} steps of "
                f"{fitted.solver!r} at a gradient of {solution.norm:.1e}; {fitted.tol:.1e} was "
                f"asked for. Raise {REMEDIES.get(solution.status, LIMITS)}, or try another solver.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # --- samples and leave-one-out ---------------------------------------------------------------

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        *,
        noise: bool = True,
        pathwise: bool = False,
    ) -> Array:
        """Draw samples of the targets at X from the posterior.

        Parameters
        ----------
        X : (N, D) array-like
        n_samples : int
        random_state : int, RandomState or None
        noise : bool
            Whether the samples include the noise of a target.
        pathwise : bool
            Whether samples of the prior are moved to the posterior, which takes one solve for each
            sample, instead of drawing from the N x N covariance, which takes N solves: for many
            inputs and few samples. The covariances of the prior are then those of a factor of
            limited rank.

        Returns
        -------
        (N, n_samples) or (N, p, n_samples) array
        """
        if not pathwise:
            return super().sample_y(X, n_samples, random_state, noise=noise)

        def draw(X: Array, rng: np.random.RandomState) -> np.ndarray:
            assert isinstance(self._posterior, DensePosterior)
            drawn = to_numpy(pathwise_samples(self._posterior, X, n_samples, rng))
            if noise:
                variance = self._noise_at(X, self._posterior.mean(X))
                std = np.sqrt(np.broadcast_to(to_numpy(variance), drawn.shape[:1]))
                drawn = drawn + std[:, None, None] * rng.standard_normal(drawn.shape)
            return drawn

        return self._drawn(X, n_samples, random_state, draw)

    def _left_out(self) -> tuple[Array, Array]:
        assert isinstance(self._posterior, DensePosterior)
        mean, variance = self._posterior.leave_one_out(self._targets)
        if self._noise is not None:
            variance = self._noise.instead_of_constant(variance, self._posterior.X, mean)
        return mean, variance

    def _influence(self) -> Influence:
        assert isinstance(self._posterior, DensePosterior)
        return DenseInfluence(self._posterior, self._noise, self._targets, self._counts)

    def loo_predict(self) -> tuple[Array, Array]:
        """Predict every training row from all the others, in closed form.

        It takes the Cholesky factor of the n x n matrix, which is made if it is not there and
        `memory_limit` allows it.

        Returns
        -------
        mean, std : (n,) or (n, p) arrays
            The leave-one-out mean and standard deviation (with noise) of each target; a row of
            weight 0 was left out of the fit anyway.
        """
        return super().loo_predict()
