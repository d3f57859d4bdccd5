"""Events: those of older versions are read, those of newer ones refused; an old database opens."""

from __future__ import annotations

import json
import sqlite3

import pytest

import credo as cr
from credo.errors import FileFormatError
from credo.gallery.events import VERSION, current
from credo.gallery.fold import Card, GalleryState, Round
from credo.gallery.gallery import Gallery
from credo.gallery.tastes import records
from credo.studies import Event, open_storage


def card(x):
    return {"params": {"x": x}}  # as version 1 had it at least: no liking, no reason


def written(space):
    """A gallery by the first version, event by event."""
    created = {"space": space.state(), "direction": "taste", "seed": 5, "gallery": 1}
    return [
        ("created", created),
        ("joined", {"person": "ada", "name": "Ada"}),
        ("shown", {"person": "ada", "basis": 0, "number": 1, "cards": [card(0.1), card(0.9)]}),
        ("answered", {"person": "ada", "round": "3", "answer": {"kind": "best", "chosen": "3-1"}, "unknown": [1]}),
        ("narrowed", {"person": "ada", "name": "x", "to": {"low": 0.5, "high": 1.0}}),
        ("favoured", {"person": "ada", "card": "3-1", "on": True}),
        ("undone", {"person": "ada"}),
        ("undone", {"person": "ada"}),
        ("redone", {"person": "ada"}),
    ]


@pytest.fixture
def space():
    return cr.Space(x=cr.Real(0, 1))


def test_what_the_events_say(space):
    state = GalleryState(space)
    state.apply(Event(i, kind, None, data) for i, (kind, data) in enumerate(written(space), 1))
    ada = state.people["ada"]
    assert [action.kind for action in ada.done] == ["answered", "narrowed"]
    assert [action.kind for action in ada.undone] == ["favoured"]
    assert ada.narrowed == {"x": {"low": 0.5, "high": 1.0}}
    assert (ada.basis, ada.round, ada.number) == (5, None, 2)
    assert state.chosen(ada, "favoured") == {}
    assert state.cards["3-1"].params == {"x": 0.9}


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_a_database_of_an_older_schema_opens(tmp_path, space, schema):
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as old:
        old.executescript(
            f"""
            create table credo_schema (version integer not null);
            insert into credo_schema values ({schema});
            create table credo_studies (id integer primary key, name text not null unique, last integer not null);
            create table credo_events (study integer, sequence integer, kind text not null, trial integer, slot text,
              token text not null unique, data text not null, time float not null, primary key (study, sequence),
              unique (study, slot));
            insert into credo_studies values (1, 'gallery', {len(written(space))});
            """
        )
        if schema > 1:
            old.execute(
                "create table credo_beats (study integer, trial integer, count integer, primary key (study, trial))"
            )
        for i, (kind, data) in enumerate(written(space), 1):
            row = (1, i, kind, None, None, f"t{i}", json.dumps(data), 0.0)
            old.execute("insert into credo_events values (?, ?, ?, ?, ?, ?, ?, ?)", row)
    old.close()
    gallery = Gallery(space, open_storage(path))
    assert (gallery.seed, gallery.title) == (5, "gallery")
    shown = gallery.round("ada")
    assert all(0.5 <= card.params["x"] <= 1.0 for card in shown.cards)
    gallery.answer("ada", {"round": shown.id, "kind": "none"})
    gallery.undo("ada")
    gallery.undo("ada")
    gallery.undo("ada")
    assert gallery.round("ada").id == "3"


def test_older_events_become_present_ones():
    def dials(kind, data):
        return {**data, "dial": data["lean"] / 100} if kind == "dialled" else data

    old = Event(4, "dialled", None, {"person": "ada", "lean": 25})
    assert current(old, (dials,)).data["dial"] == 0.25
    new = Event(4, "dialled", None, {"person": "ada", "dial": 0.5, "v": 2})
    assert current(new, (dials,)).data["dial"] == 0.5


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event(2, "dialled", None, {"v": VERSION + 1}), "pip install -U"),
        (Event(2, "told", None, {"value": 1.0}), "no gallery's"),
        (Event(2, "dialled", None, {}), "incomplete"),
        (Event(2, "dialled", None, {"person": "eve", "dial": 1.0}), "incomplete"),
        (Event(3, "undone", None, {"person": "ada"}), "missing"),
    ],
)
def test_events_that_cannot_be_read(space, event, said):
    state = GalleryState(space)
    state.apply([Event(1, "created", None, {})])
    with pytest.raises(FileFormatError, match=said):
        state.apply([event])


def test_a_study_beside_it_is_left_alone(tmp_path, space):
    with cr.Study(space, storage=tmp_path / "a.db", name="s", random_state=0) as study:
        study.tell(study.ask(), 1.0)
    gallery = Gallery(space, open_storage(tmp_path / "a.db"))
    gallery.round(gallery.first())
    with cr.Study.load(tmp_path / "a.db", "s") as study:
        assert len(study.records) == 1
    with pytest.raises(cr.errors.ParameterError, match="taste"):  # a gallery is no study
        cr.Study.load(tmp_path / "a.db", "gallery")


def test_a_page_with_a_point_twice_as_old_ones_may_be_is_read():
    cards = tuple(Card(f"1-{i}", {"x": x}, None, None, "") for i, x in enumerate((0.1, 0.1, 0.9)))
    shown = Round("1", "ada", 0, 1, cards)
    (duel,) = records(shown, {"kind": "duel", "winner": "1-0", "loser": "1-1"})
    assert duel.kind == "skip"
    (order,) = records(shown, {"kind": "order", "ranking": ["1-1", "1-0", "1-2"]})
    assert order.ranking == ({"x": 0.1}, {"x": 0.9})
