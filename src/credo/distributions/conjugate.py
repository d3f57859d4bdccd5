"""Conjugate models: prior × likelihood → posterior, predictive and evidence in closed form.

A pair knows three things: the sufficient statistics of rows, the posterior they give, and the log normaliser that
turns both into the evidence. Everything is a function of (prior, statistics), so updates come in any order and size,
merge across partitions, and gather no error.

Notation: w weights (1 a row unless given), n = Σ w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.conjugate_pairs import PAIRS, REQUIRED, Pair, Statistics
from credo.distributions.normal_inverse_gamma import normal_inverse_gamma_mode
from credo.errors import DataError, ParameterError

__all__ = ["ConjugateModel", "normal_inverse_gamma_mode"]


@dataclass(frozen=True, eq=False, init=False)
class ConjugateModel:
    """A prior and a likelihood that are conjugate, with what the data seen so far have said.

    Parameters
    ----------
    prior : a family over the unknown parameters
    likelihood : the family of one observation (the class, not a member)
    **known : the likelihood's other parameters, by its own names; numbers, or for `update` one a row

    ======================  =======================  ==================  =========================
    prior                   likelihood               known               predictive
    ======================  =======================  ==================  =========================
    Beta                    Bernoulli                                    Bernoulli
    Beta                    Binomial                 n                   BetaBinomial
    Beta                    Geometric                                    BetaNegativeBinomial(1)
    Beta                    NegativeBinomial         shape               BetaNegativeBinomial
    Dirichlet               Categorical                                  Categorical
    Dirichlet               Multinomial              n (of the next)     DirichletMultinomial
    Gamma                   Poisson                  exposure = 1        NegativeBinomial
    Gamma                   Exponential                                  Lomax
    Normal                  Normal                   sd                  Normal
    InverseGamma            Normal                   mean                StudentT
    NormalInverseGamma      Normal                                       StudentT
    NormalInverseWishart    MultivariateNormal                           MultivariateStudentT
    Pareto                  Uniform (0, θ)                               Mixture
    ======================  =======================  ==================  =========================

    Examples
    --------
    A batting average, believed to be .27 ± .1, then 100 hits in 300 at bats:

    >>> import credo as cr
    >>> model = cr.ConjugateModel(cr.Beta.from_moments(0.27, 0.1), cr.Binomial, n=300).update(100)
    >>> model.posterior.a.round(4).item(), model.posterior.b.round(4).item()
    (105.0517, 213.6583)
    >>> model.predictive(n=4).mean.round(3).item()
    1.318

    Datum by datum is all at once, and the evidence is the product of one-step-ahead predictions:

    >>> model = cr.ConjugateModel(cr.Gamma(shape=2, rate=1), cr.Poisson)
    >>> step = model.update(3)
    >>> two = step.update(5)
    >>> two.posterior == model.update([3, 5]).posterior
    True
    >>> gain = model.predictive().log_prob(3) + step.predictive().log_prob(5)
    >>> abs(two.log_evidence - gain) < 1e-12
    np.True_

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., ch. 2-3; Fink (1997), A Compendium of Conjugate Priors.
    """

    prior: Family
    likelihood: type[Family]
    known: dict[str, Any]
    statistics: Statistics | None

    def __init__(self, prior: Family, likelihood: type[Family], **known: Any) -> None:
        pair = PAIRS.get((type(prior).__name__, getattr(likelihood, "__name__", "")))
        if pair is None:
            pairs = ", ".join(f"{p}–{lik}" for p, lik in PAIRS)
            raise ParameterError(
                "ConjugateModel",
                "prior and likelihood",
                "a conjugate pair, a member and a class",
                (prior, likelihood),
                f"The pairs are {pairs}.",
            )
        if prior.batch_shape or any(value is None for value in prior.parameters.values()):
            raise ParameterError("ConjugateModel", "prior", "one distribution, not a batch, fully specified", prior)
        self._settle(prior, likelihood, _checked(pair, known), None)

    def _settle(self, prior: Family, likelihood: type[Family], known: dict, statistics: Statistics | None) -> None:
        for name, value in (("prior", prior), ("likelihood", likelihood), ("known", known), ("statistics", statistics)):
            object.__setattr__(self, name, value)

    def _with(self, statistics: Statistics) -> ConjugateModel:
        model = object.__new__(ConjugateModel)
        merged = statistics if self.statistics is None else self.statistics.merge(statistics)
        model._settle(self.prior, self.likelihood, self.known, merged)
        return model

    @property
    def _pair(self) -> Pair:
        return PAIRS[type(self.prior).__name__, self.likelihood.__name__]

    def _given(self, names: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
        """The known parameters `names` (with defaults): from this call, else from the model, else the default."""
        merged = {**names, **self.known, **_checked(self._pair, known)}
        missing = [name for name in names if merged[name] is REQUIRED]
        if missing:
            owner = f"ConjugateModel({type(self.prior).__name__}, {self.likelihood.__name__})"
            raise ParameterError(owner, missing[0], "given, here or on construction", None)
        return {name: merged[name] for name in names}

    def update(self, x: Any, weights: Any = None, **known: Any) -> ConjugateModel:
        """The model after the observations `x` (a number, or rows), each counted `weights` times.

        Known parameters given here hold for these rows only. Cost: one pass. Raises `DataError` naming bad rows.
        """
        given = self._given(self._pair.known, known)
        try:
            x = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError("ConjugateModel.update: observations must be numbers.", value=x) from None
        if x.size == 0:
            return self
        return self._with(self._pair.accumulate(self.prior, x, weights, **given))

    def merge(self, other: ConjugateModel) -> ConjugateModel:
        """The model that has seen the data of both; the two must share prior, likelihood and known parameters."""
        same = (
            self.likelihood is other.likelihood
            and self.prior == other.prior
            and self.known.keys() == other.known.keys()
            and all(np.array_equal(v, other.known[k]) for k, v in self.known.items())
        )
        if not same:
            raise ParameterError("ConjugateModel.merge", "other", "a model of the same prior and likelihood", other)
        return self if other.statistics is None else self._with(other.statistics)

    @property
    def posterior(self) -> Any:
        """The belief about the unknown parameters, a member of the prior's family."""
        return self.prior if self.statistics is None else self._pair.posterior(self.prior, self.statistics)

    @property
    def log_evidence(self) -> float:
        """log ∫ p(data | θ) p(θ) dθ: of each row the log density, times its weight; 0 before any data."""
        if self.statistics is None:
            return 0.0
        return float(self._pair.log_evidence(self.prior, self.posterior, self.statistics))

    def predictive(self, **known: Any) -> Any:
        """The distribution of one more observation, the parameters integrated out."""
        return self._pair.predictive(self.posterior, **self._given(self._pair.ahead, known))


def _checked(pair: Pair, known: dict[str, Any]) -> dict[str, Any]:
    """`known`, if they are parameters of this pair."""
    for name, value in known.items():
        if name not in pair.ahead:
            constraint = f"a known parameter of this likelihood ({', '.join(pair.ahead) or 'it has none'})"
            raise ParameterError("ConjugateModel", name, constraint, value)
    return known
