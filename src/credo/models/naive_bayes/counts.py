"""Columns of yes and no, documents of word counts, and rates of events: sums of cells, and their conjugate beliefs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse
from scipy.special import digamma, gammaln, polygamma, xlogy

from credo.errors import DataError
from credo.models.generative.family import Belief, Family, Moments
from credo.models.generative.memberships import Memberships
from credo.models.naive_bayes.discrete import log_gamma_draws, log_rising
from credo.saving.registry import register

__all__ = ["ClassSums", "BernoulliFamily", "MultinomialFamily", "PoissonFamily"]


@register
@dataclass(frozen=True, eq=False)
class ClassSums:
    """Weight of the observed cells (k, d), or (k, 1) while none is missing, and their sum (k, d), in every class."""

    weight: np.ndarray
    total: np.ndarray

    @classmethod
    def accumulate(cls, X: Any, rows: Memberships) -> Self:
        if scipy.sparse.issparse(X) or not np.isnan(X.sum()):
            return cls(
                rows.class_weight()[:, None],
                rows.sums(X if scipy.sparse.issparse(X) else X.astype(np.float64, copy=False)),
            )
        seen = ~np.isnan(X)
        return cls(rows.sums(seen.astype(np.float64)), rows.sums(np.where(seen, X, 0.0)))

    def merge(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.total + other.total)


def _parts(X: Any) -> tuple[Any, np.ndarray | None]:
    """Cells with 0 where missing, and where they are observed (None: everywhere)."""
    if scipy.sparse.issparse(X) or not np.isnan(X.sum()):
        return X, None
    seen = ~np.isnan(X)
    return np.where(seen, X, 0.0), seen.astype(np.float64)


def _linear(X: Any, slope: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Σ_j over observed cells of x slope_cj + constant_cj (n, k)."""
    filled, seen = _parts(X)
    value = np.asarray(filled @ np.ascontiguousarray(slope.T))
    return value + (constant.sum(axis=1) if seen is None else seen @ constant.T)


# -- yes and no ----------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class BernoulliFamily(Family):
    """yes, no (d,): the Beta prior's weights of 1 and of 0; binarize: cells above this are 1, None if they are already.

    None means that cells already hold 0 and 1.
    """

    yes: np.ndarray
    no: np.ndarray
    binarize: Any = None

    name = "bernoulli"

    def cells(self, X: Any) -> Any:
        return _binary(X, self.binarize)

    def accumulate(self, cells: Any, rows: Memberships) -> ClassSums:
        return ClassSums.accumulate(self.cells(cells), rows)

    def finalize(self, statistics: ClassSums, class_weight: np.ndarray) -> BernoulliBelief:
        n, ones = statistics.weight, statistics.total
        return BernoulliBelief(ones + self.yes, np.maximum(n - ones, 0.0) + self.no, self.yes, self.no, self.binarize)


@register
@dataclass(frozen=True, eq=False)
class BernoulliBelief(Belief):
    """Beta(a, b) of P(1 | class), each (k, d); yes, no (d,): the prior's."""

    a: np.ndarray
    b: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    binarize: Any = None

    @cached_property
    def log_probability(self) -> tuple[np.ndarray, np.ndarray]:
        """log P(1), log P(0), each (k, d); 0 where nothing is known of either."""
        total = self.a + self.b
        with np.errstate(divide="ignore", invalid="ignore"):
            log_one, log_zero = np.log(self.a) - np.log(total), np.log(self.b) - np.log(total)
        nothing = total == 0.0
        return np.where(nothing, 0.0, log_one), np.where(nothing, 0.0, log_zero)

    def _value(self, cells: Any, one: np.ndarray, zero: np.ndarray) -> np.ndarray:
        """Σ_j one where x is 1, zero where it is 0."""
        x = _binary(cells, self.binarize)
        one, zero = np.maximum(one, -1e300), np.maximum(zero, -1e300)
        if one.min(initial=0.0) > -1e299 and zero.min(initial=0.0) > -1e299:
            return _linear(x, one - zero, zero)
        # a probability of 0: differences would cancel wrongly, so both outcomes are counted
        x = x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)
        return (x == 1.0) @ one.T + (x == 0.0) @ zero.T

    def log_plug(self, cells: Any) -> np.ndarray:
        value = self._value(cells, *self.log_probability)
        value[value < -1e299] = -np.inf
        return value

    def log_penalty(self) -> float:
        one, zero = self.log_probability
        return float((xlogy(self.yes, np.exp(one)) + xlogy(self.no, np.exp(zero))).sum())

    def moments(self, cells: Any) -> Moments:
        psi, trigamma = digamma, lambda x: polygamma(1, x)
        total = self.a + self.b
        a, b, n = (np.where(x > 0.0, x, 1e-300) for x in (self.a, self.b, total))
        one, zero = (np.where(x > 0.0, psi(x) - psi(n), -1e300) for x in (a, b))
        return Moments(
            self._value(cells, np.where(self.a > 0, one, -1e300), np.where(self.b > 0, zero, -1e300)),
            self._value(cells, trigamma(np.maximum(a, 1e-8)) - trigamma(np.maximum(n, 1e-8)),
                        trigamma(np.maximum(b, 1e-8)) - trigamma(np.maximum(n, 1e-8))),
            self._value(cells, np.where(self.a > 0, psi(a + 1) - psi(n + 1), -1e300),
                        np.where(self.b > 0, psi(b + 1) - psi(n + 1), -1e300)),
            self._value(cells, trigamma(a + 1) - trigamma(n + 1), trigamma(b + 1) - trigamma(n + 1)),
        )  # fmt: skip

    def draw(self, rng: np.random.Generator) -> BernoulliBelief:
        one, zero = log_gamma_draws(self.a, rng), log_gamma_draws(self.b, rng)
        top = np.maximum(one, zero)
        top = np.where(np.isfinite(top), top, 0.0)
        return BernoulliBelief(np.exp(one - top), np.exp(zero - top), self.yes, self.no, self.binarize)

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        p = np.exp(self.log_probability[0])
        return (rng.random((len(codes), p.shape[1])) < p[codes]).astype(np.float64)


def _binary(X: Any, threshold: float | None) -> Any:
    """0 and 1, NaN where missing."""
    if threshold is None:
        data = X.data if scipy.sparse.issparse(X) else X
        bad = ~((data == 0.0) | (data == 1.0) | np.isnan(data))
        if bad.any():
            raise DataError(
                f"A column of yes and no holds {data[bad].flat[0]}.",
                value=float(data[bad].flat[0]),
                remedy="Code it as 0 and 1, set binarize, or choose another family.",
            )
        return X
    if scipy.sparse.issparse(X):
        if threshold < 0.0:
            raise DataError("binarize < 0 makes every empty cell of a sparse matrix 1.", value=threshold,
                            remedy="Use a dense array, or binarize ≥ 0.")  # fmt: skip
        hot = X.copy()
        hot.data = (hot.data > threshold).astype(np.float64)
        return hot
    hot = (threshold < X).astype(np.float64)
    if np.isnan(X.sum()):
        hot[np.isnan(X)] = np.nan
    return hot


# -- documents -----------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class MultinomialFamily(Family):
    """alpha (d,): the Dirichlet prior's weight of every word."""

    alpha: np.ndarray

    name = "multinomial"

    def accumulate(self, cells: Any, rows: Memberships) -> ClassSums:
        return ClassSums.accumulate(cells, rows)

    def finalize(self, statistics: ClassSums, class_weight: np.ndarray) -> MultinomialBelief:
        return MultinomialBelief(statistics.total + self.alpha, self.alpha)


@register
@dataclass(frozen=True, eq=False)
class MultinomialBelief(Belief):
    """Dirichlet(concentration) (k, d) of the words of a class. log p is that of the words, given how many they are."""

    concentration: np.ndarray
    alpha: np.ndarray

    @cached_property
    def log_probability(self) -> np.ndarray:
        """(k, d); 0 in a class of which nothing is known."""
        total = self.concentration.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(self.concentration) - np.log(total)
        return np.where(total > 0.0, value, 0.0)

    @cached_property
    def _table(self) -> np.ndarray:
        """(d, k), −1e300 for −∞: 0 words of probability 0 are no evidence."""
        return np.ascontiguousarray(np.maximum(self.log_probability, -1e300).T)

    def log_plug(self, cells: Any) -> np.ndarray:
        value = np.asarray(cells @ self._table)
        if value.min(initial=0.0) < -1e299:
            value[value < -1e299] = -np.inf
        return value

    def log_penalty(self) -> float:
        return float(xlogy(self.alpha, np.exp(self.log_probability)).sum())

    def log_predictive(self, cells: Any) -> np.ndarray:
        """Dirichlet-multinomial, without the number of orders of the words: Σ_w log Γ(x + a)/Γ(a) − log Γ(n + A)/Γ(A).

        Only cells above 0 count, so that sparse rows cost their nonzeros.
        """
        x: Any = scipy.sparse.csr_array(cells)
        length = np.asarray(x.sum(axis=1), dtype=np.float64)[:, None]
        total = self.concentration.sum(axis=1)
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        value = np.empty((x.shape[0], len(total)))
        for c, a in enumerate(self.concentration):
            own = a[x.indices]
            with np.errstate(invalid="ignore", divide="ignore"):
                terms = np.where((own > 0.0) | (x.data == 0.0), log_rising(x.data, np.maximum(own, 1e-300)), -np.inf)
            value[:, c] = np.bincount(row, terms, minlength=x.shape[0])
        return value - np.where(total > 0.0, log_rising(length, np.where(total > 0.0, total, 1.0)), 0.0)

    def moments(self, cells: Any) -> Moments:
        """Of Σ_w x_w log θ_w, with Cov(log θ_v, log θ_w) = 1{v = w} ψ′(a_v) − ψ′(A)."""
        x: Any = scipy.sparse.csr_array(cells)
        square = x.copy()
        square.data = np.square(square.data)
        length = np.asarray(x.sum(axis=1), dtype=np.float64)[:, None]
        a = self.concentration
        safe, total = np.where(a > 0.0, a, 1.0), np.where(a.sum(axis=1) > 0.0, a.sum(axis=1), 1.0)
        empty = np.where(a > 0.0, 0.0, -1e300)
        mean = x @ (digamma(safe) + empty).T - length * digamma(total)
        variance = square @ polygamma(1, safe).T - length**2 * polygamma(1, total)
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        mean_seen, variance_seen = np.empty_like(mean), np.empty_like(variance)
        for c in range(len(a)):
            own = safe[c][x.indices] + x.data
            mean_seen[:, c] = np.bincount(row, x.data * digamma(own) + empty[c][x.indices], minlength=len(mean))
            variance_seen[:, c] = np.bincount(row, square.data * polygamma(1, own), minlength=len(mean))
        mean_seen -= length * digamma(total + length)
        variance_seen -= length**2 * polygamma(1, total + length)
        return Moments(mean, np.maximum(variance, 0.0), mean_seen, np.maximum(variance_seen, 0.0))

    def draw(self, rng: np.random.Generator) -> MultinomialBelief:
        log_gamma = log_gamma_draws(self.concentration, rng)
        return MultinomialBelief(np.exp(log_gamma - log_gamma.max(axis=1, keepdims=True)), self.alpha)

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        raise DataError(
            "A multinomial model says which words come, not how many, so it cannot draw rows.",
            remedy="Use MultinomialNB.sample(..., length=) with the number of words of a row.",
        )

    def sample_length(self, codes: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
        """Counts (n, d) of `length` words."""
        p = np.exp(self.log_probability)
        return rng.multinomial(length, p[codes] / p[codes].sum(axis=1, keepdims=True)).astype(np.float64)


# -- events --------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True, eq=False)
class PoissonFamily(Family):
    """Counts with a rate for every class; Gamma prior worth one row of the column's mean, or `prior`, a `Gamma`."""

    prior: Any = None

    name = "poisson"

    def accumulate(self, cells: np.ndarray, rows: Memberships) -> ClassSums:
        bad = ~(np.isnan(cells) | ((cells >= 0.0) & (cells == np.round(cells))))
        if bad.any():
            raise DataError(f"A Poisson column holds {cells[bad][0]}; its cells must be whole numbers ≥ 0.",
                            value=float(cells[bad][0]), remedy="Choose the family 'gaussian' for it.")  # fmt: skip
        return ClassSums.accumulate(cells, rows)

    def finalize(self, statistics: ClassSums, class_weight: np.ndarray) -> PoissonBelief:
        n, total = statistics.weight, statistics.total
        if self.prior is None:
            rows = n.sum(axis=0)
            mean = total.sum(axis=0) / np.where(rows > 0.0, rows, 1.0)
            # all counts 0: Jeffreys' ½ keeps the rate above 0
            shape, rate = np.where(mean > 0.0, mean, 0.5), 1.0
        else:
            shape, rate = np.asarray(self.prior.shape), self.prior.rate
        return PoissonBelief(total + shape, n + rate, np.broadcast_to(shape, total.shape[1:]), float(rate))


@register
@dataclass(frozen=True, eq=False)
class PoissonBelief(Belief):
    """Gamma(a, rate b) of the rate, each (k, d); the point estimate is its mean. shape (d,), rate: the prior's."""

    a: np.ndarray
    b: np.ndarray
    shape: np.ndarray
    rate: float

    def _base(self, cells: np.ndarray) -> np.ndarray:
        return -np.nansum(gammaln(cells + 1.0), axis=1, keepdims=True)

    def log_plug(self, cells: np.ndarray) -> np.ndarray:
        return _linear(cells, np.log(self.a) - np.log(self.b), -self.a / self.b) + self._base(cells)

    def log_penalty(self) -> float:
        """The mean a/b of the posterior maximises this: a Gamma prior of one more in shape."""
        value = self.a / self.b
        return float((self.shape * np.log(value) - self.rate * value).sum())

    def _each(self, cells: np.ndarray, term: Any) -> np.ndarray:
        return np.stack([np.nansum(term(cells, a, b), axis=1) for a, b in zip(self.a, self.b)], axis=1)

    def log_predictive(self, cells: np.ndarray) -> np.ndarray:
        """Negative binomial."""
        value = self._each(
            cells, lambda x, a, b: log_rising(x, a) - a * np.log1p(1.0 / b) - x * np.log1p(b)
        )  # (b/(1 + b))ᵃ (1/(1 + b))ˣ
        return value + self._base(cells)

    def moments(self, cells: np.ndarray) -> Moments:
        """Of x log λ − λ."""

        def mean(x: Any, a: Any, b: Any) -> Any:
            return x * (digamma(a) - np.log(b)) - a / b

        def variance(x: Any, a: Any, b: Any) -> Any:
            return np.maximum(x**2 * polygamma(1, a) + a / b / b - 2.0 * x / b, 0.0)

        base = self._base(cells)
        return Moments(
            self._each(cells, mean) + base,
            self._each(cells, variance),
            self._each(cells, lambda x, a, b: mean(x, a + x, b + 1.0)) + base,
            self._each(cells, lambda x, a, b: variance(x, a + x, b + 1.0)),
        )

    def draw(self, rng: np.random.Generator) -> PoissonBelief:
        return PoissonBelief(np.exp(log_gamma_draws(self.a, rng)), self.b, self.shape, self.rate)

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        rate = (rng.gamma(self.a[codes]) if integrated else self.a[codes]) / self.b[codes]
        return rng.poisson(rate).astype(np.float64)
