"""The density an integration sees: one position or many, with its failures named and its calls counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo.errors import NumericalError, ParameterError

__all__ = ["Density"]

# Gradients kept: searches, curvatures and widths ask again at a mode and beside it.
KEPT = 256


class Density:
    """log p(θ) up to a constant.

    one : θ (d,) → float; −∞ where the density is 0. batch : (B, d) → (B,). value_and_gradient : θ → (float, (d,)).
    calls : positions evaluated so far, a gradient counting as two.
    """

    def __init__(
        self,
        one: Callable[[np.ndarray], float] | None,
        batch: Callable[[np.ndarray], np.ndarray] | None,
        value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]] | None,
    ) -> None:
        if one is None and batch is None:
            raise ParameterError("integrate", "log_density", "given, or `batch`", None)
        self._one, self._batch, self._value_and_gradient = one, batch, value_and_gradient
        self.calls = 0
        self._kept: dict[bytes, tuple[float, np.ndarray]] = {}

    @property
    def is_cheap(self) -> bool:
        """Whether many positions cost little more than one."""
        return self._batch is not None

    def rows(self, theta: np.ndarray) -> np.ndarray:
        """log p at positions (B, d). NaN is a `NumericalError`."""
        self.calls += len(theta)
        if self._batch is not None:
            values = np.asarray(self._batch(theta), dtype=np.float64)
        else:
            values = np.array([float(self._one(row)) for row in theta])  # type: ignore[misc]
        wrong = np.flatnonzero(np.isnan(values) | (values == np.inf))
        if len(wrong):
            at = theta[wrong[0]]
            raise NumericalError(f"The log density is {values[wrong[0]]} at θ = {at.tolist()}.", value=at)
        return values

    def value(self, theta: np.ndarray) -> float:
        return float(self.rows(theta[None])[0])

    def gradient(self, theta: np.ndarray, scale: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient; by central differences over 1e-4 `scale` (d,) where no gradient was given."""
        if self._value_and_gradient is not None:
            key = theta.tobytes()
            if key not in self._kept:
                self.calls += 2
                value, slope = self._value_and_gradient(theta)
                if len(self._kept) == KEPT:
                    self._kept.clear()
                self._kept[key] = float(value), np.asarray(slope, dtype=np.float64)
            return self._kept[key]
        steps = np.diag(1e-4 * scale)
        values = self.rows(np.concatenate([theta[None], theta + steps, theta - steps]))
        d = len(theta)
        with np.errstate(invalid="ignore"):
            slope = (values[1 : d + 1] - values[d + 1 :]) / (2e-4 * scale)
        return float(values[0]), slope
