"""Many rows at once: against questions row by row, `CategoricalNB`, and awkward frames."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import credo as cr
from credo.errors import DataError, DataWarning, ParameterError, ZeroProbabilityError
from credo.models.network.batch import rows as batch_rows
from credo.models.network.network import BayesianNetwork

from .random_networks import drawn_row, random_network

DATA = Path(__file__).parents[2] / "data" / "bayesnets"


def frame_with_holes(network, rng, n, share, impossible=0.0):
    """Rows drawn from the network, cells emptied; some cells changed so that some rows cannot be."""
    rows = []
    for _ in range(n):
        row = drawn_row(network, rng)
        for name, own in network.states.items():
            if rng.random() < impossible:
                row[name] = own[rng.integers(len(own))]
            if rng.random() < share:
                row[name] = None
        rows.append(row)
    return rows


def observed(row, *without):
    return {name: state for name, state in row.items() if state is not None and name not in without}


def check_rows(network, rows, target):
    """Every answer about the rows equals that of the questions one by one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        laws = network.predict_proba(rows, target)
        predicted = network.predict(rows, target)
        filled = network.impute(rows)
    logs = network.log_likelihood(rows)
    bad = 0
    for i, row in enumerate(rows):
        evidence = observed(row)
        log = network.log_probability(evidence)
        np.testing.assert_allclose(logs[i], log, rtol=1e-10, atol=1e-12)
        if log == -np.inf:
            bad += 1
            assert filled[i] == row
        else:
            assert all(filled[i][name] == state for name, state in evidence.items())
            best = network.mpe(evidence)
            np.testing.assert_allclose(network.log_probability(filled[i]), best.log_probability, rtol=1e-10, atol=1e-12)
        try:
            law = network.query(target, observed(row, target)).values
        except ZeroProbabilityError:
            assert np.isnan(laws[i]).all()
            assert predicted[i] is None
            continue
        np.testing.assert_allclose(laws[i], law, rtol=1e-10, atol=1e-13)
        assert law[network.states[target].index(tuple_or_self(network, target, predicted[i]))] >= law.max() - 1e-12
    return bad


def tuple_or_self(network, target, state):
    return next(each for each in network.states[target] if each == state)


def text_network(seed, **options):
    """With states that a column of a frame can hold."""
    network, rng = random_network(seed, **options)
    d = network.definition_
    states = {name: tuple(f"s{i}" for i in range(len(own))) for name, own in d.states.items()}
    return BayesianNetwork.of(type(d)(states, d.parents, d.tables)), rng


@pytest.mark.filterwarnings("ignore::credo.errors.DataWarning")
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_rows_equal_questions_one_by_one(share):
    bad = 0
    for seed in range(12):
        network, rng = text_network(seed + int(100 * share), most_nodes=9, zeros=0.3)
        rows = frame_with_holes(network, rng, 12, share, impossible=0.2)
        bad += check_rows(network, rows, network.nodes[int(rng.integers(len(network.nodes)))])
    assert bad > 5 or share > 0.8


@pytest.mark.filterwarnings("ignore::credo.errors.DataWarning")
def test_repeated_rows_and_patterns_and_small_rooms(monkeypatch):
    network, rng = text_network(3, most_nodes=9, zeros=0.2)
    few = frame_with_holes(network, rng, 4, 0.4, impossible=0.1)
    rows = [few[i] for i in rng.integers(4, size=60)]
    check_rows(network, rows, network.nodes[0])
    monkeypatch.setattr(batch_rows, "MOST_CELLS", 7 * len(network.nodes))  # many blocks
    check_rows(network, rows, network.nodes[-1])
    monkeypatch.setattr(batch_rows, "MOST_ENTRIES", 2)  # every part too large: the graph answers
    check_rows(network, rows, network.nodes[-1])


def test_numbers_beyond_products_of_floating_point():
    names = [f"c{i}" for i in range(60)]
    star = BayesianNetwork(
        [("root", name) for name in names],
        {"root": [0.5, 0.5], **{name: [[1e-100, 1.0], [3e-100, 1.0]] for name in names}},
        {"root": ("a", "b"), **dict.fromkeys(names, ("x", "y"))},
        normalise=True,
    )
    rows = [dict.fromkeys(names, "x"), {**dict.fromkeys(names, "x"), "root": "a"}, {"c1": "x", "c2": None}]
    logs = star.log_likelihood(rows)
    assert logs[0] == pytest.approx(60 * np.log(3e-100) + np.log(0.5), rel=1e-12)
    assert logs[1] == pytest.approx(60 * np.log(1e-100) + np.log(0.5), rel=1e-12)
    law = star.predict_proba(rows, "root")
    assert law[0, 0] == pytest.approx(3.0**-60, rel=1e-9)
    assert law[2, 0] == pytest.approx(0.25, rel=1e-12)
    tiny = BayesianNetwork([("a", "b")], {"a": [0.5, 0.5], "b": [[1e-200, 1.0], [3e-200, 1.0]]}, normalise=True)
    assert tiny.predict_proba({"b": [0]}, "a")[0, 1] == pytest.approx(0.75)
    assert tiny.log_likelihood({"b": [0, None]}) == pytest.approx([np.log(2e-200), 0.0])
    assert tiny.impute({"b": [0, 1], "a": [None, 0]})["a"] == [1, 0]


def test_equals_categorical_naive_bayes():
    rng = np.random.default_rng(0)
    n, sizes = 400, (3, 4, 2, 5)
    y = rng.integers(3, size=n)
    X = np.column_stack([(rng.integers(size, size=n) + y * (rng.random(n) < 0.4)) % size for size in sizes])
    model = cr.CategoricalNB(alpha=1.0).fit(X, y)
    tables = {"y": np.bincount(y) / n}
    for j, size in enumerate(sizes):
        counts = np.array([[np.sum((X[:, j] == k) & (y == c)) for k in range(size)] for c in range(3)]) + 1.0
        tables[f"x{j}"] = counts / counts.sum(axis=1, keepdims=True)
    star = BayesianNetwork([("y", f"x{j}") for j in range(4)], tables)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])
    np.testing.assert_allclose(star.predict_proba(frame, "y"), model.predict_proba(X), rtol=1e-11)
    np.testing.assert_array_equal(star.predict(frame, "y"), model.predict(X))


@pytest.fixture(scope="module")
def garden():
    return BayesianNetwork(
        [("rain", "wet"), ("sprinkler", "wet")],
        {
            "rain": {"no": 0.8, "yes": 0.2},
            "sprinkler": {False: 0.6, True: 0.4},
            "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]],
        },
    )


FRAMES = {
    "dict of lists": lambda d: d,
    "pandas": pd.DataFrame,
    "pandas categories": lambda d: pd.DataFrame(d).astype({"rain": "category"}),
    "polars": pl.DataFrame,
    "polars lazy": lambda d: pl.DataFrame(d).lazy(),
    "arrow": lambda d: pl.DataFrame(d).to_arrow(),
    "list of dicts": lambda d: [dict(zip(d, row)) for row in zip(*d.values())],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_kinds_of_frames(garden, kind):
    cells = {"rain": [None, "no", None], "sprinkler": [None, None, True], "wet": [1, 1, None]}
    frame = FRAMES[kind](cells)
    law = garden.predict_proba(frame, "rain")
    for i, evidence in enumerate([{"wet": 1}, {"wet": 1}, {"sprinkler": True}]):
        np.testing.assert_allclose(law[i], garden.query("rain", evidence).values, rtol=1e-12)
    assert garden.predict(frame, "sprinkler").tolist() == [True, True, False]
    filled = garden.impute(frame)
    if kind == "dict of lists":
        columns = filled
    elif kind == "list of dicts":
        columns = {name: [row[name] for row in filled] for name in cells}
    else:
        assert type(filled) is type(frame) or kind == "polars lazy"
        made = pl.DataFrame(filled) if not isinstance(filled, pl.DataFrame) else filled
        columns = {name: made[name].to_list() for name in cells}
    assert [str(state) for state in columns["rain"]] == ["no", "no", "no"]
    assert list(columns["sprinkler"]) == [True, True, True]
    assert list(columns["wet"]) == [1, 1, 1]


def test_pandas_keeps_its_index_and_its_other_columns(garden):
    frame = pd.DataFrame({"rain": [None, "yes"], "wet": [1, 0], "sprinkler": [True, None], "id": [7, 8]}, index=[5, 3])
    filled = garden.impute(frame)
    assert list(filled.index) == [5, 3]
    assert list(filled["id"]) == [7, 8]
    assert list(filled["rain"]) == ["no", "yes"]
    assert list(frame["rain"].isna()) == [True, False]


def test_one_row_as_a_dict(garden):
    law = garden.predict_proba({"wet": 1, "rain": "no"}, "sprinkler")
    assert law.tolist() == [[0.0, 1.0]]
    assert garden.impute({"wet": 1, "rain": "no"}) == {"wet": 1, "rain": "no", "sprinkler": True}
    assert garden.log_likelihood({"wet": 1, "rain": None})[0] == pytest.approx(garden.log_probability({"wet": 1}))


def test_arrays_have_a_column_for_each_node():
    network = BayesianNetwork([("a", "b")], {"a": [0.4, 0.6], "b": [[0.9, 0.1], [0.2, 0.8]]})
    rows = np.array([[np.nan, 1.0], [0.0, np.nan]])
    np.testing.assert_allclose(network.predict_proba(rows, "a")[0], network.query("a", {"b": 1}).values)
    assert network.impute(rows).tolist() == [[1, 1.0], [0.0, 0]]
    with pytest.raises(DataError, match="a column for each of the 2 nodes"):
        network.predict(np.zeros((3, 3)), "a")


def test_a_cell_that_is_no_state_is_named_by_row_and_column(garden):
    for frame in ({"rain": ["no", "snow"]}, pd.DataFrame({"rain": ["no", "snow"]}), [{"rain": "no"}, {"rain": "snow"}]):
        with pytest.raises(DataError, match="row 1, column rain holds 'snow', which is none of its states") as caught:
            garden.predict_proba(frame, "wet")
        assert caught.value.rows == [1]
        assert caught.value.columns == ["rain"]


def test_impossible_rows(garden):
    frame = {"rain": ["no", "no", "yes"], "sprinkler": [False, None, None], "wet": [1, 1, 1]}
    with pytest.warns(DataWarning, match=r"1 row\(s\).*counted from 0: 0\. They are left"):
        assert garden.impute(frame)["sprinkler"] == [False, True, False]
    frame = {"rain": ["no", "yes"], "wet": [1, 1]}
    never = garden.do({"sprinkler": False})
    with pytest.warns(DataWarning, match=r"row\(s\).*: 0\. They are NaN"):
        law = never.predict_proba(frame, "sprinkler")
    assert np.isnan(law[0]).all()
    assert law[1].tolist() == [1.0, 0.0]
    with pytest.warns(DataWarning, match="They are None"):
        assert never.predict(frame, "sprinkler").tolist() == [None, False]
    assert never.log_likelihood(frame)[0] == -np.inf
    for ask in (never.predict, never.predict_proba):
        with pytest.raises(ZeroProbabilityError, match="exclude each other") as caught:
            ask(frame, "sprinkler", error="raise")
        assert list(caught.value.value) == [0]
    with pytest.raises(ZeroProbabilityError):
        never.impute(frame, error="raise")
    with pytest.raises(ParameterError, match="error"):
        never.predict(frame, "sprinkler", error="ignore")


def test_the_targets_own_column_is_not_looked_at(garden):
    a = garden.predict_proba({"rain": ["yes", "nonsense"], "wet": [1, 1]}, "rain")
    np.testing.assert_array_equal(a, garden.predict_proba({"wet": [1, 1]}, "rain"))
    np.testing.assert_allclose(garden.predict_proba({"rain": ["yes"]}, "rain"), [[0.8, 0.2]])


def test_frames_that_fit_badly(garden):
    with pytest.warns(DataWarning, match=r"column\(s\) wett are no nodes.*sprinkler, wet have no column"):
        garden.log_likelihood({"rain": ["no"], "wett": [1]})
    with pytest.raises(DataError, match="no column is a node"):
        garden.log_likelihood({"x": [1]})
    with pytest.raises(DataError, match="cannot be read"):
        garden.log_likelihood(3)
    with pytest.raises(DataError, match="list of rows"):
        garden.log_likelihood([])
    with pytest.raises(ParameterError, match="Did you mean 'rain'"):
        garden.predict({"wet": [1]}, "rian")


@pytest.mark.parametrize(
    ("name", "target"), [("alarm", "LVFAILURE"), ("insurance", "PropCost"), ("win95pts", "Problem1")]
)
def test_public_networks_with_half_the_cells_missing(name, target):
    network = BayesianNetwork.read(DATA / f"{name}.bif")
    rng = np.random.default_rng(5)
    rows = frame_with_holes(network, rng, 30, 0.5)
    law, log = network.predict_proba(rows, target), network.log_likelihood(rows)
    for i, row in enumerate(rows):
        np.testing.assert_allclose(law[i], network.query(target, observed(row, target)).values, atol=1e-12)
        np.testing.assert_allclose(log[i], network.log_probability(observed(row)), rtol=1e-11)
