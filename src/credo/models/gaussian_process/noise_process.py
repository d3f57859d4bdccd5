"""`learn_noise_process`: hyperparameters of the process that log sd of the noise is, where its own evidence is highest.

Notation
    g (n,) = ψ (γ₀, γ), log sd of the noise at the rows; ψ (n, 1 + m), a column of ones and φ of `Landmarks`
    ρ (k,) logs of the hyperparameters of φ's kernel; θ all that is learned beside, γ₀ and γ apart
    b (n,) slope of log p(y | θ, g) in g; F (n, n) what the rows tell of g, E −∂² log p = 2T diag(v) P∘P diag(v)

At the mode ĝ, log p(y | θ, g) ≈ ℓ + bᵀ(g − ĝ) − ½ (g − ĝ)ᵀF(g − ĝ). With γ ~ N(0, I) and γ₀ flat,

    log ∫ p(y | θ, γ) p(γ) d(γ₀, γ) ≈ ℓ − bᵀĝ − ½ ĝᵀFĝ + ½ uᵀA⁻¹u − ½ log|A| + ½ log 2π
    u = ψᵀ(b + Fĝ),  A = ψᵀFψ + diag(0, 1, …, 1)

at any ρ, of which only ψ depends. So a search for θ and γ at one ρ, and one for ρ at that mode, take turns until ρ
stays: Laplace's method with Fisher's information. As in Kersting et al. (2007, ICML) the function of the noise is its
most likely one, and what is left of doubt about it is in the evidence of ρ, not in predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize

from credo.inference.result import Result
from credo.kernels import Kernel
from credo.models.gaussian_process.belief import Belief
from credo.models.gaussian_process.equations import LOG_2PI, projected_inverse
from credo.models.gaussian_process.noise import Landmarks, LogLinear, WithSlopes
from credo.models.gaussian_process.solvers.exact import Exact
from credo.numerics.cholesky import cholesky, log_determinant, solve_lower

__all__ = ["Quadratic", "has_noise_process", "learn_noise_process", "process_kernel"]

# Rows from which ρ is learned: more tell it better than it need be known.
ROWS = 500
ROUNDS = 12
# Of all lengthscales at once, in logs: where a turn looks for the top, before it climbs by up to `REACH` more. From too
# short ones, among which the evidence is level, a climb alone does not return.
SCAN = np.arange(-8.0, 9.0)
# The last turn moves each of ρ by less than a twentieth, or for less than .01 nats.
REACH, SETTLED, GAIN = 2.0, 0.05, 0.01

Search = Callable[[Belief], tuple[Belief, Result]]


def has_noise_process(belief: Belief) -> bool:
    """Whether log sd of the noise is a process of whose kernel something is to be learned."""
    kernel = process_kernel(belief)
    return kernel is not None and kernel.theta.size > 0


def process_kernel(belief: Belief) -> Kernel | None:
    """That of log sd of the noise, where it is a process."""
    noise = _values(belief)
    return noise.features.kernel if isinstance(noise, LogLinear) and isinstance(noise.features, Landmarks) else None


def learn_noise_process(belief: Belief, search: Search) -> tuple[Belief, Result]:
    """The belief at the mode of θ and γ, with ρ where Laplace's evidence, with the priors stated, is highest.

    search : climbs from a belief to the mode of θ and γ at its ρ

    The certificate adds "noise_log_evidence" of the rows it was learned from, "noise_rows" and "noise_rounds".
    Cost some six searches on up to 500 rows, then one on all.
    """
    few = belief if len(belief.observations.X) <= ROWS else replace(belief, observations=belief.observations.some(ROWS))
    few, rounds, settled = replace(few, solver=Exact()), 0, False
    best: tuple[float, Belief, Result, Quadratic] | None = None
    while not settled and rounds < ROUNDS:
        rounds += 1
        few, result = search(few)
        quadratic, kernel = Quadratic.of(few), process_kernel(few)
        assert kernel is not None
        value = quadratic.log_evidence(kernel) + few.kernel.log_prior()
        gain = np.inf if best is None else value - best[0]
        if best is None or gain > 0.0:
            best = value, few, result, quadratic
        moved = quadratic.highest(kernel)
        # Turns about a top, which F's own change with ρ may keep them from, end there.
        settled = bool(np.max(np.abs(moved.theta - kernel.theta)) < SETTLED or gain < GAIN)
        few = _at(few, moved, quadratic)
    assert best is not None
    value, found, result, quadratic = best
    if len(found.observations.X) != len(belief.observations.X) or found.solver != belief.solver:
        kernel = process_kernel(found)
        assert kernel is not None
        there = belief.at(np.concatenate([found.kernel.theta, belief.noise.theta]))
        found, result = search(_at(there, kernel, quadratic))
    certificate = {"noise_log_evidence": value, "noise_rows": len(quadratic.X), "noise_rounds": rounds}
    if not settled:
        advice = f"The kernel of the noise was still moving after {ROUNDS} turns: state it nearer, or priors of it."
        result = replace(result, status="max_iter", advice=(*result.advice, advice))
    return found, replace(result, certificate={**result.certificate, **certificate})


@dataclass(frozen=True, eq=False)
class Quadratic:
    """log p(y | θ, g) about ĝ: `slope` b + Fĝ (n,), `information` F (n, n), `constant` ℓ − bᵀĝ − ½ĝᵀFĝ, at rows X."""

    X: np.ndarray
    slope: np.ndarray
    information: np.ndarray
    constant: float

    @classmethod
    def of(cls, belief: Belief) -> Quadratic:
        """At the belief's own γ, of an exact solver. Cost n³."""
        seen, targets = belief.observations, belief.observations.y.shape[1]
        noise, rows, X = _values(belief), np.ones(len(seen.X), dtype=bool), seen.X
        if isinstance(belief.noise, WithSlopes):
            rows = seen.X[:, -1] < 0
            X = seen.X[rows, :-1]
        s, score = belief.variance, belief.scores()
        v = seen.noise(s)
        noisy = np.isfinite(seen.precision) & (s > 0.0)
        F = 2.0 * targets * np.square(projected_inverse(belief.conditioned)) * np.outer(v, v)
        F[np.diag_indices_from(F)] += np.where(noisy, 2.0 * targets * (seen.count - 1.0), 0.0)
        b, g = 2.0 * s * score.noise, 0.5 * np.log(np.where(noisy, s, 1.0))
        # Where log sd is at an end of its range it does not move with γ.
        inside = noise.inside(X)
        b, g, F = b[rows] * inside, g[rows], F[np.ix_(rows, rows)] * np.outer(inside, inside)
        pull = F @ g
        return cls(X, b + pull, F, score.value - float(b @ g) - 0.5 * float(g @ pull))

    def coefficients(self, features: Landmarks) -> tuple[np.ndarray, float]:
        """(γ₀, γ) (1 + m,) where the quadratic and their prior are highest, and the log of its integral over both."""
        psi = np.concatenate([np.ones((len(self.X), 1)), features(self.X)], axis=1)
        A = psi.T @ self.information @ psi
        A[np.diag_indices_from(A)] += np.concatenate([[0.0], np.ones(psi.shape[1] - 1)])
        lower = cholesky(A, "Information about the noise").lower
        u = psi.T @ self.slope
        half = solve_lower(lower, u)
        value = self.constant + 0.5 * (float(half @ half) - log_determinant(lower) + LOG_2PI)
        return solve_lower(lower, half, transpose=True), value

    def log_evidence(self, kernel: Kernel) -> float:
        """Laplace's, with the log prior of ρ."""
        return self.coefficients(Landmarks.of(kernel, self.X))[1] + kernel.log_prior()

    def highest(self, kernel: Kernel) -> Kernel:
        """The kernel at the ρ at which `log_evidence` is highest."""
        lengths = np.array(["lengthscale" in name for name in kernel.names])
        starts = np.clip(kernel.theta + SCAN[:, None] * lengths, *kernel.bounds.T) if lengths.any() else [kernel.theta]
        rho = max(starts, key=lambda at: self.log_evidence(kernel.with_theta(at)))
        bounds = np.clip(kernel.bounds, (rho - REACH)[:, None], (rho + REACH)[:, None])
        inward = np.where(rho + 0.5 <= bounds[:, 1], 0.5, -0.5)
        found = scipy.optimize.minimize(
            lambda at: -self.log_evidence(kernel.with_theta(at)), rho, method="Nelder-Mead", bounds=bounds,
            options={"initial_simplex": rho + np.concatenate([np.zeros((1, rho.size)), np.diag(inward)]),
                     "xatol": 0.5 * SETTLED, "fatol": 0.1 * GAIN, "maxfev": 60 * rho.size},
        )  # fmt: skip
        return kernel.with_theta(found.x)


def _values(belief: Belief) -> Any:
    """The noise of the values, whether slopes are observed beside them or not."""
    return belief.noise.values if isinstance(belief.noise, WithSlopes) else belief.noise


def _at(belief: Belief, kernel: Kernel, quadratic: Quadratic) -> Belief:
    """The belief with log sd of that kernel, most likely given the quadratic."""
    X = belief.observations.X
    features = Landmarks.of(kernel, X[X[:, -1] < 0, :-1] if isinstance(belief.noise, WithSlopes) else X)
    noise = replace(_values(belief), features=features, gamma=np.zeros(len(features.Z)))
    noise = noise.with_theta(np.clip(quadratic.coefficients(features)[0], *noise.bounds.T))
    return replace(belief, noise=WithSlopes(noise) if isinstance(belief.noise, WithSlopes) else noise)
