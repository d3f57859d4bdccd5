"""`credo network show|query` of networks of real numbers: evidence is NODE=NUMBER, answers are mean and sd."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from credo.errors import ParameterError, UnavailableError

__all__ = ["answer_numbers", "findings_of", "show_numbers", "states_of"]

# How much the interval beside a mean holds.
MASS = 0.9


def states_of(network: Any) -> Mapping[str, tuple[Any, ...]]:
    """Of the discrete nodes; empty where all are real."""
    return getattr(network, "states", {})


def findings_of(network: Any, texts: Iterable[str] | None, option: str) -> dict[str, Any]:
    """NODE=NUMBER, or NODE=STATE of a discrete node, as typed.

    Raises
    ------
    ParameterError : no number; an unknown node or state; two values of one node.
    """
    from credo.cli.network_parts import cuts_of, parsed

    states, found = states_of(network), {}
    for text in texts or ():
        cuts = cuts_of(text, option, "NODE=NUMBER or NODE=STATE" if states else "NODE=NUMBER")
        real = [(node, value) for node, value in cuts if node in network.nodes and node not in states]
        if real:
            node, value = real[0][0], _number(*real[0], option)
        elif not states or not any(node in states for node, _ in cuts):
            raise _unknown(network, cuts[0][0], option)
        else:
            ((node, value),) = parsed(states, [text], option).items()
        if node in found and found[node] != value:
            raise ParameterError("", option, "given once a node", text, f"It also says {node}={found[node]}.")
        found[node] = value
    return found


def _number(node: str, text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ParameterError("", option, f"a number for {node}", text)
    return value


def _unknown(network: Any, name: str, option: str) -> ParameterError:
    from credo.models.network.gaussian.structure import known_name

    try:
        known_name("", network.nodes, name, option)
    except ParameterError as error:
        return ParameterError("", option, f"about {error.constraint}", name, error.remedy)
    raise AssertionError(name)


def show_numbers(
    network: Any, file: str, seen: dict[str, Any], set_: dict[str, Any]
) -> tuple[dict[str, Any], list[Any]]:
    """(document, lines): nodes and parents, and mean and sd, or probabilities, of all given what was seen and set."""
    from credo.cli.network_parts import belief_tables, in_words, listed
    from credo.cli.text import grid, label_text
    from credo.numerics.readable import count, number, shortened

    acted = network.do(set_) if set_ else network
    states, laws = states_of(network), acted.marginals(seen)
    parents = {node: [p for p, c in network.edges if c == node] for node in network.nodes}
    nodes = [
        {
            "name": node, "parents": parents[node],
            **({"states": list(states[node]), "marginal": {label_text(s): p for s, p in laws[node].items()}}
               if node in states else {"mean": laws[node].mean, "sd": laws[node].sd}),
        }
        for node in network.nodes
    ]  # fmt: skip
    document = {
        "kind": network.kind, "name": Path(file).name, "nodes": nodes, "edges": network.edges, "evidence": seen,
        "do": set_,
    }  # fmt: skip
    rows = [
        [node, number(laws[node].mean, 6), number(laws[node].sd, 4), shortened(", ".join(parents[node]), 60)]
        for node in network.nodes
        if node not in states
    ]
    table = in_words(grid(["node", "mean", "sd", "parents"], rows), 3)
    discrete = {node: laws[node] for node in network.nodes if node in states}
    given = listed(seen, set_)
    return document, [
        f"{Path(file).name}: a {network.kind}, {count(len(nodes), 'node')}, {count(len(network.edges), 'arrow')}.",
        *([f"P(node{given}):", *belief_tables(discrete)] if discrete else []),
        f"Mean and standard deviation{given.replace(' |', ' given', 1)}:", table,
    ]  # fmt: skip


def answer_numbers(
    network: Any, names: list[str], seen: dict[str, Any], given: str, joint: bool
) -> tuple[dict[str, Any], list[Any]]:
    """(document, lines): means, sds and intervals of real targets, probabilities of the others."""
    from credo.cli.network_parts import belief_tables
    from credo.cli.text import grid, label_text
    from credo.numerics.readable import number, percent

    if joint:
        return _joint(network, names, seen, given)
    states = states_of(network)
    discrete = {name: network.query(name, seen).to_dict() for name in names if name in states}
    answers: dict[str, Any] = {
        name: {label_text(s): p for s, p in discrete[name].items()} if name in states else _told(network, name, seen)
        for name in names
    }
    rows = [
        [name, *(number(v, 6) for v in (a["mean"], a["sd"], *a["interval"]))]
        for name, a in answers.items()
        if name not in states
    ]
    density = _density(network, seen)
    ends = [f"{percent(0.5 * (1 - MASS))} below", f"{percent(0.5 * (1 - MASS))} above"]
    lines: list[Any] = [f"P({', '.join(discrete)}{given}):", *belief_tables(discrete)] if discrete else []
    if rows:
        lines += [
            f"{', '.join(n for n in names if n not in states)}{given}:",
            grid(["node", "mean", "sd", *ends], rows),
        ]
    if seen and density is not None:
        lines.append(f"log density of the evidence = {number(density, 6)}")
    return {"answers": answers, "mass": MASS, "log_density_of_evidence": density}, lines


def _told(network: Any, name: str, seen: dict[str, Any]) -> dict[str, Any]:
    """Mean, sd and central interval, of what is determined too."""
    try:
        law = network.query(name, seen)
        low, high = (float(v) for v in law.interval(MASS))
        return {"mean": float(law.mean), "sd": float(law.sd), "interval": [low, high]}
    except UnavailableError:
        mean, variance = network.moments(name, seen)
        if variance > 0.0:  # a mixture with a part of probability at one value
            return {"mean": mean, "sd": math.sqrt(variance), "interval": [None, None]}
        return {"mean": mean, "sd": 0.0, "interval": [mean, mean]}


def _density(network: Any, seen: dict[str, Any]) -> float | None:
    try:
        return network.log_probability(seen) if seen else 0.0
    except UnavailableError:
        return None


def _joint(network: Any, names: list[str], seen: dict[str, Any], given: str) -> tuple[dict[str, Any], list[Any]]:
    import numpy as np

    from credo.cli.network_parts import header
    from credo.cli.text import grid
    from credo.numerics.readable import number

    if mixed := [name for name in names if name in states_of(network)]:
        raise ParameterError("", "--joint", "about nodes that are real numbers", mixed[0])
    mean, covariance = (np.asarray(each) for each in network.moments(names, seen))
    rows = [
        [name, number(float(m), 6), *(number(float(c), 4) for c in line)]
        for name, m, line in zip(names, mean, covariance, strict=True)
    ]
    document = {"targets": names, "mean": mean.tolist(), "covariance": covariance.tolist()}
    return document, [
        f"{', '.join(names)}{given}, mean and covariance:",
        grid(["node", "mean", *map(header, names)], rows),
    ]
