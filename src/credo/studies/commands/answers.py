"""What a program answers → values of objectives and constraints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from credo.errors import ParameterError, shown

__all__ = ["Answer", "Answers", "Bound", "NoAnswer"]

_BOUND = re.compile(r"\s*([^<>=]*[^<>=\s])\s*(?:(<=|>=)\s*(\S+)\s*)?")


class NoAnswer(Exception):
    """The program ran, and what it left is no answer; the argument says why. Never leaves `credo.studies`."""


class Answer(NamedTuple):
    """values : one an objective; constraints : met where ≤ 0, or None where none are asked for."""

    values: tuple[float, ...]
    constraints: tuple[float, ...] | None = None

    def checked(self) -> Answer:
        """Itself; `NoAnswer` where a number is not finite."""
        for name, numbers in (("the value", self.values), ("a constraint", self.constraints or ())):
            if wrong := [number for number in numbers if not math.isfinite(number)]:
                raise NoAnswer(f"{name} is {wrong[0]}")
        return self

    @property
    def as_returned(self) -> Any:
        """As a function that is optimised returns it."""
        value = self.values[0] if len(self.values) == 1 else self.values
        return value if self.constraints is None else {"value": value, "constraints": self.constraints}


class Bound(NamedTuple):
    """A constraint on what a program answers: key ≤ limit (sign 1) or key ≥ limit (sign −1).

    >>> Bound.parse("memory <= 8"), Bound.parse("excess")
    (Bound(key='memory', sign=1.0, limit=8.0), Bound(key='excess', sign=1.0, limit=0.0))
    """

    key: str
    sign: float
    limit: float

    @classmethod
    def parse(cls, text: str) -> Bound:
        """From ``KEY``, ``KEY<=NUMBER`` or ``KEY>=NUMBER``."""
        found = _BOUND.fullmatch(text)
        try:
            assert found is not None
            limit = float(found[3] or 0.0)
            assert math.isfinite(limit)
            return cls(found[1], -1.0 if found[2] == ">=" else 1.0, limit)
        except (AssertionError, ValueError):
            raise ParameterError("Bound", "text", "KEY, KEY<=NUMBER or KEY>=NUMBER", text) from None

    def __str__(self) -> str:
        """As it is written: ``memory<=8``."""
        return f"{self.key}{'<=' if self.sign > 0.0 else '>='}{self.limit!r}".removesuffix(".0")

    def excess(self, value: float) -> float:
        """How far the value is beyond the limit; the constraint is met where this is ≤ 0."""
        return self.sign * (value - self.limit)


class Answers:
    """Where the numbers of an answer are.

    n_values : number of objectives
    keys : of the JSON data, one an objective: ``loss`` or a path, ``test.loss``, ``scores.0``; without keys the
        answer is the numbers themselves
    bounds : constraints

    >>> Answers(1).of_line("0.25")
    Answer(values=(0.25,), constraints=None)
    >>> Answers(1, ["test.loss"], [Bound.parse("gb<=8")]).of_line('{"test": {"loss": 0.25}, "gb": 10}')
    Answer(values=(0.25,), constraints=(2.0,))
    """

    def __init__(self, n_values: int = 1, keys: Sequence[str] = (), bounds: Sequence[Bound] = ()) -> None:
        self.n_values, self.keys, self.bounds = n_values, tuple(keys), tuple(bounds)

    def of_line(self, line: str) -> Answer:
        """From the last line that the program printed.

        Raises
        ------
        NoAnswer : it is something else.
        """
        if not line.strip():
            raise NoAnswer("it printed nothing")
        if self.keys:
            return self._of_data(_parsed(line, "its last line"), "its last line")
        try:
            values = tuple(float(word) for word in line.replace(",", " ").split())
        except ValueError:
            values = ()
        if len(values) != self.n_values:
            wanted = "a number" if self.n_values == 1 else f"{self.n_values} numbers"
            raise NoAnswer(f"its last line is {shown(line.strip())}, not {wanted}")
        return Answer(values)

    def of_file(self, path: Path) -> Answer:
        """From a file of JSON.

        Raises
        ------
        NoAnswer : there is no such file, or it holds something else.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise NoAnswer(f"it left no {path} that can be read ({_why(error)})") from None
        return self._of_data(_parsed(text, str(path)), str(path))

    def _of_data(self, data: Any, where: str) -> Answer:
        if self.keys:
            values = tuple(_number(_found(data, key, where), f"{key!r} in {where}") for key in self.keys)
        else:
            if isinstance(data, dict):
                raise NoAnswer(f"{where} holds an object, so that a key must say which: {shown(list(data), 200)}")
            listed = data if isinstance(data, list) else [data]
            if len(listed) != self.n_values:
                raise NoAnswer(f"{where} holds {len(listed)} values, not {self.n_values}")
            values = tuple(_number(value, where) for value in listed)
        if not self.bounds:
            return Answer(values)
        found = [_number(_found(data, bound.key, where), f"{bound.key!r} in {where}") for bound in self.bounds]
        return Answer(values, tuple(bound.excess(value) for bound, value in zip(self.bounds, found)))


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(f"{where} is {shown(text.strip())}, not JSON ({error})") from None


def _found(data: Any, key: str, where: str) -> Any:
    """The value at a path; a key that itself holds dots goes first."""
    at, rest = data, key
    while True:
        if isinstance(at, dict) and rest in at:
            return at[rest]
        head, dot, rest = rest.partition(".")
        if isinstance(at, dict) and head in at:
            at = at[head]
        elif isinstance(at, list) and re.fullmatch(r"-?\d+", head) and -len(at) <= int(head) < len(at):
            at = at[int(head)]
        else:
            there = (
                shown(list(at), 200)
                if isinstance(at, dict)
                else f"{len(at)} values"
                if isinstance(at, list)
                else shown(at)
            )
            raise NoAnswer(f"there is no {key!r} in {where}: {there}")
        if not dot:
            return at


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NoAnswer(f"{where} is {shown(value)}, not a number")
    return float(value)
