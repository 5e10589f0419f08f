"""What type checkers know of predictions: an array, or a pair of them, by what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, overload

import numpy as np

__all__ = ["DeviatingMixin", "PredictingMixin", "Table"]


class Table(Protocol):
    """A dataframe in memory. (Those of Dask have no `to_numpy`: their predictions are lazy.)"""

    @property
    def columns(self) -> Any:
        """Names of the columns."""

    def to_numpy(self) -> np.ndarray:
        """Return the values."""


# Of these predictions are NumPy's; of torch's tensors, Dask's arrays and the like they are not.
InMemory = np.ndarray | Sequence[Any] | Table


class PredictingMixin:
    """`predict` of a Gaussian process; a subclass has the answer."""

    def _predict(self, X: Any, return_std: bool, return_cov: bool, noise: bool) -> Any:
        raise NotImplementedError

    @overload
    def predict(
        self,
        X: InMemory,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        *,
        noise: bool = True,
    ) -> np.ndarray: ...

    @overload
    def predict(
        self,
        X: InMemory,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        *,
        noise: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self,
        X: InMemory,
        return_std: Literal[False] = False,
        *,
        return_cov: Literal[True],
        noise: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, noise: bool = True
    ) -> Any: ...

    def predict(
        self, X: Any, return_std: bool = False, return_cov: bool = False, *, noise: bool = True
    ) -> Any:
        """Predict the targets.

        Parameters
        ----------
        X : (N, D) array-like
            A memory map, or a :class:`~greedygp.RowSource`, is worked through in chunks. Of a Dask
            array or dataframe the answers are Dask arrays, which nothing has been computed of yet.
        return_std : bool
            Whether the standard deviation is returned too.
        return_cov : bool
            Whether the full covariance is returned too.
        noise : bool
            Whether they include the noise of a target (as opposed to the latent function).

        Returns
        -------
        mean : (N,) or (N, p) array
        std : (N,) or (N, p) array, if `return_std`
        cov : (N, N) or (N, N, p) array, if `return_cov`
        """
        return self._predict(X, return_std, return_cov, noise)


class DeviatingMixin:
    """`predict` of a linear model with error bars; a subclass has the answer."""

    def _predict(self, X: Any, return_std: bool, noise: bool) -> Any:
        raise NotImplementedError

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, *, noise: bool = True
    ) -> np.ndarray: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[True], *, noise: bool = True
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def predict(self, X: Any, return_std: bool = False, *, noise: bool = True) -> Any: ...

    def predict(self, X: Any, return_std: bool = False, *, noise: bool = True) -> Any:
        """Predict the targets.

        Parameters
        ----------
        X : (N, D) array-like
        return_std : bool
            Whether the standard deviation is returned too: that of the weights' posterior
            (the intercept's included) and of the noise.
        noise : bool
            Whether it includes the noise of a target.

        Returns
        -------
        mean : (N,) array
        std : (N,) array, if `return_std`
        """
        return self._predict(X, return_std, noise)
