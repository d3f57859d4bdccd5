"""`AutoSampler`, "auto": the model that suits the space, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.studies.samplers.base import History, Suggestion, sampler_of
from credo.studies.samplers.seen import free_parameters

__all__ = ["AutoSampler", "chosen"]

# Above these a Gaussian process has too little to go by: levels of unordered categories together, and parameters.
MOST_LEVELS, MOST_PARAMETERS = 24, 20
# A trust region takes over when so many trials a parameter were told. Before, it is in the way: on Ackley's function in
# 24-D, 110 trials, it left 14.7 and 15.8 where the whole cube left 11.4 and 12.8.
LOCAL = 10


def chosen(space: Space, told: int = 0) -> tuple[tuple[str, ...], str]:
    """Names of samplers that take turns after `told` trials, and the reason.

    In conditional spaces neither model is the better one throughout: a Gaussian process finishes where the objective is
    smooth within a branch, a forest was ahead in tuning. So both ask.
    """
    levels = sum(parameter.width for parameter in space.parameters.values() if parameter.kind == "categorical")
    free = free_parameters(space)
    if levels > MOST_LEVELS:
        return ("forest",), f"categories have {levels} levels together"
    conditional = [name for name, parameter in space.parameters.items() if parameter.when is not None]
    if conditional and free > MOST_PARAMETERS:
        return ("forest",), f"{free} parameters, of which {_listed(conditional)} only sometimes matter"
    if conditional:
        return ("gp", "forest"), f"{_listed(conditional)} only sometimes matter, so a GP and a forest take turns"
    if free > MOST_PARAMETERS and told >= LOCAL * free:
        return ("trust",), f"{free} parameters and {told} trials: near the best"
    return ("gp",), f"{free} parameter{'s' * (free > 1)} that always matter{'s' * (free == 1)}"


class AutoSampler:
    """Gaussian process, forest or trust region by the space; the first trials are a design in any case."""

    def __init__(self) -> None:
        self._samplers: dict[str, Any] = {}

    def propose(
        self, space: Space, history: History, pending: Sequence[Mapping[str, Any]], rng: np.random.Generator
    ) -> Suggestion:
        """What the chosen sampler proposes."""
        names, reason = chosen(space, len(history.points))
        name = names[history.index % len(names)]
        if name not in self._samplers:
            self._samplers[name] = sampler_of(name)[1]
        found = self._samplers[name].propose(space, history, pending, rng)
        if found.why.get("method") not in ("gp", "forest", "trust"):  # of the design
            return found
        own = found.why.get("reason")
        why = {**found.why, "reason": f"{reason}; {own}" if own else reason}
        return Suggestion(found.params, why, found.memory)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
