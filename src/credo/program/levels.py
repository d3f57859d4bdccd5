"""New levels of a dim: draws of a latent node for groups that were not in the data.

The entries of the new groups are drawn from the node's law at their own parameters: those of other nodes along the
dim are drawn before (an sd per group, a mean per group), known columns along the dim come with the new data, and what
does not run along the dim is as it was learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.errors import DataError, UnavailableError
from credo.program.density import is_opaque
from credo.program.evaluate import Program
from credo.program.forward import draw, law_at
from credo.program.nodes import Node, described, topological
from credo.program.ops import OPS

__all__ = ["with_new_levels"]


class _Unknown(Exception):
    """A part of a law that is not known for new levels."""


def with_new_levels(
    node: Node, value: np.ndarray, added: Mapping[str, int], new_levels: str, values: Mapping[int, np.ndarray],
    nodes: Mapping[int, Node], data: Mapping[int, np.ndarray], rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """The draws of a node, (n, *shape), with the new levels of each of its dims appended along it.

    values, nodes : the latent nodes before it, new levels included, by number
    data : number of a data node → its new value, old levels first

    Raises
    ------
    UnavailableError : the prior is flat
    DataError : a parameter differs along the dim, and is not known for new levels
    """
    whole: list[str] = []
    for axis, dim in enumerate(node.dims):
        if dim in added:
            assert dim is not None
            new = _New(node, dim, axis, added, tuple(whole), values, nodes, data).draws(value, new_levels, rng)
            value = np.concatenate([value, new], axis=axis + 1)
            whole.append(dim)
    return value


class _New:
    """The new levels of one dim of one node; dims in `whole` have theirs already."""

    def __init__(
        self, node: Node, dim: str, axis: int, added: Mapping[str, int], whole: tuple[str, ...],
        values: Mapping[int, np.ndarray], nodes: Mapping[int, Node], data: Mapping[int, np.ndarray],
    ) -> None:  # fmt: skip
        self.node, self.dim, self.axis = node, dim, axis
        self.added, self.whole, self.values, self.nodes, self.data = added, whole, values, nodes, data
        self.along: dict[int, Node] = {}  # leaves whose new entries are needed
        self.apart: dict[int, Node] = {}  # expressions that do not run along the dim

    def draws(self, value: np.ndarray, new_levels: str, rng: np.random.Generator) -> np.ndarray:
        """(n, *shape) with the number of new levels along the axis."""
        node, n, back = self.node, len(value), self.axis - self.node.ndim
        law = node.law
        assert law is not None
        if type(law).__name__ == "Flat":
            raise UnavailableError(
                f"{node.name} has a flat prior, so that nothing is known of new {self.dim!r}.",
                remedy="Give groups a common law with a learned sd.",
            )
        if -back <= law.event_ndim or (is_opaque(law) and _reaches(law.batch_shape, back)):
            raise self._refusal(f"{type(law).__name__} of {node.name}")
        for name, parameter in law.parameters.items():
            self._search(law, name, parameter, back)
        given = {**self.nodes, **self.apart, **self.along}
        own = {number: x for number, x in self.data.items() if number not in self.along}
        shape = (*value.shape[1 : self.axis + 1], self.added[self.dim], *value.shape[self.axis + 2 :])
        try:
            inputs = self._inputs(n)
            here: Any = law_at(law, inputs, {k: given[k] for k in inputs}, n, node.ndim, own)
        except (ValueError, IndexError) as error:
            if isinstance(error, DataError):
                raise
            raise self._refusal(f"law of {node.name}", str(error)) from None
        return np.broadcast_to(here.mean, (n, *shape)) if new_levels == "mean" else draw(here, shape, n, rng)

    def _search(self, law: Family, name: str, parameter: Any, back: int) -> None:
        # Axes of a parameter beyond the node's: the probabilities of a Categorical, the events of a vector's law.
        if type(law).__name__ == "Categorical":
            back -= 1
        try:
            if isinstance(parameter, Node):
                self._walk(parameter, back)
            elif np.ndim(parameter) and name != "covariance" and _reaches(np.shape(parameter), back):
                raise _Unknown("an array of numbers")
        except _Unknown as found:
            raise self._refusal(f"{name} of {self.node.name}", str(found)) from None

    def _refusal(self, what: str, because: str = "") -> DataError:
        why = f" ({because})" if because else ""
        return DataError(
            f"{what} differs by {self.dim!r}, and is not known for new ones{why}.", value=self.dim,
            remedy=f"Columns along {self.dim!r} that are data nodes can be given anew: old levels, then new ones.",
        )  # fmt: skip

    def _walk(self, node: Node, back: int) -> None:
        """Sort what a parameter is made of into what runs along the dim and what does not."""
        if not _reaches(node.shape, back) and not (node.ndim >= -back and node.dims[back] == self.dim):
            if node.is_operation or node.kind == "latent":
                self.apart[node.number] = node
            return
        if not node.is_operation:
            if node.dims[back] != self.dim or (node.number not in self.values and node.number not in self.data):
                raise _Unknown(described(node))
            self.along[node.number] = node
            return
        for parent, at in _behind(node, back):
            self._walk(parent, at)

    def _inputs(self, n: int) -> dict[int, np.ndarray]:
        """Values of the leaves at the new levels, and of what is apart at the old ones, (n, …) each."""
        if self.along.keys() & self.apart.keys():
            raise self._refusal(f"law of {self.node.name}")
        # Sums over the dim and codes of it were learned from the old levels, and keep them.
        leaves = {leaf.number: leaf for leaf in topological(list(self.apart.values())) if leaf.number in self.data}
        old_data = {k: self.data[k] for k, leaf in leaves.items()
                    if self.dim not in leaf.dims and leaf.static.get("levels") != self.dim}  # fmt: skip
        old = {k: self._part(self.nodes[k], x, new=False) for k, x in self.values.items()}
        inputs: dict[int, np.ndarray] = {}
        if self.apart:
            program = Program(list(self.apart.values()), [self.nodes[k] for k in old], old_data)
            for node, x in zip(self.apart.values(), program.values(old, lead=True)):
                inputs[node.number] = x if program.varies(node) else np.broadcast_to(x, (n, *x.shape))
        for number, node in self.along.items():
            if number in self.values:
                inputs[number] = self._part(node, self.values[number], new=True)
            else:
                k = self.added[self.dim]
                x = np.moveaxis(self.data[number], node.dims.index(self.dim), 0)[-k:]
                x = np.moveaxis(x, 0, node.dims.index(self.dim))
                inputs[number] = np.broadcast_to(x, (n, *x.shape))
        return inputs

    def _part(self, node: Node, x: np.ndarray, new: bool) -> np.ndarray:
        """Draws of another node at the new levels of this dim, or at the old; of other dims as far as this node has
        them by now."""
        key: list[slice] = [slice(None)]
        for dim, size in zip(node.dims, node.shape):
            if dim == self.dim:
                key.append(slice(size, None) if new else slice(size))
            else:
                key.append(slice(size) if dim in self.added and dim in self.node.dims and dim not in self.whole
                           else slice(None))  # fmt: skip
        return x[tuple(key)]


def _reaches(shape: tuple[int, ...], back: int) -> bool:
    return len(shape) >= -back and shape[back] != 1


def _behind(node: Node, back: int) -> list[tuple[Node, int]]:
    """The parents of an operation, with the axis of each, counted from the end, that becomes the axis `back`; an axis
    beyond a parent's own says that it does not run along it."""
    axis, parents = node.ndim + back, node.parents
    beyond = -99
    if OPS[node.kind].elementwise or node.kind == "identity":
        return [(parent, back) for parent in parents]
    if node.kind == "matmul" and axis < parents[0].ndim - 1:
        return [(parents[0], axis - parents[0].ndim), (parents[1], beyond)]
    if node.kind == "take":
        codes = parents[1]
        if axis < codes.ndim:
            return [(parents[0], beyond), (codes, axis - codes.ndim)]
        return [(parents[0], back), (codes, beyond)]
    if node.kind in ("sum", "mean"):
        kept = [i - parents[0].ndim for i in range(parents[0].ndim) if i - parents[0].ndim not in node.static["axis"]]
        return [(parents[0], kept[axis])]
    raise _Unknown(described(node))
