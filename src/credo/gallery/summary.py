"""What came of it: the best as JSON and TOML, and the report of a person's session."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from credo.gallery import ranges
from credo.gallery.fold import Card
from credo.gallery.gallery import Gallery
from credo.gallery.renderers.plain import PlainRenderer
from credo.gallery.view import Picture, best_card
from credo.numerics.readable import count, number, percent
from credo.reports.markup import Markup, element
from credo.reports.shell import section, shell

__all__ = ["best_json", "best_toml", "session_report"]

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


def session_report(gallery: Gallery, person: str) -> str:
    """A page of what a person was shown, answered and seems to like; whole in itself, without a script."""
    who, belief = gallery.person(person), gallery.belief(person)
    plain = _NoPicture()
    best = best_card(gallery, person, plain)
    facts = [
        ("For", who.name),
        ("Answers", str(len(who.answers))),
        ("Sure", percent(float(belief.sure))),
        ("Dial", f"{number(who.dial, 2)} (0 close to what was liked, 1 not yet explored)"),
    ]
    lead = "No answer yet." if best is None else "What is believed to be liked most, and how that was found."
    sections = [_best_section(best), _favourites_section(gallery, person), _ranges_section(gallery, person)]
    sections.append(_rounds_section(gallery, person))
    return shell(gallery.title, [each for each in sections if each is not None], lead=lead, facts=facts)


class _NoPicture(PlainRenderer):
    def __init__(self) -> None:
        self.kind, self._size = "table", (0, 0)


def _best_section(best: Mapping[str, Any] | None) -> Markup | None:
    if best is None:
        return None
    liking = f"{number(best['liking'], 3)} ± {number(best['sd'], 2)}"
    said = element("p", f"Expected liking {liking}, in units of the noise of a choice.")
    return section("best", "The best so far", _table(["parameter", "value"], list(best["shown"].items())), said)


def _favourites_section(gallery: Gallery, person: str) -> Markup | None:
    cards = gallery.chosen(person, "favoured")
    if not cards:
        return None
    names = list(gallery.space.names)
    rows = [[ranges.shown(card.params).get(name, "") for name in names] for card in cards]
    return section("favourites", "Favourites", _table(names, rows))


def _ranges_section(gallery: Gallery, person: str) -> Markup | None:
    narrowed = gallery.person(person).narrowed
    if not narrowed:
        return None
    rows = [(now["name"], _range_text(now)) for now in ranges.described(gallery.space, narrowed)
            if now["name"] in narrowed]  # fmt: skip
    return section("ranges", "Narrowed", _table(["parameter", "to"], rows))


def _range_text(now: Mapping[str, Any]) -> str:
    """Of a parameter as it is `described`."""
    between = ", " if "choices" in now else " to "
    values = now["choices"] if "choices" in now else dict.fromkeys((now["low"], now["high"]))
    return between.join(ranges.shown({str(i): value for i, value in enumerate(values)}).values())


def _rounds_section(gallery: Gallery, person: str) -> Markup:
    rows = []
    for action in gallery.person(person).answers:
        shown, answer = gallery.shown(action.data["round"]), action.data["answer"]
        rows.append((str(shown.number), answer["kind"], _said(answer), "late" if action.late else ""))
    return section("rounds", "Rounds", _table(["round", "answer", "which", ""], rows))


def _said(answer: Mapping[str, Any]) -> str:
    """Cards by their place in the round, from 1."""
    place = lambda id_: str(int(id_.rpartition("-")[2]) + 1)  # noqa: E731
    if answer["kind"] == "best":
        return place(answer["chosen"])
    if answer["kind"] == "order":
        return " > ".join(map(place, answer["ranking"]))
    if answer["kind"] == "duel":
        return f"{place(answer['winner'])} > {place(answer['loser'])}"
    if answer["kind"] == "tie":
        return " = ".join(map(place, answer["items"]))
    return ", ".join(f"{place(id_)}: {number(value, 3)}" for id_, value in answer.get("ratings", {}).items())


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    head = element("tr", *(element("th", name, scope="col") for name in heads))
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    table = element("table", element("thead", head), element("tbody", *body))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table")
