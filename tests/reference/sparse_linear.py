"""Sparse linear models, straight from the definitions.

Dense NumPy in float64, everything from scratch: the projection ``P`` by a singular value
decomposition, the measures from ``P``, the best precision by a search. Nothing is imported from the
package.

``design(Phi, w, intercept)`` gives the weighted, centred columns by repeating the definition: an
unpenalised intercept is projected out, a row of weight w counts w times.
"""

import numpy as np
import scipy.optimize


def centred(columns, weights, intercept):
    """``W^1/2 (columns - weighted mean)`` for a matrix of columns, or a vector."""
    weights = np.ones(len(columns)) if weights is None else weights
    if intercept:
        columns = columns - np.average(columns, axis=0, weights=weights)
    return (columns.T * np.sqrt(weights)).T


def projection(Phi, zeta):
    """``P = I - Phi (Phi'Phi + diag(zeta))^-1 Phi'`` (equation 6 with zeta = alpha s2)."""
    N = len(Phi)
    if Phi.shape[1] == 0:
        return np.eye(N)
    scaled = Phi / np.sqrt(zeta)
    U, singular, _ = np.linalg.svd(scaled, full_matrices=True)
    values = np.ones(N)
    values[: len(singular)] = 1.0 / (1.0 + singular**2)
    return (U * values) @ U.T


def quantities(Phi, t, chosen, zeta, dof):
    """Equations (16)-(21) for all columns, and t'Pt, log|P|."""
    P = projection(Phi[:, chosen], zeta)
    Pt, PPhi = P @ t, P @ Phi
    return {
        "r": Phi.T @ Pt,
        "gamma": np.sum(Phi * PPhi, axis=0),
        "xi": PPhi.T @ Pt,
        "u": np.sum(PPhi**2, axis=0),
        "trace": np.trace(P) + dof - len(t),
        "error": Pt @ Pt,
        "energy": t @ Pt,
        "log_det": np.linalg.slogdet(P)[1],
    }


def gcv(Phi, t, zeta, rows, dof):
    """Equation (7); columns of infinite zeta are left out."""
    kept = np.isfinite(zeta)
    P = projection(Phi[:, kept], zeta[kept])
    return rows * np.sum((P @ t) ** 2) / (np.trace(P) + dof - len(t)) ** 2


def log_evidence(Phi, t, zeta, noise):
    """log N(t; 0, noise I + Phi diag(noise / zeta) Phi')."""
    kept = np.isfinite(zeta)
    C = noise * (np.eye(len(t)) + (Phi[:, kept] / zeta[kept]) @ Phi[:, kept].T)
    return -0.5 * (np.linalg.slogdet(2 * np.pi * C)[1] + t @ np.linalg.solve(C, t))


def best_log_evidence(Phi, t, zeta, dof):
    """The same with the best noise for n = dof rows."""
    kept = np.isfinite(zeta)
    C = np.eye(len(t)) + (Phi[:, kept] / zeta[kept]) @ Phi[:, kept].T
    noise = t @ np.linalg.solve(C, t) / dof
    return -0.5 * (dof * np.log(2 * np.pi * noise) + np.linalg.slogdet(C)[1] + dof)


def flat_intercept_log_evidence(Phi_raw, y, zeta, noise):
    """log of the integral over b of N(y; b 1, C), by a prior variance that goes to infinity."""
    N = len(y)
    C = noise * np.eye(N) + (noise * Phi_raw / zeta) @ Phi_raw.T
    inverse = np.linalg.inv(C)
    one = np.ones(N)
    precision = one @ inverse @ one
    b = one @ inverse @ y / precision
    residual = y - b
    quadratic = residual @ inverse @ residual
    log_det = np.linalg.slogdet(2 * np.pi * C)[1]
    return -0.5 * (log_det + quadratic) + 0.5 * np.log(2 * np.pi / precision)


def minimise_over_one(cost, least, most=1e12):
    """The best of a fine grid, refined, over zeta in [least, most] and infinity."""
    grid = np.concatenate([[least], np.geomspace(max(least, 1e-14), most, 400)])
    values = np.array([cost(z) for z in grid])
    k = int(np.argmin(values))
    low, high = np.log(max(grid[max(k - 1, 0)], 1e-14)), np.log(grid[min(k + 1, len(grid) - 1)])
    found = scipy.optimize.minimize_scalar(
        lambda x: cost(np.exp(x)), bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    best = min([(values[k], grid[k]), (found.fun, float(np.exp(found.x)))])
    at_infinity = cost(np.inf)
    return (at_infinity, np.inf) if at_infinity <= best[0] else best


def orthogonal_least_squares(Phi, t, steps):
    """Forward selection by refitting with every candidate (Chen et al.)."""
    chosen = []
    for _ in range(steps):
        errors = np.full(Phi.shape[1], np.inf)
        for j in range(Phi.shape[1]):
            if j not in chosen:
                A = Phi[:, [*chosen, j]]
                errors[j] = np.sum((t - A @ np.linalg.lstsq(A, t, rcond=None)[0]) ** 2)
        chosen.append(int(np.argmin(errors)))
    return chosen


def posterior(Phi_raw, y, zeta, noise, new_raw):
    """Mean and variance of the latent function, the intercept with a nearly flat prior."""
    A = np.column_stack([np.ones(len(y)), Phi_raw])
    precision = np.diag(np.concatenate([[1e-9], zeta / noise]))
    covariance = np.linalg.inv(A.T @ A / noise + precision)
    new = np.column_stack([np.ones(len(new_raw)), new_raw])
    return new @ covariance @ A.T @ y / noise, np.sum((new @ covariance) * new, axis=1)


def laplace_mode(Phi, labels, alpha, weights, intercept):
    """Weights (intercept last) that maximise the penalised log likelihood of a logistic model."""
    A = np.column_stack([Phi, np.ones(len(Phi))]) if intercept else Phi
    penalty = np.concatenate([alpha, [0.0]]) if intercept else alpha

    def cost(w):
        f = A @ w
        value = weights @ (np.logaddexp(0, f) - labels * f) + 0.5 * penalty @ w**2
        return value, A.T @ (weights * (1 / (1 + np.exp(-f)) - labels)) + penalty * w

    start = np.zeros(A.shape[1])
    options = {"gtol": 1e-11, "ftol": 1e-16, "maxiter": 5000}
    return scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options=options).x
