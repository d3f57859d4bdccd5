"""The hidden chain as EM sees it (Baum and Welch): `HiddenMarkovModel` and its parameters `HiddenMarkovParams`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.blocks.source import Block
from credo.inference.em import EMModel
from credo.models.hidden_markov.emissions import Emission
from credo.models.hidden_markov.equations import dirichlet_modes, log_dirichlet
from credo.models.hidden_markov.sequences import ends_within
from credo.probability.chains.hidden import run_passes

__all__ = ["HiddenMarkovModel", "HiddenMarkovParams"]


@dataclass(frozen=True, eq=False)
class HiddenMarkovParams:
    """start (K,) and transition (K, K) probabilities; `emission` as its `Emission` has it."""

    start: np.ndarray
    transition: np.ndarray
    emission: Any


@dataclass(frozen=True, eq=False)
class HiddenMarkovModel(EMModel):
    """Statistics: expected first states (K,), transitions (K, K), the emission's own, log likelihood.

    start_concentration, transition_concentration : of the Dirichlet priors, ≥ 1
    start_allowed (K,), transition_allowed (K, K) : where probabilities may be above 0
    owner : the estimator, for messages
    """

    emission: Emission
    start_concentration: np.ndarray | float
    transition_concentration: np.ndarray | float
    start_allowed: np.ndarray
    transition_allowed: np.ndarray
    owner: str

    def accumulate(self, block: Block, params: HiddenMarkovParams) -> tuple[Any, ...]:
        ends = ends_within(block)
        begins = np.concatenate([[0], ends[:-1]])
        weights = None if block.weights is None else block.weights[begins]
        working = self.emission.working(block.X)
        found = run_passes(
            self.emission.log_density(working, params.emission),
            params.start, params.transition, ends, weights,
            keep_filtered=False, owner=self.owner, first_row=block.start,
        )  # fmt: skip
        shares = found.smoothed
        if block.weights is not None:
            shares *= block.weights[:, None]
        log_likelihood = float(
            found.log_predictive.sum() if block.weights is None else block.weights @ found.log_predictive
        )
        gathered = self.emission.gather(working, shares, params.emission)
        return shares[begins].sum(axis=0), found.transitions, gathered, log_likelihood

    def finalize(self, statistics: tuple[Any, ...]) -> HiddenMarkovParams:
        start, transitions, gathered, _ = statistics
        return HiddenMarkovParams(
            dirichlet_modes(start, self.start_concentration, self.start_allowed),
            dirichlet_modes(transitions, self.transition_concentration, self.transition_allowed),
            self.emission.finalize(gathered),
        )

    def bound(self, statistics: tuple[Any, ...], params: HiddenMarkovParams) -> float:
        """log p(X | θ) + log p(θ), the Dirichlets up to a constant."""
        chain = log_dirichlet(params.start, self.start_concentration, self.start_allowed)
        chain += log_dirichlet(params.transition, self.transition_concentration, self.transition_allowed)
        return float(statistics[3]) + chain + self.emission.bound(params.emission)

    def slack(self, statistics: tuple[Any, ...], params: HiddenMarkovParams) -> float:
        return self.emission.slack(statistics[2], params.emission)

    def pack(self, params: HiddenMarkovParams) -> np.ndarray:
        """Logarithms of the probabilities, then the emission's parameters."""
        least = np.finfo(float).tiny
        rows = [np.log(np.maximum(p, least)).ravel() for p in (params.start, params.transition)]
        return np.concatenate([*rows, self.emission.pack(params.emission)])

    def unpack(self, vector: np.ndarray) -> HiddenMarkovParams:
        k = self.start_allowed.size
        start, transition = vector[:k], vector[k : k + k * k].reshape(k, k)
        return HiddenMarkovParams(
            _probabilities(start, self.start_allowed),
            _probabilities(transition, self.transition_allowed),
            self.emission.unpack(vector[k + k * k :], k),
        )


def _probabilities(logs: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    p = np.where(allowed, np.exp(logs - logs.max(axis=-1, keepdims=True)), 0.0)
    return p / p.sum(axis=-1, keepdims=True)
