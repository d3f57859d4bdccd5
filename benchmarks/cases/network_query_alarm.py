"""A thousand cached questions of the alarm network: one law given three observations whose states vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Limit, Quality

QUESTIONS = 1000
ALARM = Path(__file__).parents[2] / "tests" / "data" / "bayesnets" / "alarm.bif"
TARGET, SEEN = "CATECHOL", {"HISTORY": ("TRUE", "FALSE"), "CVP": ("LOW", "HIGH"), "BP": ("LOW", "NORMAL", "HIGH")}


def load(_: Path) -> list[dict[str, str]]:
    import numpy as np

    rng = np.random.default_rng(0)
    return [{node: str(rng.choice(states)) for node, states in SEEN.items()} for _ in range(QUESTIONS)]


_engines: dict[str, Any] = {}


def credo(data: list[dict[str, str]]) -> list[Any]:
    from credo.models.network.network import BayesianNetwork

    if "credo" not in _engines:
        _engines["credo"] = BayesianNetwork.read(ALARM)
    network = _engines["credo"]
    return [network.query(TARGET, evidence).values for evidence in data]


def pyagrum(data: list[dict[str, str]]) -> list[Any]:
    import pyagrum as gum

    if "pyagrum" not in _engines:
        _engines["net"] = gum.loadBN(str(ALARM))
        _engines["pyagrum"] = gum.LazyPropagation(_engines["net"])
        _engines["pyagrum"].addTarget(TARGET)
    engine, found = _engines["pyagrum"], []
    for evidence in data:
        engine.setEvidence(evidence)
        engine.makeInference()
        found.append(engine.posterior(TARGET).tolist())
    return found


def worst_error(data: list[dict[str, str]], result: list[Any]) -> float:
    """Largest difference from all marginals at once, in another elimination, on the first 50."""
    import numpy as np

    from credo.models.network.network import BayesianNetwork

    network = BayesianNetwork.read(ALARM)
    wanted = [list(network.marginals(evidence)[TARGET].values()) for evidence in data[:50]]
    return float(np.abs(np.array(result[:50]) - wanted).max())


CASE = Case(
    question="A thousand questions P(CATECHOL | three observations) of alarm, asked before for the same nodes: at most "
    "25 µs each.",
    load=load,
    contestants=(
        Contestant("credo BayesianNetwork.query", credo),
        Contestant("pyAgrum LazyPropagation", pyagrum, requires=("pyagrum",)),
    ),
    quality=Quality("largest error", worst_error, "lower", 1e-6),
    bars={"pyAgrum LazyPropagation": Bar("≥", 1)},
    limits={"credo BayesianNetwork.query": Limit("seconds", 0.025)},
)
