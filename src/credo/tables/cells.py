"""What inference looks at: the distinct cells of a column, and what the file as a whole says about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from credo.tables.numbers import PLAIN, NumberFormat
from credo.tables.options import ReadOptions

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Cells", "cells_of", "Context", "Sentences"]


@dataclass(frozen=True)
class Cells:
    """A text column of the sample: its distinct values, in order of appearance, with their counts."""

    name: str
    n_rows: int
    n_empty: int
    values: pl.Series
    counts: pl.Series

    def without(self, words: Iterable[str]) -> Cells:
        """Without the values that are one of these words."""
        keep = ~self.values.is_in(list(words))
        return replace(self, values=self.values.filter(keep), counts=self.counts.filter(keep))

    def among(self, words: Iterable[str]) -> tuple[str, ...]:
        """The values that are one of these words, sorted."""
        return tuple(sorted(self.values.filter(self.values.is_in(list(words))).to_list()))

    @property
    def n_present(self) -> int:
        return int(self.counts.sum() or 0)

    @property
    def distinct(self) -> int:
        return len(self.values)


def cells_of(series: pl.Series) -> Cells:
    """The distinct values of a text column; null cells are empty ones."""
    present = series.drop_nulls()
    values, counts = present.unique(maintain_order=True), present.unique_counts()
    return Cells(series.name, len(series), series.null_count(), values, counts)


class Sentences:
    """What was found, with the columns it holds for: alike findings become one sentence."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def add(self, column: str, what: str, detail: str = "") -> None:
        name = repr(column if len(column) <= 60 else f"{column[:27]}...{column[-30:]}")
        self.found.setdefault(what, []).append(f"{name} ({detail})" if detail else name)

    def sentences(self) -> list[str]:
        """ "Column 'a': what." or "Columns 'a', 'b': what."; at most eight columns are named."""
        result = []
        for what, names in self.found.items():
            shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            result.append(f"{'Column' if len(names) == 1 else 'Columns'} {shown}: {what}.")
        return result


class Context:
    """What the file as a whole says: options, delimiter, the decimal mark of its clear columns; and what is found."""

    def __init__(self, options: ReadOptions, delimiter: str | None) -> None:
        self.options, self.delimiter = options, delimiter
        self.stated = frozenset(options.missing or ())
        self.decimals: set[str] = set()
        self._decisions, self._warnings = Sentences(), Sentences()

    def learn_decimal(self, formats: list[NumberFormat]) -> None:
        """A column that only one decimal mark can read tells of the others."""
        marks = {format.decimal for format in formats}
        if len(marks) == 1 and PLAIN not in formats:
            self.decimals |= marks

    def decide(self, column: str, what: str, detail: str = "") -> None:
        self._decisions.add(column, what, detail)

    def warn(self, column: str, what: str) -> None:
        self._warnings.add(column, what)

    @property
    def decisions(self) -> list[str]:
        return self._decisions.sentences()

    @property
    def warnings(self) -> list[str]:
        return self._warnings.sentences()
