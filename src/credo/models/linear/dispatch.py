"""From what was stated to a posterior: which rung of the ladder a prior, a noise and an inference stand on.

    prior \\ noise              Normal                                  Student-t, Laplace, log-linear scale
    Flat, Normal               exact (or one or two integrals)         gibbs
    conjugate                  exact                                   -
    Uniform                    exact where the bounds are far, gibbs   Student-t: laplace or nuts
    Laplace, Student-t,        gibbs                                   gibbs
    elastic net, horseshoe
    ARD                        evidence                                -

Under Student-t noise "laplace" and "nuts" are there for the asking. "map" is offered where the mode is what users think
it is; what cannot be offered is refused with the reason. docs/concepts/priors.md has the table, and a test compares.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo.distributions import noise as noise_models
from credo.distributions.normal import Normal
from credo.errors import NotIdentifiedError, ParameterError
from credo.inference.exact.belief import LinearBelief
from credo.inference.exact.posterior import LinearPosterior
from credo.inference.exact.propriety import REMEDY, ExactFit, count_distinct
from credo.inference.exact.sparse import SparseRows
from credo.inference.exact.spectrum import Whitening
from credo.inference.exact.statistics import RegressionStatistics, as_factor_of_rows
from credo.inference.result import Result
from credo.models.columns import CONSTANT
from credo.models.linear.ard import find_relevance
from credo.models.linear.box import mass_outside, sample_in_box
from credo.models.linear.by_glm import fit_by_glm
from credo.models.linear.equations import column_scale, likelihood_of, prepare, solve
from credo.models.linear.gibbs import LinearProblem, problem_of, sample_posterior
from credo.models.linear.heteroscedastic import sample_heteroscedastic
from credo.models.linear.modes import box_mode, l1_mode, student_t_mode
from credo.models.linear.posterior import LinearDraws, LinearFit, LinearMode
from credo.models.linear.robust import sample_robust
from credo.models.linear.sparse import narrowed, wide_mode
from credo.models.linear.specification import OWNER, LinearSpecification
from credo.models.linear.ties import require_noise_off_the_plane, require_scale_above_rounding
from credo.models.moments import doubting_means
from credo.models.priors import CoefficientPrior, resolve_prior, vector
from credo.models.scale_mixtures import Box, NormalMixture, ScaleMixture
from credo.numerics.random import as_generator

__all__ = ["LinearFit", "fit_rows", "fit_statistics"]

# Posterior mass beyond the bounds of a Uniform prior that is not worth sampling for: below rounding of any figure.
NEGLIGIBLE = 1e-12


def fit_statistics(
    statistics: RegressionStatistics | SparseRows, spec: LinearSpecification, single: bool, advice: tuple[str, ...] = ()
) -> LinearFit:
    """The posterior under Normal noise, from statistics alone."""
    statistics, prior, column = prepare(statistics, spec)
    if prior.kind == "ard" and not (spec.noise_known or spec.noise_prior.is_conjugate):
        raise ParameterError(
            OWNER, "noise.scale_prior", "None, Flat or an inverse gamma of the variance under ARD, whose evidence has "
            "no closed form with others", spec.noise,
        )  # fmt: skip
    if spec.inference in ("laplace", "nuts"):
        raise ParameterError(
            OWNER, "inference", "'auto' under Normal noise, where "
            f"{'Gibbs sampling' if prior.kind in ('mixture', 'box') else 'algebra'} is exact and faster",
            spec.inference,
        )  # fmt: skip
    if isinstance(statistics, SparseRows):
        statistics = narrowed(statistics, prior, spec)
    if spec.inference == "map":
        return _mode(statistics, prior, column, spec, single, advice)
    if isinstance(statistics, SparseRows):
        wide_mode(statistics, prior, spec)
    if prior.kind == "ard":
        return _relevance(statistics, prior, spec, single, advice)
    if prior.kind == "mixture" or spec.inference == "gibbs":
        return _drawn(statistics, prior, column, spec, single, advice)
    if prior.kind == "box":
        found = _flat_if_far(statistics, prior, column, spec)
        if found is None:
            return _drawn(statistics, prior, column, spec, single, advice)
        outside = {"mass_outside": found[1]}
        note = "The bounds of the Uniform prior are out of reach: the posterior is the flat one."
        return _exact(found[0], "exact", spec, single, (*advice, note), outside)
    belief, rung, identified = solve(statistics, prior, column, spec)
    return _exact(belief, rung, spec, single, advice, identified=identified)


def _exact(
    belief: LinearBelief, rung: str, spec: LinearSpecification, single: bool, advice: tuple[str, ...],
    certificate: dict[str, Any] | None = None, *, identified: bool = True,
) -> LinearFit:  # fmt: skip
    if rung == "collapsed":
        certificate = {"quadrature_error": belief.quadrature_error}
    status = ("exact" if rung == "exact" else "converged") if identified else "not_identified"
    result = Result(status, rung, certificate=certificate or {}, advice=advice)
    scale = None
    if belief.nodes is not None and belief.node_name.startswith("prior"):
        scale = np.sum(
            belief.weights * np.sqrt(belief.nodes) * belief.expected_noise_sd(), axis=0, where=belief.weights > 0.0
        )
    return LinearFit(LinearPosterior(belief, result, spec.names, single), scale)


def _flat_if_far(
    statistics: RegressionStatistics | SparseRows, prior: CoefficientPrior, column: bool, spec: LinearSpecification
) -> tuple[LinearBelief, float] | None:
    """The flat posterior and what of it lies beyond the bounds, where that is negligible."""
    assert isinstance(prior.mixture, Box)
    # Flat in standardised columns: the box's own units may be far from theirs.
    unit = 1.0 / np.maximum(column_scale(statistics, spec.fit_intercept), np.finfo(float).tiny)
    if not np.all(np.isfinite(unit)):
        return None
    flat = CoefficientPrior("flat", Whitening(np.zeros(unit.size), unit))
    try:
        belief, *_ = solve(statistics, flat, column, spec)
    except NotIdentifiedError:
        return None
    outside = mass_outside(belief, prior.mixture)
    return (belief, outside) if outside < NEGLIGIBLE else None


def _problem(statistics: RegressionStatistics | SparseRows, column: bool, spec: LinearSpecification) -> LinearProblem:
    if isinstance(statistics, SparseRows):
        statistics = as_factor_of_rows(statistics)
    varying = column_scale(statistics, True) > 0.0
    return problem_of(statistics, spec.fit_intercept, spec.intercept_prior if column else None, varying)


def _drawn(
    statistics: RegressionStatistics | SparseRows,
    prior: CoefficientPrior,
    column: bool,
    spec: LinearSpecification,
    single: bool,
    advice: tuple[str, ...],
) -> LinearFit:
    if spec.inference not in ("auto", "gibbs"):
        raise ParameterError(
            OWNER, "inference", f"'auto' or 'gibbs' under {type(spec.prior).__name__}, whose posterior "
            "has no closed form", spec.inference,
        )  # fmt: skip
    problem, rng = _problem(statistics, column, spec), as_generator(spec.seed)
    noise = None if spec.noise_known else (prior.noise or spec.noise_prior)
    mixture = None if isinstance(prior.mixture, Box) else mixture_of(prior, problem)
    if noise is not None:
        _exact_fit(problem, statistics.n_rows, spec).require_proper(OWNER, noise, float(is_relative(mixture)))
    if isinstance(prior.mixture, Box):
        draws = sample_in_box(problem, prior.mixture, noise, rng, OWNER)
    else:
        assert mixture is not None
        draws = sample_posterior(problem, mixture, noise, rng, OWNER)
        told = np.any(problem.x[:, int(problem.lead is not None) :], axis=0)
        draws = doubting_means(OWNER, draws, mixture, told, spec.names)
    return _from_draws(draws, spec, single, advice)


def is_relative(mixture: ScaleMixture | None) -> bool:
    return mixture is not None and mixture.relative


def _exact_fit(problem: LinearProblem, rows: int, spec: LinearSpecification) -> ExactFit:
    flat, total = problem.weight is not None, problem.floor / np.finfo(float).eps ** 2
    return ExactFit.of_rows(problem.x, problem.y, total, problem.nu, flat, rows, spec.distinct)


def mixture_of(prior: CoefficientPrior, problem: LinearProblem) -> ScaleMixture:
    """The prior as a mixture of Normals; a Gaussian one is a mixture of one."""
    if isinstance(prior.mixture, ScaleMixture):
        return prior.mixture
    offset, scale = prior.whitening.offset, prior.whitening.scale
    if scale.ndim != 1:
        raise ParameterError(OWNER, "inference", "'auto' or 'exact' under a MultivariateNormal prior", "gibbs")
    if prior.kind == "flat":
        if problem.is_wide or np.linalg.matrix_rank(problem.x) < problem.x.shape[1]:
            raise NotIdentifiedError(
                "The coefficients are not identified under a flat prior: the columns are constant or collinear.",
                value=problem.x.shape,
                remedy="Drop a column, or state a proper prior such as cr.Normal(0, 10).",
            )
        return NormalMixture(offset, np.full(offset.shape, np.inf))
    if prior.kind == "learned":
        gain = np.square(problem.x * scale).sum() / max(problem.nu + (problem.weight is not None), 1.0)
        return NormalMixture(offset, scale, learned=True, relative=True, reach=1.0 / np.sqrt(gain) if gain > 0 else 1.0)
    return NormalMixture(offset, scale, relative=prior.kind == "conjugate")


def _from_draws(draws: Any, spec: LinearSpecification, single: bool, advice: tuple[str, ...]) -> LinearFit:
    draws = replace(draws, result=replace(draws.result, advice=(*advice, *draws.result.advice)))
    targets = draws.values["coef"].shape[2:-1]
    known: dict[str, Any] = {}
    if "intercept" not in draws:
        known["intercept"] = np.zeros(targets)
    if "noise_scale" not in draws and np.ndim(spec.noise.scale) == 0 and "noise_coef" not in draws:
        known["noise_scale"] = np.full(targets, float(spec.noise.scale))
    scale = draws["prior_scale"].mean(axis=0) if "prior_scale" in draws else None
    return LinearFit(LinearDraws(draws, spec.names, single, known), None if scale is None else np.atleast_1d(scale))


def _mode(
    statistics: RegressionStatistics | SparseRows,
    prior: CoefficientPrior,
    column: bool,
    spec: LinearSpecification,
    single: bool,
    advice: tuple[str, ...],
) -> LinearFit:
    _require_mode(prior, spec)
    wide = wide_mode(statistics, prior, spec) if isinstance(statistics, SparseRows) else None
    if wide is not None:
        coef, level, result = wide[0], wide[1], replace(wide[2], advice=(*advice, *wide[2].advice))
    elif prior.mixture is None:
        belief, *_ = solve(statistics, prior, column, spec)
        posterior = LinearPosterior(belief, Result("exact", "exact"), spec.names, False)
        coef, level, result = posterior.mean, posterior.intercept.mean, Result("exact", "map", advice=advice)
    else:
        problem = _problem(statistics, column, spec)
        if isinstance(prior.mixture, Box):
            w, result = box_mode(problem.x, problem.y, prior.mixture)
        elif prior.mixture.penalty is not None:
            w, result = l1_mode(problem.x, problem.y, prior.mixture)  # type: ignore[arg-type]
        else:
            w, result = student_t_mode(problem.x, problem.y, prior.mixture)  # type: ignore[arg-type]
        coef, level = w.T, problem.base - problem.centre @ w if problem.weight is not None else np.zeros(w.shape[1])
        result = replace(result, inference="map", advice=(*advice, *result.advice))
    if single:
        coef, level = coef[0], float(level[0])
    return LinearFit(LinearMode(coef, level, result, spec.names, single))


def _require_mode(prior: CoefficientPrior, spec: LinearSpecification) -> None:
    """Refuse modes that do not exist, or that are not what users think."""
    name = type(spec.prior).__name__
    if name == "Horseshoe":
        why = "the density of a horseshoe is infinite at 0, so the mode is 0 whatever the data"
    elif prior.kind in ("learned", "ard") or getattr(prior.mixture, "learned", False):
        why = "the joint mode of coefficients and their scale is at scale 0, where the density is infinite"
    elif not spec.noise_known and prior.kind not in ("flat", "box"):
        why = (
            "the joint mode of coefficients and an unknown noise scale is not the mode of the coefficients, and may "
            "lie at noise 0"
        )
    else:
        return
    remedy = "State the noise, cr.noise.Normal(scale), or use inference='auto', which integrates over what is unknown."
    raise ParameterError(OWNER, "inference", f"other than 'map' here: {why}", "map", remedy)


def _relevance(
    statistics: RegressionStatistics | SparseRows,
    prior: CoefficientPrior,
    spec: LinearSpecification,
    single: bool,
    advice: tuple[str, ...],
) -> LinearFit:
    if spec.inference not in ("auto", "evidence"):
        raise ParameterError(OWNER, "inference", "'auto' or 'evidence' under ARD, which is a maximum", spec.inference)
    if statistics.n_targets > 1:
        raise ParameterError(OWNER, "prior", "other than ARD() for several targets: fit one model a target", spec.prior)
    noise = None if spec.noise_known else spec.noise_prior
    problem = _problem(statistics, False, spec)
    if problem.nu <= 0.0 and noise is not None:
        raise NotIdentifiedError("The noise scale cannot be learned from n_samples=1 with a flat intercept.", value=1)
    if noise is not None:
        fit = _exact_fit(problem, statistics.n_rows, spec)
        copied = fit.examine(noise, NEGLIGIBLE)[0] is not None
        if noise.is_conjugate and noise.scale == 0.0 and fit.is_exact.any() and not copied:
            raise NotIdentifiedError(
                "Under ARD the evidence has no maximum: the columns fit y exactly, and it rises for ever as the noise "
                "scale falls to 0.",
                value=float(fit.residual.max()),
                remedy=REMEDY,
            )
        fit.require_proper(OWNER, noise, NEGLIGIBLE)  # a maximum: ν − K > 0
    x, y = problem.x, problem.y[:, 0]
    found = find_relevance(x.T @ x, x.T @ y, float(y @ y), problem.nu, noise, float(problem.floor[0]))
    sd, variance = np.sqrt(found.variances), np.full((1, 1), found.noise_variance)
    whitening = Whitening(np.zeros(sd.size), sd / np.sqrt(found.noise_variance))
    likelihood = likelihood_of(statistics, CoefficientPrior("ard", whitening), spec, False)
    ratio = np.ones((1, 1))
    evidence = likelihood.log_constant - 0.5 * float(
        (
            likelihood.nu * np.log(variance)
            + likelihood.log_determinant(ratio)
            + likelihood.unexplained(ratio) / variance
        ).item()
    )
    belief = likelihood.belief(ratio, variance, np.inf, evidence)
    status = "converged" if found.converged else "max_iter"
    result = Result(status, "evidence", objective=found.trace, advice=advice)
    return LinearFit(LinearPosterior(belief, result, spec.names, single), sd[None])


def fit_rows(X: np.ndarray, y: np.ndarray, spec: LinearSpecification, single: bool) -> LinearFit:
    """The posterior under noise that needs the rows (n, P) and y (n, T): Student-t, Laplace, or of log-linear scale."""
    deviation = X.std(axis=0) if spec.fit_intercept else np.sqrt(np.square(X).mean(axis=0))
    prior = resolve_prior(OWNER, spec.prior, deviation)
    changing = isinstance(spec.noise, noise_models.Normal)
    kind = "a log-linear scale" if changing else f"cr.noise.{type(spec.noise).__name__}"
    _require_sampled_prior(prior, spec, kind)
    asked = spec.inference in ("laplace", "nuts", "map") and not changing
    if asked or (prior.kind == "box" and spec.inference == "auto"):
        if spec.inference != "map":
            _require_spread(X, y, prior, spec)
        fit = fit_by_glm(X, y, spec, single)
        if isinstance(fit.posterior, LinearDraws) and "noise_scale" in fit.posterior.chains:
            require_scale_above_rounding(fit.posterior["noise_scale"], y)
        return fit
    if spec.inference not in ("auto", "gibbs") or prior.kind == "box":
        offered = "'auto' or 'nuts'" if prior.kind == "box" else "'auto' or 'gibbs'"
        why = f"{offered} under {kind}, where the posterior has no closed form"
        raise ParameterError(OWNER, "inference", why, spec.inference)
    _require_spread(X, y, prior, spec)
    if prior.whitening.scale.ndim == 2:
        return _in_whitened_columns(X, y, prior.whitening, spec, single)
    centre = X.mean(axis=0) if spec.fit_intercept else np.zeros(X.shape[1])
    weight = float(len(X)) if spec.fit_intercept else None
    nu = float(len(X) - spec.fit_intercept)
    problem = LinearProblem(X - centre, y, nu, np.zeros(y.shape[1]), weight, centre, y.mean(axis=0), None)
    mixture, rng = mixture_of(prior, problem), as_generator(spec.seed)
    if changing:
        law = spec.noise.scale.prior or Normal(0.0, 1.0)
        of_scale = (
            vector(OWNER, law.mean, X.shape[1], "noise.scale.prior.mean"),
            vector(OWNER, law.sd, X.shape[1], "noise.scale.prior.sd"),
        )
        draws = sample_heteroscedastic(X, y, mixture, of_scale, spec.fit_intercept, spec.intercept_prior, rng, OWNER)
    else:
        draws = sample_robust(X, y, mixture, spec.latent_noise, spec.fit_intercept, spec.intercept_prior, rng, OWNER)
        if not spec.latent_noise.laplace and "noise_scale" in draws:
            require_scale_above_rounding(draws.values["noise_scale"], y)
    told = deviation > CONSTANT * np.abs(centre)
    return _from_draws(doubting_means(OWNER, draws, mixture, told, spec.names), spec, single, ())


def _require_sampled_prior(prior: CoefficientPrior, spec: LinearSpecification, kind: str) -> None:
    """Refuse priors that go with Normal noise of one scale alone."""
    changing = isinstance(spec.noise, noise_models.Normal)
    joint = prior.whitening.scale.ndim == 2
    if prior.kind == "conjugate":
        why = "NormalInverseGamma is conjugate to Normal noise of one scale alone"
    elif prior.kind == "ard":
        why = "the evidence that ARD needs is known under Normal noise of one scale alone"
    elif prior.kind == "box" and not isinstance(spec.noise, noise_models.StudentT):
        why = "a Uniform prior is sampled under Normal noise of one scale, or under cr.noise.StudentT"
    elif joint and changing:
        why = "the scale has the same columns, which a MultivariateNormal prior would mix"
    else:
        return
    offered = (
        f"None, Flat, Normal, {'' if changing else 'MultivariateNormal, '}Laplace, StudentT, ElasticNet or Horseshoe"
    )
    raise ParameterError(OWNER, "prior", f"{offered} under {kind}: {why}", spec.prior)


def _in_whitened_columns(
    X: np.ndarray, y: np.ndarray, whitening: Whitening, spec: LinearSpecification, single: bool
) -> LinearFit:
    """Coefficients that are dependent a priori, w = offset + scale u, by way of u ~ N(0, I) on the columns X scale."""
    inner = replace(spec, prior=Normal(0.0, 1.0))
    fit = fit_rows(X @ whitening.scale, y - (X @ whitening.offset)[:, None], inner, single)
    assert isinstance(fit.posterior, LinearDraws)
    chains = fit.posterior.chains
    coef = whitening.offset + chains.values["coef"] @ whitening.scale.T
    return replace(
        fit, posterior=replace(fit.posterior, chains=replace(chains, values={**chains.values, "coef": coef}))
    )


def _require_spread(X: np.ndarray, y: np.ndarray, prior: CoefficientPrior, spec: LinearSpecification) -> None:
    """An exact fit lets the scale go to 0, and the posterior may be improper."""
    if isinstance(spec.noise.scale, float | int):
        return
    free, flat = spec.noise.scale_prior is None, spec.fit_intercept and spec.intercept_prior is None
    if free and np.any(np.ptp(y, axis=0) == 0.0):
        raise NotIdentifiedError(
            "The noise scale is not identified by a target that is constant.",
            value=len(X),
            remedy="State the scale, or a scale_prior such as cr.HalfNormal(1).",
        )
    relative = prior.kind == "learned" or getattr(prior.mixture, "relative", False)
    x = np.column_stack([X, np.ones(len(X))]) if spec.fit_intercept and not flat else X - X.mean(axis=0) * flat
    fit = ExactFit.of_rows(
        x, y - y.mean(axis=0) * flat, np.square(y).sum(axis=0), float(len(X) - flat), flat, len(X),
        lambda: count_distinct(X, y),
    )  # fmt: skip
    fit.require_proper(OWNER, spec.noise_prior, float(relative))
    if isinstance(spec.noise, noise_models.StudentT):
        design = np.column_stack([np.ones(len(X)), X - X.mean(axis=0)]) if spec.fit_intercept else X
        require_noise_off_the_plane(design, y, spec.latent_noise, spec.noise_prior)
