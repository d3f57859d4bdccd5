"""Answers with the doubt about the tables themselves: a posterior over tables, carried through a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ParameterError
from credo.probability.factors.elimination import Packed, Plan, compile_plan, run

if TYPE_CHECKING:
    from credo.models.network.network import BayesianNetwork

__all__ = ["CredibleAnswer", "credible_answer"]

# Plans kept with a network, the oldest going first. And as in the engine: products of two entries above this stay
# within floating point.
_MOST_PLANS, TINY = 256, 1e-140


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
    network: BayesianNetwork, tables: Mapping[str, np.ndarray], target: str, evidence: Mapping[str, int]
) -> CredibleAnswer:
    """One plan, run on every draw of the tables {node: (n, \\*parents, states)}; evidence by numbers of states.

    The plan is kept with the network: a second question about the same nodes is not planned again.
    """
    plan = _plan(network, target, tuple(evidence))
    numbers = np.array(list(evidence.values()), dtype=np.int64)
    draws = [run(plan, packed, numbers).probabilities() for packed in _packed([tables[n] for n in network.nodes])]
    return CredibleAnswer(network.states[target], np.stack(draws))


def _plan(network: BayesianNetwork, target: str, observed: tuple[str, ...]) -> Plan:
    kept: dict[Any, Plan] = network.__dict__.setdefault("_draw_plans", {})
    if (target, observed) not in kept:
        if len(kept) >= _MOST_PLANS:
            del kept[next(iter(kept))]
        d = network.definition_
        kept[target, observed] = compile_plan(
            [d.tables[node].shape for node in d.nodes],
            [(*d.parents[node], node) for node in d.nodes],
            (target,),
            observed,
            sums_to_one={place: [node] for place, node in enumerate(d.nodes)},
            memory_limit=network.memory_limit,
        )
    return kept[target, observed]


def _packed(tables: Sequence[np.ndarray]) -> Iterator[Packed]:
    """Each draw's tables as the engine takes them, scaled for all draws at once: three times as fast as one by one."""
    flat = [table.reshape(len(table), -1) for table in tables]
    tops = [table.max(axis=1, keepdims=True) for table in flat]
    whole = np.concatenate([table / top for table, top in zip(flat, tops, strict=True)], axis=1)
    scales = np.log(np.concatenate(tops, axis=1))
    tiny = np.any((whole > 0.0) & (whole < TINY), axis=1).tolist()
    for entries, scale, few in zip(whole, scales, tiny, strict=True):
        yield Packed(entries, scale, few)
