"""The page's style: the colours of `credo.plots.theme`, light and dark, a narrow screen and paper."""

from __future__ import annotations

from pathlib import Path

from credo.plots.theme import ROLES, THEMES

__all__ = ["style"]


def style() -> str:
    """The style sheet: colours, `page.css`, and the roles of charts."""
    layout = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    light, dark = _variables("light", "#f5f7f9"), _variables("dark", "#1e2327")
    return (
        f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        # Ink is dear, and paper is white whatever the screen was.
        f"@media print{{:root{{{light}}}}}\n{layout}{_roles()}"
    )


def _variables(theme: str, panel: str) -> str:
    return "".join(f"--{role}:{colour};" for role, colour in {**THEMES[theme], "panel": panel}.items())


def _roles() -> str:
    rules = []
    for role in ROLES:
        colour = f"var(--{role})"
        rules.append(f".f-{role}{{fill:{colour};stroke:none}}")
        rules.append(f".s-{role}{{stroke:{colour};fill:none;stroke-linejoin:round}}")
        rules.append(f".h-{role}{{stroke:{colour};fill:var(--ground)}}.t-{role}{{fill:{colour}}}")
    return "\n".join(rules)
