"""Lets the API pages read the house's short docstrings (an extension of griffe, which wants every NumPy heading).

Prose that follows a list of parameters after an empty line gets the heading "Notes"; a `>>>` example without a heading
gets "Examples".
"""

from __future__ import annotations

import re
from typing import Any

import griffe

LISTS = ("Parameters", "Attributes", "Returns", "Raises", "Warns")
ITEM = re.compile(r"[\w*`][^:]* : ")


def with_headings(docstring: str) -> str:
    """The docstring with the headings that its layout implies."""
    result: list[str] = []
    section = ""
    lines = [*docstring.splitlines(), ""]
    for line, below in zip(lines, [*lines[1:], ""]):
        starts = not result or not result[-1].strip()
        if re.fullmatch(r"-{3,}", below):
            section = line.strip()
        elif starts and line.startswith(">>> ") and section not in ("Examples", "Example"):
            section = "Examples"
            result += [section, "-" * len(section)]
        elif starts and section in LISTS and re.match(r"\S", line) and not ITEM.match(line):
            section = "Notes"
            result += [section, "-" * len(section)]
        result.append(line)
    return "\n".join(result[:-1])


class Headings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = with_headings(obj.docstring.value)
