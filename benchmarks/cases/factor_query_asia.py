"""A thousand cached questions of a network of the size of asia: one law given two observations whose states vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Limit, Quality

QUESTIONS = 1000
YN = ("no", "yes")
#: child → (parents, P(yes) by the parents' states, the last running fastest)
ASIA = {
    "asia": ((), [0.01]),
    "tub": (("asia",), [0.01, 0.05]),
    "smoke": ((), [0.5]),
    "lung": (("smoke",), [0.01, 0.1]),
    "bronc": (("smoke",), [0.3, 0.6]),
    "either": (("tub", "lung"), [0.0, 1.0, 1.0, 1.0]),
    "xray": (("either",), [0.05, 0.98]),
    "dysp": (("either", "bronc"), [0.1, 0.8, 0.7, 0.9]),
}


def load(_: Path) -> list[dict[str, str]]:
    """The observations."""
    import numpy as np

    states = np.random.default_rng(0).integers(0, 2, (QUESTIONS, 2))
    return [{"xray": YN[x], "dysp": YN[d]} for x, d in states.tolist()]


_graphs: dict[str, Any] = {}


def credo(data: list[dict[str, str]]) -> list[float]:
    import numpy as np

    from credo.probability.factors import Factor, FactorGraph

    if "credo" not in _graphs:
        factors = []
        for child, (parents, yes) in ASIA.items():
            p = np.reshape(yes, [2] * len(parents))
            names = [*parents, child]
            factors.append(Factor(names, np.stack([1 - p, p], axis=-1), dict.fromkeys(names, YN)))
        _graphs["credo"] = FactorGraph(factors)
    graph = _graphs["credo"]
    return [graph.query("lung", evidence).values[1] for evidence in data]


def pyagrum(data: list[dict[str, str]]) -> list[float]:
    import pyagrum as gum

    if "pyagrum" not in _graphs:
        net = gum.BayesNet()
        for child in ASIA:
            net.add(gum.LabelizedVariable(child, child, list(YN)))
        for child, (parents, yes) in ASIA.items():
            for parent in parents:
                net.addArc(parent, child)
            for i, p in enumerate(yes):
                place = {parent: (i >> (len(parents) - 1 - k)) & 1 for k, parent in enumerate(parents)}
                net.cpt(child)[place if place else slice(None)] = [1 - p, p]
        _graphs["pyagrum"] = gum.LazyPropagation(net)
        _graphs["pyagrum"].addTarget("lung")
    engine = _graphs["pyagrum"]
    found = []
    for evidence in data:
        engine.setEvidence(evidence)
        engine.makeInference()
        found.append(engine.posterior("lung")[1])
    return found


def worst_error(data: list[dict[str, str]], result: list[float]) -> float:
    """Largest difference from the joint table's answers."""
    import numpy as np

    letters = dict(zip(ASIA, "abcdefgh", strict=True))
    terms, tables = [], []
    for child, (parents, yes) in ASIA.items():
        p = np.reshape(yes, [2] * len(parents))
        terms.append("".join(letters[name] for name in (*parents, child)))
        tables.append(np.stack([1 - p, p], axis=-1))
    out = "".join(letters[name] for name in ("xray", "dysp", "lung"))
    joint = np.einsum(",".join(terms) + "->" + out, *tables)
    law = joint[..., 1] / joint.sum(axis=-1)
    wanted = [law[YN.index(e["xray"]), YN.index(e["dysp"])] for e in data]
    return float(np.abs(np.array(result) - wanted).max())


CASE = Case(
    question="A thousand questions P(lung | xray, dyspnoea) of the asia network, asked before for the same variables: "
    "at most 25 µs each.",
    load=load,
    contestants=(
        Contestant("credo FactorGraph.query", credo),
        Contestant("pyAgrum LazyPropagation", pyagrum, requires=("pyagrum",)),
    ),
    quality=Quality("largest error", worst_error, "lower", 1e-12),
    bars={"pyAgrum LazyPropagation": Bar("≥", 1)},
    limits={"credo FactorGraph.query": Limit("seconds", 0.025)},
)
