"""Where the density of the remaining latent nodes has its modes: searches from draws of their priors.

One search finds one mode; a certificate that looks no further would call half an answer whole. Searches start from a
point likely a priori, from draws of the priors, and from reflections of the best mode. The share that ended in a mode
that no other one found tells how many modes are likely still unseen (Good and Turing).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.hyper.density import Density
from credo.inference.hyper.mode import climb, find_mode
from credo.inference.transforms import Bijection, unconstrained
from credo.program.finite.settled import images, labels_of
from credo.program.starts import prior_points

if TYPE_CHECKING:
    from credo.inference.target import Target
    from credo.program.collapsed import Collapsed

__all__ = ["Modes", "find_modes", "require_an_end"]

# Searches where an evaluation is fast, and where it is slow; and draws of the priors that they are chosen from.
SEARCHES, FEW_SEARCHES, DRAWS = 12, 2, 64
# Two modes are different if they lie so many sds apart, and matter if not so many nats lower than the best.
APART, DEPTH = 2.0, 12.0
# Good–Turing's estimate of searches that would end in a mode not seen yet.
UNSEEN = 0.25
# A scale of e^±100 is no answer: the density has no end there.
FARTHEST = 100.0
# Seconds of an evaluation from which on there is one search, from the likeliest start.
SLOW = 0.02


@dataclass(frozen=True, eq=False)
class Modes:
    """places (K, d), best first, of the modes that matter; covariances (K, d, d); unseen : share of searches that ended
    in a mode no other search found, 0 where there is one mode; start, scale (d,) : where the first search began, and
    the widths of the priors; all in free coordinates"""

    places: np.ndarray
    covariances: np.ndarray
    unseen: float
    start: np.ndarray
    scale: np.ndarray

    @property
    def are_all(self) -> bool:
        """Whether there is little sign of others."""
        return self.unseen <= UNSEEN

    @property
    def sds(self) -> np.ndarray:
        """Of the best mode, within reason."""
        return np.clip(np.sqrt(self.covariances[0].diagonal()), 1e-6, 1e6)


def _starting_points(collapsed: Collapsed, bijection: Bijection, rng: np.random.Generator) -> np.ndarray:
    """Draws (n, d) of the priors in free coordinates; about the start where a prior has none."""
    z = prior_points(collapsed.rest, bijection, rng, DRAWS)
    if z is None:
        start = bijection.inverse(collapsed.start)
        z = start + 2.0 * rng.standard_normal((DRAWS, len(start)))
    return np.clip(z[np.isfinite(z).all(axis=1)], -1e12, 1e12)


def _prior_widths(points: np.ndarray, d: int) -> np.ndarray:
    """Rough widths (d,) of the priors, from quartiles; at least 1, which suits logs of scales."""
    if len(points) < 8:
        return np.ones(d)
    low, high = np.quantile(points, [0.25, 0.75], axis=0)
    return np.clip((high - low) / 1.349, 1.0, 1e12)


def find_modes(collapsed: Collapsed, density: Density, rng: np.random.Generator) -> Modes:
    """The modes found. Raises `NumericalError` where no search ends."""
    bijection = unconstrained(collapsed.target)[1]
    start, points = bijection.inverse(collapsed.start), _starting_points(collapsed, bijection, rng)
    scale = _prior_widths(points, len(start))
    fast = collapsed.is_quick
    count = SEARCHES if fast else FEW_SEARCHES if collapsed.seconds < SLOW else 0
    chosen = [start, *points[rng.permutation(len(points))[:count]]]
    found: list[tuple[np.ndarray, float]] = []
    failure: NumericalError | None = None
    for place in chosen:
        try:
            found.append(find_mode(density, place, scale, finish=False)[:2])
        except NumericalError as error:
            failure = error
    if not found:
        raise NumericalError(
            "Model: the density or its gradient is not finite at the start "
            f"({collapsed.target.describe(collapsed.start)}), or rises without end: {failure}",
            value=collapsed.start,
            remedy="Check what is computed there, or the priors that lead there.",
        ) from failure
    best = max(found, key=lambda each: each[1])[0]
    if fast:
        for mirrored in (-best, 2.0 * np.median(points, axis=0) - best if len(points) else -best):
            with contextlib.suppress(NumericalError):
                found.append(find_mode(density, mirrored, scale, finish=False)[:2])
    found = _climbed(density, found, scale)
    if labels_of(collapsed.plan):  # modes come in sets, one for every labelling
        every = images(collapsed, bijection, found)
        if every is None:  # too many: a sampler, whose draws are exchanged at random, takes over
            return replace(_distinct(density, found, start, scale), unseen=1.0)
        found = every
    return _distinct(density, found, start, scale)


def _climbed(
    density: Density, found: Sequence[tuple[np.ndarray, float]], scale: np.ndarray
) -> list[tuple[np.ndarray, float]]:
    """Each search's end taken to the mode it is near, by Newton's method from the first end there.

    An end far below the best mode is most often a search that stood still: it goes on afresh first, which takes a tenth
    of the evaluations of Newton's method from afar.
    """
    modes: list[tuple[np.ndarray, float, np.ndarray]] = []
    ends = []
    for x, value in sorted(found, key=lambda each: -each[1]):
        if modes and value < modes[0][1] - DEPTH:
            with contextlib.suppress(NumericalError):
                x = find_mode(density, x, scale, finish=False)[0]
        near = [mode for mode in modes if _is_near(x, mode[0], mode[2])]
        if not near:
            modes.append(climb(density, x, scale))
            near = modes[-1:]
        ends.append(near[0][:2])
    return ends


def _is_near(x: np.ndarray, place: np.ndarray, spread: np.ndarray) -> bool:
    return bool(np.abs((x - place) / np.sqrt(spread.diagonal())).max() < APART)


def _distinct(
    density: Density, found: Sequence[tuple[np.ndarray, float]], start: np.ndarray, scale: np.ndarray
) -> Modes:
    top = max(value for _, value in found)
    places: list[np.ndarray] = []
    spreads: list[np.ndarray] = []
    counts: list[int] = []
    for x, value in sorted(found, key=lambda each: -each[1]):
        if top - value > DEPTH:
            continue
        for k, (place, spread) in enumerate(zip(places, spreads)):
            if _is_near(x, place, spread):
                counts[k] += 1
                break
        else:
            places.append(x)
            spreads.append(_curvature(density, x, scale))
            counts.append(1)
    unseen = 0.0 if len(places) == 1 else counts.count(1) / len(found)
    return Modes(np.array(places), np.array(spreads), unseen, start, scale)


def _curvature(density: Density, mode: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The inverse of −∂² log p at a mode by differences of gradients, eigenvalues kept positive."""
    d, step = len(mode), 1e-4 * np.minimum(scale, 1.0)
    ones = np.ones(d)
    slopes = [(density.gradient(mode + h, ones)[1] - density.gradient(mode - h, ones)[1]) for h in np.diag(step)]
    hessian = -np.array(slopes) / (2.0 * step[:, None])
    hessian = np.clip(np.where(np.isfinite(hessian), hessian, 0.0), -1e100, 1e100)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    return (vectors / np.clip(values, 0.05 / np.max(scale) ** 2, 1e14)) @ vectors.T


def require_an_end(
    collapsed: Collapsed, positions: np.ndarray, weights: np.ndarray, rows: Callable[[np.ndarray], Any], modes: Modes
) -> bool:
    """`NotIdentifiedError` where the posterior is improper: mass lies where scales are e^±100, or the density is cut
    off, by the end of floating point, right beside a mode.

    False where mass seems to lie that far though all priors are proper: only a spike was found, such as that of a
    funnel, of which the weights do not know how little it holds.
    """
    free, bijection = unconstrained(collapsed.target)
    far = (np.abs(positions - modes.start) > FARTHEST * np.maximum(modes.scale, 1.0)) & bijection.half_lines
    endless = np.flatnonzero(weights @ far > 1e-3)
    if endless.size and not collapsed.is_proper:
        _refuse(free, int(endless[0]), "its posterior has no end")
    mode, spread = modes.places[0], modes.covariances[0]
    collapsed.require_noise(mode)
    for k in range(len(mode)):
        width = np.sqrt(spread[k, k])
        along = np.arange(-6.0, 6.5, 0.5) if collapsed.seconds < SLOW else np.arange(-2.0, 3.0)
        step = np.zeros((along.size, len(mode)))
        step[:, k] = along * min(width, 4.0)
        with np.errstate(all="ignore"):
            values = np.asarray(rows(mode + step))
        near = values > values.max() - 3.0
        beside = np.concatenate([[False], near[:-1]]) | np.concatenate([near[1:], [False]])
        if np.any((values == -np.inf) & beside):
            _refuse(free, k, "its density rises up to the end of floating point")
    return endless.size == 0


def _refuse(free: Target, column: int, what: str) -> None:
    name = next(name for name, at in free.slices.items() if column < at.stop)
    raise NotIdentifiedError(
        f"Model: the data and the priors do not determine {name}: {what}, so that the posterior is improper.",
        value=name,
        remedy="Give it a proper prior that is finite at 0, or more data.",
    )
