"""Several targets that were not all seen in the same rows: each has its own statistics, posterior and predictive.

Targets are independent given X, so leaving a row out for the targets it lacks, and for those only, is exact. Members
stack what the targets' own records say: coefficients (targets, P), levels (targets,), predictions (n, targets).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.blocks.array import ArraySource
from credo.errors import NotIdentifiedError, ParameterError
from credo.inference.exact.posterior import LinearPosterior
from credo.inference.exact.sparse import SparseRows
from credo.inference.exact.statistics import RegressionStatistics, compress
from credo.inference.exact.summary import combine, summarise
from credo.inference.result import STATUSES, Result
from credo.models.linear.posterior import LinearDraws, LinearMode
from credo.prediction.predictive import Predictive
from credo.saving.registry import register

__all__ = [
    "SeparatePosterior",
    "SeparatePredictive",
    "SeparateTargets",
    "combine_targets",
    "summarise_targets",
    "without_missing",
]


@register
@dataclass(frozen=True)
class SeparateTargets:
    """Statistics of each target alone, None for one that no row has shown yet; of n_rows rows in all."""

    parts: tuple[RegressionStatistics | SparseRows | None, ...]
    n_columns: int
    n_rows: int

    @property
    def n_targets(self) -> int:
        return len(self.parts)

    @property
    def seen(self) -> list[RegressionStatistics | SparseRows]:
        """The statistics; `NotIdentifiedError` naming a target that has none."""
        for target, part in enumerate(self.parts):
            if part is None:
                raise NotIdentifiedError(
                    f"Target {target} of y is missing in every row.", value=target, remedy="Drop that column of y."
                )
        return [part for part in self.parts if part is not None]

    def advice(self) -> tuple[str, ...]:
        """How many rows were left out of which target."""
        absent = {t: self.n_rows - part.n_rows for t, part in enumerate(self.seen)}
        listed = ", ".join(f"{rows} of target {t}" for t, rows in absent.items() if rows)
        return (f"Rows where a target is missing were left out for that target alone: {listed}.",) if listed else ()

    @property
    def count(self) -> float:
        """Outcomes seen, over all targets."""
        return float(sum(part.count for part in self.seen))

    @property
    def mean(self) -> np.ndarray:
        """(P + T,) of the columns in the first target's rows, and of the targets."""
        seen = self.seen
        return np.concatenate([seen[0].mean[: self.n_columns], *(part.mean[self.n_columns :] for part in seen)])

    @property
    def spread(self) -> np.ndarray:
        seen = self.seen
        return np.concatenate([seen[0].spread[: self.n_columns], *(part.spread[self.n_columns :] for part in seen)])


def summarise_targets(
    X: Any, y: np.ndarray, weights: np.ndarray | None, noise_scale: np.ndarray | None
) -> SeparateTargets:
    """Statistics of y (n, T), NaN where missing: one pass over its rows a target."""
    parts: list[Any] = []
    for target in y.T:
        rows = np.flatnonzero(~np.isnan(target))
        some = None if weights is None else weights[rows]
        if rows.size == 0 or (some is not None and not some.any()):
            parts.append(None)
            continue
        scale = None if noise_scale is None else noise_scale[rows]
        parts.append(summarise(ArraySource(X[rows], target[rows], some), scale))
    return SeparateTargets(tuple(parts), X.shape[1], X.shape[0])


def combine_targets(earlier: Any, later: Any) -> Any:
    """`combine`, where either side may hold its targets apart."""
    if not isinstance(earlier, SeparateTargets) and not isinstance(later, SeparateTargets):
        return combine(earlier, later)
    both = [side.parts if isinstance(side, SeparateTargets) else split(side) for side in (earlier, later)]
    parts = tuple(b if a is None else a if b is None else combine(a, b) for a, b in zip(*both, strict=True))
    return SeparateTargets(parts, earlier.n_columns, earlier.n_rows + later.n_rows)


def without_missing(y: Any) -> tuple[Any, np.ndarray | None]:
    """y with 0 for what is missing of several targets, and where; y itself and None for anything else."""
    values = np.asarray(y)
    if values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind not in "fO":
        return y, None
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError):  # not numbers: what validates y says so
        return y, None
    missing = np.isnan(values)
    return (np.where(missing, 0.0, values), missing) if missing.any() else (y, None)


def split(statistics: RegressionStatistics | SparseRows) -> tuple[RegressionStatistics | SparseRows, ...]:
    """The statistics of each target alone."""
    return tuple(one_target(statistics, t) for t in range(statistics.n_targets))


def one_target(statistics: RegressionStatistics | SparseRows, target: int) -> RegressionStatistics | SparseRows:
    if isinstance(statistics, SparseRows):
        return replace(statistics, y=statistics.y[:, [target]])
    keep = np.append(np.arange(statistics.n_columns), statistics.n_columns + target)
    cells, precise = np.ix_(keep, keep), statistics.precise
    if precise is not None:
        lead = np.append(0, 1 + keep)
        inner = np.ix_(lead, lead)
        precise = replace(precise, shift=precise.shift[keep], high=precise.high[inner], low=precise.low[inner])
    return replace(
        statistics,
        mean=statistics.mean[keep],
        scatter=None if statistics.scatter is None else statistics.scatter[cells],
        factor=None if statistics.factor is None else compress(statistics.factor[:, keep]),
        precise=precise,
        n_targets=1,
    )


@dataclass(frozen=True)
class _Stacked:
    """Marginal beliefs of the targets, stacked along `axis` of one target's arrays."""

    parts: tuple[Any, ...]
    tail: int

    def _of(self, read: Callable[[Any], Any]) -> np.ndarray:
        found = [np.asarray(read(part)) for part in self.parts]
        return np.stack(found, axis=found[0].ndim - self.tail)

    @property
    def mean(self) -> np.ndarray:
        return self._of(lambda part: part.mean)

    @property
    def sd(self) -> np.ndarray:
        return self._of(lambda part: part.sd)

    @property
    def variance(self) -> np.ndarray:
        return np.square(self.sd)

    def quantile(self, q: Any) -> np.ndarray:
        return self._of(lambda part: part.quantile(q))

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Central intervals, (lower, upper)."""
        return self._of(lambda part: part.interval(mass)[0]), self._of(lambda part: part.interval(mass)[1])


@register
@dataclass(frozen=True, eq=False)
class SeparatePosterior:
    """Beliefs about the coefficients (targets, P), one independent posterior a target."""

    parts: tuple[LinearPosterior | LinearDraws | LinearMode, ...]
    names: tuple[str, ...]

    single_target = False

    @property
    def result(self) -> Result:
        """The worst of the targets' reports, with what any of them advises."""
        order = list(STATUSES)
        worst = max((part.result for part in self.parts), key=lambda result: order.index(result.status))
        advice = dict.fromkeys(line for part in self.parts for line in part.result.advice)
        return replace(worst, advice=tuple(advice))

    @property
    def inference(self) -> str:
        return self.result.inference

    @property
    def marginals(self) -> _Stacked:
        return _Stacked(self.parts, 1)

    @property
    def intercept(self) -> _Stacked:
        """Beliefs about the intercepts, (targets,)."""
        return _Stacked(tuple(part.intercept for part in self.parts), 0)

    @property
    def level(self) -> np.ndarray:
        """(targets,) intercepts at the mode, or their means."""
        return np.array([part.level if isinstance(part, LinearMode) else part.intercept.mean for part in self.parts])

    @property
    def noise_scale(self) -> _Stacked:
        """Beliefs about the noise scales, (targets,)."""
        return _Stacked(tuple(part.noise_scale for part in self.parts), 0)  # type: ignore[union-attr]

    @property
    def mean(self) -> np.ndarray:
        return self.marginals.mean

    @property
    def sd(self) -> np.ndarray:
        return self.marginals.sd

    @property
    def covariance(self) -> np.ndarray:
        """(targets, P, P)."""
        return np.stack([part.covariance for part in self.parts])

    def quantile(self, q: Any) -> np.ndarray:
        return self.marginals.quantile(q)

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        return self.marginals.interval(mass)

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """Draws (n, targets, P)."""
        return self.sample_all(n, rng)["coef"]

    def sample_all(self, n: int, rng: Any = None) -> dict[str, np.ndarray]:
        """Draws of everything, by name, targets along the second axis."""
        from credo.numerics.random import as_generator

        rng = as_generator(rng)
        draws = [part.sample_all(n, rng) for part in self.parts]  # type: ignore[union-attr]
        return {name: np.stack([each[name] for each in draws], axis=1) for name in draws[0]}

    def __getitem__(self, name: str) -> np.ndarray:
        return np.stack([part[name] for part in self.parts], axis=1)

    def log_prob(self, theta: Any) -> np.ndarray:
        """Joint log density at coefficients (..., targets, P)."""
        theta = np.asarray(theta, dtype=np.float64)
        if theta.shape[-2:] != (len(self.parts), len(self.names)):
            shape = (len(self.parts), len(self.names))
            raise ParameterError("SeparatePosterior.log_prob", "theta", f"of trailing shape {shape}", theta.shape)
        return np.asarray(sum(part.log_prob(theta[..., t, :]) for t, part in enumerate(self.parts)))

    def summary(self, mass: float = 0.9) -> dict[str, dict[str, Any]]:
        """Coefficient name → arrays (targets,) of mean, sd, lower, upper, probability of being positive."""
        tables = [part.summary(mass) for part in self.parts]
        return {
            name: {column: np.array([table[name][column] for table in tables]) for column in row}
            for name, row in tables[0].items()
        }


@dataclass(frozen=True, eq=False, repr=False)
class SeparatePredictive(Predictive):
    """Predictives of the targets (n,) each, independent given X, side by side: (n, targets)."""

    parts: tuple[Predictive, ...]

    @property
    def inference(self) -> str:  # type: ignore[override]
        return self.parts[0].inference

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.parts[0]), len(self.parts))

    def _of(self, name: str) -> np.ndarray:
        return np.stack([getattr(part, name) for part in self.parts], axis=-1)

    @property
    def mean(self) -> np.ndarray:
        return self._of("mean")

    @property
    def variance(self) -> np.ndarray:
        return self._of("variance")

    @property
    def aleatoric(self) -> np.ndarray:
        return self._of("aleatoric")

    @property
    def epistemic(self) -> np.ndarray:
        return self._of("epistemic")

    def _each(self, y: Any, read: Callable[[Predictive, Any], np.ndarray]) -> np.ndarray:
        y = np.broadcast_to(np.asarray(y, dtype=np.float64), self.shape)
        return np.stack([read(part, y[:, t]) for t, part in enumerate(self.parts)], axis=-1)

    def cdf(self, y: Any) -> np.ndarray:
        return self._each(y, lambda part, of: part.cdf(of))

    def log_prob(self, y: Any) -> np.ndarray:
        return self._each(y, lambda part, of: part.log_prob(of))

    def quantile(self, q: Any) -> np.ndarray:
        return np.stack([part.quantile(q) for part in self.parts], axis=-1)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([part.sample(n, rng) for part in self.parts], axis=-1)

    def __getitem__(self, rows: Any) -> SeparatePredictive:
        return SeparatePredictive(tuple(part[rows] for part in self.parts))  # type: ignore[index]
