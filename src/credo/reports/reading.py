"""What was read, and what was decided about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from credo.models.tabular import TableModel

__all__ = ["Reading", "ColumnNote", "reading"]


@dataclass(frozen=True)
class ColumnNote:
    """name, type, missing cells ; role : "target", or the features it became."""

    name: str
    type: str
    missing: int
    role: str


@dataclass(frozen=True)
class Reading:
    """data : the table's name ; rows used of rows_read ; columns ; decisions and warnings as sentences."""

    data: str
    rows: int
    rows_read: int
    columns: tuple[ColumnNote, ...]
    decisions: tuple[str, ...]
    warnings: tuple[str, ...]


def reading(model: TableModel, warnings: Sequence[str] = ()) -> Reading:
    """From the model's own record. `warnings` are what was said while it was made."""
    features = {column.name: column.features for column in model.encoder.columns}
    from_ = model.provenance

    def role(name: str) -> str:
        if name == model.target:
            return "target"
        made = features.get(name, ())
        return "as it is" if made == (name,) else f"{len(made)} feature{'s' * (len(made) != 1)}"

    columns = tuple(
        ColumnNote(column.name, column.type, from_.missing.get(column.name, 0), role(column.name))
        for column in model.encoder.schema
    )
    return Reading(from_.data, from_.rows, from_.rows_read, columns, model.decisions, tuple(warnings))
