"""`evidence_of_scales`: the evidence at many pairs of a kernel's variance and a noise, its shape the same, from one
reduction to tridiagonal form.

With R the kernel of variance 1, p the precisions of `Observations` and P = diag(p), P^½RP^½ = Q T Qᵀ, T tridiagonal:

    K_y = a R + s P⁻¹ = P^−½ Q (a T + s I) Qᵀ P^−½

so that in the coordinates QᵀP^½y every pair (a, s) is a tridiagonal system: n instead of n³.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from credo.errors import NotPositiveDefiniteError
from credo.kernels import Scaled
from credo.models.gaussian_process import equations
from credo.models.gaussian_process.belief import Belief
from credo.models.gaussian_process.noise import Learned
from credo.models.gaussian_process.solvers.exact import Exact

__all__ = ["evidence_of_scales", "has_scales"]

_LAPACK: Any = scipy.linalg.lapack  # compiled: no type checker sees into it


def has_scales(belief: Belief) -> bool:
    """Whether `evidence_of_scales` knows the belief: an exact one, of one learned noise, two rows or more."""
    return (
        isinstance(belief.solver, Exact)
        and isinstance(belief.noise, Learned)
        and bool(np.all(np.isfinite(belief.observations.precision)))
        and len(belief.observations.X) > 1
    )


def evidence_of_scales(beliefs: Sequence[Belief]) -> np.ndarray:
    """log p(y) of beliefs that differ in the variance of a `Scaled` kernel and in the noise alone; NaN where only
    jitter would factor K_y. Cost 4n³/3, then n each."""
    first = beliefs[0]
    kernel, seen = first.kernel, first.observations
    root = np.sqrt(seen.precision)
    R = np.asfortranarray((kernel.kernel if isinstance(kernel, Scaled) else kernel)(seen.X))
    R *= np.multiply.outer(root, root)
    packed, diagonal, off, tau, _ = _LAPACK.dsytrd(R, lower=1, lwork=64 * len(R), overwrite_a=1)

    def turned(U: np.ndarray) -> np.ndarray:
        """QᵀP^½U: dsytrd leaves Q's reflections below the first row."""
        U = np.asfortranarray(root[:, None] * U)
        if U.shape[1]:
            U[1:] = _LAPACK.dormqr("L", "T", packed[1:, :-1], tau, U[1:], 64 * U.shape[1])[0]
        return U

    y, design = turned(seen.y), turned(first.mean.design(seen.X))
    logs = seen.y.shape[1] * float(np.sum(np.log(root)))
    values = []
    for belief in beliefs:
        a = belief.kernel.variance if isinstance(belief.kernel, Scaled) else 1.0
        s = belief.noise.variance(seen.X)
        try:
            factored: Any = _Tridiagonal.of(a * diagonal + s[0], a * off)
            found = equations.condition(factored, y, design, belief.mean.location, belief.mean.precision)
        except NotPositiveDefiniteError:
            values.append(np.nan)
            continue
        values.append(equations.evidence(found, False).value + logs + seen.rest(s)[0])
    return np.array(values)


@dataclass(frozen=True, eq=False)
class _Tridiagonal:
    """L D Lᵀ of a tridiagonal matrix: what the value of an evidence takes of a `Factored`."""

    diagonal: np.ndarray
    off: np.ndarray

    @classmethod
    def of(cls, diagonal: np.ndarray, off: np.ndarray) -> _Tridiagonal:
        d, e, info = _LAPACK.dpttrf(diagonal, off)
        # A pivot lost in rounding of the largest entry is one that jitter would have had to lift.
        if info or d.min() < len(d) * np.finfo(float).eps * np.abs(diagonal).max():
            raise NotPositiveDefiniteError("A tridiagonal K + noise is not positive definite.", value=diagonal)
        return cls(d, e)

    @property
    def log_determinant(self) -> float:
        return float(np.sum(np.log(self.diagonal)))

    def solve(self, U: np.ndarray) -> np.ndarray:
        return _LAPACK.dpttrs(self.diagonal, self.off, U)[0]
