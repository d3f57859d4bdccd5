import csv

import numpy as np
import pandas as pd
import polars as pl
import pytest

from credo.errors import DataError, ParameterError
from credo.models.network.learning import edge_strengths, learn_network, learn_parameters, learn_structure

from .nets import DATA

ASIA = pl.read_csv(DATA / "asia_400.csv")
TRUTH = {
    "tub": ["asia"], "lung": ["smoke"], "bronc": ["smoke"], "either": ["tub", "lung"], "xray": ["either"],
    "dysp": ["bronc", "either"],
}  # fmt: skip


def test_tables_are_shares_of_rows():
    found = learn_parameters(ASIA, TRUTH, prior="m_estimate", equivalent_sample_size=2.0)
    definition = found.definition
    assert definition.states["dysp"] == ("no", "yes")
    assert definition.parents["dysp"] == ("bronc", "either")
    for i, bronc in enumerate(("no", "yes")):
        for j, either in enumerate(("no", "yes")):
            part = ASIA.filter((pl.col("bronc") == bronc) & (pl.col("either") == either))
            p = ((part["dysp"] == "yes").sum() + 1.0) / (part.height + 2.0)
            assert definition.tables["dysp"][i, j, 1] == pytest.approx(p, rel=1e-12)
    assert found.result.status == "exact"
    assert found.structure is None


def test_libraries_and_orders_agree():
    first = learn_network(ASIA)
    with open(DATA / "asia_400.csv") as file:
        rows = list(csv.DictReader(file))
    names = ["xray", "asia", "dysp", "smoke", "tub", "lung", "either", "bronc"]
    for table in ({name: [row[name] for row in rows] for name in names}, pd.DataFrame(rows)[names]):
        again = learn_network(table)
        assert again.structure.edges == first.structure.edges
        for name in names:
            np.testing.assert_allclose(again.definition.tables[name], first.definition.tables[name], rtol=1e-12)


def test_every_method_makes_a_network():
    found = {
        method: learn_network(ASIA, method, class_node="dysp" if method in ("tan", "naive_bayes") else None)
        for method in ("hill_climb", "chow_liu", "tan", "naive_bayes")
    }
    assert len(found["chow_liu"].structure.edges) == 7
    assert len(found["tan"].structure.edges) == 13
    assert found["naive_bayes"].structure.edges == tuple(sorted(("dysp", n) for n in ASIA.columns if n != "dysp"))
    assert found["tan"].log_likelihood > found["naive_bayes"].log_likelihood


def test_options_reach_the_search():
    found = learn_structure(ASIA, required=[("asia", "xray")], forbidden=[("smoke", "bronc")], score="bdeu", tabu=0)
    assert ("asia", "xray") in found.edges
    assert ("smoke", "bronc") not in found.edges
    network = learn_network(ASIA, search={"max_parents": 0})
    assert network.definition.edges == ()
    shares = edge_strengths(ASIA, 5, random_state=0, score="bdeu")
    assert shares.n_bootstrap == 5


def test_weights_are_repeated_rows():
    counts = ASIA.group_by(ASIA.columns, maintain_order=True).len("times")
    weighted = learn_network(counts, sample_weight="times")
    plain = learn_network(ASIA)
    assert weighted.structure.edges == plain.structure.edges
    for name in ASIA.columns:
        np.testing.assert_allclose(weighted.definition.tables[name], plain.definition.tables[name], rtol=1e-12)


def test_missing_cells_and_hidden_nodes():
    rng = np.random.default_rng(0)
    holes = ASIA.with_columns(
        pl.when(pl.Series(rng.random(ASIA.height) < 0.2)).then(None).otherwise(pl.col(name)).alias(name)
        for name in ("smoke", "either", "dysp")
    )
    found = learn_parameters(holes, TRUTH, prior="k2")
    assert found.result.status == "converged"
    full = learn_parameters(ASIA, TRUTH, prior="k2")
    assert abs(found.definition.tables["smoke"][1] - full.definition.tables["smoke"][1]) < 0.05
    assert found.log_likelihood > full.log_likelihood
    hidden = learn_parameters(
        ASIA.drop("smoke"), TRUTH, prior="k2", states={"smoke": ("never", "now")}, n_init=2, max_iter=3000
    )
    assert hidden.definition.states["smoke"] == ("never", "now")
    structure = learn_structure(holes)
    assert structure.result.inference == "structural_em"
    assert set(structure.parents) == set(ASIA.columns)


def test_a_learned_structure_is_taken_as_it_is():
    structure = learn_structure(ASIA)
    found = learn_parameters(ASIA, structure)
    assert set(found.definition.edges) == set(structure.edges)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: learn_structure(ASIA, "ges"), "method"),
        (lambda: learn_structure(ASIA, "tan"), "class_node"),
        (lambda: learn_structure(ASIA, "naive_bayes", class_node="y"), "class_node"),
        (lambda: learn_structure(ASIA, class_node="dysp"), "class_node"),
        (lambda: learn_structure(ASIA, "chow_liu", tabu=3), "options.*tabu"),
        (lambda: learn_structure(ASIA, maximum=3), "options.*maximum"),
        (lambda: learn_parameters(ASIA, {"xray": ["cough"]}), "cough"),
        (lambda: learn_parameters(ASIA, {"xray": ["tub"], "tub": ["xray"]}), "xray → tub → xray|tub → xray → tub"),
        (lambda: learn_parameters(ASIA, {}, prior="flat"), "prior"),
        (lambda: learn_parameters(ASIA, TRUTH, states={"smoek": ["no", "yes"]}), "smoek"),
    ],
)
def test_bad_arguments(call, match):
    with pytest.raises(ParameterError, match=match):
        call()


def test_an_unknown_state_is_named():
    with pytest.raises(DataError, match="column tub holds 'yes'"):
        learn_parameters(ASIA, {}, states={"tub": ["no", "maybe"]})


def test_what_was_learned_is_saved(tmp_path):
    import credo as cr

    structure, shares = learn_structure(ASIA), edge_strengths(ASIA, 3, random_state=0)
    for i, record in enumerate((structure, shares)):
        cr.save(record, tmp_path / f"{i}.credo")
    again = cr.load(tmp_path / "0.credo")
    assert dict(again.parents) == dict(structure.parents)
    assert again.moves == structure.moves
    assert again.edges == structure.edges
    np.testing.assert_array_equal(cr.load(tmp_path / "1.credo").presence, shares.presence)
