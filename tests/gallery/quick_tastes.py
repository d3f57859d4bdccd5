"""The names of `design.tastes` that the gallery asks for, with beliefs that cost nothing: liking smoothed over points.

Functions of the same arguments, so that what the gallery makes of them can be seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.design.tastes import Best, Card, Duel, Map, NoneOfThem, Order, Rating, Slice


def _scores(answer: Any) -> list[tuple[Any, float]]:
    if isinstance(answer, Best):
        return [(point, 1.0 if point == answer.chosen else -0.5) for point in answer.shown]
    if isinstance(answer, Order):
        return list(zip(answer.ranking, np.linspace(1.0, -1.0, len(answer.ranking)).tolist()))
    if isinstance(answer, Duel):
        return [(answer.winner, 1.0), (answer.loser, -1.0)]
    if isinstance(answer, Rating):
        return [(answer.item, answer.value)]
    return [(point, -1.0) for point in answer.points] if isinstance(answer, NoneOfThem) else []


class Belief:
    def __init__(self, space: Any, answers: Any) -> None:
        pairs = [pair for answer in answers for pair in _scores(answer)]
        self.space, self.sure = space, 1.0 - 1.0 / (1.0 + len(pairs))
        self._scores = np.array([score for _, score in pairs])
        self._X = space.encode([point for point, _ in pairs]).X if pairs else np.empty((0, space.width))

    def liking(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        X = self.space.encode(points).X
        weights = np.exp(-((X[:, None] - self._X[None]) ** 2).sum(axis=2))
        total = weights.sum(axis=1)
        return weights @ self._scores / (1.0 + total), 1.0 / np.sqrt(1.0 + total)

    def best_of(self, points: Any) -> tuple[int, float, float]:
        mean, sd = self.liking(points)
        best = int(np.argmax(mean))
        return best, float(mean[best]), float(sd[best])


def believe_taste(space: Any, answers: Any, *, people: Any = None, previous: Any = None, rng: Any) -> Belief:
    return Belief(space, answers)


def propose_round(
    belief: Belief, space: Any, k: int = 4, dial: float = 0.5, pinned: Any = (), near: Any = None, *, rng: Any
) -> list[Card]:
    points = space.sample(64, rng)
    mean, sd = belief.liking(points)
    order = np.argsort(-(mean + dial * sd), kind="stable")
    if near is not None:
        order = np.argsort([space.distance(point, near) for point in points], kind="stable")
    chosen = [*pinned, *(points[i] for i in order)][:k]
    return [Card(dict(p), float(m), float(s), "a look") for p, m, s in zip(chosen, *belief.liking(chosen))]


def slice(belief: Belief, name: str, at: Any) -> Slice:
    grid = belief.space.parameters[name].quantile(np.linspace(0.0, 0.99, 5))
    mean, sd = belief.liking([{**at, name: value} for value in grid])
    return Slice(name, grid, mean, mean - sd, mean + sd)


def map2(belief: Belief, a: str, b: str, at: Any) -> Map:
    grids = tuple(belief.space.parameters[name].quantile(np.linspace(0.0, 0.99, 5)) for name in (a, b))
    mean, sd = belief.liking([{**at, a: x, b: y} for x in grids[0] for y in grids[1]])
    return Map((a, b), grids, mean.reshape(5, 5), sd.reshape(5, 5))
