"""What every mixture estimator shares: `EMEstimator`, the order of a fit, and `MixtureEstimator`, predictions from log
joint densities of rows and components."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import validate_data

from credo.blocks.array import ArraySource
from credo.blocks.partition import rows_per_block
from credo.blocks.reduction import map_blocks, reduce
from credo.blocks.source import Source
from credo.errors import DataError, ParameterError, warn
from credo.inference.em import EMFit, EMModel, best_of
from credo.inference.em.model import merge
from credo.inference.result import Result
from credo.models.columns import checked_rows, checked_weights, note_columns, require_range
from credo.models.convergence import FitConvergenceWarning
from credo.models.mixture.expectation import normalise
from credo.numerics.random import as_generator

__all__ = ["EMEstimator", "MixtureEstimator", "log_total", "threads_for"]


def threads_for(source: Source) -> int | None:
    """One where the rows make a single block: a pool would cost more than the pass."""
    return 1 if isinstance(source, ArraySource) and source.n_rows <= source.block_rows else None


class EMEstimator(BaseEstimator):
    """An estimator fitted by EM; not public. Parameters named here are scikit-learn's."""

    n_components: Any
    tol: float
    max_iter: int
    n_init: int
    random_state: Any
    warm_start: bool
    verbose: int
    verbose_interval: int
    acceleration: str | None
    weights_: np.ndarray

    # -- what a mixture supplies ---------------------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse parameters that no data could make right."""
        owner = type(self).__name__
        for name in ("max_iter", "n_init", "n_components"):
            value, least = getattr(self, name), 0 if name == "max_iter" else 1
            if name == "n_components" and value == "auto" and self._can_choose:
                continue
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ParameterError(owner, name, f"an integer ≥ {least}", value)
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol >= 0.0):
            raise ParameterError(owner, "tol", "a number ≥ 0", self.tol)
        if self.acceleration not in (None, "squarem"):
            raise ParameterError(owner, "acceleration", "None or 'squarem'", self.acceleration)

    _can_choose = False
    _allow_nan = False
    # steps after which all starts but the best are given up; None runs each to the end, as scikit-learn does
    _screen: int | None = None

    def _prepare(self, source: Source, rng: np.random.Generator) -> Any:
        """One pass over the data: what the model and its starts are made from."""
        raise NotImplementedError

    def _model(self, seen: Any) -> EMModel:
        raise NotImplementedError

    def _start(self, model: Any, seen: Any, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def _resume(self, model: Any, seen: Any) -> Any:
        """The fitted attributes as parameters of `model`, for `warm_start`."""
        raise NotImplementedError

    def _settle(self, model: Any, fit: EMFit, seen: Any) -> None:
        """Set the attributes."""
        raise NotImplementedError

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, d), or to a `Source` of blocks; `sample_weight` (n,) counts rows."""
        self._check()
        return self._fit_source(self._source(X, sample_weight))

    def _fit_source(self, source: Source) -> Self:
        rng = as_generator(self.random_state)
        seen = self._prepare(source, rng)
        if seen.n_rows < self._least_rows():
            raise DataError(
                f"{type(self).__name__}: Expected n_samples >= n_components, got {seen.n_rows} rows of positive weight "
                f"for {self._least_rows()} components.",
                value=seen.n_rows,
                remedy="Use fewer components.",
            )
        model = self._model(seen)
        resumed = bool(self.warm_start) and hasattr(self, "converged_") and len(self.weights_) == self.n_components
        starts = [self._resume(model, seen)] if resumed else [self._start(model, seen, rng) for _ in range(self.n_init)]
        before = self.lower_bound_ if resumed else None
        fit = self._run(model, source, starts, seen.weight)
        self._settle(model, fit, seen)
        self._report(fit, self._scale(seen.weight), before)
        return self

    def _scale(self, weight: float) -> float:
        """What a bound is divided by where it is shown and where it is compared with `tol`."""
        return weight

    def _least_rows(self) -> int:
        return int(self.n_components)

    def _run(self, model: EMModel, source: Source, starts: list[Any], weight: float) -> EMFit:
        threads = threads_for(source)
        if self.max_iter == 0:  # the start itself, evaluated
            statistics = reduce(source, lambda block: model.accumulate(block, starts[0]), merge, threads)
            bound = float(model.bound(statistics, starts[0]))
            return EMFit(starts[0], statistics, bound, 1, Result("max_iter", "em", (bound,), (0.0,)))
        return best_of(
            model,
            source,
            starts,
            screen=self._screen,
            tol=float(self.tol),
            scale=self._scale(weight),
            max_iter=int(self.max_iter),
            acceleration=self.acceleration,
            threads=threads,
            finish=True,
            callback=self._callback(self._scale(weight)) if self.verbose else None,
        )

    def _callback(self, scale: float) -> Any:
        def show(step: int, params: Any, bound: float) -> None:
            if step % self.verbose_interval == 0:
                print(f"{type(self).__name__}: step {step}, bound {bound / scale:.6f}")

        return show

    def _report(self, fit: EMFit, scale: float, before: float | None) -> None:
        """`before` : the scaled bound at which the fit that this one goes on from ended."""
        bounds = [] if self.max_iter == 0 else [bound / scale for bound in fit.result.objective]
        going_on = before is not None and len(bounds) == 1 and abs(bounds[0] - before) < self.tol
        self.converged_ = fit.result.status == "converged" or going_on
        self.lower_bound_ = fit.bound / scale
        self.lower_bounds_ = bounds
        self.n_iter_ = len(bounds)
        self.result_ = fit.result
        if not self.converged_ and self.max_iter > 0:
            advice = " ".join(fit.result.advice) or f"Status: {fit.result.status}."
            warn(f"{type(self).__name__} did not converge. {advice}", FitConvergenceWarning)

    def _source(self, X: Any, sample_weight: Any, *, reset: bool = True) -> Source:
        if isinstance(X, Source):
            if sample_weight is not None:
                raise ParameterError(f"{type(self).__name__}.fit", "sample_weight", "None for a source", sample_weight)
            if reset:
                first = next(iter(X), None)
                if first is None:
                    raise DataError("The source holds no rows.", value=0)
                note_columns(self, X, first.X.shape[1])
            return X
        X = self._validated(X, reset=reset)
        return ArraySource(X, sample_weight=checked_weights(type(self).__name__, sample_weight, X))

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        finite = "allow-nan" if self._allow_nan else True
        how = {"dtype": [np.float64, np.float32], "ensure_all_finite": finite}
        if reset:
            rows: Any = validate_data(self, X, ensure_min_samples=2, **how)
            require_range(rows)
            return rows
        return checked_rows(self, X, **how)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allow_nan
        return tags


class MixtureEstimator(DensityMixin, EMEstimator):
    """Predictions of a mixture over rows; not public."""

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        """log π_k p_k(x) (k, n) of validated rows."""
        raise NotImplementedError

    def _blocks(self, X: Any, function: Any) -> Iterator[Any]:
        X = self._validated(X, reset=False)
        source = ArraySource(X, block_rows=rows_per_block(X.shape[1] + self._width()))
        return map_blocks(source, lambda block: function(self._log_joint(block.X)), threads_for(source))

    def _width(self) -> int:
        return len(self.weights_)

    def _gather(self, X: Any, function: Any) -> np.ndarray:
        """function(log joint (k, n)) of every block, joined along rows, in the precision of X."""
        found = np.concatenate(list(self._blocks(X, function)))
        single = getattr(X, "dtype", None) == np.float32 and found.dtype == np.float64
        return found.astype(np.float32) if single else found

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of every row, (n,)."""
        return self._gather(X, lambda log_joint: log_joint.argmax(axis=0))

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(component | row), (n, k)."""

        def share(log_joint: np.ndarray) -> np.ndarray:
            normalise(log_joint, None)
            return log_joint.T

        return self._gather(X, share)

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of every row, (n,), in nats."""
        return self._gather(X, log_total)

    def anomaly_score(self, X: Any) -> np.ndarray:
        """−log p(x) of every row, (n,): the higher, the less the row is like the rest."""
        return -self.score_samples(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log p(x) of the rows, weighted."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """`fit`, then `predict` of the same rows."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def _n_parameters(self) -> int:
        raise NotImplementedError

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """−2 log p(X) + p log n, p the number of free parameters; lower is better."""
        n = len(X) if sample_weight is None else float(np.sum(sample_weight))
        return -2.0 * self.score(X, sample_weight=sample_weight) * n + self._n_parameters() * float(np.log(n))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """−2 log p(X) + 2 p; lower is better."""
        n = len(X) if sample_weight is None else float(np.sum(sample_weight))
        return -2.0 * self.score(X, sample_weight=sample_weight) * n + 2.0 * self._n_parameters()

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """BIC plus twice the entropy of the memberships (in nats): also asks that components be told apart.

        Biernacki, Celeux and Govaert (2000), Assessing a mixture model for clustering with the integrated completed
        likelihood, IEEE PAMI 22.
        """
        shares = self.predict_proba(X)
        entropy = -(shares * np.log(np.maximum(shares, np.finfo(float).tiny))).sum(axis=1)
        weights = np.ones(len(entropy)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return self.bic(X, sample_weight) + 2.0 * float(weights @ entropy)


def log_total(log_joint: np.ndarray) -> np.ndarray:
    """log Σ_k exp ℓ_k (n,) of ℓ (k, n); −∞ where all are."""
    highest = log_joint.max(axis=0)
    finite = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore"):
        return finite + np.log(np.exp(log_joint - finite).sum(axis=0))
