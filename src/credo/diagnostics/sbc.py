"""Simulation-based calibration: is an inference right on average over its own prior?

θ ~ p(θ), y ~ p(y | θ), draws of p(θ | y): if the inference is right, the rank of θ among L independent draws is uniform
on 0..L (Talts et al. 2018). Uniformity is judged by the ranks' empirical cdf within a simultaneous envelope (Säilynoja,
Bürkner and Vehtari 2022), so that each quantity raises a false alarm with the stated probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.diagnostics.envelope import Envelope, uniform_envelope
from credo.errors import DataError, ParameterError
from credo.numerics.random import as_generator

__all__ = ["Calibration", "simulation_based_calibration", "rank_calibration"]


@dataclass(frozen=True)
class Calibration:
    """Ranks of the truth, and their envelopes.

    ranks : label → (simulations,) in 0..n_draws. envelopes : label → `Envelope` of the ranks as values in [0, 1].
    alarm : probability that a right inference fails for at least one label.
    """

    ranks: dict[str, np.ndarray]
    n_draws: int
    envelopes: dict[str, Envelope]
    alarm: float

    @property
    def ok(self) -> bool:
        return all(envelope.inside for envelope in self.envelopes.values())

    @property
    def failed(self) -> tuple[str, ...]:
        """Labels whose ranks leave the envelope."""
        return tuple(label for label, envelope in self.envelopes.items() if not envelope.inside)

    @property
    def p_values(self) -> dict[str, float]:
        return {label: envelope.p_value for label, envelope in self.envelopes.items()}


def simulation_based_calibration(
    prior: Callable[[np.random.Generator], Mapping[str, Any]],
    simulate: Callable[[np.random.Generator, Mapping[str, Any]], Any],
    infer: Callable[[np.random.Generator, Any], Mapping[str, Any]],
    *,
    simulations: int = 200,
    rng: Any = None,
    alarm: float = 0.01,
) -> Calibration:
    """Simulation-based calibration of `infer`.

    Parameters
    ----------
    prior : rng → θ, a dict of arrays; it may hold test quantities too, computed by `infer` in the same way.
    simulate : (rng, θ) → data.
    infer : (rng, data) → name → draws (L, *shape), nearly independent: thin a chain to its effective size, since ranks
        among correlated draws are not uniform. The same L at every simulation.
    alarm : probability that a right inference fails somewhere, shared equally over all entries.

    Examples
    --------
    >>> conjugate = simulation_based_calibration(
    ...     lambda rng: {"p": rng.beta(2, 3)},
    ...     lambda rng, theta: rng.binomial(3, theta["p"]),
    ...     lambda rng, y: {"p": rng.beta(2 + y, 6 - y, size=50)},
    ...     rng=0,
    ... )
    >>> conjugate.ok
    True
    """
    if simulations < 10:
        raise ParameterError("simulation_based_calibration", "simulations", "≥ 10", simulations)
    rng = as_generator(rng)
    counts: dict[str, list[np.ndarray]] = {}
    sizes = set()
    for stream in rng.spawn(simulations):
        theta = prior(stream)
        draws = infer(stream, simulate(stream, theta))
        for name, truth in theta.items():
            found = np.asarray(draws[name], dtype=np.float64)
            truth = np.asarray(truth, dtype=np.float64)
            if found.shape[1:] != truth.shape or not np.all(np.isfinite(found)):
                raise DataError(f"SBC: the draws of {name} must be finite, (draws, {truth.shape}).", value=found.shape)
            sizes.add(len(found))
            # Ties, as of discrete quantities, count for half at random.
            below, tied = (found < truth).sum(axis=0), (found == truth).sum(axis=0)
            counts.setdefault(name, []).append(below + rng.integers(0, tied + 1))
    if len(sizes) != 1:
        raise DataError(f"SBC: every simulation needs the same number of draws, got {sorted(sizes)}.", value=sizes)
    ranks = {}
    for name, rows in counts.items():
        table = np.array(rows)
        for index in np.ndindex(*table.shape[1:]):
            label = name + (f"[{','.join(map(str, index))}]" if index else "")
            ranks[label] = table[(slice(None), *index)]
    return rank_calibration(ranks, sizes.pop(), alarm, rng)


def rank_calibration(ranks: Mapping[str, np.ndarray], n_draws: int, alarm: float, rng: Any) -> Calibration:
    """The envelopes of ranks (simulations,) in 0..n_draws, whoever computed them.

    Ranks are spread uniformly within their cell of width 1/(n_draws + 1), which makes them exactly uniform on [0, 1].
    """
    if not 0 < alarm < 1:
        raise ParameterError("rank_calibration", "alarm", "between 0 and 1 (exclusive)", alarm)
    rng = as_generator(rng)
    mass = 1.0 - alarm / len(ranks)
    envelopes = {
        label: uniform_envelope((rank + rng.random(rank.shape)) / (n_draws + 1.0), mass)
        for label, rank in ranks.items()
    }
    return Calibration(dict(ranks), n_draws, envelopes, alarm)
