"""`fit_glm`: from a source of rows and a specification to a posterior, up the ladder.

One pass looks the rows over (moments of the columns, outcomes), some ten find the mode, one weighs the Gaussian there;
where its certificate fails, chains are run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source
from credo.diagnostics.psis import K_RELIABLE
from credo.distributions.likelihoods import Likelihood
from credo.distributions.statistics import WeightedMoments
from credo.errors import ConvergenceWarning, DataError, NotIdentifiedError, ParameterError, warn
from credo.inference.exact.spectrum import Whitening
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.glm.equations import Design, class_codes
from credo.models.glm.identification import require_identified
from credo.models.glm.laplace import DataTerm, GlmMode, fit_mode, fit_posterior
from credo.models.glm.mixtures import gibbs_posterior, mixture_mode, refuse, rescaled_mixture
from credo.models.glm.posterior import GlmPosterior
from credo.models.glm.prior import GlmPrior, PredictorPrior
from credo.models.glm.sampling import AFFORDABLE, ENGINES, sampled_posterior
from credo.models.glm.separation import SATURATED, describe_separation
from credo.models.glm.start import starting_point
from credo.models.priors import resolve_intercept_prior, resolve_prior
from credo.numerics.threads import single_blas_thread

__all__ = ["GlmFit", "GlmSpecification", "INFERENCES", "fit_glm"]

INFERENCES = ("auto", "laplace", "gibbs", "nuts", "hmc", "map")
# Points that check and correct the Gaussian, by how many fit in a budget of row evaluations (about half a second).
POINTS = (4096, 2048, 1024, 512, 256)
EVALUATIONS = 4e7
# Scale of the half-Normal hyperprior on the sd of the linear predictor: at 3 a typical pair of rows has odds (or
# rates) that differ by a factor of e⁴ ≈ 70, and a separated sample cannot run off far beyond that.
PREDICTOR_SD = 3.0
# Outcomes kept for the start of auxiliary parameters, at most.
KEPT_OUTCOMES = 100_000


@dataclass(frozen=True)
class GlmSpecification:
    """What is to be fitted, in the user's units.

    owner : the estimator, for messages
    likelihood : sorted labels (None where outcomes are numbers) → `Likelihood`
    prior, prior_intercept, fit_intercept, inference : as for the estimators
    classify : whether outcomes are labels
    levels : all labels in their order; by default those found, sorted
    predictor_sd : scale of the half-Normal hyperprior on the sd of the linear predictor, under a learned prior
    names : of the columns; x0, x1, ... by default
    columns : of each linear predictor, the indices of its columns; None for one predictor (or a softmax) of them all
    prior_others : prior of the weights of the further predictors, as for `prior`
    """

    owner: str
    likelihood: Callable[[np.ndarray | None], Likelihood]
    prior: Any = None
    prior_intercept: Any = None
    fit_intercept: bool = True
    inference: str = "auto"
    classify: bool = False
    levels: np.ndarray | None = None
    predictor_sd: float = PREDICTOR_SD
    names: tuple[str, ...] | None = None
    columns: tuple[np.ndarray, ...] | None = None
    prior_others: Any = None


@dataclass(frozen=True)
class GlmFit:
    """posterior in raw units; the design that its flat vectors belong to; τ (1 where stated); labels, or None."""

    posterior: GlmPosterior
    design: Design
    tau: float
    learned: bool
    classes: np.ndarray | None

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
    overview = reduce(source, lambda block: _overview(block, specification.classify), _Overview.merge)
    classes = _classes(specification, overview.labels) if specification.classify else None
    likelihood = specification.likelihood(classes)
    design = _design(specification, likelihood, overview, classes)
    names = specification.names or tuple(f"x{i}" for i in range(design.centre.size))
    prior = _prior(specification, design, overview)
    _require_counts(specification, prior, overview, likelihood)
    data = DataTerm(design.prepare(source), design)
    start = starting_point(data, prior, overview.outcomes(classes))
    stop = _stop(data, names) if prior.is_flat else None
    refuse(specification.owner, specification.inference, prior)
    saturated = _is_saturated(design, overview.n_rows)
    if saturated and specification.inference in ("map", "laplace"):
        raise NotIdentifiedError(
            f"{specification.owner}: n_samples = {overview.n_rows} rows can be fitted exactly by {design.n_weights} "
            f"coefficients: the joint density of these and {', '.join(design.likelihood.auxiliary)} has no mode.",
            value=overview.n_rows,
            remedy="Use inference='auto', which samples; or state that parameter; or add rows.",
        )
    evaluate = data.frozen(start) if saturated else data.statistics
    mode = fit_mode(evaluate, prior, start, stop)
    if not prior.is_gaussian and specification.inference in ("map", "laplace"):
        mode = mixture_mode(data, prior, mode)
    require_identified(mode, prior, design, names)
    labels = parameter_labels(design, names)
    draws, result = _posterior(specification, data, prior, mode, overview.n_rows, labels, saturated)
    if not result.ok:
        warn(f"{specification.owner}: {result.message}", ConvergenceWarning)
    tau = mode.tau if draws is None or not prior.learned else _scale_of(draws, prior)
    posterior = _raw_posterior(design, prior, mode, draws, result, names)
    return GlmFit(posterior, replace(design.raw(), classes=None), tau, prior.learned, classes)


def _classes(specification: GlmSpecification, found: np.ndarray) -> np.ndarray:
    """The labels, at least two of them seen."""
    owner, levels = specification.owner, specification.levels
    if found.size < 2:
        raise DataError(f"{owner} needs two classes, got one class: {found.tolist()}.", value=found.tolist())
    if levels is not None and (odd := [label for label in found.tolist() if label not in levels.tolist()]):
        raise DataError(f"{owner}: label {odd[0]!r} is not one of the levels {levels.tolist()}.", value=odd[0])
    return found if levels is None else levels


# -- looking the rows over -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Overview:
    """Of one pass: moments of the columns, labels (or none), a few outcomes with their weights, rows, whether all
    outcomes are zero."""

    moments: WeightedMoments
    labels: np.ndarray
    sample: np.ndarray
    n_rows: int
    all_zero: bool

    def merge(self, other: _Overview) -> _Overview:
        return _Overview(
            self.moments.merge(other.moments),
            np.union1d(self.labels, other.labels),
            np.concatenate([self.sample, other.sample])[:KEPT_OUTCOMES],
            self.n_rows + other.n_rows,
            self.all_zero and other.all_zero,
        )

    def outcomes(self, classes: np.ndarray | None) -> np.ndarray:
        """Outcomes for a start: a sample of them, or codes."""
        return self.sample if classes is None else class_codes(classes, self.sample).astype(np.float64)


def _overview(block: Block, classify: bool) -> _Overview:
    X = np.asarray(block.X)
    if not np.all(np.isfinite(X.sum(axis=0))):
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if bad.size:
            row = block.start + int(bad[0])
            raise DataError(f"Input X contains NaN, infinity or a value too large in row {row}.", rows=[row])
    if block.y is None:
        raise DataError("The blocks of the source carry no y.", remedy="Give outcomes with the source.")
    if block.offset is not None and not np.all(np.isfinite(block.offset)):
        row = block.start + int(np.flatnonzero(~np.isfinite(block.offset))[0])
        raise DataError(f"The offset is not finite in row {row}.", rows=[row], remedy="An exposure must be > 0.")
    weights = None if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    seen = block.y if weights is None else block.y[weights > 0]
    labels = np.unique(seen) if classify else seen[:0]
    all_zero = not classify and not np.any(seen)
    return _Overview(WeightedMoments.accumulate(X, weights), labels, seen[:KEPT_OUTCOMES], block.n_rows, all_zero)


def _design(
    specification: GlmSpecification, likelihood: Likelihood, overview: _Overview, classes: np.ndarray | None
) -> Design:
    """Columns are centred when a level can take up what the centre adds: an intercept, or the cut-points."""
    mean, variance = overview.moments.mean, overview.moments.variance()
    # A column that is constant up to the rounding of its mean has no scale of its own.
    variance = np.where(variance > np.square(8.0 * np.finfo(float).eps * mean), variance, 0.0)
    levels = bool(specification.fit_intercept) or "cutpoint_1" in likelihood.auxiliary
    centre = mean if levels else np.zeros_like(mean)
    scale = np.sqrt(variance if levels else variance + np.square(mean))
    return Design(
        likelihood,
        bool(specification.fit_intercept),
        centre,
        np.where(scale > 0.0, scale, 1.0),
        classes,
        specification.columns,
    )


def _prior(specification: GlmSpecification, design: Design, overview: _Overview) -> GlmPrior:
    owner = specification.owner
    intercept = resolve_intercept_prior(owner, specification.prior_intercept) if design.intercept else None
    varies = np.where(overview.moments.variance() > 0.0, design.scale, 0.0)
    blocks = []
    spread = 0.0
    columns = design.columns or (np.arange(design.centre.size),) * design.n_predictors
    for j, used in enumerate(columns):
        first = j == 0 or design.columns is None
        resolved = resolve_prior(owner, specification.prior if first else specification.prior_others, varies[used])
        if resolved.kind in ("conjugate", "ard"):
            raise ParameterError(
                owner,
                "prior",
                "None, Flat, Uniform, Normal, MultivariateNormal, Laplace, StudentT, ElasticNet or Horseshoe",
                specification.prior,
            )
        whitening = _rescaled(resolved.whitening, design.scale[used])
        if first:
            spread = float(np.square(whitening.apply(np.diag((varies[used] > 0).astype(float)))).sum())
        blocks.append(
            PredictorPrior(
                whitening=None if resolved.kind == "flat" else whitening,
                learned=resolved.kind == "learned",
                intercept=intercept if first else None,
                has_intercept=design.intercept,
                shift=design.centre[used] / design.scale[used],
                mixture=None if resolved.mixture is None else rescaled_mixture(resolved.mixture, design.scale[used]),
            )
        )
    gain = max(spread, 1.0) / specification.predictor_sd**2
    return GlmPrior(tuple(blocks), gain, design.is_softmax, design.n_auxiliary)


def _rescaled(whitening: Whitening, unit: np.ndarray) -> Whitening:
    """Of coefficients on columns divided by `unit` (P,), which are `unit` times as large."""
    scale = whitening.scale
    return Whitening(whitening.offset * unit, scale * unit if scale.ndim == 1 else scale * unit[:, None])


def _require_counts(
    specification: GlmSpecification, prior: GlmPrior, overview: _Overview, likelihood: Likelihood
) -> None:
    """Counts that are all 0 push a flat intercept to −∞."""
    block = prior.blocks[0]
    if likelihood.kind == "count" and overview.all_zero and block.has_intercept and block.intercept is None:
        raise NotIdentifiedError(
            f"{specification.owner}: y is all zero, so the rate's likelihood is highest at 0 and the intercept has no "
            "mode under a flat prior.",
            value=0.0,
            remedy="State a proper intercept prior, such as prior_intercept=cr.Normal(0, 5).",
        )


def _is_saturated(design: Design, n_rows: int) -> bool:
    """Whether the weights can fit the rows exactly while the scale of a density is learned beside them."""
    return bool(design.n_auxiliary) and design.likelihood.kind == "real" and n_rows <= design.n_weights


def _stop(data: DataTerm, names: tuple[str, ...]) -> Callable[[np.ndarray], str | None]:
    """Under a flat prior, a linear predictor that saturates is looked into: is there no maximum?"""
    design = data.design

    def stop(theta: np.ndarray) -> str | None:
        if design.columns is not None or np.abs(theta[: design.n_weights]).max(initial=0.0) == 0.0:
            return None
        if design.classes is None and design.likelihood.kind != "count":
            return None
        weights = theta[: design.n_weights].reshape(design.n_predictors, -1)
        low, high = reduce(
            data.source, lambda block: _extremes(block, weights), lambda a, b: (min(a[0], b[0]), max(a[1], b[1]))
        )
        beyond = -low if design.likelihood.kind == "count" else max(-low, high)
        return describe_separation(data.source, design, names) if beyond > SATURATED else None

    return stop


def _extremes(block: Block, weights: np.ndarray) -> tuple[float, float]:
    eta = block.X @ weights.T
    return float(eta.min()), float(eta.max())


# -- the ladder ----------------------------------------------------------------------------------------------------


def _posterior(
    specification: GlmSpecification,
    data: DataTerm,
    prior: GlmPrior,
    mode: GlmMode,
    n_rows: int,
    labels: list[str],
    saturated: bool,
) -> tuple[WeightedDraws | None, Result]:
    """The Gaussian with weights, and chains where its certificate fails (or that were asked for)."""
    inference = specification.inference
    if inference == "map":
        return None, mode.result
    if inference == "gibbs" or (inference == "auto" and prior.has_kinks):
        return gibbs_posterior(data, prior, mode, labels, specification.owner)
    advice: tuple[str, ...] = ()
    if saturated and inference not in ENGINES:
        advice = (
            "The coefficients can fit every row exactly, so there is no joint mode, and the posterior was sampled.",
        )
    elif inference not in ENGINES:
        n_points = next((s for s in POINTS if s * n_rows <= EVALUATIONS), POINTS[-1])
        draws = fit_posterior(data.values, mode, prior, n_points)
        result = _laplace_result(mode, draws)
        if result.ok or inference == "laplace" or n_rows * mode.position.size > AFFORDABLE:
            return draws, result
        advice = (
            f"Laplace's certificate failed (Pareto k̂ {draws.k_hat:.2f} ≥ 0.7), so the posterior was sampled (HMC).",
        )
    draws, result = sampled_posterior(data, prior, mode, labels, "nuts" if inference == "nuts" else "hmc")
    if inference == "auto" and not result.ok:
        advice = (*advice, "Many short chains did not converge, so a few long ones were run.")
        draws, result = sampled_posterior(data, prior, mode, labels, "nuts")
    return draws, replace(result, advice=advice + result.advice)


def _laplace_result(mode: GlmMode, draws: WeightedDraws) -> Result:
    """Newton's report with the certificate of the weights."""
    status, advice = mode.result.status, mode.result.advice
    if status == "converged" and not draws.k_hat < K_RELIABLE:
        status = "not_certified"
        advice = (
            *advice,
            f"Pareto k̂ is {draws.k_hat:.2f} (≥ 0.7): the posterior is too far from a Gaussian for its weights to "
            "correct, so intervals are approximate. Use inference='nuts', more rows or a tighter prior.",
        )
    certificate = {"pareto_k": draws.k_hat, "ess": draws.ess}
    return replace(mode.result, status=status, inference="laplace", certificate=certificate, advice=advice)


def _scale_of(draws: WeightedDraws, prior: GlmPrior) -> float:
    """exp E[log τ]."""
    return float(np.exp(draws.weights @ prior.expected_log_scale(draws.points)))


def parameter_labels(design: Design, names: tuple[str, ...]) -> list[str]:
    """One name for each entry of Θ: a column, with its class or predictor where there are several."""
    lead = ["intercept"] if design.intercept else []
    if design.columns is not None:
        weights = [
            f"{name} of predictor {j}" if j else name
            for j, used in enumerate(design.columns)
            for name in [*lead, *(names[i] for i in used)]
        ]
    elif design.is_softmax and design.classes is not None:
        weights = [f"{name} of class {label}" for label in design.classes for name in [*lead, *names]]
    else:
        weights = [*lead, *names]
    return [*weights, *design.likelihood.auxiliary]


def _raw_posterior(
    design: Design,
    prior: GlmPrior,
    mode: GlmMode,
    draws: WeightedDraws | None,
    result: Result,
    names: tuple[str, ...],
) -> GlmPosterior:
    """In the columns' own units."""
    flat = design.to_raw(mode.position)
    head = design.spans[0].stop if design.columns is not None else design.n_weights
    rows = design.n_predictors if design.columns is None else 1
    evidence = None if draws is None or prior.is_flat or np.isnan(draws.log_normaliser) else draws.log_normaliser
    used = names if design.columns is None else tuple(names[i] for i in design.columns[0])
    return GlmPosterior(
        None if draws is None else draws_to_raw(draws, design),
        flat[:head].reshape(rows, -1),
        design.intercept,
        used,
        result,
        evidence,
        design.likelihood,
        flat[head:],
    )


def draws_to_raw(draws: WeightedDraws, design: Design) -> WeightedDraws:
    """The same map on points and moments: it is linear."""
    jacobian = design.to_raw(np.eye(draws.mean.size)).T
    return replace(
        draws,
        points=design.to_raw(draws.points),
        mean=design.to_raw(draws.mean),
        covariance=jacobian @ draws.covariance @ jacobian.T,
    )
