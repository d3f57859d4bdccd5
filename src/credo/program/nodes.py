"""`Node`: an array expression of a model, with shape and named dims. Nodes form a directed acyclic graph and never
change.

Leaves are constants, data, latent and observed nodes; everything else is an operation of `ops.OPS` on nodes. The dims
of an array name its axes; None is an axis without a name. Arrays broadcast as NumPy's do, but two axes of different
names never meet, even where their sizes agree.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.support import Support
from credo.errors import DataError, ParameterError
from credo.program.labels import unwrapped
from credo.program.ops import OPS
from credo.program.sparse import is_sparse, sparse_product
from credo.program.wording import described

__all__ = ["Node", "Dims", "apply", "as_node", "axis_of", "described", "holds_states", "joined", "parents_of_law",
           "topological"]  # fmt: skip

Dims = tuple[str | None, ...]
_COUNTER = itertools.count()
# NumPy's functions that are operators of nodes.
_OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "power": operator.pow, "float_power": operator.pow, "matmul": operator.matmul, "negative": operator.neg,
    "absolute": operator.abs,
}  # fmt: skip
_NO_VALUE = "used as a number: its value is not known before it is fitted"


class UnknownValueError(ParameterError, TypeError):
    """A node where a number, a condition or a sequence is needed."""


class Node:
    """One array of a model.

    kind : "constant", "data", "latent", "observed" or the name of an operation
    parents : nodes it is computed from; for a latent or observed node those of its law
    shape, dims : sizes and names of its axes
    law : the `Family` of a latent or observed node, whose parameters may be nodes
    value : of a constant, of data, of an observed node (NaN where missing)
    static : what else the operation needs
    """

    def __init__(
        self,
        kind: str,
        parents: Sequence[Node] = (),
        *,
        shape: tuple[int, ...],
        dims: Dims,
        name: str | None = None,
        value: np.ndarray | None = None,
        law: Family | None = None,
        static: dict[str, Any] | None = None,
        model: Any = None,
    ) -> None:
        self.kind, self.parents, self.shape, self.dims = kind, tuple(parents), tuple(shape), tuple(dims)
        self.name, self.value, self.law, self.static = name, value, law, static or {}
        self.model = model if model is not None else next((p.model for p in parents if p.model is not None), None)
        self._bounds: tuple[float, float] | None = None
        self.number = next(_COUNTER)  # creation order is a topological order

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_operation(self) -> bool:
        return self.kind in OPS

    @property
    def is_scalar(self) -> bool:
        return not self.shape

    @property
    def bounds(self) -> tuple[float, float]:
        """The range its values can take, as far as interval arithmetic tells."""
        if self._bounds is None:
            for node in topological([self]):  # parents first; each is asked once, however often it is used
                if node._bounds is None:
                    node._bounds = node._range()
        assert self._bounds is not None
        return self._bounds

    def _range(self) -> tuple[float, float]:
        if self.kind == "constant":
            value = np.asarray(self.value)
            return (float(np.min(value)), float(np.max(value))) if value.size else (-np.inf, np.inf)
        if self.kind == "latent":
            support = self.support
            if support.kind == "simplex":
                return 0.0, 1.0
            ends = float(np.min(support.low)), float(np.max(support.high))
            return ends[0], ends[1]
        if self.is_operation:
            return OPS[self.kind].bounds([p.bounds for p in self.parents], self.static)
        if self.value is not None and self.value.size and np.isfinite(self.value).all():
            # What data hold may change when predicting; their sign is what checks rest on.
            low, high = float(np.min(self.value)), float(np.max(self.value))
            return (low, high)
        return -np.inf, np.inf

    def __repr__(self) -> str:
        axes = ", ".join(f"{d or ''}{':' if d else ''}{n}" for d, n in zip(self.dims, self.shape))
        return f"{described(self)}[{axes}]"

    def __bool__(self) -> bool:
        raise UnknownValueError("Model", described(self), "used as a number, not as a condition (its value is not "
                                "known)", repr(self))  # fmt: skip

    def __float__(self) -> float:
        raise UnknownValueError("Model", described(self), f"an expression, not {_NO_VALUE}", repr(self),
                                "Its posterior has it: m.deterministic(name, node), then posterior[name].")  # fmt: skip

    __int__ = __index__ = __complex__ = __float__  # type: ignore[assignment]

    def _compared(self, other: Any) -> Any:
        raise UnknownValueError("Model", described(self), "an expression, not compared: its value is not known",
                                repr(self), "Restrict a latent node by low= and high=.")  # fmt: skip

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy leaves arithmetic with nodes to them; its other functions would need numbers."""
        if ufunc.__name__ in ("equal", "not_equal"):  # as everywhere in Python: nodes equal themselves
            return ufunc.__name__ == "not_equal"
        known = _OPERATORS.get(ufunc.__name__)
        if method == "__call__" and known is not None and not options:
            return known(*(as_node(x) for x in inputs))
        name = ufunc.__name__
        remedy = f"Write cr.math.{name}(…)." if name in OPS else "Functions of nodes are in cr.math."
        raise UnknownValueError("numpy", ufunc.__name__, "called on numbers, not on a node", repr(self), remedy)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Itself, as one object: so SciPy's sparse arrays, too, leave arithmetic to it."""
        if dtype is not None and np.dtype(dtype) != object:
            raise UnknownValueError("Model", described(self), f"an expression, not {_NO_VALUE}", repr(self))
        one = np.empty((), dtype=object)
        one[()] = self
        return one

    def __iter__(self) -> Iterator[Node]:
        if not self.shape:
            raise UnknownValueError("Model", described(self), "an array to go along, not a scalar", repr(self))
        return (self[i] for i in range(self.shape[0]))

    def __len__(self) -> int:
        if not self.shape:
            raise UnknownValueError("Model", described(self), "an array to have a length, not a scalar", repr(self))
        return self.shape[0]

    @property
    def support(self) -> Support:
        """The range of a latent node: its law's, or what of it was declared."""
        return self.static["support"]

    @property
    def axes(self) -> tuple[str, ...]:
        """A name for every axis, for reports."""
        return tuple(d or f"{self.name}_dim_{i}" for i, d in enumerate(self.dims))

    # -- operators -----------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Node:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> Node:
        return apply("add", other, self)

    def __sub__(self, other: Any) -> Node:
        return apply("subtract", self, other)

    def __rsub__(self, other: Any) -> Node:
        return apply("subtract", other, self)

    def __mul__(self, other: Any) -> Node:
        return apply("multiply", self, other)

    def __rmul__(self, other: Any) -> Node:
        return apply("multiply", other, self)

    def __truediv__(self, other: Any) -> Node:
        return apply("divide", self, other)

    def __rtruediv__(self, other: Any) -> Node:
        return apply("divide", other, self)

    def __pow__(self, other: Any) -> Node:
        known = {2: "square", 0.5: "sqrt"}.get(other) if isinstance(other, (int, float)) else None
        return apply(known, self) if known else apply("power", self, other)

    def __rpow__(self, other: Any) -> Node:
        return apply("power", other, self)

    def __neg__(self) -> Node:
        return apply("negative", self)

    def __abs__(self) -> Node:
        return apply("abs", self)

    def __matmul__(self, other: Any) -> Node:
        if is_sparse(other):
            return sparse_product(other.T, self) if self.ndim != 2 else sparse_product(other.T, self.T).T
        return apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Node:
        return sparse_product(other, self) if is_sparse(other) else apply("matmul", other, self)

    @property
    def T(self) -> Node:
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ParameterError("Node", "T", "taken of a matrix", repr(self))
        return Node("transpose", [self], shape=self.shape[::-1], dims=self.dims[::-1])

    def sum(self, axis: int | str | None = None, dtype: None = None, out: None = None) -> Node:
        """Over all axes, or over one by number or name; `np.sum` passes the rest, which must be None."""
        return self._reduced("sum", axis)

    def mean(self, axis: int | str | None = None, dtype: None = None, out: None = None) -> Node:
        """`sum` divided by how many there are."""
        return self._reduced("mean", axis)

    def _reduced(self, kind: str, axis: int | str | None) -> Node:
        axes = range(self.ndim) if axis is None else [axis_of(self, axis)]
        rest = [i for i in range(self.ndim) if i not in axes]
        static = {"axis": tuple(i - self.ndim for i in axes)}
        shape, dims = tuple(self.shape[i] for i in rest), tuple(self.dims[i] for i in rest)
        return Node(kind, [self], shape=shape, dims=dims, static=static)

    def reshape(self, *shape: int) -> Node:
        """The same values, C order, in other axes, which have no names."""
        wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else tuple(shape)
        if not all(isinstance(n, (int, np.integer)) and n >= 1 for n in wanted):
            raise ParameterError("Node", "reshape", "given integers ≥ 1", wanted)
        if int(np.prod(wanted, dtype=np.int64)) != self.size:
            raise DataError(f"{self!r} has {self.size} values, which do not fill shape {wanted}.", value=wanted)
        return Node("reshape", [self], shape=wanted, dims=(None,) * len(wanted), static={"shape": wanted})

    def __getitem__(self, key: Any) -> Node:
        """Group codes (integer nodes or arrays, one for each of the first axes), or plain numbers and slices; None
        makes an axis of length 1."""
        listed = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, Node) or (isinstance(k, (np.ndarray, list)) and np.asarray(k).ndim) for k in listed):
            from credo.program.picking import picked

            return picked(self, listed)
        key = listed
        own = [k for k in key if k is not None]
        if len(own) > self.ndim or not all(isinstance(k, (int, np.integer, slice)) for k in own):
            raise ParameterError("Node", "index", f"an integer array, or up to {self.ndim} integers and slices", key)
        for axis, k in enumerate(own):
            if not isinstance(k, slice) and not -self.shape[axis] <= k < self.shape[axis]:
                raise ParameterError("Node", "index", f"within axis {axis} of {self!r}", k)
        shape = np.empty(self.shape, dtype=np.bool_)[key].shape
        dims, left = [], list(self.dims)
        for k in [*key, *[slice(None)] * (self.ndim - len(own))]:
            name = left.pop(0) if k is not None else None
            if k is None or isinstance(k, slice):
                dims.append(name if k == slice(None) else None)
        return Node("slice", [self], shape=shape, dims=tuple(dims), static={"key": key})


def axis_of(node: Node, axis: int | str) -> int:
    """The number, from 0, of an axis given by number or name."""
    if isinstance(axis, str):
        if axis not in node.dims:
            raise ParameterError("Node", "axis", f"a dim of {node!r}", axis)
        return node.dims.index(axis)
    if not -node.ndim <= axis < node.ndim:
        raise ParameterError("Node", "axis", f"an axis of {node!r}", axis)
    return axis % node.ndim


def as_node(value: Any) -> Node:
    """A node as it is; numbers and arrays as constants; a list with nodes in it as their stack."""
    if isinstance(value, Node):
        return value
    value = unwrapped(value)
    if hasattr(value, "toarray"):
        raise ParameterError("Model", "value", "a dense array or a node", value, "Call its toarray().")
    if isinstance(value, (list, tuple)) and any(isinstance(each, Node) for each in value):
        from credo.program.math import stack

        return stack(*value)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ParameterError("Model", "value", "numbers or a node", value)
    array = array if array.dtype.kind in "iu" else array.astype(np.float64)
    return Node("constant", shape=array.shape, dims=(None,) * array.ndim, value=array)


def apply(kind: str, *arguments: Any) -> Node:
    """The node of an operation; shapes and dims are checked here.

    Raises `DataError` where axes of different names or sizes meet: it shows both nodes and their axes.
    """
    parents = [as_node(argument) for argument in arguments]
    models = {id(p.model): p.model for p in parents if p.model is not None}
    if len(models) > 1:
        raise DataError(f"{parents[0]!r} and {parents[-1]!r} belong to different models.", value=parents)
    if kind == "matmul":
        return _matmul_node(*parents)
    shape, dims = joined(kind, parents)
    return Node(kind, parents, shape=shape, dims=dims)


def joined(what: str, nodes: Sequence[Node]) -> tuple[tuple[int, ...], Dims]:
    """Shape and dims of nodes broadcast against each other."""
    ndim = max(node.ndim for node in nodes)
    shape: list[int] = []
    dims: list[str | None] = []
    for axis in range(-ndim, 0):
        here = [(n.shape[axis], n.dims[axis], n) for n in nodes if n.ndim >= -axis]
        names = {d: n for size, d, n in here if d is not None}
        sizes = {size: n for size, d, n in here if size != 1}
        if len(names) > 1 or len(sizes) > 1:
            a, b = list(names.values() if len(names) > 1 else sizes.values())[:2]
            raise DataError(
                f"{what}: axes that do not match: {a!r} meets {b!r}.",
                value=(a.shape, b.shape),
                remedy="Pick by group codes, as effect[group], or sum over an axis.",
            )
        shape.append(next(iter(sizes), here[0][0]))
        dims.append(next(iter(names), None))
    return tuple(shape), tuple(dims)


def _matmul_node(a: Node, b: Node) -> Node:
    if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2):
        raise DataError(f"@ multiplies vectors and matrices, not {a!r} and {b!r}.", value=(a.shape, b.shape))
    inner = (a.shape[-1], a.dims[-1]), (b.shape[0], b.dims[0])
    if inner[0][0] != inner[1][0] or (None not in (inner[0][1], inner[1][1]) and inner[0][1] != inner[1][1]):
        raise DataError(f"@: the last axis of {a!r} does not match the first of {b!r}.", value=(a.shape, b.shape))
    return Node("matmul", [a, b], shape=a.shape[:-1] + b.shape[1:], dims=a.dims[:-1] + b.dims[1:])


def holds_states(node: Node) -> bool:
    """Whether its values are whole numbers: a discrete latent node, or moved, added or multiplied ones."""
    if node.kind == "latent":
        return bool(node.support.is_discrete)
    if node.kind in ("take", "slice", "reshape", "transpose", "identity"):
        return holds_states(node.parents[0])
    if node.kind in ("add", "subtract", "multiply", "concat", "sum", "fill"):
        return all(holds_states(parent) for parent in node.parents)
    return node.value is not None and node.value.dtype.kind in "iub"


def parents_of_law(law: Family) -> list[Node]:
    """The nodes among its parameters."""
    return [value for value in law.parameters.values() if isinstance(value, Node)]


def topological(outputs: Sequence[Node], given: Container[int] = ()) -> list[Node]:
    """Everything the outputs are computed from, in an order of computation. Latent and observed nodes are leaves, and
    so are the given ones, by number."""
    seen: dict[int, Node] = {}
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node.number in seen:
            continue
        seen[node.number] = node
        if node.is_operation and node.number not in given:
            stack.extend(node.parents)
    return [seen[number] for number in sorted(seen)]
