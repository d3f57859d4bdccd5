"""Pathfinder: Normal approximations along optimisation paths, for starts and quick looks (Zhang et al. 2022, JMLR 23).

L-BFGS climbs log p(z) from an over-dispersed start; at each iterate its inverse-Hessian estimate makes a Normal, and
the one with the largest ELBO (fewest nats lost) is kept. It lies where the mass is, before the optimiser reaches the
mode. Several paths are pooled by Pareto-smoothed importance resampling.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from scipy.special import logsumexp

from credo.errors import NumericalError, ParameterError
from credo.inference.draws import ImportanceDraws
from credo.inference.laplace import importance_draws
from credo.inference.map import gradient_of, starts_of
from credo.inference.target import Target
from credo.inference.transforms import unconstrained
from credo.numerics.random import as_generator

__all__ = ["pathfinder"]

#: pairs of steps remembered; L-BFGS gains little beyond 5 to 10 (Nocedal and Wright 2006, §7.2), Zhang et al. use 6
HISTORY = 6
#: draws per iterate for its ELBO: twice the 5 of Zhang et al., because ties between iterates are common
ELBO_DRAWS = 10


class Approximation(NamedTuple):
    """N(centre, factor factorᵀ) on the line, and its ELBO."""

    centre: np.ndarray
    factor: np.ndarray
    elbo: float

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draws (n, k) and their log densities."""
        noise = rng.standard_normal((n, self.centre.size))
        return self.centre + noise @ self.factor.T, self.log_prob_white(noise)

    def log_prob_white(self, noise: np.ndarray) -> np.ndarray:
        k = self.centre.size
        volume = np.sum(np.log(np.abs(np.diag(self.factor))))
        return -0.5 * np.sum(noise**2, axis=-1) - 0.5 * k * math.log(2.0 * math.pi) - volume

    def log_prob(self, z: np.ndarray) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return self.log_prob_white(solve_triangular(self.factor, (z - self.centre).T, lower=True).T)


def pathfinder(
    target: Target, *, paths: int = 4, draws: int = 1000, rng: Any = None, initial: Any = None, max_iter: int = 200
) -> ImportanceDraws:
    """Weighted draws of the best Normal approximation along each of several optimisation paths.

    `posterior.sample(chains, rng)` gives starts for `sample`; k̂ says whether it may serve as the posterior itself.
    Cost: the optimisations, 10 evaluations an iterate and one a draw; memory O(k²).

    Raises `NumericalError` when no path finds an approximation of finite ELBO.

    Examples
    --------
    >>> target = Target(lambda x: -0.5 * x @ x, {"w": (3,)}, gradient=lambda x: -x)
    >>> bool(np.all(np.abs(pathfinder(target, rng=0).sd - 1.0) < 0.2))
    True
    """
    if paths < 1 or draws < 100:
        raise ParameterError("pathfinder", "paths and draws", "≥ 1 and ≥ 100", (paths, draws))
    rng = as_generator(rng)
    free, bijection = unconstrained(target)
    starts = starts_of(target, free, bijection, target.initial if initial is None else initial, paths, rng)
    streams = rng.spawn(len(starts))
    with np.errstate(all="ignore"):
        tried = [best_along(free, z, stream, max_iter) for z, stream in zip(starts, streams)]
    found = [approximation for approximation in tried if approximation is not None]
    if not found:
        raise NumericalError(
            "pathfinder: no path led to a Normal approximation of finite ELBO.",
            value=starts,
            remedy="Check the gradient, or give starts nearer to the mass.",
        )
    each = math.ceil(draws / len(found))
    z = np.concatenate([a.draw(stream, each)[0] for a, stream in zip(found, streams)])
    log_q = np.asarray(logsumexp([a.log_prob(z) for a in found], axis=0)) - math.log(len(found))
    return ImportanceDraws(**importance_draws(target, z, log_q, "pathfinder", tuple(a.elbo for a in found)))


def best_along(target: Target, z: np.ndarray, rng: np.random.Generator, max_iter: int) -> Approximation | None:
    """The approximation of largest ELBO along one path; None when no iterate has a finite one."""
    path = [z]

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = target.evaluate(z).log_density, gradient_of(target, z)
        usable = np.isfinite(value) and np.all(np.isfinite(slope))
        return (-value, -slope) if usable else (1e300, np.zeros_like(z))

    scipy.optimize.minimize(
        objective, z, jac=True, method="L-BFGS-B", callback=lambda z: path.append(np.array(z)),
        options={"maxiter": max_iter, "maxcor": HISTORY},
    )  # fmt: skip
    slopes = [gradient_of(target, z) for z in path]
    best: Approximation | None = None
    diagonal = np.ones(z.size)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for i in range(1, len(path)):
        s, y = path[i] - path[i - 1], slopes[i - 1] - slopes[i]
        # Only pairs of clearly positive curvature keep the estimate positive definite.
        if s @ y > 1e-12 * (y @ y):
            diagonal = _diagonal(diagonal, s, y)
            pairs = [*pairs[-HISTORY + 1 :], (s, y)]
        candidate = _approximate(target, path[i], slopes[i], diagonal, pairs, rng)
        if candidate is not None and (best is None or candidate.elbo > best.elbo):
            best = candidate
    return best


def _diagonal(d: np.ndarray, s: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The diagonal inverse-Hessian estimate after one more pair (Gilbert and Lemaréchal 1989)."""
    a, b, c = y @ (d * y), y @ s, s @ (s / d)
    return 1.0 / (a / (b * d) + y**2 / b - a * (s / d) ** 2 / (b * c))


def _approximate(
    target: Target,
    z: np.ndarray,
    slope: np.ndarray,
    diagonal: np.ndarray,
    pairs: list[tuple[np.ndarray, np.ndarray]],
    rng: np.random.Generator,
) -> Approximation | None:
    """The Normal of the BFGS inverse Hessian at z, centred one Newton step on, with its ELBO."""
    covariance = np.diag(diagonal)
    for s, y in pairs:
        # (I − ρ s yᵀ) C (I − ρ y sᵀ) + ρ s sᵀ written out: k² operations, and symmetric to the last bit
        rho = 1.0 / (s @ y)
        cy = covariance @ y
        crossed = rho * np.outer(s, cy)
        covariance = covariance - (crossed + crossed.T) + rho * (rho * (y @ cy) + 1.0) * np.outer(s, s)
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return None
    draft = Approximation(z + covariance @ slope, factor, -math.inf)
    x, log_q = draft.draw(rng, ELBO_DRAWS)
    elbo = float(np.mean(target.evaluate_rows(x)[0] - log_q))
    return draft._replace(elbo=elbo) if math.isfinite(elbo) else None
