"""Columns that only sometimes matter: one point where nothing that matters differs."""

import numpy as np

from credo.design.acquisition import propose
from credo.design.spaces import Boolean, Choice, Real, Space
from credo.design.surrogates import Cube
from credo.design.surrogates.cube import Conditional, OneHot, cube_of
from credo.studies.samplers.gp import kinds_of

SPACE = Space(on=Boolean(), x=Real(0, 1, when={"on": True}), c=Choice(["a", "b"], when={"on": True}))


def cube() -> Cube:
    return cube_of(kinds_of(SPACE), SPACE.width)


def test_snapped_points_are_what_encoding_gives():
    rng = np.random.default_rng(0)
    X = cube().snap(rng.random((100, 4)))
    np.testing.assert_allclose(X, SPACE.encode(SPACE.decode(X)).X, atol=1e-12)
    assert len(np.unique(X[X[:, 0] < 0.5], axis=0)) == 1


def test_what_matters_is_what_encoding_says():
    (rule,) = [kind for kind in kinds_of(SPACE) if isinstance(kind, Conditional)]
    X = np.random.default_rng(2).random((50, 4))
    np.testing.assert_array_equal(rule.active(X), SPACE.encode(SPACE.decode(X)).active)


def test_a_category_that_does_not_matter_is_a_level_of_its_own():
    rows = cube().rows(
        SPACE.encode([{"on": False}, {"on": True, "x": 0.5, "c": "a"}, {"on": True, "x": 0.5, "c": "b"}]).X
    )
    assert rows[:, 2].tolist() == [2.0, 0.0, 1.0]


def test_neighbours_are_points_and_differ():
    for point in SPACE.sample(20, np.random.default_rng(1)):
        x = SPACE.encode(point).X[0]
        near = cube().neighbours(x)
        assert len(near)
        np.testing.assert_allclose(near, cube().snap(near))
        assert all(SPACE.key(p) != SPACE.key(point) for p in SPACE.decode(near))


def test_there_is_no_slope_where_nothing_matters():
    X = SPACE.encode([{"on": False}, {"on": True, "x": 0.3, "c": "a"}]).X
    slopes = cube().slopes(X, np.ones((2, 3)))
    assert slopes[:, 1].tolist() == [0.0, 1.0]


def test_a_finite_conditional_space_is_tried_once_through():
    """Three points, though the cube has six: each is proposed once."""
    space = Space(on=Boolean(), c=Choice(["a", "b"], when={"on": True}))
    X, rng = space.encode([{"on": False}]).X, np.random.default_rng(0)
    for _ in range(2):
        X = np.vstack([X, propose(X, np.arange(len(X)), kinds=kinds_of(space), noisy=False, rng=rng).points])
    assert len({space.key(p) for p in space.decode(X)}) == 3


def test_unconditional_cubes_are_as_before():
    plain = cube_of([OneHot((0, 1))], 3)
    assert plain.conditional is None
    never = cube_of([OneHot((0, 1)), Conditional(lambda X: np.ones(X.shape, dtype=bool))], 3)
    X = np.random.default_rng(0).random((10, 3))
    np.testing.assert_array_equal(plain.snap(X), never.snap(X))
    np.testing.assert_array_equal(plain.rows(plain.snap(X)), never.rows(never.snap(X)))
