"""A regression by formula as commands tell it, and apply it to tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

__all__ = ["SavedRegression", "explained", "is_regression", "record", "summary_table", "title_of"]

# Rows predicted at once: with 4,000 draws, as many as a `Model` predicts without taking fewer of these.
_ROWS = 5000


def is_regression(model: Any) -> bool:
    """Whether a saved object is a `Regression`; other models need not import what one is."""
    return type(model).__module__ == "credo.program.formula.regress"


class SavedRegression:
    """What `credo show` and `credo predict` ask of a saved model.

    fit : a `Regression`; new_levels, seed : as of `Regression.predict`; mass : what the intervals of `told` hold
    """

    def __init__(self, fit: Any, new_levels: str = "sample", seed: int = 0, mass: float = 0.9) -> None:
        from credo.errors import ParameterError

        if new_levels not in ("sample", "mean", "error"):
            raise ParameterError("", "--new-levels", "sample, mean or error", new_levels)
        self.fit, self.new_levels, self.seed, self.mass = fit, new_levels, seed, mass
        self.applied_by: str = fit.applied_by

    @property
    def target(self) -> str:
        return self.fit.formula.response.text

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes of a response that is one of two; () of a number."""
        return self.fit.classes

    @property
    def lowest(self) -> float | None:
        """The smallest response of the fit, which a regression does not keep."""
        return None

    def summary(self, mass: float = 0.9) -> dict[str, Any]:
        return record(self.fit, self.fit.summary(mass), mass)

    def told(self) -> list[Any]:
        fit = self.fit
        return [f"A regression: {title_of(fit)}", summary_table(fit.summary(self.mass), self.mass), *explained(fit)]

    def open(self, data: Any, **how: Any) -> Any:
        """A table of new rows, its columns read as those of the fit."""
        from credo.tables import open_table

        return open_table(data, like=self.fit.encoder.schema, **how)

    def map(self, function: Any, table: Any, keep: tuple[str, ...] = ()) -> Iterator[Any]:
        """function(the columns `keep`, the predictive) of consecutive rows, in order; it gives a frame.

        Kept columns that the formula does not read stay as they are written. A row that lacks a cell has no prediction:
        what is null there is told.
        """
        import polars as pl

        as_written = {name: "identifier" for name in keep if name not in self.fit.inputs}
        kept = pl.DataFrame()
        if keep:
            kept = pl.concat(list(table.with_schema(table.schema.with_types(as_written)).frames(columns=keep)))
        rows, trials, complete = self._encoded(table)
        for start in range(0, len(rows.rows), _ROWS):
            part = slice(start, start + _ROWS)
            number = None if trials is None else trials[part]
            laws = self.fit.predict_encoded(rows.take(part), number, self.new_levels, self.seed)
            found = function(kept[part], laws)
            if complete is None:
                yield found
            else:
                answer = pl.when(pl.lit(pl.Series(complete[part]))).then(pl.exclude(keep) if keep else pl.all())
                yield found.with_columns(answer)

    def _encoded(self, table: Any) -> tuple[Any, Any, Any]:
        """(rows as numbers, trials, which rows lack no cell (None: all)); a complete row stands in for one that does,
        so that rows stay in their places."""
        import numpy as np

        from credo.errors import DataWarning, warn

        frame = self.fit.frame(table)
        missing = self.fit.missing(frame)
        if not missing:
            return *self.fit.encoded(frame), None
        complete = np.ones(frame.n_rows, dtype=bool)
        for at in missing.values():
            complete[at] = False
        if not complete.any():
            return *self.fit.encoded(frame), None  # which refuses it, and says why
        cells = ", ".join(f"{name} ({at.size})" for name, at in missing.items())
        warn(
            f"{(~complete).sum():,} of {complete.size:,} rows have no prediction, as cells are missing in {cells}; "
            f"the first is row {int(np.argmin(complete)) + 1}.",
            DataWarning,
        )
        stand_in = np.where(complete, np.arange(complete.size), np.argmax(complete))
        return *self.fit.encoded(frame, only=stand_in), complete


def title_of(fit: Any) -> str:
    """The formula, the family (and its link, where another is usual), how many rows."""
    return f"{fit.said_formula}   {fit.said_family}, {fit.n_rows:,} rows"


def summary_table(summary: Any, mass: float) -> Any:
    """Mean, sd and interval a row, with the digits that the sd leaves meaning to."""
    from credo.cli.text import grid
    from credo.numerics.readable import aligned, percent, share

    rows = []
    for name in summary:
        row = summary[name]
        mean, sd, low, high = aligned([row[k] for k in ("mean", "sd", "lower", "upper")], row["sd"])
        rows.append([name, mean, sd, f"{low} … {high}", share(row["prob_positive"])])
    return grid(["", "mean", "sd", f"{percent(mass)} interval", "P(> 0)"], rows)


def explained(fit: Any, *, briefly: bool = False) -> list[str]:
    """The priors, and what was done; briefly: without what could be integrated out and why not, which few can read."""
    done = fit.explain()
    if briefly:
        done = replace(done, steps=tuple(step for step in done.steps if step.name != "collapse"))
    return ["Priors:", *(f"  {line}" for line in str(fit.priors).splitlines()), *str(done).splitlines()]


def record(fit: Any, summary: Any, mass: float) -> dict[str, Any]:
    """The fit as JSON data."""
    return {
        "kind": "regression",
        "formula": fit.said_formula,
        "family": fit.family,
        "link": fit.of_family.link,
        "rows": fit.n_rows,
        "interval": mass,
        "summary": {row: summary[row] for row in summary},
        "priors": {name: f"{law}  {note}".rstrip() for name, law, note in fit.priors.rows()},
        "log_evidence": fit.log_evidence,
        "inference": fit.posterior.result.inference,
        "certificate": fit.posterior.result.certificate,
        "explanation": fit.explain().to_json(),
    }
