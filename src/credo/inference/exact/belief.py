"""`LinearBelief`: the exact belief about the coefficients of a linear-Gaussian model, and what it says of new rows.

Given a node j of the hyperparameters (one node when nothing is integrated numerically) and the noise variance σ²,
the rotated coordinates v of `Spectrum` are independent Normals, so every mean and variance is a matrix product:

    a(x) = Vᵀ Tᵀ (x − centre)                                   coordinates of a row
    E[f(x)]   = base + offset·x + a(x)·m_j
    Var[f(x)] = σ² (Σ_k a_k² c_jk + ‖outside‖² r_j + 1/W)        the last two for thin spectra and flat intercepts

Axes: J nodes, K coordinates, P columns, T targets, n rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.inference.exact.spectrum import Spectrum
from credo.saving.registry import register

__all__ = ["LinearBelief"]


@register
@dataclass(frozen=True)
class LinearBelief:
    """A mixture over J nodes of Normal (df = ∞) or Student-t beliefs, T independent targets.

    spectrum : of one likelihood, shared by the targets
    weights : (J, T), summing to 1 over J
    location : (J, K, T) posterior mean of v
    spread : (J, K, T) posterior variance of v in units of the noise variance
    outside : (J, T) the same in the directions no row touches
    noise_variance : (J, T) σ², or the squared scale b/a of its inverse-gamma posterior
    df : 2a, twice the shape of that posterior; ∞ where σ² is given
    centre : (P,) column means about which a flat intercept was integrated out; zeros otherwise
    base : (T,) value of the flat intercept at the centre, else zeros
    base_spread : 1/W for a flat intercept, else 0
    intercept_column : whether the first coefficient is an intercept with its own prior
    log_evidence : log p(y), summed over targets; None where a prior is improper
    quadrature_error : estimated error of the log evidence of the worst target
    node_name, nodes : the hyperparameter integrated over and its values (J, T), for reports
    """

    spectrum: Spectrum
    weights: np.ndarray
    location: np.ndarray
    spread: np.ndarray
    outside: np.ndarray
    noise_variance: np.ndarray
    df: float
    centre: np.ndarray
    base: np.ndarray
    base_spread: float
    intercept_column: bool
    log_evidence: float | None
    node_name: str = ""
    nodes: np.ndarray | None = None
    quadrature_error: float = 0.0

    @property
    def has_flat_intercept(self) -> bool:
        return self.base_spread > 0.0

    @property
    def n_features(self) -> int:
        return self.spectrum.n_columns - self.intercept_column

    def evaluate(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean (J, n, T) of f at the rows X (n, P) and its variance (J, n, T) in units of the noise variance."""
        rows = np.asarray(X, dtype=np.float64) - self.centre if self.has_flat_intercept else np.asarray(X, np.float64)
        if self.intercept_column:
            rows = np.column_stack([np.ones(rows.shape[0]), rows])
        whitened = self.spectrum.whitening.apply(rows)
        coordinates = whitened @ self.spectrum.rotation
        mean = self.base + np.einsum("nk,jkt->jnt", coordinates, self.location)
        offset = self.spectrum.whitening.offset
        if np.any(offset):
            mean += (rows @ offset)[:, None]
        squares = np.square(coordinates)
        variance = np.einsum("nk,jkt->jnt", squares, self.spread) + self.base_spread
        if self.spectrum.is_thin:
            beyond = np.maximum(np.square(whitened).sum(axis=1) - squares.sum(axis=1), 0.0)
            variance += beyond[:, None] * self.outside[:, None, :]
        return mean, variance

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (J, P, T) of the coefficients and their marginal variances in units of the noise variance."""
        whitening, rotation = self.spectrum.whitening, self.spectrum.rotation
        basis = whitening.map(rotation)
        mean = whitening.offset[:, None] + np.einsum("pk,jkt->jpt", basis, self.location)
        squares = np.square(basis)
        variance = np.einsum("pk,jkt->jpt", squares, self.spread)
        if self.spectrum.is_thin:
            total = np.square(whitening.scale)
            beyond = np.maximum((total if total.ndim == 1 else total.sum(axis=1)) - squares.sum(axis=1), 0.0)
            variance += beyond[:, None] * self.outside[:, None, :]
        lead = int(self.intercept_column)
        return mean[:, lead:], variance[:, lead:]

    def intercept(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (J, T) of the intercept (the value at x = 0) and its variance in units of the noise variance."""
        mean, variance = self.evaluate(np.zeros((1, self.n_features)))
        return mean[:, 0], variance[:, 0]

    def covariance(self, target: int = 0) -> np.ndarray:
        """(P, P) covariance of the coefficients of one target, over nodes and noise; infinite where df ≤ 2."""
        whitening, rotation = self.spectrum.whitening, self.spectrum.rotation
        basis = whitening.map(rotation)
        lead = int(self.intercept_column)
        p = self.spectrum.n_columns - lead
        mean = self.coefficients()[0][..., target]
        average = self.weights[:, target] @ mean
        total = np.zeros((p, p))
        noise = self.expected_noise_variance()
        outer = whitening.map(whitening.map(np.eye(self.spectrum.n_columns)).T) if self.spectrum.is_thin else None
        for j, weight in enumerate(self.weights[:, target]):
            cov = (basis * self.spread[j, :, target]) @ basis.T
            if outer is not None:
                cov += self.outside[j, target] * (outer - basis @ basis.T)
            shift = mean[j] - average
            total += weight * (noise[j, target] * cov[lead:, lead:] + np.outer(shift, shift))
        return total

    def expected_noise_variance(self) -> np.ndarray:
        """E[σ²] at each node (J, T): itself where given, scale² df/(df − 2) under an inverse gamma, ∞ for df ≤ 2."""
        return self.noise_variance * variance_factor(self.df)


def variance_factor(df: float) -> float:
    """Variance of a unit-scale Student-t: df/(df − 2); 1 for the Normal, ∞ for df ≤ 2."""
    if np.isinf(df):
        return 1.0
    return df / (df - 2.0) if df > 2.0 else np.inf
