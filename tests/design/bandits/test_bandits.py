"""Beliefs, policies and the classes to ask and tell."""

import json

import numpy as np
import pytest

import credo.design.bandits as bandits
from credo.design.bandits import (
    KLUCB,
    UCB1,
    BayesUCB,
    BernoulliBandit,
    GaussianBandit,
    LinearBandit,
    TopTwoThompson,
    bernoulli_arms,
    choose,
    gaussian_arms,
    lai_robbins,
    linear_arms,
    probability_best,
)
from credo.design.bandits.equations import bernoulli_kl, bernoulli_kl_upper, normal_kl
from credo.distributions.beta import Beta
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.errors import DataError, FileFormatError, ParameterError, SaveError

NAMES = ["thompson", "bayes_ucb", "ucb1", "kl_ucb", "top_two", "uniform", "greedy"]


def test_any_order_of_rewards_gives_the_same_belief():
    rng = np.random.default_rng(0)
    told = [(int(k), float(r)) for k, r in zip(rng.integers(3, size=60), rng.integers(2, size=60), strict=True)]
    first, second = bernoulli_arms(3), bernoulli_arms(3)
    for k, r in told:
        first = first.update(k, r)
    for i in rng.permutation(60):
        second = second.update(*told[i])
    assert first.at().law == second.at().law
    gauss = [(int(k), r) for k, r in zip(rng.integers(3, size=60), rng.normal(1e8, 1.0, 60), strict=True)]
    first, second = gaussian_arms(3), gaussian_arms(3)
    for k, r in gauss:
        first = first.update(k, r)
    for i in rng.permutation(60):
        second = second.update(*gauss[i])
    for a, b in zip(first.at().law.parameters.values(), second.at().law.parameters.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_gaussian_belief_by_the_textbook():
    prior = NormalInverseGamma(1.0, 0.5, shape=2.0, scale=3.0)
    y = np.array([0.2, 1.4, -0.3])
    view = gaussian_arms(2, prior).update(1, y).at()
    kappa = 1 / 0.5 + 3
    mean = (1.0 / 0.5 + y.sum()) / kappa
    scale = 3.0 + 0.5 * ((y - y.mean()) ** 2).sum() + 0.5 * (2.0 * 3 / kappa) * (y.mean() - 1.0) ** 2
    assert view.law.mean[1] == pytest.approx(mean)
    assert view.law.df[1] == pytest.approx(7.0)
    assert view.law.scale[1] == pytest.approx(np.sqrt(scale / 3.5 / kappa))
    assert view.law.mean[0] == 1.0


def test_linear_belief_by_the_normal_equations():
    rng = np.random.default_rng(3)
    V = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 4.0]])
    prior = NormalInverseGamma([0.5, -1.0, 0.0], V, shape=1.5, scale=2.0)
    arms = linear_arms(2, prior=prior)
    X, x = rng.normal(size=(7, 3)), rng.normal(size=3)
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=7)
    for n in (1, 2, 7):  # fewer rows than coefficients, too
        told = arms
        for i in range(n):
            told = told.update(0, y[i], X[i])
        precision = np.linalg.inv(V) + X[:n].T @ X[:n]
        mean = np.linalg.solve(precision, np.linalg.inv(V) @ prior.mean + X[:n].T @ y[:n])
        scale = 2.0 + 0.5 * (y[:n] @ y[:n] + prior.mean @ np.linalg.inv(V) @ prior.mean - mean @ precision @ mean)
        shape = 1.5 + n / 2
        law = told.at(x).law
        assert law.df[0] == pytest.approx(2 * shape)
        assert law.mean[0] == pytest.approx(x @ mean, rel=1e-9)
        assert law.scale[0] == pytest.approx(np.sqrt(scale / shape * (x @ np.linalg.solve(precision, x))), rel=1e-9)
        prior_scale = np.sqrt(2.0 / 1.5 * (x @ V @ x))
        assert (law.mean[1], law.scale[1]) == pytest.approx((x @ prior.mean, prior_scale))
        at_once = arms.update(0, y[:n], X[:n]).at(x).law
        assert at_once.scale[0] == pytest.approx(law.scale[0], rel=1e-9)


def test_thompson_plays_with_the_probability_of_being_best():
    belief = bernoulli_arms(3).update(0, [1] * 6 + [0] * 4).update(1, [1] * 12 + [0] * 9).update(2, [1, 0])
    n = 40_000
    played = np.bincount(choose(belief, np.random.default_rng(0), "thompson", n), minlength=3) / n
    p = probability_best(belief.at().law)
    assert np.all(np.abs(played - p) < 4.5 * np.sqrt(p * (1 - p) / n))  # false alarm 2e-5


def test_top_two_plays_by_its_formula():
    # P(k) = β α_k + (1 − β) Σ_{j≠k} α_j α_k/(1 − α_j)
    belief = bernoulli_arms(3).update(0, [1] * 6 + [0] * 4).update(1, [1] * 12 + [0] * 9).update(2, [1, 0])
    a = probability_best(belief.at().law)
    p = 0.3 * a + 0.7 * np.array([sum(a[j] * a[k] / (1 - a[j]) for j in range(3) if j != k) for k in range(3)])
    n = 10_000
    played = np.bincount(choose(belief, np.random.default_rng(0), TopTwoThompson(0.3), n), minlength=3) / n
    assert np.all(np.abs(played - p) < 4.5 * np.sqrt(p * (1 - p) / n))  # false alarm 2e-5
    # a leader that is certain: the challenger comes from the exact probabilities
    sure = bernoulli_arms(3).update(0, [1] * 900).update(1, [1] * 500 + [0] * 400).update(2, [0] * 900)
    played = choose(sure, np.random.default_rng(0), "top_two", 200)
    assert set(played.tolist()) == {0, 1}


def test_indices_by_their_definitions():
    belief = bernoulli_arms(3).update(0, [1, 1, 0]).update(1, [1, 0, 0, 0]).update(2, [1] * 6 + [0] * 4)
    view, t = belief.at(), 18.0
    p, n = np.array([2 / 3, 1 / 4, 0.6]), np.array([3, 4, 10])
    np.testing.assert_allclose(UCB1().index(view, t), p + np.sqrt(2 * np.log(t) / n))
    np.testing.assert_allclose(BayesUCB().index(view, t), Beta([3, 2, 7], [2, 4, 5]).quantile(1 - 1 / (t + 1)))
    q = KLUCB().index(view, t)
    np.testing.assert_allclose(n * bernoulli_kl(p, q), np.log(t), rtol=1e-9)
    assert np.all(q > p)
    assert bernoulli_kl_upper(np.array([1.0, 0.0]), np.array([0.1, 0.1])).round(6).tolist() == [1.0, 0.095163]
    y = np.array([0.3, 1.1, 2.0, 1.4])
    view = gaussian_arms(2).update(0, y).at()
    bound = KLUCB().index(view, t)
    assert bound[1] == np.inf
    assert (4 - 2) * normal_kl(bound[0] - y.mean(), y.std()) == pytest.approx(np.log(t))


def test_index_batches_do_not_clump():
    belief = bernoulli_arms(4)
    for policy in ("bayes_ucb", "ucb1", "kl_ucb"):
        assert sorted(choose(belief, np.random.default_rng(0), policy, 4).tolist()) == [0, 1, 2, 3]
    waiting = choose(belief, np.random.default_rng(0), "ucb1", pending=[1, 1, 0, 1])
    assert waiting.tolist() == [2]
    gauss = gaussian_arms(3)
    assert sorted(choose(gauss, np.random.default_rng(0), "bayes_ucb", 3).tolist()) == [0, 1, 2]
    linear = linear_arms(3, 1)
    assert sorted(choose(linear, np.random.default_rng(0), "bayes_ucb", 3, context=[1.0]).tolist()) == [0, 1, 2]


def test_supposed_rewards_keep_the_mean():
    view = bernoulli_arms(2).update(0, [1, 1, 0]).at()
    more = view.supposing(np.array([5.0, 0.0]))
    np.testing.assert_allclose(more.mean, view.mean)
    assert more.law.sd[0] < view.law.sd[0]
    assert more.law.sd[1] == view.law.sd[1]


@pytest.mark.parametrize("policy", NAMES)
@pytest.mark.parametrize("kind", [BernoulliBandit, GaussianBandit])
def test_state_goes_through_json_and_goes_on_alike(kind, policy):
    rng = np.random.default_rng(5)
    one = kind(["a", "b", "c"], policy=policy, random_state=7)

    def play(bandit, rewards):
        asked = []
        for r in rewards:
            asked.append(bandit.ask())
            bandit.tell(asked[-1], r)
        return asked

    rewards = rng.integers(2, size=40).astype(float)
    play(one, rewards[:20])
    one.ask(n=2)
    two = kind.from_dict(json.loads(json.dumps(one.to_dict())))
    assert two.pending.tolist() == one.pending.tolist()
    assert play(one, rewards[20:]) == play(two, rewards[20:])
    assert one.to_dict() == two.to_dict()


def test_linear_state_and_other_generators():
    for generator in (np.random.MT19937(3), np.random.Philox(3), np.random.SFC64(3), np.random.PCG64DXSM(3)):
        one = LinearBandit(["a", "b"], n_features=3, random_state=np.random.Generator(generator))
        rng = np.random.default_rng(0)
        for _ in range(10):
            x = rng.normal(size=3)
            one.tell(one.ask(x), rng.normal(), x)
        two = LinearBandit.from_dict(json.loads(json.dumps(one.to_dict())))
        xs = rng.normal(size=(10, 3))
        assert [one.ask(x) for x in xs] == [two.ask(x) for x in xs]
        np.testing.assert_array_equal(one.mean(xs[0]), two.mean(xs[0]))


def test_damaged_states_are_named():
    state = BernoulliBandit(2, random_state=0).to_dict()
    with pytest.raises(FileFormatError, match="kind 'bernoulli'"):
        GaussianBandit.from_dict(state)
    with pytest.raises(FileFormatError, match="damaged"):
        BernoulliBandit.from_dict({k: v for k, v in state.items() if k != "arms"})
    with pytest.raises(FileFormatError, match="version 9"):
        BernoulliBandit.from_dict({**state, "version": 9})
    with pytest.raises(FileFormatError, match="generator"):
        BernoulliBandit.from_dict({**state, "rng": {"bit_generator": "seed"}})

    class Own(bandits.Policy):
        pass

    with pytest.raises(SaveError, match="Own"):
        BernoulliBandit(2, policy=Own()).to_dict()


def test_batches_pending_and_late_rewards():
    bandit = BernoulliBandit(["a", "b", "c"], policy="ucb1", random_state=0)
    asked = bandit.ask(n=3)
    assert sorted(asked) == ["a", "b", "c"]
    assert bandit.pending.tolist() == [1, 1, 1]
    bandit.tell("b", 1)
    assert bandit.pending.tolist() == [1, 0, 1]
    bandit.tell("b", [1, 0, 1])  # never asked for: fine
    assert bandit.pending.tolist() == [1, 0, 1]
    assert bandit.mean().round(3).tolist() == [0.5, 0.667, 0.5]


def test_stopping_by_value_remaining():
    start = BernoulliBandit(3).stopping()
    assert not start.stop
    assert start.probability_best == pytest.approx(np.full(3, 1 / 3))
    clear = BernoulliBandit(["x", "y"]).tell("x", [1] * 500 + [0] * 500).tell("y", [1] * 300 + [0] * 700).stopping()
    assert clear.stop
    assert clear.best == "x"
    assert clear.value_remaining == 0.0
    # two arms that are alike stop too, once both are known well: nothing is left to gain
    alike = BernoulliBandit(2).tell(0, [1] * 100_000 + [0] * 100_000).tell(1, [1] * 100_000 + [0] * 100_000).stopping()
    assert alike.stop
    assert 0 < alike.value_remaining < 0.01
    assert alike.probability_best == pytest.approx([0.5, 0.5])
    gauss = GaussianBandit(2).tell(0, np.linspace(9, 11, 50)).tell(1, np.linspace(4, 6, 50))
    assert gauss.stopping(relative=True).stop
    assert gauss.stopping(tolerance=0.1).stop
    assert gauss.stopping().expected_loss < 1e-6
    at = LinearBandit(2, n_features=1).stopping(context=[1.0])
    assert not at.stop
    with pytest.raises(ParameterError, match="relative"):
        GaussianBandit(2).stopping(relative=True)
    with pytest.raises(ParameterError, match="mass"):
        BernoulliBandit(2).stopping(mass=1.0)


@pytest.mark.parametrize(
    ("what", "error", "match"),
    [
        (lambda: BernoulliBandit(0), ParameterError, "arms"),
        (lambda: BernoulliBandit("ab"), ParameterError, "distinct labels"),
        (lambda: BernoulliBandit(["a", "a"]), ParameterError, "distinct labels"),
        (lambda: BernoulliBandit(2, prior=Beta([1.0] * 3, 1.0)), ParameterError, "each of 2 arms"),
        (lambda: BernoulliBandit(2, prior=NormalInverseGamma(0, 1, 1, 1)), ParameterError, "a Beta"),
        (lambda: BernoulliBandit(2, policy="best"), ParameterError, "'thompson'"),
        (lambda: BernoulliBandit(2).tell(5, 1), ParameterError, "one of"),
        (lambda: BernoulliBandit(2).tell(0, 0.5), DataError, "observation"),
        (lambda: BernoulliBandit(2).tell(0, np.nan), DataError, "finite"),
        (lambda: BernoulliBandit(2).tell(0, "won"), DataError, "number"),
        (lambda: BernoulliBandit(2).ask(context=[1.0]), ParameterError, "LinearBandit"),
        (lambda: BernoulliBandit(2).ask(n=0), ParameterError, "n must be"),
        (lambda: LinearBandit(2), ParameterError, "n_features"),
        (lambda: LinearBandit(2, n_features=2).ask(), ParameterError, "context"),
        (lambda: LinearBandit(2, n_features=2).ask([1.0]), ParameterError, "2 numbers"),
        (lambda: LinearBandit(2, n_features=2).ask([1.0, np.inf]), DataError, "infinite"),
        (lambda: LinearBandit(2, n_features=2).ask([0.0, 0.0]), DataError, "zeros"),
        (lambda: LinearBandit(2, n_features=2, policy="ucb1").ask([1.0, 0.0]), ParameterError, "bayes_ucb"),
        (lambda: LinearBandit(2, n_features=2, policy="kl_ucb").ask([1.0, 0.0]), ParameterError, "bayes_ucb"),
        (lambda: LinearBandit(2, n_features=2).tell(0, [1.0, 2.0], [1.0, 0.0]), DataError, "1 contexts"),
        (lambda: UCB1(width=0.0), ParameterError, "width"),
        (lambda: TopTwoThompson(0.0), ParameterError, "beta"),
    ],
)
def test_what_is_refused(what, error, match):
    with pytest.raises(error, match=match):
        what()


def test_lai_robbins():
    assert lai_robbins([0.9, 0.8]) == pytest.approx(0.1 / (0.8 * np.log(0.8 / 0.9) + 0.2 * np.log(0.2 / 0.1)))
    assert lai_robbins([0.4, 0.4]) == 0.0
    with pytest.raises(ParameterError, match="means"):
        lai_robbins([1.5, 0.2])
    with pytest.raises(ParameterError, match="sd"):
        lai_robbins([1.5, 0.2], sd=0.0)
