"""`Outcomes`: objective values made comparable: a warp that tames far values, then mean 0 and sd 1.

Notation
    t = (y − centre)/spread     by median and quartiles, which far values do not move
    z = (ψ(t) − location)/unit  ψ the Yeo–Johnson power λ (1: none)

    ψ(t) = ((1 + t)^λ − 1)/λ for t ≥ 0,  −((1 − t)^(2−λ) − 1)/(2 − λ) below, with logs at λ = 0 and 2

The inverse of a logarithm is an exponential, and where λ < 0 it ends at a pole: a belief that reaches a few sds beyond
the values seen would stand for values of any size. So beyond them y goes on no faster than along the tangent there.

Yeo & Johnson (2000), A new family of power transformations to improve normality or symmetry, Biometrika 87.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize

__all__ = ["Outcomes"]

# Powers outside were never wanted by an objective without a fault in it; a λ near 2 or −1 makes bounds of the range.
POWERS = (-1.0, 1.5)
# Nats by which a warp must make the values more nearly Normal: two more than chance gives one parameter at 5%.
WORTH = 4.0
# Fewer values cannot tell a tail from a value.
ENOUGH = 8


@dataclass(frozen=True)
class Outcomes:
    """How objective values y became z, and back.

    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> outcomes = Outcomes.of(y)
    >>> np.allclose(outcomes.outside(outcomes.inside(y)), y)
    True
    """

    centre: float = 0.0
    spread: float = 1.0
    power: float = 1.0
    location: float = 0.0
    unit: float = 1.0
    low: float = -np.inf  # the least z of a value seen, and the greatest
    high: float = np.inf

    @classmethod
    def of(cls, y: np.ndarray, warp: bool = True) -> Outcomes:
        """From values (n,), finite; `warp=False` only centres and scales."""
        size = float(np.abs(y).max()) or 1.0  # squares of values near the ends of floating point are out of its range
        centre, spread = float(np.median(y)), _spread(y / size) * size
        t = (y - centre) / spread
        power = _power(t) if warp and len(y) >= ENOUGH else 1.0
        z = _warped(t, power)
        location, sd = float(np.mean(z)), float(np.std(z))
        unit = sd if sd > 1e-13 else 1.0
        ends = (float(z.min()) - location) / unit, (float(z.max()) - location) / unit
        return cls(centre, spread, power, location, unit, *ends)

    def inside(self, y: np.ndarray) -> np.ndarray:
        return (_warped((y - self.centre) / self.spread, self.power) - self.location) / self.unit

    def outside(self, z: np.ndarray) -> np.ndarray:
        """Values of standardised ones: the inverse of `inside` within the values seen, tame beyond them."""
        t = _unwarped(self.location + self.unit * z, self.power)
        if self.power != 1.0:
            t = np.where(z > self.high, np.minimum(t, self._tangent(self.high, z)), t)
            t = np.where(z < self.low, np.maximum(t, self._tangent(self.low, z)), t)
        return self.centre + self.spread * t

    def _tangent(self, end: float, z: np.ndarray) -> np.ndarray:
        """t along the tangent of the inverse at z = end; infinite where there is no end."""
        if not np.isfinite(end):
            return np.sign(end) * np.full(np.shape(z), np.inf)
        t = float(_unwarped(np.asarray(self.location + self.unit * end), self.power))
        slope = (1.0 + abs(t)) ** (1.0 - self.power if t >= 0.0 else self.power - 1.0)
        return t + self.unit * slope * (z - end)

    def moments(self, mean: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd of y where z is Normal(mean, sd); where values are warped the median, and half the width of the
        central 68 %."""
        if self.power == 1.0:
            scale = self.spread * self.unit
            return self.outside(mean), scale * sd
        return self.outside(mean), 0.5 * (self.outside(mean + sd) - self.outside(mean - sd))


def _spread(y: np.ndarray) -> float:
    quartiles = np.quantile(y, [0.25, 0.75])
    for spread in (float(quartiles[1] - quartiles[0]) / 1.349, float(np.std(y))):
        if spread > 1e-13:
            return spread
    return 1.0


def _power(t: np.ndarray) -> float:
    """The λ whose ψ(t) are likeliest to be Normal; 1 where that is no better by `WORTH`."""
    jacobian = float(np.sum(np.sign(t) * np.log1p(np.abs(t))))

    def lost(power: float) -> float:
        return 0.5 * len(t) * np.log(np.var(_warped(t, power)) + 1e-300) - (power - 1.0) * jacobian

    found = scipy.optimize.minimize_scalar(lost, bounds=POWERS, method="bounded", options={"xatol": 1e-2})
    return float(found.x) if lost(1.0) - float(found.fun) > WORTH else 1.0


def _warped(t: np.ndarray, power: float) -> np.ndarray:
    if power == 1.0:
        return np.asarray(t, dtype=np.float64)
    up, down = np.log1p(np.maximum(t, 0.0)), np.log1p(np.maximum(-t, 0.0))
    return np.where(t >= 0.0, _grown(up, power), -_grown(down, 2.0 - power))


def _grown(log: np.ndarray, power: float) -> np.ndarray:
    """(e^(λ log) − 1)/λ, and its limit at λ = 0."""
    return log if abs(power) < 1e-9 else np.expm1(power * log) / power


def _unwarped(s: np.ndarray, power: float) -> np.ndarray:
    if power == 1.0:
        return np.asarray(s, dtype=np.float64)
    up, down = _log(np.maximum(s, 0.0), power), _log(np.maximum(-s, 0.0), 2.0 - power)
    return np.where(s >= 0.0, np.expm1(up), -np.expm1(down))


def _log(grown: np.ndarray, power: float) -> np.ndarray:
    """log(1 + t) where (1 + t)^λ = 1 + λ grown. A negative λ has an end, −1/λ, which belief may lie beyond."""
    if abs(power) < 1e-9:
        return np.minimum(grown, 30.0)
    return np.minimum(np.log1p(np.maximum(power * grown, -1.0 + 1e-13)) / power, 30.0)
