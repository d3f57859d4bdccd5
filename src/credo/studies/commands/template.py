"""`CommandTemplate`: the words of a command with places for parameters → the words of one trial's command."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from credo.errors import ParameterError

__all__ = ["SPECIAL", "CommandTemplate", "text_of"]

#: Places that are no parameters. A parameter of the same name goes first.
SPECIAL = {
    "trial": "the trial's number",
    "dir": "the trial's folder",
    "params": "all active parameters, as JSON",
    "value_file": "where the value is looked for",
}
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PLACE = re.compile(r"(\w+)(?:(:[-+])(.*))?", re.DOTALL)
_NUMBER = re.compile(r"-\.?\d.*")


class Place(NamedTuple):
    """{name}; how ":-" with the text where it is inactive; how ":+" with the text where it is active and not false."""

    name: str
    how: str | None
    text: str


def text_of(value: Any) -> str:
    """A value as a program reads it: numbers in full, true and false.

    >>> text_of(0.1), text_of(True), text_of("rbf")
    ('0.1', 'true', 'rbf')
    """
    return value if isinstance(value, str) else json.dumps(value)


class CommandTemplate:
    """A program and its arguments, with places for parameters.

    Parameters
    ----------
    words : as the operating system takes them. ``{x}`` is the value of x, ``{x:-text}`` has a text where x is inactive,
        ``{x:+text}`` is text where x is active and not false, else nothing; ``{{`` and ``}}`` are braces. A word with
        an inactive ``{x}`` is left out, and where it is no more than that, so is an option before it (``--x {x}``).
    names : of the space; conditional : those that may be inactive
    special : which of `SPECIAL` there are

    Raises
    ------
    ParameterError : a place that is no parameter's, a brace alone, a program that may be inactive

    Examples
    --------
    >>> template = CommandTemplate(["fit", "--width", "{width}", "{fast:+--fast}"], ["width", "fast"], ["width"])
    >>> template.fill({"width": 0.5, "fast": True})
    ['fit', '--width', '0.5', '--fast']
    >>> template.fill({"fast": False})
    ['fit']
    """

    def __init__(
        self, words: Sequence[str], names: Sequence[str], conditional: Collection[str] = (),
        special: Collection[str] = ("trial", "params"),
    ) -> None:  # fmt: skip
        if not words or not words[0]:
            raise ParameterError("CommandTemplate", "words", "a program and its arguments", list(words))
        self.written = tuple(words)
        self._known = (*names, *(name for name in SPECIAL if name in special and name not in names))
        self._words = [self._parsed(word) for word in words]
        self._options = [_is_option(parts) for parts in self._words]
        for part in self._words[0]:
            if isinstance(part, Place) and part.how is None and part.name in conditional:
                remedy = f"Say what it is where {part.name} does not matter: {{{part.name}:-…}}."
                raise ParameterError("CommandTemplate", "words", "begun by a program", words[0], remedy)
        places = {part.name for parts in self._words for part in parts if isinstance(part, Place)}
        self.unused = () if "params" in places - set(names) else tuple(n for n in names if n not in places)

    @property
    def program(self) -> str | None:
        """The first word; None where it hangs on a parameter."""
        first = self._words[0]
        return "".join(map(str, first)) if all(isinstance(part, str) for part in first) else None

    def _parsed(self, word: str) -> list[str | Place]:
        parts: list[str | Place] = []
        end = 0
        for found in _TOKEN.finditer(word):
            parts.append(word[end : found.start()])
            end = found.end()
            if found[0] in ("{{", "}}"):
                parts.append(found[0][0])
            elif found[1] is None:
                remedy = "A brace itself is written twice: {{ or }}."
                raise ParameterError("CommandTemplate", "words", "of paired braces", word, remedy)
            else:
                parts.append(self._place(found[1]))
        return [part for part in (*parts, word[end:]) if part != ""] or [""]

    def _place(self, inside: str) -> Place:
        found = _PLACE.fullmatch(inside)
        if found is None or found[1] not in self._known:
            raise ParameterError(
                "CommandTemplate", "words", f"with places among {', '.join(f'{{{name}}}' for name in self._known)}",
                f"{{{inside}}}", f"Braces that are no place are written twice: {{{{{inside}}}}}.",
            )  # fmt: skip
        return Place(found[1], found[2], found[3] or "")

    def fill(self, params: Mapping[str, Any], special: Mapping[str, Any] | None = None) -> list[str]:
        """The words for one point; `params` holds its active parameters."""
        values = {**(special or {}), "params": json.dumps(dict(params)), **params}
        words: list[str] = []
        for i, parts in enumerate(self._words):
            texts = [part if isinstance(part, str) else _filled(part, values) for part in parts]
            bare = len(parts) == 1 and isinstance(parts[0], Place)
            if None in texts:  # inactive
                if bare and i and self._options[i - 1]:
                    words.pop()
            elif not (bare and parts[0].how and texts[0] == ""):  # type: ignore[union-attr]
                words.append("".join(texts))  # type: ignore[arg-type]
        return words


def _filled(place: Place, values: Mapping[str, Any]) -> str | None:
    """None of an inactive parameter that has no text of its own for that."""
    active = place.name in values
    if place.how == ":+":
        return place.text if active and values[place.name] is not False else ""
    if not active:
        return place.text if place.how else None
    return text_of(values[place.name])


def _is_option(parts: list[str | Place]) -> bool:
    """Whether a word is the name of an option whose value is the next word."""
    if len(parts) != 1 or not isinstance(parts[0], str):
        return False
    word = parts[0]
    return word.startswith("-") and word.strip("-") != "" and "=" not in word and _NUMBER.fullmatch(word) is None
