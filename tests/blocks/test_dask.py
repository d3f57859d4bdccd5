"""The same reduction over Dask collections, on a local cluster."""

from __future__ import annotations

import itertools
import sys
import warnings

import dask
import numpy as np
import pandas as pd
import pytest

from credo.blocks import ArraySource, DaskSource, reduce
from credo.errors import DataError, MissingDependencyError, ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(1e3, 1, size=(500, 3))
Y = RNG.normal(size=500)


def moments(block):
    A = block.X if block.y is None else np.c_[block.X, block.y]
    centred = A - A.mean(axis=0)
    return block.n_rows, A.mean(axis=0), centred.T @ centred


def merged(a, b):
    n, delta = a[0] + b[0], b[1] - a[1]
    return n, a[1] + delta * b[0] / n, a[2] + b[2] + np.outer(delta, delta) * a[0] * b[0] / n


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Two workers as threads of this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # distributed's own, on start and shutdown
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, protocol="inproc://"
            ) as local,
            Client(local) as client,
        ):
            yield client


def check(source, y=Y):
    whole = reduce(ArraySource(X, y), moments, merged)
    for _ in range(2):
        spread = reduce(source, moments, merged)
        assert spread[0] == whole[0]
        assert spread[1] == pytest.approx(whole[1], rel=1e-12)
        assert np.abs(spread[2] - whole[2]).max() <= 1e-12 * np.abs(whole[2]).max()
    blocks = list(source)
    assert np.array_equal(np.concatenate([b.X for b in blocks]), X)
    assert [b.start for b in blocks] == list(np.cumsum([0, *(b.n_rows for b in blocks[:-1])]))


def test_arrays():
    import dask.array as da

    check(DaskSource(da.from_array(X, chunks=(70, 2)), da.from_array(Y, chunks=110)))
    check(DaskSource(da.from_array(X, chunks=(500, 3))), y=None)
    with pytest.raises(DataError, match="one entry per row"):
        DaskSource(da.from_array(X), da.from_array(Y[:-1]))


def test_delayed_partitions_with_empty_ones():
    edges = [0, 0, 100, 100, 350, 500, 500]
    parts = [dask.delayed(lambda a, b: (X[a:b], Y[a:b]))(a, b) for a, b in itertools.pairwise(edges)]
    check(DaskSource(parts))
    with pytest.raises(DataError, match="no rows"):
        reduce(DaskSource([dask.delayed(lambda: X[:0])()]), moments, merged)


def test_dataframes():
    import dask.dataframe as dd

    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y})
    source = DaskSource(dd.from_pandas(frame, npartitions=4), target="y")
    assert source.column_names == ("a", "b", "c")
    check(source)


def test_errors_name_the_partition():
    def fail(block):
        raise ValueError("of this block")

    with pytest.raises(ValueError, match="of this block"):
        reduce(DaskSource([dask.delayed(lambda: X)()]), fail, merged)
    with pytest.raises(ParameterError, match=r"DaskSource\.collection"):
        DaskSource(X)


def test_dask_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingDependencyError, match=r"credo\[dask\]"):
        DaskSource([])
