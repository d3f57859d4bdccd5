"""`DecisionNetwork`: chance, decisions and utilities; the best policy, exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from credo.decisions.networks import documents
from credo.decisions.networks.diagram import Diagram, checked_diagram
from credo.decisions.networks.names import OWNER, checked_limit, known_node, known_state, names_in
from credo.decisions.networks.policy import DecisionRule, Policy
from credo.decisions.networks.solving import best_policy, expected_utility
from credo.errors import ParameterError
from credo.models.network.files.documents import DocumentFile
from credo.models.network.separation import reached
from credo.probability.factors.elimination import MEMORY_LIMIT
from credo.saving import register

__all__ = ["DecisionNetwork"]


@register
class DecisionNetwork(DocumentFile):
    """An influence diagram: a Bayesian network in which some nodes are decided, and utilities say what is wanted.

        max over policies of E[Σ utilities]

    Parameters
    ----------
    edges : pairs (parent, child) among all nodes. An arrow into a decision is an information arc: the parent is known
        when it is taken. Utilities have no children.
    tables : chance node → its conditional probabilities given its parents (chance nodes and decisions), as of
        `NetworkDefinition.from_edges`
    utilities : name → a table over its parents, in the order of their edges: an array, a dict (nested, or keyed by
        tuples of states), a function of the parents' states by name. The utilities add up.
    decisions : name → its options, in the order in which the decisions are taken
    information : decision → nodes that are known when it is taken, beside those that edges say
    states : chance node → its states, in order; by default as found in the tables
    no_forgetting : what was known or decided before is known at later decisions. With False each knows what its own
        information arcs say and no more, and the policy of several decisions may be a local optimum
    memory_limit : bytes that a question may take; predicted before anything is computed

    Utilities are what one wants more of; a loss of `cr.losses` is a utility with its sign turned.

    Raises
    ------
    ParameterError : bad tables, by node and row; information that is known only after the decision, or after one that
        comes later; a cycle
    ZeroProbabilityError : evidence that cannot be
    MemoryLimitError : a question beyond `memory_limit`

    Notes
    -----
    Decisions are solved from the last to the first, each by variable elimination over the network that the rules of
    the others make of it, and look only at what can matter to them (d-separation). The cost is exponential in the
    number of such nodes and in the network's width. Of options equally good the first is taken.

    References
    ----------
    Howard and Matheson (1984), Influence diagrams; Lauritzen and Nilsson (2001), Representing and solving decision
    problems with limited information, Management Science 47.

    Examples
    --------
    >>> umbrella = DecisionNetwork(
    ...     [("weather", "forecast"), ("forecast", "umbrella"), ("weather", "mood"), ("umbrella", "mood")],
    ...     {
    ...         "weather": {"sun": 0.7, "rain": 0.3},
    ...         "forecast": {"sun": {"fine": 0.8, "bad": 0.2}, "rain": {"fine": 0.1, "bad": 0.9}},
    ...     },
    ...     utilities={"mood": {"sun": {"leave": 100, "take": 20}, "rain": {"leave": 0, "take": 70}}},
    ...     decisions={"umbrella": ["leave", "take"]},
    ... )
    >>> policy = umbrella.solve()
    >>> policy["umbrella"].to_dict(), round(policy.expected_utility, 6)
    ({'fine': 'leave', 'bad': 'take'}, 77.7)
    >>> round(umbrella.value_of_information("umbrella", "weather"), 6)
    13.3
    """

    kind = "decision network"
    keys = documents.KEYS
    #: what `credo show` says of a file that holds one
    applied_by = "credo network decide {}"

    def __init__(
        self,
        edges: Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        utilities: Mapping[str, Any],
        decisions: Mapping[str, Iterable[Any]],
        information: Mapping[str, Iterable[str]] | None = None,
        states: Mapping[str, Iterable[Any]] | None = None,
        *,
        no_forgetting: bool = True,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        self.no_forgetting = bool(no_forgetting)
        self.memory_limit = checked_limit(memory_limit)
        self.diagram_ = checked_diagram(edges, tables, utilities, decisions, information, states, self.no_forgetting)

    # -- its parts -----------------------------------------------------------------------------------------------

    @property
    def decisions(self) -> dict[str, tuple[Any, ...]]:
        """Decision → options, in the order in which they are taken."""
        return {name: self.diagram_.states[name] for name in self.diagram_.decisions}

    @property
    def chance(self) -> tuple[str, ...]:
        """Chance nodes, in order."""
        return self.diagram_.chance

    @property
    def utilities(self) -> dict[str, np.ndarray]:
        """Utility → its table over its parents' states."""
        return dict(self.diagram_.utilities)

    @property
    def information(self) -> dict[str, tuple[str, ...]]:
        """Decision → all that is known when it is taken: with no-forgetting, what was known and decided before too."""
        return dict(self.diagram_.known)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs (parent, child): to chance nodes, into decisions (what each is told itself), to utilities."""
        d = self.diagram_
        told = [(node, name) for name, seen in d.decisions.items() for node in seen]
        into = [(node, name) for name, above in d.utility_parents.items() for node in above]
        return (*d.definition.edges, *told, *into)

    # -- questions -----------------------------------------------------------------------------------------------

    def solve(self, evidence: Mapping[str, Any] | None = None) -> Policy:
        """The policy of highest expected utility, given states of chance nodes known before any decision.

        Raises `ParameterError` for evidence that a decision influences.
        """
        d = self.diagram_
        return best_policy(d, d.checked_evidence(evidence), self.memory_limit, self.no_forgetting)

    def expected_utility(self, policy: Any, evidence: Mapping[str, Any] | None = None) -> float:
        """E[Σ utilities] under a policy: one that `solve` gave, or {decision: option whatever was seen, or a rule}."""
        rules = policy.rules if isinstance(policy, Policy) else policy
        if not isinstance(rules, Mapping):
            raise ParameterError(OWNER, "policy", "a Policy or a mapping {decision: option}", policy)
        if missing := [name for name in self.decisions if name not in rules]:
            raise ParameterError(OWNER, "policy", f"with a rule for {missing[0]!r}", policy)
        checked = {name: self._rule(name, rules[name]) for name in self.decisions}
        return expected_utility(self.diagram_, checked, self.diagram_.checked_evidence(evidence), self.memory_limit)

    def value_of_information(
        self, decision: str, node: str | Iterable[str], evidence: Mapping[str, Any] | None = None
    ) -> float:
        """How much more is expected if `node` (or several together) is known when `decision` is taken; ≥ 0.

        Raises `ParameterError` for a node that the decision, or a later one, influences.
        """
        self._decision(decision)
        nodes = names_in(node, "node")
        for name in nodes:
            known_node(self.diagram_.states, name)
        informed = self._informed(decision, nodes)
        return max(informed.solve(evidence).expected_utility - self.solve(evidence).expected_utility, 0.0)

    def value_of_perfect_information(
        self, decision: str | None = None, evidence: Mapping[str, Any] | None = None
    ) -> float:
        """How much more is expected if all chance nodes that neither `decision` (the first) nor a later one influences
        are known when it is taken; ≥ 0. No test or sample is worth more."""
        decision = next(iter(self.decisions)) if decision is None else self._decision(decision)
        order = list(self.decisions)
        below: set[str] = set()
        for later in order[order.index(decision) :]:
            below |= reached(self.diagram_.definition.children, [later])
        return self.value_of_information(decision, [name for name in self.chance if name not in below], evidence)

    # -- within --------------------------------------------------------------------------------------------------

    def _decision(self, name: Any) -> str:
        if not isinstance(name, str) or name not in self.decisions:
            raise ParameterError(OWNER, "decision", f"one of {list(self.decisions)}", name)
        return name

    def _rule(self, name: str, given: Any) -> DecisionRule:
        if isinstance(given, DecisionRule):
            return given
        options = self.decisions[name]
        choice = known_state(options, name, given, f"policy[{name!r}]")
        return DecisionRule(name, options, {}, np.array(choice), np.full(len(options), np.nan))

    def _informed(self, decision: str, nodes: list[str]) -> DecisionNetwork:
        told = {name: (*seen, *nodes) if name == decision else seen for name, seen in self.diagram_.decisions.items()}
        return self._with(told)

    def _with(self, information: Mapping[str, tuple[str, ...]]) -> DecisionNetwork:
        d: Diagram = self.diagram_
        into = [(node, name) for name, above in d.utility_parents.items() for node in above]
        return DecisionNetwork(
            [*d.definition.edges, *into],
            {node: d.definition.tables[node] for node in d.chance},
            d.utilities,
            self.decisions,
            information,
            {node: d.states[node] for node in d.chance},
            no_forgetting=self.no_forgetting,
            memory_limit=self.memory_limit,
        )

    def state(self) -> dict[str, Any]:
        """What a file keeps."""
        d = self.diagram_
        return {
            "edges": [*d.definition.edges, *((p, name) for name, above in d.utility_parents.items() for p in above)],
            "tables": {node: d.definition.tables[node] for node in d.chance},
            "utilities": dict(d.utilities),
            "decisions": self.decisions,
            "information": dict(d.decisions),
            "states": {node: d.states[node] for node in d.chance},
            "no_forgetting": self.no_forgetting,
            "memory_limit": self.memory_limit,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], version: int) -> DecisionNetwork:
        """The inverse of `state`."""
        return cls(**state)

    def _document(self) -> dict[str, Any]:
        return documents.document_of(self)

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> DecisionNetwork:
        return cls(**{"tables": {}, **documents.from_document(document)})

    def __reduce__(self) -> Any:
        return DecisionNetwork.from_state, (self.state(), 1)

    def __repr__(self) -> str:
        return (
            f"<{OWNER} {len(self.chance)} chance nodes, decisions {', '.join(self.decisions)}, "
            f"utilities {', '.join(self.diagram_.utilities)}>"
        )
