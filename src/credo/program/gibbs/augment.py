"""Auxiliary latents that make a law Normal given them, so that what stands in its mean is part of a Gaussian block.

    StudentT(df, μ, s)          Normal(μ, s/√λ),    λ ~ Gamma(df/2, df/2)
    Laplace(μ, s)               Normal(μ, s √v),    v ~ Exponential(½)
    Bernoulli(expit η), Binomial(n, expit η), NegativeBinomial(mean exp η, shape s)
                                κ/ω ~ Normal(ψ, 1/√ω),    ω ~ Pólya–Gamma(n, 0)
    Bernoulli(Φ(η))             u ~ Normal(η, 1),   y = [u > 0]
    LogNormal(μ, s) of data     log y ~ Normal(μ, s)

Sources: Andrews and Mallows (1974), JRSS B 36; Albert and Chib (1993), JASA 88; Polson, Scott and Windle (2013), JASA
108.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.distributions import Exponential, Gamma, Normal
from credo.distributions.support import POSITIVE, REAL
from credo.program.gibbs.picked import with_picks_spread
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node
from credo.program.passes.affine import dependencies
from credo.program.passes.collapse import Block, find_block
from credo.program.passes.powers import MOVES, Memo

__all__ = ["Augmented", "Auxiliary", "augmented"]


@dataclass(frozen=True, eq=False)
class Auxiliary:
    """node : the auxiliary latent; kind : "mixture" (it has a law), "polya_gamma" or "probit"; of : the factor as
    declared; parts : "shape", "tilt" and "half" (κ), or "mean", as the kind needs them; pair : for people"""

    node: Node
    kind: str
    of: Factor
    pair: str
    parts: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Augmented:
    """factors, latents : of the larger model, auxiliaries included; blocks : of Normal latents, each linear given the
    others; auxiliaries : in it"""

    factors: tuple[Factor, ...]
    latents: tuple[Node, ...]
    blocks: tuple[Block, ...]
    auxiliaries: tuple[Auxiliary, ...]


def augmented(factors: Sequence[Factor], latents: Sequence[Node]) -> Augmented:
    """The model with those auxiliaries that let a block grow."""
    memo: Memo = {}
    factors = with_picks_spread(factors, memo)
    trial = _rewritten(factors, latents, [True] * len(factors), memo)
    blocks = _blocks(trial.factors, trial.latents)
    helps = [any(block.touches(new) for block in blocks) for new in trial.factors[: len(factors)]]
    kept = _rewritten(factors, latents, helps, memo)
    return Augmented(kept.factors, kept.latents, tuple(_blocks(kept.factors, kept.latents)), kept.auxiliaries)


def _blocks(factors: Sequence[Factor], latents: Sequence[Node]) -> list[Block]:
    """Blocks one after another: what conflicts with the first may be linear by itself, as u and v in u·v."""
    left, found = [node for node in latents if node.law is not None], []
    while left:
        block = find_block(factors, left)
        if not block.nodes:
            break
        found.append(block)
        inside = {node.number for node in block.nodes}
        left = [node for node in left if node.number not in inside]
    return found


def _rewritten(factors: Sequence[Factor], latents: Sequence[Node], wanted: Sequence[bool], memo: Memo) -> Augmented:
    own = {node.number: node for node in latents}
    new, more, extra = [], [], []
    for factor, is_wanted in zip(factors, wanted, strict=True):
        rule = _RULES.get(type(factor.law).__name__) if is_wanted else None
        found = rule(factor, memo) if rule is not None else None
        if found is None:
            new.append(factor)
            continue
        changed, auxiliary = found
        new.append(changed)
        if factor.node.number in own:
            own[factor.node.number] = _as_normal(factor.node, changed.law)
        if auxiliary is not None:
            more.append(auxiliary)
            if auxiliary.node.law is not None:
                extra.append(Factor(str(auxiliary.node.name), auxiliary.node.law, auxiliary.node, False))
    nodes = [*own.values(), *(auxiliary.node for auxiliary in more)]
    return Augmented((*new, *extra), tuple(nodes), (), tuple(more))


def _as_normal(node: Node, law: Any) -> Node:
    """The same latent node, its law now Normal given the auxiliary: it keeps its number."""
    twin = Node("latent", node.parents, shape=node.shape, dims=node.dims, name=node.name, law=law,
                static=node.static, model=node.model)  # fmt: skip
    twin.number = node.number
    return twin


def _latent(factor: Factor, suffix: str, law: Any, support: Any) -> Node:
    node = factor.node
    return Node("latent", (), shape=node.shape, dims=node.dims, name=f"{factor.name}_{suffix}", law=law,
                static={"support": support})  # fmt: skip


def _normal(factor: Factor, node: Node, mean: Any, sd: Node) -> Factor:
    return Factor(factor.name, Normal(mean, sd), node, factor.observed, factor.missing, factor.hidden)


Found = tuple[Factor, Auxiliary | None]


def _student_t(factor: Factor, memo: Memo) -> Found | None:
    law: Any = factor.law
    half = as_node(law.df) * 0.5
    scale = _latent(factor, "precision", Gamma(shape=half, rate=half), POSITIVE)
    sd = apply("divide", law.scale, apply("sqrt", scale))
    pair = "Student-t as a Normal of Gamma precision"
    return _normal(factor, factor.node, law.mean, sd), Auxiliary(scale, "mixture", factor, pair)


def _laplace(factor: Factor, memo: Memo) -> Found | None:
    law: Any = factor.law
    scale = _latent(factor, "variance", Exponential(0.5), POSITIVE)
    sd = apply("multiply", law.scale, apply("sqrt", scale))
    pair = "Laplace as a Normal of Exponential variance"
    return _normal(factor, factor.node, law.mean, sd), Auxiliary(scale, "mixture", factor, pair)


def _log_normal(factor: Factor, memo: Memo) -> Found | None:
    law: Any = factor.law
    if factor.node.kind != "observed":
        return None
    logs = Node("observed", (), shape=factor.node.shape, dims=factor.node.dims, name=factor.name,
                value=np.log(np.asarray(factor.node.value, dtype=np.float64)), model=factor.node.model)  # fmt: skip
    return _normal(factor, logs, law.mu, as_node(law.sigma)), None


def _binomial(factor: Factor, memo: Memo) -> Found | None:
    law: Any = factor.law
    y, p = factor.node, as_node(law.p)
    trials = as_node(1.0 if type(law).__name__ == "Bernoulli" else law.n)
    if y.kind != "observed" or dependencies(trials, memo):
        return None
    sign, p = (-1.0, p.parents[1]) if _is_complement(p) else (1.0, p)
    link, eta = _link(p)
    eta = eta if sign > 0 else -eta
    if link == "ndtr" and type(law).__name__ == "Bernoulli":
        mean = eta
        hidden = _latent(factor, "utility", None, REAL)
        pair = "probit as the sign of a Normal"
        return _normal(factor, hidden, mean, as_node(1.0)), Auxiliary(hidden, "probit", factor, pair, {"mean": mean})
    return _polya_gamma(factor, trials, eta, as_node(y) - 0.5 * trials, eta, None) if link == "expit" else None


def _negative_binomial(factor: Factor, memo: Memo) -> Found | None:
    law: Any = factor.law
    y, (link, eta) = factor.node, _link(as_node(law.mean))
    if y.kind != "observed" or link != "exp":
        return None
    shape = as_node(law.shape)
    log_shape = apply("log", shape)
    return _polya_gamma(factor, y + shape, eta - log_shape, 0.5 * (y - shape), eta, log_shape)


def _polya_gamma(factor: Factor, shape: Node, tilt: Node, half: Node, mean: Node, shift: Node | None) -> Found:
    omega = _latent(factor, "weight", None, POSITIVE)
    target = apply("divide", half, omega)
    target = target if shift is None else target + shift
    sd = apply("divide", 1.0, apply("sqrt", omega))
    auxiliary = Auxiliary(omega, "polya_gamma", factor, "logit as a Normal of Pólya–Gamma precision",
                          {"shape": shape, "tilt": tilt, "half": half})  # fmt: skip
    return _normal(factor, target, mean, sd), auxiliary


def _link(value: Node) -> tuple[str, Node]:
    """f, η of f(η), where cells may have been moved after f: f(η)[g] is f(η[g])."""
    moves = []
    while value.kind in MOVES:
        moves.append(value)
        value = value.parents[0]
    link, eta = value.kind, value.parents[0] if len(value.parents) == 1 else value
    for each in reversed(moves):
        if each.kind != "identity":
            eta = Node(each.kind, [eta, *each.parents[1:]], shape=each.shape, dims=each.dims, static=each.static)
    return link, eta


def _is_complement(p: Node) -> bool:
    """1 − p."""
    return p.kind == "subtract" and p.parents[0].kind == "constant" and bool(np.all(p.parents[0].value == 1.0))


_RULES: dict[str, Callable[[Factor, Memo], Found | None]] = {
    "StudentT": _student_t, "Laplace": _laplace, "LogNormal": _log_normal, "Bernoulli": _binomial,
    "Binomial": _binomial, "NegativeBinomial": _negative_binomial,
}  # fmt: skip
