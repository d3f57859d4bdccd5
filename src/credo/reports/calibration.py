"""Do predictions of unseen rows come true as often as they say?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.diagnostics.binomial import binomial_quantile
from credo.diagnostics.brier import brier
from credo.diagnostics.brier import reliability as reliability_of
from credo.diagnostics.calibration import coverage, pit
from credo.diagnostics.scores import log_score
from credo.distributions.uniform import Uniform
from credo.numerics.readable import number, percent
from credo.plots.chart import Figure
from credo.plots.checks import CoverageFigure, PITFigure, ReliabilityFigure
from credo.prediction.classes import ClassPredictive
from credo.reports.rows import HeldOut

__all__ = ["Calibration", "Score", "calibration"]


@dataclass(frozen=True)
class Score:
    """name, value, and what it means in a few words."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class Calibration:
    """scheme : how rows were held out ; verdict : a sentence ; good : whether nothing speaks against the predictions
    scores ; figures
    transforms : (n,) PIT values of the sample's rows, NaN where a row was not predicted; None for classes
    """

    scheme: str
    verdict: str
    good: bool
    scores: tuple[Score, ...]
    figures: tuple[Figure, ...]
    transforms: np.ndarray | None = None


def calibration(held: HeldOut, n: int) -> Calibration:
    """n : rows of the sample."""
    return _of_classes(held) if isinstance(held.predictive, ClassPredictive) else _of_numbers(held, n)


def _of_numbers(held: HeldOut, n: int) -> Calibration:
    p, y = held.predictive, held.y
    # Counts are randomised within the jump at y; the seed makes one report of one model.
    found = pit(p, y, rng=0)
    # A central interval holds y when F(y) is in its middle: no quantile of a mixture need be searched for.
    cover = coverage(Uniform(np.zeros(y.size), 1.0), found.values)
    error, spread = y - p.mean, float(np.var(y))
    explained = 1.0 - float(np.mean(error**2)) / spread if spread > 0 else 0.0
    scores = (
        Score("log score", number(float(log_score(p, y).mean())), "nats per row; larger is better"),
        Score("explained variance", percent(explained), "of rows held out"),
        Score("mean absolute error", number(float(np.abs(error).mean())), "of the mean, in the target's units"),
    )
    at = int(np.flatnonzero(cover.nominal == 0.9)[0])
    held_in = f"Intervals of 90 % held {percent(float(cover.observed[at]))} of the outcomes"
    picture, good = PITFigure(found), found.envelope.inside
    verdict = (
        f"{held_in}, and nothing in the distribution of the outcomes speaks against the predictions."
        if good
        else f"{held_in}, but the outcomes are not distributed as predicted. {picture.departure}"
    )
    transforms = np.full(n, np.nan)
    transforms[held.rows] = found.values
    return Calibration(held.scheme, verdict, good, scores, (picture, CoverageFigure(cover)), transforms)


def _of_classes(held: HeldOut) -> Calibration:
    p, y = held.predictive, held.y
    curve, found = reliability_of(p, y), brier(p, y)
    scores = (
        Score("log score", number(float(log_score(p, y).mean())), "nats per row; larger is better"),
        Score("accuracy", percent(float(np.mean(p.mode == y))), "of the most probable class"),
        Score("Brier score", number(found.score), "squared distance of probabilities; smaller is better"),
        Score("its miscalibration", number(found.reliability), "what calibration could remove of it"),
    )
    # More groups than this outside their bands come with probability below 1 % if all is well.
    out = int(np.count_nonzero(~curve.inside))
    good = out <= int(binomial_quantile(0.99, curve.count.size, 1.0 - curve.mass))
    verdict = f"Forecasts miss the observed frequencies by {percent(curve.error, 2)} on average; " + (
        "chance would do as much to calibrated ones."
        if good
        else f"in {out} of {curve.count.size} groups by more than chance would."
    )
    return Calibration(held.scheme, verdict, good, scores, (ReliabilityFigure(curve),))
