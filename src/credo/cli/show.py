"""`credo show PATH`: what a table holds, or what a saved model believes; told apart by content."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credo.cli.options import Reading, Seed, with_reading, with_terminal
from credo.cli.terminal import Terminal
from credo.errors import FileFormatError

__all__ = ["show"]

# Endings of files that hold a Bayesian network, and nothing else.
_NETWORKS = (".bif", ".xmlbif", ".bifxml", ".uai", ".net")


@with_terminal
@with_reading()
def show(
    context: typer.Context,
    path: Annotated[str, typer.Argument(metavar="PATH", help="A table, or a model that Credo wrote.")],
    reading: Reading,
    terminal: Terminal,
    interval: Annotated[
        float, typer.Option("--interval", metavar="MASS", help="Of a model: how much an interval holds.")
    ] = 0.9,
    write_schema: Annotated[
        Path | None,
        typer.Option(
            "--write-schema", metavar="FILE", help="Write the columns' types to a file, to correct and give back."
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Show what a table holds, or what a saved model believes.

    A table: rows, columns, types, missing cells, and everything that was decided on the way.
    """
    from credo.saving import is_credo_file

    if path != "-" and is_credo_file(path):
        _show_model(path, interval, terminal)
    elif path.lower().removesuffix(".gz").endswith(_NETWORKS):
        raise FileFormatError(f"{path} is a network, not a table.", remedy=f"Try: credo network show {path}")
    else:
        _show_table(path, reading, write_schema, terminal)


def _show_table(path: str, reading: Reading, write_schema: Path | None, terminal: Terminal) -> None:
    from credo.cli.text import bullets, grid
    from credo.numerics.readable import count, shortened
    from credo.saving import atomic_write
    from credo.tables import describe

    with terminal.step(f"Reading {path}"):
        report = describe(path, schema=reading.schema, types=reading.types or None, **reading.how)
    if write_schema is not None:
        with atomic_write(write_schema) as file:
            file.write(report.schema.encode("utf-8"))
    terminal.document({"kind": "table", "name": report.name, **report.to_json()})
    rows = [
        [
            shortened(c.name, 40),
            c.type,
            str(c.missing or ""),
            "many" if c.distinct is None else str(c.distinct),
            shortened(c.example or ""),
        ]
        for c in report.columns
    ]
    terminal.say(f"{report.name}: {count(report.rows, 'row')}, {count(len(report.columns), 'column')}")
    terminal.say(grid(["column", "type", "missing", "distinct", "such as"], rows, left=2))
    for title, sentences in (("Decided:", report.decisions), ("Warnings:", report.warnings)):
        if sentences:
            terminal.say(title, *bullets(sentences, most=40))
    if write_schema is not None:
        terminal.say(f"Wrote {write_schema}: correct it, and give it with --schema {write_schema}.")
    elif report.columns:
        terminal.say("A type is wrong? Say so with --type COLUMN=TYPE, or edit the file of --write-schema FILE.")


def _show_model(path: str, interval: float, terminal: Terminal) -> None:
    from credo.cli.model import belief, load_model, load_saved, origin, rendered
    from credo.cli.options import checked_mass
    from credo.cli.regression import SavedRegression, is_regression

    mass, model = checked_mass(interval), load_saved(path)
    if is_regression(model):
        model = SavedRegression(model, mass=mass)
    if hasattr(model, "told"):  # a model that speaks for itself (`credo.models.listing`)
        terminal.document(model.summary(mass))
        terminal.say(*rendered(model.told()))
        return
    model = load_model(path)
    terminal.document(summary := model.summary(mass))
    terminal.say(*origin(model), *belief(model, summary, most=None))
