"""Errors that say what went wrong in the mathematics and what to change; advice that says it."""

__all__ = ["ModelAdvice", "NotPositiveDefiniteError"]


class NotPositiveDefiniteError(ValueError):
    """A matrix that must be positive definite is not, even with jitter on its diagonal."""

    def __init__(self, matrix: str, size: int, jitter: float, remedy: str):
        super().__init__(
            f"{matrix} ({size} x {size}) is not positive definite, even with a jitter of "
            f"{jitter:.1e} on its diagonal. {remedy}"
        )


class ModelAdvice(UserWarning):
    """The fit went as it should, but something that the sentence names would make it better.

    Examples
    --------
    >>> import warnings
    >>> from greedygp.exceptions import ModelAdvice
    >>> warnings.simplefilter("ignore", ModelAdvice)  # for those who know better
    """
