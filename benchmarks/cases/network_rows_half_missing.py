"""P(target | the row's cells) for rows with half of the cells missing at random, of three public networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

# As the bar has it; the peer takes some 150 s.
ROWS, MISSING = 100_000, 0.5
NETWORKS = Path(__file__).parents[2] / "tests" / "data" / "bayesnets"
TARGETS = {"alarm": "LVFAILURE", "insurance": "PropCost", "win95pts": "Problem1"}


def load(_: Path) -> dict[str, Any]:
    """Columns of text, None where missing."""
    import numpy as np

    from credo.models.network.files import read_network

    data, rng = {}, np.random.default_rng(0)
    for name, target in TARGETS.items():
        network, codes = read_network(NETWORKS / f"{name}.bif"), {}
        for node in network.order:
            p = network.tables[node][tuple(codes[parent] for parent in network.parents[node])]
            edges = np.cumsum(np.broadcast_to(p, (ROWS, p.shape[-1])), axis=1)
            codes[node] = np.minimum((rng.random(ROWS)[:, None] > edges).sum(axis=1), p.shape[-1] - 1)
        columns = {}
        for node, own in network.states.items():
            cells = np.where(rng.random(ROWS) < MISSING, None, np.array(own, dtype=object)[codes[node]])
            columns[node] = cells.tolist() if node != target else [None] * ROWS
        data[name] = columns
    return data


def credo(data: dict[str, Any]) -> list[Any]:
    import polars as pl

    from credo.models.network.network import BayesianNetwork

    found = []
    for name, target in TARGETS.items():
        network = BayesianNetwork.read(NETWORKS / f"{name}.bif")
        frame = pl.DataFrame(data[name], schema=dict.fromkeys(data[name], pl.String))
        found.append(network.predict_proba(frame, target))
    return found


def pyagrum(data: dict[str, Any]) -> list[Any]:
    import pyagrum as gum

    found = []
    for name, target in TARGETS.items():
        engine = gum.LazyPropagation(gum.loadBN(str(NETWORKS / f"{name}.bif")))
        engine.setNumberOfThreads(1)
        engine.addTarget(target)
        names, columns, laws = list(data[name]), list(data[name].values()), []
        for row in zip(*columns, strict=True):
            engine.setEvidence({node: state for node, state in zip(names, row, strict=True) if state is not None})
            engine.makeInference()
            laws.append(engine.posterior(target).tolist())
        found.append(laws)
    return found


def worst_error(data: dict[str, Any], result: list[Any]) -> float:
    """Largest difference from the answers of single questions, on the first 200 rows of each."""
    import numpy as np

    from credo.models.network.network import BayesianNetwork

    worst = 0.0
    for (name, target), laws in zip(TARGETS.items(), result, strict=True):
        network = BayesianNetwork.read(NETWORKS / f"{name}.bif")
        for i in range(200):
            seen = {node: cells[i] for node, cells in data[name].items() if cells[i] is not None}
            worst = max(worst, float(np.abs(network.query(target, seen).values - laws[i]).max()))
    return worst


CASE = Case(
    question="The law of one node for 100,000 rows with half of the cells missing at random, on alarm, insurance and "
    "win95pts.",
    load=load,
    contestants=(
        Contestant("credo predict_proba", credo),
        Contestant("pyAgrum LazyPropagation, row by row", pyagrum, requires=("pyagrum",)),
    ),
    # pyAgrum keeps a file's tables in single precision
    quality=Quality("largest error", worst_error, "lower", 1e-6),
    bars={"pyAgrum LazyPropagation, row by row": Bar("≥", 100)},
    repeats=1,
)
