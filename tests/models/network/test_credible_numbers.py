"""Answers of linear-Gaussian networks under a posterior over their equations, against the regressions themselves."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.errors import ParameterError, UnavailableError, ZeroProbabilityError


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(3.0, 2.0, 20)
    y = 1.0 + 0.5 * x + rng.normal(size=20)
    return {"x": x, "y": y, "z": y - x + 0.3 * rng.normal(size=20)}


@pytest.fixture(scope="module")
def learned(rows):
    return cr.LinearGaussianNetwork([("x", "y"), ("x", "z"), ("y", "z")]).fit(rows)


def test_a_node_without_parents_is_student(learned, rows):
    """The predictive law under the prior 1/s² is t(n − 1), scaled by s √(1 + 1/n). Quantiles of 20,000 draws within 5
    standard errors of theirs: false-alarm rate about 2e-6 each."""
    x, n, size = rows["x"], 20, 20_000
    answer = learned.query_draws("x", draws=size, random_state=1)
    t = stats.t(n - 1, x.mean(), x.std(ddof=1) * np.sqrt(1 + 1 / n))
    for q in (0.05, 0.5, 0.95):  # a mixture's quantile is surer than that of as many draws
        at = float(answer.quantile(q))
        assert abs(t.cdf(at) - q) < 5 * np.sqrt(q * (1 - q) / size)
    mean = stats.t(n - 1, x.mean(), x.std(ddof=1) / np.sqrt(n))
    assert stats.kstest(answer.means, mean.cdf).pvalue > 1e-4


def test_given_its_parents_a_node_is_its_regression(learned, rows):
    """Mean, aleatoric and epistemic variance of `LinearRegression`, which knows them exactly. The variance of 20,000
    draws of t(17) has a standard error of 1.1 %: 6 % is missed less than once in 1e6."""
    model = cr.LinearRegression().fit(np.column_stack([rows["x"], rows["y"]]), rows["z"])
    for point in ((3.0, 2.5), (9.0, -2.0)):
        p = model.predict_distribution([point])
        answer = learned.query_draws("z", {"x": point[0], "y": point[1]}, 20_000, random_state=2)
        assert answer.epistemic == pytest.approx(float(p.epistemic[0]), rel=0.06)
        assert answer.aleatoric == pytest.approx(float(p.aleatoric[0]), rel=0.06)
        assert abs(answer.mean - float(p.mean[0])) < 5 * np.sqrt(answer.epistemic / 20_000)
        low, high = (float(v[0]) for v in p.interval(0.9))
        assert answer.interval(0.9) == pytest.approx((low, high), abs=0.05 * (high - low))


def test_each_draw_is_the_network_with_these_equations(learned):
    answer = learned.query_draws("x", {"z": 1.0}, 5, random_state=3)
    rng = np.random.default_rng(3)
    drawn = {node: learned.posterior_[node].sample_all(5, rng) for node in learned._order}
    for i in range(5):
        equations = {
            node: cr.LinearGaussian(
                float(d["intercept"][i]), dict(zip(learned.parents(node), d["coef"][i].tolist())),
                sd=float(d["noise_scale"][i]),
            )
            for node, d in drawn.items()
        }  # fmt: skip
        law = cr.LinearGaussianNetwork(learned.edges, equations).query("x", {"z": 1.0})
        assert answer.means[i] == pytest.approx(float(law.mean), rel=1e-10)
        assert answer.sds[i] == pytest.approx(float(law.sd), rel=1e-10)


def test_more_rows_less_doubt_and_the_noise_stays(learned, rows):
    many = cr.LinearGaussianNetwork(learned.edges).fit({name: np.tile(cells, 50) for name, cells in rows.items()})
    few, more = (net.query_draws("x", {"z": 1.0}) for net in (learned, many))
    assert more.epistemic < few.epistemic / 10
    assert more.aleatoric > few.aleatoric / 2
    low, high = more.mean_interval()
    assert low < more.mean < high
    assert more.interval()[0] < low


def test_do_saving_and_seeds(learned, tmp_path):
    answer = learned.query_draws("z", {"y": 2.0})
    np.testing.assert_array_equal(answer.means, learned.query_draws("z", {"y": 2.0}).means)
    cr.save(learned, tmp_path / "n.credo")
    back = cr.load(tmp_path / "n.credo")
    assert back == learned
    np.testing.assert_array_equal(answer.means, back.query_draws("z", {"y": 2.0}).means)
    acted = learned.do({"y": 2.0})
    assert set(acted.posterior_) == {"x", "z"}
    assert acted.query_draws("x").epistemic > 0.0
    assert acted.query_draws("y").sd == 0.0
    assert float(acted.query_draws("y").quantile(0.5)) == 2.0
    with pytest.raises(ZeroProbabilityError, match="sd 0"):
        acted.query_draws("x", {"y": 3.0})


def test_what_has_no_draws(learned, rows):
    stated = cr.LinearGaussianNetwork([], {"x": cr.LinearGaussian()})
    for network in (stated, cr.LinearGaussianNetwork([("x", "y")]).fit(rows, method="mle")):
        with pytest.raises(UnavailableError, match="bayes"):
            network.query_draws("x")
    for arguments, told in (
        (("w",), "a node of the network"), (("x", {"x": 1.0}), "other than the target"), (("x", {"z": "1"}), "number"),
        (("x", None, 0), "draws"), (("x", None, 2.5), "draws"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=told):
            learned.query_draws(*arguments)
    answer = learned.query_draws("x", draws=5)
    for wrong in (0.0, 1.0, True, "a"):
        with pytest.raises(ParameterError, match="mass"):
            answer.interval(wrong)
    with pytest.raises(ParameterError, match="q must"):
        answer.quantile(1.5)
    exact = cr.LinearGaussianNetwork([("x", "y")])
    with pytest.warns(cr.errors.DataWarning, match="exactly"):
        exact.fit({"x": rows["x"], "y": 2 * rows["x"]})
    assert exact.query_draws("y", {"x": 1.0}).interval() == pytest.approx((2.0, 2.0))
