"""`credo network` of networks of decisions and of real numbers, against what Python says."""

import json

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.models.network.gaussian import LinearGaussianNetwork

G = cr.LinearGaussian


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    river = cr.LinearGaussianNetwork(
        [("rain", "level"), ("level", "gauge")],
        {"rain": G(20.0, sd=8.0), "level": G(0.5, {"rain": 0.05}, sd=0.2), "gauge": G(0.0, {"level": 1.0}, sd=0.05)},
    )
    plant = cr.ConditionalGaussianNetwork(
        [("filter", "dust"), ("filter", "metal")],
        {"filter": {"intact": 0.9, "defect": 0.1}},
        {"dust": {"intact": G(2.0, sd=0.5), "defect": G(5.0, sd=1.0)}, "metal": {"intact": G(0.0), "defect": G(1.0)}},
    )
    oil = cr.DecisionNetwork(
        [("oil", "survey"), ("oil", "gain"), ("drill", "gain"), ("survey", "drill")],
        {"oil": {"dry": 0.6, "wet": 0.4}, "survey": {"dry": {"no": 0.8, "yes": 0.2}, "wet": {"no": 0.2, "yes": 0.8}}},
        utilities={"gain": {"dry": {"leave": 0, "drill": -70}, "wet": {"leave": 0, "drill": 130}}},
        decisions={"drill": ["leave", "drill"]},
    )
    for name, network in (("river", river), ("plant", plant), ("oil", oil)):
        network.write(folder / f"{name}.json")
        cr.save(network, folder / f"{name}.credo")
    pl.DataFrame({"day": ["Mon", "Tue"], "gauge": [1.6, None], "rain": [None, 12.0]}).write_csv(folder / "days.csv")
    pl.DataFrame({"dust": [2.1, 4.8], "filter": [None, "intact"]}).write_csv(folder / "plant.csv")
    return folder, river, plant, oil


@pytest.mark.parametrize("ending", ["json", "credo"])
def test_show_and_query_numbers(credo, files, ending):
    folder, river, plant, _ = files
    path = folder / f"river.{ending}"
    shown = credo("network", "show", path, "-e", "gauge=1.7", "--json").json
    laws = river.marginals({"gauge": 1.7})
    assert shown["kind"] == "linear-Gaussian network"
    for node in shown["nodes"]:
        assert (node["mean"], node["sd"]) == pytest.approx(tuple(laws[node["name"]]))
    found = credo("network", "query", path, "-t", "rain", "-e", "gauge=1.7", "--json").json
    law = river.query("rain", {"gauge": 1.7})
    told = found["answers"]["rain"]
    assert (told["mean"], told["sd"]) == pytest.approx((float(law.mean), float(law.sd)))
    assert told["interval"] == pytest.approx([float(v) for v in law.interval(0.9)])
    assert found["log_density_of_evidence"] == pytest.approx(river.log_probability({"gauge": 1.7}))
    done = credo("network", "query", path, "-t", "rain", "--do", "level=3", "--json").json
    assert done["answers"]["rain"]["mean"] == pytest.approx(20.0)
    joint = credo("network", "query", path, "-t", "rain", "-t", "level", "--joint", "--json").json
    np.testing.assert_allclose(joint["covariance"], river.moments(["rain", "level"])[1])
    mixed = credo(
        "network", "query", folder / f"plant.{ending}", "-t", "filter", "-t", "metal", "-e", "dust=4", "--json"
    )
    assert mixed.json["answers"]["filter"]["defect"] == pytest.approx(plant.query("filter", {"dust": 4.0})["defect"])
    assert mixed.json["answers"]["metal"]["mean"] == pytest.approx(float(plant.query("metal", {"dust": 4.0}).mean))
    assert "filter" in credo("network", "query", folder / "plant.json", "-t", "metal", "-e", "filter=defect").out
    fixed = credo("network", "query", path, "-t", "level", "--do", "level=3", "--json").json["answers"]["level"]
    assert fixed == {"mean": 3.0, "sd": 0.0, "interval": [3.0, 3.0]}


def test_predict_numbers(credo, files, tmp_path):
    folder, river, plant, _ = files
    out = tmp_path / "p.csv"
    done = credo(
        "network", "predict", folder / "river.json", folder / "days.csv", "-t", "level", "--keep", "day", "-o", out
    )
    assert done.code == 0, done.err
    made = pl.read_csv(out)
    mean, sd = river.predict_moments({"gauge": [1.6, None], "rain": [None, 12.0]}, "level")
    assert made.columns == ["day", "mean", "sd"]
    np.testing.assert_allclose(made["mean"], mean)
    np.testing.assert_allclose(made["sd"], sd)
    found = credo("network", "predict", folder / "plant.json", folder / "plant.csv", "-t", "filter", "--json").json
    p = plant.predict_proba({"dust": [2.1, 4.8]}, "filter")
    assert [row["p(defect)"] for row in found["predictions"]] == pytest.approx(p[:, 1].tolist())
    found = credo("network", "predict", folder / "plant.json", folder / "plant.csv", "-t", "metal", "--json").json
    assert found["predictions"][1] == pytest.approx({"mean": 0.0, "sd": 1.0})


@pytest.mark.parametrize("ending", ["json", "credo"])
def test_decide(credo, files, ending):
    folder, _, _, oil = files
    path = folder / f"oil.{ending}"
    found = credo("network", "decide", path, "--json").json
    assert found["expected_utility"] == pytest.approx(33.2)
    assert found["optimal"] == "global"
    assert [(rule["observed"], rule["option"]) for rule in found["policy"]["drill"]] == [
        ({"survey": "no"}, "leave"), ({"survey": "yes"}, "drill"),
    ]  # fmt: skip
    assert found["policy"]["drill"][0]["expected_utilities"]["leave"] == 0.0
    said = credo("network", "decide", path).out
    assert "Expected utility: 33.2" in said
    assert "drill by survey" in said
    worth = credo("network", "decide", path, "--voi", "--json").json["value_of_information"]
    assert worth["drill"]["oil"] == pytest.approx(oil.value_of_information("drill", "oil"))
    shown = credo("network", "show", path, "--json").json
    assert shown["decisions"] == {"drill": ["leave", "drill"]}
    assert shown["information"] == {"drill": ["survey"]}
    assert "credo network decide" in credo("network", "show", path).out
    sure = credo("network", "decide", path, "-e", "oil=wet", "--json").json
    assert sure["expected_utility"] == pytest.approx(130.0)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("query", "oil.json", "-t", "oil"), 1, "credo network decide"),
        (("predict", "oil.json", "days.csv", "-t", "oil"), 1, "credo network decide"),
        (("decide", "river.json"), 1, "holds no decisions"),
        (("decide", "oil.json", "-e", "oil=wett"), 2, "Did you mean 'wet'"),
        (("decide", "none.json"), 1, "No such file"),
        (("show", "oil.json", "-e", "oil=wet"), 2, "network decide"),
        (("show", "river.json", "-o", "x.svg"), 2, "no picture"),
        (("query", "river.json", "-t", "rian"), 2, "Did you mean 'rain'"),
        (("query", "river.json", "-t", "rain", "-e", "guage=1"), 2, "Did you mean 'gauge'"),
        (("query", "river.json", "-t", "rain", "-e", "gauge=much"), 2, "a number for gauge"),
        (("query", "river.json", "-t", "rain", "-e", "gauge=nan"), 2, "a number for gauge"),
        (("query", "river.json", "-t", "rain", "-e", "gauge"), 2, "NODE=NUMBER"),
        (("query", "river.json", "-t", "rain", "-e", "gauge=1", "-e", "gauge=2"), 2, "once a node"),
        (("query", "river.json", "-t", "rain", "-e", "rain=1"), 2, "without evidence"),
        (("query", "river.json", "-t", "rain", "--voi"), 2, "no such answer"),
        (("query", "plant.json", "-t", "filter", "-t", "dust", "--joint"), 2, "real numbers"),
        (("query", "plant.json", "-t", "dust", "-e", "filter=defct"), 2, "Did you mean 'defect'"),
        (("predict", "river.json", "plant.csv", "-t", "rain"), 1, "no column that is a node"),
        (("predict", "river.json", "days.csv", "-t", "rani"), 2, "Did you mean 'rain'"),
        (("learn", "days.csv", "--structure", "river.json"), 2, "PARENT,CHILD"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(credo, files, arguments, code, told):
    folder = files[0]
    paths = [str(folder / a) if a.endswith((".json", ".csv", ".svg")) else a for a in arguments]
    done = credo("network", *paths)
    assert (done.code, told in done.err) == (code, True), done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"kind": "decision network", "edges": [["a","b"]],', "line 1, column"),
        ("[1]", "a JSON object"),
        ('{"a": 1}', '"kind" is \'\''),
        ('{"kind": "decision network", "edges": []}', "no 'utilities'"),
        ('{"kind": "linear-Gaussian network", "edges": [], "equation": {}}', "Did you mean 'equations'"),
        ('{"kind": "linear-Gaussian network", "edges": {}, "equations": {}}', "'edges' must be a list"),
        ('{"kind": "linear-Gaussian network", "edges": [["a"]], "equations": {}}', "pairs"),
        ('{"kind": "linear-Gaussian network", "edges": [], "equations": {"a": {"sd": NaN}}}', "NaN"),
        ('{"kind": "linear-Gaussian network", "edges": [], "equations": {"a": {"sd": 1}, "a": {"sd": 2}}}', "twice"),
        ('{"kind": "linear-Gaussian network", "edges": [], "equations": {"a": {"mean": 1}}}', "intercept"),
        ('{"kind": "linear-Gaussian network", "edges": [], "equations": {"a": 3}}', "an object with"),
        ('{"kind": "linear-Gaussian network", "edges": [], "equations": {"a": {"sd": -1}}}', "≥ 0"),
        ('{"kind": "conditional Gaussian network", "edges": [["k","x"]], "tables": {"k": {"a": 1.0}}, '
         '"equations": {"x": {"b": {"sd": 1}}}}', "keyed by states"),
        ('{"kind": "decision network", "edges": [["d","u"]], "decisions": {"d": [1, 2]}, "utilities": {"u": {"1": 0}}}',
         "all states of the parents"),
        ("[" * 100_000, "nested too deeply"),
        ("\x00", "no JSON"),
        ("", "no JSON"),
    ],
)  # fmt: skip
def test_files_that_are_no_network(credo, tmp_path, text, told):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    done = credo("network", "show", path)
    assert done.code == 1
    assert told in done.err
    assert done.err.count(str(path)) == 1
    assert "Traceback" not in done.err


def test_states_keep_their_kind_and_files_come_back_bit_for_bit(tmp_path):
    rng = np.random.default_rng(0)
    choice = cr.DecisionNetwork(
        [("a/b", "u"), ("d", "u"), ("a/b", "ü"), ("ü", "d")],
        {"a/b": [0.1, 0.9], "ü": rng.dirichlet([1, 1, 1], 2)},
        {"u": rng.normal(size=(2, 2))},
        {"d": [False, True]},
        states={"a/b": [1, 2], "ü": ["x", 0.5, True]},
        no_forgetting=False,
    )
    choice.write(tmp_path / "d.json")
    back = cr.DecisionNetwork.read(tmp_path / "d.json")
    assert back.decisions == choice.decisions
    assert back.diagram_.definition == choice.diagram_.definition
    assert not back.no_forgetting
    np.testing.assert_array_equal(back.utilities["u"], choice.utilities["u"])
    assert back.solve().to_dict() == choice.solve().to_dict()
    mixed = cr.ConditionalGaussianNetwork(
        [("k", "x"), ("j", "x"), ("x", "y"), ("k", "y")],
        {"k": [0.3, 0.7], "j": [0.2, 0.8]},
        {
            "x": {(k, j): G(rng.normal(), sd=rng.random()) for k in (0, 1) for j in ("sd", "intercept")},
            "y": {0: G(1.0, {"x": rng.normal()}), 1: G(2.0, {"x": 0.0}, sd=0.0)},
        },
        states={"k": [0, 1], "j": ["sd", "intercept"]},
    )
    mixed.write(tmp_path / "m.json")
    assert cr.ConditionalGaussianNetwork.read(tmp_path / "m.json") == mixed
    alone = cr.LinearGaussianNetwork([], {"x": G(0.1, sd=1 / 3)})
    alone.write(tmp_path / "l.json")
    assert cr.LinearGaussianNetwork.read(tmp_path / "l.json") == alone
    assert json.loads((tmp_path / "l.json").read_text(encoding="utf-8"))["kind"] == "linear-Gaussian network"
    with pytest.raises(cr.errors.FileFormatError, match="kind is 'linear-Gaussian network'"):
        cr.DecisionNetwork.read(tmp_path / "l.json")


@pytest.fixture(scope="module")
def gauges(tmp_path_factory):
    """A table of numbers with a column of words, and one of arrows."""
    rng = np.random.default_rng(0)
    rain, dam = rng.normal(20, 8, 300), rng.normal(1, 0.3, 300)
    level = 0.5 + 0.05 * rain + dam + rng.normal(0, 0.2, 300)
    path = tmp_path_factory.mktemp("gauges") / "gauges.csv"
    site = ["north", "south"] * 150
    pl.DataFrame({"rain": rain, "dam": dam, "level": level, "day": range(300), "site": site}).write_csv(path)
    (path.parent / "arrows.csv").write_text("parent,child\nrain,level\n")
    return path


def test_learn_numbers(credo, gauges, tmp_path):
    out = tmp_path / "gauges.json"
    drop = ("--drop", "site", "--drop", "day")
    done = credo("network", "learn", gauges, "--kind", "gaussian", *drop, "-o", out, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    arrows = {(edge["parent"], edge["child"]): edge["directed"] for edge in told["edges"]}
    assert arrows == {("dam", "level"): True, ("rain", "level"): True}
    assert abs(told["equations"]["level"]["coefficients"]["rain"] - 0.05) < 0.01
    frame = pl.read_csv(gauges).drop("site", "day")
    assert LinearGaussianNetwork.read(out) == LinearGaussianNetwork.learn(frame)
    given = tmp_path / "given.credo"
    done = credo(
        "network", "learn", gauges, "--kind", "gaussian", "--drop", "site", "--structure", gauges.parent / "arrows.csv",
        "-o", given,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert cr.load(given).edges == (("rain", "level"),)
    assert cr.load(given).nodes == ("rain", "dam", "level", "day")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--kind", "gaussian"), 1, "column site holds category cells, and this network real numbers alone"),
        (("--kind", "gauss"), 2, "--kind must be states or gaussian"),
        (("--kind", "gaussian", "-o", "x.bif"), 2, "ends in .json, .credo"),
        (("--kind", "gaussian", "--drop", "site", "--score", "k2"), 2, "--score must be bic, bge or aic"),
        (("--kind", "gaussian", "--drop", "site", "--sample-size", "2"), 2, "left out unless --score is bge"),
        (("--kind", "gaussian", "--drop", "site", "--target", "rain"), 2, "--target must be left out"),
        (("-o", "x.uai"), 2, "UAI files cannot hold the names of columns"),
    ],
)
def test_learn_refuses(credo, gauges, arguments, code, told):
    done = credo("network", "learn", gauges, *arguments)
    assert done.code == code
    assert told in done.err


def test_measured_numbers_as_states_are_said_aloud(credo, gauges, tmp_path):
    done = credo("network", "learn", gauges, "--drop", "site", "--drop", "day", "-o", tmp_path / "g.bif")
    assert done.code == 0
    assert "column(s) rain, dam, level hold measured numbers" in " ".join(done.err.split())
    assert "--kind gaussian" in " ".join(done.err.split())
