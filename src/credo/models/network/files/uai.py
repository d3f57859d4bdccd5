"""UAI, the format of the inference competitions, of type BAYES: reading and writing.

    BAYES, the number of variables, their numbers of states, the number of tables; for each table how many variables and
    which, the child last; for each table how many numbers and which, the child's states fastest.

There are no names: variables are "0", "1", … and their states the whole numbers 0, 1, ….
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from credo.errors import SaveError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.files.assemble import Draft, DraftNode
from credo.models.network.files.numbers import NotANumber, parse_numbers
from credo.models.network.files.source import NetworkFileError, Source, without_comments

__all__ = ["read_uai", "uai_chunks"]

_COMMENT = re.compile(rb"#[^\n]*+")
_KIND = re.compile(rb"\s*+(\S++|\Z)")


class _Numbers:
    """A cursor over the numbers of the file; a count is a whole number, checked before anything is made of it."""

    def __init__(self, source: Source, skip: int) -> None:
        self.source = source
        try:
            self.values, starts = parse_numbers(source.data[skip:])
        except NotANumber as error:
            word = source.data[skip + error.offset :].split()[0][:60].decode("utf-8", "replace")
            raise source.error(skip + error.offset, f"{word!r} is no number", value=word) from None
        self.starts = starts + skip
        self.at = 0

    def offset(self, at: int) -> int:
        return int(self.starts[at]) if at < len(self.starts) else len(self.source.data)

    def error(self, at: int, message: str) -> NetworkFileError:
        return self.source.error(
            self.offset(at), message, value=float(self.values[at]) if at < len(self.values) else None
        )

    def count(self, what: str, least: int, most: int) -> int:
        if self.at >= len(self.values):
            raise self.error(self.at, f"the file ends where {what} is expected")
        value = float(self.values[self.at])
        if not (value.is_integer() and least <= value <= most):
            wanted = f"a whole number from {least} to {most}" if least < most else str(most)
            raise self.error(self.at, f"{what} is {value:g}, not {wanted}")
        self.at += 1
        return int(value)

    def take(self, n: int) -> np.ndarray:
        """The next `n` numbers, which must be there."""
        if n > len(self.values) - self.at:
            raise self.error(len(self.values), f"the file ends after {len(self.values) - self.at} of {n} numbers")
        self.at += n
        return self.values[self.at - n : self.at]


def read_uai(source: Source, normalise: bool) -> NetworkDefinition:
    """A network from UAI text of type BAYES; ``#`` begins a comment, as some programs write them."""
    source = without_comments(source, _COMMENT, b"#")
    kind = _KIND.match(source.data)
    if kind is None or kind[1] != b"BAYES":
        word = kind[1][:60].decode("utf-8", "replace") if kind else ""
        remedy = "A Markov network has factors, not conditional tables." if word == "MARKOV" else None
        raise source.error(kind.start(1) if kind else 0, f"the file is of type {word!r}, not 'BAYES'", word, remedy)
    numbers = _Numbers(source, kind.end())
    draft = Draft(source, normalise)
    # Each state needs a number of its own in some table: more cannot be meant, and nothing is made of them.
    remaining = len(numbers.values)
    n = numbers.count("the number of variables", 0, remaining)
    for i in range(n):
        offset = numbers.offset(numbers.at)
        states = numbers.count(f"the number of states of variable {i}", 1, max(remaining, 1))
        remaining -= states
        draft.add_node(str(i), DraftNode(tuple(range(states)), offset))
    tables = numbers.count("the number of tables", n, n)
    for _ in range(tables):
        scope = []
        for _ in range(numbers.count("the number of variables of a table", 1, n)):
            offset = numbers.offset(numbers.at)
            scope.append((str(numbers.count("a variable", 0, n - 1)), offset))
        draft.add_parents([scope[-1], *scope[:-1]])
    for name in list(draft.parents):
        size = draft.n_rows(name) * draft.shape(name)[-1]
        offset = numbers.offset(numbers.at)
        numbers.count(f"the number of entries of table {name}", size, size)
        draft.add_flat(name, numbers.take(size), offset)
    if numbers.at < len(numbers.values):
        raise numbers.error(numbers.at, "the file goes on after its last table")
    return draft.finish()


def uai_chunks(definition: NetworkDefinition, lossy: bool) -> Iterator[str]:
    """The text of a UAI file, part by part; names that it cannot hold are an error unless `lossy`."""
    nodes = definition.nodes
    if not lossy:
        for i, (node, states) in enumerate(definition.states.items()):
            if node != str(i) or [*map(repr, states)] != [*map(repr, range(len(states)))]:
                raise SaveError(
                    f"A UAI file cannot hold the names of {node!r} and its states: its variables are '0', '1', …, "
                    "their states 0, 1, ….",
                    value=node,
                    remedy="Let them go with lossy=True (the order stays), or choose another format.",
                )
    number = {node: i for i, node in enumerate(nodes)}
    yield f"BAYES\n{len(nodes)}\n{' '.join(str(len(states)) for states in definition.states.values())}\n{len(nodes)}\n"
    for node, parents in definition.parents.items():
        yield " ".join(map(str, (len(parents) + 1, *(number[each] for each in (*parents, node))))) + "\n"
    for table in definition.tables.values():
        yield f"\n{table.size}\n"
        for row in table.reshape(-1, table.shape[-1]).tolist():
            yield f" {' '.join(map(repr, row))}\n"
