"""Flat: the improper constant, log p(x) = 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from credo.distributions.scalar import ScalarFamily, arguments
from credo.distributions.support import REAL, Support
from credo.errors import UnavailableError

__all__ = ["Flat"]


@dataclass(frozen=True, eq=False)
class Flat(ScalarFamily):
    """The improper flat prior: log density 0 everywhere, so that MAP is maximum likelihood.

    It integrates to ∞, so it has no moments, quantiles or draws: asking raises `UnavailableError`.

    Examples
    --------
    >>> import credo as cr
    >>> cr.Flat().log_prob([-1e9, 2.0]).tolist()
    [0.0, 0.0]
    """

    @property
    def support(self) -> Support:
        return REAL

    def log_prob(self, x: Any) -> Any:
        xp, x = arguments(x)
        return xp.where(xp.isnan(x), xp.nan, 0.0)[()]

    def cdf(self, x: Any) -> Any:
        self._improper("cdf")

    def survival(self, x: Any) -> Any:
        self._improper("survival function")

    def quantile(self, q: Any) -> Any:
        self._improper("quantiles")

    def upper_quantile(self, q: Any) -> Any:
        self._improper("quantiles")

    @property
    def mean(self) -> Any:
        """Raises `UnavailableError`."""
        self._improper("mean")

    @property
    def variance(self) -> Any:
        """Raises `UnavailableError`."""
        self._improper("variance")

    @property
    def entropy(self) -> Any:
        """Raises `UnavailableError`."""
        self._improper("entropy")

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        self._improper("draws")

    def _improper(self, what: str) -> NoReturn:
        raise UnavailableError(
            f"Flat is improper (it integrates to ∞) and has no {what}.", remedy="Use a proper prior, such as Normal."
        )
