"""`credo fit DATA --target COLUMN`: candidates weighed, the best kept, its beliefs told, the model written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import (
    DataArgument,
    DropOption,
    GroupOption,
    LimitOption,
    Reading,
    ReportOption,
    Seed,
    TargetOption,
    TaskOption,
    TimeOption,
    with_reading,
    with_terminal,
)
from credo.cli.terminal import Terminal

__all__ = ["fit"]


@with_terminal
@with_reading()
def fit(
    context: typer.Context,
    data: DataArgument,
    target: TargetOption,
    reading: Reading,
    terminal: Terminal,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="MODEL", help="Where to write the model; by default DATA's name with .credo."
        ),
    ] = None,
    task: TaskOption = None,
    average: Annotated[
        bool, typer.Option("--average", help="Average the candidates instead of keeping the best.")
    ] = False,
    drop: DropOption = None,
    group: GroupOption = None,
    time: TimeOption = None,
    time_limit: LimitOption = None,
    report: ReportOption = True,
    seed: Seed = 0,
) -> None:
    """Fit models to a table, keep the best, say what it believes, and write it to a file, with a report beside it."""
    from credo.cli.candidates import checked_limit, compared, prepared
    from credo.cli.model import belief, outlook
    from credo.cli.text import bullets, comparison_table
    from credo.saving import save

    checked_limit(time_limit)
    path = checked_output(output or default_output(data), data)
    job = prepared(data, target, reading, terminal, task=task, drop=tuple(drop or ()), group=group, time=time)
    found = compared(job, terminal, seed, time_limit)
    with terminal.step("Fitting"):
        model = found.keep(averaged=average, command=terminal.command)
    with terminal.step(f"Writing {path}"):
        save(model, path, about={"target": model.target, "task": model.task, "rows": model.provenance.rows})
    page = path.with_suffix(".html") if report else None
    if page is not None:
        from credo.reports import report as reported
        from credo.reports import write_html

        with terminal.step(f"Writing {page}"):
            write_html(reported(model, found.rows_of(model), warnings=terminal.warned), page)
    summary = model.summary()
    # What was warned of need not be noted again.
    noted = [each for each in summary["warnings"] if not any(each in said for said in terminal.warned)]
    terminal.document(
        {
            **summary,
            "warnings": [*terminal.warned, *noted],
            "output": str(path),
            "report": None if page is None else str(page),
        }
    )
    summary["warnings"] = noted
    said = [each for each in model.decisions if each not in terminal.warned]
    terminal.say(headline(job, model), *bullets(said))
    terminal.say(*comparison_table(model.comparison, choosing=not average), *belief(model, summary, most=20))
    terminal.say(f"Wrote {path}{'' if page is None else f' and its report {page}'}.", *outlook(model, path))


def default_output(data: str) -> Path:
    """houses.csv → houses.credo, in the current folder."""
    if data == "-":
        return Path("model.credo")
    name = Path(data).name.removesuffix(".gz")
    return Path(name).with_suffix(".credo") if Path(name).stem else Path("model.credo")


def checked_output(path: Path, data: str) -> Path:
    """A path that may be written, or an error before the work rather than after it."""
    from credo.cli.rows import check_writable
    from credo.errors import ParameterError
    from credo.saving import is_credo_file

    check_writable(path, (data,))
    if path.exists() and path.stat().st_size and not is_credo_file(path):
        raise ParameterError(
            "", "--output", "a new file or a Credo model to replace", str(path), "That file is something else."
        )
    return path


def headline(job: Any, model: Any) -> str:
    from credo.numerics.readable import count

    return (
        f"{job.table.name}: {count(job.rows_read, 'row')}, {count(len(job.table.columns), 'column')}; "
        f"{model.target!r} from {count(len(model.inputs), 'column')} ({count(model.encoder.n_features, 'feature')})."
    )
