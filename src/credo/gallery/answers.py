"""What a page sends → an answer as it is stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from credo.errors import ParameterError
from credo.gallery.fold import Round

__all__ = ["KINDS", "checked"]

KINDS = ("best", "order", "duel", "stars", "slider", "tie", "none", "skip")


def checked(sent: Mapping[str, Any], shown: Round) -> dict[str, Any]:
    """The answer in its stored form.

    Raises
    ------
    ParameterError : a kind that is none, a card that the round did not show, a rating out of its range.
    """
    kind = sent.get("kind")
    if kind == "best":
        return {"kind": kind, "chosen": _card(sent.get("chosen"), "chosen", shown)}
    if kind == "order":
        return {"kind": kind, "ranking": _cards(sent.get("ranking"), "ranking", shown, 1)}
    if kind == "duel":
        winner, loser = (_card(sent.get(role), role, shown) for role in ("winner", "loser"))
        if winner == loser:
            raise ParameterError("answer", "loser", "another card than the winner", loser)
        return {"kind": kind, "winner": winner, "loser": loser}
    if kind == "tie":
        everything = [card.id for card in shown.cards]
        return {"kind": kind, "items": _cards(sent.get("items") or everything, "items", shown, 2)}
    if kind in ("stars", "slider"):
        return {"kind": kind, "ratings": _ratings(kind, sent.get("ratings"), shown)}
    if kind in ("none", "skip"):
        return {"kind": kind}
    raise ParameterError("answer", "kind", f"one of {', '.join(KINDS)}", kind)


def _card(id_: Any, role: str, shown: Round) -> str:
    if not isinstance(id_, str) or id_ not in {card.id for card in shown.cards}:
        raise ParameterError("answer", role, f"a card of round {shown.id}", id_)
    return id_


def _cards(ids: Any, role: str, shown: Round, least: int) -> list[str]:
    if not isinstance(ids, list):
        raise ParameterError("answer", role, "a list of cards", ids)
    found = [_card(id_, role, shown) for id_ in ids]
    if len(set(found)) < len(found) or len(found) < least:
        raise ParameterError("answer", role, f"{least} or more cards, each once", ids)
    return found


def _ratings(kind: str, given: Any, shown: Round) -> dict[str, float]:
    if not isinstance(given, Mapping) or not given:
        raise ParameterError("answer", "ratings", "{card: number}", given)
    low, high = (1, 5) if kind == "stars" else (0, 1)
    for id_, value in given.items():
        _card(id_, "ratings", shown)
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not low <= value <= high or (kind == "stars" and value != int(value)):
            raise ParameterError("answer", "ratings", f"{'whole ' * (kind == 'stars')}numbers {low} to {high}", value)
    return {id_: float(value) for id_, value in given.items()}
