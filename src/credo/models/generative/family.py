"""What a family of columns supplies: statistics of a block, and the belief about its parameters in every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from credo.errors import UnavailableError
from credo.models.generative.memberships import Memberships
from credo.saving.registry import register

__all__ = ["Moments", "Belief", "Family", "Part"]


class Moments(NamedTuple):
    """Mean and variance (n, k) of log p(x | θ_c): over p(θ | D), and over p(θ | D, x in class c)."""

    mean: np.ndarray
    variance: np.ndarray
    mean_seen: np.ndarray
    variance_seen: np.ndarray

    def plus(self, other: Moments) -> Moments:
        """Of the sum over two groups of columns, independent given the class."""
        return Moments(*(a + b for a, b in zip(self, other, strict=True)))


class Belief:
    """p(θ_c | D) for a group of columns in every class c. Cells (n, d) may be NaN: those are integrated out."""

    def log_plug(self, cells: Any) -> np.ndarray:
        """log p(x | θ̂_c) (n, k) at the point estimate."""
        raise NotImplementedError

    def log_predictive(self, cells: Any) -> np.ndarray:
        """log ∫ p(x | θ_c) p(θ_c | D) dθ_c (n, k); the same where nothing is known about θ's uncertainty."""
        return self.log_plug(cells)

    def log_em(self, cells: Any) -> np.ndarray:
        """The term of EM's objective that the point estimate maximises, row by row (n, k)."""
        return self.log_plug(cells)

    def log_penalty(self) -> float:
        """What the point estimate maximises beside the rows."""
        return 0.0

    def moments(self, cells: Any) -> Moments:
        """Of the log likelihood over the posterior; a point has no variance."""
        value = self.log_plug(cells)
        zero = np.zeros_like(value)
        return Moments(value, zero, value, zero)

    def draw(self, rng: np.random.Generator) -> Belief:
        """A belief whose point estimate is one draw of θ from the posterior."""
        return self

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        """A row of cells for each class code (n, d): from the predictive, or at the point estimate."""
        raise NotImplementedError


class Family:
    """A family of columns, with the hyperparameters that `finalize` reads."""

    name: str = ""
    #: whether EM may fit it where labels are missing
    has_soft_fit: bool = True

    def accumulate(self, cells: Any, rows: Memberships) -> Any:
        """Mergeable statistics of a block."""
        raise NotImplementedError

    def finalize(self, statistics: Any, class_weight: np.ndarray) -> Belief:
        raise NotImplementedError

    def require_soft_fit(self, owner: str) -> None:
        if not self.has_soft_fit:
            raise UnavailableError(
                f"{owner}: columns of family {self.name!r} cannot be fitted where labels are missing.",
                remedy="Choose another family for them, or drop the rows without a label.",
            )


@register
@dataclass(frozen=True, eq=False)
class Part:
    """A family and the columns it holds (None: all of them)."""

    family: Any
    columns: Any = None

    def of(self, cells: Any) -> Any:
        return cells if self.columns is None else cells[:, self.columns]
