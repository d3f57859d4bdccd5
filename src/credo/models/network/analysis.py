"""What an answer of a network hangs on: its numbers, what may yet be observed, whether the evidence fits together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import ParameterError, ZeroProbabilityError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.derivatives import table_derivatives

__all__ = ["Influence", "Tornado", "conflict", "sensitivity", "value_of_information"]


# Influences that are printed.
_PRINTED = 10


@dataclass(frozen=True)
class Influence:
    """How far one number of one table moves an answer.

    node, parents, state : which number: P(node = state | parents = …), with its `value`
    at : the ends of the range through which it is moved, the rest of its row in proportion
    low, high : the answer at these two; NaN where the evidence would be impossible
    slope : d answer/d value at the value
    """

    node: str
    parents: dict[str, Any]
    state: Any
    value: float
    at: tuple[float, float]
    low: float
    high: float
    slope: float

    @property
    def name(self) -> str:
        """Which number it is, as "xray=yes | either=no"."""
        given = ", ".join(f"{name}={state}" for name, state in self.parents.items())
        return f"{self.node}={self.state}{' | ' if given else ''}{given}"

    @property
    def range(self) -> float:
        """Width of the bar in a tornado diagram."""
        return abs(self.high - self.low)


class Tornado(list[Influence]):
    """Influences, the widest first; printed, the first ten as a table; `credo.plots.tornado` draws them.

    question, answer : what is asked, as "P(lung=yes | smoke=no)", and its answer as the tables are
    share : by which numbers were moved
    """

    def __init__(self, found: Iterable[Influence] = (), question: str = "", answer: float = np.nan, share: float = 0.1):
        super().__init__(found)
        self.question, self.answer, self.share = question, answer, share

    def __repr__(self) -> str:
        if not self:
            return "Tornado([])"
        rows = [("probability in a table", "value", "moved to", "answer", "slope")]
        for each in self[:_PRINTED]:
            what = f"P({each.name})"
            at, ends = (f"{low:.4g} … {high:.4g}" for low, high in (each.at, (each.low, each.high)))
            rows.append((what, f"{each.value:.4g}", at, ends, f"{each.slope:.3g}"))
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)).rstrip() for row in rows]
        more = len(self) - _PRINTED
        return "\n".join([*lines, *([f"… and {more:,} more"] if more > 0 else [])])


def sensitivity(
    definition: NetworkDefinition,
    memory_limit: int,
    target: str,
    state: Any,
    evidence: Mapping[str, Any],
    share: float,
    nodes: Sequence[str],
) -> Tornado:
    """Every number's influence, the widest first: P(target = state | evidence) = (a θ + b)/(c θ + d) exactly.

    A number θ of a row moves by a factor of 1 ± share (within 0 and 1), and the others of the row share the rest as
    they did, 1 − θ. P(evidence), and P(evidence, state), are linear in each row, and their derivatives by all numbers
    give a, b, c and d.

    Cost: some six questions, however many numbers.
    Reference: Castillo, Gutiérrez and Hadi (1997), IEEE SMC 27; Coupé and van der Gaag (2002).
    """
    if not 0.0 < share <= 1.0:
        raise ParameterError("BayesianNetwork.sensitivity", "share", "a number in (0, 1]", share)
    whole = table_derivatives(definition, evidence, memory_limit)
    if whole.total == 0.0:
        raise ZeroProbabilityError("BayesianNetwork.sensitivity: the evidence has probability 0.", value=evidence)
    part = table_derivatives(definition, {**evidence, target: state}, memory_limit)
    ratio = np.exp(part.log_scale - whole.log_scale)
    found: list[Influence] = []
    for node in nodes:
        above = ratio * part.by_node[node], ratio * part.total
        found += _of_family(definition, node, above, (whole.by_node[node], whole.total), share)
    given = ", ".join(f"{name}={seen}" for name, seen in evidence.items())
    question = f"P({target}={state}{' | ' if given else ''}{given})"
    answer = float(ratio * part.total / whole.total)
    return Tornado(sorted(found, key=lambda each: -np.nan_to_num(each.range)), question, answer, share)


def _of_family(
    definition: NetworkDefinition,
    node: str,
    part: tuple[np.ndarray, float],
    whole: tuple[np.ndarray, float],
    share: float,
) -> list[Influence]:
    """`part` and `whole` are derivatives by the table of the answer's numerator and denominator, and these two."""
    table = definition.tables[node]
    ends = np.maximum(0.0, table * (1.0 - share)), np.minimum(1.0, table * (1.0 + share))
    (a, b), (c, d) = (_moved(table, *side) for side in (part, whole))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = ((a * theta + b) / np.where(c * theta + d > 0.0, c * theta + d, np.nan) for theta in ends)
        low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)  # beyond by rounding alone
        slope = (a * (c * table + d) - (a * table + b) * c) / (c * table + d) ** 2
    parents, own = definition.parents[node], definition.states[node]
    possible = np.broadcast_to((whole[0] > 0.0).any(axis=-1, keepdims=True), table.shape)
    found = []
    for place in map(tuple, np.argwhere(possible).tolist()):
        given = {name: definition.states[name][i] for name, i in zip(parents, place, strict=False)}
        at = float(ends[0][place]), float(ends[1][place])
        values = (float(each[place]) for each in (low, high, slope))
        found.append(Influence(node, given, own[place[-1]], float(table[place]), at, *values))
    return found


def _moved(table: np.ndarray, derivative: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
    """(a, b) such that the sum is a θ + b where one number of a row is θ and the others share 1 − θ as they did.

    Where the others are all 0, they share it evenly.
    """
    n = table.shape[-1]
    row = (table * derivative).sum(axis=-1, keepdims=True)
    others = 1.0 - table
    alone = (np.sum(table > 0.0, axis=-1, keepdims=True) - (table > 0.0)) == 0
    even = (derivative.sum(axis=-1, keepdims=True) - derivative) / max(n - 1, 1)
    shared = np.where(alone, even, (row - table * derivative) / np.where(alone, 1.0, others))
    return derivative - shared, total - row + shared


def value_of_information(
    query: Callable[..., Any],
    marginals: Callable[[Mapping[str, Any]], Mapping[str, Mapping[Any, float]]],
    target: str,
    candidates: Iterable[str],
    evidence: Mapping[str, Any],
) -> dict[str, float]:
    """Nats that each candidate is expected to tell of the target, I(target; candidate | evidence), most first.

    Cost: all marginals, once for each state of the target.
    """
    candidates = list(candidates)
    law = query(target, evidence).to_dict()
    prior = marginals(evidence)
    found = dict.fromkeys(candidates, 0.0)
    for state, p in law.items():
        if p > 0.0:
            told = marginals({**evidence, target: state})
            for name in candidates:
                pairs = np.array(list(told[name].values())), np.array(list(prior[name].values()))
                found[name] += p * float(scipy.special.rel_entr(*pairs).sum())
    return dict(sorted(((name, max(0.0, nats)) for name, nats in found.items()), key=lambda pair: -pair[1]))


def conflict(log_probability: Callable[[Mapping[str, Any]], float], evidence: Mapping[str, Any]) -> float:
    """log Π P(eᵢ) − log P(e): above 0 the findings are less likely together than apart.

    Raises `ZeroProbabilityError` where one of them is impossible by itself.
    Reference: Jensen, Chamberlain, Nordahl and Jensen (1991), UAI.
    """
    apart = 0.0
    for name, seen in evidence.items():
        alone = log_probability({name: seen})
        if alone == -np.inf:
            raise ZeroProbabilityError(
                f"BayesianNetwork.conflict: {name}={seen!r} is impossible by itself.", value={name: seen}
            )
        apart += alone
    return float(apart - log_probability(evidence))
