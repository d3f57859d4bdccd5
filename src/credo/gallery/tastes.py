"""The one place that asks `design.tastes`: stored answers as its records, beliefs, proposals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.design import tastes
from credo.design.spaces import Space
from credo.errors import ParameterError
from credo.gallery.fold import Card, GalleryState, Person, Round

__all__ = ["answers_of", "believed", "map_of", "proposed", "records", "slice_of"]


def records(shown: Round, answer: Mapping[str, Any]) -> list[Any]:
    """What `design.tastes` is told of one stored answer."""
    cards = {card.id: dict(card.params) for card in shown.cards}
    points, kind = list(cards.values()), answer["kind"]
    if kind == "best":
        return [tastes.Best(cards[answer["chosen"]], points)]
    if kind == "order":
        ranked = [cards[id_] for id_ in answer["ranking"]]
        ranked = [point for i, point in enumerate(ranked) if point not in ranked[:i]]  # old pages had twins
        rest = [point for id_, point in cards.items() if id_ not in answer["ranking"]]
        ordered: list[Any] = [tastes.Order(ranked)] if len(ranked) > 1 else []
        return ordered + ([tastes.Best(ranked[-1], [ranked[-1], *rest])] if rest else [])
    if kind == "duel":
        winner, loser = cards[answer["winner"]], cards[answer["loser"]]
        return [tastes.Duel(winner, loser) if winner != loser else tastes.Skip(points)]
    if kind == "tie":
        return [tastes.Tie([cards[id_] for id_ in answer["items"]], points)]
    if kind in ("stars", "slider"):
        return [tastes.Rating(cards[id_], **{kind: value}) for id_, value in answer["ratings"].items()]
    return [tastes.NoneOfThem(points) if kind == "none" else tastes.Skip(points)]


def answers_of(state: GalleryState, person: Person) -> list[Any]:
    """All that a person has answered."""
    return [record for shown, answer in state.answered(person) for record in records(shown, answer)]


def believed(state: GalleryState, person: Person, previous: Any, rng: np.random.Generator) -> Any:
    """The belief about a person's taste; others' answers are its prior. previous : an earlier one, to save time"""
    others = {each.id: answers_of(state, each) for each in state.people.values() if each is not person and each.answers}
    return tastes.believe_taste(
        state.space, answers_of(state, person), people=others or None, previous=previous, rng=rng
    )


def proposed(
    belief: Any, space: Any, k: int, dial: float, pinned: Sequence[Card], near: Card | None, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """The next cards, as an event holds them."""
    held = [dict(card.params) for card in pinned]
    like = None if near is None else dict(near.params)
    found = tastes.propose_round(belief, space, k=k, dial=dial, pinned=held, near=like, rng=rng)
    return [
        {"params": dict(card.params), "liking": float(card.liking), "sd": float(card.sd), "why": str(card.why)}
        for card in found
    ]


def slice_of(belief: Any, space: Space, name: str, at: Mapping[str, Any]) -> dict[str, Any]:
    """{grid, mean, lower, upper} along a parameter that can vary."""
    _varies(space, name, "name")
    found = tastes.slice(belief, name, at)
    return {"grid": list(found.grid), **{part: getattr(found, part).tolist() for part in ("mean", "lower", "upper")}}


def map_of(belief: Any, space: Space, a: str, b: str, at: Mapping[str, Any]) -> dict[str, Any]:
    """{a, b, mean, sd}; a row for each value of b."""
    _varies(space, a, "a")
    _varies(space, b, "b")
    if a == b:
        raise ParameterError("gallery", "b", "another parameter than a", b)
    found = tastes.map2(belief, a, b, at)
    grids = ({"name": name, "grid": list(grid)} for name, grid in zip(found.names, found.grids))
    return {**dict(zip("ab", grids)), "mean": found.mean.T.tolist(), "sd": found.sd.T.tolist()}


def _varies(space: Space, name: Any, role: str) -> None:
    names = [each for each, parameter in space.parameters.items() if parameter.kind != "constant"]
    if name not in names:
        raise ParameterError("gallery", role, f"one of {', '.join(names)}", name)
