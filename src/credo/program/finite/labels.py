"""Labels that nothing tells apart: a mixture whose components have the same prior has K! posteriors in one.

`find_labels` looks for latent entries that belong to a label (entries of what is picked by the states, and of their
probabilities), exchanges two labels' and asks whether the density is the same, at random points. Where it is, the
posterior is the same under every permutation of these labels, means included: the mean of mu[0] is that of mu[1].
Modes then come in sets of K!, all of which count; a chain sees one of them, and draws of it with labels exchanged at
random are draws of the whole (Frühwirth-Schnatter 2001, JASA 96), certified with labels in order: see `settled`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import CredoError
from credo.program.nodes import Node, as_node, topological
from credo.program.ops import OPS

__all__ = ["Labels", "find_labels"]

#: permutations that modes are copied to; for more a sampler is used
MOST_IMAGES = 120
# Points at which the density is compared, and how far rounding may move it.
POINTS, ROUNDING = 3, 1e-9
# Pairs of labels are all tried up to so many labels, beyond them neighbours only.
MANY = 8


@dataclass(frozen=True, eq=False)
class Labels:
    """node : whose states; classes : states that nothing tells apart; nodes : latent nodes with entries of a label, in
    the order of their entries in one vector; places : arrays of such entries (numbers in that vector, −1 where there is
    none) and the axes that are labels; mirrors : numbers of entries x that become centre − x when two labels are
    exchanged, and the centre"""

    node: Node
    classes: tuple[tuple[int, ...], ...]
    nodes: tuple[Node, ...]
    places: tuple[tuple[np.ndarray, tuple[int, ...]], ...]
    mirrors: tuple[tuple[int, float], ...]

    @property
    def count(self) -> int:
        """How many permutations there are."""
        return math.prod(math.factorial(len(each)) for each in self.classes)

    def orders(self) -> list[np.ndarray]:
        """Every permutation: label k of the result is what label order[k] was."""
        size, out = _states(self.node), []
        for choice in itertools.product(*(itertools.permutations(each) for each in self.classes)):
            order = np.arange(size)
            for each, moved in zip(self.classes, choice):
                order[list(each)] = moved
            out.append(order)
        return out

    def random_order(self, rng: np.random.Generator) -> np.ndarray:
        """One of the permutations."""
        order = np.arange(_states(self.node))
        for each in self.classes:
            order[list(each)] = rng.permutation(each)
        return order

    def sorting_order(self, x: np.ndarray) -> np.ndarray:
        """The permutation after which the first entry that differs by label rises within each class."""
        order = np.arange(_states(self.node))
        entries, axes = next(((e, a) for e, a in self.places if len(a) == 1), (None, (0,)))
        for each in self.classes:
            if entries is not None:
                key = x[np.moveaxis(entries, axes[0], 0).reshape(order.size, -1)[list(each), 0]]
                order[list(each)] = np.asarray(each)[np.argsort(key, kind="stable")]
            elif self.mirrors and (x[self.mirrors[0][0]] > 0.5 * self.mirrors[0][1]):
                order[list(each)] = each[::-1]
        return order

    def exchanged(self, x: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The vector (..., entries) after a permutation of the labels."""
        moved = np.arange(x.shape[-1])
        for entries, axes in self.places:
            after = entries
            for axis in axes:
                after = np.take(after, order, axis=axis)
            there = entries >= 0
            moved[entries[there]] = after[there]
        out = x[..., moved]
        if self.mirrors and order[0] != 0:
            for at, centre in self.mirrors:
                out[..., at] = centre - out[..., at]
        return out

    def joined(self, values: Mapping[str, np.ndarray], lead: int) -> np.ndarray:
        """The vector from values by name, behind `lead` axes."""
        parts = [np.asarray(values[str(node.name)]) for node in self.nodes]
        return np.concatenate([p.reshape(*p.shape[:lead], -1) for p in parts], axis=-1)

    def split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The inverse of `joined`."""
        out, at = {}, 0
        for node in self.nodes:
            out[str(node.name)] = x[..., at : at + node.size].reshape((*x.shape[:-1], *node.shape))
            at += node.size
        return out

    def told(self) -> str:
        """In a sentence, with the remedy."""
        # A location rather than a scale: components differ by it more often.
        vectors = [n for n in self.nodes if n.support.kind == "real" and n.shape == (_states(self.node),)]
        vectors.sort(key=lambda node: bool(np.isfinite(np.max(node.support.low))))
        first = vectors[0].name if vectors else "a vector with a number for each label"
        whole = len(self.classes[0]) == _states(self.node)
        which = "the" if whole else " and ".join(str(list(each)) for each in self.classes) + " of the"
        remedy = f"; to keep one labelling, declare {first} with ordered=True"
        return (
            f"nothing tells {which} labels of {self.node.name} apart, so that the posterior is the same under every "
            f"exchange of them, and all {self.count} labellings count{remedy}"
        )


def find_labels(
    nodes: Sequence[Node], parts: Sequence[Node], rest: Sequence[Node], density: Callable[[], Any]
) -> list[Labels]:
    """The exchangeable labels of finite nodes.

    parts : all expressions that depend on them; rest : latent nodes that are not finite; density : makes the target
    over these, once it is needed
    """
    found, target = [], None
    starts = dict(zip((node.number for node in rest), np.cumsum([0, *(node.size for node in rest)])))
    for node in nodes:
        if _states(node) < 2 or _states(node) > 64:
            continue
        places, mirrors = _entries_of(node, parts, starts)
        if not places and not mirrors:
            continue
        target = target if target is not None else density()  # made for the first that needs it
        whole = Labels(node, (tuple(range(_states(node))),), tuple(rest), tuple(places), tuple(mirrors))
        classes = _classes(whole, target)
        if classes:
            found.append(_narrowed(Labels(node, classes, whole.nodes, whole.places, whole.mirrors)))
    return found


def _states(node: Node) -> int:
    return int(np.max(node.support.high) - np.min(node.support.low)) + 1


def _classes(labels: Labels, target: Any) -> tuple[tuple[int, ...], ...]:
    """States that may be exchanged, by pairs."""
    from credo.inference.transforms import unconstrained

    rng, k = np.random.default_rng(0), _states(labels.node)
    try:
        bijection = unconstrained(target)[1]
        points = bijection.forward(rng.standard_normal((POINTS, bijection.free)))
        values = [target.evaluate(x).log_density for x in points]
    except CredoError:  # a law that cannot be at a random point is no case of its own: the fit says what is wrong
        return ()
    if not np.isfinite(values).all():
        return ()
    groups = {i: {i} for i in range(k)}
    pairs = itertools.combinations(range(k), 2) if k <= MANY else zip(range(k - 1), range(1, k))
    for i, j in pairs:
        if groups[i] is groups[j]:
            continue
        order = np.arange(k)
        order[[i, j]] = j, i
        moved = labels.exchanged(points, order)
        if np.array_equal(moved, points) or not _inside(labels, moved):
            continue
        after = [target.evaluate(x).log_density for x in moved]
        if np.allclose(after, values, rtol=ROUNDING, atol=ROUNDING):
            groups[i] |= groups[j]
            for label in groups[i]:
                groups[label] = groups[i]
    return tuple(sorted({tuple(sorted(group)) for group in groups.values() if len(group) > 1}))


def _inside(labels: Labels, x: np.ndarray) -> bool:
    """Whether vectors declared in order still are."""
    values = labels.split(x)
    return all(np.all(np.diff(values[str(node.name)], axis=-1) > 0)
               for node in labels.nodes if node.support.kind == "ordered")  # fmt: skip


def _narrowed(labels: Labels) -> Labels:
    """With the nodes that have entries of labels only."""
    used = np.concatenate([*(e.ravel() for e, _ in labels.places), [at for at, _ in labels.mirrors]]).astype(np.int64)
    ends = np.cumsum([0, *(node.size for node in labels.nodes)])
    keep = [i for i in range(len(labels.nodes)) if np.any((used >= ends[i]) & (used < ends[i + 1]))]
    new = np.full(ends[-1] + 1, -1)
    at = 0
    for i in keep:
        size = labels.nodes[i].size
        new[ends[i] : ends[i + 1]] = np.arange(at, at + size)
        at += size
    places = tuple((new[np.where(e >= 0, e, -1)], axes) for e, axes in labels.places)
    mirrors = tuple((int(new[at]), centre) for at, centre in labels.mirrors)
    return Labels(labels.node, labels.classes, tuple(labels.nodes[i] for i in keep), places, mirrors)


# -- entries that belong to a label ------------------------------------------------------------------------------------


def _entries_of(
    node: Node, parts: Sequence[Node], starts: Mapping[int, int]
) -> tuple[list[tuple[np.ndarray, tuple[int, ...]]], list[tuple[int, float]]]:
    """Arrays of entries with the axes that are labels of the node, and entries that mirror two labels."""
    places: list[tuple[np.ndarray, tuple[int, ...]]] = []
    law: Any = node.law
    for each in topological(list(parts)):
        if each.kind in ("take", "pick"):
            axes = [axis for axis, codes in enumerate(each.parents[1:]) if _are_states_of(codes, node)]
            places += [(entries, (axis,)) for axis in axes for entries in _traced(each.parents[0], starts)]
    mirrors: list[tuple[int, float]] = []
    if type(law).__name__ == "Categorical":
        places += [(entries, (entries.ndim - 1,)) for entries in _traced(as_node(law.p), starts)]
    elif type(law).__name__ == "Chain":
        places += [(entries, (entries.ndim - 1,)) for entries in _traced(as_node(law.initial), starts)]
        places += [(e, (e.ndim - 2, e.ndim - 1)) for e in _traced(as_node(law.transition), starts)]
    elif type(law).__name__ == "Bernoulli" and isinstance(law.p, Node):
        centre = 0.0 if law.p.kind == "expit" else 1.0
        inner = law.p.parents[0] if law.p.kind == "expit" else law.p
        mirrors = [(int(at), centre) for entries in _traced(inner, starts) for at in np.unique(entries) if at >= 0]
    return places, mirrors


def _are_states_of(codes: Node, node: Node) -> bool:
    while codes.kind in ("take", "slice", "reshape", "transpose", "identity"):
        codes = codes.parents[0]
    return codes is node


def _traced(node: Node, starts: Mapping[int, int]) -> list[np.ndarray]:
    """For each latent entry that a cell is computed from, one a cell at a time: arrays of the node's shape with the
    entries' numbers, −1 where there is none."""
    if node.number in starts:
        return [starts[node.number] + np.arange(node.size).reshape(node.shape)]
    if not node.is_operation:
        return []
    inner = [_traced(parent, starts) for parent in node.parents]
    if OPS[node.kind].elementwise or node.kind == "identity":
        return [np.broadcast_to(entries, node.shape) for each in inner for entries in each]
    if node.kind in ("slice", "reshape", "transpose"):
        return [OPS[node.kind].forward([entries], [False], node.static) for entries in inner[0]]
    if node.kind == "take" and node.parents[1].value is not None:
        return [np.take(entries, node.parents[1].value.astype(np.intp), axis=0) for entries in inner[0]]
    if node.kind == "concat":
        longest = max(len(each) for each in inner)
        empty = [np.full(parent.shape, -1) for parent in node.parents]
        return [np.concatenate([each[i] if i < len(each) else none for each, none in zip(inner, empty)])
                for i in range(longest)]  # fmt: skip
    return []
