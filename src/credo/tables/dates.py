"""Dates and times of day as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DateFormat", "DATE_FORMATS", "TIME_FORMATS", "parse_dates", "swapped"]

_DIRECTIVES = {
    "%Y": r"\d{4}", "%y": r"\d{2}", "%m": r"\d{1,2}", "%d": r"\d{1,2}", "%H": r"\d{1,2}", "%M": r"\d{2}",
    "%S": r"\d{2}", "%b": r"[A-Za-z]{3}\.?", "%B": r"[A-Za-z]{3,9}", "%.f": r"(?:\.\d+)?",
    "%#z": r"(?:Z|[-+]\d{2}:?\d{2})",
    "%p": r"(?:[AaPp][Mm])", "%I": r"\d{1,2}",
}  # fmt: skip


@dataclass(frozen=True)
class DateFormat:
    """A strptime format; `pattern` keeps %Y from taking two digits."""

    format: str

    @property
    def pattern(self) -> str:
        parts = re.split(r"(%\.f|%#z|%[A-Za-z])", self.format)
        return "^" + "".join(_DIRECTIVES.get(part, re.escape(part)) for part in parts) + "$"

    @property
    def has_time(self) -> bool:
        return "%H" in self.format or "%I" in self.format

    @property
    def has_date(self) -> bool:
        return "%d" in self.format or "%Y" in self.format

    def parse(self, cells: pl.Expr) -> pl.Expr:
        """Datetime (in UTC when the cell states an offset) or Time of trimmed cells; null where not in this format."""
        import polars as pl

        shaped = pl.when(cells.str.contains(self.pattern)).then(cells)
        if not self.has_date:
            return shaped.str.to_time(self.format, strict=False)
        if not self.has_time:
            text, format = (shaped, self.format) if "%d" in self.format else (shaped + "-01", self.format + "-%d")
            return text.str.to_date(format, strict=False).cast(pl.Datetime("us"))
        parsed = shaped.str.to_datetime(self.format, time_unit="us", strict=False, ambiguous="earliest")
        return parsed.dt.replace_time_zone(None) if "%#z" in self.format else parsed


def _with_times(dates: tuple[str, ...]) -> list[str]:
    formats = list(dates)
    for date in dates:
        for time in ("%H:%M", "%H:%M:%S", "%H:%M:%S%.f", "%I:%M %p", "%I:%M:%S %p"):
            formats.append(f"{date} {time}")
    return formats


# Year first is never ambiguous. Of the ambiguous pairs, the day comes first with dots and dashes (Europe), and with
# slashes everywhere but in the United States; the other order is taken when a cell contradicts this one.
_ISO = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d")
_DAY_FIRST = ("%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y")
_MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y")
_SHORT = ("%d/%m/%y", "%d.%m.%y", "%m/%d/%y")
_WORDS = (
    "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d-%b-%y", "%d. %B %Y",
)  # fmt: skip
_ZONED = tuple(f"%Y-%m-%d{sep}%H:%M:%S%.f{zone}" for sep in "T " for zone in ("", "%#z", " UTC"))
DATE_FORMATS = tuple(
    DateFormat(format)
    for format in (
        *_with_times(_ISO), *_ZONED, "%Y-%m-%dT%H:%M", *_with_times(_DAY_FIRST), *_with_times(_MONTH_FIRST),
        *_with_times(_SHORT), *_WORDS, "%Y-%m",
    )
)  # fmt: skip
TIME_FORMATS = tuple(DateFormat(format) for format in ("%H:%M", "%H:%M:%S", "%H:%M:%S%.f", "%I:%M %p", "%I:%M:%S %p"))


def parse_dates(cells: pl.Expr, formats: tuple[str, ...]) -> pl.Expr:
    """Trimmed cells by the first of the formats that reads each."""
    import polars as pl

    parsed = [DateFormat(format).parse(cells) for format in formats]
    return parsed[0] if len(parsed) == 1 else pl.coalesce(parsed)


def swapped(format: str) -> str | None:
    """The format with day and month exchanged, where both orders are in use."""
    if format.startswith(("%d/%m", "%d-%m")):
        return format.replace("%d", "%x").replace("%m", "%d").replace("%x", "%m")
    return None
