"""The house style: a colour for every role, light and dark.

Roles stay apart for every common kind of colour vision and in grey; text has a contrast of 4.5 and marks of 3 or more
against the ground (WCAG 2.2, 1.4.3 and 1.4.11). `tests/plots/test_theme.py` measures both.
"""

from __future__ import annotations

from credo.errors import ParameterError

__all__ = ["THEMES", "ROLES", "colours", "contrast"]

#: what a mark may be
ROLES = ("ink", "muted", "grid", "primary", "secondary", "tertiary")

#: theme → role → colour; "ground" is what is painted on
THEMES = {
    "light": {
        "ground": "#ffffff", "ink": "#1c2024", "muted": "#5b646d", "grid": "#dde2e7",
        "primary": "#1766b3", "secondary": "#b84a00", "tertiary": "#3d1f5c",
    },
    "dark": {
        "ground": "#15181b", "ink": "#e6e9ec", "muted": "#a3acb5", "grid": "#353b41",
        "primary": "#66aeea", "secondary": "#f0915a", "tertiary": "#f2e6b0",
    },
}  # fmt: skip


def colours(theme: str) -> dict[str, str]:
    """The colours of a theme by role."""
    if theme not in THEMES:
        raise ParameterError("", "theme", f"one of {', '.join(map(repr, THEMES))}", theme)
    return THEMES[theme]


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2).

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    lighter, darker = sorted((_luminance(a), _luminance(b)), reverse=True)
    return round((lighter + 0.05) / (darker + 0.05), 2)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
