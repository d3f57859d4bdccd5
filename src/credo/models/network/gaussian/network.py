"""`LinearGaussianNetwork`: networks of real numbers in which every node is linear in its parents."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from credo.distributions import MultivariateNormal, Normal
from credo.errors import DataWarning, ParameterError, UnavailableError, ZeroProbabilityError, warn
from credo.models.network.files.documents import DocumentFile
from credo.models.network.gaussian import documents
from credo.models.network.gaussian.columns import columns_of, numbers_of, with_columns
from credo.models.network.gaussian.equation import LinearGaussian
from credo.models.network.gaussian.equations import lower_factor, residual, responses, whitened
from credo.models.network.gaussian.learned import LearnsFromRows
from credo.models.network.gaussian.rows import conditional_moments, log_densities
from credo.models.network.gaussian.structure import (
    checked_equations,
    known_evidence,
    known_name,
    names_of,
    pairs_of,
    parents_of,
    places,
    sorted_nodes,
)
from credo.models.network.naming import mapped, named
from credo.numerics.random import as_generator
from credo.saving import register

if TYPE_CHECKING:
    from credo.models.network.gaussian.credible import CredibleNumber

__all__ = ["LinearGaussianNetwork", "Moments"]

OWNER = "LinearGaussianNetwork"


class Moments(NamedTuple):
    """mean and sd of one node."""

    mean: float
    sd: float


@register
class LinearGaussianNetwork(LearnsFromRows, DocumentFile):
    """xᵢ = bᵢ + Σⱼ wᵢⱼ xⱼ + N(0, sdᵢ²), the sum over the parents of i: all nodes together are a multivariate normal.

    Parameters
    ----------
    edges : pairs (parent, child)
    equations : node → `LinearGaussian`, with a coefficient for each parent; or None, and `fit` learns them
    nodes : names in order, of those without arrows too; by default the equations' order, or that of the edges

    `evidence` is {node: number}. Answers are exact: the network is x = μ + A ε with independent noises ε, and A is
    never squared on the way, so that digits are lost by the condition of A alone. Nodes with sd 0 (functions of their
    parents, values set by `do`) are conditioned on like any others.

    Attributes
    ----------
    equations_ : node → `LinearGaussian`
    posterior_, result_ : after `fit` by "bayes": node → its regression's `LinearPosterior`, without parents a
        `LevelBelief`; how it went
    structure_ : after `learn`: the `LearnedStructure`; else None

    Raises
    ------
    ParameterError : edges and equations that differ, a cycle (as its path), unknown nodes (with those like them)
    ZeroProbabilityError : evidence that nodes with sd 0 exclude
    UnavailableError : a law without a density (a node that evidence determines); `moments` has its mean and sd 0

    Notes
    -----
    A question costs d³/3 once for the network, then 2dm² for evidence on m of d nodes.

    References
    ----------
    Shachter and Kenley (1989), Gaussian influence diagrams, Management Science 35; Koller and Friedman (2009),
    Probabilistic Graphical Models, chapter 7.

    Examples
    --------
    >>> network = LinearGaussianNetwork(
    ...     [("rain", "river"), ("river", "gauge")],
    ...     {
    ...         "rain": LinearGaussian(10.0, sd=3.0),
    ...         "river": LinearGaussian(1.0, {"rain": 0.2}, sd=0.5),
    ...         "gauge": LinearGaussian(0.0, {"river": 1.0}, sd=0.1),
    ...     },
    ... )
    >>> rain = network.query("rain", {"gauge": 4.0})
    >>> round(float(rain.mean), 4), round(float(rain.sd), 4)
    (12.9032, 1.9427)
    >>> float(network.do({"river": 4.0}).query("rain").mean)
    10.0
    """

    kind = "linear-Gaussian network"
    keys = documents.LINEAR_KEYS
    applied_by = "credo network show {}"
    structure_: Any = None

    def __init__(
        self,
        edges: Iterable[tuple[str, str]],
        equations: Mapping[str, LinearGaussian] | None = None,
        *,
        nodes: Iterable[str] = (),
    ) -> None:
        given = mapped(OWNER, "equations", equations, "a mapping {node: LinearGaussian}")
        self.edges = pairs_of(OWNER, edges)
        self._parents = parents_of(OWNER, self.edges, [*named(OWNER, "nodes", nodes), *given])
        self._order = sorted_nodes(OWNER, self._parents)
        self.posterior_: dict[str, Any] = {}
        if equations is not None:
            self.equations_ = checked_equations(OWNER, self._parents, equations)

    # -- its parts -----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names, in order."""
        return tuple(self._parents)

    def parents(self, node: str) -> tuple[str, ...]:
        """In the order of their edges."""
        return self._parents[known_name(OWNER, self.nodes, node, "node")]

    @functools.cached_property
    def _system(self) -> tuple[np.ndarray, np.ndarray]:
        """μ (d,) and A (d, d), rows in the order of `nodes`."""
        if not hasattr(self, "equations_"):
            raise UnavailableError(f"{OWNER} has no equations yet.", remedy="Give `equations`, or call `fit`.")
        rank = {node: i for i, node in enumerate(self._order)}
        weights = np.zeros((1, len(rank), len(rank)))
        for node, equation in self.equations_.items():
            for parent, w in equation.coefficients.items():
                weights[0, rank[node], rank[parent]] = w
        own = [self.equations_[node] for node in self._order]
        with np.errstate(over="ignore", invalid="ignore"):
            mean, a = responses(weights, np.array([[e.intercept for e in own]]), np.array([[e.sd for e in own]]))
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(a))):
            raise ParameterError(OWNER, "equations", "such that means and sds are finite", "an overflow", "Rescale.")
        back = [rank[node] for node in self.nodes]
        return mean[0, back], a[0, back]

    @property
    def joint(self) -> MultivariateNormal:
        """All nodes together, in order. Raises `UnavailableError` where a node has sd 0."""
        return self.query(list(self.nodes), joint=True)

    # -- questions -----------------------------------------------------------------------------------------------

    def query(self, target: Any, evidence: Mapping[str, float] | None = None, joint: bool = False) -> Any:
        """p(target | evidence): a `Normal`; of a list {name: Normal}, or with `joint` a `MultivariateNormal` in order.

        Raises `UnavailableError` where the evidence determines a target.
        """
        names, (mean, rows) = self._given(target, evidence)
        if joint:
            lower = lower_factor(rows)
            if lower is None:
                raise self._singular(names, rows)
            return MultivariateNormal.from_scale_lower(mean, lower)
        sds = np.sqrt(np.square(rows).sum(axis=1))
        if np.any(sds == 0.0):
            raise self._singular(names, rows)
        found = {name: Normal(mean[i], sds[i]) for i, name in enumerate(names)}
        return found[target] if isinstance(target, str) else found

    def moments(self, target: Any, evidence: Mapping[str, float] | None = None) -> tuple[Any, Any]:
        """E[target | evidence] and its covariance, singular or not: (t,) and (t, t), or two numbers for a name."""
        _, (mean, rows) = self._given(target, evidence)
        covariance = rows @ rows.T
        return (mean.item(), covariance.item()) if isinstance(target, str) else (mean, covariance)

    def marginals(self, evidence: Mapping[str, float] | None = None) -> dict[str, Moments]:
        """{node: (mean, sd)} for all nodes; those observed or determined have sd 0."""
        seen = known_evidence(OWNER, self.nodes, evidence)
        hidden = [node for node in self.nodes if node not in seen]
        found = {node: Moments(value, 0.0) for node, value in seen.items()}
        if hidden:
            _, (mean, rows) = self._given(hidden, seen)
            sds = np.sqrt(np.square(rows).sum(axis=1))
            found |= {node: Moments(*pair) for node, *pair in zip(hidden, mean.tolist(), sds.tolist(), strict=True)}
        return {node: found[node] for node in self.nodes}

    def log_probability(self, evidence: Mapping[str, float]) -> float:
        """log density of the evidence; −∞ where it cannot be. Nodes set by `do` have their value with probability 1.

        Raises `UnavailableError` where some of it follows from the rest (sd 0), so that there is no density.
        """
        x = np.full((1, len(self.nodes)), np.nan)
        for node, value in known_evidence(OWNER, self.nodes, evidence).items():
            x[0, self.nodes.index(node)] = value
        return float(self._log_densities(x, "evidence")[0])

    def do(self, actions: Mapping[str, float]) -> LinearGaussianNetwork:
        """The network in which nodes are set from outside: their arrows cut, their values given."""
        self._system  # noqa: B018  (equations must be there)
        values = known_evidence(OWNER, self.nodes, actions)
        equations = {**self.equations_, **{node: LinearGaussian(value, sd=0.0) for node, value in values.items()}}
        edges = [edge for edge in self.edges if edge[1] not in values]
        made = LinearGaussianNetwork(edges, equations)
        made.posterior_ = {node: belief for node, belief in self.posterior_.items() if node not in values}
        return made

    def query_draws(
        self, target: str, evidence: Mapping[str, float] | None = None, draws: int = 400, *, random_state: Any = 0
    ) -> CredibleNumber:
        """p(target | evidence) under draws of the equations from their posterior, of a network learned from rows.

        ``answer.interval(0.9)`` holds the target, ``answer.mean_interval(0.9)`` its expectation: how sure the rows
        leave one of it; ``answer.variance`` is the sum of ``aleatoric`` and ``epistemic``. Cost: d³/3 a draw.

        Raises `UnavailableError` where the equations were stated, or estimated by "mle".
        """
        from credo.models.network.gaussian.credible import credible_number

        if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 1:
            raise ParameterError(f"{OWNER}.query_draws", "draws", "an integer ≥ 1", draws)
        return credible_number(self, target, evidence, int(draws), as_generator(random_state))

    def sample(
        self, n: int, evidence: Mapping[str, float] | None = None, *, random_state: Any = None
    ) -> dict[str, np.ndarray]:
        """n draws of all nodes given the evidence, exact and independent: {node: (n,)}."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise ParameterError(OWNER, "n", "an integer ≥ 0", n)
        rng = as_generator(random_state)
        seen = known_evidence(OWNER, self.nodes, evidence)
        hidden = [node for node in self.nodes if node not in seen]
        found = {node: np.full(n, value) for node, value in seen.items()}
        if hidden:
            _, (mean, rows) = self._given(hidden, seen)
            found |= zip(hidden, (mean + rng.standard_normal((n, rows.shape[1])) @ rows.T).T, strict=True)
        return {node: found[node] for node in self.nodes}

    # -- many rows -----------------------------------------------------------------------------------------------

    def predict(self, frame: Any, target: str) -> np.ndarray:
        """E[target | the row's other cells] for each row (n,); any may be missing, and the target is not looked at.

        frame : a pandas, polars or Arrow table, a mapping from nodes to cells, a list of dicts, or an array (n, nodes).
            Rows that nodes with sd 0 exclude are NaN, with a warning.
        """
        return self._rows("predict", frame, target)[0]

    def predict_distribution(self, frame: Any, target: str) -> Normal:
        """p(target | the row's other cells) as one `Normal` with an entry a row."""
        mean, sd = self._rows("predict_distribution", frame, target)
        if np.any(~(sd > 0.0)):
            rows = np.flatnonzero(~(sd > 0.0))[:10].tolist()
            raise UnavailableError(f"{OWNER}: {target!r} has no density in rows {rows}: it is determined.", value=rows)
        return Normal(mean, sd)

    def predict_moments(self, frame: Any, target: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd of the target for each row (n,) and (n,); sd 0 where the row's cells determine it."""
        return self._rows("predict_moments", frame, target)

    def log_likelihood(self, frame: Any) -> np.ndarray:
        """log p(the row's cells) for each row (n,): missing cells are integrated out."""
        return self._log_densities(self._numbers("log_likelihood", frame), "frame")

    def impute(self, frame: Any) -> Any:
        """The frame with missing cells filled by their means given the row's others, the most probable values together.

        Nodes that are no column are added; the result is of the frame's kind.
        """
        owner = f"{OWNER}.impute"
        x = self._numbers("impute", frame)
        means, _, possible = conditional_moments(*self._system, x, np.arange(len(self.nodes)))
        self._report(owner, possible)
        missing = np.isnan(x)
        filled = np.where(missing & possible[:, None], means, x)
        made = {node: filled[:, j] for j, node in enumerate(self.nodes) if missing[:, j].any()}
        return with_columns(owner, frame, self.nodes, made)

    # -- within --------------------------------------------------------------------------------------------------

    def _given(self, target: Any, evidence: Any) -> tuple[list[str], tuple[np.ndarray, np.ndarray]]:
        """Names, and means and rows of what is left of A for them."""
        mean, a = self._system
        seen = known_evidence(OWNER, self.nodes, evidence)
        names = names_of(OWNER, self.nodes, target, seen)
        at, of = places(self.nodes, seen), places(self.nodes, names)
        parts = whitened(a[None, at])
        z, possible = parts.noises(np.array([list(seen.values())]), mean[None, at])
        if not possible[0]:
            raise ZeroProbabilityError(
                f"{OWNER}: the density of the evidence is 0: {', '.join(f'{k}={v!r}' for k, v in seen.items())} cannot "
                "occur together, for some of these nodes have sd 0.",
                value=seen,
                remedy="Leave out or correct one of them.",
            )
        return names, (mean[of] + a[of] @ parts.basis[0] @ z[0], residual(a[None, of], parts.basis)[0])

    def _singular(self, names: list[str], rows: np.ndarray) -> UnavailableError:
        fixed = [name for name, row in zip(names, rows, strict=True) if not row.any()]
        what = f"{', '.join(fixed)} is determined" if fixed else f"{', '.join(names)} depend on each other (sd 0)"
        return UnavailableError(
            f"{OWNER}: {what}, so that there is no density.", value=fixed or names, remedy="Ask for `moments`."
        )

    def _numbers(self, method: str, frame: Any, target: str | None = None) -> np.ndarray:
        columns, n = columns_of(f"{OWNER}.{method}", frame, self.nodes)
        return numbers_of(f"{OWNER}.{method}", {k: v for k, v in columns.items() if k != target}, n, self.nodes)

    def _rows(self, method: str, frame: Any, target: str) -> tuple[np.ndarray, np.ndarray]:
        known_name(OWNER, self.nodes, target, "target")
        x = self._numbers(method, frame, target)
        means, sds, possible = conditional_moments(*self._system, x, places(self.nodes, [target]))
        self._report(f"{OWNER}.{method}", possible)
        return np.where(possible, means[:, 0], np.nan), np.where(possible, sds[:, 0], np.nan)

    def _report(self, owner: str, possible: np.ndarray) -> None:
        bad = np.flatnonzero(~possible)
        if bad.size:
            warn(
                f"{owner}: {bad.size} row(s) hold cells that exclude each other (sd 0): {bad[:10].tolist()}.",
                DataWarning,
            )

    def _log_densities(self, x: np.ndarray, parameter: str) -> np.ndarray:
        found, without = log_densities(*self._system, x)
        if without.any():
            raise UnavailableError(
                f"{OWNER}: {parameter} has no density: some of its nodes follow from others (sd 0).",
                value=np.flatnonzero(without),
                remedy="Leave out nodes that are functions of those observed.",
            )
        return found

    def __eq__(self, other: object) -> bool:
        """Whether nodes, edges and equations are the same."""
        if not isinstance(other, LinearGaussianNetwork):
            return NotImplemented
        mine, its = self.state(), other.state()
        return all(mine[key] == its[key] for key in ("edges", "equations", "nodes"))

    __hash__ = None  # type: ignore[assignment]

    def state(self) -> dict[str, Any]:
        """What a file keeps."""
        equations = dict(self.equations_) if hasattr(self, "equations_") else None
        return {"edges": self.edges, "equations": equations, "nodes": self.nodes, "posterior": self.posterior_}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], version: int) -> LinearGaussianNetwork:
        """The inverse of `state`."""
        made = cls(state["edges"], state["equations"], nodes=state["nodes"])
        made.posterior_ = dict(state.get("posterior", {}))
        return made

    def _document(self) -> dict[str, Any]:
        return documents.linear_document(self)

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> LinearGaussianNetwork:
        return cls(**documents.linear_arguments(document))

    def __repr__(self) -> str:
        return f"<{OWNER} {len(self.nodes)} nodes, {len(self.edges)} edges>"
