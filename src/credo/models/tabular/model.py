"""`TableModel`: a fitted model that takes tables, answers in the user's terms, and is saved as one record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from credo._version import __version__
from credo.blocks.reduction import in_order
from credo.errors import DataError, DataWarning, warn
from credo.models.coefficients import CoefficientTable
from credo.models.listing import Listing
from credo.models.tabular.beliefs import believed, coefficient_notes, log_evidence, noise_scale, result_of
from credo.numerics.threads import available_threads, single_blas_thread
from credo.prediction.classes import ClassPredictive
from credo.prediction.law_draws import LawDraws
from credo.prediction.predictive import Predictive
from credo.saving import register
from credo.tables import FittedEncoder, Table, open_table
from credo.tables.encoder import warn_unseen
from credo.tables.encodings import CategoryEncoding, NumberEncoding
from credo.tables.target import Label

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TableModel", "Provenance"]

T = TypeVar("T")

# Rows predicted at once: mixtures of 20 components and 1,024 posterior points then stay below some 100 MB.
_ROWS = 8192


@register
@dataclass(frozen=True)
class Provenance:
    """Where a model comes from: `data` and `rows` used of `rows_read`, the `missing` cells by column, the `seed`, the
    `command` as typed, and the `version` of Credo."""

    data: str
    rows: int
    rows_read: int
    missing: dict[str, int] = field(default_factory=dict)
    seed: int | None = None
    command: str | None = None
    version: str = __version__


@register
@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A table's encoder and the estimator fitted behind it.

    Attributes
    ----------
    name : of the model among the candidates ("linear", "average"...)
    task : "regression" or "classification"
    encoder : the columns it reads, how they became features, and the target
    estimator : fitted on the encoded columns; classes are codes there and labels here
    provenance : data, rows, seed, command, version
    decisions : sentences on what was decided about the table, the columns and the rows
    comparison : the table of candidates that led to this one, as JSON data; None when there was no choice

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"size": [50.0, 80.0, 120.0, 65.0, 95.0], "price": [110.0, 170.0, 260.0, 140.0, 205.0]})
    >>> model = TableModel.fit(frame, "price")
    >>> model.predict(pl.DataFrame({"size": [100.0]})).round(0).tolist()
    [216.0]
    """

    name: str
    task: str
    encoder: FittedEncoder
    estimator: Any
    provenance: Provenance
    decisions: tuple[str, ...] = ()
    comparison: dict[str, Any] | None = None

    @classmethod
    def fit(cls, table: Any, target: str, estimator: Any = None, **settings: Any) -> TableModel:
        """Fit `estimator` (by default the linear or logistic regression that the target asks for) to a table.

        table : a `Table`, or what `open_table` takes. settings : as for `TableTask.prepare`.
        """
        from credo.models.tabular.task import TableTask

        return TableTask.prepare(table, target, **settings).fit(estimator)

    # -- what it is ----------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """What it predicts from what, in a few lines; `summary()` and `coefficients()` have the rest."""
        classes = ", ".join(map(repr, self.labels[:5])) + (", …" if len(self.labels) > 5 else "")
        inference = getattr(result_of(self.estimator), "inference", None)
        columns = ", ".join(self.inputs[:6]) + (f", … {len(self.inputs) - 6} more" if len(self.inputs) > 6 else "")
        features = f"{self.encoder.n_features} feature" + "s" * (self.encoder.n_features != 1)
        return (
            f"<TableModel {self.name!r}{f' ({inference})' if inference else ''}\n"
            f"  predicts {self.target!r}: {f'the classes {classes}' if classes else 'a number'}\n"
            f"  from     {columns} ({features})\n"
            f"  fitted   to {self.provenance.rows:,} rows of {self.provenance.data}>"
        )

    @property
    def target(self) -> str:
        assert self.encoder.target is not None
        return self.encoder.target.name

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes in order, of the type that the table has them in; () for a number."""
        assert self.encoder.target is not None
        return self.encoder.target.classes

    @property
    def lowest(self) -> float | None:
        """The smallest outcome of the fit; None of a class."""
        assert self.encoder.target is not None
        return self.encoder.target.low

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that a table to predict must have."""
        return self.encoder.inputs

    def coefficients(self, mass: float = 0.9) -> CoefficientTable:
        """Belief about every coefficient, with the central interval that holds `mass`; empty where there are none."""
        return believed(self.estimator, self.encoder.feature_names, tuple(map(str, self.labels)), mass)

    @property
    def coefficient_notes(self) -> tuple[str, ...]:
        """What a coefficient is of, in sentences."""
        return coefficient_notes(self.estimator, self.target, tuple(map(str, self.labels)))

    def class_profile(self, mass: float = 0.9) -> Listing | None:
        """What a model of the classes' own laws expects of each column; None of other models."""
        if not hasattr(self.estimator, "class_profile"):
            return None
        levels = [
            column.levels if isinstance(column, NumberEncoding) and column.levels else None
            for column in self.encoder.columns
            for _ in column.features
        ]
        return self.estimator.class_profile(self.encoder.feature_names, tuple(map(str, self.labels)), levels, mass)

    @property
    def noise_scale(self) -> float | None:
        return noise_scale(self.estimator)

    @property
    def weights(self) -> dict[str, float]:
        """Of an average, the weight of every model; else {}."""
        return {name: float(weight) for name, weight in dict(getattr(self.estimator, "weights_", {})).items()}

    def summary(self, mass: float = 0.9) -> dict[str, Any]:
        """Everything it believes and where it comes from, as JSON data (what `credo show MODEL --json` prints)."""
        result = result_of(self.estimator)
        missing, coefficients = self.provenance.missing, self.coefficients(mass)
        columns = [
            {"name": column.name, "type": column.type, "missing": missing.get(column.name, 0)}
            for column in self.encoder.schema
        ]
        return {
            "kind": "model",
            "rows": self.provenance.rows,
            "columns": columns,
            "warnings": [] if result is None else list(result.advice),
            "target": self.target,
            "task": self.task,
            "classes": list(self.labels),
            "model": self.name,
            "inference": getattr(result, "inference", "average"),
            "status": getattr(result, "status", None),
            "certificate": dict(getattr(result, "certificate", {})),
            "interval": mass,
            "coefficients": [asdict(row) for row in coefficients],
            "auxiliary": [asdict(row) for row in coefficients.auxiliary],
            "noise_scale": self.noise_scale,
            "log_evidence": log_evidence(self.estimator),
            "weights": self.weights,
            "decisions": list(self.decisions),
            "comparison": self.comparison,
            "provenance": asdict(self.provenance),
        }

    # -- prediction ----------------------------------------------------------------------------------------------

    def open(self, data: Any, **how: Any) -> Table:
        """A table of new rows, its columns read as those of the fit (`open_table`'s other parameters in `how`).

        Raises
        ------
        DataError : columns are missing (named).
        """
        table = (
            data if isinstance(data, Table) else open_table(data, like=self.encoder.schema.select(self.inputs), **how)
        )
        if absent := [name for name in self.inputs if name not in table.columns]:
            raise DataError(
                f"{table.name} has no column {', '.join(map(repr, absent))}, which the model needs; it has "
                f"{', '.join(map(repr, table.columns))}.",
                columns=absent,
                value=absent[0],
                remedy="Add the missing columns (empty cells are allowed), or name them as in the fitted table.",
            )
        return table

    def predict_distribution(self, data: Any) -> Predictive:
        """The `Predictive` of every row of a table (a `Table`, a dataframe, a path...)."""
        X = np.concatenate([X for _, X in self._encoded(self.open(data), (), None)])
        return self._labelled(self.estimator.predict_distribution(X))

    def law_draws(self, data: Any, **options: Any) -> LawDraws:
        """The law of every row of a table given each of some thousand points of the posterior."""
        X = np.concatenate([X for _, X in self._encoded(self.open(data), (), None)])
        return self.labelled_draws(self.estimator.law_draws(X, **options))

    def labelled_draws(self, draws: LawDraws) -> LawDraws:
        """Class codes back to the user's labels."""
        return draws if draws.classes is None else replace(draws, classes=np.asarray(self.labels)[draws.classes])

    def predict(self, data: Any) -> np.ndarray:
        """The mean of every row, or its most probable class."""
        p = self.predict_distribution(data)
        return p.mode if isinstance(p, ClassPredictive) else p.mean

    def map(
        self, function: Callable[[pl.DataFrame, Predictive], T], data: Any, keep: tuple[str, ...] = ()
    ) -> Iterator[T]:
        """function(the columns `keep`, the predictive) of consecutive rows, in order and in bounded memory.

        Runs on a thread pool. Kept columns that the model does not read stay as they are written.
        """
        table = self.open(data)
        as_written = {name: "identifier" for name in keep if name not in self.inputs}
        table = table.with_schema(table.schema.with_types(as_written))

        def job(part: Any) -> T:
            kept, X = part
            return function(kept, self._labelled(self.estimator.predict_distribution(X)))

        with single_blas_thread():
            yield from in_order(job, self._encoded(table, keep, _ROWS), available_threads())

    def _encoded(
        self, table: Table, keep: tuple[str, ...], rows: int | None
    ) -> Iterator[tuple[pl.DataFrame, np.ndarray]]:
        unseen: dict[str, tuple[str, ...]] = {}
        filled: dict[str, int] = {}
        columns = tuple(dict.fromkeys((*self.inputs, *keep)))
        for frame in table.frames(columns=columns):
            for column in self.encoder.columns:
                if _fills_silently(column) and (n := frame[column.name].null_count()):
                    filled[column.name] = filled.get(column.name, 0) + n
            for part in frame.iter_slices(rows or max(1, frame.height)):
                X, strange = self.encoder.encode(part)
                for name, levels in strange.items():
                    unseen[name] = tuple(dict.fromkeys((*unseen.get(name, ()), *levels)))[:10]
                yield part.select(keep), X
        warn_unseen(unseen, self.encoder)
        if filled:
            shown = ", ".join(f"{name!r} ({n})" for name, n in filled.items())
            warn(
                f"Missing cells in columns that had none in the fit are read as the mean or the usual level: {shown}.",
                DataWarning,
            )

    def _labelled(self, predictive: Any) -> Predictive:
        """Class codes back to the user's labels."""
        if not isinstance(predictive, ClassPredictive):
            return predictive
        return predictive.relabelled(np.asarray(self.labels)[predictive.classes])


def _fills_silently(column: Any) -> bool:
    """Whether a missing cell is imputed without a feature that says so."""
    if isinstance(column, NumberEncoding):
        return column.fill is not None and not column.indicator
    return isinstance(column, CategoryEncoding) and not column.missing_level and not column.keep_missing
