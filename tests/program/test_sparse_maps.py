"""Known sparse matrices in expressions: as the dense ones they stand for, on every rung."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import credo as cr
from credo.errors import CredoError, DataError, ParameterError
from credo.program.evaluate import Program
from credo.program.fitting import full_target
from credo.program.plan import plan_of

RNG = np.random.default_rng(0)
A = sp.random_array((30, 5), density=0.4, rng=RNG, format="csr")
Y = RNG.normal(size=30)


def model(X, weights=5):
    m = cr.Model()
    w, s = m.latent("w", cr.Normal(0, 1), shape=weights), m.latent("s", cr.HalfNormal(1))
    m.observed("y", cr.Normal(X @ w, s), Y)
    return m


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_collapsed_as_the_dense_one(kind):
    m = model(kind(A))
    assert m.explain().treatment == {"w": "exact", "s": "quadrature"}
    one, other = m.fit(draws=100, random_state=0), model(A.toarray()).fit(draws=100, random_state=0)
    np.testing.assert_allclose(one.mean["w"], other.mean["w"], rtol=1e-10)
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-10)
    assert "sparse @ w" in repr(m)


@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_values_gradients_and_draws(shape):
    """From the left, from the right, and with an axis of draws."""
    m = cr.Model()
    w = m.latent("w", cr.Normal(0, 1), shape=shape)
    right = w @ A.T if w.ndim == 1 else w.T @ A.T
    m.observed("y", cr.Normal((A @ w).sum() + cr.math.exp(right).sum(), 1.0), 1.0)
    x = RNG.normal(size=(4, *shape))
    left, turned = Program([A @ w, right], [w]).values({w.number: x}, lead=True)
    for each, one, two in zip(x, left, turned):
        np.testing.assert_allclose(one, A.toarray() @ each, rtol=1e-12)
        np.testing.assert_allclose(two, each.T @ A.toarray().T, rtol=1e-12)
    target: Any = full_target(plan_of(m, "nuts"))
    at = 0.1 * x[0].ravel()
    _, gradient = target.value_and_gradient(at)
    for k, e in enumerate(1e-5 * np.eye(at.size)):
        slope = (target.evaluate(at + e).log_density - target.evaluate(at - e).log_density) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_states_behind_one():
    """z_i in {0, 1} seen through a sparse map: all 2³ states, listed."""
    B = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    m = cr.Model()
    z = m.latent("z", cr.Bernoulli(0.4), shape=3)
    m.observed("y", cr.Normal(B @ z, 1.0), [1.5, 2.0])
    states = np.array(list(np.ndindex(2, 2, 2)))
    residual = np.array([1.5, 2.0]) - states @ B.toarray().T
    log_p = states.sum(1) * np.log(0.4 / 0.6) - 0.5 * np.square(residual).sum(1)
    p = np.exp(log_p - log_p.max())
    posterior = m.fit(draws=100, random_state=0)
    np.testing.assert_allclose(posterior.probabilities("z")[:, 1], p @ states / p.sum(), rtol=1e-10)


def test_two_maps_are_not_taken_for_one():
    """Long arrays are told apart by all of their cells."""
    data = np.ones(3000)
    one = sp.csr_array((data, (np.zeros(3000, int), np.arange(3000))), shape=(1, 3000))
    data = data.copy()
    data[1500] = 7.0
    two = sp.csr_array((data, (np.zeros(3000, int), np.arange(3000))), shape=(1, 3000))
    m = cr.Model()
    t, w = m.latent("t", cr.HalfNormal(1), shape=3000), m.latent("w", cr.Normal(0, 1))
    m.observed("y", cr.Normal((one @ t)[0] * w - (two @ t)[0] * w, 1.0), -4.0)
    from credo.program.passes.affine import Affine

    mean = m.factors[-1].law.mean
    terms: Any = Affine({w.number: 0}, 1).form(mean)
    values = Program([term.coefficient for term in terms], [t]).values({t.number: np.arange(3000.0)})
    total = sum(float(v) * term.matrix.toarray().item() for v, term in zip(values, terms))
    assert total == pytest.approx(-6.0 * 1500.0)


def test_saved(tmp_path):
    posterior = model(A).fit(draws=100, random_state=0)
    cr.save(posterior, tmp_path / "sparse.credo")
    loaded = cr.load(tmp_path / "sparse.credo")
    np.testing.assert_array_equal(loaded.predict().mean, posterior.predict().mean)


@pytest.mark.parametrize("wrong", [
    lambda w: A @ w[:3], lambda w: A @ w[0], lambda w: w @ A, lambda w: A * w, lambda w: w + A, lambda w: w / A,
])  # fmt: skip
def test_what_does_not_fit_is_told(wrong):
    w = cr.Model().latent("w", cr.Normal(0, 1), shape=5)
    with pytest.raises(CredoError, match=r"sparse|toarray"):
        wrong(w)


def test_bad_numbers_are_named():
    B = sp.csr_array(np.array([[1.0, 0.0], [0.0, np.nan]]))
    w = cr.Model().latent("w", cr.Normal(0, 1), shape=2)
    with pytest.raises(DataError, match="row 1"):
        _ = B @ w


def test_numpy_on_nodes():
    w = cr.Model().latent("w", cr.Normal(0, 1), shape=(5, 2))
    assert np.sum(w).shape == ()
    assert np.mean(w, axis=0).shape == (2,)
    with pytest.raises(ParameterError, match="not used as a number"):
        np.asarray(w, dtype=float)
