"""A Parquet table of ten million rows, read, encoded and fitted as it streams by."""

from __future__ import annotations

from pathlib import Path

from benchmarks.case import Case, Contestant, Limit, Quality

ROWS, GROUP = 10_000_000, 250_000
LEVELS = ("north", "east", "south", "west")
SLOPE = 0.5


def prepare(directory: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    path, writer = directory / "rows.parquet", None
    for _ in range(ROWS // GROUP):
        x, z, code = rng.standard_normal(GROUP), rng.integers(0, 1000, GROUP), rng.integers(0, len(LEVELS), GROUP)
        y = SLOPE * x + 0.001 * z + code + rng.standard_normal(GROUP)
        region = pa.array(np.array(LEVELS)[code])
        table = pa.table({"x": x, "count": z, "region": region, "y": y})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def credo(path: Path) -> float:
    """Schema, encoding (an indicator for each region but one) and an exact fit."""
    from credo.models.tabular import TableModel

    model = TableModel.fit(path, "y")
    return next(each.mean for each in model.coefficients() if each.name == "x")


def polars(path: Path) -> float:
    """Reads every column once and adds it up; the true slope stands in for an answer."""
    import polars as pl

    pl.scan_parquet(path).select(pl.col("x", "count", "y").sum(), pl.col("region").n_unique()).collect(
        engine="streaming"
    )
    return SLOPE


CASE = Case(
    question="Does a Parquet table of 1e7 rows (a number, a count, a category and the target) fit within 500 MB, "
    "libraries included, and what does it cost beyond reading the file once?",
    mode="fresh",
    prepare=prepare,
    load=lambda directory: directory / "rows.parquet",
    contestants=(
        Contestant("credo TableModel", credo, requires=("pyarrow",)),
        Contestant("Polars: read once, add up the columns", polars, requires=("polars", "pyarrow")),
    ),
    # The sd of the slope is 1/√1e7 = 3.2e-4; three of them.
    quality=Quality("error of a slope", lambda _, slope: abs(slope - SLOPE), "lower", 1e-3),
    limits={"credo TableModel": Limit("process_mb", 500)},
    repeats=3,
    warmups=0,
    timeout=900.0,
)
