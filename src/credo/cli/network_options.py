"""Arguments and options that the commands on networks share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["DoOption", "EvidenceOption", "FileArgument"]

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A network: BIF, XMLBIF, UAI, Hugin NET, JSON (gzip too), or Credo's own.")
]
EvidenceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence", "-e", metavar="NODE=STATE", help="What was observed (NODE=NUMBER of a real number). Repeat."
    ),
]
DoOption = Annotated[
    list[str] | None,
    typer.Option("--do", metavar="NODE=STATE", help="What is set from outside: its causes do not matter. Repeat."),
]
