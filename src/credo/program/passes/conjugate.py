"""Conjugate leaves: latent nodes whose law given the others stays in its family.

A Beta node behind Bernoulli, Binomial or Geometric data, a Gamma node behind Poisson, Exponential or Gamma data, an
Inverse-Gamma variance behind Normal data of known mean, a Dirichlet node behind Categorical or Multinomial data:
directly, or picked by group codes, rates and variances also times known numbers. The node is integrated out: what is
left of it is the log probability of its data as an expression of its own parameters, which may be latent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln as log_gamma
from scipy.special import xlogy

from credo.distributions import Beta, Dirichlet, Family, Gamma, InverseGamma
from credo.program.evaluate import Program
from credo.program.forward import draw, law_at
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node
from credo.program.passes.affine import Affine, NotAffineError, dependencies
from credo.program.passes.centring import substituted

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
        law: Any = node.law
        rule = _PAIRS.get(type(law).__name__)
        if own is None or rule is None or not children or node.support != law.support:
            continue
        seen = [rule(child, node, memo) for child in children]
        if all(each is not None for each in seen):
            found.append(_leaf(own, children, seen))  # type: ignore[arg-type]
    return found


def _depends(factor: Factor, node: Node, memo: dict[int, frozenset[int]]) -> bool:
    return any(node.number in dependencies(part, memo) for part in factor.parts)


def _leaf(own: Factor, children: Sequence[Factor], seen: Sequence[_Seen]) -> Leaf:
    node = own.node
    law: Any = own.law
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


@dataclass(frozen=True)
class _Place:
    """Which entry of the node each cell of the data stands on, and times what known number."""

    entries: np.ndarray
    times: np.ndarray
    node: Node

    def gathered(self, x: Any) -> np.ndarray:
        """Numbers, one a cell, added up by entries of the node."""
        weights = np.broadcast_to(x, self.entries.shape).ravel()
        return np.bincount(self.entries.ravel(), weights, minlength=self.node.size).reshape(self.node.shape)


def _place(value: Any, node: Node, shape: tuple[int, ...]) -> _Place | None:
    """Where `value` is entries of the node, moved, picked and multiplied by known numbers; None if it is anything
    else."""
    try:
        terms = Affine({node.number: 0}, node.size).form(as_node(value))
    except NotAffineError:
        return None
    if len(terms) != 1:
        return None
    term = terms[0]
    if term.matrix is None or term.coefficient is not None or term.row is not None:
        return None
    if not np.all(np.diff(term.matrix.indptr) == 1):
        return None
    entries, times = (np.broadcast_to(each.reshape(value.shape), shape) for each in (term.matrix.indices,
                                                                                    term.matrix.data))  # fmt: skip
    return _Place(entries.astype(np.intp), times, node)


def _known(child: Factor) -> np.ndarray | None:
    return np.asarray(child.node.value, dtype=np.float64) if child.observed and child.node.kind == "observed" else None


def _beta(child: Factor, node: Node, memo: Memo) -> _Seen | None:
    law: Any = child.law
    y, kind = _known(child), type(law).__name__
    if y is None or kind not in ("Bernoulli", "Binomial", "Geometric"):
        return None
    place = _place(law.p, node, y.shape)
    n = _fixed(law.n, memo) if kind == "Binomial" else np.ones(())
    if place is None or n is None or np.any(place.times != 1.0):
        return None
    if kind == "Geometric":
        return _Seen(place.gathered(1.0), place.gathered(y), 0.0)
    choose = log_gamma(n + 1.0) - log_gamma(y + 1.0) - log_gamma(n - y + 1.0)
    return _Seen(place.gathered(y), place.gathered(n - y), float(np.broadcast_to(choose, y.shape).sum()))


def _gamma(child: Factor, node: Node, memo: Memo) -> _Seen | None:
    law: Any = child.law
    y, kind = _known(child), type(law).__name__
    if y is None or kind not in ("Poisson", "Exponential", "Gamma"):
        return None
    if kind == "Gamma" and _fixed(law.shape, memo) is None:
        return None
    place = _place(law.rate, node, y.shape)
    if place is None or np.any(place.times <= 0.0):
        return None
    exposure = place.times
    if kind == "Poisson":
        constant = np.sum(y * np.log(exposure) - log_gamma(y + 1.0))
        return _Seen(place.gathered(y), place.gathered(exposure), float(constant))
    shape = np.ones(()) if kind == "Exponential" else _fixed(law.shape, memo)
    assert shape is not None
    each = shape * np.log(exposure) - log_gamma(shape) + xlogy(shape - 1.0, y)
    constant = np.sum(np.broadcast_to(each, y.shape))
    return _Seen(place.gathered(shape), place.gathered(y * exposure), float(constant))


def _variance(child: Factor, node: Node, memo: Memo) -> _Seen | None:
    law: Any = child.law
    y = _known(child)
    if y is None or type(law).__name__ != "Normal":
        return None
    mean = _fixed(law.mean, memo)
    root = law.sd
    if mean is None or not isinstance(root, Node):
        return None
    while root.kind in ("take", "reshape", "slice", "identity"):  # √v by group codes
        root = root.parents[0]
    if root.kind != "sqrt":
        return None
    place = _place(substituted(law.sd, {root.number: root.parents[0]}), node, y.shape)
    if place is None or np.any(place.times <= 0.0):
        return None
    constant = -0.5 * np.sum(np.log(2.0 * np.pi * place.times))
    return _Seen(place.gathered(0.5), place.gathered(0.5 * np.square(y - mean) / place.times), float(constant))


def _categories(child: Factor, node: Node, memo: Memo) -> _Seen | None:
    law: Any = child.law
    y, kind = _known(child), type(law).__name__
    if y is None or kind not in ("Categorical", "Multinomial"):
        return None
    k = node.shape[-1]
    if kind == "Multinomial":
        if law.p is not node or node.ndim != 1:
            return None
        rows = np.atleast_2d(y)
        constant = np.sum(log_gamma(rows.sum(1) + 1.0) - log_gamma(rows + 1.0).sum(1))
        return _Seen(rows.sum(0).astype(np.float64), np.zeros(()), float(constant))
    codes = y.astype(np.intp).ravel()
    if law.p is node and node.ndim == 1:
        return _Seen(np.bincount(codes, minlength=k).astype(np.float64), np.zeros(()), 0.0)
    if isinstance(law.p, Node) and law.p.kind == "take" and law.p.parents[0] is node and node.ndim == 2:
        groups = _fixed(law.p.parents[1], memo)
        if groups is None or groups.shape != y.shape:
            return None
        counts = np.zeros(node.shape)
        np.add.at(counts, (groups.astype(np.intp).ravel(), codes), 1.0)
        return _Seen(counts, np.zeros(()), 0.0)
    return None


_PAIRS: dict[str, Callable[[Factor, Node, Memo], _Seen | None]] = {
    "Beta": _beta, "Gamma": _gamma, "InverseGamma": _variance, "Dirichlet": _categories,
}  # fmt: skip
