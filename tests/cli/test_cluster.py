"""`credo cluster` on a small table of two kinds of homes."""

import json

import numpy as np
import polars as pl
import pytest

import credo as cr
from tests.cli.conftest import write_table


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 160
    z = rng.integers(2, size=n)
    income = (rng.normal(0, 4, n) + np.array([30, 60])[z]).round(1).tolist()
    income[3] = None
    return write_table(
        tmp_path_factory.mktemp("cluster") / "homes.csv",
        {
            "id": [f"h{i:03}" for i in range(n)],
            "income": income,
            "age": (rng.normal(0, 5, n) + np.array([30, 55])[z]).round().astype(int),
            "kind": np.where(rng.random(n) < 0.9, np.array(["flat", "house"])[z], "farm"),
        },
    )


def test_a_fit_writes_a_model_and_a_report(credo, homes, tmp_path):
    path = tmp_path / "homes.credo"
    done = credo("cluster", homes, "--covariance", "diag", "-o", path, "--json")
    assert done.code == 0, done.err
    said = done.json
    assert said["kind"] == "clusters"
    assert [card["cluster"] for card in said["clusters"]] == [1, 2]
    assert sum(card["rows"] for card in said["clusters"]) == said["rows"] == 160
    assert {trait["column"] for trait in said["clusters"][0]["traits"]} == {"income", "age", "kind"}
    assert len(said["anomalies"]) == 8
    assert any("BIC" in each for each in said["decisions"])
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    for part in ("The bound by iteration", "BIC by number of clusters", "Cluster 1:", "credo cluster", "<svg"):
        assert part in page
    assert "<script" not in page
    assert isinstance(cr.load(path).estimator, cr.models.mixture.MixedMixture)


def test_new_rows(credo, homes, tmp_path):
    path, out = tmp_path / "homes.credo", tmp_path / "out.csv"
    done = credo("cluster", homes, "-k", "2", "--covariance", "full", "-o", path, "--no-report")
    assert done.code == 0, done.err
    assert "in 2 clusters" in done.out
    assert not path.with_suffix(".html").exists()
    new = write_table(
        tmp_path / "new.csv", {"kind": ["flat", "house", "tent"], "income": [29, None, 61], "age": [31, 57, 54]}
    )
    done = credo("cluster", new, "--apply", path, "--keep", "age", "--json")
    assert done.code == 0, done.err
    rows = done.json["clusters"]
    assert rows[0]["cluster"] != rows[1]["cluster"] == rows[2]["cluster"]
    assert rows[0]["probability"] > 0.99
    assert rows[0]["age"] == 31
    assert rows[0]["p(1)"] + rows[0]["p(2)"] == pytest.approx(1.0)
    assert "tent" in done.err
    assert credo("cluster", new, "--apply", path, "-o", out).code == 0
    assert pl.read_csv(out)["cluster"].to_list() == [row["cluster"] for row in rows]


def test_the_same_seed_gives_the_same_clusters(credo, homes, tmp_path):
    found = []
    for name in ("a", "b"):
        done = credo("cluster", homes, "-k", 2, "-o", tmp_path / f"{name}.credo", "--json", "--no-report", "--seed", 3)
        found.append(json.dumps(done.json["clusters"]))
    assert found[0] == found[1]


def test_show_and_predict_know_what_the_file_holds(credo, homes, tmp_path):
    path = tmp_path / "homes.credo"
    assert credo("cluster", homes, "-k", 2, "--columns", "income,age", "-o", path, "-q", "--no-report").code == 0
    shown = credo("show", path)
    assert shown.code == 0, shown.err
    assert "2 clusters of 160 rows" in shown.out
    assert "kind" not in shown.out.replace("kind of", "")
    assert credo("show", path, "--json").json["kind"] == "clusters"
    done = credo("predict", path, homes)
    assert done.code == 1
    assert f"credo cluster NEW.csv --apply {path}" in done.err


def test_categories_alone_and_one_number_alone(credo, homes, tmp_path):
    for columns in ("kind", "income"):
        done = credo("cluster", homes, "--columns", columns, "-o", tmp_path / f"{columns}.credo", "--json")
        assert done.code == 0, done.err
    assert len(done.json["clusters"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-k", "0"], "-k must be auto or an integer"),
        (["-k", "many"], "-k must be auto"),
        (["-k", "999"], "at most the 160 rows"),
        (["--covariance", "round"], "--covariance must be auto, full"),
        (["--columns", "wealth"], "wealth"),
        (["--columns", "id"], "no column"),
        (["--keep", "id"], "--keep must be given with --apply"),
    ],
)
def test_refusals(credo, homes, tmp_path, arguments, said):
    done = credo("cluster", homes, "-o", tmp_path / "x.credo", *arguments)
    assert done.code in (1, 2)
    assert said in done.err
    assert not (tmp_path / "x.credo").exists()


def test_a_model_of_something_else_is_refused(credo, homes, folder, houses):
    done = credo("cluster", homes, "--apply", houses)
    assert done.code == 1
    assert "TableModel, not clusters" in done.err
