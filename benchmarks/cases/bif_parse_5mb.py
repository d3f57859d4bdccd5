"""A BIF file of 5 MB, as the larger public networks are: 330 nodes, a quarter of a million printed probabilities."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

NODES, REACH = 330, 12
#: asked for a sample of nodes; what a file prints has seven digits
TOLERANCE = 1e-6


def tables() -> tuple[list[int], list[list[int]], list[Any]]:
    """(states of each node, parents of each node, probabilities rounded to seven digits), from one seed."""
    import numpy as np

    rng = np.random.default_rng(0)
    cards = rng.integers(3, 8, NODES).tolist()
    parents, cpts = [], []
    for i in range(NODES):
        near = range(max(0, i - REACH), i)
        parents.append(sorted(rng.choice(near, min(len(near), int(rng.integers(0, 5))), replace=False).tolist()))
        shape = [cards[parent] for parent in parents[-1]]
        p = rng.dirichlet(np.full(cards[i], 0.7), size=shape).round(7)
        p[..., -1] = np.maximum(1.0 - p[..., :-1].sum(axis=-1), 0.0).round(7)
        cpts.append(p)
    return cards, parents, cpts


def prepare(directory: Path) -> None:
    cards, parents, cpts = tables()
    with open(directory / "large.bif", "w", encoding="ascii") as file:
        file.write("network large {\n}\n")
        for i, card in enumerate(cards):
            states = ", ".join(f"state_{k}" for k in range(card))
            file.write(f"variable node_{i} {{\n  type discrete [ {card} ] {{ {states} }};\n}}\n")
        for i, (above, p) in enumerate(zip(parents, cpts)):
            given = f" | {', '.join(f'node_{parent}' for parent in above)}" if above else ""
            file.write(f"probability ( node_{i}{given} ) {{\n")
            labels = product(*(range(cards[parent]) for parent in above))
            for label, row in zip(labels, p.reshape(-1, cards[i])):
                said = f"({', '.join(f'state_{k}' for k in label)})" if above else "table"
                file.write(f"  {said} {', '.join(f'{value:.7f}' for value in row)};\n")
            file.write("}\n")


def credo(path: Path) -> Any:
    from credo.models.network.files import read_network

    return read_network(path)


def pyagrum(path: Path) -> Any:
    import pyagrum as gum

    return gum.loadBN(str(path))


def worst_error(_: Path, network: Any) -> float:
    """The largest difference from what was written, over every fiftieth node."""
    import numpy as np

    cards, parents, cpts = tables()
    worst = 0.0
    for i in range(0, NODES, 50):
        if hasattr(network, "tables"):
            p = network.tables[f"node_{i}"]
        else:
            names = [f"node_{each}" for each in (*parents[i], i)]
            cpt = network.cpt(names[-1]).reorganize(names[::-1])
            p = np.array(cpt.tolist()).reshape([cards[each] for each in (*parents[i], i)])
        worst = max(worst, float(np.abs(p - cpts[i]).max()))
    return worst


CASE = Case(
    question="Reading a BIF file of 5 MB (330 nodes, a quarter of a million probabilities); judged by the "
    "largest difference from what was written.",
    prepare=prepare,
    load=lambda directory: directory / "large.bif",
    contestants=(
        Contestant("credo read_network", credo),
        Contestant("pyAgrum loadBN", pyagrum, requires=("pyagrum",)),
    ),
    quality=Quality("largest error", worst_error, "lower", TOLERANCE),
    bars={"pyAgrum loadBN": Bar("≥", 3)},
)
