"""What `credo tune` says when it ends."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from credo.cli.study_parts import (
    broken_text,
    counts,
    counts_text,
    found,
    found_record,
    toml_lines,
    trials_table,
    value_text,
)
from credo.cli.terminal import Terminal
from credo.cli.tune_parts import Plan
from credo.numerics.readable import aligned

__all__ = ["tell_results"]


def tell_results(
    study: Any, plan: Plan, terminal: Terminal, stopped: str | None, page: Path | None, left: Any = None
) -> None:  # fmt: skip
    """The best trial with its command, what is left to gain, what is kept where, and what to do next."""
    study.refresh()
    records, best = study.records, found(study)
    exhausted = stopped is None and sum(trial.state != "stale" for trial in records) < plan.total
    terminal.document({
        "kind": "tune", "study": study.name, "storage": study.storage.name, "direction": study.direction,
        "trials": counts(records), **found_record(study, best, lambda trial: {"command": _command(plan, trial)}),
        "stopped": stopped, "exhausted": exhausted, "warnings": list(terminal.warned),
        "report": None if page is None else str(page),
        "left": None if left is None else {**vars(left), "share": left.share, "verdict": left.verdict},
    })  # fmt: skip
    terminal.say(f"{study.name}: {counts_text(records)}, kept in {study.storage.name}.")
    if exhausted:
        terminal.say(f"That is all: every point of the space was tried, so that {plan.total} trials cannot be.")
    if not best:
        told = any(trial.state == "told" for trial in records)
        terminal.say(_nearest(study) if told else "No trial has a value yet.")
    elif len(plan.directions) > 1:
        terminal.say("Trials that none beats in both:", trials_table(study, best))
    else:
        terminal.say(f"Best: {value_text(best[0])}, trial {best[0].id}{_belief(study)}.")
        terminal.say(
            *(f"  {line}" for line in toml_lines(best[0].params)), f"  $ {shlex.join(_command(plan, best[0]))}"
        )
        if left is not None:
            terminal.say(left.sentence)
    if page is not None:
        terminal.say(f"Wrote {page}.")
    if stopped == "interrupted":
        print("interrupted: what was told is kept, and the same command goes on.", file=sys.stderr)
    elif stopped is not None:
        remedy = "Mend it and run the same again, which tries their points anew; or go on with --keep-going."
        print(f"error: {stopped} {remedy}", file=sys.stderr)
    elif best:
        where = _where(study, plan)
        terminal.say("Try next:", f"  credo study show {where}", f"  credo study best {where}")


def _nearest(study: Any) -> str:
    """Which trial comes nearest to constraints that none meets."""
    told = [trial for trial in study.records if trial.state == "told"]
    near = min(told, key=lambda trial: max(trial.constraints or (0.0,)))
    return f"No trial meets the constraints; trial {near.id} comes nearest: {broken_text(study, near)}."


def _belief(study: Any) -> str:
    """Of noisy values: what is believed of the point, since one value is partly luck."""
    found = study.recommendation
    if not found.sd:
        return ""
    mean, sd = aligned([found.mean, found.sd], found.sd)
    return f", of which {mean} ± {sd} is believed"


def _command(plan: Plan, trial: Any) -> list[str]:
    """The words with which the trial ran."""
    folder = None if plan.folder is None else plan.folder.absolute() / f"{trial.id:04}"
    special = {"trial": trial.id, "dir": folder and str(folder), "value_file": plan.value_file}
    return plan.template.fill(trial.params, special)


def _where(study: Any, plan: Plan) -> str:
    """What `credo study` needs to find it again."""
    several = len(study.storage.studies()) > 1
    place = study.storage.name if plan.storage is not None else str(plan.space_file)
    return shlex.quote(place) + (f" --name {shlex.quote(study.name)}" if several else "")
