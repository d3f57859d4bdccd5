"""All marginals given three observations, each pattern asked for the first time, on the networks that are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality
from benchmarks.networks import Credo, PyAgrum, found, questions

NETWORKS = (
    "alarm", "insurance", "win95pts", "hailfinder", "hepar2", "andes", "pathfinder", "barley", "mildew", "water",
    "munin1", "munin4",
)  # fmt: skip


def prepare(directory: Path) -> None:
    """Observations of each network there (the larger are if ``CREDO_BAYESNETS`` says where), and the laws of five
    nodes by single questions, which are other eliminations."""
    made = {}
    for name, path in found(NETWORKS, directory).items():
        asked, engine = questions(path, 3, 3), Credo(path)
        hidden = [node for node in engine.network.nodes if node not in asked[0][1]][::9][:5]
        made[name] = (path, asked, {node: engine.law(node, asked[0][1]) for node in hidden})
    (directory / "marginals.json").write_text(json.dumps(made))


def load(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "marginals.json").read_text())


_engines: dict[str, Any] = {}


def ask(kind: Any) -> Any:
    def run(data: dict[str, Any]) -> dict[str, list[dict[str, list[float]]]]:
        answers = {}
        for name, (path, asked, _) in data.items():
            engine = _engines.get(name) or _engines.setdefault(name, kind(path))
            answers[name] = [engine.laws(evidence) for _, evidence in asked]
        return answers

    return run


def worst_error(data: dict[str, Any], result: dict[str, list[dict[str, list[float]]]]) -> float:
    """Largest difference from the laws prepared."""
    pairs = [(result[name][0][node], law) for name, (*_, laws) in data.items() for node, law in laws.items()]
    return max(abs(p - q) for law, wanted in pairs for p, q in zip(law, wanted, strict=True))


CASE = Case(
    question="All marginals of public networks given up to three observations, planned anew (pyAgrum: in a new "
    "engine). `python -m benchmarks.networks marginals NAME…` gives the ratio of each network.",
    prepare=prepare,
    load=load,
    contestants=(
        Contestant("credo BayesianNetwork.marginals", ask(Credo)),
        Contestant("pyAgrum LazyPropagation", ask(PyAgrum), requires=("pyagrum",)),
    ),
    # pyAgrum keeps a file's tables in single precision
    quality=Quality("largest error", worst_error, "lower", 1e-6),
    bars={"pyAgrum LazyPropagation": Bar("≥", 2)},
    repeats=3,
)
