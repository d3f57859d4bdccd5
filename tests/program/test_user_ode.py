"""Ordinary differential equations in a model: against SciPy's solver, by differences; hare and lynx of posteriordb."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import credo as cr
from credo.errors import DataError, ParameterError
from credo.program.evaluate import Program

DATA = json.loads((Path(__file__).parents[1] / "data" / "user" / "hudson_lynx_hare.json").read_text())


def lotka_volterra(z, t, theta):
    hare, lynx = z
    return [(theta[0] - theta[1] * lynx) * hare, (-theta[2] + theta[3] * hare) * lynx]


def solved(model, start, theta, steps):
    times = model.data("times", np.array(DATA["years"], dtype=float), dims="year")
    return cr.math.odeint(lotka_volterra, start, times, theta, steps=steps, dims=("year", "species"), low=0.0)


def test_the_solution_and_its_slopes():
    pytest.importorskip("jax")
    m = cr.Model()
    m.dim("species", ["hare", "lynx"])
    start = m.latent("start", cr.LogNormal(2, 1), dims="species")
    theta = m.latent("theta", cr.HalfNormal(1), shape=4)
    here = {start.number: np.array([34.0, 6.0]), theta.number: np.array([0.55, 0.028, 0.8, 0.024])}
    program = Program([solved(m, start, theta, 16)], [start, theta])
    (out,), pull = program.value_and_pull(here)
    exact = solve_ivp(lambda t, z: lotka_volterra(z, t, here[theta.number]), (0, 20), here[start.number],
                      t_eval=DATA["years"], rtol=1e-11, atol=1e-11).y.T  # fmt: skip
    np.testing.assert_allclose(out, exact, rtol=1e-5)  # order 4: (1/16)⁴ is 1.5e-5
    seed = np.random.default_rng(0).normal(size=out.shape)
    back = pull([seed])
    for node in (start, theta):
        for i in range(node.size):
            ends = []
            for sign in (1.0, -1.0):
                moved = {k: np.array(v) for k, v in here.items()}
                step = 1e-5 * moved[node.number][i]
                moved[node.number][i] += sign * step
                ends.append(np.sum(seed * program.values(moved)[0]))
            assert back[node.number][i] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


def test_order_four():
    """Twice the steps, a sixteenth of the error."""
    pytest.importorskip("jax")
    m = cr.Model()
    rate = m.latent("rate", cr.HalfNormal(1))
    errors = []
    for steps in (4, 8, 16):
        node = cr.math.odeint(lambda y, t, rate: -rate * y, 1.0, np.array([0.0, 1.0, 3.0]), rate, steps=steps)
        assert node.shape == (3,)
        values = Program([node], [rate]).values({rate.number: np.array(1.0)})[0]
        errors.append(abs(values[-1] - np.exp(-3.0)))
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.25)
    assert errors[1] / errors[2] == pytest.approx(16, rel=0.15)


def test_declarations_are_checked():
    pytest.importorskip("jax")
    m = cr.Model()
    rate = m.latent("rate", cr.HalfNormal(1))
    slope = lambda y, t, rate: -rate * y
    with pytest.raises(DataError, match="times must rise"):
        cr.math.odeint(slope, 1.0, [0.0, 2.0, 1.0], rate)
    with pytest.raises(DataError, match="times a vector"):
        cr.math.odeint(slope, 1.0, 2.0, rate)
    with pytest.raises(ParameterError, match="steps"):
        cr.math.odeint(slope, 1.0, [0.0, 2.0], rate, steps=0)
    with pytest.raises(ParameterError, match=r"math\.odeint"):
        cr.math.odeint(1.0, 1.0, [0.0, 2.0], rate)


@pytest.mark.slow
def test_hare_and_lynx(replicates):
    """Eight numbers by importance sampling, certified. Sixteen comparisons at 4 Monte Carlo errors: one false alarm in
    1,000 runs."""
    pytest.importorskip("jax")
    m = cr.Model()
    m.dim("species", ["hare", "lynx"])
    centre, spread = np.array([1.0, 0.05, 1.0, 0.05]), np.array([0.5, 0.05, 0.5, 0.05])
    theta = m.latent("theta", cr.Normal(centre, spread), low=0.0)
    sigma = m.latent("sigma", cr.LogNormal(-1, 1), dims="species")
    start = m.latent("z_init", cr.LogNormal(np.log(10), 1), dims="species")
    z = solved(m, start, theta, replicates(8, 16))
    m.observed("pelts", cr.LogNormal(cr.math.log(z), sigma), DATA["pelts"], dims=("year", "species"))
    found = m.fit(random_state=0)
    assert found.explain().treatment["theta"] == "importance"
    effective = found.result.certificate["effective"]
    for label, known in DATA["reference"].items():
        name, place = label.rstrip("]").split("[")
        mean, sd = found.mean[name][int(place) - 1], found.sd[name][int(place) - 1]
        error = known["sd"] * np.hypot(known["ess_bulk"] ** -0.5, effective**-0.5)
        assert abs(mean - known["mean"]) < 4 * error, label
        assert abs(sd - known["sd"]) < 4 * error, (
            label
        )  # an sd is known to 0.7 of that for Normal tails, to 1 for longer
