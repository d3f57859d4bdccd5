"""A session over HTTP: rounds and answers, undo, control, people, tabs; nothing is lost."""

from __future__ import annotations

import re
import tomllib

import pytest

import credo as cr
from credo.gallery.gallery import Gallery
from credo.studies import open_storage
from tests.gallery.conftest import SPACE, Page


def ids(state):
    return [card["id"] for card in state["round"]["cards"]]


def points(state):
    return [card["params"] for card in state["round"]["cards"]]


# -- rounds ------------------------------------------------------------------------------------------------------


def test_first_round(page, space):
    state = page.state
    assert len(ids(state)) == len(set(ids(state))) == 4
    assert all(space.contains(params) for params in points(state))
    assert {state["answers"], state["round"]["number"], state["dial"]} == {0, 1, 0.5}
    assert (state["can_undo"], state["can_redo"], state["best"], state["favourites"]) == (False, False, None, [])
    assert 0.0 <= state["sure"] <= 1.0
    card = state["round"]["cards"][0]
    assert card["shown"]["unit"] == "cm"
    assert card["shown"]["fast"] in ("yes", "no")
    assert card["sd"] > 0.0
    assert card["why"]
    assert card["render"]["kind"] == "table"
    assert page.state == state  # asking changes nothing


def test_space_is_described(page):
    described = {entry["name"]: entry for entry in page.state["space"]}
    assert described["rate"]["log"] is True
    assert (described["n"]["low"], described["n"]["high"], described["n"]["type"]) == (1, 9, "integer")
    assert described["kind"]["choices"] == described["kind"]["all"] == ["a", "b", "<i>c</i>"]
    assert described["unit"]["fixed"] == "cm"
    assert described["x"]["fixed"] is None


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("best", lambda c: {"chosen": c[2]}),
        ("order", lambda c: {"ranking": c[::-1]}),
        ("order", lambda c: {"ranking": [c[1]]}),
        ("order", lambda c: {"ranking": [c[1], c[3]]}),
        ("duel", lambda c: {"winner": c[0], "loser": c[3]}),
        ("stars", lambda c: {"ratings": {c[0]: 5, c[1]: 1}}),
        ("slider", lambda c: {"ratings": {c[0]: 0.25}}),
        ("tie", lambda c: {}),
        ("tie", lambda c: {"items": c[:2]}),
        ("none", lambda c: {}),
        ("skip", lambda c: {}),
    ],
)
def test_every_kind_of_answer(page, kind, sent):
    before = page.state
    after = page.post("answer", round=before["round"]["id"], kind=kind, **sent(ids(before)))
    assert after["round"]["id"] != before["round"]["id"]
    assert (after["answers"], after["round"]["number"], after["can_undo"]) == (1, 2, True)


@pytest.mark.parametrize(
    ("kind", "sent", "said"),
    [
        ("best", lambda c: {"chosen": "99-0"}, "answer.chosen"),
        ("best", lambda c: {"chosen": 3}, "answer.chosen"),
        ("best", lambda c: {"chosen": {"a": [1]}}, "answer.chosen"),
        ("order", lambda c: {"ranking": [c[0], c[0]]}, "each once"),
        ("order", lambda c: {"ranking": []}, "answer.ranking"),
        ("order", lambda c: {"ranking": "ab"}, "a list"),
        ("duel", lambda c: {"winner": c[0], "loser": c[0]}, "another card"),
        ("tie", lambda c: {"items": [c[0]]}, "2 or more"),
        ("stars", lambda c: {"ratings": {c[0]: 6}}, "1 to 5"),
        ("stars", lambda c: {"ratings": {c[0]: 2.5}}, "whole"),
        ("stars", lambda c: {"ratings": {c[0]: True}}, "1 to 5"),
        ("slider", lambda c: {"ratings": {c[0]: -0.1}}, "0 to 1"),
        ("slider", lambda c: {"ratings": {}}, "answer.ratings"),
        ("slider", lambda c: {"ratings": {"1-77": 0.5}}, "answer.ratings"),
        ("sing", lambda c: {}, "answer.kind"),
        (None, lambda c: {}, "answer.kind"),
        ("skip", lambda c: {"key": ""}, "answer.key"),
    ],
)
def test_answers_that_are_none_are_refused_and_change_nothing(page, kind, sent, said):
    before = page.state
    told = page.post("answer", 400, round=before["round"]["id"], kind=kind, **sent(ids(before)))
    assert said in told["detail"]
    assert page.state == before


def test_a_round_that_was_never_shown(page):
    for round_ in ("7", None, "../x", ["1"]):
        assert "answer.round" in page.post("answer", 400, round=round_, kind="skip")["detail"]


# -- undo and redo -----------------------------------------------------------------------------------------------


def test_undo_and_redo_go_through_the_same_rounds(page):
    states = [page.state]
    for kind in ("best", "none", "skip", "tie"):
        states.append(page.answer(kind))
    for state in states[-2::-1]:
        assert page.post("undo")["round"] == state["round"]
    assert page.post("undo")["round"] == states[0]["round"]  # nothing is left
    for state in states[1:]:
        assert page.post("redo")["round"] == state["round"]
    assert page.post("redo") == {**states[-1], "can_redo": False}


def test_another_answer_after_undo_ends_redo(page):
    first = page.answer()
    page.post("undo")
    second = page.answer("none")
    assert second["can_redo"] is False
    assert second["answers"] == 1
    assert second["round"]["id"] != first["round"]["id"]


def test_the_same_answer_after_undo_counts(page):
    shown = page.state["round"]
    sent = {"round": shown["id"], "kind": "best", "chosen": shown["cards"][0]["id"]}
    page.post("answer", **sent, key="a")
    page.post("undo")
    assert page.post("answer", **sent, key="b")["answers"] == 1


# -- tabs, and what arrives twice or late ------------------------------------------------------------------------


def test_an_answer_that_is_sent_twice_counts_once(page):
    shown = page.state["round"]
    sent = {"round": shown["id"], "kind": "best", "chosen": shown["cards"][0]["id"]}
    once = page.post("answer", **sent)
    assert page.post("answer", **sent) == once
    with_key = {"round": once["round"]["id"], "kind": "none", "key": "0123"}
    after = page.post("answer", **with_key)
    page.post("undo")
    assert page.post("answer", **with_key)["answers"] == 1  # it arrived, and was taken back since
    assert after["answers"] == 2


def test_a_late_answer_counts_and_the_other_tab_stays_where_it_is(page, gallery):
    old = page.state["round"]
    now = page.answer()
    late = page.post("answer", round=old["id"], kind="best", chosen=old["cards"][1]["id"])
    assert late["answers"] == 2
    assert late["round"]["id"] == now["round"]["id"]
    assert late["round"]["number"] == 2
    (who,) = gallery.people
    assert [action.late for action in who.answers] == [False, True]
    assert page.post("undo")["answers"] == 1  # of the late one
    assert page.answer()["round"]["number"] == 3


def test_two_servers_agree(space):
    storage = cr.studies.MemoryStorage()
    a, b = (Gallery(space, storage, seed=3) for _ in range(2))
    ada = a.join("Ada")
    assert b.refresh().people.keys() == {ada}
    assert a.round(ada) == b.round(ada)
    assert a.first() == b.first() == ada
    for _ in range(3):
        shown = b.round(ada)
        b.answer(ada, {"round": shown.id, "kind": "none"})
        a.answer(ada, {"round": shown.id, "kind": "none"})
    assert b.round(ada) == a.round(ada)
    assert a.round(ada).number == 4
    assert [e.kind for e in storage.events("gallery")].count("shown") == 4


def test_the_same_seed_and_answers_give_the_same_rounds(space, believed):
    def run(seed):
        gallery = Gallery(space, cr.studies.MemoryStorage(), seed=seed)
        gallery._append("joined", {"person": "ada", "name": "Ada"})
        for _ in range(3):
            shown = gallery.round("ada")
            gallery.answer("ada", {"round": shown.id, "kind": "best", "chosen": shown.cards[1].id})
        return [card.params for card in gallery.round("ada").cards]

    assert run(1) == run(1) != run(2)


def test_killed_and_opened_again_nothing_is_lost(tmp_path, space, believed):
    def begin():
        return Gallery(space, open_storage(tmp_path / "a.db"), seed=None, title="T")

    before = begin()
    ada = before.join("Ada")
    shown = before.round(ada)
    before.answer(ada, {"round": shown.id, "kind": "best", "chosen": shown.cards[0].id})
    before.favour(ada, shown.cards[0].id, True)
    before.narrow(ada, {"name": "x", "low": 0.25, "high": 0.5})
    before.pin(ada, before.round(ada).cards[0].id, True)
    state = before.round(ada), before.person(ada), before.belief(ada).sure
    after = begin()  # the first was not closed: as after kill -9
    assert (after.round(ada), after.person(ada), after.belief(ada).sure) == state


# -- control -----------------------------------------------------------------------------------------------------


def test_narrowing(page):
    state = page.post("narrow", name="x", low=0.25, high=0.5)
    assert all(0.25 <= params["x"] <= 0.5 for params in points(state))
    state = page.post("narrow", name="rate", low=None, high=1.0)
    state = page.post("narrow", name="kind", choices=["a"])
    state = page.post("narrow", name="n", value=3.0)
    assert all((p["n"], p["kind"], type(p["n"])) == (3, "a", int) and p["rate"] <= 1.0 for p in points(state))
    described = {entry["name"]: entry for entry in state["space"]}
    assert (described["x"]["low"], described["x"]["high"], described["x"]["full"]) == (
        0.25,
        0.5,
        {"low": 0.0, "high": 1.0},
    )
    assert (described["n"]["fixed"], described["n"]["low"], described["kind"]["fixed"]) == (3, 3, "a")
    assert described["kind"]["all"] == ["a", "b", "<i>c</i>"]
    state = page.post("narrow", name="n", value=None)
    assert {entry["name"]: entry for entry in state["space"]}["n"]["fixed"] is None
    state = page.post("undo")
    assert {entry["name"]: entry for entry in state["space"]}["n"]["fixed"] == 3
    wider = page.post("narrow", name="x", low=0.0, high=0.9)  # ranges are changed within the space as created
    assert {entry["name"]: entry for entry in wider["space"]}["x"]["high"] == 0.9


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "z", "value": 1}, {"name": ["x"]}, {"name": "unit", "value": "m"},
        {"name": "x", "low": -1, "high": 0.5}, {"name": "x", "low": 0.5, "high": 0.25},
        {"name": "x", "value": "wide"}, {"name": "n", "low": "1", "high": 3},
        {"name": "kind", "choices": []}, {"name": "kind", "choices": ["z"]}, {"name": "kind", "choices": "a"},
        {"name": "x", "low": [1], "high": {}}, {"name": "kind", "choices": [["a"]]},
    ],
)  # fmt: skip
def test_ranges_that_are_none(page, sent):
    before = page.state
    assert page.post("narrow", 400, **sent)["detail"]
    assert page.state == before


def test_constraints_leave_a_point():
    space = cr.Space(x=cr.Real(0, 1), y=cr.Real(0, 1), constraints="x + y <= 1")
    gallery = Gallery(space, cr.studies.MemoryStorage())
    ada = gallery.join("Ada")
    gallery.narrow(ada, {"name": "x", "low": 0.8, "high": 1.0})
    with pytest.raises(cr.errors.ParameterError):
        gallery.narrow(ada, {"name": "y", "low": 0.5, "high": 1.0})
    gallery.narrow(ada, {"name": "y", "low": 0.0, "high": 0.1})
    assert all(card.params["x"] + card.params["y"] <= 1 for card in gallery.round(ada).cards)


def test_dial(page):
    before = page.state["round"]["id"]
    state = page.post("dial", dial=0.9)
    assert state["dial"] == 0.9
    assert state["round"]["id"] != before
    assert page.post("dial", dial=0.9) == state
    for wrong in (1.5, "0.5", None, True):
        assert "dial" in page.post("dial", 400, dial=wrong)["detail"]
    assert page.post("undo")["round"]["id"] == before


def test_pins_stay(page):
    state = page.state
    card = state["round"]["cards"][2]
    state = page.post("pin", card=card["id"], pinned=True)
    assert [c["pinned"] for c in state["round"]["cards"]] == [False, False, True, False]
    for _ in range(2):
        state = page.answer("none")
        assert card["params"] in points(state)
    held = next(c for c in state["round"]["cards"] if c["params"] == card["params"])
    assert held["pinned"] is True
    state = page.post("pin", card=held["id"], pinned=False)  # by whichever card shows it
    assert state["pinned"] == []


def test_a_round_of_nothing_but_pins_is_refused(page):
    for id_ in ids(page.state)[:3]:
        page.post("pin", card=id_, pinned=True)
    assert "unpin" in page.post("pin", 400, card=ids(page.state)[3], pinned=True)["detail"]


def test_near_and_start(page):
    state = page.state
    near = page.post("near", card=ids(state)[1])
    assert near["near"] == ids(state)[1]
    assert near["round"]["id"] != state["round"]["id"]
    after = page.answer("none")
    assert after["near"] is None  # of one round
    started = page.post("start", cards=[ids(state)[0], ids(near)[0]])
    assert points(started)[:2] == [points(state)[0], points(near)[0]]
    assert page.post("near", 400, card="nope")["detail"]
    assert page.post("start", 400, cards=[])["detail"]
    assert page.post("start", 400, cards=["nope"])["detail"]


def test_favourites(page):
    state = page.answer()
    card = state["round"]["cards"][0]
    state = page.post("favourite", card=card["id"])
    assert [c["params"] for c in state["favourites"]] == [card["params"]]
    assert state["round"]["id"] == page.state["round"]["id"]  # the round stays
    assert state["round"]["cards"][0]["favourite"] is True
    assert page.post("favourite", card=card["id"], favourite=False)["favourites"] == []
    assert len(page.post("undo")["favourites"]) == 1
    assert page.post("favourite", 400, card=card["id"], favourite="yes")["detail"]


# -- belief ------------------------------------------------------------------------------------------------------


def test_slices_and_maps(page, believed):
    page.answer()
    found = page.get("/api/slice?name=rate")
    assert len(found["grid"]) == len(found["mean"]) == len(found["lower"]) == len(found["upper"]) > 10
    assert found["grid"][0] == 0.01
    assert all(low < mean < high for low, mean, high in zip(found["lower"], found["mean"], found["upper"]))
    assert page.get("/api/slice?name=kind")["grid"] == ["a", "b", "<i>c</i>"]
    assert page.get(f"/api/slice?name=x&at={ids(page.state)[0]}")["at"] == points(page.state)[0]["x"]
    found = page.get("/api/map?a=x&b=n")
    assert (len(found["mean"]), len(found["sd"][0])) == (len(found["b"]["grid"]), len(found["a"]["grid"]))
    for wrong in ("slice?name=z", "slice?name=unit", "map?a=x&b=x", "map?a=x&b=z"):
        assert page.get(f"/api/{wrong}", 400)["detail"]
    assert page.get("/api/slice?name=x&at=nope", 404)["detail"]
    assert page.get("/api/slice", 422)["detail"]


# -- people ------------------------------------------------------------------------------------------------------


def test_two_people(opened):
    ada, bob = Page(opened()), Page(opened())
    assert ada.state["person"] == bob.state["person"]  # nobody said otherwise
    ada.answer()
    state = bob.post("person", name=" Bob ")
    assert state["person"]["name"] == "Bob"
    assert (state["answers"], state["can_undo"]) == (0, False)
    assert bob.state["person"]["name"] == "Bob"
    assert ada.state["person"]["name"] == "You"
    assert [p["answers"] for p in bob.answer("none")["people"]] == [1, 1]
    bob.post("narrow", name="x", value=0.5)
    assert {entry["name"]: entry for entry in ada.state["space"]}["x"]["fixed"] is None
    assert bob.post("person", id=ada.state["person"]["id"])["person"]["name"] == "You"
    for wrong in ({"name": ""}, {"name": "x" * 41}, {"name": "a\nb"}, {"id": "nobody"}, {"name": 3}, {"id": ["a"]}):
        assert bob.post("person", 400, **wrong)["detail"]


def test_a_tab_keeps_its_person(page):
    first = page.state["session"]
    page.post("person", name="Bob")
    mine = page.client.get("/api/state", headers={"X-Session": first}).json()
    assert (mine["session"], page.state["person"]["name"]) == (first, "Bob")


def test_an_answer_to_somebody_elses_round(page):
    shown = page.state["round"]
    page.post("person", name="Bob")
    assert page.post("answer", 400, round=shown["id"], kind="none")["detail"]


def test_permalinks(opened, page):
    page.post("person", name="Bob")
    page.answer()
    link = f"/s/{page.state['session']}"
    other = Page(opened(), link)
    assert other.state == page.state
    assert opened().get("/s/nobody").status_code == 404
    card = page.state["round"]["cards"][0]
    assert other.get(f"/api/card/{card['id']}")["params"] == card["params"]
    assert other.get("/api/card/nope", 404)


# -- what is taken away ------------------------------------------------------------------------------------------


def test_export(page, space):
    assert page.get("/export.json")["params"] is None
    state = page.answer()
    found = page.get("/export.json")
    assert found["params"] == state["best"]["params"]
    answer = page.client.get("/export.toml")
    assert "attachment" in answer.headers["content-disposition"]
    assert space.contains(tomllib.loads(answer.text))
    assert tomllib.loads(answer.text) == found["params"]
    card = state["round"]["cards"][3]
    assert tomllib.loads(page.client.get(f"/export.toml?card={card['id']}").text) == card["params"]
    assert page.get("/export.json?card=nope", 404)


def test_report(page, space, believed):
    page.answer("order", ranking=ids(page.state)[:2])
    page.post("narrow", name="kind", choices=["a", "<i>c</i>"])
    page.post("narrow", name="rate", low=None, high=1.0)
    page.post("narrow", name="n", value=3.0)
    page.post("favourite", card=ids(page.state)[0])
    page.answer("stars", ratings={ids(page.state)[0]: 4})
    answer = page.client.get("/report")
    assert answer.status_code == 200
    assert "1 &gt; 2" in answer.text
    assert "Things &amp; &lt;more&gt;" in answer.text
    assert "<i>c" not in answer.text
    for narrowed in ("<td>a, &lt;i&gt;c&lt;/i&gt;</td>", "<td>0.01 to 1</td>", "<td>3</td>"):
        assert narrowed in answer.text
    assert "<script" not in answer.text
    assert " style=" not in answer.text
    assert "'sha256-" in answer.headers["content-security-policy"]
    headings = re.findall(r"<h3>(.*?)</h3>", answer.text)
    assert headings[0] == "Liking over answers"
    assert headings[-2:] == ["Liking", "Uncertainty"]
    along = [heading.removeprefix("Liking along ") for heading in headings[1:-2]]
    assert sorted(along) == sorted(name for name, p in space.parameters.items() if p.kind != "constant")


def test_report_before_an_answer(page):
    text = page.client.get("/report").text
    assert "No answer yet." in text
    assert "<svg" not in text


def test_the_space_of_a_gallery_does_not_change(gallery):
    with pytest.raises(cr.errors.ParameterError, match="differs in x"):
        Gallery(cr.Space({**SPACE, "x": cr.Real(0, 2)}), gallery.storage)
    with pytest.raises(cr.errors.ParameterError, match="seed"):
        Gallery(gallery.space, gallery.storage, seed=7)
    assert Gallery(gallery.space, gallery.storage).seed == 1
    cr.Study(gallery.space, storage=gallery.storage, name="s")
    with pytest.raises(cr.errors.ParameterError, match="is a study"):
        Gallery(gallery.space, gallery.storage, name="s")
    for cards in (1, 10, True, 2.0):
        with pytest.raises(cr.errors.ParameterError, match="cards"):
            Gallery(gallery.space, gallery.storage, cards=cards)
