"""Errors that say what went wrong in the mathematics and what to change."""

__all__ = ["NotPositiveDefiniteError"]


class NotPositiveDefiniteError(ValueError):
    """A matrix that must be positive definite is not, even with jitter on its diagonal."""

    def __init__(self, matrix: str, size: int, jitter: float, remedy: str):
        super().__init__(
            f"{matrix} ({size} x {size}) is not positive definite, even with a jitter of "
            f"{jitter:.1e} on its diagonal. {remedy}"
        )
