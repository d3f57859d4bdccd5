"""Weighted draws: integrals against SciPy's quadrature, draws against its distribution functions, weights unbiased."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.sparse
import scipy.stats

from credo.distributions import sites
from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.gaussian_block import LinearFactor, dense
from credo.inference.laplace_block import LaplaceBlock, Site
from credo.inference.laplace_block.tables import Grids, integrate, settled

CUTS = np.array([-0.5, 0.8])
LAWS = {
    "poisson": (sites.PoissonLog(), [0, 3, 1, 0, 0, 7, 2, 1, 0, 0, 0, 4], []),
    "negative binomial": (sites.NegativeBinomialLog(), [0, 3, 1, 0, 0, 7, 2, 1, 0, 0, 0, 4], [1.5]),
    "logit": (sites.BernoulliLogit(), [0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0], []),
    "probit": (sites.BernoulliProbit(), [0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0], []),
    "cloglog": (sites.BernoulliCloglog(), [0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0], []),
    "binomial": (sites.BinomialLogit([3] * 6 + [4] * 6), [0, 1, 3, 0, 1, 2, 4, 1, 0, 0, 0, 0], []),
    "gamma": (sites.GammaLog(), np.geomspace(0.1, 5.0, 12), [2.0]),
    "exponential": (sites.ExponentialLog(), np.geomspace(0.1, 5.0, 12), []),
    "t": (sites.StudentT(), np.r_[np.linspace(-2, 2, 11), 9.0], [4.0, 0.8]),
    "beta": (sites.BetaLogit(), np.linspace(0.05, 0.9, 12), [5.0]),
    "ordinal": (sites.OrdinalLogit(3), [0, 1, 2, 0, 1, 2, 2, 1, 0, 0, 0, 2], [CUTS]),
}


def intercepts(law="poisson", groups=3, sd=1.1, extra=1):
    """One level c, `groups` intercepts with rows in turn, and `extra` groups that have no row."""
    record, y, psi = LAWS[law]
    n, p = len(y), 1 + groups + extra
    g = np.arange(n) % groups
    maps = [np.ones((n, 1)) * np.eye(p)[0], np.eye(p)[1 + g]]
    factors = [LinearFactor([np.eye(p)[:1]], name="c"), LinearFactor([np.eye(p)[1:]], name="u")]
    block = LaplaceBlock(factors, [Site(record, y, maps, [np.linspace(-0.3, 0.3, n)], name="y")], p)
    return block, [((1.0,), (), 1.5), ((1.0,), (), sd), ((1.0, 1.0), (1.0,), tuple(psi))], g


def joint_of_c(block, coefficients, g, c):
    """log p(y, c) with every group by 2801 equal steps over 14 prior sds each way."""
    site, psi, sd = block.sites[0], coefficients[-1][2], coefficients[1][2]
    total = scipy.stats.norm.logpdf(c, 0.0, coefficients[0][2])
    for k in range(g.max() + 1):
        rows = np.flatnonzero(g == k)
        u = np.linspace(-14.0 * sd, 14.0 * sd, 2801)
        log_p = scipy.stats.norm.logpdf(u, 0.0, sd)
        for row in rows:
            law, y = site.law.take(np.full(len(u), row)), np.full(len(u), site.y[row])
            log_p = log_p + law.derivatives(y, site.constants[0][row] + c + u, psi, 0)[0]
        total += scipy.special.logsumexp(log_p) + np.log(u[1] - u[0])
    return total


@pytest.mark.parametrize("law", LAWS)
def test_integrals_over_groups_are_scipys(law):
    block, coefficients, g = intercepts(law)
    belief = block.condition(coefficients)
    nested, rng = belief._nested, np.random.default_rng(0)
    assert block.groups == 4
    for c in (nested.c, nested.c + 0.7, nested.c - 1.1):
        given = nested.given(c[None])
        (value,) = nested.log_density(nested.tables(given, rng, 1), given.outside)
        at_mode = 0.5 * np.log(nested.square(np.ones(1)) / (2 * np.pi))
        expected = joint_of_c(block, coefficients, g, c[0]) - belief.log_marginal - at_mode
        assert value == pytest.approx(expected, abs=2e-5)


def test_the_steps_above_are_scipys_adaptive_quadrature():
    block, coefficients, g = intercepts("gamma")
    site, psi = block.sites[0], coefficients[-1][2]
    total = scipy.stats.norm.logpdf(0.4, 0.0, 1.5)
    for k in range(3):
        rows = np.flatnonzero(g == k)

        def density(u, rows=rows):
            own = site.law.derivatives(site.y[rows], site.constants[0][rows] + 0.4 + u, psi, 0)[0].sum()
            return np.exp(own + scipy.stats.norm.logpdf(u, 0.0, 1.1))

        total += np.log(scipy.integrate.quad(density, -9, 9, epsabs=0, epsrel=1e-10, limit=200)[0])
    assert joint_of_c(block, coefficients, g, 0.4) == pytest.approx(total, abs=1e-9)


def test_draws_of_a_group_have_its_distribution():
    """Kolmogorov–Smirnov, 4000 groups of the same three rows on grids of their own shifts; false alarms 1e-3."""
    G, sd = 4000, 2.0
    g, p = np.repeat(np.arange(G), 3), G + 1
    maps = [scipy.sparse.csr_array((np.ones(3 * G), (np.arange(3 * G), 1 + g)), shape=(3 * G, p))]
    factors = [LinearFactor([scipy.sparse.eye_array(p, format="csr")])]
    block = LaplaceBlock(factors, [Site(sites.BernoulliLogit(), np.tile([1.0, 1.0, 0.0], G), maps)], p)
    nested = block.condition([((1.0,), (), sd), ((1.5,), (), ())])._nested
    draws = nested.tables(nested.given(nested.c[None]), np.random.default_rng(1), 1)[0].draws[0, 1:, 0]
    u = np.linspace(-14, 14, 4001)
    log_p = 2 * np.log(scipy.special.expit(1.5 * u)) + np.log(scipy.special.expit(-1.5 * u)) - 0.5 * (u / sd) ** 2
    cdf = np.cumsum(np.exp(log_p))
    statistic = scipy.stats.kstest(draws, lambda x: np.interp(x, u, cdf / cdf[-1])).statistic
    assert statistic < 1.95 / np.sqrt(len(draws))  # 1.95: the 0.1% point of Kolmogorov's law


def unbiased(values, expected):
    """Whether the mean of antithetic pairs is within 3.9 standard errors of what is expected."""
    pairs = values.reshape(-1, 2).mean(axis=1)
    assert abs(pairs.mean() - expected) < 3.9 * pairs.std() / np.sqrt(len(pairs))


@pytest.mark.parametrize("law", ["poisson", "logit", "t"])
def test_weights_are_unbiased(law):
    """E e^(log w) = p(y)/Laplace, and with it the probability that c is within 1.5 sds, which sees draws of another
    law than the weights say: by quadrature over c. False-alarm rate 1e-4 each (3.9 standard errors, of pairs)."""
    block, coefficients, g = intercepts(law)
    belief = block.condition(coefficients)
    c, m = np.arange(-7, 7, 0.2), belief.mean[0]
    log_p = np.array([joint_of_c(block, coefficients, g, each) for each in c])
    exact = scipy.special.logsumexp(log_p) + np.log(0.2)
    z, log_w = belief.draw_weighted(4000, np.random.default_rng(2))
    w = np.exp(log_w - (exact - belief.log_marginal))
    unbiased(w, 1.0)
    near = 1.5 * belief.sd[0]
    spline = scipy.interpolate.CubicSpline(c, np.exp(log_p - exact))
    unbiased(w * (np.abs(z[:, 0] - m) < near), spline.integrate(m - near, m + near))
    assert belief.correction() == pytest.approx(exact - belief.log_marginal, abs=0.1)


def test_whole_draws_are_unbiased_where_nothing_is_a_group():
    """Five covariates: no groups. A second block integrates the same with one column less by quadrature: here by
    importance from another Normal, false-alarm rate 1e-4."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 5)), rng.poisson(1.5, 30)
    block = LaplaceBlock([LinearFactor([np.eye(5)])], [Site(sites.PoissonLog(), y, [X])], 5)
    belief = block.condition([((1.0,), (), 1.0), ((1.0,), (), ())])
    assert block.groups == 0
    assert belief.correction() == 0.0
    z, log_w = belief.draw_weighted(20000, rng)
    assert z.shape == (20000, 5)
    wide = belief.mean + 1.2 * (belief.sample(20000, rng) - belief.mean)
    law = scipy.stats.multivariate_normal(belief.mean, 1.44 * belief.covariance())
    prior = scipy.stats.norm.logpdf(wide).sum(axis=1)
    other = scipy.stats.poisson.logpmf(y, np.exp(wide @ X.T)).sum(axis=1) + prior - law.logpdf(wide)
    a, b = np.exp(log_w), np.exp(other - belief.log_marginal)
    metric = np.linalg.inv(belief.covariance())
    for reach in (np.inf, 4.0):  # evidence; probability of the middle, which sees draws of another law than weights say
        own, its = (
            w * (np.einsum("ni,ij,nj->n", d, metric, d) < reach)
            for w, d in ((a, z - belief.mean), (b, wide - belief.mean))
        )
        own = own.reshape(-1, 2).mean(axis=1)  # of antithetic pairs
        error = np.hypot(own.std() / np.sqrt(len(own)), its.std() / np.sqrt(len(its)))
        assert abs(own.mean() - its.mean()) < 3.9 * error
    assert belief.draw_weighted(3, rng, repeats=2)[0].shape == (3, 2, 5)


def slopes_block(groups=7, n=60, seed=0):
    """Random intercepts and slopes, correlated, centred; a precision that is sparse or dense."""
    rng = np.random.default_rng(seed)
    p, g, x = 2 + 2 * groups, rng.integers(groups - 1, size=n), rng.normal(size=n)  # the last group has no row
    rows = np.arange(n)
    fixed = scipy.sparse.csr_array((np.r_[np.ones(n), x], (np.r_[rows, rows], np.repeat([0, 1], n))), shape=(n, p))
    effects = scipy.sparse.csr_array((np.r_[np.ones(n), x], (np.r_[rows, rows], np.r_[2 + 2 * g, 3 + 2 * g])), (n, p))
    y = rng.poisson(np.exp(0.2 + 0.3 * x + rng.normal(size=groups)[g] * 0.8))
    eye = scipy.sparse.eye_array(p, format="csr")
    a, b = eye[2::2], eye[3::2]
    factors = [LinearFactor([eye[:2]]), LinearFactor([a]), LinearFactor([b, a])]
    block = LaplaceBlock(factors, [Site(sites.PoissonLog(), y, [fixed, effects], name="y")], p)
    return block, [((1.0,), (), 2.0), ((1.0,), (), 0.9), ((1.0, -0.4), (), 0.5), ((1.0, 1.0), (), ())]


def test_groups_of_two_are_integrated_as_by_brute_force():
    block, coefficients = slopes_block()
    assert [each.columns.shape for each in block.partition.kinds] == [(7, 2)]
    belief = block.condition(coefficients)
    nested = belief._nested
    c = nested.c + 0.3
    given = nested.given(c[None])
    (table,), (target,) = nested.tables(given, np.random.default_rng(0), 1), given.targets
    mode = belief.mean[block.partition.kinds[0].columns]
    for k in (0, 3, 6):
        own, _ = target.take(np.array([k]))
        top = own.value(mode[k][None, None])[0, 0]
        # 161² equal steps over six prior sds each way
        a, b = (each.ravel() for each in np.meshgrid(*[np.linspace(-1.0, 1.0, 161)] * 2))
        nodes = np.column_stack([5.4 * a, 0.4 * 5.4 * a + 3.0 * b])
        integral = np.exp(own.value(nodes[:, None]) - top).sum() * 5.4 * 3.0 / 80**2
        assert table.log_integral[k] == pytest.approx(top + np.log(integral), abs=1e-5)
    # no row: the prior's own constant
    assert table.log_integral[6] == pytest.approx(np.log(2 * np.pi * 0.9 * 0.5), abs=1e-6)


FORMS = ["poisson", "negative binomial", "logit", "binomial", "gamma", "exponential"]


def three_ways(target):
    """A target by its law, by its form in array operations, by its form in the compiled loop."""
    by_law = target._replace(form=None, factor=None, compiles=False)
    by_form = by_law.formed(True)._replace(factor=None, compiles=False)
    assert by_form.form is not None
    return by_law, by_form, by_form._replace(compiles=True)


@pytest.mark.parametrize("law", [*FORMS, "two"])
def test_the_compiled_loop_is_the_array_operations(law):
    """Integrals to 1e-6 (the loop ends its walks 20 nats below the top), means and slopes likewise, the same draws."""
    block, coefficients = slopes_block() if law == "two" else intercepts(law)[:2]
    nested = block.condition(coefficients)._nested
    given = nested.given(nested.c[None] + 0.2)
    plain, by_form, compiled = three_ways(given.targets[0])
    rng = np.random.default_rng(0)
    u = given.centres[0] + 3.0 * np.random.default_rng(1).standard_normal((20, *given.centres[0].shape))
    for a, b in zip(plain.parts_at(u, 1), by_form.parts_at(u, 1), strict=True):
        np.testing.assert_allclose(
            a if np.ndim(a) == 2 else a[0], b if np.ndim(b) == 2 else b[0], rtol=1e-12, atol=1e-10
        )
    G, w = given.centres[0].shape
    a, b = (settled(each, given.centres[0], nested.grids[0]) for each in (plain, compiled))
    np.testing.assert_allclose(a[1].log_integral, b[1].log_integral, atol=1e-6)
    np.testing.assert_allclose(a[1].mean, b[1].mean, atol=1e-5)
    np.testing.assert_allclose(a[1].slopes[0], b[1].slopes[0], atol=1e-5)
    shift, uniforms = rng.uniform(-0.5, 0.5, (G, w)), rng.random((50, G))
    a, b = (integrate(each, given.centres[0], nested.grids[0], shift, uniforms) for each in (plain, compiled))
    np.testing.assert_allclose(a.log_integral, b.log_integral, atol=1e-6)
    # a node each for the same uniforms, though not in the same order: the same distribution, one spacing of it apart
    spacing = np.linalg.norm(nested.grids[0].half, axis=(1, 2))
    assert np.all(np.abs(a.draws.mean(axis=0) - b.draws.mean(axis=0)) < spacing[:, None])


@pytest.mark.parametrize("law", ["poisson", "gamma", "exponential"])
def test_pooled_rows_are_the_rows_one_by_one(law):
    """Values, means, slopes and draws, groups without rows among them; and the same from a tile of two."""
    block, coefficients = intercepts(law)[:2]
    nested = block.condition(coefficients)._nested
    given, rng = nested.given(nested.c[None] + [[0.2], [-0.4]]), np.random.default_rng(0)
    target = given.targets[0]
    assert target.factor is not None
    G, w = given.centres[0].shape
    grids = nested.grids[0].tile(2)
    shift, uniforms = rng.uniform(-0.5, 0.5, (G, w)), rng.random((50, G))
    for make in (
        lambda each: integrate(each, given.centres[0], grids, shift, uniforms),
        lambda each: settled(each, given.centres[0], grids)[1],
        lambda each: settled(each.take(np.array([0, 3]))[0], given.centres[0][[0, 3]], grids.take(np.array([0, 3])))[1],
        lambda each: settled(each.take(np.array([3]))[0], given.centres[0][[3]], grids.take(np.array([3])))[1],
    ):
        pooled, single = make(target), make(target._replace(factor=None, form=None))
        np.testing.assert_allclose(pooled.log_integral, single.log_integral, rtol=1e-11)
        np.testing.assert_allclose(pooled.mean, single.mean, atol=1e-11)
        np.testing.assert_array_equal(pooled.draws, single.draws)
        for a, b in zip(pooled.slopes, single.slopes, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10)


def test_rows_of_unlike_factors_are_not_pooled():
    """A slope for each group, whose x differs from row to row."""
    x, g = np.linspace(-1.0, 1.0, 12), np.arange(12) % 3
    A = np.column_stack([np.ones(12), np.eye(3)[g] * x[:, None]])
    block = LaplaceBlock([LinearFactor([np.eye(4)])], [Site(sites.PoissonLog(), np.arange(12) % 4, [A])], 4)
    target = block.condition([((1.0,), (), 1.0), ((1.0,), (), ())])._nested._targets[0]
    assert target.form is not None
    assert target.factor is None


def test_numbers_that_the_compiled_loop_cannot_hold_are_left_to_the_other():
    """η of 800 at nodes: eˣ is infinite, log(1 + eˣ) is not."""
    y = np.repeat([0.0, 1.0], 3)
    maps = [np.eye(2)[np.arange(6) % 2]]
    block = LaplaceBlock([LinearFactor([np.eye(2)])], [Site(sites.BernoulliLogit(), y, maps, [np.full(6, 800.0)])], 2)
    nested = block.condition([((1.0,), (), 1.0), ((1.0,), (1.0,), ())])._nested
    given = nested.given(nested.c[None])
    still = np.zeros((2, 1))
    a, b = (
        integrate(each, given.centres[0], nested.grids[0], still, np.zeros((0, 2)))
        for each in (three_ways(given.targets[0])[k] for k in (0, 2))
    )
    np.testing.assert_allclose(a.log_integral, b.log_integral, rtol=1e-12)


def test_dense_and_sparse_precisions_draw_the_same(monkeypatch):
    corrections = []
    for largest in (128, 0):
        monkeypatch.setattr(dense, "LARGEST", largest)
        monkeypatch.setattr("credo.inference.gaussian_block.ordering.SMALL_REST", 4)
        monkeypatch.setattr("credo.inference.gaussian_block.ordering.LOOP_SPEED", 1e30)
        block, coefficients = slopes_block()
        belief = block.condition(coefficients)
        corrections.append(belief.correction())
        z, log_w = belief.draw_weighted(4, np.random.default_rng(3), repeats=3)
        assert z.shape == (4, 3, 16)
        assert np.all(z[:, 0, :2] == z[:, 2, :2])  # c is shared, groups are not
        assert np.mean(z[:, 0, 2:] != z[:, 1, 2:]) > 0.5
        assert np.ptp(log_w) < 0.5
        again = block.condition(coefficients).draw_weighted(4, np.random.default_rng(3), repeats=3)
        np.testing.assert_allclose(again[0], z, atol=1e-9)
        np.testing.assert_allclose(again[1], log_w, atol=1e-9)
    assert corrections[0] == pytest.approx(corrections[1], abs=1e-6)  # array operations and the compiled loop


def test_a_block_can_be_pickled(monkeypatch):
    """With the compiled loops in use: workers get blocks so."""
    monkeypatch.setattr("credo.inference.laplace_block.rows.FEW", 0)
    monkeypatch.setattr(dense, "LARGEST", 0)
    block, coefficients = slopes_block()
    block.condition(coefficients).correction()
    copy = pickle.loads(pickle.dumps(block))
    assert copy.log_marginal(coefficients)[0] == block.log_marginal(coefficients)[0]


def test_what_is_a_group():
    rng, n = np.random.default_rng(0), 200
    one = lambda at, p: scipy.sparse.csr_array((np.ones(n), (np.arange(n), at)), shape=(n, p))

    def partition(maps, factors, p):
        return LaplaceBlock(factors, [Site(sites.PoissonLog(), np.ones(n), maps)], p).partition

    # crossed: the side with fewer joins is integrated, the other is c
    p = 61
    A, B = rng.integers(20, size=n), rng.integers(40, size=n)
    parts = partition([one(A, p), one(20 + B, p), one(np.full(n, 60), p)], [LinearFactor([np.eye(p)])], p)
    columns = parts.kinds[0].columns.ravel()
    assert len(columns) == 40
    assert set(parts.rest) == {*range(20), 60}
    # nested: classes, given their schools
    p, school = 56, np.arange(50) % 5
    of = rng.integers(50, size=n)
    parts = partition(
        [one(np.zeros(n, int), p), one(1 + school[of], p), one(6 + of, p)], [LinearFactor([np.eye(p)])], p
    )
    assert parts.kinds[0].columns.ravel().tolist() == list(range(6, 56))
    # a walk: every other state
    walk = LinearFactor([np.eye(n), np.eye(n, k=-1)])
    parts = partition([np.eye(n)], [walk], n)
    assert parts.count == n // 2
    assert np.all(np.diff(np.sort(parts.kinds[0].columns.ravel())) > 1)
    # four effects to a group are too many, a plain regression has none
    p = 44
    maps = [one(4 * (np.arange(n) % 11) + k, p) for k in range(4)]
    assert partition(maps, [LinearFactor([np.eye(p)])], p) is None
    assert partition([rng.normal(size=(n, 8))], [LinearFactor([np.eye(8)])], 8) is None


@pytest.mark.parametrize("compiled", [False, True])
def test_groups_of_two_widths_seen_by_two_sites_with_rows_of_no_group(compiled, monkeypatch):
    """Against importance sampling of all latents at once; false-alarm rate 1e-4."""
    monkeypatch.setattr("credo.inference.laplace_block.nested.COMPILES", 0 if compiled else 10**9)
    rng, n, p = np.random.default_rng(7), 36, 9  # two fixed effects, groups (2,), (3,), (4,), (5, 6), (7, 8)
    x, g = rng.normal(size=n), np.arange(n) % 6
    A = np.zeros((n, p))
    A[:, 0], A[:, 1] = 1.0, x
    for k in range(5):  # rows of g = 5 touch no group
        first = 2 + k if k < 3 else 2 * k - 1
        A[g == k, first] = 1.0
        if k >= 3:
            A[g == k, first + 1] = x[g == k]
    counts = Site(sites.PoissonLog(), rng.poisson(1.5, n), [A], name="counts")
    hits = Site(sites.BernoulliLogit(), rng.integers(2, size=n), [A if not compiled else A * (A[:, :1] > 9)], [x])
    block = LaplaceBlock([LinearFactor([np.eye(p)])], [counts, hits], p)
    assert [each.columns.tolist() for each in block.partition.kinds] == [[[2], [3], [4]], [[5, 6], [7, 8]]]
    assert [len(each) for each in block.partition.free] == [6, n if compiled else 6]
    belief = block.condition([((1.0,), (), 0.9), ((1.0,), (), ()), ((1.0,), (0.2,), ())])
    assert all(each.compiles == compiled for each in belief._nested._targets)
    _, log_w = belief.draw_weighted(60, rng)
    _, other = belief._whole(3000, rng)
    a, b = np.exp(log_w), np.exp(other)
    assert log_w.std() < 0.5 * other.std()
    assert abs(a.mean() - b.mean()) < 3.9 * np.hypot(a.std() / np.sqrt(60), b.std() / np.sqrt(3000))


def test_groups_of_three_are_unbiased():
    """Two groups of three and a level, against importance sampling of all seven; false-alarm rate 1e-4."""
    rng, n = np.random.default_rng(0), 40
    g, X = np.arange(n) % 2, np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    effects = np.zeros((n, 7))
    for k in range(3):
        effects[np.arange(n), 1 + 3 * g + k] = X[:, k]
    effects[:, 0] = 1.0
    y = rng.integers(2, size=n)
    block = LaplaceBlock([LinearFactor([np.eye(7)])], [Site(sites.BernoulliLogit(), y, [effects])], 7)
    assert [each.columns.tolist() for each in block.partition.kinds] == [[[1, 2, 3], [4, 5, 6]]]
    belief = block.condition([((1.0,), (), 1.2), ((1.0,), (), ())])
    _, log_w = belief.draw_weighted(40, rng)
    _, other = belief._whole(4000, rng)
    a, b = np.exp(log_w), np.exp(other)
    assert log_w.std() < 0.5 * other.std()
    assert abs(a.mean() - b.mean()) < 3.9 * np.hypot(a.std() / np.sqrt(40), b.std() / np.sqrt(4000))


def test_a_block_of_one_or_two_latents_is_exact():
    y = np.array([3.0, 0.0, 1.0])
    X = np.array([[1.0, 0.5], [1.0, -1.0], [1.0, 2.0]])
    block = LaplaceBlock([LinearFactor([np.eye(2)])], [Site(sites.PoissonLog(), y, [X])], 2)
    belief = block.condition([((1.0,), (), 1.3), ((1.0,), (), ())])
    a, b = (each.ravel() for each in np.meshgrid(np.linspace(-10, 10, 401), np.linspace(-10, 10, 401)))
    log_p = scipy.stats.poisson.logpmf(y, np.exp(np.column_stack([a, b]) @ X.T)).sum(axis=1)
    log_p += scipy.stats.norm.logpdf(a, scale=1.3) + scipy.stats.norm.logpdf(b, scale=1.3)
    exact = scipy.special.logsumexp(log_p) + 2 * np.log(0.05)
    assert belief.log_marginal + belief.correction() == pytest.approx(exact, abs=1e-4)
    _, log_w = belief.draw_weighted(5, np.random.default_rng(0))
    np.testing.assert_allclose(log_w, belief.correction(), atol=2e-4)


@pytest.mark.parametrize("law", ["poisson", "logit", "t", "gamma"])
def test_grids_find_a_density_that_is_not_where_it_was_looked_for(law):
    """A centre 20 sds off, scales wrong by 30 either way: grids move, widen and refine until they see it."""
    block, coefficients, _ = intercepts(law, sd=3.0)
    nested = block.condition(coefficients)._nested
    given = nested.given(nested.c[None])
    right = nested.tables(given, np.random.default_rng(0), 1)[0]
    target, centre, half = given.targets[0], given.centres[0], nested.grids[0].half
    rng, G = np.random.default_rng(1), len(half)
    for shift, scale in ((20.0, 1.0), (0.0, 1 / 30), (0.0, 30.0), (-5.0, 4.0)):
        grids, still = settled(target, centre, Grids(shift * half[:, :, 0], scale * half, np.full(G, 8.0)))
        np.testing.assert_allclose(still.log_integral, right.log_integral, atol=2e-4)
        table = integrate(target, centre, grids, rng.uniform(-0.5, 0.5, (G, 1)), rng.random((1, G)))
        np.testing.assert_allclose(table.log_integral, right.log_integral, atol=2e-4)
        # without being set anew they are moved only when what is missed is large
        lost = integrate(
            target, centre, nested.grids[0]._replace(move=10 * half[:, :, 0]), 0 * centre, rng.random((1, G))
        )
        np.testing.assert_allclose(lost.log_integral, right.log_integral, atol=0.02)


def test_extreme_groups_have_finite_weights():
    """All-zero counts in every group and wide priors; separated groups."""
    for law, y in ((sites.PoissonLog(), np.zeros(12)), (sites.BernoulliLogit(), np.repeat([0.0, 1.0], 6))):
        g = np.arange(12) // 3
        maps = [np.ones((12, 1)) * np.eye(5)[0], np.eye(5)[1 + g]]
        factors = [LinearFactor([np.eye(5)[:1]]), LinearFactor([np.eye(5)[1:]])]
        block = LaplaceBlock(factors, [Site(law, y, maps)], 5)
        for sd in (0.05, 3.0, 30.0):
            z, log_w = block.condition([((1.0,), (), 10.0), ((1.0,), (), sd), ((1.0, 1.0), (), ())]).draw_weighted(
                20, np.random.default_rng(0)
            )
            assert np.isfinite(z).all()
            assert np.isfinite(log_w).all()


@pytest.mark.parametrize("width", [1, 2])
def test_a_group_without_an_integral_is_refused_in_bounded_time(width):
    """Separated data under a flat prior."""
    x = np.linspace(-1.0, 1.0, 8)
    X = np.column_stack([x, np.ones(8)])[:, :width]
    block = LaplaceBlock([], [Site(sites.BernoulliLogit(), (x > 0) * 1.0, [X])], width)
    with pytest.raises((NumericalError, NotIdentifiedError)):
        block.condition([((1.0,), (), ())]).draw_weighted(3, np.random.default_rng(0))
