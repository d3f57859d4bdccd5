"""Words that mean "no value": which ones, and in which columns they do."""

from __future__ import annotations

__all__ = ["CODES", "SIGNS", "IN_CATEGORIES", "IN_NUMBERS"]

# What programs write for a missing or failed cell, and nobody else: missing in a column of any type.
CODES = frozenset(
    [
        "\\N",
        "<NA>",
        "(null)",
        "<null>",
        "#N/A",
        "#NA",
        "#NULL!",
        "#VALUE!",
        "#DIV/0!",
        "#REF!",
        "#NAME?",
        "#NUM!",
        "NaT",
    ]
)
# Signs that people leave in a cell: missing, but for one that occurs a single time in free text.
SIGNS = frozenset(["?", "-", "--", "---", ".", "..", "...", "…", "–", "—", "*"])
_ABBREVIATIONS = [
    "NA",
    "N/A",
    "n/a",
    "na",
    "N.A.",
    "n.a.",
    "NULL",
    "null",
    "Null",
    "k.A.",
    "missing",
    "Missing",
    "MISSING",
]
# A repeated "NA" among categories is how R writes a missing one; among free text it may be somebody's answer or name.
IN_CATEGORIES = CODES | SIGNS | frozenset(_ABBREVIATIONS)
# Among numbers and dates, no word is a value.
IN_NUMBERS = IN_CATEGORIES | frozenset(["None", "none", "NONE", "nil", "Nil", "unknown", "Unknown", "nd", "ND", "n.d."])
