"""Whatever is done in whatever order: two servers agree, a restart changes nothing, undo and redo are inverse."""

from __future__ import annotations

import contextlib
import copy
import threading

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError
from credo.gallery.fold import GalleryState
from credo.gallery.gallery import Gallery
from credo.studies import MemoryStorage, open_storage

SPACE = cr.Space(
    x=cr.Real(0, 1), n=cr.Integer(1, 5), kind=cr.Choice(["a", "b"]), w=cr.Real(1, 2, when={"kind": "a"}),
    constraints="x + n <= 5",
)  # fmt: skip


def acted(gallery, person, rng):
    """One thing that a page may do, often late, often twice, sometimes wrong."""
    state = gallery.refresh()
    shown = list(state.rounds.values())[-1 - int(rng.integers(min(3, len(state.rounds))))]
    cards = [card.id for card in shown.cards]
    one, two = rng.choice(cards, 2, replace=False).tolist()
    answers = [
        {"kind": "best", "chosen": one}, {"kind": "order", "ranking": [two, one]}, {"kind": "tie"}, {"kind": "none"},
        {"kind": "duel", "winner": one, "loser": two}, {"kind": "slider", "ratings": {one: float(rng.random())}},
        {"kind": "skip"}, {"kind": "stars", "ratings": {one: int(rng.integers(1, 6)), two: 3}},
    ]  # fmt: skip
    low, high = sorted(rng.random(2).tolist())
    actions = [
        lambda: gallery.answer(person, {"round": shown.id, **answers[int(rng.integers(len(answers)))]}),
        lambda: gallery.answer(person, {"round": shown.id, **answers[int(rng.integers(len(answers)))]}),
        lambda: gallery.undo(person),
        lambda: gallery.redo(person),
        lambda: gallery.dial(person, low),
        lambda: gallery.narrow(person, {"name": "x", "low": low, "high": high}),
        lambda: gallery.narrow(person, {"name": "kind", "value": str(rng.choice(["a", "b"]))}),
        lambda: gallery.narrow(person, {"name": "kind", "value": None}),
        lambda: gallery.narrow(person, {"name": "n", "low": 4, "high": 5}),
        lambda: gallery.near(person, one),
        lambda: gallery.start(person, [one, two]),
        lambda: gallery.pin(person, one, bool(rng.integers(2))),
        lambda: gallery.favour(person, two, bool(rng.integers(2))),
    ]
    # Somebody else's round, no point left, too many pins: refused, and nothing changed.
    with contextlib.suppress(ParameterError):
        actions[int(rng.integers(len(actions)))]()
    return gallery.round(person)


@pytest.mark.parametrize("seed", range(4))
def test_servers_and_restarts_agree(seed):
    rng, storage = np.random.default_rng(seed), MemoryStorage()
    servers = [Gallery(SPACE, storage, seed=seed, cards=3) for _ in range(2)]
    people = [servers[0].join(name) for name in ("Ada", "Bob")]
    for person in people:
        servers[0].round(person)
    for _ in range(120):
        person = people[int(rng.integers(2))]
        shown = acted(servers[int(rng.integers(2))], person, rng)
        assert all(SPACE.contains(card.params) for card in shown.cards)
    states = [server.refresh() for server in servers]
    anew = GalleryState(SPACE)
    anew.apply(storage.events("gallery"))
    for person in people:
        assert states[0].people[person] == states[1].people[person] == anew.people[person]
        assert servers[0].round(person) == servers[1].round(person)
    for person in people:
        who = copy.deepcopy(servers[0].person(person))
        rounds = [servers[0].round(person)]
        while servers[0].person(person).done:
            servers[1].undo(person)
            rounds.append(servers[0].round(person))
        assert servers[0].person(person).narrowed == {}
        for shown in rounds[-2::-1]:
            servers[0].redo(person)
            assert servers[0].round(person) == shown
        now = servers[0].person(person)
        assert (now.done, now.undone) == (who.done, who.undone)


def test_many_tabs_at_once_lose_nothing(tmp_path):
    servers = [Gallery(SPACE, open_storage(tmp_path / "a.db")) for _ in range(2)]
    ada = servers[0].join("Ada")
    shown = servers[0].round(ada)

    def tab(i):
        gallery = servers[i % 2]
        gallery.answer(ada, {"round": shown.id, "kind": "slider", "ratings": {shown.cards[0].id: i / 10}})
        gallery.round(ada)

    threads = [threading.Thread(target=tab, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in servers:
        server.refresh()
        assert len(server.person(ada).answers) == 6
        assert sum(not action.late for action in server.person(ada).answers) == 1
        assert server.round(ada).number == 2
    assert [event.kind for event in servers[0].storage.events("gallery")].count("shown") == 2
