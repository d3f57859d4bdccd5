"""What a notebook shows of a network, and the picture that a user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from credo.errors import CredoError
from credo.models.network.drawing.picture import MOST_BARS, MOST_NODES, Picture
from credo.models.network.drawing.words import escaped

if TYPE_CHECKING:
    from credo.models.network.network import BayesianNetwork

__all__ = ["notebook_html", "picture"]

# Entries of all tables formed, up to which marginals are computed unasked: some tenths of a second.
UNASKED = 1e8


def picture(
    network: BayesianNetwork, evidence: Mapping[str, Any] | None = None, actions: Mapping[str, Any] | None = None
) -> Picture:
    """The network with its marginals given evidence, after actions."""
    acted = network.do(actions) if actions else network
    return Picture.of(network.definition_, acted.marginals(evidence), evidence, actions=actions)


def notebook_html(network: BayesianNetwork) -> str:
    """SVG: with marginals if these are cheap, else of names; in words beyond 300 nodes."""
    if len(network.nodes) > MOST_NODES:
        return f"<code>{escaped(repr(network))}</code>"
    try:
        if len(network.nodes) <= MOST_BARS and _cheap(network):
            return picture(network).svg()
    except CredoError:
        pass
    return Picture.of(network.definition_).svg()


def _cheap(network: BayesianNetwork) -> bool:
    tables = [table.shape for table in network.definition_.tables.values()]
    scopes = [(*network.definition_.parents[node], node) for node in network.definition_.tables]
    from credo.probability.factors.elimination import compile_plan

    plan = compile_plan(tables, scopes, network.nodes, marginals=True, memory_limit=network.memory_limit)
    return plan.entries <= UNASKED
