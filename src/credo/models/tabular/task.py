"""`TableTask`: a table with its target, features and rows settled, from which any model can be fitted."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.blocks import ArraySource, Source
from credo.errors import DataError, ModelWarning, ParameterError, warn
from credo.models.tabular.bounds import LOOKED_AT, below_zero
from credo.models.tabular.model import Provenance, TableModel
from credo.models.tabular.rows import LEAST_ROWS, Gathered, NamelessSource, RowSample, gather, too_few
from credo.models.tabular.settling import TASKS, check_column, settle_task
from credo.models.tabular.views import BOTH, FEATURES, views_of
from credo.numerics.random import as_generator
from credo.tables import Encoder, FittedEncoder, Table, open_table

__all__ = ["TableTask", "TASKS"]

# Encoded rows up to this many bytes are kept, so that a fit of ten passes reads and encodes the file once. With
# the copy that joining them takes, the process stays below half a gigabyte.
_IN_MEMORY = 2**26
# Newton for k classes factors a matrix of side k(P + 1); at 4,000 that is 128 MB and some seconds an iteration. The
# lattice that integrates a class's probability has 1,021 points and takes half as many classes.
_MOST_LOGITS, _MOST_CLASSES = 4000, 500


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
                check_column(table, name)
        if target in drop or target in (group, time):
            raise ParameterError("", "target", "a column with no other use", target)
        ordered = task == "ordinal" or (task != "regression" and table.schema[target].type == "ordered")
        table, task, classes, notes = settle_task(table, target, task)
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
            if table.n_rows is not None and table.n_rows < LEAST_ROWS:
                raise too_few(table.n_rows, target) from None
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
    def views(self) -> dict[str, FittedEncoder]:
        """View → what writes it: features for models that weigh numbers; for classes the cells as they are, too."""
        views = views_of(self.encoder)
        return views if self.task == "classification" else {FEATURES: views[FEATURES]}

    @functools.cached_property
    def _pass(self) -> Gathered:
        return self._gather(None)

    def _gather(self, chosen: np.ndarray | None) -> Gathered:
        return gather(self.table, self.views, self.group, self.time, chosen)

    @property
    def fits_in_memory(self) -> bool:
        width = sum(encoder.n_features for view, encoder in self.views.items() if view != BOTH)
        return self.rows_read * (width + 1) * 8 <= _IN_MEMORY

    def sample(self, rows: int, random_state: Any = None) -> RowSample:
        """At most `rows` rows with a target, drawn at random without replacement, in the order of the file."""
        rng = as_generator(random_state)
        if self.fits_in_memory:
            whole = self._pass.sample
            return whole if len(whole) <= rows else whole.take(np.sort(rng.choice(len(whole), rows, replace=False)))
        return self._gather(np.sort(rng.choice(self.rows_read, min(rows, self.rows_read), replace=False))).sample

    @functools.cached_property
    def _streams(self) -> dict[str, NamelessSource]:
        return {view: NamelessSource(self.table, encoder) for view, encoder in self.views.items()}

    @property
    def source(self) -> Source:
        """All rows with a target as blocks of features."""
        return self.source_of(FEATURES)

    def source_of(self, view: str) -> Source:
        """All rows with a target as blocks: in memory while they are few, else read and encoded at every pass."""
        if not self.fits_in_memory:
            return self._streams[view]
        whole = self._pass.sample.seen_as(view)
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
        view: str = FEATURES,
    ) -> TableModel:
        """Fit an estimator to all rows; `name` and the rest are kept with it.

        estimator : unfitted, taking a `Source`; None is `LinearRegression`, `LogisticRegression` or, of three ordered
            classes or more, `OrdinalRegression`
        view : "features", or "cells" for a model that reads categories and missing cells itself
        """
        if estimator is None:
            estimator, name = _plain(self.task, self.ordered)
        fit_whole(estimator, self.source_of(view))
        return self.keep(estimator, name or type(estimator).__name__, comparison, notes, seed, command, view)

    def keep(
        self,
        estimator: Any,
        name: str,
        comparison: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        seed: int | None = None,
        command: str | None = None,
        view: str = FEATURES,
    ) -> TableModel:
        """The record of an estimator that has been fitted to this task's rows, seen as `view`."""
        rows, missing = self._counts()
        encoder = self.views[view]
        said = [*self.table.decisions, *self.notes, *encoder.decisions]
        if (beyond := self._below_zero(estimator, view)) is not None:
            warn(beyond, ModelWarning)
            said.append(beyond)
        if rows < self.rows_read:
            said.append(f"{self.rows_read - rows} rows without {self.target!r} are left out.")
        provenance = Provenance(self.table.name, rows, self.rows_read, missing, seed, command)
        return TableModel(name, self.task, encoder, estimator, provenance, (*said, *notes), comparison)

    def _below_zero(self, estimator: Any, view: str) -> str | None:
        target = self.encoder.target
        if target is None or target.is_class or not self.fits_in_memory:
            return None
        return below_zero(target, estimator, self.sample(LOOKED_AT, 0).seen_as(view))

    def __repr__(self) -> str:
        rows, features = f"{self.rows_read:,} rows", f"{self.encoder.n_features} features"
        return f"<TableTask {self.task} of {self.target!r}: {rows} of {self.table.name}, {features}>"

    def _counts(self) -> tuple[int, dict[str, int]]:
        if self.fits_in_memory:
            return len(self._pass.sample), self._pass.missing
        # A stream knows its rows once it was read to the end.
        return next((stream.n_rows for stream in self._streams.values() if stream.n_rows), self.rows_read), {}


def _plain(task: str, ordered: bool = False) -> tuple[Any, str]:
    if task == "regression":
        from credo.models.linear import LinearRegression

        return LinearRegression(), "linear"
    if ordered:
        from credo.models.glm import OrdinalRegression

        return OrdinalRegression(), "ordinal"
    from credo.models.glm import LogisticRegression

    return LogisticRegression(), "logistic"


def fit_whole(estimator: Any, source: Source) -> Any:
    """By blocks where the estimator takes a `Source`; one whose `fit` demands y, such as a Gaussian process, is given
    arrays while the rows are in memory."""
    y = inspect.signature(estimator.fit).parameters.get("y")
    if y is None or y.default is not inspect.Parameter.empty:
        return estimator.fit(source)
    if isinstance(source, ArraySource):
        return estimator.fit(source.X, source.y)
    raise ParameterError(
        "TableTask.fit", "estimator", "one that reads blocks: these rows do not fit in memory", estimator,
        "Sample the rows first, or take a model that streams, such as LinearRegression.",
    )  # fmt: skip
