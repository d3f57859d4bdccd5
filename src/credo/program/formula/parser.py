"""Tokens → nodes, by the binding strength of operators.

Outside functions the operators make terms (`+`, `-`, `*`, `/`, `:`, `%in%`, `^`, `|`); inside a function's brackets,
and left of `~`, they are arithmetic (`+`, `-`, `*`, `/`, `**`, comparisons). Left of `~` a `|` adds something to the
response (`k | trials(n)`). `np.log(x)` is log(x), and `{x + z}` is I(x + z).
"""

from __future__ import annotations

import math

from credo.program.formula.errors import FormulaError
from credo.program.formula.functions import ALIASES, FUNCTIONS, Misuse, check_call
from credo.program.formula.syntax import Call, Chain, Dot, Name, Node, Number, Paren, Sign, Text
from credo.program.formula.tokens import Token, tokens_of

__all__ = ["parsed"]

_SUM, _POWER = 30, 70
_TERMS = {"|": 10, "||": 10, "+": _SUM, "-": _SUM, "*": 40, "/": 40, "%in%": 45, ":": 50, "^": _POWER, "**": _POWER}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_ARITHMETIC = dict.fromkeys(_COMPARISONS, 20) | {"+": _SUM, "-": _SUM, "*": 40, "/": 40, "^": _POWER, "**": _POWER}
# −x·y is −(x·y) among terms ("take out x:y"), and binds looser than powers only in arithmetic.
_SIGN = {False: _SUM, True: 60}
# Brackets, signs and powers within each other; nobody writes so many, and Python's stack stays far away.
MAX_DEPTH = 40
# Prefixes of functions that other languages' formulas carry.
_PREFIXES = ("np.", "numpy.", "math.", "scipy.special.", "special.", "as.")


def parsed(text: str) -> tuple[Node | None, Node]:
    """(left side or None, right side) of a formula. Cost: linear in the text.

    Raises
    ------
    FormulaError : with the place.
    """
    return _Parser(text).formula()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, tokens_of(text), 0
        self.depth, self.arithmetic, self.left = 0, False, False

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def fail(self, message: str, place: Token | Node, remedy: str | None = None) -> FormulaError:
        return FormulaError(message, self.text, place.start, place.end, remedy)

    def is_operator(self, text: str) -> bool:
        return self.token.kind == "operator" and self.token.text == text

    def take(self) -> Token:
        token = self.token
        self.at += token.kind != "end"
        return token

    def unexpected(self, wanted: str) -> FormulaError:
        """Something stands where an operator should; of two names in a row, that they may be one."""
        token, before = self.token, self.tokens[self.at - 1]
        words = token.kind == before.kind == "name" and self.at > 0
        remedy = f"A name of several words stands in backticks: `{before.text} {token.text}`." if words else None
        return self.fail(f"expected {wanted}, found {token.text!r}", token, remedy)

    def expect(self, operator: str, opened: Token) -> Token:
        if not self.is_operator(operator):
            if self.token.kind == "end":
                raise self.fail(f"{opened.text!r} is never closed", opened)
            raise self.unexpected(f"an operator or {operator!r}")
        return self.take()

    def formula(self) -> tuple[Node | None, Node]:
        tildes = [token for token in self.tokens if token.kind == "operator" and token.text == "~"]
        if not tildes:
            raise self.fail("there is no '~'", self.tokens[-1], "Write response ~ terms.")
        if len(tildes) > 1:
            raise self.fail("there is a second '~'", tildes[1])
        left = None
        if not self.is_operator("~"):
            left = self.response()
        if self.token is not tildes[0]:
            raise self.unexpected("an operator or '~'")
        self.take()
        right = self.expression(0)
        if self.token.kind != "end":
            raise self.unexpected("an operator")
        return left, right

    def response(self) -> Node:
        """What is left of `~`: arithmetic, and perhaps `| trials(n)`."""
        self.arithmetic = self.left = True
        node = self.expression(0)
        while self.is_operator("|"):
            self.take()
            addition = self.expression(0)
            node = Chain(node.start, addition.end, node, (("|", addition),))
        self.arithmetic = self.left = False
        return node

    def expression(self, floor: int) -> Node:
        """An operand and all operators that bind tighter than `floor`."""
        if self.depth >= MAX_DEPTH:
            raise self.fail(f"brackets, signs or powers lie more than {MAX_DEPTH} deep", self.token)
        self.depth += 1
        left = self.operand()
        while (level := self.level()) > floor:
            rest: list[tuple[str, Node]] = []
            while self.level() == level:
                operator = self.take().text
                # a power's exponent holds the powers to its right
                rest.append(("**" if operator == "^" else operator, self.expression(level - (level == _POWER))))
            left = Chain(left.start, rest[-1][1].end, left, tuple(rest))
        self.depth -= 1
        return left

    def level(self) -> int:
        """How tight the operator here binds; 0 where there is none."""
        if self.token.kind != "operator":
            return 0
        text = self.token.text
        if text == "|" and self.left and self.depth <= 1:
            return 0
        found = (_ARITHMETIC if self.arithmetic else _TERMS).get(text, 0)
        if not found and text in _COMPARISONS:
            raise self.fail(f"{text!r} compares numbers, and here are terms", self.token, "Write I(x > 0), say.")
        if not found and text in _TERMS:
            raise self.fail(f"{text!r} makes terms, and inside a function is arithmetic", self.token)
        return found

    def operand(self) -> Node:
        token = self.take()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "text":
            return Text(token.start, token.end, token.text)
        if token.kind == "name":
            # `log` in backticks is a column
            called = self.is_operator("(") and self.text[token.start] != "`"
            return self.call(token) if called else Name(token.start, token.end, token.text)
        if token.kind == "operator" and token.text == ".":
            return Dot(token.start, token.end)
        if token.kind == "operator" and token.text in ("+", "-"):
            operand = self.expression(_SIGN[self.arithmetic])
            return Sign(token.start, operand.end, token.text, operand)
        if token.kind == "operator" and token.text == "(":
            inner = self.expression(0)
            return Paren(token.start, self.expect(")", token).end, inner)
        if token.kind == "operator" and token.text == "{":
            return self.braces(token)
        found = "the formula ends" if token.kind == "end" else f"found {token.text!r}"
        raise self.fail(f"a column or a function is missing: {found}", token)

    def number(self, token: Token) -> Number:
        value = float(token.text)
        if not math.isfinite(value):
            raise self.fail("the number is too large", token)
        return Number(token.start, token.end, value)

    def braces(self, opened: Token) -> Call:
        """{…}, which is I(…)."""
        outside, self.arithmetic = self.arithmetic, True
        inner = self.expression(0)
        self.arithmetic = outside
        return self.checked(Call(opened.start, self.expect("}", opened).end, "I", (inner,)))

    def call(self, name: Token) -> Call:
        opened, outside = self.take(), self.arithmetic
        self.arithmetic = True
        arguments: list[Node] = []
        keywords: list[tuple[str, Node]] = []
        while not self.is_operator(")"):
            following = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
            if self.token.kind == "name" and following.kind == "operator" and following.text == "=":
                keyword = self.take().text
                self.take()
                keywords.append((keyword, self.expression(0)))
            elif keywords:
                raise self.fail("arguments by name come last", self.token)
            else:
                arguments.append(self.expression(0))
            if not self.is_operator(")"):
                self.expect(",", opened)
                if self.is_operator(")"):
                    raise self.fail("an argument is missing", self.token)
        end = self.take().end
        self.arithmetic = outside
        return self.checked(Call(name.start, end, _known_as(name.text), tuple(arguments), tuple(keywords)))

    def checked(self, call: Call) -> Call:
        try:
            check_call(call)
        except Misuse as error:
            raise self.fail(error.message, error.node, error.remedy) from None
        return call


def _known_as(name: str) -> str:
    """A function by the one name it has here."""
    for prefix in _PREFIXES:
        if name.startswith(prefix) and _known_as(name.removeprefix(prefix)) in FUNCTIONS:
            name = name.removeprefix(prefix)
    return ALIASES.get(name, name)
