"""The prior on Θ: Gaussian blocks, one a predictor, whose common scale τ may be learned.

    w_j = offset_j + τ T_j u_j,  u_j ~ N(0, I)        level_j − shift_j·w_j ~ N(m, s²), the intercept at x = 0

τ is integrated out wherever a density is asked for: √gain τ ~ half-Normal(1) on a fine grid of log τ. A block whose
prior is no Gaussian (Laplace, Student-t, uniform...) has a Gaussian of its centre and width as a stand-in for Newton,
and its own density for whatever weighs or samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from credo.inference.exact.linear_gaussian import half_normal
from credo.inference.exact.spectrum import Whitening
from credo.models.scale_mixtures import Box, ScaleMixture

__all__ = ["GlmPrior", "PredictorPrior"]

LOG_2PI = float(np.log(2.0 * np.pi))
# log SNR from e⁻¹⁸, where 1e-8 of the hyperprior is left, to e²·³ = 10 half-Normal scales; steps of .085 make the
# trapezoid rule exact to rounding for what is as smooth in log τ as a Gaussian's scale.
GRID = (-18.0, 2.3, 240)


@dataclass(frozen=True)
class PredictorPrior:
    """Of one predictor's weights on the scaled columns.

    whitening : of the coefficients; None where they are flat
    learned : whether τ multiplies it
    intercept : (mean, sd) of the intercept at x = 0, or None for flat
    shift : (P,) centre/scale: the level at the centre is the intercept + shift·w
    mixture : the prior of the coefficients where `whitening` only stands in for it
    """

    whitening: Whitening | None
    learned: bool
    intercept: tuple[float, float] | None
    has_intercept: bool
    shift: np.ndarray
    mixture: ScaleMixture | Box | None = None

    @property
    def width(self) -> int:
        return self.shift.size + self.has_intercept

    @property
    def mode(self) -> np.ndarray:
        """(D,) a most probable value, 0 in flat directions."""
        w = np.zeros(self.shift.size) if self.whitening is None else self.whitening.offset
        level = 0.0 if self.intercept is None else self.intercept[0] + self.shift @ w
        return np.concatenate([np.full(int(self.has_intercept), level), w])

    def form(self) -> tuple[np.ndarray, np.ndarray]:
        """Information (D,) and precision (D, D) of the coefficients at τ = 1, flat directions having precision 0."""
        lead = int(self.has_intercept)
        information, precision = np.zeros(self.width), np.zeros((self.width, self.width))
        if self.whitening is not None:
            root = self.whitening.solve(np.eye(self.shift.size))
            precision[lead:, lead:] = root.T @ root
            information[lead:] = root.T @ (root @ self.whitening.offset)
        return information, precision

    def intercept_form(self) -> tuple[np.ndarray, np.ndarray]:
        """Information (D,) and precision (D, D) of the statement about the intercept: one quadratic form."""
        if self.intercept is None:
            return np.zeros(self.width), np.zeros((self.width, self.width))
        location, sd = self.intercept
        form = np.concatenate([[1.0], -self.shift]) / sd
        return form * location / sd, np.outer(form, form)

    @property
    def log_constant(self) -> float:
        """log of the normalising constant over the proper directions, at τ = 1."""
        total = 0.0
        if self.whitening is not None and self.mixture is None:
            total -= self.whitening.log_determinant + 0.5 * self.shift.size * LOG_2PI
        if self.intercept is not None:
            total -= np.log(self.intercept[1]) + 0.5 * LOG_2PI
        return total

    @property
    def free(self) -> np.ndarray:
        """(D,) whether the prior is flat there."""
        free = np.full(self.width, self.whitening is None)
        free[: int(self.has_intercept)] = self.intercept is None
        return free


@dataclass(frozen=True)
class GlmPrior:
    """Independent blocks, one a predictor; nothing on the `n_auxiliary` parameters ψ, whose prior is the likelihood's.

    gain : √gain τ ~ half-Normal(1)
    softmax : whether the predictors are classes of a softmax, which only their differences reach
    """

    blocks: tuple[PredictorPrior, ...]
    gain: float = 1.0
    softmax: bool = False
    n_auxiliary: int = 0

    @property
    def learned(self) -> bool:
        return any(block.learned for block in self.blocks)

    @property
    def is_flat(self) -> bool:
        """Whether some coefficients have no proper prior."""
        return any(block.whitening is None and block.shift.size for block in self.blocks)

    @cached_property
    def size(self) -> int:
        return sum(block.width for block in self.blocks) + self.n_auxiliary

    @cached_property
    def n_learned(self) -> int:
        """Coefficients that τ scales."""
        return sum(block.shift.size for block in self.blocks if block.learned)

    def _assembled(self, forms: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        tail = np.zeros(self.n_auxiliary)
        vectors, matrices = zip(*forms)
        matrix = scipy.linalg.block_diag(*matrices, np.zeros((tail.size,) * 2))
        return np.concatenate([*vectors, tail]), np.asarray(matrix)

    @cached_property
    def learned_form(self) -> tuple[np.ndarray, np.ndarray]:
        """Information (K,) and precision (K, K) at τ = 1 of the blocks that τ scales."""
        return self._information([block.learned for block in self.blocks], intercepts=False)

    @cached_property
    def stated_form(self) -> tuple[np.ndarray, np.ndarray]:
        """The same of everything else, stand-ins included."""
        return self._information([not block.learned for block in self.blocks], intercepts=True)

    @cached_property
    def exact_form(self) -> tuple[np.ndarray, np.ndarray]:
        """The same without the stand-ins."""
        return self._information(
            [not block.learned and block.mixture is None for block in self.blocks], intercepts=True
        )

    @property
    def has_kinks(self) -> bool:
        """Whether a prior is a mixture of Normals, sampled by its variances."""
        return any(isinstance(block.mixture, ScaleMixture) for block in self.blocks)

    @property
    def is_gaussian(self) -> bool:
        return all(block.mixture is None for block in self.blocks)

    @cached_property
    def mixed(self) -> tuple[tuple[slice, ScaleMixture | Box], ...]:
        """Where in Θ the coefficients of other priors are, and those priors."""
        found, start = [], 0
        for block in self.blocks:
            if block.mixture is not None:
                found.append((slice(start + block.has_intercept, start + block.width), block.mixture))
            start += block.width
        return tuple(found)

    def _information(self, wanted: list[bool], *, intercepts: bool) -> tuple[np.ndarray, np.ndarray]:
        forms = []
        for block, use in zip(self.blocks, wanted):
            information, precision = (part * use for part in block.form())
            if intercepts:
                more, stated = block.intercept_form()
                information, precision = information + more, precision + stated
            forms.append((information, precision))
        return self._assembled(forms)

    def information_and_precision(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Precision times mean (K,), and precision (K, K), given τ; flat directions having precision 0."""
        (of_learned, learned), (of_stated, stated) = self.learned_form, self.stated_form
        return of_learned / tau**2 + of_stated, learned / tau**2 + stated

    @cached_property
    def mode(self) -> np.ndarray:
        """(K,) where every Gaussian of the prior is at its mode."""
        return np.concatenate([*(block.mode for block in self.blocks), np.zeros(self.n_auxiliary)])

    def log_constant(self, tau: float) -> float:
        """log of the prior's normalising constant over its proper directions."""
        return sum(block.log_constant for block in self.blocks) - self.n_learned * np.log(tau)

    def log_density(self, theta: np.ndarray, *, gradient: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
        """log p(Θ) at points (S, K), with τ integrated out where it is learned, and its gradient (S, K).

        τ enters through q = ‖T⁻¹(w − offset)‖² alone: log ∫ N(u; 0, τ² I) p(τ) dτ is a sum over a fine grid of log τ.
        """
        shift = theta - self.mode
        pull = shift @ self.exact_form[1]
        value = self.log_constant(1.0) - 0.5 * (pull * shift).sum(axis=1)
        slope = -pull if gradient else None
        for where, mixture in self.mixed:
            value = value + mixture.log_prob(theta[:, where])
            if slope is not None:
                slope[:, where] += mixture.gradient(theta[:, where])
        if not self.n_learned:
            return value, slope
        pull, terms, inverse, _ = self._scale_terms(theta)
        top = terms.max(axis=1, keepdims=True)
        share = np.exp(terms - top)
        total = share.sum(axis=1)
        value += top[:, 0] + np.log(total)
        if slope is not None:
            slope -= ((share @ inverse) / total)[:, None] * pull
        return value, slope

    def expected_log_scale(self, theta: np.ndarray) -> np.ndarray:
        """E[log τ | Θ] at points (S, K), (S,)."""
        _, terms, _, log_tau = self._scale_terms(theta)
        share = np.exp(terms - terms.max(axis=1, keepdims=True))
        return (share @ log_tau) / share.sum(axis=1)

    def _scale_terms(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """T⁻ᵀu (S, K), log of the terms of the sum over τ (S, G), 1/τ² (G,) and log τ (G,)."""
        shift = theta - self.mode
        pull = shift @ self.learned_form[1]
        quadratic = np.maximum((pull * shift).sum(axis=1), 0.0)
        log_x = np.linspace(*GRID)
        log_tau = log_x - 0.5 * np.log(self.gain)
        inverse = np.exp(-2.0 * log_tau)
        log_weight = half_normal(log_x) + np.log(log_x[1] - log_x[0])
        return pull, log_weight - self.n_learned * log_tau - 0.5 * quadratic[:, None] * inverse, inverse, log_tau

    # -- softmax: all classes may move together ------------------------------------------------------------------

    def gauge(self, curvature: np.ndarray) -> np.ndarray:
        """Softmax is unchanged when all classes move together: where the prior is flat that direction is held at 0."""
        if not self.softmax:
            return np.zeros_like(curvature)
        k, d = len(self.blocks), self.blocks[0].width
        scale = np.diag(curvature).reshape(k, d).mean(axis=0)
        together = np.full((k, k), 1.0 / k)
        return np.kron(together, np.diag(self.blocks[0].free * np.where(scale > 0, scale, 1.0)))

    def gauge_log_density(self, theta: np.ndarray, gauge: np.ndarray) -> np.ndarray:
        """Log density of the pinned directions, normalised: it integrates out of the evidence. (S,)."""
        if not self.softmax:
            return np.zeros(len(theta))
        pinned = np.diag(gauge)[: self.blocks[0].width] * len(self.blocks)
        pinned = pinned[pinned > 0.0]
        normaliser = 0.5 * float(np.log(pinned / (2.0 * np.pi)).sum())
        return normaliser - 0.5 * ((theta @ gauge) * theta).sum(axis=1)
