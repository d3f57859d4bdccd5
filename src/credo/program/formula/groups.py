"""Group terms: which level each row belongs to, and the columns whose coefficients each level has of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.errors import DataError
from credo.program.formula.factors import levels_of
from credo.program.formula.sheet import Sheet
from credo.program.formula.terms import Term
from credo.saving import register

__all__ = ["GroupDesign", "GroupLevels"]

# Numbers of combinations must be told apart in an int64.
_MOST_COMBINATIONS = 2**62


@dataclass(frozen=True, eq=False)
class GroupDesign:
    """The rows of a group term (effects | name).

    effects : names of the columns of `matrix` (n, q); codes : (n,) each row's level; levels : their names. Codes from
    len(levels) on are levels that the fit never met, named in `unseen`.
    """

    name: str
    effects: tuple[str, ...]
    levels: tuple[str, ...]
    codes: np.ndarray
    matrix: np.ndarray
    correlated: bool = True
    unseen: tuple[str, ...] = ()

    @property
    def is_new(self) -> np.ndarray:
        """Which rows belong to a level that the fit never met (n,)."""
        return self.codes >= len(self.levels)


@register
@dataclass(frozen=True, eq=False)
class GroupLevels:
    """The levels of a group: of g those that occur, of g:h the pairs that occur.

    factors : each factor's levels; combinations : (levels, factors), places among them, in lexical order.
    """

    factors: tuple[tuple[str, ...], ...]
    combinations: np.ndarray

    @classmethod
    def fit(cls, group: Term, sheet: Sheet) -> GroupLevels:
        """The levels in these rows.

        Raises
        ------
        DataError : there is one only.
        """
        found = [levels_of(factor.node, sheet) for factor in group.factors]
        factors = tuple(levels for levels, _ in found)
        if np.prod([float(len(levels)) for levels in factors]) > _MOST_COMBINATIONS:
            raise DataError(f"Group {group}: its levels combine in more than 2⁶² ways.", value=str(group))
        shape = [len(levels) for levels in factors]
        keys = np.unique(np.ravel_multi_index(tuple(codes for _, codes in found), shape))
        if len(keys) < 2:
            raise DataError(
                f"Group {group} has one level in all rows used: how levels differ cannot be learned.",
                columns=[name for factor in group.factors for name in factor.columns],
                value=factors,
                remedy="Leave the group term out.",
            )
        return cls(factors, np.column_stack(np.unravel_index(keys, shape)))

    @property
    def names(self) -> tuple[str, ...]:
        columns = [
            np.asarray(levels, dtype=object)[places] for levels, places in zip(self.factors, self.combinations.T)
        ]
        return tuple(":".join(parts) for parts in zip(*columns))

    def codes(self, group: Term, sheet: Sheet) -> tuple[np.ndarray, tuple[str, ...]]:
        """(each row's level (n,), names of levels never met before, numbered after the known ones)."""
        shape = [len(levels) for levels in self.factors]
        found = [levels_of(factor.node, sheet) for factor in group.factors]
        known = np.ones(len(sheet), dtype=bool)
        places = []
        for own, (levels, codes) in zip(self.factors, found):
            place = {level: i for i, level in enumerate(own)}
            at = np.array([place.get(level, -1) for level in levels], dtype=np.int64)[codes]
            known &= at >= 0
            places.append(np.maximum(at, 0))
        keys = np.asarray(np.ravel_multi_index(tuple(self.combinations.T), shape))
        row_keys = np.asarray(np.ravel_multi_index(tuple(places), shape))
        result = np.minimum(np.searchsorted(keys, row_keys), len(keys) - 1)
        known &= keys[result] == row_keys
        new = np.flatnonzero(~known)
        labels = [":".join(levels[codes[row]] for levels, codes in found) for row in new]
        unseen = tuple(dict.fromkeys(labels))
        number = {name: len(keys) + i for i, name in enumerate(unseen)}
        result[new] = [number[name] for name in labels]
        return result, unseen
