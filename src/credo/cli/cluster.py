"""`credo cluster DATA`: which rows are alike; with `--apply MODEL`, the clusters of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import DataArgument, DropOption, Reading, ReportOption, Seed, with_reading, with_terminal
from credo.cli.terminal import Terminal
from credo.errors import ParameterError

__all__ = ["cluster"]

KINDS = ("full", "tied", "diag", "spherical")


@with_terminal
@with_reading()
def cluster(
    context: typer.Context,
    data: DataArgument,
    reading: Reading,
    terminal: Terminal,
    k: Annotated[
        str, typer.Option("--clusters", "-k", metavar="K", help="How many clusters, or auto: by BIC.")
    ] = "auto",
    covariance: Annotated[
        str, typer.Option("--covariance", metavar="KIND", help=f"{', '.join(KINDS)}, or auto: by BIC.")
    ] = "auto",
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", metavar="COLUMN", help="Use these columns only; commas between, or repeat."),
    ] = None,
    drop: DropOption = None,
    apply: Annotated[
        Path | None, typer.Option("--apply", metavar="MODEL", help="Clusters of these rows by a saved model.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="COLUMN", help="With --apply: repeat a column of DATA in the output. Repeat."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the model; by default DATA's name with .credo. With --apply: the rows' clusters, as "
            ".csv, .tsv, .parquet or .jsonl.",
        ),
    ] = None,
    report: ReportOption = True,
    seed: Seed = 0,
) -> None:
    """Find clusters of rows, tell what distinguishes them, and write a model with a report beside it.

    With --apply MODEL: to which cluster each new row belongs, by a model that this command wrote.
    """
    if apply is not None:
        _apply(apply, data, reading, tuple(keep or ()), output, terminal)
        return
    if keep:
        raise ParameterError("", "--keep", "given with --apply", keep)
    settings = {"k": _size(k), "covariance": _kind(covariance), "columns": _names(columns), "drop": tuple(drop or ())}
    _fit(data, reading, settings, output, report, seed, terminal)


def _size(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ParameterError("", "-k", "auto or an integer ≥ 1", text)
    return int(text)


def _kind(text: str) -> str | None:
    if text != "auto" and text not in KINDS:
        raise ParameterError("", "--covariance", f"auto, {', '.join(KINDS)}", text)
    return None if text == "auto" else text


def _names(stated: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for text in stated or () for name in text.split(",") if name.strip())


def _fit(
    data: str, reading: Reading, settings: dict[str, Any], output: Path | None, report: bool, seed: int,
    terminal: Terminal,
) -> None:  # fmt: skip
    from credo.cli.fit import checked_output, default_output
    from credo.cli.model import rendered
    from credo.cli.text import bullets
    from credo.models.mixture.table import fit_clusters
    from credo.numerics.readable import count
    from credo.reports.cluster import cluster_report, write_clusters_html
    from credo.saving import save

    path = checked_output(output or default_output(data), data)
    with terminal.step(f"Reading {data}"):
        table = reading.open(data)
    with terminal.step("Looking for clusters"):
        fit = fit_clusters(table, seed=seed, command=terminal.command, **settings)
    model = fit.model
    with terminal.step(f"Writing {path}"):
        save(model, path, about={"rows": model.provenance.rows, "clusters": len(model)})
    found = cluster_report(fit, warnings=terminal.warned)
    page = path.with_suffix(".html") if report else None
    if page is not None:
        write_clusters_html(found, page)
    terminal.document(
        {
            **model.summary(),
            **found.to_json(),
            "warnings": list(terminal.warned),
            "output": str(path),
            "report": None if page is None else str(page),
        }
    )
    terminal.say(
        f"{model.provenance.data}: {count(model.provenance.rows, 'row')} in {count(len(model), 'cluster')}, by "
        f"{model.described}.",
        *bullets(model.decisions),
    )
    terminal.say(*rendered(model.believed()), "Rows to look at:", *bullets(found.sentences))
    terminal.say(
        f"Wrote {path}{'' if page is None else f' and its report {page}'}.",
        "Try next:",
        f"  {model.applied_by.format(path)}",
        f"  credo show {path}",
    )


def _apply(
    path: Path, data: str, reading: Reading, keep: tuple[str, ...], output: Path | None, terminal: Terminal
) -> None:
    from credo.cli.model import load_saved
    from credo.cli.rows import check_writable, print_rows, write_rows
    from credo.errors import FileFormatError
    from credo.models.mixture.table import TableClusters

    if output is not None:
        check_writable(output, (str(path), data))
    model = load_saved(str(path), "credo cluster DATA")
    if not isinstance(model, TableClusters):
        raise FileFormatError(
            f"{path} holds a {type(model).__name__}, not clusters.",
            value=str(path),
            remedy="credo show tells what it is.",
        )
    with terminal.step(f"Reading {data}"):
        frames = model.assign(model.open(data, **reading.how), keep)
        if output is not None:
            rows = write_rows(frames, output)
            terminal.document({"rows": rows, "output": str(output)})
            terminal.say(f"Wrote {output}: {rows:,} rows.")
        elif terminal.json:
            records = [record for frame in frames for record in frame.to_dicts()]
            terminal.document({"rows": len(records), "clusters": records})
        else:
            print_rows(frames)
