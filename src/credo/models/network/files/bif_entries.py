"""The tables of a BIF file: all ordinary ones in one go, any other entry by entry."""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

import numpy as np

from credo.models.network.files.assemble import Draft
from credo.models.network.files.limits import MAX_UNPRINTED
from credo.models.network.files.numbers import NotANumber, parse_number, parse_numbers
from credo.models.network.files.tokens import Tokens

__all__ = ["RowTables", "read_property", "slow_table"]

_LABEL = re.compile(rb"\(([^()\"]*+(?:\"(?:[^\"\\]|\\.)*+\"[^()\"]*+)*+)\)", re.DOTALL)
_PROPERTY_END = re.compile(rb"[^\";]*+(?:\"(?:[^\"\\]|\\.)*+\"[^\";]*+)*+;", re.DOTALL)
_IN_ROWS = b"0123456789.eE+-(,; \t\r\n\v\f"
_TABLE = re.compile(rb"\s*+table(?=\s)")


class _Rows(NamedTuple):
    """A table written as rows: numbers with ``(`` before and ``;`` after each; `order` says where the rows go."""

    name: str
    text: bytes
    n_rows: int
    order: str | list[int]


class RowTables:
    """Gathers the bodies of probability blocks and fills in the tables of a draft.

    `written`: the states of each variable as the file writes them, quotes and all.
    """

    def __init__(self, draft: Draft, tokens: Tokens) -> None:
        self.draft, self.tokens = draft, tokens
        self.written: dict[str, tuple[bytes, ...]] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        self.rows: list[_Rows] = []
        self.unprinted = 0

    def add(self, name: str, start: int, end: int) -> None:
        """The body of a node's block, bytes `start` to `end` of the file."""
        self.spans[name] = start, end
        rows = self._ordinary(name, self.draft.source.data[start:end])
        if rows is None:
            self._slow(name)
        else:
            self.rows.append(rows)

    def finish(self) -> None:
        """Parse what was gathered."""
        values = self._parsed()
        start = 0
        for rows in self.rows:
            shape = self.draft.shape(rows.name)
            stop = start + rows.n_rows * shape[-1]
            if values is None:
                # Some table is not as it seemed: entry by entry it is found, or turns out to be well-formed.
                self._slow(rows.name)
            else:
                self.draft.tables[rows.name] = _arranged(values[start:stop], shape, rows.order)
            start = stop

    def _slow(self, name: str) -> None:
        table, unprinted = slow_table(self.draft, self.tokens, name, *self.spans[name], MAX_UNPRINTED - self.unprinted)
        self.draft.tables[name] = table
        self.unprinted += unprinted

    def _ordinary(self, name: str, body: bytes) -> _Rows | None:
        """A body that is ``table NUMBERS;`` without parents, or a label and a row for all of the parents' states."""
        parents = self.draft.parents[name]
        if not parents:
            text, n_rows = _TABLE.subn(b"(", body, count=1)
            order = "last" if n_rows else None
        else:
            labels = _LABEL.findall(body)
            n_rows = len(labels)
            ordinary = n_rows == self.draft.n_rows(name)
            order = _row_order(labels, [self.written[parent] for parent in parents]) if ordinary else None
            text = _LABEL.sub(b"(", body)
        if order is None or text.translate(None, _IN_ROWS):
            return None
        return _Rows(name, text, n_rows, order)

    def _parsed(self) -> np.ndarray | None:
        """The numbers of all tables, if each row has as many as its node has states, all between its signs."""
        text = b"\n".join(rows.text for rows in self.rows)
        try:
            values, starts = parse_numbers(text)
        except NotANumber:
            return None
        codes = np.frombuffer(text, dtype=np.uint8)
        begins = np.searchsorted(starts, np.flatnonzero(codes == ord("(")))
        ends = np.searchsorted(starts, np.flatnonzero(codes == ord(";")))
        states = [self.draft.shape(rows.name)[-1] for rows in self.rows]
        wanted = np.repeat(states, [rows.n_rows for rows in self.rows])
        fits = (
            len(begins) == len(ends) == len(wanted)
            and bool((ends - begins == wanted).all() and (begins[1:] == ends[:-1]).all())
            and (not len(ends) or (begins[0] == 0 and ends[-1] == len(values)))
        )
        return values if fits else None


def _row_order(labels: list[bytes], states: list[tuple[bytes, ...]]) -> str | list[int] | None:
    """ "first" or "last" for the parent that changes fastest, or each label's row; None where a label is unknown."""
    last = [b", ".join(key) for key in product(*states)]
    if labels == last:
        return "last"
    if labels == [b", ".join(key[::-1]) for key in product(*states[::-1])]:
        return "first"
    row = {key: i for i, key in enumerate(last)}
    try:
        order = [row[label] for label in labels]
    except KeyError:
        if any(b'"' in label for label in labels):
            return None
        tidy = {b",".join(key): i for i, key in enumerate(product(*states))}
        order = [tidy.get(b",".join(label.replace(b",", b" ").split()), -1) for label in labels]
    return order if len(set(order)) == len(row) and -1 not in order else None


def _arranged(values: np.ndarray, shape: tuple[int, ...], order: str | list[int]) -> np.ndarray:
    if isinstance(order, list):
        table = np.empty((len(order), shape[-1]))
        table[order] = values.reshape(table.shape)
        return table.reshape(shape)
    if order == "last":
        return values.reshape(shape)
    axes = len(shape) - 1
    return values.reshape(*shape[-2::-1], shape[-1]).transpose(*range(axes - 1, -1, -1), axes)


def slow_table(draft: Draft, tokens: Tokens, name: str, start: int, end: int, room: int) -> tuple[np.ndarray, int]:
    """(table, cells that the file does not print) from a block's body, entry by entry.

    Entries may come in any order; ``default`` stands for the rows that are not there.
    """
    shape, parents = draft.shape(name), draft.parents[name]
    index = [{state: i for i, state in enumerate(draft.nodes[parent].states)} for parent in parents]
    rows: dict[tuple[int, ...], list[float]] = {}
    default: list[float] | None = None
    whole: list[float] | None = None
    tokens.jump(start)
    while tokens.token.offset < end:
        entry = tokens.token
        if tokens.skip(b"("):
            key = _key(draft, tokens, name, index)
            if key in rows:
                raise draft.source.error(entry.offset, f"this row of {name!r} is given twice")
            rows[key] = _numbers(draft, tokens, name, shape[-1])
        elif entry.raw in (b"table", b"default"):
            tokens.advance()
            if (default is not None and entry.raw == b"default") or whole is not None:
                raise draft.source.error(entry.offset, f"{entry.text!r} of {name!r} is given twice")
            if entry.raw == b"default":
                default = _numbers(draft, tokens, name, shape[-1])
            else:
                whole = _numbers(draft, tokens, name, draft.n_rows(name) * shape[-1])
        else:
            draft.nodes[name].properties.append(read_property(tokens))
    return _filled(draft, name, rows, default, whole, room)


def _filled(
    draft: Draft,
    name: str,
    rows: dict[tuple[int, ...], list[float]],
    default: list[float] | None,
    whole: list[float] | None,
    room: int,
) -> tuple[np.ndarray, int]:
    shape, offset, n_rows = draft.shape(name), draft.offsets[name], draft.n_rows(name)
    if whole is not None:
        if rows or default is not None:
            raise draft.source.error(offset, f"{name!r} has a table and rows or a default as well")
        # Here alone the node's own states change slowest.
        return np.moveaxis(np.array(whole).reshape(shape[-1], *shape[:-1]), 0, -1), 0
    absent = n_rows - len(rows)
    if absent and default is None:
        said = f"{len(rows)} of the {n_rows} rows" if rows else "no row"
        raise draft.source.error(offset, f"the table of {name!r} has {said} and no default", value=len(rows))
    if absent * shape[-1] > room:
        raise draft.source.error(
            offset,
            f"the default of {name!r} stands for {absent} rows, more than is read",
            value=absent,
            remedy=f"At most {MAX_UNPRINTED} probabilities of a file may stand under defaults.",
        )
    table = np.empty(shape)
    if absent:
        table[...] = default
    for key, row in rows.items():
        table[key] = row
    return table, absent * shape[-1]


def _key(draft: Draft, tokens: Tokens, name: str, index: list[dict[str, int]]) -> tuple[int, ...]:
    """The parents' states up to the closing bracket, as their numbers."""
    parents = draft.parents[name]
    key: list[int] = []
    while not tokens.at(b")"):
        state = tokens.name("a state or ')'")
        if len(key) == len(parents):
            raise draft.source.error(state.offset, f"{name!r} has {len(parents)} parents only", value=state.text)
        if state.text not in index[len(key)]:
            raise draft.source.error(
                state.offset, f"{state.text!r} is no state of {parents[len(key)]!r}", value=state.text
            )
        key.append(index[len(key)][state.text])
    if len(key) < len(parents):
        raise tokens.unexpected(f"a state of {parents[len(key)]!r}")
    tokens.advance()
    return tuple(key)


def _numbers(draft: Draft, tokens: Tokens, name: str, wanted: int) -> list[float]:
    """As many numbers as wanted, up to ``;``."""
    values: list[float] = []
    first = tokens.token.offset
    while not tokens.at(b";"):
        if tokens.token.kind != "word":
            raise tokens.unexpected("a number or ';'")
        try:
            values.append(parse_number(tokens.token.raw))
        except NotANumber:
            raise tokens.unexpected("a number or ';'") from None
        tokens.advance()
    if len(values) != wanted:
        raise draft.source.error(first, f"{len(values)} numbers stand where {name!r} needs {wanted}", value=len(values))
    tokens.advance()
    return values


def read_property(tokens: Tokens) -> str:
    """The text of ``property TEXT;``, as it stands or unquoted."""
    if not tokens.at(b"property"):
        raise tokens.unexpected("'property' or '}'")
    start = tokens.end
    match = _PROPERTY_END.match(tokens.source.data, start)
    if match is None:
        raise tokens.source.error(tokens.token.offset, "the property does not end", remedy="End it with ';'.")
    tokens.advance()
    if tokens.token.kind == "quoted" and tokens.source.data[tokens.end : match.end() - 1].strip() == b"":
        text = tokens.token.text
    else:
        text = match[0][:-1].decode("utf-8", "replace").strip()
    tokens.jump(match.end())
    return text
