"""Questions that have been asked before: their plans, ready to run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.probability.factors.elimination import Packed, Plan, run
from credo.probability.factors.elimination.execution import impossible, run_in_logs, scratch
from credo.probability.factors.factor import Factor
from credo.probability.factors.scopes import Name, State

__all__ = ["JointQuery"]

_NO_LIKELIHOODS = np.empty(0)


@dataclass(frozen=True, eq=False)
class JointQuery:
    """A joint law given hard evidence: a look-up of states, one call of the kernel, one division."""

    plan: Plan
    packed: Packed
    names: tuple[Name, ...]
    states: tuple[tuple[State, ...], ...]
    numbers: tuple[dict[State, int], ...]
    execute: Any

    @classmethod
    def of(
        cls,
        plan: Plan,
        packed: Packed,
        names: tuple[Name, ...],
        states: tuple[tuple[State, ...], ...],
        observed: Sequence[tuple[State, ...]],
    ) -> JointQuery:
        from credo.probability.factors.elimination.kernel import execute

        return cls(plan, packed, names, states, tuple({s: i for i, s in enumerate(row)} for row in observed), execute)

    def answer(self, evidence: Iterable[State]) -> Factor:
        """`evidence` lists states in the order of the plan; an unknown one is a KeyError."""
        plan, packed = self.plan, self.packed
        states = np.array([numbers[state] for numbers, state in zip(self.numbers, evidence)], dtype=np.int64)
        if len(plan.pieces) > 1:
            return Factor.of(self.names, run(plan, packed, states).probabilities(), self.states)
        work, (scale, counter) = np.empty(plan.size), scratch(0)
        status = self.execute(
            plan.code, packed.flat, work, _NO_LIKELIHOODS, states, scale, counter, plan.formed, packed.tiny
        )
        if status == 0:
            output = plan.outputs[0]
            table = work[output.offset : output.offset + math.prod(output.shape)].reshape(output.shape)
            table = np.asarray(table * (1.0 / np.add.reduce(table, axis=None)))
        elif status == 1:
            raise impossible()
        else:
            table = run_in_logs(plan, packed, states, _NO_LIKELIHOODS).probabilities()
        table.flags.writeable = False
        return Factor.of(self.names, table, self.states)
