"""Errors that say what went wrong in the mathematics and what to change; advice that says it."""

__all__ = ["ClusterError", "FitInterrupted", "ModelAdvice", "NotPositiveDefiniteError"]


class ClusterError(RuntimeError):
    """A Dask cluster has no workers, or was lost while it worked.

    Examples
    --------
    >>> from greedygp.exceptions import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a fit, and the estimator holds the best model that it had until then.

    It is raised when that model has been stored, so that the estimator can be used and everything
    around the fit (cross-validation, a loop over models) stops. Where there was no model yet,
    `KeyboardInterrupt` itself goes up.

    Examples
    --------
    >>> from greedygp.exceptions import FitInterrupted
    >>> issubclass(FitInterrupted, KeyboardInterrupt)
    True
    """

    def __init__(self, estimator: str = "The estimator"):
        super().__init__(estimator)
        self.estimator = estimator

    def __str__(self) -> str:
        return f"{self.estimator} holds the best model found before the fit was interrupted."


class NotPositiveDefiniteError(ValueError):
    """A matrix that must be positive definite is not, not even with jitter, if any was tried."""

    def __init__(self, matrix: str, size: int, jitter: float, remedy: str):
        tried = f", even with a jitter of {jitter:.1e} on its diagonal" if jitter > 0 else ""
        super().__init__(f"{matrix} ({size} x {size}) is not positive definite{tried}. {remedy}")


class ModelAdvice(UserWarning):
    """The fit went as it should, but something that the sentence names would make it better.

    Examples
    --------
    >>> import warnings
    >>> from greedygp.exceptions import ModelAdvice
    >>> warnings.simplefilter("ignore", ModelAdvice)  # for those who know better
    """
