"""What observations say about the states of a Markov chain that is not seen: forward–backward, and Viterbi's path.

The chain enters by its transitions P and start, an observation x_t by ℓ_t[k] = log p(x_t | z_t = k) alone, so that the
same passes serve every kind of emission.

Numbers: each step has one scale factor, K² multiplications and no logarithm. Where transitions of probability 0 make
a state that was all but ruled out the only one left, one factor is too few: such a sequence is run again in logs.

References: Rabiner (1989), A tutorial on hidden Markov models, Proc. IEEE 77; Viterbi (1967), IEEE Transactions on
Information Theory 13; Baum, Petrie, Soules and Weiss (1970), Annals of Mathematical Statistics 41.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError, ZeroProbabilityError
from credo.probability.chains.chain import MarkovChain

__all__ = ["HiddenStates", "HiddenPath", "Passes", "best_paths", "forward_backward", "run_passes", "viterbi"]

# Of a step's sum and of a state's share of it: their product stays above the smallest normal number (2e-308).
FLOOR = 1e-140
# Transitions above this keep every state within reach of the next step, whatever was lost of it before.
SMALLEST = 1e-50
# Three dense matrices of half a gigabyte between them.
MOST_STATES = 5000
# Likelihoods over the row's largest: e^−690 is 1e-300.
LEAST = -690.0


@dataclass(frozen=True, eq=False)
class HiddenStates:
    """What is known of the states of n rows, in one or more sequences.

    filtered : p(z_t | x_1 … x_t), (n, K) ; smoothed : p(z_t | all x of the sequence), (n, K)
    transitions : Σ p(z_t = i, z_{t+1} = j | x), the expected number of each, (K, K)
    log_predictive : log p(x_t | x_1 … x_{t−1}), (n,) ; log_likelihood : its sum over each sequence, (sequences,)
    transition_matrix, ends : what they were computed with; `ends` is the row after each sequence's last
    """

    filtered: np.ndarray
    smoothed: np.ndarray
    transitions: np.ndarray
    log_predictive: np.ndarray
    log_likelihood: np.ndarray
    transition_matrix: np.ndarray
    ends: np.ndarray

    def pair(self, t: int) -> np.ndarray:
        """p(z_t = i, z_{t+1} = j | x) (K, K) of a row t that is not the last of its sequence."""
        n = len(self.filtered)
        if not (isinstance(t, (int, np.integer)) and 0 <= t < n) or t + 1 in self.ends:
            raise ParameterError("HiddenStates.pair", "t", "a row that another of its sequence follows", t)
        ahead = self.filtered[t] @ self.transition_matrix
        ratio = np.divide(self.smoothed[t + 1], ahead, out=np.zeros_like(ahead), where=ahead > 0.0)
        return self.filtered[t][:, None] * self.transition_matrix * ratio


@dataclass(frozen=True, eq=False)
class HiddenPath:
    """The most probable states of n rows: `numbers` (n,), `states` their names, `log_prob` (sequences,) log p(z, x)."""

    numbers: np.ndarray
    states: list[Hashable]
    log_prob: np.ndarray


def forward_backward(chain: MarkovChain, log_likelihood: Any, start: Any = None, lengths: Any = None) -> HiddenStates:
    """The states of a chain, given what each row says about its own.

    Parameters
    ----------
    chain : of K states
    log_likelihood : (n, K) log p(x_t | z_t = k); −∞ where a state cannot give x_t, 0 everywhere for a row without
        observation. A constant added to a row is added to the log likelihood and changes nothing else
    start : law of the first state of each sequence, a state or probabilities; the stationary law by default
    lengths : of the sequences, in order; one sequence by default

    Raises
    ------
    ParameterError : shapes that do not fit, NaN
    ZeroProbabilityError : observations that the chain cannot give, with the step

    Notes
    -----
    Cost 3 n K² multiplications, memory 4 n K numbers. Chains of many states are treated as dense.

    Examples
    --------
    An umbrella is carried on 9 rainy days of 10 and on 2 dry ones (Russell and Norvig, Artificial Intelligence):

    >>> weather = MarkovChain([[0.7, 0.3], [0.3, 0.7]], ["rain", "dry"])
    >>> umbrella = np.log([[0.9, 0.2], [0.9, 0.2]])
    >>> states = forward_backward(weather, umbrella)
    >>> states.filtered[:, 0].round(3).tolist(), states.smoothed[:, 0].round(3).tolist()
    ([0.818, 0.883], [0.883, 0.883])
    """
    rows, begin, P, ends = _checked("forward_backward", chain, log_likelihood, start, lengths)
    found = run_passes(rows, begin, P, ends)
    starts = np.concatenate([[0], ends[:-1]])
    totals = np.add.reduceat(found.log_predictive, starts)
    return HiddenStates(found.filtered, found.smoothed, found.transitions, found.log_predictive, totals, P, ends)


def viterbi(chain: MarkovChain, log_likelihood: Any, start: Any = None, lengths: Any = None) -> HiddenPath:
    """The most probable path of a chain's states, argmax_z p(z, x). Arguments, errors as `forward_backward`.

    It is not the sequence of the most probable states, which may hold a transition of probability 0. Among equals the
    states listed first win. Cost n K² additions.

    Examples
    --------
    >>> weather = MarkovChain([[0.7, 0.3], [0.3, 0.7]], ["rain", "dry"])
    >>> seen = [True, True, False, True, True]
    >>> viterbi(weather, np.log([[0.9, 0.2] if u else [0.1, 0.8] for u in seen])).states
    ['rain', 'rain', 'dry', 'rain', 'rain']
    """
    rows, begin, P, ends = _checked("viterbi", chain, log_likelihood, start, lengths)
    numbers, log_prob = best_paths(rows, begin, P, ends)
    return HiddenPath(numbers, [chain.states[i] for i in numbers.tolist()], log_prob)


# -- arrays ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Passes:
    """filtered, smoothed (n, K), transitions (K, K), log_predictive (n,), as in `HiddenStates`."""

    filtered: np.ndarray
    smoothed: np.ndarray
    transitions: np.ndarray
    log_predictive: np.ndarray


def run_passes(
    log_likelihood: np.ndarray,
    start: np.ndarray,
    P: np.ndarray,
    ends: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    smooth: bool = True,
    keep_filtered: bool = True,
    owner: str = "forward_backward",
    first_row: int = 0,
) -> Passes:
    """Forward and, with `smooth`, backward over (n, K) float64 rows; nothing is checked.

    weights : of the sequences, in `transitions` ; keep_filtered : False lets `smoothed` take its place
    owner, first_row : for the message of a `ZeroProbabilityError`
    """
    from credo.probability.chains import hidden_kernels as kernels

    n, size = log_likelihood.shape
    likelihood, highest, scale = np.empty((n, size)), np.empty(n), np.ones(n)
    kernels.shift(log_likelihood, likelihood, highest, LEAST)
    np.exp(likelihood, out=likelihood)
    filtered, lost = np.empty((n, size)), np.zeros(ends.size, dtype=np.int64)
    smallest = P.min()
    if smallest < SMALLEST and np.any((P > 0.0) & (P < SMALLEST)):
        lost[:] = 1
    else:
        kernels.forward(
            likelihood, start, P, ends, FLOOR, bool(smallest < SMALLEST), np.empty((2, size)), filtered, scale, lost
        )
    log_predictive = np.log(scale)
    log_predictive += highest
    pairs = np.zeros((size, size))
    share = np.ones(ends.size) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    smoothed = filtered
    if smooth:
        smoothed = np.empty((n, size)) if keep_filtered or lost.any() else filtered
        back = np.ascontiguousarray(P.T)
        kernels.backward(likelihood, back, filtered, scale, ends, share, lost, np.empty((2, size)), smoothed, pairs)
        pairs *= P
    found = Passes(filtered, smoothed, pairs, log_predictive)
    for s in np.flatnonzero(lost).tolist():
        _in_logarithms(found, log_likelihood, start, P, ends, s, share[s], smooth, owner, first_row)
    return found


def _in_logarithms(
    found: Passes, log_likelihood: np.ndarray, start: np.ndarray, P: np.ndarray, ends: np.ndarray, s: int,
    weight: float, smooth: bool, owner: str, first_row: int,
) -> None:  # fmt: skip
    """Do sequence s again, into the arrays of `found`."""
    from credo.probability.chains.hidden_log_kernel import log_passes

    rows = slice(int(ends[s - 1]) if s else 0, int(ends[s]))
    part, size = log_likelihood[rows], P.shape[0]
    log_filtered, log_smoothed = np.empty(part.shape), np.empty(part.shape)
    bad = log_passes(
        part, _log(start), _log(P), float(weight), smooth, np.empty((2, size)), found.log_predictive[rows],
        log_filtered, log_smoothed, found.transitions,
    )  # fmt: skip
    if bad >= 0:
        raise impossible(owner, s, bad, first_row + rows.start + bad)
    np.exp(log_filtered, out=found.filtered[rows])
    if smooth:
        np.exp(log_smoothed, out=found.smoothed[rows])


def best_paths(
    log_likelihood: np.ndarray, start: np.ndarray, P: np.ndarray, ends: np.ndarray, *, owner: str = "viterbi"
) -> tuple[np.ndarray, np.ndarray]:
    """Viterbi's states (n,) and log p(z, x) (sequences,) of (n, K) float64 rows; nothing is checked."""
    from credo.probability.chains.hidden_paths_kernel import paths

    n, size = log_likelihood.shape
    states, log_prob = np.zeros(n, dtype=np.int64), np.empty(ends.size)
    bad = paths(log_likelihood, _log(start), _log(P), ends, np.empty((n, size)), states, log_prob)
    if bad >= 0:
        s = int(np.searchsorted(ends, bad, "right"))
        raise impossible(owner, s, bad - (int(ends[s - 1]) if s else 0), bad)
    return states, log_prob


def impossible(owner: str, sequence: int, step: int, row: int) -> ZeroProbabilityError:
    return ZeroProbabilityError(
        f"{owner}: the observations up to step {step} of sequence {sequence} (row {row}) have probability 0.",
        value=row,
        remedy="No state that the chain can be in gives this row: allow the transition, or widen the emission.",
    )


def _log(p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(p)


def checked_ends(owner: str, lengths: Any, n: int) -> np.ndarray:
    """Where each sequence ends, of lengths that sum to n."""
    if lengths is None:
        return np.array([n], dtype=np.int64)
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not np.all(sizes >= 1) or int(sizes.sum()) != n:
        raise ParameterError(owner, "lengths", f"integers ≥ 1 that sum to the {n} rows", lengths)
    return np.cumsum(sizes, dtype=np.int64)


def _checked(
    owner: str, chain: MarkovChain, log_likelihood: Any, start: Any, lengths: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if not isinstance(chain, MarkovChain) or chain.n_states > MOST_STATES:
        raise ParameterError(owner, "chain", f"a MarkovChain of at most {MOST_STATES:,} states", chain)
    try:
        rows = np.require(log_likelihood, np.float64, ["C", "W"])  # kernels take writable arrays only
    except (TypeError, ValueError):
        raise ParameterError(owner, "log_likelihood", "numbers", log_likelihood) from None
    if rows.ndim != 2 or rows.shape[1] != chain.n_states or not len(rows):
        constraint = f"of shape (rows, {chain.n_states}), one column a state, with a row at least"
        raise ParameterError(owner, "log_likelihood", constraint, rows.shape)
    bad = np.flatnonzero(~(rows < np.inf).all(axis=1))
    if bad.size:
        constraint = f"below ∞ and not NaN (row {bad[0]} is not; 0 in every state says that nothing was observed)"
        raise ParameterError(owner, "log_likelihood", constraint, rows[bad[0]])
    begin = chain._only_stationary() if start is None else chain._start(start)
    begin = np.asarray(begin, dtype=np.float64)
    return rows, begin, np.ascontiguousarray(chain.transition.toarray()), checked_ends(owner, lengths, len(rows))
