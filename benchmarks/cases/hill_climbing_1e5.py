"""The structure of the alarm network (37 nodes) from 100,000 rows of a CSV file, by the BIC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS = 100_000
ALARM = Path(__file__).parents[2] / "tests" / "data" / "bayesnets" / "alarm.bif"
# Nats a row: searches end in maxima that differ by some 0.01.
TOLERANCE = 0.05


def prepare(directory: Path) -> None:
    import numpy as np
    import polars as pl

    from credo.models.network.files import read_network

    network, rng = read_network(ALARM), np.random.default_rng(0)
    codes: dict[str, Any] = {}
    for node in network.order:
        p = network.tables[node][tuple(codes[parent] for parent in network.parents[node])]
        edges = np.cumsum(np.broadcast_to(p, (ROWS, p.shape[-1])), axis=1)
        codes[node] = np.minimum((rng.random(ROWS)[:, None] > edges).sum(axis=1), p.shape[-1] - 1)
    pl.DataFrame(codes).write_csv(directory / "alarm.csv")


def load(directory: Path) -> Path:
    return directory / "alarm.csv"


def credo(path: Path) -> Any:
    import polars as pl

    from credo.models.network.learning import learn_structure

    return learn_structure(pl.read_csv(path)).edges


def pyagrum(path: Path) -> Any:
    import pyagrum as gum

    learner = gum.BNLearner(str(path))
    learner.setNumberOfThreads(1)
    learner.useScoreBIC()
    learner.useNoPrior()
    learner.useGreedyHillClimbing()
    return [tuple(learner.nameFromId(node) for node in arc) for arc in learner.learnDAG().arcs()]


def bic(path: Path, edges: Any) -> float:
    """Of the structure, a row."""
    import numpy as np

    names = path.open().readline().strip().split(",")
    codes = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    sizes = codes.max(axis=0) + 1
    value = 0.0
    for child in range(len(names)):
        family = [names.index(parent) for parent, node in edges if node == names[child]]
        place = np.zeros(len(codes), dtype=np.int64)
        for parent in family:
            place = place * sizes[parent] + codes[:, parent]
        q = int(np.prod(sizes[family]))
        counts = np.bincount(place * sizes[child] + codes[:, child], minlength=q * sizes[child]).reshape(q, -1)
        value += sum(sign * (n[n > 0] * np.log(n[n > 0])).sum() for sign, n in ((1, counts), (-1, counts.sum(axis=1))))
        value -= 0.5 * np.log(len(codes)) * q * (sizes[child] - 1)
    return float(value / len(codes))


CASE = Case(
    question="A structure for 100,000 rows drawn from the alarm network (37 nodes), from a CSV file, by the BIC: "
    "hill-climbing with tabu and ten restarts, against pyAgrum's greedy hill-climbing.",
    prepare=prepare,
    load=load,
    contestants=(
        Contestant("credo learn_structure", credo),
        Contestant("pyAgrum useGreedyHillClimbing", pyagrum, requires=("pyagrum",)),
    ),
    quality=Quality("BIC a row", bic, "higher", TOLERANCE),
    bars={"pyAgrum useGreedyHillClimbing": Bar("≥", 0.5)},
    repeats=3,
)
