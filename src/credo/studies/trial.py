"""`Trial`: one question and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from credo.errors import UnavailableError

__all__ = ["Trial", "STATES"]

STATES = ("pending", "told", "failed", "pruned", "stale")


@dataclass(frozen=True)
class Trial:
    """A point to try, as `Study.ask` gives it.

    id : 0, 1, 2, … in the order of asking, unique over all workers of the study
    params : name → value; a parameter whose condition is false is absent
    state : "pending", "told", "failed", "pruned" or "stale" (its worker is gone)
    values : what was told, a number for each objective; of a pruned trial the last intermediate value, if any; or None
    constraints : what was told of them, met where ≤ 0; None without any
    reason : why it failed or was pruned
    why : what the sampler says about the point: method; mean and sd that it expected, in the objective's own units; …
    reported : (step, value) pairs; the value is None where it was not finite
    """

    id: int
    params: Mapping[str, Any]
    state: str = "pending"
    values: tuple[float, ...] | None = None
    reason: str | None = None
    why: Mapping[str, Any] = field(default_factory=dict)
    reported: tuple[tuple[int, float | None], ...] = ()
    lease: float | None = None
    worker: str | None = None
    constraints: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        told = "" if self.values is None else f", {', '.join(map(repr, self.values))}"
        broken = "" if self.is_feasible else f", constraints {list(self.constraints or ())}"
        said = "" if self.reason is None else f": {self.reason}"
        return f"Trial({self.id}, {dict(self.params)}, {self.state}{told}{broken}{said})"

    def __getitem__(self, name: str) -> Any:
        return self.params[name]

    @property
    def value(self) -> float | None:
        """What was told; `UnavailableError` where that is two numbers."""
        if not self.values:
            return None
        value, *others = self.values
        if others:
            raise UnavailableError(f"Trial {self.id} has {len(self.values)} values.", remedy="Take trial.values.")
        return value

    @property
    def is_feasible(self) -> bool:
        """Whether no constraint that was told is broken."""
        return all(constraint <= 0.0 for constraint in self.constraints or ())

    @property
    def is_finished(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.state in ("told", "failed", "pruned")
