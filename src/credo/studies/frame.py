"""Trials as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from credo.studies.trial import Trial

__all__ = ["proposals_frame", "trials_frame"]

# What samplers say of a point in numbers; each is a pair where there are two objectives and two beliefs.
PARTS = ("mean", "sd", "exploitation", "exploration", "feasibility")


def trials_frame(trials: Iterable[Trial], names: Sequence[str], n_values: int = 1, n_constraints: int = 0) -> Any:
    """A polars frame, a row a trial: id, state, value (or value_1, value_2), constraint_1…, the parameters (null where
    inactive), reason.

    A column of mixed kinds (a categorical of numbers and text, say) becomes text.
    """
    import polars as pl

    rows = list(trials)
    columns: dict[str, Any] = {
        "id": pl.Series([t.id for t in rows], dtype=pl.Int64),
        "state": pl.Series([t.state for t in rows], dtype=pl.String),
    }
    for j in range(n_values):
        name = "value" if n_values == 1 else f"value_{j + 1}"
        columns[name] = pl.Series([_item(t.values, j) for t in rows], dtype=pl.Float64)
    for j in range(n_constraints):
        columns[f"constraint_{j + 1}"] = pl.Series([_item(t.constraints, j) for t in rows], dtype=pl.Float64)
    for name in names:
        values = [t.params.get(name) for t in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            values = [None if value is None else str(value) for value in values]
        elif kinds == {int, float}:
            values = [None if value is None else float(value) for value in values]
        columns[name if name not in columns else f"{name}_"] = pl.Series(values)
    columns["reason" if "reason" not in columns else "reason_"] = pl.Series([t.reason for t in rows], dtype=pl.String)
    return pl.DataFrame(columns)


def proposals_frame(trials: Iterable[Trial]) -> Any:
    """A polars frame, a row a trial: id, method, acquisition, and what the sampler expected of the point (mean and sd,
    or mean_1, mean_2 of two objectives; exploitation, exploration; feasibility), reason. Null where it said nothing.
    """
    import polars as pl

    rows = [(trial, trial.why) for trial in trials]
    columns: dict[str, Any] = {"id": pl.Series([trial.id for trial, _ in rows], dtype=pl.Int64)}
    for name in ("method", "acquisition"):
        columns[name] = pl.Series([_text(why.get(name)) for _, why in rows], dtype=pl.String)
    for name in PARTS:
        said = [why.get(name) for _, why in rows]
        pairs = any(isinstance(value, (list, tuple)) for value in said)
        for j in range(2 if pairs else 1):
            values = [_item(value, j) if isinstance(value, (list, tuple)) else _number(value) for value in said]
            columns[f"{name}_{j + 1}" if pairs else name] = pl.Series(values, dtype=pl.Float64)
    columns["reason"] = pl.Series([_text(why.get("reason")) for _, why in rows], dtype=pl.String)
    return pl.DataFrame(columns)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _item(numbers: Sequence[float] | None, j: int) -> float | None:
    return None if numbers is None or j >= len(numbers) else numbers[j]
