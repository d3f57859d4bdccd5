"""Conditions, constraints, encoding, designs, narrowing and files of a whole space."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credo
from credo.design.spaces import Boolean, Choice, Constant, Integer, LinearConstraint, Ordinal, Real, Space
from credo.errors import FileFormatError, MissingFileError, ParameterError, SaveError


def tuning() -> Space:
    """Two levels of conditions, every kind of parameter, each kind of constraint that is data."""
    return Space(
        lr=Real(1e-5, 1, log=True),
        model=Choice(["svm", "forest", "linear"]),
        kernel=Choice(["rbf", "poly"], when={"model": "svm"}),
        degree=Integer(2, 5, when={"kernel": "poly"}),
        trees=Integer(10, 1000, log=True, when={"model": ["forest"]}),
        size=Ordinal(["small", "medium", "large"]),
        scale=Boolean(when="model != 'forest' and lr < 0.5"),
        a=Real(0, 1),
        b=Real(0, 1),
        constraints=[LinearConstraint({"a": 1, "b": 1}, upper=1), "degree * a <= 4", "lr <= 0.9"],
    )


@given(st.integers(0, 2**32))
def test_points_survive_encoding_and_json(seed: int) -> None:
    space = tuning()
    for point in space.sample(5, np.random.default_rng(seed)):
        assert space.contains(point)
        assert json.loads(json.dumps(point)) == point
        X, active = space.encode(point)
        assert X.shape == active.shape == (1, space.width)
        assert np.all((X >= 0) & (X <= 1))
        (back,) = space.decode(X)
        assert list(back) == list(point)
        for name, value in point.items():
            exact = space.parameters[name].kind != "real"
            assert back[name] == value if exact else back[name] == pytest.approx(value, rel=1e-12, abs=1e-15)
        again = space.encode(back)
        assert np.allclose(again.X, X, atol=1e-13)
        assert np.array_equal(again.active, active)
        marked = {column.parameter for column, on in zip(space.columns, active[0]) if on}
        assert marked == set(point)


@given(st.integers(0, 2**32))
def test_conditions_are_those_of_a_program(seed: int) -> None:
    for p in tuning().sample(4, np.random.default_rng(seed)):
        expected = {"lr", "model", "size", "a", "b"}
        if p["model"] == "svm":
            expected |= {"kernel"} | ({"degree"} if p["kernel"] == "poly" else set())
        if p["model"] == "forest":
            expected |= {"trees"}
        elif p["lr"] < 0.5:
            expected |= {"scale"}
        assert set(p) == expected
        assert p["a"] + p["b"] <= 1
        assert p["lr"] <= 0.9
        assert p.get("degree", 0) * p["a"] <= 4


def test_inactive_coordinates_are_in_the_middle() -> None:
    space = Space(c=Choice(["u", "v"]), d=Choice([*"xyz"], when={"c": "u"}), e=Real(5, 6, when={"d": "x"}))
    X, active = space.encode([{"c": "v"}, {"c": "u", "d": "y"}])
    assert X.tolist() == [[0, 1, 1 / 3, 1 / 3, 1 / 3, 0.5], [1, 0, 0, 1, 0, 0.5]]
    assert active.tolist() == [[True, True, False, False, False, False], [True] * 5 + [False]]
    assert [(c.parameter, c.kind, c.value) for c in space.columns][:3] == [
        ("c", "categorical", "u"), ("c", "categorical", "v"), ("d", "categorical", "x"),
    ]  # fmt: skip


def test_a_function_as_condition_reads_what_is_active() -> None:
    space = Space(n=Integer(1, 3), k=Real(0, 1, when=lambda p: p["n"] > 1), z=Real(0, 1, when=lambda p: p["k"] > 0.5))
    for p in space.sample(50, np.random.default_rng(0)):
        assert ("k" in p) == (p["n"] > 1)
        assert ("z" in p) == (p.get("k", 0) > 0.5)
    slip = Space(n=Integer(1, 3), k=Real(0, 1, when=lambda p: p["m"] > 1))  # it would be switched off for ever
    with pytest.raises(ParameterError, match=r"Space\.k\.when must be a function of the parameters before it"):
        slip.sample(1, np.random.default_rng(0))


def test_points_of_a_finite_space_against_a_loop() -> None:
    space = Space(
        n=Integer(1, 3), c=Choice([*"ab"]), m=Integer(1, 2, when={"c": "a"}), constraints=lambda p: p["n"] != 2
    )
    expected = [
        {"n": n, "c": c, **({"m": m} if c == "a" else {})} for n, c, m in itertools.product([1, 3], "ab", [1, 2])
    ]
    unique = {json.dumps(p): p for p in expected}
    assert space.points() == list(unique.values())
    assert space.size == 12
    with pytest.raises(ParameterError, match=r"Space.points.limit"):
        space.points(limit=11)


def test_designs_fill_better_than_random_and_repeat() -> None:
    space = Space(x=Real(0, 1), y=Real(0, 1), z=Real(0, 1))
    a = space.encode(space.design(128, np.random.default_rng(1))).X
    assert np.array_equal(a, space.encode(space.design(128, np.random.default_rng(1))).X)
    # a (t, 7, 3)-net in base 2: every half of every axis holds exactly half of the points
    assert np.array_equal((a < 0.5).sum(axis=0), [64, 64, 64])
    assert len({tuple(c) for c in (a[:, :2] * 8).astype(int)}) == 64


def test_designs_respect_constraints_and_a_longer_one_begins_alike() -> None:
    space = tuning()
    short, long = (space.design(n, np.random.default_rng(3)) for n in (7, 40))
    assert all(space.contains(p) for p in long)
    assert short == long[:7]


def test_samples_are_uniform_where_allowed() -> None:
    space = Space(x=Real(0, 1), y=Real(0, 1), constraints="x + y <= 1")
    X = space.encode(space.sample(4000, np.random.default_rng(0))).X
    # mean 1/3 and sd 1/√18 over the triangle; 4.9 standard errors: false alarm 2e-6 (two means)
    assert np.allclose(X.mean(axis=0), 1 / 3, atol=4.9 / np.sqrt(18 * 4000))


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (lambda: Space(x=Real(0, 1), constraints=LinearConstraint({"x": 1}, lower=2)), "LinearConstraint"),
        (lambda: Space(x=Real(0, 1), constraints=["x > 0.5", "x < 0.4"]), "x"),
        (lambda: Space(x=Real(0, 1), constraints=lambda p: False), "lambda"),
        (
            lambda: Space(n=Integer(0, 9), constraints=["n * n == 7"]),
            "one of the 10 points, got Expression('n * n == 7')",
        ),
    ],
)
def test_contradictions_are_named(space: object, value: str) -> None:
    impossible = space()  # type: ignore[operator]
    for draw in (impossible.sample, impossible.design):
        with pytest.raises(ParameterError) as caught:
            draw(3, np.random.default_rng(0))
        assert caught.value.owner == "Space"
        assert caught.value.parameter == "constraints"
        assert value in str(caught.value)


@pytest.mark.parametrize(
    "two",
    [
        (LinearConstraint({"x": 1}, lower=0.7), LinearConstraint({"x": 2}, upper=1.2)),
        ("x >= 0.7", "x <= 0.4"),
        ("x > 0.5 and y > 0.5", "x + y <= 0.9"),
    ],
)
def test_of_many_constraints_the_two_that_contradict_are_named(two: tuple[object, object]) -> None:
    harmless = [LinearConstraint({"x": 1, "y": 1}, upper=1.9), "y >= 0.1"]
    space = Space(x=Real(0, 1), y=Real(0, 1), constraints=[harmless[0], two[0], harmless[1], two[1]])
    with pytest.raises(ParameterError, match="contradict each other") as caught:
        space.sample(1, np.random.default_rng(0))
    assert [str(each) for each in caught.value.value] == [
        str(each) for each in (space.constraints[1], space.constraints[3])
    ]


def test_the_last_point_of_a_finite_space_is_found() -> None:
    space = Space(n=Integer(1, 90), m=Integer(1, 90), constraints="n * m == 8099 or n + m >= 180")
    assert space.sample(2, np.random.default_rng(0)) == [{"n": 90, "m": 90}] * 2
    assert space.design(2, np.random.default_rng(0)) == [{"n": 90, "m": 90}] * 2


def test_narrowing_and_fixing() -> None:
    space = tuning()
    narrow = space.narrowed(lr=(1e-3, None), model=["svm", "linear"], size="large").fixed(kernel="poly")
    assert narrow.parameters["lr"] == Real(1e-3, 1, log=True)
    assert narrow.parameters["model"] == Choice(["svm", "linear"])
    assert narrow.parameters["size"] == Constant("large")
    for p in narrow.sample(20, np.random.default_rng(0)):
        assert space.contains(p)
        assert p["size"] == "large"
        assert p.get("kernel", "poly") == "poly"
    assert narrow.width == space.width - 1 - 1 - 2
    assert space.contains(narrow.sample(1, np.random.default_rng(0))[0])
    assert Space(x=Real(0, 1)).narrowed(x=(0.5, 0.5)).parameters["x"] == Constant(0.5)
    for change in (
        lambda: space.narrowed(lr=(1e-6, 1)),
        lambda: space.narrowed(a=(0.6, 0.4)),
        lambda: space.narrowed(a=0.5),
        lambda: space.narrowed(model=["tree"]),
        lambda: space.narrowed(nothing=(0, 1)),
        lambda: space.fixed(a=2),
        lambda: space.fixed(size="small").fixed(size="large"),
    ):
        with pytest.raises(ParameterError):
            change()


def test_distance_is_a_metric_of_the_cube() -> None:
    space = tuning()
    points = space.sample(30, np.random.default_rng(5))
    for a, b in itertools.islice(itertools.permutations(points, 2), 200):
        assert space.distance(a, b) == space.distance(b, a) >= 0
        assert space.distance(a, a) == 0
        assert space.distance(a, b) <= 1
    plain = Space(x=Real(0, 4), c=Choice([*"ab"]))
    assert plain.distance({"x": 1, "c": "a"}, {"x": 3, "c": "a"}) == 0.25
    assert plain.distance({"x": 1, "c": "a"}, {"x": 1, "c": "b"}) == 0.5


def test_state_and_toml_describe_the_same_space(tmp_path: Path) -> None:
    space = tuning()
    assert Space.from_state(json.loads(json.dumps(space.state()))) == space
    text = """
        constraints = [{coefficients = {a = 1, b = 1}, upper = 1}, "degree * a <= 4", "lr <= 0.9"]
        [parameters]
        lr = {low = 1e-5, high = 1.0, log = true}
        model = {choices = ["svm", "forest", "linear"]}
        kernel = {choices = ["rbf", "poly"], when = {model = "svm"}}
        degree = {low = 2, high = 5, when = {kernel = "poly"}}
        trees = {low = 10, high = 1000, log = true, when = {model = ["forest"]}}
        size = {type = "ordinal", choices = ["small", "medium", "large"]}
        scale = {type = "boolean", when = "model != 'forest' and lr < 0.5"}
        a = {low = 0.0, high = 1.0}
        b = {type = "real", low = 0, high = 1}
    """
    path = tmp_path / "space.toml"
    path.write_text(text)
    assert Space.from_toml(text) == Space.from_toml(path) == Space.from_toml(str(path)) == space
    top = Space.from_toml("[x]\nlow = 0\nhigh = 1.5\n[c]\nvalue = 3")
    assert top == Space(x=Real(0, 1.5), c=Constant(3))


def test_a_space_saves_with_the_rest_of_credo(tmp_path: Path) -> None:
    credo.save(tuning(), tmp_path / "space.credo")
    assert credo.load(tmp_path / "space.credo") == tuning()


def test_a_space_pickles_and_copies() -> None:
    for twin in (pickle.loads(pickle.dumps(tuning())), copy.deepcopy(tuning())):
        assert twin == tuning()
        assert twin.design(9, np.random.default_rng(0)) == tuning().design(9, np.random.default_rng(0))


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "[x]\nlow = 1",
        "[x]\nlow = 0\nhigh = 1\nstep = 2",
        "[x]\ntype = 'complex'\nlow = 0\nhigh = 1",
        "",
        "a = [",
    ],
)
def test_bad_files_are_refused(text: str) -> None:
    with pytest.raises((ParameterError, FileFormatError)):
        Space.from_toml(text + "\n")
    with pytest.raises(MissingFileError):
        Space.from_toml("absent.toml")


def test_constraints_below_the_parameters_belong_to_them() -> None:
    with pytest.raises(ParameterError, match="write constraints above"):
        Space.from_toml('[parameters]\nx = {low = 0, high = 9}\nconstraints = ["x > 1"]\n')


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('constraint = ["x < 1"]', "Did you mean constraints"),
        ("foo = 3", "'foo'"),
        ("[defaults]\nx = 2", "'defaults'"),
        ("[y]\nlow = 0\nhigh = 1", r"\[parameters\.y\]"),
    ],
)
def test_what_nobody_would_read_in_a_file_is_an_error(more: str, said: str) -> None:
    parameters = "[parameters]\nx = {low = 0, high = 9}\n"
    with pytest.raises(ParameterError, match=said):
        Space.from_toml(f"{more}\n{parameters}")
    for settings in ("[gallery]\ntitle = 'T'\n", "[tune]\ntrials = 9\n"):
        assert Space.from_toml(parameters + settings).names == ("x",)
        assert Space.from_toml(settings + "[x]\nlow = 0\nhigh = 9\n").names == ("x",)
    assert Space.from_toml("[tune]\nlow = 0\nhigh = 9\n").names == ("tune",)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xef\xbb\xbf[parameters]\nx = {low = 0, high = 9}\n")
    assert Space.from_toml(path).names == ("x",)


def test_a_condition_about_a_value_that_is_none_of_its_parent_s() -> None:
    text = "[parameters]\nk = {choices = ['a', 'b']}\nn = {low = 1, high = 3}\nx = {low = 0, high = 9, when = {WHEN}}\n"
    for wrong in ("k = 'zzz'", "k = ['a', 'zzz']", "n = 4", "k = 'a', n = 2.5"):
        with pytest.raises(ParameterError, match=r"x\.when"):
            Space.from_toml(text.replace("WHEN", wrong))
    space = Space.from_toml(text.replace("WHEN", "k = 'b', n = [1, 3]"))
    for smaller in (space.fixed(k="a"), space.narrowed(n=(2, 3)), pickle.loads(pickle.dumps(space.narrowed(n=(2, 3))))):
        assert Space.from_state(smaller.state()) == smaller  # narrowed spaces keep their conditions
    assert Space(k=Constant("a"), x=Real(0, 1, when={"k": "b"})).sample(1, np.random.default_rng(0)) == [{"k": "a"}]
    with pytest.raises(ParameterError, match=r"x\.when"):
        Space(k=Choice(["a"]), x=Real(0, 1, when={"k": "b"}))


def test_functions_are_not_data() -> None:
    space = Space(x=Real(0, 1), constraints=lambda p: p["x"] > 0.5)
    with pytest.raises(SaveError, match="expression"):
        space.state()
    with pytest.raises(ParameterError, match="function itself"):
        Space.from_state(space.state(strict=False))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Space(),
        lambda: Space(x=3),
        lambda: Space({"not a name": Real(0, 1)}),
        lambda: Space({"x": Real(0, 1)}, x=Real(0, 1)),
        lambda: Space(x=Real(0, 1, when={"y": 1})),
        lambda: Space(x=Real(0, 1, when={"x": 1})),
        lambda: Space(x=Integer(0, 1, when={"y": 1}), y=Integer(0, 1, when={"x": 1})),
        lambda: Space(x=Real(0, 1, when=7)),
        lambda: Space(x=Real(0, 1), constraints="y > 0"),
        lambda: Space(x=Real(0, 1), constraints="x.real > 0"),
        lambda: Space(x=Real(0, 1), constraints="__import__('os')"),
        lambda: Space(x=Real(0, 1), constraints="x >"),
        lambda: Space(x=Real(0, 1), constraints="(lambda: 1)()"),
        lambda: Space(x=Real(0, 1), constraints="-" * 1500 + "x > 0"),
        lambda: Space(x=Real(0, 1), constraints=LinearConstraint({"x": 1})),
        lambda: Space(c=Choice(["a"]), constraints=LinearConstraint({"c": 1}, upper=1)),
    ],
)
def test_bad_spaces_are_refused(make: object) -> None:
    with pytest.raises(ParameterError):
        make()  # type: ignore[operator]


def test_expressions_that_fail_say_so() -> None:
    for text in ("x / 0 > 1", "9 ** 9 ** 9 ** x > 1", "x + 'a' > 1", "log(x - 5) > 0"):
        with pytest.raises(ParameterError, match="computable"):
            Space(x=Real(1, 2), constraints=text).contains({"x": 1.5}) or Space(
                x=Real(1, 2), constraints=text
            ).feasible({"x": 1.5})
    with pytest.raises(ParameterError, match=r"params.get"):
        Space(x=Real(1, 2), constraints=lambda p: p["y"]).sample(1, np.random.default_rng(0))


def test_check_explains() -> None:
    space = tuning()
    good = space.sample(1, np.random.default_rng(0))[0]
    for bad, word in (
        ({**good, "extra": 1}, "extra"),
        ({k: v for k, v in good.items() if k != "lr"}, "lr"),
        ({**good, "lr": 5}, "lr"),
        ({**good, "a": 0.9, "b": 0.9}, "LinearConstraint"),
    ):
        assert not space.contains(bad)
        with pytest.raises(ParameterError, match=word):
            space.check(bad)


@pytest.mark.parametrize("answer", [None, "no", 1.0])
def test_a_constraint_that_is_no_truth_is_refused(answer: object) -> None:
    """None of a forgotten return would be read as False, "no" as True."""
    space = Space(x=Real(0, 1), constraints=[lambda p: answer])
    with pytest.raises(ParameterError, match="returns True or False"):
        space.sample(1, np.random.default_rng(0))
    assert Space(x=Real(0, 1), constraints=[lambda p: np.float64(p["x"]) < 2]).feasible({"x": 0.5})


def test_sizes_seeds_and_coordinates_that_are_none() -> None:
    space = Space(x=Real(0, 1))
    for draw in (space.sample, space.design):
        with pytest.raises(ParameterError, match="an integer ≥ 0"):
            draw(-1, np.random.default_rng(0))
        with pytest.raises(ParameterError, match="random_state"):
            draw(1, "seed")  # type: ignore[arg-type]
        assert draw(2, 7) == draw(2, np.random.default_rng(7))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="finite"):
        space.decode([[np.nan]])


@pytest.mark.parametrize("table", ["{low = 1.0, high = 1.0}", '{low = 1, high = 3, log = "yes"}', '{choices = "abc"}'])
def test_a_faulty_table_of_a_file_is_named(table: str) -> None:
    with pytest.raises(ParameterError, match=r"Space\.depth"):
        Space.from_toml(f"[parameters]\nrate = {{low = 0.0, high = 1.0}}\ndepth = {table}\n")
