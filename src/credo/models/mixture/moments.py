"""`Moments`: the expected sufficient statistics of a Gaussian mixture, about one fixed point a component."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo.saving.registry import register

__all__ = ["Moments", "outer", "effective"]


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a_k b_kᵀ for each component: (k, d), (k, d) → (k, d, d)."""
    return a[:, :, None] * b[:, None, :]


def effective(weight: np.ndarray) -> np.ndarray:
    """Component weights to divide by: those of empty components, whose sums are zero up to rounding, become 1."""
    return np.where(weight > 10.0 * np.finfo(float).eps * weight.sum(), weight, 1.0)


@register
@dataclass(frozen=True, eq=False)
class Moments:
    """Σ r, Σ r (z − o) and Σ r (z − o)(z − o)ᵀ of components k over weighted rows z.

    kind : what `second` holds. "full": (k, d, d). "tied": (d, d), summed over components. "diag": (k, d), squares
    weight (k,) ; first (k, d)
    origin : o (k, d). The same for all blocks of a pass, so that statistics add; where components are narrow it is
        their last mean, so that nothing cancels (DESIGN §5)
    log_likelihood : Σ w log Σ_k exp ℓ_k of the rows (over the power, where tempered), in the rows' own units once the
        model has added the change of units
    complete : Σ w Σ_k r_k ℓ_k at the parameters of the pass, less any constant
    penalty : ½ Σ_k N_k tr(Λ_k R) at the parameters of the pass: what adding R to covariances may cost the bound
    """

    kind: str
    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray
    origin: np.ndarray
    log_likelihood: float = 0.0
    penalty: float = 0.0
    complete: float = 0.0

    def merge(self, other: Moments) -> Moments:
        if self.origin is not other.origin and not np.array_equal(self.origin, other.origin):
            other = other.about(self.origin)
        return Moments(
            self.kind,
            self.weight + other.weight,
            self.first + other.first,
            self.second + other.second,
            self.origin,
            self.log_likelihood + other.log_likelihood,
            self.penalty + other.penalty,
            self.complete + other.complete,
        )

    def scaled(self, factor: float) -> Moments:
        return Moments(
            self.kind,
            self.weight * factor,
            self.first * factor,
            self.second * factor,
            self.origin,
            self.log_likelihood * factor,
            self.penalty * factor,
            self.complete * factor,
        )

    def about(self, origin: np.ndarray) -> Moments:
        """The same moments about other points: S − f sᵀ − s fᵀ + N s sᵀ, with s the shift and f = Σ r (z − o)."""
        shift = origin - self.origin
        first = self.first - self.weight[:, None] * shift
        if self.kind == "diag":
            second = self.second - 2.0 * self.first * shift + self.weight[:, None] * shift**2
        else:
            cross = outer(self.first, shift)
            change = self.weight[:, None, None] * outer(shift, shift) - cross - cross.swapaxes(1, 2)
            second = self.second + (change.sum(axis=0) if self.kind == "tied" else change)
        return replace(self, first=first, second=second, origin=origin)

    @property
    def total(self) -> float:
        return float(self.weight.sum())

    @property
    def mean(self) -> np.ndarray:
        """Σ r z / N (k, d); an empty component's is its origin."""
        return self.origin + self.first / effective(self.weight)[:, None]

    @property
    def scatter(self) -> np.ndarray:
        """Σ r (z − mean)(z − mean)ᵀ, in the shape of `second`."""
        n = effective(self.weight)[:, None]
        if self.kind == "diag":
            return np.maximum(self.second - self.first**2 / n, 0.0)
        between = outer(self.first / n, self.first)
        return self.second - (between.sum(axis=0) if self.kind == "tied" else between)
