"""Numbers as people write them: decimal and thousands marks, currency and per-cent signs, accounting brackets."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NumberFormat", "PLAIN", "NUMBER_FORMATS"]

_CURRENCY = r"(?:US\$|[$€£¥₹₽₩]|EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|kr\.?)"
_BEFORE = rf"^(\(?)\s*([-+−]?)\s*(?:{_CURRENCY})?\s*([-+−]?)"
_AFTER = rf"\s*(?:{_CURRENCY}|%|‰)?\s*(\)?)$"
_SPECIAL = r"(?i)^[-+]?(?:inf|infinity|nan)$"
# A blank as thousands mark may be any of the blanks that typesetters use.
_MARK = {".": r"\.", ",": ",", " ": r"[ \u00a0\u202f\u2009]", "'": "['’]", "_": "_"}


@dataclass(frozen=True)
class NumberFormat:
    """`decimal` "." or ","; `thousands` "" for none; `signs` whether currency or per-cent signs, brackets or
    a typographer's minus may stand around."""

    decimal: str = "."
    thousands: str = ""
    signs: bool = False

    @functools.cached_property
    def pattern(self) -> str:
        """Regular expression of a whole trimmed cell."""
        point = _MARK[self.decimal]
        whole = r"\d+"
        if self.thousands:
            mark = _MARK[self.thousands]
            # The two-digit groups are India's: 12,34,567.
            whole = rf"(?:\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}|\d+)"
        body = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?"
        return rf"{_BEFORE}{body}{_AFTER}" if self.signs else rf"^[-+]?{body}$"

    @property
    def is_plain(self) -> bool:
        return self == PLAIN

    def matches(self, cells: pl.Series) -> pl.Series:
        """Boolean: which trimmed cells this format reads. inf and nan are numbers too."""
        return cells.str.contains(self.pattern) | cells.str.contains(_SPECIAL)

    def parse(self, cells: pl.Expr) -> pl.Expr:
        """Float64 of trimmed cells; null where a cell is not a number in this format.

        A per-cent sign is dropped, not divided by: "12 %" is 12, in per cent.
        """
        import polars as pl

        if self.is_plain:
            return cells.cast(pl.Float64, strict=False)
        text = cells
        if self.signs:
            negative = text.str.contains(r"^\(.*\)$")
            text = text.str.replace_all(
                rf"{_CURRENCY}|[%‰()\s]" if self.thousands != " " else rf"{_CURRENCY}|[%‰()]", ""
            )
            text = text.str.strip_chars().str.replace("−", "-", literal=True)
        if self.thousands:
            text = text.str.replace_all(_MARK[self.thousands], "")
        if self.decimal == ",":
            text = text.str.replace(",", ".", literal=True)
        value = text.cast(pl.Float64, strict=False)
        # Without this, cells such as "1,2,3" would lose their marks and pass for numbers.
        value = pl.when(cells.str.contains(self.pattern) | cells.str.contains(_SPECIAL)).then(value)
        return pl.when(negative).then(-value).otherwise(value) if self.signs else value

    @property
    def description(self) -> str:
        parts = [f"decimal {'comma' if self.decimal == ',' else 'point'}"]
        if self.thousands:
            parts.append(f"thousands mark {self.thousands!r}")
        if self.signs:
            parts.append("currency or per-cent signs dropped (12% is read as 12)")
        return ", ".join(parts)


PLAIN = NumberFormat()
# The likelier first; with signs after without.
NUMBER_FORMATS = tuple(
    NumberFormat(decimal, thousands, signs)
    for signs in (False, True)
    for decimal, thousands in (
        (".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"), (".", "_"),
    )
)  # fmt: skip
