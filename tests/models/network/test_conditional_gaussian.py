"""`ConditionalGaussianNetwork` against enumeration of all configurations and conditioning of each joint normal."""

import itertools

import numpy as np
import pytest

import credo as cr
from credo.errors import (
    ConvergenceWarning,
    DataError,
    DataWarning,
    MemoryLimitError,
    NotIdentifiedError,
    NumericalError,
    ParameterError,
    UnavailableError,
    ZeroProbabilityError,
)
from credo.models.network.gaussian import ConditionalGaussianNetwork, LinearGaussian, LinearGaussianNetwork
from credo.saving import load, save


def random_network(rng, n_discrete, n_continuous):
    discrete = [f"d{i}" for i in range(n_discrete)]
    continuous = [f"x{i}" for i in range(n_continuous)]
    sizes = {name: int(rng.integers(2, 4)) for name in discrete}
    edges, tables, equations = [], {}, {}
    for i, node in enumerate(discrete):
        above = [p for p in discrete[:i] if rng.random() < 0.5]
        edges += [(p, node) for p in above]
        tables[node] = rng.dirichlet(np.ones(sizes[node]), [sizes[p] for p in above])
    for i, node in enumerate(continuous):
        finite = [p for p in discrete if rng.random() < 0.4]
        real = [p for p in continuous[:i] if rng.random() < 0.5]
        edges += [(p, node) for p in finite + real]
        keys = itertools.product(*(range(sizes[p]) for p in finite))
        made = {
            key: LinearGaussian(rng.normal() * 2, {p: rng.normal() for p in real}, rng.uniform(0.3, 2)) for key in keys
        }
        equations[node] = made if finite else made[()]
    return ConditionalGaussianNetwork(edges, tables, equations), discrete, continuous, sizes


def enumerated(network, discrete, continuous, sizes, evidence):
    """Per configuration: log(P(d) p(x_E | d)), and the mean and covariance of the hidden continuous nodes."""
    for key in itertools.product(*(range(sizes[d]) for d in discrete)):
        state = dict(zip(discrete, key, strict=True))
        if any(state[d] != evidence[d] for d in discrete if d in evidence):
            continue
        log = 0.0
        for d in discrete:
            log += np.log(
                network.definition_.tables[d][tuple(state[p] for p in network.definition_.parents[d])][state[d]]
            )
        n = len(continuous)
        w, b, sd = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        for i, x in enumerate(continuous):
            e = network.equations_[x]
            if isinstance(e, dict):
                e = e[tuple(state[p] for p, child in network.edges if child == x and p in state)]
            b[i], sd[i] = e.intercept, e.sd
            for p, c in e.coefficients.items():
                w[i, continuous.index(p)] = c
        inverse = np.linalg.inv(np.eye(n) - w)
        mean, covariance = inverse @ b, inverse @ np.diag(sd**2) @ inverse.T
        seen = [i for i, x in enumerate(continuous) if x in evidence]
        hidden = [i for i in range(n) if i not in seen]
        if seen:
            v = np.array([evidence[continuous[i]] for i in seen])
            log += cr.MultivariateNormal(mean[seen], covariance[np.ix_(seen, seen)]).log_prob(v)
            gain = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
            yield (
                state,
                log,
                mean[hidden] + gain @ (v - mean[seen]),
                covariance[np.ix_(hidden, hidden)] - gain @ (covariance[np.ix_(seen, hidden)]),
            )
        else:
            yield state, log, mean, covariance


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_of_enumeration(seed):
    rng = np.random.default_rng(seed)
    network, discrete, continuous, sizes = random_network(rng, int(rng.integers(1, 5)), int(rng.integers(1, 6)))
    draw = network.sample(1, random_state=seed)
    evidence = {name: draw[name][0] for name in network.nodes if rng.random() < 0.4}
    cases = list(enumerated(network, discrete, continuous, sizes, evidence))
    logs = np.array([log for _, log, _, _ in cases])
    total = np.logaddexp.reduce(logs)
    weights = np.exp(logs - total)
    assert network.log_probability(evidence) == pytest.approx(total, abs=1e-9)
    marginals = network.marginals(evidence)
    assert list(marginals) == [*discrete, *continuous]
    for d in discrete:
        for state in range(sizes[d]):
            expected = sum(w for w, (s, *_) in zip(weights, cases, strict=True) if s[d] == state)
            assert marginals[d][state] == pytest.approx(expected, abs=1e-10)
    hidden = [x for x in continuous if x not in evidence]
    if not hidden:
        return
    means = np.array([m for *_, m, _ in cases])
    mean = weights @ means
    covariance = sum(w * (c + np.outer(m - mean, m - mean)) for w, (*_, m, c) in zip(weights, cases, strict=True))
    np.testing.assert_allclose(network.moments(hidden, evidence)[0], mean, atol=1e-9)
    np.testing.assert_allclose(network.moments(hidden, evidence)[1], covariance, atol=1e-8)
    for i, x in enumerate(hidden):
        law = network.query(x, evidence)
        assert law.mean == pytest.approx(mean[i], abs=1e-9)
        assert law.variance == pytest.approx(covariance[i, i])
        assert marginals[x].sd == pytest.approx(np.sqrt(covariance[i, i]))
        at = mean[i] + 0.3
        expected = sum(
            w * cr.Normal(m[i], np.sqrt(c[i, i])).cdf(at) for w, (*_, m, c) in zip(weights, cases, strict=True)
        )
        assert law.cdf(at) == pytest.approx(expected, abs=1e-9)
    joint = network.query(hidden, evidence, joint=True)
    at = mean + 0.1
    expected = np.logaddexp.reduce(
        [
            np.log(w) + cr.MultivariateNormal(m, c).log_prob(at)
            for w, (*_, m, c) in zip(weights, cases, strict=True)
            if w
        ]
    )
    assert joint.log_prob(at) == pytest.approx(expected, abs=1e-8)


def test_one_gaussian_class_by_hand():
    network = ConditionalGaussianNetwork(
        [("c", "x")], {"c": {"a": 0.3, "b": 0.7}}, {"x": {"a": LinearGaussian(0, sd=1), "b": LinearGaussian(2, sd=3)}}
    )
    a = 0.3 * np.exp(cr.Normal(0, 1).log_prob(1.0))
    b = 0.7 * np.exp(cr.Normal(2, 3).log_prob(1.0))
    assert network.query("c", {"x": 1.0})["a"] == pytest.approx(a / (a + b))
    assert isinstance(network.query("x", {"c": "a"}), cr.Normal)
    assert network.moments("x") == (pytest.approx(1.4), pytest.approx(0.3 * 1 + 0.7 * 9 + 0.21 * 4))


def test_without_discrete_nodes_it_is_a_linear_gaussian_network():
    equations = {"a": LinearGaussian(1, sd=2), "b": LinearGaussian(0, {"a": 3.0}, sd=1)}
    mixed = ConditionalGaussianNetwork([("a", "b")], {}, equations)
    plain = LinearGaussianNetwork([("a", "b")], equations)
    assert mixed.query("a", {"b": 2.0}).mean == pytest.approx(plain.query("a", {"b": 2.0}).mean)
    assert mixed.log_probability({"b": 2.0}) == pytest.approx(plain.log_probability({"b": 2.0}))
    np.testing.assert_allclose(mixed.log_likelihood({"b": [2.0, np.nan]}), plain.log_likelihood({"b": [2.0, np.nan]}))
    np.testing.assert_allclose(mixed.predict({"b": [2.0, 0.0]}, "a"), plain.predict({"b": [2.0, 0.0]}, "a"))


def test_many_leaves_cost_no_product():
    """60 features below 3 classes: 3 configurations each, not 3^60."""
    rng = np.random.default_rng(0)
    names = [f"f{i}" for i in range(60)]
    level = rng.normal(size=(60, 3))
    network = ConditionalGaussianNetwork(
        [("c", name) for name in names],
        {"c": [0.2, 0.3, 0.5]},
        {name: {k: LinearGaussian(level[i, k]) for k in range(3)} for i, name in enumerate(names)},
    )
    x = rng.normal(size=60)
    score = np.log([0.2, 0.3, 0.5]) - 0.5 * np.square(x[:, None] - level).sum(axis=0)
    expected = np.exp(score - np.logaddexp.reduce(score))
    np.testing.assert_allclose(network.query("c", dict(zip(names, x, strict=True))).values, expected, rtol=1e-9)
    np.testing.assert_allclose(network.predict_proba(dict(zip(names, x, strict=True)), "c")[0], expected, rtol=1e-9)


def test_switching_chain_observed_is_forward_backward_and_hidden_is_refused():
    steps = 40
    edges, tables, equations = [], {"s0": [0.5, 0.5]}, {}
    for t in range(steps):
        edges += [(f"s{t}", f"x{t}")] + ([(f"s{t - 1}", f"s{t}"), (f"x{t - 1}", f"x{t}")] if t else [])
        if t:
            tables[f"s{t}"] = [[0.9, 0.1], [0.2, 0.8]]
        before = {f"x{t - 1}": 0.5} if t else {}
        equations[f"x{t}"] = {0: LinearGaussian(-1, before, 1.0), 1: LinearGaussian(1, before, 2.0)}
    network = ConditionalGaussianNetwork(edges, tables, equations, memory_limit=2**28)
    x = {f"x{t}": v for t, v in enumerate(np.random.default_rng(1).normal(size=steps))}
    alpha = np.array([0.5, 0.5])
    move, total = np.array([[0.9, 0.1], [0.2, 0.8]]), 0.0
    for t in range(steps):
        if t:
            alpha = alpha @ move
        shift = 0.5 * x[f"x{t - 1}"] if t else 0.0
        alpha = alpha * np.exp(cr.Normal(np.array([-1, 1]) + shift, np.array([1.0, 2.0])).log_prob(x[f"x{t}"]))
        total += np.log(alpha.sum())
        alpha = alpha / alpha.sum()
    assert network.log_probability(x) == pytest.approx(total, abs=1e-9)
    assert network.query("s39", x)[1] == pytest.approx(alpha[1])
    with pytest.raises(MemoryLimitError, match="configurations of"):
        network.query("s0", {"x39": 1.0})


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_answered_as_one_by_one(seed):
    rng = np.random.default_rng(200 + seed)
    network, _discrete, _continuous, _ = random_network(rng, 3, 3)
    n = 30
    draws = network.sample(n, random_state=seed)
    frame = {name: [None if rng.random() < 0.3 else cell for cell in column.tolist()] for name, column in draws.items()}
    log = network.log_likelihood(frame)
    laws, labels = network.predict_proba(frame, "d0"), network.predict(frame, "d0")
    means = network.predict(frame, "x1")
    for i in range(n):
        row = {name: cells[i] for name, cells in frame.items() if cells[i] is not None}
        assert log[i] == pytest.approx(network.log_probability(row), abs=1e-9)
        others = {k: v for k, v in row.items() if k != "d0"}
        np.testing.assert_allclose(laws[i], network.query("d0", others).values, atol=1e-10)
        assert labels[i] == np.argmax(laws[i])
        others = {k: v for k, v in row.items() if k != "x1"}
        assert means[i] == pytest.approx(network.query("x1", others).mean, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_draws_given_evidence_follow_the_posterior(seed):
    """5 standard errors of shares and means over some 4 × 8 numbers: false alarms 2e-5."""
    rng = np.random.default_rng(700 + seed)
    network, discrete, continuous, _ = random_network(rng, 3, 4)
    row = network.sample(1, random_state=seed)
    evidence = {"d1": row["d1"][0], "x2": row["x2"][0]} if seed else {}
    n = 20_000
    draws = network.sample(n, evidence, random_state=1)
    marginals = network.marginals(evidence)
    for node in discrete:
        for state, p in marginals[node].items():
            assert abs(np.mean(draws[node] == state) - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12
    for node in continuous:
        mean, sd = marginals[node]
        assert abs(draws[node].mean() - mean) <= 5 * sd / np.sqrt(n) + 1e-12
        assert abs(draws[node].std() / sd - 1) < 0.1 if sd else np.all(draws[node] == mean)
    again = network.sample(3, evidence, random_state=7)
    for node, column in network.sample(3, evidence, random_state=7).items():
        np.testing.assert_array_equal(column, again[node])


def test_do_is_not_seeing():
    network = ConditionalGaussianNetwork(
        [("g", "x"), ("g", "y"), ("x", "y")],
        {"g": [0.5, 0.5]},
        {
            "x": {0: LinearGaussian(0), 1: LinearGaussian(4)},
            "y": {0: LinearGaussian(0, {"x": 1}), 1: LinearGaussian(10, {"x": 1})},
        },
    )
    assert network.query("y", {"x": 2.0}).mean == pytest.approx(7.0)  # 2 is as far from 0 as from 4
    assert network.query("y", {"x": 4.0}).mean > 13.9
    assert network.do({"x": 4.0}).query("y").mean == pytest.approx(9.0)
    assert network.do({"g": 1}).query("x").mean == pytest.approx(4.0)
    assert network.do({"x": 4.0}).query("g", {"x": 4.0})[0] == pytest.approx(0.5)
    assert network.do({"x": 4.0}).log_probability({"x": 4.0}) == pytest.approx(0.0)
    assert network.do({"x": 4.0}).log_probability({"x": 4.5}) == -np.inf


def test_fit_finds_what_made_the_rows():
    """20,000 rows; 6 standard errors."""
    rng = np.random.default_rng(4)
    truth, discrete, continuous, _ = random_network(rng, 2, 3)
    rows = truth.sample(20_000, random_state=5)
    for method in ("bayes", "mle"):
        found = ConditionalGaussianNetwork(truth.edges, discrete=discrete, continuous=continuous).fit(
            rows, method=method
        )
        for node in discrete:
            assert np.all(np.abs(found.definition_.tables[node] - truth.definition_.tables[node]) < 0.05)
        for node in continuous:
            own, its = found.equations_[node], truth.equations_[node]
            for key in its if isinstance(its, dict) else [None]:
                a, b = (own, its) if key is None else (own[key], its[key])
                assert a.sd == pytest.approx(b.sd, rel=0.1)
                for p in b.coefficients:
                    assert a.coefficients[p] == pytest.approx(b.coefficients[p], abs=0.15)
    shares = ConditionalGaussianNetwork([("g", "x")], discrete=["g"]).fit(
        {"g": ["a", "b", "b", "b", "a"], "x": [1.0, 2.0, 4.0, 6.0, 2.0]}, method="mle"
    )
    assert shares.query("g")["a"] == pytest.approx(0.4)
    assert shares.query("x", {"g": "b"}).mean == pytest.approx(4.0)
    assert shares.query("x", {"g": "b"}).variance == pytest.approx(8 / 3)


def test_fit_says_what_it_cannot():
    network = ConditionalGaussianNetwork([("g", "x")], discrete=["g"])
    with pytest.raises(UnavailableError, match="no tables yet"):
        network.query("x")
    with pytest.raises(NotIdentifiedError, match=r"1 row.*'x given g=a'"):
        network.fit({"g": ["a", "b", "b"], "x": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match=r"1 row\(s\) have missing cells \(\[1\]; in x\)"):
        network.fit({"g": ["a", "b"], "x": [1.0, None]})
    with pytest.raises(DataError, match=r"missing cells \(\[0\]; in g\)"):
        network.fit({"g": [None, "b"], "x": [1.0, 2.0]})
    with pytest.raises(DataError, match="no column for node"):
        network.fit({"g": ["a", "b"]})


def test_functions_of_parents():
    network = ConditionalGaussianNetwork(
        [("g", "y"), ("x", "y")],
        {"g": [0.5, 0.5]},
        {"x": LinearGaussian(), "y": {0: LinearGaussian(0, {"x": 1}, 0.0), 1: LinearGaussian(1, {"x": 1}, 0.0)}},
    )
    assert network.query("g", {"x": 0.5, "y": 1.5})[1] == pytest.approx(1.0)  # y − x says which
    # without x both have a density
    assert network.query("g", {"y": 0.5})[0] == pytest.approx(0.5)
    assert network.moments("y", {"x": 2.0})[0] == pytest.approx(2.5)
    assert network.moments("y", {"x": 2.0, "g": 1}) == (pytest.approx(3.0), 0.0)
    with pytest.raises(UnavailableError, match="determined"):
        network.query("y", {"x": 2.0})
    half = ConditionalGaussianNetwork(
        [("g", "y")], {"g": [0.5, 0.5]}, {"y": {0: LinearGaussian(1.0, sd=0.0), 1: LinearGaussian(1.0, sd=1.0)}}
    )
    with pytest.raises(UnavailableError, match="no density"):
        half.query("g", {"y": 1.0})
    assert half.query("g", {"y": 2.0})[1] == pytest.approx(1.0)
    with pytest.raises(ZeroProbabilityError, match=r"x=2\.0, y=9\.0"):
        network.query("g", {"x": 2.0, "y": 9.0})
    assert network.log_probability({"x": 2.0, "y": 9.0}) == -np.inf
    with pytest.warns(DataWarning, match=r"1 row\(s\) cannot be"):
        assert np.isnan(network.predict_proba({"x": [2.0], "y": [9.0]}, "g")).all()


@pytest.mark.parametrize(
    ("edges", "tables", "equations", "words"),
    [
        ([("x", "c")], {"c": [0.5, 0.5]}, {"x": LinearGaussian()}, "without an arrow from a continuous.*'x → c'"),
        ([("c", "x")], {"c": [0.5, 0.5]}, {}, "with one for every node that has no table"),
        ([("c", "x")], {"c": [0.5, 0.5]}, {"x": {0: LinearGaussian()}}, "an equation for all states"),
        ([("c", "x")], {"c": [0.5, 0.5]}, {"x": {0: LinearGaussian(), 7: LinearGaussian()}}, "keyed by states of c"),
        ([("c", "x")], {"c": [0.5, 0.5]}, {"x": {0: LinearGaussian(), 1: 3.0}}, "a LinearGaussian for"),
        (
            [("c", "x")],
            {"c": [0.5, 0.5]},
            {"x": LinearGaussian(0, {"q": 1})},
            "a coefficient for each continuous parent",
        ),
        ([("c", "x")], {"c": [0.5, 0.6]}, {"x": LinearGaussian()}, "rows that sum to 1"),
        ([], {"c": [0.5, 0.5]}, {"c": LinearGaussian()}, "of continuous nodes"),
    ],
)
def test_bad_networks_are_named(edges, tables, equations, words):
    with pytest.raises(ParameterError, match=words):
        ConditionalGaussianNetwork(edges, tables, equations)


def test_bad_questions_are_named():
    network = ConditionalGaussianNetwork([("c", "x")], {"c": [0.5, 0.5]}, {"x": LinearGaussian()})
    with pytest.raises(ParameterError, match="memory_limit"):
        ConditionalGaussianNetwork([], {"c": [0.5, 0.5]}, {}, memory_limit="all")
    with pytest.raises(ParameterError, match=r"ConditionalGaussianNetwork.evidence\['c'\] must be a state of 'c'"):
        network.query("x", {"c": 3})
    with pytest.raises(ParameterError, match="finite number"):
        network.query("c", {"x": "high"})
    with pytest.raises(ParameterError, match="all discrete or all continuous"):
        network.query(["c", "x"], joint=True)
    with pytest.raises(ParameterError, match="a node of the network"):
        network.query("y")
    with pytest.raises(ParameterError, match="a discrete node"):
        network.predict_proba({"c": [0]}, "x")


def test_saved_and_loaded(tmp_path):
    network, *_ = random_network(np.random.default_rng(3), 2, 3)
    save(network, tmp_path / "mixed.credo")
    again = load(tmp_path / "mixed.credo")
    assert again == network
    assert again.marginals({"x0": 0.5}) == network.marginals({"x0": 0.5})


def _switching(t: int, **limit):  # type: ignore[no-untyped-def]
    """A chain of continuous nodes that are not observed, each with a state of its own: 2ᵗ configurations; and what is
    read off its end."""
    edges, tables, equations = [], {}, {}
    for i in range(t):
        edges += [(f"s{i}", f"x{i}")] + ([(f"s{i - 1}", f"s{i}"), (f"x{i - 1}", f"x{i}")] if i else [])
        tables[f"s{i}"] = {"a": {"a": 0.8, "b": 0.2}, "b": {"a": 0.3, "b": 0.7}} if i else {"a": 0.6, "b": 0.4}
        own = {"x" + str(i - 1): 0.9} if i else {}
        equations[f"x{i}"] = {"a": LinearGaussian(0.0, own, sd=0.5), "b": LinearGaussian(1.0, own, sd=1.0)}
    edges.append((f"x{t - 1}", "y"))
    equations["y"] = LinearGaussian(0.0, {f"x{t - 1}": 1.0}, sd=0.3)
    return ConditionalGaussianNetwork(edges, tables, equations, **limit)


@pytest.mark.parametrize("evidence", [{}, {"y": 2.0}, {"y": 2.0, "s2": "b", "x1": 0.3}])
def test_estimates_are_within_their_errors_of_the_exact_marginals(evidence):
    """Some 20 numbers each: one beyond 4.5 errors in 7,000 such tests."""
    network = _switching(6)
    exact, found = network.marginals(evidence), network.estimate_marginals(evidence, random_state=1)
    for node, law in exact.items():
        told = found.marginals[node]
        pairs = zip(law.values(), told.values(), strict=True) if isinstance(law, dict) else zip(law, told, strict=True)
        for (p, q), error in zip(pairs, found.standard_errors[node], strict=True):
            assert abs(p - q) <= 4.5 * error + 1e-9, (node, p, q, error)
    if evidence:
        wanted = network.log_probability(evidence)
        assert abs(found.log_probability - wanted) <= 4.5 * found.log_probability_error


def test_beyond_memory_marginals_are_estimates_said_aloud():
    network = _switching(30, memory_limit=1 << 24)
    with pytest.warns(ConvergenceWarning, match="estimates from weighted draws"):
        laws = network.marginals({"y": 8.0})
    assert laws["s29"]["b"] > network.estimate_marginals(n_samples=2_000).marginals["s29"]["b"] + 0.05
    assert laws["y"] == (8.0, 0.0)
    assert laws["x29"].mean > 6.0
    with pytest.raises(MemoryLimitError):
        network.query("x29", {"y": 8.0})


def test_estimates_refuse_what_cannot_be():
    network = ConditionalGaussianNetwork(
        [("s", "x")], {"s": {"a": 0.5, "b": 0.5}},
        {"x": {"a": LinearGaussian(1.0, sd=0.0), "b": LinearGaussian(2.0, sd=0.0)}},
    )  # fmt: skip
    with pytest.raises(NumericalError, match="none of 10,000 draws agrees"):
        network.estimate_marginals({"x": 3.0})
    assert network.estimate_marginals({"x": 2.0}).marginals["s"]["b"] == 1.0
    with pytest.raises(ParameterError, match="n_samples must be an integer"):
        network.estimate_marginals(n_samples=1)
