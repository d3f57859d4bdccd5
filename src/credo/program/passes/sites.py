"""Sites: observed cells y_i ~ p(y_i | η_i, ψ) whose one parameter is a known link of an expression η of the block.

`recognised` reads η and ψ off the law as it was declared: a Poisson rate exp(η), or exposure · exp(η), whose logarithm
is an offset; a probability expit(η), Φ(η), 1 − exp(−exp η), or one minus these; a Gamma whose shape over rate is
exp(η); a Beta(μφ, (1 − μ)φ) with μ = expit(η); and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node, described
from credo.program.passes.affine import Affine, NotAffineError, same_expression

__all__ = ["SiteForm", "recognised"]


@dataclass(frozen=True, eq=False)
class SiteForm:
    """law : name in `credo.distributions.sites`, made with `known`; y : its values; eta, psi : expressions of the
    block and of θ, and of θ alone: one a row or for all, but for cut-points, which are a vector for all. Where a law
    has several predictors, eta has an axis before those of y"""

    law: str
    y: np.ndarray
    eta: Node
    psi: tuple[Node, ...] = ()
    known: tuple[Any, ...] = ()

    @property
    def psi_rowwise(self) -> bool:
        """Whether some of ψ differs from row to row."""
        return not self.law.startswith("Ordinal") and any(not node.is_scalar for node in self.psi)


class _NoLinkError(Exception):
    """An expression is no known function of a linear one."""


def recognised(factor: Factor, forms: Affine) -> SiteForm:
    """What kind of site a factor is; `NotAffineError` tells why it is none."""
    law: Any = factor.law
    name = type(law).__name__
    touched = frozenset().union(*(forms.in_block(part) for part in factor.parts))
    rule = _RULES.get(name)
    if rule is None or not factor.observed or factor.node.kind != "observed":
        raise NotAffineError(f"{factor.name} is {name}, not Normal, given it", [touched])
    try:
        return rule(law, np.asarray(factor.node.value, dtype=np.float64), forms)
    except _NoLinkError as error:
        raise NotAffineError(f"{factor.name} is {name} and {error}", [touched]) from None


def _free(name: str, node: Any, forms: Affine) -> Node:
    """A parameter that must not depend on the block."""
    node = as_node(node)
    if forms.in_block(node):
        raise NotAffineError(f"{name} depends on it", [forms.in_block(node)])
    return node


# -- positive expressions ----------------------------------------------------------------------------------------------

_MOVES = frozenset({"take", "pick", "slice", "reshape", "transpose"})


def _log(node: Node, forms: Affine) -> Node:
    """log of a positive expression, taken apart where the block is in it."""
    if node.kind == "exp":
        return node.parents[0]
    if node.kind == "identity":
        return _log(node.parents[0], forms)
    if not forms.in_block(node):
        if not forms.depends(node) and np.any(forms.value(node) < 0.0):
            raise _NoLinkError(f"{described(node)} is negative")
        return apply("log", node)
    if node.kind in ("multiply", "divide"):
        a, b = (_log(parent, forms) for parent in node.parents)
        return apply("add" if node.kind == "multiply" else "subtract", a, b)
    if node.kind in ("square", "sqrt"):
        return (2.0 if node.kind == "square" else 0.5) * _log(node.parents[0], forms)
    if node.kind == "power" and not forms.in_block(node.parents[1]):
        return node.parents[1] * _log(node.parents[0], forms)
    if node.kind in _MOVES:
        return _moved(node, [_log(node.parents[0], forms)])
    if node.kind == "concat":
        return _moved(node, [_log(parent, forms) for parent in node.parents])
    raise _NoLinkError(f"{described(node)} is not exp of a linear expression")


def _moved(node: Node, inner: Sequence[Node]) -> Node:
    """The same move of cells, of what is inside of a function."""
    parents = [*inner, *node.parents[len(inner) :]]
    return Node(node.kind, parents, shape=node.shape, dims=node.dims, static=node.static, model=node.model)


# -- probabilities -----------------------------------------------------------------------------------------------------

_LINKS = {"expit": "Logit", "ndtr": "Probit"}


def _probability(node: Node, forms: Affine) -> tuple[str, Node, bool]:
    """(link, η, whether it is the probability of the other outcome)."""
    if node.kind in _LINKS:
        return _LINKS[node.kind], node.parents[0], False
    if node.kind == "inv_cloglog":
        return "Cloglog", node.parents[0], False
    if node.kind == "identity":
        return _probability(node.parents[0], forms)
    if node.kind in _MOVES:
        link, eta, other = _probability(node.parents[0], forms)
        return link, _moved(node, [eta]), other
    if node.kind == "concat":
        parts = [_probability(parent, forms) for parent in node.parents]
        if len({(link, other) for link, _, other in parts}) == 1:
            return parts[0][0], _moved(node, [eta for _, eta, _ in parts]), parts[0][2]
    if node.kind == "subtract" and _is_one(node.parents[0]):
        link, eta, other = _probability(node.parents[1], forms)
        return link, _broadcast(eta, node), not other
    if node.kind == "multiply":  # by ones: a probability repeated over more cells
        for ones, inner in (node.parents, node.parents[::-1]):
            if _is_one(ones):
                link, eta, other = _probability(inner, forms)
                return link, _broadcast(eta, node), other
    if node.kind in ("exp", "expm1", "negative"):  # exp(−exp η), and one minus it
        inner = node.parents[0] if node.kind == "negative" else node
        if inner.kind in ("exp", "expm1") and (inner.kind == "expm1") == (node.kind == "negative"):
            return "Cloglog", _log(_opposite(inner.parents[0]), forms), node.kind == "exp"
    if node.kind == "divide" and _is_one(node.parents[0]) and node.parents[1].kind == "add":  # 1/(1 + e^−η)
        for one, rest in (node.parents[1].parents, node.parents[1].parents[::-1]):
            if _is_one(one):
                return "Logit", -_log(rest, forms), False
    raise _NoLinkError(f"{described(node)} is no known link of a linear expression")


def _is_one(node: Node) -> bool:
    return node.kind == "constant" and bool(np.all(np.asarray(node.value) == 1.0))


def _broadcast(eta: Node, like: Node) -> Node:
    return eta if eta.shape == like.shape else apply("add", eta, np.zeros(like.shape))


def _opposite(node: Node) -> Node:
    """−x of an expression that is negative, without the sign."""
    if node.kind == "negative":
        return node.parents[0]
    if node.kind in ("multiply", "divide"):
        a, b = node.parents
        for k, part in enumerate((a, b)):
            if part.kind == "negative" or (part.kind == "constant" and np.all(np.asarray(part.value) < 0.0)):
                flipped = part.parents[0] if part.kind == "negative" else as_node(-np.asarray(part.value))
                return apply(node.kind, *((flipped, b) if k == 0 else (a, flipped)))
    return -node


def _binary(law: Any, y: np.ndarray, forms: Affine, name: str, known: tuple[Any, ...] = ()) -> SiteForm:
    link, eta, other = _probability(as_node(law.p), forms)
    if link == "Cloglog":
        if name != "Bernoulli":
            raise _NoLinkError("its link is the complementary log-log")
        return SiteForm("BernoulliCloglog", 1.0 - y if other else y, eta)
    return SiteForm(name + link, y, -eta if other else eta, known=known)


# -- laws --------------------------------------------------------------------------------------------------------------


def _bernoulli(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    return _binary(law, y, forms, "Bernoulli")


def _binomial(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    n = as_node(law.n)
    if forms.depends(n):
        raise _NoLinkError("its number of trials is not known")
    trials = np.broadcast_to(forms.value(n), y.shape).ravel()
    if np.any(trials < 1):
        raise _NoLinkError("some of its cells have no trials")
    return _binary(law, y, forms, "Binomial", (trials,))


def _poisson(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    return SiteForm("PoissonLog", y, _log(as_node(law.rate), forms))


def _exponential(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    return SiteForm("ExponentialLog", y, -_log(as_node(law.rate), forms))


def _gamma(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    shape = _free("its shape", law.shape, forms)
    return SiteForm("GammaLog", y, apply("log", shape) - _log(as_node(law.rate), forms), (shape,))


def _negative_binomial(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    shape = _free("its shape", law.shape, forms)
    return SiteForm("NegativeBinomialLog", y, _log(as_node(law.mean), forms), (shape,))


def _student_t(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    df, scale = (_free(f"its {name}", getattr(law, name), forms) for name in ("df", "scale"))
    return SiteForm("StudentT", y, as_node(law.mean), (df, scale))


def _beta(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    """Beta(μφ, (1 − μ)φ) with μ = expit(η)."""
    a, b = as_node(law.a), as_node(law.b)
    if a.kind == b.kind == "multiply":
        for mean, phi in (a.parents, a.parents[::-1]):
            for rest, again in (b.parents, b.parents[::-1]):
                if forms.in_block(phi) or not same_expression(phi, again):
                    continue
                first, second = _probability(mean, forms), _probability(rest, forms)
                if first[0] == second[0] == "Logit" and first[2] != second[2] and same_expression(first[1], second[1]):
                    return SiteForm("BetaLogit", y, -first[1] if first[2] else first[1], (phi,))
    raise _NoLinkError("its parameters are not μφ and (1 − μ)φ with μ = expit of a linear expression")


def _normal(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    """Normal(η₁, exp η₂): only where its sd is of the block."""
    mean = apply("add", as_node(law.mean), np.zeros(y.shape))
    log_sd = apply("add", _log(as_node(law.sd), forms), np.zeros(y.shape))
    return SiteForm("NormalLogScale", y, _stacked([mean, log_sd]))


def _stacked(parts: Sequence[Node]) -> Node:
    from credo.program import math

    return math.stack(*parts)


def _categorical(law: Any, y: np.ndarray, forms: Affine) -> SiteForm:
    """Classes by softmax; ordered ones, P = F(c_k − η) − F(c_{k−1} − η), an operation of formulas, with free
    cut-points."""
    p = as_node(law.p)
    if p.kind == "softmax" and p.static["axis"] in (-1, p.ndim - 1) and p.shape[:-1] == y.shape and p.ndim == 2:
        logits = p.parents[0]
        odds = [logits[:, k] - logits[:, 0] for k in range(1, p.shape[-1])]
        return SiteForm("CategoricalLogit", y, _stacked(odds), known=(p.shape[-1],))
    link = {"logit": "OrdinalLogit", "probit": "OrdinalProbit"}.get(p.static.get("link", ""))
    if p.kind != "ordinal" or link is None:
        raise _NoLinkError("its probabilities are not those of ordered classes")
    eta, cuts = p.parents
    return SiteForm(link, y, eta, (_free("its cut-points", cuts, forms),), (p.shape[-1],))


_RULES: dict[str, Callable[[Any, np.ndarray, Affine], SiteForm]] = {
    "Bernoulli": _bernoulli, "Binomial": _binomial, "Poisson": _poisson, "Exponential": _exponential, "Gamma": _gamma,
    "NegativeBinomial": _negative_binomial, "StudentT": _student_t, "Beta": _beta, "Categorical": _categorical,
    "Normal": _normal,
}  # fmt: skip
