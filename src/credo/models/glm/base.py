"""What the estimators of generalised linear models share: rows in, a fit as attributes, offsets, predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from credo.blocks.array import ArraySource
from credo.blocks.source import Source
from credo.diagnostics.psis import K_RELIABLE
from credo.distributions.likelihoods import Likelihood
from credo.distributions.scalar import ScalarFamily
from credo.errors import ConvergenceWarning, DataError, ParameterError, UnavailableError
from credo.inference.exact.sparse import is_sparse
from credo.models.columns import checked_rows, checked_weights, note_columns, require_range, validated
from credo.models.copies import merged
from credo.models.evidence import Evidence
from credo.models.glm.equations import predictors
from credo.models.glm.fitting import GlmFit, GlmSpecification
from credo.models.glm.ladder import ENOUGH
from credo.models.glm.sparse import fit_any
from credo.models.priors import resolve_intercept_prior
from credo.models.reading import Readable, fit_model
from credo.prediction.integrated import IntegratedPredictive, representatives
from credo.prediction.law_draws import LawDraws

__all__ = ["PREDICTIVE_POINTS", "GlmEstimator", "GlmRegressor", "in_chunks"]

# Points a prediction averages over, a prefix of the lattice: 5 µs a row, and an error of some 0.1 % of a probability.
PREDICTIVE_POINTS = 1024
ROWS = 512
# Rows up to which they are put in order first, a millisecond: where chains may run, and small sums differ by order.
SORTED, SORTED_CELLS = 2000, 1_000_000
# e^700 is the largest power of e, in round numbers, whose square root and products with counts stay finite.
LARGEST_ETA = 700.0


class GlmEstimator(Readable, BaseEstimator):
    """Rows and outcomes in, attributes out; a subclass says its likelihood and how it predicts."""

    _classify = False

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        prior: Any = None,
        prior_intercept: Any = None,
        inference: str = "auto",
    ) -> None:
        self.fit_intercept = fit_intercept
        self.prior = prior
        self.prior_intercept = prior_intercept
        self.inference = inference

    # -- of a subclass -------------------------------------------------------------------------------------------

    def _likelihood(self, classes: np.ndarray | None) -> Likelihood:
        raise NotImplementedError

    def _checked_outcomes(self, y: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None) -> Self:
        """Fit to X (n, P) and y (n,), or to a `Source` of blocks that carry y.

        sample_weight : (n,) counts of each row; offset : (n,) added to the linear predictor, log exposure for rates.
        """
        source = self._source(X, y, sample_weight, offset)
        fit = fit_any(source, self._specification())
        self._settle(fit)
        if source is X:
            note_columns(self, X, self.coef_.shape[-1])
        return self

    def _source(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> Source:
        owner = type(self).__name__
        if isinstance(X, Source):
            if y is not None or sample_weight is not None or offset is not None:
                raise ParameterError(
                    f"{owner}.fit", "y, sample_weight and offset", "None for a source, whose blocks carry them", y
                )
            return X
        X, y = validated(self, X, y, dtype=[np.float64, np.float32], accept_sparse="csr")
        require_range(X)
        y = self._checked_outcomes(y)
        weights = checked_weights(owner, sample_weight, X)
        offset = self._offset(offset, X.shape[0], "fit")
        if X.shape[0] <= SORTED and X.shape[0] * X.shape[1] <= SORTED_CELLS:
            rows, weights = self._distinct(X, y, weights, offset)
            X, y, offset = X[rows], y[rows], None if offset is None else offset[rows]
        return ArraySource(X, y, weights, offset=offset)

    def _distinct(self, X: Any, y: np.ndarray, weights: Any, offset: Any) -> tuple[np.ndarray, Any]:
        """Rows in an order of their own, copies once, and their counts; of count 0 only where a class needs them."""
        dense = X.toarray() if is_sparse(X) else X
        rows, _, counts = merged(np.ones(X.shape[0]) if weights is None else weights, dense, y, offset)
        used = counts > 0.0
        if self._classify:
            used |= ~np.isin(y[rows], y[rows][used])
        rows, counts = rows[used], counts[used]
        return rows, None if weights is None and rows.size == X.shape[0] else counts

    def _specification(self) -> GlmSpecification:
        return self._specified(fit_intercept=bool(self.fit_intercept), prior_intercept=self.prior_intercept)

    def _specified(self, **particular: Any) -> GlmSpecification:
        names = getattr(self, "feature_names_in_", None)
        return GlmSpecification(
            owner=type(self).__name__,
            likelihood=self._likelihood,
            prior=self.prior,
            inference=self.inference,
            classify=self._classify,
            names=None if names is None else tuple(map(str, names)),
            **particular,
        )

    def _settle(self, fit: GlmFit) -> None:
        if fit.classes is not None:
            self.classes_ = fit.classes
        self.posterior_ = fit.posterior
        self.mode_ = fit.posterior.at_mode
        self.coef_ = fit.posterior.mean
        self.intercept_ = fit.posterior.intercept_mean
        self.design_ = fit.design
        if fit.learned:
            self.prior_scale_ = fit.tau
        self.outcomes_ = fit.outcomes
        self.result_ = fit.result

    # -- evidence, and what selection asks ------------------------------------------------------------------------

    @property
    def evidence_(self) -> Evidence:
        """log p(y | X), the outcomes it is of, and whether a flat intercept makes it relative."""
        check_is_fitted(self)
        posterior, design = self.posterior_, self.design_
        missing = "" if posterior.log_evidence is not None else (
            "a flat prior has none" if posterior.draws is not None and self.result_.inference == "laplace"
            else f"inference={self.result_.inference!r} computes none"
        )  # fmt: skip
        improper = set()
        if design.intercept and resolve_intercept_prior(type(self).__name__, self.prior_intercept) is None:
            improper.add("intercept")
        measure = "density" if design.likelihood.kind == "real" else "mass"
        value = posterior.log_evidence
        doubt = self._doubt()
        return Evidence(
            value, self.outcomes_, float(design.size), frozenset(improper), measure, missing=missing, doubt=doubt
        )

    def _doubt(self) -> str:
        """Of importance weights that failed, whether shown as they are or replaced by chains, which have none."""
        certificate = self.result_.certificate
        k = max(certificate.get("pareto_k", -np.inf), certificate.get("pareto_k_variance", -np.inf))
        # Too few points behind the variances leave the sum of the weights as it is.
        holds = self.result_.status == "not_certified" and k < K_RELIABLE and certificate["ess"] >= ENOUGH
        if self.result_.inference == "laplace" and not self.result_.ok and not holds:
            return f"its importance weights failed their certificate (Pareto k̂ {k:.2f})"
        if self.inference == "auto" and self.result_.inference in ("hmc", "nuts"):
            return "the importance weights about its mode failed their certificate"
        return ""

    def for_ranking(self) -> Any:
        """A clone that stays with the Gaussian at the mode, certified or not: sampling each fold would cost minutes."""
        fresh: Any = clone(self)
        return fresh.set_params(inference="laplace") if self.inference == "auto" else fresh

    def _fit_fold(self, X: Any, y: Any, sample_weight: Any) -> Any:
        with warnings.catch_warnings():  # the fit to all rows has said it
            warnings.simplefilter("ignore", ConvergenceWarning)
            return fit_model(self.for_ranking(), X, y, sample_weight)

    # -- prediction ----------------------------------------------------------------------------------------------

    @property
    def log_evidence_(self) -> float:
        """log p(y | X), by importance sampling about the mode; `UnavailableError` for a flat prior or a MAP fit."""
        check_is_fitted(self)
        value = self.posterior_.log_evidence
        if value is None:
            raise UnavailableError(
                "The evidence needs a proper prior on the coefficients and an inference that integrates over them."
            )
        return value

    def _rows(self, X: Any) -> np.ndarray:
        return checked_rows(self, X, dtype=np.float64, accept_sparse="csr")

    def _offset(self, offset: Any, n: int, method: str) -> np.ndarray | None:
        if offset is None:
            return None
        values = np.asarray(offset, dtype=np.float64)
        if values.shape not in ((), (n,)):
            raise ParameterError(
                f"{type(self).__name__}.{method}", "offset", f"a number, or one for each of {n} rows", values.shape
            )
        values = np.broadcast_to(values, (n,))
        if not np.all(np.isfinite(values)):
            bad = np.flatnonzero(~np.isfinite(values))
            raise DataError(
                f"The offset is not finite in row {bad[0]}.",
                rows=bad[:20].tolist(),
                remedy="An exposure must be > 0.",
            )
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GlmRegressor(RegressorMixin, GlmEstimator):
    """Numbers with one linear predictor: `coef_` (P,), `intercept_` a float, predictions by integrating the law."""

    def _settle(self, fit: GlmFit) -> None:
        super()._settle(fit)
        self.coef_ = fit.posterior.mean[0]
        self.intercept_ = float(fit.posterior.intercept_mean[0])
        for name, value in fit.posterior.auxiliary_median().items():
            setattr(self, f"{name}_", float(value))

    def predict(self, X: Any, offset: Any = None) -> np.ndarray:
        """The mean of y, E[y | x], integrated over the posterior: (n,)."""
        return self.predict_distribution(X, offset).mean

    def predict_distribution(self, X: Any, offset: Any = None) -> IntegratedPredictive:
        """`IntegratedPredictive` of y at the rows of X, with offset (n,) or a number added to the linear predictor."""
        X = self._rows(X)
        points, weights = self.posterior_.support()
        law = self._laws(X, points, self._offset(offset, X.shape[0], "predict_distribution"))
        few = representatives(points, weights)
        return IntegratedPredictive(weights, law, X.shape[0], self.design_.likelihood.kind, self.result_.inference, few)

    def law_draws(self, X: Any, offset: Any = None, draws: int | None = None) -> LawDraws:
        """Laws of y at the rows of X, at the weighted points of the posterior, or about `draws` of them."""
        X = self._rows(X)
        known = self.posterior_._require("draws")
        points, weights = (known.points, known.weights) if draws is None else known.thinned(draws)
        law = self._laws(X, points, self._offset(offset, X.shape[0], "law_draws"))
        return LawDraws(weights, law, X.shape[0])

    def _laws(
        self, X: np.ndarray, points: np.ndarray, shift: np.ndarray | None
    ) -> Callable[[np.ndarray], ScalarFamily]:
        """rows → the law of y there, given each of the points (S, K)."""
        design = self.design_

        def law(rows: np.ndarray) -> ScalarFamily:
            known = None if shift is None else shift[rows]
            parts = [eta for _, eta, _ in predictors(design.rows(X[rows]), points, design, known)]
            eta = self._bounded(np.concatenate(parts))
            tail = points[:, design.n_weights :]
            law: Any = design.likelihood.law(eta, tail) if design.n_auxiliary else design.likelihood.law(eta)
            return law

        return law

    def coefficient_scale(self, target: str = "y", labels: Sequence[str] = ()) -> str:
        return f"the log of the expected {target}"

    def _bounded(self, eta: np.ndarray) -> np.ndarray:
        """η of a log link, kept where its mean is a number."""
        return np.clip(eta, -LARGEST_ETA, LARGEST_ETA, out=eta)


def in_chunks(
    function: Callable[[np.ndarray, np.ndarray | None], tuple[np.ndarray, ...]],
    X: np.ndarray,
    offset: np.ndarray | None,
) -> tuple[np.ndarray, ...]:
    """function(rows of X, their offsets) over blocks of rows, concatenated."""
    parts = [
        function(X[start : start + ROWS], None if offset is None else offset[start : start + ROWS])
        for start in range(0, X.shape[0], ROWS)
    ]
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def deviance_explained(
    deviance: Callable[[np.ndarray, np.ndarray], np.ndarray],
    y: np.ndarray,
    mean: np.ndarray,
    weights: np.ndarray | None,
) -> float:
    """D² = 1 − D(y, mean)/D(y, ȳ), of deviances (y, mean) → (n,); 0 where all outcomes are one and are predicted."""
    constant = np.full(y.shape, np.average(y, weights=weights))
    unexplained = float(np.average(deviance(y, mean), weights=weights))
    total = float(np.average(deviance(y, constant), weights=weights))
    if total > 0.0:
        return 1.0 - unexplained / total
    return 1.0 if unexplained == 0.0 else 0.0
