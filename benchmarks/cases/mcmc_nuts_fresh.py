"""From nothing to 4 × 1,000 draws of a logistic regression of 1,000 × 5: imports, compilation, tuning and sampling."""

from __future__ import annotations

from benchmarks.case import Bar, Case, Contestant
from benchmarks.cases.mcmc_nuts_logistic import credo, load, numpyro, nutpie, pymc

CASE = Case(
    question="How long from starting a process to four chains of 1,000 draws of a logistic regression (1,000 × 5)? "
    "What the draws are worth is in mcmc_nuts_logistic: measuring it here would be timed too.",
    mode="fresh",
    load=load,
    contestants=(
        Contestant("credo NUTS", credo),
        Contestant("nutpie", nutpie, requires=("nutpie", "pymc")),
        Contestant("NumPyro", numpyro, requires=("numpyro", "jax")),
        Contestant("PyMC", pymc, requires=("pymc",)),
    ),
    bars={"nutpie": Bar("≥", 5), "NumPyro": Bar("≥", 5), "PyMC": Bar("≥", 5)},
    repeats=3,
)
