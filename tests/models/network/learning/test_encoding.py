import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from credo.errors import DataError, DataWarning, ParameterError
from credo.models.network.learning.encoding import code_table

CELLS = {"w": ["b", "a", None, "b"], "n": [3, None, 1, 3], "f": [True, False, True, None]}


def _shown(coded):
    return {name: coded.rows.columns[j].tolist() for j, name in enumerate(coded.rows.names)}


@pytest.mark.parametrize("kind", [dict, pl.DataFrame, pd.DataFrame, lambda cells: pl.DataFrame(cells).to_arrow()])
def test_tables_of_any_library(kind):
    coded = code_table("test", kind(CELLS))
    assert dict(coded.states) == {"w": ("a", "b"), "n": (1, 3), "f": (False, True)}
    assert all(
        type(state) is kind for name, kind in (("w", str), ("n", int), ("f", bool)) for state in coded.states[name]
    )
    assert _shown(coded) == {"w": [1, 0, -1, 1], "n": [1, -1, 0, 1], "f": [1, 0, 1, -1]}


def test_arrays():
    coded = code_table("test", np.array([[2, 7], [0, 7]]))
    assert dict(coded.states) == {"x0": (0, 2), "x1": (7,)}
    words = code_table("test", np.array([["b", 1], ["a", None]], dtype=object))
    assert dict(words.states) == {"x0": ("a", "b"), "x1": (1,)}
    assert _shown(words) == {"x0": [1, 0], "x1": [0, -1]}


def test_declared_levels_keep_their_order():
    levels = ["low", "mid", "high"]
    for column in (pl.Series("x", ["high", "low"], pl.Enum(levels)),):
        coded = code_table("test", pl.DataFrame([column]))
        assert coded.states["x"] == ("low", "mid", "high")
        assert _shown(coded)["x"] == [2, 0]
    ordered = pd.DataFrame({"x": pd.Categorical(["high", "low", None], levels, ordered=True)})
    assert code_table("test", ordered).states["x"] == ("low", "mid", "high")
    assert _shown(code_table("test", ordered))["x"] == [2, 0, -1]


def test_stated_states():
    coded = code_table("test", {"x": ["b", "a"], "y": [1.0, 0.0]}, {"x": ["z", "b", "a"], "y": ["1", "0"]})
    assert coded.states["x"] == ("z", "b", "a")
    assert _shown(coded) == {"x": [1, 2], "y": [0, 1]}
    with pytest.raises(DataError, match=r"column x holds 'b', which is none of its states \('a'\)") as caught:
        code_table("test", {"x": ["b", "a"]}, {"x": ["a"]})
    assert caught.value.columns == ["x"]
    with pytest.raises(ParameterError, match="h"):
        code_table("test", {"x": ["b", "a"]}, {"h": [0, 1]})
    hidden = code_table("test", {"x": ["b", "a"]}, {"h": [0, 1]}, hidden=True)
    assert _shown(hidden) == {"x": [1, 0], "h": [-1, -1]}


def test_weights_may_be_a_column():
    coded = code_table("test", {"x": ["b", "a", "b"], "n": [2, 0, 3]}, weights="n")
    assert coded.rows.names == ("x",)
    assert coded.rows.weights.tolist() == [2.0, 3.0]
    with pytest.raises(ParameterError, match="sample_weight"):
        code_table("test", {"x": ["b"]}, weights="n")


def test_odd_characters_and_mixed_cells():
    coded = code_table("test", {"Asy/Patch": ["a-b", "é ü", ""], "mixed": ["1", 2, None]})
    assert coded.states["Asy/Patch"] == ("", "a-b", "é ü")
    assert coded.states["mixed"] == ("1", "2")


def test_many_states_are_doubted():
    with pytest.warns(DataWarning, match=r"x \(40\) have a state for more than half"):
        code_table("test", {"x": np.arange(40), "y": [0, 1] * 20})
    with pytest.warns(DataWarning, match=r"x hold measured numbers.*\(12 of x\).*LinearGaussianNetwork.learn"):
        code_table("test", {"x": np.arange(240) % 12 / 7, "y": [0, 1] * 120})
    code_table("test", {"x": np.arange(240) % 9 / 7})  # a few numbers are states


def test_states_that_are_stated_are_not_doubted():
    cells = np.arange(40) / 8
    code_table("test", {"x": cells}, {"x": cells.tolist()})


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ({"x": []}, "no cell"),
        ({"x": [None, None]}, "no cell"),
        ({}, "0 columns"),
        ({"x": [0], "y": [0, 1]}, "length"),
        ({"x": [datetime.date(2020, 1, 1)]}, "no states"),
        ({"x": [1.0, np.inf]}, "infinite in row 1"),
        (np.zeros(3), "two dimensions"),
        (object(), "cannot be read"),
        ({"x": "ab", "y": [1]}, "no column of cells"),
        ([1, 2], "cannot be read"),
        (pl.DataFrame({"x": [[1, 2]]}), "no states"),
    ],
)
def test_what_is_no_table(table, match):
    with pytest.raises(DataError, match=match):
        code_table("test", table)


def test_numbers_as_column_names_become_text():
    coded = code_table("test", pd.DataFrame({0: ["x", "y"], 1: ["u", "v"]}))
    assert coded.rows.names == ("0", "1")
    assert coded.states["1"] == ("u", "v")
    for twice in (pd.DataFrame([[1, 2]], columns=[0, "0"]), {0: [1], "0": [2]}):
        with pytest.raises(DataError, match="two columns are called '0'"):
            code_table("test", twice)


@pytest.mark.parametrize("ordered", [True, False])
def test_levels_of_pandas_stand_as_they_are(ordered):
    levels = ["low", "mid", "high"]
    frame = pd.DataFrame({"x": pd.Categorical(["high", "low", None], levels, ordered=ordered)})
    coded = code_table("test", frame)
    assert coded.states["x"] == ("low", "mid", "high")
    assert _shown(coded)["x"] == [2, 0, -1]


def test_true_is_the_state_called_true():
    column = {"x": [True, False, None]}
    for states in (["TRUE", "FALSE"], ["true", "false"], ["True", "False"]):
        for table in (column, pd.DataFrame(column), pl.DataFrame(column)):
            coded = code_table("test", table, {"x": states})
            assert coded.states["x"] == tuple(states)
            assert _shown(coded)["x"] == [0, 1, -1]
    assert _shown(code_table("test", {"x": ["TRUE", "FALSE"]}, {"x": (False, True)}))["x"] == [1, 0]
    with pytest.raises(DataError, match="holds False"):
        code_table("test", column, {"x": ["yes", "TRUE"]})


def test_rows_as_dicts():
    coded = code_table("test", [{"x": "b", "y": 1}, {"x": "a"}])
    assert _shown(coded) == {"x": [1, 0], "y": [0, -1]}
