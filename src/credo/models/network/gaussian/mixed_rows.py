"""Many rows and a conditional Gaussian network: those that show the same continuous nodes are answered together.

They share a graph: the tables, and for each component a variable whose states are the configurations of its discrete
parents. The rows' densities are likelihoods of these variables, their discrete cells likelihoods of the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataWarning, ParameterError, UnavailableError, warn
from credo.models.network.batch.cells import codes_of
from credo.models.network.gaussian.columns import columns_of, numbers_of
from credo.models.network.gaussian.components import Component, evaluate, split_components
from credo.models.network.gaussian.mixed_learning import as_column
from credo.models.network.gaussian.mixed_structure import OWNER
from credo.models.network.gaussian.structure import known_name
from credo.probability.factors import Factor, FactorGraph

if TYPE_CHECKING:
    from credo.models.network.gaussian.conditional import ConditionalGaussianNetwork

__all__ = ["log_likelihood", "predict", "predict_moments", "predict_proba"]

# Configurations of a component that become one variable of a graph; beyond, its K² table would dominate.
MOST_STATES = 512
# Rows worked on together: with 100 configurations of 10 nodes, 32 MB.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Block:
    """rows: their numbers; what their cells say of the graph's variables; scale (rows,): log of what was divided out.

    variable, means, variances (rows, K) : of a continuous target, its component's variable, and its mean and variance
        in each configuration
    """

    rows: np.ndarray
    graph: FactorGraph
    likelihoods: Mapping[Any, np.ndarray]
    scale: np.ndarray
    variable: Any
    means: np.ndarray
    variances: np.ndarray

    @property
    def log_densities(self) -> np.ndarray:
        """log p(cells), −∞ where they cannot be."""
        return np.asarray(self.graph.log_partition({}, likelihoods=self.likelihoods)) + self.scale

    def law(self, target: Any, kept: np.ndarray) -> np.ndarray:
        """P(target | cells) of the rows in a mask."""
        likelihoods = {name: values[:, kept] for name, values in self.likelihoods.items()}
        found = self.graph.query([target], {}, likelihoods=likelihoods).values
        return np.broadcast_to(found, (int(kept.sum()), found.shape[-1]))


def log_likelihood(network: ConditionalGaussianNetwork, frame: Any) -> np.ndarray:
    n, blocks = _blocks(network, "log_likelihood", frame, None)
    found = np.empty(n)
    for block in blocks:
        found[block.rows] = block.log_densities
    return found


def predict_proba(network: ConditionalGaussianNetwork, frame: Any, target: str) -> np.ndarray:
    if known_name(OWNER, network.nodes, target, "target") not in network.states:
        raise ParameterError(f"{OWNER}.predict_proba", "target", "a discrete node", target, "Of others ask `predict`.")
    n, blocks = _blocks(network, "predict_proba", frame, target)
    found = np.full((n, len(network.states[target])), np.nan)
    for block in blocks:
        possible = np.isfinite(np.broadcast_to(block.log_densities, len(block.rows)))
        if possible.any():
            found[block.rows[possible]] = block.law(target, possible)
    _report("predict_proba", np.isnan(found[:, 0]))
    return found


def predict(network: ConditionalGaussianNetwork, frame: Any, target: str) -> np.ndarray:
    if known_name(OWNER, network.nodes, target, "target") in network.states:
        laws = predict_proba(network, frame, target)
        own, bad = as_column(network.states[target]), np.isnan(laws[:, 0])
        found = (own.astype(object) if bad.any() else own)[np.argmax(np.where(bad[:, None], 0.0, laws), axis=1)]
        if bad.any():
            found[bad] = None
        return found
    return predict_moments(network, frame, target, "predict")[0]


def predict_moments(
    network: ConditionalGaussianNetwork, frame: Any, target: str, method: str = "predict_moments"
) -> tuple[np.ndarray, np.ndarray]:
    if known_name(OWNER, network.nodes, target, "target") in network.states:
        raise ParameterError(f"{OWNER}.{method}", "target", "a continuous node", target, "Of others ask predict_proba.")
    n, blocks = _blocks(network, method, frame, target)
    mean, sd = np.full(n, np.nan), np.full(n, np.nan)
    for block in blocks:
        possible = np.isfinite(np.broadcast_to(block.log_densities, len(block.rows)))
        if possible.any():
            weights, means, at = block.law(block.variable, possible), block.means[possible], block.rows[possible]
            mean[at] = np.sum(weights * means, axis=1)
            off = np.square(means - mean[at, None]) + block.variances[possible]
            sd[at] = np.sqrt(np.sum(weights * off, axis=1))
    _report(method, np.isnan(mean))
    return mean, sd


def _report(method: str, bad: np.ndarray) -> None:
    rows = np.flatnonzero(bad)
    if rows.size:
        warn(f"{OWNER}.{method}: {rows.size} row(s) cannot be and have no answer: {rows[:10].tolist()}.", DataWarning)


def _blocks(
    network: ConditionalGaussianNetwork, method: str, frame: Any, target: str | None
) -> tuple[int, Iterator[Block]]:
    """(number of rows, the rows by the continuous nodes that they show)."""
    owner = f"{OWNER}.{method}"
    structure, states = network.structure_, network.states
    columns, n = columns_of(owner, frame, network.nodes)
    columns = {name: cells for name, cells in columns.items() if name != target}
    x = numbers_of(owner, columns, n, structure.continuous)
    discrete = {node: columns[node] for node in structure.discrete if node in columns}
    codes: dict[str, np.ndarray] = {}
    if discrete:
        coded = codes_of(owner, discrete, {node: states[node] for node in discrete})
        codes = dict(zip(discrete, coded, strict=True))
    return n, _by_pattern(network, owner, x, codes, [target] if target in structure.continuous else [])


def _by_pattern(
    network: ConditionalGaussianNetwork, owner: str, x: np.ndarray, codes: Mapping[str, np.ndarray], targets: list[Any]
) -> Iterator[Block]:
    structure = network.structure_
    seen = ~np.isnan(x)
    patterns, inverse = np.unique(seen, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(inverse.ravel() == number)
        observed = [node for node, shown in zip(structure.continuous, pattern, strict=True) if shown]
        parts = split_components(network._cells, structure.order, observed, targets, ())
        variables = [_variable(network.states, component, i) for i, component in enumerate(parts)]
        graph = FactorGraph([*network._factors, *variables], memory_limit=network.memory_limit)
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            values = {node: x[some, j] for j, node in enumerate(structure.continuous) if pattern[j]}
            shown = {node: code[some] for node, code in codes.items()}
            yield _block(network, owner, some, graph, parts, values, shown, targets)


def _block(
    network: ConditionalGaussianNetwork,
    owner: str,
    rows: np.ndarray,
    graph: FactorGraph,
    parts: Sequence[Component],
    values: Mapping[str, np.ndarray],
    codes: Mapping[str, np.ndarray],
    targets: list[Any],
) -> Block:
    n, states = len(rows), network.states
    likelihoods: dict[Any, np.ndarray] = {
        node: ((np.arange(len(states[node]))[:, None] == code) | (code < 0)).astype(np.float64)
        for node, code in codes.items()
    }
    scale, variable, means, variances = np.zeros(n), None, np.empty(0), np.empty(0)
    for i, component in enumerate(parts):
        sizes = [len(states[name]) for name in component.scope]
        own = [node for node in targets if node in component.nodes]
        found = evaluate(network._cells, component, sizes, {}, values, own, network.memory_limit)
        if not np.all(found.dense):
            raise UnavailableError(
                f"{owner}: cells of {', '.join(component.nodes)} have no density: some follow from others (sd 0).",
                value=component.nodes,
                remedy="Leave out nodes that are functions of those observed.",
            )
        logs = np.broadcast_to(found.log_density, (n, found.log_density.shape[1]))
        top = logs.max(axis=1)
        top = np.where(np.isfinite(top), top, 0.0)
        likelihoods[_name(i)] = np.exp(logs - top[:, None]).T
        scale = scale + top
        if own:
            variable, means = _name(i), np.broadcast_to(found.means[..., 0], logs.shape)
            variances = np.broadcast_to(np.square(found.rows[:, 0]).sum(axis=-1), logs.shape)
    if not likelihoods and states:  # a batch needs a likelihood of something
        first = next(iter(states))
        likelihoods[first] = np.ones((len(states[first]), n))
    return Block(rows, graph, likelihoods, scale, variable, means, variances)


def _name(place: int) -> tuple[str, int]:
    return ("component", place)  # no node is called by a tuple


def _variable(states: Mapping[str, tuple[Any, ...]], component: Component, place: int) -> Factor:
    """1 where the component's variable is in the configuration that its discrete parents are in."""
    own = [states[name] for name in component.scope]
    shape = tuple(len(values) for values in own)
    k = math.prod(shape)
    if k > MOST_STATES:
        raise UnavailableError(
            f"{OWNER}: {k} configurations of {', '.join(component.scope)} are more than the {MOST_STATES} for which "
            "rows are answered together.",
            value=k,
            remedy="Ask row by row: query(target, evidence).",
        )
    return Factor((*component.scope, _name(place)), np.eye(k).reshape(*shape, k), [*own, range(k)])
