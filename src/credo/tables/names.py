"""Column names from header rows: trimmed, filled in, made unique, each change said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["column_names", "joined_headers"]


def column_names(headers: Sequence[str | None]) -> tuple[list[str], list[str]]:
    """(unique names, sentences on what was changed) for the headers as found; None where there is no header.

    A later duplicate gets " (2)", " (3)"...; an empty name becomes column_N with N counted from 1.

    >>> column_names(["id", "score", " score", "", "score"])[0]
    ['id', 'score', 'score (2)', 'column_4', 'score (3)']
    """
    taken = {tidy(header) for header in headers if header is not None and tidy(header)}
    names: list[str] = []
    used: set[str] = set()
    empty, repeated, padded = [], [], []
    for position, header in enumerate(headers, start=1):
        wanted = tidy(header or "")
        if header is not None and wanted != header and wanted:
            padded.append(wanted)
        if not wanted:
            name = _free(f"column_{position}", used | taken)
            if header is not None:
                empty.append(name)
        elif wanted in used:
            name = _free(wanted, used | taken)
            repeated.append(name)
        else:
            name = wanted
        used.add(name)
        names.append(name)
    notes = []
    if empty:
        notes.append(f"{_counted(len(empty), 'empty column name')} filled in: {_some(empty)}.")
    if repeated:
        notes.append(f"{_counted(len(repeated), 'repeated column name')} numbered: {_some(repeated)}.")
    if padded:
        notes.append(f"Blanks around {_counted(len(padded), 'column name')} removed: {_some(padded)}.")
    return names, notes


def joined_headers(rows: Sequence[Sequence[str]]) -> list[str]:
    """One header a column out of several header rows, joined by " / ".

    A name followed by empty cells spans them; a word that is the same under every column with a name of its own
    ("Response", say) tells nothing and is left out.

    >>> joined_headers([["id", "Film", "", "Age"], ["", "one", "two", ""]])
    ['id', 'Film / one', 'Film / two', 'Age']
    """
    width = max(len(row) for row in rows)
    cells = [[tidy(cell) for cell in [*row, *[""] * (width - len(row))]] for row in rows]
    spans = spanned(cells)
    for lower in cells[1:]:
        alone = {cell for j, cell in enumerate(lower) if cell and not spans[j] and cells[0][j]}
        if len(alone) == 1 and sum(cell in alone for cell in lower) > 1:
            lower[:] = ["" if cell in alone else cell for cell in lower]
    for upper, lower in pairwise(cells):
        for j in range(1, width):
            if not upper[j] and lower[j]:
                upper[j] = upper[j - 1]
    joined = []
    for parts in zip(*cells):
        distinct = list(dict.fromkeys(part for part in parts if part))
        joined.append(" / ".join(distinct))
    return joined


def spanned(cells: list[list[str]]) -> list[bool]:
    """Whether each column lies under a name of the first row that spans several columns."""
    top, below = cells[0], cells[1] if len(cells) > 1 else [""] * len(cells[0])
    result = [False] * len(top)
    for j in range(1, len(top)):
        if not top[j] and below[j] and (top[j - 1] or result[j - 1]):
            result[j - 1] = result[j] = True
    return result


def tidy(text: str) -> str:
    """Trimmed (no-break spaces and byte-order marks too), on one line."""
    return " ".join(text.replace("\ufeff", "").split())


def _free(name: str, used: set[str]) -> str:
    if name not in used:
        return name
    number = 2
    while f"{name} ({number})" in used:
        number += 1
    return f"{name} ({number})"


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:37] + "...") for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
