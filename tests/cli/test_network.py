"""`credo network show|query|learn|predict`, against known answers and what Python says."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.cli.network_parts import parsed, state_of
from credo.errors import ParameterError
from credo.models.network.network import BayesianNetwork

DATA = Path(__file__).parents[1] / "data" / "bayesnets"
ASIA, SPRINKLER = DATA / "asia.bif", DATA / "sprinkler.bif"


@pytest.fixture(scope="module")
def weather(tmp_path_factory):
    """2,000 rows of a sprinkler, with yes and no, and a number."""
    rng = np.random.default_rng(0)
    n = 2000
    rain = rng.random(n) < 0.3
    sprinkler = rng.random(n) < np.where(rain, 0.05, 0.5)
    wet = rng.random(n) < np.where(rain | sprinkler, 0.95, 0.02)
    path = tmp_path_factory.mktemp("network") / "weather.csv"
    words = np.array(["no", "yes"])
    frame = pl.DataFrame(
        {"rain": words[rain * 1], "sprinkler": words[sprinkler * 1], "wet": words[wet * 1], "drops": rain * 2 + 1}
    )
    frame.write_csv(path)
    return path


def test_show(credo):
    done = credo("network", "show", ASIA)
    assert done.code == 0, done.err
    assert "8 nodes, 8 arrows, 18 parameters" in done.out
    assert "Widest family: either given lung, tub (8 cells)" in done.out
    document = credo("network", "show", ASIA, "--json").json
    assert [node["name"] for node in document["nodes"]][:2] == ["asia", "tub"]
    assert document["widest_family"] == {"node": "either", "parents": ["lung", "tub"], "cells": 8}
    assert ["smoke", "lung"] in document["edges"]
    assert "marginal" not in document["nodes"][0]


def test_show_with_evidence_tells_marginals(credo):
    document = credo("network", "show", ASIA, "-e", "asia=yes", "-e", "dysp=yes", "--json").json
    law = {node["name"]: node["marginal"]["yes"] for node in document["nodes"]}
    assert law["tub"] == pytest.approx(0.087751, abs=1e-6)  # MATHS §11
    assert law["lung"] == pytest.approx(0.099525, abs=1e-6)
    assert law["bronc"] == pytest.approx(0.811402, abs=1e-6)
    assert law["asia"] == 1.0
    said = credo("network", "show", ASIA, "-e", "asia=yes").out
    assert "P(node | asia=yes):" in said


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_show_draws(credo, tmp_path, ending):
    path = tmp_path / f"asia.{ending}"
    done = credo("network", "show", ASIA, "-e", "xray=yes", "--do", "smoke=no", "-o", path)
    assert done.code == 0, done.err
    text = path.read_text(encoding="utf-8")
    assert "node observed" in text
    assert "node set" in text
    assert "<script" not in text
    assert f"Wrote {path}" in done.out


def test_query(credo):
    done = credo(
        "network", "query", ASIA, "--target", "tub", "-t", "bronc", "-e", "asia=yes", "-e", "dysp=yes", "--json"
    )
    answers = done.json["answers"]
    assert list(answers) == ["tub", "bronc"]
    assert answers["tub"]["yes"] == pytest.approx(0.087751, abs=1e-6)
    assert np.exp(done.json["log_probability_of_evidence"]) == pytest.approx(0.00450137, abs=1e-8)
    said = credo("network", "query", ASIA, "-t", "tub", "-e", "asia=yes", "-e", "dysp=yes").out
    assert "P(tub | asia=yes, dysp=yes):" in said
    assert "0.087751" in said
    assert "P(evidence) = 0.00450137" in said


def test_do_is_not_evidence(credo):
    """P(R | S, W) = .3203883, P(R | do(S), W) = .5238095."""
    ask = ("network", "query", SPRINKLER, "-t", "r", "-e", "w=1", "--json")
    seen, done = credo(*ask, "-e", "s=1"), credo(*ask, "--do", "s=1")
    assert seen.json["answers"]["r"]["1"] == pytest.approx(0.3203883, abs=1e-6)
    assert done.json["answers"]["r"]["1"] == pytest.approx(0.5238095, abs=1e-6)


def test_joint_and_mpe(credo):
    network = BayesianNetwork.read(ASIA)
    joint = credo("network", "query", ASIA, "-t", "lung", "-t", "bronc", "--joint", "-e", "xray=yes", "--json").json[
        "joint"
    ]
    law = network.query(["lung", "bronc"], {"xray": "yes"}, joint=True)
    assert [row["probability"] for row in joint] == sorted(law.values.ravel().tolist(), reverse=True)
    for row in joint:
        assert row["probability"] == law[row["states"]["lung"], row["states"]["bronc"]]
    found = credo("network", "query", ASIA, "--mpe", "-e", "xray=yes", "--json").json
    best = network.mpe({"xray": "yes"})
    assert found["mpe"] == best.states
    assert found["log_probability"] == pytest.approx(best.log_probability, rel=1e-12)
    some = credo("network", "query", ASIA, "--mpe", "-t", "lung", "-t", "tub", "-e", "xray=yes", "--json").json
    assert some["mpe"] == network.map(["lung", "tub"], {"xray": "yes"}).states
    assert "Together their probability is" in credo("network", "query", ASIA, "--mpe").out


@pytest.mark.parametrize("how", ["hill-climb", "chow-liu", "tan", "naive-bayes"])
def test_learn_and_predict(credo, weather, tmp_path, how):
    path = tmp_path / "weather.bif"
    target = ("--target", "wet") if how in ("tan", "naive-bayes") else ()
    done = credo("network", "learn", weather, "-o", path, "--structure", how, *target, "--json")
    assert done.code == 0, done.err
    assert done.json["rows"] == 2000
    assert done.json["nodes"] == ["rain", "sprinkler", "wet", "drops"]
    network = BayesianNetwork.read(path)
    assert network.states["rain"] == ("no", "yes")  # as written, not booleans
    assert network.states["drops"] == (1, 3)
    out = tmp_path / "predicted.csv"
    done = credo("network", "predict", path, weather, "--target", "wet", "-o", out, "--keep", "rain", "--keep", "wet")
    assert done.code == 0, done.err
    rows = pl.read_csv(out)
    assert rows.columns == ["rain", "wet", "prediction", "p(no)", "p(yes)"]
    assert (rows["prediction"] == rows["wet"]).mean() >= max((rows["wet"] == each).mean() for each in ("no", "yes"))
    frame = pl.read_csv(weather)
    np.testing.assert_allclose(rows["p(yes)"], network.predict_proba(frame, "wet")[:, 1], atol=1e-12)


def test_learn_says_which_arrows_are_open(credo, weather, tmp_path):
    done = credo("network", "learn", weather, "-o", tmp_path / "w.bif", "--drop", "drops")
    assert done.code == 0, done.err
    assert "rain" in done.out
    assert "BIC".lower() in done.out
    assert "credo network query" in done.out
    open_ = credo("network", "learn", weather, "-o", tmp_path / "w.bif", "--structure", "chow-liu", "--json").json[
        "edges"
    ]
    assert not any(edge["directed"] for edge in open_)


def test_learn_with_given_arrows(credo, weather, tmp_path):
    arrows = tmp_path / "arrows.csv"
    arrows.write_text("parent,child\nrain,wet\nsprinkler,wet\nrain,sprinkler\n")
    path = tmp_path / "w.credo"
    done = credo("network", "learn", weather, "-o", path, "--structure", arrows, "--prior", "none")
    assert done.code == 0, done.err
    network = cr.load(path)
    assert set(network.edges) == {("rain", "wet"), ("sprinkler", "wet"), ("rain", "sprinkler")}
    frame = pl.read_csv(weather)
    share = frame.filter((pl.col("rain") == "no") & (pl.col("sprinkler") == "yes"))["wet"].eq("yes").mean()
    assert network.table("wet").to_dict()["no", "yes", "yes"] == pytest.approx(share, abs=1e-12)
    # A network's file gives arrows and states.
    again = tmp_path / "again.bif"
    assert credo("network", "learn", weather, "-o", again, "--structure", path, "--prior", "none").code == 0
    assert BayesianNetwork.read(again) == network
    assert credo("network", "query", path, "-t", "rain", "-e", "wet=yes").code == 0


def test_the_same_seed_gives_the_same_network(credo, weather, tmp_path):
    for name in ("a", "b"):
        assert (
            credo("network", "learn", weather, "-o", tmp_path / f"{name}.bif", "--score", "bdeu", "--seed", 3).code == 0
        )
    assert (tmp_path / "a.bif").read_bytes() == (tmp_path / "b.bif").read_bytes()


def test_missing_cells_and_impossible_rows(credo, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("tub,either,xray,note\nno,,yes,a\n,,,b\nyes,no,,c\n")
    done = credo("network", "predict", ASIA, rows, "-t", "lung", "--keep", "note", "--json")
    assert done.code == 0, done.err
    first, second, third = done.json["predictions"]
    network = BayesianNetwork.read(ASIA)
    assert first["p(yes)"] == pytest.approx(network.query("lung", {"tub": "no", "xray": "yes"})["yes"], abs=1e-12)
    assert second["p(yes)"] == pytest.approx(0.055, abs=1e-12)
    assert third == {"note": "c", "prediction": None, "p(yes)": None, "p(no)": None}
    assert "no column for asia, smoke, bronc, dysp" in done.err
    assert "exclude each other" in done.err
    lines = credo("network", "predict", ASIA, rows, "-t", "lung").out.splitlines()
    assert lines[0] == "prediction,p(yes),p(no)"
    assert len(lines) == 4


def test_findings_are_cut_where_both_parts_are_known():
    states = {"a": ("x", "b=c"), "a=b": ("c", "d"), "n": (0, 1, 2.5), "t": (False, True)}
    assert parsed(states, ["a=b=d", "n=1.0", "t=true"], "-e") == {"a=b": "d", "n": 1, "t": True}
    assert parsed(states, ["a=b=c"], "-e") == {"a": "b=c"}
    assert state_of((0, 1, 2.5), "2.50") == 2
    assert state_of(("1", 1), "1") == 0
    with pytest.raises(ParameterError, match="once a node"):
        parsed(states, ["a=x", "a=b=c"], "-e")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["query", "{asia}", "-t", "lnug"], 2, "Did you mean 'lung'?"),
        (["query", "{asia}"], 2, "--target"),
        (["query", "{asia}", "-t", "lung", "-e", "lung=yes"], 2, "without evidence"),
        (["query", "{asia}", "-t", "lung", "-e", "xray"], 2, "NODE=STATE"),
        (["query", "{asia}", "-t", "lung", "-e", "xray=yse"], 2, "Did you mean 'yes'?"),
        (["query", "{asia}", "-t", "lung", "-e", "xrya=yes"], 2, "Did you mean 'xray'?"),
        (
            ["query", "{asia}", "-t", "dysp", "-e", "lung=yes", "-e", "either=no"],
            1,
            "lung='yes', either='no' cannot occur",
        ),
        (["query", "nowhere.bif", "-t", "lung"], 1, "nowhere.bif"),
        (["show", "{asia}", "-o", "{tmp}/a.png"], 2, ".svg or .html"),
        (["learn", "{weather}", "-o", "{tmp}/a.txt"], 2, "--output"),
        (["learn", "{weather}", "-o", "{tmp}/a.bif", "--structure", "best"], 2, "hill-climb"),
        (["learn", "{weather}", "-o", "{tmp}/a.bif", "--structure", "tan"], 2, "--target"),
        (["learn", "{weather}", "-o", "{tmp}/a.bif", "--target", "wet"], 2, "--target"),
        (["learn", "{weather}", "-o", "{tmp}/a.bif", "--score", "mdl"], 2, "bic, aic, bdeu or k2"),
        (["learn", "{weather}", "-o", "{tmp}/a.bif", "--prior", "flat"], 2, "--prior"),
        (["learn", "{weather}", "-o", "{tmp}/a.bif", "--drop", "nothing"], 2, "--drop"),
        (["learn", "{weather}", "-o", "{tmp}/a.bif", "--structure", "chow-liu", "--score", "bic"], 2, "--score"),
        (["predict", "{asia}", "{weather}", "-t", "lung"], 1, "no column that is a node"),
        (["predict", "{asia}", "{weather}", "-t", "lugn"], 2, "Did you mean 'lung'?"),
    ],
)
def test_failures_are_one_line(credo, weather, tmp_path, arguments, code, said):
    done = credo("network", *(a.format(asia=ASIA, weather=weather, tmp=tmp_path) for a in arguments))
    assert done.code == code
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not any(tmp_path.iterdir())


def test_a_cell_that_is_no_state_is_named_by_row(credo, tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("xray,tub\nyes,no\nmaybe,no\n")
    done = credo("network", "predict", ASIA, rows, "-t", "lung", "-q")
    assert done.code == 1
    assert "row 1 (counted from 0; " in done.err
    assert "rows.csv, line 3), column xray" in done.err
    assert "'maybe'" in done.err


def test_a_credo_file_of_something_else(credo, houses):
    done = credo("network", "show", houses)
    assert done.code == 1
    assert "not a network" in done.err


def test_beyond_the_memory_limit_answers_have_errors(credo, tmp_path):
    path = tmp_path / "alarm.credo"
    cr.save(BayesianNetwork.read(DATA / "alarm.bif", memory_limit=200), path)
    ask = ("network", "query", path, "-t", "CO", "-e", "BP=LOW")
    done = credo(*ask, "--json", "--seed", 1)
    assert done.code == 0, done.err
    assert "weighted draws" in done.err
    answers, errors = done.json["answers"]["CO"], done.json["standard_errors"]["CO"]
    exact = BayesianNetwork.read(DATA / "alarm.bif").query("CO", {"BP": "LOW"}).to_dict()
    # False alarms: 3 states at 5 standard errors, 2e-6.
    assert all(abs(answers[state] - p) < 5 * error for (state, p), error in zip(exact.items(), errors, strict=True))
    assert credo(*ask, "--json", "--seed", 1).out == done.out
    assert "±" in credo(*ask).out
    refused = credo("network", "query", path, "--mpe")
    assert refused.code == 1
    assert "memory_limit" in refused.err


def test_names_are_no_markup(credo, tmp_path):
    odd = BayesianNetwork([], {"[red]a[/]": [0.5, 0.5], "b": [0.1, 0.9]}, {"[red]a[/]": ("[b]", "x"), "b": (0, 1)})
    path = tmp_path / "odd.credo"
    cr.save(odd, path)
    for arguments in (["show"], ["show", "--marginals"], ["query", "-t", "[red]a[/]"], ["query", "--mpe"],
                      ["query", "-t", "[red]a[/]", "-t", "b", "--joint"]):  # fmt: skip
        done = credo("network", arguments[0], path, *arguments[1:])
        assert done.code == 0, done.err
        assert "[red]a[/]" in done.out
        assert "\\[" not in done.out
    for more in (["--voi"], ["--sensitivity", "x"]):
        done = credo("network", "query", path, "-t", "[red]a[/]", *more)
        assert (done.code, "\\[" in done.out) == (0, False), done.err


@pytest.mark.parametrize("columns", ["80", "100", "120"])
@pytest.mark.parametrize("name", ["win95pts.bif", "insurance.bif", "alarm.bif"])
def test_nodes_are_named_however_wide_their_states_and_parents_are(credo, monkeypatch, columns, name):
    monkeypatch.setenv("COLUMNS", columns)
    done = credo("network", "show", DATA / name)
    shown = [line.split()[0] for line in done.out.splitlines() if line.startswith(" ") and line[1:2].strip()]
    assert [*shown] == ["node", shown[1], *BayesianNetwork.read(DATA / name).nodes]  # header, rule, nodes


def test_remedies_of_files_are_such_as_a_command_line_can_follow(credo, tmp_path, weather):
    path = tmp_path / "off.bif"
    path.write_text("network x {} variable a { type discrete [ 2 ] { a, b }; } probability ( a ) { table .5, .4; }")
    done = credo("network", "query", path, "-t", "a")
    assert done.code == 1
    assert "line 1, column" in done.err
    assert f"in Python cr.BayesianNetwork.read({str(path)!r}, normalise=True).write(…)" in done.err
    assert BayesianNetwork.read(path, normalise=True).table("a")["a"] == pytest.approx(5 / 9)
    done = credo("network", "learn", weather, "-o", tmp_path / "w.uai.gz", "--drop", "drops")
    assert done.code == 2
    assert done.err.endswith("Try: --output w.bif\n")
    done = credo("network", "learn", weather, "-o", tmp_path / "w.bif", "--structure", ASIA)
    assert done.code == 1
    assert f"No column is a node of {ASIA}. Its nodes are asia, tub" in done.err


def test_quiet_says_nothing(credo, weather, tmp_path):
    for arguments in (["query", ASIA, "-t", "lung"], ["show", ASIA], ["learn", weather, "-o", tmp_path / "w.bif"]):
        done = credo("network", *arguments, "--quiet")
        assert (done.code, done.out, done.err) == (0, "", "")
    assert json.loads(credo("network", "query", ASIA, "-t", "lung", "--quiet", "--json").out)["evidence"] == {}


def test_files_that_hold_something_else(credo, tmp_path):
    garbage, missing, odd, text = (tmp_path / name for name in ("g.credo", "m.credo", "o.credo", "a.txt"))
    garbage.write_text("no")
    text.write_text("no")
    cr.save(cr.LinearGaussian(0.0, sd=1.0), odd)
    for path, said in (
        (garbage, "not a Credo file"), (missing, "No such file"), (odd, "a LinearGaussian, not a network"),
        (text, "Rename it"), (tmp_path / "m.txt", "no file"),
    ):  # fmt: skip
        done = credo("network", "show", path)
        assert done.code == 1
        assert said in done.err
    assert f"credo network show {ASIA}" in credo("show", ASIA).err


def test_evidence_against_do(credo):
    done = credo("network", "query", ASIA, "-t", "lung", "-e", "smoke=yes", "--do", "smoke=no")
    assert done.code == 2
    assert "smoke=no, as --do set it" in done.err


def test_a_tornado_as_a_page(credo, tmp_path):
    page = tmp_path / "lung.html"
    asked = ("network", "query", ASIA, "-t", "lung", "-e", "xray=yes", "-o", str(page))
    done = credo(*asked, "--sensitivity", "yes", "--json")
    assert done.json["output"] == str(page)
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "P(lung=yes | xray=yes)" in text
    for wrong, told in ((asked, "unless --sensitivity"), ((*asked[:-1], "x.svg", "--sensitivity", "yes"), ".html")):
        done = credo(*wrong)
        assert done.code == 2
        assert told in done.err


def test_what_to_observe_next_and_what_the_answer_hangs_on(credo):
    network, seen = BayesianNetwork.read(ASIA), {"xray": "yes"}
    found = credo("network", "query", ASIA, "-t", "lung", "-e", "xray=yes", "--voi", "--json").json
    assert found["value_of_information"] == pytest.approx(network.value_of_information("lung", seen))
    assert next(iter(found["value_of_information"])) == "either"
    found = credo("network", "query", ASIA, "-t", "lung", "-e", "xray=yes", "--sensitivity", "yes", "--json").json
    first = network.sensitivity("lung", "yes", seen)[0]
    assert found["sensitivity"][0]["node"] == first.node
    assert found["sensitivity"][0]["high"] == pytest.approx(first.high)
    said = credo("network", "query", ASIA, "-t", "lung", "-e", "xray=yes", "--sensitivity", "yes").out
    assert "P(lung=yes | xray=yes) if a number" in said
    asked = ("network", "query", ASIA, "-t", "lung", "-e", "asia=yes", "--do", "smoke=yes", "--sensitivity", "yes")
    said = credo(*asked).out  # asia=no at 1 leaves no way to have been there; what --do set is no number of a table
    assert "–: the evidence would be impossible." in said
    assert "nan" not in said
    assert "\n smoke=" not in said
    assert all(each["node"] != "smoke" for each in credo(*asked, "--json").json["sensitivity"])
    assert "P(evidence) = 0.11029" in credo("network", "query", ASIA, "-t", "lung", "--joint", "-e", "xray=yes").out
    for wrong, told in (
        (("-t", "lung", "-t", "tub", "--voi"), "one node"),
        (("-t", "lung", "--voi", "--mpe"), "one at a time"),
        (("-t", "lung", "--sensitivity", "yse"), "Did you mean 'yes'"),
    ):
        done = credo("network", "query", ASIA, *wrong)
        assert done.code == 2
        assert told in done.err
