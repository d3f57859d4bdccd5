"""Where rows come from, and how statistics are mapped over them and merged.

`source`     `Block` (consecutive rows) and `Source` (blocks that can be read again and again)
`partition`  how many rows make a block
`array`      `ArraySource`: arrays and CSR matrices in memory, as views
`generator`  `GeneratorSource`: a function that starts a fresh iterator of rows
`frame`      `FrameSource`: pandas, polars, Arrow... through narwhals
`files`      `ParquetSource`, `CsvSource`: numeric files in bounded memory
`mapped`     `MappedSource`: another source, each block changed as it is read
`scan`       files in pieces of bounded size
`collection` `DaskSource`: Dask dataframes, arrays and delayed partitions (extra `dask`)
`reduction`  `reduce(source, accumulate, merge)` and `map_blocks(source, function)` on a thread pool

An in-memory fit, a streamed one and one on a cluster are the same three functions over another source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo._lazy import lazily
from credo.blocks.source import Block, Source

if TYPE_CHECKING:
    from credo.blocks.array import ArraySource
    from credo.blocks.collection import DaskSource
    from credo.blocks.files import CsvSource, ParquetSource
    from credo.blocks.frame import FrameSource
    from credo.blocks.generator import GeneratorSource
    from credo.blocks.partition import rows_per_block
    from credo.blocks.reduction import map_blocks, reduce

__all__ = [
    "Block",
    "Source",
    "ArraySource",
    "GeneratorSource",
    "FrameSource",
    "ParquetSource",
    "CsvSource",
    "DaskSource",
    "reduce",
    "map_blocks",
    "rows_per_block",
]

__getattr__ = lazily(
    __name__,
    {
        "ArraySource": "array",
        "GeneratorSource": "generator",
        "FrameSource": "frame",
        "ParquetSource": "files",
        "CsvSource": "files",
        "DaskSource": "collection",
        "reduce": "reduction",
        "map_blocks": "reduction",
        "rows_per_block": "partition",
    },
)
