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
    from credo.cli.network_gaussian import of_numbers
    from credo.cli.network_learning import Wanted, of_states
    from credo.cli.network_parts import checked_network_output, write_network_file

    if kind not in ("states", "gaussian"):
        raise ParameterError("", "--kind", "states or gaussian", kind)
    wanted = Wanted(structure, score, max_parents, target, prior, size, tuple(drop or ()), seed)
    name = "network" if data == "-" else Path(data).name.removesuffix(".gz")
    endings, read, learned = of_numbers(wanted) if kind == "gaussian" else of_states(wanted)
    path = checked_network_output(output or Path(name).with_suffix(endings[0]), data, endings)
    with terminal.step(f"Reading {data}"):
        rows = read(reading.open(data))
    with terminal.step("Learning"):
        network, document, lines = learned(rows, name)
    with terminal.step(f"Writing {path}"):
        write_network_file(
            network, path, {"data": name, "rows": document["rows"], "structure": structure, "seed": seed}
        )
    terminal.document({**document, "warnings": list(terminal.warned), "output": str(path)})
    next_ = [["query", str(path), "--target", target or network.nodes[0]]]
    if kind == "states":
        next_.append(["show", str(path), "-o", f"{Path(path.name.removesuffix('.gz')).stem}.svg"])
    terminal.say(
        *lines, f"Wrote {path}.", "Try next:",
        *(f"  {shlex.join(['credo', 'network', *words])}" for words in next_),
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
