"""The exact rung: a block and leaves with nothing left, but perhaps one variance that scales the block."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from credo.distributions import InverseGamma
from credo.inference.result import Result
from credo.program.collapsed import Collapsed, leaf_draws, leaf_moments, ordered
from credo.program.fitting import Found, in_chains

__all__ = ["fit_exact", "fit_exact_scaled"]


def fit_exact(collapsed: Collapsed, draws: int, rng: np.random.Generator) -> Found:
    """Nothing but the block and the leaves."""
    plan, values, moments = collapsed.plan, {}, {}
    evidence = collapsed.prior_and_coefficients(np.empty(0))[0]
    if plan.block is not None:
        belief = collapsed.belief(np.empty(0))
        values |= collapsed.split(belief.sample(draws, rng))
        sds = collapsed.split(belief.sd)
        moments |= {name: (mean, sds[name]) for name, mean in collapsed.split(belief.mean).items()}
        evidence += belief.log_marginal
    values |= leaf_draws(collapsed, np.empty((draws, 0)), rng)
    moments |= {name: (m[0], sd[0]) for name, (m, sd) in leaf_moments(collapsed, np.empty((1, 0))).items()}
    return Found(ordered(plan, in_chains(values)), Result("exact", "exact"),
                 log_evidence=evidence if collapsed.is_proper else float("nan"), moments=moments)  # fmt: skip


def fit_exact_scaled(collapsed: Collapsed, draws: int, rng: np.random.Generator) -> Found:
    """A block whose sds are all known numbers times √v, v Inverse-Gamma: see `passes.scale`."""
    plan, block = collapsed.plan, collapsed.block
    assert block is not None
    assert plan.variance is not None
    law: Any = plan.variance.law
    rows = sum(factor.n for factor in block.factors) - block.size
    one, two = (np.full(1, v) for v in (1.0, 2.0))
    prior, coefficients = collapsed.prior_and_coefficients(one)
    first = block.log_marginal(coefficients, gradient=False)[0]
    second = block.log_marginal(collapsed.prior_and_coefficients(two)[1], gradient=False)[0]
    quadratic = 4.0 * (second - first + 0.5 * rows * np.log(2.0))
    after = InverseGamma(shape=law.shape + 0.5 * rows, scale=law.scale + 0.5 * quadratic)
    others = prior - float(law.log_prob(1.0))
    normal = (
        law.shape * np.log(law.scale) - gammaln(law.shape) + gammaln(after.shape) - after.shape * np.log(after.scale)
    )
    evidence = others + first + 0.5 * quadratic + float(normal)
    belief = collapsed.belief(one)
    v = np.asarray(after.sample(draws, rng))
    z = belief.mean + np.sqrt(v)[:, None] * (belief.sample(draws, rng) - belief.mean)
    name = str(plan.variance.name)
    values = {name: v, **collapsed.split(z), **leaf_draws(collapsed, v[:, None], rng)}
    with np.errstate(all="ignore"):
        scale = np.sqrt(np.asarray(after.mean))
        moments = {name: (np.asarray(after.mean), np.asarray(after.sd))}
    sds = collapsed.split(scale * belief.sd)
    moments |= {k: (mean, sds[k]) for k, mean in collapsed.split(belief.mean).items()}
    moments |= {k: (m[0], sd[0]) for k, (m, sd) in leaf_moments(collapsed, one[None]).items()}
    return Found(ordered(plan, in_chains(values)), Result("exact", "exact"),
                 log_evidence=evidence if collapsed.is_proper else float("nan"), moments=moments)  # fmt: skip
