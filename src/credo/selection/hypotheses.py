"""`Hypotheses`: finitely many explanations, weighed datum by datum.

P(h | d₁ … d_n) ∝ P(d_n | h) P(h | d₁ … d_{n−1}),      P(d | D) = Σ_h P(d | h) P(h | D)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
import scipy.special

from credo.distributions.mixture import Mixture
from credo.errors import DataError, ParameterError
from credo.prediction.mixture import mix
from credo.selection.predictions import predictive_of

__all__ = ["Hypotheses"]


class Hypotheses:
    """A finite set of hypotheses with their probabilities.

    Parameters
    ----------
    hypotheses : dict name → hypothesis, or a sequence (named 0, 1, …). A hypothesis is a family; a fitted model,
        whose datum is a pair (x, y) and which does not learn from it; or a function datum → log-likelihood, or →
        likelihood if it returns a `Fraction`.
    prior : name → probability, or a sequence in the same order; any scale; equal by default

    `update` changes the object and returns it, so that updates chain; `copy` keeps a state. While priors and
    likelihoods are `Fraction`s (or integers), so is the posterior: exactly. The first float turns it to floating
    point, in log space.

    Examples
    --------
    >>> bags = {"all cherry": Fraction(1), "half": Fraction(1, 2), "all lime": Fraction(0)}
    >>> h = Hypotheses({name: lambda d, p=p: p if d == "cherry" else 1 - p for name, p in bags.items()},
    ...                prior=[Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])
    >>> h.update("lime").update("lime").posterior["all lime"]
    Fraction(2, 3)
    >>> h.map, h.predictive()("lime")
    ('all lime', Fraction(5, 6))
    >>> import credo as cr
    >>> Hypotheses({"narrow": cr.Normal(0, 1), "wide": cr.Normal(0, 10)}).update(8.0).map
    'wide'
    """

    def __init__(self, hypotheses: Mapping[Hashable, Any] | Sequence[Any], prior: Any = None) -> None:
        self.hypotheses: dict[Hashable, Any] = (
            dict(hypotheses) if isinstance(hypotheses, Mapping) else dict(enumerate(hypotheses))
        )
        if not self.hypotheses:
            raise ParameterError("Hypotheses", "hypotheses", "at least one hypothesis", hypotheses)
        for hypothesis in self.hypotheses.values():
            if not (callable(hypothesis) or hasattr(hypothesis, "log_prob") or hasattr(hypothesis, "predict")):
                raise ParameterError("Hypotheses", "hypotheses", "families, fitted models or functions", hypothesis)
        self.n_updates = 0
        self._exact, self._log = _checked_prior(self.hypotheses, prior)

    @property
    def posterior(self) -> dict[Hashable, Any]:
        """Name → P(h | data so far), summing to 1."""
        values = self._exact if self._exact is not None else np.exp(self._log).tolist()
        return dict(zip(self.hypotheses, values, strict=True))

    @property
    def map(self) -> Hashable:
        """Name of the most probable hypothesis; of equals the first."""
        posterior = self.posterior
        return max(posterior, key=lambda name: posterior[name])

    def copy(self) -> Self:
        """An independent copy: updates of one do not touch the other."""
        return copy.copy(self)

    def update(self, datum: Any) -> Self:
        """Condition on one datum, in place; returns self.

        Raises
        ------
        DataError : every hypothesis still possible gives the datum probability 0 (nothing is changed), or a
            likelihood is not a number.
        """
        values = self._likelihoods(datum)
        exact = self._exact
        if exact is not None and all(isinstance(value, Fraction) for value in values):
            joint = [weight * value for weight, value in zip(exact, values, strict=True)]
            total = sum(joint, Fraction(0))
            if total == 0:
                raise _impossible(datum)
            self._exact = [weight / total for weight in joint]
        else:
            with np.errstate(divide="ignore"):
                joint = self._log_weights() + np.array([_as_log(value) for value in values])
            total = _log_sum(joint)
            if total == -np.inf:
                raise _impossible(datum)
            self._exact, self._log = None, joint - total
        self.n_updates += 1
        return self

    def predictive(self, X: Any = None) -> Any:
        """Belief about the next datum, averaged over the hypotheses.

        Families: their `Mixture`. Models: the mixed `Predictive` of the rows X. Functions: a function datum →
        probability (a `Fraction` while exact). A mixed set is answered by a function too.
        """
        used = {name: weight for name, weight in self.posterior.items() if weight > 0}
        members = [self.hypotheses[name] for name in used]
        weights = np.array([float(weight) for weight in used.values()])
        if all(_is_model(member) for member in members):
            if X is None:
                raise ParameterError("Hypotheses.predictive", "X", "the rows to predict", None)
            return mix(weights, [predictive_of(member, X) for member in members])
        if all(hasattr(member, "log_prob") for member in members):
            return Mixture(weights, tuple(members))
        return self._average

    def _average(self, datum: Any) -> Any:
        values = self._likelihoods(datum)
        if self._exact is not None and all(isinstance(value, Fraction) for value in values):
            return sum((weight * value for weight, value in zip(self._exact, values, strict=True)), Fraction(0))
        logs = self._log_weights() + np.array([_as_log(value) for value in values])
        return float(np.exp(_log_sum(logs)))

    def _likelihoods(self, datum: Any) -> list[Any]:
        """A `Fraction` (a likelihood) or a float (a log-likelihood) for each hypothesis."""
        values = []
        for name, hypothesis in self.hypotheses.items():
            value = _likelihood(hypothesis, datum)
            low = value < 0 if isinstance(value, Fraction) else np.isnan(value) or value == np.inf
            if low:
                raise DataError(
                    f"Hypotheses: {name!r} gives the datum a likelihood that is none: {value}.", value=value
                )
            values.append(value)
        return values

    def _log_weights(self) -> np.ndarray:
        return self._log if self._exact is None else np.array([_as_log(weight) for weight in self._exact])

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name!r}: {float(p):.4g}" for name, p in self.posterior.items())
        return f"Hypotheses({{{shown}}}, n_updates={self.n_updates})"


def _is_model(hypothesis: Any) -> bool:
    return hasattr(hypothesis, "predict")


def _likelihood(hypothesis: Any, datum: Any) -> Any:
    if _is_model(hypothesis):
        if not isinstance(datum, tuple) or len(datum) != 2:
            raise DataError("Hypotheses: the datum of a model is a pair (x, y).", value=datum)
        x, y = np.atleast_2d(np.asarray(datum[0], dtype=np.float64)), np.atleast_1d(datum[1])
        return float(np.sum(predictive_of(hypothesis, x).log_prob(y)))
    value = hypothesis.log_prob(datum) if hasattr(hypothesis, "log_prob") else hypothesis(datum)
    return value if isinstance(value, Fraction) else float(np.sum(value))


def _as_log(value: Any) -> float:
    """log of a `Fraction` of any size (a float would underflow at 10⁻³⁰⁸); a float is a log already."""
    if not isinstance(value, Fraction):
        return float(value)
    if value == 0:
        return -np.inf
    return _log_integer(value.numerator) - _log_integer(value.denominator)


def _log_integer(n: int) -> float:
    """math.log of an integer takes any size."""
    return math.log(n)


def _checked_prior(names: Mapping[Hashable, Any], prior: Any) -> tuple[list[Fraction] | None, np.ndarray]:
    """(exact probabilities or None, log probabilities)."""
    if prior is None:
        values: list[Any] = [Fraction(1, len(names))] * len(names)
    elif isinstance(prior, Mapping):
        values = [prior.get(name) for name in names] if set(prior) == set(names) else []
    else:
        values = list(prior)
    good = len(values) == len(names) and all(
        isinstance(v, (int, float, Fraction, np.integer, np.floating)) and not isinstance(v, bool) and 0 <= v < np.inf
        for v in values
    )
    if not good or not sum(values) > 0:
        raise ParameterError("Hypotheses", "prior", f"a number ≥ 0 for each of {list(names)}, not all 0", prior)
    if all(isinstance(v, (int, Fraction, np.integer)) for v in values):
        fractions = [Fraction(v) if isinstance(v, Fraction) else Fraction(int(v)) for v in values]
        total = sum(fractions, Fraction(0))
        return [v / total for v in fractions], np.zeros(0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([float(v) for v in values]))
    return None, logs - _log_sum(logs)


def _log_sum(logs: np.ndarray) -> float:
    return float(np.asarray(scipy.special.logsumexp(logs)))


def _impossible(datum: Any) -> DataError:
    return DataError(
        "Hypotheses: every hypothesis gives the datum probability 0, so none is left.",
        value=datum,
        remedy="Add a hypothesis that allows it, or check the datum.",
    )
