"""`Diagram`: a Markov chain as circles and arrows, in SVG of its own."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from credo.errors import StorageError, UnavailableError

__all__ = ["Diagram"]

# Thirty circles round a ring still leave room for names; more arrows than that nobody reads.
MOST_STATES = 30
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1f24;text-anchor:middle;dominant-baseline:central}"
    ".p{font-size:11px;fill:#555;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    "circle{fill:#eef3fb;stroke:#35558a;stroke-width:1.5}path{fill:none;stroke:#35558a}marker path{fill:#35558a}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.p{fill:#bbb;stroke:#16181c}"
    "circle{fill:#22304a;stroke:#8fb0e8}path{stroke:#8fb0e8}marker path{fill:#8fb0e8}}"
)


@dataclass(frozen=True)
class Diagram:
    """An SVG of a chain of up to 30 states: `svg()`, `write(path)`. Arrows are as wide as they are probable."""

    names: tuple[str, ...]
    arrows: tuple[tuple[int, int, float, str], ...]  # from, to, probability, its label

    @classmethod
    def of(cls, P: Any, names: list[str], exact: Any) -> Diagram:
        """From P; labels are fractions where it is exact."""
        if len(names) > MOST_STATES:
            raise UnavailableError(
                f"A diagram of {len(names)} states cannot be read.",
                value=len(names),
                remedy=f"Draw at most {MOST_STATES}: a chain of groups of states, or of one of its `classes`.",
            )
        table = P.tocoo()
        ends = zip(table.row.tolist(), table.col.tolist(), table.data.tolist(), strict=True)
        return cls(
            tuple(names),
            tuple((i, j, p, str(exact[i][j]) if exact is not None else f"{p:.3g}".lstrip("0")) for i, j, p in ends),
        )

    def svg(self) -> str:
        """The picture as text."""
        n = len(self.names)
        radius = max(18.0, 4.0 * max(map(len, self.names)) + 8.0)
        ring = max(2.6 * radius, radius * n * 3.2 / (2.0 * math.pi)) if n > 1 else 0.0
        half = ring + 2.6 * radius
        angle = 2.0 * np.pi * np.arange(n) / n - np.pi / 2.0 * (n != 2) - np.pi * (n == 2)
        centre = half + ring * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        lines = [self._arrow(centre, half, radius, *arrow) for arrow in self.arrows]
        circles = [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
            f'<text x="{x:.1f}" y="{y:.1f}">{html.escape(name)}</text>'
            for (x, y), name in zip(centre, self.names, strict=True)
        ]
        size = f"{2.0 * half:.0f}"
        said = "; ".join(f"{self.names[i]} to {self.names[j]} {label}" for i, j, _, label in self.arrows)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" role="img">'
            f"<title>Markov chain of {n} states</title><desc>{html.escape(said)}</desc><style>{STYLE}</style>"
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8Z"/></marker></defs>'
            + "".join(path for path, _ in lines)
            + "".join(circles)
            + "".join(label for _, label in lines)
            + "</svg>"
        )

    _repr_svg_ = svg

    def write(self, path: str | Path) -> None:
        """Write the SVG to a file."""
        try:
            Path(path).write_text(self.svg(), encoding="utf-8")
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}.", value=str(path)) from error

    def _arrow(
        self, centre: np.ndarray, half: float, radius: float, i: int, j: int, p: float, label: str
    ) -> tuple[str, str]:
        """A curve to the right of the straight line, so that the arrow back has its own; a loop faces outwards."""
        if i == j:
            out = centre[i] - half
            out = out / np.linalg.norm(out) if np.linalg.norm(out) > 0 else np.array([0.0, -1.0])
            side = np.array([-out[1], out[0]])
            start, stop = (centre[i] + radius * (0.87 * out + sign * 0.5 * side) for sign in (-1.0, 1.0))
            far = [centre[i] + radius * (2.3 * out + sign * 0.9 * side) for sign in (-1.0, 1.0)]
            curve, at = f"C{_xy(far[0])} {_xy(far[1])} {_xy(stop)}", centre[i] + 2.0 * radius * out
        else:
            along = centre[j] - centre[i]
            length = float(np.linalg.norm(along))
            along = along / length
            side = np.array([-along[1], along[0]])
            bend = (centre[i] + centre[j]) / 2.0 + 0.18 * length * side
            start, stop = (c + radius * _unit(bend - c) for c in (centre[i], centre[j]))
            curve, at = f"Q{_xy(bend)} {_xy(stop)}", 0.25 * (start + 2.0 * bend + stop)
        path = f'<path d="M{_xy(start)}{curve}" stroke-width="{0.75 + 2.0 * p:.2f}" marker-end="url(#tip)"/>'
        return path, f'<text class="p" x="{at[0]:.1f}" y="{at[1]:.1f}">{html.escape(label)}</text>'


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


def _xy(point: np.ndarray) -> str:
    return f"{point[0]:.1f} {point[1]:.1f} "
