"""The two E-steps give the same numbers, and those of the formulas written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from credo.models.mixture import expectation
from credo.models.mixture.expectation import Gaussians, expected_moments, normalise
from credo.models.mixture.factors import floored, upper_factor
from credo.models.mixture.gaussian import GaussianParams
from credo.models.mixture.moments import Moments


def gaussians(kind, k=3, d=4, seed=0, narrow=1.0) -> Gaussians:
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(k, d, d))
    full = narrow * (turn @ turn.swapaxes(1, 2) / d + 0.2 * np.eye(d))
    covariance = {"full": full, "tied": full[0], "diag": np.diagonal(full, axis1=1, axis2=2)}[kind]
    return GaussianParams.of(kind, np.full(k, 1 / k), rng.normal(size=(k, d)), covariance).gaussians


def naive(z, weights, g, power=1.0):
    """Responsibilities and moments about the means, a component at a time."""
    k = len(g.mean)
    precision = {
        "full": lambda j: g.precision[j],
        "tied": lambda _: g.precision,
        "diag": lambda j: np.diag(g.precision[j]),
    }
    log_joint = []
    for j in range(k):
        away = z - g.mean[j][:, None]
        log_joint.append(g.log_constant[j] - 0.5 * np.einsum("in,ij,jn->n", away, precision[g.kind](j), away))
    log_joint = np.stack(log_joint)
    total = logsumexp(power * log_joint, axis=0)
    r = np.exp(power * log_joint - total) * weights
    products = np.stack([((z - z.mean(1)[:, None]) * r[j]) @ (z - z.mean(1)[:, None]).T for j in range(k)])
    return r, products, float(weights @ total) / power


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize("route", ["_quadratic", "_direct"])
def test_moments_are_those_of_the_formulas(kind, power, route):
    rng = np.random.default_rng(1)
    z, weights, g = rng.normal(size=(4, 900)), rng.uniform(0, 2, 900), gaussians(kind)
    r, products, log_likelihood = naive(z, weights, g, power)
    found: Moments = getattr(expectation, route)(z, weights, g, power).about(np.zeros((3, 4)) + z.mean(axis=1))
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.weight, r.sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(found.mean, (r @ z.T) / r.sum(axis=1)[:, None], rtol=1e-10, atol=1e-12)
    expected = {"full": products, "tied": products.sum(axis=0), "diag": np.diagonal(products, axis1=1, axis2=2)}[kind]
    np.testing.assert_allclose(found.second, expected, rtol=1e-9, atol=1e-9)


def test_narrow_components_take_the_exact_route():
    wide, narrow = gaussians("full"), gaussians("full", narrow=1e-8)
    assert wide.is_tame
    assert not narrow.is_tame
    z = narrow.mean.T + 1e-4 * np.random.default_rng(0).normal(size=(4, 3))
    kept = expected_moments(z, None, narrow)
    np.testing.assert_allclose(kept.mean, z.T, rtol=1e-12)


def test_moments_merge_about_different_points_as_about_one():
    rng = np.random.default_rng(0)
    for kind in ("full", "tied", "diag"):
        g = gaussians(kind)
        a, b = (expectation._direct(rng.normal(size=(4, 50)), None, g, 1.0) for _ in range(2))
        moved = b.about(rng.normal(size=(3, 4)))
        np.testing.assert_allclose(a.merge(moved).scatter, a.merge(b).scatter, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(a.merge(moved).mean, a.merge(b).mean, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(a.scaled(2.0).scatter, a.merge(a).scatter, rtol=1e-9, atol=1e-10)


def test_shares_sum_to_the_weights_however_far_the_rows():
    log_joint = np.array([[-1e5, 3.0, -np.inf], [-1e5 + 1.0, -700.0, 2.0]])
    total = normalise(log_joint, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(log_joint.sum(axis=0), [1.0, 2.0, 3.0])
    assert total == pytest.approx(-1e5 + np.log(1 + np.e) + 6.0 + 6.0)


def test_floors_are_the_nearest_and_factors_are_factors():
    rng = np.random.default_rng(0)
    thin = np.diag([1.0, 1e-20]) + 0.0
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    covariance, factor = floored("full", np.stack([np.eye(2), turn @ thin @ turn.T]))
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance[1]), [1e-13, 1.0], rtol=1e-2)
    np.testing.assert_allclose(factor[1] @ factor[1].T @ covariance[1], np.eye(2), atol=1e-2)
    upper = upper_factor(factor)
    np.testing.assert_allclose(upper @ upper.swapaxes(1, 2), factor @ factor.swapaxes(1, 2), rtol=1e-8)
    np.testing.assert_array_equal(np.tril(upper, -1), 0.0)
