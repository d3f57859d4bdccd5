"""`NaiveBayes`: any table, each column with the family that suits it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from credo.errors import DataError, ModelWarning, ParameterError, warn
from credo.models.columns import column_names
from credo.models.generative.classes import checked_class_prior
from credo.models.generative.estimator import GenerativeClassifier
from credo.models.generative.family import Family, Part
from credo.models.naive_bayes.columns import (
    RawColumn,
    chosen_families,
    encoded,
    found_categories,
    raw_columns,
    ruled_out,
)
from credo.models.naive_bayes.counts import BernoulliFamily, PoissonFamily
from credo.models.naive_bayes.discrete import CategoricalFamily
from credo.models.naive_bayes.gaussian_family import GaussianFamily
from credo.models.naive_bayes.hurdle import HurdleFamily
from credo.models.naive_bayes.kde import KernelFamily
from credo.models.naive_bayes.smoothing import distribution, floored
from credo.models.naive_bayes.streams import settled_columns
from credo.models.naive_bayes.student_t import StudentTFamily
from credo.models.naive_bayes.tables import categories_of, merged_categories
from credo.saving.registry import register

__all__ = ["NaiveBayes"]


@register
class NaiveBayes(GenerativeClassifier):
    """Naive Bayes of a table: p(x | c) = Π_j p_j(x_j | c), each column with a family of its own.

    Parameters
    ----------
    families : "auto", one name for all columns, a list over columns, or a dict by column's name (others "auto") of

        - "categorical"  categories, Dirichlet
        - "bernoulli"    no and yes, Beta
        - "gaussian"     Normal–inverse-Gamma; "log_normal" the same of the logarithm
        - "student_t"    4 degrees of freedom, place and scale integrated: measurements with outliers
        - "hurdle"       0 with a probability, else log-normal: amounts of which some are nothing
        - "poisson"      counts, Gamma
        - "kde"          a kernel density: any shape, for hundreds of rows a class
        - "count"        as "auto", for whole numbers in an array of floats

        "auto" reads the types: text is categorical, booleans and 0/1 Bernoulli, dates Gaussian. Fractions are
        Gaussian or log-normal, whichever is likelier (where some are 0 and the rest is log-normal, a hurdle), and
        Student-t where the kurtosis is above 6. Whole numbers ≥ 0
        (integers of a frame) are categorical where they take few values, Poisson where their variance within classes is
        their mean up to a factor 2, else as fractions
    priors : probabilities (k,) of the classes; None: frequencies, with a Dirichlet posterior
    alpha : added to the count of every category (to both of a Bernoulli column); None is 1
    equivalent_sample_size, prior_estimate : instead m, a number, and p, a dict by column of the probabilities of its
        categories (one number, of 1, for a Bernoulli column); columns not named have uniform ones
    var_smoothing : as `GaussianNB`, of columns with that family
    missing_label : a label that means none, such as -1; None and NaN always do

    Attributes
    ----------
    classes_, class_count_, class_prior_ (k,)
    families_ : the family of every column ; categories_ : its categories, or None
    beliefs_, class_belief_ : posteriors ; result_ ; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : bad arguments; cells that a family cannot hold; infinite cells.

    Notes
    -----
    Everything here integrates over the parameters: `predict_proba` is `predict_distribution(X).probabilities`, and
    `log_prob`, `sample` and `anomaly_score` speak of the predictive p(x, y | D).

    A new cell outside of its family's range (0 in a log-normal column) tells nothing of the class, with a warning;
    `log_prob` of its row is −∞. In `fit` it is an error.

    Missing cells are integrated out in fit and after it; rows whose label is missing join by EM (not with "kde").
    "student_t" and "kde" keep every distinct value of their columns; the rest is one pass, O(n d).

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"colour": ["red", "red", None, "blue"], "size": [1.2, None, 3.1, 2.9]})
    >>> model = NaiveBayes().fit(frame, ["a", "a", "b", "b"])
    >>> model.families_
    ('categorical', 'gaussian')
    >>> model.predict(pl.DataFrame({"colour": ["red", None], "size": [None, 3.0]})).tolist()
    ['a', 'b']
    """

    _integrated = True

    def __init__(
        self,
        families: Any = "auto",
        *,
        priors: Any = None,
        alpha: Any = None,
        equivalent_sample_size: Any = None,
        prior_estimate: Any = None,
        var_smoothing: float = 1e-9,
        missing_label: Any = None,
    ) -> None:
        self.families = families
        self.priors = priors
        self.alpha = alpha
        self.equivalent_sample_size = equivalent_sample_size
        self.prior_estimate = prior_estimate
        self.var_smoothing = var_smoothing
        self.missing_label = missing_label

    def _check(self) -> None:
        if self.alpha is not None and (self.equivalent_sample_size is not None or self.prior_estimate is not None):
            raise ParameterError(
                "NaiveBayes", "alpha", "None where equivalent_sample_size or prior_estimate is given", self.alpha
            )
        for name in ("alpha", "equivalent_sample_size", "var_smoothing"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float, np.number)) and 0.0 <= value < np.inf):
                raise ParameterError("NaiveBayes", name, "a number ≥ 0", value)
        if self.prior_estimate is not None and not isinstance(self.prior_estimate, dict):
            raise ParameterError("NaiveBayes", "prior_estimate", "a dict by columns, or None", self.prior_estimate)

    # -- reading ---------------------------------------------------------------------------------------------------

    def _labels(self, y: Any) -> Any:
        if self.missing_label is None or y is None:
            return y
        labels = np.asarray(y)
        missing = labels == self.missing_label
        if not np.any(missing):
            return labels
        labels = labels.astype(object)
        labels[missing] = None
        return labels

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        columns, backend = self._columns(X, reset)
        if reset and fitting:
            self._moved, self._raw, self._frame = None, columns, backend
            return np.empty((len(columns[0].cells), len(columns)))  # filled once the families are chosen
        if fitting:
            self._widen(columns)
            return self._encoded(columns)
        cells = self._encoded(columns)
        bad = self._ruled_out(cells)
        if bad.any():
            self._warn_ruled_out(bad)
            cells[bad] = np.nan
        return cells

    def _columns(self, X: Any, reset: bool) -> tuple[list[RawColumn], str | None]:
        """The columns of a table, and the library of a frame."""
        if hasattr(X, "collect") and not hasattr(X, "__len__"):
            X = X.collect()  # a lazy frame
        is_frame = hasattr(X, "columns") or hasattr(X, "column_names")
        if is_frame:
            names = list(map(str, X.columns if not hasattr(X, "column_names") else X.column_names))
            if len(set(names)) < len(names):
                twice = sorted({name for name in names if names.count(name) > 1})
                raise DataError(
                    f"NaiveBayes: the table has several columns of one name: {', '.join(twice[:8])}.",
                    columns=twice,
                    value=twice,
                    remedy="Give every column a name of its own.",
                )
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not len(X):
                raise DataError("NaiveBayes: Found array with 0 sample(s), a table without rows.", value=0)
        else:
            as_found: Any = None
            table: Any = check_array(X, dtype=as_found, ensure_all_finite=False, estimator=self)
            if table.dtype.kind == "c":
                raise DataError("NaiveBayes: Complex data not supported.", value=table.dtype)
            validate_data(self, table, reset=reset, skip_check_array=True)
            X = table
        return raw_columns("NaiveBayes", X, column_names(self)), _backend(X) if is_frame else None

    def _ruled_out(self, cells: np.ndarray) -> np.ndarray:
        """Which cells (n, d) their family rules out in every class."""
        return np.column_stack([ruled_out(family, own) for family, own in zip(self.families_, cells.T, strict=True)])

    def _warn_ruled_out(self, bad: np.ndarray) -> None:
        rows, columns = np.flatnonzero(bad.any(axis=1)), np.flatnonzero(bad.any(axis=0))
        named = ", ".join(f"{column_names(self)[j]} ({self.families_[j]})" for j in columns[:8])
        warn(
            f"NaiveBayes: {rows.size} row(s), the first of them row {rows[0]}, hold cells that no class can have, in "
            f"{named}. Classes are told by the other cells; log_prob is −∞. State another family if they occur.",
            ModelWarning,
        )

    def _density(self, X: Any) -> np.ndarray:
        joint = self._joint(X)
        if not {"log_normal", "hurdle", "poisson"}.isdisjoint(self.families_):
            joint[self._ruled_out(self._encoded(self._columns(X, False)[0])).any(axis=1)] = -np.inf
        return joint

    def _encoded(self, columns: list[RawColumn]) -> np.ndarray:
        cells = np.empty((len(columns[0].cells), len(columns)))
        for j, column in enumerate(columns):
            cells[:, j] = encoded("NaiveBayes", column, self.families_[j], self.categories_[j])
        return cells

    def _widen(self, columns: list[RawColumn]) -> None:
        """Categories of another batch join those of the batches before."""
        merged, moved = [], []
        for column, family, known in zip(columns, self.families_, self.categories_, strict=True):
            if family != "categorical":
                merged.append(known)
                moved.append(None)
                continue
            both, place = merged_categories(known, categories_of("NaiveBayes", column.name, column.cells))
            merged.append(both)
            moved.append(place)
        self.categories_, self._moved = tuple(merged), moved

    def _learn(self, source: Any, classes: np.ndarray, cells: Any) -> Self:
        if getattr(source, "y", None) is None:  # blocks, whose columns must be known before they are counted
            names = column_names(self)
            settled = settled_columns("NaiveBayes", source.source, classes, self.families, names)
            self.families_, self.categories_ = settled
            self.frame_ = None
        return super()._learn(source, classes, cells)

    # -- families --------------------------------------------------------------------------------------------------

    def _families(self, cells: Any, codes: Any = None, weights: Any = None) -> tuple[Part, ...]:
        columns = self.__dict__.pop("_raw", None)
        if columns is not None:
            self.families_ = chosen_families("NaiveBayes", self.families, columns, codes, weights)
            self.categories_ = tuple(
                found_categories("NaiveBayes", column, family)
                for column, family in zip(columns, self.families_, strict=True)
            )
            self.frame_ = self.__dict__.pop("_frame")
            cells[...] = self._encoded(columns)
        parts = []
        for family in dict.fromkeys(self.families_):
            where = np.flatnonzero(np.array(self.families_) == family)
            parts.append(Part(self._family(family, where), where))
        return tuple(parts)

    def _family(self, name: str, where: np.ndarray) -> Family:
        if name in ("gaussian", "log_normal"):
            return GaussianFamily(float(self.var_smoothing), log=name == "log_normal")
        if name == "student_t":
            return StudentTFamily()
        if name == "kde":
            return KernelFamily()
        if name == "hurdle":
            return HurdleFamily(GaussianFamily(float(self.var_smoothing), log=True))
        if name == "poisson":
            return PoissonFamily()
        alpha = float(np.ravel(floored("NaiveBayes", self.alpha, True, 1))[0])
        m = self.equivalent_sample_size
        stated = self.prior_estimate or {}
        names = column_names(self)
        if name == "bernoulli":
            strength = 2.0 * alpha if m is None else float(m)
            p = np.array([float(stated.get(names[j], 0.5)) for j in where])
            if np.any((p < 0.0) | (p > 1.0)):
                raise ParameterError("NaiveBayes", "prior_estimate", "probabilities", stated)
            return BernoulliFamily(strength * p, strength * (1.0 - p))
        sizes = tuple(max(1, len(self.categories_[j])) for j in where)
        prior = None
        if any(names[j] in stated for j in where):
            prior = tuple(
                distribution("NaiveBayes", stated.get(names[j], np.full(size, 1.0 / size)), size)
                for j, size in zip(where, sizes, strict=True)
            )
        strength = None if m is None else np.full(len(where), float(m))
        return CategoricalFamily(sizes, np.full(len(where), alpha), strength, prior)

    def _aligned(self, statistics: tuple[Any, ...]) -> tuple[Any, ...]:
        weight, *each = statistics
        out = [weight]
        for part, own in zip(self.parts_, each, strict=True):
            if part.family.name == "categorical" and self._moved is not None:
                own = own.recoded(
                    [self._moved[j] for j in part.columns], [max(1, len(self.categories_[j])) for j in part.columns]
                )
            out.append(own)
        return tuple(out)

    def _known_classes(self, n_classes: int) -> np.ndarray | None:
        return checked_class_prior("NaiveBayes", "priors", self.priors, n_classes)

    def _settle(self) -> None:
        self.class_prior_ = self.class_belief_.probability

    def _written(self, cells: np.ndarray) -> Any:
        """Rows as they were given to fit: a frame of the same library, or an array."""
        columns = {
            name: cells[:, j] if categories is None else categories[cells[:, j].astype(np.intp)]
            for j, (name, categories) in enumerate(zip(column_names(self), self.categories_, strict=True))
        }
        if self.frame_ is not None:
            import narwhals as nw

            return nw.from_dict(columns, backend=self.frame_).to_native()
        if all(categories is None for categories in self.categories_):
            return cells
        out = np.empty(cells.shape, dtype=object)
        for j, column in enumerate(columns.values()):
            out[:, j] = column
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _backend(X: Any) -> str:
    import narwhals as nw

    return nw.get_native_namespace(nw.from_native(X, eager_only=True)).__name__
