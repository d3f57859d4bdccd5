"""Functions of the user's own in a model: by JAX against the same in operations, by differences; what is refused."""

import pickle
import sys

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError, MissingDependencyError, ParameterError, SaveError
from credo.program.evaluate import Program

X = np.linspace(0.0, 10.0, 12)
Y = 3.0 * (1.0 - np.exp(-0.4 * X)) + 0.2 * np.random.default_rng(0).normal(size=12)
TRACED = []


def rise(x, a, b):
    """A saturating curve, in whichever array module it is given; counts how often JAX traces it."""
    if type(x).__module__.startswith("jax"):
        import jax.numpy as jnp

        TRACED.append(x.shape)
        return a * (1.0 - jnp.exp(-b * x))
    return a * (1.0 - np.exp(-b * x))


def parts(m, data=True):
    x = m.data("x", X, dims="row") if data else X
    return x, m.latent("a", cr.Normal(0, 5)), m.latent("b", cr.HalfNormal(1)), m.latent("s", cr.HalfNormal(1))


def curve(kind, x=X, y=Y):
    m = cr.Model()
    at = m.data("x", x, dims="row")
    a, b, s = m.latent("a", cr.Normal(0, 5)), m.latent("b", cr.HalfNormal(1)), m.latent("s", cr.HalfNormal(1))
    if kind == "operations":
        mean = m.deterministic("mean", a * (1.0 - cr.math.exp(-b * at)))
    else:
        mean = m.deterministic("mean", rise, at, a, b, dims="row", gradient=kind)
    m.observed("y", cr.Normal(mean, s), y, dims="row")
    return m


def density(m):
    from credo.program.fitting import full_target
    from credo.program.plan import plan_of

    return full_target(plan_of(m, "nuts"))


@pytest.mark.parametrize("kind", ["jax", "differences"])
def test_the_same_density_and_gradient(kind):
    if kind == "jax":
        pytest.importorskip("jax")
    one, two = density(curve(kind)), density(curve("operations"))
    rng = np.random.default_rng(1)
    for _ in range(10):
        x = np.abs(rng.normal(size=3)) + 0.05
        got, expected = one.evaluate(x, gradient=True), two.evaluate(x, gradient=True)
        assert got.log_density == pytest.approx(expected.log_density, rel=1e-13)
        np.testing.assert_allclose(got.gradient, expected.gradient, rtol=1e-12 if kind == "jax" else 1e-7)


@pytest.mark.parametrize("kind", ["jax", "differences"])
def test_the_same_posterior(kind):
    """Quadrature, which evaluates many draws at once; then predictions at another size."""
    if kind == "jax":
        pytest.importorskip("jax")
    one, two = curve(kind).fit(random_state=0), curve("operations").fit(random_state=0)
    for name in "bs":  # by quadrature, which promises 1e-3 sds
        assert one.mean[name] == pytest.approx(two.mean[name], abs=2e-3 * two.sd[name])
    # In operations a is collapsed, its mean one over 4,000 draws of the rest: 4 of its Monte Carlo errors.
    assert one.mean["a"] == pytest.approx(two.mean["a"], abs=4 * two.sd["a"] / np.sqrt(4000))
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-3)
    assert one["mean"].shape == (4000, 12)
    predicted = one.predict(x=[1.0, 2.0, 4.0])
    by_hand = [np.mean(rise(x, one["a"], one["b"])) for x in (1.0, 2.0, 4.0)]
    np.testing.assert_allclose(predicted.mean, by_hand, atol=4 * np.max(predicted.sd) / np.sqrt(4000))


def test_compiled_once_per_shape():
    """Another fit, other data of the same shape, and predictions again: nothing is traced anew."""
    pytest.importorskip("jax")
    curve("jax").fit(random_state=0)
    before = len(TRACED)
    found = curve("jax", y=Y + 1.0, x=X + 0.5).fit(random_state=0)
    # A model's shapes are found by tracing, which compiles nothing: one for each declaration.
    assert len(TRACED) - before == 1
    found.predict(x=[1.0, 2.0])
    seen = len(TRACED)
    found.predict(x=[3.0, 4.0])
    found.predict(x=[5.0, 6.0])
    assert len(TRACED) == seen


def test_a_potential_of_ones_own():
    """A whole log density in JAX: a Normal mean and sd with conjugate answers."""
    jnp = pytest.importorskip("jax.numpy")
    y = np.random.default_rng(2).normal(2.0, 1.0, size=40)
    m = cr.Model()
    data = m.data("y", y, dims="row")
    mu = m.latent("mu", cr.Normal(0, 10))
    m.potential("loglik", lambda y, mu: -0.5 * jnp.sum((y - mu) ** 2), data, mu)
    found = m.fit(random_state=0)
    precision = 40 + 0.01
    assert found.mean["mu"] == pytest.approx(y.sum() / precision, abs=1e-3 * precision**-0.5)
    assert found.sd["mu"] == pytest.approx(precision**-0.5, rel=1e-3)


def test_codes_come_as_integers():
    jnp = pytest.importorskip("jax.numpy")
    codes = np.array([0, 2, 1, 1, 0])
    m = cr.Model()
    g = m.data("g", codes, dims="row")
    u = m.latent("u", cr.Normal(0, 1), shape=3)
    node = cr.math.call(lambda u, g: jnp.asarray(u)[g], u, g, dims="row")
    (out,), pull = Program([node], [u]).value_and_pull({u.number: np.arange(3.0)})
    np.testing.assert_array_equal(out, codes)
    np.testing.assert_array_equal(pull([np.ones(5)])[u.number], [2.0, 2.0, 1.0])


def test_many_draws_at_once():
    """More rows than a bucket, with arguments that vary and that do not, of any number of axes."""
    jnp = pytest.importorskip("jax.numpy")
    m = cr.Model()
    A, b = m.latent("A", cr.Normal(0, 1), shape=(2, 3)), m.latent("b", cr.Normal(0, 1))
    node = cr.math.call(lambda A, c, b: A @ c + b, A, np.arange(3.0), b)
    rng = np.random.default_rng(3)
    for n in (1, 5, 16, 17, 1025):
        rows = {A.number: rng.normal(size=(n, 2, 3)), b.number: rng.normal(size=n)}
        got = Program([node], [A, b]).values(rows, lead=True)[0]
        np.testing.assert_allclose(got, rows[A.number] @ np.arange(3.0) + rows[b.number][:, None], rtol=1e-13)
    assert jnp.ones(1).dtype == np.float32  # the user's own setting is left alone


def test_ranges_are_what_was_said():
    pytest.importorskip("jax")
    m = cr.Model()
    x, a, b, _ = parts(m)
    with pytest.raises(ParameterError, match="rate"):
        m.observed("n", cr.Poisson(cr.math.call(rise, x, a, b)), np.ones(12, dtype=int))
    rate = m.deterministic("rate", rise, x, a, b, dims="row", low=0.0)
    assert rate.bounds == (0.0, np.inf)
    m.observed("n", cr.Poisson(rate), np.ones(12, dtype=int), dims="row")
    assert "rate[row:12] = rise(x, a, b)" in repr(m)


def test_without_jax_the_error_names_the_extra(monkeypatch):
    m = cr.Model()
    x, a, b, _ = parts(m)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'credo\[programs\]'"):
        m.deterministic("mean", rise, x, a, b)
    m.deterministic("mean", rise, x, a, b, gradient="differences")


def test_what_jax_cannot_follow_is_told():
    pytest.importorskip("jax")
    m = cr.Model()
    x, a, _, _ = parts(m)
    with pytest.raises(ParameterError, match=r"jax\.numpy.*gradient=\"differences\""):
        m.deterministic("mean", lambda x, a: np.exp(a) * x, x, a)
    with pytest.raises(ParameterError, match=r"without `if`"):
        m.deterministic("mean", lambda x, a: x if a > 0 else -x, x, a)
    with pytest.raises(ParameterError, match="ZeroDivisionError"):
        m.deterministic("mean", lambda x, a: a * (1 / 0), x, a)


def test_declarations_are_checked():
    pytest.importorskip("jax")
    m = cr.Model()
    x, a, b, _ = parts(m)
    with pytest.raises(DataError, match="2 dims"):
        m.deterministic("mean", rise, x, a, b, dims=("row", "column"))
    m.dim("short", 3)
    with pytest.raises(DataError, match="short"):
        m.deterministic("mean", rise, x, a, b, dims="short")
    with pytest.raises(ParameterError, match="gradient"):
        m.deterministic("mean", rise, x, a, b, gradient="none")
    with pytest.raises(ParameterError, match="a function"):
        m.deterministic("mean", a, b)
    with pytest.raises(ParameterError, match="given the nodes"):
        m.deterministic("mean", rise)
    with pytest.raises(DataError, match="different model"):
        m.potential("p", rise, cr.Model().latent("z", cr.Normal(0, 1)), a, b)
    assert "mean" not in m.nodes


def test_a_file_does_not_keep_code(tmp_path):
    pytest.importorskip("jax")
    m = curve("jax")
    with pytest.raises(SaveError, match="holds a function of yours"):
        cr.save(m, tmp_path / "model.credo")
    found = m.fit("laplace", draws=100, random_state=0)
    cr.save(found, tmp_path / "posterior.credo")  # the draws are kept
    loaded = cr.load(tmp_path / "posterior.credo")
    np.testing.assert_array_equal(loaded["a"], found["a"])
    assert loaded.model is None
    again = pickle.loads(pickle.dumps(m))  # Python's own way does, for functions of a module
    assert density(again).evaluate(np.ones(3)).log_density == density(m).evaluate(np.ones(3)).log_density


def test_nothing_else_imports_jax():
    """Models without functions of the user's do not pay for it."""
    import subprocess

    code = (
        "import sys, credo as cr; cr.math.erf(cr.Model().latent('a', cr.Normal(0, 1))); assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_classifier():
    """P(y | x) = σ(y f(x; θ)): as a Bernoulli law in operations, of a function, and as a potential of one's own."""
    jnp = pytest.importorskip("jax.numpy")
    rng = np.random.default_rng(5)
    x = rng.uniform(-4, 4, size=40)
    label = rng.uniform(size=40) < 1 / (1 + np.exp(x**2 / 2 - 2))

    def bump(x, centre, width):
        return 2.0 - ((x - centre) / width) ** 2

    targets = []
    for kind in ("operations", "function", "potential"):
        m = cr.Model()
        at = m.data("x", x, dims="row")
        centre, width = m.latent("centre", cr.Normal(0, 3)), m.latent("width", cr.HalfNormal(2))
        if kind == "potential":
            sign = m.data("sign", np.where(label, 1.0, -1.0), dims="row")
            f = lambda y, x, c, w: -jnp.sum(jnp.logaddexp(0.0, -y * bump(x, c, w)))
            m.potential("log_likelihood", f, sign, at, centre, width)
        else:
            f = bump(at, centre, width) if kind == "operations" else cr.math.call(bump, at, centre, width)
            m.observed("label", cr.Bernoulli(cr.math.expit(f)), label, dims="row")
        targets.append(density(m))
    for z in rng.normal(size=(5, 2)):
        each = [target.evaluate(np.array([z[0], np.exp(z[1])]), gradient=True) for target in targets]
        for other in each[1:]:
            assert other.log_density == pytest.approx(each[0].log_density, rel=1e-12)
            np.testing.assert_allclose(other.gradient, each[0].gradient, rtol=1e-10)
