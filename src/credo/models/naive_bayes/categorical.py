"""`CategoricalNB`: columns of categories, independent given the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.models.columns import column_names
from credo.models.generative.family import Part
from credo.models.naive_bayes.discrete import CategoricalFamily
from credo.models.naive_bayes.smoothed import SmoothedNB
from credo.models.naive_bayes.smoothing import distribution
from credo.models.naive_bayes.tables import categories_of, codes_of, merged_categories
from credo.saving.registry import register

__all__ = ["CategoricalNB"]

# Whole numbers up to this are codes, of which each has a place in the tables; larger ones are names.
_MOST_CODES = 2**20


@register
class CategoricalNB(SmoothedNB):
    """Naive Bayes with columns of categories: P(x_j = v | c) = (n_cjv + m p_v)/(n_cj + m).

    Parameters
    ----------
    alpha : added to the count of every category: a number, or one for each column; None is 1 unless the next two say
        otherwise
    equivalent_sample_size : m ≥ 0, how many rows the prior is worth: a number, or one for each column
    prior_estimate : p, probabilities of the categories: a list over columns; None is 1/k. Beside `alpha` an error
    fit_prior, class_prior : as scikit-learn: frequencies (True), equal (False), or given
    min_categories : the least number of categories of columns of codes: None, a number, or one for each column
    force_alpha : keep an alpha below 1e-10 as it is

    Attributes
    ----------
    categories_ : a list over columns of their categories; None where cells are codes 0 … n_categories_ − 1
    category_count_, feature_log_prob_ : lists over columns of (k, categories)
    n_categories_ (d,) ; class_count_, class_log_prior_ (k,) ; classes_, beliefs_, class_belief_, result_

    Raises
    ------
    ParameterError, DataError : bad arguments; negative codes; infinite cells.

    Notes
    -----
    Whole numbers ≥ 0, up to a million, are codes. A column of strings, of larger ones, or of other numbers (with a
    `DataWarning`), has its distinct values as categories. None and NaN are missing, and integrated out.

    The point estimate is the mean of the Dirichlet posterior, and columns have separate ones, so that `predict_proba`
    plugging in and `predict_distribution` integrating give the same probabilities; the latter adds their uncertainty.

    A category that fit never saw counts as one with no rows: alpha or m p (p = 1/k) over the class's total. Where
    nothing smooths (0), it says nothing. `partial_fit` smooths the counts of all batches, with the categories of all.

    References
    ----------
    Mitchell (1997), Machine Learning, §6.9.1, for the m-estimate.

    Examples
    --------
    >>> X = [["sunny", "hot"], ["rain", "mild"], ["rain", None], ["sunny", "mild"]]
    >>> model = CategoricalNB(equivalent_sample_size=2).fit(X, ["no", "yes", "yes", "no"])
    >>> model.predict([["rain", "hot"], [None, "mild"]]).tolist()
    ['yes', 'yes']
    >>> model.predict_proba([["snow", None]]).tolist()
    [[0.5, 0.5]]
    """

    def __init__(
        self,
        *,
        alpha: Any = None,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        equivalent_sample_size: Any = None,
        prior_estimate: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.equivalent_sample_size = equivalent_sample_size
        self.prior_estimate = prior_estimate

    def _read(self, X: Any, *, reset: bool, fitting: bool) -> Any:
        table: Any = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        if table.dtype.kind == "c":
            raise DataError("CategoricalNB: Complex data not supported.", value=table.dtype)
        if fitting:
            self._moved = None
        if table.dtype.kind in "iub":
            kinds = _within_codes(table)
            low = table.min(initial=0) if table.dtype.kind == "i" else 0
        else:
            kinds, low = self._kinds(table)
        if low < 0:
            raise DataError(
                "Negative values in data passed to CategoricalNB (input X).",
                value=float(low),
                remedy="Codes are whole numbers ≥ 0; a missing cell is NaN or None.",
            )
        known = None if reset else getattr(self, "categories_", None)
        if reset:
            self.categories_ = self._found(table, kinds)
        elif fitting and known is not None:
            self._widen(table, known, kinds)
        if all(categories is None for categories in self.categories_):
            return table if table.dtype.kind in "iufb" else table.astype(np.float64)
        return self._encoded(table)

    def _kinds(self, table: np.ndarray) -> tuple[list[Any], float]:
        """For every column None where its cells are codes, else what they are; and the least code."""
        if table.dtype.kind == "f":
            if np.isinf(table).any():
                raise DataError("Input X contains infinity or a value too large; it is no category.", value=np.inf)
            whole = np.all((table == np.floor(table)) | np.isnan(table), axis=0)
            within = _within_codes(table)
            return [kind if fine else "numbers" for fine, kind in zip(whole, within, strict=True)], float(
                np.nanmin(table, initial=0.0)
            )
        return ["labels"] * table.shape[1], 0.0

    def _found(self, table: np.ndarray, kinds: list[Any]) -> list[Any]:
        names = column_names(self)
        odd = [names[j] for j, kind in enumerate(kinds) if kind == "numbers"]
        if odd:
            warn(
                f"CategoricalNB: column(s) {', '.join(odd[:8])} hold numbers with fractions; every distinct number is "
                "a category. GaussianNB or NaiveBayes treat them as measurements.",
                DataWarning,
            )
        return [
            None if kind is None else categories_of("CategoricalNB", names[j], table[:, j])
            for j, kind in enumerate(kinds)
        ]

    def _widen(self, table: np.ndarray, known: list[Any], kinds: list[Any]) -> None:
        """Categories of another batch join those of the batches before."""
        names, moved, merged = column_names(self), [], []
        for j, categories in enumerate(known):
            if categories is None and kinds[j] is not None:
                raise DataError(
                    f"CategoricalNB.partial_fit: column {names[j]} held codes before and holds {kinds[j]} now.",
                    columns=[names[j]],
                    value=table[0, j],
                )
            if categories is None:
                merged.append(None)
                moved.append(None)
                continue
            both, place = merged_categories(categories, categories_of("CategoricalNB", names[j], table[:, j]))
            merged.append(both)
            moved.append(place)
        self.categories_, self._moved = merged, moved

    def _encoded(self, table: np.ndarray) -> np.ndarray:
        names = column_names(self)
        codes = np.empty(table.shape)
        for j, categories in enumerate(self.categories_):
            column = table[:, j]
            codes[:, j] = column if categories is None else codes_of("CategoricalNB", names[j], column, categories)
        return codes

    def _aligned(self, statistics: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._moved is None:
            return statistics
        weight, table = statistics
        sizes = [
            len(t) if categories is None else len(categories)
            for t, categories in zip(table.tables, self.categories_, strict=True)
        ]
        places = [
            np.arange(len(t)) if place is None else place for t, place in zip(table.tables, self._moved, strict=True)
        ]
        return weight, table.recoded(places, sizes)

    def _families(self, cells: Any, codes: Any = None, weights: Any = None) -> tuple[Part, ...]:
        d = cells.shape[1]
        smoothing = self._smoothing(d)
        prior = smoothing.prior
        if prior is not None:
            if len(prior) != d:
                raise ParameterError(
                    "CategoricalNB", "prior_estimate", f"a list over {d} columns of probabilities", prior
                )
            prior = tuple(distribution("CategoricalNB", p, len(p)) for p in prior)
        return (Part(CategoricalFamily(self._sizes(d), smoothing.alpha, smoothing.strength, prior)),)

    def _sizes(self, d: int) -> tuple[int, ...]:
        """The least number of categories of every column."""
        least = 1 if self.min_categories is None else self.min_categories
        array = np.asarray(least)
        if array.shape not in ((), (d,)) or array.dtype.kind not in "iu":
            raise ParameterError(
                "CategoricalNB", "min_categories", f"whole numbers, one or {d}", least,
                "'min_categories' should have shape (n_features,), or be a whole number.",
            )  # fmt: skip
        known = [1 if categories is None else max(1, len(categories)) for categories in self.categories_]
        return tuple(np.maximum(np.broadcast_to(array, (d,)), known).tolist())

    def _settle(self) -> None:
        super()._settle()
        belief, statistics = self.beliefs_[0], self.statistics_[1]
        belief_: Any = belief
        self.n_categories_ = belief_.sizes
        self.category_count_ = [table.T.copy() for table in statistics.tables]
        edges = np.cumsum(belief_.sizes + 1)
        tables = np.split(belief_.log_table, edges[:-1])
        self.feature_log_prob_ = [table[:-1].T for table in tables]

    def _written(self, cells: np.ndarray) -> Any:
        if all(categories is None for categories in self.categories_):
            return cells.astype(np.int64)
        out = np.empty(cells.shape, dtype=object)
        for j, categories in enumerate(self.categories_):
            codes = cells[:, j].astype(np.intp)
            out[:, j] = codes if categories is None else categories[codes]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _within_codes(table: np.ndarray) -> list[Any]:
    """For every column None where its numbers can be codes, else "labels"."""
    high = np.zeros(table.shape[1]) if not len(table) else np.fmax.reduce(table, axis=0)
    return ["labels" if value > _MOST_CODES else None for value in high]
