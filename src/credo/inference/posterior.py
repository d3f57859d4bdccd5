"""`Posterior`: what is believed about parameters after the data, whatever rung computed it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from credo.inference.result import Result

__all__ = ["Posterior"]


@runtime_checkable
class Posterior(Protocol):
    """Exact families and `Draws` both satisfy this; array-valued members have the parameter's shape.

    `mean`, `sd`                 arrays; a point estimate raises `UnavailableError` for `sd`
    `quantile(q)`, `interval(m)` marginal, elementwise; a vector q leads the shape
    `sample(n, rng)`             (n, *shape)
    `log_prob(theta)`            joint log density over the trailing axes
    `posterior["name"]`          draws (n, *shape), for code written against draws
    `summary(mass)`              mapping: name → mean, sd, lower, upper, prob_positive (and more), numbers or arrays
    `inference`, `result`        the rung and its report
    """

    @property
    def mean(self) -> Any: ...
    @property
    def sd(self) -> Any: ...
    @property
    def inference(self) -> str: ...
    @property
    def result(self) -> Result: ...
    def quantile(self, q: Any) -> Any: ...
    def interval(self, mass: float = 0.9) -> tuple[Any, Any]: ...
    def sample(self, n: int, rng: Any = None) -> np.ndarray: ...
    def log_prob(self, theta: Any) -> Any: ...
    def summary(self) -> Any: ...
