"""What every Markov kernel must pass: Geweke's joint test and calibration on a model whose posterior is known.

The model is p ~ Beta(2, 3), y ~ Binomial(3, p), so p | y ~ Beta(2 + y, 6 − y); the kernel sees only its density. For a
kernel of your own: `assert beta_binomial_joint_test(kernel).ok` and `assert beta_binomial_calibration(kernel).ok`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from credo.diagnostics.geweke import JointTest, geweke_joint_test
from credo.diagnostics.sbc import Calibration, simulation_based_calibration
from credo.distributions.support import UNIT_INTERVAL
from credo.inference.mcmc.kernel import Kernel, advance
from credo.inference.target import Target
from credo.inference.transforms import unconstrained
from credo.numerics.random import as_generator

__all__ = ["transition", "beta_binomial_posterior", "beta_binomial_joint_test", "beta_binomial_calibration"]


def transition(kernel: Kernel, target: Target) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    """One transition of the kernel on the target, in the target's own coordinates: (rng, x) → x'."""
    wish = kernel.unconstrained
    free, bijection = unconstrained(target)
    on_line = bool(wish) or (wish is None and not target.is_box)
    where = free if on_line else target

    def step(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
        state = kernel.init(bijection.inverse(x) if on_line else x, where)
        with np.errstate(all="ignore"):
            state, _ = advance(kernel, rng, state, where)
        return bijection.forward(state.position) if on_line else state.position

    return step


@cache
def beta_binomial_posterior(y: int) -> Target:
    """The density p^{1+y} (1 − p)^{5−y} of p given y of 3, unnormalised."""

    def log_density(p: np.ndarray) -> float:
        with np.errstate(divide="ignore"):
            return float((1 + y) * np.log(p[0]) + (5 - y) * np.log1p(-p[0]))

    return Target(
        log_density,
        {"p": ()},
        gradient=lambda p: (1 + y) / p - (5 - y) / (1 - p),
        supports={"p": UNIT_INTERVAL},
    )


def beta_binomial_joint_test(kernel: Kernel, draws: int = 2000, rng: Any = 0, alarm: float = 1e-4) -> JointTest:
    """Geweke's joint test of p, p², y p and the indicator p < 0.1, which sees an edge that is handled wrongly."""
    steps = [transition(kernel, beta_binomial_posterior(y)) for y in range(4)]
    return geweke_joint_test(
        lambda rng: np.atleast_1d(rng.beta(2, 3)),
        lambda rng, p: int(rng.binomial(3, p[0])),
        lambda rng, p, y: steps[y](rng, p),
        {
            "p": lambda p, y: p[0],
            "p²": lambda p, y: p[0] ** 2,
            "yp": lambda p, y: y * p[0],
            "p < 0.1": lambda p, y: float(p[0] < 0.1),
        },
        draws=draws,
        rng=as_generator(rng),
        alarm=alarm,
    )


def beta_binomial_calibration(
    kernel: Kernel, simulations: int = 200, draws: int = 20, thin: int = 15, rng: Any = 0, alarm: float = 1e-4
) -> Calibration:
    """Simulation-based calibration; the chain starts at a random point, and every `thin`-th of its draws is ranked."""
    steps = [transition(kernel, beta_binomial_posterior(y)) for y in range(4)]

    def infer(rng: np.random.Generator, y: int) -> dict[str, np.ndarray]:
        p, kept = np.array([rng.uniform(0.1, 0.9)]), np.empty(draws)
        for i in range(-3, draws):  # three kept draws' worth of burn-in
            for _ in range(thin):
                p = steps[y](rng, p)
            kept[max(i, 0)] = p[0]
        return {"p": kept}

    return simulation_based_calibration(
        lambda rng: {"p": rng.beta(2, 3)},
        lambda rng, theta: int(rng.binomial(3, theta["p"])),
        infer,
        simulations=simulations,
        rng=as_generator(rng),
        alarm=alarm,
    )
