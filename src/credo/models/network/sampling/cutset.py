"""Cut-set conditioning: exact marginals in less memory, as a sum over the states of a few nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from credo.errors import MemoryLimitError, ZeroProbabilityError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.sampling.arrays import Findings, NetworkArrays
from credo.models.network.sampling.estimates import MarginalEstimates
from credo.probability.factors.elimination import Plan, compile_plan, pack, run
from credo.probability.factors.elimination.orders import bits, elimination_orders

__all__ = ["MOST_TERMS", "MOST_WORK", "condition_on_cutset", "cutsets"]

# Terms of the sum, and entries of all tables formed in it: a minute or so, after which sampling says more.
MOST_TERMS, MOST_WORK = 4096, 3e10
# What is spent on each order while choosing; the plan itself searches with more.
EFFORT = 2_000
# A plan finds room again for tables that are done with, so that it is tried where all of them together are too large.
SLACK = 4.0


def condition_on_cutset(
    definition: NetworkDefinition,
    evidence: Mapping[str, Any] | None,
    memory_limit: int,
    *,
    most_terms: int = MOST_TERMS,
    most_work: float = MOST_WORK,
) -> MarginalEstimates:
    """Exact marginals: P(x | e) = Σ_c P(c | e) P(x | e, c) over the states c of nodes that cut the network apart.

    Parameters
    ----------
    definition, evidence : the network, and {node: state} or likelihoods
    memory_limit : bytes that a term may take
    most_terms, most_work : of the sum; entries of all tables formed

    Raises
    ------
    MemoryLimitError : no cut-set found with so few terms and so little work
    ZeroProbabilityError : evidence that cannot be

    Reference: Pearl (1988), §4.4.2; Dechter (2003), Constraint Processing, §10.1 (on w-cut-sets).
    """
    arrays = NetworkArrays.of(definition)
    seen = arrays.findings(evidence)
    for cut, about in cutsets(arrays, seen, most_terms):
        if about > SLACK * memory_limit:
            continue
        try:
            task = _Task.of(arrays, seen, cut, memory_limit)
        except MemoryLimitError:
            continue
        if task.plan.entries * math.prod(arrays.sizes[v] for v in cut) > most_work:
            break
        return task.summed(arrays, seen, cut)
    raise _too_large(memory_limit, most_terms)


def _too_large(memory_limit: int, most_terms: int) -> MemoryLimitError:
    return MemoryLimitError(
        f"No cut-set with {most_terms:,} terms or fewer brings elimination below memory_limit = "
        f"{memory_limit / 2**30:.3g} GiB in reasonable time.",
        value=memory_limit, remedy="Observe more variables, raise memory_limit, or sample instead.",
    )  # fmt: skip


def cutsets(arrays: NetworkArrays, seen: Findings, most_terms: int) -> Iterator[tuple[list[int], float]]:
    """Ever larger sets of nodes to fix, and about how many bytes elimination then takes, while their states are few.

    One after another the node is taken that the most entries of tables hang on, for each doubling of the terms that it
    costs; a table that it is part of shrinks by its number of states.
    """
    sizes = arrays.sizes
    weight = [math.log2(r) for r in sizes]
    known = sum(1 << v for v in seen.hard)
    scopes = [sum(1 << v for v in (*family.parents, family.node)) & ~known for family in arrays.families]
    cut: list[int] = []
    while math.prod(sizes[v] for v in cut) <= most_terms:
        fixed = sum(1 << v for v in cut)
        masks = [mask & ~fixed for mask in scopes]
        hidden = ((1 << len(sizes)) - 1) & ~known & ~fixed
        tables = _tables_formed(elimination_orders(masks, weight, [hidden], EFFORT)[0], masks, sizes)
        yield list(cut), 8.0 * sum(entries for _, entries in tables)
        gain: dict[int, float] = {}
        for members, entries in tables:
            for v in bits(members):
                gain[v] = gain.get(v, 0.0) + entries
        left = [v for v in gain if sizes[v] > 1]
        if not left:
            return
        cut.append(max(left, key=lambda v: gain[v] * (1.0 - 1.0 / sizes[v]) / weight[v]))


def _tables_formed(order: Sequence[int], masks: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, float]]:
    """(members as a mask, entries) of each table that an elimination forms."""
    near = [0] * len(sizes)
    for mask in masks:
        for v in bits(mask):
            near[v] |= mask
    found = []
    for v in order:
        members = near[v] | (1 << v)
        found.append((members, math.prod(float(sizes[u]) for u in bits(members))))
        for u in bits(members & ~(1 << v)):
            near[u] = (near[u] | members) & ~(1 << v)
    return found


@dataclass(frozen=True, eq=False)
class _Task:
    """One plan for all terms: the states of evidence and cut are told to each run."""

    plan: Plan
    tables: list[np.ndarray]
    hidden: list[int]

    @classmethod
    def of(cls, arrays: NetworkArrays, seen: Findings, cut: Sequence[int], memory_limit: int) -> _Task:
        sizes = arrays.sizes
        scopes = [(*family.parents, family.node) for family in arrays.families]
        tables = [f.table.reshape([sizes[v] for v in scope]) for f, scope in zip(arrays.families, scopes, strict=True)]
        scopes += [(v,) for v in seen.soft]
        tables += [np.asarray(likelihood, dtype=np.float64) for likelihood in seen.soft.values()]
        hidden = [v for v in range(len(sizes)) if v not in seen.hard and v not in cut]
        plan = compile_plan(
            [table.shape for table in tables], scopes, hidden, [*seen.hard, *cut], marginals=True,
            memory_limit=memory_limit,
        )  # fmt: skip
        return cls(plan, tables, hidden)

    def summed(self, arrays: NetworkArrays, seen: Findings, cut: Sequence[int]) -> MarginalEstimates:
        packed = pack(self.tables)
        constant = float(packed.log_scale[list(self.plan.tables)].sum())
        laws = [np.zeros(r) for r in arrays.sizes]
        top, total, terms = -np.inf, 0.0, 0
        for term in product(*(range(arrays.sizes[v]) for v in cut)):
            terms += 1
            try:
                found = run(self.plan, packed, np.array([*seen.hard.values(), *term], dtype=np.int64))
            except ZeroProbabilityError:
                continue
            log_p = float(found.log_total) + constant
            if log_p > top:
                shrink = np.exp(top - log_p)
                for law in laws:
                    law *= shrink
                top, total = log_p, total * shrink
            weight = np.exp(log_p - top)
            total += weight
            for place, v in enumerate(self.hidden):
                laws[v] += weight * found.probabilities(place)
            for v, state in zip(cut, term, strict=True):
                laws[v][state] += weight
        if not total > 0.0:
            raise ZeroProbabilityError("P(evidence) = 0.", remedy="Leave out or correct a finding.")
        for v, state in seen.hard.items():
            laws[v][state] = total
        named = zip(arrays.names, laws, strict=True)
        return MarginalEstimates(
            {node: dict(zip(arrays.states[node], (law / total).tolist(), strict=True)) for node, law in named},
            {node: np.zeros(r) for node, r in zip(arrays.names, arrays.sizes, strict=True)},
            top + float(np.log(total)), 0.0, "cut-set conditioning" if cut else "exact", np.inf, terms,
        )  # fmt: skip
