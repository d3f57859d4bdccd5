"""Conjugate leaves: latent nodes whose law given the others stays in its family.

A Beta node behind Bernoulli, Binomial or Geometric data; a Gamma node behind whatever it is a rate or a precision of
(Poisson, Exponential, Gamma; Normal with sd = 1/√λ); an Inverse-Gamma node behind what it is a variance or a scale of
(Normal with sd = √v, Exponential of mean v); a Dirichlet node behind Categorical or Multinomial data. Uniform(0, 1) is
Beta(1, 1), and an Exponential is a Gamma of shape 1. The node may be picked by group codes, stand as 1 − p, be raised
to a power in any way of writing, and be multiplied by known numbers (`powers`, `kernels`). It is integrated out: what
is left of it is the log probability of its data as an expression of its own parameters, which may be latent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions import Beta, Dirichlet, Exponential, Family, Gamma, InverseGamma, Uniform
from credo.distributions.slopes import unchecked
from credo.program.evaluate import Program
from credo.program.forward import draw, law_at
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node
from credo.program.passes.affine import dependencies
from credo.program.passes.centring import substituted
from credo.program.passes.kernels import kernel_of
from credo.program.passes.powers import gathered, placed_probability, power_of

__all__ = ["Leaf", "conjugate_leaves"]


@dataclass(frozen=True, eq=False)
class Leaf:
    """node : the latent; posterior : its law given the data and its parameters; marginal : log p(data | parameters), a
    scalar node; factors : those accounted for, its own included; pair : the two families, for people"""

    node: Node
    posterior: Family
    marginal: Node
    factors: tuple[Factor, ...]
    pair: str

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    def draw(
        self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node], n: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        law = law_at(self.posterior, inputs, rest, n, self.node.ndim)
        return {str(self.node.name): np.asarray(draw(law, self.node.shape, n, rng))}

    def moments(
        self, inputs: Mapping[int, np.ndarray], rest: Mapping[int, Node], n: int
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        law: Any = law_at(self.posterior, inputs, rest, n, self.node.ndim)
        whole = (n, *self.node.shape)
        return {str(self.node.name): (np.broadcast_to(law.mean, whole), np.broadcast_to(law.sd, whole))}


@dataclass(frozen=True)
class _Seen:
    """Sums over a node's data, each of its shape: what its first and second parameter gain, and a constant."""

    first: np.ndarray
    second: np.ndarray
    constant: float


def conjugate_leaves(factors: Sequence[Factor], latents: Sequence[Node]) -> list[Leaf]:
    """All of them."""
    memo: dict[int, frozenset[int]] = {}
    found = []
    for node in latents:
        own = next((f for f in factors if f.node is node), None)
        children = [f for f in factors if f is not own and _depends(f, node, memo)]
        if own is None or not children or node.law is None or node.support != node.law.support:
            continue
        law = _by_its_family(own.law)
        rule = _PAIRS.get(type(law).__name__)
        seen = [None] if rule is None else [rule(child, node, memo) for child in children]
        if all(each is not None for each in seen):
            found.append(_leaf(own, law, children, seen))  # type: ignore[arg-type]
    return found


def _by_its_family(law: Any) -> Family:
    """The member of a conjugate family that a law is."""
    if type(law) is Exponential:
        return Gamma(shape=1.0, rate=law.rate)
    if type(law) is Uniform and not isinstance(law.low, Node) and not isinstance(law.high, Node):
        return Beta(1.0, 1.0) if np.all(np.equal(law.low, 0.0)) and np.all(np.equal(law.high, 1.0)) else law
    return law


def _depends(factor: Factor, node: Node, memo: dict[int, frozenset[int]]) -> bool:
    return any(node.number in dependencies(part, memo) for part in factor.parts)


def _leaf(own: Factor, law: Any, children: Sequence[Factor], seen: Sequence[_Seen]) -> Leaf:
    node = own.node
    first, second = sum(s.first for s in seen), sum(s.second for s in seen)
    constant = sum(s.constant for s in seen)
    kinds = sorted({type(child.law).__name__ for child in children})
    pair = f"{type(law).__name__}–{', '.join(kinds)}"
    if isinstance(law, Dirichlet):
        a = _whole(law.concentration, node)
        after: Family = Dirichlet(a + first)
        marginal = _sum(_lgamma(a + first) - _lgamma(a)) + _sum(_lgamma(a.sum(-1)) - _lgamma((a + first).sum(-1)))
    elif isinstance(law, Beta):
        a, b = _whole(law.a, node), _whole(law.b, node)
        after = Beta(a + first, b + second)
        marginal = _sum(_lgamma(a + first) + _lgamma(b + second) - _lgamma(a + b + (first + second))
                        - (_lgamma(a) + _lgamma(b) - _lgamma(a + b)))  # fmt: skip
    else:
        a, r = _whole(law.shape, node), _whole(law.rate if isinstance(law, Gamma) else law.scale, node)
        after = (
            Gamma(shape=a + first, rate=r + second)
            if isinstance(law, Gamma)
            else InverseGamma(shape=a + first, scale=r + second)
        )
        marginal = _sum(a * apply("log", r) - _lgamma(a) + _lgamma(a + first) - (a + first) * apply("log", r + second))
    return Leaf(node, after, marginal + constant, (own, *children), pair)


def _whole(value: Any, node: Node) -> Node:
    """A parameter with one entry for each of the node's."""
    parameter = as_node(value)
    return parameter if parameter.shape == node.shape else apply("multiply", parameter, np.ones(node.shape))


def _lgamma(node: Node) -> Node:
    return apply("gammaln", node)


def _sum(node: Node) -> Node:
    return node.sum()


# -- what data tell of a node ------------------------------------------------------------------------------------------

Memo = dict[int, frozenset[int]]


def _fixed(value: Any, memo: Memo) -> np.ndarray | None:
    node = as_node(value)
    return None if dependencies(node, memo) else np.asarray(Program([node], []).values({})[0], dtype=np.float64)


def _known(child: Factor) -> np.ndarray | None:
    return np.asarray(child.node.value, dtype=np.float64) if child.observed and child.node.kind == "observed" else None


def _beta(child: Factor, node: Node, memo: Memo) -> _Seen | None:
    from scipy.special import gammaln as log_gamma  # which takes long to import

    law: Any = child.law
    y, kind = _known(child), type(law).__name__
    if y is None or kind not in ("Bernoulli", "Binomial", "Geometric"):
        return None
    placed = placed_probability(law.p, node, memo)
    n = _fixed(law.n, memo) if kind == "Binomial" else np.ones(())
    if placed is None or n is None:
        return None
    entries = np.broadcast_to(placed[0], y.shape)
    counts = [np.ones(y.shape), y] if kind == "Geometric" else [y, n - y]
    hits, misses = (_summed(each, entries, node) for each in (counts[::-1] if placed[1] else counts))
    choose = 0.0 if kind == "Geometric" else log_gamma(n + 1.0) - log_gamma(y + 1.0) - log_gamma(n - y + 1.0)
    return _Seen(hits, misses, float(np.broadcast_to(choose, y.shape).sum()))


def _powered(gamma: float) -> Callable[[Factor, Node, Memo], _Seen | None]:
    """Data whose log density is A e log θ − B θ^γ: γ = 1 for a Gamma node θ, −1 for an Inverse-Gamma one."""

    def rule(child: Factor, node: Node, memo: Memo) -> _Seen | None:
        y, kernel, law = _known(child), kernel_of(child), child.law
        if y is None or kernel is None or law is None:
            return None
        others = [v for k, v in law.parameters.items() if k != kernel.parameter]
        if any(_fixed(v, memo) is None for v in others):
            return None
        value = as_node(law.parameters[kernel.parameter])
        power = power_of(value, node, memo) if node.number in dependencies(value, memo) else None
        if power is None or power.exponent * kernel.k != gamma:
            return None
        one = {node.number: as_node(np.ones(node.shape))}
        scale = _fixed(substituted(value, one), memo)
        if scale is None or np.any(scale <= 0.0):
            return None
        a, b = _fixed(kernel.a, memo), _fixed(substituted(kernel.b, one), memo)
        assert a is not None
        assert b is not None
        entries, b = np.broadcast_to(power.entries, y.shape), np.broadcast_to(b, y.shape)
        others_at = {k: _fixed(v, memo) for k, v in law.parameters.items() if k != kernel.parameter}
        at_one = unchecked(type(law), {**others_at, kernel.parameter: scale}).log_prob(y)
        first = _summed(gamma * power.exponent * a, entries, node)
        return _Seen(first, _summed(b, entries, node), float(np.broadcast_to(at_one, y.shape).sum() + b.sum()))

    return rule


def _summed(x: Any, entries: np.ndarray, node: Node) -> np.ndarray:
    """Numbers, one a cell, added up by entries of the node."""
    return gathered(np.asarray(x, dtype=np.float64), entries, node.size).reshape(node.shape)


def _categories(child: Factor, node: Node, memo: Memo) -> _Seen | None:
    from scipy.special import gammaln as log_gamma

    law: Any = child.law
    y, kind = _known(child), type(law).__name__
    if y is None or kind not in ("Categorical", "Multinomial"):
        return None
    k, p = node.shape[-1], law.p
    while isinstance(p, Node) and p.kind == "identity":
        p = p.parents[0]
    if kind == "Multinomial":
        if p is not node or node.ndim != 1:
            return None
        rows = np.atleast_2d(y)
        constant = np.sum(log_gamma(rows.sum(1) + 1.0) - log_gamma(rows + 1.0).sum(1))
        return _Seen(rows.sum(0).astype(np.float64), np.zeros(()), float(constant))
    codes = y.astype(np.intp).ravel()
    if p is node and node.ndim == 1:
        return _Seen(np.bincount(codes, minlength=k).astype(np.float64), np.zeros(()), 0.0)
    if isinstance(p, Node) and p.kind == "take" and p.parents[0] is node and node.ndim == 2:
        groups = _fixed(p.parents[1], memo)
        if groups is None or groups.shape != y.shape:
            return None
        counts = np.zeros(node.shape)
        np.add.at(counts, (groups.astype(np.intp).ravel(), codes), 1.0)
        return _Seen(counts, np.zeros(()), 0.0)
    return None


_PAIRS: dict[str, Callable[[Factor, Node, Memo], _Seen | None]] = {
    "Beta": _beta, "Gamma": _powered(1.0), "InverseGamma": _powered(-1.0), "Dirichlet": _categories,
}  # fmt: skip
