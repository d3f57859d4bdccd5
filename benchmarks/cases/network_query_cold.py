"""Questions that no plan is there for: 300 with targets and evidence of their own, on alarm, win95pts and hepar2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality
from benchmarks.networks import Credo, PyAgrum, found, questions

NETWORKS = ("alarm", "win95pts", "hepar2")


def prepare(directory: Path) -> None:
    """Questions about each network that is there (hepar2 is if ``CREDO_BAYESNETS`` says where), and for some the law by
    all marginals at once, which is another elimination."""
    made = {}
    for name, path in found(NETWORKS, directory).items():
        asked, network = questions(path, 300, 8), Credo(path).network
        laws = [list(network.marginals(evidence)[target].values()) for target, evidence in asked[:20]]
        made[name] = (path, asked, laws)
    (directory / "cold.json").write_text(json.dumps(made))


def load(directory: Path) -> dict[str, Any]:
    return json.loads((directory / "cold.json").read_text())


_engines: dict[str, Any] = {}


def ask(kind: Any) -> Any:
    def run(data: dict[str, Any]) -> dict[str, list[list[float]]]:
        answers = {}
        for name, (path, asked, _) in data.items():
            engine = _engines.get(name) or _engines.setdefault(name, kind(path))
            answers[name] = [engine.law(target, evidence) for target, evidence in asked]
        return answers

    return run


def worst_error(data: dict[str, Any], result: dict[str, list[list[float]]]) -> float:
    """Largest difference from the laws prepared."""
    pairs = [(a, b) for name, (*_, laws) in data.items() for a, b in zip(result[name], laws, strict=False)]
    return max(abs(p - q) for law, wanted in pairs for p, q in zip(law, wanted, strict=True))


CASE = Case(
    question="P(target | up to eight observations) of 300 targets and observations of alarm, win95pts and hepar2, each "
    "asked for the first time (pyAgrum: in a new engine).",
    prepare=prepare,
    load=load,
    contestants=(
        Contestant("credo BayesianNetwork.query", ask(Credo)),
        Contestant("pyAgrum LazyPropagation", ask(PyAgrum), requires=("pyagrum",)),
    ),
    # pyAgrum keeps a file's tables in single precision
    quality=Quality("largest error", worst_error, "lower", 1e-6),
    bars={"pyAgrum LazyPropagation": Bar("≥", 1)},
)
