"""`A @ node` of a known sparse matrix A, SciPy's: what a large design costs is its entries that are not 0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError
from credo.program.op import Array, Op, Static

if TYPE_CHECKING:
    from credo.program.nodes import Node

__all__ = ["SPARSE_MATMUL", "KnownMatrix", "is_sparse", "sparse_product"]


def is_sparse(value: Any) -> bool:
    """Whether it is a sparse array or matrix of SciPy's."""
    return hasattr(value, "toarray") and hasattr(value, "tocsr")


class KnownMatrix:
    """A sparse matrix (n, k) that is part of an expression; equal ones are told alike.

    data, indices, indptr : of its compressed rows
    """

    def __init__(self, data: Array, indices: Array, indptr: Array, shape: Sequence[int]) -> None:
        import scipy.sparse

        self.csr: Any = scipy.sparse.csr_array((data, indices, indptr), shape=tuple(shape))

    @cached_property
    def transposed(self) -> Any:
        return self.csr.T.tocsr()

    @cached_property
    def _digest(self) -> str:
        parts = (self.csr.data, self.csr.indices.astype(np.int64), self.csr.indptr.astype(np.int64))
        return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()

    def __repr__(self) -> str:
        return f"KnownMatrix({self.csr.shape}, {self._digest})"

    def state(self) -> list[Any]:
        """What a file keeps."""
        return [self.csr.data, self.csr.indices, self.csr.indptr, list(self.csr.shape)]

    @classmethod
    def of(cls, value: Any) -> KnownMatrix:
        """From SciPy's, which stays as it is; `DataError` names the first entry that is no number."""
        csr = value.tocsr()
        data = np.array(csr.data, dtype=np.float64)
        if not np.isfinite(data).all():
            at = int(np.flatnonzero(~np.isfinite(data))[0])
            row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
            raise DataError(f"A sparse matrix has the value {data[at]} in row {row}.", rows=[row], value=data[at])
        return cls(data, csr.indices.copy(), csr.indptr.copy(), csr.shape)


def sparse_product(matrix: Any, node: Node) -> Node:
    """The node of matrix @ node."""
    from credo.program.nodes import Node

    known = KnownMatrix.of(matrix)
    if matrix.ndim != 2 or node.ndim not in (1, 2) or node.shape[0] != known.csr.shape[1]:
        raise DataError(
            f"@: a sparse matrix of shape {matrix.shape} does not match {node!r}.", value=(matrix.shape, node.shape)
        )
    return Node("sparse_matmul", [node], shape=(known.csr.shape[0], *node.shape[1:]), dims=(None, *node.dims[1:]),
                static={"matrix": known})  # fmt: skip


def _forward(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    A, x = static["matrix"].csr, values[0]
    if not lead[0]:
        return A @ x
    if x.ndim == 2:
        return (A @ x.T).T
    draws, k, m = x.shape
    return (A @ np.moveaxis(x, 0, 1).reshape(k, draws * m)).reshape(-1, draws, m).swapaxes(0, 1)


def _pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    return (static["matrix"].transposed @ g,)


SPARSE_MATMUL = Op("sparse_matmul", _forward, _pull, written="sparse @ {0}")
