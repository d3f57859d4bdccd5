"""The record: immutable, cheap to extend and shorten, counted without regard to order."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import credo as cr
from credo.errors import ParameterError, UnavailableError
from credo.models.preference.outcomes import GRADE, RATING, TIE, WIN, counted


def test_records_share_nothing_that_shows():
    root = cr.Preferences(3).with_duel(0, 1)
    left, right = root.with_duel(1, 2), root.with_tie(0, 2)
    assert (len(root), len(left), len(right)) == (1, 2, 2)
    assert left.events[1].kind == "duels"
    assert right.events[1].kind == "ties"
    again = left.undo().with_rating(0, 3.0)
    assert left.events[1].kind == "duels"
    assert again.events[1].kind == "ratings"
    assert again.events[0] is root.events[0]


def test_undo_takes_back_one_event_whole():
    history = cr.Preferences(5).with_duels([0, 1, 2], [3, 4, 0])
    assert len(history) == 1
    assert len(history.undo()) == 0
    with pytest.raises(UnavailableError, match="nothing to undo"):
        history.undo().undo()


def test_many_extensions_are_linear():
    history = cr.Preferences(2)
    for _ in range(20_000):
        history = history.with_duel(0, 1)
    while len(history):
        history = history.undo()
    assert len(history) == 0


def test_counting_ignores_order_and_batches():
    one = cr.Preferences(4).with_duels([0, 0, 2], [1, 1, 3]).with_tie(3, 1)
    other = cr.Preferences(4).with_tie(1, 3).with_duel(2, 3).with_duel(0, 1, count=2)
    a, b = counted(one), counted(other)
    for name in ("block", "a", "b", "kind", "value", "count"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert dict(zip(a.kind.tolist(), a.count.tolist(), strict=False))[TIE] == 1.0
    assert a.count.sum() == 4.0


def test_a_ranking_is_choices_and_the_best_of_two_a_duel():
    outcomes = counted(cr.Preferences(6).with_ranking([3, 1, 0], below=[5]))
    assert outcomes.items.tolist() == [0, 1, 3, 5]
    assert outcomes.best.tolist() == [1, 2]  # of items: 1, then 3
    assert outcomes.others.tolist() == [[0, 3, -1], [0, 1, 3]]
    assert (outcomes.a.tolist(), outcomes.b.tolist(), outcomes.kind.tolist()) == ([0], [3], [WIN])
    full = counted(cr.Preferences(2).with_ranking([1, 0]))
    assert (full.a.tolist(), full.b.tolist(), full.best.size) == ([1], [0], 0)
    among = counted(cr.Preferences(4).with_choice(2, [0, 1, 2, 3]))
    assert among.best.tolist() == [2]
    assert among.others.tolist() == [[0, 1, 3]]


def test_marks_and_users():
    history = cr.Preferences(3).with_grades([0, 1], [2, 0], users=["ann", "bob"]).with_rating(2, -1.5, user="ann")
    outcomes = counted(history.with_duel(0, 1))
    assert outcomes.users == ("ann", "bob")
    assert outcomes.marks(GRADE)[0].tolist() == [2.0, 0.0]
    assert outcomes.marks(RATING)[0].tolist() == [-1.5]
    assert sorted(outcomes.block.tolist()) == [0, 1, 1, 2]


def test_clicks_beat_what_was_skipped_above_them():
    history = cr.Preferences(list("abcde"))
    event = history.with_clicks(["b", "a", "c", "e"], clicked=["a", "e"]).events[0]
    pairs = [(history.items[i], history.items[j]) for i, j in zip(event.first, event.second, strict=True)]
    assert pairs == [("a", "b"), ("e", "b"), ("e", "c")]
    first = history.with_clicks(["b", "a"], clicked=["b"])  # the top one: nothing was skipped
    assert len(first) == 1
    assert counted(first).kind.size == 0
    assert counted(history.with_clicks(["b", "a"], clicked=[])).kind.size == 0


@pytest.mark.parametrize(
    ("act", "match"),
    [
        (lambda h: h.with_duel(0, 0), "two different items"),
        (lambda h: h.with_tie(1, 1), "two different items"),
        (lambda h: h.with_duel(0, 7), "one of the 3 items"),
        (lambda h: h.with_duel("a", 0), "one of the 3 items"),
        (lambda h: h.with_duel([0], 1), "one of the 3 items"),
        (lambda h: h.with_duels(np.array([0, -1]), np.array([1, 0])), "one of the 3 items"),
        (lambda h: h.with_duels([0, 1], [1]), "as many items as others"),
        (lambda h: h.with_duel(0, 1, count=-1), "finite numbers ≥ 0"),
        (lambda h: h.with_duel(0, 1, count=np.nan), "finite numbers ≥ 0"),
        (lambda h: h.with_ranking([0]), "two or more different items"),
        (lambda h: h.with_ranking([0, 1, 0]), "two or more different items"),
        (lambda h: h.with_ranking([], [0, 1]), "two or more different items"),
        (lambda h: h.with_choice(0, [0]), "two or more different items"),
        (lambda h: h.with_rating(0, np.inf), "finite numbers"),
        (lambda h: h.with_grade(0, 1.5), "whole numbers"),
        (lambda h: h.with_grade(0, -1), "whole numbers"),
        (lambda h: h.with_clicks([0, 1], [2]), "among the items shown"),
        (lambda h: h.with_clicks([0, 0], [0]), "among the items shown"),
        (lambda h: h.with_duel(0, 1, user=["ann"]), "user"),
        (lambda h: h.with_duels([0, 1], [1, 2], users=["ann"]), "a list or array of 2"),
        (lambda h: cr.Preferences(0), "at least one"),
        (lambda h: cr.Preferences("abc"), "sequence of distinct names"),
        (lambda h: cr.Preferences(["a", "a"]), "each named once"),
    ],
)
def test_what_cannot_be_is_refused_by_name(act, match):
    history = cr.Preferences(3)
    with pytest.raises(ParameterError, match=match):
        act(history)
    assert len(history) == 0


@pytest.mark.parametrize("how", ["save", "pickle", "copy"])
def test_round_trips(how, tmp_path):
    history = cr.Preferences(["x", "y", "z"]).with_duel("x", "y", user="ann").with_ranking(["z", "x", "y"])
    history = history.with_grades(["x", "y"], [0, 1], users=["ann", None]).with_rating("z", 1.25, user=3)
    if how == "save":
        cr.save(history, tmp_path / "history.credo")
        back = cr.load(tmp_path / "history.credo")
    else:
        back = pickle.loads(pickle.dumps(history)) if how == "pickle" else copy.deepcopy(history)
    assert back.items == history.items
    assert len(back) == 4
    one, other = counted(history), counted(back)
    assert one.users == other.users
    for name in ("block", "a", "b", "kind", "value", "count", "best", "others"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert len(back.undo()) == 3
