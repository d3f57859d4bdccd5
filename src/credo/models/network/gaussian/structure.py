"""Nodes and arrows of Gaussian networks: checked, and put in order."""

from __future__ import annotations

import difflib
import graphlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.network.gaussian.equation import LinearGaussian, number

__all__ = [
    "checked_equations", "known_evidence", "known_name", "names_of", "pairs_of", "parents_of", "places", "sorted_nodes",
]  # fmt: skip


def pairs_of(owner: str, edges: Any) -> tuple[tuple[str, str], ...]:
    """Edges as pairs of names."""
    try:
        found = [edge if isinstance(edge, str) else tuple(edge) for edge in edges]
    except TypeError:
        raise ParameterError(owner, "edges", "pairs of names (parent, child)", edges) from None
    for edge in found:
        if isinstance(edge, str) or len(edge) != 2 or not all(isinstance(name, str) for name in edge):
            raise ParameterError(owner, "edges", "pairs of names (parent, child)", edge)
    return tuple((parent, child) for parent, child in found)


def names_of(owner: str, names: Sequence[str], target: Any, evidence: Any) -> list[str]:
    """A name or a list of them: distinct nodes without evidence."""
    try:
        wanted = [target] if isinstance(target, str) else list(target)
    except TypeError:
        raise ParameterError(owner, "target", "a name or a list of names", target) from None
    for name in wanted:
        if known_name(owner, names, name, "target") in (evidence or {}):
            raise ParameterError(owner, "target", "nodes without evidence", name)
    if len(set(wanted)) < len(wanted) or not wanted:
        raise ParameterError(owner, "target", "a name or distinct names", target)
    return wanted


def parents_of(owner: str, edges: Iterable[tuple[str, str]], nodes: Iterable[str] = ()) -> dict[str, tuple[str, ...]]:
    """{node: parents in the order of their edges}, nodes in order of mention, `nodes` first."""
    above: dict[str, list[str]] = {name: [] for name in nodes}
    for pair in edges:
        above.setdefault(pair[0], [])
        if pair[0] in above.setdefault(pair[1], []):
            raise ParameterError(owner, "edges", "all different", pair)
        above[pair[1]].append(pair[0])
    if not above:
        raise ParameterError(owner, "edges", "of at least one node", edges, "Name the nodes that have no arrows.")
    return {node: tuple(parents) for node, parents in above.items()}


def sorted_nodes(owner: str, parents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Parents before children; a cycle is an error that shows its path."""
    try:
        return tuple(graphlib.TopologicalSorter(parents).static_order())
    except graphlib.CycleError as error:
        path = " → ".join(error.args[1])
        raise ParameterError(owner, "edges", "free of cycles", path, "Remove or turn one of these arrows.") from None


def known_name(owner: str, names: Sequence[str], name: Any, parameter: str) -> str:
    """The name itself, or an error that names those like it."""
    if isinstance(name, str) and name in names:
        return name
    near = difflib.get_close_matches(str(name), names, n=3)
    some = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    remedy = f"Did you mean {' or '.join(map(repr, near))}?" if near else None
    raise ParameterError(owner, parameter, f"a node of the network ({some})", name, remedy)


def known_evidence(owner: str, names: Sequence[str], evidence: Any) -> dict[str, float]:
    """{continuous node: finite number}."""
    if evidence is None:
        return {}
    if not isinstance(evidence, Mapping):
        raise ParameterError(owner, "evidence", "a mapping {node: number}", evidence)
    return {
        known_name(owner, names, node, "evidence"): number(owner, f"evidence[{node!r}]", value)
        for node, value in evidence.items()
    }


def places(names: Sequence[str], wanted: Iterable[str]) -> np.ndarray:
    index = {name: i for i, name in enumerate(names)}
    return np.array([index[name] for name in wanted], dtype=np.int64)


def checked_equations(owner: str, parents: Mapping[str, tuple[str, ...]], equations: Any) -> dict[str, LinearGaussian]:
    """One for each node, with a coefficient for each parent; in the order of the nodes."""
    if not isinstance(equations, Mapping):
        raise ParameterError(owner, "equations", "a mapping {node: LinearGaussian}", equations)
    for node, above in parents.items():
        own = equations.get(node)
        if not isinstance(own, LinearGaussian):
            raise ParameterError(owner, f"equations[{node!r}]", "a LinearGaussian", own)
        if set(own.coefficients) != set(above):
            raise ParameterError(
                owner, f"equations[{node!r}]", f"with a coefficient for each parent ({', '.join(above) or 'none'})",
                dict(own.coefficients),
            )  # fmt: skip
    return {node: equations[node] for node in parents}
