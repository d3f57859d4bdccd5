"""`credo study list|show|best|export`: what studies found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import with_terminal
from credo.cli.terminal import Terminal

__all__ = ["app", "list_", "show", "best", "export"]

app = typer.Typer(
    help="Studies: what was tried, what is best, and all of it as a table.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

WhereArgument = Annotated[
    str, typer.Argument(metavar="WHERE", help="A database, SPACE.toml with its database beside it, or postgresql://…")
]
NameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Which study, where there are several.")]


@app.command("list", short_help="The studies of a database.")
@with_terminal
def list_(context: typer.Context, where: WhereArgument, terminal: Terminal) -> None:
    """List the studies of a database: their names, directions, trials, and best values."""
    from credo.cli.study_parts import best_so_far, counts, counts_text, place_of
    from credo.cli.text import grid
    from credo.errors import ParameterError
    from credo.studies import Study

    place = place_of(where)
    records, rows = [], []
    try:
        for name in place.studies():
            try:
                study = Study.load(place, name)
            except ParameterError:  # its space holds functions, which only its own script has
                records.append({"name": name, "direction": None, "trials": None})
                rows.append([name, "", "its space holds functions", ""])
                continue
            records.append({"name": name, "direction": study.direction, "trials": counts(study.records)})
            rows.append([name, direction_text(study), counts_text(study.records), best_so_far(study)])
    finally:
        place.close()
    terminal.document({"kind": "studies", "storage": place.name, "studies": records})
    table = grid(["study", "direction", "trials", "best"], rows, left=4)
    terminal.say(table if rows else f"{place.name} holds no studies.")


def direction_text(study: Any) -> str:
    """minimize; or of two objectives, both."""
    return study.direction if isinstance(study.direction, str) else ", ".join(study.direction)


@app.command(short_help="What a study asked, and what came of it.")
@with_terminal
def show(
    context: typer.Context,
    where: WhereArgument,
    terminal: Terminal,
    name: NameOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write its report, as .html.")
    ] = None,
) -> None:
    """Show a study: what to take, what matters, what is left to gain, the best trials, and why others failed."""
    from credo.cli.study_parts import counts, counts_text, found, found_record, located
    from credo.cli.text import bullets, label_text
    from credo.reports.study import study_report
    from credo.reports.study_page import write_study_html
    from credo.reports.study_terminal import study_lines

    if output is not None:
        _checked_page(output)
    with terminal.step(f"Reading {where}"), located(where, name) as study:
        records = study.records
        report = study_report(study, outcome=study.description.get("keys") or None, command=terminal.command)
        if output is not None:
            write_study_html(report, output)
        best = found_record(study, found(study))
    told = report.to_json()
    terminal.document({
        "kind": "study", "study": study.name, "storage": study.storage.name, "direction": study.direction,
        "noisy": study.noisy, "seed": study.seed, "space": study.space.state(strict=False), "trials": counts(records),
        **best, **{name: told[name] for name in ("lead", "left", "importance", "sampler")},
        "failed": {str(trial.id): trial.reason for trial in records if trial.state == "failed"},
        "notes": study.notes, "warnings": list(terminal.warned), "output": None if output is None else str(output),
    })  # fmt: skip
    terminal.say(f"{study.name} in {study.storage.name}: {direction_text(study)}, {counts_text(records)}.")
    for parameter, law in study.space.parameters.items():
        options = ", ".join(f"{k} {_listed(v)}" for k, v in law.options.items() if v is not False)
        when = f", when {_when(law.when)}" if law.when is not None else ""
        terminal.say(f"  {parameter}: {law.kind}{f', {options}' if options else ''}{when}")
    terminal.say("", *study_lines(report))
    if study.notes:
        terminal.say("Notes:", *bullets([label_text(note) for note in study.notes]))
    if output is not None:
        terminal.say(f"Wrote {output}.")


def _when(when: Any) -> str:
    if not isinstance(when, dict):
        return str(getattr(when, "text", when))
    return " and ".join(f"{name} is {_listed(value)}" for name, value in when.items())


def _listed(value: Any) -> str:
    from credo.cli.study_parts import short

    return " | ".join(map(short, value)) if isinstance(value, (list, tuple)) else short(value)


def _checked_page(path: Path) -> None:
    from credo.cli.rows import check_writable
    from credo.errors import ParameterError

    if path.suffix.lower() != ".html":
        raise ParameterError("", "--output", "a name that ends in .html", str(path))
    check_writable(path, ())


@app.command(short_help="The best point of a study, to use it.")
@with_terminal
def best(
    context: typer.Context,
    where: WhereArgument,
    terminal: Terminal,
    name: NameOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it, as .toml or .json.")
    ] = None,
) -> None:
    """Tell the best parameters, as TOML; of two objectives, all points that none beats in both."""
    import json

    from credo.cli.rows import check_writable
    from credo.cli.study_parts import found, found_record, located
    from credo.cli.terminal import plain
    from credo.errors import ParameterError, UnavailableError
    from credo.saving import atomic_write

    if output is not None:
        if output.suffix.lower() not in (".toml", ".json"):
            raise ParameterError("", "--output", "a name that ends in .toml or .json", str(output))
        check_writable(output, (where,))
    with located(where, name) as study:
        trials = found(study)
        if not trials:
            limited = any(trial.constraints for trial in study.records if trial.state == "told")
            what = "no value yet that meets the constraints" if limited else "no value yet"
            raise UnavailableError(f"The study {study.name!r} has {what}.")
    document = {"kind": "best", "study": study.name, "direction": study.direction, **found_record(study, trials)}
    text = _as_toml(study, trials)
    if output is not None:
        if output.suffix.lower() == ".json":
            text = json.dumps(plain(document), ensure_ascii=False, indent=2) + "\n"
        with atomic_write(output) as file:
            file.write(text.encode("utf-8"))
    terminal.document(document)
    terminal.say(text.rstrip("\n") if output is None else f"Wrote {output}.")


def _as_toml(study: Any, trials: list[Any]) -> str:
    """One point at the top level; a front as an array of tables."""
    from credo.cli.study_parts import toml_lines, value_text

    lines = []
    for trial in trials:
        lines.append(f"# trial {trial.id} of {' '.join(study.name.split())}: {value_text(trial)}")
        if not isinstance(study.direction, str):
            lines += ["[[front]]", f"values = [{', '.join(map(repr, trial.values))}]", "[front.params]"]
        lines += toml_lines(trial.params)
    return "\n".join(lines) + "\n"


@app.command(short_help="All trials as a table.")
@with_terminal
def export(
    context: typer.Context,
    where: WhereArgument,
    terminal: Terminal,
    name: NameOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="As .csv, .tsv, .parquet, .jsonl or .json; by default CSV on standard output.",
        ),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="And why each was asked: method, mean and sd expected, what they may gain.")
    ] = False,
) -> None:  # fmt: skip
    """Write all trials as a table: number, state, values, how far constraints were exceeded, parameters, reason.

    Parameters are empty where they do not matter; values and constraints have the names that credo tune was given.
    """
    import json

    from credo.cli.rows import FORMATS, check_writable, print_rows, write_rows
    from credo.cli.study_parts import located, named_frame
    from credo.cli.terminal import plain
    from credo.errors import ParameterError
    from credo.numerics.readable import count
    from credo.saving import atomic_write

    if output is not None:
        check_writable(output, (where,))
        if output.suffix.lower() not in (*FORMATS, ".json"):
            raise ParameterError("", "--output", f"a name that ends in {', '.join(FORMATS)} or .json", str(output))
    with located(where, name) as study:
        frame = named_frame(study, why)
    if output is None:
        if not terminal.json:
            print_rows(iter([frame]))
    elif output.suffix.lower() == ".json":
        with atomic_write(output) as file:
            file.write((json.dumps(plain(frame.to_dicts()), ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
    else:
        write_rows(iter([frame]), output)
    rows = {"rows": frame.to_dicts()} if output is None else {"output": str(output)}
    terminal.document({"kind": "trials", "study": study.name, "n_trials": frame.height, **rows})
    if output is not None:
        terminal.say(f"Wrote {count(frame.height, 'trial')} to {output}.")
