"""Gaussian networks as JSON documents: an equation is {"intercept": …, "coefficients": {parent: …}, "sd": …}."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from credo.errors import ParameterError, UnavailableError
from credo.models.network.files.documents import keyed, retyped, state_text
from credo.models.network.gaussian.equation import LinearGaussian

if TYPE_CHECKING:
    from credo.models.network.gaussian.conditional import ConditionalGaussianNetwork
    from credo.models.network.gaussian.network import LinearGaussianNetwork

__all__ = ["CONDITIONAL_KEYS", "LINEAR_KEYS", "conditional_arguments", "conditional_document", "linear_arguments",
           "linear_document"]  # fmt: skip

LINEAR_KEYS = {"edges": True, "equations": True, "nodes": False}
CONDITIONAL_KEYS = {"edges": True, "tables": False, "equations": True, "states": False}


def linear_document(network: LinearGaussianNetwork) -> dict[str, Any]:
    """What the constructor takes."""
    _check_learned(network)
    return {
        "edges": [list(edge) for edge in network.edges],
        "equations": {node: _written(equation) for node, equation in network.equations_.items()},
    }


def linear_arguments(document: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the constructor."""
    made = {node: _equation(node, given) for node, given in document["equations"].items()}
    return {**document, "edges": _pairs(document["edges"]), "equations": made}


def conditional_document(network: ConditionalGaussianNetwork) -> dict[str, Any]:
    """What the constructor takes; the equations of a node nested by the states of its discrete parents."""
    _check_learned(network)
    states, d = network.states, network.definition_
    tables = {} if d is None else d.tables
    families = {} if d is None else {node: (*d.parents[node], node) for node in d.nodes}
    equations = {}
    for node in network.structure_.continuous:
        cells, given = network._cells[node], network.equations_[node]
        if isinstance(given, LinearGaussian):
            equations[node] = _written(given)
            continue
        nested: dict[str, Any] = {}
        for place, key in zip(_places(cells.intercepts.shape), product(*(states[p] for p in cells.discrete))):
            level = nested
            for state in key[:-1]:
                level = level.setdefault(state_text(state), {})
            own = dict(zip(cells.continuous, cells.coefficients[place].tolist(), strict=True))
            equation = LinearGaussian(float(cells.intercepts[place]), own, float(cells.sds[place]))
            level[state_text(key[-1])] = _written(equation)
        equations[node] = nested
    return {
        "edges": [list(edge) for edge in network.edges],
        "states": {node: list(own) for node, own in states.items()},
        "tables": {node: keyed(tables[node], [states[n] for n in families[node]]) for node in tables},
        "equations": equations,
    }


def conditional_arguments(document: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the constructor."""
    tables, states = document.get("tables") or {}, document.get("states") or {}
    above: dict[Any, list[Any]] = {}
    for parent, child in _pairs(document["edges"]):
        above.setdefault(child, []).append(parent)
    equations = {}
    for node, given in document["equations"].items():
        levels = [p for p in above.get(node, ()) if p in tables]
        found = _nested(node, given, len(levels))
        equations[node] = retyped(found, [states.get(p) for p in levels])
    typed = {node: retyped(t, [states.get(p) for p in (*above.get(node, ()), node)]) for node, t in tables.items()}
    return {**document, "edges": _pairs(document["edges"]), "tables": typed, "equations": equations}


def _check_learned(network: Any) -> None:
    if not hasattr(network, "equations_"):
        raise UnavailableError("The network has no equations yet.", remedy="Give `equations`, or call `fit`.")


def _places(shape: Sequence[int]) -> Any:
    import numpy as np

    return np.ndindex(*shape)


def _pairs(edges: Any) -> list[Any]:
    bad = next((e for e in edges if not (isinstance(e, list) and len(e) == 2)), None)
    if bad is not None:
        raise ParameterError("", "edges", 'a list of pairs ["parent", "child"]', bad)
    return [tuple(edge) for edge in edges]


def _written(equation: LinearGaussian) -> dict[str, Any]:
    weights = {"coefficients": dict(equation.coefficients)} if equation.coefficients else {}
    return {"intercept": equation.intercept, **weights, "sd": equation.sd}


def _nested(node: str, given: Any, depth: int) -> Any:
    """Equations down to the level at which they stand; one equation may stand for all states below."""
    if depth == 0 or (isinstance(given, dict) and "sd" in given and not isinstance(given["sd"], dict)):
        return _equation(node, given)
    if not isinstance(given, dict):
        raise ParameterError("", f"equations[{node!r}]", "an object by the states of its discrete parents", given)
    return {state: _nested(node, below, depth - 1) for state, below in given.items()}


def _equation(node: str, given: Any) -> LinearGaussian:
    if not isinstance(given, dict) or (strange := set(given) - {"intercept", "coefficients", "sd"}):
        shown = given if not isinstance(given, dict) else sorted(strange)[0]
        raise ParameterError("", f"equations[{node!r}]", 'an object with "intercept", "coefficients" and "sd"', shown)
    if "sd" not in given:
        raise ParameterError("", f"equations[{node!r}]", 'an object with "sd"', sorted(given))
    return LinearGaussian(**given)
