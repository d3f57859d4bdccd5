"""Linear-Gaussian posteriors when σ has a prior that is not conjugate: quadrature over t = log σ².

    flat coefficients     log p(y, t) = −½ (ν − K) t − ½ residual e^{−t} + log p(t)
    learned scale         nodes over log r, and for each of them over t given S(r)

Symbols as in `linear_gaussian`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.linear_gaussian import (
    N_NODES,
    Likelihood,
    half_cauchy,
    one_target,
    require_identified,
    stack_nodes,
)
from credo.inference.exact.noise_prior import NoisePrior
from credo.numerics.quadrature import LOG_NEGLIGIBLE, DiscreteMeasure, discretise, log_gauss_rule

__all__ = ["flat_with_scale_prior", "learned_with_scale_prior"]

# Nodes of σ for each node of r: given r the noise is a smooth, nearly Normal law of log σ.
INNER_NODES = 12


def flat_with_scale_prior(likelihood: Likelihood, noise: NoisePrior, names: list[str]) -> LinearBelief:
    """Least squares with σ ~ `noise`: Normal given σ, which is integrated."""
    require_identified(likelihood.spectrum, names)
    df = likelihood.nu - likelihood.spectrum.singular.size
    residual = np.maximum(likelihood.spectrum.residual, likelihood.floor)
    columns, error = [], 0.0
    for square in residual:

        def log_posterior(t: np.ndarray, square: float = square) -> np.ndarray:
            with np.errstate(over="ignore"):
                return -0.5 * df * t - 0.5 * square * np.exp(-t) + noise.log_density(t)

        try:
            measure = discretise(log_posterior, float(np.log(square / max(df, 1.0))), 1.0)
        except NumericalError as fault:
            raise NotIdentifiedError(
                f"The noise scale is not identified by {likelihood.count:g} rows: {fault}",
                value=df,
                remedy="State the noise scale, give it a tighter prior, or add rows.",
            ) from fault
        nodes, weights = log_gauss_rule(measure, N_NODES)
        columns.append((np.exp(nodes), weights, measure.log_integral))
        error = max(error, measure.error)
    variance, weights = stack_nodes(columns)
    belief = likelihood.belief(np.full_like(variance, np.inf), variance, np.inf, None, weights, "noise variance")
    return replace(belief, nodes=variance, quadrature_error=error)


def learned_with_scale_prior(likelihood: Likelihood, noise: NoisePrior) -> LinearBelief:
    """u ~ N(0, σ² r I) with r learned (half-Cauchy signal-to-noise ratio, as `learned_scale`) and σ ~ `noise`."""
    gain = float(np.square(likelihood.spectrum.singular).sum()) / max(likelihood.count, 1.0)
    log_gain = np.log(gain) if gain > 0.0 else 0.0
    ratios, variances, error = [], [], 0.0
    for target in range(likelihood.spectrum.target.shape[1]):
        single = one_target(likelihood, target)

        def inner(log_ratio: np.ndarray, single: Likelihood = single) -> list[np.ndarray]:
            ratio = np.exp(log_ratio)[:, None]
            square, half = single.unexplained(ratio), -0.5 * single.log_determinant(ratio)

            def log_density(t: np.ndarray) -> np.ndarray:
                with np.errstate(over="ignore"):
                    tail = -0.5 * single.nu * t - 0.5 * square * np.exp(-t)
                return single.log_constant + half + tail + noise.log_density(t)

            return discretise_rows(log_density, np.log(square / max(single.nu, 1.0)))

        def outer(log_ratio: np.ndarray, inner: Callable = inner) -> np.ndarray:
            prior = half_cauchy(0.5 * (log_ratio + log_gain)) - np.log(2.0)
            return inner(log_ratio)[2] + prior

        measure = discretise(outer, -log_gain, 1.0)
        nodes, weights = log_gauss_rule(measure, N_NODES)
        logs, mass, _ = inner(nodes)
        rule = [log_gauss_rule(DiscreteMeasure(a, b, 0.0, 0.0), INNER_NODES) for a, b in zip(logs, mass, strict=True)]
        joint = np.concatenate([w * rule_w for w, (_, rule_w) in zip(weights, rule, strict=True)])
        repeated = np.repeat(np.exp(nodes), [a.size for a, _ in rule])
        ratios.append((repeated, joint, measure.log_integral))
        variances.append((np.exp(np.concatenate([a for a, _ in rule])), joint, 0.0))
        error = max(error, measure.error)
    ratio, weights = stack_nodes(ratios)
    variance, _ = stack_nodes(variances)
    total = float(sum(value for _, _, value in ratios))
    belief = likelihood.belief(ratio, variance, np.inf, total, weights, "prior-to-noise variance ratio")
    return replace(belief, quadrature_error=error)


def discretise_rows(log_density: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> list[np.ndarray]:
    """J densities on the line at once (log_density: (J, M) → (J, M)): nodes, weights (J, M) and log integrals (J,).

    As `quadrature.discretise`, about start (J, 1): the mode by shrinking brackets, the edges by doubling, a trapezoid
    rule whose step is halved until every integral settles to 1e-10.
    """
    centre = start + np.linspace(-64.0, 64.0, 257)
    half = 0.5
    for _ in range(8):
        centre = np.take_along_axis(centre, np.argmax(log_density(centre), axis=1)[:, None], axis=1)
        half /= 4.0
        centre = centre + 4.0 * half * np.linspace(-1.0, 1.0, 17)
    centre = np.take_along_axis(centre, np.argmax(log_density(centre), axis=1)[:, None], axis=1)
    floor = log_density(centre) - LOG_NEGLIGIBLE
    reach = 1e-4 * 2.0 ** np.arange(24.0)
    ends = []
    for sign in (-1.0, 1.0):
        above = log_density(centre + sign * reach) > floor
        ends.append(centre + sign * reach[np.minimum(above.sum(axis=1), reach.size - 1)][:, None])
    n, previous = 64, np.full(len(start), np.inf)
    while True:
        nodes = ends[0] + (ends[1] - ends[0]) * np.linspace(0.0, 1.0, n + 1)
        log_p = log_density(nodes)
        top = log_p.max(axis=1, keepdims=True)
        mass = np.exp(log_p - top)
        total = mass.sum(axis=1, keepdims=True)
        log_integral = (top + np.log(total * (ends[1] - ends[0]) / n))[:, 0]
        if np.all(np.abs(log_integral - previous) < 1e-10) or n >= 4096:
            return [nodes, mass / total, log_integral]
        previous, n = log_integral, 2 * n
