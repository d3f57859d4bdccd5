"""Map a function over blocks on a thread pool, in order; merge what it returns along a tree fixed by the partition.

The merge tree is that of a binary counter: two neighbours that each hold 2ᵏ blocks merge as soon as both exist. So
rounding grows with the logarithm of the number of blocks, log₂(blocks) statistics are alive at once, and the result
is bit-identical whatever the number of threads, because the tree knows nothing of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from credo.blocks.source import Block, Source
from credo.errors import DataError, ParameterError
from credo.numerics.threads import available_threads, single_blas_thread

__all__ = ["reduce", "map_blocks"]

S = TypeVar("S")
T = TypeVar("T")


def reduce(
    source: Source,
    accumulate: Callable[[Block], S],
    merge: Callable[[S, S], S],
    threads: int | None = None,
) -> S:
    """merge over the blocks b₁, b₂, ... of accumulate(bᵢ), in order.

    Parameters
    ----------
    source : rows in blocks; empty blocks are skipped
    accumulate : one block → statistics; runs on a pool thread, with BLAS on one thread
    merge : (statistics of earlier rows, statistics of later rows) → statistics; runs on the calling thread
    threads : default `credo.numerics.available_threads()`; 1 runs everything on the calling thread

    Raises
    ------
    DataError : the source holds no rows.
    ParameterError : `threads` is not an integer ≥ 1.
    Whatever `accumulate` raises, with the number of the block's first row as a note and as `first_row`.

    At most 2 × threads blocks are read ahead. A source that computes elsewhere (Dask) supplies its own `reduce`.

    >>> from credo.blocks import ArraySource
    >>> import numpy as np
    >>> reduce(ArraySource(np.ones((10, 3)), block_rows=4), lambda b: b.X.sum(axis=0), np.add).tolist()
    [10.0, 10.0, 10.0]
    """
    elsewhere = getattr(source, "reduce", None)
    results = [elsewhere(accumulate, merge)] if elsewhere else map_blocks(source, accumulate, threads)
    total = merge_in_order(results, merge)
    if total is None:
        raise DataError("The source holds no rows.", value=0, remedy="Check the file, filter or generator behind it.")
    return total


def map_blocks(source: Source, function: Callable[[Block], S], threads: int | None = None) -> Iterator[S]:
    """function(block) of every non-empty block, in the order of the rows, computed ahead on a thread pool.

    >>> from credo.blocks import ArraySource
    >>> import numpy as np
    >>> list(map_blocks(ArraySource(np.ones((5, 1)), block_rows=2), lambda b: b.n_rows))
    [2, 2, 1]
    """
    workers = checked_threads(threads)

    def job(block: Block) -> S:
        try:
            return function(block)
        except Exception as error:
            error.add_note(f"In the block of rows that starts at row {block.start}.")
            error.first_row = block.start  # type: ignore[attr-defined]
            raise

    blocks = (block for block in source if block.n_rows)
    with single_blas_thread():
        yield from map(job, blocks) if workers == 1 else in_order(job, blocks, workers)


def in_order(job: Callable[[T], S], parts: Iterator[T], workers: int) -> Iterator[S]:
    """Results in order from a pool with at most 2 × workers parts in flight, so that memory stays bounded."""
    pool = ThreadPoolExecutor(workers, thread_name_prefix="credo-block")
    waiting: deque[Future[S]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(job, part))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # also on KeyboardInterrupt, or when the consumer stops early: nothing is left running
        pool.shutdown(wait=True, cancel_futures=True)


def merge_in_order(results: Iterable[S], merge: Callable[[S, S], S]) -> S | None:
    """The binary-counter tree over results in order; None when there are none."""
    stack: list[tuple[int, S]] = []  # (blocks held, statistics), sizes strictly decreasing
    for result in results:
        size, total = 1, result
        while stack and stack[-1][0] == size:
            earlier_size, earlier = stack.pop()
            size, total = size + earlier_size, merge(earlier, total)
        stack.append((size, total))
    if not stack:
        return None
    _, total = stack.pop()
    while stack:
        total = merge(stack.pop()[1], total)
    return total


def checked_threads(threads: int | None) -> int:
    if threads is None:
        return available_threads()
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise ParameterError("reduce", "threads", "an integer ≥ 1 or None", threads)
    return threads
