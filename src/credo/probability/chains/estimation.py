"""Learning a chain from paths: transition counts are sufficient, and each row has a Dirichlet posterior of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import DataError, ParameterError, UnavailableError
from credo.numerics.random import as_generator
from credo.probability.chains.chain import MarkovChain

__all__ = ["ChainPosterior", "learn_chain"]


@dataclass(frozen=True, eq=False)
class ChainPosterior:
    """Row i of P ~ Dirichlet(prior + counts[i]), rows independent, given where each path starts.

    states : names; counts (n, n) : observed transitions; prior (n, n) : concentrations
    """

    states: tuple[Hashable, ...]
    counts: np.ndarray
    prior: np.ndarray

    @property
    def concentration(self) -> np.ndarray:
        return self.prior + self.counts

    @property
    def mean(self) -> MarkovChain:
        """The posterior mean, which is also the predictive law of the next step."""
        return self._chain(self.concentration, "a row that was never left and has no prior")

    @property
    def mle(self) -> MarkovChain:
        """The shares observed."""
        return self._chain(self.counts, "a row that was never left")

    @property
    def mode(self) -> MarkovChain:
        """The posterior mode: shares of counts + prior − 1, where none of these is below 0."""
        return self._chain(self.concentration - 1.0, "no mode inside the simplex")

    @property
    def sd(self) -> np.ndarray:
        """(n, n) of each entry."""
        a = self._proper("sd")
        total = a.sum(axis=1, keepdims=True)
        return np.sqrt(a * (total - a) / (total * total * (total + 1.0)))

    @property
    def log_evidence(self) -> float:
        """log p(paths | first states), the rows integrated out."""
        if np.any(self.prior <= 0.0):
            raise UnavailableError("The evidence needs a proper prior.", remedy="Pass prior > 0.")

        def beta(a: np.ndarray) -> float:
            return float(np.sum(scipy.special.gammaln(a)) - np.sum(scipy.special.gammaln(a.sum(axis=1))))

        return beta(self.concentration) - beta(self.prior)

    def update(self, paths: Iterable[Any]) -> ChainPosterior:
        """With more paths, over the same states."""
        return ChainPosterior(self.states, self.counts + _counts(paths, self.states), self.prior)

    def sample(self, n: int, rng: Any = None) -> list[MarkovChain]:
        """n chains drawn from the posterior: what anything computed from a chain is uncertain by."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise ParameterError("ChainPosterior.sample", "n", "an integer ≥ 0", n)
        rng, a = as_generator(rng), self._proper("sample")
        size = (int(n), *a.shape)
        # Gamma(a) = Gamma(a + 1) U^(1/a), in logarithms: of a small concentration every number of a row underflows.
        with np.errstate(divide="ignore"):
            logs = np.log(rng.standard_gamma(a + 1.0, size=size)) + np.log(rng.random(size)) / a
        draws = np.exp(logs - logs.max(axis=2, keepdims=True))
        return [MarkovChain(draw / draw.sum(axis=1, keepdims=True), self.states) for draw in draws]

    def _proper(self, what: str) -> np.ndarray:
        """The concentrations, after a look for a row without any."""
        bad = np.flatnonzero(self.concentration.sum(axis=1) <= 0.0)
        if bad.size:
            raise UnavailableError(
                f"ChainPosterior.{what}: state {self.states[bad[0]]!r} was never left and has no prior.",
                value=self.states[bad[0]],
                remedy="Use a prior > 0.",
            )
        return self.concentration

    def _chain(self, rows: np.ndarray, wrong: str) -> MarkovChain:
        total = rows.sum(axis=1, keepdims=True)
        bad = np.flatnonzero((total[:, 0] <= 0.0) | np.any(rows < 0.0, axis=1))
        if bad.size:
            raise UnavailableError(
                f"No chain: state {self.states[bad[0]]!r} has {wrong}.",
                value=self.states[bad[0]],
                remedy="Use `mean` with a prior > 0.",
            )
        return MarkovChain(rows / total, self.states)


def learn_chain(paths: Iterable[Any], states: Sequence[Hashable] | None = None, prior: Any = 1.0) -> ChainPosterior:
    """The posterior of a chain's transitions from observed paths.

    Parameters
    ----------
    paths : one path (a sequence of states) or a list of paths (lists or arrays of states)
    states : all states there are; by default those seen, sorted if they can be
    prior : Dirichlet concentration ≥ 0 of each transition, a number or (n, n); 1 is uniform on the simplex, 0 leaves
        the shares observed, and rules a transition out if none was

    Examples
    --------
    >>> belief = learn_chain("ABABBA", prior=1)
    >>> belief.mean.law("A", 1), belief.mle.law("B", 1)
    ({'A': 0.25, 'B': 0.75}, {'A': 0.6666666666666666, 'B': 0.3333333333333333})
    """
    listed = _listed(paths)
    unhashable = [state for path in listed for state in path if not isinstance(state, Hashable)]
    if unhashable:
        raise ParameterError("learn_chain", "paths", "sequences of hashable states", unhashable[0])
    if states is None:
        _refuse_gaps(listed)
        seen = dict.fromkeys(state for path in listed for state in path)
        try:
            states = sorted(seen)  # type: ignore[type-var]
        except TypeError:
            states = list(seen)
    if not len(states) or len(set(states)) != len(states):
        raise ParameterError("learn_chain", "states", "distinct, and at least one", states)
    try:
        concentration = np.broadcast_to(np.asarray(prior, dtype=np.float64), (len(states),) * 2).copy()
    except (TypeError, ValueError):
        shape = (len(states),) * 2
        raise ParameterError("learn_chain", "prior", f"a number ≥ 0, or {shape} of them", prior) from None
    if not (np.all(concentration >= 0.0) and np.all(np.isfinite(concentration))):
        raise ParameterError("learn_chain", "prior", "finite and ≥ 0", prior)
    names = tuple(states)
    return ChainPosterior(names, _counts(listed, names), concentration)


def _listed(paths: Iterable[Any]) -> list[list[Hashable]]:
    if isinstance(paths, str):
        return [list(paths)]
    if not isinstance(paths, Iterable) or hasattr(paths, "columns"):
        raise ParameterError(
            "learn_chain", "paths", "a path, or a list of paths", paths, "Of a data frame pass a column, frame[name]."
        )
    paths = paths.tolist() if isinstance(paths, np.ndarray) else paths  # Python's own numbers as names
    listed = [p.tolist() if hasattr(p, "tolist") and np.ndim(p) else p for p in paths]
    nested = [isinstance(p, (list, tuple)) for p in listed]
    return [list(p) for p in listed] if listed and all(nested) else [listed]


def _refuse_gaps(paths: list[list[Hashable]], named: Mapping[Hashable, int] | None = None) -> None:
    """A NaN is nobody's state: each would be a new one, for none equals another."""
    for number, path in enumerate(paths):
        for step, state in enumerate(path):
            if named is not None and state in named:
                continue
            if state is None or type(state).__name__ in ("NAType", "NaTType") or state != state:
                raise DataError(
                    f"learn_chain: step {step} of path {number} is missing ({state!r}).",
                    value=state,
                    rows=[number],
                    remedy="Cut the path there: the parts before and after it are two paths of a list.",
                )


def _counts(paths: Iterable[Any], states: tuple[Hashable, ...]) -> np.ndarray:
    index, counts = {state: i for i, state in enumerate(states)}, np.zeros((len(states),) * 2)
    listed = _listed(paths)
    _refuse_gaps(listed, index)
    for number, path in enumerate(listed):
        unknown = [state for state in path if state not in index]
        if unknown:
            raise DataError(
                f"learn_chain: path {number} visits {unknown[0]!r}, which is not among the states.",
                value=unknown[0],
                rows=[number],
                remedy="Add it to states=.",
            )
        rows = [index[state] for state in path]
        np.add.at(counts, (rows[:-1], rows[1:]), 1.0)
    return counts
