"""Networks that are put to Credo and pyAgrum: where they are, questions about them, and a table of ratios by network.

The larger public networks come in the wheel of pgmpy 0.1.26 (`pip download pgmpy==0.1.26 --no-deps`; its folder
`pgmpy/utils/example_models`): set ``CREDO_BAYESNETS`` to a folder with these ``.bif.gz``. Without it only the networks
among the tests are there.

    python -m benchmarks.networks marginals alarm barley
    python -m benchmarks.networks cold alarm hepar2

needs an interpreter that has both packages. Times are of this process's CPU, the two taking turns.
"""

from __future__ import annotations

import gzip
import os
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests" / "data" / "bayesnets"


def found(names: tuple[str, ...], directory: Path) -> dict[str, str]:
    """Name → path of a BIF file; those that are nowhere are left out."""
    made = {}
    for name in names:
        packed = Path(os.environ.get("CREDO_BAYESNETS", "."), f"{name}.bif.gz")
        if (TESTS / f"{name}.bif").exists():
            made[name] = str(TESTS / f"{name}.bif")
        elif packed.exists():
            path = directory / f"{name}.bif"
            path.write_bytes(gzip.decompress(packed.read_bytes()))
            made[name] = str(path)
    return made


def questions(path: str, count: int, most: int, seed: int = 0) -> list[tuple[str, dict[str, str]]]:
    """(target, evidence) of up to `most` nodes each, in states that occur together."""
    from credo.models.network.network import BayesianNetwork

    network, rng = BayesianNetwork.read(path), random.Random(seed)
    d, nodes, made = network.definition_, list(network.nodes), []
    for _ in range(count):
        numbers: dict[str, int] = {}
        for node in d.order:
            law = d.tables[node][tuple(numbers[parent] for parent in d.parents[node])].tolist()
            numbers[node] = rng.choices(range(len(law)), law)[0]
        target = rng.choice(nodes)
        seen = rng.sample([node for node in nodes if node != target], rng.randint(0, most))
        made.append((target, {node: str(d.states[node][numbers[node]]) for node in seen}))
    return made


class Credo:
    """Asked anew: without the plans of questions before."""

    def __init__(self, path: str) -> None:
        from credo.models.network.network import BayesianNetwork

        self.network = BayesianNetwork.read(path)
        self.law("", {})

    def law(self, target: str, evidence: dict[str, str]) -> list[float]:
        graph = self.network.graph
        graph._plans.clear()
        graph._queries.clear()
        return self.network.query(target or self.network.nodes[0], evidence).values.tolist()

    def laws(self, evidence: dict[str, str]) -> dict[str, list[float]]:
        self.network.graph._plans.clear()
        return {node: list(law.values()) for node, law in self.network.marginals(evidence).items()}


class PyAgrum:
    """A new engine for each question."""

    def __init__(self, path: str) -> None:
        import pyagrum as gum

        gum.setNumberOfThreads(1)
        self.gum, self.network = gum, gum.loadBN(path)

    def _engine(self, evidence: dict[str, str], targets: list[str]) -> Any:
        engine = self.gum.LazyPropagation(self.network)
        engine.setNumberOfThreads(1)
        for target in targets:
            engine.addTarget(target)
        engine.setEvidence(evidence)
        engine.makeInference()
        return engine

    def law(self, target: str, evidence: dict[str, str]) -> list[float]:
        return self._engine(evidence, [target]).posterior(target).tolist()

    def laws(self, evidence: dict[str, str]) -> dict[str, list[float]]:
        engine = self._engine(evidence, [])
        return {node: engine.posterior(node).tolist() for node in self.network.names()}


def main(kind: str, names: tuple[str, ...]) -> None:
    for name, path in found(names, Path(os.environ.get("TMPDIR", "/tmp"))).items():
        asked = questions(path, 300 if kind == "cold" else 5, 8 if kind == "cold" else 3)
        ours, theirs = Credo(path), PyAgrum(path)
        seconds: list[list[float]] = [[], []]
        for target, evidence in asked:
            for side, engine in enumerate((ours, theirs)):
                start = time.process_time()
                engine.law(target, evidence) if kind == "cold" else engine.laws(evidence)
                seconds[side].append(time.process_time() - start)
        ratios = [b / a for a, b in zip(*seconds, strict=True)]
        total = sum(seconds[1]) / sum(seconds[0])
        print(
            f"{name:12s} credo {1e3 * statistics.median(seconds[0]):9.3f} ms  pyAgrum "
            f"{1e3 * statistics.median(seconds[1]):9.3f} ms  ratio {statistics.median(ratios):6.2f} (sums {total:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], tuple(sys.argv[2:]))
