"""Text in a picture: the one place where it becomes XML."""

from __future__ import annotations

import html
import re

__all__ = ["escaped", "words"]

# What no XML document can hold, escaped or not: control characters, lone surrogates, two numbers that are no letters.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: str) -> str:
    """As text or attribute of an XML element.

    >>> escaped("<0.1 & \\0")
    '&lt;0.1 &amp; \ufffd'
    """
    return html.escape(_IMPOSSIBLE.sub("\ufffd", text))


def words(kind: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    """A line of text whose lower left corner (middle, right corner) is at (x, y); `kind` is the class of its looks."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(text)}</text>'
