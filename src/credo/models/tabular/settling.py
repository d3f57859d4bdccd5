"""What is to be predicted, settled from the target's type and values: the task, and the classes of numbers."""

from __future__ import annotations

import difflib

import numpy as np

from credo.errors import DataError, ParameterError
from credo.tables import Table
from credo.tables.target import NUMERIC, ValueCounts, count_values

__all__ = ["TASKS", "check_column", "settle_task"]

#: what may be asked for: an ordinal target is classified, with its order
TASKS = ("regression", "classification", "ordinal")
# Distinct numbers up to which rare ones may still be classes.
_MOST_MEASURED = 20


def check_column(table: Table, name: str) -> None:
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


def settle_task(table: Table, target: str, task: str | None) -> tuple[Table, str, tuple[float, ...], list[str]]:
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
