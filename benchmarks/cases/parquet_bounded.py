"""A Parquet file ten times larger than the memory that the process may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Quality

COLUMNS = 20
GROUP = 100_000  # rows
GROUPS = 360  # with y 6.05 GB, written without compression
# Private memory, libraries included: importing scikit-learn and Polars on one thread takes 300 MB of it.
LIMIT = 576 << 20


def coefficients() -> Any:
    import numpy as np

    return np.random.default_rng(0).standard_normal(COLUMNS)


def prepare(directory: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    schema = pa.schema([(name, pa.float64()) for name in [*(f"x{j}" for j in range(COLUMNS)), "y"]])
    path = directory / "rows.parquet"
    with pq.ParquetWriter(path, schema, compression="NONE", use_dictionary=False) as writer:
        for _ in range(GROUPS):
            X = rng.standard_normal((GROUP, COLUMNS))
            y = 3.0 + X @ coefficients() + rng.standard_normal(GROUP)
            writer.write_table(pa.table([*X.T, y], schema=schema))
    assert path.stat().st_size >= 10 * LIMIT


def credo(path: Path) -> Any:
    import credo as cr
    from credo.blocks import ParquetSource

    return cr.LinearRegression().fit(ParquetSource(path, target="y")).coef_


def sums(path: Path) -> Any:
    """Reads every column once and adds it up; the true coefficients stand in for an answer."""
    import polars as pl

    pl.scan_parquet(path).select(pl.all().sum()).collect(engine="streaming")
    return coefficients()


def error(_: Path, estimate: Any) -> float:
    import numpy as np

    return float(np.abs(estimate - coefficients()).max())


CASE = Case(
    question="Does a Parquet file ten times larger than the memory allowed to the process fit, "
    "and what does the fit cost beyond reading the file once?",
    prepare=prepare,
    load=lambda directory: directory / "rows.parquet",
    contestants=(
        Contestant("credo LinearRegression on a ParquetSource", credo, requires=("pyarrow",)),
        Contestant("Polars: read once, add up the columns", sums, requires=("polars", "pyarrow")),
    ),
    # The sd of a coefficient is 1/√36e6 = 1.7e-4; six of them.
    quality=Quality("largest error of a coefficient", error, "lower", 1e-3),
    memory_limit=LIMIT,
    repeats=3,
    warmups=0,
    timeout=900.0,
)
