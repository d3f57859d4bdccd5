"""`RowQuestions`: what a network is asked of many rows at once; `batch` answers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

__all__ = ["RowQuestions"]


class RowQuestions:
    """The methods of `BayesianNetwork` that take a table."""

    def predict(self, frame: Any, target: str, *, error: Literal["warn", "raise"] = "warn") -> np.ndarray:
        """The most probable state of `target` for each row (n,), given the row's other cells; any may be missing.

        frame, error : as of `predict_proba`; of an impossible row the prediction is None
        """
        from credo.models.network.batch import predict

        return predict(self, frame, target, error)  # type: ignore[arg-type]

    def predict_proba(self, frame: Any, target: str, *, error: Literal["warn", "raise"] = "warn") -> np.ndarray:
        """P(target | the row's other cells) for each row: (n, states of the target, in order).

        Parameters
        ----------
        frame : a pandas, polars or Arrow table, a mapping from nodes to cells, a list of dicts, or a dict, which is one
            row. None, NaN and null are missing, as are nodes that are no column. A column of the target is not looked
            at.
        error : what becomes of rows whose cells exclude each other: "warn" makes them NaN, and warns, naming them;
            "raise" raises

        Raises
        ------
        DataError : a cell that is no state, by row and column
        ZeroProbabilityError : impossible rows, under ``error="raise"``; their numbers are its `value`

        Cost: a few microseconds a row that differs from all others, on networks of some dozens of nodes; the sums are
        over a row's missing cells alone, and what cannot matter to it is left out.
        """
        from credo.models.network.batch import predict_proba

        return predict_proba(self, frame, target, error)  # type: ignore[arg-type]

    def log_likelihood(self, frame: Any) -> np.ndarray:
        """log P(the row's cells) for each row (n,): missing cells are summed out, and −∞ is an impossible row."""
        from credo.models.network.batch import log_likelihood

        return log_likelihood(self, frame)  # type: ignore[arg-type]

    def impute(self, frame: Any, *, error: Literal["warn", "raise"] = "warn") -> Any:
        """The frame with its missing cells filled: row by row the states that are most probable *together* (MPE).

        So a row never holds states that exclude each other, as the most probable states one by one may. Nodes that are
        no column are added as columns; impossible rows stay as they are, with a warning.

        frame, error : as of `predict_proba`; the result is of the same kind
        """
        from credo.models.network.batch import impute

        return impute(self, frame, error)  # type: ignore[arg-type]
