import numpy as np
import pytest
import scipy.stats

from credo.errors import DataWarning, NotIdentifiedError, ParameterError
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.parameters import DirichletTables, estimate_tables
from credo.models.network.learning.priors import checked_prior
from credo.models.network.learning.rows import coded_rows

from .nets import random_rows

ROWS = coded_rows("test", [[0, 0], [0, 1], [0, 1], [1, 1]], (3, 2), ("rain", "wet"))
SIZES = {"rain": 3, "wet": 2}
FAMILIES = [(), (0,)]


def _tables(prior, size=None, estimate=None, rows=ROWS):
    return estimate_tables(Counter(rows), FAMILIES, checked_prior("test", prior, size, estimate, SIZES))


def test_priors_by_hand():
    # rain 3, 1, 0 times; wet given rain 0: 1, 2; given 1: 0, 1; given 2: never
    k2 = _tables("k2").mean
    np.testing.assert_allclose(k2["rain"], [4 / 7, 2 / 7, 1 / 7])
    np.testing.assert_allclose(k2["wet"], [[2 / 5, 3 / 5], [1 / 3, 2 / 3], [1 / 2, 1 / 2]])
    bdeu = _tables("bdeu", 6).mean
    np.testing.assert_allclose(bdeu["rain"], [5 / 10, 3 / 10, 2 / 10])
    np.testing.assert_allclose(bdeu["wet"], [[2 / 5, 3 / 5], [1 / 3, 2 / 3], [1 / 2, 1 / 2]])
    m = _tables("m_estimate", 2, {"wet": [0.25, 0.75]}).mean
    np.testing.assert_allclose(m["rain"], [(3 + 2 / 3) / 6, (1 + 2 / 3) / 6, (2 / 3) / 6])
    np.testing.assert_allclose(m["wet"], [[1.5 / 5, 3.5 / 5], [0.5 / 3, 2.5 / 3], [0.25, 0.75]])


@pytest.mark.parametrize("options", [("none",), ("m_estimate", 0)])
def test_without_a_prior_an_unseen_row_is_even_and_said(options):
    with pytest.warns(DataWarning, match=r"wet \(1 of 3\)"):
        tables = _tables(*options)
    np.testing.assert_allclose(tables.mean["wet"], [[1 / 3, 2 / 3], [0, 1], [0.5, 0.5]])
    with pytest.raises(NotIdentifiedError, match="rain"):
        tables.sample(np.random.default_rng(0))


def test_a_star_is_naive_bayes():
    from credo.models.naive_bayes import CategoricalNB

    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 3, 80), rng.integers(0, 4, (80, 2))
    model = CategoricalNB(equivalent_sample_size=3.0).fit(X, y)
    rows = coded_rows("test", np.column_stack([y, X]), (3, 4, 4), ("y", "a", "b"))
    prior = checked_prior("test", "m_estimate", 3.0, None, {"y": 3, "a": 4, "b": 4})
    mean = estimate_tables(Counter(rows), [(), (0,), (0,)], prior).mean
    for j, name in enumerate("ab"):
        np.testing.assert_allclose(np.log(mean[name]), model.feature_log_prob_[j], rtol=1e-12)


def test_axes_follow_the_parents():
    rows, _ = random_rows(0, d=4, n=100)
    prior = checked_prior("test", "none", None, None, {})
    families = [(3, 1), (), (), ()]
    found = estimate_tables(Counter(rows), families, prior).concentrations["x0"]
    assert found.shape == (rows.sizes[3], rows.sizes[1], rows.sizes[0])
    x0, x1, _, x3 = rows.columns
    for i in range(rows.sizes[3]):
        for j in range(rows.sizes[1]):
            for k in range(rows.sizes[0]):
                assert found[i, j, k] == np.sum((x3 == i) & (x1 == j) & (x0 == k))


def test_draws_have_the_moments_of_the_posterior():
    """20,000 draws of 8 numbers: |z| > 5 of a mean falsely alarms with probability 5e-6; the seed is fixed."""
    a = np.array([[[3.0, 1.0], [0.5, 4.0]], [[0.01, 0.02], [200.0, 100.0]]])
    tables = DirichletTables({"x": a})
    draws = tables.sample(np.random.default_rng(1), 20_000)["x"]
    assert draws.shape == (20_000, 2, 2, 2)
    np.testing.assert_allclose(draws.sum(axis=-1), 1.0, rtol=1e-12)
    z = (draws.mean(axis=0) - tables.mean["x"]) / (tables.sd["x"] / np.sqrt(20_000))
    assert np.abs(z).max() < 5
    # the law itself, where concentrations are small
    law = scipy.stats.beta(0.01, 0.02)
    for q in (1e-30, 1e-3, 0.5):
        share, expected = np.mean(draws[:, 1, 0, 0] <= q), law.cdf(q)
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / 20_000)


def test_tiny_concentrations_draw_distributions():
    draws = DirichletTables({"x": np.full(4, 1e-5)}).sample(np.random.default_rng(0), 1000)["x"]
    assert np.all(np.isfinite(draws))
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)


def test_a_posterior_is_saved(tmp_path):
    import credo as cr

    tables = _tables("bdeu")
    cr.save(tables, tmp_path / "tables.credo")
    again = cr.load(tmp_path / "tables.credo")
    for node, a in tables.concentrations.items():
        np.testing.assert_array_equal(again.concentrations[node], a)


def test_missing_cells_leave_out_the_families_they_are_in():
    rows = coded_rows("test", [[0, 0], [0, -1], [-1, 1], [1, 1]], (3, 2), ("rain", "wet"))
    found = _tables("k2", rows=rows).concentrations
    np.testing.assert_allclose(found["rain"], [3, 2, 1])
    np.testing.assert_allclose(found["wet"], [[2, 1], [1, 2], [1, 1]])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("flat", None, None), "one of bdeu"),
        (("bdeu", 0.0, None), "> 0"),
        (("bdeu", -1.0, None), "≥ 0"),
        (("bdeu", float("nan"), None), "≥ 0"),
        (("k2", 2.0, None), "None beside"),
        (("none", 1.0, None), "None beside"),
        (("bdeu", 1.0, {"wet": [0.5, 0.5]}), "m_estimate"),
        (("m_estimate", 1.0, [0.5, 0.5]), "mapping"),
        (("m_estimate", 1.0, {"sun": [0.5, 0.5]}), "sun"),
        (("m_estimate", 1.0, {"wet": [0.5, 0.6]}), "sum to 1"),
        (("m_estimate", 1.0, {"wet": [1.0]}), "2 probabilities"),
    ],
)
def test_bad_priors(options, match):
    with pytest.raises(ParameterError, match=match):
        _tables(*options)
