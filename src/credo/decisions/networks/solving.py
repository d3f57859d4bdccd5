"""Decisions one after another, the last first: sums over what is not known, a maximum over options.

With the rules of all other decisions given as tables, a decision network is a Bayesian network, and a decision D that
looks at R has the expected utilities

    EU(r, d) = Σ_u Σ_x P(x | r, d) u(x)

each a sum of products over that network: a query with the utility (shifted to be ≥ 0) as one more factor. Where nothing
is forgotten, the best rule of the last decision does not depend on the rules before it, so that these may be anything
that excludes nothing (here: options at random), and one pass backwards is the exact solution. Where things are
forgotten the pass is repeated while it betters the policy (single policy updating), to a local optimum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.decisions.networks.diagram import Diagram
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


def best_policy(diagram: Diagram, evidence: dict[str, Any], memory_limit: int, no_forgetting: bool) -> Policy:
    """The optimal policy; a local optimum for several decisions that forget."""
    rules: dict[str, DecisionRule] = {}
    known = not no_forgetting and len(diagram.decisions) > 1
    value = -math.inf
    for _ in range(MOST_SWEEPS if known else 1):
        new = dict(rules)
        for decision in reversed(list(diagram.decisions)):
            new[decision] = best_rule(diagram, decision, new, evidence, memory_limit)
        gained = expected_utility(diagram, new, evidence, memory_limit)
        if gained <= value + TIE * max(abs(value), 1.0) and math.isfinite(value):
            break
        rules, value = new, gained
    ordered = {decision: rules[decision] for decision in diagram.decisions}
    return Policy(ordered, value, "local" if known else "global", evidence)


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
