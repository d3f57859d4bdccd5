"""Answers with the doubt about the tables themselves: a posterior over tables, carried through a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network.definition import NetworkDefinition
from credo.probability.factors.elimination import compile_plan, pack, run

__all__ = ["CredibleAnswer", "credible_answer"]


@dataclass(frozen=True, eq=False)
class CredibleAnswer:
    """P(target | evidence) under draws of the tables: rows of `draws` (n, states) are laws of the target.

    mean, sd : {state: number} over the draws, the doubt that more rows would lessen
    """

    states: tuple[Any, ...]
    draws: np.ndarray

    @property
    def mean(self) -> dict[Any, float]:
        return dict(zip(self.states, self.draws.mean(axis=0).tolist(), strict=True))

    @property
    def sd(self) -> dict[Any, float]:
        return dict(zip(self.states, self.draws.std(axis=0).tolist(), strict=True))

    def interval(self, mass: float = 0.9) -> dict[Any, tuple[float, float]]:
        """{state: (low, high)}: equal-tailed credible intervals of each state's probability."""
        if not 0.0 < mass < 1.0:
            raise ParameterError("CredibleAnswer.interval", "mass", "a number in (0, 1)", mass)
        low, high = np.quantile(self.draws, [0.5 * (1.0 - mass), 0.5 * (1.0 + mass)], axis=0).tolist()
        return dict(zip(self.states, zip(low, high, strict=True), strict=True))

    def __repr__(self) -> str:
        told = ", ".join(f"{s!r}: {m:.3g} ± {self.sd[s]:.2g}" for s, m in list(self.mean.items())[:8])
        return f"CredibleAnswer({told})"


def credible_answer(
    definition: NetworkDefinition,
    tables: Mapping[str, np.ndarray],
    target: str,
    evidence: Mapping[str, int],
    memory_limit: int,
) -> CredibleAnswer:
    """One plan, run on every draw of the tables {node: (n, \\*parents, states)}; evidence by numbers of states."""
    nodes = definition.nodes
    families = [(*definition.parents[node], node) for node in nodes]
    plan = compile_plan(
        [definition.tables[node].shape for node in nodes],
        families,
        (target,),
        tuple(evidence),
        sums_to_one={place: [node] for place, node in enumerate(nodes)},
        memory_limit=memory_limit,
    )
    numbers = np.array(list(evidence.values()), dtype=np.int64)
    size = len(next(iter(tables.values())))
    draws = [run(plan, pack([tables[node][i] for node in nodes]), numbers).probabilities() for i in range(size)]
    return CredibleAnswer(definition.states[target], np.stack(draws))
