"""Answers: JSON there and back, what they refuse, and what a history makes of them."""

import json
import re

import numpy as np
import pytest

import credo as cr
from credo.design.spaces import Space
from credo.design.tastes import Best, Duel, NoneOfThem, Order, Rating, Skip, Tie, answer_from_state
from credo.design.tastes.record import ME, record_of
from credo.errors import ParameterError
from credo.models.preference.outcomes import GRADE, RATING, TIE, WIN

SPACE = Space(x=cr.Real(0.0, 1.0))
A, B, C, D = ({"x": v} for v in (0.1, 0.2, 0.3, 0.4))
EACH = [
    Best(A, [A, B, C]), Order([B, A, C]), Duel(A, B), Tie([A, B], [A, B, C]), NoneOfThem([A, B]), Rating(A, stars=2),
    Rating(A, slider=0.3), Skip([A, D]),
]  # fmt: skip


@pytest.mark.parametrize("answer", EACH, ids=lambda a: a.kind)
def test_answers_come_back_from_json(answer):
    again = answer_from_state(json.loads(json.dumps(answer.state())))
    assert again == answer
    assert answer_from_state({**answer.state(), "from a later version": 1}) == answer


def test_what_is_refused():
    for stars, slider in ((None, None), (3, 0.5), (0, None), (6, None), (None, -0.1), (None, np.nan), (True, None)):
        with pytest.raises(ParameterError):
            Rating(A, stars=stars, slider=slider)
    with pytest.raises(ParameterError, match="kind"):
        answer_from_state({"kind": "shrug"})
    with pytest.raises(ParameterError, match="answers"):
        record_of(SPACE, ["best"])
    with pytest.raises(ParameterError, match=r"Space\.x"):
        record_of(SPACE, [Duel(A, {"x": 2.0})])


@pytest.mark.parametrize(
    ("make", "said"),
    [(lambda: Order([A, B, dict(A)]), "Order.ranking"), (lambda: Duel(A, dict(A)), "Duel.loser"),
     (lambda: Order(A), "Order.ranking"), (lambda: Order(None), "Order.ranking"),
     (lambda: Order("ab"), "Order.ranking"),
     (lambda: Best(A, A), "Best.shown"), (lambda: Best(None, [A]), "Best.chosen"), (lambda: Best(A, [1]), "Best.shown"),
     (lambda: Best(A, iter([A, B])), "Best.shown"), (lambda: Rating(None, stars=3), "Rating.item"),
     (lambda: Tie(3), "Tie.items"), (lambda: NoneOfThem(None), "NoneOfThem.shown"), (lambda: Skip(A), "Skip.shown")],
)  # fmt: skip
def test_points_that_are_none_are_refused_when_the_answer_is_made(make, said):
    with pytest.raises(ParameterError, match=re.escape(said)):
        make()


def test_numbers_of_numpy_are_numbers():
    assert Rating(A, stars=np.int64(3)).value == Rating(A, slider=np.float32(0.5)).value == 0.5
    state = Best({"x": np.float64(0.1)}, np.array([{"x": np.float64(0.1)}, {"n": np.int64(2)}])).state()
    assert json.loads(json.dumps(state)) == {"kind": "best", "chosen": {"x": 0.1}, "shown": [{"x": 0.1}, {"n": 2}]}
    assert Best(A, [A, B]) == Best(A, (A, B))


def outcomes(*answers, people=None):
    return record_of(SPACE, answers, people).outcomes


def test_points_shown_twice_are_one():
    record = record_of(SPACE, [Best(A, [A, B, C]), Duel(C, A)])
    assert record.points == [A, B, C]
    assert record_of(SPACE, [Skip([A, B])]) is None


def test_an_order_is_its_choices_and_a_best_is_one():
    one = outcomes(Order([B, A, C]))
    assert (one.best.tolist(), one.others.tolist(), one.kind.tolist()) == ([0], [[1, 2]], [WIN])
    assert (one.a.tolist(), one.b.tolist()) == ([1], [2])
    best = outcomes(Best(A, [A, B, C]))
    assert (best.best.tolist(), best.others.tolist(), best.kind.size) == ([0], [[1, 2]], 0)
    alone = outcomes(Best(A, [A]))
    assert alone.best.size == alone.kind.size == 0


def test_a_tie_of_n_counts_as_n_minus_one_comparisons_and_beats_the_rest_once_each():
    found = outcomes(Tie([A, B, C], [A, B, C, D]))
    tied = found.kind == TIE
    assert found.count[tied].tolist() == [2 / 3] * 3
    won = found.kind == WIN
    assert set(found.b[won].tolist()) == {3}
    assert found.count[won].sum() == pytest.approx(1.0)


def test_none_is_the_lower_of_two_grades_and_then_a_choice_the_upper():
    found = outcomes(NoneOfThem([A, B]), Duel(C, D))
    graded = found.kind == GRADE
    assert dict(zip(found.a[graded].tolist(), found.value[graded].tolist())) == {0: 0.0, 1: 0.0, 2: 1.0}
    assert not outcomes(Duel(C, D)).has(GRADE)


def test_stars_and_sliders_share_a_scale():
    found = outcomes(Rating(A, stars=5), Rating(B, slider=0.25))
    assert found.kind.tolist() == [RATING, RATING]
    assert found.value.tolist() == [1.0, 0.25]


def test_people_have_blocks_and_a_newcomer_one_before_the_first_answer():
    record = record_of(SPACE, [], {"ann": [Duel(A, B)], "bob": []})
    assert record.user == ME
    assert record.outcomes.users == (ME, "ann")
    assert record.outcomes.block.tolist() == [2]
    assert record_of(SPACE, [Duel(A, B)], {"bob": []}).user is None


@pytest.mark.parametrize(
    ("state", "said"),
    [(None, "state"), ([], "state"), ({}, "kind"), ({"kind": []}, "kind"), ({"kind": "best"}, "chosen"),
     ({"kind": "duel", "winner": A}, "loser"), ({"kind": "rating", "stars": 3}, "item"), ({"kind": "tie"}, "items")],
)  # fmt: skip
def test_states_that_are_none(state, said):
    with pytest.raises(ParameterError, match=rf"answer_from_state\.{said}"):
        answer_from_state(state)
