"""What each sampler says of its choice; guesses; failures; constraints; two objectives; memory; replays."""

import json
from typing import Any

import numpy as np
import pytest

from credo.design.spaces import Boolean, Choice, Constant, Integer, Real, Space
from credo.errors import ParameterError
from credo.studies.samplers import NAMES, Guess, History, Suggestion, sampler_of
from credo.studies.samplers.auto import chosen
from credo.studies.samplers.guesses import EPSILON, TRUST, Guessed
from credo.studies.samplers.seen import design_size, seen

PLANE = Space(x=Real(0, 1), y=Real(0, 1))
BRANCHES = Space(kind=Choice(["a", "b"]), x=Real(0, 1, when={"kind": "b"}), n=Integer(1, 5))
WIDE = Space({f"x{j}": Real(0, 1) for j in range(25)})


def suggest(name: str, space: Space, n: int, **known: Any) -> Suggestion:
    """After n points of the space, whose values are the sum of their coordinates."""
    points = space.sample(n, np.random.default_rng(0))
    values = space.encode(points).X.sum(axis=1)
    history = History(points, **{"values": values, "index": n, "noisy": False} | known)
    found = sampler_of(name)[1].propose(space, history, [], np.random.default_rng(1))
    assert isinstance(found, Suggestion)
    assert space.contains(found.params)
    json.dumps([dict(found.why), found.memory], allow_nan=False)
    return found


@pytest.mark.parametrize(
    ("space", "method", "reason"),
    [(PLANE, "gp", "2 parameters"), (WIDE, "gp", "25 parameters"),
     (Space(c=Choice(list(range(30))), x=Real(0, 1)), "forest", "30 levels")],
)  # fmt: skip
def test_auto_chooses_by_the_space_and_says_so(space: Space, method: str, reason: str) -> None:
    n = design_size(space)
    assert suggest("auto", space, n - 1).why["method"] == "sobol"
    why = suggest("auto", space, n).why
    if why.get("acquisition") != "random":
        assert {"mean", "sd", "exploitation", "exploration"} <= set(why)
    assert why["method"] == method
    assert reason in why["reason"]


def test_two_models_take_turns_in_a_conditional_space() -> None:
    first, second = (suggest("auto", BRANCHES, 12, index=index).why for index in (12, 13))
    assert (first["method"], second["method"]) == ("gp", "forest")
    assert "x only sometimes" in first["reason"]


def test_narrowed_spaces_may_change_what_is_chosen() -> None:
    assert chosen(WIDE)[0] == chosen(WIDE, 249)[0] == ("gp",)
    assert chosen(WIDE, 250)[0] == ("trust",)
    assert chosen(WIDE.fixed({f"x{j}": 0.5 for j in range(10)}), 250)[0] == ("gp",)
    assert chosen(BRANCHES)[0] == ("gp", "forest")
    assert chosen(Space({f"x{j}": Real(0, 1, when={"f": True} if j else None) for j in range(25)}, f=Boolean()))[0] == (
        "forest",
    )


@pytest.mark.parametrize("name", ["gp", "forest", "trust"])
def test_every_model_serves_every_kind_of_space(name: str) -> None:
    mixed = Space(
        c=Choice(["a", "b"]), n=Integer(1, 9), f=Boolean(), k=Constant(2), x=Real(0, 1, when={"c": "a"}),
        y=Real(1e-3, 1, log=True), constraints=["y * n <= 5"],
    )  # fmt: skip
    assert suggest(name, mixed, 15).why["method"] == name
    assert suggest(name, Space(k=Constant(1)), 5).params == {"k": 1}


@pytest.mark.parametrize("name", NAMES)
def test_the_same_arguments_give_the_same_point(name: str) -> None:
    assert suggest(name, PLANE, 12) == suggest(name, PLANE, 12)


@pytest.mark.parametrize("name", ["gp", "trust"])
def test_what_is_remembered_is_used_and_another_sampler_s_memory_is_not(name: str) -> None:
    first = suggest(name, PLANE, 12)
    assert first.memory["theta"]
    suggest(name, PLANE, 12, memory=first.memory)
    suggest(name, PLANE, 12, memory=json.loads(json.dumps(first.memory)))
    for strange in ({"other": 1}, [1, 2], "text", {"region": 3, "theta": "x"}):
        assert suggest(name, PLANE, 12, memory=strange).params == first.params


@pytest.mark.parametrize("name", ["gp", "forest", "trust"])
def test_failed_trials_and_constraints_are_kept_away_from(name: str) -> None:
    """Values fall towards x = 0, where trials crash or break the constraint x ≥ ½."""
    points = PLANE.sample(40, np.random.default_rng(3))
    for failing in (True, False):
        kept = [p for p in points if p["x"] >= 0.5] if failing else points
        history = History(
            kept, values=np.array([p["x"] for p in kept]), noisy=False,
            failed=[p for p in points if p["x"] < 0.5] if failing else (),
            constraints=None if failing else np.array([[0.5 - p["x"]] for p in kept]),
        )  # fmt: skip
        found = sampler_of(name)[1].propose(PLANE, history, [], np.random.default_rng(1))
        assert found.params["x"] > 0.4
        if not failing:
            assert 0.0 <= found.why["feasibility"] <= 1.0


def test_failed_trials_have_the_worst_value_and_the_worst_constraints() -> None:
    history = History([{"x": 0.1, "y": 0.1}, {"x": 2.0, "y": 0.0}], values=np.array([[1.0, 5.0], [9.0, 9.0]]),
                      failed=[{"x": 0.5, "y": 0.5}], constraints=np.array([[0.3], [0.9]]))  # fmt: skip
    data = seen(PLANE, history, [{"x": 0.2, "y": 0.2}, {"x": 3.0, "y": 0.0}])
    assert data.values.tolist() == [[1.0, 5.0], [1.0, 5.0]]  # the second trial lies outside the space
    assert data.constraints is not None
    assert data.constraints.tolist() == [[0.3], [0.3]]
    assert (data.told, len(data.waiting)) == (1, 1)


@pytest.mark.parametrize("name", ["auto", "forest", "trust"])
def test_two_objectives(name: str) -> None:
    points = PLANE.sample(15, np.random.default_rng(0))
    values = np.array([[p["x"], 1.0 - p["x"] + (p["y"] - 0.5) ** 2] for p in points])
    found = suggest(name, PLANE, 15, values=values)
    assert found.why["method"] == ("forest" if name == "forest" else "gp")


# -- guesses ---------------------------------------------------------------------------------------------------------

CORNER = Guess({"x": 0.9, "kind": "b"}, {"x": 0.1, "kind": 0.2})
MIXED = Space(x=Real(0, 1), kind=Choice(["a", "b", "c"]), y=Real(0, 1))


def test_weights_integrate_to_one_and_fade() -> None:
    """∫ w = 1 against the uniform measure, by the midpoint rule, and w^(β/n) after n trials."""
    x = (np.arange(4000) + 0.5) / 4000
    points = [{"x": u, "kind": kind, "y": 0.5} for kind in "abc" for u in x.tolist()]
    w = Guessed(MIXED, [CORNER], int(TRUST)).of_points(points)
    assert np.exp(w).mean() == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(Guessed(MIXED, [CORNER], 10 * int(TRUST)).of_points(points), w / 10, rtol=1e-12)
    assert w.min() >= np.log(EPSILON) - 1e-12
    best = points[int(np.argmax(w))]
    assert best["kind"] == "b"
    assert best["x"] == pytest.approx(0.9, abs=1e-3)


def test_slopes_of_weights() -> None:
    rng = np.random.default_rng(0)
    both = Guessed(MIXED, [CORNER, Guess({"y": 0.2}, {"y": 0.05})], 7)
    X = MIXED.encode(MIXED.sample(20, rng)).X
    _, slopes = both(X)
    for j in (0, 4):
        step = np.zeros(5)
        step[j] = 1e-6
        difference = (both(X + step)[0] - both(X - step)[0]) / 2e-6
        np.testing.assert_allclose(slopes[:, j], difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["auto", "gp", "forest", "trust"])
def test_the_first_trial_is_the_guess_and_later_ones_are_near(name: str) -> None:
    guesses = [Guess({"x": 0.3, "y": 0.7}, {"x": 0.05, "y": 0.05})]
    first = suggest(name, PLANE, 0, guesses=guesses)
    assert first.params["x"] == pytest.approx(0.3)
    assert first.params["y"] == pytest.approx(0.7)
    assert first.why["method"] == "guess"
    points = PLANE.sample(12, np.random.default_rng(0))
    noise = np.random.default_rng(1).random(12)
    near = suggest(name, PLANE, 12, guesses=guesses, values=noise)
    if near.why.get("acquisition") != "random":
        assert abs(near.params["x"] - 0.3) < 0.2
        assert abs(near.params["y"] - 0.7) < 0.2
    assert len(points) == 12


def test_guesses_of_part_of_a_point_and_of_what_a_space_no_longer_has() -> None:
    part = suggest("gp", MIXED, 0, guesses=[CORNER]).params
    assert (part["kind"], part["x"]) == ("b", pytest.approx(0.9))
    fixed = MIXED.fixed(x=0.5)
    assert suggest("gp", fixed, 12, guesses=[CORNER]).params["x"] == 0.5
    assert not Guessed(PLANE, [Guess({"z": 1.0}, {})])


def test_a_wrong_guess_is_outvoted() -> None:
    """Forty trials say that x = 0 is best, a guess says x = .9."""
    points = PLANE.sample(40, np.random.default_rng(0))
    values = np.array([p["x"] for p in points])
    for name in ("gp", "forest"):
        wrong = suggest(name, PLANE, 40, values=values, guesses=[Guess({"x": 0.9}, {"x": 0.1})])
        assert wrong.params["x"] < 0.1 or wrong.why.get("acquisition") == "random"


def test_names_are_checked() -> None:
    for name in NAMES:
        assert sampler_of(name)[0] == name
    with pytest.raises(ParameterError, match="forest"):
        sampler_of("tpe")
