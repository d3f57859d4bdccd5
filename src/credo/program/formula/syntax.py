"""What a formula is made of, as written: nodes whose `str` is the canonical text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Node", "Number", "Text", "Name", "Dot", "Sign", "Paren", "Chain", "Call", "names_in", "walk", "quoted"]

_PLAIN = re.compile(r"(?:[^\W\d]|\.(?=[^\W\d]))[\w.]*")
# Operators that are written without blanks around them.
_TIGHT = (":", "/")
# Functions whose later arguments are columns too, not words or constants.
_OF_COLUMNS = ("me", "mi", "prop", "cbind", "s", "t2")


def quoted(name: str) -> str:
    """A name as a formula writes it: in backticks where it needs them."""
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Node:
    """start, end : place in the formula's text."""

    start: int = field(compare=False)
    end: int = field(compare=False)

    @property
    def children(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True)
class Number(Node):
    value: float

    def __str__(self) -> str:
        return repr(self.value) if self.value != int(self.value) else str(int(self.value))


@dataclass(frozen=True)
class Text(Node):
    value: str

    def __str__(self) -> str:
        return f'"{self.value}"' if "'" in self.value else f"'{self.value}'"


@dataclass(frozen=True)
class Name(Node):
    """A column."""

    name: str

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True)
class Dot(Node):
    """Every other column."""

    def __str__(self) -> str:
        return "."


@dataclass(frozen=True)
class Sign(Node):
    operator: str
    operand: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"{self.operator}{self.operand}"


@dataclass(frozen=True)
class Paren(Node):
    inner: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.inner,)

    def __str__(self) -> str:
        return f"({self.inner})"


@dataclass(frozen=True)
class Chain(Node):
    """first op₁ operand₁ op₂ operand₂ …, operators of one level, applied from the left: as flat as it is written, so
    that a sum of a thousand columns is no deeper than a sum of two."""

    first: Node
    rest: tuple[tuple[str, Node], ...]

    @property
    def operator(self) -> str:
        """The first one: all are of its level."""
        return self.rest[0][0]

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.first, *(operand for _, operand in self.rest))

    def __str__(self) -> str:
        parts = [str(self.first)]
        for operator, operand in self.rest:
            parts.append(f"{operator}{operand}" if operator in _TIGHT else f" {operator} {operand}")
        return "".join(parts)


@dataclass(frozen=True)
class Call(Node):
    """function(arguments…, keyword=value…)."""

    function: str
    arguments: tuple[Node, ...]
    keywords: tuple[tuple[str, Node], ...] = ()

    @property
    def children(self) -> tuple[Node, ...]:
        return (*self.arguments, *(value for _, value in self.keywords))

    def __str__(self) -> str:
        shown = [str(argument) for argument in self.arguments]
        return f"{self.function}({', '.join([*shown, *(f'{name}={value}' for name, value in self.keywords)])})"


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        pending += reversed(found.children)


def names_in(node: Node) -> list[str]:
    """The columns a node speaks of, each once, in order; words among a function's later arguments are no columns."""
    names: dict[str, None] = {}
    pending = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, Name):
            names[found.name] = None
        pending += reversed(_columns_below(found))
    return list(names)


def _columns_below(node: Node) -> tuple[Node, ...]:
    """The children that may be columns."""
    if not isinstance(node, Call):
        return node.children
    by = tuple(value for name, value in node.keywords if name == "by")
    return (*(node.arguments if node.function in _OF_COLUMNS else node.arguments[:1]), *by)
