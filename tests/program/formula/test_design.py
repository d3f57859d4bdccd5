"""Designs against other tools' matrices, against brute force, and against themselves on new rows."""

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.errors import DataError, DataWarning, MemoryLimitError, ParameterError
from credo.program.formula import design

FROZEN = json.loads((Path(__file__).parents[2] / "data" / "formula" / "design.json").read_text())


@pytest.mark.parametrize("case", FROZEN["cases"], ids=[case["formula"] for case in FROZEN["cases"]])
def test_matrices_of_other_tools(case):
    ours = design("~ " + case["formula"], FROZEN["table"]).fixed
    theirs = np.array(case["matrix"])
    if case["formula"].startswith("poly"):  # theirs have length 1, ours mean square 1
        theirs[:, 1:] *= np.sqrt(len(theirs))
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_natural_splines_span_the_same_curves():
    ours = design("~ " + FROZEN["natural"]["formula"], FROZEN["table"]).fixed
    theirs = np.array(FROZEN["natural"]["matrix"])
    assert ours.shape == theirs.shape == (18, 5)
    coefficients = np.linalg.lstsq(theirs, ours, rcond=None)[0]
    np.testing.assert_allclose(theirs @ coefficients, ours, atol=1e-9)
    assert np.linalg.matrix_rank(ours) == 5


def table_of(rng, n=48):
    rows = [cell for _, cell in zip(range(n), itertools.cycle(itertools.product("pqr", "uv", ["k", "l"])))]
    a, b, c = ([row[i] for row in rows] for i in range(3))
    return {"a": a, "b": b, "c": c, "x": rng.normal(size=n), "z": rng.uniform(1, 3, size=n)}


def test_random_formulas_have_full_rank_and_span_every_cell():
    """No column follows from others, and the columns span what full 0/1 codings of all terms do."""
    rng = np.random.default_rng(3)
    table = table_of(rng)
    dummies = {name: np.eye(len(set(table[name])))[np.unique(table[name], return_inverse=True)[1]] for name in "abc"}
    atoms = {**dummies, "x": table["x"][:, None], "z": table["z"][:, None]}
    for _ in range(60):
        chosen = [
            list(rng.choice(list(atoms), size=rng.integers(1, 4), replace=False)) for _ in range(rng.integers(1, 5))
        ]
        intercept = bool(rng.random() < 0.6)
        X = design(f"~ {int(intercept)} + " + " + ".join(":".join(term) for term in chosen), table).fixed
        full = [np.ones((48, 1))] if intercept else []
        for term in chosen:
            block = np.ones((48, 1))
            for name in term:
                block = (block[:, :, None] * atoms[name][:, None, :]).reshape(48, -1)
            full.append(block)
        F = np.hstack(full)
        rank = np.linalg.matrix_rank(F)
        assert X.shape[1] == np.linalg.matrix_rank(X) == rank == np.linalg.matrix_rank(np.hstack([X, F])), chosen


def test_names_and_order():
    rng = np.random.default_rng(0)
    d = design("x ~ a*b + poly(z, 2) + C(c, ref='l'):z", table_of(rng))
    assert d.names == (
        "Intercept", "a=q", "a=r", "b=v", "poly(z, 2)[1]", "poly(z, 2)[2]", "a=q:b=v", "a=r:b=v",
        "C(c, ref='l')=k:z", "C(c, ref='l')=l:z",
    )  # fmt: skip
    assert d.encoder.references == {"a": "p", "b": "u"}
    assert [(t.term.label, t.start, t.stop) for t in d.terms][:3] == [("Intercept", 0, 1), ("a", 1, 3), ("b", 3, 4)]
    assert "a: against 'p'" in str(d)


def test_contrasts():
    table = {"a": [*"pqrp"]}
    assert design("~ C(a, ref='q')", table).fixed.tolist() == [[1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]]
    assert design("~ C(a, sum)", table).fixed.tolist() == [[1, 1, 0], [1, 0, 1], [1, -1, -1], [1, 1, 0]]
    assert design("~ 0 + C(a, sum)", table).fixed.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_what_is_a_category():
    table = {
        "flag": np.array([True, False, True, False]),
        "number": [3, 1, 2, 3],
        "kind": pl.Series(["low", "high", "mid", "low"], dtype=pl.Enum(["low", "mid", "high", "never"])),
    }
    assert design("~ flag", table).names == ("Intercept", "flag=True")
    assert design("~ I(flag * 2)", table).fixed[:, 1].tolist() == [2, 0, 2, 0]
    assert design("~ number", table).names == ("Intercept", "number")
    assert design("~ C(number)", table).names == ("Intercept", "C(number)=2", "C(number)=3")
    assert design("~ kind", table).names == ("Intercept", "kind=mid", "kind=high")  # as declared; "never" never occurs


ROWS = ["x ~ a*z + log(z) + I(x > 0):b", "x ~ poly(z, 3) + ns(x, 3) + bs(z, 5) + fourier(z, 2, 1)",
        "x ~ scale(log(z)) + center(x):a + I(center(z)**2) + offset(scale(z))",
        "x ~ a + (z | b) + (1 | a/c) + (0 + a || c) + offset(z)"]  # fmt: skip


@pytest.mark.parametrize("formula", ROWS)
def test_new_rows_are_encoded_alike(formula, tmp_path):
    rng = np.random.default_rng(1)
    table = table_of(rng)
    d = design(formula, table)
    some = np.array([30, 2, 2, 17])
    rows = {name: [column[i] for i in some] for name, column in table.items()}
    path = tmp_path / "encoder.credo"
    cr.save(d.encoder, path)
    for encoder in (d.encoder, cr.load(path)):
        assert encoder.names == d.names
        e = encoder.encode(rows)
        np.testing.assert_array_equal(e.fixed, d.fixed[some])
        np.testing.assert_array_equal(e.offset, d.offset[some])
        for group, seen in zip(e.groups, d.groups):
            assert (group.name, group.effects, group.levels) == (seen.name, seen.effects, seen.levels)
            np.testing.assert_array_equal(group.codes, seen.codes[some])
            np.testing.assert_array_equal(group.matrix, seen.matrix[some])
            assert not group.is_new.any()
    assert d.encoder.encode({name: column[:0] for name, column in table.items()}).fixed.shape == (0, len(d.names))


def test_moments_and_offsets_by_hand():
    z = np.array([1.0, 2.0, 4.0, 9.0])
    d = design("~ scale(z) + I(center(log(z)) / 2) + offset(2 * z) + offset(-z)", {"z": z})
    np.testing.assert_allclose(d.fixed[:, 1], (z - z.mean()) / z.std(ddof=1))
    np.testing.assert_allclose(d.fixed[:, 2], (np.log(z) - np.log(z).mean()) / 2)
    np.testing.assert_allclose(d.offset, z)


def test_groups_by_hand():
    table = {
        "x": [1.0, 2.0, 3.0, 4.0, 5.0],
        "site": ["s", "s", "t", "t", "s"],
        "plot": [2, 1, 1, 1, 10],
        "a": [*"pqpqp"],
    }
    d = design("~ (x | site/plot) + (0 + a || site)", table)
    site, plot, kinds = d.groups
    assert (site.name, site.effects, site.levels, site.correlated) == ("site", ("Intercept", "x"), ("s", "t"), True)
    assert site.codes.tolist() == [0, 0, 1, 1, 0]
    np.testing.assert_array_equal(site.matrix, np.column_stack([np.ones(5), table["x"]]))
    assert (plot.name, plot.levels) == ("site:plot", ("s:1", "s:2", "s:10", "t:1"))  # numbers in their order
    assert plot.codes.tolist() == [1, 0, 3, 3, 2]
    assert (kinds.effects, kinds.correlated) == (("a=p", "a=q"), False)
    assert design("~ (a | site)", table).groups[0].effects == ("Intercept", "a=q")

    new = d.encoder.encode({"x": [0, 0, 0, 0, 0], "site": ["t", "u", "s", "u", "t"], "plot": [1, 1, 7, 1, 10],
                            "a": [*"ppppp"]})  # fmt: skip
    assert new.groups[0].codes.tolist() == [1, 2, 0, 2, 1]
    assert new.groups[0].unseen == ("u",)
    assert new.groups[1].unseen == ("u:1", "s:7", "t:10")
    assert new.groups[1].codes.tolist() == [3, 4, 5, 4, 6]
    assert new.groups[1].is_new.tolist() == [False, True, True, True, True]


def test_levels_match_by_their_text():
    """Numbers read from a file as text, or the reverse, are the same levels."""
    d = design("~ (1 | g) + C(k)", {"g": [308, 309, 308], "k": [1.0, 2.0, 2.5]})
    assert d.groups[0].levels == ("308", "309")
    new = d.encoder.encode({"g": ["309", "308"], "k": ["2.5", "1"]})
    assert new.groups[0].codes.tolist() == [1, 0]
    assert new.fixed.tolist() == [[1, 0, 1], [1, 0, 0]]


def test_frames_of_any_library_agree():
    import pandas as pd

    columns = {
        "y": [1.0, 2.0, None, 4.0],
        "g": ["u", "v", "u", None],
        "n": [1, 2, 3, 4],
        "t": [True, False, True, True],
    }
    frames = [columns, pl.DataFrame(columns), pd.DataFrame(columns), pl.DataFrame(columns).to_arrow(),
              pl.DataFrame(columns).lazy(), {**columns, "g": np.array(columns["g"], dtype=object)},
              pd.DataFrame(columns).assign(g=lambda f: f["g"].astype("category"))]  # fmt: skip
    for frame in frames:
        with pytest.warns(DataWarning, match=r"2 of 4 rows have missing cells, in y \(1\), g \(1\)"):
            d = design("y ~ n + g", frame)
        assert d.fixed.tolist() == [[1, 1, 0], [1, 2, 1]]
        assert d.response.tolist() == [1, 2]
        assert d.rows.tolist() == [0, 1]
        assert d.n_rows == 4


def test_pandas_columns_without_names():
    import pandas as pd

    frame = pd.DataFrame({0: [1.0, 2.0, 4.0], 1: ["u", "v", "u"]}, index=[7, 7, 9])
    d = design("`0` ~ `1`", frame)
    assert d.names == ("Intercept", "1=v")
    assert d.response.tolist() == [1, 2, 4]
    with pytest.raises(DataError, match="Two columns are called '0'"):
        design("~ 1", pd.DataFrame([[1, 2]], columns=[0, "0"]))


def test_files_and_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("y;dose;site\n1,5;low;A\n2,5;high;B\n3;low;B\n4;high;A\n")
    d = design("y ~ dose + site", path)
    assert d.response.tolist() == [1.5, 2.5, 3.0, 4.0]
    assert set(d.names) - {"dose=high", "dose=low"} == {"Intercept", "site=B"}


def test_responses():
    assert design("y ~ 1", {"y": ["no", "yes", "no"]}).response.tolist() == [0, 1, 0]
    assert design("y ~ 1", {"y": ["no", "yes", "no"]}).response_levels == ("no", "yes")
    assert design("y ~ 1", {"y": np.array([True, True])}).response.tolist() == [1, 1]
    assert design("log(y) ~ 1", {"y": [1.0, np.e]}).response.tolist() == [0, 1]
    assert design("y/k ~ 1", {"y": [1.0, 4], "k": [2, 2]}).response.tolist() == [0.5, 2]
    assert design("~ 1", {"x": [1, 2, 3]}).response is None


def test_missing_cells():
    table = {"y": [1.0, 2.0, np.nan], "x": [1.0, 3.0, 2.0], "z": [np.nan] * 3}
    with pytest.raises(DataError, match=r"1 of 3 rows .* y \(1\)") as caught:
        design("y ~ x", table, missing="error")
    assert caught.value.rows == [2]
    with pytest.raises(DataError, match="No row is left"):
        design("y ~ z", table)
    with pytest.warns(DataWarning, match="1 of 3"):
        d = design("y ~ x", table)
    assert d.encoder.encode({"x": [1.0]}).fixed.tolist() == [[1, 1]]
    with pytest.raises(DataError, match="'x' has 1 missing cell \\(first: row 1\\)"):
        d.encoder.encode({"x": [1.0, np.nan]})
    with pytest.raises(ParameterError, match="drop"):
        design("y ~ x", table, missing="ignore")


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ w", "no column 'w'"),
        ("y ~ flavor", "Did you mean 'flavour'"),
        ("y ~ log(x)", r"log\(x\) is -inf in 1 of 4 rows \(first: row 0, x = 0\)"),
        ("y ~ log(flavour)", "holds words"),
        ("y ~ one", "one level"),
        ("y ~ C(constant)", "one level"),
        ("y ~ constant", "cannot be told from the intercept"),
        ("y ~ scale(constant)", "constant"),
        ("y ~ (1 | one)", "Group one has one level"),
        ("y ~ C(flavour, ref='mint')", "'mint' is none of its levels"),
        ("y ~ poly(x, 7)", "needs 8 distinct values"),
        ("y ~ bs(constant, 4)", "constant"),
        ("y ~ bs(x, knots=c(1, 9))", "between the smallest and the largest"),
        ("y ~ day", "neither numbers nor words"),
        ("y ~ big", "infinite in row 1"),
        ("y ~ short", "differ in length"),
    ],
)
def test_named_errors(formula, says):
    table = {
        "y": [1.0, 2.0, 3.0, 5.0], "x": [0.0, 1.0, 2.0, 3.0], "flavour": ["a", "b", "a", "c"], "one": ["u"] * 4,
        "constant": [2.0] * 4, "day": pl.Series(["2024-01-01"] * 4).str.to_date(), "big": [1, np.inf, 2, 3],
        "short": [1.0, 2.0],
    }  # fmt: skip
    with pytest.raises(DataError, match=says):
        design(formula, table)


def test_unseen_levels_of_fixed_effects():
    d = design("~ a", {"a": [*"pqrp"]})
    with pytest.raises(DataError, match="'s', 't', which the fit never met \\(first: row 1\\)") as caught:
        d.encoder.encode({"a": [*"psqt"]})
    assert caught.value.rows == [1, 3]
    assert "(1 | a)" in caught.value.remedy


def test_what_is_no_table():
    for data in (3, None, object(), {"x": 3}, {"x": np.ones((2, 2))}, {}, {"x": []}):
        with pytest.raises(DataError):
            design("~ x", data)


def test_a_matrix_beyond_memory_is_refused():
    n = 40_000
    with pytest.raises(MemoryLimitError, match="GiB") as caught:
        design("~ C(k)", {"k": np.arange(n)})
    assert caught.value.value > 8 * n * (n - 1)


@pytest.mark.parametrize("formula", ROWS)
def test_large_offsets_keep_their_digits(formula):
    """Bases of a column far from 0 equal those of the column near 0, to rounding."""
    rng = np.random.default_rng(1)
    table = table_of(rng)
    far = {**table, "z": table["z"] + 2.0**20}
    near = {**table, "z": (table["z"] + 2.0**20) - 2.0**20}
    if "log" not in formula and "a + (z" not in formula:
        np.testing.assert_allclose(design(formula, far).fixed, design(formula, near).fixed, atol=1e-6)
