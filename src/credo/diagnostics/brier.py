"""Brier score and its decomposition; reliability curves.

Each class's forecasts p are sorted into bins b of equal count (equal forecasts stay together). With mean
forecast p̄_b, frequency ō_b and share n_b/n of each bin, and ō overall,

    score = reliability − resolution + uncertainty + within
    reliability = Σ n_b/n (p̄_b − ō_b)²    resolution = Σ n_b/n (ō_b − ō)²    uncertainty = ō (1 − ō)
    within = Σ [(p − p̄_b)² − 2 (p − p̄_b)(o − ō_b)]/n, 0 when forecasts of a bin are equal

exactly (Murphy 1973; Stephenson, Coelho and Jolliffe, Weather and Forecasting 23, 2008, for the last).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.diagnostics.binomial import binomial_quantile
from credo.diagnostics.labels import class_table, label_codes
from credo.errors import DataError, ParameterError

__all__ = ["Brier", "brier", "Reliability", "reliability"]


@dataclass(frozen=True)
class Brier:
    """Mean Brier score with its parts: score = reliability − resolution + uncertainty + within.

    scores : (n,) one per row
    reliability : what calibration would remove, ≥ 0
    resolution : what telling cases apart gained, ≥ 0
    uncertainty : the score of always forecasting the base rates
    within : what binning hid, near 0
    """

    scores: np.ndarray
    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def score(self) -> float:
        return float(self.scores.mean())


def brier(predictive: Any, y: Any, classes: Any = None, n_bins: int = 10) -> Brier:
    """Σ_k (p_k − o_k)², the squared distance of probabilities from the outcome; for two classes half of it.

    Parameters
    ----------
    predictive : a class predictive, or probabilities (n, k); (n,) are those of the second of two classes
    y : (n,) labels
    classes : (k,) labels of an array's columns, by default 0..k−1
    n_bins : bins of the decomposition (the score does not depend on it); 10 is the custom of reliability
        diagrams

    >>> b = brier([0.1, 0.4, 0.8], [0, 0, 1])
    >>> round(b.score, 4), round(b.reliability - b.resolution + b.uncertainty + b.within, 4)
    (0.07, 0.07)
    """
    table, hit = _forecasts("brier", predictive, y, classes)
    factor = 0.5 if table.shape[1] == 2 else 1.0
    parts = np.zeros(4)
    for p, o in zip(table.T, hit.T):
        parts += _decompose(p, o, n_bins)
    return Brier(factor * np.square(table - hit).sum(axis=1), *(factor * parts).tolist())


def _decompose(p: np.ndarray, o: np.ndarray, n_bins: int) -> np.ndarray:
    codes = equal_count_bins("brier", p, n_bins)
    count, forecast, frequency = _bin_means(codes, p, o)
    base = o.mean()
    dp, do = p - forecast[codes], o - frequency[codes]
    share = count / p.size
    return np.array(
        [
            share @ np.square(forecast - frequency),
            share @ np.square(frequency - base),
            base * (1.0 - base),
            np.mean(np.square(dp) - 2.0 * dp * do),
        ]
    )


@dataclass(frozen=True)
class Reliability:
    """A reliability curve: forecasts against what happened, by bins of equal count.

    forecast, frequency : (b,) mean forecast and observed frequency
    lower, upper : (b,) where the frequency falls with probability `mass` (or more) if the forecasts are
        calibrated
    count : (b,) rows
    """

    forecast: np.ndarray
    frequency: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    count: np.ndarray
    mass: float

    @property
    def error(self) -> float:
        """Expected calibration error Σ count/n |frequency − forecast|. Biased upwards by about √(bins/n)."""
        return float(np.average(np.abs(self.frequency - self.forecast), weights=self.count))

    @property
    def inside(self) -> np.ndarray:
        """(b,) whether the frequency lies in the band, ends included."""
        return (self.frequency >= self.lower - 1e-12) & (self.frequency <= self.upper + 1e-12)


def reliability(
    predictive: Any, y: Any, classes: Any = None, label: Any = None, n_bins: int = 10, mass: float = 0.9
) -> Reliability:
    """Bin forecasts and compare them with observed frequencies, with consistency bands.

    Parameters
    ----------
    predictive, y, classes : as in `brier`
    label : the class whose probability is examined. None: the second of two classes; with more classes, the
        most probable one of each row (confidence against accuracy).
    n_bins : bins of equal count, fewer where forecasts are equal
    mass : probability of the bands, each by itself. They are binomial quantiles at the bin's mean forecast,
        slightly too wide when forecasts vary within the bin (Hoeffding, Ann. Math. Stat. 27, 1956).

    >>> r = reliability([0.1, 0.1, 0.9, 0.9], [0, 0, 1, 1], n_bins=2)
    >>> r.forecast.tolist(), r.frequency.tolist()
    ([0.1, 0.9], [0.0, 1.0])

    References
    ----------
    Bröcker and Smith, Weather and Forecasting 22 (2007) 651-661.
    """
    if not 0.0 < mass < 1.0:
        raise ParameterError("reliability", "mass", "between 0 and 1 (exclusive)", mass)
    table, hit = _forecasts("reliability", predictive, y, classes)
    if label is None and table.shape[1] > 2:
        column = np.argmax(table, axis=1)
        p, o = table[np.arange(len(table)), column], hit[np.arange(len(table)), column]
    else:
        names = class_table(predictive, classes)[1]
        column = 1 if label is None else int(label_codes(names, label, "reliability.label"))
        p, o = table[:, column], hit[:, column]
    count, forecast, frequency = _bin_means(equal_count_bins("reliability", p, n_bins), p, o)
    tail = 0.5 * (1.0 - mass)
    lower, upper = (binomial_quantile(q, count, forecast) / count for q in (tail, 1.0 - tail))
    return Reliability(forecast, frequency, lower, upper, count, mass)


def equal_count_bins(owner: str, p: np.ndarray, n_bins: int) -> np.ndarray:
    """Bin number of each forecast, 0..b−1, b ≤ n_bins; equal forecasts share a bin."""
    if int(n_bins) != n_bins or n_bins < 1:
        raise ParameterError(owner, "n_bins", "an integer ≥ 1", n_bins)
    first = np.searchsorted(np.sort(p), p, side="left")
    return np.unique(first * int(n_bins) // p.size, return_inverse=True)[1].ravel()


def _bin_means(codes: np.ndarray, p: np.ndarray, o: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    count = np.bincount(codes)
    return count, np.bincount(codes, weights=p) / count, np.bincount(codes, weights=o) / count


def _forecasts(owner: str, predictive: Any, y: Any, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (n, k) and the one-hot outcomes."""
    table, classes = class_table(predictive, classes)
    codes = label_codes(classes, y, owner)
    if codes.shape != table.shape[:1] or codes.size == 0:
        raise DataError(f"{owner}: {codes.size} labels for {len(table)} rows of probabilities.", value=codes.shape)
    return table, (codes[:, None] == np.arange(table.shape[1])).astype(np.float64)
