"""The tables of the alarm network by EM, from 1,000 rows of a CSV file with a tenth of the cells missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, MISSING = 1000, 0.1
ALARM = Path(__file__).parents[2] / "tests" / "data" / "bayesnets" / "alarm.bif"
# Nats over all rows; pyAgrum stops when a step adds less than 1e-6 of the log-likelihood.
TOLERANCE, STEP = 0.05, 1e-6


def prepare(directory: Path) -> None:
    """`alarm.csv` with "?" for a missing cell; the structure as a copy of the network's file."""
    import numpy as np

    from credo.models.network.files import read_network, write_network

    network, rng = read_network(ALARM), np.random.default_rng(0)
    codes: dict[str, Any] = {}
    for node in network.order:
        p = network.tables[node][tuple(codes[parent] for parent in network.parents[node])]
        edges = np.cumsum(np.broadcast_to(p, (ROWS, p.shape[-1])), axis=1)
        codes[node] = np.minimum((rng.random(ROWS)[:, None] > edges).sum(axis=1), p.shape[-1] - 1)
    columns = [np.array(network.states[node])[codes[node]] for node in network.states]
    cells = np.where(rng.random((ROWS, len(columns))) < MISSING, "?", np.column_stack(columns))
    lines = [",".join(network.states), *(",".join(row) for row in cells)]
    (directory / "alarm.csv").write_text("\n".join(lines) + "\n")
    write_network(network, directory / "alarm.bif")


def load(directory: Path) -> Path:
    return directory


def credo(directory: Path) -> Any:
    import polars as pl

    from credo.models.network.files import read_network
    from credo.models.network.learning import learn_parameters

    network = read_network(directory / "alarm.bif")
    table = pl.read_csv(directory / "alarm.csv", infer_schema=False, null_values="?")
    found = learn_parameters(table, network.parents, prior="k2", states=network.states)
    definition = found.definition
    return [((*definition.parents[node], node), table) for node, table in definition.tables.items()]


def pyagrum(directory: Path) -> Any:
    import pyagrum as gum

    template = gum.loadBN(str(directory / "alarm.bif"))
    learner = gum.BNLearner(str(directory / "alarm.csv"), template, ["?"])
    learner.setNumberOfThreads(1)
    learner.useEM(STEP)
    learner.useSmoothingPrior(1.0)
    found = learner.learnParameters(template.dag())
    # the last axis is the node itself, the others its parents from the last to the first
    return [(tuple(reversed(found.cpt(node).names)), found.cpt(node).toarray()) for node in found.names()]


def objective(directory: Path, tables: Any) -> float:
    """log p(rows) + Σ log θ, which both maximise; every row by itself, one unknown node after the other."""
    import csv
    import re

    import numpy as np

    text = (directory / "alarm.bif").read_text()
    states = {
        node: [state.strip() for state in listed.split(",")]
        for node, listed in re.findall(r"variable (\w+) \{[^{]*\{([^}]*)\}", text)
    }
    value = sum(float(np.log(table).sum()) for _, table in tables)
    for row in csv.DictReader((directory / "alarm.csv").open()):
        held = []
        for scope, table in tables:
            place = tuple(slice(None) if row[v] == "?" else states[v].index(row[v]) for v in scope)
            held.append((tuple(v for v in scope if row[v] == "?"), np.asarray(table)[place]))
        value += log_total(held, [v for v in row if row[v] == "?"])
    return value


def log_total(held: list[Any], unknown: list[str]) -> float:
    """log Σ over the unknown variables of the product of tables."""
    import numpy as np

    while unknown:
        unknown.sort(key=lambda v: len({u for scope, _ in held if v in scope for u in scope}))
        gone = unknown.pop(0)
        near = [item for item in held if gone in item[0]]
        letters = {v: i for i, v in enumerate(dict.fromkeys(v for scope, _ in near for v in scope))}
        kept = tuple(v for v in letters if v != gone)
        operands = [part for scope, table in near for part in (table, [letters[v] for v in scope])]
        held = [item for item in held if gone not in item[0]]
        held.append((kept, np.einsum(*operands, [letters[v] for v in kept], optimize=len(near) > 2)))
    return float(sum(np.log(table) for _, table in held))


CASE = Case(
    question="EM on 1,000 rows of the alarm network (37 nodes), a tenth of the cells missing, with Laplace's rule.",
    prepare=prepare,
    load=load,
    contestants=(
        Contestant("credo learn_parameters", credo),
        Contestant("pyAgrum useEM", pyagrum, requires=("pyagrum",)),
    ),
    quality=Quality("log-likelihood + log prior, nats", objective, "higher", TOLERANCE),
    bars={"pyAgrum useEM": Bar("≥", 20)},
    repeats=1,
)
