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


def regularised_forward_selection(Phi, t, steps, rows, dof):
    """Columns by the penalised error, the ridge by GCV again after each (Orr); GCV after each."""
    chosen, values, ridge = [], [], 1e-10 * np.mean(np.sum(Phi**2, axis=0))
    grid = np.geomspace(1e-10, 1e6, 161)
    for _ in range(steps):
        errors = np.full(Phi.shape[1], np.inf)
        for j in range(Phi.shape[1]):
            if j not in chosen:
                A = Phi[:, [*chosen, j]]
                errors[j] = t @ projection(A, np.full(len(chosen) + 1, ridge)) @ t
        chosen.append(int(np.argmin(errors)))

        def cost(z, chosen=tuple(chosen)):
            return gcv(Phi[:, chosen], t, np.full(len(chosen), z), rows, dof)

        eigenvalues = np.linalg.eigvalsh(Phi[:, chosen].T @ Phi[:, chosen])
        ridges = grid * np.mean(eigenvalues)
        best = int(np.argmin([cost(z) for z in ridges]))
        around = np.log(ridges[max(best - 1, 0)]), np.log(ridges[min(best + 1, 160)])
        found = scipy.optimize.minimize_scalar(
            lambda x, cost=cost: cost(np.exp(x)), bounds=around, method="bounded"
        )
        ridge = float(np.exp(found.x))
        values.append(cost(ridge))
    return chosen, ridge, values


def best_single_change(Phi, t, zeta, least, rows, dof):
    """The change of one zeta that lowers GCV most, by trying them all: GCV, the column, its zeta.

    `P = P_-j - p p' / (phi'P_-j phi + zeta)` (equation 14) with a new `P_-j` for every column. The
    trace does not fall below a tenth of the degrees of freedom.
    """
    best = np.inf, -1, np.inf
    for j in range(Phi.shape[1]):
        rest = np.isfinite(zeta)
        rest[j] = False
        P = projection(Phi[:, rest], zeta[rest])
        p, trace = P @ Phi[:, j], np.trace(P) + dof - len(t)
        at = max(min(least[j], zeta[j]), 1e-12)
        for _ in range(4):  # ever finer grids; the first ends with infinity
            z = np.geomspace(at, 1e8, 400) if np.ndim(at) == 0 else np.geomspace(*at, 400)
            z = np.append(z, np.inf) if np.ndim(at) == 0 else z
            x = 1.0 / (p @ Phi[:, j] + z)
            errors = np.sum((P @ t - np.multiply.outer(x, p) * (p @ t)) ** 2, axis=1)
            traces = trace - x * (p @ p)
            with np.errstate(divide="ignore"):
                values = np.where(traces > 0.1 * dof, rows * errors / traces**2, np.inf)
            k = int(np.argmin(values))
            best = min(best, (float(values[k]), j, float(z[k])))
            if not np.isfinite(z[k]):
                break
            at = z[max(k - 1, 0)], z[k + 1] if k + 1 < len(z) and np.isfinite(z[k + 1]) else z[k]
    return best


def fast_gcv(Phi, t, zeta, least, rows, dof, actions, ridge=np.inf, hold_noise=False):
    """GCV after each of so many best single changes, from given zeta; infinite: not in the model.

    `least` is the least zeta for a noise of one over the variance; it is not above `ridge`.

    With `hold_noise` the published algorithm: the noise begins with a tenth of the variance (step
    1) and is estimated after every five actions with alpha = zeta / noise held fixed (step 10).
    """
    variance = t @ t / dof
    noise, values = 0.1 * variance, []
    for action in range(actions):
        kept = np.isfinite(zeta)
        P = projection(Phi[:, kept], zeta[kept])
        estimate = np.sum((P @ t) ** 2) / (np.trace(P) + dof - len(t))
        if hold_noise and action and action % 5 == 0:
            zeta = zeta * (estimate / noise)
            noise = estimate
        unit = (noise if hold_noise else estimate) / variance
        value, j, z = best_single_change(Phi, t, zeta, np.minimum(unit * least, ridge), rows, dof)
        zeta = zeta.copy()
        zeta[j] = z
        values.append(value)
    return values


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


def ridge_value(Phi_raw, t, zeta, weights, row, intercept):
    """The value at one row of basis functions, of a weighted fit with a ridge for every weight."""
    A = np.column_stack([Phi_raw, np.ones(len(t))]) if intercept else Phi_raw
    penalty = np.append(zeta, 0.0) if intercept else zeta
    w = np.linalg.solve((A.T * weights) @ A + np.diag(penalty), A.T @ (weights * t))
    return (np.append(row, 1.0) if intercept else row) @ w
