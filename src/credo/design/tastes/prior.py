"""What is believed of a taste before anything was said.

    f ~ GP(0, s² k)   on the encoded space; k a Matérn 5/2 of what is ordered × exp(−[levels differ]/ℓ) of categories

The unit of f is the noise of a choice: two points that differ by √2 are told apart five times in six.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.distributions import LogNormal
from credo.kernels import Categorical, Kernel, Matern, Scaled
from credo.models.preference.scales import ScalesSpace

__all__ = ["NOISE", "PageScales", "columns_of_kinds", "kernel_of", "rows_of"]

NOISE = 1.0
# ℓ = LENGTH √d, as squared distances in the cube grow with d, but of fewer than FEW columns as if they were so many: a
# taste turns once or twice along a parameter however few there are. A factor of e^SPREAD either way (one sd).
# Longer ones put the best point into a corner while little is known: with .6 (variance 9) the mean regret after
# 5 and 10 answers was about twice as large on two of the three eight-parameter problems of `benchmarks.gallery_regret`
# (three draws other than the recorded ones), and no better after 20.
LENGTH, FEW, SPREAD = 0.25, 8, 0.5
# Of FEW parameters or more utility varies by some three times the noise of a choice, within a factor of e^½ (one sd):
# of two random items the better one is then named in 84 to 94 % of choices. (At these lengths most of the variance is
# over the space.) Of fewer by less, as each adds its share: the recipes of `benchmarks.gallery_regret`, of two, by .9.
VARIANCE, VARIANCE_SPREAD = 12.0, 1.0
LEVEL, LEVEL_SPREAD = 1.5, 0.8
LIMITS = {"lengthscale": (0.03, 1e3)}


class PageScales(ScalesSpace):
    """Scales that are known beforehand: ratings go from 0 to 1 about ½, and of the rest half is "none of them"."""

    def _add_ratings(self, values: np.ndarray, counts: np.ndarray) -> None:
        super()._add_ratings(np.array([0.2, 0.8]), np.ones(2))

    def _add_grades(self, levels: np.ndarray, counts: np.ndarray, unit: float) -> None:
        super()._add_grades(np.array([0, 1]), np.ones(2), unit)


def kernel_of(space: Space) -> Kernel:
    """The prior covariance on `rows_of`, at the prior's median."""
    ordered, groups = columns_of_kinds(space)
    parts: list[Kernel] = []
    d = ordered.size + len(groups)
    if ordered.size:
        length = float(LENGTH * np.sqrt(max(d, FEW)))
        options: dict[str, Any] = {"active_dims": tuple(range(ordered.size)), "limits": LIMITS}
        prior = {"lengthscale": LogNormal(np.full(ordered.size, np.log(length)), SPREAD)}
        parts.append(Matern(np.full(ordered.size, length), nu=2.5, priors=prior, **options))
    if groups:
        n, first = len(groups), ordered.size
        level = {"lengthscale": LogNormal(np.full(n, np.log(LEVEL)), LEVEL_SPREAD)}
        parts.append(Categorical(np.full(n, LEVEL), active_dims=tuple(range(first, first + n)), priors=level,
                                 limits=LIMITS))  # fmt: skip
    together = parts[0] * parts[1] if len(parts) > 1 else parts[0]
    variance = VARIANCE * min(d / FEW, 1.0)
    prior = {"variance": LogNormal(float(np.log(variance)), VARIANCE_SPREAD)}
    return Scaled(together, variance, priors=prior, limits={"variance": (1e-2, 1e3)})


def rows_of(space: Space, X: np.ndarray) -> np.ndarray:
    """What the kernel reads of encoded points X (n, width): ordered columns, then the level of each category."""
    ordered, groups = columns_of_kinds(space)
    levels = [_level(X[:, columns]) for columns in groups]
    return np.column_stack([X[:, ordered], *levels])


def _level(part: np.ndarray) -> np.ndarray:
    """One more than any where the parameter does not matter: no column is 1 there."""
    return np.where(part.max(axis=1) < 1.0, float(part.shape[1]), np.argmax(part, axis=1).astype(np.float64))


def columns_of_kinds(space: Space) -> tuple[np.ndarray, list[np.ndarray]]:
    """Numbers of the ordered columns, and of each category's."""
    names = [column.parameter if column.kind == "categorical" else None for column in space.columns]
    ordered = np.array([j for j, name in enumerate(names) if name is None], dtype=np.intp)
    grouped = dict.fromkeys(name for name in names if name is not None)
    return ordered, [np.array([j for j, name in enumerate(names) if name == group]) for group in grouped]
