"""Options that several commands share: how a file is written, what its columns are, and how to answer."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from credo.cli.terminal import Terminal
from credo.errors import ParameterError

__all__ = [
    "Reading", "with_reading", "with_terminal", "checked_mass",
    "DataArgument", "TargetOption", "TaskOption", "DropOption", "GroupOption", "TimeOption", "LimitOption",
    "ReportOption", "StorageOption", "Seed",
]  # fmt: skip

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="The table: CSV, TSV, JSON lines, Parquet or Excel, gzip too; - for standard input."
    ),
]
TargetOption = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")]
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="regression, classification or ordinal (classes in an order); by default told by the target.",
    ),
]
DropOption = Annotated[list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave a column out. Repeat.")]
GroupOption = Annotated[
    str | None, typer.Option("--group", metavar="COLUMN", help="Rows of one group are held out together.")
]
TimeOption = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="Orders the rows: the past predicts the future.")
]
LimitOption = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="Estimated time that one candidate may take; by default 4."),
]
ReportOption = Annotated[
    bool, typer.Option("--report/--no-report", help="Whether to write an HTML report beside the model.")
]
StorageOption = Annotated[
    str | None,
    typer.Option(
        "--storage", metavar="WHERE", help="A file, or postgresql://…; by default SPACE.db beside SPACE.toml."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of everything random.")]

_TERMINAL = {
    "json": (bool, False, ["--json"], None, "One JSON document on standard output."),
    "quiet": (bool, False, ["--quiet", "-q"], None, "Nothing but errors."),
}
_COLUMNS = {
    "schema": (Path | None, None, ["--schema"], "FILE", "Columns and their types (credo show --write-schema)."),
    "type_": (list[str] | None, None, ["--type"], "COLUMN=TYPE", "As zip=category, day=date:%d/%m/%Y. Repeat."),
}  # fmt: skip
_FILE = {
    "format": (str | None, None, ["--format"], "NAME", "delimited, jsonl, parquet or excel."),
    "encoding": (str | None, None, ["--encoding"], "NAME", "Such as utf-8, latin-1, utf-16."),
    "delimiter": (str | None, None, ["--delimiter"], "CHARACTER", "Between cells."),
    "quote": (str | None, None, ["--quote"], "CHARACTER", "Around cells; empty for none."),
    "skip_rows": (int | None, None, ["--skip-rows"], "N", "Lines before the header."),
    "header_rows": (int | None, None, ["--header-rows"], "N", "Rows of names; 0 for none."),
    "skip_footer": (int | None, None, ["--skip-footer"], "N", "Lines to leave out at the end."),
    "decimal": (str | None, None, ["--decimal"], "CHARACTER", "The decimal mark, . or ,"),
    "thousands": (str | None, None, ["--thousands"], "CHARACTER", "The mark between thousands."),
    "missing": (list[str] | None, None, ["--missing"], "WORD", "A word that means a missing cell. Repeat."),
    "ragged": (str | None, None, ["--ragged"], "WHAT", "error, or truncate rows that are too long."),
    "sheet": (str | None, None, ["--sheet"], "NAME", "Of an Excel file."),
}
_TYPED = re.compile(r"(.+)=((?:number|count|boolean|category|ordered|date|time|text|identifier)(?::.*)?)", re.DOTALL)


@dataclass(frozen=True)
class Reading:
    """What the user states about a file: `schema` and `types` of columns, and `how` it is written."""

    schema: Path | None
    types: dict[str, str]
    how: dict[str, Any]

    @classmethod
    def of(cls, schema: Path | None = None, type_: list[str] | None = None, **how: Any) -> Reading:
        stated = {name: value for name, value in how.items() if value not in (None, [])}
        if "delimiter" in stated:
            stated["delimiter"] = stated["delimiter"].replace("\\t", "\t")
        return cls(schema, dict(map(_name_and_type, type_ or [])), stated)

    def open(self, source: Any) -> Any:
        """The `Table`."""
        from credo.tables import open_table

        return open_table(source, schema=self.schema, types=self.types or None, **self.how)


def _name_and_type(text: str) -> tuple[str, str]:
    found = _TYPED.fullmatch(text)
    if found is None:
        raise ParameterError(
            "", "--type", "COLUMN=TYPE", text,
            "TYPE is number, count, boolean, category, ordered, date, time, text or identifier.",
        )  # fmt: skip
    return found[1], found[2]


def with_reading(columns: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options on reading a file, which it receives as `reading`."""
    return _with("reading", Reading.of, {**_FILE, **(_COLUMNS if columns else {})}, "How the file is written")


def with_terminal(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --json and --quiet, and a `terminal` that obeys them."""
    return _with("terminal", Terminal, _TERMINAL, None)(command)


def _with(
    name: str, make: Callable[..., Any], options: dict[str, Any], panel: str | None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the parameter `name` by `options`, whose values `make` turns into it."""
    added = [
        inspect.Parameter(
            option,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, typer.Option(*flags, metavar=metavar, help=said, rich_help_panel=panel)],
        )
        for option, (kind, default, flags, metavar, said) in options.items()
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
        kept = [
            parameter.replace(annotation=hints.get(parameter.name, parameter.annotation))
            for parameter in signature.parameters.values()
            if parameter.name != name
        ]

        @functools.wraps(command)
        def wrapper(**values: Any) -> None:
            mine = {option: values.pop(option) for option in options}
            if name == "terminal":
                mine["command"] = values["context"].obj
            command(**values, **{name: make(**mine)})

        wrapper.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in (*kept, *added)} | {"return": None}
        return wrapper

    return decorate


def checked_mass(mass: float) -> float:
    """An interval's mass, in (0, 1)."""
    if not 0.0 < mass < 1.0:
        raise ParameterError("", "--interval", "between 0 and 1 (exclusive)", mass, "For 90 % give 0.9.")
    return mass
