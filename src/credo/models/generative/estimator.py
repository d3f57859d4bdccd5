"""`GenerativeClassifier`: what naive Bayes and the discriminants do alike, in scikit-learn's shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from credo.blocks.reduction import map_blocks, reduce
from credo.blocks.source import Source
from credo.diagnostics.labels import label_codes
from credo.errors import DataError, ModelWarning, ParameterError, warn
from credo.inference.em import merge
from credo.inference.result import Result
from credo.models.columns import column_names, note_columns
from credo.models.generative.classes import ClassBelief
from credo.models.generative.equations import aleatoric, class_probabilities, log_evidence, row_max
from credo.models.generative.family import Belief, Moments, Part
from credo.models.generative.labels import coded, encode_labels
from credo.models.generative.learning import beliefs, gather, learn_with_missing_labels, log_joint
from credo.models.generative.profile import class_profile
from credo.models.generative.rows import Rows, coded_source, present_rows
from credo.models.listing import Listing
from credo.numerics.random import as_generator
from credo.prediction.classes import ClassPredictive

__all__ = ["GenerativeClassifier"]


class GenerativeClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers that model p(x, y). Subclasses say how cells are read and which families hold them."""

    #: whether predict, log_prob and sample integrate over the parameters (else they use the point estimate)
    _integrated = False

    classes_: np.ndarray
    n_features_in_: int
    class_count_: np.ndarray
    parts_: tuple[Part, ...]
    statistics_: tuple[Any, ...]
    beliefs_: tuple[Belief, ...]
    class_belief_: ClassBelief
    result_: Result

    # -- what a subclass supplies ----------------------------------------------------------------------------------

    def _check(self) -> None:
        """Check the constructor's arguments that need no data."""

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        """Cells (n, d), an array of numbers or CSR, from the user's rows; may note encodings when fitting."""
        raise NotImplementedError

    def _families(self, cells: Any, codes: Any = None, weights: Any = None) -> tuple[Part, ...]:
        """The families of the columns, hyperparameters included; codes (n,) and weights are those of the rows."""
        raise NotImplementedError

    def _labels(self, y: Any) -> Any:
        """Labels as the user gives them, None where missing."""
        return y

    def _known_classes(self, n_classes: int) -> np.ndarray | None:
        """Probabilities of the classes, where they are stated."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Set the public attributes from `beliefs_`."""

    def _written(self, cells: np.ndarray) -> Any:
        """Cells as the user writes rows."""
        return cells

    # -- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows X (n, d) and labels y (n,), or to a `Source` of blocks that carry y.

        A label of None or NaN is missing: such rows count in every class by their probability (EM). Cells of NaN are
        integrated out. `sample_weight` (n,) ≥ 0 counts rows.
        """
        self._check()
        before = self._forget()
        try:
            return self._fit(X, y, sample_weight)
        except BaseException:  # a fit that fails leaves the one before it as it was
            self._forget()
            vars(self).update(before)
            raise

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        if isinstance(X, Source):
            return self._fit_source(X)
        owner = type(self).__name__
        classes, codes = encode_labels(owner, self._labels(y))
        X, codes, sample_weight = present_rows(X, codes, sample_weight)
        cells = self._read(X, reset=True, fitting=True)
        self._check_lengths(cells, codes)
        return self._learn(Rows(cells, codes, self._weights(sample_weight, cells), len(classes)), classes, cells)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; the first call names all `classes`. The result is that of `fit` on all rows so far.

        Rows without a label are refused: EM needs all rows at once.
        """
        self._check()
        owner = type(self).__name__
        first = not hasattr(self, "classes_")
        if isinstance(X, Source):
            raise ParameterError(f"{owner}.partial_fit", "X", "rows", X, "Give the whole source to fit.")
        if first and classes is None:
            raise ParameterError(
                owner, "classes", "given", None, "classes must be passed on the first call to partial_fit."
            )
        before = dict(vars(self))
        try:
            return self._add(X, y, classes, sample_weight, first)
        except BaseException:  # rows that cannot be added leave the fit as it was
            vars(self).clear()
            vars(self).update(before)
            raise

    def _add(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> Self:
        owner = type(self).__name__
        earlier = getattr(self, "statistics_", None)
        _check_partial_fit_first_call(self, classes)
        codes = coded(owner, self._labels(y), self.classes_)
        X, codes, sample_weight = present_rows(X, codes, sample_weight)
        cells = self._read(X, reset=first, fitting=True)
        self._check_lengths(cells, codes)
        if codes.size and codes.min() < 0:
            raise DataError(
                f"{owner}.partial_fit: {int((codes < 0).sum())} rows have no label.",
                rows=np.flatnonzero(codes < 0)[:20].tolist(),
                remedy="Give all rows to fit, which runs EM, or drop these.",
            )
        weights = self._weights(sample_weight, cells, zero=True)
        parts = self._families(cells, codes, weights)
        source = Rows(cells, codes, weights, len(self.classes_))
        statistics = gather(source, parts, len(self.classes_)) if len(codes) else None
        if earlier is not None:
            statistics = earlier if statistics is None else merge(self._aligned(earlier), statistics)
        assert statistics is not None  # a first batch has rows
        return self._conclude(self._refine_more(source, parts, statistics), statistics, Result("exact", "exact"))

    def _aligned(self, statistics: tuple[Any, ...]) -> tuple[Any, ...]:
        """Earlier statistics in the encoding that now holds."""
        return statistics

    def _forget(self) -> dict[str, Any]:
        """Drop what fit has set, and return it."""
        names = [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]
        return {name: vars(self).pop(name) for name in names}

    def _check_lengths(self, cells: Any, codes: np.ndarray) -> None:
        if cells.shape[0] != len(codes):
            raise DataError(
                f"{type(self).__name__}: Found input variables with inconsistent numbers of samples: "
                f"{cells.shape[0]} rows and {len(codes)} labels.",
                value=(cells.shape[0], len(codes)),
            )

    def _weights(self, sample_weight: Any, cells: Any, *, zero: bool = False) -> np.ndarray | None:
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, cells, dtype=np.float64, ensure_non_negative=True)
        if not (zero or weights.sum() > 0):
            raise ParameterError(f"{type(self).__name__}.fit", "sample_weight", "not all zero", sample_weight)
        return weights

    def _fit_source(self, source: Source) -> Self:
        owner = type(self).__name__
        first = next((block for block in source if block.n_rows), None)
        if first is None or first.y is None:
            raise DataError(
                f"{owner}: the blocks of the source carry no rows with y.",
                value=None,
                remedy="Name the target column of the source.",
            )
        note_columns(self, source, first.X.shape[1])
        classes = reduce(
            source, lambda block: encode_labels(owner, block.y)[0], lambda a, b: np.unique(np.concatenate([a, b]))
        )
        return self._learn(coded_source(self, source, classes), classes, first.X)

    def _learn(self, source: Source, classes: np.ndarray, cells: Any) -> Self:
        self.classes_ = classes
        codes = getattr(source, "y", None)
        parts, k = self._families(cells, codes, getattr(source, "weights", None)), len(classes)
        known = self._known_classes(k)
        if codes is not None and codes.min(initial=0) < 0:
            for part in parts:
                part.family.require_soft_fit(type(self).__name__)
            fit = learn_with_missing_labels(source, parts, k, known)
            statistics = fit.statistics[:-1]
            return self._conclude(self._refine(source, parts, statistics), statistics, fit.result)
        statistics = gather(source, parts, k)
        return self._conclude(self._refine(source, parts, statistics), statistics, Result("exact", "exact"))

    def _refine(self, source: Source, parts: tuple[Part, ...], statistics: tuple[Any, ...]) -> tuple[Part, ...]:
        """The families once the statistics are known, where another pass settles a hyperparameter."""
        return parts

    def _refine_more(self, source: Source, parts: tuple[Part, ...], statistics: tuple[Any, ...]) -> tuple[Part, ...]:
        """As `_refine`, by what is kept of earlier batches and the rows of this one."""
        return parts

    def _conclude(self, parts: tuple[Part, ...], statistics: Any, result: Result) -> Self:
        self.parts_, self.statistics_, self.result_ = parts, statistics, result
        self.class_count_ = np.asarray(statistics[0], dtype=np.float64)
        self.class_belief_ = ClassBelief(self.class_count_, self._known_classes(len(self.classes_)))
        self.beliefs_ = beliefs(parts, statistics)
        self._settle()
        return self

    # -- predicting ------------------------------------------------------------------------------------------------

    def _over_blocks(self, cells: Any, function: Callable[[Any], np.ndarray]) -> np.ndarray:
        """function(block of cells) (rows, …) for all rows."""
        return np.concatenate(list(map_blocks(Rows(cells), lambda block: function(block.X))))

    def _joint(self, X: Any) -> np.ndarray:
        """log p(x, c) (n, k) for the rows of a user."""
        check_is_fitted(self)
        return self._joint_of(self._read(X, reset=False, fitting=False))

    def _density(self, X: Any) -> np.ndarray:
        """As `_joint`, also where no class has a density."""
        return self._joint(X)

    def _joint_of(self, cells: Any) -> np.ndarray:
        how = "log_predictive" if self._integrated else "log_plug"
        return self._over_blocks(cells, lambda X: self._log_joint(X, how))

    def _log_joint(self, X: Any, how: str) -> np.ndarray:
        return log_joint(self.parts_, self.beliefs_, self.class_belief_.log_probability, X, how)

    def _possible(self, joint: np.ndarray) -> np.ndarray:
        """The joint where rows that no class allows have the classes' own probabilities, with a warning."""
        bad = np.flatnonzero(~np.isfinite(row_max(joint)))
        if bad.size:
            self._warn_impossible(bad)
            joint[bad] = self.class_belief_.log_probability
        return joint

    def _warn_impossible(self, bad: np.ndarray) -> None:
        warn(
            f"{type(self).__name__}: {bad.size} row(s), the first of them row {bad[0]}, have probability 0 in every "
            "class; they are given the probabilities of the classes. Smoothing (alpha or equivalent_sample_size > 0) "
            "rules nothing out.",
            ModelWarning,
        )

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x, c) (n, k); −inf where a class rules a row out."""
        return self._density(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(c | x) (n, k)."""
        joint = self._possible(self._joint(X))
        return joint - log_evidence(joint)[:, None]

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(c | x) (n, k), in the order of `classes_`; cells of NaN are integrated out."""
        return class_probabilities(self._possible(self._joint(X)))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row (n,); ties go to the first."""
        check_is_fitted(self)
        cells = self._read(X, reset=False, fitting=False)
        how = "log_predictive" if self._integrated else "log_plug"
        codes = self._over_blocks(cells, lambda block: _argmax(self._log_joint(block, how)))
        if codes.min(initial=0) < 0:
            self._warn_impossible(np.flatnonzero(codes < 0))
            codes[codes < 0] = np.argmax(self.class_belief_.probability)
        return self.classes_[codes]

    def predict_distribution(self, X: Any) -> ClassPredictive:
        """Predictive over classes, integrated over the parameters.

        probabilities  p(c | x, D) ∝ p(c | D) ∫ p(x | θ_c) p(θ_c | D) dθ_c
        aleatoric      E[H(y | x, θ)] over p(θ | D, x); epistemic, the rest of the entropy, shrinks as 1/n
        """
        check_is_fitted(self)
        cells = self._read(X, reset=False, fitting=False)
        joint = self._possible(self._over_blocks(cells, lambda block: self._log_joint(block, "log_predictive")))
        probability = class_probabilities(joint)
        # The split costs as much as a hundred predictions, and most callers score or decide without it. Model and
        # rows may change before it is asked for: it is about those of today.
        today, cells = copy(self), cells.copy()
        return ClassPredictive(probability, self.classes_, lambda: today._aleatoric(cells, probability))

    def _aleatoric(self, cells: Any, probability: np.ndarray) -> np.ndarray:
        out, at = np.empty(len(probability)), 0
        for value in map_blocks(Rows(cells), lambda block: self._moments(block.X)):
            rows = slice(at, at + len(value.mean))
            out[rows] = aleatoric(probability[rows], value)
            at = rows.stop
        return out

    def _moments(self, X: Any) -> Moments:
        total = Moments(*self.class_belief_.moments())
        for part, belief in zip(self.parts_, self.beliefs_, strict=True):
            total = total.plus(belief.moments(part.of(X)))
        return total

    def sample_probabilities(self, X: Any, n_draws: int = 100, random_state: Any = None) -> np.ndarray:
        """Draws of p(y | x, θ), θ ~ p(θ | D): (n_draws, n, k). How far the class probabilities are themselves unsure.

        Rows of X that no draw allows are NaN. Cost: n_draws predictions.
        """
        check_is_fitted(self)
        if not (isinstance(n_draws, (int, np.integer)) and n_draws >= 1):
            raise ParameterError(f"{type(self).__name__}.sample_probabilities", "n_draws", "an integer ≥ 1", n_draws)
        cells = self._read(X, reset=False, fitting=False)
        rng = as_generator(random_state)
        out = np.empty((n_draws, cells.shape[0], len(self.classes_)))
        for s in range(n_draws):
            joint = self._drawn_joint(cells, rng)
            with np.errstate(invalid="ignore"):
                out[s] = class_probabilities(joint)
        return out

    def _drawn_joint(self, cells: Any, rng: np.random.Generator) -> np.ndarray:
        """log p(x, c | θ) (n, k) at one draw of θ."""
        classes, drawn = self.class_belief_.draw(rng), tuple(belief.draw(rng) for belief in self.beliefs_)
        log_class = classes.log_probability
        return self._over_blocks(cells, lambda X: log_joint(self.parts_, drawn, log_class, X, "log_plug"))

    def class_profile(
        self,
        names: Sequence[str] | None = None,
        labels: Sequence[str] = (),
        levels: Sequence[tuple[str, ...] | None] | None = None,
        mass: float = 0.9,
    ) -> Listing:
        """What is expected of a row of each class: a `Listing` of medians with intervals of `mass`, and usual levels.

        names, labels : of the columns and classes, by default the model's own ; levels : names of the columns' codes
        """
        check_is_fitted(self)
        return class_profile(self, names or column_names(self), labels or list(map(str, self.classes_)), levels, mass)

    # -- the generative side ---------------------------------------------------------------------------------------

    def log_prob(self, X: Any, y: Any = None) -> np.ndarray:
        """log p(x) (n,), or log p(x, y) for labels y (n,) or one label; cells of NaN are integrated out."""
        joint = self._density(X)
        if y is None:
            return log_evidence(joint)
        codes = label_codes(self.classes_, y, f"{type(self).__name__}.log_prob")
        return np.take_along_axis(joint, np.broadcast_to(codes, len(joint))[:, None], axis=1)[:, 0]

    def anomaly_score(self, X: Any) -> np.ndarray:
        """−log p(x) (n,), in nats: the larger, the stranger. Rows are comparable where the same cells are missing."""
        return -self.log_prob(X)

    def sample(self, n_samples: int = 1, label: Any = None, random_state: Any = None) -> tuple[Any, np.ndarray]:
        """New rows from p(x, y), or from p(x | y = label): (rows (n, d), their labels (n,))."""
        check_is_fitted(self)
        owner = f"{type(self).__name__}.sample"
        if not (isinstance(n_samples, (int, np.integer)) and n_samples >= 1):
            raise ParameterError(owner, "n_samples", "an integer ≥ 1", n_samples)
        rng = as_generator(random_state)
        if label is None:
            p = self.class_belief_.probability
            codes = rng.choice(len(p), size=n_samples, p=p / p.sum())
        else:
            codes = np.full(n_samples, np.ravel(label_codes(self.classes_, label, owner))[0])
        cells = np.empty((n_samples, self.n_features_in_))
        for part, belief in zip(self.parts_, self.beliefs_, strict=True):
            where = slice(None) if part.columns is None else part.columns
            cells[:, where] = belief.sample(codes, rng, integrated=self._integrated)
        return self._written(cells), self.classes_[codes]


def _argmax(joint: np.ndarray) -> np.ndarray:
    """Column of each row's largest entry, the first of ties; −1 where all are −∞."""
    at = np.argmax(joint, axis=1)
    if not np.isfinite(joint.sum()):
        at[~np.isfinite(joint.max(axis=1))] = -1
    return at
