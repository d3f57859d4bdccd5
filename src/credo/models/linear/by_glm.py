"""Student-t noise by the engine of the generalised linear models: the mode, Laplace with importance weights, or NUTS.

Laplace noise has corners and no curvature there, which all three need: it is sampled by `robust` alone.
"""

from __future__ import annotations

import numpy as np

from credo.blocks.array import ArraySource
from credo.distributions import noise as noise_models
from credo.errors import ParameterError
from credo.inference.draws import Draws
from credo.models.linear.posterior import LinearDraws, LinearFit, LinearMode
from credo.models.linear.specification import OWNER, LinearSpecification
from credo.models.priors import resolve_prior

__all__ = ["fit_by_glm"]


def fit_by_glm(X: np.ndarray, y: np.ndarray, spec: LinearSpecification, single: bool) -> LinearFit:
    """The posterior of X (n, P), y (n, 1) under Student-t noise at spec.inference."""
    from credo.distributions.likelihoods import StudentTIdentity
    from credo.models.glm.fitting import GlmSpecification, fit_glm

    noise = spec.noise
    if isinstance(noise, noise_models.Laplace):
        why = "'auto' or 'gibbs' under cr.noise.Laplace, whose density has corners where the others need curvature"
        raise ParameterError(OWNER, "inference", why, spec.inference)
    if spec.inference == "map" and (noise.scale is None or noise.df is None):
        why = "other than 'map' while the noise is unknown: the joint mode is not the mode of the coefficients"
        raise ParameterError(OWNER, "inference", why, "map", "State df and scale, or use inference='auto'.")
    if not single:
        raise ParameterError(OWNER, "inference", "'auto' or 'gibbs' for several targets", spec.inference)
    prior = resolve_prior(OWNER, spec.prior, np.ones(X.shape[1]))
    if prior.kind == "learned" or getattr(prior.mixture, "learned", False):
        raise ParameterError(
            OWNER, "inference", "'auto' or 'gibbs' where the prior's scale is learned relative to the noise",
            spec.inference, "State the prior, such as cr.Normal(0, 10).",
        )  # fmt: skip
    scale = noise.scale if noise.scale is not None else noise.scale_prior
    likelihood = StudentTIdentity(noise.df if noise.df is not None else noise.df_prior, scale)
    intercept = None
    if spec.intercept_prior is not None:
        from credo.distributions.normal import Normal

        intercept = Normal(*spec.intercept_prior)
    found = fit_glm(
        ArraySource(X, y[:, 0], None),
        GlmSpecification(OWNER, lambda _: likelihood, spec.prior, intercept, spec.fit_intercept, spec.inference,
                         names=spec.names),
    ).posterior  # fmt: skip
    if found.draws is None:
        level = float(found.intercept_mean[0]) if spec.fit_intercept else 0.0
        mode = LinearMode(found.mean[0], level, found.result, spec.names, True)
        return LinearFit(mode)
    renamed = {"scale": "noise_scale"}
    names = ["coef", *(["intercept"] if spec.fit_intercept else []), *found.auxiliary_mean()]
    values = {renamed.get(name, name): found[name][None] for name in names}
    values["coef"] = values["coef"][:, :, 0]
    if spec.fit_intercept:
        values["intercept"] = values["intercept"][:, :, 0]
    known = {} if spec.fit_intercept else {"intercept": np.zeros(())}
    if noise.scale is not None:
        known["noise_scale"] = np.asarray(float(noise.scale))
    return LinearFit(LinearDraws(Draws(values, found.result), spec.names, True, known))
