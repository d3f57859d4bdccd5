"""`Draws`: a posterior known through chains of dependent draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from credo.diagnostics import mcmc as diagnostics
from credo.errors import DataError, MissingDependencyError, ParameterError, UnavailableError
from credo.inference.result import Result
from credo.numerics.random import as_generator
from credo.numerics.weighted import weighted_quantile
from credo.saving.registry import register

__all__ = ["Draws", "ImportanceDraws", "Summary"]


@register
@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of named variables: chains × draws × shape. Satisfies the `Posterior` protocol.

    Moments and intervals are arrays if there is one variable, else dicts by name.

    Parameters
    ----------
    values : name → (chains, draws, *shape).
    result : how the run went, with the certificate R̂, ESS, divergences.
    sample_stats : statistic → (chains, draws, ...): acceptance_rate, divergent, energy, log_density...
    dims : name → names of its axes.
    density : flat positions (..., dim) → log density up to a constant; None after loading from a file.
    checkpoint : what `sample(resume=...)` continues from; not saved.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(4, 1000, 2))
    >>> posterior = Draws({"w": x}, Result("converged", "nuts"))
    >>> posterior["w"].shape, posterior.mean.shape, posterior.interval(0.9)[0].shape
    ((4000, 2), (2,), (2,))
    """

    values: Mapping[str, np.ndarray]
    result: Result
    sample_stats: Mapping[str, np.ndarray] = field(default_factory=dict)
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    density: Callable[[np.ndarray], Any] | None = field(default=None, repr=False)
    checkpoint: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        sizes = {name: np.shape(value)[:2] for name, value in self.values.items()}
        if not sizes or len(set(sizes.values())) != 1 or any(len(size) != 2 or 0 in size for size in sizes.values()):
            raise DataError(
                f"Draws need values of equal (chains, draws, ...) with at least one draw, got {sizes}.", value=sizes
            )

    # -- access ------------------------------------------------------------------------------------------------------

    @property
    def inference(self) -> str:
        return self.result.inference

    @property
    def n_chains(self) -> int:
        return next(iter(self.values.values())).shape[0]

    @property
    def n_draws(self) -> int:
        """Draws in each chain."""
        return next(iter(self.values.values())).shape[1]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    def __getitem__(self, name: str) -> np.ndarray:
        """Draws with chains merged, (chains·draws, *shape)."""
        if name not in self.values:
            raise ParameterError("Draws", "name", f"one of {', '.join(self.values)}", name)
        value = self.values[name]
        return value.reshape(-1, *value.shape[2:])

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Any:
        return iter(self.values)

    def __len__(self) -> int:
        return self.n_chains * self.n_draws

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{list(value.shape[2:])}" for name, value in self.values.items())
        return (
            f"Draws({self.n_chains} chains × {self.n_draws} draws of {shapes}; {self.inference}, {self.result.status})"
        )

    def _each(self, statistic: Callable[[np.ndarray], Any]) -> Any:
        results = {name: statistic(self[name]) for name in self.values}
        return results if len(results) > 1 else next(iter(results.values()))

    # -- moments and intervals ---------------------------------------------------------------------------------------

    @property
    def mean(self) -> Any:
        return self._each(lambda x: x.mean(axis=0))

    @property
    def variance(self) -> Any:
        return self._each(lambda x: x.var(axis=0, ddof=1))

    @property
    def sd(self) -> Any:
        return self._each(lambda x: x.std(axis=0, ddof=1))

    def quantile(self, q: Any) -> Any:
        """Marginal quantiles; a vector q leads the shape."""
        if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
            raise ParameterError("Draws.quantile", "q", "between 0 and 1", q)
        return self._each(lambda x: np.quantile(x, q, axis=0))

    def interval(self, mass: float = 0.9) -> Any:
        """Central interval (lower, upper) holding `mass`; by name if there are several variables."""
        if not 0.0 < mass < 1.0:
            raise ParameterError("Draws.interval", "mass", "between 0 and 1 (exclusive)", mass)
        ends = [(1.0 - mass) / 2.0, (1.0 + mass) / 2.0]
        return self._each(lambda x: tuple(np.quantile(x, ends, axis=0)))

    def sample(self, n: int, rng: Any = None) -> Any:
        """n draws (n, *shape), the same ones of every variable: without replacement while there are enough."""
        at = as_generator(rng).choice(len(self), size=int(n), replace=n > len(self))
        return self._each(lambda x: x[at])

    def log_prob(self, theta: Any) -> Any:
        """Joint log density up to a constant at flat positions (..., dim), or at a dict by name of one position
        each."""
        if self.density is None:
            raise UnavailableError("These draws came without their density, so log_prob is unknown.")
        if isinstance(theta, Mapping):
            theta = np.concatenate([np.ravel(theta[name]) for name in self.values])
        return self.density(np.asarray(theta, dtype=np.float64))

    # -- reports -----------------------------------------------------------------------------------------------------

    def summary(self, mass: float = 0.9) -> Summary:
        """Mean, sd, central interval and HDI of `mass`, P(> 0), MCSE, ESS and R̂ of every entry of every variable."""
        return summarise(self.values, mass)

    def check(self) -> diagnostics.Convergence:
        """The verdict on convergence (see `check_convergence`)."""
        return diagnostics.check_convergence(
            self.values, self.sample_stats.get("divergent"), self.sample_stats.get("energy")
        )

    def to_arviz(self) -> Any:
        """The draws as an ArviZ DataTree with groups posterior and sample_stats (extra `arviz`)."""
        try:
            from arviz_base import from_dict  # type: ignore[import-not-found]
        except ImportError:
            raise MissingDependencyError("arviz-base", "arviz", "to_arviz()") from None
        groups = {
            "posterior": dict(self.values),
            "sample_stats": {n: np.asarray(v) for n, v in self.sample_stats.items()},
        }
        return from_dict(groups, dims={name: list(axes) for name, axes in self.dims.items()})

    def state(self) -> dict[str, Any]:
        """What a file holds: everything but the density and the checkpoint."""
        return {
            "values": dict(self.values),
            "result": dataclasses.asdict(self.result),
            "sample_stats": dict(self.sample_stats),
            "dims": dict(self.dims),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], version: int) -> Self:
        return cls(**{**state, "result": Result(**state["result"])})


@register
@dataclass(frozen=True, eq=False)
class ImportanceDraws:
    """Independent draws of an approximation with importance weights that correct it. Satisfies `Posterior`.

    values : name → (draws, *shape).
    weights : (draws,), ≥ 0, sum 1; Pareto-smoothed, so that a few cannot carry all.
    result : its certificate holds `pareto_k`; below 0.7 the weighted moments are reliable (Vehtari et al. 2024, JMLR
    25).
    log_evidence : estimate of log ∫ p, where the target's density is normalised as prior × likelihood.

    >>> w = ImportanceDraws({"x": np.array([0.0, 1.0])}, np.array([0.25, 0.75]), Result("converged", "laplace"))
    >>> float(w.mean), float(w.variance)
    (0.75, 0.1875)
    """

    values: Mapping[str, np.ndarray]
    weights: np.ndarray
    result: Result
    log_evidence: float = float("nan")
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    density: Callable[[np.ndarray], Any] | None = field(default=None, repr=False)

    @property
    def inference(self) -> str:
        return self.result.inference

    @property
    def effective(self) -> float:
        """Effective number of draws, 1/Σ w²."""
        return float(1.0 / np.sum(self.weights**2))

    def __getitem__(self, name: str) -> np.ndarray:
        """As many unweighted draws (draws, *shape) as there are weighted ones, by systematic resampling: the same rows
        at every call and for every name."""
        if name not in self.values:
            raise ParameterError(type(self).__name__, "name", f"one of {', '.join(self.values)}", name)
        return self.values[name][self._resampled]

    @property
    def _resampled(self) -> np.ndarray:
        points = (np.arange(self.weights.size) + 0.5) / self.weights.size
        return np.minimum(np.searchsorted(np.cumsum(self.weights), points), self.weights.size - 1)

    def _each(self, statistic: Callable[[np.ndarray], Any]) -> Any:
        results = {name: statistic(value) for name, value in self.values.items()}
        return results if len(results) > 1 else next(iter(results.values()))

    @property
    def mean(self) -> Any:
        return self._each(lambda x: np.tensordot(self.weights, x, 1))

    @property
    def variance(self) -> Any:
        return self._each(lambda x: np.tensordot(self.weights, np.square(x - np.tensordot(self.weights, x, 1)), 1))

    @property
    def sd(self) -> Any:
        return self._each(
            lambda x: np.sqrt(np.tensordot(self.weights, np.square(x - np.tensordot(self.weights, x, 1)), 1))
        )

    def quantile(self, q: Any) -> Any:
        """Marginal weighted quantiles; a vector q leads the shape."""
        if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
            raise ParameterError(type(self).__name__, "q", "between 0 and 1", q)
        return self._each(lambda x: weighted_quantile(x, self.weights, np.asarray(q, dtype=np.float64)))

    def interval(self, mass: float = 0.9) -> Any:
        """Central interval (lower, upper) holding `mass`; by name if there are several variables."""
        if not 0.0 < mass < 1.0:
            raise ParameterError(type(self).__name__, "mass", "between 0 and 1 (exclusive)", mass)
        ends = np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0])
        return self._each(lambda x: tuple(weighted_quantile(x, self.weights, ends)))

    def sample(self, n: int, rng: Any = None) -> Any:
        """n draws (n, *shape) by weight, with replacement, the same ones of every variable."""
        at = as_generator(rng).choice(self.weights.size, size=int(n), p=self.weights)
        return self._each(lambda x: x[at])

    def log_prob(self, theta: Any) -> Any:
        """Joint log density up to a constant at flat positions (..., dim)."""
        if self.density is None:
            raise UnavailableError("These draws came without their density, so log_prob is unknown.")
        return self.density(np.asarray(theta, dtype=np.float64))

    def summary(self, mass: float = 0.9) -> Summary:
        """Mean, sd, central interval, median, P(> 0) and the error of the mean, of every entry of every variable."""
        x = np.concatenate([value.reshape(value.shape[0], -1) for value in self.values.values()], axis=1)
        mean = self.weights @ x
        sd = np.sqrt(self.weights @ np.square(x - mean))
        ends = np.array([(1 - mass) / 2, 0.5, (1 + mass) / 2])
        low, middle, high = weighted_quantile(x, self.weights, ends)
        positive = self.weights @ (x > 0.0)
        error = np.sqrt(np.square(self.weights) @ np.square(x - mean))
        columns = {
            "mean": mean, "sd": sd, "lower": low, "q50": middle, "upper": high, "prob_positive": positive,
            "mcse_mean": error,
        }  # fmt: skip
        return Summary(_labels(self.values, 1), columns)

    def state(self) -> dict[str, Any]:
        """What a file holds: everything but the density."""
        kept = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "density"}
        return {**kept, "values": dict(self.values), "dims": dict(self.dims), "result": dataclasses.asdict(self.result)}

    @classmethod
    def from_state(cls, state: dict[str, Any], version: int) -> Self:
        return cls(**{**state, "result": Result(**state["result"])})


@dataclass(frozen=True)
class Summary(Mapping[str, dict[str, float]]):
    """A table: `rows` are labels such as "w[0]", `columns` map a name to one number a row. Like the summary of every
    posterior it maps a name to a row, of mean, sd, lower, upper, prob_positive (and more); it prints as a table, with
    `notes` below."""

    rows: tuple[str, ...]
    columns: dict[str, np.ndarray]
    notes: tuple[str, ...] = ()

    def __getitem__(self, row: str) -> dict[str, float]:
        if row not in self.rows:
            raise ParameterError("Summary", "row", f"one of {', '.join(self.rows[:10])}", row)
        at = self.rows.index(row)
        return {name: float(column[at]) for name, column in self.columns.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: object) -> bool:
        return row in self.rows

    def __str__(self) -> str:
        table = [["", *self.columns]]
        table += [[row, *(_shown(n, c[i]) for n, c in self.columns.items())] for i, row in enumerate(self.rows)]
        widths = [max(len(line[j]) for line in table) for j in range(len(table[0]))]
        lines = [
            "  ".join(
                cell.ljust(w) if j == 0 else cell.rjust(w) for j, (cell, w) in enumerate(zip(line, widths))
            ).rstrip()
            for line in table
        ]
        return "\n".join([*lines, *self.notes])


def _shown(column: str, value: float) -> str:
    if column.startswith("ess"):
        return "-" if np.isnan(value) else f"{value:.0f}"
    if column == "rhat":
        return "-" if np.isnan(value) else f"{value:.3f}"
    return f"{value:.2g}" if column.startswith("mcse") else f"{value:.4g}"


def summarise(values: Mapping[str, np.ndarray], mass: float = 0.9) -> Summary:
    """The `Summary` of name → (chains, draws, *shape)."""
    x = np.concatenate([value.reshape(*value.shape[:2], -1) for value in values.values()], axis=2)
    merged = x.reshape(-1, x.shape[2])
    low, high = diagnostics.hdi(x, mass)
    lower, q50, upper = np.quantile(merged, [(1.0 - mass) / 2.0, 0.5, (1.0 + mass) / 2.0], axis=0)
    percent = f"{100 * mass:g}"
    columns = {
        "mean": merged.mean(axis=0),
        "sd": merged.std(axis=0, ddof=1),
        "lower": lower,
        "q50": q50,
        "upper": upper,
        "prob_positive": np.mean(merged > 0.0, axis=0),
        f"hdi{percent}_low": low,
        f"hdi{percent}_high": high,
        "mcse_mean": diagnostics.mcse(x, "mean"),
        "mcse_sd": diagnostics.mcse(x, "sd"),
        "ess_bulk": diagnostics.ess(x, "bulk"),
        "ess_tail": diagnostics.ess(x, "tail"),
        "rhat": diagnostics.rhat(x),
    }
    return Summary(_labels(values, 2), {name: np.asarray(column) for name, column in columns.items()})


def _labels(values: Mapping[str, np.ndarray], skip: int) -> tuple[str, ...]:
    """One label per entry of every variable, beyond the first `skip` axes of draws."""
    return tuple(
        name + (f"[{','.join(map(str, index))}]" if index else "")
        for name, value in values.items()
        for index in np.ndindex(*value.shape[skip:])
    )
