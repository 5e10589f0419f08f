"""Sparse Gaussian process regression, straight from the definitions.

Everything here is dense NumPy in float64 and nothing is updated: each number is computed from
scratch, from the joint Gaussian that the approximation defines, by refitting without a row, by
trying every candidate. Slow on purpose. Nothing is imported from the package.

The approximations (Quinonero-Candela and Rasmussen, 2005) replace the prior covariance between
rows by ``Q_ab = K_au K_uu^-1 K_ub`` and add an independent variance ``lambda_i`` to row ``i``::

    SoR   lambda_i = s2                 prior variance of a test input  Q_**
    DTC   lambda_i = s2                 prior variance of a test input  k_**
    FITC  lambda_i = k_i - Q_ii + s2    prior variance of a test input  k_**

A row of weight ``w`` stands for ``w`` copies of it, hence ``lambda_i / w_i`` for their mean.
Targets always have shape ``(n, T)`` inside; a vector is one column.
"""

from dataclasses import dataclass, replace

import numpy as np

from reference.loo_formulas import LOO_FORMULAS

APPROXIMATIONS = ("sor", "dtc", "fitc")
# Criteria without a form of their own for FITC: they choose, and are measured, by DTC's formulas.
CRITERIA_OF_DTC = ("random", "nlpp", "matching_pursuit", "info_gain")
DEPENDENT = 1e-9  # a candidate with a smaller share of unexplained variance is not considered


# ------------------------------------------------------------------------------- kernels


def gaussian_kernel(variance=1.0, length_scale=1.0):
    """Return ``kernel(A, B)``: variance * exp(-0.5 * sum_k ((a_k - b_k) / length_scale_k)^2)."""

    def kernel(A, B):
        difference = (A[:, None, :] - B[None, :, :]) / np.asarray(length_scale, dtype=float)
        return variance * np.exp(-0.5 * np.sum(difference**2, axis=2))

    return kernel


# ---------------------------------------------------------------------- generic Gaussians


def condition(mean, cov, hidden, seen, value):
    """Mean and covariance of the variables ``hidden`` given that ``seen`` take ``value``."""
    cross = cov[np.ix_(hidden, seen)]
    within = cov[np.ix_(seen, seen)]
    gain = np.linalg.solve(within, cross.T).T
    return (
        mean[hidden] + gain @ (value - mean[seen]),
        cov[np.ix_(hidden, hidden)] - gain @ cross.T,
    )


def gaussian_kl(mean_p, cov_p, mean_q, cov_q):
    """Kullback-Leibler divergence KL(p || q) between two multivariate normals."""
    difference = mean_q - mean_p
    log_det_p = np.linalg.slogdet(cov_p)[1]
    log_det_q = np.linalg.slogdet(cov_q)[1]
    trace = np.trace(np.linalg.solve(cov_q, cov_p))
    mahalanobis = difference @ np.linalg.solve(cov_q, difference)
    return 0.5 * (trace + mahalanobis - len(mean_p) + log_det_q - log_det_p)


def log_normal_density(value, cov):
    """Log density of N(0, cov) at ``value``."""
    log_det = np.linalg.slogdet(cov)[1]
    return -0.5 * (value @ np.linalg.solve(cov, value) + log_det + len(value) * np.log(2 * np.pi))


# ------------------------------------------------------------------------------ the model


@dataclass(frozen=True)
class SparseGP:
    """A sparse GP with given basis inputs: the data and the definitions, no stored results."""

    kernel: object
    basis: np.ndarray  # (m, D)
    X: np.ndarray  # (n, D)
    y: np.ndarray  # (n, T)
    noise_variance: float
    approximation: str = "dtc"
    weights: np.ndarray | None = None  # (n,)

    def __post_init__(self):
        y = np.asarray(self.y, dtype=float)
        weights = np.ones(len(self.X)) if self.weights is None else np.asarray(self.weights, float)
        object.__setattr__(self, "y", y.reshape(len(y), -1))
        object.__setattr__(self, "weights", weights)
        assert self.approximation in APPROXIMATIONS

    def low_rank(self, A, B):
        """Q(A, B) = K(A, u) K_uu^-1 K(u, B)."""
        K_uu = self.kernel(self.basis, self.basis)
        return self.kernel(A, self.basis) @ np.linalg.solve(K_uu, self.kernel(self.basis, B))

    def row_variance(self):
        """``lambda_i``, the independent variance of one copy of each row."""
        if self.approximation != "fitc":
            return np.full(len(self.X), self.noise_variance)
        k = np.diag(self.kernel(self.X, self.X))
        return k - np.diag(self.low_rank(self.X, self.X)) + self.noise_variance

    def without_row(self, i):
        """Return the same model without row ``i`` (all of its copies). The basis stays."""
        kept = np.arange(len(self.X)) != i
        return replace(self, X=self.X[kept], y=self.y[kept], weights=self.weights[kept])

    def without_one_copy(self, i):
        """Return the same model with ``min(w_i, 1)`` copies of row ``i`` less. The basis stays."""
        if self.weights[i] <= 1:
            return self.without_row(i)
        weights = self.weights.copy()
        weights[i] -= 1
        return replace(self, weights=weights)

    def repeated(self):
        """Return the model whose rows are physically repeated (integer weights only)."""
        copies = self.weights.astype(int)
        assert np.array_equal(copies, self.weights), "only integer weights can be repeated"
        rows = np.repeat(np.arange(len(self.X)), copies)
        return replace(self, X=self.X[rows], y=self.y[rows], weights=None)

    def with_basis(self, basis):
        return replace(self, basis=basis)

    # -- prediction, twice ---------------------------------------------------------------

    def predict(self, X_new, noise=True):
        """Predictive mean (t, T) and covariance (t, t) from the joint Gaussian of all rows.

        Conditions the n x n prior ``Q_ff + Lambda`` on the targets: no m x m normal equations.
        """
        t, n = len(X_new), len(self.X)
        both = np.vstack([X_new, self.X])
        prior = self.low_rank(both, both)
        if self.approximation != "sor":
            prior[:t, :t] = self.kernel(X_new, X_new)
        prior[t:, t:] += np.diag(self.row_variance() / self.weights)
        mean = np.zeros((t + n, self.y.shape[1]))
        mean, cov = condition(mean, prior, np.arange(t), np.arange(t, t + n), self.y)
        return mean, cov + (self.noise_variance * np.eye(t) if noise else 0.0)

    def predict_explicit(self, X_new, noise=True):
        """Predict as equation (1) of the paper prints it, with explicit inverses.

        ``Sigma = (K_uu + K_uf Lambda^-1 K_fu)^-1``, mean ``K_*u Sigma K_uf Lambda^-1 y``,
        covariance ``K_** - Q_** + K_*u Sigma K_u*`` (SoR: without ``K_** - Q_**``).
        """
        precision = np.diag(self.weights / self.row_variance())
        K_uf = self.kernel(self.basis, self.X)
        K_new = self.kernel(X_new, self.basis)
        Sigma = np.linalg.inv(self.kernel(self.basis, self.basis) + K_uf @ precision @ K_uf.T)
        mean = K_new @ Sigma @ K_uf @ precision @ self.y
        cov = K_new @ Sigma @ K_new.T
        if self.approximation != "sor":
            cov += self.kernel(X_new, X_new) - self.low_rank(X_new, X_new)
        return mean, cov + (self.noise_variance * np.eye(len(X_new)) if noise else 0.0)

    def leave_one_out(self):
        """Mean (n, T) and noisy variance (n,) of every row, by refitting without one copy."""
        mean = np.empty_like(self.y)
        variance = np.empty(len(self.X))
        for i in range(len(self.X)):
            left = self.without_one_copy(i)
            mean_i, cov_i = left.predict(self.X[i : i + 1])
            mean[i], variance[i] = mean_i[0], cov_i[0, 0]
        return mean, variance

    # -- measures --------------------------------------------------------------------------

    def loo_measure(self, name):
        """Weighted mean over the rows of a leave-one-out measure, targets averaged."""
        mean, variance = self.leave_one_out()
        square = np.mean((self.y - mean) ** 2, axis=1)
        return np.average(LOO_FORMULAS[name](square, variance), weights=self.weights)

    def nlml(self):
        """Negative log density of all targets, repeated rows included, summed over columns.

        With fractional weights the density of the repeated rows is continued: their quadratic
        form and determinant are those of the mean of the copies, plus ``w - 1`` directions of
        variance ``lambda`` in which the copies agree, minus the volume factor ``log w``.
        """
        row_variance = self.row_variance()
        cov = self.low_rank(self.X, self.X) + np.diag(row_variance / self.weights)
        density = sum(log_normal_density(column, cov) for column in self.y.T)
        within_copies = -0.5 * np.sum(
            (self.weights - 1) * np.log(2 * np.pi * row_variance) + np.log(self.weights)
        )
        return -(density + self.y.shape[1] * within_copies)

    def nlpp(self):
        """Return the minimum of ``0.5 a'(s2 K_uu + K_uf W K_fu) a - y' W K_fu a``."""
        K_uf = self.kernel(self.basis, self.X)
        W = np.diag(self.weights)
        K_uu = self.kernel(self.basis, self.basis)
        H = self.noise_variance * K_uu + K_uf @ W @ K_uf.T
        b = K_uf @ W @ self.y
        a = np.linalg.solve(H, b)
        return np.sum(0.5 * a * (H @ a) - b * a)

    def measure(self, name):
        if name in LOO_FORMULAS:
            return self.loo_measure(name)
        return {
            "nlml": self.nlml,
            "nlpp": self.nlpp,
            "matching_pursuit": self.nlpp,
            "info_gain": self.nlml,
            "random": self.nlml,
        }[name]()

    # -- scores that are not the measure after adding --------------------------------------

    def matching_pursuit_change(self, x_new):
        """Change of the negative log posterior when only the new coefficient may move.

        The quadratic of `nlpp` over the enlarged basis, old coefficients held at their optimum,
        minimised over the new one.
        """
        old = self.kernel(self.basis, self.X)
        W = np.diag(self.weights)
        H_old = self.noise_variance * self.kernel(self.basis, self.basis) + old @ W @ old.T
        a_old = np.linalg.solve(H_old, old @ W @ self.y)

        larger = np.vstack([self.basis, x_new[None]])
        K_uf = self.kernel(larger, self.X)
        H = self.noise_variance * self.kernel(larger, larger) + K_uf @ W @ K_uf.T
        b = K_uf @ W @ self.y

        def posterior(a_new):
            a = np.vstack([a_old, a_new[None]])
            return np.sum(0.5 * a * (H @ a) - b * a)

        zero = np.zeros(self.y.shape[1])
        gradient = (H[-1:, :-1] @ a_old - b[-1:])[0]
        best = -gradient / H[-1, -1]
        return posterior(best) - posterior(zero)

    def information_gain(self, i):
        """KL(new || old) over the joint of the basis values and f_i (DTC, no weights).

        Old: every target observes its projected latent ``K_ju K_uu^-1 u``. New: target ``i``
        observes ``f_i`` itself, all others as before. Both are posteriors of the vector
        ``(u, f_i)``, obtained by conditioning a dense joint Gaussian of it and of the targets.
        """
        m, n = len(self.basis), len(self.X)
        points = np.vstack([self.basis, self.X[i : i + 1]])
        prior = self.kernel(points, points)
        if m:
            K_uu = self.kernel(self.basis, self.basis)
            projection = np.linalg.solve(K_uu, self.kernel(self.basis, self.X)).T
        else:
            projection = np.zeros((n, 0))
        observes_old = np.hstack([projection, np.zeros((n, 1))])
        observes_new = observes_old.copy()
        observes_new[i] = np.eye(m + 1)[m]

        total = 0.0
        for column in self.y.T:
            old = self._observe(prior, observes_old, column)
            new = self._observe(prior, observes_new, column)
            total += gaussian_kl(*new, *old)
        return total

    def _observe(self, prior, observes, column):
        """Posterior of latents with covariance ``prior``, seen through ``observes`` and noise."""
        n, latent = observes.shape
        cross = observes @ prior
        within = cross @ observes.T + self.noise_variance * np.eye(n)
        joint = np.block([[prior, cross.T], [cross, within]])
        return condition(
            np.zeros(latent + n), joint, np.arange(latent), np.arange(latent, latent + n), column
        )


# ----------------------------------------------------------------------------------- greedy


def unexplained_share(kernel, basis, x):
    """Share of the prior variance at ``x`` that the basis does not explain."""
    k = kernel(x[None], x[None])[0, 0]
    if len(basis) == 0:
        return 1.0
    k_u = kernel(basis, x[None])[:, 0]
    return (k - k_u @ np.linalg.solve(kernel(basis, basis), k_u)) / k


def candidate_score(model, criterion, x, row):
    """What a candidate is judged by, smaller is better; computed by adding it."""
    if criterion == "matching_pursuit":
        return model.matching_pursuit_change(x)
    if criterion == "info_gain":
        return -model.information_gain(row)
    return model.with_basis(np.vstack([model.basis, x[None]])).measure(criterion)


def greedy(model, criterion, n_steps, candidates=None):
    """Indices chosen by brute force, and every candidate's score at every step.

    ``candidates`` defaults to the rows. Scores are NaN for those not considered: already in the
    basis or numerically dependent on it. Ties go to the lowest index. Criteria without a form of
    their own for FITC choose by the formulas of DTC.
    """
    if criterion in CRITERIA_OF_DTC:
        model = replace(model, approximation="dtc")
    pool = model.X if candidates is None else candidates
    model = model.with_basis(pool[:0])
    chosen, scores = [], []
    for _ in range(n_steps):
        step = np.full(len(pool), np.nan)
        for j, x in enumerate(pool):
            if j in chosen or unexplained_share(model.kernel, model.basis, x) < DEPENDENT:
                continue
            step[j] = candidate_score(model, criterion, x, j)
        if np.all(np.isnan(step)):
            break
        chosen.append(int(np.nanargmin(step)))
        scores.append(step)
        model = model.with_basis(pool[chosen])
    return np.array(chosen), np.array(scores)


def pursuit_with_cache(model, n_steps, capacity, fresh, seeds, draws):
    """Matching pursuit as sections 3 and 4 of Keerthi and Chu have it; indices chosen.

    ``draws`` yields the random candidates: those that fill the cache (after the ``seeds``), then
    ``fresh`` of them in each step, in the place of the chosen one and of the worst others.
    """
    model = replace(model, approximation="dtc").with_basis(model.X[:0])
    seeds = list(seeds)[:capacity]
    held, chosen = seeds + [int(j) for j in next(draws)], []
    assert len(held) == len(set(held)) == capacity
    for _ in range(n_steps):
        scores = {j: model.matching_pursuit_change(model.X[j]) for j in held}
        best = min(held, key=lambda j: (scores[j], j))
        others = sorted((j for j in held if j != best), key=lambda j: scores[j])
        coming = [int(j) for j in next(draws)]
        assert not set(coming) & (set(held) | set(chosen))
        held = others[: len(others) - (fresh - 1)] + coming
        chosen.append(best)
        model = model.with_basis(model.X[chosen])
    return chosen


def values_along(model, criterion, basis):
    """Compute the measure of ``criterion`` after each vector of ``basis`` in order."""
    if criterion in CRITERIA_OF_DTC:
        model = replace(model, approximation="dtc")
    return np.array(
        [model.with_basis(basis[:m]).measure(criterion) for m in range(1, len(basis) + 1)]
    )
