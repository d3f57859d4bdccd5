"""Decisions that forget: when one pass is exact all the same, and a search where it is not.

A decision D is *extremal* among those not yet solved if the utilities below it are, given D and what it knows,
d-separated from the rules of the others: its best rule is then the same whatever they do. If decisions can be solved
one after another so, each extremal among those left, the policy is the best there is (Lauritzen and Nilsson 2001, §5).
Otherwise no single rule can be bettered, from the best of several starts; and where all rules of all decisions but one
can be gone through, the best of these is the best there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from credo.decisions.networks.diagram import Diagram
from credo.decisions.networks.policy import DecisionRule
from credo.decisions.networks.requisite import Arrows, requisite
from credo.models.network.separation import active_path, reached

__all__ = ["MOST_RULES", "Rules", "all_rules", "random_rules", "soluble_order"]

# Combinations of rules that are gone through: each takes a few questions, of a millisecond or so.
MOST_RULES = 256

Rules = dict[str, DecisionRule]


def soluble_order(diagram: Diagram, given: Any) -> list[str] | None:
    """An order in which each decision's best rule does not hang on those of the ones after it; None without one."""
    left, order = list(diagram.decisions), []
    looks_at: dict[str, Any] = dict(diagram.known)
    while left:
        found = next((d for d in reversed(left) if _extremal(diagram, d, left, looks_at, given)), None)
        if found is None:
            return None
        looks_at[found] = requisite(diagram, found, looks_at, given)[0]
        left.remove(found)
        order.append(found)
    return order


def _extremal(diagram: Diagram, decision: str, left: list[str], looks_at: Mapping[str, Any], given: Any) -> bool:
    others = [name for name in left if name != decision]
    known = [node for node in diagram.known[decision] if node not in given]
    plain = Arrows.of(diagram, {**looks_at, decision: known})
    below = reached(plain.children, [decision])
    targets = [("utility", name) for name in diagram.utilities if ("utility", name) in below]
    rules: dict[Any, Any] = {("rule", name): () for name in others}
    parents: dict[Any, Any] = {**plain.parents, **rules}
    for name in others:
        parents[name] = (*parents[name], ("rule", name))
    graph: Any = Arrows(parents)
    return active_path(graph, list(rules), targets, {decision, *known, *given}) is None  # type: ignore[arg-type]


def random_rules(diagram: Diagram, given: Any, rng: np.random.Generator) -> Rules:
    """A rule for every decision, its options drawn."""
    found = {}
    for name in diagram.decisions:
        shape, n = _shape(diagram, name, given), len(diagram.states[name])
        found[name] = _rule(diagram, name, given, rng.integers(0, n, shape))
    return found


def all_rules(diagram: Diagram, given: Any) -> tuple[str, Callable[[], Iterator[Rules]]] | None:
    """(the decision with most rules, all combinations of the others' rules); None where these are too many."""
    sizes = {  # logarithms of how many rules there are
        name: math.prod(_shape(diagram, name, given)) * math.log(len(options))
        for name, options in diagram.states.items()
        if name in diagram.decisions
    }
    largest = max(sizes, key=sizes.__getitem__)
    if sum(size for name, size in sizes.items() if name != largest) > math.log(MOST_RULES) + 1e-9:
        return None
    others = [name for name in diagram.decisions if name != largest]

    def combinations() -> Iterator[Rules]:
        choices = [
            product(range(len(diagram.states[name])), repeat=math.prod(_shape(diagram, name, given))) for name in others
        ]
        for each in product(*choices):
            yield {
                name: _rule(diagram, name, given, np.array(flat).reshape(_shape(diagram, name, given)))
                for name, flat in zip(others, each, strict=True)
            }

    return largest, combinations


def _shape(diagram: Diagram, name: str, given: Any) -> tuple[int, ...]:
    return tuple(len(diagram.states[node]) for node in diagram.known[name] if node not in given)


def _rule(diagram: Diagram, name: str, given: Any, choices: np.ndarray) -> DecisionRule:
    observed = {node: diagram.states[node] for node in diagram.known[name] if node not in given}
    options = diagram.states[name]
    return DecisionRule(name, options, observed, choices, np.full((*choices.shape, len(options)), np.nan))
