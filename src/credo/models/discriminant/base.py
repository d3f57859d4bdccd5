"""What linear and quadratic discriminant analysis share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.utils.validation import check_array, validate_data

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.distributions.normal_inverse_wishart import NormalInverseWishart
from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.models.columns import require_range
from credo.models.discriminant.equations import fourth_moment, ledoit_wolf_share, shrunk
from credo.models.discriminant.family import DiscriminantFamily
from credo.models.discriminant.kept import KeptRows
from credo.models.discriminant.missing import complete
from credo.models.generative.classes import ClassBelief
from credo.models.generative.equations import class_probabilities, log_evidence
from credo.models.generative.estimator import GenerativeClassifier
from credo.models.generative.family import Part
from credo.models.generative.learning import gather, labelled, learn_with_missing_labels
from credo.models.naive_bayes.gaussian_family import GaussianFamily
from credo.numerics.random import as_generator

__all__ = ["Discriminant", "UnsupportedError"]

# Draws of the parameters for the split of the entropy: the epistemic part is then within some 12 % (√(2/128)).
_DRAWS = 128


class UnsupportedError(ParameterError, NotImplementedError):
    """A combination of arguments that has no meaning; NotImplementedError too, as scikit-learn has it."""


class Discriminant(GenerativeClassifier):
    """Base of `LinearDiscriminantAnalysis` and `QuadraticDiscriminantAnalysis`; not public."""

    solver: str
    shrinkage: Any
    priors: Any
    tol: float
    covariance_estimator: Any
    covariance_type: str
    prior: Any
    _solvers: tuple[str, ...] = ()
    _shared = True
    _needs_two = 2

    # -- checks ----------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        owner = type(self).__name__
        if self.solver not in self._solvers:
            raise ParameterError(owner, "solver", f"one of {', '.join(self._solvers)}", self.solver)
        if self.covariance_type not in ("full", "diag"):
            raise ParameterError(owner, "covariance_type", "'full' or 'diag'", self.covariance_type)
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol >= 0.0):
            raise ParameterError(owner, "tol", "a number ≥ 0", self.tol)
        known = isinstance(self.prior, (str, type(None))) and self.prior in (None, "auto")
        if not (known or isinstance(self.prior, NormalInverseWishart)):
            raise ParameterError(owner, "prior", "a NormalInverseWishart, 'auto' or None", self.prior)
        self._check_shrinkage(owner)

    def _check_shrinkage(self, owner: str) -> None:
        s, estimator = self.shrinkage, self.covariance_estimator
        if s is not None and s != "auto" and not (isinstance(s, (int, float, np.number)) and 0.0 <= s <= 1.0):
            raise ParameterError(owner, "shrinkage", "a number in [0, 1], 'auto' or None", s)
        if s is not None and estimator is not None and s != 0:
            raise ParameterError(
                owner, "shrinkage", "None beside covariance_estimator", s,
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set.",
            )  # fmt: skip
        if self.solver == "svd" and s is not None:
            raise UnsupportedError(owner, "shrinkage", "None with solver='svd'", s, "Use solver='eigen'.")
        if self.solver == "svd" and estimator is not None:
            raise ParameterError(
                owner, "covariance_estimator", "None with solver='svd'", estimator,
                f"{self._unsupported} Try another solver.",
            )  # fmt: skip
        if self.prior is not None and (s is not None or estimator is not None):
            raise ParameterError(owner, "prior", "None beside shrinkage or covariance_estimator", self.prior)
        if self.covariance_type == "diag" and (s is not None or estimator is not None or self.prior is not None):
            raise ParameterError(
                owner, "covariance_type", "'full' beside shrinkage, covariance_estimator or prior", "diag"
            )

    _unsupported = ""

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        rows: Any = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan",
            ensure_min_samples=self._needs_two if reset else 1,
        )  # fmt: skip
        require_range(rows)
        return rows

    def _known_classes(self, n_classes: int) -> np.ndarray | None:
        if self.priors is None:
            return None
        owner = type(self).__name__
        prior = np.array(self.priors, dtype=np.float64)
        if prior.shape != (n_classes,):
            raise ParameterError(owner, "priors", f"of shape ({n_classes},)", self.priors)
        if np.any(prior < 0.0):
            raise ParameterError(owner, "priors", "probabilities", self.priors, "All priors must be non-negative.")
        if abs(prior.sum() - 1.0) > 1e-5:
            warn(f"{owner}.priors sum to {prior.sum():g}, not to 1; they are divided by their sum.", DataWarning)
            prior = prior / prior.sum()
        return prior

    # -- fitting ---------------------------------------------------------------------------------------------------

    def _families(self, cells: Any, codes: Any = None, weights: Any = None) -> tuple[Part, ...]:
        if self.covariance_type == "diag":
            return (Part(GaussianFamily(0.0, shared=self._shared)),)
        share = 0.0 if self.shrinkage in (None, "auto") else float(self.shrinkage)
        known = self._known_classes(len(self.classes_)) if self._shared and self.solver != "svd" else None
        return (Part(DiscriminantFamily(self._shared, share, self._added(), None, self.prior, known)),)

    def _learn(self, source: Source, classes: np.ndarray, cells: Any) -> Any:
        codes = getattr(source, "y", None)
        owner = type(self).__name__
        by_rows = self.shrinkage == "auto" or self.covariance_estimator is not None
        unlabelled = codes is not None and codes.min(initial=0) < 0
        if self.covariance_type == "diag" or codes is None or not np.isnan(cells.sum()):
            if by_rows and unlabelled:
                replace(self._families(cells)[0].family, added=1.0).require_soft_fit(owner)
            if self.prior is not None and unlabelled:
                return self._learn_at_modes(source, classes, cells)
            return super()._learn(source, classes, cells)
        if by_rows or unlabelled:
            raise DataError(
                f"{owner}.fit: Input X contains NaN beside shrinkage='auto', covariance_estimator or missing labels.",
                value=np.nan,
                remedy="Use a number for shrinkage, or prior='auto'; or drop these rows.",
            )
        self.classes_, k = classes, len(classes)
        parts = self._families(cells, codes)
        marginal = gather(source, (Part(GaussianFamily()),), k)[1]
        fit = complete(source, parts[0].family, k, marginal)
        statistics = fit.statistics[:-1]
        return self._conclude(self._refine(source, parts, statistics), statistics, fit.result)

    def _learn_at_modes(self, source: Source, classes: np.ndarray, cells: Any) -> Any:
        """EM where labels are missing, to the mode of the posterior under the prior that the labelled rows give."""
        self.classes_, k = classes, len(classes)
        parts = self._families(cells)
        prior = parts[0].family.stated(labelled(source, parts, k)[1])
        modes = (Part(replace(parts[0].family, prior=prior, at_mode=True)),)
        fit = learn_with_missing_labels(source, modes, k, self._known_classes(k))
        statistics = fit.statistics[:-1]
        return self._conclude(self._refine(source, parts, statistics), statistics, fit.result)

    def _added(self) -> float:
        return 0.0

    def _refine(self, source: Source, parts: tuple[Part, ...], statistics: tuple[Any, ...]) -> tuple[Part, ...]:
        """Shares by Ledoit and Wolf, and rows left out, take a second pass; another estimator of covariances takes the
        rows."""
        if self.covariance_type == "diag":
            return parts
        family = parts[0].family
        if self.shrinkage == "auto":
            family = replace(family, shares=_automatic_shares(source, statistics[1]), covariances=None)
            family = replace(family, covariances=_on_unit_scale(statistics[1], family.shares), shares=0.0)
        if self.covariance_estimator is not None:
            family = replace(family, covariances=self._by_estimator(source, len(statistics[0])))
        if self._is_judged:
            family = self._judged(family, statistics, self._keep(source, KeptRows.none(self.n_features_in_)))
        return (Part(family),)

    def _refine_more(self, source: Source, parts: tuple[Part, ...], statistics: tuple[Any, ...]) -> tuple[Part, ...]:
        family = parts[0].family
        if self._is_judged:
            kept = self._keep(source, getattr(self, "kept_rows_", None) or KeptRows.none(self.n_features_in_))
            family = self._judged(family, statistics, kept)
        if self.covariance_type == "full" and family.has_soft_fit and self._has_too_few(statistics[1]):
            warn(
                f"{type(self).__name__}.partial_fit: the rows so far leave no covariance; prior='auto' is used until "
                "they do. Begin with more rows of every class, or state the prior.",
                DataWarning,
            )
            family = replace(family, prior="auto")
        return (Part(family),)

    def _has_too_few(self, scatter: Any) -> bool:
        """Whether so few rows have no covariance."""
        raise NotImplementedError

    @property
    def _is_judged(self) -> bool:
        """Whether the default prior of a covariance of each class is in use, judged by a sample of the rows."""
        return not self._shared and self.covariance_type == "full" and self.prior in (None, "auto")

    def _keep(self, source: Source, kept: KeptRows) -> KeptRows:
        for block in source:
            kept = kept.with_rows(block)
        self.kept_rows_ = kept
        return kept

    def _judged(self, family: DiscriminantFamily, statistics: tuple[Any, ...], rows: Source) -> DiscriminantFamily:
        """With a default prior as strong as tells the classes of rows left out best."""
        log_class = ClassBelief(statistics[0], self._known_classes(len(statistics[0]))).log_probability
        return replace(family, rows=family.left_out(statistics[1], log_class).best(rows))

    def _by_estimator(self, source: Source, k: int) -> np.ndarray:
        blocks: list[Any] = [(block.X, block.y) for block in source]
        X, codes = np.concatenate([x for x, _ in blocks]), np.concatenate([y for _, y in blocks])
        each = []
        for c in range(k):
            self.covariance_estimator.fit(X[codes == c])
            if not hasattr(self.covariance_estimator, "covariance_"):
                raise ParameterError(
                    type(self).__name__, "covariance_estimator", "an object whose fit sets covariance_",
                    self.covariance_estimator,
                )  # fmt: skip
            each.append(np.atleast_2d(self.covariance_estimator.covariance_))
        return np.stack(each)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Any:
        """As the base's; refused with shrinkage="auto" and covariance_estimator, which need the rows again."""
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise UnsupportedError(
                f"{type(self).__name__}.partial_fit", "shrinkage", "a number or None", self.shrinkage,
                "Ledoit and Wolf's share needs all rows a second time: use fit, a number, or prior='auto'.",
            )  # fmt: skip
        return super().partial_fit(X, y, classes, sample_weight)

    def _add(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> Any:
        if self.covariance_type == "full" and _has_gaps(X):
            raise DataError(
                f"{type(self).__name__}.partial_fit: Input X contains NaN.",
                value=np.nan,
                remedy="Give all rows to fit, which runs EM over missing cells, or use covariance_type='diag'.",
            )
        return super()._add(X, y, classes, sample_weight, first)

    # -- predicting ------------------------------------------------------------------------------------------------

    def _aleatoric(self, cells: Any, probability: np.ndarray) -> np.ndarray:
        """H − E KL(p(y | x, θ) ‖ p(y | x, D)) over draws of θ | D weighted by p(x | θ), the same draws for all rows.

        Every divergence is of order 1/n, so that the error of the epistemic part is relative to it.
        """
        rng = as_generator(0)
        log_p = np.log(np.maximum(probability, 1e-300))
        total, value = np.zeros(len(probability)), np.zeros(len(probability))
        top = np.full(len(probability), -np.inf)
        for _ in range(_DRAWS):
            joint = self._drawn_joint(cells, rng)
            evidence, p = log_evidence(joint), class_probabilities(joint)
            higher = np.maximum(top, evidence)
            old, new = np.exp(top - higher), np.exp(evidence - higher)
            divergence = -np.sum(entr(p) + p * log_p, axis=1)
            total, value, top = total * old + new, value * old + new * divergence, higher
        entropy = entr(probability).sum(axis=1)
        return np.clip(entropy - value / total, 0.0, entropy)

    def _scores(self, X: Any) -> np.ndarray:
        """log p(x, c) (n, k), up to a term that all classes share."""
        return self._joint(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """log p(x, c) (n, k) up to a term common to the classes; of two, the difference (n,): above 0 the second."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row (n,); cells of NaN are integrated out."""
        scores = self._scores(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(c | x) (n, k)."""
        scores = self._scores(X)
        return scores - log_evidence(scores)[:, None]

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(c | x) (n, k), at the point estimates."""
        return class_probabilities(self._scores(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _has_gaps(X: Any) -> bool:
    how: Any = "allow-nan"  # whose annotation says bool
    return bool(np.isnan(check_array(X, ensure_all_finite=how)).any())


def _automatic_shares(source: Source, scatter: Any) -> np.ndarray:
    """Ledoit and Wolf's share of every class, on columns divided by their sd in it."""
    sd = _class_sd(scatter)
    k = len(sd)

    def fourths(block: Block) -> np.ndarray:
        out = np.zeros(k)
        assert block.y is not None
        for c in range(k):
            own = block.y == c
            weights = None if block.weights is None else block.weights[own]
            out[c] = fourth_moment(block.X[own], weights, scatter.mean[c], sd[c])
        return out

    fourth = reduce(source, fourths, np.add)
    shares = np.zeros(k)
    for c in np.flatnonzero(scatter.weight > 0.0):
        standard = scatter.scatter[c] / scatter.weight[c] / np.outer(sd[c], sd[c])
        shares[c] = ledoit_wolf_share(scatter.weight[c], standard, fourth[c])
    return shares


def _class_sd(scatter: Any) -> np.ndarray:
    variance = np.einsum("cjj->cj", scatter.scatter) / np.where(scatter.weight > 0, scatter.weight, 1.0)[:, None]
    return np.sqrt(np.where(variance > 0.0, variance, 1.0))


def _on_unit_scale(scatter: Any, shares: np.ndarray) -> np.ndarray:
    """Covariances (k, d, d) shrunk to the sphere on columns of unit sd, and scaled back."""

    sd, out = _class_sd(scatter), np.zeros_like(scatter.scatter)
    for c in np.flatnonzero(scatter.weight > 0.0):
        both = np.outer(sd[c], sd[c])
        out[c] = both * shrunk(scatter.scatter[c] / scatter.weight[c] / both, shares[c])
    return out


def require_rows(owner: str, rows: np.ndarray, classes: np.ndarray) -> None:
    """At least two rows in every class, or a covariance is not defined."""
    few = np.flatnonzero(rows < 2)
    if few.size:
        raise DataError(
            f"{owner}: y has only {int(rows[few[0]])} sample in class {classes[few[0]]}, covariance is ill defined.",
            value=classes[few[0]],
            remedy="Give prior='auto', which starts from what all classes share, or drop the class.",
        )
