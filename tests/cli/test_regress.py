"""`credo regress`: what it tells, as text and as JSON, the file it writes, and what it refuses in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import credo as cr
from credo.program.formula import regress
from tests.cli.conftest import write_table

SLEEP = Path(__file__).parents[2] / "examples" / "data" / "sleep.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of awkward columns."""
    folder = tmp_path_factory.mktemp("regress")
    rng = np.random.default_rng(0)
    n = 40
    dose = rng.normal(size=n).round(3)
    write_table(
        folder / "t.csv",
        {
            "y": (2 * dose + rng.normal(size=n)).round(3),
            "dose": dose,
            "g": [f"g{i % 5}" for i in range(n)],
            "one": ["a"] * n,
            "const": [3] * n,
            "words": [f"w{i % 7} b" for i in range(n)],
            "body mass": (3 * dose).round(3),
            "hole": [None if i % 10 == 0 else i for i in range(n)],
            "empty": [None] * n,
            "day": [f"2024-01-{i % 28 + 1:02d}" for i in range(n)],
            "yes": [["no", "yes"][i % 3 == 0] for i in range(n)],
            "k": rng.integers(0, 9, n),
            "code": [10**17 + i % 4 for i in range(n)],
        },
    )
    (folder / "header.csv").write_text("y,dose\n")
    (folder / "other.txt").write_text("a letter\n")
    return folder


def test_the_example_table_is_what_its_script_makes(tmp_path) -> None:
    script = SLEEP.with_name("make_sleep.py").read_text(encoding="utf-8")
    exec(script, {"__file__": str(tmp_path / "make_sleep.py")})
    assert (tmp_path / "sleep.csv").read_text(encoding="utf-8") == SLEEP.read_text(encoding="utf-8")


def test_text_json_and_file_agree_with_python(credo, tmp_path) -> None:
    formula, path = "reaction ~ days + (1 | subject)", tmp_path / "fit.credo"
    fit = regress(formula, SLEEP, draws=400, random_state=5)
    found = credo("regress", formula, SLEEP, "--draws", 400, "--seed", 5, "--json", "-o", path).json
    assert found["formula"] == "reaction ~ 1 + days + (1 | subject)"
    assert (found["kind"], found["rows"], found["family"], found["output"]) == (
        "regression",
        180,
        "gaussian",
        str(path),
    )
    assert found["priors"]["days"] == str(fit.priors).splitlines()[1].split("  ", 1)[1].strip()
    assert found["log_evidence"] == pytest.approx(fit.log_evidence)
    for name, row in fit.summary().items():
        assert found["summary"][name]["mean"] == pytest.approx(row["mean"]), name
    again = cr.load(path)
    assert str(again) == str(fit)
    wider = credo("regress", formula, SLEEP, "--draws", 400, "--seed", 5, "--json", "--interval", "0.99").json
    assert wider["summary"]["days"]["lower"] < found["summary"]["days"]["lower"]
    said = credo("regress", formula, SLEEP, "--draws", 400, "--seed", 5, "--levels", "subject", "-o", path)
    assert said.code == 0, said.err
    assert said.err == ""
    for words in ("180 rows", "90 % interval", "sd(Intercept | subject)", "Priors:", "HalfNormal(", "integrated out",
                  "Levels of subject", "Intercept of p18", f"credo predict {path} NEW.csv"):  # fmt: skip
        assert words in said.out, words
    levels = credo("regress", formula, SLEEP, "--draws", 400, "--levels", "subject", "--json").json["levels"]
    assert list(levels) == ["subject"]
    assert len(levels["subject"]) == 18
    quiet = credo("regress", formula, SLEEP, "--draws", 100, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_other_families(credo, folder) -> None:
    table = folder / "t.csv"
    found = credo("regress", "yes ~ dose", table, "--family", "bernoulli", "--draws", 400, "--json").json
    assert list(found["summary"]) == ["Intercept", "dose"]
    found = credo("regress", "k ~ dose", table, "--family", "binomial", "--trials", "9", "--draws", 400, "--json").json
    assert (found["family"], found["link"]) == ("binomial", "logit")
    formula = "k | trials(9) ~ dose"
    again = credo("regress", formula, table, "--family", "binomial", "--draws", 400, "--json").json
    assert again["summary"] == found["summary"]
    found = credo("regress", formula, table, "--family", "binomial", "--link", "probit", "--draws", 400).out
    assert "binomial (probit)" in found


def test_ordered_categories_and_curves(credo, folder) -> None:
    rows = [(x / 7, (x * 5) % 11 // 4, x) for x in range(1, 40)]
    (folder / "o.csv").write_text("x,grade,y\n" + "".join(f"{x:.4f},{grade},{y}\n" for x, grade, y in rows))
    how = ("--family", "ordinal", "--draws", 400, "-o", folder / "o.credo", "--json")
    found = credo("regress", "grade ~ x", folder / "o.csv", *how).json
    assert list(found["summary"]) == ["x", "cut(0 | 1)", "cut(1 | 2)"]
    done = credo("predict", folder / "o.credo", folder / "o.csv", "--json")
    assert done.code == 0
    found = credo("regress", "y ~ s(x, k=5)", folder / "o.csv", "--draws", 100, "--json").json
    assert "sd(s(x, k=5))" in found["summary"]


def test_missing_cells_are_left_out_and_counted(credo, folder) -> None:
    done = credo("regress", "y ~ hole", folder / "t.csv", "--draws", 100, "--json")
    assert done.json["rows"] == 36
    assert "4 of 40 rows have missing cells, in hole (4)" in done.err
    assert len(done.json["warnings"]) == 1


def test_names_with_spaces_and_groups_of_long_numbers(credo, folder) -> None:
    table = folder / "t.csv"
    done = credo("regress", "y ~ `body mass`", table, "--draws", 100, "--json")
    assert list(done.json["summary"]) == ["Intercept", "body mass", "sigma"]
    options = ("--type", "code=category", "--draws", 100, "--levels", "code", "--json")
    levels = credo("regress", "y ~ (1 | code)", table, *options).json["levels"]["code"]
    assert [name.split()[-1] for name in levels] == [str(10**17 + i) for i in range(4)]


#: formula and options → (exit code, words of the message)
REFUSED: dict[tuple[str, ...], tuple[int, tuple[str, ...]]] = {
    ("y ~ dsoe",): (1, ("no column 'dsoe'", "Did you mean 'dose'?")),
    ("Y ~ dose",): (1, ("no column 'Y'", "Did you mean 'y'?")),
    ("words ~ dose",): (1, ("response words has levels 'w0 b'", "needs numbers")),
    ("yes ~ dose",): (1, ("response yes has levels", "family 'bernoulli'")),
    ("y ~ empty",): (1, ("40 of 40 rows", "No row is left")),
    ("y ~ one",): (1, ("one level in all rows", "'a'")),
    ("y ~ (1 | one)",): (1, ("Group one has one level",)),
    ("y ~ const",): (1, ("const is 3 in all 40 rows", "intercept")),
    ("const ~ dose",): (1, ("response const is 3 in all 40 rows",)),
    ("y ~ day",): (1, ("'day' holds dates or times",)),
    ("y ~ (1 | code)",): (1, ("'code' holds numbers beyond 2⁵³", "--type code=category")),
    ("y ~ log(dose)",): (1, ("log(dose) is nan in", "first: row")),
    ("y ~ poly(dose, 50)",): (1, ("degree 50", "distinct values")),
    ("k ~ dose", "--family", "binomial"): (2, ("--trials must be", "a number")),
    ("k ~ dose", "--family", "binomial", "--trials", "kk"): (1, ("no column 'kk'", "Did you mean 'k'?")),
    ("k ~ dose", "--family", "binomial", "--trials", "5"): (1, ("from 0 to trials",)),
    ("y ~ dose", "--family", "poisson"): (1, ("must be counts",)),
    ("y ~ dose", "--family", "gausian"): (2, ("--family must be one of gaussian",)),
    ("y ~ dose", "--trials", "3"): (2, ("--trials must be left out",)),
    ("y ~ dose", "--levels", "g"): (2, ("--levels must be", "no group")),
    ("y ~ dose + (1 | g)", "--levels", "h"): (2, ("--levels must be a group of the formula: g",)),
    ("y ~ dose", "--interval", "90"): (2, ("--interval", "give 0.9")),
    ("y ~ dose", "--draws", "3"): (2, ("--draws",)),
    ("y ~ dose", "-o", "no/fit.credo"): (1, ("no folder",)),
    ("y ~ dose", "-o", "t.csv"): (2, ("--output", "another file")),
    ("y ~ dose", "-o", "other.txt"): (2, ("--output", "Credo model to replace")),
}  # fmt: skip


@pytest.mark.parametrize("arguments", list(REFUSED))
def test_what_is_refused_is_told_in_one_line(arguments, credo, folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    formula, *options = arguments
    code, words = REFUSED[arguments]
    done = credo("regress", formula, "t.csv", *options)
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1, done.err
    for word in words:
        assert word in done.err, done.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("formula", "marked", "says"),
    [
        ("y ~ dose +", "", "the formula ends"),
        ("y ~ dose + (1 | g", "(", "never closed"),
        ("y ~ lg(dose)", "lg", "Did you mean log?"),
        ("y ~ body mass", "mass", "backticks: `body mass`"),
        ("y ~ __import__('os')", "__import__", "no function"),
        ("y ~ dose + y", "y", "is the response"),
        ("y ~ (y | g)", "y", "is the response"),
        ("y dose", "", "no '~'"),
        ("", "", "no '~'"),
    ],
)
def test_a_fault_of_the_formula_is_marked(formula, marked, says, credo, folder) -> None:
    done = credo("regress", formula, folder / "t.csv")
    assert (done.code, done.out) == (1, "")
    message, line, carets = done.err.rstrip("\n").split("\n")
    assert says in message
    assert line == f"  {formula}"
    place = carets.index("^")
    assert line[place : place + len(marked)] == marked
    assert carets.count("^") == max(1, len(marked))


def test_tables_without_rows_or_file(credo, folder) -> None:
    for name, words in (("header.csv", "no rows"), ("nope.csv", "no file")):
        done = credo("regress", "y ~ dose", folder / name)
        assert done.code == 1
        assert words in done.err


def test_json_is_one_document_with_warnings_beside_it(credo, folder) -> None:
    done = credo("regress", "y ~ hole", folder / "t.csv", "--draws", 100, "--json")
    assert set(json.loads(done.out)) >= {"summary", "priors", "explanation", "certificate", "inference", "interval"}


def test_formulas_of_parameters(credo, folder) -> None:
    """`--parameter` adds to the list of formulas; faults are marked in their own."""
    table, out = folder / "t.csv", folder / "s.credo"
    done = credo("regress", "y ~ dose", table, "--parameter", "sigma ~ dose", "-o", out, "--draws", 400)
    assert "y ~ 1 + dose; sigma ~ 1 + dose   gaussian, 40 rows" in done.out
    assert "sigma_dose" in done.out
    assert credo("predict", out, table).out.count("\n") == 41
    bad = credo("regress", "y ~ dose", table, "--parameter", "sigmma ~ dose")
    assert "Did you mean sigma?\n  sigmma ~ dose\n  ^^^^^^" in bad.err


def test_the_families_of_the_help_are_those_of_formulas():
    """The command names them without an import; a family that is added to formulas must be added here."""
    from credo.cli.regress import FAMILIES, LINKS
    from credo.program.formula import families

    assert set(FAMILIES) == set(families.FAMILIES)
    several = [family.links for family in families.FAMILIES.values() if len(family.links) > 1]
    assert set(LINKS) == {link for links in several for link in links}
