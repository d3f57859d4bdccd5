"""Gibbs sampling of linear models whose prior is Normal given latent variances, on the statistics of the rows alone.

    τ | variances/τ²        where columns outnumber rows: the coefficients are integrated out, and σ² where it can be
    σ² | variances          where the prior is relative to the noise: the coefficients are integrated out
    w | variances, σ²       Gaussian
    w | σ²                  along single directions, variances integrated out, where the density has a corner
    σ² | w                  where the prior is in the coefficients' own units
    variances | w           the prior's record (`models.scale_mixtures`)

A flat intercept is integrated out and drawn last; one with a Normal prior is a column. B = chains × targets runs at
once, chain-major; K rows of the triangular factor stand for the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.inference.draws import Draws
from credo.inference.exact.noise_prior import NoisePrior
from credo.inference.exact.spectrum import FactorRows, centred_rows, plain_rows
from credo.inference.exact.statistics import RegressionStatistics
from credo.inference.gaussian_conditional import GaussianConditionals
from credo.inference.gibbs_chains import CHAINS, run_chains
from credo.inference.slice_update import slice_update
from credo.models.scale_mixtures import LARGEST, SMALLEST, ScaleMixture, log_half_cauchy

__all__ = ["LinearProblem", "draw_noise_variance", "problem_of", "sample_posterior", "split_targets"]


@dataclass(frozen=True)
class LinearProblem:
    """The likelihood as rows.

    x (K, P), y (K, T) : ‖y − x w‖² of the data, a flat intercept integrated out
    nu : rows less the integrated intercept
    floor : (T,) rounding of a sum of squares
    weight, centre (P,), base (T,) : intercept | w ~ N(base − centre·w, σ²/weight); weight None without one
    lead : (mean, sd) of an intercept that is the first column
    """

    x: np.ndarray
    y: np.ndarray
    nu: float
    floor: np.ndarray
    weight: float | None
    centre: np.ndarray
    base: np.ndarray
    lead: tuple[float, float] | None

    @property
    def n_targets(self) -> int:
        return self.y.shape[1]

    @property
    def is_wide(self) -> bool:
        return self.x.shape[0] < self.x.shape[1]

    def intercepts(self, w: np.ndarray, noise_variance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(B,) draws of the intercept given coefficients (B, P) and σ² (B,)."""
        if self.weight is None:
            return np.zeros(len(w))
        base = np.tile(self.base, len(w) // self.n_targets)
        return base - w @ self.centre + np.sqrt(noise_variance / self.weight) * rng.standard_normal(len(w))


def problem_of(
    statistics: RegressionStatistics,
    fit_intercept: bool,
    lead: tuple[float, float] | None,
    varying: np.ndarray,
) -> LinearProblem:
    """From statistics; `lead` makes the intercept a column, `varying` (P,) marks columns that are not constant."""
    p = statistics.n_columns
    if statistics.precise is not None:  # a sampler's own error is far above double-double's last digits
        statistics = replace(statistics, factor=statistics.as_factor(), precise=None)
    flat = fit_intercept and lead is None
    rows = centred_rows(statistics).keeping(varying) if flat else plain_rows(statistics, intercept_column=bool(lead))
    assert isinstance(rows, FactorRows)
    total = rows.target_square + statistics.weight * np.square(statistics.mean[p:])
    floor = np.maximum(total * np.finfo(float).eps ** 2, np.finfo(float).tiny)
    weight = statistics.weight if flat else None
    return LinearProblem(
        rows.x, rows.y, statistics.count - flat, floor, weight, statistics.mean[:p], statistics.mean[p:], lead
    )


def sample_posterior(
    problem: LinearProblem, mixture: ScaleMixture, noise: NoisePrior | None, rng: np.random.Generator, owner: str
) -> Draws:
    """Draws of "coef", "intercept", and "noise_scale" and "prior_scale" where they are learned; `noise=None`: σ = 1."""
    batch = CHAINS * problem.n_targets
    gram = None if problem.is_wide else problem.x.T @ problem.x
    offset = np.concatenate([[problem.lead[0]], mixture.mean]) if problem.lead else mixture.mean
    y = np.tile((problem.y - (problem.x @ offset)[:, None]).T, (CHAINS, 1))
    floor = np.tile(problem.floor, CHAINS)
    axes = np.linalg.svd(problem.x, full_matrices=False) if mixture.has_corner else None
    total = np.square(y).sum(axis=1) + floor
    wide = mixture.learned and problem.is_wide

    def step(state: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        variance = state["noise_variance"]
        if wide:
            state = rescaled(state, y, floor, problem, mixture, noise, rng)
        relative = with_lead(state["variances"] / (1.0 if mixture.relative else variance[:, None]), problem, variance)
        part = GaussianConditionals.of(problem.x, gram, y, relative)
        if noise is not None and mixture.relative:
            variance = draw_noise_variance(part.quadratic + floor, problem.nu, noise, variance, rng)
        d = part.centre + np.sqrt(variance)[:, None] * part.perturbation(rng)
        if mixture.has_corner:
            d = slide(d, y, problem, mixture, state["inner"], axes, np.sqrt(variance), rng)
        if noise is not None and not mixture.relative:
            square = np.square(y - d @ problem.x.T).sum(axis=1) + floor
            variance = draw_noise_variance(square, problem.nu, noise, variance, rng)
        w = (d + offset)[:, int(problem.lead is not None) :]
        noise_sd = np.sqrt(variance)[:, None]
        variances, inner = mixture.draw_variances(w, state["inner"], rng, noise_sd, keep_scale=wide)
        intercept = d[:, 0] + offset[0] if problem.lead else problem.intercepts(w, variance, rng)
        return {
            "noise_variance": variance, "variances": variances, "inner": inner, "coef": w, "intercept": intercept,
        }  # fmt: skip

    start = (
        total / max(problem.nu, 1.0) * np.exp(rng.uniform(-2.0, 0.5, batch)) if noise is not None else np.ones(batch)
    )
    # Chains begin apart, with prior variances over four orders of magnitude, so that R̂ means something.
    spread = np.square(mixture.scale * mixture.reach) * np.exp(rng.uniform(-4.0, 4.0, (batch, mixture.scale.size)))
    state = {"noise_variance": start, "variances": np.clip(spread, 1e-200, 1e200), "inner": mixture.initial(batch)}

    def collect(state: dict[str, Any]) -> dict[str, np.ndarray]:
        kept = {"coef": state["coef"]}
        if problem.weight is not None or problem.lead:
            kept["intercept"] = state["intercept"]
        if noise is not None:
            kept["noise_scale"] = np.sqrt(state["noise_variance"])
        scale = mixture.learned_scale(state["inner"], np.sqrt(state["noise_variance"]))
        return kept if scale is None else {**kept, "prior_scale": scale}

    return split_targets(run_chains(step, state, lambda s: by_chain(collect(s)), rng, owner=owner), problem.n_targets)


def rescaled(
    state: dict[str, Any],
    y: np.ndarray,
    floor: np.ndarray,
    problem: LinearProblem,
    mixture: ScaleMixture,
    noise: NoisePrior | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """The state with another τ and the variances in proportion: a slice update of log τ given what each variance is
    beside τ², with the coefficients integrated out, and σ² too where its prior is conjugate and the scales are in its
    units (Johndrow, Orenstein and Bhattacharya 2020, JMLR 21(73)).

    Given the coefficients τ can move by a share 1/√P only: where they are many and few are seen, by next to nothing.
    Eigenvalues s of x V xᵀ serve every τ: y ~ N(0, σ² (I + τ² x V xᵀ)). Cost K³ + K² P a chain.
    """
    variance = state["noise_variance"]
    relative = state["variances"] / (1.0 if mixture.relative else variance[:, None])
    x = problem.x[:, int(problem.lead is not None) :]
    rows = x * np.sqrt(relative)[:, None]
    if problem.lead is not None:  # the intercept's column is noise here, and is whitened with it
        u = problem.x[:, 0] / np.linalg.norm(problem.x[:, 0])
        size = np.square(problem.lead[1] * np.linalg.norm(problem.x[:, 0])) / variance
        shrink = 1.0 / np.sqrt(1.0 + size) - 1.0
        rows = rows + shrink[:, None, None] * u[:, None] * (u @ rows)[:, None]
        y = y + (shrink * (y @ u))[:, None] * u
    eigenvalues, vectors = np.linalg.eigh(np.array([one @ one.T for one in rows]))
    eigenvalues = np.maximum(eigenvalues, 0.0)
    square = np.square(np.matmul(y[:, None], vectors)[:, 0])
    log_scale = state["inner"]["log_scale"]
    integrated = noise if noise is not None and noise.is_conjugate and mixture.relative else None

    def log_density(t: np.ndarray) -> np.ndarray:
        spread = 1.0 + np.exp(2.0 * (t - log_scale)) * eigenvalues
        quadratic = (square / spread).sum(axis=1) + floor
        if integrated is not None:
            fit = (integrated.shape + 0.5 * problem.nu) * np.log(integrated.scale + 0.5 * quadratic)
        else:
            fit = 0.5 * quadratic / variance
        of_data = -0.5 * np.log(spread).sum(axis=1) - fit
        return of_data[:, None] + log_half_cauchy(t, mixture.reach)

    new = slice_update(log_density, log_scale, rng)
    variances = np.clip(state["variances"] * np.exp(2.0 * (new - log_scale)), SMALLEST, LARGEST)
    return {**state, "variances": variances, "inner": {**state["inner"], "log_scale": new}}


# Prior scales that a slide may reach for where the data say little.
FAR = 100.0


def slide(
    d: np.ndarray,
    y: np.ndarray,
    problem: LinearProblem,
    mixture: ScaleMixture,
    inner: dict[str, np.ndarray],
    axes: Any,
    noise_sd: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """A slice update of d (B, P) along a random right singular vector of x, with the latent variances integrated out.

    Where collinear columns share one effect, the sharing is free in the data and cornered in the prior: variances
    follow it in small steps (autocorrelations of hundreds of sweeps), a slice along it does not.
    """
    _, singular, right = axes
    lead, lead_sd = int(problem.lead is not None), problem.lead[1] if problem.lead else 1.0
    log_scale = inner["log_scale"] + (np.log(noise_sd)[:, None] if mixture.relative else 0.0)
    k = rng.integers(singular.size, size=len(d))
    direction = right[k]
    # ‖y − x (d + t e)‖² = … − 2 t (y − x d)·x e + t² s²
    slope = np.einsum("bk,bk->b", y - d @ problem.x.T, direction @ problem.x.T)
    curvature = np.square(singular[k])

    def log_density(t: np.ndarray) -> np.ndarray:
        moved = d + t[:, None] * direction
        value = (t * slope - 0.5 * np.square(t) * curvature) / np.square(noise_sd)
        value = value + mixture.log_prob(moved[:, lead:] + mixture.mean, log_scale[:, 0])
        return value if not lead else value - 0.5 * np.square(moved[:, 0] / lead_sd)

    reach = FAR * np.exp(log_scale[:, 0]) * mixture.scale.max()
    width = 1.0 / np.sqrt(curvature / np.square(noise_sd) + 1.0 / np.square(reach))
    t = slice_update(lambda u: log_density(u * width), np.zeros(len(d)), rng) * width
    return d + t[:, None] * direction


def by_chain(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """(chains · targets, …) → (chains, targets, …)."""
    return {name: value.reshape(CHAINS, -1, *value.shape[1:]) for name, value in values.items()}


def split_targets(draws: Draws, n_targets: int) -> Draws:
    """Without the axis of targets where there is one."""
    if n_targets > 1:
        return draws
    return replace(draws, values={name: value[:, :, 0] for name, value in draws.values.items()})


def with_lead(relative: np.ndarray, problem: LinearProblem, noise_variance: np.ndarray) -> np.ndarray:
    """The variances of an intercept column before those of the coefficients."""
    if problem.lead is None:
        return relative
    return np.column_stack([problem.lead[1] ** 2 / noise_variance, relative])


def draw_noise_variance(
    square: np.ndarray, nu: float, noise: NoisePrior, current: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """σ² (B,) given sums of squares (B,) over ν: inverse gamma, or a slice update of log σ²."""
    if noise.is_conjugate:
        return (noise.scale + 0.5 * square) / rng.standard_gamma(noise.shape + 0.5 * nu, square.shape)

    def log_density(t: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return -0.5 * nu * t - 0.5 * square * np.exp(-t) + noise.log_density(t)

    return np.exp(slice_update(log_density, np.log(current), rng))
