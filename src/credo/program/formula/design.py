"""`design(formula, data)`: the numbers that a formula makes of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.program.formula.columns import Cells, Frame
from credo.program.formula.encoder import EncodedRows, RowEncoder, TermColumns
from credo.program.formula.expansion import parse
from credo.program.formula.factors import NumberFactor, fit_factor
from credo.program.formula.groups import GroupDesign, GroupLevels
from credo.program.formula.sheet import Moments, Sheet, evaluate
from credo.program.formula.syntax import Name
from credo.program.formula.terms import Factor, Formula

__all__ = ["Design", "design", "designs"]


@dataclass(frozen=True, eq=False)
class Design:
    """A formula's numbers.

    Attributes
    ----------
    response : (n,) float64, or None; of words and booleans, the place among `response_levels`
    fixed : (n, p), a column for each of `names`
    offset : (n,), 0 where the formula has none
    groups : one `GroupDesign` a group term
    terms : the terms, with the columns of each
    rows : (n,) numbers of the rows used, in the user's table of `n_rows`
    encoder : encodes new rows alike (`encoder.encode(data)`), and is saved with a model
    """

    encoder: RowEncoder
    encoded: EncodedRows
    response: np.ndarray | None
    n_rows: int

    @property
    def formula(self) -> Formula:
        return self.encoder.formula

    @property
    def fixed(self) -> np.ndarray:
        return self.encoded.fixed

    @property
    def names(self) -> tuple[str, ...]:
        return self.encoder.names

    @property
    def terms(self) -> tuple[TermColumns, ...]:
        return self.encoder.terms

    @property
    def offset(self) -> np.ndarray:
        return self.encoded.offset

    @property
    def groups(self) -> tuple[GroupDesign, ...]:
        return self.encoded.groups

    @property
    def latent(self) -> dict[str, np.ndarray]:
        """Arrays of effects with latent parts of their own."""
        return self.encoded.latent

    @property
    def rows(self) -> np.ndarray:
        return self.encoded.rows

    @property
    def response_levels(self) -> tuple[str, ...]:
        return self.encoder.response_levels

    def __str__(self) -> str:
        lines = [str(self.formula), f"{len(self.rows)} rows of {self.n_rows}"]
        if self.names:
            lines.append(f"fixed: {', '.join(self.names)}")
        for factor, level in self.encoder.references.items():
            lines.append(f"{factor}: against {level!r}")
        for group in self.groups:
            kind = "correlated" if group.correlated and len(group.effects) > 1 else "independent"
            kind = f", {kind}" if len(group.effects) > 1 else ""
            lines.append(f"{group.name}: {len(group.levels)} levels of {', '.join(group.effects)}{kind}")
        return "\n".join(lines)


def design(formula: str | Formula, data: Any, missing: str = "drop") -> Design:
    """Encode a table as a formula says.

    Categories (columns of words, booleans, `C(x)`) are 0/1 columns against their first level in sorted order, or in the
    order that their type declares, coded so that no column follows from others. Levels that do not occur are left out.

    Parameters
    ----------
    formula : its text (see `parse`).
    data : a pandas, polars or Arrow frame, a mapping from names to cells, a `credo.tables.Table`, or a file.
    missing : "drop" leaves out rows with a missing cell in a column used, and warns; "error" raises.

    Returns
    -------
    Design

    Raises
    ------
    FormulaError : the formula cannot be read.
    DataError : a column is not there, or constant; a category or group has one level; no row is complete.
    MemoryLimitError : the matrix would take more than 4 GiB.

    Notes
    -----
    Cost: rows × columns. poly(x, d) has columns of mean square 1, which are R's times √n; ns(x, df) spans what R's
    does, its columns being the curve's height at the knots above its height at the first.

    Examples
    --------
    >>> table = {"y": [1.0, 2.0, 4.0, 3.0], "dose": [0, 1, 2, 1], "site": ["A", "B", "A", "C"]}
    >>> d = design("y ~ dose + site", table)
    >>> d.names
    ('Intercept', 'dose', 'site=B', 'site=C')
    >>> d.fixed.tolist()[3]
    [1.0, 1.0, 0.0, 1.0]
    >>> d.encoder.encode({"dose": [5.0], "site": ["B"]}).fixed.tolist()
    [[1.0, 5.0, 1.0, 0.0]]
    """
    frame = data if isinstance(data, Frame) else Frame(data)
    read = formula if isinstance(formula, Formula) else parse(formula, frame.names)
    return designs([read], frame, missing)[0]


def designs(formulas: Sequence[Formula], frame: Frame, missing: str) -> list[Design]:
    """Of several formulas, from the rows that are complete for all of them; the response is the first one's."""
    if missing not in ("drop", "error"):
        raise ParameterError("design", "missing", "'drop' or 'error'", missing)
    first, *rest = formulas
    formulas = [first, *(replace(each, response=None) for each in rest)]
    sheet = _complete_rows(formulas, frame, missing)
    inputs = list(dict.fromkeys(name for each in formulas for name in each.inputs))
    return [_design(each, frame, sheet, inputs) for each in formulas]


def _design(read: Formula, frame: Frame, sheet: Sheet, inputs: list[str]) -> Design:
    factors = {}
    lists = [read.terms, *(group.terms for group in read.groups)]
    for factor in (factor for terms in lists for term in terms for factor in term.factors):
        if factor.text not in factors:
            factors[factor.text] = fit_factor(factor, sheet)
    levels = tuple(GroupLevels.fit(group.group, sheet) for group in read.groups)
    response, response_levels = (None, ()) if read.response is None else _response(read.response, sheet)
    offset_moments: dict[str, Moments] = {}
    for offset in read.offsets:
        evaluate(offset.node, sheet, offset_moments, learn=True)
    schema = None if frame.schema is None else frame.schema.select(inputs)
    encoder = RowEncoder(read.text, read.others, factors, levels, response_levels, offset_moments, schema)
    names = encoder.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"Two columns of the design are called {twice!r}.", value=twice, remedy="Rename a column.")
    encoded = encoder.encoded(sheet)
    _refuse_constant(encoder, encoded)
    return Design(encoder, encoded, response, len(next(iter(frame.read.values())).missing))


def _complete_rows(formulas: Sequence[Formula], frame: Frame, missing: str) -> Sheet:
    """The rows without missing cells in the columns used; a column that is imputed is so wherever it stands."""
    names, imputed, complete = [], set(), set()
    for formula in formulas:
        left = [part for part in (formula.response, formula.trials) if part is not None]
        names += [*(name for part in left for name in part.columns), *formula.inputs]
        imputed |= formula.may_be_missing
        complete |= set(formula.inputs) - formula.may_be_missing
    if not names:
        names = list(frame.names[:1])
    cells = frame.cells(dict.fromkeys(names))
    if not cells:
        raise DataError("The table has no columns.", value=0)
    n = len(next(iter(cells.values())).missing)
    if n == 0:
        raise DataError("The table has no rows.", value=0)
    gone = {name: np.flatnonzero(column.missing) for name, column in cells.items()}
    gone = {name: rows for name, rows in gone.items() if rows.size and name not in imputed - complete}
    keep = np.ones(n, dtype=bool)
    for rows in gone.values():
        keep[rows] = False
    rows = np.flatnonzero(keep)
    if len(rows) < n:
        counts = ", ".join(f"{name} ({len(found)})" for name, found in gone.items())
        said = f"{n - len(rows)} of {n} rows have missing cells, in {counts}"
        if missing == "error" or not len(rows):
            first = np.flatnonzero(~keep)
            remedy = "Fill or drop them first." if missing == "error" else "No row is left."
            raise DataError(f"{said}.", rows=first[:20].tolist(), columns=list(gone), value=len(first), remedy=remedy)
        warn(f"{said}: they are left out.", DataWarning)
        return Sheet(cells, np.arange(n)).take(rows)
    return Sheet(cells, rows)


def _response(response: Factor, sheet: Sheet) -> tuple[np.ndarray, tuple[str, ...]]:
    """(values (n,), levels if they are places among levels)."""
    node = response.node
    if isinstance(node, Name) and not sheet.cells[node.name].is_numeric:
        column: Cells = sheet.cells[node.name]
        levels, codes = column.as_levels()
        if column.levels == ("False", "True"):  # a column of False alone is still of zeros
            return column.as_numbers(), column.levels
        return codes.astype(np.float64), levels
    return evaluate(node, sheet, {}, learn=True), ()


def _refuse_constant(encoder: RowEncoder, encoded: EncodedRows) -> None:
    """A number that never changes cannot be told from the intercept."""
    if not encoder.formula.intercept:
        return
    for columns in encoder.terms:
        single = len(columns.term.factors) == 1 and isinstance(
            encoder.factors[columns.term.factors[0].text], NumberFactor
        )
        if single and len(columns.names) == 1:
            x = encoded.fixed[:, columns.start]
            if np.all(x == x[0]):
                raise DataError(
                    f"{columns.term} is {x[0]:g} in all {len(x)} rows used: it cannot be told from the intercept.",
                    columns=columns.term.factors[0].columns,
                    value=float(x[0]),
                    remedy="Leave it out.",
                )
