"""A factor in print: states with their values on a line, or a table of two axes; sizes where these are many."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.probability.factors.factor import Factor

__all__ = ["as_html", "as_text"]

# States of an axis that are printed.
_MOST = 12


def as_text(factor: Factor) -> str:
    """One axis on a line, two as a table; else the number of states of each axis.

    >>> from credo.probability.factors import Factor
    >>> Factor("battery", [0.03, 0.97], [["flat", "ok"]])
    Factor(battery: flat 0.03, ok 0.97)
    >>> Factor(["rain", "wet"], [[0.9, 0.1], [0.2, 0.8]], [["no", "yes"], ["dry", "wet"]])
    Factor(rain: 2, wet: 2)
    rain  wet=dry  wet=wet
    no        0.9      0.1
    yes       0.2      0.8
    """
    if (rows := _cells(factor)) is None:
        return _sizes(factor)
    if len(factor.names) == 1:
        values = ", ".join(f"{state} {value}" for state, value in zip(rows[0], rows[1], strict=True))
        return f"Factor({_line(factor.names[0])}: {values}{_kind(factor)})"
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(wide[0]), *(cell.rjust(w) for cell, w in zip(row[1:], wide[1:], strict=True))])
        for row in rows
    ]
    return "\n".join([_sizes(factor), *lines])


def as_html(factor: Factor) -> str:
    """The same for notebooks."""
    if (rows := _cells(factor)) is None:
        return f"<code>{html.escape(_sizes(factor))}</code>"
    if len(factor.names) == 1:
        rows = [[_line(factor.names[0]), "log" if factor.is_log else ""], *map(list, zip(*rows, strict=True))]
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in rows[0])
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(factor: Factor) -> list[list[str]] | None:
    """States above values; of two axes a row for each state of the first; None where that is no help to a reader."""
    if factor.batch is not None or len(factor.names) not in (1, 2) or max(factor.shape) > _MOST:
        return None
    table = factor.log_values if factor.is_log else factor.values
    states = [[_line(state) for state in own] for own in factor.states.values()]
    if len(states) == 1:
        return [states[0], [_number(value) for value in table.tolist()]]
    first, second = map(_line, factor.names)
    head = [first, *(f"{second}={state}" for state in states[1])]
    return [head, *([s, *map(_number, row)] for s, row in zip(states[0], table.tolist(), strict=True))]


def _sizes(factor: Factor) -> str:
    axes = ", ".join(f"{_line(name)}: {n}" for name, n in zip(factor.names, factor.shape, strict=True))
    batch = f", batch={factor.batch}" if factor.batch is not None else ""
    if not factor.names and factor.batch is None:
        table = factor.log_values if factor.is_log else factor.values
        return f"Factor({_number(table.item())}{_kind(factor)})"
    return f"Factor({axes}{_kind(factor)}{batch})"


def _kind(factor: Factor) -> str:
    return ", log" if factor.is_log else ", exact" if factor.is_exact else ""


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _line(name: Any) -> str:
    return " ".join(str(name).split())
