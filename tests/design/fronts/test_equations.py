"""Expected hypervolume improvement: by quadrature, by draws, by another formula; its slopes by differences."""

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from credo.design.acquisition.equations import log_expected_improvement
from credo.design.fronts import hypervolume, non_dominated
from credo.design.fronts.equations import corners, hypervolume_improvement, log_expected_hypervolume_improvement

R = np.array([1.5, 1.2])


def front_of(k, seed=0):
    values = np.random.default_rng(seed).standard_normal((k, 2))
    return values[non_dominated(values, duplicates=False)]


def value(mean, sd, right, top):
    mean, sd = np.atleast_2d(mean), np.atleast_2d(sd)
    return log_expected_hypervolume_improvement(tuple(mean.T), tuple(sd.T), right, top).value


@pytest.mark.parametrize("k", [0, 1, 3, 30])
def test_improvement_is_a_difference_of_hypervolumes(k):
    front = front_of(k)
    right, top = corners(front, R)
    points = np.random.default_rng(1).standard_normal((40, 2)) * 1.5
    found = hypervolume_improvement(points[:, 0], points[:, 1], right, top)
    before = hypervolume(front, R)
    expected = [hypervolume(np.vstack([front, p]), R) - before for p in points]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 4, 25])
def test_expected_improvement_by_quadrature(k):
    """∫∫ HVI(y₁, y₂) p(y₁) p(y₂), both by Gauss–Legendre between the front's edges, where HVI is a polynomial."""
    right, top = corners(front_of(k, seed=k), R)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    rng = np.random.default_rng(2)
    for _ in range(4):
        mean, sd = rng.standard_normal(2), np.exp(0.7 * rng.standard_normal(2))
        axes = []
        for m, s, edges in zip(mean, sd, (right, top)):
            inner = np.sort(np.unique(np.concatenate([edges, m + s * np.arange(-10.0, 11.0)])))
            inner = inner[(inner >= m - 10 * s) & (inner <= m + 10 * s)]
            half, middle = np.diff(inner)[:, None] / 2, (inner[1:] + inner[:-1])[:, None] / 2
            y = (middle + half * nodes).ravel()
            axes.append((y, (half * weights).ravel() * scipy.stats.norm.pdf(y, m, s)))
        (y1, w1), (y2, w2) = axes
        gain = np.array([hypervolume_improvement(np.full(y2.size, y), y2, right, top) for y in y1])
        np.testing.assert_allclose(np.exp(value(mean, sd, right, top))[0], w1 @ gain @ w2, rtol=1e-9)


def test_expected_improvement_by_draws():
    """2e5 draws at four beliefs: within 4.5 standard errors, a false alarm of 3e-5."""
    right, top = corners(front_of(40, seed=3), R)
    rng = np.random.default_rng(4)
    for mean, sd in (
        ((0.0, 0.0), (1.0, 0.5)),
        ((-1.5, 0.3), (0.2, 1.0)),
        ((1.0, 1.0), (1.0, 1.0)),
        ((2.0, -1), (1, 1)),
    ):
        y = np.asarray(mean) + np.asarray(sd) * rng.standard_normal((200_000, 2))
        gain = hypervolume_improvement(y[:, 0], y[:, 1], right, top)
        found = np.exp(value(mean, sd, right, top))[0]
        assert abs(found - gain.mean()) < 4.5 * gain.std() / np.sqrt(200_000)


def test_without_a_front_it_is_a_product():
    right, top = corners(np.empty((0, 2)), R)
    mean, sd = np.array([[0.3, -40.0], [1e3, 2.0]]), np.array([[0.5, 2.0], [1.0, 1e-3]])
    each = [log_expected_improvement(mean[:, j], sd[:, j], R[j]).value for j in (0, 1)]
    np.testing.assert_allclose(value(mean, sd, right, top), each[0] + each[1], rtol=1e-14)


def exact(mean, sd, right, top):
    """log EHVI in 50 decimal digits, by another way: the boxes between the edges, from h by mpmath."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):

        def psi(c, m, s):
            u = (mpmath.mpf(c) - mpmath.mpf(m)) / mpmath.mpf(s)
            return mpmath.mpf(s) * (mpmath.npdf(u) + u * mpmath.ncdf(u))

        ones = [mpmath.mpf(0), *(psi(c, mean[0], sd[0]) for c in right)]
        twos = [psi(t, mean[1], sd[1]) for t in top]
        return float(mpmath.log(sum((ones[i + 1] - ones[i]) * twos[i] for i in range(len(right)))))


EXTREME = [
    ((5.0, 5.0), (1.0, 1.0)),
    ((30.0, 30.0), (0.5, 1.0)),  # far from improving: e^−2000
    ((-100.0, -200.0), (1e-3, 5.0)),  # sure to improve
    ((0.0, 50.0), (10.0, 1e-2)),
    ((50.0, -50.0), (1e-2, 10.0)),
    ((0.5, 0.5), (1e-9, 1e-9)),
    ((0.0, 0.0), (1e6, 1e6)),
    ((1e3, 1e3), (1.0, 1.0)),  # e^−10⁶
]


@pytest.mark.parametrize("k", [1, 60])
def test_extreme_arguments_keep_their_digits(k):
    right, top = corners(front_of(k, seed=5), R)
    for mean, sd in EXTREME:
        np.testing.assert_allclose(value(mean, sd, right, top)[0], exact(mean, sd, right, top), rtol=1e-11, atol=1e-11)


def test_a_crowded_front_keeps_its_digits():
    """200 outcomes a hundred-thousandth apart, where each strip's difference cancels."""
    line = np.linspace(0.0, 0.002, 200)
    right, top = corners(np.column_stack([line, 0.002 - line]), R)
    for mean, sd in (((0.15, 0.15), (0.5, 0.5)), ((0.3, 0.4), (1e-2, 2e-2)), ((-3.0, 0.5), (1.0, 0.02))):
        np.testing.assert_allclose(value(mean, sd, right, top)[0], exact(mean, sd, right, top), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("k", [0, 1, 12])
def test_slopes_are_derivatives(k):
    """By central differences of the value, scaled to the argument; the error of these is of order
    h² times the third derivative, and rounding 2⁻⁵²|value|/h."""
    right, top = corners(front_of(k, seed=6), R)
    rng = np.random.default_rng(7)
    usual = [(m, s) for m, s in zip(rng.standard_normal((8, 2)), np.exp(rng.standard_normal((8, 2))))]
    for mean, sd in usual + EXTREME:
        arguments = np.array([*mean, *sd], dtype=float)
        found = log_expected_hypervolume_improvement(
            (arguments[0:1], arguments[1:2]), (arguments[2:3], arguments[3:4]), right, top
        )
        slopes = [float(part[0]) for part in (*found.mean, *found.sd)]
        assert np.all(np.isfinite(slopes))
        for j, slope in enumerate(slopes):
            h = 1e-5 * arguments[2 + j % 2]  # in units of the belief's sd
            up, down = (arguments + sign * h * np.eye(4)[j] for sign in (1.0, -1.0))
            ahead, behind = (value(p[:2], p[2:], right, top)[0] for p in (up, down))
            rounding = 64 * np.finfo(float).eps * max(abs(ahead), 1.0) / h
            np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=2e-5, atol=rounding + 1e-9 / h)


def test_beyond_floating_point_nothing_breaks():
    right, top = corners(front_of(10, seed=8), R)
    for mean in ((1e160, 0.0), (1e200, 1e200), (-1e200, -1e200), (1e8, 1e8), (1e15, -1e15)):
        for sd in ((1e-6, 1e-6), (1.0, 1e-100)):
            with np.errstate(over="ignore"):
                found = log_expected_hypervolume_improvement(
                    (np.array(mean[:1]), np.array(mean[1:])), (np.array(sd[:1]), np.array(sd[1:])), right, top
                )
            assert not np.isnan(found.value[0])


def test_fronts_padded_to_one_size():
    """Repeated corners change nothing, so that draws of a front batch together."""
    fronts = [front_of(k, seed=k) for k in (3, 20)]
    made = [corners(front, R) for front in fronts]
    size = max(len(right) for right, _ in made)
    right, top = (np.stack([np.pad(each[part], (0, size - len(each[part])), mode="edge") for each in made])
                  for part in (0, 1))  # fmt: skip
    mean, sd = np.random.default_rng(9).standard_normal((2, 5, 2)), np.full((5, 2), 0.7)
    together = log_expected_hypervolume_improvement((mean[0], mean[1]), (sd, sd), right, top)
    for s, (one, other) in enumerate(made):
        alone = log_expected_hypervolume_improvement((mean[0][:, s], mean[1][:, s]), (sd[:, s], sd[:, s]), one, other)
        np.testing.assert_allclose(together.value[:, s], alone.value, rtol=1e-13)
        for part in (0, 1):
            np.testing.assert_allclose(together.mean[part][:, s], alone.mean[part], rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(together.sd[part][:, s], alone.sd[part], rtol=1e-12, atol=1e-14)
