"""NIST's non-linear regressions as models under flat priors: modes from both starts, to the certified digits."""

import json
from pathlib import Path

import numpy as np
import pytest

import credo as cr
from credo.program import math as cm

DATA = Path(__file__).parents[1] / "data" / "nist_nls"
PI = np.pi
CURVES = {
    "misra1a": lambda x, b: b[0] * (1 - cm.exp(-b[1] * x)),
    "chwirut2": lambda x, b: cm.exp(-b[0] * x) / (b[1] + b[2] * x),
    "danwood": lambda x, b: b[0] * x ** b[1],
    "eckerle4": lambda x, b: b[0] / b[1] * cm.exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    "enso": lambda x, b: (
        b[0] + b[1] * cm.cos(PI * x / 6) + b[2] * cm.sin(PI * x / 6) + b[4] * cm.cos(2 * PI * x / b[3])
        + b[5] * cm.sin(2 * PI * x / b[3]) + b[7] * cm.cos(2 * PI * x / b[6]) + b[8] * cm.sin(2 * PI * x / b[6])
    ),
    "gauss1": lambda x, b: (
        b[0] * cm.exp(-b[1] * x) + b[2] * cm.exp(-((x - b[3]) ** 2) / b[4] ** 2)
        + b[5] * cm.exp(-((x - b[6]) ** 2) / b[7] ** 2)
    ),
    "rat43": lambda x, b: b[0] / (1 + cm.exp(b[1] - b[2] * x)) ** (1 / b[3]),
    "thurber": lambda x, b: (
        (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)
    ),
}  # fmt: skip


def regression(name):
    """y ~ Normal(f(x; b), σ), all flat, and what is certified."""
    certified = json.loads((DATA / f"{name}.json").read_text())
    y, x = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1).T
    m = cr.Model()
    at = m.data("x", x, dims="row")
    b = [m.latent(each, cr.Flat()) for each in certified["parameters"]]
    sigma = m.latent("sigma", cr.Flat(), low=0.0)
    m.observed("y", cr.Normal(CURVES[name](at, b), sigma), y, dims="row")
    return m, certified


@pytest.mark.parametrize("start", ["start1", "start2"])
@pytest.mark.parametrize("name", CURVES)
def test_modes_have_the_certified_digits(name, start):
    """The mode of flat coefficients is the least-squares estimate, that of σ √(RSS/n). NIST certifies 11 digits, asks
    for 6; the residual sum of squares is certified too, so that a mirrored or local mode would be seen."""
    m, certified = regression(name)
    first = {each: value[start] for each, value in certified["parameters"].items()}
    found = m.fit("map", initial=first, random_state=0)
    assert found.result.status == "converged"
    for each, value in certified["parameters"].items():
        assert found.values[each] == pytest.approx(value["estimate"], rel=1e-9), each
    assert found.values["sigma"] == pytest.approx(np.sqrt(certified["residual_ss"] / certified["n_obs"]), rel=1e-8)


def test_what_a_start_cannot_reach_is_said():
    """A peak looked for where nothing is: the density there is flat in its place and width."""
    m, _ = regression("eckerle4")
    with pytest.warns(cr.errors.ConvergenceWarning, match="flat or rising along"):
        found = m.fit("map", initial={"b1": 1.0, "b2": 1.0, "b3": 5000.0, "sigma": 0.1}, random_state=0)
    assert found.result.status == "not_identified"


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_do_not_matter(unit):
    """Rat43 with y and x in other units: the same mode, in these units."""
    certified = json.loads((DATA / "rat43.json").read_text())["parameters"]
    y, x = np.loadtxt(DATA / "rat43.csv", delimiter=",", skiprows=1).T
    m = cr.Model()
    b = [m.latent(each, cr.Flat()) for each in certified]
    sigma = m.latent("sigma", cr.Flat(), low=0.0)
    m.observed("y", cr.Normal(CURVES["rat43"](x / unit, b), sigma), y * unit)
    scales = {"b1": unit, "b2": 1.0, "b3": unit, "b4": 1.0}
    first = {each: value["start2"] * scales[each] for each, value in certified.items()}
    found = m.fit("map", initial={**first, "sigma": 10.0 * unit}, random_state=0)
    for each, value in certified.items():
        assert found.values[each] == pytest.approx(value["estimate"] * scales[each], rel=1e-6), each
