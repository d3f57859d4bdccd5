"""What came of it: the best as JSON and TOML."""

from __future__ import annotations

import json
import re
from typing import Any

from credo.gallery.fold import Card
from credo.gallery.gallery import Gallery
from credo.gallery.view import Picture, best_card
from credo.numerics.readable import count, percent

__all__ = ["best_json", "best_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def best_json(gallery: Gallery, person: str, picture: Picture, card: Card | None = None) -> dict[str, Any]:
    """The best (or the card), how sure that is, and the favourites."""
    best = None if card is not None else best_card(gallery, person, picture)
    params = dict(card.params) if card is not None else None if best is None else best["params"]
    believed = {} if best is None else {"liking": best["liking"], "sd": best["sd"]}
    return {
        "title": gallery.title,
        "person": gallery.person(person).name,
        "answers": len(gallery.person(person).answers),
        "sure": float(gallery.belief(person).sure),
        "params": params,
        **believed,
        "favourites": [dict(each.params) for each in gallery.chosen(person, "favoured")],
    }


def best_toml(gallery: Gallery, person: str, picture: Picture, card: Card | None = None) -> str:
    """The same as `name = value`, a line a parameter: what `credo tune --first` reads."""
    found = best_json(gallery, person, picture, card)
    sure = f"{percent(found['sure'])} sure after {count(found['answers'], 'answer')}"
    head = f"# {_one_line(found['title'])}: {'the best' if card is None else 'chosen'}, {sure}"
    lines = [f"{_toml(name, True)} = {_toml(value)}" for name, value in (found["params"] or {}).items()]
    return "\n".join([head, *(line for line in lines if not line.endswith("= null"))]) + "\n"


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _toml(value: Any, key: bool = False) -> str:
    if key and _BARE.fullmatch(value):
        return value
    # JSON's texts, numbers and booleans are TOML's, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
