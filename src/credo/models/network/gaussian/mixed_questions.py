"""What a conditional Gaussian network is asked of many rows at once; `mixed_rows` answers."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["MixedRowQuestions"]


class MixedRowQuestions:
    """The methods of `ConditionalGaussianNetwork` that take a table."""

    def predict_proba(self, frame: Any, target: str) -> np.ndarray:
        """P(discrete target | the row's other cells) for each row (n, states); any may be missing.

        frame : a pandas, polars or Arrow table, a mapping from nodes to cells, or a list of dicts. Impossible rows are
            NaN, with a warning.
        """
        from credo.models.network.gaussian.mixed_rows import predict_proba

        return predict_proba(self, frame, target)  # type: ignore[arg-type]

    def predict(self, frame: Any, target: str) -> np.ndarray:
        """The most probable state of a discrete target, or the mean of a continuous one, for each row (n,)."""
        from credo.models.network.gaussian.mixed_rows import predict

        return predict(self, frame, target)  # type: ignore[arg-type]

    def predict_moments(self, frame: Any, target: str) -> tuple[np.ndarray, np.ndarray]:
        """Exact mean and sd of a continuous target for each row (n,) and (n,)."""
        from credo.models.network.gaussian.mixed_rows import predict_moments

        return predict_moments(self, frame, target)  # type: ignore[arg-type]

    def log_likelihood(self, frame: Any) -> np.ndarray:
        """log p(the row's cells) for each row (n,): missing ones are summed and integrated out."""
        from credo.models.network.gaussian.mixed_rows import log_likelihood

        return log_likelihood(self, frame)  # type: ignore[arg-type]
