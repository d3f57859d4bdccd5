"""`credo regress FORMULA DATA`: a regression by formula, with groups, splines and priors that are told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import DataArgument, Reading, Seed, checked_mass, with_reading, with_terminal
from credo.cli.terminal import Terminal

__all__ = ["regress"]


@with_terminal
@with_reading()
def regress(
    context: typer.Context,
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", help="Such as 'reaction ~ days + (days | subject)', in quotes.")
    ],
    data: DataArgument,
    reading: Reading,
    terminal: Terminal,
    family: Annotated[
        str,
        typer.Option(
            "--family",
            metavar="NAME",
            help="gaussian, student_t, bernoulli, binomial, poisson or negative_binomial.",
        ),
    ] = "gaussian",
    trials: Annotated[
        str | None, typer.Option("--trials", metavar="COLUMN", help="Of the binomial: a column, or a number.")
    ] = None,
    interval: Annotated[float, typer.Option("--interval", metavar="MASS", help="What the intervals hold.")] = 0.9,
    group: Annotated[
        str | None, typer.Option("--levels", metavar="GROUP", help="Tell each level of this group too.")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", min=4, metavar="N", help="How many draws to keep.")] = 4000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the fit, for credo.load.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Fit a regression written as a formula; tell coefficients with intervals, priors, and how it was done."""
    from credo.cli.rows import check_writable
    from credo.cli.text import grid
    from credo.program.formula import regress as fit_formula

    mass = checked_mass(interval)
    if output is not None:
        check_writable(output, (data,))
    with terminal.step(f"Reading {data}"):
        table = reading.open(data)
    with terminal.step("Fitting"):
        fit = fit_formula(formula, table, family, trials=_trials(trials), draws=draws, random_state=seed)
    found = fit.summary(mass)
    levels = None if group is None else fit.summary(mass, group=group)
    if output is not None:
        from credo.saving import save

        with terminal.step(f"Writing {output}"):
            save(fit, output, about={"data": Path(data).name, "formula": str(fit.formula), "seed": seed})
    terminal.document(_record(fit, found, levels, output, terminal))
    terminal.say(f"{fit.formula}   {family}, {fit.n_rows} rows", grid(*_table(found, mass)))
    if levels is not None:
        terminal.say(f"Levels of {group}, from the line:", grid(*_table(levels, mass)))
    terminal.say("Priors:", *(f"  {line}" for line in str(fit.priors).splitlines()))
    terminal.say(*str(fit.explain()).splitlines())
    if output is not None:
        terminal.say(f"Wrote {output}.")


def _trials(text: str | None) -> Any:
    return int(text) if text is not None and text.isdigit() else text


def _table(summary: Any, mass: float) -> tuple[list[str], list[list[str]]]:
    names = ["mean", "sd", "lower", "upper"]
    rows = [[row, *(f"{summary[row][name]:.4g}" for name in names)] for row in summary]
    return ["", "mean", "sd", f"{100 * mass:g} % from", "to"], rows


def _record(fit: Any, found: Any, levels: Any, output: Path | None, terminal: Terminal) -> dict[str, Any]:
    return {
        "kind": "regression",
        "formula": str(fit.formula),
        "family": fit.family,
        "rows": fit.n_rows,
        "summary": {row: found[row] for row in found},
        "levels": None if levels is None else {row: levels[row] for row in levels},
        "priors": dict(line.split("  ", 1) for line in str(fit.priors).splitlines()),
        "log_evidence": fit.log_evidence,
        "explanation": fit.explain().to_json(),
        "warnings": list(terminal.warned),
        "output": None if output is None else str(output),
    }
