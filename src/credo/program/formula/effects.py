"""Effects with latent parts of their own, fitted to a table: s(x), t2(x, z), mo(x), me(x, sd), mi(x).

Each has columns among the fixed effects (of a smooth its straight part, of the others none) and `encode`s rows as
arrays by name, from which `latent_effects` builds nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from credo.errors import DataError, DataWarning, warn
from credo.program.formula.cyclic import CyclicSpline
from credo.program.formula.functions import options_of
from credo.program.formula.sheet import Moments, Sheet, evaluate
from credo.program.formula.splines import PenalisedSpline
from credo.program.formula.surfaces import TensorProduct, ThinPlate
from credo.program.formula.syntax import Call, Chain, Name, Node, Number, Paren
from credo.program.formula.terms import Factor
from credo.saving import register

__all__ = ["EffectFactor", "ImputedFactor", "MeasuredFactor", "MonotoneFactor", "SmoothFactor", "fit_effect"]

Places = Callable[[Node, Sheet], np.ndarray]
Smooth = PenalisedSpline | CyclicSpline | ThinPlate | TensorProduct


@register
@dataclass(frozen=True, eq=False)
class SmoothFactor:
    """s(x), s(x, z) or t2(x, z); with by=g one for each level of g.

    labels : of each curve or surface; by : the fitted category, or None
    """

    labels: tuple[str, ...]
    splines: tuple[Smooth, ...]
    moments: dict[str, Moments] = field(default_factory=dict)
    by: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(
            f"{label}[{name}]" for label, spline in zip(self.labels, self.splines) for name in spline.straight_names
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """Of the Normal effects, each with an sd."""
        return tuple(
            f"{label}[{name}]" if name else label
            for label, spline in zip(self.labels, self.splines)
            for name in spline.part_names
        )

    def matrix(self, node: Node, sheet: Sheet) -> np.ndarray:
        """The straight parts (n, curves); a curve's column is 0 in rows of other levels."""
        x, weights = self._read(node, sheet)
        parts = [_straight(spline, x) * w[:, None] for spline, w in zip(self.splines, weights)]
        return np.column_stack(parts)

    def encode(self, node: Node, sheet: Sheet) -> dict[str, np.ndarray]:
        x, weights = self._read(node, sheet)
        found = [Z * w[:, None] for spline, w in zip(self.splines, weights) for Z in _wiggles(spline, x)]
        return dict(zip(self.parts, found))

    def _read(self, node: Node, sheet: Sheet) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """(columns, for each curve 1 in its rows)."""
        assert isinstance(node, Call)
        x = [evaluate(column, sheet, self.moments, learn=False) for column in _columns(node)]
        if self.by is None:
            return x, [np.ones(len(sheet))]
        places = self.by.places(options_of(node)["by"], sheet)
        return x, [(places == level).astype(np.float64) for level in range(len(self.labels))]


def _columns(node: Call) -> list[Node]:
    """Of a curve one, of a surface two."""
    other = options_of(node)["other"]
    return [node.arguments[0]] if other is None else [node.arguments[0], other]


def _straight(spline: Smooth, x: list[np.ndarray]) -> np.ndarray:
    return spline.straight(x[0])[:, None] if isinstance(spline, PenalisedSpline) else spline.straight(x)


def _wiggles(spline: Smooth, x: list[np.ndarray]) -> list[np.ndarray]:
    return [spline.wiggles(x[0])] if isinstance(spline, PenalisedSpline) else spline.parts(x)


class _WithoutColumns:
    """What has no part among the fixed effects."""

    names: ClassVar[tuple[str, ...]] = ()

    def matrix(self, node: Node, sheet: Sheet) -> np.ndarray:
        return np.empty((len(sheet), 0))


@register
@dataclass(frozen=True, eq=False)
class MonotoneFactor(_WithoutColumns):
    """mo(x): a coefficient times the share of the way from the lowest category to the highest, in steps.

    category : the fitted category, its levels in order
    """

    text: str
    category: Any

    @property
    def steps(self) -> int:
        """D, one less than levels."""
        return len(self.category.levels) - 1

    def encode(self, node: Node, sheet: Sheet) -> dict[str, np.ndarray]:
        assert isinstance(node, Call)
        return {self.text: self.category.places(node.arguments[0], sheet)}


@register
@dataclass(frozen=True, eq=False)
class MeasuredFactor(_WithoutColumns):
    """me(x, sd): x is the true value plus Normal error of a known sd.

    center, spread : mean and sd of the measurements
    """

    text: str
    column: str
    center: float
    spread: float
    moments: dict[str, Moments] = field(default_factory=dict)

    def encode(self, node: Node, sheet: Sheet) -> dict[str, np.ndarray]:
        """The measurements, and their errors' sds."""
        assert isinstance(node, Call)
        x = evaluate(node.arguments[0], sheet, self.moments, learn=False)
        error = evaluate(options_of(node)["sd"], sheet, self.moments, learn=False)
        bad = np.flatnonzero(~(error > 0))
        if bad.size:
            raise DataError(
                f"{self.text}: the error's sd must be > 0; row {sheet.rows[bad[0]]} has {error[bad[0]]:g}.",
                rows=sheet.rows[bad[:20]].tolist(),
                value=float(error[bad[0]]),
                remedy="A column without error is x by itself.",
            )
        return {self.text: x, f"error of {self.text}": error}


@register
@dataclass(frozen=True, eq=False)
class ImputedFactor(_WithoutColumns):
    """mi(x), mi(x, z + w): missing cells of x are Normal, about a mean or about a line in z and w.

    center, spread : mean and sd of the cells there are; given : texts of the columns they are explained by, with the
    means and sds of these in `means` and `sds`
    """

    text: str
    column: str
    center: float
    spread: float
    given: tuple[str, ...] = ()
    means: tuple[float, ...] = ()
    sds: tuple[float, ...] = ()
    moments: dict[str, Moments] = field(default_factory=dict)

    def encode(self, node: Node, sheet: Sheet) -> dict[str, np.ndarray]:
        """x with NaN where it is missing, and the columns that explain it, above their means."""
        found = {self.text: sheet.cells[self.column].as_numbers()}
        columns = [evaluate(part, sheet, self.moments, learn=False) for part in _given(node)]
        if columns:
            found[f"given for {self.text}"] = np.column_stack(columns) - np.array(self.means)
        return found


EffectFactor = SmoothFactor | MonotoneFactor | MeasuredFactor | ImputedFactor


def fit_effect(factor: Factor, sheet: Sheet, fit_category: Callable[[Factor, Sheet], Any]) -> EffectFactor:
    """Settle what s, mo, me or mi is from these rows.

    Raises
    ------
    DataError : too few distinct values for a curve, one level, a column that is constant or all missing.
    """
    fits = {"smooth": _fit_smooth, "monotone": _fit_monotone, "measured": _fit_measured, "imputed": _fit_imputed}
    return fits[factor.kind](factor, sheet, fit_category)


def _fit_smooth(factor: Factor, sheet: Sheet, fit_category: Any) -> SmoothFactor:
    node, moments = factor.node, {}
    assert isinstance(node, Call)
    options = options_of(node)
    x = [evaluate(column, sheet, moments, learn=True) for column in _columns(node)]
    if options["by"] is None:
        return SmoothFactor((factor.text,), (_fitted(node, x, factor.text),), moments)
    by = options["by"]
    category = fit_category(Factor(str(by), by), sheet)
    places = category.places(by, sheet)
    labels = tuple(f"{factor.text}={level}" for level in category.levels)
    curves = [_fitted(node, [each[places == i] for each in x], label) for i, label in enumerate(labels)]
    return SmoothFactor(labels, tuple(curves), moments, category)


def _fitted(node: Call, x: list[np.ndarray], text: str) -> Smooth:
    options = options_of(node)
    if node.function == "t2":
        return TensorProduct.fit(x, options["k"], text)
    if len(x) == 2:
        return ThinPlate.fit(x, options["k"], text)
    if options["bs"] == "cc":
        return CyclicSpline.fit(x[0], options["k"], options["period"], text)
    return PenalisedSpline.fit(x[0], options["k"], text)


def _fit_monotone(factor: Factor, sheet: Sheet, fit_category: Any) -> MonotoneFactor:
    node = factor.node
    assert isinstance(node, Call)
    column = node.arguments[0]
    assert isinstance(column, Name)
    category = fit_category(Factor(column.name, column), sheet)
    tell_order(factor.text, category.levels, sheet.cells[column.name].is_stated)
    return MonotoneFactor(factor.text, category)


def tell_order(text: str, levels: tuple[str, ...], is_stated: bool) -> None:
    """Warn where the order of categories is that of the alphabet."""
    if not is_stated:
        warn(
            f"{text}: the order of categories is taken to be {' < '.join(levels[:8])}"
            f"{' …' if len(levels) > 8 else ''}, that of the alphabet. A pandas Categorical, a polars Enum and numbers "
            "have an order of their own.",
            DataWarning,
        )


def _fit_measured(factor: Factor, sheet: Sheet, fit_category: Any) -> MeasuredFactor:
    node, moments = factor.node, {}
    assert isinstance(node, Call)
    x = evaluate(node.arguments[0], sheet, moments, learn=True)
    evaluate(options_of(node)["sd"], sheet, moments, learn=True)
    center, spread = _moments(x, factor.text)
    return MeasuredFactor(factor.text, str(node.arguments[0]), center, spread, moments)


def _fit_imputed(factor: Factor, sheet: Sheet, fit_category: Any) -> ImputedFactor:
    node, moments = factor.node, {}
    assert isinstance(node, Call)
    column = node.arguments[0]
    assert isinstance(column, Name)
    x = sheet.cells[column.name].as_numbers()
    seen = x[np.isfinite(x)]
    if not len(seen):
        raise DataError(f"{factor.text}: all cells are missing.", columns=[column.name], value=len(x))
    center, spread = _moments(seen, factor.text)
    parts = _given(node)
    columns = [evaluate(part, sheet, moments, learn=True) for part in parts]
    sizes = [_moments(values, str(part)) for part, values in zip(parts, columns)]
    means, sds = tuple(m for m, _ in sizes), tuple(s for _, s in sizes)
    return ImputedFactor(factor.text, column.name, center, spread, tuple(map(str, parts)), means, sds, moments)


def _moments(x: np.ndarray, text: str) -> tuple[float, float]:
    if np.all(x == x[0]):
        raise DataError(f"{text}: all values are {x[0]:g}.", value=float(x[0]), remedy="Leave it out.")
    return float(x.mean()), float(x.std())


def _given(node: Node) -> list[Node]:
    """The columns that explain what is missing: the parts of a sum."""
    assert isinstance(node, Call)
    given = options_of(node)["given"]
    while isinstance(given, Paren):
        given = given.inner
    if given is None or isinstance(given, Number):
        return []
    if isinstance(given, Chain) and all(operator == "+" for operator, _ in given.rest):
        return list(given.children)
    return [given]
