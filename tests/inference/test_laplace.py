"""Laplace: exact for Normals, corrected for near ones, refused for others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from credo.distributions.support import POSITIVE
from credo.errors import ConvergenceWarning, NotIdentifiedError, ParameterError
from credo.inference.laplace import laplace
from credo.inference.posterior import Posterior
from credo.inference.target import Target

COVARIANCE = np.array([[2.0, 0.7], [0.7, 0.5]])
PRECISION = np.linalg.inv(COVARIANCE)
MEAN = np.array([1.0, -2.0])
NORMAL = Target(
    lambda x: -0.5 * (x - MEAN) @ PRECISION @ (x - MEAN), {"a": (), "b": ()}, gradient=lambda x: -PRECISION @ (x - MEAN)
)


def test_a_normal_is_exact():
    found = laplace(NORMAL, rng=0)
    np.testing.assert_allclose(found.free_mode, MEAN, atol=1e-8)
    np.testing.assert_allclose(found.free_covariance, COVARIANCE, atol=1e-7)
    exact = math.log(2 * math.pi) + 0.5 * math.log(np.linalg.det(COVARIANCE))
    assert found.log_evidence_normal == pytest.approx(exact, abs=1e-7)
    assert found.log_evidence == pytest.approx(exact, abs=1e-6)
    assert found.effective == pytest.approx(4000, rel=1e-6)
    assert found.result.ok
    assert isinstance(found, Posterior)


def test_a_gamma_is_corrected_by_its_weights():
    """Gamma(5, 1): mean 5, sd √5, evidence log Γ(5); 4,000 draws leave errors of about 1 %."""
    target = Target(
        lambda x: 4 * np.log(x[0]) - x[0], {"x": ()}, gradient=lambda x: 4 / x - 1, supports={"x": POSITIVE}
    )
    found = laplace(target, rng=0)
    assert found.result.certificate["pareto_k"] < 0.7
    assert found.mean == pytest.approx(5.0, rel=0.03)
    assert found.sd == pytest.approx(np.sqrt(5), rel=0.03)
    assert found.quantile(0.95) == pytest.approx(9.1535, rel=0.03)
    assert found.log_evidence == pytest.approx(math.log(24), abs=0.02)
    assert found.log_evidence_normal == pytest.approx(math.log(24), abs=0.05)
    low, _ = found.interval(0.9)
    assert low == pytest.approx(1.9701, rel=0.04)
    draws = found.sample(4000, 1)
    assert draws.shape == (4000,)
    assert draws.mean() == pytest.approx(5.0, rel=0.04)
    assert found["x"].mean() == pytest.approx(float(found.mean), rel=1e-2)
    assert str(found.summary()).splitlines()[1].startswith("x ")


def test_heavy_tails_are_not_certified():
    target = Target(lambda x: -0.75 * np.log1p(x @ x), {"x": (2,)}, gradient=lambda x: -1.5 * x / (1 + x @ x))
    with pytest.warns(ConvergenceWarning, match="Pareto k̂"):
        found = laplace(target, rng=0)
    assert found.result.status == "not_certified"


def test_improper_is_an_error():
    target = Target(
        lambda x: -((x[0] + x[1]) ** 2), {"a": (), "b": ()}, gradient=lambda x: -2 * (x[0] + x[1]) * np.ones(2)
    )
    with pytest.raises(NotIdentifiedError, match="laplace"):
        laplace(target, rng=0)
    with pytest.raises(ParameterError, match="draws"):
        laplace(NORMAL, draws=10)


def test_seeded():
    assert np.array_equal(laplace(NORMAL, rng=3)["a"], laplace(NORMAL, rng=3)["a"])


def test_saved_and_loaded(tmp_path):
    import credo.saving as saving

    found = laplace(NORMAL, rng=0, draws=200)
    saving.save(found, tmp_path / "l.credo")
    back = saving.load(tmp_path / "l.credo")
    np.testing.assert_array_equal(back["a"], found["a"])
    assert back.log_evidence_normal == found.log_evidence_normal
    assert back.result == found.result
