"""What `credo network query` answers: each function returns a document and the lines that say the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["answer", "believed", "explain", "joint", "sensitive", "worth"]

# Combinations, and numbers of tables, that a screen holds.
SHOWN = 40


def answer(network: Any, names: list[str], seen: dict[str, Any], given: str, seed: int) -> tuple[dict[str, Any], Any]:
    """Each target by itself: (document, lines)."""
    from credo.cli.network_parts import belief_tables
    from credo.cli.text import label_text

    laws, errors, evidence = believed(network, seen, seed, names)
    document: dict[str, Any] = {
        "log_probability_of_evidence": evidence,
        "answers": {name: {label_text(state): p for state, p in law.items()} for name, law in laws.items()},
    }
    if errors is not None:
        document["standard_errors"] = {name: errors[name] for name in names}
    lines = [f"P(target{given}):" if len(names) > 1 else f"P({names[0]}{given}):", *belief_tables(laws, errors)]
    return document, [*lines, *_evidence_line(seen, evidence)]


def _evidence_line(seen: dict[str, Any], log_probability: float) -> list[str]:
    import math

    from credo.numerics.readable import number

    if not seen:
        return []
    if math.isnan(log_probability):
        return []
    p = math.exp(log_probability)
    return [f"P(evidence) = {number(p, 6)}" if p > 0.0 else f"log P(evidence) = {number(log_probability, 6)}"]


def joint(network: Any, names: list[str], seen: dict[str, Any], given: str, seed: int) -> tuple[dict[str, Any], Any]:
    """The targets together, the likeliest combinations first."""
    import numpy as np

    from credo.cli.network_parts import header
    from credo.cli.text import grid, label_text
    from credo.numerics.readable import count

    law = network.query(names, seen, joint=True)
    p, own = law.values.ravel(), [network.states[name] for name in names]
    places = np.stack(np.unravel_index(np.argsort(-p, kind="stable"), law.values.shape), axis=1).tolist()
    rows = [([label_text(own[k][i]) for k, i in enumerate(row)], float(law.values[tuple(row)])) for row in places]
    evidence = network.log_probability(seen) if seen else 0.0
    document = {
        "log_probability_of_evidence": evidence,
        "joint": [{"states": dict(zip(names, states, strict=True)), "probability": value} for states, value in rows],
    }
    shown = grid(
        [*map(header, names), "probability"], [[*states, f"{value:.6f}"] for states, value in rows[:SHOWN]], len(names)
    )
    more = [f"… and {count(len(rows) - SHOWN, 'combination')} more."] if len(rows) > SHOWN else []
    return document, [f"P({', '.join(names)}{given}):", shown, *more, *_evidence_line(seen, evidence)]


def explain(network: Any, names: list[str], seen: dict[str, Any], given: str, seed: int) -> tuple[dict[str, Any], Any]:
    """The most probable states together, of all nodes or of the targets."""
    import math

    from credo.cli.text import grid, label_text
    from credo.numerics.readable import number

    best = network.map(names, seen) if names else network.mpe(seen)
    log_evidence = network.log_probability(seen) if seen else 0.0
    posterior = math.exp(best.log_probability - log_evidence)
    document = {
        "mpe": {node: label_text(state) for node, state in best.states.items()},
        "log_probability": best.log_probability,
        "posterior_probability": posterior,
    }
    table = grid(["node", "state"], [[node, label_text(state)] for node, state in best.states.items()], 2)
    return document, [
        f"The most probable states{given.replace(' |', ' given', 1)}:", table,
        f"Together their probability is {number(posterior, 6)}.",
    ]  # fmt: skip


def believed(
    network: Any, seen: dict[str, Any], seed: int, targets: list[str] | None = None
) -> tuple[dict[str, Any], dict[str, Any] | None, float]:
    """(laws, standard errors where exact answers would not fit into memory, log P(evidence))."""
    import numpy as np

    from credo.models.network.sampling import approximate_marginals

    found = approximate_marginals(network, seen, np.random.default_rng(seed), targets=targets)
    errors = None if found.exact else dict(found.standard_errors)
    return dict(found.marginals), errors, found.log_probability


def worth(
    network: Any, names: Sequence[str], seen: dict[str, Any], given: str, seed: int
) -> tuple[dict[str, Any], Any]:
    """What to observe next: the nats that each other node is expected to tell of the target."""
    from credo.cli.text import grid
    from credo.numerics.readable import count

    found = network.value_of_information(names[0], seen)
    table = grid(["node", "nats"], [[node, f"{nats:.6f}"] for node, nats in list(found.items())[:SHOWN]])
    more = [f"… and {count(len(found) - SHOWN, 'node')} more."] if len(found) > SHOWN else []
    return {"target": names[0], "value_of_information": found}, [
        f"What observing a node is expected to tell of {names[0]}{given}:", table, *more
    ]  # fmt: skip


def sensitive(
    network: Any, names: Sequence[str], seen: dict[str, Any], given: str, state: Any, page: Path | None = None
) -> tuple[dict[str, Any], Any]:
    """The numbers of the tables on which P(target = state) hangs most; to a page too, with the network's picture."""
    import math
    from dataclasses import asdict

    from credo.cli.text import grid, label_text
    from credo.numerics.readable import count

    found = network.sensitivity(names[0], state, seen)
    if page is not None:
        _write_page(network, seen, found, page)
    rows = []
    for each in found[:SHOWN]:
        above = ", ".join(f"{name}={label_text(at)}" for name, at in each.parents.items())
        what = f"{each.node}={label_text(each.state)}{' | ' if above else ''}{above}"
        rows.append([what, *("–" if math.isnan(x) else f"{x:.6f}" for x in (each.value, each.low, each.high))])
    more = ["–: the evidence would be impossible."] if any("–" in row for row in rows) else []
    more += [f"… and {count(len(found) - SHOWN, 'number')} more."] if len(found) > SHOWN else []
    document = {"target": names[0], "state": label_text(state), "sensitivity": [asdict(each) for each in found]}
    document["output"] = None if page is None else str(page)
    return document, [
        f"P({names[0]}={label_text(state)}{given}) if a number of a table were a tenth less, or more:",
        grid(["number", "is", "less", "more"], rows), *more,
    ]  # fmt: skip


def _write_page(network: Any, seen: dict[str, Any], found: Any, path: Path) -> None:
    from credo.models.network.drawing.picture import MOST_BARS
    from credo.reports.sensitivity import write_sensitivity_html

    drawn = network.picture(seen).svg() if len(network.nodes) <= MOST_BARS else None
    write_sensitivity_html(found, path, network.name, drawn)
