"""What a conditional Gaussian network is asked of many rows at once, and beyond memory; `mixed_rows` and
`mixed_weighting` answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from credo.models.network.gaussian.mixed_weighting import MixedEstimates

__all__ = ["MixedRowQuestions"]


class MixedRowQuestions:
    """The methods of `ConditionalGaussianNetwork` that take a table, and estimates."""

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

    def estimate_marginals(
        self, evidence: Mapping[str, Any] | None = None, *, n_samples: int = 10_000, random_state: Any = 0
    ) -> MixedEstimates:
        """Marginals with standard errors, for networks too large for exact answers.

        Discrete nodes are drawn forwards; under each draw the continuous ones are conditioned exactly, and the evidence
        weighs it. `marginals` does this by itself, with a warning, where exact answers do not fit into memory.

        Warns below an effective size of 400. Raises `NumericalError` where no draw agrees with the evidence.
        """
        from credo.models.network.gaussian.mixed_structure import checked_evidence
        from credo.models.network.gaussian.mixed_weighting import weighted_marginals
        from credo.numerics.random import as_generator

        network: Any = self
        hard, numbers = checked_evidence(network.structure_, network.states, evidence)
        return weighted_marginals(network, hard, numbers, as_generator(random_state), n_samples)
