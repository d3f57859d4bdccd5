"""The passes: affine forms against evaluation, the maximal block, conjugate leaves."""

import numpy as np
import pytest

import credo as cr
from credo.program import math as cm
from credo.program.collapsed import Collapsed
from credo.program.evaluate import Program
from credo.program.model import Model
from credo.program.passes.affine import Affine, NotAffineError
from credo.program.passes.collapse import find_block
from credo.program.plan import plan_of
from credo.program.prepare import prepared

RNG = np.random.default_rng(5)
XS = RNG.normal(size=(7, 2))
CODES = np.array([0, 1, 2, 2, 1, 0, 2])


def parts():
    m = Model()
    m.dim("group", 3)
    X = m.data("X", XS, dims=("obs", "feature"))
    g = m.data("g", CODES, dims="obs", levels="group")
    w = m.latent("w", cr.Normal(0, 1), dims="feature")
    u = m.latent("u", cr.Normal(0, 1), dims="group")
    B = m.latent("B", cr.Normal(0, 1), dims=("feature", "group"))
    s = m.latent("s", cr.HalfNormal(1))
    t = m.latent("t", cr.HalfNormal(1), dims="group")
    return m, X, g, w, u, B, s, t


AFFINE = {
    "regression": lambda X, g, w, u, B, s, t: X @ w + u[g] + 1.0,
    "scaled": lambda X, g, w, u, B, s, t: s * (X @ w) - u[g] * t[g] + s,
    "by group sd": lambda X, g, w, u, B, s, t: u[g] * cm.exp(t)[g] / s,
    "matrix": lambda X, g, w, u, B, s, t: (X @ B).sum("group") + (X @ (B @ t)) + B.T[g].sum("feature"),
    "moved": lambda X, g, w, u, B, s, t: cm.concat(w, u, 2.0)[np.array([0, 4, 5, 1, 2, 2, 3])] * 3.0 - w.mean(),
    "row": lambda X, g, w, u, B, s, t: cm.exp(s * X[:, 0]) * u[g] + cm.tanh(X[:, 1] * s),
    "halves": lambda X, g, w, u, B, s, t: -(X @ w) / 2.0 + (u[g] - s) / (1.0 + s),
}


@pytest.mark.parametrize("name", AFFINE)
def test_affine_forms_equal_evaluation(name):
    _, X, g, w, u, B, s, t = parts()
    node = AFFINE[name](X, g, w, u, B, s, t)
    block, rest = [w, u, B], [s, t]
    starts = np.cumsum([0, *(n.size for n in block)])
    forms = Affine({n.number: int(a) for n, a in zip(block, starts)}, int(starts[-1]))
    terms = forms.form(node)
    rng = np.random.default_rng(2)
    for _ in range(3):
        values = {n.number: np.abs(rng.normal(size=n.shape)) + 0.1 for n in [*block, *rest]}
        z = np.concatenate([values[n.number].ravel() for n in block])
        total = np.zeros(node.size)
        for term in terms:
            part = term.matrix @ z if term.matrix is not None else term.vector
            for factor in (term.coefficient, term.row):
                if factor is not None:
                    part = part * Program([factor], rest).values({n.number: values[n.number] for n in rest})[0].ravel()
            total = total + part
        expected = Program([node], [*block, *rest]).values(values)[0].ravel()
        np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "build",
    [
        lambda X, g, w, u, B, s, t: w @ w,
        lambda X, g, w, u, B, s, t: cm.exp(X @ w),
        lambda X, g, w, u, B, s, t: s / u,
        lambda X, g, w, u, B, s, t: (X @ w) ** 2,
        lambda X, g, w, u, B, s, t: w @ B,
    ],
)
def test_what_is_not_affine_says_so(build):
    _, X, g, w, u, B, s, t = parts()
    forms = Affine({w.number: 0, u.number: 2, B.number: 5}, 11)
    with pytest.raises(NotAffineError) as caught:
        forms.form(build(X, g, w, u, B, s, t))
    assert caught.value.remove


def block_of(m):
    factors, latents = prepared(m)
    found = find_block(factors, latents)
    return {str(node.name) for node in found.nodes}, found.reasons


def test_a_product_of_two_latents_keeps_the_larger():
    m, X, g, w, u, B, s, t = parts()
    a = m.latent("a", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * (X @ w) + u[g] * t[g] + (X @ B)[:, 0], s), np.ones(7), dims="obs")
    names, reasons = block_of(m)
    assert names == {"w", "u", "B"}
    assert "multiplies" in reasons["a"]


def test_a_mean_over_a_latent_and_a_variance_of_the_block():
    m = Model()
    w = m.latent("w", cr.Normal(0, 1), shape=2)
    d = m.latent("d", cr.Normal(0, 1))
    v = m.latent("v", cr.Normal(0, 1), shape=2)
    m.observed("y", cr.Normal((XS @ w) / d, cm.exp(XS @ v)), np.ones(7))
    names, reasons = block_of(m)
    assert names == {"w"}
    assert "divides" in reasons["d"]
    assert "sd of y depends on it" in reasons["v"]


def test_what_left_for_a_reason_that_is_gone_comes_back():
    """b leaves beside a in their product; when c forces a out for good, b returns."""
    m = Model()
    a = m.latent("a", cr.Normal(0, 1))
    b = m.latent("b", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * b, 1.0), np.ones(3))
    m.observed("n", cr.Poisson(cm.exp(a)), np.ones(3))
    assert block_of(m)[0] == {"b"}


def test_centred_and_non_centred_twins_have_one_density():
    s = np.array([15, 10, 16, 11, 9, 11, 10, 18.0])
    y = np.array([28, 8, -3, 7, -1, 1, 18, 12.0])
    densities = []
    for centred in (True, False):
        m = Model()
        m.dim("school", 8)
        mu, tau = m.latent("mu", cr.Normal(0, 5)), m.latent("tau", cr.HalfCauchy(5))
        if centred:
            theta = m.latent("theta", cr.Normal(mu, tau), dims="school")
        else:
            theta = m.deterministic("theta", mu + tau * m.latent("z", cr.Normal(0, 1), dims="school"))
        m.observed("y", cr.Normal(theta, s), y, dims="school")
        target = Collapsed(plan_of(m)).target
        densities.append([target.value_and_gradient(np.array([x])) for x in (0.1, 1.0, 10.0)])
    for a, b in zip(*densities):
        assert a[0] == pytest.approx(b[0], rel=1e-12)
        np.testing.assert_allclose(a[1], b[1], rtol=1e-7)


CONJUGATE = {
    "beta-bernoulli": (lambda m: cr.Bernoulli(m.latent("x", cr.Beta(2, 3))), [1, 0, 1, 1, 1], 6 / 10),
    "beta-binomial": (lambda m: cr.Binomial(5, m.latent("x", cr.Beta(2, 3))), [1, 4, 5], 12 / 20),
    "gamma-poisson": (lambda m: cr.Poisson(2.0 * m.latent("x", cr.Gamma(shape=2.0, rate=1.0))), [1, 4, 5], 12 / 7),
    "gamma-exponential": (lambda m: cr.Exponential(m.latent("x", cr.Gamma(shape=2.0, rate=1.0))), [1.0, 4.0], 4 / 6),
    "inverse gamma-normal": (
        lambda m: cr.Normal(1.0, cm.sqrt(m.latent("x", cr.InverseGamma(shape=3.0, scale=1.0)))), [1.0, 3.0], 3 / 3,
    ),
    "dirichlet-categorical": (
        lambda m: cr.Categorical(m.latent("x", cr.Dirichlet(np.ones(3)))), [0, 1, 1, 2], np.array([2, 3, 2]) / 7,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONJUGATE)
def test_conjugate_leaves(name):
    """Posterior means in closed form, and the evidence by the chain rule of prediction: p(y) at any x is
    prior × likelihood / posterior."""
    build, y, mean = CONJUGATE[name]
    m = Model()
    m.observed("y", build(m), y)
    explained = m.explain()
    assert explained.treatment == {"x": "conjugate"}
    posterior = m.fit(random_state=0)
    np.testing.assert_allclose(posterior.mean["x"], mean, rtol=1e-12)
    plan = plan_of(m)
    law = plan.leaves[0].posterior
    from credo.program.density import joint_target
    from credo.program.forward import law_at

    after = law_at(law, {}, {}, 1, plan.leaves[0].node.ndim)
    x = np.asarray(posterior["x"][0])
    joint = joint_target([f.term for f in plan.factors], plan.latents).evaluate(np.ravel(x)).log_density
    assert posterior.log_evidence == pytest.approx(joint - float(after.log_prob(x)), rel=1e-10)
