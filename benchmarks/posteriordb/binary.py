"""Binary responses: the dogs that learn to avoid shocks, the wells of Bangladesh, voters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers, table

__all__ = ["POSTERIORS"]


def trials() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y (dogs, trials) of 0 and 1, and how often each dog had avoided, and not, before."""
    y = numbers("dogs")["y"]
    before = np.zeros_like(y)
    before[:, 1:] = np.cumsum(y, axis=1)[:, :-1]
    return y.ravel(), (np.arange(y.shape[1]) - before).ravel(), before.ravel()


def dogs() -> cr.Model:
    y, avoided, shocked = trials()
    m = cr.Model()
    x = m.data("x", np.column_stack([np.ones(len(y)), avoided, shocked]), dims=("trial", "term"))
    beta = m.latent("beta", cr.Normal(0, 100), dims="term")
    m.observed("y", cr.Bernoulli(cr.math.expit(x @ beta)), y, dims="trial")
    return m


def dogs_log() -> cr.Model:
    y, avoided, shocked = trials()
    m = cr.Model()
    b1, b2 = m.latent("b1", cr.Uniform(-100.0, 0.0)), m.latent("b2", cr.Uniform(0.0, 100.0))
    m.deterministic("beta", cr.math.concat(b1, b2))
    m.observed("y", cr.Bernoulli(cr.math.expit(b1 * avoided + b2 * shocked)), y)
    return m


def dogs_hierarchical() -> cr.Model:
    """P(shock) = a^shocks b^avoidances; the first trial is certain, and says nothing."""
    y, avoided, shocked = trials()
    told = avoided + shocked > 0
    m = cr.Model()
    a, b = m.latent("a", cr.Uniform(0.0, 1.0)), m.latent("b", cr.Uniform(0.0, 1.0))
    log_p = shocked[told] * cr.math.log(a) + avoided[told] * cr.math.log(b)
    m.observed("y", cr.Bernoulli(cr.math.exp(log_p)), y[told])
    return m


def wells(columns: Callable[[dict[str, Any]], list[np.ndarray]], first: str | None = "alpha") -> cr.Model:
    """A logistic regression with flat priors; first : the intercept's name, None where it is beta[1]."""
    t = table("wells.csv.gz")
    m = cr.Model()
    given = columns(t) if first else [np.ones(len(t["dist"])), *columns(t)]
    x = m.data("x", np.column_stack(given), dims=("well", "term"))
    eta = x @ m.latent("beta", cr.Flat(), dims="term")
    if first:
        eta = m.latent(first, cr.Flat()) + eta
    m.observed("switched", cr.Bernoulli(cr.math.expit(eta)), t["switched"], dims="well")
    return m


def votes() -> cr.Model:
    """Votes of 1992 by income, told by ten counts."""
    t = table("nes_logit.csv")
    m = cr.Model()
    x = m.data("x", t["income"][:, None], dims=("group", "term"))
    eta = m.latent("alpha", cr.Flat()) + x @ m.latent("beta", cr.Flat(), dims="term")
    m.observed("republican", cr.Binomial(t["voters"], cr.math.expit(eta)), t["republican"], dims="group")
    return m


def interaction(t: dict[str, Any]) -> list[np.ndarray]:
    a, b = (t["dist"] - t["dist"].mean()) / 100.0, t["arsenic"] - t["arsenic"].mean()
    return [a, b, a * b]


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "dogs-dogs": dogs,
    "dogs-dogs_hierarchical": dogs_hierarchical,
    "dogs-dogs_log": dogs_log,
    "nes_logit_data-nes_logit_model": votes,
    "wells_data-wells_dist": lambda: wells(lambda t: [t["dist"]], None),
    "wells_data-wells_dist100_model": lambda: wells(lambda t: [t["dist"] / 100.0]),
    "wells_data-wells_dist100ars_model": lambda: wells(lambda t: [t["dist"] / 100.0, t["arsenic"]]),
    "wells_data-wells_interaction_c_model": lambda: wells(interaction),
}
