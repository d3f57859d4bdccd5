"""LAPACK routines that SciPy offers only by their Fortran names, as typed functions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from credo.errors import NumericalError

__all__ = ["jacobi_svd", "reciprocal_condition", "triangle"]

_LAPACK: Any = scipy.linalg.lapack  # compiled: no type checker sees into it


def triangle(matrix: np.ndarray, *, lower: bool) -> np.ndarray | None:
    """L with L Lᵀ = matrix (n, n), or U with Uᵀ U = matrix; None if it is not positive definite. Cost n³/3.

    Only the triangle named is read. Unlike `scipy.linalg.cholesky` it neither scans for NaN nor raises.

    >>> triangle(np.array([[4.0, 2.0], [2.0, 1.0]]), lower=True) is None
    True
    """
    factor, info = _LAPACK.dpotrf(matrix, lower=int(lower), clean=1)
    return factor if info == 0 else None


def reciprocal_condition(upper: np.ndarray, norm: float) -> float:
    """1/(‖A‖₁ ‖A⁻¹‖₁) of A = UᵀU with ‖A‖₁ = `norm`, from U (n, n): an estimate, rarely 3 times too large. Cost n².

    Reference: N. J. Higham, ACM Transactions on Mathematical Software 14 (1988) 381-396.
    """
    reciprocal, _ = _LAPACK.dpocon(upper, norm, uplo="U")  # info ≠ 0 only for arguments of the wrong kind
    return float(reciprocal)


def jacobi_svd(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U (K, P), s (P,), V (P, P) of rows (K, P) = U S Vᵀ, K ≤ P; s is 0 from K on.

    Singular values and vectors keep their digits where rows or columns differ in size by powers of ten but are well
    conditioned once each has length one (Drmač & Veselić 2008, SIAM J. Matrix Anal. Appl. 29). Cost a few P³.
    """
    k, p = rows.shape
    square = np.zeros((p, p), order="F")
    square[:k] = rows
    # joba=0: LAPACK's accuracy class "C" (columns of any size); jobr=0: no singular value is too small to keep.
    values, u, v, work, _, info = _LAPACK.dgejsv(square, joba=0, jobu=0, jobv=0, jobr=0, jobt=0, jobp=0)
    if info != 0:
        raise NumericalError(f"The SVD of a {k} × {p} factor did not converge.", value=info)
    return u[:k], values * (work[0] / work[1]), v
