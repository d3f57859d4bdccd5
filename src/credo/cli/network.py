"""`credo network show|query|decide|learn|predict`: networks of causes, from files and to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.network_options import DoOption, EvidenceOption, FileArgument
from credo.cli.network_tables import learn, predict
from credo.cli.options import Seed, with_terminal
from credo.cli.terminal import Terminal
from credo.errors import ParameterError

__all__ = ["app", "show", "query", "decide", "learn", "predict"]

app = typer.Typer(
    help="Networks of causes: what they hold, what follows from evidence, how to learn and apply them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.command(short_help="What a network holds, and what it believes.")
@with_terminal
def show(
    context: typer.Context,
    file: FileArgument,
    terminal: Terminal,
    evidence: EvidenceOption = None,
    do: DoOption = None,
    marginals: Annotated[bool, typer.Option("--marginals", help="The probabilities of all states.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Draw it, as .svg or .html.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Show nodes, states, arrows and parameters of a network; with evidence, the probabilities of all states."""
    from credo.cli.network_answers import believed
    from credo.cli.network_parts import belief_tables, in_words, listed, open_any, parsed, unset
    from credo.cli.text import grid, label_text
    from credo.numerics.readable import count, shortened

    if output is not None:
        _checked_picture(output, file)
    with terminal.step(f"Reading {file}"):
        network = open_any(file)
    if hasattr(network, "kind"):
        _show_other(terminal, network, file, evidence, do, output)
        return
    d = network.definition_
    seen, set_ = parsed(d.states, evidence, "--evidence"), parsed(d.states, do, "--do")
    unset(seen, set_)
    laws, errors = None, None
    if marginals or seen or set_ or output is not None:
        with terminal.step("Computing marginals"):
            laws, errors, _ = believed(network.do(set_) if set_ else network, seen, seed)
    if output is not None:
        _draw(d, laws, seen, set_, output)
    wanted = laws if marginals or seen or set_ else None
    nodes = [
        {
            "name": node, "states": list(d.states[node]), "parents": list(d.parents[node]),
            "parameters": d.tables[node].size - d.tables[node].size // d.tables[node].shape[-1],
            **({} if wanted is None else {"marginal": {label_text(s): p for s, p in wanted[node].items()}}),
            **({} if wanted is None or errors is None else {"standard_errors": errors[node]}),
        }
        for node in d.nodes
    ]  # fmt: skip
    widest = max(d.nodes, key=lambda node: d.tables[node].size)
    terminal.document({
        "kind": "network", "name": d.name, "nodes": nodes, "edges": d.edges, "parameters": d.n_parameters,
        "widest_family": {"node": widest, "parents": d.parents[widest], "cells": d.tables[widest].size},
        "evidence": seen, "do": set_, "warnings": list(terminal.warned),
        "output": None if output is None else str(output),
    })  # fmt: skip
    above = f" given {shortened(', '.join(d.parents[widest]), 60)}" if d.parents[widest] else ""
    terminal.say(
        f"{d.name or Path(file).name}: {count(len(d.nodes), 'node')}, {count(len(d.edges), 'arrow')}, "
        f"{count(d.n_parameters, 'parameter')}.",
        f"Widest family: {widest}{above} ({count(d.tables[widest].size, 'cell')}).",
    )
    if wanted is None:
        rows = [
            [
                node["name"], str(node["parameters"]), shortened(", ".join(map(label_text, node["states"])), 40),
                shortened(", ".join(node["parents"]), 60),
            ]
            for node in nodes
        ]  # fmt: skip
        table = in_words(grid(["node", "parameters", "states", "parents"], rows), 2, 3)
        terminal.say(table, f"What follows from evidence: credo network query {file} --target NODE -e NODE=STATE")
    else:
        terminal.say(f"P(node{listed(seen, set_)}):", *belief_tables(wanted, errors))
    if output is not None:
        terminal.say(f"Wrote {output}.")


@app.command(short_help="What follows from evidence.")
@with_terminal
def query(
    context: typer.Context,
    file: FileArgument,
    terminal: Terminal,
    target: Annotated[
        list[str] | None, typer.Option("--target", "-t", metavar="NODE", help="What to ask for. Repeat.")
    ] = None,
    evidence: EvidenceOption = None,
    do: DoOption = None,
    joint: Annotated[bool, typer.Option("--joint", help="The targets' states together, not one by one.")] = False,
    mpe: Annotated[
        bool,
        typer.Option("--mpe", help="The most probable states of all nodes together (of the targets, if there are)."),
    ] = False,
    voi: Annotated[
        bool, typer.Option("--voi", help="What to observe next: how much each node would tell of the target.")
    ] = False,
    sensitivity: Annotated[
        str | None,
        typer.Option("--sensitivity", metavar="STATE", help="Numbers of the tables on which the target's STATE hangs."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Of --sensitivity: its tornado diagram, as an .html page."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Tell the probabilities of nodes given evidence and actions, the best explanation, or what hangs on what."""
    from credo.cli.network_answers import answer, explain, sensitive, worth
    from credo.cli.network_answers import joint as joint_law
    from credo.cli.network_parts import listed, open_any, parsed, unset
    from credo.models.network.findings import known_node

    if not target and not mpe:
        raise ParameterError("", "--target", "given, or --mpe", None, "As in: --target lung --evidence xray=yes")
    if sum((mpe, joint, voi, sensitivity is not None)) > 1:
        raise ParameterError("", "--mpe, --joint, --voi, --sensitivity", "given one at a time", "several")
    if output is not None:
        _checked_page(output, file, sensitivity)
    with terminal.step(f"Reading {file}"):
        network = open_any(file)
    if hasattr(network, "kind"):
        other = {"--mpe": mpe, "--voi": voi, "--sensitivity": sensitivity is not None}
        _query_other(terminal, network, file, target, evidence, do, joint, [name for name, at in other.items() if at])
        return
    try:
        names = list(dict.fromkeys(known_node(network.states, name, "--target") for name in target or ()))
    except ParameterError as error:
        raise ParameterError("", "--target", error.constraint, error.value, error.remedy) from error
    seen, set_ = parsed(network.states, evidence, "--evidence"), parsed(network.states, do, "--do")
    if taken := [name for name in names if name in seen]:
        raise ParameterError("", "--target", "a node without evidence", taken[0])
    unset(seen, set_)
    if (voi or sensitivity is not None) and len(names) != 1:
        raise ParameterError("", "--target", "one node, for --voi and --sensitivity", names)
    state = None if sensitivity is None else parsed(network.states, [f"{names[0]}={sensitivity}"], "--sensitivity")
    asked = network.do(set_) if set_ else network
    base = {"kind": "network query", "network": network.name or file, "evidence": seen, "do": set_}
    given = listed(seen, set_)
    with terminal.step("Computing"):
        if state is not None:
            found = sensitive(asked, names, seen, given, state[names[0]], output)
        else:
            ask = explain if mpe else joint_law if joint else worth if voi else answer
            found = ask(asked, names, seen, given, seed)
    terminal.document({**base, **found[0], "warnings": list(terminal.warned)})
    terminal.say(*found[1])
    if output is not None:
        terminal.say(f"Wrote {output}.")


def _show_other(
    terminal: Terminal, network: Any, file: str, evidence: list[str] | None, do: list[str] | None, output: Path | None
) -> None:
    """A network of decisions, or of real numbers."""
    from credo.cli.network_decisions import show_decisions
    from credo.cli.network_numbers import findings_of, show_numbers
    from credo.cli.network_parts import unset

    if output is not None:
        raise ParameterError("", "--output", f"left out: a {network.kind} has no picture", str(output))
    if hasattr(network, "decisions"):
        if evidence or do:
            raise ParameterError(
                "", "--evidence" if evidence else "--do", "left out: a decision network is asked by `decide`",
                (evidence or do or [""])[0], f"Try: credo network decide {file} -e NODE=STATE",
            )  # fmt: skip
        document, lines = show_decisions(network, file)
    else:
        seen, set_ = findings_of(network, evidence, "--evidence"), findings_of(network, do, "--do")
        unset(seen, set_)
        document, lines = show_numbers(network, file, seen, set_)
    terminal.document({**document, "warnings": list(terminal.warned)})
    terminal.say(*lines)


def _query_other(
    terminal: Terminal, network: Any, file: str, target: list[str] | None, evidence: list[str] | None,
    do: list[str] | None, joint: bool, unfit: list[str],
) -> None:  # fmt: skip
    """A network of real numbers."""
    from credo.cli.network_numbers import answer_numbers, findings_of
    from credo.cli.network_parts import listed, refuse_decisions, unset
    from credo.models.network.gaussian.structure import known_name

    refuse_decisions(network, file)
    if unfit:
        raise ParameterError("", unfit[0], f"left out: a {network.kind} has no such answer", unfit[0])
    seen, set_ = findings_of(network, evidence, "--evidence"), findings_of(network, do, "--do")
    unset(seen, set_)
    names = list(dict.fromkeys(known_name("", network.nodes, name, "--target") for name in target or ()))
    if taken := [name for name in names if name in seen]:
        raise ParameterError("", "--target", "a node without evidence", taken[0])
    with terminal.step("Computing"):
        asked = network.do(set_) if set_ else network
        document, lines = answer_numbers(asked, names, seen, listed(seen, set_), joint)
    base = {"kind": "network query", "network": Path(file).name, "evidence": seen, "do": set_}
    terminal.document({**base, **document, "warnings": list(terminal.warned)})
    terminal.say(*lines)


@app.command(short_help="What is best to do: the policy of a decision network.")
@with_terminal
def decide(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A decision network: JSON, or Credo's own.")],
    terminal: Terminal,
    evidence: EvidenceOption = None,
    voi: Annotated[
        bool, typer.Option("--voi", help="What it is worth to know each chance node before deciding.")
    ] = False,
) -> None:
    """Tell the best option of every decision, by what is known then, and the utility that is expected."""
    from credo.cli.network_decisions import checked_decisions, policy_answer, worth_of_knowing
    from credo.cli.network_parts import listed, open_any, parsed

    with terminal.step(f"Reading {file}"):
        network = checked_decisions(open_any(file), file)
    seen = parsed({node: network.diagram_.states[node] for node in network.chance}, evidence, "--evidence")
    with terminal.step("Solving"):
        document, lines = worth_of_knowing(network, seen) if voi else policy_answer(network, seen, listed(seen))
    base = {"kind": "policy", "network": Path(file).name, "evidence": seen}
    terminal.document({**base, **document, "warnings": list(terminal.warned)})
    terminal.say(*lines)


def _checked_page(path: Path, source: str, sensitivity: str | None) -> None:
    from credo.cli.rows import check_writable

    if sensitivity is None:
        raise ParameterError(
            "", "--output", "left out unless --sensitivity is given", str(path),
            "A picture of the network: credo network show FILE -o picture.svg",
        )  # fmt: skip
    if path.suffix.lower() != ".html":
        raise ParameterError("", "--output", "a name that ends in .html", str(path))
    check_writable(path, (source,))


def _checked_picture(path: Path, source: str) -> None:
    from credo.cli.rows import check_writable

    if path.suffix.lower() not in (".svg", ".html"):
        raise ParameterError("", "--output", "a name that ends in .svg or .html", str(path))
    check_writable(path, (source,))


def _draw(d: Any, believed: Any, seen: dict[str, Any], set_: dict[str, Any], path: Path) -> None:
    from credo.models.network.drawing import network_html, network_svg
    from credo.saving import atomic_write

    draw = network_html if path.suffix.lower() == ".html" else network_svg
    text = draw(d, believed, seen, actions=set_)
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


app.command(short_help="Learn a network from a table.")(learn)
app.command(short_help="Predict a node for every row of a table.")(predict)
