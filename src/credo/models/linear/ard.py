"""Automatic relevance determination: each coefficient's prior variance a_j set where the evidence is highest.

    w_j ~ N(0, a_j),  C = σ² I + x diag(a) xᵀ
    s_j = x_jᵀ C_{−j}⁻¹ x_j,  q_j = x_jᵀ C_{−j}⁻¹ y                 column j left out of C
    the evidence, as a function of a_j alone, is highest at (q_j² − s_j)/s_j² where q_j² > s_j, else at 0

The greedy algorithm of Tipping and Faul (2003, AISTATS): the one change that gains most, again and again. Every step
raises the evidence, and what is irrelevant is exactly 0. Only the columns in the model enter a factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from credo.inference.exact.noise_prior import NoisePrior

__all__ = ["Relevance", "find_relevance"]

# A gain in log evidence below this ends the search: a tenth of a millionth of a nat moves no conclusion.
TOLERANCE = 1e-7
# Changes allowed for each column; a handful settle an ordinary problem.
CHANGES = 50


@dataclass(frozen=True)
class Relevance:
    """variances (P,) a, noise_variance σ², the log evidence (but for constants) after each change, and whether the last
    gain was negligible."""

    variances: np.ndarray
    noise_variance: float
    trace: tuple[float, ...]
    converged: bool


def find_relevance(
    gram: np.ndarray, cross: np.ndarray, square: float, nu: float, noise: NoisePrior | None, floor: float
) -> Relevance:
    """From xᵀx (P, P), xᵀy (P,), ‖y‖² and the rows ν; `noise=None`: σ = 1. Cost of a change P M², M columns kept."""
    data = _Data(gram, cross, square, nu, noise, floor)
    variances, variance = np.zeros(cross.size), 1.0 if noise is None else max(square / nu, floor)
    usable = np.diag(gram) > 0.0
    trace = [data.log_evidence(variances, variance)]
    for _ in range(CHANGES * max(cross.size, 2)):
        sparsity, quality = data.leave_out(variances, variance)
        excess = np.where(usable, np.square(quality) - sparsity, 0.0)
        best = np.maximum(excess, 0.0) / np.square(np.where(usable, sparsity, 1.0))
        gain = evidence_of_one(best, sparsity, quality) - evidence_of_one(variances, sparsity, quality)
        j = int(np.argmax(np.where(usable, gain, -np.inf)))
        variances[j] = best[j]
        variance = data.noise_step(variances, variance)
        trace.append(data.log_evidence(variances, variance))
        if trace[-1] - trace[-2] < TOLERANCE:
            return Relevance(variances, variance, tuple(trace), True)
    return Relevance(variances, variance, tuple(trace), False)


def evidence_of_one(variance: np.ndarray, sparsity: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """The part of the log evidence that one variance a touches: ½ [a q²/(1 + a s) − log(1 + a s)]."""
    grown = 1.0 + variance * sparsity
    return 0.5 * (variance * np.square(quality) / grown - np.log(grown))


@dataclass(frozen=True)
class _Data:
    gram: np.ndarray
    cross: np.ndarray
    square: float
    nu: float
    noise: NoisePrior | None
    floor: float

    def _factor(self, variances: np.ndarray, variance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kept columns, √a of them, and L with L Lᵀ = I + √a G √a/σ²."""
        kept = np.flatnonzero(variances)
        root = np.sqrt(variances[kept])
        matrix = self.gram[np.ix_(kept, kept)] * root[:, None] * root / variance
        return kept, root, np.linalg.cholesky(matrix + np.eye(kept.size))

    def leave_out(self, variances: np.ndarray, variance: float) -> tuple[np.ndarray, np.ndarray]:
        """s and q (P,): xᵀC⁻¹x and xᵀC⁻¹y, less what the column itself put into C."""
        kept, root, lower = self._factor(variances, variance)
        seen = scipy.linalg.solve_triangular(lower, root[:, None] * self.gram[kept], lower=True) / variance
        own = scipy.linalg.solve_triangular(lower, root * self.cross[kept], lower=True) / variance
        within = np.diag(self.gram) / variance - np.square(seen).sum(axis=0)
        toward = self.cross / variance - seen.T @ own
        remaining = np.maximum(1.0 - variances * within, np.finfo(float).tiny)
        return within / remaining, toward / remaining

    def _solve(self, variances: np.ndarray, variance: float) -> tuple[float, float, float]:
        """log|C|/σ^{2ν}, y'C⁻¹y σ² (what is left unexplained), Σγ (effective number of coefficients)."""
        kept, root, lower = self._factor(variances, variance)
        own = scipy.linalg.solve_triangular(lower, root * self.cross[kept], lower=True)
        inverse = scipy.linalg.solve_triangular(lower, np.eye(kept.size), lower=True)
        effective = kept.size - float(np.square(inverse).sum())
        unexplained = max(self.square - float(own @ own) / variance, self.floor)
        return 2.0 * float(np.log(np.diag(lower)).sum()), unexplained, effective

    def log_evidence(self, variances: np.ndarray, variance: float) -> float:
        """But for constants; with the noise's prior density of log σ²."""
        determinant, unexplained, _ = self._solve(variances, variance)
        prior = 0.0 if self.noise is None else float(self.noise.log_density(np.log(variance)))
        return prior - 0.5 * (self.nu * np.log(variance) + determinant + unexplained / variance)

    def noise_step(self, variances: np.ndarray, variance: float) -> float:
        """MacKay's fixed point RSS/(ν − Σγ) where it raises the evidence, else the step of EM, which always does."""
        if self.noise is None:
            return 1.0
        kept, root, lower = self._factor(variances, variance)
        coefficients = root * scipy.linalg.cho_solve((lower, True), root * self.cross[kept]) / variance
        residual = self.square - coefficients @ (2.0 * self.cross[kept] - self.gram[np.ix_(kept, kept)] @ coefficients)
        residual = max(float(residual), self.floor) + 2.0 * self.noise.scale
        effective = self._solve(variances, variance)[2]
        rows = self.nu + 2.0 * self.noise.shape
        if rows > effective:
            bold = residual / (rows - effective)
            if self.log_evidence(variances, bold) >= self.log_evidence(variances, variance):
                return bold
        return (residual + variance * effective) / rows
