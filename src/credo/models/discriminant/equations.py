"""Covariances and boundaries of discriminants: pure functions of statistics.

c, k: class and their number; n_c, μ_c, S_c: weight, mean and scatter of a class; π_c: its probability
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from credo.errors import NotPositiveDefiniteError

__all__ = [
    "SingularCovarianceError",
    "shrunk",
    "ledoit_wolf_share",
    "linear_boundary",
    "discriminant_axes",
    "whitening",
    "principal_axes",
]


class SingularCovarianceError(NotPositiveDefiniteError, np.linalg.LinAlgError):
    """A class's covariance has no inverse; also NumPy's LinAlgError, which scikit-learn raises."""


def shrunk(covariance: np.ndarray, share: float) -> np.ndarray:
    """(1 − share) Σ + share (tr Σ/d) I."""
    d = len(covariance)
    return (1.0 - share) * covariance + share * np.trace(covariance) / d * np.eye(d)


def ledoit_wolf_share(total: float, covariance: np.ndarray, fourth: float) -> float:
    """Ledoit and Wolf's share of the sphere, in [0, 1].

    covariance : S of n centred rows z ; fourth : Σ_i w_i ‖z_i‖⁴. With μ = tr S/d, δ² = ‖S − μI‖²/d and
    β² = (Σ ‖z‖⁴/n − ‖S‖²)/(n d), the share is min(β²/δ², 1).

    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, JMVA 88.
    """
    d = len(covariance)
    square = float(np.sum(np.square(covariance)))
    delta = square - np.trace(covariance) ** 2 / d
    beta = (fourth / total - square) / total
    return float(np.clip(beta / delta, 0.0, 1.0)) if delta > 0.0 else 0.0


def linear_boundary(mean: np.ndarray, covariance: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w (k, d) and w₀ (k,) with log p(c | x) = w_c · x + w₀_c + constant: w = Σ⁻¹μ, w₀ = log π − ½ μᵀΣ⁻¹μ.

    Columns without spread within classes are left out (least squares), as they say nothing of the shape.
    """
    centre = prior @ mean  # differences of classes keep their digits where all lie far from 0
    solution: Any = scipy.linalg.lstsq(covariance, (mean - centre).T)
    w = solution[0].T
    with np.errstate(divide="ignore"):
        return w, np.log(prior) - 0.5 * np.sum((mean - centre) * w, axis=1) - w @ centre


def whitening(within: np.ndarray, tol: float) -> np.ndarray:
    """A (d, rank) with Aᵀ Σ A = I on the columns that vary, scaled to variance 1; directions of sd below `tol` go."""
    sd = np.sqrt(np.diagonal(within))
    sd = np.where(sd > 0.0, sd, 1.0)
    values, vectors = np.linalg.eigh(within / np.outer(sd, sd))
    root = np.sqrt(np.maximum(values, 0.0))
    kept = np.flatnonzero(root > tol)[::-1]
    return vectors[:, kept] / sd[:, None] / root[kept]


def discriminant_axes(
    mean: np.ndarray, within: np.ndarray, prior: np.ndarray, total: float, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fisher's axes: (scalings (d, rank), shares of the variance between classes, overall mean (d,)).

    Rao (1948), The utilization of multiple measurements in problems of biological classification, JRSS B 10.
    """
    centre = prior @ mean
    white = whitening(within, tol)
    factor = 1.0 if len(mean) == 1 else 1.0 / (len(mean) - 1)
    between = np.sqrt(total * prior * factor)[:, None] * ((mean - centre) @ white)
    _, s, axes = np.linalg.svd(between, full_matrices=False)
    rank = int(np.sum(s > tol * s[0])) if s.size else 0
    spread = float(np.sum(np.square(s)))
    share = np.square(s) / spread if spread > 0.0 else np.zeros_like(s)
    return white @ axes.T[:, :rank], share, centre


def principal_axes(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances (d,) and rotation (d, d) of a covariance, largest first."""
    values, vectors = np.linalg.eigh(covariance)
    return values[::-1], vectors[:, ::-1]


def fourth_moment(X: np.ndarray, weights: Any, mean: np.ndarray, sd: np.ndarray) -> float:
    """Σ_i w_i ‖(x_i − mean)/sd‖⁴."""
    norm = np.square((X - mean) / sd).sum(axis=1)
    return float(np.square(norm).sum() if weights is None else weights @ np.square(norm))
