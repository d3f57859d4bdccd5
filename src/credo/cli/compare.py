"""`credo compare DATA --target COLUMN`: the comparison of candidates alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credo.cli.options import (
    DataArgument,
    DropOption,
    GroupOption,
    LimitOption,
    Reading,
    Seed,
    TargetOption,
    TaskOption,
    TimeOption,
    with_reading,
    with_terminal,
)
from credo.cli.terminal import Terminal

__all__ = ["compare"]


@with_terminal
@with_reading()
def compare(
    context: typer.Context,
    data: DataArgument,
    target: TargetOption,
    reading: Reading,
    terminal: Terminal,
    task: TaskOption = None,
    drop: DropOption = None,
    group: GroupOption = None,
    time: TimeOption = None,
    time_limit: LimitOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="REPORT", help="Write the comparison as an HTML page.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Compare models on rows they have not seen: log scores, their differences, and what these are sure to."""
    from credo.cli.candidates import checked_limit, compared, prepared
    from credo.cli.rows import check_writable
    from credo.cli.text import bullets, comparison_table
    from credo.selection.choosing import comparison_record

    checked_limit(time_limit)
    job = prepared(data, target, reading, terminal, task=task, drop=tuple(drop or ()), group=group, time=time)
    found = compared(job, terminal, seed, time_limit)
    record = comparison_record(found.comparison)
    about = {
        "data": job.table.name,
        "target": job.target,
        "task": job.task,
        "rows": job.rows_read,
        "sampled": not found.sample.complete,
    }
    if output is not None:
        from credo.reports import comparison_report, write_html

        check_writable(output, (data,))
        model = found.as_compared(terminal.command)
        with terminal.step(f"Writing {output}"):
            write_html(comparison_report(model, warnings=terminal.warned), output)
    terminal.document({**about, **record, "warnings": terminal.warned})
    terminal.say(f"{data}: {job.target!r} by {job.task}.", *bullets([*job.notes, *found.notes]))
    terminal.say(*comparison_table(record))
    if output is not None:
        terminal.say(f"Wrote {output}.")
