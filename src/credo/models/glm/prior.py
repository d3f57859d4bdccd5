"""The prior on Θ: Gaussian blocks, one a predictor, whose common scale τ may be learned.

    w_j = offset_j + τ T_j u_j,  u_j ~ N(0, I)        level_j − shift_j·w_j ~ N(m, s²), the intercept at x = 0

τ is integrated out wherever a density is asked for: √gain τ ~ half-Normal(1) on a fine grid of log τ. A block whose
prior is no Gaussian (Laplace, Student-t, uniform...) has a Gaussian of its centre and width as a stand-in for Newton,
and its own density for whatever weighs or samples.
"""

from __future__ import annotations

from collections.abc import Callable
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
# Of thousands of points, what the sum over that grid is a function of is looked up: between knots of log q so far
# apart, a cubic through values and slopes errs by 1e-8, and by 1e-5 far beyond all scales that the hyperprior allows.
KNOT = 1.0 / 32.0


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
        pull, quadratic = self._learned_quadratic(theta)
        if slope is None:
            return value + _between_knots(self._scale_integral, quadratic), None
        more, rate = self._scale_integral(quadratic)
        return value + more, slope + 2.0 * rate[:, None] * pull

    def expected_log_scale(self, theta: np.ndarray) -> np.ndarray:
        """E[log τ | Θ] at points (S, K), (S,)."""
        return _between_knots(self._mean_log_scale, self._learned_quadratic(theta)[1])

    def _learned_quadratic(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T⁻ᵀu (S, K) and q = uᵀu at τ = 1 (S,)."""
        shift = theta - self.mode
        pull = shift @ self.learned_form[1]
        return pull, np.maximum((pull * shift).sum(axis=1), 0.0)

    @cached_property
    def _scale_grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """1/τ², log τ, and log of the terms of the sum over τ at q = 0; (G,) each."""
        log_x = np.linspace(*GRID)
        log_tau = log_x - 0.5 * np.log(self.gain)
        log_weight = half_normal(log_x) + np.log(log_x[1] - log_x[0])
        return np.exp(-2.0 * log_tau), log_tau, log_weight - self.n_learned * log_tau

    def _scale_shares(self, quadratic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of q (S,): log of the sum over τ (S,) and the shares of its terms (S, G)."""
        inverse, _, terms = self._scale_grid
        terms = terms - 0.5 * quadratic[:, None] * inverse
        top = terms.max(axis=1)
        share = np.exp(terms - top[:, None])
        total = share.sum(axis=1)
        return top + np.log(total), share / total[:, None]

    def _scale_integral(self, quadratic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log ∫ N(u; 0, τ² I) p(τ) dτ but for a constant, and its derivative in q."""
        value, share = self._scale_shares(quadratic)
        return value, -0.5 * (share @ self._scale_grid[0])

    def _mean_log_scale(self, quadratic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[log τ | q] and its derivative in q: −½ Cov(log τ, 1/τ² | q)."""
        inverse, log_tau, _ = self._scale_grid
        share = self._scale_shares(quadratic)[1]
        mean = share @ log_tau
        return mean, -0.5 * (share @ (log_tau * inverse) - mean * (share @ inverse))

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


def _between_knots(
    function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], quadratic: np.ndarray
) -> np.ndarray:
    """function(q) → (value, derivative) at q (S,): its value, at many q from knots that are the same for all."""
    if not np.min(quadratic, initial=np.inf) > 0.0:
        return function(quadratic)[0]
    place = np.log(quadratic) / KNOT
    first, last = np.floor(place.min()), np.floor(place.max()) + 1.0
    if not 4.0 * (last - first) < quadratic.size:
        return function(quadratic)[0]
    knots = np.exp(KNOT * np.arange(first, last + 1.0))
    value, slope = function(knots)
    slope *= KNOT * knots
    below = (place - first).astype(int)
    u = place - first - below
    rise = value[below + 1] - value[below]
    bend = (1.0 - u) * (slope[below] - rise) + u * (rise - slope[below + 1])
    return value[below] + u * (rise + (1.0 - u) * bend)
