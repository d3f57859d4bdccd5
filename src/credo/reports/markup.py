"""HTML and SVG that are escaped by construction: text becomes markup only through `element`.

A child that is not `Markup` is text and is escaped, as is every attribute; there is no other way in.
"""

from __future__ import annotations

import html
from typing import Any

__all__ = ["Markup", "element", "fragment"]

# Elements without content, which HTML writes without an end.
VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "col", "wbr"})


class Markup(str):
    """A string that is markup already."""

    __slots__ = ()


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """<tag attribute="value">children</tag>; None children and attributes are left out.

    Underscores in names of attributes become hyphens, and one at the end is dropped (`class_`, `aria_label`). True is
    an attribute without a value. Control characters, which no page may hold, are replaced.

    >>> element("p", "1 < 2 ", element("b", "&"), class_="note")
    '<p class="note">1 &lt; 2 <b>&amp;</b></p>'
    """
    opened = tag + "".join(_attribute(name, value) for name, value in attributes.items() if value not in (None, False))
    if tag in VOID:
        return Markup(f"<{opened}>")
    return Markup(f"<{opened}>{fragment(*children)}</{tag}>")


def fragment(*children: Any) -> Markup:
    """Several children, one after the other; lists are flattened.

    >>> fragment("a<", [Markup("<br>"), None])
    'a&lt;<br>'
    """
    parts: list[str] = []
    for child in children:
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, (list, tuple)):
            parts.append(fragment(*child))
        elif child is not None:
            parts.append(_escaped(str(child)))
    return Markup("".join(parts))


def _attribute(name: str, value: Any) -> str:
    name = name.rstrip("_").replace("_", "-") if name != "viewBox" else name
    return f" {name}" if value is True else f' {name}="{_escaped(str(value))}"'


def _escaped(text: str) -> str:
    clean = "".join(c if c.isprintable() or c in "\n\t" or ord(c) > 0x9F else "\ufffd" for c in text)
    # A lone surrogate cannot be written as UTF-8.
    return html.escape(clean.encode("utf-8", "replace").decode("utf-8"), quote=True)
