"""How much a policy loses to knowing the best arm from the start, by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo.design.bandits.arms import Arms
from credo.design.bandits.choose import choose
from credo.errors import ParameterError
from credo.numerics.random import as_generator

__all__ = ["simulate_regret"]


def simulate_regret(
    belief: Arms,
    policy: Any,
    means: Any,
    horizon: int,
    rng: np.random.Generator,
    reward: Callable[[int, np.random.Generator], float] | None = None,
) -> np.ndarray:
    """Expected regret Σ_{s≤t} (max μ − μ of the arm played) after each of `horizon` plays of one run, (horizon,).

    Parameters
    ----------
    belief : of the arms before the first play
    means : (K,) true expected rewards
    reward : (arm, rng) → reward; by default Bernoulli with `means`

    >>> from credo.design.bandits import bernoulli_arms
    >>> r = simulate_regret(bernoulli_arms(2), "uniform", [0.9, 0.1], 1000, np.random.default_rng(0))
    >>> bool(abs(r[-1] - 400) < 50)      # half the plays lose .8
    True
    """
    rng = as_generator(rng)
    means = np.asarray(means, dtype=np.float64)
    if means.shape != (belief.size,) or not np.all(np.isfinite(means)):
        raise ParameterError("simulate_regret", "means", f"{belief.size} finite numbers", means)
    if reward is None and not np.all((means >= 0) & (means <= 1)):
        raise ParameterError("simulate_regret", "means", "probabilities, or with a `reward` function", means)
    gaps = means.max() - means
    lost = np.empty(horizon)
    for t in range(horizon):
        arm = int(choose(belief, rng, policy)[0])
        value = float(rng.random() < means[arm]) if reward is None else reward(arm, rng)
        belief = belief.update(arm, value)
        lost[t] = gaps[arm]
    return np.cumsum(lost)
