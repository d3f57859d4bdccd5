"""`credo predict MODEL DATA`: every row's prediction, with its uncertainty and, given a loss, what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.losses import EXAMPLES
from credo.cli.options import DataArgument, Reading, Seed, checked_mass, with_reading, with_terminal
from credo.cli.terminal import Terminal
from credo.errors import ModelWarning, warn

__all__ = ["predict"]

# Rows shown on a terminal: a screen without scrolling.
_SHOWN = 20


@with_terminal
@with_reading(columns=False)
def predict(
    context: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="What `credo fit` or `credo regress` wrote.")],
    data: DataArgument,
    reading: Reading,
    terminal: Terminal,
    interval: Annotated[
        float,
        typer.Option("--interval", metavar="MASS", help="Probability that an interval, or a set of classes, holds."),
    ] = 0.9,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write .csv, .tsv, .parquet or .jsonl; by default CSV on standard output.",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="LOSS",
            help=f"Decide by a loss: {EXAMPLES}.",
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option("--costs", metavar="FILE", help="Decide by a table of costs: a row an action, a column a class."),
    ] = None,
    reject: Annotated[
        float | None,
        typer.Option("--reject", metavar="COST", help="Decide on the likeliest class, or not at all for this cost."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="Repeat a column of DATA in the output. Repeat."),
    ] = None,
    new_levels: Annotated[
        str | None,
        typer.Option(
            "--new-levels", metavar="WHAT", help="Of groups a regression never met: sample (the default), mean, error."
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Predict every row of a table, with intervals, and decide if a loss is given."""
    from credo.cli.losses import chosen_loss
    from credo.cli.model import load_model
    from credo.cli.rows import check_writable, print_rows, write_rows

    checked_mass(interval)
    if output is not None:
        check_writable(output, (model, data))
    fitted = load_model(model, new_levels, seed)
    chosen = chosen_loss(loss, costs, reject, fitted)
    with terminal.step(f"Reading {data}"):
        table = fitted.open(data, **reading.how)
    frames = _frames(fitted, table, tuple(keep or ()), interval, chosen)
    if output is not None:
        with terminal.step(f"Predicting {data}"):
            rows = write_rows(frames, output)
        terminal.document({"target": fitted.target, "rows": rows, "interval": interval, "output": str(output)})
        terminal.say(f"Wrote {output}: {rows:,} rows.")
    elif terminal.json:
        with terminal.step(f"Predicting {data}"):
            records = [record for frame in frames for record in frame.to_dicts()]
        terminal.document({"target": fitted.target, "rows": len(records), "interval": interval, "predictions": records})
    elif terminal.quiet or not sys.stdout.isatty():
        with terminal.step(f"Predicting {data}"):
            print_rows(frames)
    else:
        _show(fitted, frames, interval, data, model, terminal)


def _frames(model: Any, table: Any, keep: tuple[str, ...], interval: float, loss: Any) -> Iterator[Any]:
    from credo.cli.rows import prediction_frame

    low, rows, beyond = model.lowest, 0, 0
    for frame in model.map(lambda kept, predictive: prediction_frame(kept, predictive, interval, loss), table, keep):
        if low is not None and low >= 0.0:
            rows, beyond = rows + frame.height, beyond + int((frame["lower"] < 0.0).sum())
        yield frame
    if beyond:
        warn(
            f"{beyond:,} of {rows:,} intervals reach below 0, where {model.target!r} never was in the rows of the fit: "
            "read those ends as 0, or fit the logarithm if the target is positive.",
            ModelWarning,
        )


def _show(model: Any, frames: Iterator[Any], interval: float, data: str, path: str, terminal: Terminal) -> None:
    """The first rows as a table."""
    from credo.numerics.readable import count

    head, rows = None, 0
    with terminal.step(f"Predicting {data}"):
        for frame in frames:
            head = frame.head(_SHOWN) if head is None else head
            rows += frame.height
    assert head is not None
    terminal.say(f"{model.target!r} of {count(rows, 'row')} of {data}:", _table(head, interval, bool(model.labels)))
    if rows > _SHOWN:
        terminal.say(f"… and {count(rows - _SHOWN, 'row')} more.")
    terminal.say(f"For a file: credo predict {path} {data} -o predictions.csv")


def _table(head: Any, interval: float, classes: bool) -> Any:
    from credo.cli.text import grid
    from credo.numerics.readable import aligned, percent

    names = [name for name in head.columns if name not in ("lower", "upper", "aleatoric", "epistemic")]
    region = f"{percent(interval)} {'set' if classes else 'interval'}"
    if classes:
        names[names.index("set")] = region
    else:
        names.insert(names.index("sd") + 1, region)
    rows = []
    for i, record in enumerate(head.to_dicts()):
        cells = {name: _cell(value) for name, value in record.items()}
        if classes:
            cells[region] = cells["set"]
        else:
            mean, sd, low, high = aligned([record[k] for k in ("mean", "sd", "lower", "upper")], record["sd"])
            cells |= {"mean": mean, "sd": sd, region: "-" if record["sd"] is None else f"{low} … {high}"}
        rows.append([str(i + 1), *(cells[name] for name in names)])
    return grid(["row", *names], rows)


def _cell(value: Any) -> str:
    from credo.cli.text import label_text
    from credo.numerics.readable import number

    if value is None:  # a row without a prediction
        return "-"
    if isinstance(value, list):
        return " ".join(map(label_text, value))
    return label_text(value) if isinstance(value, (str, bool)) else number(value)
