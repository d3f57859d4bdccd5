"""Kernels: constants by quadrature, draws by their moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

from credo.models.density.kernels import (
    KERNELS,
    canonical_ratio,
    draw,
    log_norm,
    log_values,
    unit_cdf,
    unit_variance,
)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_constant_and_variance_by_quadrature(kernel: str, d: int) -> None:
    surface = d * np.pi ** (d / 2) / gamma(d / 2 + 1)
    end = 1.0 if kernel not in ("gaussian", "exponential") else 60.0

    def k(r: float) -> float:
        return float(np.exp(log_values(kernel, np.array(r))))

    total = surface * quad(lambda r: r ** (d - 1) * k(r), 0, end, limit=200)[0]
    second = surface * quad(lambda r: r ** (d + 1) * k(r), 0, end, limit=200)[0] / d
    assert np.exp(log_norm(kernel, d)) == pytest.approx(total, rel=1e-8)
    assert unit_variance(kernel, d) == pytest.approx(second / total, rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cdf_is_the_integral(kernel: str) -> None:
    u = np.array([-3.0, -0.99, -0.4, 0.0, 0.3, 0.8, 2.0])
    density = lambda t: float(np.exp(log_values(kernel, np.abs(np.array(t))) - log_norm(kernel, 1)))
    expected = [0.5 + quad(density, 0.0, value, points=[min(max(value, -1.0), 1.0)])[0] for value in u]
    np.testing.assert_allclose(unit_cdf(kernel, u), expected, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, np.inf])
def test_draws_have_the_kernels_radii(kernel: str, p: float) -> None:
    """P(|z|_p ≤ r) depends on d alone. Kolmogorov's bound at n = 4,000: a false alarm in 1e6."""
    n, d = 4000, 3
    z = draw(kernel, n, d, np.random.default_rng(5), p)
    r = np.sort(np.abs(z).max(axis=1) if np.isinf(p) else (np.abs(z) ** p).sum(axis=1) ** (1 / p))
    grid = np.linspace(0.0, 40.0 if kernel in ("gaussian", "exponential") else 1.0, 20_001)
    mass = np.concatenate([[0.0], np.cumsum((grid**2 * np.exp(log_values(kernel, grid)))[:-1])])
    expected = np.interp(r, grid, mass / mass[-1])
    assert np.abs(expected - np.arange(n) / n).max() < 2.7 / np.sqrt(n)
    assert np.abs((z > 0).mean(axis=0) - 0.5).max() < 5.2 * 0.5 / np.sqrt(n)


def test_published_canonical_ratios() -> None:
    """Ratios of canonical bandwidths δ, as Härdle (1991, table 3.2) gives the δ."""
    assert canonical_ratio("epanechnikov", 1) == pytest.approx(1.7188 / 0.7764, abs=5e-4)
    assert canonical_ratio("tophat", 1) == pytest.approx(1.3510 / 0.7764, abs=5e-4)
