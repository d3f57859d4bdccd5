"""Log likelihoods of regressions by better routes than their laws' own: stable far out, and a third of the time.

`density` asks here first. Each is for an observed vector x of known numbers, and one for a latent simplex:

    Poisson of rate e^η                                   Σ x η − e^η, with e^η for the slope too
    Bernoulli, Binomial of probability 1/(1 + e^−η)       Σ x η − n log(1 + e^η), likewise
    Bernoulli, Binomial with a probit or cloglog link     log Φ(±η); log(1 − exp(−e^η)), −e^η
    Categorical of ordered categories                     log(F(b) − F(a)), a and b the cut-points about x only
    NegativeBinomial, mean m and shape s                  Σ log Γ(x + s)/Γ(s) as Σ_j #{x > j} log(s + j)
    Beta, Gamma                                           log x and log(1 − x) once
    ZeroInflatedPoisson                                   zeros apart from the others
    Dirichlet of known α                                  Σ (α − 1) log x and a constant
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from credo.program.nodes import Node, apply, as_node
from credo.program.ops import OPS, Op, unbroadcast

__all__ = ["likelihood_of"]

Array = np.ndarray
# Counts beyond that are summed by log Γ: few of them lie close together.
MOST_COUNTS = 400


def likelihood_of(law: Any, x: Node) -> Node | None:
    """The node of Σ log p(x) by a better route, or None."""
    if type(law).__name__ == "Dirichlet" and isinstance(law.concentration, np.ndarray) and x.ndim == 1:
        alpha = np.asarray(law.concentration, dtype=np.float64)
        constant = float(scipy.special.gammaln(alpha.sum()) - scipy.special.gammaln(alpha).sum())
        return _scalar("dirichlet_density", [x], {"power": alpha - 1.0, "constant": constant})
    if x.kind != "observed" or x.value is None or x.ndim != 1 or not np.isfinite(x.value).all():
        return None
    name = type(law).__name__
    if name != "Categorical" and any(v.ndim > 1 for v in law.parameters.values() if isinstance(v, Node)):
        return None
    if name in ("Bernoulli", "Binomial") and isinstance(law.p, Node) and law.p.kind in ("ndtr", "inv_cloglog"):
        return _by_link(law, x)
    if name == "Categorical" and isinstance(law.p, Node) and law.p.kind == "ordinal" and law.p.parents[0].ndim == 1:
        eta, cuts = law.p.parents
        return _scalar("ordinal_likelihood", [x, eta, cuts], {"link": law.p.static["link"]})
    if name == "Poisson" and (eta := _log_rate(law.rate)) is not None:
        return _scalar(
            "poisson_likelihood", [eta], {"x": x.value, "constant": float(scipy.special.gammaln(x.value + 1.0).sum())}
        )
    if name in ("Bernoulli", "Binomial") and isinstance(law.p, Node) and law.p.kind == "expit":
        return _by_logit(law, x)
    if name == "NegativeBinomial" and x.value.max() <= MOST_COUNTS:
        return _negative_binomial(as_node(law.mean), as_node(law.shape), x)
    if name == "Beta" and isinstance(law.a, Node) and isinstance(law.b, Node) and ((x.value > 0) & (x.value < 1)).all():
        static = {"log": np.log(x.value), "log1m": np.log1p(-x.value)}
        return _scalar("beta_likelihood", [law.a, law.b], static)
    if name == "Gamma" and (x.value > 0.0).all():
        static = {"x": x.value, "log": np.log(x.value)}
        return _scalar("gamma_likelihood", [as_node(law.shape), as_node(law.rate)], static)
    if name == "ZeroInflatedPoisson" and as_node(law.rate).ndim == 1 and as_node(law.zi).is_scalar:
        static = {"x": x.value, "constant": float(scipy.special.gammaln(x.value + 1.0).sum())}
        return _scalar("zero_inflated_likelihood", [as_node(law.rate), as_node(law.zi)], static)
    return None


def _scalar(kind: str, parents: list[Node], static: dict[str, Any]) -> Node:
    return Node(kind, parents, shape=(), dims=(), static=static)


def _beside(values: Sequence[Array], lead: Sequence[bool]) -> list[Array]:
    """Parameters beside the rows of x: each draw's one number as (S, 1)."""
    return [v[:, None] if has and np.ndim(v) == 1 else v for v, has in zip(values, lead)]


def _by_link(law: Any, x: Node) -> Node:
    """Σ y log p + (n − y) log(1 − p) + log C(n, y)."""
    eta, probit = law.p.parents[0], law.p.kind == "ndtr"
    n: Any = as_node(law.n) if type(law).__name__ == "Binomial" else 1.0
    one = apply("log_ndtr", eta) if probit else apply("log1mexp", -apply("exp", eta))
    other = apply("log_ndtr", -eta) if probit else -apply("exp", eta)
    total = x * one + (n - x) * other
    if type(law).__name__ == "Binomial":
        total = total + apply("gammaln", n + 1.0) - apply("gammaln", x + 1.0) - apply("gammaln", n - x + 1.0)
    return total.sum()


def _log_rate(rate: Any) -> Node | None:
    """η of e^η, or of c e^η for known c > 0."""
    if not isinstance(rate, Node):
        return None
    if rate.kind == "exp":
        return rate.parents[0]
    if rate.kind != "multiply":
        return None
    for known, other in (rate.parents, rate.parents[::-1]):
        if other.kind == "exp" and known.kind in ("data", "constant") and np.all(np.asarray(known.value) > 0.0):
            return other.parents[0] + apply("log", known)
    return None


def _poisson(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    (eta,), x = _beside(values, lead), static["x"]
    with np.errstate(all="ignore"):
        return (np.where(x > 0.0, x * eta, 0.0) - np.exp(eta)).sum(axis=-1) - static["constant"]


def _poisson_linear(values: Sequence[Array], static: dict[str, Any]) -> tuple[Array, Any]:
    eta, x = values[0], static["x"]
    with np.errstate(all="ignore"):
        rate = np.exp(eta)
        value = np.vdot(x, eta) - rate.sum() - static["constant"] if eta.ndim else np.array(np.nan)
        value = value if value == value else _poisson(values, (False,), static)  # one η, or of −∞
    return value, lambda g: [unbroadcast(g * (x - rate), eta.shape)]


def _by_logit(law: Any, x: Node) -> Node:
    """With n as a second parent, of a Binomial."""
    n = as_node(law.n) if type(law).__name__ == "Binomial" else None
    if n is None:
        return _scalar("logit_likelihood", [law.p.parents[0]], {"x": x.value})
    choose = apply("gammaln", n + 1.0) - apply("gammaln", x + 1.0) - apply("gammaln", n - x + 1.0)
    return _scalar("logit_likelihood", [law.p.parents[0], n], {"x": x.value}) + choose.sum()


def _logits(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    eta, *n = _beside(values, lead)
    total = np.logaddexp(0.0, eta)
    return (static["x"] * eta - (n[0] * total if n else total)).sum(axis=-1)


def _logits_linear(values: Sequence[Array], static: dict[str, Any]) -> tuple[Array, Any]:
    (eta, *n), x = values, static["x"]
    e = np.exp(-np.abs(eta))
    total, above = np.log1p(e) + np.maximum(eta, 0.0), 1.0 / (1.0 + e)
    p = np.where(eta >= 0.0, above, e * above)
    value = (x * eta - (n[0] * total if n else total)).sum()
    return value, lambda g: [unbroadcast(g * (x - (n[0] * p if n else p)), eta.shape), *(None for _ in n)]


def _pull_of(linear: Any) -> Any:
    return lambda g, out, values, static: linear(values, static)[1](g)


# ordered categories ---------------------------------------------------------------------------------------------------


def _edges(x: Array, eta: Array, cuts: Array) -> tuple[Array, Array]:
    """Cut-points below and above x, less η; ∓∞ at the ends."""
    padded = np.concatenate(
        [np.full((*cuts.shape[:-1], 1), -np.inf), cuts, np.full((*cuts.shape[:-1], 1), np.inf)], axis=-1
    )
    k = x.astype(np.intp)
    return padded[..., k] - eta, padded[..., k + 1] - eta


def _log_between(a: Array, b: Array, link: str) -> Array:
    """log(F(b) − F(a)), a < b."""
    if link == "logit":  # F(b) (1 − F(a)) (1 − e^{a−b})
        return -np.logaddexp(0.0, -b) - np.logaddexp(0.0, a) + np.log(-np.expm1(a - b))
    if link == "cloglog":  # e^{−e^a} (1 − exp(e^a − e^b))
        low = np.exp(a)
        return -low + np.log(-np.expm1(low - np.exp(b)))
    swap = a > 0.0  # the tail that keeps its digits
    low, high = np.where(swap, -b, a), np.where(swap, -a, b)
    top = scipy.special.log_ndtr(high)
    return top + np.log(-np.expm1(scipy.special.log_ndtr(low) - top))


def _log_slope(at: Array, link: str) -> Array:
    """log F'."""
    if link == "logit":
        return -np.logaddexp(0.0, at) - np.logaddexp(0.0, -at)
    if link == "cloglog":
        return at - np.exp(at)
    return -0.5 * at * at - 0.5 * np.log(2.0 * np.pi)


def _ordinal(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    x, eta, cuts = values
    with np.errstate(all="ignore"):
        a, b = _edges(x, eta, cuts)
        return _log_between(a, b, static["link"]).sum(axis=-1)


def _ordinal_pull(g: Any, out: Any, values: Sequence[Array], static: dict[str, Any]) -> list[Array | None]:
    x, eta, cuts = values
    link = static["link"]
    with np.errstate(all="ignore"):
        a, b = _edges(x, eta, cuts)
        log_p = _log_between(a, b, link)
        below = np.where(np.isfinite(a), np.exp(_log_slope(np.where(np.isfinite(a), a, 0.0), link) - log_p), 0.0)
        above = np.where(np.isfinite(b), np.exp(_log_slope(np.where(np.isfinite(b), b, 0.0), link) - log_p), 0.0)
    k, m = x.astype(np.intp), len(cuts)
    by_cut = np.bincount(k, weights=above, minlength=m + 1)[:m] - np.bincount(k, weights=below, minlength=m + 1)[1:]
    return [None, unbroadcast(g * (below - above), eta.shape), g * by_cut]


# counts and shares ----------------------------------------------------------------------------------------------------


def _negative_binomial(mean: Node, shape: Node, x: Node) -> Node:
    """Σ_j T_j log(1 + j/s) + Σ x log m − (x + s) log(1 + m/s) − log x!, T_j = #{x > j}: s → ∞ is the Poisson."""
    assert x.value is not None
    counts = np.bincount(x.value.astype(np.intp))
    static = {"above": (len(x.value) - np.cumsum(counts))[:-1].astype(np.float64), "x": x.value,
              "constant": float(scipy.special.gammaln(x.value + 1.0).sum())}  # fmt: skip
    return _scalar("negative_binomial_likelihood", [mean, shape], static)


def _counts(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    m, s = _beside(values, lead)
    x, above = static["x"], static["above"]
    with np.errstate(all="ignore"):
        each = scipy.special.xlogy(x, m) - (x + s) * np.log1p(m / s)
        if np.ndim(values[1]) == bool(lead[1]):  # one shape: (), or (S,)
            over = np.log1p(np.arange(len(above)) / np.asarray(values[1])[..., None]) @ above
        else:
            over = (scipy.special.gammaln(x + s) - scipy.special.gammaln(s) - x * np.log(s)).sum(axis=-1)
        return each.sum(axis=-1) + over - static["constant"]


def _counts_pull(g: Any, out: Any, values: Sequence[Array], static: dict[str, Any]) -> list[Array | None]:
    m, s = values
    x, above = static["x"], static["above"]
    with np.errstate(all="ignore"):
        by_mean = x / m - (x + s) / (s + m)
        by_shape = (x + s) * m / (s * (s + m)) - np.log1p(m / s)
        if s.ndim == 0:
            j = np.arange(len(above))
            total = by_shape.sum() - above @ (j / (s * (s + j)))
        else:
            total = unbroadcast(by_shape + scipy.special.digamma(x + s) - scipy.special.digamma(s) - x / s, s.shape)
    return [unbroadcast(g * by_mean, m.shape), g * total]


def _shares(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    a, b = _beside(values, lead)
    with np.errstate(all="ignore"):
        return ((a - 1.0) * static["log"] + (b - 1.0) * static["log1m"] - scipy.special.betaln(a, b)).sum(axis=-1)


def _shares_pull(g: Any, out: Any, values: Sequence[Array], static: dict[str, Any]) -> list[Array | None]:
    a, b = values
    with np.errstate(all="ignore"):
        total = scipy.special.digamma(a + b)
        by_a, by_b = (
            static["log"] - scipy.special.digamma(a) + total,
            static["log1m"] - scipy.special.digamma(b) + total,
        )
    return [unbroadcast(g * by_a, a.shape), unbroadcast(g * by_b, b.shape)]


def _positive(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    a, r = _beside(values, lead)
    with np.errstate(all="ignore"):
        return (a * np.log(r) - scipy.special.gammaln(a) + (a - 1.0) * static["log"] - r * static["x"]).sum(axis=-1)


def _positive_pull(g: Any, out: Any, values: Sequence[Array], static: dict[str, Any]) -> list[Array | None]:
    a, r = values
    with np.errstate(all="ignore"):
        by_shape, by_rate = np.log(r) - scipy.special.digamma(a) + static["log"], a / r - static["x"]
    return [unbroadcast(g * by_shape, a.shape), unbroadcast(g * by_rate, r.shape)]


def _zeros(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    """Σ_{x=0} log(π + (1 − π) e^−λ) + Σ_{x>0} log(1 − π) + x log λ − λ − log x!"""
    rate, zi = values
    x, zero = static["x"], static["x"] == 0
    some = x[~zero]
    with np.errstate(all="ignore"):
        column = zi[..., None]
        none = np.log(column + (1.0 - column) * np.exp(-rate[..., zero])).sum(axis=-1)
        mean = rate[..., ~zero]
        return none + len(some) * np.log1p(-zi) + (some * np.log(mean) - mean).sum(axis=-1) - static["constant"]


def _zeros_pull(g: Any, out: Any, values: Sequence[Array], static: dict[str, Any]) -> list[Array | None]:
    rate, zi = values
    x, zero = static["x"], static["x"] == 0
    with np.errstate(all="ignore"):
        q = np.exp(-rate)
        p0 = zi + (1.0 - zi) * q
        by_rate = np.where(zero, -(1.0 - zi) * q / p0, x / rate - 1.0)
        by_zi = np.sum((1.0 - q[zero]) / p0[zero]) - np.count_nonzero(~zero) / (1.0 - zi)
    return [g * by_rate, np.asarray(g * by_zi)]


def _simplex(values: Sequence[Array], lead: Sequence[bool], static: dict[str, Any]) -> Array:
    with np.errstate(all="ignore"):
        return scipy.special.xlogy(static["power"], values[0]).sum(axis=-1) + static["constant"]


def _simplex_pull(g: Any, out: Any, values: Sequence[Array], static: dict[str, Any]) -> list[Array | None]:
    with np.errstate(all="ignore"):
        return [g * np.where(static["power"] == 0.0, 0.0, static["power"] / values[0])]


for _op in (
    Op("poisson_likelihood", _poisson, _pull_of(_poisson_linear), linear=_poisson_linear),
    Op("logit_likelihood", _logits, _pull_of(_logits_linear), linear=_logits_linear),
    Op("dirichlet_density", _simplex, _simplex_pull),
    Op("gamma_likelihood", _positive, _positive_pull),
    Op("zero_inflated_likelihood", _zeros, _zeros_pull),
    Op("negative_binomial_likelihood", _counts, _counts_pull),
    Op("beta_likelihood", _shares, _shares_pull),
    Op("ordinal_likelihood", _ordinal, _ordinal_pull),
):
    OPS[_op.name] = _op
