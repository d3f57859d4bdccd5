"""`Explanation`: what is done with each latent node, on which rung, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Explanation", "Step"]

# Treatments that draw.
SAMPLING = ("nuts", "metropolis", "slice", "importance", "gibbs", "nested Laplace")


@dataclass(frozen=True)
class Step:
    """What one pass did: its name, the nodes it concerns, one sentence."""

    name: str
    nodes: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Explanation:
    """The plan of a fit.

    rung : "exact", "collapsed", "nuts"…
    treatment : latent node → "exact", "conjugate", "quadrature", "nuts"…
    steps : what the passes did, in order
    """

    rung: str
    treatment: dict[str, str]
    steps: tuple[Step, ...] = ()

    @property
    def exact(self) -> tuple[str, ...]:
        """Nodes that are integrated out exactly, given the others."""
        return tuple(name for name, how in self.treatment.items() if how in ("exact", "conjugate"))

    def after(self, planned: str, done: str, steps: Iterable[Step]) -> Explanation:
        """What became of the plan: nodes that were to be treated one way were treated another, a certificate having
        failed."""
        treatment = {name: done if how == planned else how for name, how in self.treatment.items()}
        return Explanation(done if self.rung == planned else self.rung, treatment, (*self.steps, *steps))

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        steps = [{"name": s.name, "nodes": list(s.nodes), "sentence": s.sentence} for s in self.steps]
        return {"rung": self.rung, "treatment": dict(self.treatment), "steps": steps}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Explanation:
        """The inverse of `to_json`."""
        steps = tuple(Step(s["name"], tuple(s["nodes"]), s["sentence"]) for s in data["steps"])
        return cls(data["rung"], dict(data["treatment"]), steps)

    def __str__(self) -> str:
        rest = [name for name in self.treatment if name not in self.exact]
        parts = []
        if self.exact:
            given = f" given {', '.join(rest)}" if rest else ""
            parts.append(f"{', '.join(self.exact)}: integrated out exactly{given}")
        by: dict[str, list[str]] = {}
        for name in rest:
            by.setdefault(self.treatment[name], []).append(name)
        for how, names in by.items():
            size = f"{len(names)}-D " if how == "quadrature" else ""
            how = "importance sampling" if how == "importance" else how
            parts.append(f"{', '.join(names)}: {size}{how}")
        if not any(how in SAMPLING for how in self.treatment.values()):
            parts.append("no sampling")
        lines = ["; ".join(parts) + "."]
        lines += [f"  {step.name}: {step.sentence}" for step in self.steps]
        return "\n".join(lines)
