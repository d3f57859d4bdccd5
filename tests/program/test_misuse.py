"""What a user can do wrong to a `Model`: every failure is a named error that says what to do."""

import numpy as np
import pytest

import credo as cr
from credo.errors import CredoError, DataError, NotIdentifiedError, ParameterError

GAMMA, BETA, SIMPLEX = cr.Gamma(shape=2.0, rate=1.0), cr.Beta(2.0, 1.0), cr.Dirichlet([1.0, 1.0, 1.0])
IMPOSSIBLE = {
    "Poisson below 0": (GAMMA, cr.Poisson, [3, -1], [1]),
    "Poisson not whole": (GAMMA, cr.Poisson, [2.5, 3.0], [0]),
    "Binomial above n": (BETA, lambda p: cr.Binomial(3, p), [1, 5, 0], [1]),
    "Binomial above its own n": (BETA, lambda p: cr.Binomial(np.array([3, 9, 3]), p), [1, 5, 4], [2]),
    "BetaBinomial above n": (GAMMA, lambda a: cr.BetaBinomial(3, a, 1.0), [4], [0]),
    "Exponential below 0": (GAMMA, cr.Exponential, [1.5, -1.0], [1]),
    "Gamma below 0": (GAMMA, lambda r: cr.Gamma(shape=2.0, rate=r), [-1.0, 1.0], [0]),
    "Gamma of shape 2 at 0": (GAMMA, lambda r: cr.Gamma(shape=2.0, rate=r), [1.0, 0.0], [1]),
    "InverseGamma at 0": (GAMMA, lambda r: cr.InverseGamma(shape=2.0, scale=r), [0.0], [0]),
    "LogNormal at 0": (GAMMA, lambda s: cr.LogNormal(0.0, s), [0.0], [0]),
    "Beta above 1": (GAMMA, lambda a: cr.Beta(a, 1.0), [0.5, 1.5], [1]),
    "Geometric below 0": (BETA, cr.Geometric, [-1, 2], [0]),
    "Bernoulli 3": (BETA, cr.Bernoulli, [1, 0, 3], [2]),
    "Categorical k": (SIMPLEX, cr.Categorical, [0, 3], [1]),
    "Categorical below 0": (SIMPLEX, cr.Categorical, [-1, 1], [0]),
    "Multinomial of another n": (SIMPLEX, lambda p: cr.Multinomial(3, p), [1, 1, 2], [0, 1, 2]),
    "Poisson of exposure 0": (GAMMA, lambda q: cr.Poisson(np.array([0.0, 2.0]) * q), [1, 5], [0]),
    "in a matrix": (GAMMA, cr.Poisson, [[1, 2], [3, -4]], [1]),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_data_name_their_rows(name):
    """A latent parameter does not hide a value that it cannot have produced."""
    prior, law, y, rows = IMPOSSIBLE[name]
    m = cr.Model()
    q = m.latent("q", prior)
    with pytest.raises(DataError) as caught:
        m.observed("y", law(q), y)
    assert caught.value.rows == rows


def test_possible_data_at_the_ends_are_accepted():
    """Ends of supports, an n that is data, missing cells, and a latent end as wide as it may be."""
    m = cr.Model()
    p, q, r = m.latent("p", BETA), m.latent("q", SIMPLEX), m.latent("r", GAMMA)
    n = m.data("n", [3, 0, 7])
    m.observed("a", cr.Binomial(n, p), [3, 0, 0])
    m.observed("b", cr.Categorical(q), [0, 2])
    m.observed("c", cr.Exponential(r), [0.0, np.nan])
    m.observed("d", cr.Bernoulli(p), [True, False])
    m.observed("e", cr.Uniform(0.0, r), [2.0])
    with pytest.raises(DataError, match="outside the support of Binomial"):
        m.observed("f", cr.Binomial(n, p), [3, 1, 0])
    with pytest.raises(DataError, match="outside the support of Uniform"):
        m.observed("g", cr.Uniform(0.0, r), [-1.0])


def base():
    m = cr.Model()
    g = m.data("g", ["a", "b", "a"], dims="o", levels="G")
    x = m.data("x", [1.0, 2, 3], dims="o")
    mu = m.latent("mu", cr.Normal(0, 1))
    a = m.latent("a", cr.Normal(mu, 1.0), dims="G")
    m.observed("y", cr.Normal(a[g] + x, 1.0), [1.0, 2, 3], dims="o")
    return m, mu, a


@pytest.fixture(scope="module")
def fitted():
    return base()[0].fit(draws=50, random_state=0)


DECLARATIONS = {
    "dims 3": lambda: cr.Model().data("x", [1.0, 2], dims=3),
    "shape 2.5": lambda: cr.Model().latent("x", cr.Normal(0, 1), shape=2.5),
    "shape text": lambda: cr.Model().latent("x", cr.Normal(0, 1), shape="ab"),
    "shape −2": lambda: cr.Model().latent("x", cr.Normal(0, 1), shape=-2),
    "shape 0": lambda: cr.Model().latent("x", cr.Normal(0, 1), shape=(2, 0)),
    "size 2.5": lambda: cr.Model().dim("G", 2.5),
    "size text": lambda: cr.Model().dim("G", "abc"),
    "size None": lambda: cr.Model().dim("G", None),
    "size True": lambda: cr.Model().dim("G", True),
    "dim without a name": lambda: cr.Model().dim(3, 2),
    "low text": lambda: cr.Model().latent("x", cr.Normal(0, 1), low="a"),
    "high NaN": lambda: cr.Model().latent("x", cr.Normal(0, 1), high=np.nan),
    "labels twice": lambda: cr.Model().dim("G", ["a", "a", "b"]),
    "labels of two kinds": lambda: cr.Model().data("g", ["a", 1, "b"], levels="G"),
    "labels of two kinds, objects": lambda: cr.Model().data("g", np.array(["a", 1], dtype=object), levels="G"),
    "label NaN beside text": lambda: cr.Model().data("g", ["a", np.nan], levels="G"),
    "label None": lambda: cr.Model().dim("G", ["a", None]),
    "label masked": lambda: cr.Model().data("g", np.ma.array([1, 2], mask=[False, True]), levels="G"),
    "ragged labels": lambda: cr.Model().data("g", [["a"], ["b", "c"]], levels="G"),
    "no labels": lambda: cr.Model().data("g", [], levels="G"),
    "another model's law": lambda: cr.Model().latent("b", cr.Normal(base()[1], 1.0)),
    "another model's mean": lambda: cr.Model().observed("b", cr.Normal(base()[1], 1.0), [1.0]),
    "another model's expression": lambda: cr.Model().deterministic("b", base()[1] + 1.0),
    "another model's potential": lambda: cr.Model().potential("b", base()[1] + 1.0),
    "concat of nothing": lambda: cr.math.concat(),
    "exp of text": lambda: cr.math.exp("a"),
    "reshape 0": lambda: base()[2].reshape(0, 2),
    "draws −1": lambda: base()[0].sample_prior(-1),
    "draws 2.5": lambda: base()[0].sample_prior(2.5),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_declarations(name):
    with pytest.raises((ParameterError, DataError)):
        DECLARATIONS[name]()


@pytest.mark.parametrize(
    "use", [float, int, list, len, bool, np.exp, np.sin, np.maximum.reduce, lambda a: a < 0, lambda a: a >= 0,
            lambda a: np.ones(2) < a],
)  # fmt: skip
def test_a_node_is_no_number(use):
    """`TypeError`, as Python's own would be, or a condition's `ValueError`; both are Credo's."""
    with pytest.raises(CredoError):
        use(base()[1])


def test_numpy_functions_name_those_of_nodes():
    with pytest.raises(TypeError, match=r"cr\.math\.exp"):
        np.exp(base()[1])


def test_numpy_leaves_arithmetic_to_nodes():
    """Arrays and NumPy's numbers on the left of every operator, and its functions of that name."""
    _, mu, a = base()
    two = np.array([1.0, 2.0])
    for node in (two + a, two - a, two * a, two / a, two**a, np.float64(2.0) * a, np.add(two, a), np.negative(a)):
        assert node.shape == (2,)
    assert (two @ a).shape == (np.ones((3, 2)) @ a)[0].shape == ()
    assert repr(np.float64(2.0) - mu) == "2 - mu[]"
    assert a != two.sum()
    assert not np.any(two == a)


PREDICTIONS = {
    "x of 2 rows, g of 3": ({"x": [1.0, 2.0]}, "Give new values of g too"),
    "x of 1 row, g of 3": ({"x": [1.0]}, "Give new values of g too"),
    "label None": ({"x": [1.0, 2.0], "g": ["a", None]}, "missing, in row 1"),
    "label NaN": ({"x": [1.0, 2.0], "g": ["a", np.nan]}, "missing, in row 1"),
    "labels of another kind": ({"x": [1.0], "g": [1]}, "are numbers.*are text"),
    "labels of two kinds": ({"x": [1.0, 2.0], "g": ["a", 1]}, "together"),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_new_data_that_do_not_fit(fitted, name):
    new, message = PREDICTIONS[name]
    with pytest.raises(DataError, match=message):
        fitted.predict(**new)


def test_numbers_are_no_text():
    """Levels "1", "2" against 1, 2, both ways round."""
    for labels, new in ((["1", "2"], [1, 2]), ([1, 2], ["1", "2"])):
        m = cr.Model()
        g = m.data("g", labels, levels="G")
        a = m.latent("a", cr.Normal(0, 1.0), dims="G")
        m.observed("y", cr.Normal(a[g], 0.1), [1.0, 2.0])
        p = m.fit(draws=20, random_state=0)
        with pytest.raises(DataError, match="text"):
            p.predict(g=new)
        assert p.predict(g=np.asarray(labels)).mean.shape == (2,)


def test_arrays_without_names_that_do_not_fit():
    """A constant sd per row, and a known n per row, cannot follow new rows."""
    m = cr.Model()
    x = m.data("x", [1.0, 2.0, 3.0])
    a = m.latent("a", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * x, np.array([1.0, 2.0, 3.0])), [1.0, 2, 3])
    with pytest.raises(DataError, match="sd of y has shape"):
        m.fit(draws=20).predict(x=[1.0, 2.0])
    m = cr.Model()
    x = m.data("x", [1.0, 2.0, 3.0])
    a = m.latent("a", cr.Normal(0, 1))
    m.observed("y", cr.Normal(a * x * np.array([1.0, 2.0, 3.0]), 1.0), [1.0, 2, 3])
    with pytest.raises(DataError, match="cannot be computed"):
        m.fit(draws=20).predict(x=[1.0, 2.0])


def test_columns_of_pyarrow():
    """Text, bool and nulls, which pyarrow does not give up without a copy."""
    pa = pytest.importorskip("pyarrow")
    m = cr.Model()
    g = m.data("g", pa.array(["u", "v", "u", "v"]), dims="row", levels="G")
    x = m.data("x", pa.chunked_array([[1.0, 2.0], [3.0, 4.0]]), dims="row")
    a = m.latent("a", cr.Normal(0, 1), dims="G")
    m.observed("y", cr.Normal(a[g] + x, 1.0), pa.array([1.0, None, 2.0, 3.0]), dims="row")
    m.observed("z", cr.Bernoulli(cr.math.expit(a[g])), pa.array([True, False, True, None]), dims="row")
    np.testing.assert_array_equal(x.value, [1.0, 2.0, 3.0, 4.0])
    assert [len(f.missing) for f in m.factors if f.observed] == [1, 1]


def test_sparse_matrices_are_refused_by_name():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    m = cr.Model()
    with pytest.raises(ParameterError, match="toarray"):
        m.data("X", scipy_sparse.eye_array(3))
    with pytest.raises(ParameterError, match="toarray"):
        m.latent("w", cr.Normal(0, 1), shape=3) * scipy_sparse.eye_array(3)


def test_a_flat_prior_that_the_data_do_not_bound_is_named():
    """Counts of exp(a + b) know the sum alone; three successes out of three bound no logit; three effects of which a
    scale's logarithm is flat allow it to go to −∞."""
    sums, only, spread = cr.Model(), cr.Model(), cr.Model()
    a, b = sums.latent("a", cr.Flat()), sums.latent("b", cr.Flat())
    sums.observed("y", cr.Poisson(cr.math.exp(a + b)), [1, 2, 4])
    only.observed("y", cr.Bernoulli(cr.math.expit(only.latent("eta", cr.Flat()))), [1, 1, 1])
    effects = spread.latent("u", cr.Normal(0, cr.math.exp(spread.latent("log_sd", cr.Flat()))), shape=3)
    spread.observed("y", cr.Normal(effects, 1.0), [0.0, 1.0, 2.0])
    for model, names in ((sums, "a, b"), (only, "eta"), (spread, "log_sd")):
        with pytest.raises(NotIdentifiedError, match=f"do not determine {names}, whose prior is flat"):
            model.fit(random_state=0)
