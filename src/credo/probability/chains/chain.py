"""`MarkovChain`: finitely many states, and where each leads."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from credo.errors import NotIdentifiedError, ParameterError
from credo.numerics.random import as_generator
from credo.probability.chains import absorption, stationary
from credo.probability.chains.diagram import Diagram
from credo.probability.chains.mixing import after, distances_to, gap_of, steps_to_mix
from credo.probability.chains.reading import ROUNDING, as_transitions, names_of
from credo.probability.chains.structure import Structure, period, structure_of
from credo.probability.masses import is_exact

__all__ = ["MarkovChain"]

# Distances to stationarity below this are rounding.
FINEST = 1e-12
# Multiplications of a minute, one step at a time; matrices whose squares take a second.
MOST_PRODUCTS, MOST_DENSE = 1e9, 2000


class MarkovChain:
    """A homogeneous Markov chain: S_{t+1} ~ P[S_t], rows of P sum to 1.

    Parameters
    ----------
    P : (n, n) transition probabilities: an array, rows of `Fraction`s (kept exact), a SciPy sparse array, or a data
        frame. Rows are divided by their sums, which must be 1 within 1e-9 (1e-5 of single precision)
    states : n distinct names; by default those of a data frame's columns, else 0 … n − 1

    Laws are dictionaries from state to probability up to a thousand states, arrays beyond. Structure costs
    O(states + arrows); the stationary law of a million states takes seconds, and is certified by its residual.

    Raises
    ------
    DataError : a row that is negative, NaN or does not sum to 1 (which one)
    NotIdentifiedError : *the* stationary law of a chain with several

    References
    ----------
    Norris (1997), Markov Chains; Levin, Peres and Wilmer (2009), Markov Chains and Mixing Times.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> weather = MarkovChain([[F(3, 10), F(7, 10)], [F(1, 2), F(1, 2)]], ["sun", "rain"])
    >>> weather.stationary
    {'sun': Fraction(5, 12), 'rain': Fraction(7, 12)}
    >>> weather.is_regular, weather.satisfies_detailed_balance, weather.hitting_times("rain")
    (True, True, {'sun': Fraction(10, 7), 'rain': Fraction(0, 1)})
    """

    def __init__(self, P: Any, states: Sequence[Hashable] | None = None) -> None:
        self._exact, self._P = as_transitions(P)
        n = self._P.shape[0]
        if states is None:
            states = names_of(P)
        listed = tuple(range(n)) if states is None else tuple(states) if isinstance(states, Iterable) else ()
        self.states: tuple[Hashable, ...] = listed
        if len(listed) != n or not all(isinstance(s, Hashable) for s in listed) or len(set(listed)) != n:
            raise ParameterError("MarkovChain", "states", f"{n} distinct names", states)

    @property
    def n_states(self) -> int:
        return self._P.shape[0]

    @property
    def is_exact(self) -> bool:
        """Whether answers are `Fraction`s."""
        return self._exact is not None

    @property
    def transition(self) -> Any:
        """P in floating point, without its zeros."""
        return self._P

    def __repr__(self) -> str:
        return f"MarkovChain({self.n_states} states, {self._P.nnz} transitions)"

    # Structure

    @cached_property
    def _structure(self) -> Structure:
        return structure_of(self._P)

    @property
    def classes(self) -> list[list[Hashable]]:
        """Communicating classes: states that lead to each other."""
        structure = self._structure
        return [self._names(structure.members(k)) for k in range(structure.n_classes)]

    @property
    def recurrent_classes(self) -> list[list[Hashable]]:
        """The classes that are never left."""
        return [self._names(self._structure.members(k)) for k in self._closed]

    @property
    def transient_states(self) -> list[Hashable]:
        """States that are left for good, sooner or later."""
        return self._names(np.flatnonzero(~self._structure.closed[self._structure.labels]))

    @property
    def absorbing_states(self) -> list[Hashable]:
        """States that are never left."""
        return self._names(np.flatnonzero(self._P.diagonal() == 1.0))

    @property
    def is_irreducible(self) -> bool:
        """Whether every state leads to every other."""
        return self._structure.n_classes == 1

    @cached_property
    def periods(self) -> list[int]:
        """Of each class of `classes`: the greatest common divisor of the lengths of its cycles; 0 if it has none."""
        return [period(self._among(self._structure.members(k))) for k in range(self._structure.n_classes)]

    @property
    def is_regular(self) -> bool:
        """Whether all entries of some power of P are positive: irreducible with period 1."""
        return self.is_irreducible and self.periods == [1]

    @property
    def _closed(self) -> list[int]:
        return np.flatnonzero(self._structure.closed).tolist()

    # Long run

    @property
    def stationary(self) -> Any:
        """The law π with π = π P, if there is one only."""
        laws = self.stationary_laws
        if len(laws) > 1:
            raise NotIdentifiedError(
                f"MarkovChain.stationary: {len(laws)} recurrent classes, so that there are many stationary laws.",
                value=len(laws),
                remedy="`stationary_laws` lists the extreme ones; `long_run(start)` is the one that a start leads to.",
            )
        return laws[0]

    @property
    def stationary_laws(self) -> list[Any]:
        """The extreme stationary laws, one a recurrent class: all others are mixtures of these."""
        return [self._law(values) for values in self._stationary]

    @cached_property
    def stationary_result(self) -> list[tuple[str, float]]:
        """How each law was found, and its residual max |π − π P|/max π."""
        return [(how, left) for _, how, left in self._solved]

    @cached_property
    def _solved(self) -> list[tuple[Any, str, float]]:
        found: list[tuple[Any, str, float]] = []
        for k in self._closed:
            members = self._structure.members(k)
            if self._exact is not None:
                rows = [[self._exact[i][j] for j in members] for i in members]
                found.append((stationary.eliminated_exactly(rows), "eliminated", 0.0))
            else:
                found.append(stationary.stationary_law(self._among(members)))
        return found

    @property
    def _stationary(self) -> list[Any]:
        """Over all states, one a recurrent class."""
        laws = []
        for k, (inside, _, _) in zip(self._closed, self._solved, strict=True):
            law = self._zeros()
            law[self._structure.members(k)] = inside
            laws.append(law)
        return laws

    def long_run(self, start: Any) -> Any:
        """The law of the share of time spent in each state, from a state or a law: Σ_k P(end in k) π_k."""
        begin, law = self._start(start), self._zeros()
        for k, pi in zip(self._closed, self._stationary, strict=True):
            share = np.array(self._hit(self._structure.members(k))[0], dtype=begin.dtype)
            law = law + (begin @ share) * pi
        return self._law(law)

    @property
    def satisfies_detailed_balance(self) -> bool:
        """π_i P_ij = π_j P_ji for all i, j: the chain looks the same backwards. Exact, or to 1e-9 of the larger."""
        pi = self._only_stationary()
        if self._exact is not None:
            return all(
                pi[i] * self._exact[i][j] == pi[j] * self._exact[j][i] for i in range(self.n_states) for j in range(i)
            )
        flow = scipy.sparse.diags_array(pi).dot(self._P).tocsr()
        gap = abs(flow - flow.T)
        return bool(gap.max() <= ROUNDING * flow.max())

    def reversed(self) -> MarkovChain:
        """The chain backwards in time from stationarity: P̃_ij = π_j P_ji/π_i, of an irreducible chain."""
        if not self.is_irreducible:
            raise NotIdentifiedError("MarkovChain.reversed: only an irreducible chain has a reversal.", value=self)
        pi = self._only_stationary()
        if self._exact is not None:
            n = range(self.n_states)
            return MarkovChain([[pi[j] * self._exact[j][i] / pi[i] for j in n] for i in n], self.states)
        weight = scipy.sparse.diags_array
        return MarkovChain(weight(1.0 / pi) @ self._P.T @ weight(pi), self.states)

    def _only_stationary(self) -> Any:
        laws = self._stationary
        if len(laws) > 1:
            _ = self.stationary  # raises
        return laws[0]

    # Mixing

    @property
    def spectral_gap(self) -> float:
        """1 − |λ₂|, λ₂ the second largest eigenvalue of P in absolute value; 0 if the chain does not mix."""
        return gap_of(self._P) if self.is_regular else 0.0

    def mixing_time(self, eps: float = 0.25) -> int:
        """Fewest steps after which the law is within `eps` of π in total variation, from whatever state.

        By repeated squaring, O(n³ log t): chains of up to a few thousand states. `NotIdentifiedError` if it never is,
        `MemoryLimitError` beyond some 11,000 states.
        """
        if not self.is_regular:
            raise NotIdentifiedError(
                "MarkovChain.mixing_time: the chain is not regular, so that its law depends on the start for ever.",
                value=self.periods,
            )
        if isinstance(eps, str) or not FINEST <= eps < 1.0:
            raise ParameterError(
                "MarkovChain.mixing_time",
                "eps",
                f"from {FINEST:g}, below which rounding decides, to 1 (exclusive)",
                eps,
            )
        return steps_to_mix(self._P, np.asarray(self._only_stationary(), dtype=np.float64), eps)

    def distance_to_stationary(self, start: Any, steps: int) -> np.ndarray:
        """Total variation distance ½ Σ |law_t − π| for t = 0 … steps."""
        steps = _count("distance_to_stationary", "steps", steps)
        pi = np.asarray(self._only_stationary(), dtype=np.float64)
        return distances_to(pi, self._P, self._start(start).astype(np.float64), steps)

    # Steps

    def law(self, start: Any, steps: int) -> Any:
        """The law after `steps` steps, S₀ Pᵏ, from a state, or from a mapping or array of probabilities.

        One product a step; by repeated squaring, O(n³ log k), where that is less and the chain has up to 2,000 states.
        """
        steps = _count("law", "steps", steps)
        law = self._start(start)
        if self._exact is not None:
            P = np.array(self._exact, dtype=object)
            for _ in range(steps):
                law = law @ P
            return self._law(law)
        if steps * self._P.nnz > MOST_PRODUCTS and self.n_states <= MOST_DENSE:
            return self._law(after(law, self._P.toarray(), steps))
        back = self._P.T.tocsr()
        for _ in range(steps):
            law = back @ law
        return self._law(law)

    def simulate(self, n: int, rng: Any = None, start: Any = None) -> list[Hashable]:
        """A path of n states, the first drawn from `start` (a state or a law; the stationary law by default)."""
        n = _count("simulate", "n", n)
        rng = as_generator(rng)
        begin = self._only_stationary() if start is None else self._start(start)
        u = rng.uniform(size=n)
        if n == 0:
            return []
        path = np.empty(n, dtype=np.int64)
        path[0] = min(int(np.searchsorted(np.cumsum(begin.astype(np.float64)), u[0], "right")), self.n_states - 1)
        # One cumulative sum over all rows: row i occupies (i, i + 1].
        P = self._P
        tops = np.cumsum(P.data)
        before = np.concatenate([[0.0], tops])[P.indptr]
        for t in range(1, n):
            i = path[t - 1]
            low, high = P.indptr[i], P.indptr[i + 1]
            place = low + int(np.searchsorted(tops[low:high], before[i] + u[t] * (before[i + 1] - before[i]), "right"))
            path[t] = P.indices[min(place, high - 1)]
        return self._names(path)

    # Where it ends

    def absorption_probabilities(self) -> dict[Hashable, list[Any]]:
        """State → the probability of ending in each class of `recurrent_classes`."""
        columns = [self._hit(self._structure.members(k))[0] for k in self._closed]
        return dict(zip(self.states, map(list, zip(*columns, strict=True)), strict=True))

    def hitting_probabilities(self, target: Any) -> dict[Hashable, Any]:
        """State → the probability of ever reaching a target, a state or a list of states."""
        return dict(zip(self.states, self._hit(self._targets(target))[0], strict=True))

    def hitting_times(self, target: Any) -> dict[Hashable, Any]:
        """State → expected steps to the first visit of a target: 0 at one, infinite where it may be missed."""
        return dict(zip(self.states, self._hit(self._targets(target))[1], strict=True))

    def return_times(self) -> dict[Hashable, Any]:
        """State → expected steps from it to itself: 1/π_i within a recurrent class, infinite for transient states."""
        times: list[Any] = [np.inf] * self.n_states
        for law in self._stationary:
            for i in np.flatnonzero(law != 0):
                times[i] = 1 / law[i] if self._exact is not None else float(1 / law[i])
        return dict(zip(self.states, times, strict=True))

    def diagram(self) -> Diagram:
        """A drawing: `.svg()`, `.write(path)`, and as it is in a notebook."""
        return Diagram.of(self._P, [str(s) for s in self.states], self._exact)

    # Between names and numbers

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        return {state: i for i, state in enumerate(self.states)}

    def _number(self, state: Hashable) -> int:
        if not (isinstance(state, Hashable) and state in self._index):
            raise ParameterError("MarkovChain", "state", "one of its states", state)
        return self._index[state]

    def _names(self, numbers_: np.ndarray) -> list[Hashable]:
        return [self.states[i] for i in numbers_.tolist()]

    def _targets(self, target: Any) -> np.ndarray:
        if isinstance(target, Hashable) and target in self._index:
            return np.array([self._index[target]])
        if isinstance(target, str) or not isinstance(target, Iterable):
            raise ParameterError("MarkovChain", "target", "a state or a list of states", target)
        found = np.unique([self._number(state) for state in target]).astype(np.int64)
        if not found.size:
            raise ParameterError("MarkovChain", "target", "a state or a list of states", target)
        return found

    def _zeros(self) -> np.ndarray:
        return np.zeros(self.n_states) if self._exact is None else np.array([Fraction(0)] * self.n_states)

    def _start(self, start: Any) -> np.ndarray:
        law = self._zeros()
        values: dict[int, Any]
        if _is_hashable(start) and start in self._index:
            law[self._index[start]] = law[0] + 1
            return law
        if isinstance(start, Mapping):
            values = {self._number(state): p for state, p in start.items()}
        elif np.ndim(start) == 1 and len(start) == self.n_states:
            values = dict(enumerate(start))
        else:
            raise ParameterError("MarkovChain", "start", f"a state, or {self.n_states} probabilities", start)
        if not all(isinstance(p, numbers.Real) for p in values.values()):
            raise ParameterError("MarkovChain", "start", "probabilities ≥ 0 that sum to 1", start)
        if not (all(p >= 0 for p in values.values()) and abs(sum(values.values()) - 1) <= ROUNDING):
            raise ParameterError("MarkovChain", "start", "probabilities ≥ 0 that sum to 1", start)
        if self._exact is not None and not all(map(is_exact, values.values())):
            law = law.astype(np.float64)
        for i, p in values.items():
            law[i] = p
        return law

    def _law(self, values: np.ndarray) -> Any:
        return dict(zip(self.states, values.tolist(), strict=True)) if self.n_states <= 1000 else values

    def _among(self, members: np.ndarray) -> Any:
        return self._P if members.size == self.n_states else self._P[members][:, members].tocsr()

    def _hit(self, targets: np.ndarray) -> tuple[list[Any], list[Any]]:
        return absorption.hit(self._exact or self._P, self._P, targets, self.is_exact)


def _is_hashable(value: Any) -> bool:
    """`isinstance(…, Hashable)` without narrowing the type."""
    return isinstance(value, Hashable)


def _count(method: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise ParameterError(f"MarkovChain.{method}", name, "an integer ≥ 0", value)
    return int(value)
