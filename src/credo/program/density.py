"""Log densities as nodes: the operation `log_density` sums log p(x | parameters) over an array.

`joint_target` is the sum of such nodes as a function of the latent nodes, with its gradient. Densities of single cells
are in `finite.cells`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.distributions import Normal
from credo.distributions.base import Family
from credo.distributions.slopes import slopes, unchecked, value_slope
from credo.inference.target import Target
from credo.program.evaluate import Program
from credo.program.likelihoods import likelihood_of
from credo.program.nodes import Node, apply, as_node
from credo.program.ops import OPS, Op, aligned, unbroadcast
from credo.program.reasons import with_reasons
from credo.program.scalars import of_numbers

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))

__all__ = ["DISCRETE", "by_logit", "has_logit", "is_opaque", "joint_target", "log_density"]

#: families of counts and categories, whose values have no slope
DISCRETE = frozenset({"Poisson", "Bernoulli", "Binomial", "NegativeBinomial", "Categorical", "Geometric",
                      "BetaBinomial", "BetaNegativeBinomial", "Multinomial", "DirichletMultinomial"})  # fmt: skip


def is_opaque(law: Any) -> bool:
    """Whether its parameters are not all numbers or nodes: a truncated or mixed distribution, which is taken whole."""
    return any(
        isinstance(value, (Family, str))
        or (isinstance(value, (list, tuple)) and any(isinstance(v, Family) for v in value))
        for value in law.parameters.values()
    )


def log_density(law: Any, x: Node) -> Node:
    """The node of Σ log p(x) over all entries."""
    if (found := likelihood_of(law, x)) is not None:
        return found
    if has_logit(law):
        return by_logit(law, x).sum()
    if is_opaque(law):
        return Node("log_density", [x], shape=(), dims=(), static={"law": law, "family": type(law), "names": []})
    names = [name for name, value in law.parameters.items() if value is not None]
    parents = [x, *(as_node(law.parameters[name]) for name in names)]
    static = {"family": type(law), "names": names}
    return Node("log_density", parents, shape=(), dims=(), static=static)


def has_logit(law: Any) -> bool:
    """Whether its probability is 1/(1 + e^−η) of a node η."""
    return type(law).__name__ in ("Bernoulli", "Binomial") and isinstance(law.p, Node) and law.p.kind == "expit"


def by_logit(law: Any, x: Node) -> Node:
    """y η − n log(1 + e^η) + log C(n, y), finite for any logit η, where p = 1/(1 + e^−η) rounds to 0 or 1."""
    logit = law.p.parents[0]
    if type(law).__name__ == "Bernoulli":
        return x * logit - apply("softplus", logit)
    n = as_node(law.n)
    choose = apply("gammaln", n + 1.0) - apply("gammaln", x + 1.0) - apply("gammaln", n - x + 1.0)
    return x * logit - n * apply("softplus", logit) + choose


def _forward(values: Sequence[np.ndarray], lead: Sequence[bool], static: dict[str, Any]) -> np.ndarray:
    family, names = static["family"], static["names"]
    if "law" in static:
        each = np.asarray(static["law"].log_prob(values[0]))
        return each.reshape(len(each), -1).sum(axis=1) if lead[0] else each.sum()
    if not any(lead):
        if family is Normal:
            return _normal_sum(*values)
        return np.sum(unchecked(family, dict(zip(names, values[1:]))).log_prob(values[0]))
    with np.errstate(all="ignore"):
        if family.event_ndim:
            n = next(len(v) for v, has in zip(values, lead) if has)
            rows = ([v[i] if has else v for v, has in zip(values, lead)] for i in range(n))
            return np.array([np.sum(unchecked(family, dict(zip(names, row[1:]))).log_prob(row[0])) for row in rows])
        ndims = [np.ndim(v) - bool(has) for v, has in zip(values, lead)]
        if family.__name__ == "Categorical":  # the last axis of p is no axis of x
            ndims[1] -= 1
        x, *parameters = aligned(values, lead, ndims)
        each = np.asarray(unchecked(family, dict(zip(names, parameters))).log_prob(x))
        return each.reshape(len(each), -1).sum(axis=1)


def _pull(g: Any, out: Any, values: Sequence[np.ndarray], static: dict[str, Any]) -> list[np.ndarray | None]:
    family, names = static["family"], static["names"]
    if "law" in static:
        return [g * value_slope(static["law"], values[0])]
    if family.__name__ in _EVENTS:
        return [g * each for each in _EVENTS[family.__name__](*values)]
    if family is Normal:
        return _normal_pull(g, values, static["varies"])
    wanted = [name for name, varies in zip(("x", *names), static["varies"]) if varies]
    found = slopes(family, dict(zip(names, values[1:])), values[0], wanted)
    return [
        unbroadcast(g * found[name], value.shape) if name in found else None
        for name, value in zip(("x", *names), values)
    ]


def _dirichlet(x: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import digamma

    rows = x.size // x.shape[-1]
    by_a = digamma(a.sum(-1, keepdims=True)) - digamma(a) + np.log(x)
    return np.broadcast_to((a - 1.0) / x, x.shape), unbroadcast(by_a * np.ones((rows, 1)) if x.ndim == 2 else by_a,
                                                                 a.shape)  # fmt: skip


def _multivariate_normal(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, ...]:
    residual = np.atleast_2d(x - mean)
    solved = np.linalg.solve(covariance, residual.T).T
    inverse = np.linalg.inv(covariance)
    by_covariance = 0.5 * (solved.T @ solved - len(residual) * inverse)
    return (-solved.reshape(np.shape(x - mean)), unbroadcast(solved.reshape(np.shape(x - mean)), mean.shape),
            by_covariance)  # fmt: skip


def _normal_sum(x: Any, mean: Any, sd: Any) -> Any:
    """Σ log N(x; mean, sd): the case that a sampler meets most."""
    return _normal_of((x - mean) / sd, sd)


def _normal_of(z: Any, sd: Any) -> Any:
    spread = z.size * np.log(sd) if sd.ndim == 0 else np.log(sd).sum() * (z.size / sd.size)
    return -0.5 * np.vdot(z, z) - spread - z.size * HALF_LOG_2PI


def _linear(values: Sequence[np.ndarray], static: dict[str, Any]) -> tuple[Any, Any]:
    """The value and its pull; of a Normal, which share the residuals; of numbers, in plain floats."""
    if all(value.ndim == 0 for value in values) and (found := _of_floats(values, static)) is not None:
        value, slopes_of = found
        varies = static["varies"]
        return value, lambda g: [g * slope if has else None for slope, has in zip(slopes_of, varies)]
    if static["family"] is not Normal or "law" in static:
        out = _forward(values, (False,) * len(values), static)
        return out, lambda g: _pull(g, out, values, static)
    x, mean, sd = values
    z = (x - mean) / sd
    return _normal_of(z, sd), lambda g: _normal_slopes(g, z, values, static["varies"])


def _of_floats(values: Sequence[np.ndarray], static: dict[str, Any]) -> tuple[Any, list[Any]] | None:
    """None where the family has no such function, or not there."""
    one = of_numbers(static["family"].__name__, tuple(static["names"]))
    if one is None:
        return None
    try:
        value, found = one(*map(float, values))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return np.float64(value), [np.float64(slope) for slope in found]


def _normal_pull(g: Any, values: Sequence[np.ndarray], varies: Sequence[bool]) -> list[np.ndarray | None]:
    x, mean, sd = values
    return _normal_slopes(g, (x - mean) / sd, values, varies)


def _normal_slopes(g: Any, z: Any, values: Sequence[np.ndarray], varies: Sequence[bool]) -> list[np.ndarray | None]:
    x, mean, sd = values
    by_mean = g * z / sd
    return [
        unbroadcast(-by_mean, x.shape) if varies[0] else None,
        unbroadcast(by_mean, mean.shape) if varies[1] else None,
        unbroadcast(by_mean * z - g / sd, sd.shape) if varies[2] else None,
    ]


def _multinomial(x: np.ndarray, n: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
    by_p = np.where(x > 0, x / p, 0.0)
    return np.zeros(x.shape), np.zeros(n.shape), unbroadcast(by_p, p.shape)


def _categorical(x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
    chosen = np.expand_dims(x, -1) == np.arange(p.shape[-1])
    return np.zeros(x.shape), unbroadcast(np.where(chosen, 1.0 / p, 0.0), p.shape)


def _dirichlet_multinomial(x: np.ndarray, n: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    from scipy.special import digamma

    total = a.sum(-1, keepdims=True)
    by_a = digamma(total) - digamma(total + n[..., None]) + digamma(a + x) - digamma(a)
    return np.zeros(x.shape), np.zeros(n.shape), unbroadcast(by_a, a.shape)


_EVENTS: dict[str, Any] = {
    "Dirichlet": _dirichlet, "MultivariateNormal": _multivariate_normal, "Multinomial": _multinomial,
    "DirichletMultinomial": _dirichlet_multinomial, "Categorical": _categorical,
}  # fmt: skip
OPS["log_density"] = Op("log_density", _forward, _pull, linear=_linear)


def joint_target(
    terms: Sequence[Node], latents: Sequence[Node], data: Mapping[int, np.ndarray] | None = None
) -> Target:
    """The sum of scalar nodes as a density over latent nodes, in their own coordinates."""
    program = Program(terms, latents, data)
    shapes = {str(node.name): node.shape for node in latents}
    blocks: list[tuple[int, slice, tuple[int, ...]]] = []
    for node in latents:
        start = blocks[-1][1].stop if blocks else 0
        blocks.append((node.number, slice(start, start + node.size), node.shape))

    def inputs(x: np.ndarray) -> dict[int, np.ndarray]:
        return {number: x[at].reshape(shape) for number, at, shape in blocks}

    ones = [1.0] * len(terms)

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(all="ignore"):
            values, pull = program.value_and_pull(inputs(x))
            gradients = pull(ones)
        total = float(sum(values))
        return total, np.concatenate([gradients[number].ravel() for number, _, _ in blocks])

    target = Target(
        lambda x: float(np.sum(program.values(inputs(x)))),
        shapes,
        value_and_gradient=value_and_gradient,
        supports={str(node.name): node.support for node in latents},
        dims={str(node.name): node.axes for node in latents},
    )
    return with_reasons(target, terms, latents, data)
