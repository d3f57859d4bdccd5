"""`ConditionalGaussianNetwork`: discrete nodes, and continuous ones that are linear in each of their configurations."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from credo.errors import (
    ConvergenceWarning,
    MemoryLimitError,
    ParameterError,
    UnavailableError,
    ZeroProbabilityError,
    warn,
)
from credo.models.network.definition import NetworkDefinition
from credo.models.network.files.documents import DocumentFile
from credo.models.network.gaussian import documents
from credo.models.network.gaussian.components import Component, Evaluated, evaluate, split_components
from credo.models.network.gaussian.equation import LinearGaussian
from credo.models.network.gaussian.mixed_questions import MixedRowQuestions
from credo.models.network.gaussian.mixed_structure import (
    OWNER,
    MixedStructure,
    by_configuration,
    cells_of,
    checked_evidence,
    checked_limit,
    structure_of,
)
from credo.models.network.gaussian.mixture import NormalMixture, scalar_law
from credo.models.network.gaussian.network import Moments
from credo.models.network.gaussian.structure import names_of
from credo.models.network.naming import mapped
from credo.numerics.random import as_generator
from credo.probability.factors import Factor, FactorGraph
from credo.probability.factors.elimination import MEMORY_LIMIT
from credo.saving import register

__all__ = ["ConditionalGaussianNetwork"]


@register
class ConditionalGaussianNetwork(MixedRowQuestions, DocumentFile):
    """Discrete nodes with tables; continuous nodes that are linear in their continuous parents given the discrete ones.

        x = b(d) + Σ w(d) · parent + N(0, sd(d)²),  d the states of the discrete parents

    Parameters
    ----------
    edges : pairs (parent, child). A discrete node has discrete parents only.
    tables : discrete node → conditional probabilities, as of `NetworkDefinition.from_edges`
    equations : continuous node → `LinearGaussian`; with discrete parents {state: LinearGaussian}, of several parents
        keyed by tuples of states (in the order of their edges) or nested. Without both, `fit` learns them
    states : discrete node → its states, in order; by default as found in the tables
    discrete, continuous : for `fit`: names of the discrete nodes, and of continuous ones without arrows
    memory_limit : bytes that a question may take; predicted before anything is computed

    `evidence` is {node: state or number}. Answers are exact: discrete nodes have their posterior probabilities,
    continuous ones are mixtures of normals, with their exact mean and variance.

    Attributes
    ----------
    definition_ : `NetworkDefinition` of the discrete nodes; None without any
    equations_ : node → `LinearGaussian`, or {states: LinearGaussian}

    Raises
    ------
    ParameterError : a discrete node below a continuous one; tables and equations that do not fit the edges
    ZeroProbabilityError : evidence that cannot be
    MemoryLimitError : too many configurations; `marginals` then gives estimates, and warns
    UnavailableError : a law without a density (sd 0)

    Notes
    -----
    Continuous evidence is a likelihood of the discrete nodes above it. Continuous nodes that hang together once arrows
    out of observed ones are cut form a component; each of its discrete parents' K configurations costs d³, and gives
    one entry of a factor. The rest is elimination over discrete nodes. So a row of a classifier costs next to nothing,
    while a long chain of unobserved continuous nodes, each with a discrete parent, is beyond any exact method.

    References
    ----------
    Lauritzen (1992), Propagation of probabilities, means and variances in mixed graphical association models, JASA 87;
    Koller and Friedman (2009), chapter 14.

    Examples
    --------
    >>> network = ConditionalGaussianNetwork(
    ...     [("sex", "height"), ("height", "weight")],
    ...     {"sex": {"f": 0.5, "m": 0.5}},
    ...     {
    ...         "height": {"f": LinearGaussian(165.0, sd=6.0), "m": LinearGaussian(178.0, sd=7.0)},
    ...         "weight": LinearGaussian(-90.0, {"height": 0.95}, sd=9.0),
    ...     },
    ... )
    >>> round(network.query("sex", {"weight": 60.0})["f"], 4)
    0.7867
    >>> height = network.query("height", {"weight": 60.0})
    >>> round(float(height.mean), 3), round(float(height.sd), 3)
    (164.658, 6.127)
    """

    kind = "conditional Gaussian network"
    keys = documents.CONDITIONAL_KEYS
    applied_by = "credo network show {}"

    def __init__(
        self,
        edges: Iterable[tuple[str, str]],
        tables: Mapping[str, Any] | None = None,
        equations: Mapping[str, Any] | None = None,
        states: Mapping[str, Iterable[Any]] | None = None,
        *,
        discrete: Iterable[str] = (),
        continuous: Iterable[str] = (),
        memory_limit: int = MEMORY_LIMIT,
    ) -> None:
        self.memory_limit = checked_limit(memory_limit)
        self.structure_ = structure_of(edges, tables, equations, states, discrete, continuous)
        self._states = states
        if tables is not None or equations is not None:
            self._learned(
                NetworkDefinition.from_edges(self.structure_.discrete_edges, tables or {}, states)
                if self.structure_.discrete
                else None,
                equations or {},
            )

    def _learned(self, definition: NetworkDefinition | None, equations: Mapping[str, Any]) -> None:
        self.definition_ = definition
        states = {} if definition is None else definition.states
        self._cells = cells_of(self.structure_, states, equations)
        self.equations_ = dict(equations)
        self.__dict__.pop("_factors", None)

    # -- its parts -----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names: the discrete ones, then the continuous ones."""
        return (*self.structure_.discrete, *self.structure_.continuous)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs (parent, child)."""
        return self.structure_.edges

    @property
    def states(self) -> Mapping[str, tuple[Any, ...]]:
        """Discrete node → its states."""
        self._ready()
        return {} if self.definition_ is None else self.definition_.states

    def _ready(self) -> None:
        if not hasattr(self, "_cells"):
            raise UnavailableError(
                f"{OWNER} has no tables yet.", remedy="Give `tables` and `equations`, or call `fit`."
            )

    @functools.cached_property
    def _factors(self) -> tuple[Factor, ...]:
        d = self.definition_
        if d is None:
            return ()
        families = [(*d.parents[node], node) for node in d.nodes]
        return tuple(Factor(f, d.tables[f[-1]], [d.states[name] for name in f]) for f in families)

    # -- questions -----------------------------------------------------------------------------------------------

    def query(self, target: Any, evidence: Mapping[str, Any] | None = None, joint: bool = False) -> Any:
        """p(target | evidence): of a discrete node a `Factor`, of a continuous one a `Normal` or a `Mixture` of them.

        Of a list {name: law}; with `joint` one law over all: a `Factor`, or a `NormalMixture` of continuous nodes.
        """
        hard, numbers = checked_evidence(self.structure_, self.states, evidence)
        names = names_of(OWNER, self.nodes, target, evidence)
        graph = self._graph(hard, numbers)
        if joint:
            kinds = {name in self.states for name in names}
            if len(kinds) > 1:
                raise ParameterError(
                    OWNER, "target", "all discrete or all continuous where joint", names,
                    "Ask for the continuous ones given each state of the others.",
                )  # fmt: skip
            asked = self._discrete if kinds == {True} else self._mixture
            return asked(graph, names, hard, numbers)
        found = {
            name: self._discrete(graph, [name], hard, numbers)
            if name in self.states
            else scalar_law(OWNER, self._mixture(graph, [name], hard, numbers))
            for name in names
        }
        return found[target] if isinstance(target, str) else found

    def moments(self, target: Any, evidence: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        """Mean and covariance of continuous nodes given the evidence: (t,) and (t, t), or two numbers for a name."""
        law = self.query([target] if isinstance(target, str) else target, evidence, joint=True)
        if not isinstance(law, NormalMixture):
            raise ParameterError(OWNER, "target", "continuous nodes", target)
        mean, covariance = law.mean, law.covariance
        return (mean.item(), covariance.item()) if isinstance(target, str) else (mean, covariance)

    def marginals(self, evidence: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """{node: {state: probability}} of discrete nodes and {node: (mean, sd)} of continuous ones, observed or not.

        Beyond memory they are `estimate_marginals`'s, with a warning.

        Raises
        ------
        NumericalError : beyond memory, and none of the draws agrees with the evidence
        """
        hard, numbers = checked_evidence(self.structure_, self.states, evidence)
        try:
            return self._marginals(hard, numbers)
        except MemoryLimitError as error:
            warn(
                f"{error} Until then these marginals are estimates from weighted draws: `estimate_marginals` has their "
                "standard errors.",
                ConvergenceWarning,
            )
            return dict(self.estimate_marginals(evidence).marginals)

    def log_probability(self, evidence: Mapping[str, Any]) -> float:
        """log of P(discrete evidence) times the density of the continuous evidence given it; −∞ where it cannot be."""
        hard, numbers = checked_evidence(self.structure_, self.states, evidence)
        return float(self._graph(hard, numbers).log_partition(hard))

    def do(self, actions: Mapping[str, Any]) -> ConditionalGaussianNetwork:
        """The network in which nodes are set from outside: their arrows cut, their states or values given."""
        self._ready()
        actions = mapped(OWNER, "actions", actions, "a mapping {node: state or number}")
        hard, numbers = checked_evidence(self.structure_, self.states, actions)
        d = self.definition_
        tables = {} if d is None else dict(d.tables)
        for node, state in hard.items():
            tables[node] = np.eye(len(self.states[node]))[self.states[node].index(state)]
        equations = {**self.equations_, **{node: LinearGaussian(value, sd=0.0) for node, value in numbers.items()}}
        edges = [edge for edge in self.edges if edge[1] not in actions]
        return ConditionalGaussianNetwork(edges, tables, equations, self.states, memory_limit=self.memory_limit)

    def sample(
        self, n: int, evidence: Mapping[str, Any] | None = None, *, random_state: Any = None
    ) -> dict[str, np.ndarray]:
        """n draws of all nodes given the evidence, exact and independent: {node: (n,)}."""
        from credo.models.network.gaussian.mixed_sampling import sample

        hard, numbers = checked_evidence(self.structure_, self.states, evidence)
        return sample(self, n, hard, numbers, as_generator(random_state))

    # -- from rows ------------------------------------------------------------------------------------------------

    def fit(self, frame: Any, *, method: str = "bayes", sample_weight: Any = None) -> ConditionalGaussianNetwork:
        """Learn tables by counting and equations by regression, one for each configuration of the discrete parents.

        method : "bayes": BDeu tables (one row's weight), and posterior means of `cr.LinearRegression`; "mle": shares,
            and least squares
        sample_weight (n,) : how often a row counts

        Raises
        ------
        DataError : missing cells. NotIdentifiedError : a configuration whose rows do not determine its equation.
        """
        from credo.models.network.gaussian.mixed_learning import fit

        definition, equations = fit(self.structure_, self._states, frame, method, sample_weight)
        self._learned(definition, equations)
        return self

    # -- within --------------------------------------------------------------------------------------------------

    def _marginals(self, hard: Any, numbers: Any) -> dict[str, Any]:
        graph, found = self._graph(hard, numbers), {}
        if self.states:
            laws = self._ask(graph.marginals, hard, numbers)
            found |= {name: laws[name].to_dict() for name in self.states}
        for name in self.structure_.continuous:
            if name in numbers:
                found[name] = Moments(numbers[name], 0.0)
            else:
                law = self._mixture(graph, [name], hard, numbers)
                found[name] = Moments(law.mean.item(), law.sd.item())
        return found

    def _evaluated(
        self, component: Component, hard: Mapping[str, Any], numbers: Mapping[str, float], targets: list[str]
    ) -> Evaluated:
        sizes = [len(self.states[name]) for name in component.scope]
        fixed = {name: self.states[name].index(state) for name, state in hard.items()}
        values = {name: np.array([value]) for name, value in numbers.items()}
        found = evaluate(self._cells, component, sizes, fixed, values, targets, self.memory_limit)
        if not np.all(found.dense):
            names = [name for name in component.nodes if name in numbers]
            raise UnavailableError(
                f"{OWNER}: the evidence on {', '.join(names)} has no density: some of it follows from the rest (sd 0).",
                value=names,
                remedy="Leave out nodes that are functions of those observed.",
            )
        return found

    def _graph(self, hard: Any, numbers: Any) -> FactorGraph:
        """Tables, and a factor from each component with continuous evidence."""
        factors = list(self._factors)
        for component in split_components(self._cells, self.structure_.order, numbers, (), hard):
            found = self._evaluated(component, hard, numbers, [])
            states = [self.states[name] for name in component.scope]
            table = found.log_density[0].reshape([len(own) for own in states])
            factors.append(Factor.from_log(component.scope, table, states))
        return FactorGraph(factors, memory_limit=self.memory_limit)

    def _ask(self, question: Any, hard: Any, numbers: Any) -> Any:
        try:
            return question(hard)
        except ZeroProbabilityError as error:
            seen = {**hard, **numbers}
            said = ", ".join(f"{node}={value!r}" for node, value in seen.items())
            raise ZeroProbabilityError(
                f"{OWNER}: the evidence cannot be: {said} cannot occur together.", value=seen,
                remedy="Leave out or correct one of them.",
            ) from error  # fmt: skip

    def _discrete(self, graph: FactorGraph, names: list[str], hard: Any, numbers: Any) -> Factor:
        return self._ask(lambda seen: graph.query(names if len(names) > 1 else names[0], seen), hard, numbers)

    def _mixture(self, graph: FactorGraph, names: list[str], hard: Any, numbers: Any) -> NormalMixture:
        """Weights of the configurations under which the targets' components stand, and their normals."""
        parts = []
        for component in split_components(self._cells, self.structure_.order, numbers, names, hard):
            if own := [name for name in names if name in component.nodes]:
                parts.append((component, own, self._evaluated(component, hard, numbers, own)))
        scope = list(dict.fromkeys(name for component, _, _ in parts for name in component.scope))
        weights = self._ask(lambda seen: _weights(graph, scope, seen), hard, numbers)
        kept = np.nonzero(weights > 0.0)
        at = dict(zip(scope, kept, strict=True)) if scope else {}
        k = len(weights[kept])
        means, blocks = np.empty((k, len(names))), []
        for component, own, found in parts:
            sizes = tuple(len(self.states[name]) for name in component.scope)
            place = np.ravel_multi_index([at[name] for name in component.scope], sizes) if sizes else np.zeros(k, int)
            columns = [names.index(name) for name in own]
            means[:, columns] = found.means[0][place]
            block = np.zeros((k, len(names), found.rows.shape[-1]))
            block[:, columns] = found.rows[place]
            blocks.append(block)
        w = weights[kept]
        return NormalMixture(tuple(names), w / w.sum(), means, np.concatenate(blocks, axis=-1))

    def __eq__(self, other: object) -> bool:
        """Whether edges, tables and equations are the same."""
        if not isinstance(other, ConditionalGaussianNetwork):
            return NotImplemented
        mine, its = ({**each.state(), "equations": by_configuration(each)} for each in (self, other))
        return all(mine[key] == its[key] for key in ("edges", "equations", "definition", "discrete"))

    __hash__ = None  # type: ignore[assignment]

    def state(self) -> dict[str, Any]:
        """What a file keeps."""
        learned = hasattr(self, "_cells")
        return {
            "edges": self.edges,
            "definition": self.definition_ if learned else None,
            "equations": self.equations_ if learned else None,
            "discrete": self.structure_.discrete,
            "continuous": self.structure_.continuous,
            "states": None if self._states is None else {name: tuple(own) for name, own in self._states.items()},
            "memory_limit": self.memory_limit,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], version: int) -> ConditionalGaussianNetwork:
        """The inverse of `state`."""
        made = cls(
            state["edges"],
            states=state["states"],
            discrete=state["discrete"],
            continuous=state["continuous"],
            memory_limit=state["memory_limit"],
        )
        if state["equations"] is not None:
            made._learned(state["definition"], state["equations"])
        return made

    def __reduce__(self) -> Any:
        return type(self).from_state, (self.state(), 1)

    def _document(self) -> dict[str, Any]:
        return documents.conditional_document(self)

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> ConditionalGaussianNetwork:
        return cls(**documents.conditional_arguments(document))

    def __repr__(self) -> str:
        s: MixedStructure = self.structure_
        return f"<{OWNER} {len(s.discrete)} discrete and {len(s.continuous)} continuous nodes, {len(s.edges)} edges>"


def _weights(graph: FactorGraph, scope: list[str], evidence: Mapping[str, Any]) -> np.ndarray:
    """P(configuration | evidence) (\\*scope); of an empty scope (1,)."""
    if scope:
        return graph.query(scope, evidence).values
    if graph.log_partition(evidence) == -np.inf:
        raise ZeroProbabilityError("P(evidence) = 0", value=evidence)
    return np.ones(1)
