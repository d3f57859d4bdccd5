"""`--first lr=0.1,depth=3` and `--near lr=0.1`: what the user knows already, told to a study once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from credo.errors import ParameterError

__all__ = ["first_points", "near_guesses", "tell_once"]

_BETWEEN = re.compile(r",\s*(?=\w+=)")


def first_points(texts: Sequence[str] | None, space: Any) -> list[dict[str, Any]]:
    """Whole points of the space, from NAME=VALUE,… or TOML files; constants need not be named."""
    constants = {name: p.value for name, p in space.parameters.items() if p.kind == "constant"}
    found = []
    for text in texts or ():
        given = _from_toml(text) if text.endswith(".toml") else _from_text(text, space, "--first")
        if unknown := [name for name in given if name not in space.parameters]:
            raise ParameterError("", "--first", f"of the parameters {', '.join(space.names)}", unknown[0])
        try:  # a value of what does not matter at this point does no harm
            found.append(space.check(space.activate({**constants, **given})))
        except ParameterError as error:
            raise ParameterError("", "--first", f"a point of the space ({error})", text) from None
    return found


def near_guesses(texts: Sequence[str] | None, space: Any) -> list[dict[str, Any]]:
    """Values of some parameters each."""
    return [_from_text(text, space, "--near") for text in texts or ()]


def _from_toml(path: str) -> dict[str, Any]:
    from credo.design.spaces.files import read_toml

    return read_toml(Path(path))


def _from_text(text: str, space: Any, option: str) -> dict[str, Any]:
    found = {}
    for part in _BETWEEN.split(text):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in space.parameters:
            known = ", ".join(space.names)
            raise ParameterError("", option, f"NAME=VALUE,… of the parameters {known}", part)
        found[name] = _value(space.parameters[name], value, f"{option} {name}")
    return found


def _value(parameter: Any, text: str, option: str) -> Any:
    """What the text means for a parameter: one of its choices as a program gets them, or a number."""
    from credo.studies.commands.template import text_of

    for choice in getattr(parameter, "choices", ()):
        if text_of(choice) == text:
            return choice
    try:
        number = float(text)
    except ValueError:
        number = None
    if number is not None and number.is_integer() and (parameter.kind == "integer" or parameter.contains(int(number))):
        number = int(number)
    if number is None or not parameter.contains(number):
        raise ParameterError("", option, f"a value of it ({_range(parameter)})", text)
    return number


def _range(parameter: Any) -> str:
    from credo.cli.study_parts import short

    if hasattr(parameter, "choices"):
        return ", ".join(map(short, parameter.choices))
    return f"{short(parameter.low)} to {short(parameter.high)}" if hasattr(parameter, "low") else "constant"


def tell_once(study: Any, first: Sequence[dict[str, Any]], near: Sequence[dict[str, Any]]) -> None:
    """Queue points and tell guesses, unless an earlier run of the same command did."""
    key = study.space.key
    known = {key(trial.params) for trial in study.records} | {key(params) for params, *_ in study._state.queue.values()}
    for point in first:
        if key(point) not in known:
            study.enqueue(point)
            known.add(key(point))
    for guess in near:
        if all(dict(there.params) != guess for there in study.guesses):
            study.near(guess)
