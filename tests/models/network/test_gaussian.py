"""`LinearGaussianNetwork` against the joint covariance, closed forms and draws."""

import itertools

import numpy as np
import pytest

import credo as cr
from credo.errors import (
    DataError,
    DataWarning,
    NotIdentifiedError,
    ParameterError,
    UnavailableError,
    ZeroProbabilityError,
)
from credo.models.network.gaussian import LinearGaussian, LinearGaussianNetwork
from credo.saving import load, save


def random_network(rng, d, density=0.5):
    """A network whose nodes are not listed in their causal order, its mean and covariance by (I − W)⁻¹."""
    w = np.tril(rng.normal(size=(d, d)) * (rng.random((d, d)) < density), -1)
    b, sd = rng.normal(size=d), rng.uniform(0.3, 2.0, d)
    inverse = np.linalg.inv(np.eye(d) - w)
    names = [f"n{i}" for i in range(d)]
    equations = {
        names[i]: LinearGaussian(b[i], {names[j]: w[i, j] for j in range(d) if w[i, j]}, sd[i])
        for i in rng.permutation(d)
    }
    edges = [(parent, node) for node, e in equations.items() for parent in e.coefficients]
    return LinearGaussianNetwork(edges, equations), names, inverse @ b, inverse @ np.diag(sd**2) @ inverse.T


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_of_the_joint_normal(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 9))
    network, names, mean, covariance = random_network(rng, d)
    order = rng.permutation(d)
    m = int(rng.integers(0, d))
    seen, hidden = order[:m], order[m:]
    values = rng.normal(size=m) * 3
    gain = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    expected = mean[hidden] + gain @ (values - mean[seen])
    spread = covariance[np.ix_(hidden, hidden)] - gain @ covariance[np.ix_(seen, hidden)]
    evidence = {names[i]: v for i, v in zip(seen, values, strict=True)}
    targets = [names[i] for i in hidden]
    joint = network.query(targets, evidence, joint=True)
    np.testing.assert_allclose(joint.mean, expected, atol=1e-9, rtol=1e-9)
    np.testing.assert_allclose(joint.covariance, spread, atol=1e-9, rtol=1e-9)
    one = network.query(targets[0], evidence)
    assert abs(one.mean - expected[0]) < 1e-9
    assert abs(one.variance - spread[0, 0]) < 1e-9
    marginals = network.marginals(evidence)
    assert list(marginals) == list(network.nodes)
    np.testing.assert_allclose([marginals[t].sd ** 2 for t in targets], np.diag(spread), rtol=1e-9)
    if m:
        law = cr.MultivariateNormal(mean[seen], covariance[np.ix_(seen, seen)])
        assert abs(network.log_probability(evidence) - law.log_prob(values)) < 1e-8


def test_no_evidence_has_density_one():
    network, *_ = random_network(np.random.default_rng(0), 3)
    assert network.log_probability({}) == 0.0


def test_do_cuts_the_arrows_into_the_node():
    network = LinearGaussianNetwork(
        [("z", "x"), ("z", "y"), ("x", "y")],
        {"z": LinearGaussian(), "x": LinearGaussian(0, {"z": 1.0}, 1.0), "y": LinearGaussian(0, {"z": 1.0, "x": 2.0})},
    )
    # seen: E[z | x = 3] = 3/2; done: E[z] = 0
    assert network.query("y", {"x": 3.0}).mean == pytest.approx(7.5)
    done = network.do({"x": 3.0})
    assert done.query("y").mean == pytest.approx(6.0)
    assert done.query("z", {"x": 3.0}).mean == pytest.approx(0.0)
    assert done.query("z", {"y": 8.0}).mean == pytest.approx(1.0)
    assert done.log_probability({"x": 3.0}) == pytest.approx(0.0)
    assert done.log_probability({"x": 3.0, "y": 8.0}) == pytest.approx(cr.Normal(6, np.sqrt(2)).log_prob(8.0))
    with pytest.raises(ZeroProbabilityError, match=r"x=4\.0"):
        done.query("z", {"x": 4.0})


def deterministic():
    """total = a + b exactly."""
    return LinearGaussianNetwork(
        [("a", "total"), ("b", "total")],
        {"a": LinearGaussian(1, sd=1.0), "b": LinearGaussian(2, sd=2.0),
         "total": LinearGaussian(0, {"a": 1, "b": 1}, sd=0.0)},
    )  # fmt: skip


def test_functions_of_parents_are_conditioned_on():
    network = deterministic()
    a = network.query("a", {"total": 8.0})
    assert a.mean == pytest.approx(2.0)
    assert a.variance == pytest.approx(0.8)
    assert network.moments("total", {"a": 2.0, "b": 3.0}) == (pytest.approx(5.0), 0.0)
    assert network.moments("b", {"a": 2.0, "total": 5.0}) == (pytest.approx(3.0), 0.0)
    assert network.marginals({"a": 2.0, "b": 3.0})["total"] == (pytest.approx(5.0), 0.0)
    mean, covariance = network.moments(["a", "b", "total"])
    np.testing.assert_allclose(mean, [1, 2, 3])
    np.testing.assert_allclose(covariance, [[1, 0, 1], [0, 4, 4], [1, 4, 5]])
    draws = network.sample(100, {"total": 8.0}, random_state=0)
    np.testing.assert_allclose(draws["a"] + draws["b"], 8.0)
    # all three, in agreement: two of them would do
    assert network.moments("a", {"total": 8.0, "b": 5.0})[0] == pytest.approx(3.0)


@pytest.mark.parametrize("seed", range(30))
def test_singular_networks_are_conditioned_as_by_the_pseudoinverse(seed):
    """Half of the nodes are functions; evidence is a draw, so that it agrees with itself."""
    rng = np.random.default_rng(300 + seed)
    d = int(rng.integers(3, 8))
    names = [f"n{i}" for i in range(d)]
    w = np.tril(rng.integers(-2, 3, (d, d)), -1).astype(float)
    sd = np.where(rng.random(d) < 0.5, 0.0, rng.uniform(0.5, 2, d))
    inverse = np.round(np.linalg.inv(np.eye(d) - w))  # of whole numbers, so that zeros are zeros
    mean = inverse @ np.arange(d)
    covariance = inverse @ np.diag(sd**2) @ inverse.T
    equations = {
        name: LinearGaussian(i, {names[j]: w[i, j] for j in range(i) if w[i, j]}, sd[i]) for i, name in enumerate(names)
    }
    network = LinearGaussianNetwork([(p, n) for n, e in equations.items() for p in e.coefficients], equations)
    draw = network.sample(1, random_state=seed)
    seen = rng.choice(d, int(rng.integers(1, d)), replace=False)
    hidden = np.setdiff1d(np.arange(d), seen)
    own = covariance[np.ix_(seen, seen)]
    gain = covariance[np.ix_(hidden, seen)] @ np.linalg.pinv(own, rcond=1e-11, hermitian=True)
    value = np.array([draw[names[i]][0] for i in seen])
    found = network.moments([names[i] for i in hidden], {names[i]: v for i, v in zip(seen, value, strict=True)})
    scale = 1 + np.abs(covariance).max()
    np.testing.assert_allclose(found[0], mean[hidden] + gain @ (value - mean[seen]), atol=1e-7 * scale)
    spread = covariance[np.ix_(hidden, hidden)] - gain @ covariance[np.ix_(seen, hidden)]
    np.testing.assert_allclose(found[1], spread, atol=1e-7 * scale)


def test_what_has_no_density_is_said():
    network = deterministic()
    with pytest.raises(UnavailableError, match="total is determined"):
        network.query("total", {"a": 2.0, "b": 3.0})
    with pytest.raises(UnavailableError, match="depend on each other"):
        _ = network.joint
    with pytest.raises(UnavailableError, match="no density"):
        network.log_probability({"a": 2.0, "b": 3.0, "total": 5.0})
    assert network.log_probability({"a": 2.0, "b": 3.0, "total": 5.1}) == -np.inf
    with pytest.raises(ZeroProbabilityError, match="cannot occur together"):
        network.do({"b": 3.0}).moments("a", {"b": 4.0})


def test_nearly_deterministic_chains_keep_their_digits():
    """y = x + N(0, 1e-7²), z = y + N(0, 1e-7²): squared, 1e-14 is near the rounding of 1."""
    s = 1e-7
    network = LinearGaussianNetwork(
        [("x", "y"), ("y", "z")],
        {"x": LinearGaussian(), "y": LinearGaussian(0, {"x": 1}, s), "z": LinearGaussian(0, {"y": 1}, s)},
    )
    y = network.query("y", {"x": 0.5, "z": 0.5 + 2 * s})
    assert y.sd == pytest.approx(s / np.sqrt(2), rel=1e-6)
    assert (y.mean - 0.5) / s == pytest.approx(1.0, rel=1e-6)
    assert network.query(["x", "y"], {"z": 0.5}, joint=True).mean == pytest.approx([0.5, 0.5])


def test_long_chain_is_the_random_walk():
    n = 300
    names = [f"t{i}" for i in range(n)]
    equations = {"t0": LinearGaussian(sd=1.0)} | {
        b: LinearGaussian(0, {a: 1.0}, 1.0) for a, b in itertools.pairwise(names)
    }
    network = LinearGaussianNetwork(list(itertools.pairwise(names)), equations)
    # a Brownian bridge between t99 = 3 and t199 = 5
    middle = network.query("t149", {"t99": 3.0, "t199": 5.0})
    assert middle.mean == pytest.approx(4.0)
    assert middle.variance == pytest.approx(25.0)


def test_draws_follow_the_law():
    """5 standard errors of 8 means and 8 variances: false alarms 1e-5."""
    network, names, mean, covariance = random_network(np.random.default_rng(5), 4)
    n = 40_000
    draws = network.sample(n, random_state=1)
    assert draws.keys() == set(names)
    x = np.array([draws[name] for name in names])
    sd = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(x.mean(axis=1) - mean) < 5 * sd / np.sqrt(n))
    assert np.all(np.abs(x.std(axis=1) / sd - 1) < 5 / np.sqrt(2 * n))
    again = network.sample(5, {names[0]: 1.0}, random_state=3)
    assert np.all(again[names[0]] == 1.0)
    np.testing.assert_array_equal(again[names[1]], network.sample(5, {names[0]: 1.0}, random_state=3)[names[1]])


@pytest.mark.parametrize("n", [40, 400])
def test_rows_are_answered_as_one_by_one(n):
    rng = np.random.default_rng(n)
    network, names, *_ = random_network(rng, 5)
    draws = network.sample(n, random_state=2)
    frame = {name: np.where(rng.random(n) < 0.4, np.nan, column) for name, column in draws.items()}
    log = network.log_likelihood(frame)
    predicted = network.predict(frame, "n2")
    law = network.predict_distribution(frame, "n2")
    filled = network.impute(frame)
    for i in range(0, n, 7):
        row = {name: frame[name][i] for name in names if not np.isnan(frame[name][i])}
        assert log[i] == pytest.approx(network.log_probability(row), abs=1e-9)
        others = {k: v for k, v in row.items() if k != "n2"}
        answer = network.query("n2", others)
        assert predicted[i] == pytest.approx(answer.mean, abs=1e-9)
        assert law.sd[i] == pytest.approx(answer.sd)
        marginals = network.marginals(row)
        for name in names:
            assert filled[name][i] == pytest.approx(marginals[name].mean, abs=1e-9)


def test_frames_of_any_kind():
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    network = deterministic()
    expected = [8.0 - 2.0, 3.0 - 0.5]
    for frame in (
        {"a": [2.0, 0.5], "total": [8.0, 3.0]},
        [{"a": 2.0, "total": 8.0}, {"a": 0.5, "total": 3.0}],
        pl.DataFrame({"a": [2.0, 0.5], "total": [8, 3]}),
        pd.DataFrame({"a": [2.0, 0.5], "total": [8, 3]}, index=[7, 3]),
    ):
        np.testing.assert_allclose(network.predict(frame, "b"), expected)
        filled = network.impute(frame)
        assert type(filled) is type(frame)
    assert network.impute(pl.DataFrame({"a": [2.0, None], "total": [8.0, 3.0]}))["b"].to_list()[0] == pytest.approx(6.0)
    assert list(network.impute(pd.DataFrame({"a": [2.0], "total": [8.0]}, index=[9])).index) == [9]
    array = np.array([[2.0, np.nan, 8.0]])
    np.testing.assert_allclose(network.impute(array), [[2.0, 6.0, 8.0]])
    assert network.predict({"a": 2.0, "total": 8.0}, "b")[0] == pytest.approx(6.0)


def test_impossible_rows_are_named():
    network = deterministic()
    frame = {"a": [1.0, 1.0], "b": [1.0, 1.0], "total": [2.0, 3.0]}
    with pytest.warns(DataWarning, match=r"1 row\(s\).*\[1\]"):
        filled = network.impute(frame)
    assert filled == frame
    with pytest.raises(DataError, match="row 1, column a holds no number: 'x'"):
        network.log_likelihood({"a": [1.0, "x"]})
    with pytest.raises(DataError, match="row 0, column a is infinite"):
        network.log_likelihood({"a": [np.inf]})
    with pytest.raises(DataError, match="no column is a node"):
        network.log_likelihood({"q": [1.0]})


def test_fit_is_least_squares_and_regression():
    rng = np.random.default_rng(3)
    truth, *_ = random_network(rng, 4, density=1.0)
    rows = truth.sample(5_000, random_state=4)
    mle = LinearGaussianNetwork(truth.edges, nodes=truth.nodes).fit(rows, method="mle")
    bayes = LinearGaussianNetwork(truth.edges, nodes=truth.nodes).fit(rows)
    assert bayes.result_.status == "exact"
    for node in truth.nodes:
        above = truth.parents(node)
        design = np.column_stack([np.ones(5_000), *(rows[p] for p in above)])
        w, squares, *_ = np.linalg.lstsq(design, rows[node], rcond=None)
        own = mle.equations_[node]
        np.testing.assert_allclose([own.intercept, *(own.coefficients[p] for p in above)], w, atol=1e-10)
        assert own.sd == pytest.approx(np.sqrt(squares[0] / 5_000))
        if above:
            model = cr.LinearRegression().fit(design[:, 1:], rows[node])
            np.testing.assert_allclose(list(bayes.equations_[node].coefficients.values()), model.coef_)
            assert node in bayes.posterior_
    # a complete graph fitted by maximum likelihood has the moments of the rows
    x = np.array([rows[n] for n in mle.nodes])
    np.testing.assert_allclose(mle.moments(list(mle.nodes))[0], x.mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(mle.moments(list(mle.nodes))[1], np.cov(x, bias=True), atol=1e-9)


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(8)
    x = rng.normal(size=30)
    y = 2 * x + rng.normal(size=30)
    w = rng.integers(0, 4, 30)
    for method in ("mle", "bayes"):
        network = LinearGaussianNetwork([("x", "y")])
        a = network.fit({"x": x, "y": y}, sample_weight=w, method=method).equations_
        b = LinearGaussianNetwork([("x", "y")]).fit({"x": np.repeat(x, w), "y": np.repeat(y, w)}, method=method)
        for node in "xy":
            assert a[node].intercept == pytest.approx(b.equations_[node].intercept, abs=1e-9)
            assert a[node].sd == pytest.approx(b.equations_[node].sd, rel=1e-9)


def test_em_with_missing_cells_reaches_a_stationary_point():
    """Monotone missingness of two columns has a closed form (Anderson 1957): regress y on x where both are seen."""
    rng = np.random.default_rng(6)
    x = rng.normal(5, 2, 400)
    y = 1 + 0.5 * x + rng.normal(size=400)
    y[x > 6] = np.nan
    network = LinearGaussianNetwork([("y", "x")]).fit({"x": x, "y": y}, method="mle", tol=1e-13, max_iter=5000)
    assert network.result_.status == "converged"
    seen = ~np.isnan(y)
    slope, level = np.polyfit(x[seen], y[seen], 1)
    noise = np.mean((y[seen] - level - slope * x[seen]) ** 2)
    mean, covariance = network.moments(["x", "y"])
    np.testing.assert_allclose(mean, [x.mean(), level + slope * x.mean()], rtol=1e-4)
    np.testing.assert_allclose(
        covariance, [[x.var(), slope * x.var()], [slope * x.var(), noise + slope**2 * x.var()]], rtol=1e-3
    )


def test_fit_says_what_it_cannot():
    network = LinearGaussianNetwork([("x", "y")])
    with pytest.raises(UnavailableError, match="no equations yet"):
        network.query("x")
    with pytest.raises(DataError, match="1 rows have missing cells"):
        network.fit({"x": [1.0, 2.0, 4.0], "y": [1.0, None, 2.0]})
    copies = {"x": [1.0, 2.0, 4.0], "z": [2.0, 4.0, 8.0], "y": [1.0, 3.0, 2.0]}
    with pytest.raises(NotIdentifiedError, match="do not determine the coefficients of 'y' on x, z"):
        LinearGaussianNetwork([("x", "y"), ("z", "y")]).fit(copies, method="mle")
    with pytest.raises(ParameterError, match="method must be one of bayes, mle"):
        network.fit({"x": [1.0], "y": [1.0]}, method="ml")
    with pytest.raises(DataError, match="node\\(s\\) y have no cell"):
        network.fit({"x": [1.0, 2.0]})
    with pytest.raises(NotIdentifiedError, match="1 row"):
        network.fit({"x": [1.0], "y": [1.0]})
    with pytest.warns(DataWarning, match="determine 'y' exactly"):
        network.fit({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}, method="mle")
    assert network.equations_["y"].sd == 0.0


@pytest.mark.parametrize(
    ("edges", "equations", "words"),
    [
        ([("a", "b"), ("b", "a")], None, "free of cycles"),
        ([("a", "b"), ("a", "b")], None, "all different"),
        (["ab"], None, "pairs of names"),
        (5, None, "pairs of names"),
        ([], None, "at least one node"),
        ([("a", "b")], {"a": LinearGaussian(), "b": LinearGaussian()}, "a coefficient for each parent"),
        ([("a", "b")], {"a": LinearGaussian()}, "a LinearGaussian"),
        ([], {"a": LinearGaussian(0, {"c": 1.0})}, "a coefficient for each parent"),
    ],
)
def test_bad_networks_are_named(edges, equations, words):
    with pytest.raises(ParameterError, match=words):
        LinearGaussianNetwork(edges, equations)


def test_bad_questions_are_named():
    network = deterministic()
    with pytest.raises(ParameterError, match="Did you mean 'total'"):
        network.query("totl")
    for target in (None, 3, [], ["a", "a"]):
        with pytest.raises(ParameterError, match="target must be a name or"):
            network.query(target)
    with pytest.raises(DataError, match="beyond 1e"):
        LinearGaussianNetwork([("a", "b")]).fit({"a": [1e200, 2e200, 0.0], "b": [1.0, 2.0, 4.0]})
    assert network.log_probability({"a": 1e200}) == -np.inf
    with pytest.raises(ParameterError, match="without evidence"):
        network.query("a", {"a": 1.0})
    with pytest.raises(ParameterError, match=r"evidence\['a'\] must be a finite number"):
        network.query("b", {"a": float("nan")})
    with pytest.raises(ParameterError, match="finite number"):
        LinearGaussian("1")


def test_saved_and_loaded(tmp_path):
    network = deterministic()
    save(network, tmp_path / "network.credo")
    again = load(tmp_path / "network.credo")
    assert again == network
    assert again.query("a", {"total": 8.0}).mean == network.query("a", {"total": 8.0}).mean
