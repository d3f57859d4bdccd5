"""From statistics, prior and noise to an exact belief: which closed form or one-dimensional integral applies.

    prior          noise known                noise learned
    flat           Normal                     Student-t (σ² integrated, 1/σ²)
    stated         Normal                     quadrature over σ²
    conjugate      -                          Student-t
    learned        quadrature over r          Student-t given r, quadrature over r

r is the ratio of prior to noise variance. "evidence" replaces a quadrature by the maximum and σ² by its estimate there.
A prior of σ that is not conjugate adds a quadrature over σ (`inference.exact.scale_priors`). Other priors and noises:
`dispatch`.
"""

from __future__ import annotations

import numpy as np

from credo.errors import ParameterError
from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.linear_gaussian import (
    Likelihood,
    fixed_prior,
    flat_prior,
    learned_scale,
    prior_in_own_units,
    require_identified,
)
from credo.inference.exact.noise_prior import NoisePrior
from credo.inference.exact.propriety import ExactFit
from credo.inference.exact.scale_priors import flat_with_scale_prior, learned_with_scale_prior
from credo.inference.exact.sparse import SparseRows
from credo.inference.exact.spectrum import Whitening, centred_rows, plain_rows
from credo.inference.exact.statistics import RegressionStatistics
from credo.models.columns import CONSTANT
from credo.models.linear.specification import OWNER, LinearSpecification
from credo.models.priors import CoefficientPrior, resolve_prior
from credo.models.scale_mixtures import ScaleMixture

__all__ = ["column_scale", "likelihood_of", "prepare", "solve"]


def prepare(
    statistics: RegressionStatistics | SparseRows, spec: LinearSpecification
) -> tuple[RegressionStatistics | SparseRows, CoefficientPrior, bool]:
    """Statistics in units of a known noise scale, with an intercept prior among them where it can be; the prior; and
    whether the intercept has to be a column instead."""
    if spec.noise_scale is not None:
        statistics = statistics.divided(spec.noise_scale)
    # Rows that know their noise weigh 1/σ_i²: of the whole, the scale is that of the mean precision.
    noise_scale = float(np.sqrt(statistics.count / statistics.weight)) if spec.noise_known else 1.0
    prior = resolve_prior(OWNER, spec.prior, column_scale(statistics, spec.fit_intercept), noise_scale)
    if prior.kind == "conjugate" and spec.noise_known:
        raise ParameterError(OWNER, "prior", "Normal or MultivariateNormal when the noise is known", spec.prior)
    if prior.kind == "conjugate" and spec.noise_prior != NoisePrior():
        raise ParameterError(OWNER, "noise", "without a prior of its scale: NormalInverseGamma holds it", spec.noise)
    if spec.intercept_prior is None:
        return statistics, prior, False
    relative = prior.kind in ("learned", "ard") or (prior.kind == "mixture" and is_relative(prior))
    if not spec.noise_known and (relative or prior.kind in ("flat", "box")):
        raise ParameterError(
            OWNER,
            "prior_intercept",
            "flat while both the noise and the scale of the coefficients are learned",
            spec.intercept_prior,
            "State the coefficients' prior or the noise.",
        )
    if spec.noise_known or prior.kind == "conjugate":
        return with_intercept_prior(statistics, *spec.intercept_prior), prior, False
    return statistics, prior, True


def is_relative(prior: CoefficientPrior) -> bool:
    """Whether a mixture's scales are in units of the noise."""
    return isinstance(prior.mixture, ScaleMixture) and prior.mixture.relative


def solve(
    statistics: RegressionStatistics | SparseRows, prior: CoefficientPrior, column: bool, spec: LinearSpecification
) -> tuple[LinearBelief, str, bool]:
    """The belief, its rung "exact", "collapsed" or "evidence", and whether σ is identified; for what `prepare` gave."""
    likelihood = likelihood_of(statistics, prior, spec, column)
    noise = None if spec.noise_known else (prior.noise or spec.noise_prior)
    quadrature = "evidence" if spec.maximise else "collapsed"
    flat, learned = prior.kind in ("flat", "box"), prior.kind == "learned"
    family = noise if noise is not None and not noise.is_conjugate else None
    if family is not None and spec.maximise and (flat or learned):
        raise ParameterError(
            OWNER, "inference", "'auto' with a prior of the noise scale that is not conjugate", "evidence"
        )
    if flat:
        require_identified(likelihood.spectrum, list(spec.names))
    fit = ExactFit.of_likelihood(likelihood, statistics.n_rows, spec.distinct)
    if noise is not None and prior.kind != "conjugate" and not learned and spec.inference != "map":
        fit.require_proper(OWNER, noise, 0.0)
    if flat and family is not None:
        return flat_with_scale_prior(likelihood, family, list(spec.names)), quadrature, True
    if flat:
        return flat_prior(likelihood, noise, list(spec.names)), "exact", True
    if learned:
        belief = (
            learned_with_scale_prior(likelihood, family)
            if family is not None
            else learned_scale(likelihood, noise, maximise=spec.maximise)
        )
        identified = noise is None or fit.require_noise(OWNER, noise, belief, 1.0, maximise=spec.maximise)
        return belief, quadrature, identified
    if prior.kind == "stated" and noise is not None:
        return prior_in_own_units(likelihood, noise, maximise=spec.maximise), quadrature, True
    return fixed_prior(likelihood, noise), "exact", True


def with_intercept_prior(
    statistics: RegressionStatistics | SparseRows, mean: float, sd: float
) -> RegressionStatistics | SparseRows:
    """A Normal prior on the intercept is one more row: x = 0, y = mean, with noise sd `sd` (in noise units).

    The flat-intercept algebra then needs no second case. Merged in factor form, since 0 may be far from the data.
    """
    if isinstance(statistics, SparseRows):
        return statistics.with_pseudo_row(mean, sd)
    targets = np.full(statistics.n_targets, mean)
    row = RegressionStatistics(
        n_rows=0,
        count=1.0,
        weight=1.0 / sd**2,
        log_scale=float(np.log(sd)),
        mean=np.concatenate([np.zeros(statistics.n_columns), targets]),
        scatter=None,
        factor=np.zeros((0, statistics.mean.size)),
        n_targets=statistics.n_targets,
    )
    return statistics.merge(row)


def column_scale(statistics: RegressionStatistics | SparseRows, fit_intercept: bool) -> np.ndarray:
    """(P,) standard deviation of each column, about zero without an intercept; 0 where it is rounding."""
    p = statistics.n_columns
    square = statistics.spread[:p] / statistics.weight
    mean = statistics.mean[:p]
    # A column that is constant up to the rounding of its mean has no scale of its own.
    square = np.where(square > np.square(CONSTANT * mean), square, 0.0)
    return np.sqrt(square if fit_intercept else square + np.square(mean))


def likelihood_of(
    statistics: RegressionStatistics | SparseRows, prior: CoefficientPrior, spec: LinearSpecification, column: bool
) -> Likelihood:
    p, t = statistics.n_columns, statistics.n_targets
    flat_intercept = spec.fit_intercept and not column
    if flat_intercept:
        rows = centred_rows(statistics).keeping(column_scale(statistics, True) > 0.0)
    else:
        rows = plain_rows(statistics, intercept_column=column)
    whitening = prior.whitening
    if column:
        assert spec.intercept_prior is not None
        whitening = with_intercept_column(whitening, *spec.intercept_prior)
    spectrum = rows.decompose(whitening)
    centre, base = statistics.mean[:p], statistics.mean[p:]
    if not flat_intercept:
        centre, base = np.zeros(p), np.zeros(t)
    total_square = rows.target_square + statistics.weight * np.square(statistics.mean[p:])
    # What a residual can be is limited by the rounding of y itself.
    floor = np.maximum(total_square * np.finfo(float).eps ** 2, np.finfo(float).tiny)
    return Likelihood(
        spectrum,
        statistics.count,
        statistics.weight,
        statistics.log_scale,
        flat_intercept,
        centre,
        base,
        floor,
        column,
    )


def with_intercept_column(whitening: Whitening, mean: float, sd: float) -> Whitening:
    offset = np.concatenate([[mean], whitening.offset])
    if whitening.scale.ndim == 1:
        return Whitening(offset, np.concatenate([[sd], whitening.scale]))
    p = whitening.scale.shape[0]
    scale = np.zeros((p + 1, p + 1))
    scale[0, 0], scale[1:, 1:] = sd, whitening.scale
    return Whitening(offset, scale)
