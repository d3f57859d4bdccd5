"""Nodes: shapes and dims, evaluation, gradients and ranges, against NumPy and finite differences."""

from types import SimpleNamespace

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, ParameterError
from credo.program import math as cm
from credo.program.evaluate import Program
from credo.program.model import Model
from credo.program.nodes import described


def model_of_parts():
    """A model with nodes of many shapes, for building expressions."""
    m = Model()
    rng = np.random.default_rng(3)
    m.dim("group", 4)
    X = m.data("X", rng.normal(size=(6, 3)), dims=("obs", "feature"))
    g = m.data("g", [0, 1, 3, 3, 2, 0], dims="obs", levels="group")
    w = m.latent("w", cr.Normal(0, 1), dims="feature")
    u = m.latent("u", cr.Normal(0, 1), dims="group")
    s = m.latent("s", cr.HalfNormal(1))
    B = m.latent("B", cr.Normal(0, 1), dims=("feature", "group"))
    return SimpleNamespace(m=m, X=X, g=g, w=w, u=u, s=s, B=B)


EXPRESSIONS = {
    "linear": lambda X, g, w, u, s, B: X @ w + u[g] * s - 2.0,
    "ratio": lambda X, g, w, u, s, B: (X @ w) / (1.0 + s) + 3.0 / (2.0 + s),
    "matrix": lambda X, g, w, u, s, B: (X @ B) @ u + (w @ B).sum(),
    "curves": lambda X, g, w, u, s, B: cm.exp(u)[g] + cm.tanh(X @ w) ** 2 + cm.log1p(s) + cm.expit(u[g]),
    "roots": lambda X, g, w, u, s, B: cm.sqrt(s) * cm.softplus(w).sum() + abs(u[g]) + cm.sin(s) * cm.cos(u[g]),
    "moved": lambda X, g, w, u, s, B: B.T[g].sum("feature") + u[1:3].mean() + B[0, 2] + B.reshape(12)[4] + w[::-1][0],
    "joined": lambda X, g, w, u, s, B: cm.concat(u, w, s)[np.array([0, 5, 7, 6, 1, 1])] + cm.ndtr(u[g]) + s ** u[g],
    "products": lambda X, g, w, u, s, B: u @ u * w @ w + cm.expm1(-s) + cm.square(X @ w),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_gradients_and_rows_of_draws(name):
    """Pulled gradients equal differences; a leading axis of draws gives what a loop gives."""
    p = model_of_parts()
    node = EXPRESSIONS[name](p.X, p.g, p.w, p.u, p.s, p.B)
    latents = p.m.latents
    rng = np.random.default_rng(1)
    values = {n.number: np.asarray(np.abs(rng.normal(size=n.shape)) + 0.1) for n in latents}
    program = Program([node], latents)
    (out,), pull = program.value_and_pull(values)
    assert out.shape == node.shape
    seed = rng.normal(size=node.shape)
    back = pull([seed])
    for n in latents:
        for at in np.ndindex(*n.shape):
            moved = []
            for step in (1e-6, -1e-6):
                shifted = {k: np.array(v) for k, v in values.items()}
                shifted[n.number][at] += step
                moved.append(np.sum(program.values(shifted)[0] * seed))
            assert back[n.number][at] == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-6, abs=1e-7)
    many = {n.number: np.abs(rng.normal(size=(5, *n.shape))) + 0.1 for n in latents}
    rows = program.values(many, lead=True)[0]
    for i in range(5):
        one = program.values({k: v[i] for k, v in many.items()})[0]
        np.testing.assert_allclose(rows[i], one, rtol=1e-13)


def test_dims_name_both_nodes_and_axes():
    p = model_of_parts()
    m, X, g, w, u = p.m, p.X, p.g, p.w, p.u
    with pytest.raises(DataError, match=r"X @ w\[obs:6\] meets u\[group:4\].*group codes"):
        _ = X @ w + u
    with pytest.raises(DataError, match=r"last axis of X\[obs:6, feature:3\] does not match the first of u\[group:4\]"):
        _ = X @ u
    v = m.latent("v", cr.Normal(0, 1), shape=6)
    assert (X @ w + v).dims == ("obs",)
    m.dim("sixth", 6)
    z = m.latent("z", cr.Normal(0, 1), dims="sixth")
    with pytest.raises(DataError, match=r"obs:6.*sixth:6"):
        _ = X @ w + z
    with pytest.raises(DataError, match="levels of 'group'"):
        _ = w[g]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda m, w, s: cr.Normal(0, w), r"sd of y must be finite and > 0 .*w\[feature:3\], which ranges over"),
        (lambda m, w, s: cr.Normal(0, -s), "ranges over"),
        (lambda m, w, s: cr.Bernoulli(s), "p of y .*between 0 and 1"),
        (lambda m, w, s: cr.Poisson(s - 1.0), "rate of y"),
        (lambda m, w, s: 3.0, "a distribution"),
        (lambda m, w, s: cr.Normal(0, None), "sd of y must be given"),
    ],
)
def test_parameters_out_of_range_are_found_at_declaration(build, message):
    p = model_of_parts()
    m, w, s = p.m, p.w, p.s
    with pytest.raises(ParameterError, match=message):
        m.observed("y", build(m, w, s), [0.0, 1.0, 1.0])


def test_ranges_let_good_parameters_pass():
    p = model_of_parts()
    m, X, g, w, u, s = p.m, p.X, p.g, p.w, p.u, p.s
    y = np.ones(6)
    for i, sd in enumerate((s, s**2, cm.exp(X @ w), 1.0 / s, abs(u[g]), s / (1.0 + s), cm.softplus(u)[g], s + 1.0)):
        m.observed(f"y{i}", cr.Normal(0, sd), y, dims="obs")
    m.observed("b", cr.Bernoulli(cm.expit(X @ w)), y, dims="obs")
    m.observed("c", cr.Poisson(2.0 * s), y, dims="obs")


def test_broadcasting_never_enlarges_what_was_observed():
    p = model_of_parts()
    m, X, w, s, B = p.m, p.X, p.w, p.s, p.B
    with pytest.raises(DataError, match="enlarge"):
        m.observed("y", cr.Normal(X @ w, s), 1.0)
    with pytest.raises(DataError, match="do not match"):
        m.observed("y", cr.Normal(X @ w, s), np.ones(3))
    with pytest.raises(DataError, match="enlarge"):
        m.observed("y", cr.Normal(X @ B, s), np.ones((6, 1)))


def test_awkward_declarations():
    p = model_of_parts()
    m, s = p.m, p.s
    with pytest.raises(ParameterError, match="no node of this model has yet"):
        m.latent("w", cr.Normal(0, 1))
    with pytest.raises(ParameterError, match="not empty"):
        m.latent("", cr.Normal(0, 1))
    with pytest.raises(DataError, match="has no size yet"):
        m.latent("v", cr.Normal(0, 1), dims="unknown")
    with pytest.raises(DataError, match="has size 3, not"):
        m.dim("feature", 4)
    with pytest.raises(DataError, match="along 'obs'"):
        m.data("Z", np.ones(7), dims="obs")
    with pytest.raises(DataError, match="missing"):
        m.data("Z", [1.0, np.nan])
    with pytest.raises(DataError, match="infinite"):
        m.observed("y", cr.Normal(0, s), [1.0, np.inf])
    with pytest.raises(DataError, match="outside the support"):
        m.observed("y", cr.Gamma(shape=2.0, rate=1.0), [1.0, -3.0])
    with pytest.raises(DataError, match="every cell is missing"):
        m.observed("y", cr.Normal(0, s), [np.nan, np.nan])
    with pytest.raises(ParameterError, match="numbers"):
        m.data("Z", ["a", "b"])
    with pytest.raises(DataError, match="label is missing"):
        m.data("h", ["a", None], levels="letters")
    with pytest.raises(ParameterError, match="condition"):
        bool(s)
    with pytest.raises(TypeError):
        np.exp(s)
    with pytest.raises(DataError, match="different models"):
        _ = Model().latent("a", cr.Normal(0, 1)) + s
    with pytest.raises(ParameterError, match="does not depend on other nodes"):
        m.latent("r", cr.Uniform(0, s))


def test_writing_keeps_the_order_of_operations():
    p = model_of_parts()
    X, g, w, u, s = p.X, p.g, p.w, p.u, p.s
    assert described((X @ w + 1.0) * s) == "(X @ w + 1) * s"
    assert described(s - (s - 1.0)) == "s - (s - 1)"
    assert described(-(s + 1.0) / 2.0) == "-(s + 1) / 2"
    assert described(cm.exp(u)[g]) == "exp(u)[g]"
    assert described((u + 1.0)[g]) == "(u + 1)[g]"
    assert described(s / (s / 2.0)) == "s / (s / 2)"
    assert described((s + 1.0) ** 2) == "(s + 1)²"
    assert described(u[1:3]) == "u[1:3]"
