"""Columns of any shape: a kernel density in every class, drawn towards the column's own Normal by the weight of a row.

f_c(x) = (Σ_i w_i K_h(x − x_i) + M g(x)) / (n_c + M): the mean of a Dirichlet process mixture of Normals of width h with
concentration M = 1 and a base measure g about the whole column. So no cell is impossible anywhere, and a class seen
twice is unsure: given the atoms (g is one of them) f_c is a mean of K under Dirichlet weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.special

from credo.models.generative.family import Belief, Family, Moments
from credo.models.generative.memberships import Memberships
from credo.models.naive_bayes.values import ClassValues, each_column
from credo.saving.registry import register

__all__ = ["KernelFamily"]

# The base measure is worth one row.
_CONCENTRATION = 1.0
# Rows of small weight may leave less than a row at x, where log f varies without bound: enough to say so.
_LEAST_ROWS = 1e-3


@register
@dataclass(frozen=True, eq=False)
class KernelFamily(Family):
    """`bandwidth` : as `KernelDensity`, chosen in every class and column by itself."""

    bandwidth: Any = "auto"

    name = "kde"
    has_soft_fit = False

    def accumulate(self, cells: np.ndarray, rows: Memberships) -> ClassValues:
        return ClassValues.accumulate(cells, rows)

    def finalize(self, statistics: ClassValues, class_weight: np.ndarray) -> KernelBelief:
        columns = tuple(
            _column(values, weights, self.bandwidth)
            for values, weights in zip(statistics.values, statistics.weights, strict=True)
        )
        return KernelBelief(columns, len(class_weight))


@register
@dataclass(frozen=True, eq=False)
class KernelColumn:
    """Atoms values (u,) with weights (u, k), widths (k,), and the base Normal's mean and sd."""

    values: np.ndarray
    weights: np.ndarray
    widths: np.ndarray
    base_mean: float
    base_sd: float
    concentration: float = _CONCENTRATION

    @cached_property
    def _total(self) -> np.ndarray:
        return self.weights.sum(axis=0) + self.concentration

    def _base(self, x: np.ndarray) -> np.ndarray:
        """g (n, 1)."""
        z = np.clip((x - self.base_mean) / self.base_sd, -1e3, 1e3)  # g is 0 long before; the square stays finite
        return (np.exp(-0.5 * np.square(z)) / (self.base_sd * np.sqrt(2.0 * np.pi)))[:, None]

    def _sum(self, x: np.ndarray, narrow: float) -> np.ndarray:
        """Σ_i w_i K (n, k) at widths h/narrow."""
        from credo.models.density import KernelDensity

        out = np.zeros((len(x), len(self.widths)))
        for c, width in enumerate(self.widths):
            w = self.weights[:, c]
            if w.sum() > 0.0 and len(x):
                kept = w > 0.0
                density = KernelDensity(bandwidth=float(width / narrow), atol=1e-300)
                density.fit(self.values[kept, None], sample_weight=w[kept])
                out[:, c] += w.sum() * np.exp(density.score_samples(x[:, None]))
        return out

    def _mass(self, x: np.ndarray) -> np.ndarray:
        """Σ_i w_i K + M g (n, k), for the density of x in units of the base's sd: its squares are numbers."""
        return (self._sum(x, 1.0) + self.concentration * self._base(x)) * self.base_sd

    def log_plug(self, x: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(self._mass(x), 1e-300)) - np.log(self._total) - np.log(self.base_sd)

    def four(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Mean and variance (n, k) of log f(x) over the posterior, and over the posterior once x was seen.

        Given the atoms f = X/S with X = Σ K_i G_i, S = Σ G_i, G_i ~ Gamma(w_i), and f is independent of S. So the
        cumulants of log f are those of log X less those of log S. X is taken as a Gamma of its own mean and variance,
        of shape α = (Σ w_i K_i)²/Σ w_i K_i², the rows that bear on x (Satterthwaite 1946): exact where the K_i are
        equal or 0, as far from all rows. Seeing x weights the law by f, which adds one to either shape.
        """
        sd, mass = self.base_sd, self._mass(x)
        base = self.concentration * self._base(x) * sd
        # K_h² is K_{h/√2}/(2h√π)
        square = self._sum(x, np.sqrt(2.0)) * sd * (sd / (2.0 * np.sqrt(np.pi) * self.widths))
        square += base**2 / self.concentration
        n = self._total
        # below 1e-140 the squares underflow: so far out one atom is left
        alone = mass < 1e-140
        alpha = np.clip(mass * (mass / np.where(alone, 1.0, square)), _LEAST_ROWS, n)
        alpha = np.where(alone, np.minimum(self.concentration, n), alpha)
        lead, psi = np.log(np.maximum(mass, 1e-300)) - np.log(alpha) - np.log(sd), scipy.special.digamma
        return (
            lead + psi(alpha) - psi(n),
            _trigamma(alpha) - _trigamma(n),
            lead + psi(alpha + 1.0) - psi(n + 1.0),
            _trigamma(alpha + 1.0) - _trigamma(n + 1.0),
        )

    def draw(self, rng: np.random.Generator) -> KernelColumn:
        atoms = rng.gamma(np.where(self.weights > 0, self.weights, 1.0)) * (self.weights > 0)
        # one concentration serves all classes: scale the atoms of each by its own draw
        base = rng.gamma(self.concentration, size=len(self.widths))
        weights = atoms * (self.concentration / base)
        return KernelColumn(self.values, weights, self.widths, self.base_mean, self.base_sd, self.concentration)


@register
@dataclass(frozen=True, eq=False)
class KernelBelief(Belief):
    columns: tuple[KernelColumn, ...]
    n_classes: int

    def log_plug(self, cells: np.ndarray) -> np.ndarray:
        return each_column(cells, self.columns, "log_plug", self.n_classes)

    def moments(self, cells: np.ndarray) -> Moments:
        total = np.zeros((4, len(cells), self.n_classes))
        for column, belief in zip(cells.T, self.columns, strict=True):
            seen = np.flatnonzero(~np.isnan(column))
            total[:, seen] += np.stack(belief.four(column[seen].astype(np.float64)))
        return Moments(*total)

    def draw(self, rng: np.random.Generator) -> KernelBelief:
        return KernelBelief(tuple(column.draw(rng) for column in self.columns), self.n_classes)

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        out = np.empty((len(codes), len(self.columns)))
        for j, column in enumerate(self.columns):
            z, u = rng.standard_normal(len(codes)), rng.random(len(codes))
            out[:, j] = column.base_mean + column.base_sd * z
            for c in np.unique(codes):
                edges = np.cumsum(column.weights[:, c])
                rows = np.flatnonzero((codes == c) & (u * column._total[c] < (edges[-1] if len(edges) else 0.0)))
                atom = np.searchsorted(edges, u[rows] * column._total[c], side="right")
                out[rows, j] = column.values[np.minimum(atom, len(edges) - 1)] + column.widths[c] * z[rows]
        return out


def _column(values: np.ndarray, weights: np.ndarray, bandwidth: Any) -> KernelColumn:
    from credo.models.density import KernelDensity

    total = weights.sum(axis=1)
    n = total.sum()
    mean = float(np.average(values, weights=total)) if n > 0 else 0.0
    away = values - mean
    size = float(np.abs(away).max(initial=0.0)) or 1.0
    sd = size * float(np.sqrt(np.average(np.square(away / size), weights=total))) if n > 0 else 1.0
    # a constant column: as narrow as float64 can see
    sd = sd or max(1.0, abs(mean)) * 1e-9
    widths = np.empty(weights.shape[1])
    for c, w in enumerate(weights.T):
        kept = w > 0.0
        if np.count_nonzero(kept) < 2:  # one value has no spread of its own: Silverman's rule on the column's
            widths[c] = sd * (0.75 * max(float(w.sum()), 1.0)) ** -0.2
            continue
        widths[c] = KernelDensity(bandwidth=bandwidth).fit(values[kept, None], sample_weight=w[kept]).bandwidth_
    return KernelColumn(values, weights, widths, mean, sd)


def _trigamma(value: np.ndarray) -> np.ndarray:
    return scipy.special.polygamma(1, value)
