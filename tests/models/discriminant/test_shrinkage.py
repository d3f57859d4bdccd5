"""How alike classes are, learned from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import multigammaln

from credo.models.discriminant.shrinkage import _ROWS, prior_rows


def scatters(covariances, rows, rng):
    each = [rng.multivariate_normal(np.zeros(len(c)), c, rows) for c in covariances]
    return np.stack([rows * np.cov(x.T, bias=True) for x in each])


def test_alike_classes_are_drawn_together_and_others_are_not():
    rng = np.random.default_rng(0)
    freedom = np.full(3, 39.0)
    alike = prior_rows(scatters([np.eye(4)] * 3, 40, rng), freedom, np.eye(4))
    other = [np.diag(np.exp(2.0 * rng.normal(size=4))) for _ in range(3)]
    assert alike > 50.0 > 5.0 > prior_rows(scatters(other, 40, rng), freedom, np.eye(4))
    assert prior_rows(np.zeros((2, 3, 3)), np.zeros(2), np.eye(3)) == 1.0


def test_it_maximises_the_marginal_likelihood_of_the_scatters():
    """log p(S) = log |S|^… Γ_d((ν + n)/2)/Γ_d(ν/2) |rT|^{ν/2} |rT + S|^{−(ν + n)/2}, by determinants."""
    rng = np.random.default_rng(1)
    scatter, freedom, first, d = (
        scatters([np.eye(2), np.diag([1.0, 3.0])], 12, rng),
        np.array([11.0, 11.0]),
        np.eye(2),
        2,
    )

    def value(r):
        nu, total = r + d + 1.0, 0.0
        for c in (0, 1):
            T = (scatter[1 - c] + first) / (freedom[1 - c] + 1.0)
            total += multigammaln((nu + freedom[c]) / 2, d) - multigammaln(nu / 2, d)
            total += nu / 2 * np.linalg.slogdet(r * T)[1]
            total -= (nu + freedom[c]) / 2 * np.linalg.slogdet(r * T + scatter[c])[1]
        return total

    assert prior_rows(scatter, freedom, first) == pytest.approx(_ROWS[np.argmax([value(r) for r in _ROWS])])
