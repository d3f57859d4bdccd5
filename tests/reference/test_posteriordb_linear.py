"""Gaussian regressions of posteriordb: exact moments tightly, reference draws within four Monte Carlo errors.

`exact` holds moments computed in closed form or by quadrature; `parameters` what ten published chains gave
(stan-dev/posteriordb, BSD-3). Run with CREDO_REFERENCE_DATA naming the data folder.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import credo as cr

DATA = Path(os.environ["CREDO_REFERENCE_DATA"]) / "posteriordb"
FLAT = cr.noise.Normal(scale_prior=cr.Flat())


def numbers(name):
    return {key: np.asarray(value, dtype=float) if np.ndim(value) else value for key, value in data(name).items()}


def data(name):
    return json.loads((DATA / "data" / f"{name}.json").read_text())


def columns(table, *names):
    return np.column_stack([table[name] for name in names])


def earnings(transform, *names):
    table = numbers("earnings")
    table["interaction"] = table["height"] * table["male"]
    return columns(table, *names), transform(table["earn"]), {"prior": cr.Flat(), "noise": FLAT}


def kidiq(*names):
    table = numbers("kidiq")
    table["interaction"] = table["mom_hs"] * table["mom_iq"]
    noise = cr.noise.Normal(scale_prior=cr.HalfCauchy(2.5))
    return columns(table, *names), table["kid_score"], {"prior": cr.Flat(), "noise": noise}


def mesquite(columns_of, transform=np.log):
    table = numbers("mesquite")
    return np.column_stack(columns_of(table)), transform(table["weight"]), {"prior": cr.Flat(), "noise": FLAT}


def nes(year):
    table = numbers(f"nes{year}")
    ages = [(table["age_discrete"] == level).astype(float) for level in (2, 3, 4)]
    X = np.column_stack(
        [table["real_ideo"], table["race_adj"], *ages, table["educ1"], table["gender"], table["income"]]
    )
    return X, table["partyid7"], {"prior": cr.Flat(), "noise": FLAT}


def autoregression():
    y = np.asarray(data("arK")["y"], dtype=float)
    X = np.column_stack([y[5 - k : len(y) - k] for k in range(1, 6)])
    noise = cr.noise.Normal(scale_prior=cr.HalfCauchy(2.5))
    return X, y[5:], {"prior": cr.Normal(0, 10), "prior_intercept": cr.Normal(0, 10), "noise": noise}


def sblrc():
    table = numbers("sblrc")
    noise = cr.noise.Normal(scale_prior=cr.HalfNormal(10))
    return table["X"], table["y"], {"prior": cr.Normal(0, 10), "fit_intercept": False, "noise": noise}


def kilpisjarvi():
    table = numbers("kilpisjarvi_mod")
    return table["x"][:, None], table["y"], {
        "prior": cr.Normal(float(table["pmubeta"]), float(table["psbeta"])),
        "prior_intercept": cr.Normal(float(table["pmualpha"]), float(table["psalpha"])), "noise": FLAT,
    }  # fmt: skip


def radon():
    table = numbers("radon_mn")
    noise = cr.noise.Normal(scale_prior=cr.HalfNormal(1))
    return table["floor_measure"][:, None], table["log_radon"], {
        "prior": cr.Normal(0, 10), "prior_intercept": cr.Normal(0, 10), "noise": noise
    }  # fmt: skip


def shape(t):
    return [np.log(t[name]) for name in ("diam1", "diam2", "canopy_height", "total_height", "density")]


def volume(t):
    return np.log(t["diam1"] * t["diam2"] * t["canopy_height"])


CASES = {
    "arK-arK": autoregression,
    "earnings-earn_height": lambda: earnings(np.asarray, "height"),
    "earnings-logearn_height": lambda: earnings(np.log, "height"),
    "earnings-logearn_height_male": lambda: earnings(np.log, "height", "male"),
    "earnings-logearn_interaction": lambda: earnings(np.log, "height", "male", "interaction"),
    "kidiq-kidscore_interaction": lambda: kidiq("mom_hs", "mom_iq", "interaction"),
    "kidiq-kidscore_momhs": lambda: kidiq("mom_hs"),
    "kidiq-kidscore_momhsiq": lambda: kidiq("mom_hs", "mom_iq"),
    "kidiq-kidscore_momiq": lambda: kidiq("mom_iq"),
    "kilpisjarvi_mod-kilpisjarvi": kilpisjarvi,
    "mesquite-logmesquite": lambda: mesquite(lambda t: [*shape(t), t["group"]]),
    "mesquite-logmesquite_logva": lambda: mesquite(lambda t: [volume(t), np.log(t["diam1"] * t["diam2"]), t["group"]]),
    "mesquite-logmesquite_logvolume": lambda: mesquite(lambda t: [volume(t)]),
    "mesquite-mesquite": lambda: mesquite(
        lambda t: [t[n] for n in ("diam1", "diam2", "canopy_height", "total_height", "density", "group")], np.asarray
    ),
    "nes1972-nes": lambda: nes(1972),
    "nes1980-nes": lambda: nes(1980),
    "nes1988-nes": lambda: nes(1988),
    "nes1996-nes": lambda: nes(1996),
    "sblrc-blr": sblrc,
}


def moments(model):
    """Mean and sd of (intercept, coefficients, noise scale), in the order of the references."""
    p = model.posterior_
    level = [] if not model.fit_intercept else [p.intercept]
    mean = np.concatenate([[a.mean for a in level], p.mean, [p.noise_scale.mean]])
    return mean, np.concatenate([[a.sd for a in level], p.sd, [p.noise_scale.sd]])


def reference(folder, name):
    return json.loads((DATA / folder / f"{name}.json").read_text())


@pytest.mark.parametrize("name", CASES)
def test_reference(name):
    X, y, parameters = CASES[name]()
    model = cr.LinearRegression(**parameters).fit(X, y)
    assert model.result_.inference in ("exact", "collapsed")
    mean, sd = moments(model)
    known = reference("reference", name)
    exact = known["exact"]["parameters"] if "parameters" in known["exact"] else known["exact"]
    names = list(known["parameters"])
    # figures are published to some ten digits, and quadrature settles to 1e-9
    np.testing.assert_allclose((mean - [exact[n]["mean"] for n in names]) / sd, 0.0, atol=1e-5)
    np.testing.assert_allclose(sd, [exact[n]["sd"] for n in names], rtol=1e-5)
    drawn = known["parameters"]
    error = np.array([drawn[n]["mcse_mean"] for n in names])
    assert np.all(np.abs(mean - [drawn[n]["mean"] for n in names]) < 4.0 * error)


def test_own_reference():
    X, y, parameters = radon()
    mean, sd = moments(cr.LinearRegression(**parameters).fit(X, y))
    known = reference("reference_own", "radon_mn-radon_pooled")["parameters"]
    np.testing.assert_allclose((mean - [known[n]["mean"] for n in known]) / sd, 0.0, atol=4e-4)
