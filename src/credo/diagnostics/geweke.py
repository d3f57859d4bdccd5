"""Geweke's joint distribution test: does a transition kernel leave the posterior invariant?

Two ways to draw (θ, y) from the joint p(θ) p(y | θ): independently, prior then data; and as a chain that alternates
y ~ p(y | θ) with a step of the kernel under test, θ ~ K(θ → · | y). If, and only if, the kernel is right for every y,
both have the same expectations of any g(θ, y) (Geweke 2004, JASA 99). Unlike a test on one posterior it needs no known
answer, and it finds wrong priors, wrong likelihoods and wrong samplers alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from credo.diagnostics.mcmc import ess
from credo.errors import ParameterError
from credo.numerics.random import as_generator

__all__ = ["JointTest", "geweke_joint_test"]


@dataclass(frozen=True)
class JointTest:
    """z scores of the differences of means, by test function; `alarm` is the probability of a false failure of any.

    `means` holds (independent, chain) for each function; `effective` the chain's effective size.
    """

    z: dict[str, float]
    means: dict[str, tuple[float, float]]
    effective: dict[str, float]
    alarm: float

    @property
    def limit(self) -> float:
        """|z| beyond which a function fails: two-sided, the alarm shared equally."""
        return float(-ndtri(0.5 * self.alarm / len(self.z)))

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(name for name, z in self.z.items() if not abs(z) <= self.limit)

    @property
    def ok(self) -> bool:
        return not self.failed

    @property
    def p_value(self) -> float:
        """Smallest two-sided p-value times the number of functions, at most 1."""
        return min(1.0, len(self.z) * 2.0 * float(ndtr(-max(abs(z) for z in self.z.values()))))


def geweke_joint_test(
    prior: Callable[[np.random.Generator], Any],
    simulate: Callable[[np.random.Generator, Any], Any],
    step: Callable[[np.random.Generator, Any, Any], Any],
    functions: Mapping[str, Callable[[Any, Any], float]],
    *,
    draws: int = 5000,
    rng: Any = None,
    alarm: float = 0.01,
) -> JointTest:
    """Compare E g(θ, y) between independent joint draws and the chain y | θ, θ | y.

    Parameters
    ----------
    prior : rng → θ. simulate : (rng, θ) → y. step : (rng, θ, y) → θ', one transition of the kernel under test.
    functions : name → g(θ, y); first and second moments of the parameters at least, since an error in scale leaves the
        means alone.
    draws : of each kind. The standard error of the chain's mean uses its effective sample size.

    Examples
    --------
    An exact conjugate draw is a right kernel:

    >>> test = geweke_joint_test(
    ...     lambda rng: rng.beta(2, 3),
    ...     lambda rng, p: rng.binomial(3, p),
    ...     lambda rng, p, y: rng.beta(2 + y, 6 - y),
    ...     {"p": lambda p, y: p, "p²": lambda p, y: p * p, "py": lambda p, y: p * y},
    ...     draws=2000, rng=0,
    ... )
    >>> test.ok
    True
    """
    if draws < 100:
        raise ParameterError("geweke_joint_test", "draws", "≥ 100", draws)
    if not functions:
        raise ParameterError("geweke_joint_test", "functions", "a non-empty mapping", functions)
    rng = as_generator(rng)
    independent, chain = np.empty((draws, len(functions))), np.empty((draws, len(functions)))
    theta = prior(rng)
    for i in range(draws):
        fresh = prior(rng)
        y = simulate(rng, fresh)
        independent[i] = [g(fresh, y) for g in functions.values()]
        y = simulate(rng, theta)
        theta = step(rng, theta, y)
        chain[i] = [g(theta, y) for g in functions.values()]
    effective = np.atleast_1d(ess(chain[None], "mean"))
    still = np.isnan(effective)
    effective = np.where(still, 1.0, np.minimum(effective, draws))
    variance = independent.var(axis=0, ddof=1)
    # The kernel may be so wrong that its own variance is 0; the joint's is the right scale under the hypothesis.
    error = np.sqrt(variance * (1.0 / draws + 1.0 / effective))
    difference = independent.mean(axis=0) - chain.mean(axis=0)
    z = difference / np.where(error > 0, error, 1.0)
    # What varies under the joint and never in the chain is a block that the kernel does not update.
    z = np.where(still & (variance > 0), np.inf, np.where(error > 0, z, np.where(difference == 0, 0.0, np.inf)))
    names = list(functions)
    return JointTest(
        dict(zip(names, z.tolist())),
        dict(zip(names, zip(independent.mean(axis=0).tolist(), chain.mean(axis=0).tolist()))),
        dict(zip(names, effective.tolist())),
        alarm,
    )
