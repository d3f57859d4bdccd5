"""`credo regress FORMULA DATA`: a regression by formula, with groups, splines and priors that are told."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import DataArgument, Reading, Seed, checked_mass, with_reading, with_terminal
from credo.cli.terminal import Terminal

__all__ = ["regress"]

# As in `credo.program.formula.families`, which takes its time to import.
FAMILIES = ("gaussian", "student_t", "bernoulli", "binomial", "poisson", "negative_binomial", "zero_inflated_poisson",
            "gamma", "exponential", "lognormal", "beta", "ordinal", "categorical")  # fmt: skip
LINKS = ("logit", "probit", "cloglog")


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
        str, typer.Option("--family", metavar="NAME", help=f"{', '.join(FAMILIES[:-1])} or {FAMILIES[-1]}.")
    ] = "gaussian",
    link: Annotated[
        str | None,
        typer.Option("--link", metavar="NAME", help="Of bernoulli, binomial, beta, ordinal: logit, probit or cloglog."),
    ] = None,
    trials: Annotated[
        str | None,
        typer.Option("--trials", metavar="COLUMN", help="Of the binomial, as k | trials(n): a column, or a number."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", metavar="FORMULA", help="What sigma, say, depends on: 'sigma ~ x'. Repeat."),
    ] = None,
    interval: Annotated[float, typer.Option("--interval", metavar="MASS", help="What the intervals hold.")] = 0.9,
    levels: Annotated[
        list[str] | None, typer.Option("--levels", metavar="GROUP", help="Tell each level of this group too. Repeat.")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", min=16, metavar="N", help="How many draws to keep.")] = 4000,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the fit, for credo predict and credo show."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Fit a regression written as a formula; tell coefficients with intervals, priors, and how it was done."""
    from credo.cli.fit import checked_output
    from credo.cli.regression import explained, record, summary_table, title_of
    from credo.errors import ParameterError

    mass = checked_mass(interval)
    if "~" in data and "~" not in formula:
        raise ParameterError("", "FORMULA", "before the table", formula, f"Write: credo regress '{data}' {formula}")
    _check(formula, family, link, trials)
    if output is not None:
        checked_output(output, data)
    groups = tuple(levels or ())
    how = {
        "beside": tuple(parameter or ()),
        "family": family,
        "link": link,
        "trials": trials,
        "draws": draws,
        "seed": seed,
    }
    fit = _fitted(formula, data, reading, terminal, groups, **how)
    found = fit.summary(mass)
    by_level = {group: fit.summary(mass, group=group) for group in groups}
    if output is not None:
        from credo.saving import save

        with terminal.step(f"Writing {output}"):
            save(fit, output, about={"data": Path(data).name, "formula": fit.said_formula, "seed": seed})
    said = {group: {row: summary[row] for row in summary} for group, summary in by_level.items()}
    rest = {"levels": said, "warnings": terminal.warned, "output": None if output is None else str(output)}
    terminal.document({**record(fit, found, mass), **rest})
    terminal.say(title_of(fit), summary_table(found, mass))
    for group, summary in by_level.items():
        terminal.say(f"Levels of {group}, as differences from what all share:", summary_table(summary, mass))
    terminal.say(*explained(fit, briefly=True))
    if output is not None:
        terminal.say(f"Wrote {output}.", "Try next:", f"  {fit.applied_by.format(output)}", f"  credo show {output}")


def _fitted(
    formula: str, data: str, reading: Reading, terminal: Terminal, groups: tuple[str, ...], *, family: str,
    link: str | None, trials: str | None, draws: int, seed: int, beside: tuple[str, ...],
) -> Any:  # fmt: skip
    from credo.errors import ParameterError
    from credo.program.formula import regress as fit_formula
    from credo.program.formula.families import family_of
    from credo.program.formula.predictors import read_formulas

    with terminal.step(f"Reading {data}"):
        table = reading.open(data)
    mean, others = read_formulas([formula, *beside], table.columns, family_of(family, link))
    read = [mean, *others.values()]
    known = list(dict.fromkeys(term.label for each in read for term in each.groups))
    for group in groups:
        if group not in known:
            wanted = f"a group of the formula: {', '.join(known)}" if known else "left out, as the formula has no group"
            raise ParameterError("", "--levels", wanted, group)
    number = int(trials) if trials is not None and trials.isdigit() and trials not in table.columns else trials
    with terminal.step("Fitting"):
        return fit_formula(read, table, family, link=link, trials=number, draws=draws, random_state=seed)


def _check(formula: str, family: str, link: str | None, trials: str | None) -> None:
    from credo.errors import ParameterError

    if family not in FAMILIES:
        close = difflib.get_close_matches(family.lower(), FAMILIES, 1)
        remedy = f"Did you mean {close[0]}?" if close else None
        raise ParameterError("", "--family", f"one of {', '.join(FAMILIES)}", family, remedy)
    if link is not None and link not in LINKS:
        raise ParameterError("", "--link", f"one of {', '.join(LINKS)}", link)
    stated = any(word in formula.partition("~")[0] for word in ("trials(", "prop(", "cbind("))
    if family == "binomial" and trials is None and not stated:
        raise ParameterError("", "--trials", "a column or a number, with --family binomial", trials,
                             "Or write 'k | trials(n) ~ x'.")  # fmt: skip
    if family != "binomial" and trials is not None:
        raise ParameterError("", "--trials", f"left out with --family {family}", trials)
