"""Structures of linear-Gaussian networks from rows: scores against their definitions, the search against all DAGs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError
from credo.models.network.gaussian import LinearGaussianNetwork
from credo.models.network.gaussian.scores import GaussianGains, GaussianScore
from credo.models.network.gaussian.search import search_structure
from credo.models.network.learning import essential_graph


def _rows(seed: int, n: int = 200, d: int = 4) -> np.ndarray:
    """From a random linear-Gaussian network, in different units."""
    rng = np.random.default_rng(seed)
    w = np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.6), 1)
    noise = rng.normal(size=(n, d)) * rng.uniform(0.5, 2.0, d)
    return np.linalg.solve((np.eye(d) - w).T, noise.T).T * 10.0 ** rng.integers(-3, 4, d) + rng.normal(size=d)


def _gains(score: str, x: np.ndarray, size: float = 1.0) -> GaussianGains:
    return GaussianGains(tuple("abcdefgh"[: x.shape[1]]), GaussianScore.of(score, x, np.ones(len(x)), size))


def _families(d: int):  # type: ignore[no-untyped-def]
    for child in range(d):
        others = [j for j in range(d) if j != child]
        for size in range(d):
            yield from ((child, family) for family in itertools.combinations(others, size))


def _dags(d: int) -> list[tuple[tuple[int, ...], ...]]:
    """All of them, as the parents of each node."""
    choices = [[f for c, f in _families(d) if c == child] for child in range(d)]
    made = []
    for families in itertools.product(*choices):
        left = set(range(d))
        while free := {v for v in left if not left & set(families[v])}:
            left -= free
        if not left:
            made.append(families)
    return made


def test_bic_is_the_log_density_of_least_squares_less_its_price():
    x = _rows(1, 40)
    gains = _gains("bic", x)
    for child, family in _families(4):
        table = np.column_stack([np.ones(40), x[:, family]])
        left = x[:, child] - table @ np.linalg.lstsq(table, x[:, child], rcond=None)[0]
        wanted = stats.norm.logpdf(left, 0.0, left.std()).sum() - 0.5 * (len(family) + 2) * np.log(40)
        assert gains._score_of(child, family) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("size", [1.0, 2.5])
def test_bge_is_the_product_of_student_t_predictions(size):
    """The evidence of a subset of columns, one row after the other; a family is one subset over another."""
    x = _rows(2, 12)
    z, d = (x - x.mean(axis=0)) / x.std(axis=0), x.shape[1]

    def evidence(subset: tuple[int, ...]) -> float:
        m = len(subset)
        freedom, weight, mean = size + 1.0 + m, size, np.zeros(m)
        spread, total = size**2 / (size + 1.0) * np.eye(m), 0.0
        for row in z[:, list(subset)]:
            df = freedom - m + 1.0
            total += stats.multivariate_t.logpdf(row, mean, spread * (weight + 1.0) / (weight * df), df)
            spread = spread + weight / (weight + 1.0) * np.outer(row - mean, row - mean)
            mean, weight, freedom = (weight * mean + row) / (weight + 1.0), weight + 1.0, freedom + 1.0
        return total

    kept = {subset: evidence(subset) for m in range(1, d + 1) for subset in itertools.combinations(range(d), m)}
    gains = _gains("bge", x, size)
    for child, family in _families(d):
        wanted = kept[tuple(sorted((*family, child)))] - kept.get(family, 0.0) - 12 * np.log(x[:, child].std())
        assert gains._score_of(child, family) == pytest.approx(wanted, abs=1e-8)


def test_one_parent_more_is_scored_as_the_family_itself():
    x = _rows(3, 50, 6)
    for score in ("bic", "bge"):
        gains, fresh = _gains(score, x), _gains(score, x)
        gains.settle(0, (2, 4))
        wanted = np.zeros((6, 6), dtype=bool)
        wanted[[1, 3, 5], 0] = True
        gains.need(wanted)
        for c in (1, 3, 5):
            more = fresh._score_of(0, tuple(sorted((2, 4, c)))) - fresh._score_of(0, (2, 4))
            assert gains.toggles[c, 0] == pytest.approx(more, abs=1e-8)


def _totals(gains: GaussianGains, dags: list[tuple[tuple[int, ...], ...]]) -> np.ndarray:
    """The score of each structure."""
    values = {key: gains._score_of(*key) for key in _families(4)}
    return np.array([[values[v, family] for v, family in enumerate(dag)] for dag in dags]).sum(axis=1)


@pytest.mark.parametrize("score", ["bic", "bge"])
def test_the_search_finds_what_all_structures_of_four_nodes_have_best(score):
    dags = _dags(4)
    assert len(dags) == 543
    for seed in range(12):
        x = _rows(seed)
        best = _totals(_gains(score, x), dags).max()
        found = search_structure("", dict(zip("abcd", x.T, strict=True)), len(x), score=score, n_restarts=3)
        assert found.score == pytest.approx(best, abs=1e-6)
        assert sum(found.family_scores.values()) == pytest.approx(best, abs=1e-6)


def test_equivalent_structures_score_the_same_and_units_do_not_matter():
    x, dags = _rows(7), _dags(4)
    kinds = []
    for dag in dags:
        edges = np.zeros((4, 4), dtype=bool)
        for v, family in enumerate(dag):
            edges[list(family), v] = True
        kinds.append(essential_graph(edges).tobytes())
    assert len(set(kinds)) == 185
    for score in ("bic", "bge", "aic"):
        gains = _gains(score, x)
        totals = _totals(gains, dags)
        first = dict(zip(kinds, totals, strict=True))
        assert max(abs(first[kind] - total) for kind, total in zip(kinds, totals, strict=True)) < 1e-7
        scaled = _gains(score, x * [1e6, 1e-6, 3.0, 1.0] + [0.0, 5.0, -1e3, 0.0])
        moved = scaled._score_of(0, (1, 2)) + 200 * np.log(1e6)
        assert moved == pytest.approx(gains._score_of(0, (1, 2)), abs=1e-5)


def test_order_of_columns_and_weights_do_not_change_what_is_found():
    x = _rows(11, 300, 5)
    table = dict(zip("abcde", x.T, strict=True))
    first = search_structure("", table, 300)
    again = search_structure("", {name: table[name] for name in "ecadb"}, 300)
    assert first.edges == again.edges
    twice = {name: np.concatenate([cells, cells]) for name, cells in table.items()}
    weighed = LinearGaussianNetwork.learn({**table, "count": np.full(300, 2.0)}, sample_weight="count", n_restarts=0)
    assert set(weighed.edges) == set(search_structure("", twice, 600, n_restarts=0).edges)
    assert weighed.nodes == tuple("abcde")
    assert set(weighed.posterior_) == set("abcde")
    assert weighed.structure_.result.status == "converged"


def test_what_is_known_goes_in():
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    table = {"a": a, "b": a + rng.normal(size=500), "c": rng.normal(size=500)}
    told = LinearGaussianNetwork.learn(table, required=[("c", "b")], forbidden=[("a", "b")])
    assert set(told.edges) >= {("c", "b"), ("b", "a")}
    assert LinearGaussianNetwork.learn(table, max_parents=0).edges == ()
    assert LinearGaussianNetwork.learn(table, start=[("a", "c")]).edges == (("a", "b"),)


def test_missing_cells_are_left_out_of_the_search_and_filled_by_em_after_it():
    rng = np.random.default_rng(1)
    a = rng.normal(size=400)
    table = {"a": a, "b": 2 * a + rng.normal(size=400)}
    table["b"] = np.where(rng.random(400) < 0.2, np.nan, table["b"])
    with pytest.warns(DataWarning, match="have a missing cell and are left out of the search"):
        found = LinearGaussianNetwork.learn(table)
    assert found.edges == (("a", "b"),)
    assert found.result_.status == "converged"
    assert abs(found.equations_["b"].coefficients["a"] - 2) < 0.3


def test_awkward_tables_are_errors_that_name_columns():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 50))
    with pytest.raises(NotIdentifiedError, match=r"'[ac]' is a linear function of"):
        LinearGaussianNetwork.learn({"a": a, "b": b, "c": 3 * a - 2 * b + 1})
    assert LinearGaussianNetwork.learn({"a": a, "b": b, "c": a + 0.01 * b}, score="bge").structure_.score < np.inf
    with pytest.raises(DataError, match="one value only"):
        LinearGaussianNetwork.learn({"a": a, "b": np.full(50, 0.1)})
    with pytest.raises(DataError, match="a, b are beyond 1e\\+150"):
        LinearGaussianNetwork.learn({"a": a * 1e200, "b": b * 1e200})
    with pytest.raises(DataError, match="a vary by less than 1e-150"):
        LinearGaussianNetwork.learn({"a": a * 1e-200, "b": b})
    with pytest.raises(DataError, match="the table has 0 rows and 2 columns"):
        LinearGaussianNetwork.learn({"a": [], "b": []})
    with pytest.raises(DataError, match="row 0, column b holds no number"):
        LinearGaussianNetwork.learn({"a": a, "b": ["x"] * 50})
    with pytest.raises(NotIdentifiedError, match="complete row"):
        LinearGaussianNetwork.learn({"a": a[:2], "b": b[:2]})
    with pytest.raises(ParameterError, match="score must be one of bic"):
        LinearGaussianNetwork.learn({"a": a}, score="bdeu")
    with pytest.raises(ParameterError, match="Did you mean 'max_parents'"):
        LinearGaussianNetwork.learn({"a": a}, max_parent=1)
    with pytest.raises(ParameterError, match="without a cycle"):
        LinearGaussianNetwork.learn({"a": a, "b": b}, required=[("a", "b"), ("b", "a")])
    with pytest.raises(DataError, match="every row has a missing cell"):
        LinearGaussianNetwork.learn(
            {"a": np.where(np.arange(50) % 2, a, np.nan), "b": np.where(np.arange(50) % 2, np.nan, b)}
        )


def test_few_rows_of_many_columns_are_not_fitted_exactly():
    found = LinearGaussianNetwork.learn(np.random.default_rng(3).normal(size=(20, 30)), n_restarts=0)
    assert max(len(found.parents(node)) for node in found.nodes) <= 5
