"""Files far larger than the memory a pass over them adds."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest

# 1.5e6 rows of 10 float64 columns: 120 MB as an array, and hardly less on disk, as noise does not compress.
ROWS, COLUMNS = 1_500_000, 10
PROGRAM = textwrap.dedent(
    """
    import resource, sys
    import numpy as np
    from credo.blocks import ParquetSource, reduce
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    small, large = sys.argv[1:]
    def passed(path):
        if sys.argv[0] == "tables":
            from credo.tables import Encoder, open_table
            table = open_table(path)
            source = table.to_source(Encoder(table.schema).fit(table))
        else:
            source = ParquetSource(path)
        return reduce(source, lambda b: b.X.T @ b.X, np.add, threads=2)
    passed(small)
    before = peak()
    passed(large)
    print(peak() - before)
    """
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    values = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    frame = pl.DataFrame(values, schema=[f"x{j}" for j in range(COLUMNS)])
    frame.write_parquet(folder / "large.parquet", row_group_size=100_000)
    # As long as one piece, so that what a pass needs at all has been taken before the measurement.
    frame.head(250_000).write_parquet(folder / "small.parquet", row_group_size=100_000)
    return folder / "small.parquet", folder / "large.parquet"


@pytest.mark.parametrize("layer", ["blocks", "tables"])
def test_parquet_streams_in_bounded_memory(files, layer):
    """A pass over 120 MB adds less than half of that to the peak: the file is never held."""
    program = PROGRAM.replace("sys.argv[0]", repr(layer))
    run = subprocess.run(
        [sys.executable, "-c", program, *map(str, files)], capture_output=True, text=True, env=os.environ, check=True
    )
    assert float(run.stdout) < 0.5 * ROWS * COLUMNS * 8 / 2**20
