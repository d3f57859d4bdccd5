"""The one error of reading a formula: it shows the formula and a caret under the place."""

from __future__ import annotations

from credo.errors import CredoError

__all__ = ["FormulaError"]

# Characters of a long formula that are shown on either side of the place.
_MARGIN = 50


class FormulaError(CredoError, ValueError):
    """A formula that cannot be read; `value` is the formula and `position` (start, end) the place in it, from 0.

    >>> raise FormulaError("there is no function 'lag'", "y ~ lag(x)", 4, 7)
    Traceback (most recent call last):
    credo.program.formula.errors.FormulaError: Formula: there is no function 'lag' (character 5).
      y ~ lag(x)
          ^^^
    """

    def __init__(self, message: str, text: str, start: int, end: int, remedy: str | None = None) -> None:
        self.position = (start, end)
        self.text = text
        said = f"Formula: {message} (character {start + 1})."
        super().__init__("\n".join([said if remedy is None else f"{said} {remedy}", *_marked(text, start, end)]))
        self.value, self.remedy = text, remedy


def _marked(text: str, start: int, end: int) -> tuple[str, str]:
    """The line of the text that holds the place, cut around it, and carets below."""
    first = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    last = len(text) if stop < 0 else stop
    low, high = max(first, start - _MARGIN), min(last, max(end, start + 1) + _MARGIN, start + 2 * _MARGIN)
    before, after = "…" if low > first else "", "…" if high < last else ""
    shown = "".join(c if c.isprintable() else " " for c in text[low:high])
    carets = "^" * max(1, min(end, high) - start)
    return f"  {before}{shown}{after}", " " * (2 + len(before) + start - low) + carets
