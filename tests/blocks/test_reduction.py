"""`reduce` and `map_blocks`: in order, bit-identical over threads, bounded, and silent failures impossible."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from threadpoolctl import threadpool_info

from credo.blocks import ArraySource, Block, GeneratorSource, map_blocks, reduce
from credo.errors import DataError, ParameterError

X = np.random.default_rng(0).normal(1e6, 1, size=(1003, 4))


def moments(block: Block):
    return block.n_rows, block.X.mean(axis=0), (block.X - block.X.mean(axis=0)).T @ (block.X - block.X.mean(axis=0))


def merged(a, b):
    n, delta = a[0] + b[0], b[1] - a[1]
    return n, a[1] + delta * b[0] / n, a[2] + b[2] + np.outer(delta, delta) * a[0] * b[0] / n


@pytest.mark.parametrize("rows", [1, 10, 64, 5000])
def test_bit_identical_over_threads(rows):
    results = [reduce(ArraySource(X, block_rows=rows), moments, merged, threads) for threads in (1, 2, 5)]
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40).filter(sum))
def test_any_partition_gives_the_same_moments(sizes):
    """Empty blocks included; 1e-12 relative, as DESIGN §5 asks."""
    edges = np.concatenate([[0], np.cumsum(sizes)])
    rows = X[: edges[-1]]
    source = GeneratorSource(lambda: (rows[a:b] for a, b in itertools.pairwise(edges)))
    n, mean, scatter = reduce(source, moments, merged, threads=2)
    assert n == len(rows)
    assert mean == pytest.approx(rows.mean(axis=0), rel=1e-12)
    centred = rows - rows.mean(axis=0)
    scale = max(1.0, float(np.abs(centred.T @ centred).max()))
    assert np.abs(scatter - centred.T @ centred).max() <= 1e-9 * scale  # 1e6 offsets leave 10 digits of a deviation


@given(st.integers(1, 60), st.integers(1, 4))
def test_merge_keeps_the_order(n, threads):
    source = ArraySource(np.arange(n, dtype=float).reshape(-1, 1), block_rows=1)
    assert reduce(source, lambda b: [b.start], lambda a, b: a + b, threads) == list(range(n))
    assert list(map_blocks(source, lambda b: b.start, threads)) == list(range(n))


def test_empty_sources():
    with pytest.raises(DataError, match="holds no rows"):
        reduce(ArraySource(np.empty((0, 3))), moments, merged)
    with pytest.raises(DataError, match="holds no rows"):
        reduce(GeneratorSource(lambda: [np.empty((0, 2)), np.empty((0, 2))]), moments, merged)


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_carry_the_first_row(threads):
    def fail(block):
        if block.start == 40:
            raise ZeroDivisionError("of this block")
        return 0

    with pytest.raises(ZeroDivisionError, match="of this block") as caught:
        reduce(ArraySource(X, block_rows=10), fail, lambda a, b: a + b, threads)
    assert caught.value.first_row == 40
    assert caught.value.__notes__ == ["In the block of rows that starts at row 40."]


def test_window_is_bounded():
    started, finished, lead = 0, 0, []

    def blocks():
        nonlocal started
        for i in range(50):
            started += 1
            lead.append(started - finished)
            yield X[i : i + 1]

    def work(block):
        return 0

    for _ in map_blocks(GeneratorSource(blocks), work, threads=3):
        finished += 1
    assert max(lead) <= 2 * 3 + 1


def test_no_threads_left_when_a_consumer_stops():
    results = map_blocks(ArraySource(X, block_rows=1), lambda b: b.start, threads=2)
    assert next(results) == 0
    results.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("credo-block")]


def test_blas_runs_on_one_thread_inside():
    inside = list(map_blocks(ArraySource(X), lambda b: [pool["num_threads"] for pool in threadpool_info()], threads=2))
    blas = [pool["user_api"] == "blas" for pool in threadpool_info()]
    assert all(n == 1 for counts in inside for n, is_blas in zip(counts, blas) if is_blas)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_threads_are_checked(threads):
    with pytest.raises(ParameterError, match="threads must be an integer"):
        reduce(ArraySource(X), moments, merged, threads)


def test_keyboard_interrupt_ends_the_process():
    """The pool's threads must not keep it alive."""
    program = textwrap.dedent(
        """
        import time, numpy as np
        from credo.blocks import ArraySource, reduce
        def work(block):
            print("working", flush=True)
            time.sleep(0.05)
            return 0
        reduce(ArraySource(np.ones((10**6, 1)), block_rows=10), work, lambda a, b: 0, threads=4)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=10)
    assert b"KeyboardInterrupt" in error
