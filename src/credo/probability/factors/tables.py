"""Arithmetic on tables of probabilities, in three kinds: floating, exact (`Fraction`s and integers), or logarithms.

Floating and exact tables share the ordinary operators; tables of logarithms have their own.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["as_logs", "as_table", "divide", "maximum", "multiply", "to_log", "total"]


def as_table(values: Any) -> np.ndarray:
    """float64, or objects where every entry is a `Fraction` or integer and some are `Fraction`s. Copied, ≥ 0."""
    try:
        table = np.array(values)
        if table.dtype == object:
            entries = table.ravel().tolist()
            exact = all(isinstance(v, numbers.Rational) for v in entries)
            table = np.array([Fraction(v) if exact else float(v) for v in entries], dtype=object if exact else float)
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
        raise ParameterError("Factor", f"{parameter}[{', '.join(map(str, place))}]", constraint, table[place])


def to_log(table: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(table.astype(np.float64))


def multiply(a: np.ndarray, b: np.ndarray, logs: bool) -> np.ndarray:
    return a + b if logs else a * b


def divide(a: np.ndarray, b: np.ndarray, logs: bool) -> np.ndarray:
    """a/b with 0/0 = 0: what had no mass keeps none. The caller has seen to it that nothing else is over 0."""
    if logs:
        return a - np.where(b == -np.inf, 0.0, b)
    return a / np.where(b == 0, 1, b)


def total(table: np.ndarray, axes: tuple[int, ...], logs: bool, keepdims: bool = False) -> np.ndarray:
    """Sum over axes; of logarithms log Σ exp, from the largest."""
    if not axes:
        return table
    if not logs:
        return np.asarray(np.sum(table, axis=axes, keepdims=keepdims))
    top = np.max(table, axis=axes, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.sum(np.exp(table - shift), axis=axes, keepdims=True)) + shift
    return found if keepdims else np.asarray(np.squeeze(found, axis=axes))


def maximum(table: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.max(table, axis=axes)) if axes else table
