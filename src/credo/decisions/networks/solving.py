"""Decisions one after another, the last first: sums over what is not known, a maximum over options.

With the rules of all other decisions given as tables, a decision network is a Bayesian network, and a decision D that
looks at R has the expected utilities

    EU(r, d) = Σ_u Σ_x P(x | r, d) u(x)

each a sum of products over that network: a query with the utility (shifted to be ≥ 0) as one more factor. Where nothing
is forgotten, the best rule of the last decision does not depend on the rules before it, so that these may be anything
that excludes nothing (here: options at random), and one pass backwards is the exact solution. So it is in another order
for some decisions that forget (`limited`). For others the pass is repeated while it betters the policy (single policy
updating), to a local optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from credo.decisions.networks.diagram import Diagram
from credo.decisions.networks.limited import Rules, all_rules, random_rules, soluble_order
from credo.decisions.networks.names import impossible
from credo.decisions.networks.policy import DecisionRule, Policy
from credo.decisions.networks.requisite import requisite
from credo.probability.factors import Factor, FactorGraph

__all__ = ["best_policy", "expected_utility"]

# Options whose expected utilities differ by less than this share of the utilities' range are tied: far above rounding,
# far below what anyone can state.
TIE = 1e-12
# Sweeps of single policy updating; each must better the policy, and there are finitely many.
MOST_SWEEPS = 100
# Climbs from rules drawn, beside the one from options at random, for decisions that forget.
STARTS = 8


def best_policy(diagram: Diagram, evidence: dict[str, Any], memory_limit: int, no_forgetting: bool) -> Policy:
    """The optimal policy; of several decisions that forget a local optimum, where no better can be proved."""
    order = list(reversed(list(diagram.decisions)))
    if not no_forgetting and len(order) > 1:
        exact = soluble_order(diagram, evidence)
        if exact is None:
            return _limited(diagram, order, evidence, memory_limit)
        order = exact
    return _policy(diagram, _swept(diagram, order, {}, evidence, memory_limit), evidence, memory_limit, "global")


def _swept(diagram: Diagram, order: list[str], rules: Rules, evidence: dict[str, Any], memory_limit: int) -> Rules:
    """Every decision's rule bettered in turn, those of the others given."""
    new = dict(rules)
    for decision in order:
        new[decision] = best_rule(diagram, decision, new, evidence, memory_limit)
    return new


def _policy(diagram: Diagram, rules: Rules, evidence: dict[str, Any], memory_limit: int, optimal: str) -> Policy:
    value = expected_utility(diagram, rules, evidence, memory_limit)
    return Policy({decision: rules[decision] for decision in diagram.decisions}, value, optimal, evidence)


def _limited(diagram: Diagram, order: list[str], evidence: dict[str, Any], memory_limit: int) -> Policy:
    """The best of several climbs; it is the best there is if all rules can be gone through."""
    rng = np.random.default_rng(0)  # starts of a search, not part of the answer
    starts: list[Rules] = [{}, *(random_rules(diagram, evidence, rng) for _ in range(STARTS))]
    best = max(
        (_climbed(diagram, order, rules, evidence, memory_limit) for rules in starts),
        key=lambda policy: policy.expected_utility,
    )
    few = all_rules(diagram, evidence)
    if few is None:
        return best
    largest, combinations = few
    for others in combinations():
        rules = {**others, largest: best_rule(diagram, largest, others, evidence, memory_limit)}
        value = expected_utility(diagram, rules, evidence, memory_limit)
        if _better(value, best.expected_utility):
            best = _climbed(diagram, order, rules, evidence, memory_limit)
    return replace(best, optimal="global")


def _better(value: float, best: float) -> bool:
    return value > best + TIE * max(abs(best), 1.0)


def _climbed(diagram: Diagram, order: list[str], rules: Rules, evidence: dict[str, Any], memory_limit: int) -> Policy:
    """Sweeps while they better the policy: no single rule can be bettered then."""
    best: Policy | None = None
    for _ in range(MOST_SWEEPS):
        new = _policy(diagram, _swept(diagram, order, rules, evidence, memory_limit), evidence, memory_limit, "local")
        if best is not None and not _better(new.expected_utility, best.expected_utility):
            break
        best, rules = new, dict(new.rules)
    assert best is not None
    return best


def best_rule(
    diagram: Diagram, decision: str, rules: Mapping[str, DecisionRule], evidence: dict[str, Any], memory_limit: int
) -> DecisionRule:
    """The best rule of one decision, those of the others given; an other one without a rule is taken at random."""
    others = {name: rule for name, rule in rules.items() if name != decision}
    # decisions that are not solved yet may look at all that they know
    looks_at = {name: others[name].observed if name in others else known for name, known in diagram.known.items()}
    observed, influenced = requisite(diagram, decision, looks_at, evidence)
    options = diagram.states[decision]
    shape = (*(len(diagram.states[node]) for node in observed), len(options))
    factors = [*diagram.factors, Factor(decision, np.ones(len(options)), [options]), *_rules(diagram, decision, others)]
    total, reach = np.zeros(shape), 0.0
    plain = FactorGraph(factors, memory_limit=memory_limit)
    base = plain.log_partition(evidence)
    if base == -math.inf:
        raise impossible(plain, evidence)
    weight = plain.query([*observed, decision], evidence).values
    for name in influenced:
        utility = diagram.utilities[name]
        low, spread = float(utility.min()), float(np.ptp(utility))
        total += low
        if spread > 0.0:
            reach += spread
            own = diagram.utility_parents[name]
            shifted = Factor(own, (utility - low) / spread, [diagram.states[node] for node in own])
            total += spread * _conditional(
                factors, shifted, [*observed, decision], evidence, base, weight, memory_limit
            )
    possible = np.all(weight > 0.0, axis=-1)
    best = np.where(possible[..., None], total, 0.0)
    # the first of the options that are best but for rounding
    choices = np.argmax(best >= best.max(axis=-1, keepdims=True) - TIE * reach, axis=-1)
    total[np.abs(total) < TIE * reach] = 0.0  # what rounding left of 0
    total[~possible] = np.nan
    return DecisionRule(decision, options, {node: diagram.states[node] for node in observed}, choices, total)


def _conditional(
    factors: list[Factor], utility: Factor, axes: list[str], evidence: Any, base: float, weight: np.ndarray, limit: int
) -> np.ndarray:
    """E[utility | axes] (\\*axes): Σ P · u over Σ P; 0 where the axes' states cannot be."""
    graph = FactorGraph([*factors, utility], memory_limit=limit)
    share = graph.log_partition(evidence)
    if share == -math.inf:  # the utility is lowest wherever something can happen
        return np.zeros(weight.shape)
    found = graph.query(axes, evidence).values * math.exp(share - base)
    return np.divide(found, weight, out=np.zeros(weight.shape), where=weight > 0.0)


def _rules(diagram: Diagram, decision: str, rules: Mapping[str, DecisionRule]) -> list[Factor]:
    """Tables of the other decisions; one without a rule is taken at random."""
    found = []
    for name in diagram.decisions:
        if name in rules:
            found.append(rules[name].factor())
        elif name != decision:
            options = diagram.states[name]
            found.append(Factor(name, np.full(len(options), 1.0 / len(options)), [options]))
    return found


def expected_utility(
    diagram: Diagram, rules: Mapping[str, DecisionRule], evidence: dict[str, Any], memory_limit: int
) -> float:
    """E[Σ utilities | evidence] under rules for all decisions."""
    graph = FactorGraph([*diagram.factors, *_rules(diagram, "", rules)], memory_limit=memory_limit)
    if graph.log_partition(evidence) == -math.inf:
        raise impossible(graph, evidence)
    total = 0.0
    for name, table in diagram.utilities.items():
        own = diagram.utility_parents[name]
        seen = tuple(diagram.states[node].index(evidence[node]) if node in evidence else slice(None) for node in own)
        hidden = [node for node in own if node not in evidence]
        left = table[seen]
        total += float(np.sum(graph.query(hidden, evidence).values * left)) if hidden else float(left)
    return total
