"""One factor of a term → columns: fitted once on the data, applied to any rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, warn
from credo.program.formula.columns import leveled
from credo.program.formula.effects import EffectFactor, fit_effect
from credo.program.formula.functions import LATENT, options_of
from credo.program.formula.sheet import Moments, Sheet, evaluate
from credo.program.formula.syntax import Call, Name, Node, names_in
from credo.program.formula.terms import Factor
from credo.saving import register
from credo.tables.features import Fourier, PolynomialFeatures, Splines

__all__ = ["NumberFactor", "CategoryFactor", "FittedFactor", "fit_factor", "levels_of"]

# Categories up to here need not repeat: a small table may have few rows of each.
MANY = 8


@register
@dataclass(frozen=True, eq=False)
class NumberFactor:
    """A number, or several (a polynomial, a spline), for each row.

    names : of its columns; moments : of center(…) and scale(…) within it; basis : the fitted feature map, or None.
    """

    names: tuple[str, ...]
    moments: dict[str, Moments] = field(default_factory=dict)
    basis: Any = None

    def matrix(self, node: Node, sheet: Sheet) -> np.ndarray:
        """Its columns (n, k)."""
        if not len(sheet):
            return np.empty((0, len(self.names)))
        if self.basis is None:
            return evaluate(node, sheet, self.moments, learn=False)[:, None]
        assert isinstance(node, Call)
        return self.basis.transform(evaluate(node.arguments[0], sheet, self.moments, learn=False)[:, None])


@register
@dataclass(frozen=True)
class CategoryFactor:
    """0/1 columns for levels.

    With contrast "treatment" every level but the `reference` has one, and a coefficient is the level's difference from
    the reference; with "sum" every level but the last, whose rows hold −1, and coefficients are differences from the
    mean of the levels. In full, every level has one.
    """

    label: str
    levels: tuple[str, ...]
    contrast: str = "treatment"
    reference: str | None = None

    def shown(self, full: bool) -> list[int]:
        """The places of the levels that have a column."""
        places = range(len(self.levels))
        if full:
            return list(places)
        if self.contrast == "sum":
            return list(places[:-1])
        return [place for place in places if self.levels[place] != self.reference]

    def names(self, full: bool) -> tuple[str, ...]:
        return tuple(f"{self.label}={self.levels[place]}" for place in self.shown(full))

    def places(self, node: Node, sheet: Sheet) -> np.ndarray:
        """Each row's level (n,), by number.

        Raises
        ------
        DataError : a level that the fit never met.
        """
        levels, codes = levels_of(node, sheet)
        place = {level: i for i, level in enumerate(self.levels)}
        lookup = np.array([place.get(level, -1) for level in levels], dtype=np.int64)
        places = lookup[codes]
        if np.any(places < 0):
            self._refuse(node, levels, lookup, np.flatnonzero(places < 0), sheet)
        return places

    def matrix(self, node: Node, sheet: Sheet, full: bool) -> np.ndarray:
        """Its columns (n, k); a level that the fit never met is a `DataError`."""
        places = self.places(node, sheet)
        rows = np.eye(len(self.levels))[:, self.shown(full)]
        if self.contrast == "sum" and not full:
            rows[-1] = -1.0
        return rows[places]

    def _refuse(self, node: Node, levels: tuple[str, ...], lookup: np.ndarray, bad: np.ndarray, sheet: Sheet) -> None:
        unseen = [level for level, place in zip(levels, lookup) if place < 0]
        raise DataError(
            f"{node} has level {', '.join(map(repr, unseen[:5]))}, which the fit never met (first: row "
            f"{sheet.rows[bad[0]]}); it knows {', '.join(map(repr, self.levels[:8]))}"
            f"{'…' if len(self.levels) > 8 else ''}.",
            rows=sheet.rows[bad[:20]].tolist(),
            columns=names_in(node),
            value=unseen[0],
            remedy=f"For levels to come, make it a group: (1 | {node}).",
        )


FittedFactor = NumberFactor | CategoryFactor | EffectFactor


def levels_of(node: Node, sheet: Sheet) -> tuple[tuple[str, ...], np.ndarray]:
    """(levels, each row's place among them (n,)) of a column, or of C(…)."""
    inner = node.arguments[0] if isinstance(node, Call) else node
    if isinstance(inner, Name):
        return sheet.cells[inner.name].as_levels()
    return leveled(evaluate(inner, sheet, {}, learn=True))


def fit_factor(factor: Factor, sheet: Sheet) -> FittedFactor:
    """Settle what a factor is, from these rows.

    Raises
    ------
    DataError : one level; a reference that is no level; a column of words in a function; too few values for a curve.
    """
    node = factor.node
    if isinstance(node, Name) and not sheet.cells[node.name].is_numeric:
        return _category(factor, sheet)
    kind = factor.kind
    if kind in LATENT:
        return fit_effect(factor, sheet, _category)
    if isinstance(node, Call) and kind == "category":
        return _fit_category(factor, sheet, options_of(node))
    moments: dict[str, Moments] = {}
    if isinstance(node, Call) and kind == "basis":
        x = evaluate(node.arguments[0], sheet, moments, learn=True)
        basis = _fitted_basis(node, x)
        if node.function == "ns":
            names = tuple(basis.get_feature_names_out([factor.text]).tolist())
        else:
            names = tuple(f"{factor.text}[{k + 1}]" for k in range(basis.transform(x[:1, None]).shape[1]))
        return NumberFactor(names, moments, basis)
    evaluate(node, sheet, moments, learn=True)
    return NumberFactor((factor.label,), moments)


def _category(factor: Factor, sheet: Sheet) -> CategoryFactor:
    fitted = _fit_category(factor, sheet, {"contrast": "treatment", "ref": None})
    _tell_many(factor, fitted.levels, sheet)  # C(…) is deliberate
    return fitted


def _fit_category(factor: Factor, sheet: Sheet, options: dict[str, Any]) -> CategoryFactor:
    levels, _ = levels_of(factor.node, sheet)
    if len(set(levels)) < 2:
        raise DataError(
            f"{factor.text} has one level in all rows used, {levels[0]!r}: it cannot have an effect.",
            columns=factor.columns,
            value=levels,
            remedy="Leave it out.",
        )
    reference = options["ref"]
    if reference is not None and reference not in levels:
        raise DataError(
            f"{factor.text}: {reference!r} is none of its levels, {', '.join(map(repr, levels[:8]))}.",
            columns=factor.columns,
            value=reference,
        )
    treatment = options["contrast"] == "treatment"
    return CategoryFactor(factor.label, levels, options["contrast"], (reference or levels[0]) if treatment else None)


def _tell_many(factor: Factor, levels: tuple[str, ...], sheet: Sheet) -> None:
    """Warn of categories that hardly repeat: numbers or dates kept as words, names of rows, a measurement; and of
    fractions among words, however few."""
    is_worded = any(not sheet.cells[name].is_numeric for name in factor.columns)
    numbers = [level for level in levels if _is_number(level)] if is_worded else []
    others = [level for level in levels if not _is_number(level)]
    are_numbers = 2 * len(numbers) > len(levels)
    is_mixed = are_numbers and bool(others) and any(not float(level).is_integer() for level in numbers)
    if not is_mixed and (len(levels) <= MANY or 3 * len(levels) < 2 * len(sheet)):
        return
    if are_numbers:
        but = f", but for words such as {others[0]!r}" if others else ""
        why = f"they are numbers written as words{but}. Make the column numeric."
    else:
        other = "If dates: count the days since the first." if is_worded else "If they are measurements: s(x)."
        why = f"most are seen once, and little is learned of any. If they are names of groups: (1 | g). {other}"
    warn(f"{factor.text} is taken for {len(levels)} categories, in {len(sheet)} rows: {why}", DataWarning)


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _fitted_basis(node: Call, x: np.ndarray) -> Any:
    """The feature map of poly, bs, ns or fourier, fitted to x (n,)."""
    options = options_of(node)
    if node.function == "poly":
        basis: Any = PolynomialFeatures(options["degree"], orthogonal=not options["raw"])
    elif node.function == "fourier":
        basis = Fourier(options["period"], options["order"])
    else:
        degree = options.get("degree", 3)
        kind = "natural" if node.function == "ns" else "bspline"
        if options["knots"] is not None:
            basis = Splines(degree=degree, kind=kind, knots=_with_ends(node, x, options["knots"]))
        else:
            inner = options["df"] - (1 if kind == "natural" else degree)
            basis = Splines(inner + 2, degree, kind)
    try:
        return basis.fit(x[:, None])
    except DataError as error:
        raise DataError(f"{node}: {error}", columns=names_in(node), value=error.value) from None


def _with_ends(node: Call, x: np.ndarray, knots: list[float]) -> list[float]:
    low, high = float(x.min()), float(x.max())
    if not low < knots[0] <= knots[-1] < high:
        raise DataError(
            f"{node}: knots must lie between the smallest and the largest value, {low:.6g} and {high:.6g}.",
            columns=names_in(node),
            value=knots,
        )
    return [low, *knots, high]
