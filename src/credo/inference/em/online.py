"""`OnlineEM`: parameters that follow a stream, one block at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from credo.blocks.source import Block
from credo.errors import ParameterError
from credo.inference.em.model import EMModel, merge, scaled
from credo.saving.registry import register

__all__ = ["OnlineEM"]


@register
@dataclass
class OnlineEM:
    """Stepwise EM: statistics are averaged over blocks with weights γ_t = (t + delay)^−forgetting, then an M-step.

    model, params : an `EMModel` whose statistics merge and scale, and where to start
    forgetting : in (½, 1]; 1 averages all blocks alike as though parameters never changed, lower ones forget the early
        statistics, which were gathered at poor parameters
    delay : blocks before the first step counts for little; ≥ 0

    Statistics are kept at the number of rows seen, so that priors weigh as they would in one fit.

    Cappé and Moulines (2009), On-line expectation–maximization algorithm for latent data models, JRSS B 71.
    """

    model: EMModel
    params: Any
    forgetting: float = 0.7
    delay: float = 2.0
    statistics: Any = None
    rows: float = 0.0
    steps: int = 0

    def __post_init__(self) -> None:
        if not 0.5 < self.forgetting <= 1.0:
            raise ParameterError("OnlineEM", "forgetting", "in (0.5, 1]", self.forgetting)
        if not self.delay >= 0.0:
            raise ParameterError("OnlineEM", "delay", "≥ 0", self.delay)

    def update(self, block: Block) -> Any:
        """Take in a block; the new parameters."""
        count = float(block.n_rows if block.weights is None else block.weights.sum())
        if count <= 0.0:
            return self.params
        fresh = self.model.accumulate(block, self.params)
        total = self.rows + count
        if self.statistics is None:
            self.statistics = fresh
        else:
            share = max((self.steps + self.delay) ** -self.forgetting, count / total)
            old = scaled(self.statistics, (1.0 - share) * total / self.rows)
            self.statistics = merge(old, scaled(fresh, share * total / count))
        self.rows, self.steps = total, self.steps + 1
        self.params = self.model.finalize(self.statistics)
        return self.params
