"""The application, and what becomes of errors, warnings and interrupts."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer

from credo._version import __version__
from credo.cli import network, study
from credo.cli.cluster import cluster
from credo.cli.compare import compare
from credo.cli.density import density
from credo.cli.fit import fit
from credo.cli.gallery import gallery
from credo.cli.predict import predict
from credo.cli.regress import regress
from credo.cli.show import show
from credo.cli.topics import topics
from credo.cli.tune import tune
from credo.errors import CredoError, CredoWarning, ParameterError

__all__ = ["app", "main", "run"]

# Exit codes: 0 done, 1 the data or the system say no, 2 the command is not one; as a shell has them, 128 + the signal.
FAILED, USAGE, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 130, 141, 143

app = typer.Typer(
    name="credo",
    help="From data to belief to decision.",
    epilog="A first try: credo fit DATA --target COLUMN",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help is there in half the time
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(short_help="Fit models to a table and keep the best.")(fit)
app.command(short_help="Predict rows, with intervals; decide by a loss.")(predict)
app.command(short_help="What a table holds, or what a model believes.")(show)
app.command(short_help="Compare models on rows they have not seen.")(compare)
app.command(short_help="A regression by formula, group effects included.")(regress)
app.command(short_help="Find clusters of rows; tell new rows' clusters.")(cluster)
app.command(short_help="What the values of a column look like.")(density)
app.command(short_help="What documents are about, and in what shares.")(topics)
app.command(short_help="Search the parameters with which a program does best.")(tune)
app.command(short_help="A page that learns what you like and finds it.")(gallery)
app.add_typer(network.app, name="network", short_help="Networks of causes: show, query, decide, learn, predict.")
app.add_typer(study.app, name="study", short_help="Studies: list, show, best, export.")


@app.callback(invoke_without_command=True)
def credo(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Say which version this is, and exit."),
) -> None:
    """From data to belief to decision: fit models to a table, predict with them, and act on what they say."""
    if version:
        print(f"credo {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def run() -> NoReturn:
    """The entry point `credo`."""
    signal.signal(signal.SIGTERM, _terminated)
    for name in ("stdout", "stderr"):  # closed by the shell, as with `>&-`: Python has None there
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (it stays open)
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing but an exit by signal is raised."""
    arguments = list(arguments)
    try:
        with warnings.catch_warnings():
            # Credo's warnings are for the user (`Terminal` tells them); those of libraries are for developers.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", CredoWarning)
            code = _guarded(lambda: _invoke(arguments))
            sys.stdout.flush()
            return code
    except BrokenPipeError:
        # Whoever read the output has left. Python would complain again when it closes stdout, so that goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _invoke(arguments: list[str]) -> None:
    command = typer.main.get_command(app)
    # What `command.main` does, without its way of printing errors.
    with command.make_context("credo", arguments, obj=shlex.join(["credo", *arguments])) as context:
        command.invoke(context)


def _guarded(work: Callable[[], None]) -> int:
    try:
        work()
        return 0
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        print("\ninterrupted: nothing was written.", file=sys.stderr)
        return INTERRUPTED
    except MemoryError as error:
        if isinstance(error, CredoError):  # predicted, and explained
            return _explained(error)
        return _fail("there is not enough memory for this. Use fewer columns (--drop), or a machine with more of it.")
    except Exception as error:
        if os.environ.get("CREDO_DEBUG") == "1" and not _is_exit(error):
            raise
        return _explained(error)


def _explained(error: Any) -> int:
    """The exit code of an error, which is told in one line."""
    if _is_exit(error):
        return int(error.exit_code)
    if hasattr(error, "format_message"):  # a usage error of typer's (of click's, in older versions)
        context = getattr(error, "ctx", None)
        help_at = f" Try: {context.command_path} --help" if context is not None else ""
        if context is not None and context.command_path == "credo tune" and hasattr(error, "option_name"):
            help_at = f" What is to be run comes after --.{help_at}"
        return _fail(f"{error.format_message().rstrip('.')}.{help_at}", USAGE)
    if isinstance(error, (CredoError, OSError)):
        stated = isinstance(error, ParameterError) and error.parameter.startswith("--")
        return _fail(str(error), USAGE if stated else FAILED)
    return _fail(
        f"Credo failed in a way that it should not ({type(error).__name__}). Please report it, with the details in "
        f"{_traceback_file(error)}."
    )


def _is_exit(error: Any) -> bool:
    return isinstance(error, typer.Exit)


def _fail(message: str, code: int = FAILED) -> int:
    text = message if "\n  " in message else " ".join(message.split())  # a caret below a formula needs its lines
    print("error:", text, file=sys.stderr)
    return code


def _traceback_file(error: BaseException) -> str:
    handle, path = tempfile.mkstemp(prefix="credo-error-", suffix=".txt")
    with open(handle, "w", encoding="utf-8") as file:
        file.write(f"credo {__version__}\n{shlex.join(sys.argv)}\n\n")
        traceback.print_exception(error, file=file)
    return path


def _terminated(number: int, frame: Any) -> NoReturn:
    # As an exception, so that temporary files are removed on the way out.
    raise SystemExit(TERMINATED)
