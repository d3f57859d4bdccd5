"""`fit_glm`: from a source of rows and a specification to a posterior, up the ladder.

One pass looks the rows over (moments of the columns, outcomes), some ten find the mode, one weighs the Gaussian there;
where its certificate fails, chains are run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Source
from credo.distributions.likelihoods import Likelihood
from credo.errors import ConvergenceWarning, NotIdentifiedError, ParameterError, warn
from credo.inference.exact.spectrum import Whitening
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.columns import CONSTANT
from credo.models.evidence import Outcomes
from credo.models.glm.equations import Design
from credo.models.glm.gibbs import accepts_polya_gamma, counts_rows
from credo.models.glm.identification import require_identified
from credo.models.glm.ladder import climb, parameter_labels
from credo.models.glm.laplace import DataTerm, fit_mode
from credo.models.glm.mixtures import mixture_mode, refuse, rescaled_mixture
from credo.models.glm.nested import accepts_nesting
from credo.models.glm.overview import Overview, classes_of, look_over
from credo.models.glm.posterior import GlmPosterior
from credo.models.glm.prior import GlmPrior, PredictorPrior
from credo.models.glm.raw import raw_posterior
from credo.models.glm.refusals import require_counts, require_one_offset, require_smooth, without_maximum
from credo.models.glm.specification import INFERENCES, GlmSpecification
from credo.models.glm.start import starting_point
from credo.models.moments import untold_without_mean, without_means
from credo.models.priors import resolve_intercept_prior, resolve_prior
from credo.models.scale_mixtures import Box
from credo.numerics.threads import single_blas_thread

__all__ = ["GlmFit", "GlmSpecification", "INFERENCES", "fit_glm"]


@dataclass(frozen=True)
class GlmFit:
    """posterior in raw units; the design that its flat vectors belong to; τ (1 where stated); labels, or None; a digest
    of the outcomes."""

    posterior: GlmPosterior
    design: Design
    tau: float
    learned: bool
    classes: np.ndarray | None
    outcomes: Outcomes

    @property
    def result(self) -> Result:
        return self.posterior.result


def fit_glm(source: Source, specification: GlmSpecification) -> GlmFit:
    """The posterior of a generalised linear model; warns where it was not certified.

    Cost: about ten passes over the rows, each n K² for K parameters, in bounded memory; then one pass of up to 4,096 n.

    Raises
    ------
    ParameterError, DataError : a bad argument; bad rows, naming the first.
    NotIdentifiedError : the data and a flat prior have no mode (separated classes, all counts zero, collinear columns).
    """
    if specification.inference not in INFERENCES:
        raise ParameterError(specification.owner, "inference", f"one of {INFERENCES}", specification.inference)
    with single_blas_thread():  # blocks go to a pool; the algebra of some dozen parameters is slower on two threads
        return _fit(source, specification)


def _fit(source: Source, specification: GlmSpecification) -> GlmFit:
    overview = reduce(source, lambda block: look_over(block, specification.classify), Overview.merge)
    classes = classes_of(specification, overview.labels) if specification.classify else None
    likelihood = specification.likelihood(classes)
    design = _design(specification, likelihood, overview, classes)
    names = specification.names or tuple(f"x{i}" for i in range(design.centre.size))
    prior = _prior(specification, design, overview)
    require_counts(specification, prior, overview, likelihood)
    data = DataTerm(design.prepare(source), design)
    start = starting_point(data, prior, overview.outcomes(classes))
    stop = without_maximum(specification, data, prior, names)
    require_smooth(specification, likelihood)
    require_one_offset(specification, design, overview)
    if not (specification.inference == "gibbs" and accepts_polya_gamma(data, prior)):
        refuse(specification.owner, specification.inference, prior, whole=counts_rows(data))
    saturated, asked = _is_saturated(design, overview.n_rows), specification.inference
    if saturated and (asked == "map" or (asked == "laplace" and not accepts_nesting(data, prior))):
        raise NotIdentifiedError(
            f"{specification.owner}: n_samples = {overview.n_rows} rows can be fitted exactly by {design.n_weights} "
            f"coefficients: the joint density of these and {', '.join(design.likelihood.auxiliary)} has no mode.",
            value=overview.n_rows,
            remedy="Use inference='auto', which integrates; or state that parameter; or add rows.",
        )
    evaluate = data.frozen(start) if saturated else data.statistics
    mode = fit_mode(evaluate, prior, start, stop)
    bounded = any(isinstance(mixture, Box) for _, mixture in prior.mixed)
    if not prior.is_gaussian and (asked in ("map", "laplace") or (bounded and not saturated)):
        mode = mixture_mode(data, prior, mode)
    require_identified(mode, prior, design, names)
    labels = parameter_labels(design, names)
    draws, result = climb(specification, data, prior, mode, overview.n_rows, labels, saturated)
    if draws is not None:
        result = without_means(result, _without_mean(prior, design, overview), labels)
    if not result.ok:
        warn(f"{specification.owner}: {result.message}", ConvergenceWarning)
    tau = mode.tau if draws is None or not prior.learned else _scale_of(draws, prior)
    posterior = raw_posterior(design, prior, mode, draws, result, names)
    return GlmFit(posterior, replace(design.raw(), classes=None), tau, prior.learned, classes, overview.digest)


def _design(
    specification: GlmSpecification, likelihood: Likelihood, overview: Overview, classes: np.ndarray | None
) -> Design:
    """Columns are centred when a level can take up what the centre adds: an intercept, or the cut-points."""
    mean, variance = overview.moments.mean, overview.moments.variance()
    # A column that is constant up to the rounding of its mean has no scale of its own.
    variance = np.where(variance > np.square(CONSTANT * mean), variance, 0.0)
    levels = bool(specification.fit_intercept) or "cutpoint_1" in likelihood.auxiliary
    centre = mean if levels else np.zeros_like(mean)
    scale = np.sqrt(variance if levels else variance + np.square(mean))
    return Design(
        likelihood,
        bool(specification.fit_intercept),
        centre,
        np.where(scale > 0.0, scale, 1.0),
        classes,
    )


def _prior(specification: GlmSpecification, design: Design, overview: Overview) -> GlmPrior:
    owner = specification.owner
    intercept = resolve_intercept_prior(owner, specification.prior_intercept) if design.intercept else None
    varies = np.where(overview.moments.variance() > 0.0, design.scale, 0.0)
    blocks = []
    spread = 0.0
    for _ in range(design.n_predictors):
        resolved = resolve_prior(owner, specification.prior, varies)
        if resolved.kind in ("conjugate", "ard"):
            raise ParameterError(
                owner,
                "prior",
                "None, Flat, Uniform, Normal, MultivariateNormal, Laplace, StudentT, ElasticNet or Horseshoe",
                specification.prior,
            )
        whitening = _rescaled(resolved.whitening, design.scale)
        spread = float(np.square(whitening.apply(np.diag((varies > 0).astype(float)))).sum())
        blocks.append(
            PredictorPrior(
                whitening=None if resolved.kind == "flat" else whitening,
                learned=resolved.kind == "learned",
                intercept=intercept,
                has_intercept=design.intercept,
                shift=design.centre / design.scale,
                mixture=None if resolved.mixture is None else rescaled_mixture(resolved.mixture, design.scale),
            )
        )
    gain = max(spread, 1.0) / specification.predictor_sd**2
    return GlmPrior(tuple(blocks), gain, design.is_softmax, design.n_auxiliary)


def _rescaled(whitening: Whitening, unit: np.ndarray) -> Whitening:
    """Of coefficients on columns divided by `unit` (P,), which are `unit` times as large."""
    scale = whitening.scale
    return Whitening(whitening.offset * unit, scale * unit if scale.ndim == 1 else scale * unit[:, None])


def _without_mean(prior: GlmPrior, design: Design, overview: Overview) -> np.ndarray:
    """(K,) which entries of Θ have no posterior mean. An intercept without a prior, or cut-points, take up what a
    constant column says; one with a Normal prior leaves it something to say, unless it is 0."""
    mean, told = overview.moments.mean, overview.moments.variance() > 0.0
    lost = np.zeros(prior.size, dtype=bool)
    for (where, mixture), block in zip(prior.mixed, prior.blocks):
        levels = block.intercept is None and np.array_equal(design.centre, mean)
        lost[where] = untold_without_mean(mixture, told if levels else told | (mean != 0.0))
    return lost


def _is_saturated(design: Design, n_rows: int) -> bool:
    """Whether the weights can fit the rows exactly while the scale of a density is learned beside them."""
    return bool(design.n_auxiliary) and design.likelihood.kind == "real" and n_rows <= design.n_weights


def _scale_of(draws: WeightedDraws, prior: GlmPrior) -> float:
    """exp E[log τ]."""
    return float(np.exp(draws.weights @ prior.expected_log_scale(draws.points)))
