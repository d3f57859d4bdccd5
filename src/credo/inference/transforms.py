"""Bijections from ℝᵏ onto supports, so that unconstrained engines serve constrained variables.

    support              x of z                          log |∂x/∂z|
    real line            z                               0
    low < x              low + eᶻ                        z
    x < high             high − eᶻ                       z
    low < x < high       low + (high − low) σ(z)         log(high − low) + log σ(z) + log σ(−z)
    x_1 < x_2 < …        see `ordered`
    simplex (K)          softmax(V z), V (K, K−1)        Σ log x_i + ½ log K        (isometric log-ratio)
    positive definite    L Lᵀ, L = tril(z), log diagonal n log 2 + Σ_i (n + 1 − i) log L_ii + Σ z_ii, i = 0..n−1

Jacobian policy: a *density* moves to z with its Jacobian, p(z) = p(x(z)) |∂x/∂z| (every sampler, Laplace, Pathfinder);
a *mode* is by default sought without it, so that the answer is the mode of the density as stated, whatever the
transform (MAP). MAP is not invariant to reparametrisation: with the Jacobian it is the mode of p(z).
The simplex density is with respect to its first K − 1 coordinates, that of a symmetric matrix to its lower triangle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from credo.distributions.support import Support
from credo.errors import ParameterError
from credo.inference.target import Target

__all__ = ["Transform", "Interval", "Simplex", "PositiveDefinite", "Bijection", "transform_for", "unconstrained"]


class Transform:
    """One block's bijection; arrays have leading batch axes and one flat trailing axis.

    `size` and `free` are the lengths of x and z. `pull_back(x, z, g)` is (∂x/∂z)ᵀ g.
    """

    size: int
    free: int

    def forward(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def inverse(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def log_jacobian(self, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log |∂x/∂z| (...,) and its gradient in z (..., free)."""
        raise NotImplementedError

    def pull_back(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def pull_back_volume(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> tuple[float, np.ndarray]:
        """log |∂x/∂z| at one z (free,), and (∂x/∂z)ᵀ g + its gradient: what a sampler wants of each gradient."""
        volume, slope = self.log_jacobian(x, z)
        return float(volume), self.pull_back(x, z, g) + slope


@dataclass(frozen=True, eq=False)
class Interval(Transform):
    """Elementwise intervals with any mix of finite and infinite ends, `low` and `high` (size,)."""

    low: np.ndarray
    high: np.ndarray

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.low.size

    free = size  # type: ignore[assignment]

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        below, above = np.isfinite(self.low), np.isfinite(self.high)
        return below & ~above, above & ~below, below & above

    @cached_property
    def _places(self) -> tuple[np.ndarray, bool]:
        """Where there is a lower end alone; whether that is all the ends there are, as with scales."""
        lower, upper, both = self._kinds
        return np.flatnonzero(lower), not (upper.any() or both.any())

    def forward(self, z: np.ndarray) -> np.ndarray:
        x = np.array(z, dtype=np.float64)
        at, simple = self._places
        if simple:
            x[..., at] = self.low[at] + np.exp(x[..., at])
            return x
        lower, upper, both = self._kinds
        x[..., lower] = self.low[lower] + np.exp(z[..., lower])
        x[..., upper] = self.high[upper] - np.exp(z[..., upper])
        x[..., both] = self.low[both] + (self.high - self.low)[both] * scipy.special.expit(z[..., both])
        return x

    def inverse(self, x: np.ndarray) -> np.ndarray:
        z = np.array(x, dtype=np.float64)
        at, simple = self._places
        with np.errstate(divide="ignore"):  # a start on the boundary becomes ±inf, which the start check names
            if simple:
                z[..., at] = np.log(x[..., at] - self.low[at])
                return z
            lower, upper, both = self._kinds
            z[..., lower] = np.log(x[..., lower] - self.low[lower])
            z[..., upper] = np.log(self.high[upper] - x[..., upper])
            z[..., both] = scipy.special.logit((x[..., both] - self.low[both]) / (self.high - self.low)[both])
        return z

    def log_jacobian(self, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at, simple = self._places
        if simple:
            slope = np.zeros_like(z)
            slope[..., at] = 1.0
            return z[..., at].sum(axis=-1), slope
        lower, upper, both = self._kinds
        value, slope = np.zeros_like(z), np.zeros_like(z)
        half = lower | upper
        value[..., half], slope[..., half] = z[..., half], 1.0
        inner = z[..., both]
        value[..., both] = (
            np.log((self.high - self.low)[both]) + scipy.special.log_expit(inner) + scipy.special.log_expit(-inner)
        )
        slope[..., both] = 1.0 - 2.0 * scipy.special.expit(inner)
        return value.sum(axis=-1), slope

    def pull_back(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
        at, simple = self._places
        if simple:
            moved = np.array(g, dtype=np.float64)
            moved[..., at] *= np.exp(z[..., at])
            return moved
        lower, upper, both = self._kinds
        factor = np.ones_like(z)
        factor[..., lower] = np.exp(z[..., lower])
        factor[..., upper] = -np.exp(z[..., upper])
        inner = scipy.special.expit(z[..., both])
        factor[..., both] = (self.high - self.low)[both] * inner * (1.0 - inner)
        return g * factor

    def pull_back_volume(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> tuple[float, np.ndarray]:
        at, simple = self._places
        if not simple:
            return super().pull_back_volume(x, z, g)
        moved, logs = np.array(g, dtype=np.float64), z[at]
        moved[at] = moved[at] * np.exp(logs) + 1.0
        return float(logs.sum()), moved


@dataclass(frozen=True, eq=False)
class Simplex(Transform):
    """`rows` probability vectors of length `k` each, by the isometric log-ratio (Egozcue et al. 2003)."""

    rows: int
    k: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.rows * self.k

    @property
    def free(self) -> int:  # type: ignore[override]
        return self.rows * (self.k - 1)

    @cached_property
    def basis(self) -> np.ndarray:
        """V (k, k − 1): orthonormal columns orthogonal to 1 (Helmert), so that no category is special."""
        j = np.arange(1, self.k)
        upper = np.triu(np.ones((self.k, self.k - 1)))
        upper[j, j - 1] = -j
        return upper / np.sqrt(j * (j + 1.0))

    def _rows(self, flat: np.ndarray) -> np.ndarray:
        return flat.reshape(*flat.shape[:-1], self.rows, -1)

    def forward(self, z: np.ndarray) -> np.ndarray:
        y = self._rows(z) @ self.basis.T
        e = np.exp(y - y.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)).reshape(*z.shape[:-1], self.size)

    def inverse(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):  # a zero probability is named by the start check
            return (np.log(self._rows(x)) @ self.basis).reshape(*x.shape[:-1], self.free)

    def log_jacobian(self, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = self._rows(z) @ self.basis.T
        top = y.max(axis=-1, keepdims=True)
        log_x = y - top - np.log(np.exp(y - top).sum(axis=-1, keepdims=True))
        value = log_x.sum(axis=(-1, -2)) + 0.5 * self.rows * np.log(self.k)
        slope = -self.k * (self._rows(x) @ self.basis)
        return value, slope.reshape(z.shape)

    def pull_back(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
        p, slope = self._rows(x), self._rows(g)
        return ((p * (slope - (p * slope).sum(axis=-1, keepdims=True))) @ self.basis).reshape(z.shape)


@dataclass(frozen=True, eq=False)
class PositiveDefinite(Transform):
    """One n × n symmetric positive-definite matrix through its Cholesky factor with a logarithmic diagonal."""

    n: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.n * self.n

    @property
    def free(self) -> int:  # type: ignore[override]
        return self.n * (self.n + 1) // 2

    @cached_property
    def _diagonal(self) -> np.ndarray:
        """Places of the diagonal in the flat lower triangle."""
        return np.cumsum(np.arange(1, self.n + 1)) - 1

    def _factor(self, z: np.ndarray) -> np.ndarray:
        flat = np.array(z, dtype=np.float64)
        flat[..., self._diagonal] = np.exp(z[..., self._diagonal])
        lower = np.zeros((*z.shape[:-1], self.n, self.n))
        lower[(..., *np.tril_indices(self.n))] = flat
        return lower

    def forward(self, z: np.ndarray) -> np.ndarray:
        lower = self._factor(z)
        return (lower @ np.swapaxes(lower, -1, -2)).reshape(*z.shape[:-1], self.size)

    def inverse(self, x: np.ndarray) -> np.ndarray:
        matrix = x.reshape(*x.shape[:-1], self.n, self.n)
        try:
            lower = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise ParameterError("start", "matrix", "symmetric positive definite", matrix) from None
        z = lower[(..., *np.tril_indices(self.n))]
        z[..., self._diagonal] = np.log(z[..., self._diagonal])
        return z

    def log_jacobian(self, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weights = np.arange(self.n, 0, -1) + 1.0
        slope = np.zeros_like(z)
        slope[..., self._diagonal] = weights
        return z[..., self._diagonal] @ weights + self.n * np.log(2.0), slope

    def pull_back(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
        lower, slope = self._factor(z), g.reshape(*g.shape[:-1], self.n, self.n)
        by_factor = (slope + np.swapaxes(slope, -1, -2)) @ lower
        result = by_factor[(..., *np.tril_indices(self.n))]
        result[..., self._diagonal] *= np.exp(z[..., self._diagonal])
        return result


def transform_for(support: Support, shape: tuple[int, ...], name: str = "variable") -> Transform:
    """The bijection onto `support` for a variable of this shape; discrete supports have none (`ParameterError`)."""
    size = int(np.prod(shape))
    if support.kind == "real":
        return Interval(*(np.broadcast_to(b, shape).ravel().astype(np.float64) for b in (support.low, support.high)))
    if support.kind == "simplex":
        if not shape or shape[-1] < 2:
            raise ParameterError(name, "shape", "with a last axis of at least 2 for a simplex", shape)
        return Simplex(size // shape[-1], shape[-1])
    if support.kind == "positive_definite":
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ParameterError(name, "shape", "square for a positive-definite matrix", shape)
        return PositiveDefinite(shape[0])
    if support.kind == "ordered":
        if not shape:
            raise ParameterError(name, "shape", "with an axis along which the values are in order", shape)
        from credo.inference.ordered import ordered_transform

        return ordered_transform(size // shape[-1], shape[-1], float(np.max(support.low)), float(np.min(support.high)))
    raise ParameterError(
        "", f"support of {name}", "continuous for this engine", support.kind,
        "Use Gibbs or MetropolisHastings for discrete variables, or sum them out.",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Bijection:
    """All blocks of a target at once: z (..., free) ↔ x (..., dim)."""

    parts: tuple[Transform, ...]

    @cached_property
    def _merged(self) -> list[tuple[Transform, slice, slice]]:
        """Each part and its places in x and z, intervals side by side made one: numbers move independently."""
        merged: list[tuple[Transform, slice, slice]] = []
        at = free = 0
        for part in self.parts:
            x, z = slice(at, at + part.size), slice(free, free + part.free)
            at, free = x.stop, z.stop
            last = merged[-1][0] if merged else None
            if isinstance(part, Interval) and isinstance(last, Interval):
                _, before_x, before_z = merged.pop()
                part = Interval(np.append(last.low, part.low), np.append(last.high, part.high))
                x, z = slice(before_x.start, at), slice(before_z.start, free)
            merged.append((part, x, z))
        return merged

    @property
    def free(self) -> int:
        return sum(part.free for part in self.parts)

    @cached_property
    def is_identity(self) -> bool:
        return all(isinstance(p, Interval) and not any(k.any() for k in p._kinds) for p in self.parts)

    @cached_property
    def half_lines(self) -> np.ndarray:
        """Which free coordinates (free,) are logarithms: of scales, as a rule."""
        return np.concatenate([np.logical_or(*part._kinds[:2]) if isinstance(part, Interval)
                               else np.zeros(part.free, dtype=bool) for part in self.parts])  # fmt: skip

    def forward(self, z: np.ndarray) -> np.ndarray:
        return _joined([part.forward(z[..., b]) for part, _, b in self._merged])

    def inverse(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        return _joined([part.inverse(x[..., a]) for part, a, _ in self._merged])

    def log_jacobian(self, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        each = [part.log_jacobian(x[..., a], z[..., b]) for part, a, b in self._merged]
        return sum(value for value, _ in each), _joined([slope for _, slope in each])  # type: ignore[return-value]

    def pull_back(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> np.ndarray:
        return _joined([part.pull_back(x[..., a], z[..., b], g[..., a]) for part, a, b in self._merged])

    def pull_back_volume(self, x: np.ndarray, z: np.ndarray, g: np.ndarray) -> tuple[float, np.ndarray]:
        """See `Transform.pull_back_volume`."""
        each = [part.pull_back_volume(x[a], z[b], g[a]) for part, a, b in self._merged]
        return sum(value for value, _ in each), _joined([slope for _, slope in each])


def _joined(blocks: list[np.ndarray]) -> np.ndarray:
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=-1)


def unconstrained(target: Target, jacobian: bool = True) -> tuple[Target, Bijection]:
    """The target over ℝᵏ, with or without log |∂x/∂z|, and the bijection back to the support.

    A target on the real line comes back unchanged. The Hessian is passed on only then.

    >>> from credo.distributions.support import POSITIVE
    >>> positive = Target(lambda x: -x[0], {"rate": ()}, supports={"rate": POSITIVE})
    >>> free, back = unconstrained(positive)
    >>> free.evaluate(np.array([0.0])).log_density, back.forward(np.array([0.0])).tolist()
    (-1.0, [1.0])
    """
    parts = tuple(transform_for(target.support(name), tuple(shape), name) for name, shape in target.shapes.items())
    bijection = Bijection(parts)
    if bijection.is_identity:
        return target, bijection
    shapes: dict[str, tuple[int, ...]] = {
        name: tuple(shape) if part.free == part.size else (part.free,)
        for (name, shape), part in zip(target.shapes.items(), parts)
    }

    def log_density(z: np.ndarray) -> Any:
        with np.errstate(over="ignore"):  # a trajectory that runs off is a divergence, counted and named there
            x = bijection.forward(z)
            return target._functions(x, False)[0] + (bijection.log_jacobian(x, z)[0] if jacobian else 0.0)

    def value_and_gradient(z: np.ndarray) -> tuple[Any, np.ndarray]:
        with np.errstate(over="ignore", invalid="ignore"):
            x = bijection.forward(z)
            value, slope = target._functions(x, True)
            if slope is None or slope.shape != x.shape:
                raise ParameterError("Target", "gradient", f"of shape {x.shape}, one entry per parameter", slope)
            if not jacobian:
                return value, bijection.pull_back(x, z, slope)  # type: ignore[arg-type]
            if z.ndim > 1:
                volume, volume_slope = bijection.log_jacobian(x, z)
                return value + volume, bijection.pull_back(x, z, slope) + volume_slope  # type: ignore[arg-type]
            volume, moved = bijection.pull_back_volume(x, z, slope)  # type: ignore[arg-type]
            return value + volume, moved

    free = Target(
        log_density,
        shapes,
        value_and_gradient=value_and_gradient if target.has_gradient else None,
        initial=target.initial,
        vectorised=target.vectorised,
        shown_as=lambda z: target.describe(bijection.forward(z)),
    )
    return free, bijection
