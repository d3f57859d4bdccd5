"""Functions of nodes: values against NumPy and SciPy, gradients against differences, ranges against values."""

import numpy as np
import pytest
from scipy import special

import credo as cr
from credo.errors import DataError, ParameterError
from credo.program import math as cm
from credo.program.evaluate import Program

# name → (the same by NumPy or SciPy, low, high) of the numbers it is tried at
ONE = {
    "exp": (np.exp, -3, 3), "log": (np.log, 0.1, 5), "sqrt": (np.sqrt, 0.1, 5), "square": (np.square, -3, 3),
    "abs": (np.abs, -3, 3), "log1p": (np.log1p, -0.9, 5), "expm1": (np.expm1, -3, 3),
    "log1mexp": (lambda x: np.log(1 - np.exp(x)), -4, -0.05), "expit": (special.expit, -6, 6),
    "log_expit": (special.log_expit, -6, 6), "logit": (special.logit, 0.05, 0.95),
    "softplus": (lambda x: np.log1p(np.exp(x)), -6, 6), "ndtr": (special.ndtr, -4, 4),
    "log_ndtr": (special.log_ndtr, -9, 4), "ndtri": (special.ndtri, 0.02, 0.98),
    "inv_cloglog": (lambda x: 1 - np.exp(-np.exp(x)), -4, 2), "erf": (special.erf, -2, 2),
    "erfc": (special.erfc, -2, 2), "sin": (np.sin, -6, 6), "cos": (np.cos, -6, 6), "tan": (np.tan, -1.2, 1.2),
    "arcsin": (np.arcsin, -0.9, 0.9), "arccos": (np.arccos, -0.9, 0.9), "arctan": (np.arctan, -6, 6),
    "sinh": (np.sinh, -3, 3), "cosh": (np.cosh, -3, 3), "tanh": (np.tanh, -3, 3),
    "gammaln": (special.gammaln, 0.2, 6), "digamma": (special.digamma, 0.2, 6),
}  # fmt: skip
TWO = {"arctan2": np.arctan2, "logaddexp": np.logaddexp, "maximum": np.maximum, "minimum": np.minimum}
ALONG = {
    "softmax": special.softmax, "log_softmax": special.log_softmax, "logsumexp": special.logsumexp, "cumsum": np.cumsum,
}  # fmt: skip


def uniform(m, name, low, high, shape):
    return m.latent(name, cr.Uniform(low, high), shape=shape)


def check(node, latents, values):
    """Gradients by differences, draws by a loop, the range."""
    inputs = {n.number: v for n, v in zip(latents, values)}
    program = Program([node], latents)
    (out,), pull = program.value_and_pull(inputs)
    assert out.shape == node.shape
    low, high = node.bounds
    assert low - 1e-9 <= out.min()
    assert out.max() <= high + 1e-9
    seed = np.random.default_rng(0).normal(size=out.shape)
    back = pull([seed])
    for n in latents:
        for at in np.ndindex(*n.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = {k: np.array(x) for k, x in inputs.items()}
                moved[n.number][at] += step
                ends.append(np.sum(seed * program.values(moved)[0]))
            expected = (ends[0] - ends[1]) / 2e-6
            assert back[n.number][at] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    rows = {k: np.stack([x, x * 0.9, x * 1.05]) for k, x in inputs.items()}
    many = program.values(rows, lead=True)[0]
    for i in range(3):
        one = program.values({k: x[i] for k, x in rows.items()})[0]
        np.testing.assert_allclose(many[i], one, rtol=1e-12, atol=1e-12, equal_nan=True)
    return out


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name):
    reference, low, high = ONE[name]
    x = np.random.default_rng(1).uniform(low, high, size=(2, 4))
    m = cr.Model()
    u = uniform(m, "u", low, high, (2, 4))
    function = getattr(cm, name)
    out = check(function(u), [u], [x])
    np.testing.assert_allclose(out, reference(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(function(x), reference(x), rtol=1e-12, atol=1e-14)
    assert isinstance(function(float(x[0, 0])), float)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(3, 4)), rng.normal(size=4)
    m = cr.Model()
    a, b = uniform(m, "a", -5, 5, (3, 4)), uniform(m, "b", -5, 5, (4,))
    function = getattr(cm, name)
    np.testing.assert_allclose(check(function(a, b), [a, b], [x, y]), TWO[name](x, y), rtol=1e-12)
    np.testing.assert_allclose(check(function(1.5, b), [b], [y]), TWO[name](1.5, y), rtol=1e-12)
    np.testing.assert_allclose(function(x, 0.3), TWO[name](x, 0.3), rtol=1e-12)


@pytest.mark.parametrize("axis", [0, "column", -1])
@pytest.mark.parametrize("name", ALONG)
def test_functions_along_an_axis(name, axis):
    x = np.random.default_rng(3).normal(size=(3, 4))
    m = cr.Model()
    m.dim("row", 3)
    m.dim("column", 4)
    a = m.latent("a", cr.Normal(0, 1), dims=("row", "column"))
    number = 1 if axis == "column" else axis
    function = getattr(cm, name)
    node = function(a, axis=axis)
    np.testing.assert_allclose(check(node, [a], [x]), ALONG[name](x, axis=number), rtol=1e-12)
    np.testing.assert_allclose(function(x, axis=number), ALONG[name](x, axis=number), rtol=1e-12)
    assert node.dims == (("row", "column") if name != "logsumexp" else ("column",) if axis == 0 else ("row",))


def test_choices():
    rng = np.random.default_rng(4)
    x, y, late = rng.normal(size=6), rng.normal(), np.array([0, 1, 1, 0, 0, 1])
    m = cr.Model()
    m.dim("row", 6)
    switch = m.data("late", late, dims="row")
    a, b = m.latent("a", cr.Normal(0, 1), dims="row"), m.latent("b", cr.Normal(0, 1))
    node = cm.where(switch, a, b)
    np.testing.assert_allclose(check(node, [a, b], [x, np.array(y)]), np.where(late, x, y))
    assert node.dims == ("row",)
    np.testing.assert_allclose(check(cm.clip(a, -0.5, 0.5), [a], [x]), np.clip(x, -0.5, 0.5))
    assert cm.clip(a, low=0).bounds == (0.0, np.inf)
    np.testing.assert_allclose(cm.clip(x, high=0.2), np.minimum(x, 0.2))
    with pytest.raises(ParameterError, match="condition"):
        cm.where(a, 1.0, 2.0)
    with pytest.raises(ParameterError, match="low, high"):
        cm.clip(a)


def test_products_and_parts():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=3), rng.normal(size=4)
    m = cr.Model()
    m.dim("i", 3)
    m.dim("j", 4)
    a, b = m.latent("a", cr.Normal(0, 1), dims="i"), m.latent("b", cr.Normal(0, 1), dims="j")
    node = cm.outer(a, b)
    assert node.dims == ("i", "j")
    np.testing.assert_allclose(check(node, [a, b], [x, y]), np.outer(x, y))
    np.testing.assert_allclose(check(a[:, None] * b, [a, b], [x, y]), np.outer(x, y))
    assert (a[:, None] * b).dims == ("i", "j")
    np.testing.assert_allclose(check(cm.dot(a, a), [a], [x]), x @ x)
    np.testing.assert_allclose(check(cm.stack(a, 2.0 * a, np.ones(3)), [a], [x]), [x, 2 * x, np.ones(3)])
    pair = cm.square([b[0], b[1], 3.0])
    np.testing.assert_allclose(check(pair, [b], [y]), [y[0] ** 2, y[1] ** 2, 9.0])
    np.testing.assert_allclose(cm.outer(x, y), np.outer(x, y))
    with pytest.raises(DataError, match="two vectors"):
        cm.outer(a, 1.0)


def test_far_out():
    """Where textbook formulas overflow or cancel."""
    assert cm.log_ndtr(-40.0) == pytest.approx(-804.6084420137538, rel=1e-12)  # mpmath: log(ncdf(-40))
    assert cm.log1mexp(-1e-20) == pytest.approx(np.log(1e-20), rel=1e-12)
    assert cm.log1mexp(-50.0) == pytest.approx(-np.exp(-50.0), rel=1e-12)
    assert cm.inv_cloglog(-40.0) == pytest.approx(np.exp(-40.0), rel=1e-12)
    np.testing.assert_allclose(cm.softmax(np.array([1e4, 0.0])), [1.0, 0.0])
    assert cm.logsumexp(np.array([-1e4, -1e4])) == pytest.approx(-1e4 + np.log(2))


def test_they_are_told():
    m = cr.Model()
    a = m.latent("a", cr.Normal(0, 1), shape=3)
    assert repr(cm.softmax(a)) == "softmax(a)[3]"
    assert repr(cm.maximum(a, 0.0)) == "maximum(a, 0)[3]"
    assert repr(a[:, None]) == "a[:, None][3, 1]"


def test_picks_by_several_codes():
    """ability[person, item] as NumPy's, with its gradient; codes out of range and mixtures are named."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3, 4, 2))
    i, j = np.array([0, 2, 2, 1, 0]), np.array([3, 3, 3, 0, 3])
    m = cr.Model()
    m.dim("person", 3)
    m.dim("item", 4)
    person, item = m.data("i", i, dims="row", levels="person"), m.data("j", j, dims="row", levels="item")
    table = m.latent("table", cr.Normal(0, 1), dims=("person", "item"))
    node = table[person, item]
    assert repr(node) == "table[i, j][row:5]"
    np.testing.assert_allclose(check(node, [table], [x[..., 0]]), x[i, j, 0])
    np.testing.assert_allclose(check(table[i[:, None], [0, 1]], [table], [x[..., 0]]), x[i[:, None], [0, 1], 0])
    cube = m.latent("cube", cr.Normal(0, 1), shape=(3, 4, 2))
    np.testing.assert_allclose(check(cube[i, j], [cube], [x]), x[i, j])
    with pytest.raises(DataError, match="first axis of table"):
        table[item, person]
    with pytest.raises(DataError, match="second axis"):
        table[i, j + 1]
    with pytest.raises(ParameterError, match="not both"):
        table[i, :2]
    with pytest.raises(DataError, match="no axis to pick from"):
        table[i, j, i]
