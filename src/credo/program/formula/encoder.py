"""From rows to the numbers of a design, the same way for the rows of the fit and for any others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, MemoryLimitError
from credo.numerics.readable import count
from credo.program.formula.coding import Coding, coded
from credo.program.formula.columns import Frame
from credo.program.formula.effects import EffectFactor
from credo.program.formula.expansion import parse
from credo.program.formula.factors import CategoryFactor, FittedFactor
from credo.program.formula.groups import GroupDesign, GroupLevels
from credo.program.formula.sheet import Moments, Sheet, evaluate
from credo.program.formula.terms import Factor, Formula, Term
from credo.saving import register

if TYPE_CHECKING:
    from credo.tables.schema import Schema

__all__ = ["RowEncoder", "EncodedRows", "TermColumns"]

# bytes of one matrix: what a machine of these days spares without swapping
_MEMORY_LIMIT = 4 * 2**30


@dataclass(frozen=True)
class TermColumns:
    """A term's columns in the matrix: `names`, from `start` on."""

    term: Term
    start: int
    names: tuple[str, ...]

    @property
    def stop(self) -> int:
        return self.start + len(self.names)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """fixed : (n, p); offset : (n,); groups : one design a group term; rows : their numbers in the user's table.

    latent : arrays (n, …) by name, of effects with latent parts of their own
    others : the same rows as parameters beside the mean depend on them, where they do
    """

    fixed: np.ndarray
    offset: np.ndarray
    groups: tuple[GroupDesign, ...]
    rows: np.ndarray
    latent: dict[str, np.ndarray] = field(default_factory=dict)
    others: tuple[EncodedRows, ...] = ()

    def take(self, part: slice) -> EncodedRows:
        """Some of them."""
        groups = tuple(replace(g, codes=g.codes[part], matrix=g.matrix[part]) for g in self.groups)
        latent = {name: array[part] for name, array in self.latent.items()}
        others = tuple(other.take(part) for other in self.others)
        return EncodedRows(self.fixed[part], self.offset[part], groups, self.rows[part], latent, others)


@register
@dataclass(frozen=True, eq=False)
class RowEncoder:
    """A formula fitted to a table: everything needed to encode new rows alike. Saved by `cr.save`.

    text, others : the formula, and the columns that its `.` stood for
    factors : each factor, fitted, by its text
    group_levels : the levels of each group term
    response_levels : of a response in words, in order
    offset_moments : of center(…) and scale(…) in offsets
    schema : types of the columns, where the table was a file or `Table`: new files are read alike
    """

    text: str
    others: tuple[str, ...]
    factors: dict[str, FittedFactor]
    group_levels: tuple[GroupLevels, ...] = ()
    response_levels: tuple[str, ...] = ()
    offset_moments: dict[str, Moments] = field(default_factory=dict)
    schema: Schema | None = None

    @cached_property
    def formula(self) -> Formula:
        return parse(self.text, self.others)

    @cached_property
    def terms(self) -> tuple[TermColumns, ...]:
        """The fixed effects' terms, with the columns of each."""
        found, start = [], 0
        for term, blocks in self._coded(self.formula.terms):
            names = tuple(name for block in blocks for name in self._names(block))
            found.append(TermColumns(term, start, names))
            start += len(names)
        return tuple(found)

    @cached_property
    def group_effects(self) -> tuple[tuple[str, ...], ...]:
        """The names of each group term's columns."""
        return tuple(
            tuple(name for _, blocks in self._coded(group.terms) for b in blocks for name in self._names(b))
            for group in self.formula.groups
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the fixed effects' columns."""
        return tuple(name for columns in self.terms for name in columns.names)

    @property
    def effects(self) -> dict[str, EffectFactor]:
        """The fitted effects with latent parts, by their text."""
        return {f.text: self.factors[f.text] for f in self.formula.latent}  # type: ignore[misc]

    @property
    def references(self) -> dict[str, str]:
        """The reference level of each category that is coded against one somewhere."""
        lists = [self.formula.terms, *(group.terms for group in self.formula.groups)]
        codings = [b for terms in lists for _, blocks in self._coded(terms) for b in blocks]
        used = {factor.text: self.factors[factor.text] for block in codings for factor, full in block if not full}
        return {t: f.reference for t, f in used.items() if isinstance(f, CategoryFactor) and f.reference is not None}

    def missing(self, frame: Frame) -> dict[str, np.ndarray]:
        """Rows whose cell is missing, of each column that must be there (those of mi(x) need not)."""
        cells = frame.cells(self.formula.inputs)
        needed = {name: column for name, column in cells.items() if name not in self.formula.may_be_missing}
        return {name: np.flatnonzero(column.missing) for name, column in needed.items()}

    def encode(self, data: Any, rows: np.ndarray | None = None) -> EncodedRows:
        """The design of new rows (of those numbered `rows`); the response need not be there.

        Levels of a group that the fit never met are numbered after the known ones (`GroupDesign.unseen` names them).

        Raises
        ------
        DataError : a column is not there or of another kind; a missing cell; an unseen level of a fixed effect.
        """
        frame = data if isinstance(data, Frame) else Frame(data, self.schema)
        cells = frame.cells(self.formula.inputs)
        sheet = Sheet(cells, np.arange(frame.n_rows))
        if rows is not None:
            return self.encoded(sheet.take(rows))
        missing = self.missing(frame)
        for name, rows in missing.items():
            if rows.size:
                raise DataError(
                    f"Column {name!r} has {count(rows.size, 'missing cell')} (first: row {rows[0]}).",
                    rows=rows[:20].tolist(),
                    columns=[name for name, rows in missing.items() if rows.size],
                    remedy="Drop these rows, or fill the cells.",
                )
        return self.encoded(sheet)

    def encoded(self, sheet: Sheet) -> EncodedRows:
        """The design of rows without missing cells."""
        fixed = self._matrix(self.formula.terms, sheet)
        offset = np.zeros(len(sheet))
        for term in self.formula.offsets:
            offset += evaluate(term.node, sheet, self.offset_moments, learn=False)
        groups = []
        for group, levels, names in zip(self.formula.groups, self.group_levels, self.group_effects):
            codes, unseen = levels.codes(group.group, sheet)
            matrix = self._matrix(group.terms, sheet)
            groups.append(GroupDesign(group.label, names, levels.names, codes, matrix, group.correlated, unseen))
        latent: dict[str, np.ndarray] = {}
        for factor in self.formula.latent:
            latent |= self.effects[factor.text].encode(factor.node, sheet)
        return EncodedRows(fixed, offset, tuple(groups), sheet.rows, latent)

    def _coded(self, terms: Iterable[Term]) -> list[tuple[Term, tuple[Coding, ...]]]:
        return coded(terms, {text: isinstance(factor, CategoryFactor) for text, factor in self.factors.items()})

    def _names(self, block: Coding) -> list[str]:
        """Names of a block's columns, those of its first factor running fastest."""
        names: list[str] = []
        for factor, full in block:
            fitted = self.factors[factor.text]
            own = fitted.names(full) if isinstance(fitted, CategoryFactor) else fitted.names
            names = [f"{left}:{right}" for right in own for left in names] if names else list(own)
        return names if block else ["Intercept"]

    def _matrix(self, terms: Iterable[Term], sheet: Sheet) -> np.ndarray:
        blocks = [block for _, coding in self._coded(terms) for block in coding]
        sizes = [len(self._names(block)) for block in blocks]
        n, p = len(sheet), sum(sizes)
        if 8 * n * p > _MEMORY_LIMIT:
            widest = blocks[int(np.argmax(sizes))]
            raise MemoryLimitError(
                f"The design has {p} columns and {n} rows, {8 * n * p / 2**30:.3g} GiB; most columns are those of "
                f"{':'.join(factor.text for factor, _ in widest)} ({max(sizes)}).",
                value=8 * n * p,
                remedy="Make a factor of many levels a group: (1 | g).",
            )
        known: dict[tuple[str, bool], np.ndarray] = {}
        matrix, start = np.empty((n, p), order="F"), 0
        for block, size in zip(blocks, sizes):
            matrix[:, start : start + size] = self._block(block, sheet, known)
            start += size
        return matrix

    def _block(self, block: Coding, sheet: Sheet, known: dict[tuple[str, bool], np.ndarray]) -> np.ndarray:
        product = np.ones((len(sheet), 1))
        for factor, full in block:
            own = known.get((factor.text, full))
            if own is None:
                own = known[factor.text, full] = self._columns(factor, full, sheet)
            product = (own[:, :, None] * product[:, None, :]).reshape(len(sheet), own.shape[1] * product.shape[1])
        return product

    def _columns(self, factor: Factor, full: bool, sheet: Sheet) -> np.ndarray:
        fitted = self.factors[factor.text]
        if isinstance(fitted, CategoryFactor):
            return fitted.matrix(factor.node, sheet, full)
        return fitted.matrix(factor.node, sheet)
