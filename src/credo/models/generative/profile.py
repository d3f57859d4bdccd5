"""What a generative classifier expects of a row of each class, column by column, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.models.listing import Listing
from credo.numerics.random import as_generator
from credo.numerics.readable import aligned, number, percent

__all__ = ["class_profile"]

# Rows drawn for each class: shares are then known to a percentage point, ends of intervals to 3 % of their width.
_DRAWS = 4000
# Levels of a category named in a cell.
_MOST_LEVELS = 2


def class_profile(
    model: Any,
    names: Sequence[str],
    labels: Sequence[str],
    levels: Sequence[tuple[str, ...] | None] | None = None,
    mass: float = 0.9,
) -> Listing:
    """Rows of columns, a column for each class: the median and the central interval of a number, the usual levels of a
    category; above them the probabilities of the classes.

    levels : for each column the names of its codes, None where it holds numbers. By `model.beliefs_`, in draws that are
    always the same.
    """
    k, d = len(labels), len(names)
    codes = np.repeat(np.arange(k), _DRAWS)
    cells, is_category = np.empty((len(codes), d)), np.zeros(d, dtype=bool)
    rng = as_generator(0)
    for part, belief in zip(model.parts_, model.beliefs_, strict=True):
        where = np.arange(d) if part.columns is None else np.asarray(part.columns)
        cells[:, where] = belief.sample(codes, rng, integrated=True)
        is_category[where] = part.family.name in ("categorical", "bernoulli")
    rows = [("(share of rows)", *(percent(float(p), 2) for p in model.class_belief_.probability))]
    for j, name in enumerate(names):
        each = cells[:, j].reshape(k, _DRAWS)
        if is_category[j]:
            named = _level_names(model, j, None if levels is None else levels[j])
            rows.append((name, *(_usual(own, named) for own in each)))
        else:
            rows.append((name, *(_spread(own, mass) for own in each)))
    return Listing(("column", *labels), tuple(rows))


def _level_names(model: Any, j: int, levels: tuple[str, ...] | None) -> list[str]:
    """The names of the codes that the model's column holds."""
    known = getattr(model, "categories_", None)
    values = [0.0, 1.0] if known is None or known[j] is None else list(known[j])
    if levels is not None:
        return [levels[int(value)] for value in values]
    return [number(value) if isinstance(value, (int, float)) else str(value) for value in values]


def _usual(codes: np.ndarray, names: list[str]) -> str:
    counts = np.bincount(codes.astype(np.intp), minlength=len(names)) / len(codes)
    order = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
    return ", ".join(f"{names[code]} {percent(float(counts[code]), 2)}" for code in order if counts[code] >= 0.005)


def _spread(values: np.ndarray, mass: float) -> str:
    low, median, high = np.quantile(values, [0.5 - 0.5 * mass, 0.5, 0.5 + 0.5 * mass])
    texts = aligned([low, median, high], float(high - low) / 4.0)
    return f"{texts[1]} ({texts[0]} … {texts[2]})"
