"""Moments of the probit likelihood under a Gaussian, and the Gaussian site that matches them.

For a row with label y (+1 or -1), bias b, weight w and the marginal N(f; mu, v) of its latent
value,

    Z = integral of Phi(y (f + b))^w N(f; mu, v) df,  alpha = dlog Z/dmu,  nu = -d2log Z/dmu2,

and the site exp(-p (f - m)^2 / 2) that gives the same mean and variance has

    p = nu / (1 - v nu),  m = mu + alpha / nu      (equation (2) of the additive-model paper).

For w = 1 all of it is known in closed form. With `s^2 = 1 + v`, `z = y (mu + b) / s`,
`r = phi(z) / Phi(z)` and `q = r (r + z)`, which lies between 0 and 1:

    log Z = log Phi(z),  alpha = y r / s,  nu = q / s^2,
    p = q / (1 + v (1 - q)),  m = mu + y s / (r + z),

a form that loses no digits for far-out points: `r` comes from the scaled complementary error
function, `r + z` and `1 - q` from their series where z is very negative. It follows that p < 1.

For other weights the moments are integrals by Gauss and Legendre's rule on either side of the mode
of the integrand. It is log-concave, and in units of the prior's spread its logarithm bends down by
at least one: Newton's method finds the mode monotonically, and the integrand ends within `REACH` of
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr

__all__ = ["Moments", "cavity", "mills", "probit_moments"]

FAR = -200.0  # below this z the series are more accurate than the differences
DROP = 40.0  # from the mode to where the integrand ends, in logarithms
REACH = np.sqrt(2.0 * DROP)
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(48)
MODE_STEPS = 100
HALVINGS = 20


@dataclass
class Moments:
    """What a row's likelihood says about its latent value; arrays of one shape."""

    log_z: np.ndarray
    alpha: np.ndarray
    nu: np.ndarray
    shrinkage: np.ndarray  # 1 - v nu: the variance after, relative to before
    site_mean: np.ndarray
    site_precision: np.ndarray

    def __getitem__(self, key) -> Moments:
        return Moments(*(getattr(self, name)[key] for name in self.__dataclass_fields__))


def cavity(
    f: np.ndarray, a: np.ndarray, means: np.ndarray, precisions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and variance of basis rows without their own sites, and `1 - p a`."""
    rest = np.maximum(1.0 - precisions * a, 1e-12)
    return (f - precisions * a * means) / rest, a / rest, rest


def mills(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `r = phi(z) / Phi(z)`, `r + z` and `1 - r (r + z)`, accurate for every z."""
    z = np.asarray(z, dtype=np.float64)
    r = np.sqrt(2.0 / np.pi) / erfcx(-z * np.sqrt(0.5))
    gap = r + z
    rest = 1.0 - r * gap
    far = z < FAR
    if np.any(far):
        x = -z[far]
        square = (1.0 / x) ** 2
        gap[far] = (1.0 - 2.0 * square + 10.0 * square**2) / x
        rest[far] = square * (1.0 - 6.0 * square)
    return r, gap, rest


def probit_moments(
    mean: np.ndarray,
    variance: np.ndarray,
    y: np.ndarray,
    bias: float,
    weights: np.ndarray | None = None,
) -> Moments:
    """Return the moments and the matching sites of many rows.

    Parameters
    ----------
    mean, variance, y : (n,) arrays
        Marginals of the latent values, and labels +1 or -1.
    bias : float
    weights : (n,) array or None
        Powers of the likelihood; None: one.

    Examples
    --------
    >>> import numpy as np
    >>> from greedygp.classification.sites import probit_moments
    >>> moments = probit_moments(np.zeros(1), np.ones(1), np.ones(1), 0.0)
    >>> float(np.exp(moments.log_z[0]))
    0.5
    """
    s = np.sqrt(1.0 + variance)
    z = y * (mean + bias) / s
    r, gap, rest = mills(z)
    q = r * gap
    moments = Moments(
        log_z=log_ndtr(z),
        alpha=y * r / s,
        nu=q / s**2,
        shrinkage=(1.0 + variance * rest) / s**2,
        site_mean=mean + y * s / gap,
        site_precision=q / (1.0 + variance * rest),
    )
    if weights is not None:
        other = np.flatnonzero(weights != 1.0)
        if len(other):
            part = _weighted(mean[other], variance[other], y[other], bias, weights[other])
            for name in Moments.__dataclass_fields__:
                getattr(moments, name)[other] = getattr(part, name)
    return moments


def _weighted(mean, variance, y, bias: float, w) -> Moments:
    """Moments of the likelihood to the power w, in units `t = (f - mu) / sqrt(v)`."""
    width = np.sqrt(variance)
    centre = y * (mean + bias)
    t, log_weights = _nodes(centre, y * width, w)
    x = centre[:, None] + (y * width)[:, None] * t
    log_terms = w[:, None] * log_ndtr(x) - 0.5 * t**2 + log_weights
    most = np.max(log_terms, axis=1)
    terms = np.exp(log_terms - most[:, None])
    total = np.sum(terms, axis=1)
    terms /= total[:, None]
    log_z = most + np.log(total) - 0.5 * np.log(2.0 * np.pi)
    r, gap, _ = mills(x)
    slope = w[:, None] * y[:, None] * r  # d(w log Phi)/df
    alpha = np.sum(terms * slope, axis=1)
    spread = np.sum(terms * (t - np.sum(terms * t, axis=1)[:, None]) ** 2, axis=1)
    bend = np.sum(terms * w[:, None] * r * gap, axis=1)
    nu_small = bend - np.sum(terms * (slope - alpha[:, None]) ** 2, axis=1)
    # Either form cancels where the other one does not.
    gone = 1.0 - spread
    wide = (variance > 1.0) & (gone > 1e-7)
    nu = np.where(wide, gone / np.maximum(variance, 1.0), np.maximum(nu_small, 1e-8 * bend))
    nu = np.maximum(nu, 1e-300)
    spread = np.minimum(spread, 1.0)
    return Moments(log_z, alpha, nu, spread, mean + alpha / nu, nu / spread)


def _nodes(centre, slope, w) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and log weights for integrals of `exp(w log Phi(centre + slope t) - t^2/2)`."""

    def height(t: np.ndarray) -> np.ndarray:
        return w * log_ndtr(centre + slope * t) - 0.5 * t**2

    mode = _mode(centre, slope, w)
    end = height(mode) - DROP
    nodes, log_weights = [], []
    for side in (-1.0, 1.0):
        near, far = np.zeros_like(mode), np.full_like(mode, REACH)
        for _ in range(HALVINGS):
            middle = 0.5 * (near + far)
            inside = height(mode + side * middle) > end
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        nodes.append(mode[:, None] + side * 0.5 * far[:, None] * (1.0 + NODES))
        log_weights.append(np.log(0.5 * far)[:, None] + np.log(NODE_WEIGHTS))
    return np.concatenate(nodes, axis=1), np.concatenate(log_weights, axis=1)


def _mode(centre, slope, w) -> np.ndarray:
    """Return where `w log Phi(centre + slope t) - t^2 / 2` is largest."""
    t = np.zeros_like(centre)
    for _ in range(MODE_STEPS):
        r, gap, _ = mills(centre + slope * t)
        step = (w * slope * r - t) / (1.0 + w * slope**2 * r * gap)
        t += step
        if np.all(np.abs(step) <= 1e-10 * (1.0 + np.abs(t))):
            break
    return t
