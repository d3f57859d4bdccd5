"""`LaplaceBlock` against brute force: the mode by SciPy, dense matrices, finite differences, quadrature."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from credo.distributions import sites
from credo.errors import DataError, NotIdentifiedError, NumericalError, ParameterError
from credo.inference.gaussian_block import LinearFactor, dense
from credo.inference.laplace_block import LaplaceBlock, Site

CUTS = np.array([-1.0, 0.2, 1.3])


def classes(x):
    return np.searchsorted(CUTS, x)


#: law, outcomes given η, ψ
LAWS = {
    "poisson": (sites.PoissonLog(), lambda rng, eta: rng.poisson(np.exp(eta)), []),
    "negative binomial": (sites.NegativeBinomialLog(), lambda rng, eta: rng.poisson(np.exp(eta)), [2.5]),
    "logit": (sites.BernoulliLogit(), lambda rng, eta: rng.random(len(eta)) < 1 / (1 + np.exp(-eta)), []),
    "probit": (sites.BernoulliProbit(), lambda rng, eta: rng.normal(size=len(eta)) < eta, []),
    "cloglog": (sites.BernoulliCloglog(), lambda rng, eta: rng.normal(size=len(eta)) < eta, []),
    "binomial": (sites.BinomialLogit(4), lambda rng, eta: rng.binomial(4, 1 / (1 + np.exp(-eta))), []),
    "binomial probit": (sites.BinomialProbit(4), lambda rng, eta: rng.binomial(4, 1 / (1 + np.exp(-eta))), []),
    "gamma": (sites.GammaLog(), lambda rng, eta: rng.gamma(2.0, np.exp(eta) / 2.0), [2.2]),
    "exponential": (sites.ExponentialLog(), lambda rng, eta: rng.exponential(np.exp(eta)), []),
    "t": (sites.StudentT(), lambda rng, eta: eta + rng.standard_t(5.0, size=len(eta)), [5.0, 0.9]),
    "beta": (sites.BetaLogit(), lambda rng, eta: rng.beta(2 + 0 * eta, 3 + 0 * eta), [6.0]),
    "ordinal logit": (sites.OrdinalLogit(4), lambda rng, eta: classes(eta + rng.logistic(size=len(eta))), [CUTS]),
    "ordinal probit": (sites.OrdinalProbit(4), lambda rng, eta: classes(eta + rng.normal(size=len(eta))), [CUTS]),
}  # fmt: skip


def slopes_model(law="poisson", seed=0, n=70, groups=6, **options):
    """Fixed effects with a Normal prior and non-centred random intercepts and slopes whose scales are coefficients."""
    rng = np.random.default_rng(seed)
    record, outcomes, psi = LAWS[law]
    g = np.concatenate([np.arange(groups), rng.integers(groups, size=n - groups)])
    x, p = rng.normal(size=n) * 0.5, 2 + 2 * groups
    fixed = np.zeros((n, p))
    fixed[:, 0], fixed[:, 1] = 1.0, x
    maps = [fixed]
    for at, values in ((0, np.ones(n)), (1, x)):
        maps.append(scipy.sparse.csr_array((values, (np.arange(n), 2 + 2 * g + at)), shape=(n, p)))
    y = outcomes(rng, 0.3 + 0.5 * x + rng.normal(size=groups)[g] * 0.6).astype(float)
    eye = scipy.sparse.eye_array(p, format="csr")
    factors = [LinearFactor([eye[:2]], [np.ones(2)], name="beta"), LinearFactor([eye[2:]], name="u")]
    site = Site(record, y, maps, [rng.normal(size=n) * 0.2], name="y", **options)
    ones = np.ones(n) if site.rowwise else 1.0
    coefficients = [
        ((1.0,), (-0.4,), 2.0),
        ((1.0,), (), 1.0),
        ((ones, 0.7 * ones, 0.5 * ones), (ones,), tuple(np.ones(n) * v if site.psi_rowwise else v for v in psi)),
    ]
    return LaplaceBlock(factors, [site], p), coefficients


def brute(block, coefficients):
    """Mode, H and Laplace's value, from dense matrices and SciPy's optimiser."""
    p, split = block.size, len(block.factors)

    def parts(z):
        value, slope, H = 0.0, np.zeros(p), np.zeros((p, p))
        for factor, (a, b, s) in zip(block.factors, coefficients[:split], strict=True):
            M = sum(k * m.toarray() for k, m in zip(a, factor.maps)) / s
            r = M @ z + sum((k * c for k, c in zip(b, factor.constants)), np.zeros(factor.n)) / s
            value -= 0.5 * r @ r + factor.n * np.log(s * np.sqrt(2 * np.pi)) + factor.log_sds
            slope, H = slope - M.T @ r, H + M.T @ M
        for site, (a, b, psi) in zip(block.sites, coefficients[split:], strict=True):
            A = sum(np.broadcast_to(k, site.n)[:, None] * m.toarray() for k, m in zip(a, site.maps))
            eta = A @ z + sum((k * c for k, c in zip(b, site.constants)), np.zeros(site.n))
            own, first, second = site.law.derivatives(site.y, eta, psi, 2)
            value, slope, H = value + own.sum(), slope + A.T @ first, H - A.T @ (second[:, None] * A)
        return value, slope, H

    z = np.zeros(p)
    found = scipy.optimize.minimize(
        lambda z: -parts(z)[0], z, jac=lambda z: -parts(z)[1], method="BFGS", options={"gtol": 1e-9}
    )
    z = found.x
    for _ in range(4):
        z = z + np.linalg.solve(parts(z)[2], parts(z)[1])
    value, _, H = parts(z)
    return z, H, value + 0.5 * p * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]


@pytest.fixture(params=[128, 0], ids=["dense", "sparse"])
def path(request, monkeypatch):
    """Both ways of factoring, whatever the size; the compiled loops over rows with the sparse one."""
    monkeypatch.setattr("credo.inference.laplace_block.rows.FEW", 0)
    monkeypatch.setattr(dense, "LARGEST", request.param)
    monkeypatch.setattr("credo.inference.gaussian_block.ordering.SMALL_REST", 4)
    monkeypatch.setattr("credo.inference.gaussian_block.ordering.LOOP_SPEED", 1e30)
    return request.param


@pytest.mark.parametrize("law", LAWS)
def test_mode_curvature_and_value(law, path):
    block, coefficients = slopes_model(law)
    assert ("groups" in block.structure) == (path == 0)
    z, H, value = brute(block, coefficients)
    belief = block.condition(coefficients)
    np.testing.assert_allclose(belief.mean, z, atol=1e-8)
    np.testing.assert_allclose(belief.sd, np.sqrt(np.diag(np.linalg.inv(H))), rtol=1e-8)
    assert belief.log_marginal == pytest.approx(value, abs=1e-9)
    again, nothing = block.log_marginal(coefficients, gradient=False)
    assert again == pytest.approx(value, abs=1e-9)
    assert nothing is None


@pytest.mark.parametrize("law", LAWS)
def test_many_values_at_once_are_the_values(law):
    block, coefficients = slopes_model(law, n=30, psi_rowwise=law in ("t", "gamma"))
    belief = block.condition(coefficients)
    joint, y = belief._joint, belief.sample(5, np.random.default_rng(0))
    np.testing.assert_allclose(joint.values(y), [joint.value(each, joint.etas(each)) for each in y], rtol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_gradient_is_the_slope_of_the_value(law, path):
    check_gradient(*slopes_model(law))


@pytest.mark.parametrize("law", ["negative binomial", "t", "ordinal logit"])
def test_gradient_by_coefficients_one_a_row(law):
    check_gradient(*slopes_model(law, n=8, groups=2, rowwise=True, psi_rowwise=law != "ordinal logit"))


def check_gradient(block, coefficients):
    x = block.pack(coefficients)
    gradient = block.log_marginal(x)[1]

    def value(k, h):
        moved = x.copy()
        moved[k] += h
        return block.log_marginal(moved, gradient=False)[0]

    h = 2e-3
    slopes = [
        sum(c * (value(k, i * h) - value(k, -i * h)) for i, c in ((1, 45.0), (2, -9.0), (3, 1.0))) / (60 * h)
        for k in range(len(x))
    ]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7, atol=1e-7 * max(1.0, np.abs(gradient).max()))
    by_part = block.log_marginal(coefficients)[1][-1][0][0]
    np.testing.assert_allclose(by_part, gradient[block.slots[-1].a[0]] if np.ndim(by_part) else
                               gradient[block.slots[-1].a[0]].sum(), rtol=1e-8)  # fmt: skip


def test_a_normal_likelihood_beside_the_sites_is_exact():
    """Sites with no rows that matter leave the `GaussianBlock` of the factors."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    factors = [LinearFactor([X], [y]), LinearFactor([np.eye(3)])]
    given = [((1.0,), (-1.0,), 0.7), ((1.0,), (), 2.0)]
    site = Site(sites.PoissonLog(), [0.0], [np.zeros((1, 3))], [np.ones(1)], name="nothing")
    block = LaplaceBlock(factors, [site], 3)
    value, gradient = block.log_marginal([*given, ((1.0,), (-2.0,), ())])
    plain, slope = block.normal.log_marginal(given)
    assert value == pytest.approx(plain - np.exp(-2.0), abs=1e-12)
    np.testing.assert_allclose(np.hstack([np.hstack(each) for each in gradient[:2]]),
                               np.hstack([np.hstack(each) for each in slope]), rtol=1e-9)  # fmt: skip


def test_the_answer_does_not_depend_on_what_was_asked_before():
    fresh, coefficients = slopes_model("logit")
    used, _ = slopes_model("logit")
    x = fresh.pack(coefficients)
    for scale in (3.0, 0.2, 1.7):
        used.log_marginal(x * scale)
    a, b = fresh.log_marginal(x), used.log_marginal(x)
    assert a[0] == pytest.approx(b[0], abs=1e-9)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-8, atol=1e-8)


def test_two_sites_share_latents():
    rng = np.random.default_rng(4)
    n, p = 25, 3
    X = rng.normal(size=(n, p))
    counts = Site(sites.PoissonLog(), rng.poisson(1.0, n), [X], name="counts")
    hits = Site(sites.BernoulliProbit(), rng.integers(2, size=n), [X], [np.ones(n)], name="hits")
    block = LaplaceBlock([LinearFactor([np.eye(p)])], [counts, hits], p)
    coefficients = [((1.0,), (), 1.5), ((1.0,), (), ()), ((-0.8,), (0.3,), ())]
    assert block.log_marginal(coefficients)[0] == pytest.approx(brute(block, coefficients)[2], abs=1e-9)
    check_gradient(block, coefficients)


@pytest.mark.parametrize(
    ("law", "y", "prior_sd"),
    [
        ("poisson", np.zeros(8), 3.0),
        ("poisson", np.full(8, 1e6), 50.0),
        ("logit", np.repeat([0.0, 1.0], 4), 10.0),
        ("probit", np.repeat([0.0, 1.0], 4), 10.0),
        ("cloglog", np.ones(8), 10.0),
        ("negative binomial", np.r_[np.zeros(7), 1e5], 10.0),
        ("gamma", np.geomspace(1e-8, 1e8, 8), 20.0),
        ("t", np.r_[np.zeros(7), 1e6], 10.0),
        ("beta", np.r_[1e-9, 1 - 1e-9, np.full(6, 0.5)], 5.0),
        ("ordinal logit", np.zeros(8), 5.0),
    ],
)
def test_extreme_outcomes(law, y, prior_sd):
    """All-zero counts, separated classes, huge counts and outliers: with proper priors there is a mode, and it is found
    from a cold start."""
    record, _, psi = LAWS[law]
    X = np.column_stack([np.ones(8), np.linspace(-1.0, 1.0, 8)])
    block = LaplaceBlock([LinearFactor([np.eye(2)])], [Site(record, y, [X])], 2)
    coefficients = [((1.0,), (), prior_sd), ((1.0,), (), tuple(psi))]
    belief = block.condition(coefficients)
    slope = -belief.mean / prior_sd**2 + X.T @ record.derivatives(y, X @ belief.mean, psi, 1)[1]
    assert np.all(np.abs(slope * belief.sd) < 1e-4)
    value, gradient = block.log_marginal(block.pack(coefficients))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_far_from_the_origin_digits_are_kept():
    """An offset of 10⁶ prior sds: the block is centred anew, and the value is that of the problem moved to 0."""
    y = np.array([3.0, 1.0, 4.0])
    values = []
    for far in (0.0, 1e6):
        site = Site(sites.PoissonLog(), y, [np.ones((3, 1))], [np.ones(3)])
        block = LaplaceBlock([LinearFactor([np.eye(1)], [np.ones(1)])], [site], 1)
        values.append(block.log_marginal([((1.0,), (-far,), 0.5), ((1.0,), (-far,), ())])[0])
    assert values[1] == pytest.approx(values[0], abs=1e-8)


def test_errors_name_what_is_wrong():
    block, coefficients = slopes_model("negative binomial")
    x = block.pack(coefficients)
    bad = x.copy()
    bad[block.slots[2].psi[0]] = -1.0
    assert block.is_valid(np.stack([x, bad])).tolist() == [True, False]
    with pytest.raises(NumericalError, match="shape of site 'y'"):
        block.log_marginal(bad)
    bad = x.copy()
    bad[block.slots[2].a[1]] = np.nan
    with pytest.raises(NumericalError, match=r"a\[1\] of site 'y'"):
        block.log_marginal(bad)
    bad = x.copy()
    bad[block.slots[1].s] = 0.0
    with pytest.raises(NumericalError, match="s of factor 'u'"):
        block.log_marginal(bad)
    with pytest.raises(ParameterError, match="one \\(a, b, s\\)"):
        block.log_marginal(coefficients[:2])
    with pytest.raises(ParameterError, match="for its maps"):
        block.log_marginal([*coefficients[:2], ((1.0,), (1.0,), (2.0,))])
    with pytest.raises(ParameterError, match="shape"):
        block.log_marginal(x[:-1])
    with pytest.raises(ParameterError, match="columns"):
        LaplaceBlock([], [Site(sites.PoissonLog(), [1], [np.ones((1, 2))])], 3)
    with pytest.raises(ParameterError, match="one outcome a row"):
        Site(sites.PoissonLog(), [1, 2], [np.ones((3, 1))])
    with pytest.raises(ParameterError, match="at least one"):
        Site(sites.PoissonLog(), [1], [], [np.ones(1)])
    with pytest.raises(DataError):
        Site(sites.PoissonLog(), [-1], [np.ones((1, 1))])


def test_a_latent_that_nothing_determines_is_named():
    site = Site(sites.PoissonLog(), [1, 2], [np.array([[1.0, 0.0], [1.0, 0.0]])])
    block = LaplaceBlock([], [site], 2, name="Model")
    with pytest.raises(NotIdentifiedError, match="column 1"):
        block.log_marginal([((1.0,), (), ())])
