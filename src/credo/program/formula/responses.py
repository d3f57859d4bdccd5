"""The response as numbers: values, levels, and the trials they are out of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.program.formula.columns import Frame, leveled
from credo.program.formula.design import Design
from credo.program.formula.effects import tell_order
from credo.program.formula.families import ResponseFamily
from credo.program.formula.sheet import Sheet, evaluate
from credo.program.formula.syntax import Name, Number
from credo.program.formula.terms import Formula

__all__ = ["prepared_response", "trials_of"]


def prepared_response(design: Design, family: ResponseFamily, trials: np.ndarray | None, frame: Frame) -> Design:
    """The design with its response as the family takes it: ordered categories as places among their levels, shares of
    trials as counts. What the family cannot give is a `DataError`."""
    formula = design.formula
    assert formula.response is not None
    assert design.response is not None
    text, y = formula.response.text, design.response
    if family.has_levels:
        design = _leveled(design, family, frame)
    elif family.values == "trials" and trials is not None and np.any(y != np.floor(y)):
        counts = np.round(y * trials)
        if np.all((y >= 0) & (y <= 1)) and np.allclose(counts, y * trials, rtol=0.0, atol=1e-6):
            design = replace(design, response=counts)
    family.check(design.response, design.response_levels, trials, text, design.rows)  # type: ignore[arg-type]
    return design


def _leveled(design: Design, family: ResponseFamily, frame: Frame) -> Design:
    """Classes as places among their levels."""
    formula, levels = design.formula, design.response_levels
    assert formula.response is not None
    assert design.response is not None
    if family.is_ordered and not formula.intercept:
        raise ParameterError(
            "regress", "formula", "with its intercept for family 'ordinal': cut-points take its place", formula.text,
            "Leave out '0 +' or '- 1'.",
        )  # fmt: skip
    y, node = design.response, formula.response.node
    if isinstance(node, Name) and levels:
        if family.is_ordered:
            tell_order(formula.response.text, levels, frame.read[node.name].is_stated)
    else:
        levels, codes = leveled(y)
        design = replace(
            design, response=codes.astype(np.float64), encoder=replace(design.encoder, response_levels=levels)
        )
    if len(levels) == 1:
        raise DataError(f"The response {formula.response.text} is {levels[0]!r} in all {len(y)} rows.", value=levels)
    if len(levels) > 50:
        raise DataError(
            f"The response {formula.response.text} has {len(levels)} categories; {family.name!r} has 50 at most.",
            value=len(levels),
            remedy="Of measured numbers: family 'gaussian'.",
        )
    return design


def trials_of(
    family: ResponseFamily, formula: Formula, trials: Any, frame: Frame, n: int, rows: np.ndarray
) -> np.ndarray | None:
    """The number of trials of these rows, out of n of the table; None of families that have none."""
    if family.values != "trials":
        if trials is not None or formula.trials is not None:
            raise ParameterError("regress", "trials", f"None for family {family.name!r}", trials or str(formula))
        return None
    if trials is None and formula.trials is not None:
        node = formula.trials.node
        if isinstance(node, Number):
            return _counted(np.full(n, node.value)[rows], rows)
        sheet = Sheet(frame.cells(formula.trials.columns), np.arange(n)).take(rows)
        return _counted(evaluate(node, sheet, {}, learn=True), rows)
    if isinstance(trials, str):
        values = frame.cells([trials])[trials].as_numbers()
    elif trials is None or isinstance(trials, bool):
        constraint = "a column or a whole number, for family 'binomial'"
        raise ParameterError("regress", "trials", constraint, trials, "Or write k | trials(n) ~ x.")
    else:
        values = np.asarray(trials, dtype=np.float64)
    return _counted(np.broadcast_to(values, (n,))[rows], rows)


def _counted(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    bad = np.flatnonzero(~(values >= 0) | (values != np.floor(values)))
    if bad.size:
        raise DataError(
            f"trials must be whole numbers ≥ 0; row {rows[bad[0]]} has {values[bad[0]]:g}.",
            rows=rows[bad[:20]].tolist(),
            value=float(values[bad[0]]),
        )
    return values
