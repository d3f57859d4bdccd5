"""The nodes that a formula becomes: their joint prior against formulas written out by hand."""

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.program.formula import design
from credo.program.formula.families import FAMILIES
from credo.program.formula.lowering import centers_of, cholesky_of, data_of, model_of, partial_name
from credo.program.formula.priors import default_priors, stated_priors


def table_of(n=40, seed=2):
    rng = np.random.default_rng(seed)
    return {
        "y": rng.normal(50, 10, size=n), "x": rng.normal(3, 1, size=n), "z": rng.normal(size=n),
        "g": [f"g{i % 5}" for i in range(n)], "h": [f"h{i % 4}" for i in range(n)], "k": rng.poisson(3, size=n),
        "w": rng.uniform(size=n),
    }  # fmt: skip


def lowered(formula, priors=None, family="gaussian"):
    made = design(formula, table_of())
    laws = stated_priors(priors, default_priors(made, FAMILIES[family]))
    centers = centers_of(made, laws)
    return made, laws, model_of(made, FAMILIES[family], laws, None, {}), centers


def residuals(y, eta, sigma):
    """Standard residuals of prior draws: exactly N(0, 1) if the model's η is the formula's."""
    return stats.kstest(((y - eta) / sigma[:, None]).ravel(), "norm").pvalue


def test_linear_predictor_by_hand():
    """False alarms: once in 1,000 for each of the two tests (fixed seeds)."""
    made, _, model, centers = lowered(
        "y ~ x + I(z^2) + (z || g) + (1 | g:h) + offset(w)", {"coefficients": cr.Normal(2, 3)}
    )
    assert model.nodes["X"].shape == (40, 2)
    np.testing.assert_allclose(centers[1:], made.fixed[:, 1:].mean(axis=0))
    p = model.sample_prior(50, random_state=0)
    table = table_of()
    g, gh = made.groups[0].codes, made.groups[1].codes
    eta = p["Intercept"][:, None] + p["coefficients"] @ (made.fixed[:, 1:] - centers[1:]).T + table["w"]
    eta = eta + p["Intercept | g"][:, g] + p["z | g"][:, g] * table["z"] + p["Intercept | g:h"][:, gh]
    assert residuals(p["response"], eta, p["sigma"]) > 1e-3


def test_correlated_effects_by_hand():
    made, _, model, centers = lowered("y ~ 0 + x + (z + w | g)")
    assert not centers.any()
    p = model.sample_prior(60, random_state=1)
    r = [[2 * p[partial_name("g", j, k)] - 1 for k in range(j)] for j in range(3)]
    effects = ("Intercept", "z", "w")
    sd = np.stack([p[f"sd({e} | g)"] for e in effects], axis=1)
    L = np.zeros((60, 3, 3))
    for j, row in enumerate(cholesky_of(r)):
        for k, value in enumerate(row):
            L[:, j, k] = value
    R = L @ L.transpose(0, 2, 1)
    np.testing.assert_allclose(np.diagonal(R, axis1=1, axis2=2), 1.0)
    # the vine: r_21 given the first is the partial correlation
    partial = (R[:, 2, 1] - R[:, 2, 0] * R[:, 1, 0]) / np.sqrt((1 - R[:, 2, 0] ** 2) * (1 - R[:, 1, 0] ** 2))
    np.testing.assert_allclose(partial, r[2][1])
    z = np.stack([p[f"z({e} | g)"] for e in effects], axis=2)
    u = np.einsum("nj,njk,nlk->nlj", sd, L, z)
    table = table_of()
    rows = u[:, made.groups[0].codes]
    eta = p["coefficients"] @ made.fixed.T + rows[..., 0] + rows[..., 1] * table["z"] + rows[..., 2] * table["w"]
    assert residuals(p["response"], eta, p["sigma"]) > 1e-3


@pytest.mark.parametrize("eta", [1.0, 2.0])
def test_correlations_are_lkj(eta):
    """Under LKJ(η) of q effects every correlation is 2 Beta(b, b) − 1 with b = η − 1 + q/2, whichever the pair.

    False alarms: once in 1,000 for each of six tests (fixed seeds).
    """
    _, _, model, _ = lowered("y ~ 1 + (z + w | g)", {"cor": eta})
    p = model.sample_prior(4000, random_state=3)
    L = cholesky_of([[2 * p[partial_name("g", j, k)] - 1 for k in range(j)] for j in range(3)])
    b = eta + 0.5
    for j, k in ((1, 0), (2, 0), (2, 1)):
        rho = sum(L[j][i] * L[k][i] for i in range(k + 1))
        assert stats.kstest((rho + 1) / 2, stats.beta(b, b).cdf).pvalue > 1e-3


def test_priors_of_other_families_are_nodes_of_their_own():
    made, laws, model, centers = lowered("y ~ x + z", {"x": cr.Laplace(0, 5)})
    p = model.sample_prior(50, random_state=4)
    assert p["coefficients"].shape == (50, 1)
    X = made.fixed - centers
    eta = p["Intercept"][:, None] + p["coefficient of x"][:, None] * X[:, 1] + p["coefficients"] * X[:, 2]
    assert residuals(p["response"], eta, p["sigma"]) > 1e-3
    assert set(data_of(made.names, made.encoded, laws, centers)) == {"X", "column x", "offset"}


def test_columns_may_be_called_anything():
    """Names of nodes and dims do not meet those of the table."""
    rng = np.random.default_rng(0)
    names = ["X", "offset", "response", "coefficients", "obs", "coefficient", "level of obs"]
    table = {name: rng.normal(size=30) for name in names}
    table |= {"obs": rng.integers(0, 4, 30), "coefficient": rng.integers(0, 3, 30)}
    made = design(
        "response ~ X + offset + coefficients + `level of obs` + (1 | obs) + (X || coefficient)",
        table,
    )
    laws = stated_priors({"X": cr.Laplace(0, 1)}, default_priors(made, FAMILIES["gaussian"]))
    model = model_of(made, FAMILIES["gaussian"], laws, None, {})
    assert model.sample_prior(3, random_state=0)["response"].shape == (3, 30)


def test_a_stated_intercept_is_where_the_columns_are_0():
    _, _, _, centers = lowered("y ~ x", {"Intercept": cr.Normal(0, 1)})
    assert not centers.any()


def test_what_is_collapsed():
    _, _, model, _ = lowered("y ~ x + (z | g) + (1 | h)")
    explanation = model.explain()
    assert {"Intercept", "coefficients", "z(Intercept | g)", "z(z | g)", "Intercept | h"} <= set(explanation.exact)
    assert "sigma" not in explanation.exact


def test_counts():
    made, _, model, centers = lowered("k ~ x", family="poisson")
    p = model.sample_prior(400, random_state=5)
    mean = np.exp(p["Intercept"][:, None] + p["coefficients"] * (made.fixed[:, 1] - centers[1]))
    keep = mean < 50
    # Var = mean of a Poisson: squared standard residuals average 1, with sd √((2 + 1/mean)/n)
    chi2 = ((p["response"] - mean) ** 2 / mean)[keep & (mean > 0.5)]
    assert abs(chi2.mean() - 1) < 4 * np.sqrt(4 / chi2.size)
