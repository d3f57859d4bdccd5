"""`Guessed`: where someone thinks the best is, as a weight over the space that fades as trials are told.

π(x) = (1 − ε) Π_j N(u_j | g_j, s_j) + ε on the parameters' coordinates, averaged over guesses, as densities against
uniform ones; a category guessed has probability 1 − s, the others share s. What is maximised gains (β/n) log π(x) after
n trials.

Hvarfner, Stoll, Souza, Lindauer, Hutter & Nardi (2022), πBO: Augmenting acquisition functions with user beliefs for
Bayesian optimization, ICLR. The ε keeps a wrong guess from ruling a place out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.special

from credo.design.spaces import Space
from credo.design.spaces.choices import Choice
from credo.studies.samplers.base import Guess

__all__ = ["Guessed"]

# β: after ten trials the weight is π itself.
TRUST = 10.0
EPSILON = 0.05
# sds outside are a point and a shrug.
SDS = (0.01, 1.0)
# Guesses that draw a feasible point from.
TRIES = 64


class Guessed:
    """log weights of points X (m, d) of the space's encoding, with slopes, after `told` trials."""

    def __init__(self, space: Space, guesses: Sequence[Guess], told: int = 0) -> None:
        self.space, self.told = space, told
        self.guesses = [guess for guess in guesses if any(name in space.parameters for name in guess.params)]
        self._columns: dict[str, slice] = {}
        start = 0
        for name, parameter in space.parameters.items():
            self._columns[name] = slice(start, start + parameter.width)
            start += parameter.width

    def __bool__(self) -> bool:
        return bool(self.guesses)

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m,) and (m, d)."""
        logs, slopes = np.zeros((len(self.guesses), len(X))), np.zeros((len(self.guesses), *X.shape))
        for g, guess in enumerate(self.guesses):
            for name, value in guess.params.items():
                if name in self.space.parameters and self.space.parameters[name].width:
                    self._add(name, value, _sd(guess, name), X, logs[g], slopes[g])
        logs += np.log((1.0 - EPSILON) / len(self.guesses))
        top = np.maximum(logs.max(axis=0), np.log(EPSILON))
        parts = np.exp(logs - top)
        total = parts.sum(axis=0) + np.exp(np.log(EPSILON) - top)
        fade = TRUST / max(self.told, 1)
        return fade * (top + np.log(total)), fade * np.einsum("gm,gmd->md", parts / total, slopes)

    def of_points(self, points: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """log weights (m,) of points."""
        return self(self.space.encode(points).X)[0]

    def _add(self, name: str, value: Any, sd: float, X: np.ndarray, logs: np.ndarray, slopes: np.ndarray) -> None:
        parameter, columns = self.space.parameters[name], self._columns[name]
        at = X[:, columns]
        centre = parameter.to_unit([value])[0]
        if isinstance(parameter, Choice):
            k = len(centre)
            share = np.where(centre == 1.0, 1.0 - min(sd, 1.0 - 1.0 / k), min(sd, 1.0 - 1.0 / k) / max(k - 1, 1))
            logs += at @ np.log(np.maximum(k * share, 1e-9))
            return
        gap = (at[:, 0] - centre[0]) / sd
        inside = scipy.special.ndtr((1.0 - centre[0]) / sd) - scipy.special.ndtr(-centre[0] / sd)
        logs += -0.5 * gap * gap - np.log(sd * np.sqrt(2.0 * np.pi) * inside)
        slopes[:, columns.start] -= gap / sd

    def draw(self, number: int, rng: np.random.Generator) -> dict[str, Any] | None:
        """A point of trial `number` of a design: first the guesses themselves, then near them; what none names is at
        random. None if constraints let none through."""
        guess = self.guesses[number % len(self.guesses)]
        exact = number < len(self.guesses)
        names = list(self.space.parameters)
        for _ in range(TRIES):
            row = rng.random(len(names))
            for name, value in guess.params.items():
                if name in self.space.parameters and self.space.parameters[name].width:
                    row[names.index(name)] = self._near(name, value, 0.0 if exact else _sd(guess, name), rng)
            (point,) = self.space.from_uniform(row[None])
            if self.space.feasible(point):
                return point
        return None

    def _near(self, name: str, value: Any, sd: float, rng: np.random.Generator) -> float:
        parameter = self.space.parameters[name]
        if isinstance(parameter, Choice):
            k = len(parameter.choices)
            index = int(rng.integers(k)) if rng.random() < sd else parameter.index(value)
            return (index + 0.5) / k
        return float(np.clip(parameter.to_unit([value])[0, 0] + sd * rng.standard_normal(), 0.0, 1.0 - 1e-12))


def _sd(guess: Guess, name: str) -> float:
    return float(np.clip(guess.sd.get(name, 0.1), *SDS))
