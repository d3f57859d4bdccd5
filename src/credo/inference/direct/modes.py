"""Where a density in one dimension has its mass: its modes, found on all scales at once, and how wide they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from credo.errors import NumericalError
from credo.inference.direct.densities import default_start

__all__ = ["Landscape", "search"]

#: steps from 2^−50 (the spacing of floats) to 2^20 of the distance from the origin
STEPS = 2.0 ** np.arange(-50, 21)
# exp(−40) = 4e-18: a mode lower than this adds less than rounding.
NEGLIGIBLE = 40.0
MAX_CLIMBS = 200
MAX_MODES = 30
FAR = 1e100  # no unit of measurement puts a mode here


@dataclass(frozen=True)
class Landscape:
    """Modes (M,), widths (M,) at which the log density has fallen by ½, the largest log density, and the bounds."""

    modes: np.ndarray
    widths: np.ndarray
    top: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return float(self.widths.max())

    def edges(self, breaks: np.ndarray) -> np.ndarray:
        """Where to cut: at the modes, at doubling distances from them, and at `breaks`."""
        away = 2.0 ** np.arange(0, 6)
        away = np.concatenate([-away[::-1], [0.0], away])
        cuts = np.concatenate([(self.modes[:, None] + self.widths[:, None] * away).ravel(), breaks])
        if np.unique(cuts).size < 2:  # one mode, narrower than floats there are spaced
            cuts = np.concatenate([np.nextafter(cuts, -np.inf), cuts, np.nextafter(cuts, np.inf)])
        cuts = np.unique(np.clip(cuts, self.low, self.high))
        return cuts[np.isfinite(cuts)]


def search(
    log_density: Callable[[np.ndarray], np.ndarray], low: float, high: float, start: float | None = None
) -> Landscape:
    """Climb from `start`, look around on all scales, and climb from every local maximum seen there.

    Narrow modes between the points looked at can be missed: no finite number of values excludes them.
    """
    x, value = _climb(log_density, default_start(low, high) if start is None else start, low, high)
    if not value > -np.inf:
        raise NumericalError(
            "inversion: the density is zero wherever it was looked at.",
            value=x,
            remedy="Give start=, a point where it is positive, or the support.",
        )
    found = {x: _width(log_density, x, value, low, high)}
    top = value
    steps = found[x] * 2.0 ** np.arange(-1.0, 30.0, 0.25)
    around = np.unique(_within(np.concatenate([x - steps, [x], x + steps]), low, high))
    seen = log_density(around)
    inner = np.flatnonzero((seen[1:-1] > seen[:-2]) & (seen[1:-1] >= seen[2:])) + 1
    for at in inner[np.argsort(-seen[inner])][:MAX_MODES]:
        if seen[at] < top - 1e6:  # no climb of a mode as wide as the steps apart wins this much
            break
        mode, value = _climb(log_density, float(around[at]), low, high, float(np.diff(around)[at - 1]))
        if value > top - NEGLIGIBLE and all(abs(mode - other) > width for other, width in found.items()):
            found[mode] = _width(log_density, mode, value, low, high)
            top = max(top, value)
    return Landscape(np.array(list(found)), np.array(list(found.values())), top, low, high)


def _within(x: np.ndarray, low: float, high: float) -> np.ndarray:
    return x[(x > low) & (x < high)]


def _climb(log_density: Callable, x: float, low: float, high: float, reach: float = np.inf) -> tuple[float, float]:
    """The best point seen on repeating the steps of all scales (up to `reach`) from the best so far."""
    value = float(log_density(np.array([x]))[0])
    for _ in range(MAX_CLIMBS):
        steps = max(1.0, abs(x)) * STEPS
        steps = steps[steps <= reach]
        trial = _within(np.concatenate([x - steps, x + steps]), low, high)
        # towards a finite end on the scale of the distance to it, however small
        trial = np.concatenate(
            [trial, *(e + (x - e) * 2.0 ** np.arange(-4.0, 0.0) for e in (low, high) if np.isfinite(e))]
        )
        if not trial.size:
            break
        values = log_density(trial)
        best = int(np.argmax(values))
        gain = float(values[best]) - value
        if not gain > 0.0:
            break
        x, value = float(trial[best]), float(values[best])
        if abs(x) > FAR:
            raise NumericalError(
                f"inversion: the density still rises at {x:.3g}.",
                value=x,
                remedy="It is improper, or nearly: check its sign, or state the support.",
            )
    return x, value


def _width(log_density: Callable, x: float, value: float, low: float, high: float) -> float:
    """The distance at which the log density has fallen by ½ on the side where it falls sooner.

    Beyond an end it has fallen; but of a mode at an end, to within rounding, only the other side says anything.
    """
    unit = max(1.0, abs(x))
    steps = unit * 2.0 ** np.arange(-60, 21)
    at_end = np.array([x - low, high - x]) <= STEPS[0] * unit
    for step in np.array_split(steps, 3):
        trial = np.concatenate([x - step, x + step])
        inside = (trial > low) & (trial < high)
        fallen = np.concatenate([(x - step <= low) & ~at_end[0], (x + step >= high) & ~at_end[1]])
        fallen[inside] = log_density(trial[inside]) < value - 0.5
        fallen = fallen[: step.size] | fallen[step.size :]
        if fallen.any():
            return float(step[np.argmax(fallen)])
    return float(steps[-1])
