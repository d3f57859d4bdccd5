"""How many rows make a block: a function of the width alone, so that the partition never depends on the machine."""

from __future__ import annotations

from collections.abc import Iterator

from credo.errors import ParameterError

__all__ = ["rows_per_block", "row_ranges"]

# 2¹⁷ float64 = 1 MiB: a block and the centred copy that most statistics make of it stay in a 2 MiB L2 cache, and
# 1e6 × 20 rows make about 150 blocks, enough to share among threads and few enough that Python's cost per block
# (some 50 µs) stays below 1 %.
CELLS_PER_BLOCK = 2**17
# Fewer rows than this and BLAS' rank-k update no longer reaches its speed, however wide the rows.
LEAST_ROWS = 256
# More rows than this bring nothing to narrow tables, and delay the first block of a stream.
MOST_ROWS = 2**16


def rows_per_block(n_columns: int) -> int:
    """Rows of a block of `n_columns` columns: 2¹⁷ cells, between 256 and 65 536 rows.

    >>> rows_per_block(20), rows_per_block(1), rows_per_block(100_000)
    (6553, 65536, 256)
    """
    return min(MOST_ROWS, max(LEAST_ROWS, CELLS_PER_BLOCK // max(1, n_columns)))


def row_ranges(n_rows: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of every block of `size` rows, the last one shorter."""
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)


def checked_block_rows(owner: str, block_rows: int | None, n_columns: int) -> int:
    """`block_rows` if the user stated it, else the rule above."""
    if block_rows is None:
        return rows_per_block(n_columns)
    if not isinstance(block_rows, int) or isinstance(block_rows, bool) or block_rows < 1:
        raise ParameterError(owner, "block_rows", "an integer ≥ 1 or None", block_rows)
    return block_rows
