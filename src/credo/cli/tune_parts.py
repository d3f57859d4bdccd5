"""The parts of `credo tune` before the first trial: the space, the command, the answers, the study."""

from __future__ import annotations

import math
import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from credo.errors import CredoError, DataWarning, ParameterError, StorageError, warn

__all__ = [
    "Plan", "answers_of", "check_options", "checked_space", "default_name", "default_storage", "directions_of",
    "opened", "template_of",
]  # fmt: skip

SAMPLERS = ("auto", "gp", "forest", "trust", "sobol", "random")
PRUNERS = ("median", "halving")
# Trials by default: so many a parameter, and at least so many.
TRIALS_EACH, LEAST_TRIALS = 10, 20


@dataclass(frozen=True)
class Plan:
    """What was asked for; see the options of `credo tune`."""

    space_file: Path
    space: Any
    template: Any
    answers: Any
    directions: tuple[str, ...]
    name: str
    value_file: str | None = None
    folder: Path | None = None
    inside: bool = False
    timeout: float | None = None
    prune: str | None = None
    jobs: int = 1
    trials: int | None = None
    keep_going: bool = False
    sampler: str = "auto"
    noisy: bool | None = None
    seed: int | None = None
    storage: str | None = None
    report: bool = True

    @property
    def total(self) -> int:
        """How many trials the study is to have."""
        if self.trials is not None:
            return self.trials
        wanted = max(LEAST_TRIALS, TRIALS_EACH * sum(p.kind != "constant" for p in self.space.parameters.values()))
        return wanted if self.noisy else int(min(wanted, self.space.size))

    @property
    def outcomes(self) -> tuple[str, ...] | None:
        """What the objectives are called, if they have names."""
        return self.answers.keys or None

    @property
    def page(self) -> Path | None:
        """Where the report goes: beside SPACE.toml, or the database if it is elsewhere; of its name."""
        if not self.report:
            return None
        own = self.name == default_name(self.space_file)
        stem = self.space_file.stem if own else f"{self.space_file.stem}-{_file_name(self.name)}"
        return self.space_file.with_name(f"{stem}.html")

    def check(self) -> None:
        """Faults of options, before anything is made."""
        from credo.cli.rows import check_writable

        if self.prune is not None and len(self.directions) > 1:
            raise ParameterError("", "--prune", "left out with two objectives", self.prune)
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ParameterError("", "--timeout", "seconds > 0", self.timeout)
        if self.inside and self.folder is None:
            raise ParameterError("", "--inside", "given with --dir FOLDER", True)
        if self.value_file is not None and self.jobs > 1 and self.folder is None and "{trial}" not in self.value_file:
            remedy = "Trials that run at once would overwrite it. Or give each a folder: --dir FOLDER."
            raise ParameterError("", "--value-file", "with {trial} in its name, for --jobs", self.value_file, remedy)
        _check_program(self.template, self.inside)
        if self.page is not None:
            check_writable(self.page, ())
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(
                    f"--dir {self.folder} cannot be made: {error.strerror}.", value=self.folder
                ) from None


def check_options(sampler: str, prune: str | None) -> None:
    """Names among those that there are."""
    _one_of("--sampler", sampler, SAMPLERS)
    if prune is not None:
        _one_of("--prune", prune, PRUNERS)


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ParameterError("", option, f"{', '.join(known[:-1])} or {known[-1]}", value)


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)


def default_name(space_file: Path) -> str:
    """Of a study: the file's, without .toml."""
    return space_file.stem or "study"


def default_storage(space_file: Path) -> Path:
    """space.toml → space.db, beside it."""
    return space_file.with_suffix(".db")


def checked_space(path: Path) -> Any:
    """The space of a file, that holds some point.

    Raises
    ------
    ParameterError, FileFormatError, MissingFileError : faults of the file, each with the file's name.
    """
    import numpy as np

    from credo.design.spaces import Space
    from credo.errors import FileFormatError

    if path.suffix.lower() != ".toml":
        raise ParameterError("", "SPACE.toml", "a file whose name ends in .toml", str(path))
    try:
        space = Space.from_toml(path)
        space.sample(1, np.random.default_rng(0))  # constraints that contradict each other are told here
    except ParameterError as error:
        raise FileFormatError(f"{path}: {error}", value=error.value) from error
    return space


def template_of(words: list[str] | None, space: Any, has_folder: bool, has_file: bool) -> Any:
    """The command with its places; parameters that it does not name are warned of."""
    from credo.studies.commands import CommandTemplate

    if not words:
        raise ParameterError("", "-- CMD", "given", None, "As in: credo tune space.toml -- ./train --lr {lr}")
    special = ["trial", "params", *(["dir"] if has_folder else []), *(["value_file"] if has_file else [])]
    conditional = [name for name, parameter in space.parameters.items() if parameter.when is not None]
    try:
        template = CommandTemplate(words, space.names, conditional, special)
    except ParameterError as error:
        raise ParameterError("", "-- CMD", error.constraint, error.value, error.remedy) from None
    unused = [name for name in template.unused if space.parameters[name].kind != "constant"]
    if unused:
        few = ", ".join(unused[:5]) + (f" and {len(unused) - 5} more" if len(unused) > 5 else "")
        warn(
            f"The command has no place for {few}, searched in vain unless it reads CREDO_PARAMS. "
            f"A place is written {{{unused[0]}}}.",
            DataWarning,
        )
    return template


def _check_program(template: Any, inside: bool) -> None:
    """A program that is not there is told before a trial is spent on it."""
    program = template.program
    if program is None and " " not in template.written[0]:  # it hangs on a parameter
        return
    program = program or template.written[0]
    if shutil.which(program) is None:
        exists = os.path.exists(program)
        why = "a program that may be executed" if exists else "a program that can be found"
        remedy = f"Try: chmod +x {program}" if exists else "Lines for a shell need one: sh -c '…'."
        if " " in program:
            remedy = "Program and arguments are words of their own: no quotes around all of them."
        raise ParameterError("", "-- CMD", why, program, remedy)


def directions_of(given: list[str] | None, keys: list[str] | None) -> tuple[str, ...]:
    """minimize or maximize, one an objective."""
    found = []
    for text in given or ["minimize"] * max(1, len(keys or ())):
        matches = [way for way in ("minimize", "maximize") if len(text) >= 3 and way.startswith(text.lower())]
        if not matches:
            raise ParameterError("", "--direction", "minimize or maximize", text)
        found += matches
    if len(found) > 2:
        raise ParameterError("", "--direction", "given once, or twice for two objectives", len(found))
    return tuple(found)


def answers_of(
    given: list[str] | None, keys: list[str] | None, constraints: list[str] | None, value_file: str | None
) -> Any:
    """How an answer is read."""
    from credo.studies.commands import Answers, Bound

    n_values = len(directions_of(given, keys))
    keys = keys or []
    if keys and len(keys) != n_values:
        raise ParameterError("", "--key", f"given once an objective ({n_values})", keys)
    if constraints and not keys:
        remedy = "Constraints are read from JSON: a file (--value-file), or the last line."
        raise ParameterError("", "--constraint", "given with --key", constraints[0], remedy)
    try:
        return Answers(n_values, keys, [Bound.parse(text) for text in constraints or ()])
    except ParameterError as error:
        raise ParameterError("", "--constraint", error.constraint, error.value) from None


def opened(plan: Plan) -> Any:
    """The study: a new one, or the one that is there, if it is of the same space and direction."""
    from credo.studies import Study, open_storage

    place = open_storage(plan.storage if plan.storage is not None else default_storage(plan.space_file))
    try:
        there = plan.name in place.studies()
        made = place.events(plan.name)[0].data if there else {}
        direction: Any = plan.directions[0] if len(plan.directions) == 1 else plan.directions
        _agree(plan, place.name, made, direction)
        seed = plan.seed if plan.seed is not None or there else 0
        rule: dict[str, Any] = {} if plan.prune is None else {"pruner": plan.prune}
        noisy = plan.noisy if plan.noisy is not None or not there else made["noisy"]
        study = Study(plan.space, direction, place, seed, name=plan.name, sampler=plan.sampler, noisy=noisy, **rule)
        _same_constraints(plan, study)
        _describe(plan, study)
        return study
    except CredoError:
        place.close()
        raise


def _agree(plan: Plan, place: str, made: Mapping[str, Any], direction: Any) -> None:
    """Errors in the command's words where a study of this name is of something else."""
    if not made:
        return
    anew = f"The study {plan.name!r} in {place} has another: --name NEW starts anew."
    stored = made["direction"] if isinstance(made["direction"], str) else tuple(made["direction"])
    if stored != direction:
        raise ParameterError("", "--direction", f"{stored!r}", direction, anew)
    before, now = made["space"], plan.space.state(strict=False)
    if before != now:
        names = {*before["parameters"], *now["parameters"]}
        other = [n for n in sorted(names) if before["parameters"].get(n) != now["parameters"].get(n)] or ["constraints"]
        raise ParameterError(
            "", "SPACE.toml", f"the space that the study began with (it differs in {', '.join(other)})",
            str(plan.space_file), f"The study {plan.name!r} is in {place}: --name NEW starts anew.",
        )  # fmt: skip
    if plan.seed is not None and plan.seed != made["seed"]:
        raise ParameterError("", "--seed", f"{made['seed']}, or left out", plan.seed, anew)
    if plan.noisy is not None and plan.noisy != made["noisy"]:
        raise ParameterError("", "--noisy", f"as the study began ({made['noisy']})", plan.noisy, anew)


def _describe(plan: Plan, study: Any) -> None:
    """Keep what the answers are, and refuse values of another kind among those told already; before any was told, and
    in a study that an older Credo made, they are as the command says now."""
    now = {
        "keys": list(plan.answers.keys), "constraints": [str(bound) for bound in plan.answers.bounds],
        "command": list(plan.template.written),
    }  # fmt: skip
    before = study.description
    if before == now:
        return
    if before and any(trial.state == "told" for trial in study.records):
        anew = f"The study {plan.name!r} in {study.storage.name} was told that: --name NEW starts anew."
        for option, name in (("--key", "keys"), ("--constraint", "constraints")):
            if before[name] != now[name]:
                wanted = " ".join(f"{option} {shlex.quote(text)}" for text in before[name]) or "left out"
                raise ParameterError("", option, f"as the study began ({wanted})", now[name] or None, anew)
        warn(
            f"Trials of {plan.name!r} were told by another command, {shlex.join(before['command'])}: if its values "
            "mean something else, start anew by --name NEW.",
            DataWarning,
        )
    study._append("described", None, now)


def _same_constraints(plan: Plan, study: Any) -> None:
    """As many as the trials told before have."""
    before = next((len(trial.constraints or ()) for trial in study.records if trial.state == "told"), None)
    if before is not None and before != len(plan.answers.bounds):
        remedy = f"The study {plan.name!r} in {study.storage.name} has so many: --name NEW starts anew."
        given = [bound.key for bound in plan.answers.bounds]
        raise ParameterError("", "--constraint", f"given {before} times", given, remedy)
