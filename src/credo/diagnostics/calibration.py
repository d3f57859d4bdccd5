"""Calibration and sharpness of predictives: PIT, coverage of intervals, widths.

Rows predicted from one posterior share its error, so that their PIT values are not quite independent; with
many more training rows than parameters the dependence is negligible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from credo.diagnostics.envelope import Envelope, uniform_envelope
from credo.diagnostics.labels import label_codes
from credo.diagnostics.views import draws_of, kind, outcomes
from credo.errors import DataError
from credo.numerics.random import as_generator

__all__ = ["PIT", "pit", "Coverage", "coverage", "Sharpness", "sharpness", "MASSES"]

#: levels people ask for
MASSES = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class PIT:
    """Probability integral transforms F(y), uniform on (0, 1) if the predictives are right.

    values : (n,)
    envelope : their empirical cdf against the simultaneous band of n uniform values, with its p-value
    """

    values: np.ndarray
    envelope: Envelope

    @property
    def p_value(self) -> float:
        return self.envelope.p_value


def pit(predictive: Any, y: Any, rng: Any = None, mass: float = 0.95) -> PIT:
    """F(y) for each outcome; for counts and draws at a uniform point of the jump at y.

    Piles at both ends: predictives too narrow; a hump: too wide; a slope: biased.

    Parameters
    ----------
    predictive : a predictive of numbers, or draws (S, *shape): the rank among them, (r + U)/(S + 1)
    y : (*shape,) outcomes
    rng : seed, Generator or None; used for counts and draws only
    mass : simultaneous probability of the envelope

    >>> pit(np.arange(9.0)[:, None], [4.5], rng=0).values.round(1).tolist()
    [0.6]

    References
    ----------
    Czado, Gneiting and Held, Biometrics 65 (2009) 1254-1261; Säilynoja, Bürkner and Vehtari, Stat. Comput. 32
    (2022).
    """
    rng, draws = as_generator(rng), draws_of(predictive)
    if draws is not None:
        y = outcomes("pit", draws, y)
        below, ties = (draws < y).sum(axis=0), (draws == y).sum(axis=0)
        values = (below + rng.random(y.shape) * (ties + 1.0)) / (len(draws) + 1.0)
    else:
        y = outcomes("pit", predictive, y)
        values = np.asarray(predictive.cdf(y))
        if kind(predictive) == "count":
            below = predictive.cdf(y - 1.0)
            values = below + rng.random(y.shape) * (values - below)
    return PIT(values.ravel(), uniform_envelope(values.ravel(), mass))


@dataclass(frozen=True)
class Coverage:
    """Share of outcomes inside the intervals, level by level.

    nominal, observed : (m,)
    lower, upper : (m,) 95 % Clopper-Pearson limits of the true coverage, rows taken as independent
    n : outcomes
    """

    nominal: np.ndarray
    observed: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    n: int


def coverage(predictive: Any, y: Any, masses: Any = MASSES) -> Coverage:
    """How often central intervals (for classes: prediction sets) of each `mass` hold the outcome.

    Intervals of counts and sets of classes cannot hold exactly `mass`: they hold at least that, so
    over-cover.

    >>> from credo.prediction.draws import DrawsPredictive
    >>> p = DrawsPredictive(np.arange(11.0)[:, None] + np.zeros(4))
    >>> coverage(p, [5.0, 4.0, 11.0, 0.1], [0.9]).observed.tolist()
    [0.5]
    """
    masses = np.atleast_1d(np.asarray(masses, dtype=np.float64))
    if kind(predictive) == "class":
        codes = label_codes(predictive.classes, y, "coverage")
        if codes.shape != predictive.shape or codes.size == 0:
            raise DataError(f"coverage: {codes.size} labels for {len(predictive)} rows.", value=codes.shape)
        inside = [predictive.prediction_set(m)[np.arange(codes.size), codes] for m in masses]
    else:
        y = outcomes("coverage", predictive, y)
        ends = [predictive.interval(m) for m in masses]
        inside = [(low <= y) & (y <= high) for low, high in ends]
    n = inside[0].size
    hits = np.array([np.count_nonzero(i) for i in inside], dtype=np.float64)
    # The beta quantile's limits where it is not defined: no hits, or no misses.
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1.0), n - hits + 1.0, 0.025), 0.0)
    upper = np.where(hits < n, betaincinv(hits + 1.0, np.maximum(n - hits, 1.0), 0.975), 1.0)
    return Coverage(masses, hits / n, lower, upper, n)


@dataclass(frozen=True)
class Sharpness:
    """How much the predictives claim to know; compare only among calibrated ones.

    mass : (m,) levels; width : (m,) mean width of the intervals, or mean size of the sets of classes
    spread : mean sd, or for classes mean entropy in nats
    """

    mass: np.ndarray
    width: np.ndarray
    spread: float


def sharpness(predictive: Any, masses: Any = MASSES) -> Sharpness:
    """Mean interval width at each level and mean sd; for classes mean set size and entropy.

    >>> from credo.prediction.draws import DrawsPredictive
    >>> sharpness(DrawsPredictive(np.arange(11.0)[:, None]), [0.9]).width.tolist()
    [9.0]
    """
    masses = np.atleast_1d(np.asarray(masses, dtype=np.float64))
    if kind(predictive) == "class":
        width = [predictive.prediction_set(m).sum(axis=1).mean() for m in masses]
        return Sharpness(masses, np.array(width), float(predictive.entropy.mean()))
    ends = [predictive.interval(m) for m in masses]
    return Sharpness(masses, np.array([np.mean(high - low) for low, high in ends]), float(np.mean(predictive.sd)))
