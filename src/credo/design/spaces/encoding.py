"""Rows of parameters ↔ points of the unit cube, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from credo.design.spaces.parameters import Parameter

__all__ = ["Column", "Encoded", "columns_of", "encode", "decode"]


class Column(NamedTuple):
    """One coordinate of the cube: whose it is, what it means ("real", "integer", "ordinal", "boolean", "categorical"),
    and for one-hot coordinates which value it stands for."""

    parameter: str
    kind: str
    value: Any = None


class Encoded(NamedTuple):
    """`X` (n, width) within [0, 1], and `active` of the same shape: False where a parameter does not matter, and the
    coordinate is only the middle of its range."""

    X: np.ndarray
    active: np.ndarray


def columns_of(parameters: Mapping[str, Parameter]) -> tuple[Column, ...]:
    """The coordinates in order."""
    listed: list[Column] = []
    for name, parameter in parameters.items():
        if parameter.kind == "categorical":
            listed += [Column(name, parameter.kind, value) for value in parameter.choices]  # type: ignore[attr-defined]
        elif parameter.width:
            listed.append(Column(name, parameter.kind))
    return tuple(listed)


def encode(parameters: Mapping[str, Parameter], rows: Sequence[Mapping[str, Any]]) -> Encoded:
    """Coordinates of rows that the space contains; O(n · width)."""
    blocks, masks = [], []
    for name, parameter in parameters.items():
        if parameter.width == 0:
            continue
        present = np.array([name in row for row in rows], dtype=bool)
        block = np.tile(parameter.midpoint, (len(rows), 1))
        if present.any():
            block[present] = parameter.to_unit([row[name] for row in rows if name in row])
        blocks.append(block)
        masks.append(np.repeat(present[:, None], parameter.width, axis=1))
    if not blocks:
        return Encoded(np.empty((len(rows), 0)), np.empty((len(rows), 0), dtype=bool))
    return Encoded(np.concatenate(blocks, axis=1), np.concatenate(masks, axis=1))


def decode(parameters: Mapping[str, Parameter], X: np.ndarray) -> list[dict[str, Any]]:
    """The value of every parameter, active or not, nearest to each row of coordinates."""
    values, start = {}, 0
    for name, parameter in parameters.items():
        values[name] = parameter.from_unit(X[:, start : start + parameter.width])
        start += parameter.width
    return [dict(zip(values, row)) for row in zip(*values.values())]
