"""What is left to gain in a study: what the next trial is expected to bring, and what knowing everything would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from credo.errors import ParameterError
from credo.numerics.readable import number, percent
from credo.plots.trials import ObjectiveBelief

__all__ = ["Left", "left_to_gain"]

# Points over the space, and so many around the best at each of these sds, in units of the cube.
EVEN, AROUND, NEAR = 160, 60, (0.2, 0.05, 0.01)
DRAWS = 256
# Shares of what separates a middling point from the best: below the first nothing is left that anyone would notice.
NOTHING, LITTLE = 0.01, 0.05


@dataclass(frozen=True)
class Left:
    """In the objective's units, at least 0, averages over the belief.

    next : what one more trial, at the best place for it, is expected to improve on the recommended point
    everything : what taking the best point would, if the objective were known everywhere: the value remaining; looked
        for at some 340 points, so rather too little
    scale : what separates a middling point of the space from the recommended one ; trials : how many were told
    """

    next: float
    everything: float
    scale: float
    trials: int

    @property
    def again(self) -> float:
        """About the most that as many trials again would bring: no trial after the next is expected to bring more than
        it, and all of them no more than there is."""
        return min(self.everything, self.trials * self.next)

    @property
    def share(self) -> float:
        """`again`, of `scale`."""
        return min(self.again / self.scale, 1.0) if self.scale > 0.0 else 0.0

    @property
    def verdict(self) -> str:
        """Whether to "stop", that "little" is left, or to "go on"."""
        return "stop" if self.share < NOTHING else "little" if self.share < LITTLE else "go on"

    @property
    def sentence(self) -> str:
        begin = {"stop": "It is hardly worth going on", "little": "Little is left to gain", "go on": "Going on may pay"}
        said = f"{begin[self.verdict]}: as many trials again are expected to gain"
        return f"{said} at most {number(self.again, 2)}, {self._of_scale}." if self.again > 0.0 else f"{said} nothing."

    @property
    def _of_scale(self) -> str:
        if self.again > self.scale:
            return "more than what separates a middling point of the space from this one"
        share = percent(self.share, 3 if self.share > 0.99 else 2) if self.share >= 0.001 else "less than 0.1 %"
        return f"{share} of what separates a middling point of the space from this one"

    @property
    def details(self) -> str:
        """The numbers behind the sentence."""
        return (
            f"Under the belief the next trial, at the best place for it, is expected to gain "
            f"{number(self.next, 2)}; to know the objective everywhere would gain {number(self.everything, 2)}. A "
            f"middling point of the space is {number(self.scale, 2)} worse than the recommended one."
        )


def left_to_gain(belief: ObjectiveBelief, at: Mapping[str, Any]) -> Left:
    """What is left beyond the point `at`, under the belief. Cost: trials² · 340 + 340³."""
    space, rng = belief.space, np.random.default_rng(np.random.SeedSequence(belief.rng_seed, spawn_key=(2,)))
    try:
        even = space.design(EVEN, rng)
    except ParameterError:  # hardly a point meets the space's constraints: those around the best must do
        even = []
    points = [*even, *_around(belief, at, rng)]
    seen = {space.key(at)}
    points = [point for point in points if not (space.key(point) in seen or seen.add(space.key(point)))]
    here, middling = (belief.moments(each)[0] for each in ([at], even or belief.points))
    scale = abs(float(np.median(middling)) - float(here[0]))
    if not points:
        return Left(0.0, 0.0, scale, len(belief.values))
    values = belief.draws([at, *points], DRAWS)
    # The recommended point met its constraints when it was tried: draws that say otherwise do not count.
    first = np.where(np.isfinite(values[0]), values[0], -np.inf)
    gains = np.maximum(first - values[1:], 0.0)
    step = _by_noisy_trial(belief, values) if belief.is_noisy else _by_exact_trial(gains)
    everything = float(gains.max(axis=0).mean())  # no trial tells more than all of them, whatever luck says of draws
    return Left(min(step, everything), everything, scale, len(belief.values))


def _around(belief: ObjectiveBelief, at: Mapping[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    space, found = belief.space, []
    x = space.encode(at).X
    for sd in NEAR:
        moved = space.decode(np.clip(x + sd * rng.standard_normal((AROUND, space.width)), 0.0, 1.0))
        found += [point for point in moved if space.feasible(point)]
    return found


def _by_exact_trial(gains: np.ndarray) -> float:
    """The place is chosen by one half of the draws and judged by the other, or luck would flatter it."""
    half = gains.shape[1] // 2
    chosen = int(np.argmax(gains[:, :half].mean(axis=1)))
    return float(gains[chosen, half:].mean())


def _by_noisy_trial(belief: ObjectiveBelief, values: np.ndarray) -> float:
    """The knowledge gradient. A noisy value at x moves the mean of D = f(at) − f(x) by a Normal step of sd
    |Cov(D, f(x))|/√(v + σ²), v the variance of f(x), σ the sd of the noise: the gain is E max(E D + step, 0).

    Frazier, Powell & Dayanik (2009), The knowledge-gradient policy for correlated normal beliefs, INFORMS J. on
    Computing 21.
    """
    there = values[1:][np.all(np.isfinite(values[1:]), axis=1)]
    if not len(there) or not np.all(np.isfinite(values[0])):
        return 0.0
    difference = values[0] - there
    mean, centred = difference.mean(axis=1), there - there.mean(axis=1, keepdims=True)
    sd = np.abs(np.mean(difference * centred, axis=1)) / np.sqrt(np.var(there, axis=1) + belief.noise_sd**2) + 1e-300
    u = mean / sd
    return max(float(np.max(mean * ndtr(u) + sd * np.exp(-0.5 * u**2) / np.sqrt(2.0 * np.pi))), 0.0)
