"""Forests: their two variances against trees read one by one, categories, inactive columns, and what they propose."""

import numpy as np
import pytest

from credo.design.forest import Forest, Table, propose_by_forest
from credo.design.forest.candidates import neighbours
from credo.design.spaces import Boolean, Choice, Constant, Integer, Ordinal, Real, Space
from credo.errors import DataError, ParameterError, UnavailableError

SPACE = Space(
    kind=Choice(["svm", "tree", "none"]), C=Real(0.1, 10, log=True, when={"kind": "svm"}),
    depth=Integer(1, 8, when={"kind": "tree"}), size=Ordinal(["s", "m", "l"]), flag=Boolean(), fixed=Constant(3),
)  # fmt: skip


def loss(p):
    return {"svm": abs(np.log10(p.get("C", 1)) - 0.5), "tree": abs(p.get("depth", 1) - 6) / 4, "none": 1.0}[p["kind"]]


def tried(n, seed=0):
    points = SPACE.sample(n, np.random.default_rng(seed))
    return points, np.array([loss(p) for p in points])


def test_variances_are_those_of_a_tree_drawn_at_random():
    """The law of total variance, against moments of the mixture of all leaves' trials, found by walking each tree."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 3)), rng.standard_normal(60)
    forest = Forest.grow(X, y, {}, rng, trees=8, leaf=4)
    at = rng.random((20, 3))
    means, squares = np.zeros((8, 20)), np.zeros((8, 20))
    for t, tree in enumerate(forest.trees):
        nodes = tree.nodes
        for i, x in enumerate(at.astype(np.float32)):
            node = 0
            while nodes.children_left[node] >= 0:
                left = x[nodes.feature[node]] <= nodes.threshold[node]
                node = (nodes.children_left if left else nodes.children_right)[node]
            means[t, i] = nodes.value[node, 0, 0]
            squares[t, i] = nodes.impurity[node] + nodes.value[node, 0, 0] ** 2
    found = forest.moments(at)
    np.testing.assert_allclose(found.mean, means.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.sd**2, squares.mean(axis=0) - means.mean(axis=0) ** 2, rtol=1e-9, atol=1e-12)
    assert np.all(found.within > 0.0)
    assert np.all(found.between > 0.0)


def test_trees_disagree_where_there_are_no_trials():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.uniform(0, 0.3, 30), rng.uniform(0.7, 1, 30)])[:, None]
    forest = Forest.grow(X, X[:, 0], {}, rng)
    assert forest.moments(np.array([[0.5]])).between[0] > 10 * forest.moments(X[:1]).between[0]


def test_a_category_never_seen_is_uncertain():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, 60).astype(float)[:, None]
    forest = Forest.grow(X, X[:, 0], {0: 4}, rng)
    found = forest.moments(np.array([[0.0], [1.0], [2.0], [3.0]]))
    np.testing.assert_allclose(found.mean[:3], [0.0, 1.0, 2.0], atol=1e-12)
    assert found.sd[3] > 0.3 > 1e-6 > found.sd[:3].max()


def test_one_split_tells_inactive_from_active():
    points, _ = tried(200)
    X = Table(SPACE).columns(points)
    assert X.shape == (200, 5)
    inactive = np.array(["C" not in p for p in points])
    assert np.all((X[:, 1] == -1.0) == inactive)
    y = np.where(inactive, 1.0, 0.0)
    found = Forest.grow(X[:, 1:2], y, {}, np.random.default_rng(0)).moments(X[:, 1:2])
    assert np.abs(found.mean - y).max() < 0.25


def test_rows_give_back_their_points():
    points, _ = tried(50)
    rng = np.random.default_rng(3)
    back = SPACE.from_uniform(Table(SPACE).uniforms(points, rng))
    for point, same in zip(points, back):
        assert {k: v for k, v in same.items() if k != "C"} == {k: v for k, v in point.items() if k != "C"}
        assert same.get("C", 1.0) == pytest.approx(point.get("C", 1.0))


def test_neighbours_differ_in_one_parameter():
    rng = np.random.default_rng(4)
    table = Table(SPACE)
    row = table.uniforms(tried(1)[0], rng)[0]
    assert np.all(np.sum(neighbours(table, row, rng) != row, axis=1) <= 1)


def test_proposals_are_new_points_and_find_the_best_branch():
    points, values = tried(25)
    rng = np.random.default_rng(5)
    for _ in range(12):
        found = propose_by_forest(SPACE, points, values, rng=rng, trees=32)
        assert SPACE.contains(found.points[0])
        assert SPACE.key(found.points[0]) not in {SPACE.key(p) for p in points}
        points, values = [*points, found.points[0]], np.append(values, loss(found.points[0]))
    assert values.min() < 0.06


def test_batches_spread_and_avoid_pending_points():
    points, values = tried(30)
    found = propose_by_forest(SPACE, points, values, pending=points[:1], n=3, trees=16, rng=np.random.default_rng(6))
    assert len({SPACE.key(p) for p in found.points}) == 3
    for name in ("mean", "sd", "within", "between", "acquisition", "exploitation", "exploration", "feasibility"):
        assert getattr(found, name).shape == (3,)
        assert np.all(np.isfinite(getattr(found, name)))
    assert np.all(found.exploration > 0.0)


def test_same_seed_same_points():
    points, values = tried(20)
    one, two = (propose_by_forest(SPACE, points, values, n=2, trees=16, rng=np.random.default_rng(7)) for _ in range(2))
    assert one.points == two.points


def test_constraints_hold_back_where_they_are_broken():
    space = Space(x=Real(0, 1), y=Real(0, 1))
    points = space.sample(60, np.random.default_rng(8))
    limits = [0.5 - p["x"] for p in points]  # x ≥ ½, while the objective falls towards 0
    found = propose_by_forest(space, points, [p["x"] for p in points], constraints=limits, n=3, trees=32,
                              rng=np.random.default_rng(0))  # fmt: skip
    assert all(p["x"] > 0.4 for p in found.points)
    nothing = propose_by_forest(space, points, [p["x"] for p in points], constraints=np.ones((60, 2)),
                                rng=np.random.default_rng(0))  # fmt: skip
    assert nothing.feasibility[0] < 1e-3


def test_a_prior_pulls():
    space = Space(x=Real(0, 1))
    points = space.sample(12, np.random.default_rng(9))
    found = propose_by_forest(space, points, np.random.default_rng(0).random(12), rng=np.random.default_rng(1),
                              prior=lambda given: np.array([-1e4 * (p["x"] - 0.77) ** 2 for p in given]))  # fmt: skip
    assert abs(found.points[0]["x"] - 0.77) < 0.05


def test_noisy_trials_may_come_again_and_exact_ones_may_not():
    space = Space(k=Choice(["a", "b"]))
    points = [{"k": "a"}, {"k": "b"}] * 3
    again = propose_by_forest(space, points, [0.0, 1.0, 0.1, 1.1, -0.1, 0.9], noisy=True, rng=np.random.default_rng(0))
    assert again.points == [{"k": "a"}]
    with pytest.raises(UnavailableError, match="no new point"):
        propose_by_forest(space, points, np.zeros(6), noisy=False, rng=np.random.default_rng(0))


def test_awkward_histories():
    rng = np.random.default_rng(0)
    points, values = tried(6)
    assert propose_by_forest(SPACE, points[:1], values[:1], rng=rng).points
    assert propose_by_forest(SPACE, points, np.zeros(6), rng=rng).points  # all the same
    with pytest.raises(DataError, match="not finite"):
        propose_by_forest(SPACE, points, [*values[:5], np.nan], rng=rng)
    with pytest.raises(ParameterError, match="values"):
        propose_by_forest(SPACE, points, values[:5], rng=rng)
    with pytest.raises(ParameterError, match="values"):
        propose_by_forest(SPACE, [], [], rng=rng)
    with pytest.raises(ParameterError, match="n must"):
        propose_by_forest(SPACE, points, values, n=0, rng=rng)
    with pytest.raises(ParameterError, match="kind"):
        propose_by_forest(SPACE, [{"kind": "?"}], [0.0], rng=rng)
