"""`credo network learn|predict`: a network from a table, and a table's rows by a network."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from credo.cli.network_options import FileArgument
from credo.cli.options import DataArgument, DropOption, Reading, Seed, with_reading, with_terminal
from credo.cli.terminal import Terminal
from credo.errors import DataError, ParameterError

__all__ = ["learn", "predict"]

# Rows that a screen holds.
_SHOWN = 40


@with_terminal
@with_reading()
def learn(
    context: typer.Context,
    data: DataArgument,
    reading: Reading,
    terminal: Terminal,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="Where to write it, as .bif, .xmlbif, .net or .credo (--kind gaussian: .json or .credo); by default "
            "DATA's name with .bif (.json).",
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", metavar="KIND",
            help="states: cells are states; gaussian: cells are numbers, each column linear in its parents.",
        ),
    ] = "states",
    structure: Annotated[
        str,
        typer.Option(
            "--structure", metavar="HOW",
            help="hill-climb, pc, chow-liu, tan, naive-bayes, or a file: lines PARENT,CHILD, or a network.",
        ),
    ] = "hill-climb",
    score: Annotated[
        str | None,
        typer.Option(
            "--score", metavar="NAME",
            help="Of hill-climb: bic (the default), aic, bdeu or k2 (--kind gaussian: bic, aic or bge).",
        ),
    ] = None,
    max_parents: Annotated[
        int | None, typer.Option("--max-parents", min=0, metavar="N", help="Of hill-climb: of one node.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The class, of tan and naive-bayes.")
    ] = None,
    prior: Annotated[
        str, typer.Option("--prior", metavar="NAME", help="Of the tables: bdeu, k2, or none (maximum likelihood).")
    ] = "bdeu",
    size: Annotated[
        float | None, typer.Option("--sample-size", metavar="N", help="Rows that the prior bdeu (bge) is worth; 1.")
    ] = None,
    drop: DropOption = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Learn which columns depend on which, and how; missing cells are filled in by EM."""
    from credo.cli.network_learning import learned_from, read_categories, told
    from credo.cli.network_parts import checked_network_output, write_network_file
    from credo.models.network.network import BayesianNetwork

    name = "network" if data == "-" else Path(data).name.removesuffix(".gz")
    if kind != "states":
        _learn_numbers(
            reading, terminal, name, data, output, kind, structure, score, max_parents, target, prior, size,
            tuple(drop or ()), seed,
        )  # fmt: skip
        return
    path = checked_network_output(output or Path(name).with_suffix(".bif"), data)
    with terminal.step(f"Reading {data}"):
        frame, states = read_categories(reading.open(data), tuple(drop or ()))
    options = {"prior": prior, "equivalent_sample_size": size, "random_state": seed}
    with terminal.step("Learning"):
        found = learned_from(frame, states, structure, score, max_parents, target, options)
    network = BayesianNetwork.of(found.definition)
    with terminal.step(f"Writing {path}"):
        write_network_file(network, path, {"data": name, "rows": frame.height, "structure": structure, "seed": seed})
    document, lines = told(found, frame, structure, name)
    terminal.document({**document, "warnings": list(terminal.warned), "output": str(path)})
    example, stem = target or network.nodes[0], Path(path.name.removesuffix(".gz")).stem
    terminal.say(
        *lines, f"Wrote {path}.", "Try next:",
        f"  {shlex.join(['credo', 'network', 'query', str(path), '--target', example])}",
        f"  {shlex.join(['credo', 'network', 'show', str(path), '-o', f'{stem}.svg'])}",
    )  # fmt: skip


def _learn_numbers(
    reading: Reading, terminal: Terminal, name: str, data: str, output: Path | None, kind: str, structure: str,
    score: str | None, max_parents: int | None, target: str | None, prior: str, size: float | None,
    drop: tuple[str, ...], seed: int,
) -> None:  # fmt: skip
    """`learn --kind gaussian`."""
    from credo.cli.network_gaussian import ENDINGS, learned_numbers, read_numbers, told_numbers
    from credo.cli.network_parts import checked_network_output, write_network_file

    if kind != "gaussian":
        raise ParameterError("", "--kind", "states or gaussian", kind)
    for option, value in (("--target", target), ("--prior", None if prior == "bdeu" else prior)):
        if value is not None:
            raise ParameterError("", option, "left out, of --kind gaussian", value)
    path = checked_network_output(output or Path(name).with_suffix(".json"), data, ENDINGS)
    with terminal.step(f"Reading {data}"):
        frame = read_numbers(reading.open(data), drop)
    with terminal.step("Learning"):
        network = learned_numbers(frame, structure, score, max_parents, size, seed)
    with terminal.step(f"Writing {path}"):
        write_network_file(network, path, {"data": name, "rows": frame.height, "structure": structure, "seed": seed})
    document, lines = told_numbers(network, frame.height, structure, name)
    terminal.document({**document, "warnings": list(terminal.warned), "output": str(path)})
    terminal.say(
        *lines, f"Wrote {path}.", "Try next:",
        f"  {shlex.join(['credo', 'network', 'query', str(path), '--target', network.nodes[0]])}",
    )  # fmt: skip


@with_terminal
@with_reading(columns=False)
def predict(
    context: typer.Context,
    file: FileArgument,
    data: DataArgument,
    reading: Reading,
    terminal: Terminal,
    target: Annotated[str, typer.Option("--target", "-t", metavar="NODE", help="What to predict.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="Write .csv, .tsv, .parquet or .jsonl; by default CSV on standard output.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COLUMN", help="Repeat a column of DATA in the output.")
    ] = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Predict a node for every row, from the row's other cells; any may be missing."""
    from credo.cli.network_parts import at_line, header, open_any, refuse_decisions
    from credo.cli.network_rows import predicted_rows
    from credo.cli.rows import check_writable, print_rows, write_rows
    from credo.cli.text import grid, label_text
    from credo.models.network.findings import known_node
    from credo.numerics.readable import count

    if output is not None:
        check_writable(output, (file, data))
    with terminal.step(f"Reading {file}"):
        network = open_any(file)
    refuse_decisions(network, file)
    try:
        known_node(dict.fromkeys(network.nodes, ()), target)
    except ParameterError as error:
        raise ParameterError("", "--target", error.constraint, error.value, error.remedy) from error
    with terminal.step(f"Predicting {data}"):
        table = reading.open(data)
        try:
            rows = predicted_rows(network, table, target, tuple(keep or ()))
        except DataError as error:
            raise at_line(error, table) from error
    summary = {"kind": "network predictions", "target": target, "rows": rows.height}
    if output is not None:
        write_rows(iter([rows]), output)
        terminal.document({**summary, "warnings": list(terminal.warned), "output": str(output)})
        terminal.say(f"Wrote {output}: {rows.height:,} rows.")
    elif terminal.json:
        terminal.document({**summary, "predictions": rows.to_dicts(), "warnings": list(terminal.warned)})
    elif terminal.quiet or not sys.stdout.isatty():
        print_rows(iter([rows]))
    else:
        cells = [
            [str(i), *(f"{v:.4f}" if isinstance(v, float) else "-" if v is None else label_text(v) for v in row)]
            for i, row in enumerate(rows.head(_SHOWN).iter_rows(), 1)
        ]
        terminal.say(
            f"{target!r} of {count(rows.height, 'row')} of {data}:", grid(["row", *map(header, rows.columns)], cells)
        )
        if rows.height > _SHOWN:
            terminal.say(f"… and {count(rows.height - _SHOWN, 'row')} more.")
        terminal.say(f"For a file: credo network predict {file} {data} --target {target} -o predictions.csv")
