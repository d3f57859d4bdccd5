"""Inversion: the error in u against scipy's distribution functions, exact laws by Kolmogorov–Smirnov, awkward input."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats as st
from hypothesis import given
from hypothesis import strategies as strategy

import credo as cr
from credo.errors import ConvergenceWarning, DataError, NumericalError, ParameterError
from credo.inference.direct import inversion
from credo.inference.direct.piecewise import invert_density
from credo.inference.posterior import Posterior

#: of each Kolmogorov–Smirnov test below; seeds are fixed, so that it was taken once
FALSE_ALARM = 1e-3

LAWS = {
    "normal": (st.norm(), -np.inf, np.inf),
    "narrow and far": (st.norm(20.0, 1e-3), -np.inf, np.inf),
    "cauchy": (st.cauchy(), -np.inf, np.inf),
    "pole at the end": (st.gamma(0.5), 0.0, np.inf),
    "steep pole at the end": (st.gamma(0.05), 0.0, np.inf),
    "beta": (st.beta(2, 3), 0.0, 1.0),
    "jumps inside": (st.uniform(0.3, 1.1), -np.inf, np.inf),
    "kink": (st.laplace(0.3), -np.inf, np.inf),
    "heavy tail": (st.pareto(0.5), 1.0, np.inf),
    "many scales": (st.lognorm(3), 0.0, np.inf),
    "stretches of exponential": (st.expon(), 0.0, np.inf),
}


def quiet(law, constant=0.0):
    def log_density(x):
        with np.errstate(all="ignore"):
            return np.asarray(law.logpdf(x)) + constant

    return log_density


@pytest.mark.parametrize("name", LAWS)
def test_from_a_density_the_error_in_u_is_below_the_stated_one(name):
    law, low, high = LAWS[name]
    inverse = invert_density(quiet(law, 7.0), low, high)
    u = np.concatenate([np.random.default_rng(0).random(20_000), [1e-9, 1e-6, 1 - 1e-6, 1 - 1e-9]])
    x = inverse.quantile(u)
    # scipy's own distribution functions are right to some 1e-14
    assert np.max(np.abs(law.cdf(x) - u)) <= inverse.u_error + 1e-14
    assert inverse.u_error <= 1e-10
    assert inverse.log_normaliser == pytest.approx(7.0, abs=1e-10)
    np.testing.assert_allclose(inverse.cdf(x), u, atol=inverse.u_error + 1e-13)
    assert inverse.edges[0] >= low
    assert inverse.edges[-1] <= high


def test_a_pole_beyond_the_spacing_of_floats_is_in_the_stated_error():
    """Between 1 − 2⁻⁵³ and 1 lies a mass of 7e-9 of Beta(½, ½), which no float can resolve."""
    law = st.beta(0.5, 0.5)
    with pytest.warns(ConvergenceWarning, match="error in u may be"):
        draws = inversion(log_density=quiet(law), support=(0, 1), size=5000, rng=0)
    u = np.maximum(np.random.default_rng(0).random(5000), 2.0**-54)
    error = draws.result.certificate["u_error"]
    assert 1e-10 < np.max(np.abs(law.cdf(draws["x"]) - u)) <= error < 1e-6
    assert draws.result.status == "not_certified"


@given(
    modes=strategy.lists(strategy.tuples(strategy.floats(-50, 50), strategy.floats(0.02, 5)), min_size=1, max_size=4),
    seed=strategy.integers(0, 1000),
)
def test_mixtures_of_normals_within_the_stated_error(modes, seed):
    """Every mode is named in `breaks`, as the docstring asks of narrow far ones."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(modes)))
    centres, widths = np.array(modes).T

    def log_density(x):
        return np.logaddexp.reduce(np.log(weights) + st.norm.logpdf(x[:, None], centres, widths), axis=1)

    breaks = (centres[:, None] + widths[:, None] * np.arange(-6, 7)).ravel()
    inverse = invert_density(log_density, -np.inf, np.inf, float(centres[0]), breaks)
    u = np.random.default_rng(seed).random(300)
    x = inverse.quantile(u)
    assert np.max(np.abs(st.norm.cdf(x[:, None], centres, widths) @ weights - u)) <= inverse.u_error + 1e-14


def test_two_narrow_modes_are_found_without_help():
    def log_density(x):
        return np.logaddexp(np.log(0.3) + st.norm(-5, 0.1).logpdf(x), np.log(0.7) + st.norm(5, 0.02).logpdf(x))

    inverse = invert_density(log_density, -np.inf, np.inf)
    assert inverse.log_normaliser == pytest.approx(0.0, abs=1e-12)
    assert inverse.cdf(np.array([0.0]))[0] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("how", ["quantile", "cdf", "log_density", "family"])
def test_exact_law(how):
    given_ = {
        "quantile": {"quantile": st.gamma(3).ppf},
        "cdf": {"cdf": st.gamma(3).cdf, "support": (0, np.inf)},
        "log_density": {"log_density": lambda x: 2 * np.log(x) - x, "support": cr.Gamma(shape=3, rate=1).support},
        "family": {"log_density": cr.Gamma(shape=3, rate=1), "support": (0, np.inf)},
    }[how]
    draws = inversion(**given_, size=100_000, rng=1)
    assert st.kstest(draws["x"], st.gamma(3).cdf).pvalue > FALSE_ALARM
    assert isinstance(draws, Posterior)
    assert draws.acceptance_rate == 1.0
    assert np.array_equal(draws["x"], inversion(**given_, size=100_000, rng=1)["x"])
    if how == "log_density":
        assert draws.log_evidence == pytest.approx(math.log(2), abs=1e-10)
    if how == "cdf":
        assert draws.result.certificate["u_error"] < 1e-14


@pytest.mark.parametrize("law", [st.poisson(3.3), st.binom(5, 0.4), st.bernoulli(0.2)])
def test_jumps_of_a_distribution_function_are_its_atoms(law):
    draws = inversion(cdf=law.cdf, support=(-1, np.inf), size=3000, rng=2)["x"]
    u = np.maximum(np.random.default_rng(2).random(3000), 2.0**-54)
    np.testing.assert_array_equal(draws, law.ppf(u))


def test_a_mixed_law_has_its_atom_and_its_density():
    """An atom of ½ at 1, else exponential."""

    def cdf(x):
        return 0.5 * (x >= 1) + 0.5 * -np.expm1(-np.maximum(x, 0))

    draws = inversion(cdf=cdf, support=(0, np.inf), size=20_000, rng=3)["x"]
    share = np.mean(draws == 1.0)
    assert abs(share - 0.5) < st.norm.isf(FALSE_ALARM / 2) * math.sqrt(0.25 / 20_000)
    assert st.kstest(draws[draws != 1.0], st.expon.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ParameterError, "exactly one of quantile, cdf and log_density"),
        ({"quantile": np.sin, "cdf": np.sin}, ParameterError, "exactly one"),
        ({"quantile": np.sin, "size": 0}, ParameterError, "size must be an integer ≥ 1"),
        ({"quantile": np.sin, "size": 2.5}, ParameterError, "size must be an integer"),
        ({"quantile": np.sin, "support": (1, 0)}, ParameterError, "low < high"),
        ({"quantile": np.sin, "support": 3}, ParameterError, "support"),
        ({"quantile": lambda u: u[:1]}, ParameterError, "vectorised"),
        ({"quantile": lambda u: u * np.nan}, DataError, "quantile returned nan"),
        ({"cdf": lambda x: 2 * st.norm.cdf(x)}, DataError, "is not in"),
        ({"cdf": lambda x: 0.5 * st.norm.cdf(x)}, DataError, "never passes"),
        ({"cdf": lambda x: st.norm.cdf(-x)}, DataError, "never passes|must rise"),
        ({"log_density": lambda x: 0 * x}, NumericalError, "does not fall off"),
        ({"log_density": lambda x: -np.log1p(np.abs(x))}, NumericalError, "does not fall off"),
        ({"log_density": lambda x: x}, NumericalError, "still rises at"),
        ({"log_density": lambda x: np.full(x.shape, -np.inf)}, NumericalError, "zero wherever it was looked at"),
        ({"log_density": lambda x: np.where(x > 0.3, np.nan, -x * x)}, NumericalError, "log density is nan at x = "),
        ({"log_density": lambda x: -1.0}, ParameterError, "one log density a row"),
        ({"log_density": 3}, ParameterError, "a function of draws"),
    ],
)
def test_misuse_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        inversion(**{"size": 100, "rng": 0, **arguments})
