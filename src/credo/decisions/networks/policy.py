"""`Policy`: which option to take, by what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from credo.decisions.networks.names import known_state
from credo.errors import ParameterError
from credo.probability.factors import Factor
from credo.saving import register

__all__ = ["DecisionRule", "Policy"]


@register
@dataclass(frozen=True, eq=False)
class DecisionRule:
    """A decision's option for each state of the nodes that it looks at.

    decision, options : its name, and what can be done
    observed : node → its states: those of the nodes known at the time that can matter
    choices : (\\*observed) numbers of options
    expected_utilities : (\\*observed, options), of the utilities that the decision influences, later decisions being
        taken as the policy says; NaN where what is observed cannot be
    """

    decision: str
    options: tuple[Any, ...]
    observed: Mapping[str, tuple[Any, ...]]
    choices: np.ndarray
    expected_utilities: np.ndarray

    @property
    def regrets(self) -> np.ndarray:
        """(\\*observed, options): how much less is expected of each option than of the best; ≥ 0."""
        return self.expected_utilities.max(axis=-1, keepdims=True) - self.expected_utilities

    def act(self, observed: Mapping[str, Any] | None = None) -> Any:
        """The option, given states of the nodes looked at; other nodes are passed over."""
        place = []
        for node, states in self.observed.items():
            if observed is None or node not in observed:
                raise ParameterError("Policy.act", "observed", f"with a state of {node!r}", observed)
            place.append(known_state(states, node, observed[node], f"observed[{node!r}]"))
        return self.options[int(self.choices[tuple(place)])]

    def to_dict(self) -> dict[Any, Any]:
        """{observed state: option}; of several nodes {tuple of states: option}, of none {(): option}."""
        keys = product(*self.observed.values())
        options = [self.options[i] for i in self.choices.ravel()]
        alone = len(self.observed) == 1
        return {(key[0] if alone else key): option for key, option in zip(keys, options, strict=True)}

    def factor(self) -> Factor:
        """P(decision | observed): 1 at the option taken."""
        table = np.eye(len(self.options))[self.choices]
        return Factor((*self.observed, self.decision), table, [*self.observed.values(), self.options])

    def __repr__(self) -> str:
        if not self.observed:
            return f"DecisionRule({self.decision}: {self.options[int(self.choices)]!r})"
        return f"DecisionRule({self.decision} by {', '.join(self.observed)})"


@register
@dataclass(frozen=True, eq=False)
class Policy:
    """A rule for every decision, in the order in which they are taken.

    rules : decision → `DecisionRule`
    expected_utility : the sum of all utilities that is expected under it
    optimal : "global": no policy is better; or "local", of several decisions that forget: the best of nine climbs, in
        which no single rule can be bettered alone
    evidence : what was known before any decision
    """

    rules: Mapping[str, DecisionRule]
    expected_utility: float
    optimal: str
    evidence: Mapping[str, Any]

    def __getitem__(self, decision: str) -> DecisionRule:
        if decision not in self.rules:
            raise ParameterError("Policy", "decision", f"one of {list(self.rules)}", decision)
        return self.rules[decision]

    def act(self, observed: Mapping[str, Any] | None = None, decision: str | None = None) -> Any:
        """The option to take now: of `decision`, or of the first one that is not yet among the `observed`."""
        if observed is not None and not isinstance(observed, Mapping):
            raise ParameterError("Policy.act", "observed", "a mapping {node: state}", observed)
        known = {**self.evidence, **(observed or {})}
        if decision is None:
            decision = next((name for name in self.rules if name not in known), None)
            if decision is None:
                raise ParameterError("Policy.act", "observed", "without at least one decision", observed)
        return self[decision].act(known)

    def to_dict(self) -> dict[str, dict[Any, Any]]:
        """{decision: {observed states: option}}."""
        return {name: rule.to_dict() for name, rule in self.rules.items()}

    def __repr__(self) -> str:
        rules = ", ".join(repr(rule)[len("DecisionRule(") : -1] for rule in self.rules.values())
        return f"<Policy {rules}; expected utility {self.expected_utility:.6g}>"
