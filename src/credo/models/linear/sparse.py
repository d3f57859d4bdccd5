"""Sparse tables too wide for moments: which inference is open, and the modes that need products of the rows only.

    min(rows, columns) ≤ 4096   everything exact under a Normal or the default prior, through the kernel
    both larger                 the mode under a stated Normal prior and known noise, by conjugate gradients
    any size                    the lasso and elastic net at known noise, by coordinate descent on sparse columns

In coordinates u = T⁻¹(w − m) of the prior and units of the noise, F(u) = ½ ‖z − A u‖² + ½ ‖u‖² has Hessian
M = AᵀA + I ⪰ I, the posterior precision. For a gradient g, F(u) − min F = ½ gᵀM⁻¹g ≤ ½ ‖g‖², and no linear
combination of coefficients is further from its mode than ‖g‖ posterior sds. That is the certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, ParameterError, warn
from credo.inference.coordinate_columns import SparseProblem
from credo.inference.coordinate_descent import minimise
from credo.inference.exact.sparse import LARGEST_KERNEL, LARGEST_MOMENTS, SparseRows, scaled_columns, scaled_rows
from credo.inference.exact.statistics import RegressionStatistics, as_factor_of_rows
from credo.inference.result import Result
from credo.models.linear.specification import OWNER, LinearSpecification
from credo.models.priors import CoefficientPrior
from credo.models.scale_mixtures import ElasticNetMixture, LaplaceMixture

__all__ = ["narrowed", "wide_mode"]

# Posterior sds: conjugate gradients go on to a millionth of one, and a thousandth is still called converged.
GOAL, ENOUGH = 1e-6, 1e-3
MAX_ITER = 5000


def narrowed(rows: SparseRows, prior: CoefficientPrior, spec: LinearSpecification) -> SparseRows | RegressionStatistics:
    """The rows as they are where the kernel serves; their dense factor where it does not and that is small."""
    gaussian = prior.mixture is None and prior.kind != "ard" and prior.whitening.scale.ndim == 1
    if (gaussian and spec.inference != "gibbs") or rows.n_columns > LARGEST_MOMENTS:
        return rows
    return as_factor_of_rows(rows)


def wide_mode(
    rows: SparseRows, prior: CoefficientPrior, spec: LinearSpecification
) -> tuple[np.ndarray, np.ndarray, Result] | None:
    """Coefficients (T, P), intercepts (T,) and report of the mode; None where the exact way is open.

    Raises `ParameterError` where neither is, with what is.
    """
    penalty = getattr(prior.mixture, "penalty", None)
    if spec.inference == "map" and penalty is not None and np.ptp(rows.weights) == 0.0:
        return _l1_mode(rows, prior.mixture, spec)  # type: ignore[arg-type]
    gaussian = prior.mixture is None and prior.kind != "ard" and prior.whitening.scale.ndim == 1
    if gaussian and spec.inference == "gibbs":
        raise ParameterError(
            OWNER, "inference", f"'auto', 'exact', 'evidence' or 'map' for sparse X of more than {LARGEST_MOMENTS} "
            "columns, where algebra needs no sampling", spec.inference,
        )  # fmt: skip
    if not gaussian:
        raise ParameterError(
            OWNER,
            "prior",
            f"None, a Normal, or (with inference='map', known noise and equal weights) Laplace or ElasticNet for "
            f"sparse X of more than {LARGEST_MOMENTS} columns",
            spec.prior,
            "Keep fewer columns, or use X.toarray() if it fits in memory.",
        )
    if not rows.too_large:
        return None
    if spec.inference == "map" and prior.kind == "stated":
        return _gaussian_mode(rows, prior, spec)
    raise ParameterError(
        OWNER,
        "inference",
        f"'map', with a Normal prior and cr.noise.Normal(scale) stated, for sparse X of {len(rows.y)} × "
        f"{rows.n_columns}: a posterior needs at most {LARGEST_KERNEL} rows or columns, since its covariance is dense",
        spec.inference,
        "Or keep the columns with most entries, or hash them to fewer.",
    )


def _l1_mode(
    rows: SparseRows, mixture: LaplaceMixture | ElasticNetMixture, spec: LinearSpecification
) -> tuple[np.ndarray, np.ndarray, Result]:
    """Coordinate descent on the columns, certified by its duality gap."""
    root = float(np.sqrt(rows.weights[0]))
    X = scaled_columns(rows.X, np.full(rows.n_columns, root)).tocsc()
    l1, ridge = np.broadcast_arrays(mixture.penalty[1], mixture.penalty[2] if len(mixture.penalty) == 3 else 0.0)
    zero = np.zeros(rows.n_columns)
    l1, ridge = zero + l1, zero + ridge
    centred = spec.fit_intercept
    fits = [
        minimise(
            SparseProblem(X, y - y.mean() * centred, centred=centred), l1, ridge, zero
        )[0]
        for y in (root * rows.y - (X @ mixture.mean)[:, None]).T
    ]  # fmt: skip
    coef = mixture.mean + np.stack([fit.coef for fit in fits])
    worst = max((fit.result for fit in fits), key=lambda result: result.certificate["duality_gap"])
    return coef, _levels(rows, coef, spec), worst


def _gaussian_mode(
    rows: SparseRows, prior: CoefficientPrior, spec: LinearSpecification
) -> tuple[np.ndarray, np.ndarray, Result]:
    """Preconditioned conjugate gradients, one target after the other."""
    p, root = rows.n_columns, np.sqrt(rows.weights)
    offset, scale = prior.whitening.offset, prior.whitening.scale
    moved, level = rows.shifted if spec.fit_intercept else (rows.X, np.zeros(p))
    x = scaled_rows(scaled_columns(moved, scale), root)
    transposed = x.T.tocsr()
    centre = (rows.mean[:p] - level) * scale if spec.fit_intercept else np.zeros(p)
    base = rows.mean[p:] if spec.fit_intercept else np.zeros(rows.n_targets)

    def forward(u: np.ndarray) -> np.ndarray:
        return x @ u - root * (centre @ u)

    def backward(r: np.ndarray) -> np.ndarray:
        return transposed @ r - centre * (root @ r)

    square = rows.spread[:p] if spec.fit_intercept else rows.spread[:p] + rows.weight * np.square(rows.mean[:p])
    diagonal = 1.0 + square * np.square(scale)
    targets = root[:, None] * (rows.y - base) - forward(offset / scale)[:, None]
    found = [_conjugate_gradients(forward, backward, diagonal, backward(z)) for z in targets.T]
    coef = offset + scale * np.stack([u for u, _, _ in found])
    error, n_iter = max(each[1] for each in found), max(each[2] for each in found)
    certificate = {"error_in_posterior_sds": error, "iterations": n_iter}
    if error <= ENOUGH:
        result = Result("converged", "map", certificate=certificate)
    else:
        advice = f"Conjugate gradients stopped within {error:.2g} posterior sds of the mode. Rescale the columns."
        result = Result("max_iter", "map", certificate=certificate, advice=(advice,))
        warn(f"{OWNER}: {advice}", ConvergenceWarning)
    return coef, _levels(rows, coef, spec), result


def _conjugate_gradients(
    forward: Any, backward: Any, diagonal: np.ndarray, pull: np.ndarray
) -> tuple[np.ndarray, float, int]:
    """u with (AᵀA + I) u = pull, preconditioned by its diagonal; ‖gradient‖ there, computed afresh; iterations."""

    def curvature(u: np.ndarray) -> np.ndarray:
        return u + backward(forward(u))

    u, r = np.zeros_like(pull), pull.copy()
    z = r / diagonal
    direction, rho = z, float(r @ z)
    goal = max(GOAL, np.finfo(float).eps * float(np.linalg.norm(pull)))
    n_iter = 0
    while np.linalg.norm(r) > goal and n_iter < MAX_ITER:
        image = curvature(direction)
        step = rho / float(direction @ image)
        u, r = u + step * direction, r - step * image
        z = r / diagonal
        previous, rho = rho, float(r @ z)
        direction = z + (rho / previous) * direction
        n_iter += 1
    return u, float(np.linalg.norm(pull - curvature(u))), n_iter


def _levels(rows: SparseRows, coef: np.ndarray, spec: LinearSpecification) -> np.ndarray:
    """(T,) intercepts that go with coefficients (T, P)."""
    p = rows.n_columns
    return rows.mean[p:] - coef @ rows.mean[:p] if spec.fit_intercept else np.zeros(len(coef))
