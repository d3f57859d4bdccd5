"""Terms of affine forms, and their small algebra: added up, multiplied cell by cell, moved by constant maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from credo.program.nodes import Node, apply, as_node

__all__ = ["NotAffineError", "Term", "merged", "negated", "picking", "product", "repeats", "same_expression", "times"]


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


def negated(term: Term) -> Term:
    return replace(term, matrix=None if term.matrix is None else -term.matrix,
                   vector=None if term.vector is None else -term.vector)  # fmt: skip


def times(a: Node | None, b: Node | None) -> Node | None:
    if a is None or b is None:
        return b if a is None else a
    return apply("multiply", a, b)


def product(a: Term, b: Term) -> Term:
    """a, with a matrix or a vector, times b with a vector, cell by cell."""
    v = b.vector
    assert v is not None
    matrix = None if a.matrix is None else sp.csr_array(a.matrix.multiply(v[:, None]))
    vector = None if a.vector is None else a.vector * v
    return Term(matrix, vector, times(a.coefficient, b.coefficient), times(a.row, b.row))


def merged(terms: Sequence[Term]) -> list[Term]:
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
    static = tuple((k, _plain(v)) for k, v in sorted(node.static.items()))
    return (node.kind, static, *(_identity(parent) for parent in node.parents))


def _plain(value: Any) -> Any:
    """A long array's `repr` leaves cells out."""
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)


def same_expression(a: Node, b: Node) -> bool:
    """Whether two expressions are the same by construction."""
    return a is b or _identity(a) == _identity(b)


def repeats(shape: tuple[int, ...], out: tuple[int, ...]) -> Any:
    """The map that repeats cells as broadcasting does; None where nothing is repeated."""
    if shape == out:
        return None
    size = int(np.prod(shape, dtype=np.int64))
    return picking(np.broadcast_to(np.arange(size).reshape(shape), out).ravel(), size)


def picking(codes: np.ndarray, size: int) -> Any:
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
