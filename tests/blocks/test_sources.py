"""Sources: the same blocks every time, views where possible, a partition that depends on the data alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from credo.blocks import (
    ArraySource,
    Block,
    CsvSource,
    FrameSource,
    GeneratorSource,
    ParquetSource,
    Source,
    reduce,
    rows_per_block,
)
from credo.errors import DataError, FileFormatError, ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3))
Y = RNG.normal(size=1000)
W = RNG.integers(1, 4, 1000).astype(float)


def glued(source):
    blocks = list(source)
    return (
        np.concatenate([b.X for b in blocks]),
        None if blocks[0].y is None else np.concatenate([b.y for b in blocks]),
        None if blocks[0].weights is None else np.concatenate([b.weights for b in blocks]),
    )


def frame(library):
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y, "w": W}
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame}[library](columns)


@pytest.fixture
def sources(tmp_path):
    frame("polars").write_parquet(tmp_path / "t.parquet", row_group_size=128)
    frame("polars").write_csv(tmp_path / "t.csv")
    roles = {"target": "y", "weight": "w", "block_rows": 64}
    return [
        ArraySource(X, Y, W, block_rows=64, column_names=["a", "b", "c"]),
        GeneratorSource(
            lambda: ((X[i : i + 64], Y[i : i + 64], W[i : i + 64]) for i in range(0, 1000, 64)),
            column_names=["a", "b", "c"],
        ),
        FrameSource(frame("pandas"), **roles),
        FrameSource(frame("polars"), **roles),
        ParquetSource(tmp_path / "t.parquet", **roles),
        CsvSource(tmp_path / "t.csv", **roles),
    ]


def test_all_sources_hold_the_same_rows(sources):
    for source in sources:
        assert isinstance(source, Source)
        assert source.column_names == ("a", "b", "c")
        assert source.n_rows in (None, 1000)
        for _ in range(2):  # again and again
            gx, gy, gw = glued(source)
            assert np.array_equal(gx, X)
            assert np.array_equal(gy, Y)
            assert np.array_equal(gw, W)
        assert [b.start for b in source] == list(range(0, 1000, 64))


def test_arrays_are_views():
    block = next(iter(ArraySource(X, Y, W)))
    assert np.shares_memory(block.X, X)
    assert np.shares_memory(block.y, Y)
    single = X.astype(np.float32)
    assert next(iter(ArraySource(single))).X.dtype == np.float32
    assert next(iter(ArraySource(np.arange(6).reshape(3, 2)))).X.dtype == np.float64


def test_sparse_rows():
    matrix = scipy.sparse.random_array((500, 200), density=0.02, random_state=0, format="coo")
    source = ArraySource(matrix, block_rows=100)
    assert [b.X.format for b in source] == ["csr"] * 5
    total = reduce(source, lambda b: np.asarray(b.X.sum(axis=0)), np.add)
    assert total == pytest.approx(np.asarray(matrix.sum(axis=0)))


def test_partition_is_about_a_mebibyte():
    assert rows_per_block(20) * 20 * 8 == pytest.approx(2**20, rel=0.01)
    assert rows_per_block(10**6) == 256
    assert rows_per_block(1) == 65536


def test_files_cut_in_pieces_leave_no_trace(tmp_path, monkeypatch):
    pl.DataFrame({"a": np.arange(5000.0)}).write_parquet(tmp_path / "t.parquet")
    whole = [b.X.shape for b in ParquetSource(tmp_path / "t.parquet", block_rows=300)]
    monkeypatch.setattr("credo.blocks.files.piece_rows", lambda n_columns: 700)
    assert [b.X.shape for b in ParquetSource(tmp_path / "t.parquet", block_rows=300)] == whole


def test_missing_cells_are_nan(tmp_path):
    holed = pl.DataFrame({"a": [1, None], "b": [True, None]})
    holed.write_parquet(tmp_path / "t.parquet")
    arrow = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")})
    for source in (FrameSource(holed), FrameSource(arrow), ParquetSource(tmp_path / "t.parquet")):
        assert np.array_equal(next(iter(source)).X, [[1, 1], [np.nan, np.nan]], equal_nan=True)


def test_bad_input_is_named(tmp_path):
    with pytest.raises(DataError, match=r"two dimensions.*reshape"):
        ArraySource(np.arange(3.0))
    with pytest.raises(DataError, match="sample_weight must have one entry per row"):
        ArraySource(X, sample_weight=[1.0])
    with pytest.raises(ParameterError, match="block_rows must be an integer ≥ 1"):
        ArraySource(X, block_rows=0)
    with pytest.raises(ParameterError, match="only once"):
        GeneratorSource(iter([X]))
    with pytest.raises(DataError, match="has 2 columns, the blocks before it 3"):
        list(GeneratorSource(lambda: [X, X[:, :2]]))
    with pytest.raises(DataError, match="two dimensions"):
        list(GeneratorSource(lambda: [Y]))
    with pytest.raises(DataError, match="y or weights of shape"):
        list(GeneratorSource(lambda: [(X, Y[:3])]))
    with pytest.raises(DataError, match="no column 'z'"):
        FrameSource(frame("polars"), target="z")
    with pytest.raises(DataError, match="'s' does not hold numbers"):
        FrameSource(pl.DataFrame({"s": ["x"]}))
    with pytest.raises(DataError, match="no file"):
        ParquetSource(tmp_path / "none.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FileFormatError, match=r"bad\.parquet cannot be read"):
        ParquetSource(tmp_path / "bad.parquet")
    (tmp_path / "bad.csv").write_text("a\n" + "1\n" * 2000 + "word\n")
    with pytest.raises(FileFormatError, match="open_table"):
        list(CsvSource(tmp_path / "bad.csv"))


def test_generators_may_yield_blocks_and_bare_arrays():
    source = GeneratorSource(lambda: [Block(X[:5], Y[:5], start=99), X[5:9]])
    assert [b.start for b in source] == [0, 5]
