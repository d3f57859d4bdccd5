"""Text → tokens, each with its place."""

from __future__ import annotations

import re
from typing import NamedTuple

from credo.program.formula.errors import FormulaError

__all__ = ["Token", "tokens_of"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>(?:[^\W\d]|\.(?=[^\W\d]))[\w.]*)
      | (?P<quoted>`(?:[^`]|``)+`)
      | (?P<text>"[^"]*"|'[^']*')
      | (?P<operator>\|\||\*\*|%in%|[<>=!]=|[-~+*/:^|(),<>=.{}])""",
    re.VERBOSE,
)
_NEVER_CLOSED = {"`": "a name in backticks", '"': "a text in quotes", "'": "a text in quotes"}

_REMEDIES = {
    "[": "A list is c(1, 2, 3).",
    ";": 'Further formulas, of sigma say, make a list: ["y ~ x", "sigma ~ x"].',
}


class Token(NamedTuple):
    """kind : "name", "number", "text", "operator" or "end"; text : without its quotes; [start, end) : its place."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of a formula, the last of kind "end". Cost: linear in the text.

    >>> [token.text for token in tokens_of("y ~ `body mass` + log(x)")]
    ['y', '~', 'body mass', '+', 'log', '(', 'x', ')', '']

    Raises
    ------
    FormulaError : a character that no formula has, or a quote that is never closed.
    """
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            opened = _NEVER_CLOSED.get(text[at])
            message = f"{text[at]!r} has no meaning here" if opened is None else f"{opened} that is never closed"
            raise FormulaError(message, text, at, at + 1, _REMEDIES.get(text[at]))
        kind, word = str(match.lastgroup), match.group()
        if kind == "quoted":
            kind, word = "name", word[1:-1].replace("``", "`")
        elif kind == "text":
            word = word[1:-1]
        if kind != "space":
            found.append(Token(kind, word, at, match.end()))
        at = match.end()
    found.append(Token("end", "", len(text), len(text)))
    return found
