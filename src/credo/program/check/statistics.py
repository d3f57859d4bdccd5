"""Test statistics: numbers of a data set that a right model reproduces in the data sets it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from credo.numerics.readable import number

__all__ = ["Statistic", "compared", "statistics_of"]

#: share of right models about which any statistic of one node complains; less in fact, since data were fitted to
ALARM = 0.01
# A Monte Carlo p-value of S replicates is 2/(S + 1) at least; what is as small must also lie so many sds away.
FAR = 3.0
# Fewer cells in order say little of their dependence.
LEAST_ORDERED = 20
#: names of which only large values speak against a model
ONE_SIDED = ("correlation of neighbours", "spread of means")
# Classes whose shares are looked at, the most frequent ones.
MOST_CLASSES = 8


@dataclass(frozen=True)
class Statistic:
    """One statistic of the data beside those of replicates.

    observed : of the data ; mean, sd, low, high : of the replicates, with the ends of their central 90 %
    p_value : how often replicates are as extreme, both sides together (of `ONE_SIDED` the upper one). Replicates of a
        posterior know the data, so that their p-values gather about ½: a small one is strong, one of ½ proves little.
    """

    name: str
    observed: float
    mean: float
    sd: float
    low: float
    high: float
    p_value: float
    extreme: bool

    @property
    def z(self) -> float:
        """How many sds of the replicates the data lie from their mean."""
        if self.observed == self.mean:
            return 0.0
        return (
            (self.observed - self.mean) / self.sd
            if self.sd > 0
            else float(np.copysign(np.inf, self.observed - self.mean))
        )

    def __str__(self) -> str:
        return (f"{self.name} {number(self.observed, 3)}, replicates {number(self.low, 3)} to {number(self.high, 3)} "
                f"(p = {number(self.p_value, 2)})")  # fmt: skip


def statistics_of(
    kind: str, y: np.ndarray, fitted: np.ndarray | None = None, ordered: bool = False,
    groups: Mapping[str, np.ndarray] | None = None,
) -> dict[str, Callable[[np.ndarray], np.ndarray]]:  # fmt: skip
    """name → function of data sets (S, cells) giving (S,).

    kind : "real", "count", "binary" or "class"
    fitted : (cells,) what is expected of each cell; order and groups are looked at in what is left beyond it, and only
        too much of it is a fault: a model that learned each group leaves less than replicates do
    ordered : whether neighbours in the array may be neighbours in time
    groups : name → (cells,) codes 0, 1, …
    """
    found: dict[str, Callable[[np.ndarray], np.ndarray]] = {}
    if kind == "class":
        classes, counts = np.unique(y, return_counts=True)
        for c in classes[np.argsort(-counts, kind="stable")[:MOST_CLASSES]]:
            found[f"share of class {number(c)}"] = lambda x, c=c: np.mean(x == c, axis=1)
        return found
    found["mean"] = lambda x: x.mean(axis=1)
    if kind != "binary":
        found |= {"sd": lambda x: x.std(axis=1), "minimum": lambda x: x.min(axis=1), "maximum": lambda x: x.max(axis=1)}
    if kind == "count":
        found["share of zeros"] = lambda x: np.mean(x == 0, axis=1)
    if fitted is None:
        return found
    if ordered and y.size >= LEAST_ORDERED:
        found["correlation of neighbours"] = lambda x: _neighbours(x - fitted)
    for name, codes in (groups or {}).items():
        found[f"spread of means by {name}"] = lambda x, codes=codes: _between(x - fitted, codes)
    return found


def _neighbours(left: np.ndarray) -> np.ndarray:
    left = left - left.mean(axis=1, keepdims=True)
    total = np.sum(np.square(left), axis=1)
    return np.sum(left[:, 1:] * left[:, :-1], axis=1) / np.where(total > 0, total, 1.0)


def _between(left: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """√ of the mean over cells of the square of their group's mean."""
    k = int(codes.max()) + 1
    sizes = np.bincount(codes, minlength=k)
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1][sizes > 0]
    sums = np.add.reduceat(left[:, order], starts, axis=1)
    return np.sqrt(np.sum(np.square(sums) / sizes[sizes > 0], axis=1) / codes.size)


def compared(
    functions: Mapping[str, Callable[[np.ndarray], np.ndarray]], y: np.ndarray, replicates: np.ndarray
) -> tuple[Statistic, ...]:
    """Each statistic of the data (cells,) beside those of the replicates (S, cells)."""
    level = ALARM / max(len(functions), 1)
    return tuple(_compared(name, float(f(y[None])[0]), f(replicates), level) for name, f in functions.items())


def _compared(name: str, observed: float, values: np.ndarray, level: float) -> Statistic:
    values = values[np.isfinite(values)]
    if not values.size:
        return Statistic(name, observed, np.nan, np.nan, np.nan, np.nan, np.nan, False)
    # Equal up to rounding is equal: a share of zeros of 0.3 is 0.3.
    slack = 1e-12 * max(abs(observed), float(np.abs(values).max()))
    above = (1 + np.count_nonzero(values >= observed - slack)) / (values.size + 1)
    below = (1 + np.count_nonzero(values <= observed + slack)) / (values.size + 1)
    p = above if name.startswith(ONE_SIDED) else min(1.0, 2.0 * min(above, below))
    low, high = np.quantile(values, [0.05, 0.95])
    made = Statistic(name, observed, float(values.mean()), float(values.std()), float(low), float(high), p, False)
    far = made.z if name.startswith(ONE_SIDED) else abs(made.z)
    if p > max(level, 2.0 / (values.size + 1)) or far <= FAR:
        return made
    return Statistic(name, observed, made.mean, made.sd, made.low, made.high, p, True)
