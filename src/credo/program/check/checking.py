"""`check_model`: the parts together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import NotIdentifiedError, NumericalError, ParameterError, UnavailableError
from credo.numerics.random import as_generator
from credo.program.check.posterior import check_posterior, posterior_findings
from credo.program.check.prior import check_prior, prior_findings
from credo.program.check.records import Finding, ModelCheck, PosteriorCheck, PriorCheck, Simulations
from credo.program.check.simulations import simulate_fits, simulation_findings
from credo.program.fitting import fit_model
from credo.program.model import Model
from credo.program.posterior import ModelPosterior

__all__ = ["check_model"]

# Draws of the fit that is replicated, as `Model.fit` keeps: a p-value of 1/2,000 can then be told.
FITTED = 4_000


def check_model(
    model: Model, posterior: Any = None, *, sbc: int = 0, inference: str = "auto", draws: int = 1000,
    random_state: Any = 0, by: Mapping[str, Any] | None = None, n_jobs: int = 1,
    options: Mapping[str, Any] | None = None,
) -> ModelCheck:  # fmt: skip
    """Check a model before data, its inference, and its fit; see `Model.check`.

    Parameters
    ----------
    posterior : what `fit` returned; None fits, False leaves the posterior out
    sbc : data sets drawn from the prior and fitted; 0 is none, 100 find gross faults, 1,000 fine ones
    inference, draws, options : of the fits; the one that is replicated has 4,000 draws or more
    random_state : the same gives the same answer, whatever `n_jobs`
    by : name → labels, one for each cell of an observed node: whether the means of these groups spread as replicated
    n_jobs : threads that fit the simulations

    Notes
    -----
    A finding is made where a statistic of the data lies beyond those of 99 % of replicated data sets (shared among the
    statistics of a node) and more than three of their sds away, where cells predicted from all others leave the 99 %
    band of uniform transforms, or where ranks leave theirs: each part complains about fewer than 1 % of right models.

    Cost: 500 draws from the prior; up to 4,000 replicates; `sbc` fits.

    References
    ----------
    Gelman, Meng and Stern (1996), Statistica Sinica 6 (replicates); Vehtari, Gelman and Gabry (2017), Statistics and
    Computing 27 (leaving out); Gabry et al. (2019), JRSS A 182 (priors); Säilynoja, Bürkner and Vehtari (2022),
    Statistics and Computing 32 (bands).
    """
    if posterior is not None and posterior is not False and not isinstance(posterior, ModelPosterior):
        raise ParameterError("Model.check", "posterior", "what `fit` returned, None, or False", posterior)
    seeds = as_generator(random_state).spawn(4)
    findings: list[Finding] = []
    absent: dict[str, str] = {}
    prior: dict[str, PriorCheck] = {}
    after: dict[str, PosteriorCheck] = {}
    simulations: Simulations | None = None
    try:
        prior = check_prior(model, seeds[0])
    except UnavailableError as error:
        absent["prior"] = str(error)
    for each in prior.values():
        findings += prior_findings(each)
    if sbc:
        try:
            simulations = simulate_fits(model, sbc, inference, draws, seeds[1], options or {}, n_jobs)
        except UnavailableError as error:
            absent["inference"] = str(error)
        else:
            findings += simulation_findings(simulations)
    if posterior is None:
        try:
            with np.errstate(all="ignore"):
                posterior = fit_model(model, inference, max(draws, FITTED), seeds[2], options or {})
        except (NumericalError, NotIdentifiedError) as error:
            absent["posterior"], posterior = "the fit failed.", False
            findings.append(Finding("inference", "", f"The fit failed: {error}"))
    if not isinstance(posterior, ModelPosterior):
        if posterior is not False:
            absent["posterior"] = f"inference={inference!r} gives a point, of which nothing is replicated."
        posterior = None
    else:
        after = check_posterior(posterior, model, by or {}, seeds[3])
        for each in after.values():
            findings += posterior_findings(each)
        if not posterior.result.ok:
            findings.append(Finding("inference", "", f"The fit is not certified: {posterior.result.message}"))
    return ModelCheck(tuple(findings), prior, after, simulations, absent, posterior)
