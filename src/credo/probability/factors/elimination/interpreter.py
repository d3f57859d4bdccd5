"""The records of a plan carried out by NumPy, one at a time: in logarithms, or in `Fraction`s."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from credo.probability.factors import tables
from credo.probability.factors.elimination.layout import HEAD, MAX

__all__ = ["interpret", "opened"]

# Products formed at once: 32 MB of logarithms.
CHUNK = 1 << 22


def interpret(
    code: np.ndarray, size: int, buffers: tuple[np.ndarray, np.ndarray], states: np.ndarray, logs: bool
) -> np.ndarray:
    """The room to work after all records; `buffers` are the tables given and the likelihoods. Nothing is rescaled."""
    given, extra = buffers
    work = np.zeros(size, dtype=given.dtype)
    work[0] = 0.0 if logs else 1
    everything = (given, work, extra)
    numbers, pc = code.tolist(), 0
    while pc < len(numbers):
        record = numbers[pc : pc + numbers[pc]]
        a, b, loops = opened(record, states)
        step(everything[record[2]], a, everything[record[5]], b, work, record[8], loops, record[1] == MAX, logs)
        pc += len(record)
    return work


def opened(record: list[int], states: np.ndarray) -> tuple[int, int, list[tuple[int, ...]]]:
    """Where a and b begin given the states observed, and the loops (n, stride of a, of b, of out)."""
    a, b = record[3], record[6]
    n_loops, n_a, n_b = record[13:16]
    loops = [tuple(record[HEAD + 4 * i : HEAD + 4 * i + 4]) for i in range(n_loops)]
    slices = record[HEAD + 4 * n_loops :]
    for i in range(n_a + n_b):
        shift = int(states[slices[2 * i]]) * slices[2 * i + 1]
        a, b = (a + shift, b) if i < n_a else (a, b + shift)
    return a, b, loops


def step(
    A: np.ndarray,
    a: int,
    B: np.ndarray,
    b: int,
    work: np.ndarray,
    out: int,
    loops: list[Any],
    largest: bool,
    logs: bool,
) -> None:
    """out[…] = Σ or max of a[…] b[…] over the loops (n, stride of a, of b, of out) that do not move `out`."""
    entries = math.prod(loop[0] for loop in loops)
    longest = max((loop for loop in loops if loop[3]), key=lambda loop: loop[0], default=None)
    if entries > CHUNK and longest is not None:
        n, p, q, r = longest
        rest = [loop for loop in loops if loop is not longest]
        for i in range(n):
            step(A, a + i * p, B, b + i * q, work, out + i * r, rest, largest, logs)
        return
    shape = [loop[0] for loop in loops]
    views = [
        as_strided(X[x:], shape, [X.itemsize * loop[side] for loop in loops]) for X, x, side in ((A, a, 1), (B, b, 2))
    ]
    gone = tuple(axis for axis, loop in enumerate(loops) if not loop[3])
    product = tables.multiply(views[0], views[1], logs)
    found = tables.maximum(product, gone) if largest else tables.total(product, gone, logs)
    kept = [loop for loop in loops if loop[3]]
    as_strided(work[out:], [loop[0] for loop in kept], [work.itemsize * loop[3] for loop in kept])[...] = found
