"""`BayesianNetwork`: questions to a network of causes, answered exactly."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from credo.errors import MemoryLimitError, ParameterError, UnavailableError, ZeroProbabilityError
from credo.models.network import analysis
from credo.models.network.arrow_questions import ArrowQuestions
from credo.models.network.credible import CredibleAnswer, credible_answer
from credo.models.network.definition import NetworkDefinition
from credo.models.network.findings import OWNER, explained, known_node, known_state, refuse_unset, split
from credo.models.network.naming import listed, mapped
from credo.models.network.row_questions import RowQuestions
from credo.numerics.random import as_generator
from credo.probability.factors import Factor, FactorGraph
from credo.probability.factors.elimination import MEMORY_LIMIT
from credo.saving import register

__all__ = ["BayesianNetwork", "Explanation"]


class Explanation(NamedTuple):
    """The most probable states of what was not observed, and log P(states, evidence)."""

    states: dict[str, Any]
    log_probability: float


@register
class BayesianNetwork(RowQuestions, ArrowQuestions):
    """P(x) = ∏ᵢ P(xᵢ | its parents): variables with finitely many states, and arrows from causes to effects.

    Parameters
    ----------
    edges : pairs (parent, child)
    tables : node → its conditional probabilities: dicts by the states of the parents, arrays (\\*parents, states),
        `Factor`s, or rules such as noisy-OR; see `NetworkDefinition.from_edges`
    states : node → its states, in order; by default as found in the tables
    name : of the network
    normalise : divide rows of the tables by their sums, however far from 1 these are
    memory_limit : bytes that a question may take; predicted before anything is computed

    `evidence` is {node: state}. A dict {state: likelihood} or an array in place of the state is *soft* evidence: how
    probable what was seen is under each state, on any scale.

    Attributes
    ----------
    definition_ : `NetworkDefinition`: states, parents and tables
    posterior_, result_ : where learned from rows, the Dirichlets of the tables and how they were come by; else None

    Raises
    ------
    ParameterError : a bad table, by node and row; a cycle, as its path; an unknown node or state, with those like it
    ZeroProbabilityError : evidence that cannot be, naming the findings that exclude each other
    MemoryLimitError : a question beyond `memory_limit` whose answer has no estimate: `mpe`, `map`, joint laws; its
        `value` is the bytes. `query` and `marginals` then go by a cut-set, exactly, or by weighted draws, and warn

    Notes
    -----
    Each question is planned once (by which nodes are asked for and observed) and then costs microseconds on small
    networks; nodes that cannot matter are left out first. Networks are equal if their definitions are.

    References
    ----------
    Pearl (1988), Probabilistic Reasoning in Intelligent Systems; Koller and Friedman (2009), Probabilistic Graphical
    Models.

    Examples
    --------
    >>> network = BayesianNetwork(
    ...     [("rain", "wet")],
    ...     {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.2, "yes": 0.8}}},
    ... )
    >>> round(network.query("rain", {"wet": "yes"})["yes"], 4)
    0.6667
    >>> network.mpe({"wet": "yes"}).states
    {'rain': 'yes'}
    """

    posterior_: Any
    result_: Any
    #: {node: state} that `do` set
    _actions: Mapping[str, Any] = MappingProxyType({})
    #: what `credo show` says of a file that holds one
    applied_by = "credo network show {}"

    def __init__(
        self,
        edges: Iterable[tuple[str, str]],
        tables: Mapping[str, Any],
        states: Mapping[str, Iterable[Any]] | None = None,
        *,
        name: str = "",
        normalise: bool = False,
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        try:
            self.definition_ = NetworkDefinition.from_edges(edges, tables, states, name=name, normalise=normalise)
        except ParameterError as error:
            if error.owner != NetworkDefinition.__name__:
                raise
            raise ParameterError(OWNER, error.parameter, error.constraint, error.value, error.remedy) from error
        self.memory_limit = _checked_limit(memory_limit)
        self.posterior_ = self.result_ = None

    @classmethod
    def of(cls, definition: NetworkDefinition, *, memory_limit: int = MEMORY_LIMIT) -> BayesianNetwork:
        """The network that a definition describes."""
        if not isinstance(definition, NetworkDefinition):
            raise ParameterError(OWNER, "definition", "a NetworkDefinition", definition)
        made = cls.__new__(cls)
        made.definition_, made.memory_limit = definition, _checked_limit(memory_limit)
        made.posterior_ = made.result_ = None
        return made

    @classmethod
    def read(cls, path: str | PathLike[str], *, memory_limit: int = MEMORY_LIMIT, **options: Any) -> BayesianNetwork:
        """From a file: BIF, XMLBIF, UAI or Hugin NET, by its ending (``.gz`` may follow).

        options : `format`, `encoding` and `normalise`, as of `read_network`
        """
        from credo.models.network.files import read_network

        return cls.of(read_network(path, **options), memory_limit=memory_limit)

    @classmethod
    def learn(cls, frame: Any, method: str = "hill_climb", **options: Any) -> BayesianNetwork:
        """Structure and tables from a frame, every column of which is a node: as `learn_network`, which says more.

        options : of the search (score, max_parents, required…) and of the tables (prior, sample_weight…), by name
        """
        from credo.models.network.learning import learn_network

        return cls._learned(learn_network(frame, method, **options), MEMORY_LIMIT)

    def fit(self, frame: Any, **options: Any) -> BayesianNetwork:
        """A network with these arrows and states, its tables estimated from a frame's rows; cells may be missing.

        Nodes without a column are hidden, and EM begins at their tables here; columns that are no nodes are left out;
        either with a `DataWarning`. As `learn_parameters`, which says more; `options` (prior, sample_weight…) are its.
        """
        from credo.models.network.learning.refitting import refit

        found = refit(self.definition_, frame, options)
        return type(self)._learned(found, self.memory_limit)

    @classmethod
    def _learned(cls, found: Any, memory_limit: int) -> BayesianNetwork:
        made = cls.of(found.definition, memory_limit=memory_limit)
        made.posterior_, made.result_ = found.posterior, found.result
        return made

    def write(self, path: str | PathLike[str], *, format: str | None = None, lossy: bool = False) -> None:
        """To a file of the format that its ending says, whole or not at all; options as of `write_network`."""
        from credo.models.network.files import write_network

        write_network(self.definition_, path, format=format, lossy=lossy)

    # -- its parts -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Of the network; "" without one."""
        return self.definition_.name

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names, in order."""
        return self.definition_.nodes

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs (parent, child)."""
        return self.definition_.edges

    @property
    def states(self) -> Mapping[str, tuple[Any, ...]]:
        """Node → its states."""
        return self.definition_.states

    def parents(self, node: str) -> tuple[str, ...]:
        """In the order of the table's axes."""
        return self.definition_.parents[self._node(node)]

    def children(self, node: str) -> tuple[str, ...]:
        """In the order of the nodes."""
        return self.definition_.children[self._node(node)]

    def table(self, node: str) -> Factor:
        """P(node | parents) as a `Factor` over parents and node."""
        return self.factors[self.nodes.index(self._node(node))]

    @functools.cached_property
    def factors(self) -> tuple[Factor, ...]:
        """The tables, in the order of the nodes."""
        d = self.definition_
        families = ((*d.parents[node], node) for node in d.nodes)
        return tuple(Factor.of(f, d.tables[f[-1]], tuple(d.states[name] for name in f)) for f in families)

    @functools.cached_property
    def graph(self) -> FactorGraph:
        """What answers the questions: the tables' product."""
        return FactorGraph(self.factors, memory_limit=self.memory_limit, laws=self.nodes)

    # -- questions -----------------------------------------------------------------------------------------------

    def query(self, target: Any, evidence: Mapping[str, Any] | None = None, joint: bool = False) -> Any:
        """P(target | evidence) as a `Factor`: ``answer["yes"]``, ``answer.to_dict()``.

        target : a name; or a list of names, and the answer is {name: Factor}, or with `joint` one Factor over all
        """
        hard, soft = split(self.definition_.states, evidence)
        try:
            if joint or isinstance(target, str):
                return self.graph.query(target, hard, likelihoods=soft)
            return self.graph.query(target, hard, likelihoods=soft, joint=False)
        except MemoryLimitError as error:
            from credo.models.network.sampling.asking import query_beyond_memory

            return query_beyond_memory(self, target, evidence, joint, error)
        except (ParameterError, ZeroProbabilityError) as error:
            wanted = [target] if isinstance(target, str) or not isinstance(target, Iterable) else target
            raise explained(self.states, self.graph, error, hard, soft, wanted, self._actions) from error

    def marginals(self, evidence: Mapping[str, Any] | None = None) -> dict[str, dict[Any, float]]:
        """{node: {state: probability}} for all nodes, those observed included."""
        try:
            found = self._ask(self.graph.marginals, evidence)
        except MemoryLimitError:
            from credo.models.network.sampling.asking import marginals_beyond_memory

            return marginals_beyond_memory(self, evidence)
        return {name: dict(zip(self.states[name], found[name].values.tolist(), strict=True)) for name in self.nodes}

    def query_draws(
        self, target: str, evidence: Mapping[str, Any] | None = None, draws: int = 400, *, random_state: Any = 0
    ) -> CredibleAnswer:
        """P(target | evidence) under draws of the tables from their posterior, of a network learned from rows.

        ``answer.mean``, ``answer.sd`` and ``answer.interval(0.9)`` by state: how sure the rows leave one of the answer.

        Raises
        ------
        UnavailableError : the tables were stated.
        NotIdentifiedError : they were estimated without a prior.

        Notes
        -----
        Where cells were missing the draws are of cells and tables in turn (`AugmentedTables`): honest about what was
        not seen. Cost: the draws of the tables, and an answer from a kept plan for each, together some 70 µs a draw
        of 40 nodes; with missing cells seconds on a thousand rows of such.
        """
        if self.posterior_ is None:
            raise UnavailableError(
                "The tables of this network were stated, so that nothing is in doubt about them.",
                remedy="Learn them: network.fit(frame), or BayesianNetwork.learn(frame).",
            )
        if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 1:
            raise ParameterError(f"{OWNER}.query_draws", "draws", "an integer ≥ 1", draws)
        hard, soft = split(self.states, evidence)
        if soft or self._node(target) in (hard or {}):
            raise ParameterError(OWNER, "evidence", "states of nodes other than the target", evidence)
        numbers = {
            name: known_state(
                self.states[known_node(self.states, name, "evidence")], name, state, f"evidence[{name!r}]"
            )
            for name, state in (hard or {}).items()
        }
        tables = dict(self.posterior_.sample(as_generator(random_state), int(draws)))
        for node in self._actions:  # set from outside: nothing about it is in doubt
            known = self.definition_.tables[node]
            tables[node] = np.broadcast_to(known, (int(draws), *known.shape))
        return credible_answer(self, tables, target, numbers)

    def log_probability(self, evidence: Mapping[str, Any]) -> float:
        """log P(evidence); −∞ where it cannot be."""
        return float(self._ask(self.graph.log_partition, evidence))

    def probability(self, evidence: Mapping[str, Any]) -> float:
        """P(evidence); under soft evidence the expected likelihood."""
        return float(np.exp(self.log_probability(evidence)))

    def mpe(self, evidence: Mapping[str, Any] | None = None) -> Explanation:
        """The most probable states of all that was not observed, together."""
        return Explanation(*self._ask(self.graph.most_probable, evidence))

    def map(self, targets: Any, evidence: Mapping[str, Any] | None = None) -> Explanation:
        """The most probable states of some nodes together, the others summed out: marginal MAP."""
        wanted = listed(OWNER, "targets", targets)
        return Explanation(*self._ask(self.graph.most_probable, evidence, wanted, maximise=wanted))

    def do(self, actions: Mapping[str, Any]) -> BayesianNetwork:
        """The network in which nodes are set from outside: their arrows cut, their states given.

        Evidence is then what is seen after the action: ``network.do({"sprinkler": 1}).query("rain", {"wet": 1})``.
        """
        if not isinstance(actions, Mapping):
            raise ParameterError(OWNER, "actions", "a mapping {node: state}", actions)
        d = self.definition_
        tables, parents = dict(d.tables), dict(d.parents)
        for node, state in actions.items():
            own = d.states[known_node(d.states, node, "actions")]
            tables[node] = np.zeros(len(own))
            tables[node][known_state(own, node, state, f"actions[{node!r}]")] = 1.0
            parents[node] = ()
        changed = NetworkDefinition(d.states, parents, tables, d.name, d.properties)
        made = type(self).of(changed, memory_limit=self.memory_limit)
        made._actions = MappingProxyType({**self._actions, **actions})
        made.posterior_, made.result_ = self.posterior_, self.result_  # what rows told of the tables left as they were
        return made

    # -- draws ------------------------------------------------------------------------------------------------------

    def sample(
        self, n: int, evidence: Mapping[str, Any] | None = None, *, random_state: Any = None
    ) -> dict[str, np.ndarray]:
        """Independent draws {node: states (n,)}; given evidence from P(x | evidence), exactly."""
        from credo.models.network.sampling.asking import sample

        return sample(self, n, evidence, random_state)

    def estimate_marginals(
        self,
        evidence: Mapping[str, Any] | None = None,
        method: str = "auto",
        *,
        random_state: Any = None,
        **options: Any,
    ) -> Any:
        """Marginals with standard errors (`MarginalEstimates`): "auto" (exact where memory allows, then by a cut-set,
        then weighted draws), "likelihood_weighting" or "gibbs"; options as of these."""
        from credo.models.network.sampling.asking import estimate_marginals

        return estimate_marginals(self, evidence, method, random_state, **options)

    def picture(self, evidence: Mapping[str, Any] | None = None, *, do: Mapping[str, Any] | None = None) -> Any:
        """The arrows with marginals in the nodes: a `Picture`, ``.svg()``, ``.html()``, ``.write(path)``."""
        from credo.models.network.drawing import picture

        return picture(self, evidence, do)

    def _repr_html_(self) -> str:
        from credo.models.network.drawing import notebook_html

        return notebook_html(self)

    # -- what hangs on what --------------------------------------------------------------------------------------

    def sensitivity(
        self,
        target: str,
        state: Any,
        evidence: Mapping[str, Any] | None = None,
        *,
        share: float = 0.1,
        nodes: Iterable[str] | None = None,
    ) -> analysis.Tornado:
        """How P(target = state | evidence) moves with each number of the tables, the widest first: a tornado.

        share : each number is moved by a factor of 1 ± share, the others of its row in proportion
        nodes : whose tables; by default all but those that `do` set
        """
        known_state(self.states[self._node(target)], target, state)
        hard, soft = split(self.states, evidence)
        if soft or target in (hard or {}):
            raise ParameterError(OWNER, "evidence", "states of nodes other than the target", evidence)
        self._ask(self.graph.log_partition, evidence)  # unknown nodes and states, by name
        free = [node for node in self.nodes if node not in self._actions]
        wanted = free if nodes is None else [self._node(node) for node in nodes]
        try:
            return analysis.sensitivity(self.definition_, self.memory_limit, target, state, hard or {}, share, wanted)
        except ZeroProbabilityError as error:
            raise explained(self.states, self.graph, error, hard, soft, actions=self._actions) from error

    def value_of_information(
        self, target: str, evidence: Mapping[str, Any] | None = None, candidates: str | Iterable[str] | None = None
    ) -> dict[str, float]:
        """Nats that observing each candidate is expected to tell of the target, most first: what to observe next."""
        evidence = mapped(OWNER, "evidence", evidence, "a mapping {node: state}")
        known = {self._node(target), *evidence}
        asked = self.nodes if candidates is None else listed(OWNER, "candidates", candidates)
        names = [n for n in asked if n not in known] if candidates is None else [self._node(n) for n in asked]
        if taken := [name for name in names if name in known]:
            raise ParameterError(OWNER, "candidates", "nodes that are neither the target nor observed", taken[0])
        return analysis.value_of_information(self.query, self.marginals, target, names, evidence)

    def conflict(self, evidence: Mapping[str, Any]) -> float:
        """log ∏ P(eᵢ) − log P(e): above 0 where findings fit together worse than by chance; ∞ where they cannot."""
        evidence = mapped(OWNER, "evidence", evidence, "a mapping {node: state}")
        for node, seen in evidence.items():
            refuse_unset(self._actions, node, seen)
        return analysis.conflict(self.log_probability, evidence)

    # -- as an object --------------------------------------------------------------------------------------------

    def _node(self, name: Any) -> str:
        return known_node(self.states, name)

    def _ask(self, question: Any, evidence: Mapping[str, Any] | None, targets: Any = (), **options: Any) -> Any:
        hard, soft = split(self.states, evidence)
        try:
            return question(hard, likelihoods=soft, **options)
        except (ParameterError, ZeroProbabilityError) as error:
            raise explained(self.states, self.graph, error, hard, soft, targets, self._actions) from error

    def __eq__(self, other: object) -> bool:
        """Whether nodes, states, parents and numbers are the same."""
        return self.definition_ == other.definition_ if isinstance(other, BayesianNetwork) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def state(self) -> dict[str, Any]:
        """What a file keeps."""
        acted = {"actions": dict(self._actions)} if self._actions else {}
        return {
            "definition": self.definition_,
            "memory_limit": self.memory_limit,
            "posterior": self.posterior_,
            **acted,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], version: int) -> BayesianNetwork:
        """The inverse of `state`."""
        made = cls.of(state["definition"], memory_limit=state["memory_limit"])
        made.posterior_, made._actions = state["posterior"], MappingProxyType(state.get("actions", {}))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.state(), 1)

    def __repr__(self) -> str:
        return repr(self.definition_).replace("NetworkDefinition", type(self).__name__, 1)


def _checked_limit(limit: Any) -> int:
    if isinstance(limit, bool) or not isinstance(limit, (int, float, np.integer)) or not limit > 0:
        raise ParameterError(OWNER, "memory_limit", "a number of bytes > 0", limit)
    return int(limit)
