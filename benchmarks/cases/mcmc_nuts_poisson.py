"""NUTS on a Poisson regression of 1,000 × 5 with its analytic gradient: four chains of 1,000 draws, sampling alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality
from benchmarks.cases.mcmc_nuts_logistic import credo, data, ess_per_gradient, nutpie


def load(_: Path) -> tuple[str, Any, Any]:
    return ("poisson", *data("poisson"))


CASE = Case(
    question="NUTS on a Poisson regression of 1,000 × 5, four chains of 1,000 draws, with tuning, without compilation: "
    "Credo in NumPy against nutpie's compiled model. Effective draws a gradient may fall 10 % short of the best.",
    load=load,
    contestants=(
        Contestant("credo NUTS", credo),
        Contestant("nutpie", nutpie, requires=("nutpie", "pymc")),
    ),
    quality=Quality("ESS per gradient", ess_per_gradient, "higher", 0.03),
    bars={"nutpie": Bar("≥", 0.5)},
    repeats=5,
)
