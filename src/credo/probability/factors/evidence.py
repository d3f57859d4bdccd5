"""What a user observed, as numbers of states and vectors of likelihoods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.probability.factors.elimination.execution import TINY
from credo.probability.factors.scopes import Name, State, state_number

__all__ = ["BLOCK", "LEAST_BLOCK", "Likelihoods", "read_likelihoods", "read_states"]

# Columns of a batch that go through a plan at once: enough to fill vector registers, few enough for the cache.
BLOCK = 256
# Narrower ones leave registers empty.
LEAST_BLOCK = 8


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Vectors (states, rows) or (states,), the largest entry of each column 1, and how many rows: None for one case.

    log_scale : logarithm of what the columns were divided by, over all names ; tiny : some entries are below 1e-140
    """

    names: tuple[Name, ...] = ()
    vectors: tuple[np.ndarray, ...] = ()
    rows: int | None = None
    log_scale: Any = 0.0
    tiny: bool = False

    @property
    def block(self) -> int:
        """Columns to plan for: a power of two, so that few plans serve batches of any size."""
        return 0 if self.rows is None else min(BLOCK, max(LEAST_BLOCK, 1 << (self.rows - 1).bit_length()))

    def flat(self, start: int = 0, block: int = 0) -> np.ndarray:
        """The vectors end to end, of `block` rows from `start`; rows beyond the last have likelihood 1."""
        if not self.names:
            return np.empty(0)
        if not block:
            return np.concatenate(self.vectors)
        parts = []
        for vector in self.vectors:
            part = np.ones((vector.shape[0], block))
            some = vector[:, start : start + block] if vector.ndim == 2 else vector[:, None]
            part[:, : some.shape[1] if vector.ndim == 2 else block] = some
            parts.append(part.ravel())
        return np.concatenate(parts)


def _check_mapping(parameter: str, given: Any) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError("FactorGraph", parameter, "a mapping from variables", given)


def read_states(variables: Mapping[Name, tuple[State, ...]], evidence: Mapping[Any, Any] | None) -> dict[Name, int]:
    """{name: number of the state observed}."""
    found = {}
    _check_mapping("evidence", evidence)
    for name, state in (evidence or {}).items():
        if name not in variables:
            raise ParameterError("FactorGraph", "evidence", "about variables of the graph", name)
        found[name] = state_number("FactorGraph.evidence", name, variables[name], state)
    return found


def read_likelihoods(
    variables: Mapping[Name, tuple[State, ...]], evidence: Mapping[Any, Any], likelihoods: Mapping[Any, Any] | None
) -> Likelihoods:
    """Checked: ≥ 0, of the variable's length, all of one number of rows; one vector serves every row."""
    names, vectors, rows, log_scale, tiny = [], [], None, 0.0, False
    _check_mapping("likelihoods", likelihoods)
    for name, given in (likelihoods or {}).items():
        where = f"likelihoods[{name!r}]"
        if name not in variables or name in evidence:
            raise ParameterError("FactorGraph", "likelihoods", "of variables without evidence", name)
        try:
            vector = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("FactorGraph", where, "an array of numbers", given) from None
        n = len(variables[name])
        if vector.ndim not in (1, 2) or vector.shape[0] != n or vector.size == 0:
            raise ParameterError("FactorGraph", where, f"of shape ({n},) or ({n}, rows)", vector.shape)
        if not np.all((vector >= 0.0) & (vector < np.inf)):
            raise ParameterError("FactorGraph", where, "finite and ≥ 0", vector)
        if vector.ndim == 2:
            if rows is not None and vector.shape[1] != rows:
                raise ParameterError("FactorGraph", where, f"of {rows} rows, as the others", vector.shape)
            rows = vector.shape[1]
        top = vector.max(axis=0)
        top = np.where(top > 0.0, top, 1.0)
        names.append(name)
        vectors.append(vector / top)
        log_scale = log_scale + np.log(top)
        tiny |= bool(np.any((vectors[-1] < TINY) & (vector > 0.0)))
    return Likelihoods(tuple(names), tuple(vectors), rows, log_scale, tiny)
