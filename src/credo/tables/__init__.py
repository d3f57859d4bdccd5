"""Tables: reading any file or dataframe, knowing what its columns are, and turning them into numbers.

Reading, in the order that bytes become values:

`options`     `ReadOptions`: what may be stated about a file
`encoding`, `plain`      bytes → UTF-8 text
`dialect`, `layout`, `names`   delimiter and quotes; titles, header rows, foot notes; unique names
`delimited`, `readers`   text, JSON lines, Parquet, Excel and dataframes as streams of frames
`numbers`, `dates`, `missing`, `scales`  how people write them
`cells`, `inference`, `completion`  which type a column has
`schema`, `toml`  `Schema` and `Column`, with their file
`parsing`     cells → values, or an error with line and column
`table`       `open_table` → `Table`
`report`      `describe` → `TableReport`, what `credo show` prints

`corpus`      `read_corpus` → `Corpus`: documents as word counts (`corpus_texts`, `corpus_counts`)

Turning into numbers:

`column_statistics`  mergeable statistics of a column
`encodings`, `fitting`, `target`  one column → features; which encoding it gets; the column to predict
`encoder`     `Encoder.fit(table)` → `FittedEncoder`, and `EncodedSource`, its rows as blocks
`features/`   feature maps on numeric columns
"""

from typing import TYPE_CHECKING

from credo._lazy import lazily

if TYPE_CHECKING:
    from credo.tables.encoder import EncodedSource, Encoder, FittedEncoder
    from credo.tables.options import ReadOptions
    from credo.tables.report import ColumnReport, TableReport, describe
    from credo.tables.schema import COLUMN_TYPES, Column, Schema
    from credo.tables.table import Table, open_table
    from credo.tables.target import TargetEncoding

__all__ = [
    "open_table",
    "Table",
    "describe",
    "TableReport",
    "ColumnReport",
    "ReadOptions",
    "Schema",
    "Column",
    "COLUMN_TYPES",
    "Encoder",
    "FittedEncoder",
    "EncodedSource",
    "TargetEncoding",
]

_HOMES = {
    "open_table": "table",
    "Table": "table",
    "describe": "report",
    "TableReport": "report",
    "ColumnReport": "report",
    "ReadOptions": "options",
    "Schema": "schema",
    "Column": "schema",
    "COLUMN_TYPES": "schema",
    "Encoder": "encoder",
    "FittedEncoder": "encoder",
    "EncodedSource": "encoder",
    "TargetEncoding": "target",
}


# So that a model that needs only `features/` does not pay for the readers.
__getattr__ = lazily(__name__, _HOMES)
