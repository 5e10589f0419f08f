"""Leave-one-out measures: how well a model predicts the rows that it has not seen.

Every family of regression knows, in closed form, the residual `r` (p targets, n rows) and the
predictive variance `t` (n,), noise included, of each row that is left out. A measure is a mean over
rows (a row of weight w counts w times) of a function of both, targets averaged:

==========  =====================================  ===============================================
name        a row's part, `s = mean(r^2)`          what it rewards
==========  =====================================  ===============================================
`loo_cve`   `s`                                    the mean
`nlgpp`     `s / t + log t`                        the predictive density
`gpe`       `s + t`                                the mean, with the variance it claims to have
==========  =====================================  ===============================================

These are equations (2), (3) and (4) of Sundararajan, Keerthi and Shevade's paper on predictive
approaches. To add one, write a subclass and list it in `MEASURES`.
"""

from __future__ import annotations

from typing import Any

from greedygp.arrays import Array

__all__ = ["MEASURES", "ExpectedError", "LooMeasure", "PredictiveDensity", "SquaredError"]


class LooMeasure:
    """A leave-one-out measure. Arrays come from any namespace `xp` of the array API."""

    name: str
    uses_variance = True  # whether t has a part in it
    adds_variance = False  # whether that part is t itself, so that its sum over rows is enough
    # A common factor of kernel and noise leaves the residuals as they are. Where a measure does not
    # tell that factor, or would have it vanish, learning sets it to `mean(s / t)` afterwards.
    tells_scale = False

    @property
    def needs_each_variance(self) -> bool:
        """Whether the sum of the variances over the rows is not enough."""
        return self.uses_variance and not self.adds_variance

    def each(self, xp: Any, square: Array, t: Array) -> Array:
        """Return each row's part (n,), given `mean(r^2)` over the targets and `t`."""
        raise NotImplementedError

    def slopes(self, xp: Any, r: Array, t: Array, share: Array) -> tuple[Array, Array]:
        """Return the derivatives by r (p, n) and by t (n,); `share` is what each row counts."""
        raise NotImplementedError


class SquaredError(LooMeasure):
    """LOO-CVE, equation (2)."""

    name = "loo_cve"
    uses_variance = False

    def each(self, xp: Any, square: Array, t: Array) -> Array:
        return square

    def slopes(self, xp: Any, r: Array, t: Array, share: Array) -> tuple[Array, Array]:
        return 2.0 * r * (share / r.shape[0])[None, :], xp.zeros_like(share)


class PredictiveDensity(LooMeasure):
    """NLGPP, equation (3): twice the negative log density, up to a constant."""

    name = "nlgpp"
    tells_scale = True

    def each(self, xp: Any, square: Array, t: Array) -> Array:
        return square / t + xp.log(t)

    def slopes(self, xp: Any, r: Array, t: Array, share: Array) -> tuple[Array, Array]:
        by_r = 2.0 * r * (share / (r.shape[0] * t))[None, :]
        return by_r, share * (1.0 - xp.mean(r * r, axis=0) / t) / t


class ExpectedError(LooMeasure):
    """GPE, equation (4): the squared error that the model expects of itself is added."""

    name = "gpe"
    adds_variance = True

    def each(self, xp: Any, square: Array, t: Array) -> Array:
        return square + t

    def slopes(self, xp: Any, r: Array, t: Array, share: Array) -> tuple[Array, Array]:
        return 2.0 * r * (share / r.shape[0])[None, :], share


MEASURES: dict[str, LooMeasure] = {
    measure.name: measure for measure in (SquaredError(), PredictiveDensity(), ExpectedError())
}
