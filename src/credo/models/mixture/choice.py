"""How many components: mixtures of several sizes compared by BIC, ICL or the log score of held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from credo.blocks.source import Source
from credo.errors import ParameterError, warn
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["choose_components", "ComponentChoice", "ComponentScore", "Chosen"]

CRITERIA = ("bic", "icl", "cv")
# "auto" stops after this many sizes in a row without a better one: BIC is not quite convex in k.
PATIENCE = 3
MOST = 10


@register
@dataclass(frozen=True)
class ComponentScore:
    """One mixture that was tried.

    n_components, covariance_type ("" where there is none), n_parameters ; log_likelihood : of all rows
    bic, icl : lower is better; log_score, log_score_se : mean log density of a held-out row and its standard error,
    None unless asked for
    """

    n_components: int
    covariance_type: str
    n_parameters: int
    log_likelihood: float
    bic: float
    icl: float
    log_score: float | None = None
    log_score_se: float | None = None

    def loss(self, criterion: str) -> float:
        if criterion == "cv":
            return np.inf if self.log_score is None else -self.log_score
        return self.bic if criterion == "bic" else self.icl


@register
@dataclass(frozen=True)
class ComponentChoice:
    """scores : every mixture tried; criterion : by which `best` was chosen."""

    criterion: str
    scores: tuple[ComponentScore, ...]

    @property
    def best(self) -> ComponentScore:
        return min(self.scores, key=lambda score: score.loss(self.criterion))


@dataclass(frozen=True)
class Chosen:
    """best : the fitted estimator; record : the comparison."""

    best: Any
    record: ComponentChoice


def choose_components(
    X: Any,
    n_components: Iterable[int] | None = None,
    *,
    criterion: str = "bic",
    covariance_types: Iterable[str] | None = None,
    estimator: Any = None,
    sample_weight: Any = None,
    cv: int = 5,
    random_state: Any = None,
) -> Chosen:
    """Fit mixtures of several sizes to rows X (n, d) and keep the best.

    Parameters
    ----------
    n_components : sizes to try; None tries 1, 2, … up to 10, stopping three sizes after the best
    criterion : "bic"; "icl" (BIC that also asks for components apart); "cv" (log score of held-out rows)
    covariance_types : None is the estimator's own
    estimator : the mixture to copy all else from; None is a `GaussianMixture`
    cv : folds, for "cv"

    Returns
    -------
    Chosen : `best`, the fitted estimator, and `record`, a `ComponentChoice`

    Notes
    -----
    BIC's penalty assumes a regular model, which a mixture with too many components is not; it is consistent all the
    same (Keribin 2000, Sankhyā 62). A component that collapsed makes its likelihood meaningless: give priors.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, 150), rng.normal(4, 1, 150)])[:, None]
    >>> found = choose_components(X, range(1, 5), random_state=0)
    >>> len(found.best.weights_), [score.n_components for score in found.record.scores]
    (2, [1, 2, 3, 4])
    """
    base = _base(estimator, random_state)
    if criterion not in CRITERIA:
        raise ParameterError("choose_components", "criterion", f"one of {CRITERIA}", criterion)
    if isinstance(X, Source):
        raise ParameterError("choose_components", "X", "an array: sizes are compared on rows in memory", X)
    if not (isinstance(cv, (int, np.integer)) and cv >= 2):
        raise ParameterError("choose_components", "cv", "an integer ≥ 2", cv)
    X = base._validated(X, reset=True)
    n_folds = int(cv) if criterion == "cv" else 0
    best: Any = None
    said: list[warnings.WarningMessage] = []
    scores: list[ComponentScore] = []
    for covariance_type in covariance_types or (getattr(base, "covariance_type", ""),):
        if covariance_type:
            base.set_params(covariance_type=covariance_type)
        tried: list[ComponentScore] = []
        for k in _sizes(n_components, len(X)):
            with warnings.catch_warnings(record=True) as caught:  # only what the chosen one warned of is news
                warnings.simplefilter("always")
                model, score = _try(base, k, X, sample_weight, n_folds)
            if best is None or score.loss(criterion) < min(s.loss(criterion) for s in [*scores, *tried]):
                best, said = model, caught
            tried.append(score)
            if n_components is None and _settled([s.loss(criterion) for s in tried]):
                break
        scores += tried
    for warning in said:
        warn(str(warning.message), warning.category)
    if hasattr(base, "feature_names_in_"):
        best.feature_names_in_ = base.feature_names_in_
    return Chosen(best, ComponentChoice(criterion, tuple(scores)))


def _base(estimator: Any, random_state: Any) -> Any:
    from credo.models.mixture.estimator import GaussianMixture

    base: Any = clone(estimator) if estimator is not None else GaussianMixture(random_state=random_state)
    # every size from the same stream, so that the answer does not depend on which others are tried
    seed = int(as_generator(base.random_state).integers(2**31))
    return base.set_params(n_components=1, random_state=seed, warm_start=False)


def _sizes(n_components: Iterable[int] | None, n_rows: int) -> list[int]:
    sizes = list(range(1, min(MOST, n_rows) + 1)) if n_components is None else list(n_components)
    if not sizes:
        raise ParameterError("choose_components", "n_components", "at least one size", n_components)
    return sizes


def _settled(losses: list[float]) -> bool:
    return len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE


def _try(base: Any, k: int, X: np.ndarray, sample_weight: Any, n_folds: int) -> tuple[Any, ComponentScore]:
    model = _sized(base, k).fit(X, sample_weight=sample_weight)
    n = len(X) if sample_weight is None else float(np.sum(sample_weight))
    held_out = _held_out(base, k, X, sample_weight, n_folds) if n_folds else (None, None)
    score = ComponentScore(
        int(k),
        getattr(base, "covariance_type", ""),
        model._n_parameters(),
        model.score(X, sample_weight=sample_weight) * n,
        model.bic(X, sample_weight),
        model.icl(X, sample_weight),
        *held_out,
    )
    return model, score


def _sized(base: Any, k: int) -> Any:
    copy: Any = clone(base)
    return copy.set_params(n_components=k)


def _held_out(base: Any, k: int, X: np.ndarray, sample_weight: Any, n_folds: int) -> tuple[float, float]:
    """Mean log density of held-out rows and its standard error; the folds are the same for every size."""
    order = np.random.default_rng(base.random_state).permutation(len(X))
    weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    log_p = np.empty(len(X))
    for fold in np.array_split(order, n_folds):
        rest = np.setdiff1d(order, fold)
        model = _sized(base, k).fit(X[rest], sample_weight=weights[rest])
        log_p[fold] = model.score_samples(X[fold])
    mean = float(np.average(log_p, weights=weights))
    variance = float(np.average(np.square(log_p - mean), weights=weights))
    return mean, float(np.sqrt(variance / weights.sum()))
