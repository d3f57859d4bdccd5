"""`Trial`: one question and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Trial", "STATES"]

STATES = ("pending", "told", "failed", "pruned", "stale")


@dataclass(frozen=True)
class Trial:
    """A point to try, as `Study.ask` gives it.

    id : 0, 1, 2, … in the order of asking, unique over all workers of the study
    params : name → value; a parameter whose condition is false is absent
    state : "pending", "told", "failed", "pruned" or "stale" (its worker is gone)
    value : what was told; reason : why it failed or was pruned
    why : what the sampler says about the point (method, mean, sd…)
    reported : (step, value) pairs
    """

    id: int
    params: Mapping[str, Any]
    state: str = "pending"
    value: float | None = None
    reason: str | None = None
    why: Mapping[str, Any] = field(default_factory=dict)
    reported: tuple[tuple[int, float], ...] = ()
    lease: float | None = None
    worker: str | None = None

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    @property
    def is_finished(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.state in ("told", "failed", "pruned")
