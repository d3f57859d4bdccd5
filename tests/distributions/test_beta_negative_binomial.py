"""BetaNegativeBinomial under the scalar contract, and against SciPy."""

import numpy as np
import pytest
from scipy import stats

import credo.distributions as d
from credo.testing.families import SCALAR_CHECKS


@pytest.mark.parametrize("check", SCALAR_CHECKS)
@pytest.mark.parametrize("family", [d.BetaNegativeBinomial(2.5, 12.0, 3.0)], ids=repr)
def test_contract(family, check):
    check(family)


def test_matches_scipy():
    family, law = d.BetaNegativeBinomial(3.0, 2.4, 1.7), stats.betanbinom(3, 2.4, 1.7)
    k = np.arange(40)
    np.testing.assert_allclose(family.log_prob(k), law.logpmf(k), rtol=1e-11)
    np.testing.assert_allclose(family.mean, law.mean())
    np.testing.assert_allclose(family.variance, law.var())
    np.testing.assert_allclose(family.cdf(k[:6]), np.cumsum(law.pmf(k[:6])), rtol=1e-10)


def test_heavy_tails_have_no_moments():
    assert d.BetaNegativeBinomial(1.0, 1.0, 2.0).mean == np.inf
    assert d.BetaNegativeBinomial(1.0, 2.0, 2.0).variance == np.inf
