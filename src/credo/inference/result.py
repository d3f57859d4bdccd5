"""`Result`: what an engine reports beside its answer. An engine never fails in silence and never only prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from credo.saving.registry import register

__all__ = ["Result", "STATUSES"]

#: every status, with the sentence that names the remedy
STATUSES = {
    "exact": "The answer is exact up to rounding.",
    "converged": "The stopping rule was met.",
    "max_iter": "Stopped at the iteration limit: raise max_iter, or rescale the inputs.",
    "diverged": "The objective left the range of floating point: rescale the inputs or use a stronger prior.",
    "not_identified": "The data and the prior do not determine the answer: give a proper prior.",
    "not_certified": "The answer's certificate failed: see the advice.",
    "interrupted": "Stopped by the user: the answer is what had been computed so far.",
}


@register
@dataclass(frozen=True)
class Result:
    """How an inference went.

    status : one of `STATUSES`
    inference : the rung that produced the answer ("exact", "collapsed", "laplace", "map", "nuts"...)
    objective : value of the objective at each iteration (empty for closed forms); its meaning is the engine's
    seconds : wall time of each entry of `objective`, or the total alone
    certificate : name → value of what certifies the answer ("pareto_k", "quadrature_error", "rhat"...)
    advice : sentences: what happened, the likely cause, the next step
    """

    status: str
    inference: str
    objective: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    certificate: dict[str, Any] = field(default_factory=dict)
    advice: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"unknown status {self.status!r}")

    @property
    def ok(self) -> bool:
        return self.status in ("exact", "converged")

    @property
    def message(self) -> str:
        """The status's sentence followed by the advice."""
        return " ".join((STATUSES[self.status], *self.advice))

    @property
    def n_iter(self) -> int:
        return len(self.objective)
