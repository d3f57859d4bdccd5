"""What a direct sampler is given, in one shape: log densities over rows of draws, checked where they are used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.support import REAL, Support
from credo.errors import CredoError, NumericalError, ParameterError
from credo.inference.target import Target

__all__ = [
    "Density",
    "Proposal",
    "as_density",
    "as_line_density",
    "as_proposal",
    "check_size",
    "interval",
    "checked_start",
    "default_start",
]

TARGET = "a Target, a distribution, or a function of draws (n, ...) that returns log densities (n,)"
PROPOSAL = "a distribution (with sample and log_prob), or for a Target a mapping of its names to distributions"


@dataclass(frozen=True)
class Density:
    """An unnormalised log density over rows: (n, dim) of a `Target`, else draws (n, ...) as the proposal makes them."""

    owner: str
    log_prob: Callable[[np.ndarray], Any]
    target: Target | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(n,), −inf where the density is zero; NaN and +inf are a `NumericalError` that shows the first such row."""
        values = self.quietly(x)
        bad = np.flatnonzero(np.isnan(values) | (values == np.inf))
        if bad.size:
            raise NumericalError(
                f"{self.owner}: the target's log density is {values[bad[0]]} at {self.describe(x[bad[0]])} "
                f"({bad.size} of {len(x)} draws).",
                value=np.array(x[bad[0]]),
                remedy="Return −inf where the density is zero, and bound it where it diverges.",
            )
        return values

    def quietly(self, x: np.ndarray) -> np.ndarray:
        """The same without a look at the values: for probes beyond where anything was promised."""
        with np.errstate(all="ignore"):  # an overflow far out is ordinary; what comes of it is looked at
            return _one_a_row(self.owner, "target", self.log_prob(x), len(x))

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": x} if self.target is None else self.target.split(x)

    def describe(self, row: np.ndarray) -> str:
        """'x = 0.5' for messages."""
        if self.target is not None:
            return self.target.describe(row)
        shown = np.array2string(np.asarray(row), precision=6, threshold=6)
        return f"x = {' '.join(shown.split())}"

    def joint(self) -> Callable[[np.ndarray], Any] | None:
        """The density as `Draws.log_prob` asks for it: flat positions (..., dim)."""
        target = self.target
        if target is None:
            return self.log_prob
        return lambda x: target.evaluate_rows(x.reshape(-1, target.dim))[0].reshape(x.shape[:-1])


@dataclass(frozen=True)
class Proposal:
    """A distribution that is drawn from, with its normalised log density, in the same rows as the density's."""

    owner: str
    sample: Callable[[int, np.random.Generator], np.ndarray]
    log_prob: Callable[[np.ndarray], Any]
    given: Any = None
    parameter: str = "proposal"

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n, ...) and their log densities (n,), which must be finite."""
        x = self.sample(n, rng)
        log_q = self.at(x)
        bad = np.flatnonzero(~np.isfinite(log_q))
        if bad.size:
            raise NumericalError(
                f"{self.owner}: the {self.parameter}'s log density is {log_q[bad[0]]} at its own draw {x[bad[0]]!r}.",
                value=np.array(x[bad[0]]),
                remedy="sample and log_prob of the proposal must belong together.",
            )
        return x, log_q

    def at(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return _one_a_row(self.owner, self.parameter, self.log_prob(x), len(x))


def as_density(owner: str, target: Any) -> Density:
    """The target of `owner` as a `Density`."""
    if isinstance(target, Target):
        if not target.has_density:
            raise ParameterError(owner, "target", "a Target with a log density", target)
        return Density(owner, lambda x: target.evaluate_rows(x)[0], target)
    if hasattr(target, "log_prob"):
        return Density(owner, lambda x: _of_law(owner, "target", target, x))
    if callable(target):
        return Density(owner, target)
    raise ParameterError(owner, "target", TARGET, target)


def as_line_density(owner: str, log_density: Any) -> Density:
    """The density of one number, which is a function or a distribution."""
    if isinstance(log_density, Target):
        raise ParameterError(owner, "log_density", "a function x (n,) → (n,), or a distribution", log_density)
    return as_density(owner, log_density)


def as_proposal(owner: str, proposal: Any, target: Target | None = None) -> Proposal:
    """The proposal of `owner`, whose rows are those of `target` if there is one."""
    if isinstance(proposal, Mapping):
        return _product(owner, proposal, target)
    if not (hasattr(proposal, "sample") and hasattr(proposal, "log_prob")):
        raise ParameterError(owner, "proposal", PROPOSAL, proposal)

    def sample(n: int, rng: np.random.Generator) -> np.ndarray:
        x = np.asarray(proposal.sample(n, rng), dtype=np.float64)
        if x.shape[:1] != (n,) or (target is not None and x.size != n * target.dim):
            wanted = "(n, ...)" if target is None else f"(n, {target.dim})"
            raise ParameterError(owner, "proposal", f"a distribution whose draws have shape {wanted}", x.shape)
        return x if target is None else x.reshape(n, target.dim)

    if target is None:
        return Proposal(owner, sample, lambda x: _of_law(owner, "proposal", proposal, x), proposal)
    # A family of scalars is asked in its own shape: the rows of a target are flat.
    scalar = target.dim == 1 and getattr(proposal, "event_ndim", 1) == 0 and proposal.batch_shape == ()
    return Proposal(owner, sample, lambda x: _summed(proposal.log_prob(x[:, 0] if scalar else x)), proposal)


def _product(owner: str, parts: Mapping[str, Any], target: Target | None) -> Proposal:
    """Independent variables, each with a distribution of its own, joined into the rows of the target."""
    if target is None or set(parts) != set(target.shapes):
        names = "a Target's names" if target is None else ", ".join(target.shapes)
        raise ParameterError(owner, "proposal", f"a mapping of exactly {names} to distributions", sorted(parts))
    shapes = {name: tuple(shape) for name, shape in target.shapes.items()}

    def sample(n: int, rng: np.random.Generator) -> np.ndarray:
        columns = []
        for name, shape in shapes.items():
            own = np.shape(parts[name].sample(None, np.random.default_rng(0)))
            if shape[len(shape) - len(own) :] != own:
                raise ParameterError(owner, f"proposal of {name}", f"of shape {shape} or of its last axes", own)
            x = parts[name].sample((n, *shape[: len(shape) - len(own)]), rng)
            columns.append(np.asarray(x, dtype=np.float64).reshape(n, -1))
        return np.concatenate(columns, axis=1)

    def log_prob(x: np.ndarray) -> np.ndarray:
        return np.sum([_summed(parts[name].log_prob(value)) for name, value in target.split(x).items()], axis=0)

    return Proposal(owner, sample, log_prob, dict(parts))


def check_size(owner: str, size: Any, least: int = 1, name: str = "size") -> int:
    if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer)) or size < least:
        raise ParameterError(owner, name, f"an integer ≥ {least}", size)
    return int(size)


def interval(owner: str, support: Any, density: Any = None) -> tuple[float, float]:
    """(low, high) of a `Support` or a pair; None is that of the density, if it is a distribution, or the real line."""
    if support is None:
        support = getattr(density, "support", REAL)
    if isinstance(support, Support) and support.kind != "real":
        raise ParameterError(owner, "support", "an interval of real numbers", support)
    ends = (support.low, support.high) if isinstance(support, Support) else support
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise ParameterError(owner, "support", "a Support or a pair (low, high)", support) from None
    if not low < high:
        raise ParameterError(owner, "support", "an interval with low < high", support)
    return low, high


def checked_start(owner: str, start: Any, low: float, high: float) -> float | None:
    """A finite number inside (low, high) or at a finite end; None stays."""
    if start is None:
        return None
    try:
        at = float(start)
    except (TypeError, ValueError):
        at = math.nan
    if not (math.isfinite(at) and low <= at <= high):
        raise ParameterError(owner, "start", f"a number from {low:g} to {high:g}, the support", start)
    return at


def default_start(low: float, high: float) -> float:
    """The middle of an interval, 1 from its only finite end, or 0."""
    if math.isfinite(low) and math.isfinite(high):
        return 0.5 * low + 0.5 * high
    return low + 1.0 if math.isfinite(low) else high - 1.0 if math.isfinite(high) else 0.0


def _of_law(owner: str, parameter: str, law: Any, x: np.ndarray) -> np.ndarray:
    """Its log density of each row; `ParameterError` where it is of another shape than the rows."""
    try:
        return _summed(law.log_prob(x))
    except CredoError:
        raise
    except ValueError:
        one = f"one draw, {x.shape[1:]}" if x.ndim > 1 else "one draw, a number"
        raise ParameterError(owner, parameter, f"a distribution of the shape of {one}", law) from None


def _summed(values: Any) -> np.ndarray:
    """Independent entries of a row: their log densities add."""
    values = np.asarray(values, dtype=np.float64)
    return values.reshape(len(values), math.prod(values.shape[1:])).sum(axis=1) if values.ndim > 1 else values


def _one_a_row(owner: str, parameter: str, values: Any, n: int) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        raise ParameterError(
            owner, parameter, f"one log density a row, of shape ({n},) for {n} draws", values,
            "The function is given all draws at once: write it over the first axis.",
        )  # fmt: skip
    return values.astype(np.float64, copy=False)
