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
from scipy.special import ndtr, ndtri, stdtr

from credo.errors import ParameterError
from credo.numerics.random import as_generator

__all__ = ["JointTest", "geweke_joint_test"]


@dataclass(frozen=True)
class JointTest:
    """z scores of the differences of means, by test function; `alarm` is the probability of a false failure of any.

    `means` holds (independent, chains) for each function; `effective` how many independent draws the chains are worth.
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
    chains: int = 40,
    rng: Any = None,
    alarm: float = 0.01,
) -> JointTest:
    """Compare E g(θ, y) between independent joint draws and chains y | θ, θ | y.

    Parameters
    ----------
    prior : rng → θ. simulate : (rng, θ) → y. step : (rng, θ, y) → θ', one transition of the kernel under test.
    functions : name → g(θ, y); first and second moments of the parameters at least, since an error in scale leaves the
        means alone. Bounded ones, such as indicators, keep the stated alarm where moments have heavy tails.
    draws : of each kind, over all chains.
    chains : more give a t-test of more degrees of freedom (at 40 an alarm of 1e-4 asks for 13 % more than a z-test
        would); fewer are longer, so that a kernel that drifts slowly to a wrong law gets further.

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
    if chains < 8:
        raise ParameterError("geweke_joint_test", "chains", "≥ 8", chains)
    if draws < 5 * chains:
        raise ParameterError("geweke_joint_test", "draws", "≥ 5 a chain", draws)
    if not functions:
        raise ParameterError("geweke_joint_test", "functions", "a non-empty mapping", functions)
    rng = as_generator(rng)
    length = draws // chains
    independent, walked = (np.empty((chains, length, len(functions))) for _ in range(2))
    for i in range(chains):
        theta = prior(rng)
        for j in range(length):
            fresh = prior(rng)
            y = simulate(rng, fresh)
            independent[i, j] = [g(fresh, y) for g in functions.values()]
            y = simulate(rng, theta)
            theta = step(rng, theta, y)
            walked[i, j] = [g(theta, y) for g in functions.values()]
    return _compared(list(functions), independent.reshape(-1, len(functions)), walked, alarm)


def _compared(names: list[str], independent: np.ndarray, walked: np.ndarray, alarm: float) -> JointTest:
    """Welch's t-test of independent (n, k) against the means of chains (c, length, k)."""
    n, c = len(independent), len(walked)
    means = walked.mean(axis=1)
    spread = independent.var(axis=0, ddof=1)
    a, b = spread / n, means.var(axis=0, ddof=1) / c
    difference = independent.mean(axis=0) - means.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(difference == 0.0, 0.0, difference / np.sqrt(a + b))
        freedom = np.square(a + b) / (np.square(a) / (n - 1) + np.square(b) / (c - 1))
        z = -np.sign(t) * ndtri(np.where(np.isinf(t), 0.0, stdtr(freedom, -np.abs(t))))
        effective = np.where(b > 0, np.minimum(spread / b, n), n)
    # What varies under the joint and never within a chain is a block that the kernel does not update.
    still = np.all(walked == walked[:, :1], axis=(0, 1)) & (spread > 0)
    z, effective = np.where(still, np.inf, np.where(t == 0.0, 0.0, z)), np.where(still, 0.0, effective)
    both = zip(independent.mean(axis=0).tolist(), means.mean(axis=0).tolist())
    return JointTest(dict(zip(names, z.tolist())), dict(zip(names, both)), dict(zip(names, effective.tolist())), alarm)
