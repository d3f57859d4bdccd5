"""Adaptive rejection sampling of log-concave coordinates: independent draws of each full conditional, no tuning.

Between neighbouring points a concave log density lies above its chord and below the chords of the neighbouring
intervals extended; the upper hull is piecewise exponential, is sampled by inversion, and every rejected point tightens
it (Gilks 1992, Bayesian Statistics 4; the form without derivatives of Gilks and Wild 1992).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.mcmc.kernel import NoTuning, State, Step, Tuner, initial_state
from credo.inference.mcmc.slice import Line, SliceInfo
from credo.inference.target import Target

__all__ = ["AdaptiveRejection"]


@dataclass(frozen=True)
class AdaptiveRejection:
    """Exact draws of each coordinate given the others, where the log density is concave along every axis.

    `width` is the first step out from the present value, any scale within a few orders of magnitude of the sd. A
    density found not to be log-concave is a `NumericalError` naming the coordinate, never a biased draw.

    >>> AdaptiveRejection().inference
    'adaptive_rejection'
    """

    width: float = 1.0
    unconstrained: bool | None = False
    inference: str = "adaptive_rejection"
    needs_gradient = False

    def __post_init__(self) -> None:
        if not 0 < self.width < math.inf:
            raise ParameterError("AdaptiveRejection", "width", "finite and > 0", self.width)

    def init(self, position: np.ndarray, target: Target) -> State:
        return initial_state(position, target, gradient=False)

    def step(self, rng: np.random.Generator, state: State) -> Step:
        if state.log_density is None:
            state = State(state.position, *(yield state.position))
        x, value, count = state.position, state.log_density, 0
        for i in range(x.size):
            line = Line(x, i)
            hull = Hull(line.i, *(yield from _bracket(line, x[i], value, self.width)))  # type: ignore[arg-type]
            while True:
                t, ceiling = hull.sample(rng)
                at = yield from line(t)
                hull.check(t, at, ceiling)
                if rng.random() < math.exp(min(0.0, at - ceiling)):
                    break
                hull.insert(t, at)
            x, value = x.copy(), at
            x[i] = t
            count += line.count
        return State(x, value), SliceInfo(count)

    def tuner(self, dim: int, warmup: int) -> Tuner:
        return NoTuning(self)


def _bracket(line: Line, x: float, value: float, width: float) -> Any:
    """Points and values with the mode inside and a tail on each side, and the ends (±inf where none was met).

    Walks out with growing steps until the density has fallen by 3 (the tails are then exponentials of little mass).
    """
    points, ends = {x: value}, [-math.inf, math.inf]
    for side, sign in enumerate((-1.0, 1.0)):
        step = width
        best = value
        inside = x
        for _ in range(200):
            t = inside + sign * step
            at = yield from line(t)
            if at == -math.inf:
                ends[side], step = t, 0.5 * step  # beyond the support: come closer, and end the hull there
                if step < 1e-9 * width:
                    break
                continue
            points[t], inside, best = at, t, max(best, at)
            if at < best - 3.0:
                break
            if ends[side] in (-math.inf, math.inf):
                step *= 2.0
            elif len(points) > 4:
                break
        else:
            raise NumericalError(
                f"AdaptiveRejection: the density does not fall along coordinate {line.i} from {x:.6g}.",
                value=x,
                remedy="The conditional must be proper and log-concave; use Slice().",
            )
    if len(points) < 3:  # a support as narrow as the steps: fill in
        low, high = (max(ends[0], min(points)), min(ends[1], max(points)))
        for t in np.linspace(low, high, 5)[1:-1]:
            points[float(t)] = yield from line(float(t))
    order = sorted(t for t in points if points[t] > -math.inf)
    return order, [points[t] for t in order], ends[0], ends[1]


class Hull:
    """Upper hull over sorted points with finite log densities, from `low` to `high`."""

    def __init__(self, coordinate: int, points: list[float], values: list[float], low: float, high: float) -> None:
        self.coordinate, self.points, self.values, self.low, self.high = coordinate, points, values, low, high
        if len(points) < 3:
            raise NumericalError(
                f"AdaptiveRejection: fewer than three points of positive density along coordinate {coordinate}.",
                value=points,
                remedy="Choose a smaller width, or use Slice().",
            )

    def insert(self, t: float, value: float) -> None:
        if value > -math.inf and t not in self.points:
            at = int(np.searchsorted(self.points, t))
            self.points.insert(at, t)
            self.values.insert(at, value)

    def check(self, t: float, value: float, ceiling: float) -> None:
        floor = np.interp(t, self.points, self.values, left=-math.inf, right=-math.inf)
        # Rounding of the chords grows with the values; a real violation is larger than 1e-8 of them.
        slack = 1e-8 * (1.0 + abs(ceiling))
        if value > ceiling + slack or value < floor - slack:
            raise NumericalError(
                f"AdaptiveRejection: the log density is not concave along coordinate {self.coordinate} near {t:.6g}.",
                value=t,
                remedy="Use Slice(), which needs no concavity.",
            )

    def pieces(self) -> list[tuple[float, float, float, float]]:
        """(left, right, log value at left, slope): the hull as exponentials of a line."""
        x, y = self.points, self.values
        slopes = [(b - a) / (v - u) for u, v, a, b in zip(x, x[1:], y, y[1:])]
        pieces = [(self.low, x[0], None, slopes[0], x[0], y[0])]
        for i in range(len(x) - 1):
            left = (slopes[i - 1], x[i], y[i]) if i > 0 else None
            right = (slopes[i + 1], x[i + 1], y[i + 1]) if i + 2 < len(x) else None
            if left is None or right is None:
                s, u, v = right or left  # type: ignore[misc]
                pieces.append((x[i], x[i + 1], None, s, u, v))
                continue
            (s, u, v), (r, w, z) = left, right
            meet = 0.5 * (u + w) if s - r <= 1e-12 * (abs(s) + abs(r)) else (z - v + s * u - r * w) / (s - r)
            meet = min(max(meet, u), w)
            pieces.append((u, meet, None, s, u, v))
            pieces.append((meet, w, None, r, w, z))
        pieces.append((x[-1], self.high, None, slopes[-1], x[-1], y[-1]))
        return [
            (a, b, v + s * (a - u) if a > -math.inf else v + s * (b - u), s) for a, b, _, s, u, v in pieces if b > a
        ]

    def sample(self, rng: np.random.Generator) -> tuple[float, float]:
        """A draw of the hull and the hull's log value there."""
        pieces = self.pieces()
        logs = [_log_area(*piece) for piece in pieces]
        top = max(logs)
        if not math.isfinite(top):
            raise NumericalError(
                f"AdaptiveRejection: the hull along coordinate {self.coordinate} has no finite area.",
                value=self.points,
                remedy="The conditional must be proper and log-concave; use Slice().",
            )
        cumulative = np.cumsum(np.exp(np.array(logs) - top))
        which = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        a, b, level, slope = pieces[min(which, len(pieces) - 1)]
        u = rng.random()
        if a == -math.inf:
            t = b + math.log(u) / slope
            return t, level + slope * (t - b)
        if b == math.inf or slope * (b - a) < -700.0:
            t = a + math.log(u) / slope
        elif abs(slope * (b - a)) < 1e-10:
            t = a + u * (b - a)
        elif slope > 0:  # from the right end, so that nothing overflows
            t = b + math.log(u + (1.0 - u) * math.exp(slope * (a - b))) / slope
        else:
            t = a + math.log1p(u * math.expm1(slope * (b - a))) / slope
        return t, level + slope * (t - a)


def _log_area(a: float, b: float, level: float, slope: float) -> float:
    """log ∫ exp(level + slope (t − a)) dt over (a, b); `level` is at b when a is −inf. Infinite if the tail does not
    fall."""
    if a == -math.inf:
        return level - math.log(slope) if slope > 0 else math.inf
    if b == math.inf:
        return level - math.log(-slope) if slope < 0 else math.inf
    rise = slope * (b - a)
    if abs(rise) < 1e-10:
        return level + math.log(b - a)
    if rise > 0:
        return level + rise + math.log(-math.expm1(-rise)) - math.log(slope)
    return level + math.log(-math.expm1(rise)) - math.log(-slope)
