"""What a saved model says of itself on a terminal: lines of text and `Listing`s, tables without a style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Listing", "SpeaksForItself"]


@dataclass(frozen=True)
class Listing:
    """columns : names ; rows of cells, as text ; left : how many columns, from the left, are text, not numbers"""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1


class SpeaksForItself(Protocol):
    """A saved model that `credo show` can show. `applied_by` is the command that applies it to new data, with {} where
    its file goes."""

    applied_by: str

    def summary(self, mass: float = 0.9) -> dict[str, Any]:
        """Everything it believes and where it comes from, as JSON data."""
        ...

    def told(self) -> Sequence[str | Listing]:
        """The same for a person."""
        ...
