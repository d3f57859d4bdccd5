"""`LinearBelief`: the exact belief about the coefficients of a linear-Gaussian model, and what it says of new rows.

Given a node j of the hyperparameters (one node when nothing is integrated numerically) and the noise variance σ²,
the rotated coordinates v of `Spectrum` are independent Normals, so every mean and variance is a matrix product:

    a(x) = Vᵀ Tᵀ (x − centre)                                   coordinates of a row
    E[f(x)]   = base + offset·x + a(x)·m_j
    Var[f(x)] = σ² (Σ_k a_k² c_jk + ‖outside‖² r_j + 1/W)        the last two for thin spectra and flat intercepts

Axes: J nodes, K coordinates, P columns, T targets, n rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from credo.blocks.partition import row_ranges
from credo.errors import UnavailableError
from credo.inference.exact.sparse import CHUNK_CELLS, csr_of, is_sparse, square_norms, with_ones
from credo.inference.exact.spectrum import Spectrum, Whitening
from credo.saving.registry import register

__all__ = ["LinearBelief"]

# 2 GiB of float64.
LARGEST_COVARIANCE = 2**14


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

    def evaluate(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean (J, n, T) of f at the rows X (n, P), which may be sparse, and its variance (J, n, T) in units of the
        noise variance."""
        sparse = is_sparse(X)
        rows: Any = csr_of(X) if sparse else np.asarray(X, dtype=np.float64)
        if not sparse and isinstance(self.spectrum.rotation, np.ndarray):
            return self._evaluate(rows)
        widest = max(self.spectrum.rotation.shape[1], 1 if sparse else self.spectrum.n_columns)
        parts = [self._evaluate(rows[a:b]) for a, b in row_ranges(rows.shape[0], max(1, CHUNK_CELLS // widest))]
        mean, variance = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
        return mean, variance

    def _evaluate(self, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        whitening, spectrum = self.spectrum.whitening, self.spectrum
        centre = None
        if self.has_flat_intercept and is_sparse(rows):
            centre = self.centre  # taken from the products, since x − centre is dense
        elif self.has_flat_intercept:
            rows = rows - self.centre
        if self.intercept_column:
            rows = with_ones(rows)
        whitened = whitening.apply(rows)
        coordinates = spectrum.project(whitened)
        if centre is not None:
            lead = whitening.apply(centre[None])
            coordinates = coordinates - spectrum.project(lead)
        mean = self.base + np.einsum("nk,jkt->jnt", coordinates, self.location)
        if np.any(whitening.offset):
            level = 0.0 if centre is None else centre @ whitening.offset
            mean += (rows @ whitening.offset - level)[:, None]
        squares = np.square(coordinates)
        variance = np.einsum("nk,jkt->jnt", squares, self.spread) + self.base_spread
        if spectrum.is_thin:
            total = square_norms(whitened)
            if centre is not None:
                total += (lead @ lead.T).item() - 2.0 * (whitened @ lead[0])
            beyond = np.maximum(total - squares.sum(axis=1), 0.0)
            variance += beyond[:, None] * self.outside[:, None, :]
        return mean, variance

    def coefficient_mean(self) -> np.ndarray:
        """Mean (J, P, T) of the coefficients."""
        mean = np.swapaxes(self.spectrum.expand(np.swapaxes(self.location, 1, 2)), 1, 2)
        whitening = self.spectrum.whitening
        return (whitening.offset[:, None] + whitening.over_columns(mean))[:, int(self.intercept_column) :]

    def coefficients(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (J, P, T) of the coefficients and their marginal variances in units of the noise variance."""
        whitening, lead = self.spectrum.whitening, int(self.intercept_column)
        parts = []
        for part, rotation in self.spectrum.parts():
            scale = whitening.scale if whitening.scale.ndim == 2 else whitening.scale[part]
            squares = np.square(Whitening(whitening.offset, scale).map(rotation))
            variance = np.einsum("pk,jkt->jpt", squares, self.spread)
            if self.spectrum.is_thin:
                total = np.square(scale)
                beyond = np.maximum((total if total.ndim == 1 else total.sum(axis=1)) - squares.sum(axis=1), 0.0)
                variance += beyond[:, None] * self.outside[:, None, :]
            parts.append(variance)
        return self.coefficient_mean(), np.concatenate(parts, axis=1)[:, lead:]

    def intercept(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (J, T) of the intercept (the value at x = 0) and its variance in units of the noise variance."""
        mean, variance = self.evaluate(np.zeros((1, self.n_features)))
        return mean[:, 0], variance[:, 0]

    def covariance(self, target: int = 0) -> np.ndarray:
        """(P, P) covariance of the coefficients of one target, over nodes and noise; infinite where df ≤ 2.

        Raises `UnavailableError` beyond 16,384 columns, where it would take more than 2 GiB.
        """
        mean = self.coefficient_mean()[..., target]
        average = self.weights[:, target] @ mean
        noise = self.expected_noise_variance()[:, target]
        total = 0.0
        for weight, shift, s2, shape in zip(
            self.weights[:, target], mean - average, noise, self.shapes(target), strict=True
        ):
            total = total + weight * (s2 * shape + np.outer(shift, shift))
        return np.asarray(total)

    def shapes(self, target: int = 0) -> Iterator[np.ndarray]:
        """(P, P) covariance of the coefficients at each node, in units of the noise variance."""
        lead = int(self.intercept_column)
        p = self.spectrum.n_columns - lead
        if p > LARGEST_COVARIANCE:
            raise UnavailableError(
                f"The covariance of {p} coefficients would take {8e-9 * p * p:.0f} GB.",
                remedy="Use posterior_.sd, posterior_.sample(n), or predict_distribution, which need no such matrix.",
            )
        whitening = self.spectrum.whitening
        basis = whitening.map(np.concatenate([rotation for _, rotation in self.spectrum.parts()]))[lead:]
        rest = None
        if self.spectrum.is_thin:
            scale = np.diag(whitening.scale[lead:] ** 2) if whitening.scale.ndim == 1 else None
            rest = (whitening.scale @ whitening.scale.T)[lead:, lead:] if scale is None else scale
            rest = rest - basis @ basis.T
        for spread, outside in zip(self.spread[:, :, target], self.outside[:, target], strict=True):
            shape = (basis * spread) @ basis.T
            yield shape if rest is None else shape + outside * rest

    def expected_noise_variance(self) -> np.ndarray:
        """E[σ²] at each node (J, T): itself where given, scale² df/(df − 2) under an inverse gamma, ∞ for df ≤ 2."""
        return self.noise_variance * variance_factor(self.df)

    def expected_noise_sd(self) -> np.ndarray:
        """E[σ] at each node (J, T): itself where given, scale √(df/2) Γ((df − 1)/2)/Γ(df/2) under an inverse gamma of
        σ², ∞ for df ≤ 1."""
        return np.sqrt(self.noise_variance) * sd_factor(self.df)


def variance_factor(df: float) -> float:
    """Variance of a unit-scale Student-t: df/(df − 2); 1 for the Normal, ∞ for df ≤ 2."""
    if np.isinf(df):
        return 1.0
    return df / (df - 2.0) if df > 2.0 else np.inf


def sd_factor(df: float) -> float:
    """E[σ] where σ² is inverse gamma with shape df/2 and unit squared scale; 1 where σ is given."""
    if np.isinf(df):
        return 1.0
    half = 0.5 * df
    return np.sqrt(half) * np.exp(gammaln(half - 0.5) - gammaln(half)) if df > 1.0 else np.inf
