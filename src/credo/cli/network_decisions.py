"""`credo network decide` and `show` of decision networks: the best policy, and what it would be worth to know more."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from credo.errors import FileFormatError, ParameterError

__all__ = ["policy_answer", "show_decisions", "worth_of_knowing"]

# Lines of a rule that a screen holds.
SHOWN = 40


def show_decisions(network: Any, file: str) -> tuple[dict[str, Any], list[Any]]:
    """(document, lines): chance nodes, decisions with what is known at each, utilities."""
    from credo.cli.text import grid, label_text
    from credo.numerics.readable import count, shortened

    above: dict[str, list[str]] = {}
    for parent, child in network.edges:
        above.setdefault(child, []).append(parent)
    states = network.diagram_.states
    document = {
        "kind": network.kind, "name": Path(file).name, "edges": network.edges,
        "chance": {node: list(states[node]) for node in network.chance},
        "decisions": {name: list(options) for name, options in network.decisions.items()},
        "information": network.information, "utilities": list(network.utilities),
        "no_forgetting": network.no_forgetting,
    }  # fmt: skip
    rows = [[node, "chance", ", ".join(map(label_text, states[node])), above.get(node, [])] for node in network.chance]
    rows += [
        [n, "decision", ", ".join(map(label_text, o)), network.information[n]] for n, o in network.decisions.items()
    ]
    rows += [[name, "utility", "", above.get(name, [])] for name in network.utilities]
    table = grid(
        ["node", "kind", "states or options", "parents, or what is known"],
        [[name, kind, shortened(own, 50), shortened(", ".join(parents), 60)] for name, kind, own, parents in rows], 4,
    )  # fmt: skip
    return document, [
        f"{Path(file).name}: a decision network, {count(len(network.chance), 'chance node')}, "
        f"{count(len(network.decisions), 'decision')} ({', then '.join(network.decisions)}), "
        f"{count(len(network.utilities), 'utility', 'utilities')}.",
        table, f"What to do: credo network decide {file}",
    ]  # fmt: skip


def checked_decisions(network: Any, file: str) -> Any:
    """The network, or an error that says which command it is for."""
    if not hasattr(network, "decisions"):
        raise FileFormatError(
            f"{file} holds no decisions.", value=file, remedy=f"Try: credo network query {file} --target NODE"
        )
    return network


def policy_answer(network: Any, seen: dict[str, Any], given: str) -> tuple[dict[str, Any], list[Any]]:
    """The best policy: for each decision an option by what was seen, and what is expected of it."""
    from credo.cli.text import grid, label_text
    from credo.numerics.readable import count, number

    policy = network.solve(seen)
    rules: dict[str, Any] = {}
    lines: list[Any] = [f"Expected utility{given.replace(' |', ' given', 1)}: {number(policy.expected_utility, 8)}"]
    for decision, rule in policy.rules.items():
        flat = rule.expected_utilities.reshape(-1, len(rule.options))
        cases = list(zip(product(*rule.observed.values()), rule.choices.ravel().tolist(), flat.tolist(), strict=True))
        possible = [case for case in cases if case[2][0] == case[2][0]]
        rules[decision] = [
            {
                "observed": dict(zip(rule.observed, states, strict=True)), "option": rule.options[choice],
                "expected_utilities": {label_text(o): v for o, v in zip(rule.options, values, strict=True)},
            }
            for states, choice, values in possible
        ]  # fmt: skip
        head = [*rule.observed, "do", *(f"E[utility | {label_text(option)}]" for option in rule.options)]
        rows = [
            [*map(label_text, states), label_text(rule.options[choice]), *(number(v, 6) for v in values)]
            for states, choice, values in possible[:SHOWN]
        ]
        by = f" by {', '.join(rule.observed)}" if rule.observed else ""
        lines += [f"{decision}{by}:", grid(head, rows, len(rule.observed) + 1)]
        if len(possible) > SHOWN:
            lines.append(f"… and {count(len(possible) - SHOWN, 'case')} more: --json has all.")
    if policy.optimal != "global":
        lines.append("No single rule can be bettered alone; several together might be.")
    document = {"expected_utility": policy.expected_utility, "optimal": policy.optimal, "policy": rules}
    return document, lines


def worth_of_knowing(network: Any, seen: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """For each decision, how much more is expected if one chance node more is known when it is taken, most first."""
    from credo.cli.text import grid
    from credo.numerics.readable import number

    found: dict[str, dict[str, float]] = {}
    for decision, known in network.information.items():
        worth = {}
        for node in network.chance:
            if node in known or node in seen:
                continue
            try:
                worth[node] = network.value_of_information(decision, node, seen)
            except ParameterError:  # the decision, or a later one, influences it
                continue
        found[decision] = dict(sorted(worth.items(), key=lambda pair: -pair[1]))
    rows = [[decision, node, number(v, 6)] for decision, worth in found.items() for node, v in worth.items()]
    table = grid(["when deciding", "to know", "is worth"], rows, 2)
    return {"value_of_information": found}, ["What it is worth to know before deciding:", table]
