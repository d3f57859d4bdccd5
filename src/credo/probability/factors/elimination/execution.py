"""`run` a plan: by the compiled kernel, and where floating point or its range do not do, by NumPy."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from credo.errors import ParameterError, ZeroProbabilityError
from credo.probability.factors import tables
from credo.probability.factors.elimination.interpreter import interpret
from credo.probability.factors.elimination.layout import MATRICES, Place
from credo.probability.factors.elimination.plan import Choice, Plan

__all__ = ["Packed", "Run", "impossible", "pack", "run", "run_exactly", "trace_back"]

_NO_STATES = np.empty(0, dtype=np.int64)
_NO_LIKELIHOODS = np.empty(0)
# As in the kernel: products of two entries above this stay within floating point.
TINY = 1e-140


@dataclass(frozen=True, eq=False)
class Packed:
    """Tables end to end, each divided by its largest entry, as `run` takes them.

    flat : the entries ; log_scale (n,) : logarithms of the divisors ; tiny : whether some are positive and below 1e-140
    exact_logs : logarithms of the entries, where tables came as logarithms
    """

    flat: np.ndarray
    log_scale: np.ndarray
    tiny: bool
    exact_logs: np.ndarray | None = None

    @functools.cached_property
    def logs(self) -> np.ndarray:
        """Logarithms of the entries."""
        return logs_of(self.flat) if self.exact_logs is None else self.exact_logs


def pack(given: Sequence[np.ndarray], logs: Sequence[bool] | None = None) -> Packed:
    """From tables ≥ 0, or of logarithms where `logs` says so.

    >>> pack([np.array([0.5, 0.25])]).flat
    array([1. , 0.5])
    """
    held = [np.asarray(table, dtype=np.float64).ravel() for table in given]
    is_log = [False] * len(held) if logs is None else list(logs)
    tops = [float(table.max()) for table in held]
    tops = [top if top > (-np.inf if log else 0.0) else float(not log) for top, log in zip(tops, is_log, strict=True)]
    rows = list(zip(held, tops, is_log, strict=True))
    flat = np.concatenate([np.empty(0), *(np.exp(table - top) if log else table / top for table, top, log in rows)])
    exact = None
    tiny = bool(np.any((flat < TINY) & (flat > 0.0)))
    if any(is_log):
        exact = np.concatenate([table - top if log else logs_of(table / top) for table, top, log in rows])
        tiny = bool(np.any((flat < TINY) & (exact > -np.inf)))
    return Packed(flat, np.array([top if log else math.log(top) for _, top, log in rows]), tiny, exact)


@dataclass(frozen=True, eq=False)
class Run:
    """What a plan came to.

    work : all tables formed ; logs : whether these are logarithms
    log_scale : log of what `work` must be multiplied by, without the scales of `Packed`; of a batch an array
    """

    plan: Plan
    work: np.ndarray
    logs: bool
    log_scale: Any

    def output(self, place: int = 0) -> np.ndarray:
        """A result as an array over its targets (and the batch, last), up to its scale; a view."""
        output = self.plan.outputs[place]
        if not output.shape:
            return np.zeros(()) if self.logs else np.ones(())
        return self.work[output.offset : output.offset + math.prod(output.shape)].reshape(output.shape)

    @property
    def log_total(self) -> Any:
        """log of the total (of a maximum, for "max"), without the scales of `Packed`; of a batch an array."""
        if self.plan.marginals:
            return self.log_scale
        table = self.output()
        axes = tuple(range(table.ndim - self.plan.outputs[0].batched))
        top = np.max(table, axis=axes)
        if not axes or self.plan.choices:
            return self.log_scale + (top if self.logs else logs_of(top))
        return self.log_scale + (tables.total(table, axes, True) if self.logs else logs_of(table.sum(axis=axes)))

    def probabilities(self, place: int = 0) -> np.ndarray:
        """The same, summing to 1 (column by column of a batch); NaN where the total is 0."""
        table = self.output(place)
        batched = self.plan.outputs[place].batched
        axes = tuple(range(table.ndim - batched))
        if self.logs:
            top = np.max(table, axis=axes, keepdims=True)
            table = np.exp(table - np.where(top > -np.inf, top, 0.0))
        total = np.sum(table, axis=axes, keepdims=True)
        return table / np.where(total > 0.0, total, np.nan)


def run(
    plan: Plan,
    packed: Packed,
    states: np.ndarray = _NO_STATES,
    likelihoods: np.ndarray = _NO_LIKELIHOODS,
    tiny: bool = False,
) -> Run:
    """Run the plan on these tables.

    states (evidence,) : int64, numbers of the states observed, which the caller has checked to be such
    likelihoods : the vectors end to end, each (states,) or (states, batch), of largest entries near 1
    tiny : whether some likelihoods are positive and below 1e-140

    Raises `ZeroProbabilityError` where the total is 0; in a batch the rows concerned have `log_scale` −∞ instead.
    Cost: what the kernel takes, and 4 µs.
    """
    from credo.probability.factors.elimination.kernel import execute

    if states.size != len(plan.evidence) or packed.flat.size != plan.given or likelihoods.size != plan.told:
        raise ParameterError(
            "run",
            "states, tables, likelihoods",
            f"of {len(plan.evidence)}, {plan.given} and {plan.told} entries, for which the plan was made",
            (states.size, packed.flat.size, likelihoods.size),
        )
    work = np.empty(plan.size)
    scale, counter, last = *scratch(plan.batch), plan.batch or 1
    status = 0
    for piece in plan.pieces:
        if piece[1] == MATRICES:
            from credo.probability.factors.elimination.matrices import multiply_matrices

            status = multiply_matrices(piece.tolist(), packed.flat, work, likelihoods, states, scale, plan.formed)
        else:
            few = packed.tiny or tiny
            status = execute(piece, packed.flat, work, likelihoods, states, scale, counter, plan.formed, few)
        if status:
            break
    if status == 0:
        return Run(plan, work, False, scale[:last] + scale[last] if plan.batch else scale[last])
    if status == 1:
        raise impossible()
    return run_in_logs(plan, packed, states, likelihoods)


def scratch(batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of scales for the kernel, and its loop counters."""
    return np.zeros(2 * (batch or 1) + 2), np.empty(64, dtype=np.int64)


def impossible() -> ZeroProbabilityError:
    return ZeroProbabilityError(
        "FactorGraph: the evidence has probability 0.", remedy="Look for states that exclude each other."
    )


def logs_of(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values)


def run_in_logs(plan: Plan, packed: Packed, states: np.ndarray, likelihoods: np.ndarray) -> Run:
    """The same in logarithms throughout: some ten times slower, and safe from underflow."""
    work = interpret(plan.code, plan.size, (packed.logs, logs_of(likelihoods)), states, logs=True)
    found: Any = np.zeros(plan.batch) if plan.batch else 0.0
    for offset, batched in plan.roots:
        found = found + (work[offset : offset + plan.batch] if batched else float(work[offset]))
    run = Run(plan, work, True, found)
    if not plan.batch and (found == -np.inf or any(np.max(run.output(i)) == -np.inf for i in range(len(plan.outputs)))):
        raise impossible()
    return run


def run_exactly(plan: Plan, flat: np.ndarray, states: np.ndarray) -> tuple[Any, np.ndarray]:
    """In `Fraction`s, of tables end to end: the product of the roots, and the room to work."""
    work = interpret(plan.code, plan.size, (flat, _NO_LIKELIHOODS), states, logs=False)
    total: Any = math.prod((work[offset] for offset, _ in plan.roots), start=Fraction(1))
    if total == 0 or any(not np.any(Run(plan, work, False, 0.0).output(i)) for i in range(len(plan.outputs))):
        raise impossible()
    return total, work


def trace_back(
    run: Run, packed: Packed, states: np.ndarray = _NO_STATES, likelihoods: np.ndarray = _NO_LIKELIHOODS
) -> dict[Hashable, Any]:
    """{variable: number of its state} at the maximum that a "max" plan found; arrays for a batch."""
    plan = run.plan
    given = packed.logs if run.logs else packed.flat
    extra = logs_of(likelihoods) if run.logs else likelihoods
    found: dict[int, Any] = {}
    for choice in plan.choices:
        _decide(choice, found, (given, run.work, extra), states, run.logs, plan.batch)
    return {plan.variables[v]: numbers if plan.batch else int(numbers[0]) for v, numbers in found.items()}


def _decide(
    choice: Choice, found: dict[int, Any], buffers: tuple[np.ndarray, ...], states: np.ndarray, logs: bool, batch: int
) -> None:
    """Given the variables that remain, the states of those maximised over in one step."""
    shape = tuple(n for *_, n in choice.chosen)
    grid = np.indices(shape).reshape(len(shape), -1)
    parts = []
    for place, batched, side in ((choice.a, choice.batched[0], 1), (choice.b, choice.batched[1], 2)):
        offset = _start(place, states) + (np.arange(batch) if batched else np.zeros(batch or 1, dtype=np.int64))
        for row in choice.known:
            offset = offset + found[row[0]] * row[side]
        within = sum(numbers * row[side] for numbers, row in zip(grid, choice.chosen, strict=True))
        parts.append(buffers[place.buffer][np.add.outer(within, offset)])
    best = np.argmax(parts[0] + parts[1] if logs else parts[0] * parts[1], axis=0)
    for row, numbers in zip(choice.chosen, np.unravel_index(best, shape), strict=True):
        found[row[0]] = numbers


def _start(place: Place, states: np.ndarray) -> int:
    return place.offset + sum(int(states[slot]) * stride for slot, stride in place.slices)
