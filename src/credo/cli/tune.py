"""`credo tune SPACE.toml -- CMD {x} …`: a program's parameters searched for, one run a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credo.cli.options import StorageOption, with_terminal
from credo.cli.terminal import Terminal

__all__ = ["tune"]


@with_terminal
def tune(
    context: typer.Context,
    space: Annotated[Path, typer.Argument(metavar="SPACE.toml", help="Parameters, their ranges and constraints.")],
    terminal: Terminal,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- CMD",
            help="The program of a trial, with {x} for a parameter's value, {x:-text} for text where x does not "
            "matter, {x:+text} for text where x is true, {trial}, {dir}, {params}, {value_file}; {{ and }} are braces.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", "-n", min=1, metavar="N",
            help="Of the study in all, those of earlier runs too; by default ten a parameter, at least 20.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Trials at once.")] = 1,
    direction: Annotated[
        list[str] | None,
        typer.Option("--direction", metavar="WAY", help="minimize (the default) or maximize. Repeat for a second."),
    ] = None,
    value_file: Annotated[
        str | None,
        typer.Option(
            "--value-file", metavar="FILE",
            help="JSON that the program writes; may hold {trial}. By default the last line it prints is the value.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="KEY", help="Where in JSON the value is, as test.loss. Repeat for a second."),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option("--constraint", metavar="KEY<=X", help="What must hold of the answer: KEY<=X, KEY>=X. Repeat."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="A trial that takes longer is ended.")
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            "--prune", metavar="RULE", help="median or halving: end trials by the lines STEP VALUE they print."
        ),
    ] = None,
    sampler: Annotated[
        str, typer.Option("--sampler", metavar="NAME", help="auto, gp, forest, trust, sobol or random.")
    ] = "auto",
    noisy: Annotated[
        bool | None, typer.Option("--noisy/--exact", help="Whether the same point may give another value.")
    ] = None,
    first: Annotated[
        list[str] | None,
        typer.Option(
            "--first", metavar="POINT",
            help="A point to try before others: lr=0.1,depth=3, or a TOML file of it (credo study best -o). Repeat.",
        ),
    ] = None,
    near: Annotated[
        list[str] | None,
        typer.Option(
            "--near", metavar="VALUES", help="Where the best is thought to be: lr=0.1, some parameters or all. Repeat."
        ),
    ] = None,
    storage: StorageOption = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Of the study; by default SPACE.toml's, without .toml.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="FOLDER", help="A folder a trial in it: {dir}, with what the program printed."),
    ] = None,
    inside: Annotated[
        bool, typer.Option("--inside", help="With --dir: run the program in its trial's folder.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Do not stop where the first three trials fail.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Whether to write SPACE.html, on the way and at the end.")
    ] = True,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, metavar="N", help="Of a new study; by default 0.")
    ] = None,
) -> None:  # fmt: skip
    """Search the parameters with which a program does best: a run a trial, each remembered as it ends.

    The same command again goes on where this one ended, or was interrupted.
    """
    from credo.cli.tune_guesses import first_points, near_guesses, tell_once
    from credo.cli.tune_parts import (
        Plan,
        answers_of,
        check_options,
        checked_space,
        default_name,
        directions_of,
        opened,
        template_of,
    )
    from credo.cli.tune_results import tell_results
    from credo.cli.tune_runs import run

    check_options(sampler, prune)  # what is wrong with the command itself is told before what is wrong with files
    directions, answers = directions_of(direction, key), answers_of(direction, key, constraint, value_file)
    parameters = checked_space(space)
    template = template_of(command, parameters, folder is not None, value_file is not None)
    plan = Plan(
        space_file=space, space=parameters, template=template, directions=directions,
        answers=answers, value_file=value_file, folder=folder,
        inside=inside, timeout=timeout, prune=prune, jobs=jobs, trials=trials, keep_going=keep_going,
        sampler=sampler, noisy=noisy, seed=seed, storage=storage, name=name or default_name(space), report=report,
    )  # fmt: skip
    plan.check()
    points, guesses = first_points(first, parameters), near_guesses(near, parameters)
    with terminal.step(f"Opening {plan.name}"):
        study = opened(plan)
    with study:
        tell_once(study, points, guesses)
        code, stopped, page = run(study, plan, terminal)
        tell_results(study, plan, terminal, stopped, page)
    if code:
        raise typer.Exit(code)
