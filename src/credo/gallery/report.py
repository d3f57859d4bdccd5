"""The report of a person's session: what is liked, how that was found, and how sure it is. One page, no script."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from credo.gallery import ranges
from credo.gallery.fold import Card
from credo.gallery.gallery import Gallery
from credo.gallery.renderers.command import CommandRenderer
from credo.gallery.view import Picture, seen
from credo.numerics.readable import number, percent
from credo.plots.chart import Figure
from credo.plots.tastes import liking_over_answers, taste_maps, taste_slices
from credo.reports.markup import Markup, element
from credo.reports.shell import pictured, section, shell

__all__ = ["session_report"]

# Cards that are listed; points that were not shown yet among them.
BEST, UNSEEN = 5, 3
# More answers are folded.
FEW = 12


def session_report(gallery: Gallery, person: str, picture: Picture | None = None) -> str:
    """A page of what a person was shown, answered and seems to like; whole in itself, without a script.

    picture : how cards look; pictures made by a command are shown as far as they are made
    """
    who, belief = gallery.person(person), gallery.belief(person)
    facts = [
        ("For", who.name),
        ("Answers", str(len(who.answers))),
        ("Sure", percent(float(belief.sure))),
        ("Dial", f"{number(who.dial, 2)} (0 liked, 1 unexplored)"),
    ]
    lead = "What is believed to be liked most, and how that was found." if who.answers else "No answer yet."
    names = (f"t{i}" for i in itertools.count(1))
    sections: list[Markup | None] = []
    if who.answers:
        ranked = _ranked(gallery, person)
        best = dict(ranked[0][0].params)
        sections += [_best_section(gallery, belief, ranked, picture), _course_section(gallery, person, names)]
        sections += _belief_sections(gallery, person, best, names)
    sections += [_favourites_section(gallery, person), _ranges_section(gallery, person)]
    sections.append(_rounds_section(gallery, person))
    return shell(gallery.title, [each for each in sections if each is not None], lead=lead, facts=facts)


def _ranked(gallery: Gallery, person: str) -> list[tuple[Card, float, float]]:
    """Cards that were answered about with liking and sd, best first."""
    cards = seen(gallery, person)
    mean, sd = gallery.belief(person).liking([dict(card.params) for card in cards])
    return [(cards[i], float(mean[i]), float(sd[i])) for i in np.argsort(-mean, kind="stable").tolist()]


def _best_section(
    gallery: Gallery, belief: Any, ranked: Sequence[tuple[Card, float, float]], picture: Picture | None
) -> Markup:
    names = list(gallery.space.names)
    columns = [_liking(mean, sd) for _, mean, sd in ranked[:BEST]]
    shown = [ranges.shown(card.params) for card, *_ in ranked[:BEST]]
    heads = ["", *(f"{i}" for i in range(1, len(shown) + 1))]
    fresh = [card for card in belief.best(BEST + UNSEEN) if not _was_shown(gallery, ranked, card.params)][:UNSEEN]
    columns += [_liking(card.liking, card.sd) for card in fresh]
    shown += [ranges.shown(card.params) for card in fresh]
    heads += [f"new {i}" for i in range(1, len(fresh) + 1)]
    pictures = [_made(card, picture) for card, *_ in ranked[:BEST]] + [None] * len(fresh)
    rows: list[Sequence[Any]] = [["liking", *columns]]
    if any(pictures):
        rows.insert(0, ["", *(each or "" for each in pictures)])
    rows += [[name, *(values.get(name, "") for values in shown)] for name in names]
    said = "Expected liking ± its standard deviation, in units of the noise of one choice, above the average of the "
    said += "space: of two cards √2 apart the better one is told five times in six."
    if fresh:
        said += " New ones were not shown yet, and are believed to be liked as much."
    return section("best", "The best cards", _table(heads, rows, first=True), element("p", said, class_="note"))


def _liking(mean: float, sd: float) -> str:
    return f"{number(mean, 3)} ± {number(sd, 2)}"


def _was_shown(gallery: Gallery, ranked: Sequence[tuple[Card, float, float]], params: Mapping[str, Any]) -> bool:
    key = gallery.space.key(params)
    return any(gallery.key(card) == key for card, *_ in ranked)


def _made(card: Card, picture: Picture | None) -> Markup | None:
    """The picture that a command made of the card, if there is one."""
    if not isinstance(picture, CommandRenderer) or picture.kind != "image":
        return None
    path = picture.kept(card)
    if path is None:
        return None
    data = f"data:{picture.media};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return element("img", src=data, alt=f"Card {card.id}", width="160")


def _course_section(gallery: Gallery, person: str, names: Iterator[str]) -> Markup:
    rounds = []
    for action in gallery.person(person).answers:
        cards, answer = gallery.shown(action.data["round"]).cards, action.data["answer"]
        best = _preferred(answer)
        chosen = next((dict(card.params) for card in cards if card.id == best), None)
        rounds.append(([dict(card.params) for card in cards], chosen))
    return section("course", "How it went", _charts([liking_over_answers(gallery.belief(person), rounds)], names))


def _preferred(answer: Mapping[str, Any]) -> str | None:
    """The card that an answer puts first."""
    if answer["kind"] == "order":
        return answer["ranking"][0]
    if answer["kind"] in ("stars", "slider"):
        return max(answer["ratings"], key=answer["ratings"].get)
    return answer.get("chosen") or answer.get("winner")


def _belief_sections(
    gallery: Gallery, person: str, best: Mapping[str, Any], names: Iterator[str]
) -> list[Markup | None]:
    belief = gallery.belief(person)
    along = taste_slices(belief, best)
    if not along:
        return []
    said = "The others are held at the best card, the dot; the band holds 90 % of what is believed."
    found: list[Markup | None] = [
        section("along", "Along each parameter", element("p", said, class_="note"), _charts(along, names))
    ]
    numbers = [each.name for each in along if each.levels is None][:2]
    if len(numbers) == 2:
        cards = [dict(card.params) for card in seen(gallery, person)]
        maps = taste_maps(belief, numbers[0], numbers[1], best, cards)
        found.append(section("map", f"Over {numbers[0]} and {numbers[1]}", _charts(maps, names)))
    return found


def _charts(figures: Sequence[Figure], names: Iterator[str]) -> Markup:
    return element("div", *(pictured(figure, next(names)) for figure in figures), class_="charts")


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


def _rounds_section(gallery: Gallery, person: str) -> Markup | None:
    rows = []
    for action in gallery.person(person).answers:
        shown, answer = gallery.shown(action.data["round"]), action.data["answer"]
        rows.append((str(shown.number), answer["kind"], _said(answer), "late" if action.late else ""))
    if not rows:
        return None
    note = element("p", "Cards by their place in the round, from 1.", class_="note")
    table = _table(("round", "answer", "which", ""), rows)
    if len(rows) > FEW:
        table = element("details", element("summary", f"All {len(rows)}"), table)
    return section("rounds", "All answers", note, table)


def _said(answer: Mapping[str, Any]) -> str:
    if answer["kind"] == "best":
        return _place(answer["chosen"])
    if answer["kind"] == "order":
        return " > ".join(map(_place, answer["ranking"]))
    if answer["kind"] == "duel":
        return f"{_place(answer['winner'])} > {_place(answer['loser'])}"
    if answer["kind"] == "tie":
        return " = ".join(map(_place, answer["items"]))
    return ", ".join(f"{_place(id_)}: {number(value, 3)}" for id_, value in answer.get("ratings", {}).items())


def _place(id_: str) -> str:
    """Of a card in its round, from 1."""
    return str(int(id_.rpartition("-")[2]) + 1)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]], first: bool = False) -> Markup:
    """first : the first cell of a row is its head."""
    head = element("tr", *(element("th", name, scope="col") if name else element("td") for name in heads))
    body = [
        element("tr", *(element("th", cell, scope="row") if first and not j and cell else element("td", cell)
                        for j, cell in enumerate(row)))
        for row in rows
    ]  # fmt: skip
    table = element("table", element("thead", head), element("tbody", *body))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table")
