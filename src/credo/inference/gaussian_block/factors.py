"""`LinearFactor`: n residuals that are linear in the latent vector z and independently Normal.

Notation: M_k (n, p) constant maps, c_l (n,) constants, w (n,) known relative sds; a_k, b_l, s coefficients given later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from credo.errors import ParameterError

__all__ = ["LinearFactor"]


class LinearFactor:
    """Residuals r = Σ_k a_k M_k z + Σ_l b_l c_l with r_i ~ Normal(0, s·w_i), independent.

    A likelihood y ~ Normal(X z, σ) has maps [X], constants [y], and coefficients a = (1,), b = (−1,), s = σ; a prior
    z_j ~ Normal(μ, τ) has the rows of the identity, a column of ones and a = (1,), b = (−μ,), s = τ. A flat prior is no
    factor at all.

    Parameters
    ----------
    maps : K matrices M_k (n, p), SciPy sparse or dense, finite.
    constants : L vectors c_l (n,), finite.
    relative_sds : w (n,) > 0; None for ones.
    name : of the node, for error messages.
    rowwise : whether a_k, b_l or s may be vectors (n,). Then the rows are gone through at every evaluation.

    Raises `ParameterError` for shapes that differ and for entries that are not finite.

    Examples
    --------
    >>> LinearFactor([np.eye(2)], [np.array([3.0, 4.0])], name="y")
    LinearFactor('y', 2 rows, 1 map, 1 constant)
    """

    def __init__(
        self,
        maps: Sequence[Any],
        constants: Sequence[np.ndarray] = (),
        relative_sds: np.ndarray | None = None,
        *,
        name: str = "",
        rowwise: bool = False,
    ) -> None:
        self.name = name
        self.rowwise = rowwise
        matrices: list[Any] = [scipy.sparse.csr_array(each, dtype=np.float64, copy=True) for each in maps]
        vectors = [np.asarray(each, dtype=np.float64) for each in constants]
        shapes = [each.shape[0] for each in matrices] + [each.shape[0] if each.ndim == 1 else -1 for each in vectors]
        if not shapes or len(set(shapes)) > 1 or len({each.shape[1] for each in matrices}) > 1:
            raise ParameterError(
                f"LinearFactor {name!r}",
                "maps and constants",
                "at least one (n, p) matrix or (n,) vector, all with the same n and p",
                [each.shape for each in (*matrices, *vectors)],
            )
        self.n = shapes[0]
        for at, each in enumerate(matrices):
            self._require(np.isfinite(each.data), f"maps[{at}]", "finite", each.data)
        for at, each in enumerate(vectors):
            self._require(np.isfinite(each), f"constants[{at}]", "finite", each)
        self.log_sds = 0.0
        if relative_sds is not None:
            w = np.asarray(relative_sds, dtype=np.float64)
            if w.shape != (self.n,):
                raise ParameterError(f"LinearFactor {name!r}", "relative_sds", f"of shape ({self.n},)", w.shape)
            self._require(np.isfinite(w) & (w > 0.0), "relative_sds", "finite and > 0", w)
            self.log_sds = float(np.log(w).sum())
            matrices = [_scaled_rows(each, 1.0 / w) for each in matrices]
            vectors = [each / w for each in vectors]
        for each in matrices:
            each.sum_duplicates()
            each.eliminate_zeros()
        #: M_k and c_l with each row divided by w
        self.maps: list[Any] = matrices
        self.constants: list[np.ndarray] = vectors

    def _require(self, good: np.ndarray, parameter: str, constraint: str, values: np.ndarray) -> None:
        if not np.all(good):
            raise ParameterError(f"LinearFactor {self.name!r}", parameter, constraint, float(values[~good][0]))

    def __repr__(self) -> str:
        counts = [(self.n, "row"), (len(self.maps), "map"), (len(self.constants), "constant")]
        return f"LinearFactor({self.name!r}, " + ", ".join(f"{k} {word}{'s' * (k != 1)}" for k, word in counts) + ")"


def _scaled_rows(matrix: Any, scale: np.ndarray) -> Any:
    data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
    return scipy.sparse.csr_array((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)
