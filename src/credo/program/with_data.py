"""The same declarations on other data: another model, whose nodes are made anew in the order they were declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions import Flat
from credo.distributions.base import Family
from credo.distributions.slopes import unchecked
from credo.errors import DataError, ParameterError
from credo.program.nodes import Node, described, topological
from credo.program.ops import OPS

if TYPE_CHECKING:
    from credo.program.model import Factor, Model

__all__ = ["model_with_data"]

REMEDY = "Arrays that change are declared: m.data(…); so are the dims of latent nodes along them."


def model_with_data(model: Model, new: Mapping[str, Any]) -> Model:
    """See `Model.with_data`."""
    known = [name for name, node in model.nodes.items() if _holds_data(model, node)]
    for name, value in new.items():
        if name not in known:
            raise ParameterError("Model.with_data", name, f"a data or observed node: {', '.join(known)}", value)
    renewal = _Renewal(model, new)
    for node in list(model.nodes.values()):
        try:
            renewal.declare(node)
        except DataError as error:
            if error.remedy == REMEDY:
                raise
            raise DataError(f"with_data: {error}", value=error.value, rows=error.rows, remedy=REMEDY) from None
    return renewal.model


def _holds_data(model: Model, node: Node) -> bool:
    return node.kind == "data" or any(factor.node is node and factor.observed for factor in model.factors)


class _Renewal:
    """Old nodes, by number, → new ones."""

    def __init__(self, model: Model, new: Mapping[str, Any]) -> None:
        self.old, self.new, self.model = model, new, type(model)()
        self.factors: dict[int, Factor] = {factor.node.number: factor for factor in model.factors}
        self.made: dict[int, Node] = {}
        self.sizes = self._sizes()
        for dim in model.stated:
            if dim in model.labels:
                self.model.dim(dim, model.labels[dim])
            else:
                self.model.dim(dim, self.sizes.get(dim, model.sizes[dim]))

    def _sizes(self) -> dict[str, int]:
        """Dim → size where new data say it; old data that would contradict are a `DataError`."""
        sizes: dict[str, int] = {}
        for name, value in self.new.items():
            dims = self.old.nodes[name].dims
            for dim, size in zip(dims, np.shape(value)):
                if dim is not None and sizes.setdefault(dim, size) != size:
                    raise DataError(
                        f"{name}: {size} along {dim!r}, where other new data have {sizes[dim]}.", value=size
                    )
        for name, node in self.old.nodes.items():
            if name in self.new or not _holds_data(self.old, node):
                continue
            for dim, size in zip(node.dims, node.shape):
                if dim is not None and sizes.get(dim, size) != size:
                    raise DataError(f"{name} has {size} along {dim!r}, and the new data {sizes[dim]}.", value=size,
                                    remedy=f"Give new values of {name} too.")  # fmt: skip
        return sizes

    # -- declared nodes --------------------------------------------------------------------------------------------

    def declare(self, node: Node) -> None:
        name, factor = str(node.name), self.factors.get(node.number)
        if node.kind == "data":
            made = self.model.data(name, self._value(node), node.dims, levels=node.static.get("levels"))
        elif node.kind == "latent":
            made = self._latent(name, node)
        elif factor is not None and factor.law is not None:
            made = self.model.observed(name, self._law(factor.law), self._value(node), node.dims)
        elif factor is not None:
            made = self.model.potential(name, self.node(node.parents[0]))
        else:
            made = self.model.deterministic(name, self.node(node.parents[0]))
        self.made[node.number] = made

    def _value(self, node: Node) -> Any:
        """Of a data or observed node: the new one, or the old as it was given."""
        if str(node.name) in self.new:
            return self.new[str(node.name)]
        if node.kind == "data" and node.static.get("levels") in self.old.labels:
            return self.old.labels[node.static["levels"]][np.asarray(node.value)]
        if node.kind == "fill":
            value = np.array(node.parents[0].value, dtype=np.float64)
            value.reshape(-1)[node.static["at"]] = np.nan
            return value
        return node.value

    def _latent(self, name: str, node: Node) -> Node:
        assert node.law is not None
        law, support = self._law(node.law), node.support
        ends: dict[str, Any] = {"ordered": True} if support.kind == "ordered" else {}
        if isinstance(node.law, Flat):  # of other laws the law itself is restricted
            ends |= {k: v for k, v in (("low", support.low), ("high", support.high)) if np.isfinite(v)}
        named = any(dim is not None for dim in node.dims)
        if type(law).__name__ == "Chain":
            return self.model.chain(name, **law.parameters, dims=node.dims if named else None,
                                    shape=None if named else node.shape)  # fmt: skip
        made = self.model.latent(name, law, node.dims if named else None, shape=None if named else node.shape, **ends)
        made.static.update({k: v for k, v in node.static.items() if k != "support"})
        return made

    def _law(self, law: Family) -> Family:
        return unchecked(type(law), {name: self._part(value) for name, value in law.parameters.items()})

    def _part(self, value: Any) -> Any:
        if isinstance(value, Node):
            return self.node(value)
        if isinstance(value, Family):
            return self._law(value)
        return type(value)(self._part(each) for each in value) if isinstance(value, (list, tuple)) else value

    # -- expressions -----------------------------------------------------------------------------------------------

    def node(self, node: Node) -> Node:
        """The new node of an expression; a constant belongs to no model, and stays."""
        for each in topological([node]):
            if each.is_operation and each.number not in self.made:
                parents = [self.made.get(parent.number, parent) for parent in each.parents]
                shape = each.shape
                if any(new.shape != old.shape for new, old in zip(parents, each.parents)):
                    shape = self._shape(each, parents)
                self.made[each.number] = Node(each.kind, parents, shape=shape, dims=each.dims, static=each.static)
        return self.made.get(node.number, node)

    def _shape(self, node: Node, parents: Sequence[Node]) -> tuple[int, ...]:
        """Of an operation at new sizes: that of its value at known numbers, and at 0 for others."""
        if node.kind == "call":
            from credo.program.user.declared import shape_now

            return shape_now(node.static["function"], parents, node.static["called"])
        values = [np.zeros(p.shape) if p.value is None else np.asarray(p.value, dtype=np.float64) for p in parents]
        try:
            with np.errstate(all="ignore"):
                out = np.asarray(OPS[node.kind].forward(values, [False] * len(values), node.static))
        except (ValueError, IndexError):
            raise self._refusal(node, parents) from None
        if out.ndim != node.ndim or any(self.model.sizes.get(str(d), n) != n for d, n in zip(node.dims, out.shape)):
            raise self._refusal(node, parents)
        return out.shape

    def _refusal(self, node: Node, parents: Sequence[Node]) -> DataError:
        told = " and ".join(repr(parent) for parent in parents)
        return DataError(
            f"with_data: at the new sizes {described(node)} cannot be computed, from {told}.",
            value=[parent.shape for parent in parents],
            remedy=REMEDY,
        )
