"""The ladder: a Gaussian with weights, chains where its certificate fails, Gibbs where a prior is no Gaussian."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from credo.diagnostics.psis import K_RELIABLE
from credo.errors import ConvergenceWarning, NotPositiveDefiniteError, ParameterError
from credo.inference.result import Result
from credo.inference.weighted import WeightedDraws
from credo.models.glm.bounded import bounds_of
from credo.models.glm.equations import Design
from credo.models.glm.gibbs import accepts_polya_gamma, polya_gamma_posterior
from credo.models.glm.laplace import DataTerm, GlmMode, fit_posterior
from credo.models.glm.nested import accepts_nesting, nested_posterior
from credo.models.glm.prior import GlmPrior
from credo.models.glm.sampling import AFFORDABLE, ENGINES, sampled_posterior
from credo.models.glm.specification import GlmSpecification
from credo.models.glm.variances import gibbs_posterior

__all__ = ["climb", "parameter_labels"]

# Points that check and correct the Gaussian, by how many fit in a budget of row evaluations (about half a second).
POINTS = (4096, 2048, 1024, 512, 256)
EVALUATIONS = 4e7
# Multiplications that densities of the proposal may take (K² a point and a Gaussian: some ten seconds), and Gaussians
# by which that is foretold: of one Gaussian at each τ, and of Gaussians found anew there, of which √K take so many.
PRODUCTS, PLAIN_NODES, NESTED_NODES = 4e10, 20, 5.0
# Rows up to which Pólya–Gamma variables are the faster Gibbs sampler (60 × 20: 0.75 s against 1.1 s under a Laplace
# prior, 3.4 s against 4.4 s under a horseshoe; at 150 rows even, at 1,000 three times slower).
FEW_ROWS = 100
# Share of the points that count, above which no other proposal is tried. A Gaussian with tails added leaves .8 to .95;
# below, an sd may be a tenth short at a k̂ of .4 (Gamma regressions of 8 to 20 rows), since no point is where the
# weights would be large. Above .75 the sds were within 2 % of long chains, but for one in a hundred (4 %), of which the
# variances' own effective points tell: .2 of the points there, .6 and more where sds are right.
EFFICIENT = 0.75
EFFICIENT_VARIANCE = 0.6
# Times as many points for the Gaussians at every scale, which are asked for where rows are few; more where those fail.
MORE = (2, 8)
# Effective points that certify, as for chains; where fewer are affordable, half of them. Of means and of variances.
ENOUGH = 400.0
# Effective points of the variances up to which more are asked for: sds are then known to 1/√5000, 1.4 %. (Poisson,
# 12 rows × 8 columns: of the nine sds from 8,192 points, certified, some were 4 % short by chance.)
PLENTY = 2500.0
# Effective points behind what is shown where the weights fail and sampling is not asked for: ends of an interval are
# then good to a fifth of an sd. Held-out log scores are as good as with the weights as they are, better than without
# (iris, wine and their squares: −0.005 to +0.017 nats a row, against −0.08 to −0.01 of the plain Gaussian).
LEAST_ESS = 100.0


def climb(
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
        return _gibbs(specification, data, prior, mode, n_rows, labels)
    low, high = bounds_of(prior)
    cut = bool(np.any((mode.position <= low) | (mode.position >= high)))
    if cut and inference == "laplace":
        raise ParameterError(
            specification.owner, "inference", "'auto' or 'nuts' where the bounds of the Uniform prior cut the mode "
            "off: no Gaussian is near such a posterior", inference,
        )  # fmt: skip
    advice: tuple[str, ...] = ()
    if cut:
        advice = ("The bounds of the Uniform prior cut the mode off, so the posterior was sampled.",)
    elif saturated and inference not in ENGINES and not accepts_nesting(data, prior):
        advice = (
            "The coefficients can fit every row exactly, so there is no joint mode, and the posterior was sampled.",
        )
    elif inference not in ENGINES:
        draws, result = _weighted(data, prior, mode, n_rows, saturated)
        if result.ok:
            return draws, result
        # Chains have the same funnel to go down, for minutes, and are seldom certified where the rows are exact.
        if inference == "laplace" or saturated or n_rows * mode.position.size > AFFORDABLE:
            return draws.tempered(LEAST_ESS), result
        advice = (
            f"Laplace's certificate failed (Pareto k̂ {draws.k_hat:.2f}, {draws.ess:.0f} effective points), so the "
            "posterior was sampled (HMC).",
        )
    draws, result = sampled_posterior(data, prior, mode, labels, "nuts" if inference == "nuts" else "hmc")
    if inference == "auto" and not result.ok:
        advice = (*advice, "Many short chains did not converge, so a few long ones were run.")
        draws, result = sampled_posterior(data, prior, mode, labels, "nuts")
    return draws, replace(result, advice=advice + result.advice)


def _weighted(
    data: DataTerm, prior: GlmPrior, mode: GlmMode, n_rows: int, saturated: bool
) -> tuple[WeightedDraws, Result]:
    """One Gaussian with weights; or, where it wastes points or there is none, one at every (ψ, τ)."""
    size = mode.position.size
    each = size**2 * (PLAIN_NODES if prior.learned else 1)
    n_points = next((s for s in POINTS if s * n_rows <= EVALUATIONS and s * each <= PRODUCTS), POINTS[-1])
    # Of some hundred parameters no weights are certified, and a Gaussian at every τ takes minutes to say so.
    affordable = MORE[0] * n_points * NESTED_NODES * size**2.5 <= PRODUCTS
    accepted = accepts_nesting(data, prior)
    nests, draws = accepted and (saturated or affordable), None
    if not saturated:
        try:
            draws = fit_posterior(data.values, mode, prior, n_points)
        except NotPositiveDefiniteError:  # the curvature of ψ at the mode of one τ, under another
            if not accepted:
                raise
            nests = True
    if draws is not None:
        result = _laplace_result(mode, draws)
        settled = not nests and (not result.ok or draws.variance_ess() >= PLENTY)
        efficient = draws.ess >= EFFICIENT * n_points and draws.variance_ess() >= EFFICIENT_VARIANCE * n_points
        if efficient or settled:
            return draws, result
    for more in MORE:
        found, result = _with_points(data, prior, mode, more * n_points, nests)
        settled = result.ok and found.variance_ess() >= PLENTY
        # beyond a k̂ of 1 weights have no mean: more points are as lost
        if settled or found.k_hat >= 1.0 or MORE[-1] * n_points * n_rows > EVALUATIONS:
            break
    if draws is not None and not found.ess > draws.ess:
        return draws, _laplace_result(mode, draws)
    return found, result


def _with_points(
    data: DataTerm, prior: GlmPrior, mode: GlmMode, n_points: int, nests: bool
) -> tuple[WeightedDraws, Result]:
    """By Gaussians at every (ψ, τ), where those are all that is in the way, or by the lone one."""
    if nests:
        draws = nested_posterior(data, prior, mode, n_points)
        return draws, _laplace_result(mode, draws, NESTED)
    draws = fit_posterior(data.values, mode, prior, n_points)
    return draws, _laplace_result(mode, draws)


def _gibbs(
    specification: GlmSpecification, data: DataTerm, prior: GlmPrior, mode: GlmMode, n_rows: int, labels: list[str]
) -> tuple[WeightedDraws, Result]:
    """By latent variances of the prior, and for two classes of the rows too: by name, or where those are few."""
    owner, by_name = specification.owner, specification.inference == "gibbs"
    suitable = accepts_polya_gamma(data, prior)
    if suitable and (by_name or n_rows <= FEW_ROWS):
        return polya_gamma_posterior(data, prior, labels, owner)
    with warnings.catch_warnings():  # `fit_glm` says it
        warnings.simplefilter("ignore", ConvergenceWarning)
        draws, result = gibbs_posterior(data, prior, mode, labels, owner)
        if result.ok or not suitable or n_rows * mode.position.size > AFFORDABLE:
            return draws, result
        draws, result = polya_gamma_posterior(data, prior, labels, owner)
    advice = "Hamiltonian trajectories between the variances did not converge, so Pólya–Gamma variables were used."
    return draws, replace(result, advice=(advice, *result.advice))


NESTED = "The Gaussian was found anew at every value of the scale of the prior and of the auxiliary parameter."


def _laplace_result(mode: GlmMode, draws: WeightedDraws, *advice: str) -> Result:
    """Newton's report with the certificate of the weights."""
    status, advice = mode.result.status, (*mode.result.advice, *advice)
    certificate = {"pareto_k": draws.k_hat, "ess": draws.ess}
    if draws.ess < EFFICIENT * draws.weights.size:
        certificate |= {"pareto_k_variance": draws.variance_k(), "ess_variance": draws.variance_ess()}
    k = max(draws.k_hat, certificate.get("pareto_k_variance", -np.inf))
    effective = min(draws.ess, certificate.get("ess_variance", np.inf))
    if status == "converged" and not (k < K_RELIABLE and effective >= min(ENOUGH, 0.5 * draws.weights.size)):
        status = "not_certified"
        why = f"Only {effective:.0f} points are effective" if k < K_RELIABLE else f"Pareto k̂ is {k:.2f} (≥ 0.7)"
        advice = (
            *advice,
            f"{why}: the posterior is too far from a Gaussian for its weights to correct, so these are tempered and "
            "intervals are approximate. Use inference='nuts', more rows or a tighter prior.",
        )
    return replace(mode.result, status=status, inference="laplace", certificate=certificate, advice=advice)


def parameter_labels(design: Design, names: tuple[str, ...]) -> list[str]:
    """One name for each entry of Θ: a column, with its class or predictor where there are several."""
    lead = ["intercept"] if design.intercept else []
    if design.is_softmax and design.classes is not None:
        weights = [f"{name} of class {label}" for label in design.classes for name in [*lead, *names]]
    else:
        weights = [*lead, *names]
    return [*weights, *design.likelihood.auxiliary]
