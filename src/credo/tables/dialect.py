"""Which character separates the cells, and which quotes them: the choice that makes rows of equal width."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["Dialect", "sniff_dialect", "parsed_rows"]

# In the order they win a tie. A space is guessed only where it separates numbers (text has spaces).
_DELIMITERS = (",", ";", "\t", "|", "\x1f", "^", "~")
_ROWS_JUDGED = 1000


@dataclass(frozen=True)
class Dialect:
    """`delimiter` (None for a table of one column) and `quote` ("" for none)."""

    delimiter: str | None
    quote: str = '"'

    @property
    def separator(self) -> str:
        """A delimiter for readers that need one: the unit separator never occurs in one-column text."""
        return self.delimiter or "\x1f"

    def bare(self, line: str) -> str:
        """The line as the csv reader wants it: blanks around it are no cells where blanks separate them."""
        return line.strip(" ").rstrip(" \r\n") + "\n" if self.delimiter == " " else line


def line_breaks(text: str) -> list[str]:
    """Lines with their ends. (`str.splitlines` also breaks at separators that occur inside cells.)"""
    return io.StringIO(text, newline="").readlines()


def sniff_dialect(text: str, delimiter: str | None = None, quote: str | None = None) -> Dialect:
    """The dialect of a sample of whole lines.

    Of the usual delimiters, the one for which the share of rows with the commonest width (≥ 2), times that width's
    gain, is largest; fewer than half of the rows alike means one column.

    >>> sniff_dialect("a;b\\n1,5;2\\n3;4,25\\n")
    Dialect(delimiter=';', quote='"')
    """
    quote = _sniff_quote(text) if quote is None else quote
    if delimiter is not None:
        return Dialect(delimiter, quote)
    best, best_score = None, 0.0
    for candidate in _DELIMITERS:
        if candidate not in text:
            continue
        score = _evenness(parsed_rows(text, Dialect(candidate, quote), _ROWS_JUDGED))
        if score > best_score * 1.02:  # the earlier candidate keeps near-ties
            best, best_score = candidate, score
    if best is None and _numbers_between_blanks(text):
        best = " "
    return Dialect(best, quote)


def _numbers_between_blanks(text: str) -> bool:
    """Whether every line has as many words as the first, at least two, most of them numbers."""
    rows = [line.split() for line in text.splitlines()[:_ROWS_JUDGED] if line.strip()]
    if len(rows) < 2 or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    words = [word for row in rows[1:] for word in row]
    return sum(1 for word in words if re.fullmatch(r"[-+]?[\d.,]+([eE][-+]?\d+)?", word)) > 0.5 * len(words)


def parsed_rows(text: str, dialect: Dialect, most: int | None = None) -> list[list[str]]:
    """Cells of every row of a text; blank lines are empty lists."""
    rows = []
    lines = line_breaks(text)
    for row in csv.reader(map(dialect.bare, lines), **csv_options(dialect)):  # type: ignore[arg-type]
        rows.append(row)
        if most is not None and len(rows) >= most:
            break
    return rows


def csv_options(dialect: Dialect) -> dict[str, object]:
    """The dialect in the words of the standard library's csv reader."""
    if dialect.quote:
        runs = dialect.delimiter == " "  # any number of blanks separates two cells
        return {"delimiter": dialect.separator, "quotechar": dialect.quote, "skipinitialspace": runs}
    return {"delimiter": dialect.separator, "quoting": csv.QUOTE_NONE}


def _evenness(rows: list[list[str]]) -> float:
    """How table-like a splitting is: (share of rows at the commonest width) × (1 − 1/width), else 0.

    Single cells of titles and foot notes count against every delimiter alike, so they do not decide; the width
    matters because a delimiter inside text also splits, into few pieces.
    """
    widths = Counter(len(row) for row in rows if len(row) > 1)
    total = sum(1 for row in rows if row)
    if not widths:
        return 0.0
    width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
    several = sum(widths.values())
    # Half of all rows, or nearly all rows with several cells where a long title comes first.
    if count < 0.5 * total and not (count >= 3 and count >= 0.8 * several):
        return 0.0
    near = sum(n for w, n in widths.items() if abs(w - width) == 1)
    return (count + 0.5 * near) / total * (1.0 - 1.0 / width)


def _sniff_quote(text: str) -> str:
    """Double quotes, unless there are none and single ones enclose cells on most lines."""
    if '"' in text or "'" not in text:
        return '"'
    lines = text.splitlines()[:_ROWS_JUDGED]
    enclosed = sum(1 for line in lines if re.search(r"(^|[,;\t|])'[^']*'([,;\t|]|$)", line))
    return "'" if enclosed > 0.5 * len(lines) else '"'
