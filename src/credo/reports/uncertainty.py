"""Where doubt comes from along each main column: what more rows would remove, and what they would not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import CredoError
from credo.numerics.readable import number, percent
from credo.plots.predictions import (
    ClassProbabilities,
    PredictiveBand,
    UncertaintyShare,
    class_probabilities,
    predictive_band,
    uncertainty_share,
)  # fmt: skip
from credo.reports.rows import Rows
from credo.tables.encodings import MISSING, OTHER, CategoryEncoding, ColumnEncoding, DateEncoding, NumberEncoding

__all__ = ["Uncertainty", "Along", "uncertainty"]

# Columns shown: what a reader takes in.
MOST_COLUMNS = 4
# Points along a number; levels of a category that a chart holds.
POINTS, MOST_LEVELS = 41, 12
# Below this share more rows change no digit of an interval that is read: √(1 − .05) is 2.5 % of its width.
MATTERS = 0.05


@dataclass(frozen=True)
class Along:
    """One column: predictions along it, the share that more data would remove, and both in a sentence."""

    column: str
    prediction: PredictiveBand | ClassProbabilities
    share: UncertaintyShare
    advice: str


@dataclass(frozen=True)
class Uncertainty:
    """share : epistemic part of all uncertainty, over the rows ; measure : "variance" or "entropy"
    verdict : a sentence ; row : number of the typical row whose other columns are kept ; columns : the main ones first
    """

    share: float
    measure: str
    verdict: str
    row: int
    columns: tuple[Along, ...]


def uncertainty(rows: Rows, mass: float = 0.9) -> Uncertainty | str:
    """The split for the rows as they are, and along the columns that move the prediction most; or why there is none."""
    overall = rows.predict(rows.X)
    try:
        epistemic, aleatoric = np.asarray(overall.epistemic), np.asarray(overall.aleatoric)
    except CredoError as error:
        return str(error)
    total = float(np.mean(epistemic + aleatoric))
    if not (np.isfinite(total) and total > 0):
        return "the variance is infinite or zero: there are too few rows"
    share = float(np.mean(epistemic)) / total
    typical = _typical(rows.X)
    shown = [_along(rows, typical, place, mass) for place in _main(rows, typical)]
    measure = "entropy" if rows.model.labels else "variance"
    verdict = (
        f"Over the rows, {percent(share, 2)} of the {measure} is ignorance that more rows like these would remove; "
        + (
            "the rest is noise to this model, which only other columns or another model could explain."
            if share < 0.5
            else "the model is short of rows before anything else."
        )
    )
    return Uncertainty(share, measure, verdict, typical, tuple(shown))


def _typical(X: np.ndarray) -> int:
    """The row nearest to the medians, in units of each column's sd: a real row, so that its columns go together."""
    missing = np.isnan(X)
    filled = np.where(missing, 0.0, X)
    if missing.any():  # a column's own centre: a row is no nearer for what it lacks, but for one sd a cell
        filled = np.where(missing, np.nanmedian(np.where(missing.all(axis=0), 0.0, X), axis=0), X)
    scale = filled.std(axis=0)
    z = (filled - np.median(filled, axis=0)) / np.where(scale > 0, scale, 1.0)
    return int(np.argmin((np.square(z) + missing).sum(axis=1)))


@dataclass(frozen=True)
class _Place:
    """Where a column's features are in the encoded rows; `whole`: a model is asked for whole numbers of it alone."""

    encoding: ColumnEncoding
    first: int
    whole: bool = False

    @property
    def columns(self) -> slice:
        return slice(self.first, self.first + len(self.encoding.features))


def _places(rows: Rows) -> Iterator[_Place]:
    """The columns of the table, each once."""
    seen = set()
    for place in _all_places(rows):
        if place.encoding.name not in seen:
            yield place
        seen.add(place.encoding.name)


def _all_places(rows: Rows) -> Iterator[_Place]:
    first, encoder = 0, rows.model.encoder
    reads_cells = encoder.missing == "keep" or len(encoder.inputs) < len(encoder.columns)
    for encoding in encoder.columns:
        yield _Place(encoding, first, reads_cells and encoder.schema[encoding.name].type in ("boolean", "count"))
        first += len(encoding.features)


def _with_twin(rows: Rows, path: np.ndarray, place: _Place, values: np.ndarray) -> np.ndarray:
    """The path with the same values where the encoder writes the column a second time, for models that read cells."""
    import polars as pl

    for other in _all_places(rows):
        if other.encoding.name == place.encoding.name and other.first != place.first:
            if isinstance(other.encoding, NumberEncoding):
                other.encoding.write(pl.Series(values.tolist()), path[:, other.columns])
            else:
                path[:, other.first] = values
    return path


def _main(rows: Rows, typical: int) -> list[_Place]:
    """Columns by how much the prediction varies along them, over the rows as they are; the largest first."""
    moved = []
    for place in _places(rows):
        ends = _path(rows.X, typical, place, 2)
        if ends is None:
            continue
        values, path, observed = ends
        p = rows.predict(_with_twin(rows, path, place, values))
        level = p.probabilities if rows.model.labels else np.asarray(p.mean)[:, None]
        # A level that hardly occurs is no main thing, however far out; the two ends of a number stand for all of it.
        weight = (
            np.array([np.count_nonzero(observed == v) for v in values])
            if values.dtype.kind in "OUS"
            else np.ones(len(values))
        )
        mean = np.average(level, axis=0, weights=weight)
        moved.append((float(np.sqrt(np.average(np.square(level - mean), axis=0, weights=weight).max())), place))
    moved.sort(key=lambda pair: -pair[0])
    return [place for _, place in moved[:MOST_COLUMNS]]


def _path(X: np.ndarray, typical: int, place: _Place, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(values of the column, encoded rows along it, what was observed of it); None where there is nothing to vary."""
    encoding, own = place.encoding, X[:, place.columns]
    if isinstance(encoding, CategoryEncoding):
        return _level_path(X[typical], own, place)
    if isinstance(encoding, NumberEncoding) and encoding.levels:
        if len(encoding.levels) > MOST_LEVELS:
            return None
        path = np.repeat(X[typical][None], len(encoding.levels), axis=0)
        path[:, place.columns] = 0.0
        path[:, place.first] = np.arange(len(encoding.levels))
        own = own[~np.isnan(own[:, 0])]
        codes = np.clip(np.round(own[:, 0]), 0, len(encoding.levels) - 1).astype(int)
        return np.asarray(encoding.levels), path, np.asarray(encoding.levels)[codes]
    if not isinstance(encoding, NumberEncoding) and not (
        isinstance(encoding, DateEncoding) and encoding.parts[:1] == ("years",)
    ):
        return None
    own = own[~np.isnan(own).any(axis=1)]
    if not len(own):
        return None
    # A wild value at either end would take all the picture.
    low, high = np.quantile(own[:, 0], [0.005, 0.995]) if points > 2 else np.quantile(own[:, 0], [0.1, 0.9])
    if not high > low:
        low, high = own[:, 0].min(), own[:, 0].max()
        if not high > low:
            return None
    values = np.linspace(low, high, points)
    if place.whole:
        values = np.unique(np.round(values))
    path = np.repeat(X[typical][None], len(values), axis=0)
    path[:, place.first] = values
    if encoding.indicator:
        path[:, place.columns.stop - 1] = 0.0
    return values, path, own[:, 0]


def _level_path(row: np.ndarray, own: np.ndarray, place: _Place) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    encoding = place.encoding
    assert isinstance(encoding, CategoryEncoding)
    labels = [*encoding.shown, *([OTHER] if encoding.other else []), *([MISSING] if encoding.missing_level else [])]
    reference = encoding.reference or "(none)"
    counts = [(int(own[:, j].sum()), j, label) for j, label in enumerate(labels)]
    counts.append((int(np.count_nonzero(own.sum(axis=1) == 0.0)), -1, reference))
    counts = sorted((c for c in counts if c[0]), key=lambda c: -c[0])[:MOST_LEVELS]
    if len(counts) < 2:
        return None
    path = np.repeat(row[None], len(counts), axis=0)
    path[:, place.columns] = 0.0
    for i, (_, j, _) in enumerate(counts):
        if j >= 0:
            path[i, place.first + j] = 1.0
    which = np.where(own.any(axis=1), np.argmax(own, axis=1), len(labels))
    return np.asarray([label for *_, label in counts]), path, np.asarray([*labels, reference])[which]


def _along(rows: Rows, typical: int, place: _Place, mass: float) -> Along:
    found = _path(rows.X, typical, place, POINTS)
    assert found is not None
    values, path, observed = found
    p, model = rows.predict(_with_twin(rows, path, place, values)), rows.model
    name = place.encoding.features[0] if isinstance(place.encoding, DateEncoding) else place.encoding.name
    picture: PredictiveBand | ClassProbabilities
    if model.labels:
        picture = class_probabilities(values, p, column=name, outcome=model.target)
    else:
        picture = predictive_band(values, p, column=name, outcome=model.target, mass=mass)
    share = uncertainty_share(values, p, observed, column=name)
    return Along(name, picture, share, _advice(share, observed))


def _advice(found: UncertaintyShare, observed: np.ndarray) -> str:
    """Where more rows would help, in words."""
    most, measure = float(found.share.max()), found.measure
    where = f"along {found.column}: they would remove"
    if most < MATTERS:
        return f"More rows would help nowhere {where} {percent(most, 2)} of the {measure} at most."
    usual = float(np.median(found.share))
    if found.share.min() >= 0.5 * most:
        return f"More rows would help everywhere {where} about {percent(usual, 2)} of the {measure}."
    helps = found.share > max(MATTERS, 0.5 * most)
    if found.is_categorical:
        names = [f"{v} ({int(c):,} rows)" for v, c, h in zip(found.x, found.counts, helps) if h]
        ignorance = f"up to {percent(most, 2)} of the {measure} is ignorance there"
        return f"More rows would help for {', '.join(names)}: {ignorance}."
    regions = _regions(np.asarray(found.x, dtype=np.float64), helps)
    inside = np.zeros(observed.size, dtype=bool)
    for low, high in regions:
        inside |= (observed >= low) & (observed <= high)
    where = " and ".join(_named(low, high, found.x) for low, high in regions)
    elsewhere = percent(float(np.median(found.share[~helps])), 2)
    return (
        f"More rows would help {where}, where {percent(float(inside.mean()), 2)} of the rows are and up to "
        f"{percent(most, 2)} of the {measure} is ignorance; elsewhere it is {elsewhere}."
    )


def _regions(x: np.ndarray, helps: np.ndarray) -> list[tuple[float, float]]:
    """Runs of points, open at the ends of the range."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], helps, [False]]).astype(int)))
    runs = [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2])]
    return [(-np.inf if a == 0 else float(x[a]), np.inf if b == x.size - 1 else float(x[b])) for a, b in runs]


def _named(low: float, high: float, x: Any) -> str:
    if np.isinf(low) and np.isinf(high):
        return "everywhere"
    if np.isinf(low):
        return f"below {number(high, 3)}"
    return f"above {number(low, 3)}" if np.isinf(high) else f"between {number(low, 3)} and {number(high, 3)}"
