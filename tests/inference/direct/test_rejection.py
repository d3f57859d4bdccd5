"""Rejection with a stated bound: exact laws, acceptance 1/M, unbiased evidence, and a violated bound is an error."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as st

import credo as cr
from credo.errors import NumericalError, ParameterError
from credo.inference import Target
from credo.inference.direct import rejection
from credo.inference.posterior import Posterior

#: of each statistical statement below; seeds are fixed, so that it was taken once
FALSE_ALARM = 1e-3
Z = st.norm.isf(FALSE_ALARM / 2)

#: target, proposal, M (exact: max p/q), law
CASES = {
    "beta under uniform": (cr.Beta(2, 3), cr.Uniform(0, 1), 16 / 9, st.beta(2, 3)),
    "normal under cauchy": (cr.Normal(0, 1), cr.Cauchy(0, 1), math.sqrt(2 * math.pi) * math.exp(-0.5), st.norm()),
    "half normal under exponential": (
        cr.HalfNormal(1),
        cr.Exponential(1),
        math.sqrt(2 / math.pi) * math.exp(0.5),
        st.halfnorm(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_law_is_exact_and_the_acceptance_is_one_in_m(name):
    target, proposal, bound, law = CASES[name]
    size = 50_000
    draws = rejection(target, proposal, log_bound=math.log(bound), size=size, rng=4)
    assert st.kstest(draws["x"], law.cdf).pvalue > FALSE_ALARM
    # N is negative binomial: the rate has relative sd √((1 − a)/size)
    rate = 1 / bound
    assert abs(draws.acceptance_rate / rate - 1.0) < Z * math.sqrt((1 - rate) / size)
    assert draws.log_evidence_error == pytest.approx(math.sqrt((1 - draws.acceptance_rate) / size))
    assert abs(draws.log_evidence) < Z * draws.log_evidence_error
    assert draws.result.certificate["acceptance_rate"] == draws.acceptance_rate
    assert isinstance(draws, Posterior)
    value, error = draws.expect(lambda x: x)
    assert abs(value - law.mean()) < Z * error
    assert error == pytest.approx(law.std() / math.sqrt(size), rel=0.05)


def test_the_evidence_of_an_unnormalised_target_is_unbiased():
    """p̃ = 0.3 · N(0, 1): 2,000 runs of 5 draws; their mean of Z is 0.3, though that of log Z is not log 0.3."""
    found = np.array(
        [
            rejection(lambda x: math.log(0.3) + st.norm.logpdf(x), cr.Cauchy(0, 1), log_bound=-0.3, size=5, rng=i)
            .log_evidence
            for i in range(2000)
        ]
    )  # fmt: skip
    z = np.exp(found)
    assert abs(z.mean() - 0.3) < Z * z.std() / math.sqrt(2000)
    assert found.mean() < math.log(0.3) - Z * found.std() / math.sqrt(2000)


def test_a_target_with_names_and_a_product_proposal():
    """Uniform on the disk: π/4 of the square, independent of names and shapes."""
    target = Target(
        lambda x: np.where((x**2).sum(axis=1) < 1, 0.0, -np.inf), {"a": (), "b": (1,)}, dims={"b": ("k",)},
        vectorised=True,
    )  # fmt: skip
    draws = rejection(
        target, {"a": cr.Uniform(-1, 1), "b": cr.Uniform(-1, 1)}, log_bound=math.log(4), size=20_000, rng=0
    )
    assert draws["a"].shape == (20_000,)
    assert draws["b"].shape == (20_000, 1)
    assert draws.dims == {"b": ("k",)}
    assert abs(draws.log_evidence - math.log(math.pi)) < Z * draws.log_evidence_error
    radius = draws["a"] ** 2 + draws["b"][:, 0] ** 2
    assert st.kstest(radius, "uniform").pvalue > FALSE_ALARM  # r² of the disk is uniform
    assert draws.log_prob(np.zeros((3, 2))).tolist() == [0, 0, 0]


def test_the_same_seed_gives_the_same_draws():
    runs = [rejection(cr.Beta(2, 3), cr.Uniform(0, 1), log_bound=1.0, size=1000, rng=7) for _ in range(2)]
    assert np.array_equal(runs[0]["x"], runs[1]["x"])


def test_draws_can_be_saved(tmp_path):
    draws = rejection(cr.Beta(2, 3), cr.Uniform(0, 1), log_bound=1.0, size=100, rng=7)
    cr.save(draws, tmp_path / "draws.credo")
    again = cr.load(tmp_path / "draws.credo")
    assert np.array_equal(again["x"], draws["x"])
    assert again.log_evidence == draws.log_evidence
    assert "mean" in again.summary()["x"]


def test_a_violated_bound_shows_the_point_and_both_values():
    with pytest.raises(ParameterError, match=r"log_bound must be ≥ .* which is 0\.57\d* at x = 0\.3\d*, got 0\.5"):
        rejection(cr.Beta(2, 3), cr.Uniform(0, 1), log_bound=0.5, size=1000, rng=0)


@pytest.mark.parametrize("log_scale", [0.0, 600.0, -700.0])
def test_a_tight_bound_is_met_up_to_rounding(log_scale):
    """p̃ ∝ q: every ratio equals M, and none is a violation."""
    draws = rejection(lambda x: st.norm.logpdf(x) + log_scale, cr.Normal(0, 1), log_bound=log_scale, size=10_000, rng=0)
    assert draws.acceptance_rate > 0.999


@pytest.mark.parametrize(
    ("target", "arguments", "error", "message"),
    [
        (cr.Beta(2, 3), {"log_bound": math.inf}, ParameterError, "log_bound must be a finite number"),
        (cr.Beta(2, 3), {"log_bound": None}, ParameterError, "log_bound must be a finite number"),
        (cr.Beta(2, 3), {"size": -1}, ParameterError, "size must be an integer ≥ 1"),
        (cr.Beta(2, 3), {"max_proposals": 3}, ParameterError, "max_proposals"),
        (lambda x: np.full(x.shape, np.nan), {}, NumericalError, "log density is nan at x ="),
        (lambda x: -np.log(x * 0), {}, NumericalError, "log density is inf at x ="),
        (lambda x: 0.0, {}, ParameterError, "one log density a row"),
        (
            lambda x: np.where((x > 0) & (x < 1), -1e3, -np.inf),
            {"max_proposals": 5000},
            NumericalError,
            r"0 of \d+ proposals were accepted",
        ),
        ("normal", {}, ParameterError, "target must be a Target"),
        (cr.Beta(2, 3), {"proposal": np.random.default_rng(0)}, ParameterError, "proposal must be a distribution"),
        (cr.Beta(2, 3), {"proposal": {"x": cr.Uniform(0, 1)}}, ParameterError, "a Target's names"),
        (Target(lambda x: 0.0, {"a": ()}), {"proposal": {"b": cr.Uniform(0, 1)}}, ParameterError, "exactly a"),
        (Target(lambda x: 0.0, {"a": (3,)}), {}, ParameterError, r"draws have shape \(n, 3\)"),
        (Target(lambda x: 0.0, {"a": (3,)}), {"proposal": {"a": cr.Dirichlet(np.ones(2))}}, ParameterError, "of a"),
    ],
)
def test_misuse_is_named(target, arguments, error, message):
    with pytest.raises(error, match=message):
        rejection(target, **{"proposal": cr.Uniform(0, 1), "log_bound": 1.0, "size": 100, "rng": 0, **arguments})
