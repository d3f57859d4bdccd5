"""`credo fit` and `credo compare`: what is said, written and repeatable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import credo as cr
from credo.cli.candidates import _as_typed
from credo.cli.fit import default_output
from credo.models.tabular import TableModel
from credo.saving import describe

# Only the plainest candidates, where what is compared is not what is tested.
QUICKLY = ("--time-limit", 1e-5)


def test_it_says_what_was_read_decided_compared_believed_and_written(credo, folder, tmp_path) -> None:
    path = tmp_path / "m.credo"
    done = credo("fit", folder / "houses.csv", "--target", "price", "-o", path)
    assert done.code == 0
    assert done.err == ""
    for said in (
        "80 rows, 4 columns; 'price' from 3 columns (4 features)",
        "Target 'price' (number) is predicted as a number",
        "1 missing cells filled with the mean",
        "compared with",
        "* linear",
        "baseline",
        "Chosen: linear",
        "90 % interval",
        "size",
        "Noise: outcomes scatter around the line with sd",
        f"Wrote {path} and its report {path.with_suffix('.html')}.",
        f"credo predict {path} NEW.csv",
    ):
        assert said in done.out.replace("\n", " ").replace("  ", " ") or said in done.out, said


def test_the_json_document_holds_the_whole_story(credo, folder, tmp_path) -> None:
    path = tmp_path / "m.credo"
    document = credo("fit", folder / "houses.csv", "--target", "price", "-o", path, "--json").json
    assert (document["target"], document["task"], document["model"], document["rows"]) == (
        "price",
        "regression",
        "linear",
        80,
    )
    assert document["output"] == str(path)
    assert {"name": "size", "type": "number", "missing": 1} in document["columns"]
    beliefs = {row["name"]: row for row in document["coefficients"]}
    # The data were made with slope 2 and noise 10.
    assert beliefs["size"]["lower"] < 2.0 < beliefs["size"]["upper"]
    assert 7 < document["noise_scale"] < 13
    assert document["comparison"]["chosen"] == "linear"
    assert document["provenance"]["seed"] == 0
    assert document["provenance"]["command"].startswith("credo fit ")
    assert document["report"] == str(tmp_path / "m.html")
    here_alone = ("output", "report")
    assert credo("show", path, "--json").json == {k: v for k, v in document.items() if k not in here_alone}


def test_the_report_is_one_page_that_asks_nothing_of_the_network_and_can_be_left_out(credo, folder, tmp_path) -> None:
    page = tmp_path / "m.html"
    credo("fit", folder / "houses.csv", "--target", "price", "-o", tmp_path / "m.credo", "--no-report", "-q")
    assert not page.exists()
    credo("fit", folder / "houses.csv", "--target", "price", "-o", tmp_path / "m.credo", "-q")
    text = page.read_text(encoding="utf-8")
    assert "size" in text
    assert "credo fit" in text
    assert 'src="http' not in text
    assert 'href="http' not in text
    credo("compare", folder / "houses.csv", "--target", "price", "-o", tmp_path / "c.html", "-q")
    assert "linear" in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_one_seed_one_file_and_one_document(credo, folder, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for data, target in (("loans.csv", "repaid"), ("houses.csv", "price")):
        command = ("fit", folder / data, "--target", target, "-o", "m.credo", "--json", "--seed", "3")
        first, first_bytes = credo(*command), Path("m.credo").read_bytes()
        second, second_bytes = credo(*command), Path("m.credo").read_bytes()
        assert first.out == second.out
    assert first_bytes == second_bytes  # a closed form, whose result holds no clock


def test_the_saved_model_is_a_python_object_with_the_same_predictions(credo, folder, houses) -> None:
    model = cr.load(houses)
    assert isinstance(model, TableModel)
    done = credo("predict", houses, folder / "houses.csv", "--json")
    assert [row["mean"] for row in done.json["predictions"]] == pytest.approx(model.predict(folder / "houses.csv"))


def test_the_file_tells_its_target_without_being_loaded(houses) -> None:
    assert describe(houses).about == {"target": "price", "task": "regression", "rows": 80}


def test_average_mixes_the_candidates(credo, folder, tmp_path) -> None:
    path = tmp_path / "m.credo"
    document = credo("fit", folder / "houses.csv", "--target", "price", "-o", path, "--average", "--json").json
    assert document["model"] == "average"
    assert sum(document["weights"].values()) == pytest.approx(1.0)
    rows = credo("predict", path, folder / "new_houses.csv", "--json", "-q").json["predictions"]
    assert all(row["lower"] < row["mean"] < row["upper"] for row in rows)


def test_columns_can_be_dropped_typed_and_set_aside(credo, folder, tmp_path) -> None:
    common = ("fit", folder / "houses.csv", "--target", "price", "-o", tmp_path / "m.credo", "--json")
    dropped = credo(*common, "--drop", "town").json
    assert "town" not in {column["name"] for column in dropped["columns"]}
    grouped = credo(*common, "--group", "town").json
    assert "groups" in grouped["comparison"]["scheme"]
    typed = credo(*common, "--type", "rooms=category").json
    assert any(row["name"].startswith("rooms=") for row in typed["coefficients"])
    timed = credo(*common, "--time", "rooms").json
    assert "time" in timed["comparison"]["scheme"]


def test_a_schema_file_goes_round(credo, folder, tmp_path) -> None:
    schema = tmp_path / "houses.toml"
    assert credo("show", folder / "houses.csv", "--write-schema", schema, "-q").code == 0
    text = schema.read_text().replace('name = "rooms"\ntype = "count"', 'name = "rooms"\ntype = "category"')
    schema.write_text(text)
    model = tmp_path / "m.credo"
    document = credo("fit", folder / "houses.csv", "--target", "price", "--schema", schema, "-o", model, "--json").json
    assert {"name": "rooms", "type": "category", "missing": 0} in document["columns"]


def test_numbers_can_be_classes_and_classes_numbers(credo, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = np.where(x + rng.normal(size=120) > 0, 2, 1)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{a:.4f},{b}\n" for a, b in zip(x, y)))

    def fit(*how: str):
        return credo("fit", path, "-t", "y", "-o", tmp_path / "a.credo", "--json", "--no-report", *QUICKLY, *how).json

    told, asked = fit(), fit("--task", "classification")
    assert told["classes"] == asked["classes"] == [1, 2]
    assert any("2 distinct values" in said and "--task regression" in said for said in told["decisions"])
    for how in (("--task", "regression"), ("--type", "y=number"), ("--type", "y=count")):
        assert fit(*how)["task"] == "regression"


def test_the_time_of_a_candidate_can_be_stated(credo, folder, tmp_path) -> None:
    def fit(limit: object):
        return credo(
            "compare", folder / "loans.csv", "-t", "repaid", "--time-limit", limit, *(() if limit == 0 else ("--json",))
        )

    assert set(fit(1e-5).json["skipped"]) >= {"squares", "interactions", "naive_bayes"}
    assert fit(1e9).json["skipped"] == {}
    assert fit(0).code == 2
    said = credo("compare", folder / "loans.csv", "-t", "repaid", "--time-limit", 1e-5).out
    assert "with a larger --time-limit" in said


def test_candidates_that_are_the_same_are_tried_once(credo, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{a},{a * a + b}\n" for a, b in zip(x, rng.normal(size=60))))
    done = credo("fit", path, "-t", "y", "-o", tmp_path / "m.credo", "--no-report")
    assert "interactions: the same model as squares on these columns" in done.out
    assert len([line for line in done.out.splitlines() if "interactions" in line]) == 1


def test_counts_are_predicted_as_counts(credo, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 150)
    path, model = tmp_path / "t.csv", tmp_path / "m.credo"
    path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, rng.poisson(np.exp(x)))))
    fit = credo("fit", path, "-t", "y", "-o", model, "--json")
    assert fit.json["model"] == "poisson"
    assert "whole ones" in fit.json["comparison"]["scheme"]
    assert "below 0" not in fit.err
    (tmp_path / "new.csv").write_text("x\n0\n3\n")
    done = credo("predict", model, tmp_path / "new.csv", "--interval", 0.9, "--loss", "linear:over=1,under=9")
    cells = [line.split(",") for line in done.out.strip().splitlines()[1:]]
    ends = [float(cell) for row in cells for cell in row[2:4]]  # lower and upper
    assert all(end >= 0 and end == round(end) for end in ends)
    assert "log of the expected y" in credo("show", model).out


def test_ordered_classes_are_fitted_as_such(credo, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    path, model = tmp_path / "t.csv", tmp_path / "m.credo"
    grade = np.clip(np.round(2.5 + 1.5 * x + rng.normal(size=120)), 1, 4).astype(int)
    path.write_text("x,grade\n" + "".join(f"{a},{b}\n" for a, b in zip(x, grade)))
    fit = credo("fit", path, "-t", "grade", "--task", "ordinal", "-o", model, "--json")
    assert fit.json["model"] == "ordinal"
    assert [row["name"] for row in fit.json["coefficients"]] == ["x"]
    assert "cutpoints[2]" in credo("show", model).out


def test_intervals_below_what_can_be_are_told(credo, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 400)
    path, model = tmp_path / "t.csv", tmp_path / "m.credo"
    rain = np.maximum(0.0, rng.normal(x, 0.5 + x))  # amounts that are often nothing
    path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, rain)))
    fit = credo("fit", path, "-t", "y", "-o", model, "--json", "--no-report")
    assert "'y' is never below 0 in 400 rows" in fit.err
    assert any("never below 0" in said for said in fit.json["decisions"])
    told = credo("fit", path, "-t", "y", "-o", model, "--no-report", *QUICKLY)
    assert "never below 0" in told.err
    assert "never below 0" not in told.out
    assert "never below 0" in credo("show", model).out
    predict = credo("predict", model, path, "--json")
    below = sum(row["lower"] < 0 for row in predict.json["predictions"])
    assert f"{below} of 400 intervals reach below 0" in predict.err


def test_large_files_are_compared_on_a_stated_sample(credo, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("credo.selection.choosing.SAMPLE_ROWS", 200)
    monkeypatch.setattr("credo.models.tabular.task._IN_MEMORY", 1000)
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, 3 * x + rng.normal(size=3000))))
    for extra in ((), ("--average",)):
        document = credo("fit", path, "--target", "y", "-o", tmp_path / "m.credo", "--json", *extra).json
        assert any("compared on 200 rows drawn at random" in said for said in document["decisions"])
        assert document["rows"] == 3000
    streamed = credo("fit", path, "--target", "y", "-o", tmp_path / "m.credo", "--json", *QUICKLY).json
    monkeypatch.undo()
    whole = credo("fit", path, "--target", "y", "-o", tmp_path / "m.credo", "--json", *QUICKLY).json
    for ours, theirs in zip(streamed["coefficients"], whole["coefficients"], strict=True):
        assert ours["mean"] == pytest.approx(theirs["mean"], rel=1e-9)


def test_compare_ranks_and_writes_nothing(credo, folder, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = credo("compare", folder / "houses.csv", "--target", "price", "--json").json
    scores = [row["score"] for row in document["models"]]
    assert scores == sorted(scores, reverse=True)
    assert document["models"][-1]["name"] == "baseline"
    assert "Chosen: linear" in credo("compare", folder / "houses.csv", "--target", "price").out
    assert list(tmp_path.iterdir()) == []


def test_the_default_name_is_that_of_the_data() -> None:
    names = {"a/houses.csv": "houses.credo", "t.csv.gz": "t.credo", "-": "model.credo", "plain": "plain.credo"}
    assert {given: str(default_output(given)) for given in names} == names


def test_warnings_speak_the_language_of_the_command_line() -> None:
    said = _as_typed("compare: alike within levels of column 1. Pass groups= if new.", ("a", "b"))
    assert said == "alike within levels of 'b'. Give --group COLUMN if new."
