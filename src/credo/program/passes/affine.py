"""Canonical affine maps: an expression as Σ_k g_k(θ) M_k z + Σ_l h_l(θ) c_l.

z are the stacked entries of the block's latent nodes, θ all other latent nodes; M_k are constant sparse matrices, c_l
constant vectors, g_k and h_l scalar expressions of θ. Where a coefficient truly differs from cell to cell and is no
combination of few scalars, it stays a `row` expression with one value a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from credo.program.evaluate import Program
from credo.program.nodes import Node, apply, as_node, described
from credo.program.ops import OPS

__all__ = ["Affine", "NotAffineError", "Term", "dependencies", "negated", "repeats"]

# An array of hyperparameters up to this size is taken apart into scalars; more would make a map for each.
MOST_PARTS = 16
# So many terms for one expression are too many: the cost of a block grows with their square.
MOST_TERMS = 48


class NotAffineError(Exception):
    """An expression is not affine in the block; `remove` lists sets of latent nodes, one of which must leave it."""

    def __init__(self, reason: str, remove: Sequence[frozenset[int]]) -> None:
        super().__init__(reason)
        self.reason, self.remove = reason, tuple(remove)


@dataclass(frozen=True, eq=False)
class Term:
    """coefficient(θ) · diag(row(θ)) · (matrix z, or vector); None is 1. matrix (cells, p), vector (cells,)."""

    matrix: Any = None
    vector: np.ndarray | None = None
    coefficient: Node | None = None
    row: Node | None = None

    def mapped(self, S: Any) -> Term:
        """After a constant linear map of the cells; a `row` can only be picked from."""
        if self.row is not None:
            codes = _picks(S)
            if codes is None:
                raise NotAffineError("coefficients that differ by cell are mixed by a matrix", [])
            picked = apply_pick(self.row, codes)
            return replace(self, row=picked, **self._linear(S))
        return replace(self, **self._linear(S))

    def _linear(self, S: Any) -> dict[str, Any]:
        return {"matrix": None if self.matrix is None else (S @ self.matrix).tocsr(),
                "vector": None if self.vector is None else S @ self.vector}  # fmt: skip


def dependencies(node: Node, memo: dict[int, frozenset[int]]) -> frozenset[int]:
    """Numbers of the latent nodes an expression depends on, not looking into their laws."""
    known = memo.get(node.number)
    if known is not None:
        return known
    if node.kind == "latent":
        found = frozenset({node.number})
    elif not node.is_operation:
        found = frozenset()
    else:
        found = frozenset().union(*(dependencies(parent, memo) for parent in node.parents))
    memo[node.number] = found
    return found


class Affine:
    """Affine forms of expressions in the latent nodes `columns` (number → where its entries start), p entries in all.

    data : number of a data node → its value, where that is not the declared one
    """

    def __init__(
        self, columns: Mapping[int, int], p: int, data: Mapping[int, np.ndarray] | None = None,
        memo: dict[int, frozenset[int]] | None = None,
    ) -> None:  # fmt: skip
        self.columns, self.p, self.data = dict(columns), p, dict(data or {})
        self._block = frozenset(columns)
        self._dependencies = memo if memo is not None else {}
        self._forms: dict[int, list[Term]] = {}

    def depends(self, node: Node) -> frozenset[int]:
        return dependencies(node, self._dependencies)

    def in_block(self, node: Node) -> frozenset[int]:
        """The block's nodes that an expression depends on."""
        return self.depends(node) & self._block

    def value(self, node: Node) -> np.ndarray:
        """Of an expression without latent nodes."""
        return np.asarray(Program([node], [], self.data).values({})[0], dtype=np.float64)

    def form(self, node: Node) -> list[Term]:
        """The terms of a node; raises `NotAffineError`."""
        if node.number not in self._forms:
            terms = _merged(self._expand(node))
            if len(terms) > MOST_TERMS:
                raise NotAffineError(f"{described(node)} has {len(terms)} terms", [self.in_block(node)])
            self._forms[node.number] = terms
        return self._forms[node.number]

    # -- the rules -----------------------------------------------------------------------------------------------

    def _expand(self, node: Node) -> list[Term]:
        if not self.depends(node):
            return [Term(vector=np.broadcast_to(self.value(node), self._shape(node)).ravel())]
        if node.number in self._block:
            start = self.columns[node.number]
            n = node.size
            selector = sp.csr_array((np.ones(n), np.arange(start, start + n), np.arange(n + 1)), shape=(n, self.p))
            return [Term(matrix=selector)]
        if not self.in_block(node) and (node.kind == "latent" or node.kind not in _RULES):
            return self._of_hyperparameters(node)
        rule = _RULES.get(node.kind)
        if rule is None:
            raise NotAffineError(f"{described(node)} is not linear in {self._names(node)}", [self.in_block(node)])
        return rule(self, node)

    def _of_hyperparameters(self, node: Node) -> list[Term]:
        """An expression of θ alone: a scalar, a few scalars, or a row."""
        if node.is_scalar:
            return [Term(vector=np.ones(1), coefficient=node)]
        inner = _pushed_inside(node)
        if inner is not None:
            return self.form(inner)
        if node.size <= MOST_PARTS:
            return [
                Term(vector=np.eye(node.size)[i], coefficient=node[tuple(int(k) for k in at)])
                for i, at in enumerate(np.ndindex(*node.shape))
            ]
        return [Term(vector=np.ones(node.size), row=node.reshape(node.size))]

    def _shape(self, node: Node) -> tuple[int, ...]:
        """Shape with the data at hand, which may have other sizes than declared."""
        if not self.data:
            return node.shape
        return np.shape(Program([node], [], self.data).values({})[0]) if not self.depends(node) else node.shape

    def _names(self, node: Node) -> str:
        found = self.in_block(node)
        return ", ".join(name for number, name in sorted(_latent_names(node)) if number in found)

    def _add(self, node: Node, signs: Sequence[float]) -> list[Term]:
        terms = []
        for parent, sign in zip(node.parents, signs, strict=True):
            S = repeats(parent.shape, node.shape)
            for term in self.form(parent):
                term = term if S is None else term.mapped(S)
                terms.append(term if sign > 0 else negated(term))
        return terms

    def _multiply(self, node: Node) -> list[Term]:
        a, b = node.parents
        if self.in_block(a) and self.in_block(b):
            raise NotAffineError(
                f"{described(node)} multiplies {self._names(a)} by {self._names(b)}",
                [self.in_block(a), self.in_block(b)],
            )
        if self.in_block(b):
            a, b = b, a
        return self._scaled(node, a, b)

    def _divide(self, node: Node) -> list[Term]:
        a, b = node.parents
        if self.in_block(b):
            raise NotAffineError(f"{described(node)} divides by {self._names(b)}", [self.in_block(b)])
        if a.kind == "constant" and a.is_scalar:
            return self._of_hyperparameters(node)
        return self._scaled(node, a, apply("divide", 1.0, b))

    def _scaled(self, node: Node, a: Node, b: Node) -> list[Term]:
        """a, which may depend on the block, times b, which does not."""
        left = [t if (S := repeats(a.shape, node.shape)) is None else t.mapped(S) for t in self.form(a)]
        right = [t if (S := repeats(b.shape, node.shape)) is None else t.mapped(S) for t in self.form(b)]
        return [_product(s, t) for s in left for t in right]

    def _matmul(self, node: Node) -> list[Term]:
        a, b = node.parents
        if self.in_block(a) and self.in_block(b):
            raise NotAffineError(
                f"{described(node)} multiplies {self._names(a)} by {self._names(b)}",
                [self.in_block(a), self.in_block(b)],
            )
        left_is_fixed = not self.in_block(a)
        fixed, other = (a, b) if left_is_fixed else (b, a)
        terms = []
        for outer in self.form(fixed):
            if outer.row is not None:
                raise NotAffineError(f"{described(node)}: a large matrix of hyperparameters", [self.in_block(other)])
            matrix = outer.vector.reshape(fixed.shape)  # type: ignore[union-attr]
            S = _matmul_map(matrix, other.shape, left_is_fixed)
            for term in self.form(other):
                mapped = term.mapped(S)
                terms.append(replace(mapped, coefficient=_times(mapped.coefficient, outer.coefficient)))
        return terms

    def _structural(self, node: Node) -> list[Term]:
        """Operations that only move, repeat or add up cells: their map is found by moving the numbers of cells."""
        parent = node.parents[0]
        cells = np.arange(parent.size).reshape(parent.shape)
        if node.kind in ("sum", "mean"):
            axes = tuple(axis % parent.ndim for axis in node.static["axis"])
            moved = np.moveaxis(cells, axes, range(-len(axes), 0)).reshape(max(node.size, 1), -1)
            rows = np.repeat(np.arange(len(moved)), moved.shape[1])
            share = 1.0 if node.kind == "sum" else 1.0 / moved.shape[1]
            S = sp.csr_array((np.full(moved.size, share), (rows, moved.ravel())), shape=(node.size, parent.size))
        else:
            rest = [self.value(p) for p in node.parents[1:]]
            moved = OPS[node.kind].forward([cells, *rest], [False] * len(node.parents), node.static)
            S = _picking(np.ravel(moved), parent.size)
        return [term.mapped(S) for term in self.form(parent)]

    def _concat(self, node: Node) -> list[Term]:
        terms, start = [], 0
        for parent in node.parents:
            S = sp.csr_array(
                (np.ones(parent.size), (np.arange(start, start + parent.size), np.arange(parent.size))),
                shape=(node.size, parent.size),
            )
            for term in self.form(parent):
                if term.row is not None:
                    raise NotAffineError(f"{described(node)} puts rows of coefficients together", [self.in_block(node)])
                terms.append(term.mapped(S))
            start += parent.size
        return terms

    def _fill(self, node: Node) -> list[Term]:
        base, cells = node.parents
        at = node.static["at"]
        S = sp.csr_array((np.ones(at.size), (at, np.arange(at.size))), shape=(node.size, at.size))
        return [*self.form(base), *(term.mapped(S) for term in self.form(cells))]


_RULES: dict[str, Any] = {
    "add": lambda forms, node: forms._add(node, (1.0, 1.0)),
    "subtract": lambda forms, node: forms._add(node, (1.0, -1.0)),
    "negative": lambda forms, node: forms._add(node, (-1.0,)),
    "multiply": Affine._multiply,
    "divide": Affine._divide,
    "matmul": Affine._matmul,
    "concat": Affine._concat,
    "fill": Affine._fill,
    **dict.fromkeys(("take", "slice", "reshape", "identity", "transpose", "sum", "mean"), Affine._structural),
}


# -- small algebra of terms ------------------------------------------------------------------------------------------


def negated(term: Term) -> Term:
    return replace(term, matrix=None if term.matrix is None else -term.matrix,
                   vector=None if term.vector is None else -term.vector)  # fmt: skip


def _times(a: Node | None, b: Node | None) -> Node | None:
    if a is None or b is None:
        return b if a is None else a
    return apply("multiply", a, b)


def _product(a: Term, b: Term) -> Term:
    """a, with a matrix or a vector, times b with a vector, cell by cell."""
    v = b.vector
    assert v is not None
    matrix = None if a.matrix is None else sp.csr_array(a.matrix.multiply(v[:, None]))
    vector = None if a.vector is None else a.vector * v
    return Term(matrix, vector, _times(a.coefficient, b.coefficient), _times(a.row, b.row))


def _merged(terms: Sequence[Term]) -> list[Term]:
    """Terms of the same coefficients added up, those that are zero dropped."""
    groups: dict[Any, list[Term]] = {}
    for term in terms:
        key = (term.matrix is None, _identity(term.coefficient), _identity(term.row))
        groups.setdefault(key, []).append(term)
    merged = []
    for group in groups.values():
        first = group[0]
        if len(group) > 1:
            if first.matrix is not None:
                total = group[0].matrix
                for term in group[1:]:
                    total = total + term.matrix
                first = replace(first, matrix=sp.csr_array(total))
            else:
                first = replace(first, vector=np.sum(np.array([term.vector for term in group]), axis=0))
        if first.matrix is not None:
            first.matrix.eliminate_zeros()
            if first.matrix.nnz:
                merged.append(first)
        elif np.any(first.vector):
            merged.append(first)
    return merged


def _identity(node: Node | None) -> Any:
    """Equal for expressions that are the same by construction."""
    if node is None:
        return None
    if node.kind == "constant":
        return ("constant", node.value.tobytes(), node.shape)  # type: ignore[union-attr]
    if not node.is_operation:
        return node.number
    static = tuple(sorted((k, repr(v)) for k, v in node.static.items()))
    return (node.kind, static, *(_identity(parent) for parent in node.parents))


def repeats(shape: tuple[int, ...], out: tuple[int, ...]) -> Any:
    """The map that repeats cells as broadcasting does; None where nothing is repeated."""
    if shape == out:
        return None
    size = int(np.prod(shape, dtype=np.int64))
    return _picking(np.broadcast_to(np.arange(size).reshape(shape), out).ravel(), size)


def _picking(codes: np.ndarray, size: int) -> Any:
    n = codes.size
    return sp.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, size))


def _picks(S: Any) -> np.ndarray | None:
    """Which cell each row picks, if every row picks one."""
    if S.nnz == S.shape[0] and np.all(np.diff(S.indptr) == 1) and np.all(S.data == 1.0):
        return S.indices
    return None


def apply_pick(row: Node, codes: np.ndarray) -> Node:
    """Cells of a row by number."""
    if codes.size == row.size and np.array_equal(codes, np.arange(row.size)):
        return row
    return row[as_node(codes.astype(np.int64))]


def _matmul_map(matrix: np.ndarray, shape: tuple[int, ...], left: bool) -> Any:
    """The map of the cells of an array of `shape` under matrix @ array, or array @ matrix."""
    if left:
        flat = np.atleast_2d(matrix)
        return sp.csr_array(flat) if len(shape) == 1 else sp.csr_array(sp.kron(flat, sp.eye(shape[1])))
    columns = matrix[:, None] if matrix.ndim == 1 else matrix
    if len(shape) == 1:
        return sp.csr_array(columns.T)
    return sp.csr_array(sp.kron(sp.eye(shape[0]), columns.T))


def _pushed_inside(node: Node) -> Node | None:
    """f(v[codes]) as f(v)[codes], so that what is learned once a group is computed once a group."""
    varying = [p for p in node.parents if p.kind != "constant" or not p.is_scalar]
    if node.is_operation and OPS[node.kind].elementwise and len(varying) == 1 and varying[0].kind == "take":
        source, codes = varying[0].parents
        if source.size < node.size:
            moved = [source if p is varying[0] else p for p in node.parents]
            return apply(node.kind, *moved)[codes]
    return None


def _latent_names(node: Node) -> set[tuple[int, str]]:
    if node.kind == "latent":
        return {(node.number, str(node.name))}
    if not node.is_operation:
        return set()
    return set().union(*(_latent_names(parent) for parent in node.parents))
