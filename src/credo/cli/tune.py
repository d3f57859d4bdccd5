"""`credo tune SPACE.toml -- CMD {x} …`: a program's parameters searched for, one run a trial."""

from __future__ import annotations

import sys

import typer

from credo.cli.options import StorageOption, with_terminal
from credo.cli.terminal import Terminal
from credo.cli.tune_options import (
    CommandArgument,
    ConstraintOption,
    DirectionOption,
    FirstOption,
    FolderOption,
    InsideOption,
    JobsOption,
    KeepGoingOption,
    KeyOption,
    NameOption,
    NearOption,
    NoisyOption,
    PruneOption,
    ReportOption,
    SamplerOption,
    SeedOption,
    SpaceArgument,
    TimeoutOption,
    TrialsOption,
    ValueFileOption,
)

__all__ = ["tune"]


@with_terminal
def tune(
    context: typer.Context,
    space: SpaceArgument,
    terminal: Terminal,
    command: CommandArgument = None,
    trials: TrialsOption = None,
    jobs: JobsOption = 1,
    direction: DirectionOption = None,
    value_file: ValueFileOption = None,
    key: KeyOption = None,
    constraint: ConstraintOption = None,
    timeout: TimeoutOption = None,
    prune: PruneOption = None,
    sampler: SamplerOption = "auto",
    noisy: NoisyOption = None,
    first: FirstOption = None,
    near: NearOption = None,
    storage: StorageOption = None,
    name: NameOption = None,
    folder: FolderOption = None,
    inside: InsideOption = False,
    keep_going: KeepGoingOption = False,
    report: ReportOption = True,
    seed: SeedOption = None,
) -> None:
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
        try:
            code, stopped, page, left = run(study, plan, terminal)
            tell_results(study, plan, terminal, stopped, page, left)
        except KeyboardInterrupt:  # again, while it is wound up or told of
            print("\ninterrupted: what was told is kept, and the same command goes on.", file=sys.stderr)
            raise typer.Exit(130) from None
    if code:
        raise typer.Exit(code)
