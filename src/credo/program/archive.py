"""A model as data: its nodes in order, each by what it is and by the numbers of its parents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.slopes import unchecked
from credo.distributions.support import Support
from credo.errors import FileFormatError, SaveError
from credo.program.nodes import Node, described
from credo.program.sparse import KnownMatrix
from credo.saving.registry import entry_of, find

if TYPE_CHECKING:
    from credo.program.model import Model

__all__ = ["everything", "model_from_state", "model_state"]


def model_state(model: Model) -> dict[str, Any]:
    """Names, dims and nodes; nothing in it is code."""
    order = everything(model)
    at = {node.number: i for i, node in enumerate(order)}
    return {
        "sizes": dict(model.sizes),
        "stated": list(model.stated),
        "labels": {name: labels.tolist() for name, labels in model.labels.items()},
        "nodes": [_node_state(node, at) for node in order],
        "named": {name: at[node.number] for name, node in model.nodes.items()},
        "factors": [
            {
                "name": f.name,
                "law": None if f.law is None else _law_state(f.law, at),
                "node": at[f.node.number],
                "observed": f.observed,
                "missing": f.missing,
                "hidden": None if f.hidden is None else at[f.hidden.number],
            }
            for f in model.factors
        ],
    }


def model_from_state(state: Mapping[str, Any]) -> Model:
    """The inverse of `model_state`; a damaged one is a `FileFormatError`."""
    from credo.program.model import Factor, Model

    model = Model()
    try:
        nodes: list[Node] = []
        for each in state["nodes"]:
            nodes.append(_node(each, nodes, model))
        model.sizes = dict(state["sizes"])
        model.stated = list(state.get("stated", []))
        model.labels = {name: np.asarray(labels) for name, labels in state["labels"].items()}
        model.nodes = {name: nodes[i] for name, i in state["named"].items()}
        for f in state["factors"]:
            law = None if f["law"] is None else _law(f["law"], nodes)
            hidden = None if f["hidden"] is None else nodes[f["hidden"]]
            model.factors.append(Factor(f["name"], law, nodes[f["node"]], f["observed"], f["missing"], hidden))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise FileFormatError(f"The saved model is damaged: {error!r}.", value=error) from error
    return model


def everything(model: Model) -> list[Node]:
    """Every node, also those only laws and terms are made of, in the order they were made."""
    roots = [
        *model.nodes.values(),
        *(f.node for f in model.factors),
        *(f.hidden for f in model.factors if f.hidden is not None),
    ]
    seen: dict[int, Node] = {}
    stack: list[Node] = list(roots)
    while stack:
        node = stack.pop()
        if node.number not in seen:
            seen[node.number] = node
            stack += node.parents
            stack += [v for v in (node.law.parameters.values() if node.law else ()) if isinstance(v, Node)]
    return [seen[number] for number in sorted(seen)]


def _node_state(node: Node, at: Mapping[int, int]) -> dict[str, Any]:
    if "function" in node.static:
        raise SaveError(
            f"{described(node)} holds a function of yours, which a file of data cannot keep.",
            value=node.static["function"],
            remedy="Save the posterior without its model: dataclasses.replace(posterior, model=None).",
        )
    static = dict(node.static)
    support = static.pop("support", None)
    if "key" in static:
        static["key"] = [_key_state(k) for k in static["key"]]
    if "matrix" in static:
        static["matrix"] = static["matrix"].state()
    return {
        "kind": node.kind, "parents": [at[p.number] for p in node.parents], "shape": list(node.shape),
        "dims": list(node.dims), "name": node.name, "value": node.value, "static": static,
        "law": None if node.law is None else _law_state(node.law, at),
        "support": None if support is None else [support.kind, support.low, support.high],
    }  # fmt: skip


def _key_state(k: Any) -> Any:
    return ["slice", k.start, k.stop, k.step] if isinstance(k, slice) else None if k is None else int(k)


def _node(state: Mapping[str, Any], nodes: list[Node], model: Model) -> Node:
    static = dict(state["static"])
    if "key" in static:
        static["key"] = tuple(slice(*k[1:]) if isinstance(k, (list, tuple)) else k for k in static["key"])
    if "matrix" in static:
        static["matrix"] = KnownMatrix(*static["matrix"])
    if state["support"] is not None:
        static["support"] = Support(*state["support"])
    law = None if state["law"] is None else _law(state["law"], nodes)
    return Node(state["kind"], [nodes[i] for i in state["parents"]], shape=tuple(state["shape"]),
                dims=tuple(state["dims"]), name=state["name"], value=state["value"], law=law, static=static,
                model=model)  # fmt: skip


def _law_state(law: Family, at: Mapping[int, int]) -> dict[str, Any]:
    parameters = {
        name: {"node": at[value.number]} if isinstance(value, Node) else {"value": value}
        for name, value in law.parameters.items()
    }
    entry = entry_of(type(law))
    assert entry is not None
    return {"family": entry.name, "parameters": parameters}


def _law(state: Mapping[str, Any], nodes: list[Node]) -> Family:
    family = find(state["family"]).cls
    if not (isinstance(family, type) and issubclass(family, Family)):
        raise FileFormatError(f"{state['family']} is not a family.", value=state["family"])
    parameters = {k: nodes[v["node"]] if "node" in v else v["value"] for k, v in state["parameters"].items()}
    return unchecked(family, parameters)
