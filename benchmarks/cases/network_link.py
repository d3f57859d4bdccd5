"""All marginals of link, 724 nodes, whose tables are beyond the memory of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Limit, Quality
from benchmarks.networks import found


def load(directory: Path) -> str | None:
    """The path of link, if ``CREDO_BAYESNETS`` says where."""
    return found(("link",), directory).get("link")


def credo(path: str | None) -> dict[str, Any]:
    from credo.models.network.network import BayesianNetwork

    return BayesianNetwork.read(path).marginals() if path else {}


def worst_sum(path: str | None, result: dict[str, Any]) -> float:
    """How far the sum of a law is from 1, at most; the network has no observation, so that roots must keep theirs."""
    from credo.models.network.network import BayesianNetwork

    if path is None:
        return 0.0
    d = BayesianNetwork.read(path).definition_
    roots = [node for node in d.nodes if not d.parents[node]]
    return max(abs(p - q) for r in roots for p, q in zip(result[r].values(), d.tables[r].tolist(), strict=True))


CASE = Case(
    question="All marginals of link, read from its file and planned anew: within ten seconds and 8 GB.",
    load=load,
    contestants=(Contestant("credo BayesianNetwork.marginals", credo),),
    quality=Quality("largest error at the roots", worst_sum, "lower", 1e-9),
    limits={"credo BayesianNetwork.marginals": Limit("seconds", 10.0)},
    memory_limit=8 * 10**9,
    repeats=2,
    warmups=0,
)
