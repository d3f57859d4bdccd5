"""What may be stated about how a file is written; whatever is left out is inferred, and said."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields
from typing import Any

from credo.errors import ParameterError

__all__ = ["ReadOptions"]


@dataclass(frozen=True)
class ReadOptions:
    """How a file is written. None means: look at the file and decide.

    Parameters
    ----------
    format : "delimited", "jsonl", "parquet" or "excel"
    encoding : a Python codec name, such as "utf-8", "latin-1", "utf-16"
    delimiter, quote : one character each; quote="" when quotes mean nothing
    skip_rows : lines before the header (of a delimited file) or rows (of a sheet)
    header_rows : rows of names, 0 when there are none
    skip_footer : rows to leave out at the end
    decimal, thousands : the marks inside numbers, "." or ","; thousands may also be " ", "'", "_" or "" (none)
    missing : words that mean a missing cell in every column; empty cells always do
    ragged : "error", or "truncate" to drop the cells that a row has beyond the last column
    sheet : name of an Excel sheet, by default the first

    Raises
    ------
    ParameterError : a value breaks its constraint.

    >>> ReadOptions(delimiter=";", decimal=",").delimiter
    ';'
    """

    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    skip_rows: int | None = None
    header_rows: int | None = None
    skip_footer: int | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] | None = None
    ragged: str = "error"
    sheet: str | None = None

    def __post_init__(self) -> None:
        for name, (constraint, holds) in _CONSTRAINTS.items():
            value = getattr(self, name)
            if value is not None and not holds(value):
                raise ParameterError("ReadOptions", name, constraint, value)
        if self.decimal is not None and self.decimal == self.thousands:
            raise ParameterError("ReadOptions", "thousands", "different from decimal", self.thousands)

    @classmethod
    def of(cls, options: ReadOptions | None = None, **stated: Any) -> ReadOptions:
        """`options`, or new ones, with the keywords that are not None put in."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(stated) - known):
            raise ParameterError("ReadOptions", "option", f"one of {', '.join(sorted(known))}", unknown[0])
        values = {} if options is None else {name: getattr(options, name) for name in known}
        values.update({name: value for name, value in stated.items() if value is not None})
        if isinstance(values.get("missing"), (list, set)):
            values["missing"] = tuple(values["missing"])
        if isinstance(values.get("missing"), str):
            values["missing"] = (values["missing"],)
        return cls(**values)


def _is_codec(name: Any) -> bool:
    try:
        return codecs.lookup(name) is not None
    except (LookupError, TypeError):
        return False


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_CONSTRAINTS: dict[str, tuple[str, Any]] = {
    "format": (
        "'delimited', 'jsonl', 'parquet' or 'excel'",
        lambda v: v in ("delimited", "jsonl", "parquet", "excel"),
    ),
    "encoding": ("the name of a text encoding, such as 'utf-8' or 'latin-1'", _is_codec),
    "delimiter": (
        "one character other than a line break",
        lambda v: isinstance(v, str) and len(v) == 1 and v not in "\r\n",
    ),
    "quote": ("one character, or '' for none", lambda v: isinstance(v, str) and len(v) <= 1),
    "skip_rows": ("an integer ≥ 0", _is_count),
    "header_rows": ("an integer ≥ 0", _is_count),
    "skip_footer": ("an integer ≥ 0", _is_count),
    "decimal": ("'.' or ','", lambda v: v in (".", ",")),
    "thousands": ("'.', ',', ' ', \"'\", '_' or '' for none", lambda v: v in (".", ",", " ", "'", "_", "")),
    "missing": ("a tuple of words", lambda v: isinstance(v, tuple) and all(isinstance(w, str) for w in v)),
    "ragged": ("'error' or 'truncate'", lambda v: v in ("error", "truncate")),
}
