"""`credo predict` and `credo show` of a regression that `credo regress -o` wrote."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import credo as cr
from credo.cli.main import main
from tests.cli.conftest import write_table

SLEEP = Path(__file__).parents[2] / "examples" / "data" / "sleep.csv"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`sleep.credo`, `hit.credo` and `k.credo` (binomial), and rows to predict."""
    saved = tmp_path_factory.mktemp("saved")
    rng = np.random.default_rng(3)
    x = rng.normal(size=60).round(3)
    n = rng.integers(5, 30, 60)
    hit = np.where(rng.random(60) < 1 / (1 + np.exp(-x)), "yes", "no")
    table = write_table(saved / "t.csv", {"x": x, "n": n, "k": rng.binomial(n, 1 / (1 + np.exp(-x))), "hit": hit})
    fits = {
        "sleep": ("reaction ~ days + (1 | subject)", SLEEP),
        "hit": ("hit ~ x", table, "--family", "bernoulli"),
        "k": ("k ~ x", table, "--family", "binomial", "--trials", "n"),
    }
    for name, arguments in fits.items():
        line = ["regress", *map(str, arguments), "--draws", "400", "-q", "-o", str(saved / f"{name}.credo")]
        assert main(line) == 0
    write_table(saved / "new.csv", {"id": ["007", "008", "009"], "subject": ["p01", "new", "p18"], "days": [3, 3, 9]})
    write_table(saved / "bare.csv", {"subject": ["p01"], "dayss": [3]})
    write_table(saved / "hole.csv", {"subject": ["p01", "p02", "p03"], "days": [3, None, 2]})
    write_table(saved / "holes.csv", {"subject": ["p01", "p02"], "days": [None, None]})
    write_table(saved / "trials.csv", {"x": [0.0, 0.0], "n": [10, 20]})
    return saved


def test_predictions_are_python_s(credo, saved) -> None:
    done = credo("predict", saved / "sleep.credo", saved / "new.csv", "--keep", "id", "--interval", "0.8")
    assert done.code == 0, done.err
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0]) == ["id", "mean", "sd", "lower", "upper", "aleatoric", "epistemic"]
    assert [row["id"] for row in rows] == ["007", "008", "009"]
    p = cr.load(saved / "sleep.credo").predict(saved / "new.csv")
    lower, upper = p.interval(0.8)
    for name, values in (("mean", p.mean), ("sd", p.sd), ("lower", lower), ("upper", upper)):
        np.testing.assert_allclose([float(row[name]) for row in rows], values, rtol=1e-12)
    assert float(rows[1]["epistemic"]) > 2 * float(rows[0]["epistemic"])  # nobody knows the new one


def test_new_levels(credo, saved) -> None:
    ask = ("predict", saved / "sleep.credo", saved / "new.csv", "--json")
    sampled, mean = credo(*ask).json["predictions"], credo(*ask, "--new-levels", "mean").json["predictions"]
    assert mean[1]["sd"] < sampled[1]["sd"]
    assert mean[0]["mean"] == pytest.approx(sampled[0]["mean"])
    refused = credo(*ask, "--new-levels", "error")
    assert (refused.code, refused.out) == (1, "")
    assert "'new'" in refused.err
    assert "--new-levels sample" in refused.err
    assert credo(*ask, "--new-levels", "some").code == 2


def test_decisions_files_and_seeds(credo, saved, tmp_path) -> None:
    out = tmp_path / "p.csv"
    ask = ("predict", saved / "sleep.credo", saved / "new.csv")
    assert credo(*ask, "--loss", "linear:over=1,under=9", "-o", out).code == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
    assert all(float(row["action"]) > float(row["mean"]) for row in rows)
    one, two, same = (credo(*ask, "--seed", seed).out for seed in (1, 2, 1))
    assert one == same
    assert one != two


def test_a_row_that_lacks_a_cell_has_no_prediction_and_the_others_theirs(credo, saved, tmp_path) -> None:
    done = credo("predict", saved / "sleep.credo", saved / "hole.csv", "--keep", "subject", "--json")
    assert done.code == 0, done.err
    rows = done.json["predictions"]
    assert [row["subject"] for row in rows] == ["p01", "p02", "p03"]
    assert [row["mean"] is None for row in rows] == [row["upper"] is None for row in rows] == [False, True, False]
    complete = write_table(tmp_path / "complete.csv", {"subject": ["p01", "p03"], "days": [3, 2]})
    expected = cr.load(saved / "sleep.credo").predict(complete).mean
    np.testing.assert_allclose([rows[0]["mean"], rows[2]["mean"]], expected, rtol=1e-12)
    assert "1 of 3 rows have no prediction, as cells are missing in days (1); the first is row 2" in done.err
    written = credo("predict", saved / "sleep.credo", saved / "hole.csv", "-q").out.splitlines()
    assert written[2] == ",,,,,"
    holes = write_table(tmp_path / "x.csv", {"x": [None, 0.5], "n": [10, 20]})
    classes = credo("predict", saved / "hit.credo", holes, "--reject", "0.2", "--json").json["predictions"]
    assert set(classes[0].values()) == {None}
    assert None not in classes[1].values()
    trials = write_table(tmp_path / "n.csv", {"x": [0.0, 0.5], "n": [10, None]})
    rows = credo("predict", saved / "k.credo", trials, "--json").json["predictions"]
    assert [row["mean"] is None for row in rows] == [False, True]


def test_classes_and_trials(credo, saved) -> None:
    done = credo("predict", saved / "hit.credo", saved / "t.csv", "--reject", "0.2")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert list(rows[0])[:4] == ["prediction", "set", "p(false)", "p(true)"]  # yes and no are read as these
    p = [float(row["p(true)"]) for row in rows]
    assert {row["action"] for row in rows} == {"(reject)", "true", "false"}
    assert all((row["action"] == "(reject)") == (0.2 < q < 0.8) for row, q in zip(rows, p))
    found = credo("predict", saved / "k.credo", saved / "trials.csv", "--json").json["predictions"]
    assert found[1]["mean"] == pytest.approx(2 * found[0]["mean"], rel=1e-6)


def test_show(credo, saved) -> None:
    done = credo("show", saved / "sleep.credo", "--interval", "0.5")
    assert done.code == 0, done.err
    for words in (
        "A regression: reaction ~ 1 + days",
        "50 % interval",
        "sd(Intercept | subject)",
        "Priors:",
        "collapse",
    ):
        assert words in done.out
    record = credo("show", saved / "sleep.credo", "--json").json
    assert (record["kind"], record["rows"]) == ("regression", 180)
    assert set(record["summary"]) == {"Intercept", "days", "sd(Intercept | subject)", "sigma"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("sleep.credo", "bare.csv"), 1, ("no column 'days'", "Did you mean 'dayss'?")),
        (("sleep.credo", "holes.csv"), 1, ("'days' has 2 missing", "row 0")),
        (("sleep.credo", "new.csv", "--keep", "nope"), 1, ("no column 'nope'",)),
        (("sleep.credo", "new.csv", "--reject", "0.1"), 2, ("'reaction' is a number",)),
        (("hit.credo", "t.csv", "--loss", "square"), 2, ("'hit' is a class",)),
        (("k.credo", "bare.csv"), 1, ("no column 'x'",)),
    ],
)
def test_what_is_refused(arguments, code, words, credo, saved, monkeypatch) -> None:
    monkeypatch.chdir(saved)
    done = credo("predict", *arguments)
    assert (done.code, done.out) == (code, ""), done.err
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


def test_a_model_of_a_table_has_no_new_levels(credo, houses, saved) -> None:
    done = credo("predict", houses, saved / "new.csv", "--new-levels", "mean")
    assert done.code == 2
    assert "--new-levels" in done.err
