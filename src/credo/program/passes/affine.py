"""Canonical affine maps: an expression as Σ_k g_k(θ) M_k z + Σ_l h_l(θ) c_l.

z are the stacked entries of the block's latent nodes, θ all other latent nodes; M_k are constant sparse matrices, c_l
constant vectors, g_k and h_l scalar expressions of θ. Where a coefficient truly differs from cell to cell and is no
combination of few scalars, it stays a `row` expression with one value a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from credo.program.evaluate import Program
from credo.program.nodes import Node, apply, described, topological
from credo.program.ops import OPS
from credo.program.passes.terms import (
    NotAffineError,
    Term,
    merged,
    negated,
    picking,
    product,
    repeats,
    same_expression,
    times,
)

__all__ = [
    "Affine", "NotAffineError", "Term", "dependencies", "matmul_map", "negated", "repeats", "same_expression",
    "sparse_map",
]  # fmt: skip

# An array of hyperparameters up to this size is taken apart into scalars; more would make a map for each.
MOST_PARTS = 16
# So many cells of the map of running sums.
MOST_SUMMED = 4_000_000
# So many terms for one expression are too many: the cost of a block grows with their square.
MOST_TERMS = 48


def dependencies(node: Node, memo: dict[int, frozenset[int]]) -> frozenset[int]:
    """Numbers of the latent nodes an expression depends on, not looking into their laws."""
    if node.number not in memo:
        for each in topological([node], memo):  # parents first, however long the expression
            if each.number in memo:
                continue
            behind = (memo[parent.number] for parent in each.parents) if each.is_operation else ()
            memo[each.number] = frozenset({each.number} if each.kind == "latent" else ()).union(*behind)
    return memo[node.number]


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
            try:
                terms = merged(self._expand(node))
            except RecursionError:
                raise NotAffineError("its expression has too many steps", [self.in_block(node)]) from None
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
        try:
            return rule(self, node)
        except NotAffineError:
            if self.in_block(node):
                raise
            return self._of_hyperparameters(node)  # however it is computed, it is known given them

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
        return ", ".join(str(each.name) for each in topological([node]) if each.number in found)

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
        return [product(s, t) for s in left for t in right]

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
            S = matmul_map(matrix, other.shape, left_is_fixed)
            for term in self.form(other):
                mapped = term.mapped(S)
                terms.append(replace(mapped, coefficient=times(mapped.coefficient, outer.coefficient)))
        return terms

    def _sparse_matmul(self, node: Node) -> list[Term]:
        S = sparse_map(node)
        return [term.mapped(S) for term in self.form(node.parents[0])]

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
            S = picking(np.ravel(moved), parent.size)
        return [term.mapped(S) for term in self.form(parent)]

    def _cumsum(self, node: Node) -> list[Term]:
        """Running sums: rows of ones below the diagonal."""
        cells = np.arange(node.size).reshape(node.shape)
        along = np.moveaxis(cells, node.static["axis"], -1).reshape(-1, node.shape[node.static["axis"]])
        m, n = along.shape
        if m * n * (n + 1) // 2 > MOST_SUMMED:
            raise NotAffineError(f"{described(node)} is a sum of {n} terms", [self.in_block(node)])
        i, j = np.tril_indices(n)
        rows, columns = along[:, i].ravel(), along[:, j].ravel()
        S = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(node.size, node.size))
        return [term.mapped(S) for term in self.form(node.parents[0])]

    def _where(self, node: Node) -> list[Term]:
        """One or the other by known conditions: each times ones and zeros."""
        condition, *others = node.parents
        chosen = np.broadcast_to(self.value(condition) != 0.0, node.shape).ravel()
        terms = []
        for parent, share in zip(others, (chosen, ~chosen), strict=True):
            for term in self.form(parent):
                S = repeats(parent.shape, node.shape)
                terms.append(product(term if S is None else term.mapped(S), Term(vector=share.astype(np.float64))))
        return terms

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
    "sparse_matmul": Affine._sparse_matmul,
    "concat": Affine._concat,
    "cumsum": Affine._cumsum,
    "where": Affine._where,
    "fill": Affine._fill,
    **dict.fromkeys(("take", "pick", "slice", "reshape", "identity", "transpose", "sum", "mean"), Affine._structural),
}


def _pushed_inside(node: Node) -> Node | None:
    """f(v[codes]) as f(v)[codes], so that what is learned once a group is computed once a group."""
    varying = [p for p in node.parents if p.kind != "constant" or not p.is_scalar]
    if node.is_operation and OPS[node.kind].elementwise and len(varying) == 1 and varying[0].kind == "take":
        source, codes = varying[0].parents
        if source.size < node.size:
            moved = [source if p is varying[0] else p for p in node.parents]
            return apply(node.kind, *moved)[codes]
    return None


def matmul_map(matrix: np.ndarray, shape: tuple[int, ...], left: bool) -> Any:
    """The map of the cells of an array of `shape` under matrix @ array, or array @ matrix."""
    if left:
        flat = np.atleast_2d(matrix)
        return sp.csr_array(flat) if len(shape) == 1 else sp.csr_array(sp.kron(flat, sp.eye(shape[1])))
    columns = matrix[:, None] if matrix.ndim == 1 else matrix
    if len(shape) == 1:
        return sp.csr_array(columns.T)
    return sp.csr_array(sp.kron(sp.eye(shape[0]), columns.T))


def sparse_map(node: Node) -> Any:
    """The map of the cells of what a known sparse matrix multiplies."""
    csr, shape = node.static["matrix"].csr, node.parents[0].shape
    return csr if len(shape) == 1 else sp.csr_array(sp.kron(csr, sp.eye_array(shape[1])))
