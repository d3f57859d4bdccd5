"""`credo tune`: programs run, their answers believed, what goes wrong told, nothing lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import credo as cr
from credo.cli.tune_guesses import first_points
from credo.errors import ParameterError

EXAMPLE = Path(__file__).parents[2] / "examples" / "tune"
PYTHON = [sys.executable, "-I", "-S", "-c"]
BOWL = "import sys; x, y = map(float, sys.argv[1:]); print((x - 1) ** 2 + y)"
SPACE = "[parameters]\nx = {low = -2.0, high = 4.0}\ny = {low = 0, high = 3}\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("space.toml").write_text(SPACE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tune(credo):
    """`tune(code, arguments…, options=[…])`: a few trials of a Python program."""

    def run(code, *arguments, options=(), trials=4, space="space.toml"):
        code = code.replace("{", "{{").replace("}", "}}")
        quick = ["--trials", trials, "--sampler", "sobol", "--no-report"]
        return credo("tune", space, *quick, *options, "--", *PYTHON, code, *arguments)

    return run


def records(name="space", where="space.db"):
    with cr.Study.load(where, name) as study:
        return study.records


# -- what it does ------------------------------------------------------------------------------------------------


def test_it_minimises_and_goes_on_where_it_ended(tune, credo):
    done = tune(BOWL, "{x}", "{y}", trials=3)
    assert done.code == 0, done.err
    assert "space: 3 trials, kept in space.db." in done.out
    assert done.err.count("\n") == 3
    assert "trial 2: " in done.err
    done = tune(BOWL, "{x}", "{y}", trials=8)
    assert done.err.count("\n") == 5  # only those that were missing
    resumed = [(trial.params, trial.value) for trial in records()]
    assert [value for _, value in resumed] == [(p["x"] - 1) ** 2 + p["y"] for p, _ in resumed]
    undisturbed = tune(BOWL, "{x}", "{y}", trials=8, options=["--name", "other"])
    assert [(trial.params, trial.value) for trial in records("other")] == resumed
    assert "credo study show space.toml --name other" in undisturbed.out
    best = min(resumed, key=lambda each: each[1])
    assert f"Best: {best[1]:.6g}"[:12] in undisturbed.out
    again = tune(BOWL, "{x}", "{y}", trials=8, options=["--json"])
    assert again.err == ""
    assert again.json["trials"] == {"told": 8}
    assert again.json["best"]["params"] == best[0]
    assert again.json["best"]["command"][-2:] == [str(best[0]["x"]), str(best[0]["y"])]


def test_model_finds_the_minimum(credo):
    done = credo("tune", "space.toml", "-n", 16, "--no-report", "--json", "--", *PYTHON, BOWL, "{x}", "{y}")
    assert done.json["best"]["value"] < 0.05
    assert done.json["best"]["params"]["y"] == 0


def test_maximise_noisy_quiet_and_a_place_of_its_own(tune):
    options = ["--direction", "max", "--noisy", "--storage", "a b.db", "--name", "n", "--seed", "5", "--quiet"]
    done = tune(BOWL, "{x}", "{y}", options=options)
    assert (done.code, done.out, done.err) == (0, "", "")
    with cr.Study.load("a b.db", "n") as study:
        assert (study.direction, study.noisy, study.seed) == ("maximize", True, 5)
    assert not Path("space.db").exists()
    wrong = tune(BOWL, "{x}", "{y}", options=[*options[:5], "n", "--seed", "6"])
    assert wrong.code == 2
    assert "--direction" in tune(BOWL, "{x}", "{y}", options=options[3:7]).err


def test_two_objectives_with_constraints(tune, credo):
    code = "import sys, json; x, y = map(float, sys.argv[1:]); print(json.dumps({'a': {'x': x}, 'b': -x, 'n': y}))"
    options = ["--key", "a.x", "--key", "b", "--constraint", "n<=1"]
    done = tune(code, "{x}", "{y}", options=[*options, "--json"], trials=8)
    assert done.code == 0, done.err
    trials = records()
    assert all(t.values == (t["x"], -t["x"]) and t.constraints == (t["y"] - 1,) for t in trials)
    feasible = [t.id for t in trials if t["y"] <= 1]  # all of them: one objective is the other's negative
    assert sorted(each["trial"] for each in done.json["front"]) == feasible
    said = tune(code, "{x}", "{y}", options=options, trials=8).out
    assert "none beats" in said
    infeasible = tune(code, "{x}", "{y}", options=[*options[:4], "--constraint", "n>=9", "--name", "no"])
    nearest = max(records("no"), key=lambda trial: trial["y"])
    assert f"No trial meets the constraints; trial {nearest.id} comes nearest: n>=9 broken by" in infeasible.out
    assert infeasible.err.count("n>=9 broken by") == 4
    shown = credo("study", "export", "space.db", "--name", "no").out.splitlines()
    assert shown[0].startswith("id,state,a.x,b,n>=9,x,y")
    assert float(shown[1].split(",")[4]) == 9 - records("no")[0]["y"]


def test_one_objective_of_two_directions(tune):
    done = tune("print(1, 2)", options=["--direction", "min", "--direction", "max", "--json"])
    assert done.json["direction"] == ["minimize", "maximize"]


def test_what_is_known_already(tune):
    Path("best.toml").write_text("x = 0.5\ny = 2\n", encoding="utf-8")
    options = ["--first", "x=1, y=3", "--first", "best.toml", "--near", "x=1", "--near", "y=0,x=2e0"]
    for trials in (3, 5):  # the second run tells nothing twice
        done = tune(BOWL, "{x}", "{y}", options=options, trials=trials)
        assert done.code == 0, done.err
    assert [dict(trial.params) for trial in records()[:2]] == [{"x": 1.0, "y": 3}, {"x": 0.5, "y": 2}]
    with cr.Study.load("space.db", "space") as study:
        kinds = [event.kind for event in study.events()]
        assert (kinds.count("queued"), kinds.count("guessed")) == (2, 2)
    assert len({trial["x"] for trial in records()}) == 5


def test_values_are_read_as_parameters_have_them(tmp_path):
    space = cr.Space(
        a=cr.Choice(["1", 2, True, "x,b=3"]), b=cr.Integer(0, 9), c=cr.Constant(5), d=cr.Real(0, 1, when={"a": 2})
    )
    read = lambda text: first_points([text], space)[0]
    assert read("a=1,b=2") == {"a": "1", "b": 2, "c": 5}
    assert read("a=2, b=3.0, d=1") == {"a": 2, "b": 3, "c": 5, "d": 1.0}
    assert read("a=true,b=2,d=1") == {"a": True, "b": 2, "c": 5}  # d does not matter
    for text in ("a=2,b=2", "a=1,b=2.5", "a=1,b=99", "a=1,b=2,e=1", "a=7,b=1", "b", "a=1,b=2,c=6"):
        with pytest.raises(ParameterError, match="--first"):
            read(text)


def test_conditional_parameters(tune):
    Path("space.toml").write_text(
        '[parameters]\nkind = {choices = ["a", "b"]}\nw = {low = 1, high = 9, when = {kind = "a"}}\n', encoding="utf-8"
    )
    code = "import sys; print(len(sys.argv))"
    done = tune(code, "{kind}", "--w", "{w}", trials=6)
    assert done.code == 0, done.err
    assert {(t["kind"], t.value) for t in records()} == {("a", 4.0), ("b", 2.0)}


def test_jobs_folders_and_files(tune):
    code = "import json, os; e = os.environ; json.dump(int(e['CREDO_TRIAL']), open(e['CREDO_VALUE_FILE'], 'w'))"
    options = ["--jobs", 3, "--dir", "runs", "--value-file", "v.json"]
    done = tune(code, "{params}", options=options, trials=5)
    assert done.code == 0, done.err
    assert [trial.value for trial in records()] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert json.loads(Path("runs/0004/params.json").read_text()) == dict(records()[4].params)


def test_finite_spaces_end(tune):
    Path("space.toml").write_text("[parameters]\nn = {low = 1, high = 3}\n", encoding="utf-8")
    assert tune("import sys; print(sys.argv[1])", "{n}", trials=50, options=["--json"]).json["trials"] == {"told": 3}
    assert "every point of the space was tried" in tune("print(1)", "{n}", trials=50).out
    assert "every point" not in tune("print(1)", "{n}", trials=3).out


def test_pruning(tune):
    code = "import sys, time\nfor i in range(1, 4): print(i, sys.argv[1], flush=True)\nprint(sys.argv[1])"
    done = tune(code, "{x}", options=["--prune", "halving", "--json"], trials=12)
    assert done.code == 0, done.err
    pruned = [trial for trial in records() if trial.state == "pruned"]
    assert 0 < len(pruned) == done.json["trials"]["pruned"] < 12
    assert all(trial.reported and trial.value == trial["x"] for trial in pruned)
    assert done.json["best"]["value"] == min(trial["x"] for trial in records())


def test_the_report(credo):
    done = credo("tune", "space.toml", "-n", 6, "--sampler", "sobol", "--json", "--", *PYTHON, BOWL, "{x}", "{y}")
    assert done.json["report"] == "space.html"
    assert "<html" in Path("space.html").read_text(encoding="utf-8")
    assert credo("study", "show", "space.toml", "-o", "again.html").code == 0
    assert "<html" in Path("again.html").read_text(encoding="utf-8")


def test_the_example(credo):
    shutil.copytree(EXAMPLE, "tune")
    data = EXAMPLE.parent / "data" / "mauna_loa_co2.csv"
    places = [
        word for name in ("method", "level", "strategy", "lc", "lp", "pb") for word in (f"--{name}", f"{{{name}}}")
    ]
    command = [sys.executable, "-S", "tune/compress.py", data, *places]
    done = credo("tune", "tune/space.toml", "-n", 12, "--sampler", "sobol", "--no-report", "--json", "--", *command)
    assert done.code == 0, done.err
    assert done.json["trials"] == {"told": 12}
    assert done.json["best"]["value"] < 2000  # of 7444 bytes
    assert done.json["warnings"] == []
    limited = ["--key", "bytes", "--key", "memory", "--constraint", "memory <= 4000000", "--name", "two"]
    done = credo(
        "tune",
        "tune/space.toml",
        "-n",
        8,
        "--sampler",
        "sobol",
        "--no-report",
        "--json",
        *limited,
        "--",
        *command,
        "--json",
    )
    assert {each["params"]["method"] for each in done.json["front"]} <= {"zlib", "bz2"}


# -- what goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "command", "said"),
    [
        ([], [], "-- CMD must be given"),
        ([], ["python", "{z}"], "'{z}'"),
        ([], ["python", "{x"], "twice"),
        ([], ["no-such-program", "{x}{y}"], "can be found, got 'no-such-program'"),
        ([], ["python -V {x}{y}"], "words of their own"),
        ([], ["./space.toml", "{x}{y}"], "chmod +x"),
        (["--direction", "up"], ["{x}"], "--direction must be minimize or maximize"),
        (["--direction", "min"] * 3, ["{x}"], "twice"),
        (["--sampler", "best"], ["true"], "--sampler"),
        (["--prune", "early"], ["true"], "--prune"),
        (["--prune", "median", "--direction", "min", "--direction", "min"], ["true"], "two objectives"),
        (["--timeout", "0"], ["true"], "--timeout"),
        (["--trials", "0"], ["true"], "--trials"),
        (["--inside"], ["true"], "--dir FOLDER"),
        (["--jobs", "2", "--value-file", "v.json"], ["true"], "{trial}"),
        (["--constraint", "a<=1"], ["true"], "--key"),
        (["--first", "x=1"], ["true"], "--first must be a point"),
        (["--near", "z=1"], ["true"], "--near must be NAME=VALUE"),
        (["--constraint", "a<=b", "--key", "c"], ["true"], "KEY<=NUMBER"),
        (["--key", "a", "--direction", "min", "--direction", "min"], ["true"], "once an objective"),
    ],
)
def test_commands_that_are_none(credo, options, command, said):
    done = credo("tune", "space.toml", *options, "--", *command)
    assert done.code == 2, done.err
    assert said in done.err
    assert done.err.splitlines()[-1].startswith("error: ")
    assert sorted(path.name for path in Path().iterdir()) == ["space.toml"]  # nothing was made


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[parameters\n", "not TOML"),
        ("", "at least one parameter"),
        ("[parameters]\nx = {low = 3.0, high = 1.0}\n", "space.toml: "),
        ("[parameters]\nx = {low = 1, high = 1.5, kind = 3}\n", "Space.x"),
        ("[parameters]\nx = {choices = []}\n", "space.toml: "),
        ('constraints = ["x + y <= -1"]\n' + SPACE.replace("-2.0", "0.0"), "Space.constraints"),
        ('constraints = ["z < 1"]\n' + SPACE, "z"),
        ('constraints = ["__import__"]\n' + SPACE, "constraint"),
    ],
)
def test_spaces_that_are_none(credo, text, said):
    Path("space.toml").write_text(text, encoding="utf-8")
    done = credo("tune", "space.toml", "--", "true")
    assert done.code == 1
    assert said in done.err
    assert "space.toml" in done.err
    assert not Path("space.db").exists()


def test_faults_of_the_command_are_told_before_those_of_files(credo):
    Path("space.toml").write_text("[parameters", encoding="utf-8")
    for options, said in ((["--sampler", "no"], "--sampler"), (["--direction", "up"], "--direction")):
        done = credo("tune", "space.toml", *options, "--", "true")
        assert (done.code, said in done.err) == (2, True)


def test_forgotten_dashes_are_told(credo):
    done = credo("tune", "space.toml", "./train", "--lr", "{x}")
    assert (done.code, "comes after --." in done.err) == (2, True)


def test_files_that_are_none(tune, credo, monkeypatch):
    assert "There is no file" in tune(BOWL, "{x}", "{y}", space="other.toml").err
    assert ".toml" in credo("tune", "-n", 3, "--", "./train", "{x}").err
    done = tune(BOWL, "{x}", "{y}", options=["--storage", "no/such/folder/a.db"])
    assert (done.code, "no folder" in done.err) == (1, True)
    Path("space.db").write_bytes(b"SQLite format 3\0" + os.urandom(4096))
    done = tune(BOWL, "{x}", "{y}")
    assert done.code == 1
    assert "damaged" in done.err


def test_a_command_that_fails_from_the_start_is_stopped_and_its_points_are_tried_again(tune):
    bad = "import sys; print('the oven is cold', file=sys.stderr); sys.exit(4)"
    done = tune(bad, "{x}", "{y}", trials=6)
    assert done.code == 1
    assert "  | the oven is cold\n" in done.err
    assert "trial 0 failed: exit code 4: the oven is cold" in done.err
    assert "first 3 trials failed" in done.err
    assert "Traceback" not in done.err
    tried = [trial.params for trial in records()]
    assert [trial.state for trial in records()] == ["stale"] * 3  # it says nothing of the points
    assert records()[0].reason == "the command failed: exit code 4: the oven is cold"
    assert "printed nothing" in tune("pass", "{x}", "{y}", trials=6, options=["--quiet"]).err
    mended = tune(BOWL, "{x}", "{y}", trials=6, options=["--json"])
    assert mended.code == 0, mended.err
    told = [trial.params for trial in records() if trial.state == "told"]
    assert told[:3] == tried
    assert len(told) == 6
    assert tune(BOWL, "{x}", "{y}", trials=6).err == ""  # and that is all of them
    broken = tune(bad, "{x}", "{y}", trials=9)  # as when it goes on in a wrong environment
    assert (broken.code, [trial.state for trial in records()].count("failed")) == (1, 0)
    few = tune(bad, "{x}", "{y}", trials=2, options=["--name", "few", "--json"])
    assert (few.code, few.json["trials"]) == (0, {"failed": 2})
    patient = tune(bad, "{x}", "{y}", trials=5, options=["--keep-going", "--name", "other", "--json"])
    assert (patient.code, patient.json["trials"], patient.json["best"]) == (0, {"failed": 5}, None)


def test_first_failures_are_told_once_the_command_works(tune):
    code = "import os, sys; sys.exit(1) if os.environ['CREDO_TRIAL'] in '0 1 4 5 6' else print(7)"
    done = tune(code, "{x}", "{y}", trials=8)
    assert done.code == 0, done.err
    assert [trial.state for trial in records()] == ["failed"] * 2 + ["told"] * 2 + ["failed"] * 3 + ["told"]
    # where failures are usual, three in a row are no reason to stop
    assert tune("raise SystemExit(1)", "{x}", "{y}", trials=12).code == 0


def test_points_that_fail_are_part_of_the_record(tune):
    code = "import sys; x = float(sys.argv[1])\nif x > 1: raise SystemExit('too hot')\nprint(x)"
    done = tune(code, "{x}", trials=8)
    assert done.code == 0
    assert {trial.state for trial in records()} == {"told", "failed"}
    assert all((trial["x"] > 1) == (trial.state == "failed") for trial in records())
    assert "failed: exit code 1: too hot" in done.err
    nan = tune("print('nan')", "{x}", options=["--name", "nan"])
    assert (nan.code, "the value is nan" in nan.err) == (1, True)


def test_time_out(tune):
    done = tune("import time; time.sleep(30)", "{x}{y}", options=["--timeout", "0.1"])
    assert (done.code, "no answer after 0.1 s" in done.err) == (1, True)


def test_unused_parameters_are_told(tune):
    done = tune("print(1)", "{x}", options=["--json"])
    (warning,) = done.json["warnings"]
    assert "y" in warning
    assert "{y}" in warning
    assert tune("print(1)", "{params}", options=["--json", "--name", "p"]).json["warnings"] == []


def test_another_space_or_direction_is_not_the_same_study(tune):
    assert tune(BOWL, "{x}", "{y}").code == 0
    done = tune(BOWL, "{x}", "{y}", options=["--key", "a", "--constraint", "b<=1"])
    assert (done.code, "--constraint must be given 0 times" in done.err) == (2, True)
    Path("space.toml").write_text(SPACE.replace("4.0", "5.0"), encoding="utf-8")
    done = tune(BOWL, "{x}", "{y}")
    assert done.code == 1
    assert "differs in x" in done.err
    assert "--name NEW" in done.err
    assert len(records()) == 4


def test_values_of_another_kind_are_not_told_to_a_study(tune):
    code = "import json, sys; x = float(sys.argv[1]); print(json.dumps({'a': x, 'b': -x, 'c': 2 * x}))"
    options = ["--key", "a", "--constraint", "c <= 3"]
    assert tune("print('{}')", "{x}", options=["--key", "typo", "--constraint", "c<=1"]).code == 1  # all failed
    assert tune(code, "{x}", options=options).code == 0  # and nothing was told, so that the key may be mended
    for other, said in (
        (["--key", "b", "--constraint", "c<=3"], "--key must be as the study began (--key a)"),
        (["--key", "a", "--constraint", "c<=4"], "--constraint must be as the study began (--constraint 'c<=3')"),
        (["--key", "a", "--constraint", "c>=3"], "--constraint must be as the study began"),
    ):
        done = tune(code, "{x}", options=other, trials=5)
        assert (done.code, said in done.err, "--name NEW" in done.err) == (2, True, True), done.err
    with cr.Study.load("space.db", "space") as study:
        assert sum(trial.state == "told" for trial in study.records) == 4
        assert study.description["keys"] == ["a"]
        assert study.notes == []
    for warnings in (1, 0):  # told once
        done = tune(code + " ", "{x}", options=[*options, "--json"], trials=5)
        assert len([text for text in done.json["warnings"] if "another command" in text]) == warnings


def test_studies_of_an_older_credo_are_described_when_they_go_on(tune):
    space = cr.Space.from_toml(Path("space.toml"))
    with cr.Study(space, storage="space.db", name="space", random_state=0, sampler="sobol") as study:
        study.optimize(lambda p: p["x"], 2)
    assert tune("import sys; print(sys.argv[1])", "{x}").code == 0
    with cr.Study.load("space.db", "space") as study:
        assert study.description["constraints"] == []
        assert len(study.records) == 4


def test_the_report_speaks_of_the_command(tune):
    from credo.reports.study import study_report

    assert tune("import sys; print(sys.argv[1])", "{x}").code == 0
    with cr.Study.load("space.db", "space") as study:
        report = study_report(study)
    assert "give --noisy" in report.best["reason"]
    assert "noisy=True" not in json.dumps(report.to_json())
    assert "# f runs " in report.code
    assert "{x}" in report.code


def test_what_is_left_to_gain_is_said_at_the_end(credo):
    words = ["--sampler", "sobol", "--", *PYTHON, BOWL, "{x}", "{y}"]
    said = credo("tune", "space.toml", "-n", 6, *words).out
    assert "as many trials again are expected to gain" in said
    left = credo("tune", "space.toml", "-n", 6, "--json", *words).json["left"]
    assert 0 <= left["next"] <= left["everything"]
    assert left["verdict"] in ("stop", "little", "go on")
    assert credo("tune", "space.toml", "-n", 6, "--no-report", "--json", *words).json["left"] is None


def test_a_report_that_cannot_be_written_ends_nothing(tune, credo, monkeypatch):
    from credo.errors import StorageError

    def full(*arguments):
        raise StorageError("space.html: there is no space left.")

    monkeypatch.setattr("credo.cli.tune_runs.write_report", full)
    done = credo("tune", "space.toml", "-n", 2, "--sampler", "sobol", "--json", "--", *PYTHON, BOWL, "{x}", "{y}")
    assert (done.code, done.json["trials"], done.json["report"]) == (0, {"told": 2}, None)
    assert "no space left" in done.err


def test_a_full_disk(tune, monkeypatch):
    from credo.errors import StorageError
    from credo.studies.storage.sql import SQLStorage

    append = SQLStorage.append

    def full(self, study, kind, trial, data, slot=None):
        if kind == "told" and trial == 2:
            raise StorageError("space.db: there is no space left.", remedy="Make space and go on: the study resumes.")
        return append(self, study, kind, trial, data, slot)

    with monkeypatch.context() as patch:
        patch.setattr(SQLStorage, "append", full)
        done = tune(BOWL, "{x}", "{y}")
    value = (records()[2]["x"] - 1) ** 2 + records()[2]["y"]
    assert done.code == 1
    assert "error: space.db: there is no space left. Make space and go on" in done.err
    assert str(value) in done.err  # a day's work, perhaps
    assert [trial.state for trial in records()] == ["told", "told", "stale"]
    done = tune(BOWL, "{x}", "{y}")
    assert done.code == 0
    assert [trial.state for trial in records()] == ["told", "told", "stale", "told", "told"]
    assert records()[3].params == records()[2].params


def test_on_a_terminal_one_line_is_rewritten(tune, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = tune("import sys; x = float(sys.argv[1])\nif x > 1: raise SystemExit('[hot]')\nprint(x)", "{x}", "{y}")
    assert done.code == 0, done.err
    assert "failed: exit code 1: [hot]" in done.err
    assert "trial 0:" not in done.err
    assert tune(BOWL, "{x}", "{y}", options=["--quiet", "--name", "q"]).err == ""


def test_the_report_is_written_on_the_way(credo, monkeypatch):
    written = []
    monkeypatch.setattr("credo.cli.tune_runs.BETWEEN", -1.0)
    monkeypatch.setattr("credo.cli.tune_runs.write_report", lambda study, *rest: written.append(len(study.records)))
    where = ["--storage", "sqlite:///s.db", "--name", "a/b", "-n", 3, "--sampler", "sobol", "--json"]
    done = credo("tune", "space.toml", *where, "--", *PYTHON, BOWL, "{x}", "{y}")
    assert written == [1, 2, 3, 3]
    assert done.json["report"] == "space-a_b.html"


def test_failures_that_an_interruption_forgets_are_named(tune, monkeypatch):
    from credo.studies.commands import loop

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop._Commands, "trust", interrupted)  # as the first trial that does not fail ends
    code = "import os, sys; print(1) if os.environ['CREDO_TRIAL'] == '2' else sys.exit(3)"
    done = tune(code, "{x}")
    assert done.code == 130
    assert "0, 1 count for nothing" in done.err
    monkeypatch.undo()
    assert "count for nothing" not in tune(code.replace("'2'", "os.environ['CREDO_TRIAL']"), "{x}").err


def test_a_second_ctrl_c_says_what_is_kept(tune, monkeypatch):
    """The first one's summary is cut short by the second, and what was told is in the database all the same."""
    import credo.cli.tune_results as results

    def again(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "tell_results", again)
    done = tune("print(1)", "{x}")
    assert done.code == 130
    assert "what was told is kept" in done.err
    assert "nothing was written" not in done.err
    assert {trial.state for trial in records()} == {"told"}


# -- in a process of its own -------------------------------------------------------------------------------------


def test_ctrl_c_keeps_what_was_told_and_ends_the_programs(tune):
    slow = "import os, sys, time; trial = os.environ['CREDO_TRIAL']; print(sys.argv[1])\n"
    slow += "open('pid' + trial, 'w').write(str(os.getpid())); time.sleep(60 if int(trial) > 1 else 0)"
    start = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); sys.argv[0] = 'credo'; "
    start += "from credo.cli.main import run; run()"
    arguments = ["tune", "space.toml", "-n", "9", "-j", "2", "--sampler", "sobol", "--no-report", "--"]
    words = [*arguments, *PYTHON, slow.replace("{", "{{"), "{x}", "{y}"]
    with subprocess.Popen([sys.executable, "-c", start, *words], stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 30
        while not (Path("pid2").exists() and Path("pid3").exists()) and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted: what was told is kept" in said
    assert "Traceback" not in said
    assert [trial.state for trial in records()] == ["told", "told", "stale", "stale"]
    for name in ("pid2", "pid3"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(Path(name).read_text()), 0)
    done = tune("import sys; print(sys.argv[1])", "{x}", "{y}", trials=4, options=["--json"])
    assert done.json["trials"] == {"told": 4, "stale": 2}
    again = [trial.params for trial in records()]
    assert again[4:6] == again[2:4]  # what was interrupted was asked again
