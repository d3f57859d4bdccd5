"""`GaussianBlock` against brute force: all rows in one QR, and finite differences of that."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

from credo.errors import NotIdentifiedError, NumericalError, ParameterError
from credo.inference.gaussian_block import GaussianBlock, LinearFactor, dense


def brute(factors, size, coefficients):
    """log ∫, mean and covariance of z by forming all rows: QR of [A, c] in one stack, nothing shared with the block."""
    A, c, log_scale, n = [], [], 0.0, 0
    for factor, (a, b, s) in zip(factors, coefficients, strict=True):
        s = np.broadcast_to(s, (factor.n,))
        M = sum((np.broadcast_to(ak, (factor.n,))[:, None] * Mk.toarray() for ak, Mk in zip(a, factor.maps)),
                np.zeros((factor.n, size)))  # fmt: skip
        e = sum((np.broadcast_to(bl, (factor.n,)) * cl for bl, cl in zip(b, factor.constants)), np.zeros(factor.n))
        A.append(M / s[:, None])
        c.append(e / s)
        log_scale += np.log(s).sum() + factor.log_sds
        n += factor.n
    A, c = np.concatenate(A), np.concatenate(c)
    q, r = np.linalg.qr(A)
    mean = -np.linalg.solve(r, q.T @ c)
    residual = A @ mean + c
    value = -0.5 * residual @ residual - np.log(np.abs(np.diag(r))).sum() + 0.5 * (size - n) * np.log(2 * np.pi)
    inverse = np.linalg.inv(r)
    return value - log_scale, mean, inverse @ inverse.T


def slopes(rng, n=80, groups=7, sparse=True):
    """A random-slopes model in its non-centred form: τ₁, τ₂, ρ set coefficients of constant matrices."""
    g = np.concatenate([np.arange(groups), rng.integers(groups, size=n - groups)])
    x, y = rng.normal(size=n), rng.normal(size=n) + 3.0
    p = 2 + 2 * groups
    fixed = np.zeros((n, p))
    fixed[:, 0], fixed[:, 1] = 1.0, x
    maps = [fixed]
    for column, at in ((np.ones(n), 0), (x, 0), (x, 1)):
        M = np.zeros((n, p))
        M[np.arange(n), 2 + 2 * g + at] = column
        maps.append(M)
    eta = np.eye(p)[2:]
    beta = np.eye(p)[:2]
    factors = [
        LinearFactor(maps, [y], rng.uniform(0.5, 2.0, n), name="y"),
        LinearFactor([eta], name="eta"),
        LinearFactor([beta], [np.array([1.0, -1.0])], name="beta"),
    ]
    t1, t2, r, s = 0.8, 1.3, 0.4, 0.7
    coefficients = [((1.0, t1, t2 * r, t2 * np.sqrt(1 - r * r)), (-1.0,), s), ((1.0,), (), 1.0), ((1.0,), (-0.3,), 2.0)]
    return factors, p, coefficients


def crossed(rng, n=300, a=30, b=40):
    A, B = rng.integers(a, size=n), rng.integers(b, size=n)
    p = a + b + 1
    rows = np.arange(n)
    maps = [
        scipy.sparse.csr_array((np.ones(n), (rows, A)), shape=(n, p)),
        scipy.sparse.csr_array((np.ones(n), (rows, a + B)), shape=(n, p)),
        scipy.sparse.csr_array((np.ones(n), (rows, np.full(n, p - 1))), shape=(n, p)),
    ]
    factors = [
        LinearFactor(maps, [rng.normal(size=n)], name="y"),
        LinearFactor([scipy.sparse.eye_array(p, format="csr")[: a + b]], name="effects"),
        LinearFactor([scipy.sparse.eye_array(p, format="csr")[a + b :]], name="level"),
    ]
    return factors, p, [((0.7, 1.2, 1.0), (-1.0,), 0.9), ((1.0,), (), 1.0), ((1.0,), (), 10.0)]


def nested(rng, n=400, schools=8, classes=60):
    school = rng.integers(schools, size=classes)
    of = rng.integers(classes, size=n)
    p, rows = schools + classes + 1, np.arange(n)
    one = lambda at: scipy.sparse.csr_array((np.ones(n), (rows, at)), shape=(n, p))
    factors = [
        LinearFactor([one(np.zeros(n, int)), one(1 + school[of]), one(1 + schools + of)], [rng.normal(size=n)]),
        LinearFactor([scipy.sparse.eye_array(p, format="csr")[1:]]),
        LinearFactor([scipy.sparse.eye_array(p, format="csr")[:1]]),
    ]
    return factors, p, [((1.0, 0.5, 1.5), (-1.0,), 0.8), ((1.0,), (), 1.0), ((1.0,), (), 5.0)]


def chain(rng, p=150):
    """A random walk seen with noise: innovations z_t − φ z_{t−1}, a tridiagonal precision."""
    eye, shift = np.eye(p), np.eye(p, k=-1)
    return (
        [LinearFactor([eye], [rng.normal(size=p)], name="y"), LinearFactor([eye, shift], name="walk")],
        p,
        [((1.0,), (-1.0,), 0.6), ((1.0, -0.9), (), 0.4)],
    )


MODELS = {
    "slopes": slopes,
    "crossed": crossed,
    "nested": nested,
    "chain": chain,
}


@pytest.fixture(params=[128, 0], ids=["dense", "sparse"])
def path(request, monkeypatch):
    """Both ways of factoring, whatever the size; the compiled loops over rowwise factors with the sparse one."""
    monkeypatch.setattr("credo.inference.gaussian_block.rowwise.FEW", 0)
    monkeypatch.setattr(dense, "LARGEST", request.param)
    monkeypatch.setattr("credo.inference.gaussian_block.ordering.SMALL_REST", 8)
    monkeypatch.setattr("credo.inference.gaussian_block.ordering.LOOP_SPEED", 1e30)
    return request.param


@pytest.mark.parametrize("model", MODELS)
def test_marginal_and_belief_are_those_of_all_rows(model, path):
    factors, p, coefficients = MODELS[model](np.random.default_rng(1))
    block = GaussianBlock(factors, p)
    value, mean, covariance = brute(factors, p, coefficients)
    assert block.log_marginal(coefficients)[0] == pytest.approx(value, abs=1e-9)
    belief = block.condition(coefficients)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-10)
    np.testing.assert_allclose(belief.sd, np.sqrt(np.diag(covariance)), rtol=1e-10)
    np.testing.assert_allclose(
        belief.covariance([0, 5, p - 1]), covariance[np.ix_([0, 5, p - 1], [0, 5, p - 1])], atol=1e-11
    )
    assert belief.log_det == pytest.approx(-np.linalg.slogdet(covariance)[1], abs=1e-8)
    A = np.random.default_rng(2).normal(size=(6, p)) * (np.random.default_rng(3).random((6, p)) < 0.2)
    at, sd = belief.project(scipy.sparse.csr_array(A), 2.0)
    np.testing.assert_allclose(at, A @ mean + 2.0, atol=1e-9)
    np.testing.assert_allclose(sd, np.sqrt(np.diag(A @ covariance @ A.T)), rtol=1e-9)
    assert path or "groups" in block.structure


@pytest.mark.parametrize("model", MODELS)
def test_gradient_is_that_of_finite_differences(model, path):
    factors, p, coefficients = MODELS[model](np.random.default_rng(4))
    block = GaussianBlock(factors, p)
    x = block.pack(coefficients)
    gradient = block.log_marginal(x)[1]
    for k in range(len(x)):
        step = np.zeros(len(x))
        step[k] = 1e-5
        ends = [brute(factors, p, _tuples(block, x + sign * step))[0] for sign in (1.0, -1.0)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-5)
    parts = block.log_marginal(coefficients)[1]
    np.testing.assert_array_equal(block.pack(parts), gradient)


def _tuples(block, x):
    return [([float(x[k][0]) for k in s.a], [float(x[k][0]) for k in s.b], float(x[s.s][0])) for s in block.slots]


@pytest.mark.parametrize("density", [0.05, 0.4])
def test_rowwise_coefficients(path, density):
    rng = np.random.default_rng(5)
    n, p = 60, 12
    maps = [scipy.sparse.random_array((n, p), density=density, rng=rng, format="csr") for _ in range(2)]
    constants = [rng.normal(size=n), rng.normal(size=n)]
    w = rng.uniform(0.5, 2.0, n)
    plain = LinearFactor(maps, constants, w)
    general = LinearFactor(maps, constants, w, rowwise=True)
    prior = LinearFactor([np.eye(p)], [np.ones(p)])
    one, two = GaussianBlock([plain, prior], p), GaussianBlock([general, prior], p)
    scalars = [((0.7, -1.1), (-1.0, 0.4), 0.8), ((1.0,), (-0.5,), 1.5)]
    (value, slopes), (again, same) = one.log_marginal(scalars), two.log_marginal(scalars)
    assert again == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(one.pack(same), one.pack(slopes), rtol=1e-9)
    vectors = [((rng.normal(size=n), 1.3), (-1.0, rng.normal(size=n)), rng.uniform(0.5, 2, n)), ((1.0,), (-0.5,), 1.5)]
    assert two.log_marginal(vectors)[0] == pytest.approx(brute([general, prior], p, vectors)[0], abs=1e-10)
    x = two.pack(vectors)
    gradient = two.log_marginal(x)[1]
    for k in range(0, len(x), 7):
        step = np.zeros(len(x))
        step[k] = 1e-5
        ends = [two.log_marginal(x + sign * step, gradient=False)[0] for sign in (1.0, -1.0)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-6)
    assert two.is_batched == (density == 0.4 and isinstance(two.precision, dense.DensePrecision))


def test_many_evaluations_of_rowwise_factors():
    """Side by side they are what brute force gives one by one, far from 0 too."""
    rng = np.random.default_rng(15)
    n, p, B = 40, 5, 6
    M = [rng.normal(size=(n, p)), np.where(np.arange(p) == 2, 1.0, 0.0) * np.ones((n, 1))]
    factors = [LinearFactor(M, [rng.normal(size=n) + 1e5], rowwise=True), LinearFactor([np.eye(p)], [np.ones(p)])]
    block = GaussianBlock(factors, p)
    assert block.is_batched
    every = [
        [((rng.normal(size=n), 0.3), (-1.0,), rng.uniform(0.5, 2.0, n)), ((1.0,), (-rng.random(),), 1e3)]
        for _ in range(B)
    ]
    x = np.array([block.pack(each) for each in every])
    truth = [brute(factors, p, each) for each in every]
    np.testing.assert_allclose(block.log_marginals(x, gradient=False)[0], [each[0] for each in truth], rtol=1e-10)
    means, sds = block.moments(x)
    np.testing.assert_allclose(means, [each[1] for each in truth], rtol=1e-8)
    np.testing.assert_allclose(sds, [np.sqrt(np.diag(each[2])) for each in truth], rtol=1e-7)
    gradients = block.log_marginals(x)[1]
    np.testing.assert_array_equal(gradients, [block.log_marginal(each)[1] for each in x])
    z = (block.sample_each(np.repeat(x[:1], 4000, axis=0), rng) - truth[0][1]) / np.sqrt(np.diag(truth[0][2]))
    assert np.abs(z.mean(axis=0)).max() < 5.0 / np.sqrt(4000)  # of 5 means; a false alarm in 3e-6


@pytest.mark.parametrize("offset", [1e5, 1e8])
def test_large_offsets_lose_no_more_digits_than_the_data_have(offset, path):
    rng = np.random.default_rng(6)
    factors, p, coefficients = slopes(rng)
    noise = factors[0].constants[0] * 0.0 + rng.normal(size=factors[0].n)
    shift = offset * (factors[0].maps[0][:, [0]].toarray().ravel())
    flat = [LinearFactor(factors[0].maps, [noise + shift]), factors[1]]
    plain = [LinearFactor(factors[0].maps, [noise + shift - shift]), factors[1]]  # rounded alike
    block, other = GaussianBlock(flat, p), GaussianBlock(plain, p)
    value, other_value = block.log_marginal(coefficients[:2])[0], other.log_marginal(coefficients[:2])[0]
    assert value == pytest.approx(other_value, abs=100 * offset * 2.2e-16 * len(noise) + 1e-9)
    difference = block.condition(coefficients[:2]).mean - other.condition(coefficients[:2]).mean
    np.testing.assert_allclose(difference[1:], 0.0, atol=offset * 1e-13 + 1e-9)
    assert difference[0] == pytest.approx(offset, abs=offset * 1e-13)


def test_draws_have_the_mean_and_covariance():
    """200,000 draws: each of 16 + 136 moments within 5.5 standard errors; false-alarm rate below 1e-5."""
    factors, p, coefficients = slopes(np.random.default_rng(7))
    belief = GaussianBlock(factors, p).condition(coefficients)
    n, covariance = 200_000, belief.covariance()
    z = belief.sample(n, np.random.default_rng(8))
    np.testing.assert_array_less(np.abs(z.mean(axis=0) - belief.mean), 5.5 * belief.sd / np.sqrt(n))
    error = np.sqrt((covariance**2 + np.outer(belief.sd, belief.sd) ** 2) / n)
    np.testing.assert_array_less(np.abs(np.cov(z.T) - covariance), 5.5 * error)
    assert np.array_equal(
        z[:5], GaussianBlock(factors, p).condition(coefficients).sample(n, np.random.default_rng(8))[:5]
    )


def test_what_is_not_identified_is_named_by_columns(path):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(50, 10))
    X[:, 7] = X[:, 2] + X[:, 4]
    block = GaussianBlock([LinearFactor([X], [rng.normal(size=50)])], 10, name="weights")
    with pytest.raises(NotIdentifiedError, match=r"weights: a combination of the latent columns 2, 4, 7 is") as caught:
        block.log_marginal([((1.0,), (-1.0,), 1.0)])
    assert caught.value.value.tolist() == [2, 4, 7]
    X[:, 3] = 0.0
    with pytest.raises(NotIdentifiedError, match="latent column 3 is"):
        GaussianBlock([LinearFactor([X], [rng.normal(size=50)])], 10).condition([((1.0,), (-1.0,), 1.0)])


def test_a_null_direction_among_many_columns():
    """2,000 groups whose effects have no prior beside a level that has none either: level and effects, not slopes."""
    rng = np.random.default_rng(14)
    groups, n = 2000, 8000
    g, rows = np.concatenate([np.arange(groups), rng.integers(groups, size=n - groups)]), np.arange(n)
    p = groups + 2
    maps = scipy.sparse.csr_array(
        (
            np.r_[np.ones(2 * n), rng.normal(size=n)],
            (np.r_[rows, rows, rows], np.r_[g, 0 * g + groups, 0 * g + groups + 1]),
        ),
        shape=(n, p),
    )
    block = GaussianBlock([LinearFactor([maps], [rng.normal(size=n)])], p)
    with pytest.raises(NotIdentifiedError) as caught:
        block.log_marginal([((1.0,), (-1.0,), 1.0)])
    assert caught.value.value.tolist() == list(range(groups + 1))


@pytest.mark.parametrize("seed", range(12))
def test_random_factors(seed, path):
    """Any maps, counts and coefficients: value, moments, and the gradient along a random direction."""
    rng = np.random.default_rng(100 + seed)
    p = int(rng.integers(1, 30))
    factors, coefficients = [LinearFactor([np.eye(p)], [rng.normal(size=p)])], [((1.0,), (0.5,), 3.0)]
    for _ in range(rng.integers(1, 4)):
        n, maps, constants = (int(k) for k in rng.integers([1, 0, 1], [40, 4, 4]))
        one = [scipy.sparse.random_array((n, p), density=0.2, rng=rng, format="csr") for _ in range(maps)]
        factors.append(
            LinearFactor(one, rng.normal(size=(constants, n)), rng.uniform(0.1, 9.0, n), rowwise=maps % 2 == 0)
        )
        coefficients.append((tuple(rng.normal(size=maps)), tuple(rng.normal(size=constants)), rng.uniform(0.1, 3.0)))
    block = GaussianBlock(factors, p)
    value, mean, covariance = brute(factors, p, coefficients)
    found, gradient = block.log_marginal(coefficients)
    assert found == pytest.approx(value, rel=1e-12, abs=1e-9)
    belief = block.condition(coefficients)
    np.testing.assert_allclose(belief.mean, mean, atol=1e-9)
    np.testing.assert_allclose(belief.covariance(), covariance, atol=1e-10)
    np.testing.assert_allclose(belief.sd, np.sqrt(np.diag(covariance)), rtol=1e-9)
    flat = np.concatenate([[*a, *b, s] for a, b, s in coefficients])
    slope = np.concatenate([[*a, *b, s] for a, b, s in gradient])
    along = rng.normal(size=len(flat))

    def moved(step):
        x, out = flat + step * along, []
        for a, b, _ in coefficients:
            out.append((x[: len(a)], x[len(a) : len(a) + len(b)], x[len(a) + len(b)]))
            x = x[len(a) + len(b) + 1 :]
        return brute(factors, p, out)[0]

    difference = (8 * (moved(1e-4) - moved(-1e-4)) - (moved(2e-4) - moved(-2e-4))) / 12e-4
    assert slope @ along == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_bad_input_is_named():
    y = LinearFactor([np.eye(2)], [np.ones(2)], name="y")
    block = GaussianBlock([y], 2)
    with pytest.raises(NumericalError, match=r"coefficient s of factor 'y' is 0\.0; it must be finite and > 0"):
        block.log_marginal([((1.0,), (-1.0,), 0.0)])
    with pytest.raises(NumericalError, match=r"coefficient a\[0\] of factor 'y' is nan"):
        block.log_marginal(np.array([np.nan, 1.0, 1.0]))
    with pytest.raises(ParameterError, match="coefficients of factor 'y'"):
        block.log_marginal([((1.0, 2.0), (-1.0,), 1.0)])
    with pytest.raises(ParameterError, match=r"maps\[0\] must be finite"):
        LinearFactor([np.array([[np.inf]])])
    with pytest.raises(ParameterError, match=r"relative_sds must be finite and > 0, got 0\.0"):
        LinearFactor([np.eye(2)], relative_sds=np.array([1.0, 0.0]))
    with pytest.raises(ParameterError, match="with 3 columns"):
        GaussianBlock([y], 3)


def test_ill_conditioned_rows_go_through_qr():
    """Powers of x up to 7 on [3, 3.6] against rational arithmetic: errors of κ ε, where H would keep no digit."""
    n, p, s = 40, 8, 0.5
    x = 3.0 + np.arange(n) / 64.0
    X = x[:, None] ** np.arange(p)
    y = np.random.default_rng(10).integers(-64, 64, n) / 32.0
    exact = _exact(X, y, s)
    condition = np.linalg.cond(X / np.linalg.norm(X, axis=0))
    rounding = p * condition * 2.2e-16
    assert condition > 1e10
    block = GaussianBlock([LinearFactor([X], [y])], p)
    coefficients = [((1.0,), (-1.0,), s)]
    value, gradient = block.log_marginal(coefficients)
    assert value == pytest.approx(exact["value"], abs=rounding)
    belief = block.condition(coefficients)
    np.testing.assert_allclose(belief.mean, exact["mean"], rtol=10 * rounding)
    np.testing.assert_allclose(belief.sd, exact["sd"], rtol=rounding)
    assert gradient[0][0][0] == pytest.approx(-p, abs=rounding)  # a scales z: ∂ log ∫/∂a = −p/a


def _exact(X, y, s):
    from fractions import Fraction as Q

    rows = [[Q(float(v)) for v in row] for row in X]
    p, c = X.shape[1], [Q(float(v)) for v in y]
    H = [[sum(r[i] * r[j] for r in rows) for j in range(p)] for i in range(p)]
    work = [[*H[i], sum(r[i] * v for r, v in zip(rows, c)), *(Q(int(i == j)) for j in range(p))] for i in range(p)]
    determinant = Q(1)
    for k in range(p):
        determinant *= work[k][k]
        work[k] = [v / work[k][k] for v in work[k]]
        for i in range(p):
            if i != k:
                work[i] = [a - work[i][k] * b for a, b in zip(work[i], work[k])]
    mean = [row[p] for row in work]
    squares = sum((sum(a * b for a, b in zip(r, mean)) - v) ** 2 for r, v in zip(rows, c))
    n, log_det = len(y), np.log(float(determinant)) - 2 * p * np.log(s)
    value = -0.5 * float(squares) / s**2 - 0.5 * log_det + 0.5 * (p - n) * np.log(2 * np.pi) - n * np.log(s)
    sd = [s * float(work[k][p + 1 + k]) ** 0.5 for k in range(p)]
    return {"value": value, "mean": np.array([float(v) for v in mean]), "sd": np.array(sd)}


@pytest.mark.parametrize("model", MODELS)
def test_batches_are_evaluations_side_by_side(model, path):
    rng = np.random.default_rng(11)
    factors, p, coefficients = MODELS[model](rng)
    block = GaussianBlock(factors, p)
    x = block.pack(coefficients) * rng.uniform(0.5, 2.0, (5, block.n_coefficients))
    values, gradients = block.log_marginals(x)
    means, sds = block.moments(x)
    for k, row in enumerate(x):
        value, gradient = block.log_marginal(row)
        belief = block.condition(row)
        assert values[k] == pytest.approx(value, abs=1e-9)
        np.testing.assert_allclose(gradients[k], gradient, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(means[k], belief.mean, atol=1e-10)
        np.testing.assert_allclose(sds[k], belief.sd, rtol=1e-10)
    assert block.log_marginals(x, gradient=False)[1] is None
    assert block.log_marginals(x[:0])[1].shape == (0, block.n_coefficients)


def test_one_draw_each_has_the_mixture_s_moments(path):
    """20,000 draws at 2 alternating nodes: every mean within 5.5 standard errors; false-alarm rate below 1e-6."""
    factors, p, coefficients = slopes(np.random.default_rng(12))
    block = GaussianBlock(factors, p)
    x = block.pack(coefficients) * np.array([1.0, 1.6])[:, None]
    n = 20_000 if path else 2_000
    z = block.sample_each(np.tile(x, (n, 1)), np.random.default_rng(13)).reshape(n, 2, p)
    means, sds = block.moments(x)
    np.testing.assert_array_less(np.abs(z.mean(axis=0) - means), 5.5 * sds / np.sqrt(n))
    np.testing.assert_array_less(np.abs(z.var(axis=0) / sds**2 - 1.0), 5.5 * np.sqrt(2.0 / n))
