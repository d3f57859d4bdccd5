"""What a loss asks of an outcome's law: four expectations, in closed form where one exists.

excess(a)    E (Y − a)₊                       absolute, pinball and linear losses
cumulant(t)  log E exp(t (Y − E Y)) ≥ 0       LINEX
expect(g)    E g(Y)                           any other loss
quantile(q)  the q-quantile                   the action of the piecewise linear losses
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp, ndtr, stdtr

from credo.diagnostics.quadrature import integrate, panel_edges, unit_rule
from credo.diagnostics.views import kind, quantiles, shape, survival
from credo.distributions.base import Family
from credo.distributions.normal import Normal
from credo.distributions.student_t import StudentT
from credo.distributions.support import COUNTS
from credo.errors import NumericalError, ParameterError, UnavailableError
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.integrated import IntegratedPredictive
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.predictive import Predictive
from credo.prediction.student_t import StudentTPredictive

__all__ = ["Law", "law", "as_predictive", "as_classes"]

# A tail beyond probability 1e-15 cannot be told from rounding of 1 − q.
TAIL = 1e-15
# Cells of an enumerated table: 0.4 GB of float64.
MAX_CELLS = 50_000_000


class Law:
    """The law of real outcomes with mean, quantile and cdf, everything else by quadrature."""

    def __init__(self, predictive: Any) -> None:
        self.of = predictive

    @property
    def mean(self) -> np.ndarray:
        return np.broadcast_to(self.of.mean, shape(self.of))

    @property
    def variance(self) -> np.ndarray:
        return np.broadcast_to(self.of.variance, shape(self.of))

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance as the predictive states them."""
        return self.mean, self.variance

    def quantile(self, q: Any) -> np.ndarray:
        return quantiles(self.of, q)

    def excess(self, a: np.ndarray) -> np.ndarray:
        """∫_a^∞ (1 − F), between quantiles."""
        levels = self.quantile(panel_edges())
        lift = levels.reshape(levels.shape[0], *[1] * max(a.ndim - levels.ndim + 1, 0), *levels.shape[1:])
        edges = np.maximum(lift, a)
        edges = np.concatenate([np.broadcast_to(a, edges.shape[1:])[None], edges])
        return integrate(lambda y: survival(self.of, y), edges)

    def cumulant(self, t: float) -> np.ndarray:
        w = unit_rule()[1]
        terms = t * (self._at_nodes - self.mean)
        value = np.asarray(logsumexp(terms, axis=0, b=w.reshape(-1, *[1] * (terms.ndim - 1))))
        # A share of 1e-6 in the last node says that what lies beyond it may be anything, infinity included.
        last = np.maximum(terms[0] + np.log(w[0]), terms[-1] + np.log(w[-1])) - value
        if not np.all(last < np.log(1e-6)):
            raise _infinite("E exp(tY)", t)
        return value

    def expect(self, g: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.tensordot(unit_rule()[1], np.asarray(g(self._at_nodes), dtype=np.float64), axes=(0, 0))

    @functools.cached_property
    def _at_nodes(self) -> np.ndarray:
        """Outcomes at the nodes of the unit rule (m, *shape), m = 924."""
        return self.quantile(unit_rule()[0])


class NormalLaw(Law):
    """N(μ, σ²), z = (a − μ)/σ: E(Y − a)₊ = σ (φ(z) − z Φ(−z)); cumulant t²σ²/2."""

    def excess(self, a: np.ndarray) -> np.ndarray:
        over, sd = a - self.of.mean, np.asarray(self.of.sd)
        z = over / np.where(sd > 0, sd, 1.0)
        # A noise-free row is a point: sd 0.
        excess = sd * (np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) - z * ndtr(-z))
        return np.where(sd > 0, excess, np.maximum(-over, 0.0))

    def cumulant(self, t: float) -> np.ndarray:
        return np.broadcast_to(0.5 * np.square(t * self.of.sd), shape(self.of))


class StudentTLaw(Law):
    """Student-t with ν > 1: E(T − t)₊ = (ν + t²)/(ν − 1) f(t) − t (1 − F(t)); cumulants are infinite."""

    @property
    def mean(self) -> np.ndarray:
        if np.any(np.asarray(self.of.df) <= 1.0):
            raise _infinite("E |Y| of a Student-t with df ≤ 1", self.of.df)
        return super().mean

    def excess(self, a: np.ndarray) -> np.ndarray:
        df, scale = np.asarray(self.of.df, dtype=np.float64), self.of.scale
        t = (a - self.mean) / scale
        constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(df * np.pi)
        density = np.exp(constant - 0.5 * (df + 1.0) * np.log1p(t * t / df))
        return scale * ((df + t * t) / (df - 1.0) * density - t * stdtr(df, -t))

    def cumulant(self, t: float) -> np.ndarray:
        raise _infinite("E exp(tY) of a Student-t", t)


class DrawsLaw(Law):
    """Equally weighted draws (S, *shape): every expectation is their average, a quantile one of them."""

    @property
    def mean(self) -> np.ndarray:
        return self.of.draws.mean(axis=0)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        return self.of.mean, self.of.variance  # averaged over the conditional laws, where they are known

    def quantile(self, q: Any) -> np.ndarray:
        return np.quantile(self.of.draws, q, axis=0, method="inverted_cdf")

    def excess(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(sum(np.maximum(draw - a, 0.0) for draw in self.of.draws)) / len(self.of.draws)

    def cumulant(self, t: float) -> np.ndarray:
        centred = self.of.draws - self.mean
        return np.asarray(logsumexp(t * centred, axis=0)) - np.log(len(centred))

    def expect(self, g: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.mean(np.asarray(g(self.of.draws), dtype=np.float64), axis=0)


@dataclass
class TableLaw(Law):
    """Numbers `states` (k,), increasing, with probabilities (n, k): sums instead of integrals."""

    states: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def of_classes(cls, p: ClassPredictive) -> TableLaw:
        if p.classes.dtype.kind not in "biuf":
            raise ParameterError(
                "",
                "loss",
                "one over labels (ZeroOne, CostMatrix, Reject) for classes that are not numbers",
                p.classes,
                "Or encode the classes as numbers.",
            )
        order = np.argsort(p.classes)
        return cls(p.classes[order].astype(np.float64), p.probabilities[:, order])

    @property
    def mean(self) -> np.ndarray:
        return self.probabilities @ self.states

    @property
    def variance(self) -> np.ndarray:
        return np.sum(self.probabilities * np.square(self.states - self.mean[:, None]), axis=1)

    def quantile(self, q: Any) -> np.ndarray:
        # 1e-12 keeps a cumulative sum that should equal q from falling short of it by rounding.
        reached = np.cumsum(self.probabilities, axis=1) >= np.asarray(q)[..., None, None] - 1e-12
        reached[..., -1] = True
        return self.states[np.argmax(reached, axis=-1)]

    def excess(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(sum(p * np.maximum(y - a, 0.0) for y, p in zip(self.states, self.probabilities.T)))

    def cumulant(self, t: float) -> np.ndarray:
        return np.asarray(logsumexp(t * (self.states - self.mean[:, None]), axis=1, b=self.probabilities))

    def expect(self, g: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        values = np.asarray(g(np.broadcast_to(self.states[:, None], self.probabilities.T.shape)), dtype=np.float64)
        return np.sum(self.probabilities.T * values, axis=0)


class CountLaw(Law):
    """Counts: their own mean and quantiles, and sums over the counts enumerated for the rest."""

    @functools.cached_property
    def _table(self) -> TableLaw:
        return TableLaw.of_classes(as_classes(self.of))

    def excess(self, a: np.ndarray) -> np.ndarray:
        return self._table.excess(a)

    def cumulant(self, t: float) -> np.ndarray:
        return self._table.cumulant(t)

    def expect(self, g: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return self._table.expect(g)


class MixtureLaw(Law):
    """Expectations of a mixture are the mixture of expectations."""

    def __init__(self, predictive: MixturePredictive) -> None:
        super().__init__(predictive)
        self.parts = [law(p) for p in predictive.components]

    def excess(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(sum(w * part.excess(a) for w, part in zip(self.of.weights, self.parts)))

    def cumulant(self, t: float) -> np.ndarray:
        each = np.stack([part.cumulant(t) + t * (part.mean - self.mean) for part in self.parts])
        return np.asarray(logsumexp(each, axis=0, b=self.of.weights.reshape(-1, *[1] * (each.ndim - 1))))

    def expect(self, g: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return np.asarray(sum(w * part.expect(g) for w, part in zip(self.of.weights, self.parts)))


class IntegratedLaw(Law):
    """A mixture over points of a posterior, whose members' excess is known in closed form: their average."""

    def excess(self, a: np.ndarray) -> np.ndarray:
        a = np.broadcast_to(a, np.broadcast_shapes(np.shape(a), shape(self.of)))
        # one action a row at a time: the points already fill the memory that is allowed
        each = [
            self.of.average(lambda member, rows, at=at: law(member).excess(at[rows]))
            for at in a.reshape(-1, a.shape[-1])
        ]
        return np.stack(each).reshape(a.shape)


def law(predictive: Any) -> Law:
    """The law of a predictive's outcomes as numbers.

    Numeric classes and counts become tables. Labels that are not numbers raise `ParameterError`.
    """
    of = as_predictive(predictive)
    if isinstance(of, DrawsPredictive):
        return DrawsLaw(of)
    if isinstance(of, MixturePredictive) and of.kind == "real":
        return MixtureLaw(of)
    if kind(of) == "count":
        return CountLaw(of)
    if isinstance(of, IntegratedPredictive) and of.n_rows and isinstance(of.law(np.arange(1)), (Normal, StudentT)):
        return IntegratedLaw(of)
    if isinstance(of, ClassPredictive):
        return TableLaw.of_classes(of)
    if isinstance(of, (Normal, NormalPredictive)):
        return NormalLaw(of)
    return StudentTLaw(of) if isinstance(of, (StudentT, StudentTPredictive)) else Law(of)


def as_predictive(predictive: Any) -> Any:
    """A `Predictive`, or a scalar `Family` standing for one; anything else raises `ParameterError`."""
    if isinstance(predictive, Predictive) or (isinstance(predictive, Family) and predictive.event_ndim == 0):
        return predictive
    raise ParameterError(
        "", "predictive", "a Predictive or a scalar distribution such as cr.Normal(mean, sd)", predictive,
        "For probabilities use ClassPredictive(probabilities, classes); for draws DrawsPredictive(draws).",
    )  # fmt: skip


def as_classes(predictive: Any) -> ClassPredictive:
    """Class probabilities of a predictive of classes, or of counts enumerated into their tails; a scalar is a row."""
    of = as_predictive(predictive)
    if isinstance(of, ClassPredictive):
        return of
    if kind(of) == "real":
        over = "one over numbers (Square, Absolute, Pinball, Linear, Linex, Callable) for a real outcome"
        raise ParameterError("", "loss", over, of)
    if len(shape(of)) > 1:
        raise ParameterError("", "predictive", "of one target: this loss enumerates counts row by row", shape(of))
    if isinstance(of, DrawsPredictive):
        of = DrawsPredictive(of.draws, None, of.kind, of.inference)  # their own frequencies, which end where they do
    states, rows = _states(of), int(np.prod(shape(of), dtype=int))
    if rows * states.size > MAX_CELLS:
        raise NumericalError(
            f"Counts from {states[0]:g} to {states[-1]:g} are too many to enumerate for {rows} rows.",
            value=states.size,
            remedy="Decide on fewer rows at once, or treat the outcome as real.",
        )
    table = _masses(of, states).reshape(states.size, rows).T
    return ClassPredictive(table, states.astype(np.int64), inference=getattr(of, "inference", "exact"))


def _states(of: Any) -> np.ndarray:
    """The counts to enumerate, over all rows."""
    if isinstance(of, DrawsPredictive):
        return np.arange(of.draws.min(), of.draws.max() + 1.0)
    support = getattr(of, "support", COUNTS)  # predictives of counts state none
    low, high = np.min(of.quantile(TAIL)), np.max(of.quantile(1.0 - TAIL))
    # Twice the range: a geometric tail then ends at 1e-30, and the moments of LINEX are of its bulk.
    low, high = max(2.0 * low - high, np.min(support.low)), min(2.0 * high - low, np.max(support.high))
    return np.arange(low, high + 1.0)


def _masses(of: Any, states: np.ndarray) -> np.ndarray:
    """P(Y = state) (k, *shape); by differences of the cdf where no density is known (draws)."""
    rows = shape(of)
    try:
        return np.exp(of.log_prob(np.broadcast_to(states.reshape(-1, *[1] * len(rows)), (states.size, *rows))))
    except UnavailableError:
        return np.diff([of.cdf(np.full(rows, y)) for y in np.append(states[0] - 1.0, states)], axis=0)


def _infinite(what: str, value: Any) -> NumericalError:
    return NumericalError(
        f"The expected loss is infinite, or its tail is beyond quadrature: {what}.",
        value=value,
        remedy="Use a loss that grows more slowly (Absolute, Linear), or a predictive with lighter tails.",
    )
