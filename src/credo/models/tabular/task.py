"""`TableTask`: a table with its target, features and rows settled, from which any model can be fitted."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.blocks import ArraySource, Source
from credo.errors import CredoError, DataError, ModelWarning, ParameterError, warn
from credo.models.tabular.model import Provenance, TableModel
from credo.numerics.random import as_generator
from credo.tables import Encoder, FittedEncoder, Table, open_table
from credo.tables.encoder import EncodedSource, with_target
from credo.tables.target import NUMERIC, ValueCounts, count_values

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TableTask", "RowSample", "TASKS"]

#: what may be asked for: an ordinal target is classified, with its order
TASKS = ("regression", "classification", "ordinal")
# Encoded rows up to this many bytes are kept, so that a fit of ten passes reads and encodes the file once. With
# the copy that joining them takes, the process stays below half a gigabyte.
_IN_MEMORY = 2**26
# Newton for k classes factors a matrix of side k(P + 1); at 4,000 that is 128 MB and some seconds an iteration. The
# lattice that integrates a class's probability has 1,021 points and takes half as many classes.
_MOST_LOGITS, _MOST_CLASSES = 4000, 500
# Outcomes below 0 are impossible, rather than rare, if the model expects three of them in the rows and there is none
# (probability e⁻³ = 0.05). It matters where the lower end of a 90 % interval, the 5 % quantile, is one in 1 % of rows.
_SURELY_SEEN, _TAIL, _WORTH_SAYING = 3.0, 0.05, 0.01
# Rows in which this is looked for: enough to tell 1 %.
_LOOKED_AT = 1000
# Distinct numbers up to which rare ones may still be classes.
_MOST_MEASURED = 20
# Two rows fix a mean and a scale; an interval takes one more.
_LEAST_ROWS = 3


@dataclass(frozen=True)
class RowSample:
    """Encoded rows in memory.

    X : (n, P) ; y : (n,) numbers, or codes of classes
    groups, time : (n,) values of the columns with those roles, if any
    complete : these are all rows with a target; else a simple random sample of them
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None
    time: np.ndarray | None
    complete: bool

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> RowSample:
        groups = None if self.groups is None else self.groups[rows]
        time = None if self.time is None else self.time[rows]
        return RowSample(self.X[rows], self.y[rows], groups, time, False)


@dataclass(frozen=True, eq=False, repr=False)
class TableTask:
    """What is to be predicted from what.

    Attributes
    ----------
    table, encoder : the rows, and how they become numbers
    task : "regression" or "classification"
    group, time : columns that say which rows belong together, or come later; for cross-validation
    notes : sentences on what was decided here
    rows_read : rows of the file; `rows` of them have a target; `missing` cells by column
    ordered : the classes are in an order
    """

    table: Table
    encoder: FittedEncoder
    task: str
    group: str | None
    time: str | None
    notes: tuple[str, ...]
    rows_read: int
    ordered: bool = False

    @classmethod
    def prepare(
        cls,
        table: Any,
        target: str,
        *,
        task: str | None = None,
        drop: tuple[str, ...] = (),
        group: str | None = None,
        time: str | None = None,
    ) -> TableTask:
        """Settle target, task and features; reads the table once, and a target of few numbers once more.

        Parameters
        ----------
        table : a `Table`, or what `open_table` takes
        target : the column to predict
        task : "regression", "classification", "ordinal" (classes in an order), or None, told by the target: numbers are
            predicted as numbers, the rest as classes. Numbers that look like codes are classes too: two distinct
            values, or three to ten whole ones each found in at least five rows; not if its type was stated as
            number or count
        drop : columns to leave out
        group : column of the group a row belongs to; not a feature, as new rows come from new groups
        time : column that orders the rows; it stays a feature

        Raises
        ------
        DataError : a column that is not there (the nearest name is offered), a target that is constant or cannot be
            predicted, no feature left.
        """
        table = table if isinstance(table, Table) else open_table(table)
        for name in (target, *drop, group, time):
            if name is not None:
                _check_column(table, name)
        if target in drop or target in (group, time):
            raise ParameterError("", "target", "a column with no other use", target)
        ordered = task == "ordinal" or (task != "regression" and table.schema[target].type == "ordered")
        table, task, classes, notes = _as_task(table, target, task)
        aside: tuple[str, ...] = tuple(name for name in dict.fromkeys((*drop, group)) if name is not None)
        if drop:
            notes.append(f"Left out as asked: {', '.join(map(repr, drop))}.")
        if group is not None:
            notes.append(f"Column {group!r} says which rows belong together; it is not a feature.")
        if not set(table.columns) - {target, *aside}:
            raise DataError(f"{table.name} has no column to predict {target!r} from.", columns=list(table.columns))
        try:
            encoder = Encoder(table.schema, target=target, exclude=aside, missing="impute", classes=classes).fit(table)
        except DataError:
            if table.n_rows is not None and table.n_rows < _LEAST_ROWS:
                raise _too_few(table.n_rows, target) from None
            raise
        self = cls(table, encoder, task, group, time, tuple(notes), table.n_rows or 0, ordered)
        self._check_size()
        return self

    def _check_size(self) -> None:
        classes = len(self.encoder.target.classes) if self.encoder.target is not None else 0
        if classes > 2 and (classes * (self.encoder.n_features + 1) > _MOST_LOGITS or classes > _MOST_CLASSES):
            raise DataError(
                f"The target {self.target!r} has {classes} classes, with {self.encoder.n_features} feature(s) more "
                f"than a logistic regression can hold ({_MOST_CLASSES} classes, {_MOST_LOGITS} coefficients).",
                columns=[self.target],
                value=classes,
                remedy="Merge classes, or drop columns with many levels (--drop).",
            )

    @property
    def target(self) -> str:
        assert self.encoder.target is not None
        return self.encoder.target.name

    @functools.cached_property
    def _pass(self) -> _Gathered:
        return _gather(self, None)

    @property
    def fits_in_memory(self) -> bool:
        return self.rows_read * (self.encoder.n_features + 1) * 8 <= _IN_MEMORY

    def sample(self, rows: int, random_state: Any = None) -> RowSample:
        """At most `rows` rows with a target, drawn at random without replacement, in the order of the file."""
        rng = as_generator(random_state)
        if self.fits_in_memory:
            whole = self._pass.sample
            return whole if len(whole) <= rows else whole.take(np.sort(rng.choice(len(whole), rows, replace=False)))
        return _gather(self, np.sort(rng.choice(self.rows_read, min(rows, self.rows_read), replace=False))).sample

    @functools.cached_property
    def source(self) -> Source:
        """All rows with a target as blocks: in memory while they are few, else read and encoded at every pass."""
        if not self.fits_in_memory:
            return _Nameless(self.table, self.encoder)
        whole = self._pass.sample
        return ArraySource(whole.X, whole.y)

    def fit(
        self,
        estimator: Any = None,
        *,
        name: str | None = None,
        comparison: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        seed: int | None = None,
        command: str | None = None,
    ) -> TableModel:
        """Fit an estimator to all rows; `name` and the rest are kept with it.

        estimator : unfitted, taking a `Source`; None is `LinearRegression`, `LogisticRegression` or, of three ordered
            classes or more, `OrdinalRegression`
        """
        if estimator is None:
            estimator, name = _plain(self.task, self.ordered)
        estimator.fit(self.source)
        return self.keep(estimator, name or type(estimator).__name__, comparison, notes, seed, command)

    def keep(
        self,
        estimator: Any,
        name: str,
        comparison: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        seed: int | None = None,
        command: str | None = None,
    ) -> TableModel:
        """The record of an estimator that has been fitted to this task's features."""
        rows, missing = self._counts()
        said = [*self.table.decisions, *self.notes, *self.encoder.decisions]
        if (beyond := self._below_zero(estimator)) is not None:
            warn(beyond, ModelWarning)
            said.append(beyond)
        if rows < self.rows_read:
            said.append(f"{self.rows_read - rows} rows without {self.target!r} are left out.")
        provenance = Provenance(self.table.name, rows, self.rows_read, missing, seed, command)
        return TableModel(name, self.task, self.encoder, estimator, provenance, (*said, *notes), comparison)

    def _below_zero(self, estimator: Any) -> str | None:
        """A sentence, if the model expects outcomes below 0 where the rows say that there are none."""
        low = self.encoder.target.low if self.encoder.target is not None else None
        if low is None or low < 0.0 or not self.fits_in_memory:
            return None
        sample = self.sample(_LOOKED_AT, 0)
        try:
            predictive = estimator.predict_distribution(sample.X)
            below = predictive.cdf(-1.0 if predictive.kind == "count" else 0.0)
        except CredoError:  # a model without a distribution has no mass anywhere
            return None
        if below.sum() < _SURELY_SEEN or np.mean(below > _TAIL) < _WORTH_SAYING:
            return None
        remedy = (
            "PoissonRegression and NegativeBinomialRegression (the candidates poisson and negative_binomial) are for "
            "counts"
            if np.all(sample.y == np.round(sample.y))
            else "GammaRegression (the candidate gamma) is for positive amounts"
            if low > 0.0
            else "A logarithm of the target plus one has no such bound"
        )
        return (
            f"{self.target!r} is never below 0 in {len(sample):,} rows, but {100 * np.mean(below > _TAIL):.0f} % of "
            f"the 90 % intervals of this model reach there, since its noise knows no bound. {remedy}; or read ends "
            "below 0 as 0."
        )

    def __repr__(self) -> str:
        rows, features = f"{self.rows_read:,} rows", f"{self.encoder.n_features} features"
        return f"<TableTask {self.task} of {self.target!r}: {rows} of {self.table.name}, {features}>"

    def _counts(self) -> tuple[int, dict[str, int]]:
        if self.fits_in_memory:
            return len(self._pass.sample), self._pass.missing
        return self.source.n_rows or self.rows_read, {}


class _Nameless(EncodedSource):
    """Rows without column names: an estimator that has seen names expects them again, from `TableModel`'s arrays."""

    @property
    def column_names(self) -> tuple[str, ...] | None:  # type: ignore[override]
        return None


@dataclass(frozen=True)
class _Gathered:
    sample: RowSample
    missing: dict[str, int]


def _gather(task: TableTask, chosen: np.ndarray | None) -> _Gathered:
    """One pass: the encoded rows numbered `chosen` (all when None) that have a target."""
    encoder, target = task.encoder, task.encoder.target
    assert target is not None
    extra = tuple(name for name in (task.group, task.time) if name is not None)
    columns = tuple(dict.fromkeys((*encoder.inputs, target.name, *extra)))
    parts: list[list[Any]] = [[], [], [], []]
    missing = dict.fromkeys(columns, 0)
    start = 0
    for frame in task.table.frames(columns=columns):
        for name in columns:
            missing[name] += frame[name].null_count()
        _check_finite(frame, start)
        height = frame.height
        if chosen is not None:
            first, last = np.searchsorted(chosen, [start, start + height])
            frame = frame[chosen[first:last] - start]
        frame = with_target(frame, target.name)
        parts[0].append(encoder.encode(frame)[0])
        parts[1].append(target.encode(frame[target.name]))
        if task.group is not None:
            parts[2].append(_text(frame[task.group]))
        if task.time is not None:
            parts[3].append(_instants(frame[task.time]))
        start += height
    X, y, groups, time = (np.concatenate(part) if part else None for part in parts)
    assert X is not None
    assert y is not None
    sample = RowSample(np.ascontiguousarray(X), y, groups, time, chosen is None)
    if sample.complete:
        _check_outcomes(sample, target.name)
    if time is not None and not np.all(np.isfinite(time)):
        bad = np.flatnonzero(~np.isfinite(time))
        raise DataError(
            f"Column {task.time!r}, which orders the rows, is missing in {bad.size} of them.",
            rows=bad[:20].tolist(),
            columns=[str(task.time)],
            remedy="Leave --time out, or remove those rows.",
        )
    return _Gathered(sample, missing)


def _check_outcomes(sample: RowSample, target: str) -> None:
    """Enough rows, and outcomes that differ."""
    if len(sample) < _LEAST_ROWS:
        raise _too_few(len(sample), target)
    if np.all(sample.y == sample.y[0]):
        raise DataError(
            f"The target {target!r} is {sample.y[0]:g} in every row: there is nothing to learn.",
            columns=[target],
            value=sample.y[0],
            remedy="Choose another --target, or give rows in which it varies.",
        )


def _too_few(rows: int, target: str) -> DataError:
    return DataError(
        f"The table has {rows} row(s) with a {target!r}: too few to learn from.",
        value=rows,
        remedy="Give at least three, better thirty.",
    )


def _check_finite(frame: pl.DataFrame, start: int) -> None:
    """Infinite cells by row and column: they would reach the model as one bad matrix."""
    for column in frame.iter_columns():
        if column.dtype.is_float() and column.is_infinite().any():
            row = start + int(column.is_infinite().arg_true()[0])
            raise DataError(
                f"Column {column.name!r} is infinite in row {row}.",
                rows=[row],
                columns=[column.name],
                remedy="Remove such rows, or leave the column out (--drop).",
            )


def _check_column(table: Table, name: str) -> None:
    if name in table.columns:
        return
    near = difflib.get_close_matches(name, table.columns, n=1) or difflib.get_close_matches(
        name.lower(), [column.lower() for column in table.columns], n=1
    )
    meant = next((column for column in table.columns if near and column.lower() == near[0].lower()), None)
    shown = ", ".join(map(repr, table.columns[:20])) + (", …" if len(table.columns) > 20 else "")
    raise DataError(
        f"{table.name} has no column {name!r}.",
        columns=[name],
        value=name,
        remedy=(f"Did you mean {meant!r}? " if meant else "") + f"Its columns are {shown}.",
    )


def _as_task(table: Table, target: str, task: str | None) -> tuple[Table, str, tuple[float, ...], list[str]]:
    """(the table with the target typed for the task, the task, the numbers that are its classes, what to say of it)."""
    kind = table.schema[target].type
    if task not in (None, *TASKS):
        raise ParameterError("", "task", "'regression', 'classification' or 'ordinal'", task)
    if task == "ordinal" and kind not in (*NUMERIC, "ordered", "boolean"):
        raise DataError(
            f"The target {target!r} is of type {kind}, whose classes are in no order.",
            columns=[target],
            value=kind,
            remedy=f"State it, lowest first: --type '{target}=ordered:low,middle,high'.",
        )
    if kind in NUMERIC:
        return table, *_task_of_numbers(table, target, task)
    if task != "regression":
        asked = "" if task is None else ", as asked"
        what = "ordered classes" if kind == "ordered" else "classes"
        return table, "classification", (), [f"Target {target!r} ({kind}) is predicted as {what}{asked}."]
    if kind not in ("boolean", "ordered"):
        raise DataError(
            f"The target {target!r} is of type {kind}, which regression cannot predict.",
            columns=[target],
            value=kind,
            remedy=f"Leave out --task, or state --type {target}=number if its cells are numbers.",
        )
    said = f"Target {target!r} ({kind}) is predicted as a number, as asked."
    return table.with_schema(table.schema.with_types({target: "number"})), task, (), [said]


def _task_of_numbers(table: Table, target: str, task: str | None) -> tuple[str, tuple[float, ...], list[str]]:
    """(the task, the classes, what to say) of a target of numbers, whose values tell what they are."""
    named = f"Target {target!r} ({table.schema[target].type})"
    if task == "regression":
        return task, (), [f"{named} is predicted as a number, as asked."]
    if task is None and target in table.stated:
        return "regression", (), [f"{named} is predicted as a number, as its type was stated."]
    counted = count_values(table.frames(columns=(target,)), target, to_the_end=task is not None)
    if task is not None:
        _require_classes(counted, target)
        what = "ordered classes" if task == "ordinal" else "classes"
        return "classification", tuple(counted.values), [f"{named} is predicted as {what}, as asked."]
    if not counted.are_codes:
        return "regression", (), [f"{named} is predicted as a number; --task classification makes its values classes."]
    return "classification", tuple(counted.values), [
        f"{named} has {len(counted.values)} distinct values, each in {counted.rows.min():,} rows or more, and is "
        "predicted as classes; --task regression predicts a number."
    ]  # fmt: skip


def _require_classes(counted: ValueCounts, target: str) -> None:
    """Numbers of which most occur once measure something: no class of them could be met again."""
    alone = int(np.count_nonzero(counted.rows == 1))
    if len(counted.values) > _MOST_MEASURED and 2 * alone > len(counted.values):
        raise DataError(
            f"The target {target!r} has {len(counted.values):,} distinct numbers, {alone:,} of them in a single row: "
            "as classes most could not be learned.",
            columns=[target],
            value=len(counted.values),
            remedy="Leave out --task to predict it as a number, or add a column that sorts it into classes.",
        )


def _plain(task: str, ordered: bool = False) -> tuple[Any, str]:
    if task == "regression":
        from credo.models.linear import LinearRegression

        return LinearRegression(), "linear"
    if ordered:
        from credo.models.glm import OrdinalRegression

        return OrdinalRegression(), "ordinal"
    from credo.models.glm import LogisticRegression

    return LogisticRegression(), "logistic"


def _text(cells: pl.Series) -> np.ndarray:
    import polars as pl

    return cells.cast(pl.String).fill_null("(missing)").to_numpy().astype(str)


def _instants(cells: pl.Series) -> np.ndarray:
    """Numbers as they are; dates and times in microseconds; NaN where missing."""
    import polars as pl

    if cells.dtype.is_temporal():
        cells = cells.to_physical()
    if not (cells.dtype.is_numeric()):
        raise DataError(
            f"Column {cells.name!r} cannot order the rows: it holds neither numbers nor dates.",
            columns=[cells.name],
            remedy=f"State its type, such as --type '{cells.name}=date:%d/%m/%Y'.",
        )
    return cells.cast(pl.Float64).to_numpy()
