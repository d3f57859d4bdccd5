"""Arithmetic on tables of probabilities, in three kinds: floating, exact (`Fraction`s and integers), or logarithms.

Floating and exact tables share the ordinary operators; tables of logarithms have their own.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from credo.errors import MemoryLimitError, NumericalError, ParameterError
from credo.probability.masses import exactly

__all__ = ["as_logs", "as_table", "check_memory", "divide", "maximum", "multiply", "to_log", "total"]

# The smallest normal number: a table whose largest entry is below has lost digits, or everything.
SMALLEST = float(np.finfo(np.float64).tiny)
# Bytes of one table: what a machine of these days spares without swapping.
MEMORY_LIMIT = 4 * 2**30


def as_table(values: Any) -> np.ndarray:
    """float64, or objects where every entry is a `Fraction` or integer and some are `Fraction`s. Copied, ≥ 0."""
    try:
        table = np.array(values)
        if table.dtype.kind == "c":
            raise TypeError("complex")
        if table.dtype == object:
            entries = table.ravel().tolist()
            exact = all(isinstance(v, numbers.Rational) for v in entries)
            table = np.array([exactly(v) if exact else float(v) for v in entries], dtype=object if exact else float)
            table = table.reshape(np.shape(values))
        else:
            table = table.astype(np.float64)
    except (TypeError, ValueError):
        raise ParameterError("Factor", "values", "an array of numbers", values) from None
    wrong = table < 0 if table.dtype == object else ~((table >= 0.0) & (table < np.inf))
    _refuse(wrong, table, "values", "finite and ≥ 0")
    return table


def as_logs(log_values: Any) -> np.ndarray:
    """float64 logarithms: −∞ allowed, NaN and +∞ not."""
    try:
        table = np.array(log_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("Factor", "log_values", "an array of numbers", log_values) from None
    _refuse(~(table < np.inf), table, "log_values", "below +∞ and not NaN")
    return table


def _refuse(wrong: np.ndarray, table: np.ndarray, parameter: str, constraint: str) -> None:
    if np.any(wrong):
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f"[{', '.join(map(str, place))}]" if place else ""
        raise ParameterError("Factor", f"{parameter}{where}", constraint, table.item(*place))


def _beyond(what: str, largest: float) -> NumericalError:
    return NumericalError(
        f"Factor: the largest entry of a {what} is beyond floating point ({largest:.3g}).",
        value=float(largest),
        remedy="Hold logarithms instead: Factor.from_log(names, factor.log_values, factor.states).",
    )


def to_log(table: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(table.astype(np.float64))


def check_memory(what: str, a: np.ndarray, b: np.ndarray) -> None:
    needed = 8 * math.prod(np.broadcast_shapes(a.shape, b.shape))
    if needed > MEMORY_LIMIT:
        raise MemoryLimitError(
            f"Factor: the table of a {what} would need {needed / 2**30:.3g} GiB, above {MEMORY_LIMIT / 2**30:.3g} GiB.",
            value=needed,
            remedy="Ask a FactorGraph of the factors, which forms no table over all variables, or condition first.",
        )


def multiply(a: np.ndarray, b: np.ndarray, logs: bool) -> np.ndarray:
    check_memory("product", a, b)
    if logs:
        return a + b
    with np.errstate(over="ignore", under="ignore"):
        found = a * b
    if found.dtype != object:
        top = np.max(found)
        lost = top < SMALLEST <= min(np.max(a), np.max(b)) and np.any((a > 0.0) & (b > 0.0))
        if lost or top == np.inf:
            raise _beyond("product", top)
    return found


def divide(a: np.ndarray, b: np.ndarray, logs: bool) -> np.ndarray:
    """a/b with 0/0 = 0: what had no mass keeps none. The caller has seen to it that nothing else is over 0."""
    if logs:
        return a - np.where(b == -np.inf, 0.0, b)
    with np.errstate(over="ignore", under="ignore"):
        found = a / np.where(b == 0, 1, b)
    if found.dtype != object and np.max(found) == np.inf:
        raise _beyond("quotient", np.inf)
    return found


def total(table: np.ndarray, axes: tuple[int, ...], logs: bool, keepdims: bool = False) -> np.ndarray:
    """Sum over axes; of logarithms log Σ exp, from the largest."""
    if not axes:
        return table
    if not logs:
        with np.errstate(over="ignore"):
            found = np.asarray(np.sum(table, axis=axes, keepdims=keepdims))
        if found.dtype != object and np.any(found == np.inf):
            raise _beyond("sum", np.inf)
        return found
    top = np.max(table, axis=axes, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.sum(np.exp(table - shift), axis=axes, keepdims=True)) + shift
    return found if keepdims else np.asarray(np.squeeze(found, axis=axes))


def maximum(table: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.max(table, axis=axes)) if axes else table
