"""Shares of variance: against sums over every point, and functions whose shares are known."""

import itertools

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import credo as cr
from credo.design.importance import importance
from credo.design.importance.boxes import Boxes, Measure
from credo.design.importance.equations import decompose
from credo.errors import DataError, ParameterError, UnavailableError

FINITE = cr.Space(
    n=cr.Integer(1, 6, log=True), k=cr.Integer(-2, 2), o=cr.Ordinal([16, 32, 64]), b=cr.Boolean(),
    c=cr.Categorical(["x", "y", "z"]), fixed=cr.Constant(3),
)  # fmt: skip


def _trees(space: cr.Space, seed: int) -> list[DecisionTreeRegressor]:
    rng = np.random.default_rng(seed)
    X = space.encode(space.sample(80, rng)).X
    return [
        DecisionTreeRegressor(min_samples_leaf=2, random_state=i).fit(X, X @ rng.normal(size=X.shape[1]) * X[:, 0])
        for i in range(2)
    ]


def _every_point(space: cr.Space) -> tuple[np.ndarray, list[np.ndarray]]:
    """All rows of the encoding, in the order of a product, and the mass of each parameter's values by `quantile`."""
    parameters = [p for p in space.parameters.values() if p.width]
    values = [list(p.choices) if hasattr(p, "choices") else list(range(p.low, p.high + 1)) for p in parameters]
    fine = (np.arange(40_000) + 0.5) / 40_000
    masses = [np.array([p.quantile(fine).count(v) for v in vs]) / 40_000 for p, vs in zip(parameters, values)]
    blocks = [p.to_unit(vs) for p, vs in zip(parameters, values)]
    rows = [np.concatenate(each) for each in itertools.product(*blocks)]
    return np.array(rows), masses


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_trees_agree_with_sums_over_every_point(seed: int) -> None:
    measures = Measure.of(FINITE)
    X, masses = _every_point(FINITE)
    f, g = (tree.predict(X).reshape([len(m) for m in masses]) for tree in _trees(FINITE, seed))
    one, two = (Boxes.of(tree.tree_, measures) for tree in _trees(FINITE, seed))
    found = decompose(one.weighted, two.weighted, one.ratios(two, measures), range(len(measures)))

    def given(values: np.ndarray, kept: tuple[int, ...]) -> np.ndarray:
        for j in reversed([j for j in range(len(masses)) if j not in kept]):
            values = np.tensordot(values, masses[j], axes=(j, 0))
        return values

    def covariance(kept: tuple[int, ...]) -> float:
        weight = np.ones(())
        for j in kept:
            weight = np.multiply.outer(weight, masses[j])
        return float(np.sum(weight * given(f, kept) * given(g, kept)) - given(f, ()) * given(g, ()))

    # Masses by counting 40,000 quantiles are right to 1/40,000, and so are sums of products of five of them.
    close = {"rtol": 0.0, "atol": 1e-3 * float(np.std(f) * np.std(g))}
    every = tuple(range(len(measures)))
    np.testing.assert_allclose(found.variance, covariance(every), **close)
    np.testing.assert_allclose(found.main, [covariance((j,)) for j in every], **close)
    rest = [tuple(i for i in every if i != j) for j in every]
    np.testing.assert_allclose(found.total, [covariance(every) - covariance(kept) for kept in rest], **close)
    for i, j in itertools.combinations(every, 2):
        alone = covariance((i,)) + covariance((j,))
        np.testing.assert_allclose(found.pairs[i, j], covariance((i, j)) - alone, **close)


def test_boxes_fill_the_space() -> None:
    for space in (FINITE, cr.Space(x=cr.Real(0, 1), y=cr.Real(1, 100, log=True), c=cr.Categorical(list("abcd")))):
        for tree in _trees(space, 0):
            boxes = Boxes.of(tree.tree_, Measure.of(space))
            np.testing.assert_allclose(np.prod(boxes.widths, axis=0).sum(), 1.0, rtol=1e-12)


def test_the_parts_of_two_parameters_make_the_whole() -> None:
    space = cr.Space(x=cr.Real(0, 1), c=cr.Categorical(["a", "b", "c"]))
    points = space.sample(60, np.random.default_rng(0))
    found = importance(space, points, [p["x"] ** 2 * (p["c"] == "a") for p in points], np.random.default_rng(1))
    np.testing.assert_allclose(found.share.sum() + found.pairs[0].share, 1.0, atol=1e-9)
    np.testing.assert_allclose(found.total, found.share + found.pairs[0].share, atol=1e-9)


SIX = cr.Space({f"x{i}": cr.Real(0, 1) for i in range(6)})


def _found(space: cr.Space, f, n: int, noise: float = 0.0, **options):
    rng = np.random.default_rng(5)
    points = space.sample(n, rng)
    values = np.array([f(p) for p in points]) + noise * rng.normal(size=n)
    return importance(space, points, values, np.random.default_rng(6), **options)


@pytest.mark.parametrize("method", ["forest", "process"])
def test_one_parameter_has_everything(method: str) -> None:
    """Exactly: no tree that is given the choice splits on another where this one explains all."""
    found = _found(SIX, lambda p: np.exp(p["x3"]), 100, method=method)
    assert found.method == method
    assert found.names[0] == "x3"
    np.testing.assert_allclose([found.share[0], found.total[0]], 1.0, atol=5e-3)
    np.testing.assert_allclose(found.total[1:], 0.0, atol=5e-3)


@pytest.mark.parametrize(("noise", "n", "tolerance"), [(0.0, 500, 0.05), (1.0, 1000, 0.07)])
def test_additive(noise: float, n: int, tolerance: float) -> None:
    """Var(3u + 2v + w) = (9 + 4 + 1)/12: shares 9/14, 4/14, 1/14; noise, of nearly that variance, is nobody's.

    Least squares on 1,000 noisy trials has slopes with a standard error of 0.11, so shares with one of 0.022: 0.07 is
    three of them (trees can know no better). Without noise trees of 200 leaves err by their steps.
    """
    found = _found(SIX, lambda p: 3 * p["x0"] + 2 * p["x1"] + p["x2"], n, noise, method="forest")
    assert found.names[:3] == ("x0", "x1", "x2")
    np.testing.assert_allclose(found.share[:3], np.array([9, 4, 1]) / 14, atol=tolerance)
    assert found.share[3:].max() < 0.01
    assert found.pairs[0].share < 0.03
    assert (found.explained > 0.9) is (noise == 0.0)


def test_a_product_is_a_pair() -> None:
    found = _found(SIX, lambda p: (p["x1"] - 0.5) * (p["x4"] - 0.5), 500, method="forest")
    assert set(found.pairs[0].names) == {"x1", "x4"}
    np.testing.assert_allclose(found.pairs[0].share, 1.0, atol=0.06)
    assert found.share.max() < 0.05
    assert found.total[:2].min() > 0.95


def test_a_process_knows_more_of_few_trials() -> None:
    """Twenty trials in six dimensions: a forest finds nothing of the product, a process nearly all of it."""
    few = _found(SIX, lambda p: (p["x1"] - 0.5) * (p["x4"] - 0.5), 20)
    assert few.method == "process"
    assert set(few.pairs[0].names) == {"x1", "x4"}
    assert few.pairs[0].share > 0.6
    sums = _found(SIX, lambda p: 3 * p["x0"] + 2 * p["x1"] + p["x2"], 20)
    np.testing.assert_allclose(sums.share[:3], np.array([9, 4, 1]) / 14, atol=0.06)


def test_measures_are_the_parameters_own() -> None:
    """log₁₀ x over 4 decades and n over {0, …, 8}: Var 16/12 against 80/12·s², equal at s = √0.2."""
    space = cr.Space(x=cr.Real(1e-4, 1, log=True), n=cr.Integer(0, 8))
    found = _found(space, lambda p: np.log10(p["x"]) + np.sqrt(0.2) * p["n"], 200)
    np.testing.assert_allclose(found.share, 0.5, atol=0.05)


def test_conditional() -> None:
    """f = w − ½ where k = "rbf", else 0: half of its variance is w's alone, half w's with k."""
    space = cr.Space(k=cr.Categorical(["rbf", "linear"]), w=cr.Real(0, 1, when={"k": "rbf"}), z=cr.Real(0, 1))
    found = _found(space, lambda p: p["w"] - 0.5 if p["k"] == "rbf" else 0.0, 60)
    share = dict(zip(found.names, found.share))
    np.testing.assert_allclose([share["w"], share["k"], share["z"]], [0.5, 0.0, 0.0], atol=0.03)
    assert set(found.pairs[0].names) == {"k", "w"}
    np.testing.assert_allclose(found.pairs[0].share, 0.5, atol=0.03)


def test_far_values_may_be_tamed() -> None:
    def cliff(p):
        return p["x0"] + (1e9 if p["x1"] > 0.98 else 0.0)

    assert _found(SIX, cliff, 200, method="forest", n_trees=24).names[0] == "x1"
    assert _found(SIX, cliff, 200, method="forest", n_trees=24, tame=True).names[0] == "x0"


def test_the_same_seed_gives_the_same() -> None:
    first, again = (_found(SIX, lambda p: p["x0"] - p["x5"], 40, n_trees=16).to_json() for _ in range(2))
    assert first == again
    assert [row["name"] for row in first["parameters"]][:2] in (["x0", "x5"], ["x5", "x0"])
    assert first["trials"] == 40


def test_what_cannot_be_told() -> None:
    rng, points = np.random.default_rng(0), SIX.sample(20, np.random.default_rng(0))
    with pytest.raises(UnavailableError, match="7 trials with a value"):
        importance(SIX, points[:7], np.arange(7.0), rng)
    with pytest.raises(UnavailableError, match="all 20 values are 3"):
        importance(SIX, points, np.full(20, 3.0), rng)
    with pytest.raises(DataError, match="finite"):
        importance(SIX, points, [*np.arange(19.0), np.nan], rng)
    with pytest.raises(ParameterError, match="x0"):
        importance(SIX.narrowed(x0=(0, 0.1)), points, np.arange(20.0), rng)
    with pytest.raises(ParameterError, match="one of auto, forest, process"):
        importance(SIX, points, np.arange(20.0), rng, method="trees")
    with pytest.raises(UnavailableError, match="can vary"):
        importance(cr.Space(a=cr.Constant(1)), [{"a": 1}] * 8, np.arange(8.0), rng)
