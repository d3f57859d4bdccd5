"""Writing TOML: the few kinds of value that a schema holds (the standard library reads TOML but does not write it)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["toml_lines"]

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def toml_lines(values: Mapping[str, Any]) -> list[str]:
    """`key = value` lines for texts, booleans and lists of texts.

    >>> toml_lines({"name": 'a "b"', "constant": True, "levels": ("x", "y")})
    ['name = "a \\\\"b\\\\""', 'constant = true', 'levels = ["x", "y"]']
    """
    return [f"{key} = {_value(value)}" for key, value in values.items()]


def _value(value: str | bool | tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    return "[" + ", ".join(map(_value, value)) + "]"


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    # TOML allows no control characters in a basic string.
    return f"\\u{ord(sign):04X}" if ord(sign) < 0x20 or ord(sign) == 0x7F else sign
