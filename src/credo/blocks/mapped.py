"""`MappedSource`: the blocks of a source, each changed as it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from credo.blocks.source import Block, Source

__all__ = ["MappedSource"]


class MappedSource:
    """function(block) of the blocks of `source` that have rows; names : of its columns, where not those of `source`."""

    def __init__(
        self, source: Source, function: Callable[[Block], Block], names: tuple[str, ...] | None = None
    ) -> None:
        self.source, self.function = source, function
        self.column_names = source.column_names if names is None else names

    @property
    def n_rows(self) -> int | None:
        return self.source.n_rows

    def __iter__(self) -> Iterator[Block]:
        return (self.function(block) for block in self.source if block.n_rows)
