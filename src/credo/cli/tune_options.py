"""Options of `credo tune`, one type each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "CommandArgument",
    "ConstraintOption",
    "DirectionOption",
    "FirstOption",
    "FolderOption",
    "InsideOption",
    "JobsOption",
    "KeepGoingOption",
    "KeyOption",
    "NameOption",
    "NearOption",
    "NoisyOption",
    "PruneOption",
    "ReportOption",
    "SamplerOption",
    "SeedOption",
    "SpaceArgument",
    "TimeoutOption",
    "TrialsOption",
    "ValueFileOption",
]

SpaceArgument = Annotated[Path, typer.Argument(metavar="SPACE.toml", help="Parameters, their ranges and constraints.")]
CommandArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- CMD",
        help="The program of a trial, with {x} for a parameter's value, {x:-text} for text where x does not "
        "matter, {x:+text} for text where x is true, {trial}, {dir}, {params}, {value_file}; {{ and }} are braces.",
    ),
]
TrialsOption = Annotated[
    int | None,
    typer.Option(
        "--trials",
        "-n",
        min=1,
        metavar="N",
        help="Of the study in all, those of earlier runs too; by default ten a parameter, at least 20.",
    ),
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Trials at once.")]
DirectionOption = Annotated[
    list[str] | None,
    typer.Option("--direction", metavar="WAY", help="minimize (the default) or maximize. Repeat for a second."),
]
ValueFileOption = Annotated[
    str | None,
    typer.Option(
        "--value-file",
        metavar="FILE",
        help="JSON that the program writes; may hold {trial}. By default the last line it prints is the value.",
    ),
]
KeyOption = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="KEY", help="Where in JSON the value is, as test.loss. Repeat for a second."),
]
ConstraintOption = Annotated[
    list[str] | None,
    typer.Option("--constraint", metavar="KEY<=X", help="What must hold of the answer: KEY<=X, KEY>=X. Repeat."),
]
TimeoutOption = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="A trial that takes longer is ended.")
]
PruneOption = Annotated[
    str | None,
    typer.Option("--prune", metavar="RULE", help="median or halving: end trials by the lines STEP VALUE they print."),
]
SamplerOption = Annotated[
    str, typer.Option("--sampler", metavar="NAME", help="auto, gp, forest, trust, sobol or random.")
]
NoisyOption = Annotated[
    bool | None, typer.Option("--noisy/--exact", help="Whether the same point may give another value.")
]
FirstOption = Annotated[
    list[str] | None,
    typer.Option(
        "--first",
        metavar="POINT",
        help="A point to try before others: lr=0.1,depth=3, or a TOML file of it (credo study best -o). Repeat.",
    ),
]
NearOption = Annotated[
    list[str] | None,
    typer.Option(
        "--near", metavar="VALUES", help="Where the best is thought to be: lr=0.1, some parameters or all. Repeat."
    ),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Of the study; by default SPACE.toml's, without .toml.")
]
FolderOption = Annotated[
    Path | None,
    typer.Option("--dir", metavar="FOLDER", help="A folder a trial in it: {dir}, with what the program printed."),
]
InsideOption = Annotated[bool, typer.Option("--inside", help="With --dir: run the program in its trial's folder.")]
KeepGoingOption = Annotated[bool, typer.Option("--keep-going", help="Do not stop where the first three trials fail.")]
ReportOption = Annotated[
    bool, typer.Option("--report/--no-report", help="Whether to write SPACE.html, on the way and at the end.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, metavar="N", help="Of a new study; by default 0.")]
