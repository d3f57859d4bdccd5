"""Samplers against exact marginals and enumeration; their standard errors against what they are about.

Every test fixes its seed. Comparisons over many states ask for |z| < Φ⁻¹(1 − 5e-7/states): under a right sampler one
such test fails for one seed in a million.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from credo.errors import (
    ConvergenceWarning,
    MemoryLimitError,
    ModelWarning,
    NumericalError,
    ParameterError,
    ZeroProbabilityError,
)
from credo.models.network.network import BayesianNetwork
from credo.models.network.sampling import (
    approximate_marginals,
    condition_on_cutset,
    forward_sample,
    gibbs,
    likelihood_weighting,
    posterior_sample,
)
from credo.models.network.sampling.arrays import NetworkArrays
from credo.models.network.sampling.asking import (
    estimate_marginals,
    marginals_beyond_memory,
    query_beyond_memory,
    sample,
)
from credo.models.network.sampling.blocks import blocks_of
from credo.models.network.sampling.cutset import cutsets

DATA = Path(__file__).parents[2] / "data" / "bayesnets"
ALARM = {"BP": "LOW", "HRBP": "HIGH"}


def read(name):
    return BayesianNetwork.read(DATA / f"{name}.bif")


def random_network(rng, n=7, zeros=False, most=3):
    nodes = [f"v{i}" for i in range(n)]
    states = {node: tuple(range(int(rng.integers(2, 4)))) for node in nodes}
    edges = [(f"v{p}", f"v{i}") for i in range(n) for p in rng.choice(i, min(i, int(rng.integers(0, most + 1))), False)]
    tables = {}
    for i, node in enumerate(nodes):
        shape = [len(states[a]) for a, b in edges if b == node] + [len(states[node])]
        table = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
        if zeros and i % 2:
            table = (table == table.max(axis=-1, keepdims=True)).astype(float)
        tables[node] = table
    return BayesianNetwork(edges, tables, states)


def marginal_array(network, evidence):
    return {node: np.array(list(law.values())) for node, law in network.marginals(evidence).items()}


def bound(network):
    return stats.norm.isf(5e-7 / sum(map(len, network.states.values())))


def close_frequencies(network, draws, n, evidence=None):
    """Whether frequencies of n independent draws are within the binomial's own error of the exact marginals."""
    for node, exact in marginal_array(network, evidence).items():
        found = np.array([np.sum(draws[node] == state) for state in network.states[node]])
        assert np.all(found[exact == 0.0] == 0)
        assert np.all(found[exact == 1.0] == n)
        possible = (exact > 0.0) & (exact < 1.0)
        # Two-sided binomial tail, at 1e-6 over all states.
        low, high = stats.binom.cdf(found, n, exact), stats.binom.sf(found - 1, n, exact)
        assert np.all(np.minimum(low, high)[possible] > 5e-7 / sum(map(len, network.states.values())))


@pytest.mark.parametrize("name", ["asia", "alarm", "sprinkler"])
def test_forward_frequencies(name):
    network = read(name)
    draws = forward_sample(network.definition_, 50_000, np.random.default_rng(0))
    close_frequencies(network, draws, 50_000)


def test_forward_draws_have_the_joint_law():
    """χ² over all combinations of four nodes; false alarms 1e-6."""
    rng = np.random.default_rng(1)
    network = random_network(rng, 4)
    n = 100_000
    draws = forward_sample(network.definition_, n, rng)
    joint = network.query(list(network.nodes), joint=True).values
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(draws[node] for node in network.nodes), 1)
    assert stats.chisquare(counts.ravel(), n * joint.ravel()).pvalue > 1e-6


def test_states_keep_their_kind_and_rare_ones_stay_impossible():
    network = BayesianNetwork(
        [], {"x": [0.1] * 10 + [0.0], "y": [0.5, 0.5]}, {"x": range(11), "y": ("a", None.__class__.__name__)}
    )
    draws = forward_sample(network.definition_, 100_000, np.random.default_rng(0))
    assert draws["x"].dtype.kind == "i"
    assert draws["x"].max() == 9  # the tenths sum to a little less than 1, and yet
    assert set(draws["y"].tolist()) == {"a", "NoneType"}
    mixed = BayesianNetwork([], {"m": [0.5, 0.5]}, {"m": (1, "one")})
    assert set(forward_sample(mixed.definition_, 50, np.random.default_rng(0))["m"].tolist()) == {1, "one"}
    assert forward_sample(network.definition_, 0, np.random.default_rng(0))["x"].shape == (0,)


def test_the_same_seed_gives_the_same_draws():
    d = read("alarm").definition_
    for method in (
        lambda rng: likelihood_weighting(d, ALARM, rng, n_samples=5_000).marginals,
        lambda rng: {k: v.tolist() for k, v in posterior_sample(d, 100, ALARM, rng).items()},
    ):
        assert method(np.random.default_rng(5)) == method(np.random.default_rng(5))
        assert method(np.random.default_rng(5)) != method(np.random.default_rng(6))


@pytest.mark.parametrize("seed", range(10))
def test_likelihood_weighting_is_within_its_errors(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, zeros=seed % 2 == 1)
    draw = {node: v[0] for node, v in forward_sample(network.definition_, 1, rng).items()}
    evidence = {node: int(draw[node]) for node in ("v2", "v6")}
    found = likelihood_weighting(network.definition_, evidence, rng, n_samples=40_000)
    for node, exact in marginal_array(network, evidence).items():
        off = np.abs(np.array(list(found.marginals[node].values())) - exact)
        assert np.all(off <= bound(network) * found.standard_errors[node] + 1e-12)
    off = abs(found.log_probability - network.log_probability(evidence))
    assert off <= stats.norm.isf(5e-7) * found.log_probability_error + 1e-9
    assert found.method == "likelihood weighting"
    assert not found.exact


def z_squared(network, evidence, runs, method):
    """Mean over replicates of z² of the first state of each hidden node (nodes,), and which are common."""
    exact = marginal_array(network, evidence)
    nodes = [node for node in network.nodes if node not in evidence]
    z = []
    for rng in np.random.default_rng(0).spawn(runs):
        found = method(network.definition_, evidence, rng)
        z.append([
            (found.marginals[node][network.states[node][0]] - exact[node][0]) / found.standard_errors[node][0]
            for node in nodes
        ])  # fmt: skip
    common = np.array([0.05 <= exact[node][0] <= 0.95 for node in nodes])
    return np.square(z).mean(axis=0), common


@pytest.mark.slow
@pytest.mark.parametrize("how", ["likelihood weighting", "gibbs"])
def test_standard_errors_are_calibrated(replicates, record_property, how):
    """z² over replicates has mean 1: χ² bounds at 1e-6, and a fifth for errors that are themselves estimated.

    Of rare states errors are larger on purpose (`with_unseen`), so that the lower bound is for p in [0.05, 0.95].
    """
    runs = replicates(30, 400)
    if how == "gibbs":
        network, evidence = random_network(np.random.default_rng(2), 8), {"v7": 0}
        spread, common = z_squared(network, evidence, runs, lambda *given: gibbs(*given, n_draws=1_000, n_warmup=200))
    else:
        spread, common = z_squared(
            read("alarm"), ALARM, runs, lambda *given: likelihood_weighting(*given, n_samples=4_000)
        )
    record_property(f"{how}: mean z² of {common.sum()} marginals", f"{spread[common].mean():.3f}")
    tail = 5e-7 / len(spread)
    assert np.all(spread < 1.2 * stats.chi2.isf(tail, runs) / runs)
    assert np.all(spread[common] > 0.8 * stats.chi2.ppf(tail, runs) / runs)


def test_soft_evidence_counts():
    network = read("asia")
    evidence = {"dysp": {"yes": 0.9, "no": 0.2}, "asia": "yes"}
    exact = marginal_array(network, evidence)
    found = likelihood_weighting(network.definition_, evidence, np.random.default_rng(0))
    draws = posterior_sample(network.definition_, 50_000, evidence, np.random.default_rng(1))
    close_frequencies(network, draws, 50_000, evidence)
    for node in network.nodes:
        off = np.abs(np.array(list(found.marginals[node].values())) - exact[node])
        assert np.all(off <= bound(network) * found.standard_errors[node] + 1e-12)
    summed = condition_on_cutset(network.definition_, evidence, 400)
    for node in network.nodes:
        np.testing.assert_allclose(list(summed.marginals[node].values()), exact[node], atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_posterior_draws_are_from_the_posterior(seed):
    """χ² of the joint law of all hidden nodes; false alarms 1e-6."""
    rng = np.random.default_rng(100 + seed)
    network = random_network(rng, 6, zeros=seed % 2 == 1)
    evidence = {"v5": int(forward_sample(network.definition_, 1, rng)["v5"][0])}
    n = 30_000
    draws = posterior_sample(network.definition_, n, evidence, rng)
    hidden = [node for node in network.nodes if node != "v5"]
    joint = network.query(hidden, evidence, joint=True).values
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(draws[node] for node in hidden), 1)
    assert np.all(counts[joint == 0.0] == 0)
    many = n * joint > 5.0  # the rest as one cell
    cells = np.append(counts[many], counts[~many].sum())
    wanted = np.append(n * joint[many], n * joint[~many].sum())
    kept = wanted > 0.0
    if kept.sum() > 1:
        assert stats.chisquare(cells[kept], wanted[kept] * cells[kept].sum() / wanted[kept].sum()).pvalue > 1e-6


def test_posterior_draws_on_alarm():
    network = read("alarm")
    close_frequencies(
        network, posterior_sample(network.definition_, 50_000, ALARM, np.random.default_rng(0)), 50_000, ALARM
    )


@pytest.mark.parametrize("seed", range(4))
def test_gibbs_is_within_its_errors(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    evidence = {"v6": 0, "v3": np.array([0.2, 1.0, 0.5][: len(network.states["v3"])])}
    found = gibbs(network.definition_, evidence, rng)
    assert found.rhat < 1.01
    assert found.ess >= 400
    for node, exact in marginal_array(network, evidence).items():
        off = np.abs(np.array(list(found.marginals[node].values())) - exact)
        # Sizes estimated from the draws are themselves off by a tenth or two.
        assert np.all(off <= 1.2 * bound(network) * found.standard_errors[node] + 1e-12)
    assert np.isnan(found.log_probability)


@pytest.mark.parametrize("seed", range(4))
def test_gibbs_moves_across_zeros(seed):
    """Half of the nodes are functions of their parents; one node at a time no chain would leave its first state."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, zeros=True)
    leaf = network.nodes[-1]
    state = max(network.marginals()[leaf], key=network.marginals()[leaf].get)
    evidence = {leaf: state, "v2": np.linspace(0.3, 1.0, len(network.states["v2"]))}
    found = gibbs(network.definition_, evidence, rng)
    assert found.rhat < 1.01
    for node, exact in marginal_array(network, evidence).items():
        off = np.abs(np.array(list(found.marginals[node].values())) - exact)
        assert np.all(off <= 1.2 * bound(network) * found.standard_errors[node] + 1e-12)


def test_a_deterministic_or_that_is_seen():
    """Ten causes, of which one at least is there: P(cause | or) = p/(1 − Π(1 − p)). Five standard errors, ten times."""
    p = np.linspace(0.02, 0.3, 10)
    table = np.zeros((2,) * 11)
    table[..., 1] = 1.0
    table[(0,) * 10] = [1.0, 0.0]
    network = BayesianNetwork(
        [(f"c{i}", "or") for i in range(10)],
        {**{f"c{i}": [1 - q, q] for i, q in enumerate(p)}, "or": table},
    )
    found = gibbs(network.definition_, {"or": 1}, np.random.default_rng(1))
    for i, q in enumerate(p):
        error = found.standard_errors[f"c{i}"][1]
        assert abs(found.marginals[f"c{i}"][1] - q / (1 - np.prod(1 - p))) < 5 * error


def test_gibbs_says_where_it_cannot_move():
    """Thirteen nodes that must all be equal are too many states for one block; pairs never leave their first state."""
    n = 13
    edges = [(f"x{i}", f"x{i + 1}") for i in range(n - 1)]
    equal = BayesianNetwork(edges, {"x0": [0.5, 0.5], **{f"x{i}": np.eye(2) for i in range(1, n)}})
    with (
        pytest.warns(ModelWarning, match="tables of x1, x2, .* lock more nodes"),
        pytest.warns(ConvergenceWarning, match="not settled"),
    ):
        found = gibbs(equal.definition_, None, np.random.default_rng(3), n_draws=500)
    assert found.rhat > 1.01
    # Once it is known which state one is in, the tables beside it do not lock any more: two blocks are left.
    blocks = blocks_of(NetworkArrays.of(equal.definition_), NetworkArrays.of(equal.definition_).findings({"x6": 0}))
    assert sorted(map(len, blocks.groups)) == [6, 6]
    assert blocks.torn == ()


def test_few_draws_that_count_are_said():
    rare = BayesianNetwork(
        [("a", "b")], {"a": [0.999, 0.001], "b": [[1 - 1e-6, 1e-6], [0.1, 0.9]]}, {"a": (0, 1), "b": (0, 1)}
    )
    with pytest.warns(ConvergenceWarning, match="draws as few as"):
        found = likelihood_weighting(rare.definition_, {"b": 1}, np.random.default_rng(0), n_samples=10_000)
    assert found.ess < 400


def test_evidence_that_cannot_be():
    network = read("asia")
    evidence = {"lung": "yes", "either": "no"}
    rng = np.random.default_rng(0)
    with pytest.raises(NumericalError, match="none of 1,000 draws agrees"):
        likelihood_weighting(network.definition_, evidence, rng, n_samples=1_000)
    with pytest.raises(ZeroProbabilityError):
        posterior_sample(network.definition_, 10, evidence, rng)
    with pytest.raises(ZeroProbabilityError):
        condition_on_cutset(network.definition_, evidence, 400)
    with pytest.raises(ZeroProbabilityError):
        approximate_marginals(network, evidence, rng)
    with pytest.raises(NumericalError, match="no first state"):
        gibbs(network.definition_, evidence, rng)


@pytest.mark.parametrize("limit", [6_000, 4_000, 3_000])
def test_a_cutset_gives_the_exact_marginals(limit):
    network = read("alarm")
    found = condition_on_cutset(network.definition_, ALARM, limit)
    assert found.exact
    assert found.method == "cut-set conditioning"
    assert found.log_probability == pytest.approx(network.log_probability(ALARM), abs=1e-12)
    for node, exact in marginal_array(network, ALARM).items():
        np.testing.assert_allclose(list(found.marginals[node].values()), exact, atol=1e-12)
        assert np.all(found.standard_errors[node] == 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_a_cutset_on_random_networks(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 12, zeros=seed % 3 == 0)
    evidence = {"v11": int(forward_sample(network.definition_, 1, rng)["v11"][0])}
    found = condition_on_cutset(network.definition_, evidence, 2_000)
    for node, exact in marginal_array(network, evidence).items():
        np.testing.assert_allclose(list(found.marginals[node].values()), exact, atol=1e-12)


def test_cutsets_grow_and_tables_shrink():
    arrays = NetworkArrays.of(read("alarm").definition_)
    found = list(cutsets(arrays, arrays.findings(ALARM), 5_000))
    assert found[0][0] == []
    assert all(a == b[: len(a)] for (a, _), (b, _) in itertools.pairwise(found))
    assert all(np.prod([arrays.sizes[v] for v in cut]) <= 5_000 for cut, _ in found)
    assert found[-1][1] < 0.25 * found[0][1]
    assert not set(found[-1][0]) & {arrays.names.index(node) for node in ALARM}
    assert len(list(cutsets(arrays, arrays.findings(None), 1))) == 1


def grid(n, rng):
    """An n × n grid, each node with the node above and the one to the left as parents: n wide, for elimination."""
    name = "x{}_{}".format
    edges = [(name(i - 1, j), name(i, j)) for i, j in itertools.product(range(1, n), range(n))]
    edges += [(name(i, j - 1), name(i, j)) for i, j in itertools.product(range(n), range(1, n))]
    tables = {
        name(i, j): rng.dirichlet([2.0, 2.0], size=(2,) * ((i > 0) + (j > 0)))
        for i, j in itertools.product(range(n), repeat=2)
    }
    return edges, {node: table.reshape(*table.shape[:-1], 2) for node, table in tables.items()}


def test_beyond_the_memory_limit():
    """The three rungs agree on a grid of which elimination takes some 40 kB."""
    edges, tables = grid(8, np.random.default_rng(0))
    evidence = {"x7_7": 0, "x3_4": 1}
    exact = marginal_array(BayesianNetwork(edges, tables), evidence)
    whole = approximate_marginals(BayesianNetwork(edges, tables), evidence, np.random.default_rng(0))
    assert (whole.method, whole.exact) == ("exact", True)
    small = BayesianNetwork(edges, tables, memory_limit=16_000)
    with pytest.raises(MemoryLimitError):
        small.graph.marginals(evidence)
    for node, law in small.marginals(evidence).items():
        np.testing.assert_allclose(list(law.values()), exact[node], atol=1e-12)
    by_parts = approximate_marginals(small, evidence, np.random.default_rng(0))
    assert by_parts.method == "cut-set conditioning"
    for node, law in exact.items():
        np.testing.assert_allclose(list(by_parts.marginals[node].values()), law, atol=1e-12)
    assert by_parts.log_probability == pytest.approx(whole.log_probability, abs=1e-12)
    tiny = BayesianNetwork(edges, tables, memory_limit=600)
    with pytest.warns(ConvergenceWarning, match="estimates from 50,000 weighted draws"):
        sampled = approximate_marginals(tiny, evidence, np.random.default_rng(0), n_samples=50_000)
    assert sampled.method == "likelihood weighting"
    for node, law in exact.items():
        off = np.abs(np.array(list(sampled.marginals[node].values())) - law)
        assert np.all(off <= bound(tiny) * sampled.standard_errors[node] + 1e-12)
    # One node near the top has few ancestors: for it alone there is memory enough.
    assert approximate_marginals(tiny, None, np.random.default_rng(0), targets=["x1_1"]).exact
    some = approximate_marginals(small, evidence, np.random.default_rng(0), targets=["x1_1", "x0_0"])
    assert list(some.marginals) == ["x1_1", "x0_0"]
    np.testing.assert_allclose(list(some.marginals["x1_1"].values()), exact["x1_1"], atol=1e-12)
    with pytest.raises(MemoryLimitError):
        posterior_sample(tiny.definition_, 10, evidence, np.random.default_rng(0), memory_limit=600)


def test_intervals_and_arguments():
    network = read("asia")
    found = likelihood_weighting(network.definition_, {"xray": "yes"}, np.random.default_rng(0), n_samples=20_000)
    low, high = found.interval("lung").T
    p = np.array(list(found.marginals["lung"].values()))
    assert np.all((low < p) & (p < high) & (low >= 0.0) & (high <= 1.0))
    np.testing.assert_array_equal(found.interval("xray"), [[1.0, 1.0], [0.0, 0.0]])
    assert "likelihood weighting, ess" in repr(found)
    rng = np.random.default_rng(0)
    for wrong in (1, 2.5, True):
        with pytest.raises(ParameterError, match="n_samples"):
            likelihood_weighting(network.definition_, None, rng, n_samples=wrong)
    with pytest.raises(ParameterError, match="Did you mean 'xray'"):
        likelihood_weighting(network.definition_, {"xary": "yes"}, rng)
    with pytest.raises(ParameterError, match="Did you mean 'yes'"):
        posterior_sample(network.definition_, 5, {"xray": "yse"}, rng)
    assert likelihood_weighting(network.definition_, None, rng, n_samples=100).method == "forward"


def test_what_the_class_calls():
    network = read("asia")
    evidence = {"xray": "yes"}
    close_frequencies(network, sample(network, 20_000, None, 0), 20_000)
    close_frequencies(network, sample(network, 20_000, evidence, 0), 20_000, evidence)
    assert estimate_marginals(network, evidence, "auto", 0).method == "exact"
    assert estimate_marginals(network, evidence, "likelihood_weighting", 0, n_samples=50_000).n_samples == 50_000
    positive = random_network(np.random.default_rng(0))
    assert estimate_marginals(positive, {"v6": 0}, "gibbs", 0, n_chains=2).method == "gibbs"
    with pytest.raises(ParameterError, match="method must be one of auto, likelihood_weighting, gibbs"):
        estimate_marginals(network, evidence, "nuts", 0)
    with pytest.raises(ParameterError, match="n_chains"):
        estimate_marginals(network, evidence, "likelihood_weighting", 0, n_chains=2)


def test_beyond_memory_the_answers_have_their_shapes():
    edges, tables = grid(8, np.random.default_rng(0))
    exact = BayesianNetwork(edges, tables)
    small = BayesianNetwork(edges, tables, memory_limit=10_000)
    evidence = {"x7_7": 0}
    found = marginals_beyond_memory(small, evidence)
    for node, law in exact.marginals(evidence).items():
        assert found[node] == pytest.approx(law, abs=1e-12)
    error = MemoryLimitError("")
    one = query_beyond_memory(small, "x4_4", evidence, False, error)
    np.testing.assert_allclose(one.values, exact.query("x4_4", evidence).values, atol=1e-12)
    both = query_beyond_memory(small, ["x4_4", "x0_0"], evidence, False, error)
    assert list(both) == ["x4_4", "x0_0"]
    with pytest.raises(MemoryLimitError):
        query_beyond_memory(small, ["x4_4", "x0_0"], evidence, True, error)


@pytest.mark.parametrize("memory_limit", [100, 1 << 20])  # by a cut-set, and by elimination
@pytest.mark.parametrize(
    "ask",
    [
        lambda network, seen: BayesianNetwork.of(network.definition_).sample(3, seen, random_state=0),
        lambda network, seen: network.estimate_marginals(seen, random_state=0),
        lambda network, seen: network.marginals(seen),
        lambda network, seen: network.query("x2", seen),
    ],
)
def test_findings_that_exclude_each_other_are_named_by_whatever_draws(ask, memory_limit):
    ring = [*((f"x{i}", f"x{i + 1}") for i in range(5)), ("x0", "x5"), ("x5", "y")]
    tables = {f"x{i}": [[0.9, 0.1], [0.2, 0.8]] for i in range(1, 5)}
    tables |= {"x0": [0.5, 0.5], "x5": [[[1.0, 0.0], [0.0, 1.0]]] * 2, "y": [[1.0, 0.0], [0.0, 1.0]]}
    network = BayesianNetwork(ring, tables, memory_limit=memory_limit)
    # a finding without which the question would not fit into memory is not tried without
    with pytest.raises(ZeroProbabilityError, match=r"P\(evidence\) = 0: (x1=1, )?x5=0, y=1 cannot occur together"):
        ask(network, {"x1": 1, "x5": 0, "y": 1})


@pytest.mark.slow
def test_gibbs_on_alarm_draws_until_its_chains_have_settled():
    """Tables full of .99 and .01: 5,000 sweeps leave some ten effective draws, the default draws more by itself."""
    network = read("alarm")
    evidence = {"HRBP": "HIGH", "CO": "LOW", "BP": "HIGH"}
    found, exact = gibbs(network.definition_, evidence, np.random.default_rng(1)), network.marginals(evidence)
    assert found.rhat <= 1.01
    assert found.ess >= 400
    for node, law in exact.items():  # 105 states: one beyond 4.9 standard errors in 10,000 such tests
        for p, q, error in zip(law.values(), found.marginals[node].values(), found.standard_errors[node], strict=True):
            assert abs(p - q) <= 4.9 * error + 1e-12
