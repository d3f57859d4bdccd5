"""Rows of vectors with cells that nobody saw: the Normal law of those that were, and of the others given them.

With the seen cells s before the hidden ones h, Σ = L Lᵀ has the factor of Σ_ss at its head, so that

    z = L_ss⁻¹ (x_s − μ_s)        log p(x_s) = −½ zᵀz − log |L_ss| − ½ |s| log 2π
    x_h | x_s ~ Normal(μ_h + L_hs z, L_hh L_hhᵀ)

Rows with the same cells hidden are done together, and each such set is a factor of the density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.slopes import unchecked
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node

__all__ = ["Pattern", "drawn_given_seen", "log_density_of_seen", "patterns", "seen_rows"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Pattern:
    """rows : places of the vectors that have it; seen, hidden : places of cells within one of them."""

    rows: np.ndarray
    seen: np.ndarray
    hidden: np.ndarray


def patterns(missing: np.ndarray, shape: tuple[int, ...]) -> list[Pattern]:
    """Vectors along the last axis by which of their cells are missing (places in C order)."""
    gone = np.zeros(shape, dtype=bool)
    gone.reshape(-1)[missing] = True
    kinds, which = np.unique(gone.reshape(-1, shape[-1]), axis=0, return_inverse=True)
    which = np.ravel(which)
    return [Pattern(np.flatnonzero(which == k), np.flatnonzero(~kind), np.flatnonzero(kind))
            for k, kind in enumerate(kinds)]  # fmt: skip


# -- as factors of the density -----------------------------------------------------------------------------------------


def seen_rows(factor: Factor, base: np.ndarray) -> list[Factor]:
    """The factor over the cells that were seen: one for each pattern, a `MultivariateNormal` of these cells."""
    assert factor.missing is not None
    assert factor.law is not None
    rows = base.reshape(-1, base.shape[-1])
    found = []
    for each in patterns(factor.missing, base.shape):
        if not each.seen.size:
            continue
        value = rows[np.ix_(each.rows, each.seen)]
        value = value[0] if base.ndim == 1 else value
        node = Node("observed", factor.node.parents, shape=value.shape, dims=(None,) * value.ndim, name=factor.name,
                    value=value, model=factor.node.model)  # fmt: skip
        node.law = _law_of(factor.law, each, base.shape)
        found.append(Factor(factor.name, node.law, node, True))
    return found


def _law_of(law: Any, each: Pattern, shape: tuple[int, ...]) -> MultivariateNormal:
    """Of some cells of some rows; what is known stays an array."""
    mean, covariance = as_node(law.mean), law.covariance
    if mean.ndim <= 1:
        mean = mean if mean.is_scalar else mean[as_node(each.seen)]
    else:
        whole = mean if mean.shape == shape else apply("multiply", mean, np.ones(shape))
        cells = each.rows[:, None] * shape[-1] + each.seen
        mean = whole.reshape(whole.size)[as_node(cells)]
    if mean.is_scalar:
        mean = apply("multiply", mean, np.ones(each.seen.size))
    if not isinstance(covariance, Node):
        covariance = np.asarray(covariance)[np.ix_(each.seen, each.seen)]
    elif each.hidden.size:
        covariance = covariance[as_node(each.seen[:, None]), as_node(each.seen[None])]
    return unchecked(MultivariateNormal, {"mean": mean, "covariance": covariance})


# -- at draws of the parameters ----------------------------------------------------------------------------------------


def drawn_given_seen(
    law: Any, base: np.ndarray, missing: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:  # fmt: skip
    """Draws (n, cells) of the missing cells given those seen in their rows, in C order; law : as `law_at` gives it."""
    out = np.empty((n, missing.size))
    for each in patterns(missing, base.shape):
        if not each.hidden.size:
            continue
        here = _Solved(law, base, each, n)
        x = here.mean + here.z @ here.cross.swapaxes(-1, -2)
        x += rng.standard_normal(x.shape) @ here.factor.swapaxes(-1, -2)
        cells = each.rows[:, None] * base.shape[-1] + each.hidden
        out[:, np.searchsorted(missing, cells)] = x
    return out


def log_density_of_seen(law: Any, base: np.ndarray, missing: np.ndarray, n: int) -> np.ndarray:
    """log p(seen cells of each vector) at draws, (n, *rows); NaN where no cell was seen."""
    out = np.full((n, base.size // base.shape[-1]), np.nan)
    for each in patterns(missing, base.shape):
        if each.seen.size:
            here = _Solved(law, base, each, n)
            out[:, each.rows] = -0.5 * (np.square(here.z).sum(axis=-1) + each.seen.size * LOG_2PI) - here.log_det
    return out.reshape(n, *base.shape[:-1])


class _Solved:
    """z (n, rows, seen); mean (n, rows, hidden) of the hidden cells, unconditional; cross L_hs, factor L_hh and log_det
    log |L_ss|, with a leading axis where Σ varies."""

    def __init__(self, law: Any, base: np.ndarray, each: Pattern, n: int) -> None:
        d, s = base.shape[-1], each.seen.size
        order = np.concatenate([each.seen, each.hidden])
        L = np.linalg.cholesky(np.asarray(law.covariance)[..., order[:, None], order])
        mean = np.broadcast_to(law.mean, (n, *base.shape)).reshape(n, -1, d)[:, each.rows]
        away = base.reshape(-1, d)[np.ix_(each.rows, each.seen)] - mean[..., each.seen]
        self.z = np.linalg.solve(L[..., :s, :s], away.swapaxes(-1, -2)).swapaxes(-1, -2)
        self.mean, self.cross, self.factor = mean[..., each.hidden], L[..., s:, :s], L[..., s:, s:]
        log_det = np.log(np.diagonal(L, axis1=-2, axis2=-1)[..., :s]).sum(axis=-1)
        self.log_det = np.reshape(log_det, (-1, 1))  # one for each draw, or one for all
