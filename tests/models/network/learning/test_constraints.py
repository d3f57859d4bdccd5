"""Tests of independence, and structures from them."""

import itertools

import numpy as np
import pytest
from scipy import stats

import credo as cr
from credo.errors import ParameterError
from credo.models.network.learning import independence_test, learn_structure
from credo.models.network.learning.constraints import pc
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.independence import test_independence as tested
from credo.models.network.learning.rows import coded_rows

from .nets import is_acyclic, random_rows


def _codes(seed, n=400):
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 3, n)
    a = np.where(rng.random(n) < 0.5, c, rng.integers(0, 3, n))
    return np.column_stack([a, (c + rng.integers(0, 2, n)) % 3, c])


def test_g_is_scipys():
    """Without others `chi2_contingency` by log-likelihood; given c its sum over the states of c."""
    codes = _codes(0)
    counter = Counter(coded_rows("test", codes, (3, 3, 3)))

    def scipys(some):
        found = stats.contingency.crosstab(some[:, 0], some[:, 1]).count
        return stats.chi2_contingency(found, correction=False, lambda_="log-likelihood")

    found, whole = tested(counter, 0, 1, ()), scipys(codes)
    assert found.statistic == pytest.approx(whole.statistic)
    assert (found.df, found.rows) == (whole.dof, 400.0)
    assert found.p_value == pytest.approx(whole.pvalue)
    parts = [scipys(codes[codes[:, 2] == c]) for c in range(3)]
    given = tested(counter, 0, 1, (2,))
    assert given.statistic == pytest.approx(sum(part.statistic for part in parts))
    assert given.df == sum(part.dof for part in parts)
    assert given.mutual_information == pytest.approx(given.statistic / 800)
    swapped = tested(counter, 1, 0, (2,))
    assert swapped.statistic == pytest.approx(given.statistic)
    sparse = Counter(coded_rows("test", codes, (3, 3, 3)), dense_cells=2)
    assert tested(sparse, 0, 1, (2,)).statistic == pytest.approx(given.statistic)
    assert tested(sparse, 0, 1, (2,)).df == given.df


def test_the_p_value_is_uniform_where_nothing_depends():
    """2,000 tables of 300 rows: Kolmogorov and Smirnov at 1e-4 (the law is discrete and asymptotic, yet near)."""
    rng = np.random.default_rng(1)
    p = []
    for _ in range(2000):
        codes = rng.integers(0, 3, (300, 2))
        p.append(tested(Counter(coded_rows("test", codes, (3, 3))), 0, 1, ()).p_value)
    assert stats.kstest(p, "uniform").pvalue > 1e-4


def test_tables():
    table = {"a": ["x", "y", None, "x"] * 30, "b": ["u", "v", "u", "u"] * 30, "c": [1, 1, 2, 2] * 30}
    found = independence_test(table, "a", "b", "c")
    assert found.rows == 90.0
    assert found.given == ("c",)
    nothing = independence_test({"a": [0, 0], "b": [0, 1]}, "a", "b")
    assert (nothing.df, nothing.p_value) == (0, 1.0)
    weighted = independence_test({"a": [0, 1], "b": [0, 1], "w": [10.0, 30.0]}, "a", "b", sample_weight="w")
    assert weighted.rows == 40.0
    for arguments, told in (
        (("a", "z"), "names among"), (("a", "a"), "different nodes"), (("a", "b", ["b"]), "different columns"),
        (("a", "b", ["a"]), "different nodes"), (("a", "b", ["c", "c"]), "different columns"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=told):
            independence_test(table, *arguments)


def test_a_collider_and_a_chain_are_told():
    rng = np.random.default_rng(2)
    n = 4000

    def noisy(v, share):
        return np.where(rng.random(n) < share, 1 - v, v)

    a, b = rng.integers(0, 2, (2, n))
    c = noisy(a | b, 0.1)
    d = noisy(c, 0.1)
    found = learn_structure({"a": a, "b": b, "c": c, "d": d}, "pc")
    assert found.edges == (("a", "c"), ("b", "c"), ("c", "d"))  # c → d follows: else it were a collider too
    assert found.result.inference == "pc"
    assert found.result.certificate["undirected"] == 0
    assert found.score == pytest.approx(sum(found.family_scores.values()))
    chain = learn_structure({"x": a, "y": (y := noisy(a, 0.15)), "z": noisy(y, 0.15)}, "pc")
    assert {frozenset(edge) for edge in chain.edges} == {frozenset("xy"), frozenset("yz")}
    assert chain.result.certificate["undirected"] == 2
    assert not {"x", "z"} <= set(chain.parents["y"])  # no collider


@pytest.mark.parametrize("seed", range(6))
def test_always_a_dag_whatever_the_order_of_columns(seed):
    rows, _ = random_rows(seed, 7, 300)
    found = pc(rows, significance=0.2)
    at = {name: j for j, name in enumerate(rows.names)}
    assert is_acyclic([tuple(at[p] for p in found.parents[name]) for name in rows.names])
    order = np.random.default_rng(seed).permutation(7)
    turned = coded_rows("test", rows.columns[order].T, [rows.sizes[j] for j in order], [rows.names[j] for j in order])
    assert dict(pc(turned, significance=0.2).parents) == dict(found.parents)
    free = pc(rows, significance=0.2, max_given=0)
    for a, b in itertools.combinations(range(7), 2):
        p = tested(Counter(rows), a, b, ()).p_value
        linked = rows.names[a] in free.parents[rows.names[b]] or rows.names[b] in free.parents[rows.names[a]]
        assert linked == (p <= 0.2)


def test_missing_cells_are_passed_over_test_by_test():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 2000)
    b = np.where(rng.random(2000) < 0.9, a, 1 - a)
    table = {"a": a.astype(object), "b": b.astype(object), "coin": rng.integers(0, 2, 2000)}
    table["a"][::3] = None
    table["b"][1::3] = None
    assert {frozenset(edge) for edge in learn_structure(table, "pc").edges} == {frozenset("ab")}
    assert cr.learn_network(table, "pc").definition.edges


def test_bad_options():
    for options, told in (
        ({"significance": 0.0}, "significance"), ({"significance": 1}, "significance"),
        ({"max_given": -1}, "max_given"), ({"max_given": True}, "max_given"),
        ({"alpha": 0.1}, "significance, max_given"),
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=told):
            learn_structure({"a": [0, 1], "b": [1, 0]}, "pc", **options)
