"""Studies found again, and their trials as text, TOML and JSON data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from credo.errors import MissingFileError, ParameterError, UnavailableError
from credo.numerics.readable import count, number

__all__ = [
    "assignments", "best_so_far", "broken_text", "counts", "counts_text", "found", "found_record", "located", "named",
    "named_frame", "place_of",
    "short", "toml_lines", "trials_table", "value_text",
]  # fmt: skip

_BARE = re.compile(r"[A-Za-z0-9_-]+")


# -- where studies are -------------------------------------------------------------------------------------------


def place_of(where: str) -> Any:
    """The storage of a file, a URL, or SPACE.toml, which has its database beside it; it must be there already."""
    from credo.studies import open_storage

    if "://" in where:
        return open_storage(where, read_only=True)
    path = Path(where).expanduser()
    if path.suffix.lower() == ".toml":
        path = path.with_suffix(".db")
    if not path.is_file():  # opening would make one
        raise MissingFileError(f"There is no file {str(path)!r} with studies.", value=str(path))
    return open_storage(path, read_only=True)


def named(place: Any, name: str | None) -> str:
    """The name of the study: as given, or of the only one there is."""
    names = place.studies()
    if name is None:
        if len(names) == 1:
            return names[0]
        raise ParameterError("", "--name", f"given, one of {', '.join(names) or 'none'}", None)
    if name not in names:
        raise ParameterError("", "--name", f"one of {', '.join(names) or 'none (there is no study)'}", name)
    return name


def located(where: str, name: str | None) -> Any:
    """The study."""
    from credo.studies import Study

    place = place_of(where)
    try:
        return Study.load(place, named(place, name))
    except Exception:
        place.close()
        raise


# -- what is best ------------------------------------------------------------------------------------------------


def found(study: Any) -> list[Any]:
    """The best trial; of two objectives, the trials that none beats in both; empty before there is any."""
    try:
        return [study.best] if isinstance(study.direction, str) else list(study.front)
    except UnavailableError:
        return []


def best_so_far(study: Any) -> str:
    """The best value told, as text; of two objectives, how many trials none beats. Costs no model."""
    if not isinstance(study.direction, str):
        n = len(found(study))
        return f"{n} not beaten" if n else ""
    told = [t for t in study.records if t.state == "told" and t.is_feasible]
    if not told:
        return ""
    best = (min if study.direction == "minimize" else max)(told, key=lambda t: t.value)
    return f"{value_text(best)} of trial {best.id}"


def found_record(study: Any, trials: Sequence[Any], more: Callable[[Any], dict[str, Any]] | None = None) -> dict:
    """{"best": …} or, of two objectives, {"front": […]}, as JSON data."""
    records = [{**_record(trial), **(more(trial) if more else {})} for trial in trials]
    if isinstance(study.direction, str):
        return {"best": records[0] if records else None}
    return {"front": records}


def _record(trial: Any) -> dict[str, Any]:
    values = {"value": trial.values[0]} if len(trial.values) == 1 else {"values": trial.values}
    limits = {} if trial.constraints is None else {"constraints": trial.constraints}
    return {"trial": trial.id, **values, **limits, "params": dict(trial.params)}


# -- as text -----------------------------------------------------------------------------------------------------


def counts(records: Iterable[Any]) -> dict[str, int]:
    """{state: how many}, without those of which there are none."""
    states = [trial.state for trial in records]
    return {s: states.count(s) for s in ("told", "failed", "pruned", "pending", "stale") if s in states}


def counts_text(records: Sequence[Any]) -> str:
    """12 trials (10 told, 2 failed)."""
    by_state = counts(records)
    if set(by_state) <= {"told"}:
        return count(len(records), "trial")
    return f"{count(len(records), 'trial')} ({', '.join(f'{n} {state}' for state, n in by_state.items())})"


def value_text(trial: Any) -> str:
    """Its value, or both."""
    return "-" if trial.values is None else ", ".join(number(value, 6) for value in trial.values)


def assignments(params: Mapping[str, Any]) -> str:
    """x=0.25 kind=fast"""
    return " ".join(f"{name}={short(value)}" for name, value in params.items())


def short(value: Any) -> str:
    """A value of a parameter, reals to four digits."""
    from credo.studies.commands.template import text_of

    return number(value) if isinstance(value, float) else text_of(value)


def broken_text(study: Any, trial: Any) -> str:
    """By how much it breaks each of the measured constraints that it breaks, by their names; empty where it is met."""
    named = study.description.get("constraints") or ()
    found = []
    for j, excess in enumerate(trial.constraints or ()):
        if excess > 0.0:
            found.append(f"{named[j] if j < len(named) else f'constraint {j + 1}'} broken by {number(excess)}")
    return ", ".join(found)


def named_frame(study: Any, why: bool = False) -> Any:
    """`study.trials`, its objectives and constraints under the names that they had in `credo tune`, where those are
    not taken; a constraint is what it was beyond its limit. why : with what the sampler said of each point."""
    frame, description = study.trials, study.description
    keys, bounds = description.get("keys") or (), description.get("constraints") or ()
    values = ["value"] if isinstance(study.direction, str) else ["value_1", "value_2"]
    wanted = [*zip(values, keys), *((f"constraint_{j + 1}", text) for j, text in enumerate(bounds))]
    taken = set(frame.columns)
    names = {old: new for old, new in wanted if old in taken and new not in taken}
    frame = frame.rename(names if len(set(names.values())) == len(names) else {})
    if not why:
        return frame
    said = study.proposals.drop("id")
    return frame.hstack(said.rename({name: _free(f"why_{name}", frame.columns) for name in said.columns}))


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:  # a parameter may be called so
        name += "_"
    return name


def trials_table(study: Any, trials: Sequence[Any]) -> Any:
    """Trials by rows: number, value or both, broken constraints, parameters."""
    from credo.cli.text import grid

    two = not isinstance(study.direction, str)
    limits = any(trial.constraints is not None for trial in trials)
    names = list(study.space.names)
    keys = study.description.get("keys") or (["first", "second"] if two else ["value"])
    heads = ["trial", *keys, *(["constraints"] if limits else []), *names]
    rows = []
    for trial in trials:
        values = [number(value, 6) for value in trial.values]
        met = [broken_text(study, trial) or "met"] if limits else []
        points = [short(trial.params[name]) if name in trial.params else "" for name in names]
        rows.append([str(trial.id), *values, *met, *points])
    return grid(heads, rows, left=0)


def toml_lines(values: Mapping[str, Any]) -> list[str]:
    """Lines of TOML, which has no null: such a value is left out.

    >>> toml_lines({"x": 0.5, "kind": 'a "b"', "fast": True})
    ['x = 0.5', 'kind = "a \\\\"b\\\\""', 'fast = true']
    """
    return [f"{_toml(name, True)} = {_toml(value)}" for name, value in values.items() if value is not None]


def _toml(value: Any, key: bool = False) -> str:
    if key and _BARE.fullmatch(value):
        return value
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    # JSON's texts, numbers and booleans are TOML's, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
