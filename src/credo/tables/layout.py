"""Where a table begins and ends among the rows of a file: titles before it, rows of names, foot notes after it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from credo.tables.dates import DATE_FORMATS
from credo.tables.missing import IN_NUMBERS
from credo.tables.names import column_names, joined_headers
from credo.tables.numbers import NumberFormat
from credo.tables.options import ReadOptions

__all__ = ["Layout", "find_layout", "footnote_rows"]

Row = Sequence[str]

# Rows of the body that the header is compared with.
_BODY_ROWS = 200
# Titles longer than this are not titles.
_MOST_PREAMBLE = 100
_MOST_HEADER_ROWS = 4
# A source line, a note and a total may be dropped unasked; a longer tail may be data, so it is kept and pointed out.
MOST_FOOTNOTES = 3

_NUMBER = re.compile(
    "|".join(f"(?:{NumberFormat(d, t, True).pattern})" for d, t in ((".", ","), (",", "."), (",", " ")))
)
_DATE = re.compile("|".join(f"(?:{f.pattern})" for f in DATE_FORMATS))


@dataclass(frozen=True)
class Layout:
    """`before` rows (or lines) of preamble, `header_rows` rows of names, then rows of `width` cells.

    `headers` are the names as found (None where there is no header row), `names` the unique ones.
    """

    before: int
    header_rows: int
    width: int
    headers: tuple[str | None, ...]
    names: tuple[str, ...]
    decisions: list[str] = field(default_factory=list)


def find_layout(rows: Sequence[Row], options: ReadOptions) -> Layout:
    """The layout of a file from its first rows (a blank line is an empty row).

    Stated `skip_rows` and `header_rows` are followed; the rest is inferred: the table starts at the first row as wide
    as the rows usually are, past rows with a single cell filled; its header rows are those that hold words where the
    rows below hold numbers or dates.
    """
    decisions: list[str] = []
    usual = usual_width(rows)
    if any(len(row) == usual - 1 for row in rows[:_MOST_PREAMBLE]) and usual > 2 and empty_last(rows, usual):
        usual -= 1
    start = options.skip_rows if options.skip_rows is not None else table_start(rows, usual)
    body = [row for row in rows[start:] if len(row)]
    width = max(usual, len(body[0])) if body else usual
    count = options.header_rows if options.header_rows is not None else count_header_rows(body, width)
    headers, names = named(body[:count], width, decisions)
    if options.skip_rows is None and start:
        decisions.append(f"{start} line(s) before the table skipped (--skip-rows {start}).")
    if options.header_rows is None and count != 1:
        decisions.append(
            "No row of names found: columns are named by position (--header-rows 1 if the first row holds names)."
            if count == 0
            else f"{count} rows of names joined (--header-rows {count})."
        )
    return Layout(start, count, width, headers, names, decisions)


def usual_width(rows: Sequence[Row]) -> int:
    """The commonest number of cells in a row; the wider one among equally common."""
    widths = Counter(len(row) for row in rows if len(row))
    # Titles and notes may outnumber a short table, so rows of one cell count only when there is nothing else.
    several = Counter({width: n for width, n in widths.items() if width > 1})
    if sum(several.values()) * 3 >= sum(widths.values()):
        widths = several
    return max(widths.items(), key=lambda item: (item[1], item[0]))[0] if widths else 0


def table_start(rows: Sequence[Row], width: int) -> int:
    """Index of the first row of the table: as wide as usual, and more than a title."""
    for index, row in enumerate(rows[:_MOST_PREAMBLE]):
        if len(row) < width:
            continue
        filled = sum(1 for cell in row if cell.strip())
        if width >= 3 and filled <= 1 and any(_filled(later) > 1 for later in rows[index + 1 :]):
            continue
        if index and has_row_names(rows[index - 1], rows[index:], width):
            return index - 1
        return index
    return 0


def has_row_names(header: Row, rows: Sequence[Row], width: int) -> bool:
    """Whether a header is one cell short because the rows begin with their names, as R writes them."""
    if width < 2 or len(header) != width - 1 or header[0].lstrip().startswith("#"):
        return False
    return is_header(["", *header], rows, width)


def empty_last(rows: Sequence[Row], width: int) -> bool:
    """Whether rows end in a delimiter too many: one cell more than the header, and always empty."""
    return all(not row[width - 1].strip() for row in rows if len(row) == width)


def count_header_rows(body: Sequence[Row], width: int) -> int:
    """How many of the first rows of the table hold names."""
    if len(body) < 2:
        return min(1, len(body))
    first = ["", *body[0]] if len(body[0]) == width - 1 else body[0]
    if not is_header(first, body[1:], width):
        return 0
    count = 1
    while count < min(_MOST_HEADER_ROWS, len(body) - 1) and continues_header(body[:count], body[count:], width):
        count += 1
    return count


def is_header(row: Row, below: Sequence[Row], width: int) -> bool:
    """Whether a row holds names: words above numbers or dates, or words found nowhere below."""
    columns = columns_of(below[:_BODY_ROWS], width)
    typed = [j for j, cells in enumerate(columns) if j < len(row) and mostly_values(cells)]
    values = [j for j in typed if is_value(row[j])]
    words = [j for j in typed if row[j].strip() and not is_value(row[j]) and row[j].strip() not in IN_NUMBERS]
    if are_years([row[j] for j in values], [columns[j] for j in values]):
        return True
    if values or words:
        return len(words) > len(values)
    filled = [cell.strip() for cell in row if cell.strip()]
    seen_below = sum(1 for j, cells in enumerate(columns) if j < len(row) and row[j].strip() and row[j] in cells)
    return bool(filled) and len(set(filled)) == len(filled) and seen_below == 0


def continues_header(above: Sequence[Row], rows: Sequence[Row], width: int) -> bool:
    """Whether rows[0] is one more row of names: words above numbers again, under names that are incomplete or units."""
    columns = columns_of(rows[1 : 1 + _BODY_ROWS], width)
    typed = [j for j, cells in enumerate(columns) if j < len(rows[0]) and mostly_values(cells, 0.95)]
    words = [j for j in typed if not is_value(rows[0][j]) and rows[0][j].strip() not in IN_NUMBERS | {""}]
    if not words or any(is_value(rows[0][j]) for j in typed):
        return False
    incomplete = any(
        not (above[-1][j] if j < len(above[-1]) else "").strip() and cell.strip() for j, cell in enumerate(rows[0])
    )
    return incomplete or (len(words) >= 2 and len(words) == len(typed))


def columns_of(rows: Sequence[Row], width: int) -> list[list[str]]:
    return [[row[j].strip() for row in rows if j < len(row)] for j in range(width)]


def is_value(cell: str) -> bool:
    """Whether a cell reads as a number or a date."""
    cell = cell.strip()
    return bool(cell) and bool(_NUMBER.match(cell) or _DATE.match(cell))


def mostly_values(cells: Sequence[str], share: float = 0.8) -> bool:
    """Whether the present cells of a column are numbers or dates."""
    present = [cell for cell in cells if cell and cell not in IN_NUMBERS]
    return bool(present) and sum(map(is_value, present)) >= share * len(present)


def are_years(cells: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether numbers in a row are names after all: at least three years in order, over other numbers."""
    if len(cells) < 3 or not all(re.fullmatch(r"(1[5-9]|2[01])\d\d", cell.strip()) for cell in cells):
        return False
    years = [int(cell) for cell in cells]
    rising = all(a < b for a, b in pairwise(years))
    below = [cell for cells_below in columns for cell in cells_below if cell]
    like_years = sum(1 for cell in below if re.fullmatch(r"(1[5-9]|2[01])\d\d", cell))
    return rising and like_years < 0.5 * max(1, len(below))


def named(header: Sequence[Row], width: int, decisions: list[str]) -> tuple[tuple[str | None, ...], tuple[str, ...]]:
    """Headers as found and unique names; sentences on the changes go to `decisions`."""
    found: list[str | None]
    if not header:
        found = [None] * width
    else:
        cells = [[""] * (1 if len(row) == width - 1 and len(header) == 1 else 0) + list(row) for row in header]
        joined = joined_headers(cells) if len(header) > 1 else cells[0]
        found = [joined[j] if j < len(joined) else "" for j in range(width)]
    names, notes = column_names(found)
    decisions.extend(notes)
    return tuple(found), tuple(names)


def footnote_rows(tail: Sequence[Row], width: int) -> int:
    """How many of the last rows are foot notes: text in the first cell alone, in a table of at least three columns.

    `tail` holds the last rows, blank ones left out. Other rows must fill at least two cells for the difference to mean
    something.
    """
    notes = 0
    for row in reversed(tail):
        first = row[0].strip() if row else ""
        if width < 3 or _filled(row) != 1 or not re.search(r"[^\W\d_]{2}", first) or is_value(first):
            break
        notes += 1
    body = [row for row in tail[: len(tail) - notes] if len(row) == width and _filled(row) > 1]
    if not notes or not body:
        return 0
    # A label alone in its row (a heading within the table, a missing record) is as short as the labels above.
    longest = max(len(row[0].strip()) for row in body)
    lone = [row for row in tail[len(tail) - notes :] if len(row) == width and len(row[0].strip()) <= max(20, longest)]
    return 0 if lone else notes


def _filled(row: Row) -> int:
    return sum(1 for cell in row if cell.strip())
