"""Ordered scales that can be recognised: intervals of numbers, and a few worded scales."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["ordered_levels"]

# Low to high. A column is on a scale if all of its values are, and at least two are.
_SCALES = (
    ("very low", "low", "medium", "high", "very high"),
    ("low", "moderate", "high"),
    ("low", "normal", "high"),
    ("none", "mild", "moderate", "severe"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("tiny", "small", "medium", "large", "huge"),
    ("small", "middle", "big"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very bad", "bad", "neutral", "good", "very good"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("young", "middle", "old"),
    ("cold", "cool", "mild", "warm", "hot"),
    ("first", "second", "third", "fourth", "fifth"),
)
_NUMBER = r"[$€£]?\s*(\d[\d,]*(?:\.\d+)?)\s*[kK%]?"
_BETWEEN = re.compile(rf"^[\[(]?\s*{_NUMBER}\s*(?:-|–|to|,\s)\s*{_NUMBER}\s*[\])]?$")
_BELOW = re.compile(rf"^(?:<=?|≤|under|below|less than|up to)\s*{_NUMBER}$", re.IGNORECASE)
_ABOVE = re.compile(
    rf"^(?:(?:>=?|≥|over|above|more than)\s*{_NUMBER}|{_NUMBER}\s*(?:\+|and over|or more|and older))$", re.I
)
_POINT = re.compile(rf"^{_NUMBER}$")


def ordered_levels(values: Sequence[str]) -> tuple[str, ...] | None:
    """The values from low to high if they are intervals or stand on a known scale, else None.

    >>> ordered_levels(["30-44", "> 60", "18-29", "45-60"])
    ('18-29', '30-44', '45-60', '> 60')
    >>> ordered_levels(["high", "low"])
    ('low', 'high')
    """
    return _intervals(values) or _worded(values)


def _intervals(values: Sequence[str]) -> tuple[str, ...] | None:
    bounds = {value: bound for value in values if (bound := _bound(value)) is not None}
    true_intervals = sum(1 for value in values if not _POINT.match(value))
    if len(bounds) != len(values) or true_intervals < 2:
        return None
    return tuple(sorted(values, key=lambda value: (bounds[value], value)))


def _bound(value: str) -> tuple[float, float] | None:
    """(lower bound, rank among equals) of an interval."""
    text = value.strip()
    if match := _BELOW.match(text):
        return (-1.0 + 1e-9 * _number(match[1]), 0)
    if match := _ABOVE.match(text):
        return (_number(match[1] or match[2]), 2)
    if (match := _BETWEEN.match(text)) and _number(match[1]) < _number(match[2]):
        return (_number(match[1]), 1)
    if match := _POINT.match(text):
        return (_number(match[1]), 0)
    return None


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _worded(values: Sequence[str]) -> tuple[str, ...] | None:
    lowered = {value.lower(): value for value in values}
    if len(lowered) < 2 or len(lowered) != len(values):
        return None
    for scale in _SCALES:
        if set(lowered) <= set(scale):
            return tuple(lowered[level] for level in scale if level in lowered)
    return None
