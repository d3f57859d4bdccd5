"""`MixturePredictive`: several predictives of the same rows, weighed: p(y | x) = Σ_k w_k p_k(y | x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credo.errors import ParameterError
from credo.numerics.inversion import integer_quantile, invert_cdf
from credo.prediction.classes import ClassPredictive
from credo.prediction.predictive import Predictive

__all__ = ["MixturePredictive", "mix"]


@dataclass(frozen=True, eq=False, repr=False)
class MixturePredictive(Predictive):
    """Predictives of numbers over the same rows, mixed with weights (K,): model averaging.

    Variance, with m = Σ w_k m_k, splits as

        aleatoric = Σ w_k aleatoric_k        epistemic = Σ w_k epistemic_k + Σ w_k (m_k − m)²

    so that disagreement between models is epistemic. Classes mix into a `ClassPredictive`: use `mix`.

    Parameters
    ----------
    weights : (K,), or (K, targets) where each target has its own; ≥ 0, any positive total (rescaled to 1); components
        of weight 0 everywhere are dropped
    components : K predictives of one shape and kind

    Examples
    --------
    >>> from credo.prediction.draws import DrawsPredictive
    >>> low, high = DrawsPredictive([[0.0], [2.0]]), DrawsPredictive([[4.0], [6.0]])
    >>> p = MixturePredictive([0.5, 0.5], [low, high])
    >>> p.mean.item(), p.variance.item()
    (3.0, 5.0)
    """

    weights: np.ndarray
    components: Sequence[Predictive]
    inference: str = "average"

    def __post_init__(self) -> None:
        weights, components = _checked("MixturePredictive", self.weights, self.components)
        if components[0].kind == "class":
            raise ParameterError(
                "MixturePredictive",
                "components",
                "predictives of numbers",
                components[0],
                "For classes use mix().",
            )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "kind", components[0].kind)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.components[0].shape

    @property
    def mean(self) -> np.ndarray:
        return self._average([p.mean for p in self.components])

    @property
    def variance(self) -> np.ndarray:
        return self._average([p.variance for p in self.components]) + self._between()

    @property
    def aleatoric(self) -> np.ndarray:
        return self._average([p.aleatoric for p in self.components])

    @property
    def epistemic(self) -> np.ndarray:
        return self._average([p.epistemic for p in self.components]) + self._between()

    def cdf(self, y: Any) -> np.ndarray:
        return self._average([p.cdf(y) for p in self.components])

    def log_prob(self, y: Any) -> np.ndarray:
        each = np.stack([p.log_prob(y) for p in self.components])
        return np.asarray(logsumexp(each, axis=0, b=_aligned(self.weights, each.ndim)))

    def quantile(self, q: Any) -> np.ndarray:
        """The y with cdf(y) = q to 4 ulp, between the components' own quantiles; the smallest such count.

        Cost: about three evaluations of the cdf and the density for each q.
        """
        q = np.asarray(q, dtype=np.float64)
        if not np.all((q >= 0) & (q <= 1)):
            raise ParameterError("MixturePredictive", "q", "between 0 and 1", q)
        each = np.stack([p.quantile(q) for p in self.components])
        low, high = each.min(axis=0), each.max(axis=0)
        with np.errstate(invalid="ignore"):  # q = 0 or 1: infinite ends
            middle = _weighted(self.weights, list(each))
        flat = zip(q.ravel(), *(ends.reshape(-1, *self.shape) for ends in (low, high, middle)))
        return np.stack([self._invert(*each) for each in flat]).reshape(low.shape)

    def _invert(self, q: float, low: np.ndarray, high: np.ndarray, middle: np.ndarray) -> np.ndarray:
        if self.kind == "count":
            return integer_quantile(q, lambda y: self.cdf(y) >= q, (low, high), low, high, low)
        if not np.all(np.isfinite(middle)):
            return invert_cdf(self.cdf, q, low, high)
        return invert_cdf(self.cdf, q, low, high, lambda y: np.exp(self.log_prob(y)), middle)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        # One hypothesis for all rows of a draw: rows are then jointly distributed as the mixture says.
        if self.weights.ndim == 2:
            targets = [self._of_target(t)._draw(n, rng) for t in range(self.weights.shape[1])]
            return np.stack(targets, axis=-1)
        chosen = rng.choice(self.weights.size, size=n, p=self.weights)
        out = np.empty((n, *self.shape))
        for k, component in enumerate(self.components):
            mine = np.flatnonzero(chosen == k)
            if mine.size:
                out[mine] = component.sample(mine.size, rng)
        return out

    def _of_target(self, target: int) -> MixturePredictive:
        return MixturePredictive(self.weights[:, target], [p[:, target] for p in self.components], self.inference)

    def __getitem__(self, rows: Any) -> MixturePredictive:
        return MixturePredictive(self.weights, [p[rows] for p in self.components], self.inference)

    def _average(self, each: Sequence[np.ndarray]) -> np.ndarray:
        return _weighted(self.weights, each)

    def _between(self) -> np.ndarray:
        means = np.stack([p.mean for p in self.components])
        return self._average(list(np.square(means - self._average(list(means)))))


def mix(weights: Any, components: Sequence[Predictive]) -> Predictive:
    """Average predictives of the same rows: a `MixturePredictive` of numbers, a `ClassPredictive` of classes.

    For classes probabilities average, aleatoric = Σ w_k aleatoric_k, and the rest of the entropy,
    disagreement between the components included, is epistemic. A plug-in component leaves the mixture without
    a split.

    >>> a, b = (ClassPredictive([row], ["a", "b"], [0.0]) for row in ([1.0, 0.0], [0.0, 1.0]))
    >>> mix([0.5, 0.5], [a, b]).epistemic.round(6).item()
    0.693147
    """
    weights, components = _checked("mix", weights, components)
    if components[0].kind != "class":
        return MixturePredictive(weights, components)
    classes = components[0].classes  # type: ignore[attr-defined]
    if any(p.classes.tolist() != classes.tolist() for p in components):  # type: ignore[attr-defined]
        raise ParameterError("mix", "components", "predictives of the same classes in the same order", components)
    plug_in = any(p.plugs_in for p in components)  # type: ignore[attr-defined]
    return ClassPredictive(
        _weighted(weights, [p.probabilities for p in components]),  # type: ignore[attr-defined]
        classes,
        None if plug_in else lambda: _weighted(weights, [p.aleatoric for p in components]),
        "map" if plug_in else "average",
    )


def _aligned(weights: np.ndarray, ndim: int) -> np.ndarray:
    """(K,) or (K, targets) broadcast against a stack (K, ..., rows) or (K, ..., rows, targets)."""
    last = weights.shape[1:]
    return weights.reshape(-1, *[1] * (ndim - 1 - len(last)), *last)


def _weighted(weights: np.ndarray, each: Sequence[np.ndarray]) -> np.ndarray:
    stack = np.stack(each)
    return (_aligned(weights, stack.ndim) * stack).sum(axis=0)


def _checked(owner: str, weights: Any, components: Sequence[Predictive]) -> tuple[np.ndarray, tuple[Predictive, ...]]:
    weights, components = np.asarray(weights, dtype=np.float64), tuple(components)
    shape = components[0].shape if components else ()
    shapes = [(len(components),)] + ([(len(components), shape[1])] if len(shape) == 2 else [])
    total = weights.sum(axis=0) if weights.shape in shapes else np.zeros(1)
    if not np.all(np.isfinite(weights) & (weights >= 0)) or not np.all(total > 0):
        raise ParameterError(
            owner,
            "weights",
            f"{len(components)} finite numbers ≥ 0, not all zero, one per component",
            weights,
        )
    used = weights.reshape(len(components), -1).max(axis=1) > 0
    kept = tuple(p for p, wanted in zip(components, used) if wanted)
    if any(p.shape != kept[0].shape or p.kind != kept[0].kind for p in kept):
        raise ParameterError(owner, "components", "predictives of the same rows and kind", components)
    return weights[used] / total, kept
