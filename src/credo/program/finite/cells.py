"""Log densities cell by cell, as operations: `cell_density`, log p(x_i | parameters), and `log_mass`, log p.

A sum over states needs the density of every cell apart; elsewhere `density.log_density` adds them up at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import digamma

from credo.distributions.slopes import slopes, unchecked, value_slope
from credo.program.density import by_logit, has_logit, is_opaque
from credo.program.nodes import Node, as_node
from credo.program.ops import OPS, Op, aligned, unbroadcast

__all__ = ["cell_density", "trailing"]

Array = np.ndarray
Static = dict[str, Any]


def cell_density(law: Any, x: Node) -> Node:
    """The node of log p(x), one entry a cell: a vector of a multivariate law is one cell."""
    if has_logit(law):
        return by_logit(law, x)
    if is_opaque(law):
        return Node("cell_density", [x], shape=x.shape, dims=x.dims, static={"law": law})
    names = [name for name, value in law.parameters.items() if value is not None]
    parents = [x, *(as_node(law.parameters[name]) for name in names)]
    event = law.event_ndim
    back = [event, *(trailing(type(law), name) for name in names)]
    shape = np.broadcast_shapes(*(p.shape[: p.ndim - b] for p, b in zip(parents, back)))
    static = {"family": type(law), "names": names, "event": back}
    return Node("cell_density", parents, shape=shape, dims=(None,) * len(shape), static=static)


def trailing(family: Any, name: str) -> int:
    """Axes of a parameter that belong to one cell."""
    if _name(family) == "Categorical":
        return 1
    if not family.event_ndim or name == "n":
        return 0
    return 2 if name == "covariance" else int(family.event_ndim)


def _name(family: Any) -> str:
    return family.__name__ if isinstance(family, type) else type(family).__name__


def _forward(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    if "law" in static:
        return np.asarray(static["law"].log_prob(values[0]))
    family, names = static["family"], static["names"]
    with np.errstate(all="ignore"):
        if any(lead) and "covariance" in names and lead[-1]:  # one matrix a draw: each is factored
            n = next(len(v) for v, has in zip(values, lead) if has)
            rows = ([v[i] if has else v for v, has in zip(values, lead)] for i in range(n))
            return np.array([unchecked(family, dict(zip(names, row[1:]))).log_prob(row[0]) for row in rows])
        ndims = [np.ndim(v) - bool(has) - back for v, has, back in zip(values, lead, static["event"])]
        if any(lead):
            values = _with_draws(values, lead, ndims)
        return np.asarray(unchecked(family, dict(zip(names, values[1:]))).log_prob(values[0]))


def _with_draws(values: Sequence[Array], lead: Sequence[bool], ndims: Sequence[int]) -> list[Array]:
    """Batch axes lined up behind the draws'; axes of one cell are the last, whatever their number."""
    return aligned(values, lead, ndims)


def _pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> list[Array | None]:
    if "law" in static:
        return [g * value_slope(static["law"], values[0])]
    family, names, varies = static["family"], static["names"], static["varies"]
    special = _EVENTS.get(family.__name__)
    if special is not None:
        return [_back(s, v) if has else None for s, v, has in zip(special(g, *values), values, varies)]
    wanted = [name for name, has in zip(("x", *names), varies) if has]
    found = slopes(family, dict(zip(names, values[1:])), values[0], wanted)
    return [_back(g * found[name], v) if name in found else None for name, v in zip(("x", *names), values)]


def _back(gradient: Any, value: Array) -> Array | None:
    """What did not matter gets no slope, even where the density is 0 or has none."""
    if gradient is None:
        return None
    if np.isnan(gradient).any():
        gradient = np.nan_to_num(gradient, nan=0.0)
    return unbroadcast(gradient, np.shape(value))


def _categorical(g: Array, x: Array, p: Array) -> Sequence[Any]:
    chosen = np.expand_dims(x, -1) == np.arange(p.shape[-1])
    return None, np.where(chosen & (p > 0.0), np.expand_dims(g, -1) / np.where(p > 0.0, p, 1.0), 0.0)


def _multinomial(g: Array, x: Array, n: Array, p: Array) -> Sequence[Any]:
    return None, None, np.where(x > 0, np.expand_dims(g, -1) * x / p, 0.0)


def _multivariate_normal(g: Array, x: Array, mean: Array, covariance: Array) -> Sequence[Any]:
    residual = x - mean
    flat, weight = residual.reshape(-1, residual.shape[-1]), np.ravel(np.broadcast_to(g, residual.shape[:-1]))
    solved = np.linalg.solve(covariance, flat.T).T
    by_covariance = 0.5 * ((solved * weight[:, None]).T @ solved - weight.sum() * np.linalg.inv(covariance))
    by_mean = (solved * weight[:, None]).reshape(residual.shape)
    return -by_mean, by_mean, by_covariance


def _dirichlet(g: Array, x: Array, a: Array) -> Sequence[Any]:
    g = np.expand_dims(g, -1)
    return g * (a - 1.0) / x, g * (digamma(a.sum(-1, keepdims=True)) - digamma(a) + np.log(x))


def _dirichlet_multinomial(g: Array, x: Array, n: Array, a: Array) -> Sequence[Any]:
    total = a.sum(-1, keepdims=True)
    by_a = digamma(total) - digamma(total + np.expand_dims(n, -1)) + digamma(a + x) - digamma(a)
    return None, None, np.expand_dims(g, -1) * by_a


_EVENTS: dict[str, Callable[..., Sequence[Any]]] = {
    "Categorical": _categorical, "Multinomial": _multinomial, "MultivariateNormal": _multivariate_normal,
    "Dirichlet": _dirichlet, "DirichletMultinomial": _dirichlet_multinomial,
}  # fmt: skip


def _log_mass(values: Sequence[Array], lead: Sequence[bool], static: Static) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(values[0])


def _log_mass_pull(g: Array, out: Array, values: Sequence[Array], static: Static) -> Sequence[Array]:
    """1/p, but 0 at p = 0: what is impossible has no weight."""
    p = values[0]
    return (np.where(p > 0.0, g / np.where(p > 0.0, p, 1.0), 0.0),)


OPS["cell_density"] = Op("cell_density", _forward, _pull)
OPS["log_mass"] = Op("log_mass", _log_mass, _log_mass_pull, elementwise=True)
