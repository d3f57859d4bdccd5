"""Instances of the UAI 2014 competition: partition functions and marginals against those published."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Quality


def load(_: Path) -> dict[str, Any]:
    """Graph, evidence, log₁₀ Z and marginals of each instance in the shared data; none where it is not there."""
    import numpy as np

    from credo.probability.factors import read_uai, read_uai_evidence

    folder = Path(os.environ.get("CREDO_REFERENCE_DATA", "../shared/data"), "uai", "PR_MAR")
    found = {}
    for path in sorted(folder.glob("*.uai")):
        words = Path(f"{path}.MAR").read_text().split()[1:]
        marginals, at = [], 1
        for _ in range(int(words[0])):
            n = int(words[at])
            marginals.append(np.array(words[at + 1 : at + 1 + n], dtype=float))
            at += 1 + n
        log10 = float(Path(f"{path}.PR").read_text().split()[1])
        found[path.stem] = (read_uai(path), read_uai_evidence(f"{path}.evid"), log10, marginals)
    return found


def credo(data: dict[str, Any]) -> dict[str, Any]:
    return {name: (graph.log_partition(seen), graph.marginals(seen)) for name, (graph, seen, *_) in data.items()}


def worst_error(data: dict[str, Any], result: dict[str, Any]) -> float:
    """The largest error of a marginal, or relative error of log₁₀ Z; both are published to six digits."""
    import numpy as np

    worst = 0.0
    for name, (_, _, log10, marginals) in data.items():
        log_z, laws = result[name]
        worst = max(worst, abs(log_z / np.log(10.0) - log10) / abs(log10))
        worst = max(worst, *(float(np.abs(laws[v].values - wanted).max()) for v, wanted in enumerate(marginals)))
    return worst


CASE = Case(
    question="Partition function and all marginals of twelve UAI 2014 instances (PR and MAR), planned before: the "
    "largest difference from the published values must stay below 1e-5.",
    load=load,
    contestants=(Contestant("credo FactorGraph", credo),),
    quality=Quality("largest error", worst_error, "lower", 1e-5),
    repeats=3,
)
