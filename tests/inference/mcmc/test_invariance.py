"""Every kernel leaves its target invariant: Geweke's joint test and SBC, false alarm 1e-4 a kernel and test.

And the tests can see: each bug seeded here fails them.
"""

from __future__ import annotations

import numpy as np
import pytest

from credo.diagnostics.geweke import geweke_joint_test
from credo.distributions.normal import Normal
from credo.inference.mcmc import (
    HMC,
    NUTS,
    AdaptiveRejection,
    Cycle,
    EllipticalSlice,
    Gibbs,
    Independence,
    MetropolisHastings,
    Mixture,
    ParallelGibbs,
    RandomWalk,
    Slice,
    metric_from,
)
from credo.inference.target import Target
from credo.testing.kernels import (
    beta_binomial_calibration,
    beta_binomial_joint_test,
    beta_binomial_posterior,
    transition,
)

ALARM = 1e-4


@pytest.fixture(params=["short", pytest.param("long", marks=pytest.mark.slow)])
def draws(request, replicates):
    """800 draws see a gross error in any test run; `make calibrate` takes 30,000 and sees one of 1 %."""
    return 800 if request.param == "short" else replicates(2000, 30_000)


class BetaProposal:
    """Beta(1.5, 2): heavier than every posterior of the model at both edges."""

    def sample(self, size, rng):
        return rng.beta(1.5, 2.0)

    def log_prob(self, p):
        with np.errstate(divide="ignore"):
            return 0.5 * np.log(p) + np.log1p(-p) if 0 <= p[0] <= 1 else np.array([-np.inf])


def multiplicative(rng, p):
    return p * np.exp(rng.standard_normal(1))


def log_multiplicative(y, x):
    """log Q(x → y) of the multiplicative walk, up to a constant: −log y − ½ (log y/x)²; the last is symmetric."""
    return -np.log(y[0])


KERNELS = {
    "random_walk": RandomWalk(scale=0.4),
    "random_walk_on_line": RandomWalk(scale=1.5, unconstrained=True),
    "asymmetric_proposal": MetropolisHastings(multiplicative, log_multiplicative),
    "independence": Independence(BetaProposal()),
    "slice": Slice(width=0.3),
    "slice_doubling": Slice(width=0.05, expand="doubling"),
    "slice_few_expansions": Slice(width=0.15, max_expansions=3),
    "adaptive_rejection": AdaptiveRejection(width=0.2),
    "hmc": HMC(step_size=0.8, length=1.6, metric=metric_from([0.8])),
    "nuts": NUTS(step_size=0.7, metric=metric_from([0.8])),
    "nuts_jittered": NUTS(step_size=1.2, jitter=0.3, max_depth=3),
    "cycle": Cycle((RandomWalk(scale=0.4), Slice(width=0.3))),
    "mixture": Mixture((RandomWalk(scale=0.1), RandomWalk(scale=0.8)), weights=(0.3, 0.7), picks=2),
    "gibbs_by_slice": Gibbs(beta_binomial_posterior(0), {"p": Slice(width=0.3)}),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_geweke_joint(name, draws):
    # A Gibbs kernel holds only the layout of its target; the density comes from where the requests are answered.
    test = beta_binomial_joint_test(KERNELS[name], draws, rng=1, alarm=ALARM)
    assert test.ok, test
    assert min(test.effective.values()) > 50, test.effective


#: steps between ranked draws: past the autocorrelation time of each kernel; 15 where not named
THIN = {"nuts": 2, "nuts_jittered": 3, "hmc": 2, "adaptive_rejection": 1, "slice": 4, "gibbs_by_slice": 4, "cycle": 4}


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_simulation_based_calibration(name, replicates):
    thin = THIN.get(name, 15)
    found = beta_binomial_calibration(KERNELS[name], replicates(60, 500), thin=thin, rng=2, alarm=ALARM)
    assert found.ok, found.p_values


@pytest.mark.parametrize("name", ["random_walk", "nuts"])
def test_simulation_based_calibration_short(name):
    thin = 12 if name == "random_walk" else 1
    found = beta_binomial_calibration(KERNELS[name], 60, draws=9, thin=thin, rng=2, alarm=ALARM)
    assert found.ok, found.p_values


# -- a model with two blocks: τ ~ Gamma(3, rate 2), μ | τ ~ N(0, 1/τ), y | μ, τ ~ N(μ, 1/τ)
# ----------------------------------


def normal_gamma(y):
    def log_density(x):
        mu, tau = x
        if tau <= 0:
            return -np.inf
        return 3.0 * np.log(tau) - 2.0 * tau - 0.5 * tau * (mu**2 + (y - mu) ** 2)

    return Target(log_density, {"mu": (), "tau": ()})


def draw_mu(y):
    return lambda rng, v: rng.normal(0.5 * y, np.sqrt(0.5 / v["tau"]))


def draw_tau(y):
    return lambda rng, v: rng.gamma(4.0, 1.0 / (2.0 + 0.5 * (v["mu"] ** 2 + (y - v["mu"]) ** 2)))


def draw_both(y):
    def draw(rng, v):
        tau = rng.gamma(3.5, 1.0 / (2.0 + 0.25 * y**2))
        return {"mu": rng.normal(0.5 * y, np.sqrt(0.5 / tau)), "tau": tau}

    return draw


class GammaLaw:
    def __init__(self, shape, rate):
        self.shape, self.rate = shape, rate

    def sample(self, size, rng):
        return rng.gamma(self.shape, 1.0 / self.rate)

    def log_prob(self, x):
        return self.shape * np.log(self.rate) + (self.shape - 1) * np.log(x) - self.rate * x


def parallel(y):
    return ParallelGibbs(
        normal_gamma(y),
        {
            "mu": lambda v: Normal(0.5 * y, np.sqrt(0.5 / v["tau"])),
            "tau": lambda v: GammaLaw(4.0, 2.0 + 0.5 * (v["mu"] ** 2 + (y - v["mu"]) ** 2)),
        },
    )


def two_block_test(kernel_for, draws, rng=3):
    """`kernel_for(y)` is the kernel under test when y was observed."""

    def prior(rng):
        tau = rng.gamma(3.0, 0.5)
        return np.array([rng.normal(0.0, np.sqrt(1.0 / tau)), tau])

    return geweke_joint_test(
        prior,
        lambda rng, x: rng.normal(x[0], np.sqrt(1.0 / x[1])),
        lambda rng, x, y: transition(kernel_for(y), normal_gamma(y))(rng, x),
        {
            "mu": lambda x, y: x[0],
            "tau": lambda x, y: x[1],
            "mu²": lambda x, y: x[0] ** 2,
            "tau²": lambda x, y: x[1] ** 2,
            "mu y": lambda x, y: x[0] * y,
        },
        draws=draws,
        rng=np.random.default_rng(rng),
        alarm=ALARM,
    )


BLOCKS = {
    "systematic": lambda y: Gibbs(normal_gamma(y), {"mu": draw_mu(y), "tau": draw_tau(y)}),
    "random": lambda y: Gibbs(normal_gamma(y), {"mu": draw_mu(y), "tau": draw_tau(y)}, scan="random"),
    "blocked": lambda y: Gibbs(normal_gamma(y), {("mu", "tau"): draw_both(y)}),
    "by_slice": lambda y: Gibbs(normal_gamma(y), {"mu": draw_mu(y), "tau": Slice(width=1.0)}),
    "by_rejection": lambda y: Gibbs(normal_gamma(y), {"mu": AdaptiveRejection(), "tau": draw_tau(y)}),
    "by_random_walk": lambda y: Gibbs(normal_gamma(y), {"mu": draw_mu(y), "tau": RandomWalk(scale=1.0)}),
    "parallel": parallel,
}


@pytest.mark.parametrize("name", BLOCKS)
def test_gibbs_joint(name, draws):
    test = two_block_test(BLOCKS[name], draws)
    assert test.ok, test


def test_elliptical_slice_joint(draws):
    def posterior(y):
        return Target(lambda x: -0.5 * x @ x - 0.5 * np.sum((y - x) ** 2) / 0.25, {"x": (2,)})

    kernel = EllipticalSlice(np.zeros(2), np.ones(2))
    test = geweke_joint_test(
        lambda rng: rng.standard_normal(2),
        lambda rng, x: x + 0.5 * rng.standard_normal(2),
        lambda rng, x, y: transition(kernel, posterior(y))(rng, x),
        {
            "x": lambda x, y: x[0],
            "x²": lambda x, y: x[0] ** 2,
            "xx": lambda x, y: x[0] * x[1],
            "xy": lambda x, y: x @ y,
        },
        draws=draws,
        rng=4,
        alarm=ALARM,
    )
    assert test.ok, test


# -- an edge with mass at it, and two variables tied to each other
# ------------------------------------------------------


def edge_test(kernel, draws):
    """p ~ U(0, 1), y ~ Bernoulli(p): the posterior is 2p or 2(1 − p), highest at an edge."""

    def posterior(y):
        return Target(lambda p: float(np.log(p[0] if y else 1 - p[0])) if 0 < p[0] < 1 else -np.inf, {"p": ()})

    steps = [transition(kernel, posterior(y)) for y in range(2)]
    return geweke_joint_test(
        lambda rng: rng.random(1),
        lambda rng, p: int(rng.random() < p[0]),
        lambda rng, p, y: steps[y](rng, p),
        {"p²": lambda p, y: p[0] ** 2, "edge": lambda p, y: float(min(p[0], 1 - p[0]) < 0.1)},
        draws=draws,
        rng=5,
        alarm=ALARM,
    )


@pytest.mark.parametrize("kernel", [RandomWalk(scale=0.5), Slice(width=0.5), Slice(width=0.1, expand="doubling")])
def test_edge_joint(kernel, draws):
    assert edge_test(kernel, draws).ok


RHO = 0.8


def pair_test(kernel_for, draws):
    """(a, b) standard Normal with correlation ρ, y ~ N(a, 1); conditionals are Normal."""

    def prior(rng):
        a = rng.standard_normal()
        return np.array([a, RHO * a + np.sqrt(1 - RHO**2) * rng.standard_normal()])

    def posterior(y):
        return Target(
            lambda x: -0.5 * (x[0] ** 2 - 2 * RHO * x[0] * x[1] + x[1] ** 2) / (1 - RHO**2) - 0.5 * (y - x[0]) ** 2,
            {"a": (), "b": ()},
        )

    def kernel(y):
        precision = 1.0 / (1 - RHO**2) + 1.0
        conditionals = {
            "a": lambda v: Normal((RHO * v["b"] / (1 - RHO**2) + y) / precision, precision**-0.5),
            "b": lambda v: Normal(RHO * v["a"], np.sqrt(1 - RHO**2)),
        }
        return kernel_for(ParallelGibbs(posterior(y), conditionals), posterior(y))

    return geweke_joint_test(
        prior,
        lambda rng, x: x[0] + rng.standard_normal(),
        lambda rng, x, y: transition(kernel(y), posterior(y))(rng, x),
        {"ab": lambda x, y: x[0] * x[1], "a²": lambda x, y: x[0] ** 2, "by": lambda x, y: x[1] * y},
        draws=draws,
        rng=6,
        alarm=ALARM,
    )


def test_parallel_gibbs_joint(draws):
    assert pair_test(lambda kernel, target: kernel, draws).ok


# -- seeded bugs: the same tests must fail
# ------------------------------------------------------------------------------


def redrawn_at_the_edge(rng, p):
    """A step outside the support is drawn again: more mass than is right leaves the edges."""
    while True:
        y = p + 0.3 * rng.standard_normal(1)
        if 0 < y[0] < 1:
            return y


BUGS = {
    "missing_correction": MetropolisHastings(multiplicative),
    "reversed_ratio": MetropolisHastings(multiplicative, lambda y, x: -log_multiplicative(y, x)),
}


@pytest.mark.parametrize("name", BUGS)
def test_bugs_fail_the_joint_test(name):
    assert not beta_binomial_joint_test(BUGS[name], 5000, rng=1, alarm=ALARM).ok


def test_a_biased_edge_fails_the_joint_test():
    assert not edge_test(MetropolisHastings(redrawn_at_the_edge), 6000).ok


def test_a_block_that_is_not_updated_fails_the_joint_test():
    stuck = two_block_test(lambda y: Gibbs(normal_gamma(y), {"mu": draw_mu(y), "tau": lambda rng, v: v["tau"]}), 400)
    assert "tau" in stuck.failed


def test_parallel_updates_without_correction_fail_the_joint_test():
    def uncorrected(kernel, target):
        # Always accepted: the proposal's density is made to cancel the target's.
        return MetropolisHastings(kernel.propose, lambda y, x: target.evaluate(y).log_density)

    assert not pair_test(uncorrected, 2000).ok


def test_parallel_gibbs_uncorrected_loses_the_correlation():
    """The known answer behind the docs page: for a bivariate Normal the uncorrected sweep has no correlation at all."""
    rho, rng = 0.9, np.random.default_rng(0)
    x, kept = np.zeros(2), np.empty((4000, 2))
    for i in range(len(kept)):
        x = rho * x[::-1] + np.sqrt(1 - rho**2) * rng.standard_normal(2)
        kept[i] = x
    # The even and odd times of the two swap; 5 standard errors at an effective size of n (1 − ρ²)/(1 + ρ²).
    n = len(kept) * (1 - rho**2) / (1 + rho**2)
    assert abs(np.corrcoef(kept.T)[0, 1]) < 5 / np.sqrt(n)
