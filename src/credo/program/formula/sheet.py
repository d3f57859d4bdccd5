"""Rows to work on, and arithmetic on their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import DataError
from credo.program.formula.columns import Cells
from credo.program.formula.functions import ELEMENTWISE, FUNCTIONS
from credo.program.formula.syntax import Call, Chain, Name, Node, Number, Paren, Sign, names_in
from credo.saving import register

__all__ = ["Sheet", "Moments", "evaluate"]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns by name, and `rows` (n,), the numbers that their rows have in the user's table."""

    cells: Mapping[str, Cells]
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: np.ndarray) -> Sheet:
        return Sheet({name: cells.take(rows) for name, cells in self.cells.items()}, self.rows[rows])


@register
@dataclass(frozen=True)
class Moments:
    """(x − center) / scale."""

    center: float
    scale: float

    @classmethod
    def fit(cls, function: str, x: np.ndarray, text: str) -> Moments:
        """Of center(x), the mean; of scale(x), the mean and the sample's sd (n − 1)."""
        center = float(np.mean(x))
        if function == "center":
            return cls(center, 1.0)
        sd = float(np.std(x, ddof=1)) if len(x) > 1 else 0.0
        if not sd > 0:
            raise DataError(f"{text}: the column is constant and has no scale.", value=center)
        return cls(center, sd)

    def transform(self, x: np.ndarray) -> np.ndarray:
        return (x - self.center) / self.scale


def evaluate(node: Node, sheet: Sheet, moments: dict[str, Moments], learn: bool) -> np.ndarray:
    """An arithmetic expression's value in every row (n,), finite.

    `moments` are those of center(…) and scale(…) by their text; with `learn` they are found from these rows and put
    there.

    Raises
    ------
    DataError : a column of words; a value that is not a finite number (rows and cells are named).
    """
    with np.errstate(all="ignore"):
        value = np.asarray(_value(node, sheet, moments, learn), dtype=np.float64)
    value = np.array(np.broadcast_to(value, (len(sheet),)))
    bad = np.flatnonzero(~np.isfinite(value))
    if bad.size:
        first = bad[0]
        names = names_in(node)
        cells = ", ".join(f"{name} = {sheet.cells[name].as_numbers()[first]:.6g}" for name in names)
        raise DataError(
            f"{node} is {value[first]:g} in {bad.size} of {len(value)} rows (first: row {sheet.rows[first]}, {cells}).",
            rows=sheet.rows[bad[:20]].tolist(),
            columns=names,
            value=float(value[first]),
            remedy="Drop these rows, or use another function.",
        )
    return value


def _value(node: Node, sheet: Sheet, moments: dict[str, Moments], learn: bool) -> Any:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name):
        return sheet.cells[node.name].as_numbers()
    if isinstance(node, Paren):
        return _value(node.inner, sheet, moments, learn)
    if isinstance(node, Sign):
        value = np.asarray(_value(node.operand, sheet, moments, learn), dtype=np.float64)
        return -value if node.operator == "-" else value
    if isinstance(node, Chain):
        value = _value(node.first, sheet, moments, learn)
        for operator, operand in node.rest:
            # float64 throughout: a comparison's value is 0 or 1, and 2**-1 is a half
            value = _OPERATIONS[operator](_floats(value), _floats(_value(operand, sheet, moments, learn)))
        return value
    assert isinstance(node, Call)
    if FUNCTIONS[node.function].kind == "moments":
        text = str(node)
        if learn and text not in moments:
            moments[text] = Moments.fit(node.function, evaluate(node.arguments[0], sheet, moments, learn), text)
        return moments[text].transform(_floats(_value(node.arguments[0], sheet, moments, learn)))
    argument = _floats(_value(node.arguments[0], sheet, moments, learn))
    return argument if node.function in ("I", "offset") else ELEMENTWISE[node.function](argument)


def _floats(value: Any) -> np.ndarray:
    return np.asarray(value, dtype=np.float64)
