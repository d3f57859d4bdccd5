"""`credo density DATA COLUMN`: what the values of one column look like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import DataArgument, Reading, with_reading, with_terminal
from credo.cli.terminal import Terminal
from credo.errors import DataError, ParameterError

__all__ = ["density"]

BANDWIDTHS = ("auto", "isj", "silverman", "scott", "cv")
BINS = ("knuth", "blocks", "fd", "scott")


@with_terminal
@with_reading()
def density(
    context: typer.Context,
    data: DataArgument,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="A column of numbers.")],
    reading: Reading,
    terminal: Terminal,
    bandwidth: Annotated[
        str, typer.Option("--bandwidth", metavar="RULE", help=f"{', '.join(BANDWIDTHS)}, or a number.")
    ] = "auto",
    bins: Annotated[
        str, typer.Option("--bins", metavar="RULE", help=f"{', '.join(BINS)}, or a number of bins.")
    ] = "knuth",
    low: Annotated[
        float | None, typer.Option("--low", metavar="X", help="No value can be below: no mass leaks there.")
    ] = None,
    high: Annotated[float | None, typer.Option("--high", metavar="X", help="No value can be above.")] = None,
    interval: Annotated[float, typer.Option("--interval", metavar="MASS", help="What the densest region holds.")] = 0.9,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="REPORT", help="Write an HTML page with pictures.")
    ] = None,
) -> None:
    """Show the density of a column: modes, quantiles, the densest region, and how smooth it was taken to be."""
    from credo.cli.options import checked_mass
    from credo.cli.rows import check_writable
    from credo.cli.text import bullets, grid

    rule = _rule("--bandwidth", bandwidth, BANDWIDTHS, float)
    how_many = _rule("--bins", bins, BINS, int)
    mass = checked_mass(interval)
    if output is not None:
        check_writable(output, (data,))
    with terminal.step(f"Reading {data}"):
        values, missing, name = _values(data, column, reading)
    _check_bounds(values, column, low, high)
    from credo.reports.density import density_html, density_report

    with terminal.step("Smoothing"):
        found = density_report(
            values, column=column, data=name, missing=missing, bandwidth=rule, bins=how_many, support=(low, high),
            mass=mass, command=terminal.command,
        )  # fmt: skip
    if output is not None:
        from credo.saving import atomic_write

        with atomic_write(output) as file:
            file.write(density_html(found).encode("utf-8"))
    terminal.document({**found.to_json(), "warnings": terminal.warned})
    terminal.say(f"{name}:", *bullets(found.sentences), grid(["", "value"], found.table))
    if output is not None:
        terminal.say(f"Wrote {output}.")


def _rule(option: str, text: str, names: tuple[str, ...], number: type) -> Any:
    """A rule's name, or a number > 0."""
    if text in names:
        return text
    try:
        value = number(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise ParameterError("", option, f"{', '.join(names)}, or a number > 0", text)
    return value


def _check_bounds(values: Any, column: str, low: float | None, high: float | None) -> None:
    """That no value lies beyond what is said to bound them."""
    for option, bound, side, sign in (("--low", low, "below", 1.0), ("--high", high, "above", -1.0)):
        beyond = values[:0] if bound is None else values[sign * values < sign * bound]
        if beyond.size:
            raise DataError(
                f"{beyond.size} values of {column!r} lie {side} {option} {bound:g}, {beyond[0]:g} for one.",
                columns=[column], value=float(beyond[0]), remedy=f"Leave {option} out, or move it.",
            )  # fmt: skip


def _values(data: str, column: str, reading: Reading) -> tuple[Any, int, str]:
    """(values, how many are missing, the table's name)."""
    import numpy as np

    table = reading.open(data)
    stated = table.schema[column]
    if not stated.is_numeric:
        raise DataError(
            f"Column {column!r} is read as {stated.type}: a density needs numbers.",
            columns=[column], value=stated.type, remedy=f"If they are numbers, say so: --type {column}=number.",
        )  # fmt: skip
    cells = [frame[column] for frame in table.frames(columns=(column,))]
    present = [part.drop_nulls().to_numpy() for part in cells]
    values = np.concatenate(present) if present else np.empty(0)
    finite = values[np.isfinite(values)]
    if finite.size < 2:
        raise DataError(f"Column {column!r} has {finite.size} values: a density needs two or more.", columns=[column])
    return finite, sum(map(len, cells)) - finite.size, table.name
