"""Numbers as people read them: as many digits as mean something, no exponent where that is readable."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["number", "aligned", "share", "percent", "count", "shortened", "typeset"]


def number(value: Any, digits: int = 4) -> str:
    """Significant digits, without an exponent between 1e-5 and 1e8; "-" for nothing.

    >>> number(1234.567), number(0.00012346), number(1.5e12), number(None), number(0.0)
    ('1235', '0.0001235', '1.5e+12', '-', '0')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    value = float(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size <= 7:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(0, digits - 1 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def aligned(values: Sequence[float | None], scale: float | None) -> list[str]:
    """Numbers with the decimals that an uncertainty of `scale` leaves meaning to: two digits of it.

    >>> aligned([1234.5678, -0.04321], 0.0123)
    ['1234.568', '-0.043']
    """
    if scale is None or not (math.isfinite(scale) and 1e-6 < scale < 1e9):
        return [number(value) for value in values]
    decimals = max(0, 1 - math.floor(math.log10(scale)))
    return ["-" if value is None else _fixed(value, decimals) for value in values]


def _fixed(value: float, decimals: int) -> str:
    if not math.isfinite(value) or abs(value) >= 1e12:
        return number(value)
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def share(p: float | None) -> str:
    """A probability; never 0 or 1, which data cannot teach.

    >>> share(0.25), share(0.99999), share(0.0)
    ('0.250', '>0.999', '<0.001')
    """
    if p is None or math.isnan(p):
        return "-"
    return "<0.001" if p < 0.001 else ">0.999" if p > 0.999 else f"{p:.3f}"


def percent(mass: float, digits: int = 3) -> str:
    """>>> percent(0.9), percent(0.955), percent(0.00034, 2)
    ('90 %', '95.5 %', '0.034 %')
    """
    return f"{100.0 * mass:.{digits}g} %"


def count(n: int, one: str, many: str | None = None) -> str:
    """>>> count(1, "row"), count(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def shortened(text: str, width: int = 30) -> str:
    """The text on one line, its middle left out beyond `width` characters: names often differ at either end.

    >>> shortened("flipper length of the bird, mm", 20)
    'flipper lengt…rd, mm'
    """
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def typeset(text: str) -> str:
    """The text with true minus signs before its numbers, for print.

    >>> typeset("-1.5 ± 0.2 (-0.02), 2024-01-02")
    '−1.5 ± 0.2 (−0.02), 2024-01-02'
    """
    return re.sub(r"(?<![\w)\]-])-(?=\.?\d)", "−", text)
