"""Pathfinder: near the mass, from anywhere; fit for starts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from credo.distributions.support import POSITIVE
from credo.errors import ConvergenceWarning, NumericalError, ParameterError
from credo.inference.mcmc import NUTS, sample
from credo.inference.pathfinder import _approximate, pathfinder
from credo.inference.target import Target


def test_normal_in_twenty_dimensions():
    variances = np.geomspace(0.01, 100, 20)
    target = Target(lambda x: -0.5 * x @ (x / variances), {"x": (20,)}, gradient=lambda x: -x / variances)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = pathfinder(target, rng=0, initial=lambda rng: rng.normal(size=20) * 30)
    # Every draw's energy within 3 sd of its law, χ²₂₀/2: the draws are in the typical set.
    energy = 0.5 * np.sum(found["x"] ** 2 / variances, axis=1)
    assert abs(np.median(energy) - 10) < 3 * np.sqrt(10)


def test_a_skewed_posterior_and_its_weights():
    target = Target(
        lambda x: 4 * np.log(x[0]) - x[0], {"x": ()}, gradient=lambda x: 4 / x - 1, supports={"x": POSITIVE}
    )
    found = pathfinder(target, rng=0, draws=4000)
    assert found.result.ok
    assert found.mean == pytest.approx(5.0, rel=0.05)
    assert found.log_evidence == pytest.approx(np.log(24), abs=0.05)


def test_starts_for_a_sampler():
    target = Target(lambda x: -0.5 * x @ x / 1e4, {"x": (3,)}, gradient=lambda x: -x / 1e4)
    starts = pathfinder(target, rng=0).sample(4, 1)
    draws = sample(target, NUTS(), rng=0, initial=starts, draws=400, warmup=150)
    assert draws.result.ok, draws.result.advice


def test_errors():
    flat = Target(lambda x: 0.0, {"x": ()}, gradient=lambda x: np.zeros(1))
    with pytest.raises(NumericalError, match="pathfinder"):
        pathfinder(flat, rng=0)
    with pytest.raises(ParameterError):
        pathfinder(flat, paths=0)


@pytest.mark.parametrize("k", [1, 2, 30])
def test_the_inverse_hessian_is_the_product_of_its_rank_one_factors(k):
    """C ← (I − ρ s yᵀ) C (I − ρ y sᵀ) + ρ s sᵀ as matrices, against what is drawn from."""
    rng = np.random.default_rng(k)
    root = rng.normal(size=(k, k))
    hessian = root @ root.T + np.eye(k)
    target = Target(lambda x: -0.5 * x @ hessian @ x, {"x": (k,)}, gradient=lambda x: -hessian @ x)
    steps = rng.normal(size=(6, k))
    pairs = [(s, hessian @ s) for s in steps]
    diagonal, z = rng.random(k) + 0.5, rng.normal(size=k)
    expected = np.diag(diagonal)
    for s, y in pairs:
        left = np.eye(k) - np.outer(s, y) / (s @ y)
        expected = left @ expected @ left.T + np.outer(s, s) / (s @ y)
    found = _approximate(target, z, -hessian @ z, diagonal, pairs, rng)
    np.testing.assert_allclose(found.factor @ found.factor.T, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.centre, z - expected @ hessian @ z, rtol=1e-7, atol=1e-8)
