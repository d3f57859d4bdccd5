"""Scores of two public data sets, and the structures that hill-climbing finds there."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from credo.models.network.learning import learn_parameters, learn_structure, score_structure

DATA = Path(os.environ["CREDO_REFERENCE_DATA"], "bayesnets", "learning")
SCORES = {
    "loglik": ("log_likelihood", 1.0), "aic": ("aic", 1.0), "bic": ("bic", 1.0), "bdeu_iss1": ("bdeu", 1.0),
    "bdeu_iss10": ("bdeu", 10.0), "k2": ("k2", 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", ["learning_test", "asia_5000"])
@pytest.mark.parametrize("structure", ["known_structure", "empty_graph"])
def test_scores(name, structure, record_property):
    reference = json.loads((DATA / f"{name}.scores.json").read_text())
    table = pl.read_csv(DATA / f"{name}.csv.gz")
    parents = reference["structure"] if structure == "known_structure" else {}
    worst = 0.0
    for key, (score, size) in SCORES.items():
        found = score_structure(table, parents, score, equivalent_sample_size=size, states=reference["levels"])
        worst = max(worst, abs(sum(found.values()) - reference[structure][key]))
        for node, known in reference[structure]["per_node"].items():
            worst = max(worst, abs(found[node] - known[key]) if key in known else 0.0)
    record_property("largest difference", worst)
    assert worst < 1e-8


@pytest.mark.parametrize("name", ["learning_test", "asia_5000"])
def test_the_search_is_no_worse_than_the_known_structure(name):
    reference = json.loads((DATA / f"{name}.scores.json").read_text())
    found = learn_structure(pl.read_csv(DATA / f"{name}.csv.gz"))
    assert found.score >= reference["known_structure"]["bic"] - 1e-6


def test_coronary_and_lizards():
    for name in ("coronary", "lizards"):
        table = pl.read_csv(DATA / f"{name}.csv")
        found = learn_structure(table, score="bdeu", equivalent_sample_size=10.0)
        assert learn_parameters(table, found).result.status == "exact"
