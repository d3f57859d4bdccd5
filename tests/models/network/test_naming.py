"""Frames whose columns are called by numbers, as those made of arrays are."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import credo as cr
from credo.errors import DataError, ParameterError
from credo.models.network.naming import text_named


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (300, 3))
    x[:, 1] = np.where(rng.random(300) < 0.9, x[:, 0], 1 - x[:, 0])
    return x


@pytest.fixture(scope="module")
def network(table):
    return cr.BayesianNetwork.learn(pd.DataFrame(table))


def test_rows_are_found_by_number_in_every_kind_of_frame(network, table):
    assert network.nodes == ("0", "1", "2")
    text = {str(j): table[:, j] for j in range(3)}
    expected = network.predict_proba(text, "0")
    frames = [pd.DataFrame(table), {j: table[:, j] for j in range(3)}, [dict(enumerate(row)) for row in table.tolist()]]
    frames += [pd.DataFrame(table, columns=pd.Index(range(3), dtype="int64")), pl.DataFrame(text)]
    for frame in frames:
        np.testing.assert_array_equal(network.predict_proba(frame, "0"), expected)
        np.testing.assert_array_equal(network.log_likelihood(frame), network.log_likelihood(text))
    assert network.predict({1: 0}, "0").tolist() == [0]
    with pytest.raises(ParameterError, match="Did you mean '0'"):
        network.predict(frames[0], 0)


def test_what_is_filled_keeps_its_names(network, table):
    frame = pd.DataFrame(table).astype("Int64")
    frame.iloc[0, 1] = pd.NA
    for made in (network.impute(frame), network.impute(frame[[0, 1]])):
        assert made.columns.tolist()[:2] == [0, 1]
        assert made.iloc[0, 1] == table[0, 0]
    rows = network.impute([{0: 1, 1: None}])
    assert rows[0][1] == 1
    assert network.impute({0: [1], 1: [None]})[1] == [1]


def test_numbers_in_edges_and_options(table):
    frame = pd.DataFrame(table)
    assert ("2", "0") in cr.learn_structure(frame, required=[(2, 0)]).edges
    assert cr.learn_structure(frame, forbidden=[(0, 1), (1, 0)]).edges == ()
    assert cr.learn_parameters(frame, {1: [0]}).definition.edges == (("0", "1"),)
    assert cr.learn_parameters(frame, [(0, 1)], states={0: (0, 1)}).definition.edges == (("0", "1"),)
    assert all(
        "0" in family for node, family in cr.learn_structure(frame, "tan", class_node=0).parents.items() if node != "0"
    )
    assert cr.learn_structure(frame, "chow_liu", root=1).parents["1"] == ()
    assert cr.score_structure(frame, [(0, 1)])["1"] > cr.score_structure(frame, [])["1"]


def test_networks_of_real_numbers():
    rng = np.random.default_rng(1)
    y = pd.DataFrame(rng.normal(size=(100, 3)))
    y[1] = 2 * y[0] + rng.normal(size=100)
    line = cr.LinearGaussianNetwork([("0", "1")], nodes=["0", "1", "2"]).fit(y)
    assert abs(line.equations_["1"].coefficients["0"] - 2) < 0.5
    np.testing.assert_allclose(line.predict(y, "1"), line.predict(y.to_numpy(), "1"))
    y.iloc[3, 1] = np.nan
    assert line.impute(y).columns.tolist() == [0, 1, 2]
    assert not line.impute(y).isna().any().any()
    mixed = cr.ConditionalGaussianNetwork([("0", "1")], discrete=["0"])
    frame = pd.DataFrame({0: rng.integers(0, 2, 200), 1: rng.normal(size=200)})
    assert mixed.fit(frame).predict(frame[[0]], "1").shape == (200,)


def test_names_that_are_there_as_text_come_first():
    frame, called = text_named({"1": [0], 1: [1]}, ("0", "1"))
    assert (frame, called) == ({"1": [0], 1: [1]}, {})
    assert text_named({True: [0]}, ("True", "1"))[1] == {}
    with pytest.raises(DataError, match="two columns are called"):
        cr.learn_structure(pd.DataFrame([[0, 1], [1, 0]], columns=["1", 1]))
