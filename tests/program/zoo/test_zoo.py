"""Ninety-three small models: what `explain` says of each, and the fit against dense algebra, grids and sampling.

Every treatment is stated by hand beside its model; the answers (`oracle`) use no code of Credo.
"""

import numpy as np
import pytest

import credo as cr
from tests.program.zoo import hierarchies, leaves, linear, traps  # noqa: F401  (they enter their models)
from tests.program.zoo.oracle import ZOO

# Of moments in sds, and of log evidences: what quadrature promises (program/quadrature.py, TOLERANCE).
PROMISED = 1e-3


def measured(posterior, name, weighed):
    """Mean and sd of a node, and their Monte Carlo errors: 0 where they do not come from draws."""
    flat = posterior[name]
    if name in posterior.exact_moments:
        mean, sd = map(np.asarray, posterior.exact_moments[name])
        if not weighed:
            return mean, sd, np.zeros(()), np.zeros(())
        n = posterior.result.certificate["effective"]
        kurtosis = np.mean((flat - flat.mean(axis=0)) ** 4, axis=0) / flat.var(axis=0) ** 2
        return mean, sd, sd / np.sqrt(n), sd * np.sqrt((kurtosis - 1.0) / (4.0 * n))
    draws = posterior.values[name]
    each = [cr.diagnostics.mcse(draws.reshape(*draws.shape[:2], -1)[..., k], kind)
            for kind in ("mean", "sd") for k in range(int(np.prod(draws.shape[2:], dtype=int)))]  # fmt: skip
    errors = np.array(each, dtype=float).reshape(2, *draws.shape[2:])
    return flat.mean(axis=0), flat.std(axis=0, ddof=1), errors[0], errors[1]


def compare(posterior, truth, widths, weighed=False):
    """Raises where a moment is more than so many errors off; returns the most it is, beyond what is promised."""
    worst = 0.0
    for name in truth.mean:
        mean, sd, error, sd_error = measured(posterior, name, weighed)
        assert np.shape(mean) == np.shape(truth.mean[name]), name
        off = np.abs(mean - truth.mean[name]) / (PROMISED * truth.sd[name] + widths * error)
        assert np.all(off <= 1.0), f"mean of {name}: {mean}, not {truth.mean[name]}"
        off = np.abs(sd - truth.sd[name]) / (PROMISED * truth.sd[name] + widths * sd_error)
        assert np.all(off <= 1.0), f"sd of {name}: {sd}, not {truth.sd[name]}"
        for found, true, width in ((mean, truth.mean[name], error), (sd, truth.sd[name], sd_error)):
            if np.all(width > 0.0):
                beyond = np.abs(found - true) - PROMISED * truth.sd[name]
                worst = max(worst, float(np.max(np.maximum(beyond, 0.0) / width)))
    return worst


@pytest.mark.parametrize("name", ZOO)
def test_explained_and_fitted(name):
    """Where no chain is needed: moments and the evidence are the oracle's; those that come from draws within 4.5 errors
    (false alarm 1e-5 a number)."""
    case = ZOO[name]()
    assert case.model.explain().treatment == case.treatment
    kinds = set(case.treatment.values())
    posterior, truth = case.model.fit(random_state=0), case.truth()
    assert set(truth.mean) == set(case.treatment)
    compare(posterior, truth, 4.5, "importance" in kinds)
    if truth.log_evidence is None:
        assert np.isnan(posterior.log_evidence)
        return
    error = PROMISED
    if "importance" in kinds:
        found = posterior.result.certificate
        error = 4.5 * np.sqrt(1.0 / found["effective"] - 1.0 / found["evaluations"])
    assert posterior.log_evidence == pytest.approx(truth.log_evidence, abs=error)


# At short size every model that nothing is integrated out of, and some of each other kind; at full size all (five
# minutes).
SAMPLED = (
    "a_mean", "used_twice", "chain", "missing_and_used", "an_sd_that_looks_latent", "eight_schools_non_centred",
    "one_scale_for_all", "decay", "autoregression_with_gaps", "affine_over_a_latent", "one_of_two_sets_the_variance",
    "product_of_two_latents", "shared_with_counts", "potential_on_a_scale", "coins",
    "groups_about_latent_counts", "chain_of_probabilities",
    "variance_depends_on_w", "square_by_product", "absolute_value", "entries_of_one_vector_at_odds",
    "a_child_that_is_not_normal", "covariance_by_a_latent", "probability_squared", "probability_used_in_two_ways",
    "probability_of_failure", "probability_within_bounds", "rate_plus_a_constant", "product_of_rates",
    "gamma_as_an_sd", "gamma_of_latent_shape", "probability_halved", "sum_of_two_rates",
)  # fmt: skip


# A mode that holds 6 % of the answer lies far from the other: chains cross seldom, and R̂ does not always see it.
TWO_MODES = ("wave",)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::credo.errors.ConvergenceWarning")  # a few divergences: what counts is the answer
@pytest.mark.parametrize("name", [name for name in ZOO if name not in TWO_MODES])
def test_sampling_everything(name, replicates, record_property):
    """NUTS on the whole density, nothing collapsed, within four Monte Carlo errors of the oracle: for all 624 numbers a
    chance of 4 % that one fails; at the fixed seed none does."""
    if name not in SAMPLED and not replicates(0, 1):
        pytest.skip("sampled at full size only")
    case = ZOO[name]()
    posterior = case.model.fit("nuts", draws=4000, random_state=5)
    record_property("worst of means and sds, in errors", compare(posterior, case.truth(), 4.0))
