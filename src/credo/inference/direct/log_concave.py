"""Adaptive rejection: exact draws of a log-concave density in one dimension, with an envelope that learns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from credo.distributions.support import Support
from credo.errors import NumericalError, ParameterError
from credo.inference.direct.densities import (
    Density,
    as_line_density,
    check_size,
    checked_start,
    default_start,
    interval,
)
from credo.inference.direct.envelope import Envelope, tangents
from credo.inference.direct.records import DirectDraws
from credo.inference.direct.reject import direct_draws
from credo.inference.mcmc.adaptive_rejection import Hull
from credo.numerics.random import as_generator

__all__ = ["adaptive_rejection"]

#: pieces of the envelope at most: acceptance is then beyond 99.9 % for smooth densities
MAX_POINTS = 64
#: new points a block: the highest of those looked at, and where the envelope was loosest
NEW_POINTS = 4
#: the first block is small, since the first envelope is coarse
FIRST_BLOCK, LARGEST_BLOCK = 16, 100_000
#: Rounding of tangents and chords grows with the values; a real violation is larger than 1e-8 of them.
SLACK = 1e-8
FAR = 1e100  # no unit of measurement puts a mode here


def adaptive_rejection(
    log_density: Any,
    *,
    gradient: Callable[[np.ndarray], Any] | None = None,
    support: Support | tuple[float, float] | None = None,
    size: int,
    rng: Any = None,
    start: float | None = None,
    width: float = 1.0,
) -> DirectDraws:
    """Independent, exact draws of a density whose logarithm is concave, without a bound to be found.

    The envelope is the lower edge of tangents (with `gradient`) or of extended chords; chords below the density accept
    most draws unseen, and points that were looked at tighten both.

    Parameters
    ----------
    log_density : log p̃, x (n,) → (n,), up to a constant; or a distribution.
    gradient : its derivative, x (n,) → (n,); None uses chords.
    support : `Support` or (low, high); None is the distribution's own, or the real line. The density may end before.
    size : number of draws.
    rng : seed or generator.
    start : a point where the density is positive; None is the middle of the support, 0, or 1 from its end.
    width : first step from it, any scale within many orders of magnitude of the sd: steps are doubled.

    Returns
    -------
    DirectDraws with `acceptance_rate`; the certificate holds the number of `evaluations`: of a Normal 23 for 100
    draws, 97 for 10,000, and 0.4 % of a million.

    Raises
    ------
    NumericalError : the log density was seen not to be concave (the message names the points), is NaN or infinite, zero
        at the start, or does not fall off. A violation that was never seen cannot be named; draws are then biased.

    References
    ----------
    Gilks and Wild (1992), Applied Statistics 41; Gilks (1992), Bayesian Statistics 4.

    Examples
    --------
    >>> draws = adaptive_rejection(lambda x: x - np.exp(x), gradient=lambda x: 1 - np.exp(x), size=1000, rng=0)
    >>> draws.acceptance_rate > 0.9, draws.result.certificate["evaluations"] < 200
    (True, True)
    """
    size = check_size("adaptive_rejection", size)
    density = as_line_density("adaptive_rejection", log_density)
    low, high = interval("adaptive_rejection", support, log_density)
    if isinstance(width, str) or not 0.0 < width < math.inf:
        raise ParameterError("adaptive_rejection", "width", "finite and > 0", width)
    start = checked_start("adaptive_rejection", start, low, high)
    start = default_start(low, high) if start is None else start
    began = time.perf_counter()
    concave = _Concave(density, gradient, low, high)
    concave.bracket(float(start), float(width))
    rng = as_generator(rng)
    kept: list[np.ndarray] = []
    accepted = passed = tried = 0
    block = FIRST_BLOCK
    while accepted < size:
        n = min(block, FIRST_BLOCK + 2 * (size - accepted))
        taken = concave.accept(n, rng)
        kept.append(taken[: size - accepted])
        passed, tried = passed + taken.size, tried + n
        if taken.size > n // 2:
            block = min(2 * block, LARGEST_BLOCK)
        accepted += kept[-1].size
        if tried > 1000 * (accepted + 100):
            raise NumericalError(
                f"adaptive_rejection: {accepted} of {tried} draws of the envelope were accepted.",
                value=accepted / tried,
                remedy="The density must be log-concave and continuous inside its support (else use Slice()), and "
                "width within many orders of magnitude of its sd.",
            )
    return direct_draws(
        density, np.concatenate(kept), "adaptive_rejection", time.perf_counter() - began, passed / tried,
        certificate={"evaluations": concave.evaluations},
    )  # fmt: skip


@dataclass
class _Concave:
    """What is known of the function: ascending points with values (and slopes), and where its support ends."""

    density: Density
    gradient: Callable[[np.ndarray], Any] | None
    low: float
    high: float
    x: np.ndarray = field(default_factory=lambda: np.empty(0))
    y: np.ndarray = field(default_factory=lambda: np.empty(0))
    slope: np.ndarray = field(default_factory=lambda: np.empty(0))
    evaluations: int = 0

    def look(self, t: np.ndarray) -> np.ndarray:
        self.evaluations += t.size
        return self.density(t)

    def insert(self, t: np.ndarray, values: np.ndarray) -> None:
        """New points, with the slopes there; checks that slopes fall."""
        t, first = np.unique(t, return_index=True)
        new = ~np.isin(t, self.x)
        t, values = t[new], values[first][new]
        slopes = np.zeros(t.size)
        if self.gradient is not None and t.size:
            with np.errstate(all="ignore"):
                slopes = np.asarray(self.gradient(t), dtype=np.float64)
            if slopes.shape != t.shape or not np.all(np.isfinite(slopes)):
                raise ParameterError(
                    "adaptive_rejection", "gradient", f"of shape {t.shape} and finite at {t[:3]}", slopes
                )
        order = np.argsort(x := np.append(self.x, t))
        self.x, self.y = x[order], np.append(self.y, values)[order]
        self.slope = np.append(self.slope, slopes)[order]
        self._check_points()
        if self.x.size > MAX_POINTS:  # far from the mass they are of no more use, but for the nearest on each side
            near = np.flatnonzero(self.y > self.y.max() - 50.0)
            near = slice(max(0, near[0] - 2), near[-1] + 3)
            self.x, self.y, self.slope = self.x[near], self.y[near], self.slope[near]

    def _check_points(self) -> None:
        """Each value is above the chord of its neighbours, and below their tangents."""
        x, y, slack = self.x, self.y, SLACK * (1.0 + np.abs(self.y))
        share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
        below = np.flatnonzero(y[1:-1] < (1.0 - share) * y[:-2] + share * y[2:] - slack[1:-1]) + 1
        if below.size:
            i = int(below[0])
            self._refuse(
                f"at {x[i]:.6g} it is {y[i]:.6g}, below the chord from {x[i - 1]:.6g} ({y[i - 1]:.6g}) to "
                f"{x[i + 1]:.6g} ({y[i + 1]:.6g})",
                x[i - 1 : i + 2],
            )
        if self.gradient is None:
            return
        rise = np.diff(y)
        for at, to, over in ((0, 1, rise - self.slope[:-1] * np.diff(x)), (1, 0, self.slope[1:] * np.diff(x) - rise)):
            above = np.flatnonzero(over > slack[:-1] + slack[1:])
            if above.size:
                i = int(above[0])
                self._refuse(
                    f"at {x[i + to]:.6g} it is {y[i + to]:.6g}, above the tangent at {x[i + at]:.6g} "
                    f"(value {y[i + at]:.6g}, derivative {self.slope[i + at]:.6g})",
                    x[i : i + 2],
                )

    def bracket(self, start: float, width: float) -> None:
        """Points on both sides of the mode, or up to the ends of the support; ends that are met by the way."""
        first = float(self.look(np.array([start]))[0])
        if first == -math.inf:
            raise NumericalError(
                f"adaptive_rejection: the density is zero at the start ({start:.6g}).",
                value=start,
                remedy="Give start=, a point inside the support.",
            )
        points, best = {start: first}, first
        for sign in (-1.0, 1.0):
            inside, step, met = start, width, 0
            for _ in range(1000):
                end = self.high if sign > 0 else self.low
                t = inside + sign * step
                if sign * (t - end) >= 0.0:
                    t = 0.5 * (inside + end)
                if t in (inside, end):
                    break
                if abs(t) > FAR:
                    raise NumericalError(
                        f"adaptive_rejection: the log density does not fall off from {start:.6g} to {inside:.3g}.",
                        value=inside,
                        remedy="The density must be proper and log-concave: check its sign, or state the support.",
                    )
                value = float(self.look(np.array([t]))[0])
                if value == -math.inf:
                    self.low, self.high = (self.low, t) if sign > 0 else (t, self.high)
                    step = 0.5 * abs(t - inside)
                    continue
                points[t], met, best = value, met + 1, max(best, value)
                if value < best - 1.0 or (met >= 3 and math.isfinite(end)):
                    break
                inside, step = t, 2.0 * step
        t = np.array(sorted(points))
        self.insert(t, np.array([points[each] for each in t]))
        if self.x.size < 3:  # a support as narrow as the spacing of floats
            raise NumericalError(
                f"adaptive_rejection: fewer than three points of positive density near {start:.6g}.",
                value=self.x,
                remedy="Choose a smaller width, or check the support.",
            )

    def envelope(self) -> Envelope:
        if self.gradient is not None:
            return tangents(self.x, self.y, self.slope, self.low, self.high)
        pieces = Hull(0, self.x.tolist(), self.y.tolist(), self.low, self.high).pieces()
        left, right, level, slope = (np.array(column) for column in zip(*pieces))
        return Envelope(left, right, np.where(np.isfinite(left), left, right), level, slope)

    def accept(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Those of n draws of the present envelope that are kept, in order; what was seen tightens the next one."""
        t, ceiling = self.envelope().sample(n, rng)
        level = ceiling - rng.standard_exponential(n)
        floor = np.interp(t, self.x, self.y, left=-np.inf, right=-np.inf)
        keep = level <= floor
        at = np.flatnonzero(~keep)
        values = self.look(t[at])
        self._check(t[at], values, ceiling[at], floor[at])
        keep[at] = level[at] <= values
        if self.x.size < MAX_POINTS:
            finite = np.flatnonzero(values > -np.inf)
            highest = finite[np.argsort(-values[finite], kind="stable")[:NEW_POINTS]]
            loosest = finite[np.argsort((values - ceiling[at])[finite], kind="stable")[:NEW_POINTS]]
            new = np.union1d(highest, loosest)
            self.insert(t[at[new]], values[new])
        return t[keep]

    def _check(self, t: np.ndarray, values: np.ndarray, ceiling: np.ndarray, floor: np.ndarray) -> None:
        beyond = values == -np.inf
        self.low = max(self.low, *t[beyond & (t < self.x[0])], -np.inf)
        self.high = min(self.high, *t[beyond & (t > self.x[-1])], np.inf)
        slack = SLACK * (1.0 + np.abs(ceiling))
        for bad, bound, side in (
            (values > ceiling + slack, ceiling, "above the envelope"),
            (values < floor - slack, floor, "below the chord"),
        ):
            if np.any(bad):
                i = int(np.argmax(bad))
                at = int(np.clip(np.searchsorted(self.x, t[i]), 1, self.x.size - 1))
                a, b = self.x[at - 1], self.x[at]
                self._refuse(
                    f"at {t[i]:.6g} it is {values[i]:.6g}, {side} ({bound[i]:.6g}) that belongs to {a:.6g} and {b:.6g}",
                    np.array([a, t[i], b]),
                )

    def _refuse(self, why: str, points: np.ndarray) -> NoReturn:
        raise NumericalError(
            f"adaptive_rejection: the log density is not concave: {why}.",
            value=points,
            remedy="Use inversion(log_density=...) or a Markov chain; or check the gradient.",
        )
