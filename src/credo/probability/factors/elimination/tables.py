"""`Tables`: what about the tables of a graph does not hang on the question, so that questions are planned quickly."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from credo.probability.factors.elimination.guess import graph_arrays
from credo.probability.factors.elimination.layout import TABLES, Place, dense
from credo.probability.factors.elimination.orders import elimination_orders

__all__ = ["Tables"]

# Scores computed for one order of the whole graph, for each entry of it: the rules are enough for a first guess.
HASTE = 1e-3


class Tables:
    """The tables of a graph as numbers.

    names : of the variables, numbered in this order ; number : the inverse ; sizes : states of each
    scopes : numbers of each table's variables ; holders : tables of each variable
    places : where each table lies, nothing observed ; entries : of all of them
    laws : {table: variables over each of which it sums to 1}
    """

    def __init__(
        self,
        shapes: Sequence[Sequence[int]],
        scopes: Sequence[Sequence[Hashable]],
        sums_to_one: Mapping[int, Sequence[Hashable]] | None = None,
    ) -> None:
        self.names = tuple(dict.fromkeys(name for scope in scopes for name in scope))
        self.number = {name: v for v, name in enumerate(self.names)}
        self.sizes = [0] * len(self.names)
        self.scopes = [tuple(self.number[name] for name in scope) for scope in scopes]
        self.holders: list[list[int]] = [[] for _ in self.names]
        self.places: list[Place] = []
        self.entries = 0
        for t, (shape, scope) in enumerate(zip(shapes, self.scopes, strict=True)):
            for v, n in zip(scope, shape, strict=True):
                self.sizes[v] = n
                self.holders[v].append(t)
            self.places.append(Place(TABLES, self.entries, dense(scope, self.sizes)))
            self.entries += math.prod(shape)
        self.laws = {t: tuple(self.number[name] for name in names) for t, names in (sums_to_one or {}).items()}

    @functools.cached_property
    def order(self) -> list[int]:
        """A good order in which to eliminate all variables: a first guess for any question."""
        masks = [sum(1 << v for v in scope) for scope in self.scopes]
        weight = [math.log2(n) for n in self.sizes]
        return elimination_orders(masks, weight, [(1 << len(self.names)) - 1], patience=HASTE)[0]

    @functools.cached_property
    def arrays(self) -> Any:
        """The same for the compiled loops: a `Graph` of `guess_kernel`."""
        return graph_arrays(self)
