"""A node as a box: its name, its states, and how probable they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.network.drawing.words import escaped, words
from credo.numerics.readable import shortened

__all__ = ["Box", "box_of", "is_soft"]

# Pixels: heights of the name and of a state, room at the sides, the longest bar.
HEAD, ROW, PAD, BAR = 24.0, 17.0, 9.0, 64.0
# Letters in a name or a state, and states in a box; what is left out is in the tooltip.
LETTERS, STATE_LETTERS, MOST_STATES = 26, 14, 8
NOTES = {"observed": "observed", "set": "set", "soft": "likely"}


@dataclass(frozen=True)
class Box:
    """A box's size, and its SVG around its own upper left corner.

    kind : "" or "observed", "soft" (likelihoods were given), "set" (from outside); also the class of its colours
    """

    name: str
    kind: str
    width: float
    height: float
    rows: tuple[tuple[str, float], ...]
    more: int
    tooltip: str

    def svg(self, x: float, y: float) -> str:
        """Placed with its upper left corner at (x, y)."""
        w = self.width
        note = NOTES.get(self.kind)
        parts = [
            f'<g class="node {self.kind}" transform="translate({x:.1f} {y:.1f})"><title>{escaped(self.tooltip)}</title>'
            f'<rect class="box" width="{w:.1f}" height="{self.height:.1f}" rx="6"/>',
            words("name", PAD if note else w / 2.0, 16.0, self.name, "start" if note else "middle"),
        ]
        if note:
            parts.append(words("note", w - PAD, 16.0, note, "end"))
        bar = w - 2.0 * PAD - self._labels() - 36.0
        for i, (label, p) in enumerate(self.rows):
            y0 = HEAD + ROW * i
            left = PAD + self._labels()
            parts += [
                words("state", PAD, y0 + 12.0, label),
                f'<rect class="rail" x="{left:.1f}" y="{y0 + 3.0:.1f}" width="{bar:.1f}" height="10" rx="2"/>'
                f'<rect class="bar" x="{left:.1f}" y="{y0 + 3.0:.1f}" width="{bar * p:.1f}" height="10" rx="2"/>',
                words("p", w - PAD, y0 + 12.0, percentage(p), "end"),
            ]
        if self.more:
            parts.append(words("p", PAD, HEAD + ROW * len(self.rows) + 11.0, f"… {self.more} less likely"))
        return "".join(parts) + "</g>"

    def _labels(self) -> float:
        return max((letters(label, 6.6) for label, _ in self.rows), default=0.0) + 8.0


def letters(text: str, size: float) -> float:
    """About how wide a text is: capitals take more room than small letters, wide scripts two places."""
    return size * sum(1.9 if ord(letter) > 0x2E7F else 1.28 if letter.isupper() else 1.0 for letter in text)


def percentage(p: float) -> str:
    """Of 100, never 0 or 100 where it is not.

    >>> percentage(0.5), percentage(0.0004), percentage(0.99999), percentage(1.0)
    ('50.0', '<0.1', '>99.9', '100')
    """
    if 0.0 < p < 5e-4:
        return "<0.1"
    if 0.9995 <= p < 1.0 - 1e-12:
        return ">99.9"
    return f"{100.0 * p:.1f}" if 0.0 < p < 0.9995 else f"{100.0 * round(p):.0f}"


def box_of(
    node: str, states: tuple[Any, ...], law: Mapping[Any, float] | None, evidence: Any, action: Any, bars: bool
) -> Box:
    """The box of a node; `evidence` and `action` are one-element tuples with what is known, or empty."""
    kind = "set" if action else "" if not evidence else "soft" if is_soft(evidence[0]) else "observed"
    name = shortened(node, LETTERS)
    known = action or (evidence if kind == "observed" else ())
    told = f"{node}: " + (
        ", ".join(str(state) for state in states[:20]) + (", …" if len(states) > 20 else "")
        if law is None
        else ", ".join(f"{state} {p:.4g}" for state, p in list(law.items())[:40])
    )
    told += "" if not known else f" ({NOTES[kind]}: {known[0]})"
    rows, more = _rows(states, law) if bars and law is not None else ((), 0)
    if not rows and known:  # names only: what is known is written beside
        name = f"{name} = {shortened(str(known[0]), STATE_LETTERS)}"
    width = letters(name, 7.4) + 2.0 * PAD + (letters(NOTES[kind], 6.2) + 8.0 if kind else 0.0)
    if rows:
        width = max(width, max(letters(label, 6.6) for label, _ in rows) + 8.0 + 36.0 + 2.0 * PAD + BAR)
    height = HEAD + ROW * len(rows) + (15.0 if more else 0.0) + (5.0 if rows else 1.0)
    return Box(name, kind, max(width, 44.0), height, rows, more, told)


def _rows(states: tuple[Any, ...], law: Mapping[Any, float]) -> tuple[tuple[tuple[str, float], ...], int]:
    """States in their order; of many the likeliest, and how many are left out."""
    kept = list(law.items())
    if len(kept) > MOST_STATES:
        least = sorted(law.values(), reverse=True)[MOST_STATES - 2]
        kept = [(state, p) for state, p in kept if p >= least][: MOST_STATES - 1]
    rows = tuple((shortened(str(state), STATE_LETTERS), float(p)) for state, p in kept)
    return rows, len(states) - len(rows)


def is_soft(seen: Any) -> bool:
    return isinstance(seen, (dict, list, np.ndarray))
