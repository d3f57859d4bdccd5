import csv
import json
from math import lgamma, log

import numpy as np
import pytest

from credo.errors import ParameterError
from credo.models.network.learning.encoding import code_table
from credo.models.network.learning.rows import coded_rows
from credo.models.network.learning.scores import SCORES, checked_score, family_scores, score_structure

from .nets import DATA, random_rows


def _asia():
    with open(DATA / "asia_400.csv") as file:
        found = list(csv.DictReader(file))
    return {name: [row[name] for row in found] for name in found[0]}


@pytest.mark.parametrize("structure", ["known", "empty"])
@pytest.mark.parametrize("score", ["log_likelihood", "aic", "bic", "bdeu_1", "bdeu_10", "k2"])
def test_scores_are_those_of_mpmath(structure, score):
    known = json.loads((DATA / "asia_400.scores.json").read_text())[structure]
    rows = code_table("test", _asia()).rows
    name, _, size = score.partition("_") if score != "log_likelihood" else (score, "", "")
    parents = {node: entry["parents"] for node, entry in known.items()}
    found = score_structure(rows, parents, name, float(size or 1))
    assert found == pytest.approx({node: entry[score] for node, entry in known.items()}, rel=1e-12, abs=1e-10)


def _evidence_by_prediction(codes, sizes, child, parents, a):
    """log p of the child's cells, each predicted from the rows before it: the same number by another road."""
    seen, value = {}, 0.0
    for row in codes:
        counts = seen.setdefault(tuple(row[list(parents)]), np.full(sizes[child], a))
        value += log(counts[row[child]] / counts.sum())
        counts[row[child]] += 1.0
    return value


@pytest.mark.parametrize("seed", range(5))
def test_evidence_is_the_product_of_predictions(seed):
    rows, families = random_rows(seed, d=5, n=100)
    codes, sizes = rows.columns.T, rows.sizes
    for name, size in (("bdeu", 3.0), ("k2", 1.0)):
        found = family_scores(rows, families, checked_score("test", name, size, rows.total))
        for child, family in enumerate(families):
            q = np.prod([sizes[p] for p in family], dtype=int)
            a = size / (q * sizes[child]) if name == "bdeu" else 1.0
            assert found[child] == pytest.approx(_evidence_by_prediction(codes, sizes, child, family, a), rel=1e-10)


@pytest.mark.parametrize("name", ["bic", "aic", "bdeu", "log_likelihood"])
def test_equivalent_structures_score_alike(name):
    rows, _ = random_rows(3, d=3, n=300)
    a, b, c = rows.names
    chains = [{b: [a], c: [b]}, {a: [b], c: [b]}, {b: [c], a: [b]}]
    values = [sum(score_structure(rows, chain, name, 5.0).values()) for chain in chains]
    assert np.ptp(values) < 1e-9


@pytest.mark.parametrize("name", SCORES)
def test_weights_are_repeated_rows(name):
    rows, families = random_rows(4, d=4, n=40)
    times = np.random.default_rng(0).integers(0, 4, 40)
    repeated = coded_rows("test", np.repeat(rows.columns.T, times, axis=0), rows.sizes)
    weighted = coded_rows("test", rows.columns.T, rows.sizes, weights=times.astype(float))
    for table in (weighted, repeated.merged()):
        score = checked_score("test", name, 1.0, table.total)
        np.testing.assert_allclose(
            family_scores(table, families, score), family_scores(repeated, families, score), rtol=1e-12
        )


@pytest.mark.parametrize("name", SCORES)
def test_a_configuration_that_never_occurs_costs_what_it_must(name):
    """The sparse path knows configurations that its counts do not hold."""
    from credo.models.network.learning.counts import Counter

    rows, _ = random_rows(5, d=6, n=20)
    score = checked_score("test", name, 2.0, rows.total)
    dense = score.of_family(Counter(rows).family(0, (1, 2, 3, 4, 5)))
    sparse = score.of_family(Counter(rows, 1).family(0, (1, 2, 3, 4, 5)))
    assert sparse == pytest.approx(dense, rel=1e-12)


def test_one_row():
    rows = coded_rows("test", [[1, 0]], (2, 3))
    assert score_structure(rows, {}, "bic") == {"x0": 0.0, "x1": 0.0}
    assert sum(score_structure(rows, {}, "k2").values()) == pytest.approx(-log(6))
    assert sum(score_structure(rows, {"x1": ["x0"]}, "bdeu").values()) == pytest.approx(-log(6))


def test_huge_counts_keep_their_digits():
    """Twenty bits between the score and its terms."""
    rows = coded_rows("test", [[0], [1]], (2,), weights=[3e9, 1e9])
    value = score_structure(rows, {}, "k2")["x0"]
    assert value == pytest.approx(lgamma(3e9 + 1) + lgamma(1e9 + 1) - lgamma(4e9 + 2), rel=1e-12)


def test_bad_arguments():
    rows, _ = random_rows(0, d=3)
    for options in ({"score": "mdl"}, {"equivalent_sample_size": 0.0}, {"equivalent_sample_size": "1"}):
        with pytest.raises(ParameterError):
            score_structure(rows, {}, **options)
    with pytest.raises(ParameterError, match="x0 → x1 → x2 → x0"):
        score_structure(rows, {"x1": ["x0"], "x2": ["x1"], "x0": ["x2"]})
    with pytest.raises(ParameterError, match="'y'"):
        score_structure(rows, {"x0": ["y"]})
    with pytest.raises(ParameterError, match="twice"):
        score_structure(rows, {"x0": ["x1", "x1"]})
