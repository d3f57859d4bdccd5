"""`HiddenMarkovEstimator`: what the hidden chains share, whatever their states give."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from credo.blocks.source import Source
from credo.errors import DataError, ParameterError
from credo.inference.em import EMFit
from credo.models.columns import column_names
from credo.models.hidden_markov.emissions import Emission
from credo.models.hidden_markov.equations import sticky_rows
from credo.models.hidden_markov.forecast import Forecast
from credo.models.hidden_markov.model import HiddenMarkovModel, HiddenMarkovParams
from credo.models.hidden_markov.sequences import Sequences
from credo.models.mixture.base import EMEstimator, threads_for
from credo.models.mixture.overview import Overview, overview
from credo.numerics.random import as_generator
from credo.probability.chains import MarkovChain
from credo.probability.chains.hidden import Passes, best_paths, checked_ends, run_passes

__all__ = ["HiddenMarkovEstimator"]

# Probabilities that were computed in single precision still sum to one within this.
SUM_TOLERANCE = 1e-6


class HiddenMarkovEstimator(DensityMixin, EMEstimator):
    """Base of the hidden Markov models; not public."""

    startprob_prior: Any
    transmat_prior: Any
    startprob_init: Any
    transmat_init: Any
    startprob_: np.ndarray
    transmat_: np.ndarray
    last_state_: np.ndarray
    n_features_in_: int
    warm_start = False
    _allow_nan = True
    # 20 steps tell a poor start from a good one; the best goes on to the end
    _screen = 20

    # -- what a model supplies -----------------------------------------------------------------------------------

    def _emission(self, seen: Any) -> Emission:
        raise NotImplementedError

    def _emission_start(self, emission: Any, seen: Any, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def _settle_emission(self, emission: Any, params: Any, shares: np.ndarray) -> None:
        """Set the attributes; shares (K,) of the rows in each state."""
        raise NotImplementedError

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        """log p(x | state) (n, K), contiguous, of validated rows."""
        raise NotImplementedError

    def _draw(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A row from each of the states (n,)."""
        raise NotImplementedError

    def _observation(self, states: np.ndarray) -> Any:
        """The law of rows from laws of their states (n, K)."""
        raise NotImplementedError

    def _n_emission_parameters(self) -> int:
        raise NotImplementedError

    # -- fitting -------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        super()._check()
        k = int(self.n_components)
        for name, shape in (("startprob_prior", (k,)), ("transmat_prior", (k, k))):
            alpha = np.asarray(getattr(self, name))
            good = alpha.dtype.kind in "iuf" and alpha.shape in ((), shape)
            if not good or not np.all((alpha >= 1.0) & (alpha < np.inf)):
                constraint = f"a number ≥ 1, or {shape} of them (a mode needs them)"
                raise ParameterError(type(self).__name__, name, constraint, getattr(self, name))
        self._given("startprob_init", (k,))
        self._given("transmat_init", (k, k))

    def _given(self, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
        """Probabilities to start from, rows of sum 1; None where none are given."""
        value = getattr(self, name)
        if value is None:
            return None
        try:
            p = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            p = np.empty(0)
        if p.shape != shape or not np.all(p >= 0.0) or not np.all(np.abs(p.sum(axis=-1) - 1.0) <= SUM_TOLERANCE):
            constraint = f"probabilities of shape {shape}, rows of sum 1"
            raise ParameterError(type(self).__name__, name, constraint, value)
        return p / p.sum(axis=-1, keepdims=True)

    def fit(self, X: Any, y: Any = None, lengths: Any = None, sequence_weight: Any = None) -> Self:
        """Fit to rows X (n, d) of one or more sequences, in order; NaN where missing.

        lengths : of the sequences, integers that sum to n; one sequence by default. Passed second, as to hmmlearn, it
            is recognised: a y that has not one entry a row is taken for it. Any other y is ignored
        sequence_weight : (sequences,) ≥ 0, counts sequences
        """
        self._check()
        rows = self._validated(X, reset=True)
        ends = self._ends("fit", y, lengths, len(rows))
        self._fit_source(Sequences(rows, ends, self._weights(sequence_weight, ends.size)))
        last = rows[int(ends[-2]) if ends.size > 1 else 0 :]
        self.last_state_ = self._run_passes(last, np.array([len(last)]), smooth=False).filtered[-1]
        return self

    def _ends(self, method: str, y: Any, lengths: Any, n: int) -> np.ndarray:
        if lengths is None and y is not None and np.ndim(y) == 1:
            sizes = np.asarray(y)
            if sizes.size != n or (sizes.dtype.kind in "iu" and np.all(sizes == 1)):
                lengths = sizes
        return checked_ends(f"{type(self).__name__}.{method}", lengths, n)

    def _weights(self, value: Any, size: int) -> np.ndarray | None:
        if value is None:
            return None
        weights = np.asarray(value)
        good = weights.dtype.kind in "iuf" and weights.shape == (size,)
        if not good or not np.all((weights >= 0.0) & (weights < np.inf)) or not np.any(weights > 0.0):
            constraint = f"{size} numbers ≥ 0, one a sequence, not all 0"
            raise ParameterError(f"{type(self).__name__}.fit", "sequence_weight", constraint, value)
        return weights.astype(np.float64)

    def _prepare(self, source: Source, rng: np.random.Generator) -> Overview:
        seen = overview(source, int(rng.integers(2**63)), threads_for(source))
        empty = [name for name, cells in zip(column_names(self), seen.cells or ()) if cells.total == 0.0]
        if empty:
            raise DataError(
                f"{type(self).__name__}: no cell is observed in {', '.join(empty[:8])}.",
                columns=empty,
                remedy="Drop columns without values.",
            )
        return seen

    def _allowed(self) -> tuple[np.ndarray, np.ndarray]:
        """Where start and transition probabilities may be above 0: where those given are."""
        k = int(self.n_components)
        start, transition = self._given("startprob_init", (k,)), self._given("transmat_init", (k, k))
        return (
            np.ones(k, dtype=bool) if start is None else start > 0.0,
            np.ones((k, k), dtype=bool) if transition is None else transition > 0.0,
        )

    def _model(self, seen: Overview) -> HiddenMarkovModel:
        begin, move = (np.asarray(value, dtype=np.float64) for value in (self.startprob_prior, self.transmat_prior))
        return HiddenMarkovModel(self._emission(seen), begin, move, *self._allowed(), type(self).__name__)

    def _start(self, model: HiddenMarkovModel, seen: Overview, rng: np.random.Generator) -> HiddenMarkovParams:
        k = int(self.n_components)
        start, transition = self._given("startprob_init", (k,)), self._given("transmat_init", (k, k))
        emission = self._emission_start(model.emission, seen, rng)
        moves = sticky_rows(k, rng)
        return HiddenMarkovParams(
            np.full(k, 1.0 / k) if start is None else start, moves if transition is None else transition, emission
        )

    def _settle(self, model: HiddenMarkovModel, fit: EMFit, seen: Any) -> None:
        params = fit.params
        self.startprob_, self.transmat_ = params.start, params.transition
        occupied = fit.statistics[0] + fit.statistics[1].sum(axis=0)
        self._settle_emission(model.emission, params.emission, occupied / occupied.sum())

    # -- states --------------------------------------------------------------------------------------------------

    def _chain(self) -> tuple[np.ndarray, np.ndarray]:
        start, transition = (np.array(p, dtype=np.float64, order="C") for p in (self.startprob_, self.transmat_))
        return start, transition

    def _run_passes(self, rows: np.ndarray, ends: np.ndarray, *, smooth: bool) -> Passes:
        owner = type(self).__name__
        return run_passes(self._log_density(rows), *self._chain(), ends, smooth=smooth, owner=owner)

    def _passes(self, method: str, X: Any, lengths: Any, *, smooth: bool, y: Any = None) -> Passes:
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        return self._run_passes(rows, self._ends(method, y, lengths, len(rows)), smooth=smooth)

    @property
    def chain(self) -> MarkovChain:
        """The states' transitions, as a `MarkovChain`: its stationary law, mixing time, diagram."""
        check_is_fitted(self)
        return MarkovChain(self.transmat_)

    def decode(self, X: Any, lengths: Any = None) -> tuple[float, np.ndarray]:
        """log p(states, X) of the most probable path of states (Viterbi), and that path (n,)."""
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        ends = self._ends("decode", None, lengths, len(rows))
        states, log_prob = best_paths(self._log_density(rows), *self._chain(), ends, owner=type(self).__name__)
        return float(log_prob.sum()), states

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The most probable path of states, (n,)."""
        return self.decode(X, lengths)[1]

    def fit_predict(self, X: Any, y: Any = None, lengths: Any = None) -> np.ndarray:
        """`fit`, then `predict` of the same rows."""
        ends = self._ends("fit_predict", y, lengths, np.shape(X)[0])
        sizes = np.diff(ends, prepend=0)
        return self.fit(X, lengths=sizes).predict(X, lengths=sizes)

    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """p(state of a row | all rows of its sequence), (n, K): smoothed."""
        return self._passes("predict_proba", X, lengths, smooth=True).smoothed

    def filter(self, X: Any, lengths: Any = None) -> np.ndarray:
        """p(state of a row | the rows of its sequence up to it), (n, K)."""
        return self._passes("filter", X, lengths, smooth=False).filtered

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """log p(row | the rows of its sequence before it), (n,): one step ahead. They sum to `score`."""
        return self._passes("score_samples", X, lengths, smooth=False).log_predictive

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """log p(X), in nats, summed over rows and sequences."""
        return float(self._passes("score", X, lengths, smooth=False, y=y).log_predictive.sum())

    # -- rows to come --------------------------------------------------------------------------------------------

    def forecast(self, steps: int = 1, X: Any = None) -> Forecast:
        """The next `steps` rows after a sequence X: the law of their states, and of the rows themselves.

        X : the rows so far, one sequence; by default the last sequence of the fit
        """
        check_is_fitted(self)
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
            raise ParameterError(f"{type(self).__name__}.forecast", "steps", "an integer ≥ 1", steps)
        law = self.last_state_ if X is None else self.filter(X)[-1]
        states = np.empty((int(steps), law.size))
        for step in range(int(steps)):
            law = law @ self.transmat_
            states[step] = law
        return Forecast(states, self._observation(states))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """A sequence of n_samples rows (n, d), and its states (n,); `random_state` by default the estimator's."""
        check_is_fitted(self)
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise ParameterError(f"{type(self).__name__}.sample", "n_samples", "an integer ≥ 1", n_samples)
        rng = as_generator(self.random_state if random_state is None else random_state)
        states = np.array(self.chain.simulate(int(n_samples), rng, self.startprob_), dtype=np.int64)
        return self._draw(states, rng), states

    # -- how many states -----------------------------------------------------------------------------------------

    def _n_parameters(self) -> int:
        start, transition = self._allowed()
        return int(start.sum()) - 1 + int(transition.sum()) - len(transition) + self._n_emission_parameters()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """−2 log p(X) + p log n, p the number of free parameters, n of rows; lower is better."""
        return -2.0 * self.score(X, lengths=lengths) + self._n_parameters() * float(np.log(len(X)))

    def aic(self, X: Any, lengths: Any = None) -> float:
        """−2 log p(X) + 2 p; lower is better."""
        return -2.0 * self.score(X, lengths=lengths) + 2.0 * self._n_parameters()
