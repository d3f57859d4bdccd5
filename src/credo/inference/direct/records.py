"""What direct samplers return: independent draws, or weighted ones, with log evidence and its standard error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.draws import Draws, ImportanceDraws, Summary
from credo.saving.registry import register

__all__ = ["DirectDraws", "ImportanceSample", "Estimate"]


class Estimate(NamedTuple):
    """An expectation and its standard error, of the shape of the function's values."""

    value: Any
    error: Any


@register
@dataclass(frozen=True, eq=False)
class DirectDraws(Draws):
    """Independent draws, as `Draws` of one chain.

    acceptance_rate : share of proposals that were kept.
    log_evidence, log_evidence_error : estimate of log ∫ p̃ and its standard error; NaN where it is not estimated.

    >>> from credo.inference.direct import inversion
    >>> draws = inversion(quantile=lambda u: -np.log1p(-u), size=1000, rng=0)
    >>> draws["x"].shape, draws.acceptance_rate, abs(draws.mean - 1.0) < 0.2
    ((1000,), 1.0, np.True_)
    """

    acceptance_rate: float = 1.0
    log_evidence: float = float("nan")
    log_evidence_error: float = float("nan")

    def state(self) -> dict[str, Any]:
        own = ("acceptance_rate", "log_evidence", "log_evidence_error")
        return {**super().state(), **{name: getattr(self, name) for name in own}}

    def expect(self, function: Callable[[Any], Any]) -> Estimate:
        """E[f] with its standard error; f takes the draws (n, *shape), or a dict of them, and returns (n, ...)."""
        values = _values(function, {name: self[name] for name in self.names}, np.ones(len(self)))
        return Estimate(values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(self)))


@register
@dataclass(frozen=True, eq=False)
class ImportanceSample(ImportanceDraws):
    """Weighted draws of a proposal, with the standard error of whatever is computed from them.

    log_weights : (draws,) log p̃ − log q before smoothing.
    log_evidence, log_evidence_error : estimate of log ∫ p̃, where q is normalised, and its standard error.
    islands : number of independent groups, contiguous and of equal size; None is one a draw.
    roots : (draws,) the first ancestor of each, where draws descend from others; empty where none do.
    trace : name → what happened at each temperature, where there are several.
    """

    log_weights: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    log_evidence_error: float = float("nan")
    islands: int | None = None
    roots: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    trace: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "trace": dict(self.trace)}

    def expect(self, function: Callable[[Any], Any]) -> Estimate:
        """E[f] = Σ w f with its standard error by the delta method; f as for `DirectDraws.expect`.

        se² = g/(g − 1) Σ_G (Σ_{i∈G} w_i (f_i − E[f]))² over g independent groups G: each draw, or each island. Draws
        that descend from others also make groups of common descent; the larger error is then taken.
        """
        values = _values(function, dict(self.values), self.weights)
        mean = np.tensordot(self.weights, values, 1)
        return Estimate(mean, self._error(values - mean))

    def summary(self, mass: float = 0.9) -> Summary:
        """As of `ImportanceDraws`, with the error of the mean over independent groups."""
        table = super().summary(mass)
        x = np.concatenate([value.reshape(value.shape[0], -1) for value in self.values.values()], axis=1)
        return Summary(table.rows, {**table.columns, "mcse_mean": self._error(x - table.columns["mean"])})

    def _error(self, centred: np.ndarray) -> np.ndarray:
        shares = self.weights.reshape(-1, *(1,) * (centred.ndim - 1)) * centred
        groups = self.islands or len(shares)
        islands = shares.reshape(groups, -1, *shares.shape[1:]).sum(axis=1)
        square = groups / max(groups - 1, 1) * np.square(islands).sum(axis=0)
        if self.roots.size:
            families = np.zeros_like(shares)
            np.add.at(families, self.roots, shares)
            square = np.maximum(square, np.square(families).sum(axis=0))
        return np.sqrt(square)


def _values(function: Callable[[Any], Any], draws: dict[str, np.ndarray], weights: np.ndarray) -> np.ndarray:
    """(n, ...) without NaN. Draws of no weight count 0: where the target is zero the function need not be defined."""
    n = weights.size
    given = draws if len(draws) > 1 else next(iter(draws.values()))
    values = np.asarray(function(given), dtype=np.float64)
    if values.shape[:1] != (n,):
        raise ParameterError("expect", "function", f"vectorised: one value a draw, shape ({n}, ...)", values)
    if not np.all(weights):
        values = np.where((weights > 0.0).reshape(-1, *(1,) * (values.ndim - 1)), values, 0.0)
    bad = np.flatnonzero(np.isnan(values).reshape(n, -1).any(axis=1))
    if bad.size:
        raise NumericalError(
            f"expect: the function is NaN at {bad.size} of {n} draws, the first of them draw {bad[0]}.",
            value={name: np.array(x[bad[0]]) for name, x in draws.items()},
            remedy="Define it wherever the target is positive.",
        )
    return values
