"""Rows whose law has an exponential form, ℓ = constant + linear·x − weight·g(x): by array operations, and pooled.

Notation as in `tables`; x = sign·η + shift. Where g(x) = eˣ and all rows of a group have the same factor a of its one
number u, the rows are one number to the group: with x_i at its centre and d = u − centre,

    Σ_i ℓ_i(u) = Σ_i (constant_i + linear_i x_i) + a d Σ_i linear_i − e^{a d} Σ_i weight_i e^{x_i}

so that all nodes of all groups cost one exponential a row: an intercept for each group of Poisson counts, or of waits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.distributions.sites.base import ExponentialForm

__all__ = ["Pool", "common_factor", "form_derivatives", "pooled"]

# From here on log(1 + eˣ) is x to the last digit.
LINEAR_FROM = 37.0


def form_derivatives(form: ExponentialForm, eta: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
    """(ℓ,) or with order 1 (ℓ, ℓ′) at η (..., n)."""
    x = form.sign * eta + form.shift
    if form.kind == 0:
        g = slope = np.exp(x)
    else:
        e = np.exp(np.minimum(x, LINEAR_FROM))
        g = np.where(x > LINEAR_FROM, x, np.log1p(e))
        slope = e / (1.0 + e) if order else e
    value = form.constant + form.linear * x - form.weight * g
    return (value,) if not order else (value, form.sign * (form.linear - form.weight * slope))


def common_factor(form: ExponentialForm, a: np.ndarray, of: np.ndarray, groups: int) -> np.ndarray | None:
    """sign·a (G,) of the rows of each group, a (w, m); None where they differ, or do not pool."""
    if form.kind != 0 or len(a) != 1:
        return None
    factor = np.zeros(groups)
    factor[of] = a[0]
    return form.sign * factor if np.array_equal(factor[of], a[0]) else None


class Pool(NamedTuple):
    """For each group Σ (constant + linear x), a Σ linear, Σ weight eˣ and a, all (G,); for each row weight eˣ (m,)."""

    level: np.ndarray
    linear: np.ndarray
    weight: np.ndarray
    factor: np.ndarray
    rows: np.ndarray

    def values(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Σ ℓ (K, G) of every group at d (K, G), and e^{a d}."""
        growth = np.exp(self.factor * d)
        return self.level + self.linear * d - self.weight * growth, growth


def pooled(form: ExponentialForm, factor: np.ndarray, offset: np.ndarray, of: np.ndarray, centre: np.ndarray) -> Pool:
    """At the centres (G,) of the groups."""
    G = len(centre)
    x = form.sign * offset + form.shift + (factor * centre)[of]
    rows = form.weight * np.exp(x)
    level = np.bincount(of, form.constant + form.linear * x, G)
    return Pool(level, factor * np.bincount(of, form.linear, G), np.bincount(of, rows, G), factor, rows)
