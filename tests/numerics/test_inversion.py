"""Quantiles by inversion, against closed forms and at the edges of the range of floats."""

import numpy as np
import pytest
import scipy.special

from credo.errors import NumericalError
from credo.numerics.inversion import boundary, integer_quantile, invert_cdf


class TestInvertCdf:
    @pytest.mark.parametrize("q", [1e-300, 1e-12, 0.01, 0.5, 0.99, 1.0 - 1e-9])
    def test_finds_what_ndtri_finds(self, q):
        x = invert_cdf(scipy.special.ndtr, q, -40.0, 9.0)
        # A cdf with relative error 2⁻⁵³ leaves its quantile uncertain by that much of q/density.
        density = np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
        np.testing.assert_allclose(x, scipy.special.ndtri(q), atol=8e-16 * max(abs(x), q / density, 1.0))

    def test_a_sharp_step_beside_a_wide_bell(self):
        weights, location, scale = np.array([0.5, 0.5]), np.array([0.0, 3.0]), np.array([1.0, 1e-9])
        q = np.linspace(0.01, 0.99, 99)
        cdf = lambda x: scipy.special.ndtr((x[..., None] - location) / scale) @ weights
        z = location + scale * scipy.special.ndtri(q)[:, None]
        np.testing.assert_allclose(cdf(invert_cdf(cdf, q, z.min(axis=1), z.max(axis=1))), q, atol=1e-6)

    def test_evaluations_stay_few(self):
        calls = []
        cdf = lambda x: (calls.append(1), scipy.special.ndtr(x))[1]
        invert_cdf(cdf, np.linspace(0.001, 0.999, 500), -5.0, 7.0)
        assert len(calls) <= 25

    def test_shapes_ends_and_closed_brackets(self):
        assert invert_cdf(scipy.special.ndtr, [], 0.0, 1.0).shape == (0,)
        x = invert_cdf(scipy.special.ndtr, [0.0, 1.0, 0.5], [-np.inf, 3.0, 0.25], [2.0, np.inf, 0.25])
        assert x.tolist() == [-np.inf, np.inf, 0.25]

    def test_nan_is_an_error(self):
        with pytest.raises(NumericalError, match="did not settle"):
            invert_cdf(lambda x: x * np.nan, 0.5, 0.0, 1.0)


class TestBoundary:
    @pytest.mark.parametrize("edge", [-1e300, -1.0, -1e-200, 0.0, 5e-324, 1e-200, 0.1, 1.0, 1e300])
    def test_exact_over_the_whole_range(self, edge):
        calls = []
        found = boundary(lambda x: (calls.append(1), x >= edge)[1], np.array([-1e308]), np.array([1e308]))
        assert found.item() == edge
        assert len(calls) <= 75

    def test_a_flat_stretch_ends_at_its_lower_end(self):
        cdf = lambda x: np.where(x < 1.0, 0.5 * x, np.where(x < 2.0, 0.5, 0.5 * (x - 1.0)))
        assert boundary(lambda x: cdf(x) >= 0.5, np.zeros(1), np.full(1, 3.0)).item() == 1.0


@pytest.mark.parametrize("guess", [0.0, 3.0, 1e6])
def test_integer_quantile_is_the_smallest_that_reaches(guess):
    q = np.array([0.0, 0.1, 0.5, 0.999, 1.0])
    cdf = lambda k: scipy.special.pdtr(k, 7.3)
    k = integer_quantile(q, lambda k: cdf(k) >= q, (0.0, np.inf), 0.0, np.inf, guess)
    assert k[[0, -1]].tolist() == [0.0, np.inf]
    inner = k[1:-1]
    assert np.all(cdf(inner) >= q[1:-1])
    assert np.all(cdf(inner - 1) < q[1:-1])
