"""`Readable`: what can be read off any fitted regression or classifier, and what selection asks of it.

An estimator supplies `evidence_` and `law_draws`; the rest follows, and where algebra does better it is overridden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from credo.diagnostics.information import WAIC, LeaveOneOut, psis_loo, waic
from credo.diagnostics.labels import label_codes
from credo.diagnostics.r2 import BayesianR2, bayesian_r2
from credo.errors import UnavailableError
from credo.models.evidence import Evidence
from credo.prediction.law_draws import LawDraws

__all__ = ["Readable", "fit_model", "refitted", "rows_of", "unseen_classes"]


class Readable:
    """Mixin of estimators. `options` of the methods go to `law_draws` (an offset, a noise scale of the rows)."""

    # -- of an estimator -----------------------------------------------------------------------------------------

    @property
    def evidence_(self) -> Evidence:
        """log p(y | X) with what it takes to compare it: the outcomes, what is improper, how many parameters."""
        raise UnavailableError(
            f"{type(self).__name__} has no evidence.", remedy="Compare by held-out scores, cr.compare(models, X, y)."
        )

    def law_draws(self, X: Any, **options: Any) -> LawDraws:
        """The law of y at the rows of X given each of some thousand points of the posterior, always the same ones;
        about `draws` of them, if that is given."""
        raise UnavailableError(
            f"{type(self).__name__} has no draws from a posterior.",
            remedy="Fit with an inference that integrates over the parameters.",
        )

    # -- reading -------------------------------------------------------------------------------------------------

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log p(y_i | x_i, the other rows) of the rows of `fit`: in closed form where there is one, else by PSIS.

        A row of weight w is left out whole. Warns of the rows, by number, whose Pareto k̂ is 0.7 or more.

        Raises
        ------
        UnavailableError : the posterior is a point, or was not certified.
        """
        counts = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        parts = [
            psis_loo(ll, weights, None if counts is None else counts[rows])
            for rows, ll, weights in self._log_likelihoods(X, y, options)
        ]
        pointwise, k_hat, penalty = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("pointwise", "k_hat", "penalty")
        )
        return LeaveOneOut(pointwise, "psis", k_hat, penalty).warn()

    def waic(self, X: Any, y: Any, **options: Any) -> WAIC:
        """The widely applicable information criterion of the rows of `fit`, of weight 1; warns where it is no guide."""
        parts = [waic(ll, weights) for _, ll, weights in self._log_likelihoods(X, y, options)]
        pointwise, penalty = (np.concatenate([getattr(p, name) for p in parts]) for name in ("pointwise", "penalty"))
        return WAIC(pointwise, penalty).warn()

    def bayesian_r2(self, X: Any, sample_weight: Any = None, **options: Any) -> BayesianR2:
        """Belief about R² over the rows of X: variance of the expected outcomes over that plus the model's noise.

        Of two classes it is of the probability of the second.

        Raises
        ------
        UnavailableError : several classes or targets, which have no one variance.
        """
        draws = self.law_draws(X, **options)
        means, variances = draws.means(), draws.variances()
        if draws.classes is not None:
            if draws.classes.size != 2:
                raise UnavailableError("R² is of a number or of two classes.", remedy="Use leave_one_out.")
            means, variances = means[..., 1], variances[..., 1]
        return bayesian_r2(means, variances, draws.weights, sample_weight)

    def _log_likelihoods(
        self, X: Any, y: Any, options: dict[str, Any]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(rows, log p(y_i | θ_s) of them, weights of the draws), a chunk of rows at a time."""
        draws = self.law_draws(X, **options)
        y = np.asarray(y)
        if draws.classes is not None:
            y = label_codes(draws.classes, y, type(self).__name__)
        for rows in draws.chunks():
            part = replace(draws, law=lambda some, rows=rows: draws.law(rows[some]), n_rows=rows.size)
            yield rows, part.log_prob(y[rows]), draws.weights

    def coefficient_scale(self, target: str = "y", labels: Sequence[str] = ()) -> str:
        """What a coefficient moves, in words: the target, the log of what is expected of it, log-odds."""
        if not is_classifier(self):
            return target
        if len(labels) == 2:
            return f"the log-odds of {target} = {labels[1]}"
        return f"the log-probability of a class of {target}, up to a constant that all classes share,"

    # -- selection -----------------------------------------------------------------------------------------------

    def for_ranking(self) -> Any:
        """An unfitted clone whose fits have a bounded cost, for a comparison; the model that is kept climbs as far as
        it needs."""
        return clone(self)  # type: ignore[type-var]

    def held_out(self, X: Any, y: np.ndarray, sample_weight: Any, splits: Any) -> Iterator[tuple[np.ndarray, Any]]:
        """(rows scored, their `Predictive` from a fit to the other side) for each of `splits`; the model, fitted to all
        rows, is left as it is. Rows whose class the other side lacks are left out."""
        return refitted(self, self._fit_fold, lambda model, rows: model.predict_distribution(rows), X, y, sample_weight,
                        splits)  # fmt: skip

    def _fit_fold(self, X: Any, y: Any, sample_weight: Any) -> Any:
        return fit_model(self.for_ranking(), X, y, sample_weight)


def refitted(
    model: Any,
    fit: Callable[[Any, Any, Any], Any],
    predict: Callable[[Any, Any], Any],
    X: Any,
    y: np.ndarray,
    sample_weight: Any,
    splits: Any,
) -> Iterator[tuple[np.ndarray, Any]]:
    """Fold by fold: `fit` to the rows to learn from, `predict` those to be scored."""
    for train, test in splits:
        test = test[~unseen_classes(model, y, train, test)]
        if test.size:
            fitted = fit(rows_of(X, train), y[train], rows_of(sample_weight, train))
            yield test, predict(fitted, rows_of(X, test))


def fit_model(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """`model.fit`, with weights where there are some."""
    if sample_weight is None:
        return model.fit(X, y)
    return model.fit(X, y, sample_weight=sample_weight)


def rows_of(table: Any, rows: np.ndarray) -> Any:
    """Some rows of an array or data frame; None stays None."""
    if table is None:
        return None
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows]


def unseen_classes(model: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """(test,) whether a row's class is missing from the rows to learn from; False for numbers."""
    if not is_classifier(model) or np.ndim(y) != 1:
        return np.zeros(test.size, dtype=bool)
    classes = np.asarray(model.classes_)
    seen = np.bincount(label_codes(classes, y[train], "compare"), minlength=len(classes))
    return seen[label_codes(classes, y[test], "compare")] == 0
