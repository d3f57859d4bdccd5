"""Decimal numbers in bulk: each correctly rounded as `float` does, at a fraction of its cost."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from credo.models.network.files.quotients import EXACT_DIGITS, MOST_DIGITS, POWERS, exact_quotient, nearest_quotient

__all__ = ["NotANumber", "parse_number", "parse_numbers"]

_SEPARATORS = bytes.maketrans(b"(),;{}|\t\n\r\v\f", b" " * 12)
_ROWS = 1 << 14  # as many words at a time stay in the cache


class NotANumber(ValueError):
    """`offset` is where the word begins."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        super().__init__(offset)


def parse_numbers(text: bytes) -> tuple[np.ndarray, np.ndarray]:
    """(values, where each begins) of the words of `text`, which blanks and ``(),;{}|`` part.

    A word of digits and at most one dot is a whole number over a power of ten, and `quotients` has the float nearest to
    it. Others (exponents, signs, more than 22 digits) go through `float`.

    Raises `NotANumber`: also for ``nan``, ``inf`` and ``1_000``.

    Costs 60 ns a number, 100 ns one of 16 digits or more, and 500 ns one of the others.

    >>> parse_numbers(b"(0.25, 1e-3);")
    (array([0.25 , 0.001]), array([1, 7]))
    """
    text = text.translate(_SEPARATORS)
    starts, ends = _words(text)
    if not len(starts):
        return np.empty(0), starts
    dots, n_dots, plain = _dots(text, starts, ends)
    digits = ends - starts - n_dots
    decimals = np.where(n_dots > 0, ends - dots - 1, 0)
    plain &= (digits > 0) & (digits <= MOST_DIGITS)
    # Without the dots a word is its digits; its end moves back by the dots before.
    codes = np.frombuffer(text.translate(None, b"."), dtype=np.uint8)
    values, sure = _plain_values(codes, ends - np.cumsum(n_dots), np.where(plain, digits, 0), decimals)
    if not sure.all():
        rest = np.flatnonzero(~sure)
        places = zip(starts[rest].tolist(), ends[rest].tolist())
        values[rest] = [parse_number(text[start:end], start) for start, end in places]
    return values, starts


def _words(text: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where words begin and end."""
    inside = np.zeros(len(text) + 2, dtype=bool)
    np.not_equal(np.frombuffer(text, dtype=np.uint8), 32, out=inside[1:-1])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return edges[::2], edges[1::2]


def _dots(text: bytes, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(where each word's dot is, how many it has, whether the word is digits and at most one dot)."""
    codes = np.frombuffer(text, dtype=np.uint8)
    plain = np.ones(len(starts), dtype=bool)
    if text.translate(None, b"0123456789. "):
        odd = np.flatnonzero((codes != 32) & (codes != 46) & ((codes < 48) | (codes > 57)))
        plain[np.searchsorted(starts, odd, side="right") - 1] = False
    dots = np.flatnonzero(codes == 46)
    if len(dots) == len(starts) and bool((starts <= dots).all() and (dots < ends).all()):
        return dots, np.ones(len(starts), dtype=np.int64), plain
    owner = np.searchsorted(starts, dots, side="right") - 1
    found = np.zeros(len(starts), dtype=np.int64)
    found[owner] = dots
    n_dots = np.bincount(owner, minlength=len(starts))
    return found, n_dots, plain & (n_dots < 2)


def _plain_values(
    codes: np.ndarray, ends: np.ndarray, digits: np.ndarray, decimals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(values, whether they are sure) of words of so many digits that end there; those of 0 digits are not sure."""
    values = np.zeros(len(ends))
    sure = np.zeros(len(ends), dtype=bool)
    lengths = np.flatnonzero(np.bincount(digits))
    for length in lengths[lengths > 0].tolist():
        rows = np.flatnonzero(digits == length)
        low = min(length, EXACT_DIGITS if length <= EXACT_DIGITS else MOST_DIGITS // 2)
        for start in range(0, len(rows), _ROWS):
            chunk = rows[start : start + _ROWS]
            end, k = ends[chunk], decimals[chunk]
            m = _whole(codes, end, low)
            if low == length:
                values[chunk], sure[chunk] = exact_quotient(m, k), True
            else:
                values[chunk], sure[chunk] = nearest_quotient(_whole(codes, end - low, length - low), m, k)
    return values, sure


def _whole(codes: np.ndarray, ends: np.ndarray, n: int) -> np.ndarray:
    """The n digits before each end as a whole number, exact for n ≤ 15."""
    windows = sliding_window_view(codes, n)[ends - n]
    return (windows & 15).astype(np.float64) @ np.ascontiguousarray(POWERS[:n][::-1])


def parse_number(word: bytes, offset: int = 0) -> float:
    """One word as a number; `NotANumber` at `offset` for anything else, ``nan`` and ``inf`` too."""
    try:
        value = float(word)
    except ValueError:
        raise NotANumber(offset) from None
    if word.translate(None, b"0123456789.eE+-"):
        raise NotANumber(offset)
    return value
