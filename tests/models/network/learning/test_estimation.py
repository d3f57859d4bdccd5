import itertools

import numpy as np
import pytest

from credo.errors import ConvergenceWarning, DataWarning, ParameterError
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.estimation import TableEM, fit_tables
from credo.models.network.learning.expectation import ExpectedCounts
from credo.models.network.learning.layout import TableLayout
from credo.models.network.learning.parameters import estimate_tables
from credo.models.network.learning.parts import FEW_STATES, MOST_STATES, _limit
from credo.models.network.learning.priors import TablePrior
from credo.models.network.learning.rows import CodedRows, coded_rows

from .nets import draw, random_rows, random_tables


def _with_holes(rows, share, seed=0):
    columns = rows.columns.copy()
    columns[np.random.default_rng(seed).random(columns.shape) < share] = -1
    return CodedRows(rows.names, rows.sizes, columns, rows.weights)


def _enumerated(rows, layout, theta):
    """Expected counts and log-likelihood by going through every completion of every row."""
    counts, value = np.zeros(layout.n_cells), 0.0
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    for codes, weight in zip(rows.columns.T, weights):
        completions = list(itertools.product(*(range(r) if c < 0 else [c] for c, r in zip(codes, rows.sizes))))
        p = np.array([_joint(layout, theta, x) for x in completions])
        value += weight * np.log(p.sum())
        for x, share in zip(completions, weight * p / p.sum()):
            for child in range(len(codes)):
                counts[_place(layout, child, x)] += share
    return counts, value


def _place(layout, child, x):
    return layout.offsets[child] + sum(step * x[v] for v, step in layout.strides[child].items())


def _joint(layout, theta, x):
    return np.prod([theta[_place(layout, child, x)] for child in range(len(x))])


@pytest.mark.parametrize("most_states", [2**12, 0.5, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_e_step_is_that_of_enumeration(seed, weighted, most_states):
    rng = np.random.default_rng(seed)
    rows, families = random_rows(seed, d=5, n=40)
    rows = _with_holes(rows, 0.4, seed)
    if weighted:
        rows = coded_rows("test", rows.columns.T, rows.sizes, weights=rng.integers(0, 3, 40) / 2)
    layout = TableLayout.of(rows.names, rows.sizes, families)
    theta = layout.normalised(rng.standard_exponential(layout.n_cells))
    counts, value = ExpectedCounts(rows, layout, most_states).expected(theta)
    expected, log_likelihood = _enumerated(rows, layout, theta)
    assert value == pytest.approx(log_likelihood, rel=1e-10)
    # a missing cell without observed descendants adds its own table's proportions to its counts, and is left out
    rest = expected - counts
    assert rest.min() > -1e-10
    np.testing.assert_allclose(layout.normalised(rest)[rest > 1e-8], theta[rest > 1e-8], rtol=1e-6)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_maximum_is_where_enumeration_has_it(seed):
    """EM with every completion in memory, run long, from the same start."""
    rows, families = random_rows(seed, d=4, n=40)
    rows = _with_holes(rows, 0.2, seed)
    layout = TableLayout.of(rows.names, rows.sizes, families)
    found = fit_tables(rows, families, TablePrior("k2"), tol=1e-13, max_iter=5000)
    model = TableEM(ExpectedCounts(rows, layout), np.ones(layout.n_cells))
    theta = model.start(np.random.default_rng(0), random=False)
    for _ in range(150):
        theta = layout.normalised(_enumerated(rows, layout, theta)[0] + 1.0)
    np.testing.assert_allclose(np.concatenate([t.ravel() for t in found.tables.values()]), theta, atol=2e-6)
    assert found.log_likelihood == pytest.approx(_enumerated(rows, layout, theta)[1], abs=1e-6)


@pytest.mark.parametrize("prior", [TablePrior("bdeu"), TablePrior("m_estimate", 1e-3), TablePrior("k2")])
@pytest.mark.parametrize("acceleration", [None, "squarem"])
def test_the_bound_never_falls(prior, acceleration):
    rows, families = random_rows(7, d=6, n=80)
    found = fit_tables(_with_holes(rows, 0.3), families, prior, acceleration=acceleration, tol=1e-10)
    trace = np.array(found.result.objective)
    assert np.all(np.diff(trace) > -1e-9)
    assert found.result.status == "converged"


def test_complete_rows_need_no_em():
    rows, families = random_rows(2, d=5, n=100)
    prior = TablePrior("bdeu", 4.0)
    found = fit_tables(rows, families, prior)
    assert found.result.status == "exact"
    expected = estimate_tables(Counter(rows), families, prior)
    for name in rows.names:
        np.testing.assert_allclose(found.posterior.concentrations[name], expected.concentrations[name], rtol=1e-12)
        np.testing.assert_allclose(found.tables[name], expected.mean[name], rtol=1e-12)


def test_em_and_counting_agree_where_the_rest_says_nothing():
    """Two independent columns: a row without one says nothing of it."""
    rng = np.random.default_rng(0)
    rows = _with_holes(coded_rows("test", rng.integers(0, 3, (200, 2)), (3, 3)), 0.3)
    found = fit_tables(rows, [(), ()], TablePrior("k2"))
    expected = estimate_tables(Counter(rows), [(), ()], TablePrior("k2")).mean
    for name in rows.names:
        np.testing.assert_allclose(found.tables[name], expected[name], rtol=1e-12)


def test_missing_at_random_is_not_biased():
    """What x0 was is told mostly where x1 is 1: complete rows mislead, EM does not. One sd of its error is 0.005."""
    rng = np.random.default_rng(0)
    codes = draw(rng, [(), (0,)], [np.array([[0.7, 0.3]]), np.array([[0.9, 0.1], [0.2, 0.8]])], (2, 2), 40_000)
    codes[(codes[:, 1] == 0) & (rng.random(40_000) < 0.9), 0] = -1
    found = fit_tables(coded_rows("test", codes, (2, 2)), [(), (0,)], TablePrior("k2"))
    assert abs(found.tables["x0"][1] - 0.3) < 0.03
    complete = codes[codes.min(axis=1) >= 0, 0].mean()
    assert complete > 0.5


def test_a_hidden_class_is_found():
    """Three binary views of a hidden class: identified up to its names. The seed is fixed; error of a table ≈ 0.015."""
    rng = np.random.default_rng(3)
    tables = [np.array([[0.4, 0.6]]), *(np.array([[0.9, 0.1], [0.15, 0.85]]) for _ in range(4))]
    families = [(), (0,), (0,), (0,), (0,)]
    codes = draw(rng, families, tables, (2,) * 5, 4000)
    codes[:, 0] = -1
    rows = coded_rows("test", codes, (2,) * 5)
    found = fit_tables(rows, families, TablePrior("k2"), random_state=0)
    order = np.argsort(found.tables["x1"][:, 1])
    for child in range(1, 5):
        np.testing.assert_allclose(found.tables[f"x{child}"][order], tables[child], atol=0.06)
    assert len(found.result.certificate["starts"]) > 1
    again = fit_tables(rows, families, TablePrior("k2"), random_state=0)
    np.testing.assert_array_equal(found.tables["x1"], again.tables["x1"])


def test_a_hidden_class_is_a_mixture():
    """A hidden root with observed children is a latent class model: the same likelihood as its own estimator's."""
    from credo.models.mixture.categorical import CategoricalMixture

    rng = np.random.default_rng(1)
    tables = random_tables(rng, [(), (0,), (0,), (0,)], (2, 3, 3, 3), 0.4)
    codes = draw(rng, [(), (0,), (0,), (0,)], tables, (2, 3, 3, 3), 600)
    mixture = CategoricalMixture(2, concentration=1.0, n_init=3, tol=1e-10, max_iter=5000, random_state=0)
    mixture.fit(codes[:, 1:])
    codes[:, 0] = -1
    rows = coded_rows("test", codes, (2, 3, 3, 3))
    found = fit_tables(rows, [(), (0,), (0,), (0,)], TablePrior("none"), tol=1e-11, max_iter=5000)
    assert found.log_likelihood == pytest.approx(mixture.score(codes[:, 1:]) * 600, abs=1e-3)


def test_many_unknown_nodes_go_to_elimination():
    rows, families = random_rows(8, d=14, n=30, most=2)
    rows = _with_holes(rows, 0.7)
    layout = TableLayout.of(rows.names, rows.sizes, families)
    theta = layout.normalised(np.random.default_rng(0).standard_exponential(layout.n_cells))
    small, large = (ExpectedCounts(rows, layout, most) for most in (8, 2**20))
    assert len(small.blocks) == 2
    assert small.expected(theta)[1] == pytest.approx(large.expected(theta)[1], rel=1e-12)


def test_rows_and_columns_without_a_cell():
    rows, families = random_rows(0, d=4, n=50)
    columns = np.concatenate([rows.columns, np.full((4, 10), -1, dtype=np.int32)], axis=1)
    found = fit_tables(CodedRows(rows.names, rows.sizes, columns), families, TablePrior("k2"))
    for name, table in fit_tables(rows, families, TablePrior("k2")).tables.items():
        np.testing.assert_array_equal(found.tables[name], table)
    # a hidden node that nothing depends on keeps its prior
    lone = coded_rows("test", [[0, -1], [1, -1]], (2, 3))
    found = fit_tables(lone, [(), (0,)], TablePrior("k2"))
    np.testing.assert_allclose(found.tables["x1"], 1 / 3)
    with pytest.warns(DataWarning, match=r"x1 \(2 of 2\)"):
        fit_tables(lone, [(), (0,)], TablePrior("none"))


def test_stopping_early_is_said():
    rows, families = random_rows(7, d=6, n=80)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        found = fit_tables(_with_holes(rows, 0.3), families, TablePrior("bdeu"), max_iter=3)
    assert found.result.status == "max_iter"


def test_bad_arguments():
    rows, families = random_rows(0, d=3, n=20)
    with pytest.raises(ParameterError, match="n_init"):
        fit_tables(rows, families, TablePrior("k2"), n_init=0)
    many = coded_rows("test", np.zeros((2, 4), dtype=int), (200,) * 4)
    with pytest.raises(ParameterError, match="table of x0"):
        fit_tables(many, [(1, 2, 3), (), (), ()], TablePrior("k2"))


def test_parts_in_chunks_are_the_same(monkeypatch):
    rows, families = random_rows(3, d=6, n=60)
    rows = _with_holes(rows, 0.4)
    layout = TableLayout.of(rows.names, rows.sizes, families)
    theta = layout.normalised(np.random.default_rng(0).standard_exponential(layout.n_cells))
    whole = ExpectedCounts(rows, layout).expected(theta)
    monkeypatch.setattr("credo.models.network.learning.parts._CHUNK", 20)
    monkeypatch.setattr("credo.models.network.learning.expectation._BLOCK_TERMS", 30)
    pieces = ExpectedCounts(rows, layout)
    assert len(pieces.blocks) > 1
    np.testing.assert_allclose(pieces.expected(theta)[0], whole[0], rtol=1e-12, atol=1e-12)
    assert pieces.expected(theta)[1] == pytest.approx(whole[1], rel=1e-12)


def test_threads_do_not_change_the_answer(monkeypatch):
    rows, families = random_rows(3, d=6, n=60)
    rows = _with_holes(rows, 0.4)
    monkeypatch.setattr("credo.models.network.learning.expectation._BLOCK_TERMS", 30)
    one, two = (fit_tables(rows, families, TablePrior("k2"), threads=n) for n in (1, 2))
    for name in rows.names:
        np.testing.assert_array_equal(one.tables[name], two.tables[name])


def test_many_large_parts_are_left_to_elimination():
    few = np.array([1.0, 9.0, 10.0])
    assert _limit(few, np.array([0, 1, 2])) == MOST_STATES
    assert _limit(np.full(100, 12.0), np.arange(100)) == FEW_STATES
    assert _limit(np.array([10.0, 30.0]), np.array([0, 1])) == FEW_STATES
