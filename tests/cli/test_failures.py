"""What goes wrong is told in one line that names it, with the right exit code, and nothing is left behind."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import credo as cr
from credo.cli import main as command_line

N = range(30)
TABLES = {
    "empty.csv": "",
    "header.csv": "a,b,y\n",
    "one.csv": "a,y\n1,2\n",
    "two.csv": "a,y\n1,2\n3,5\n",
    "constant.csv": "a,y\n" + "".join(f"{i},5\n" for i in N),
    "one_class.csv": "a,y\n" + "".join(f"{i},yes\n" for i in N),
    "missing_y.csv": "a,y\n" + "".join(f"{i},\n" for i in N),
    "only_y.csv": "y\n" + "".join(f"{i}\n" for i in N),
    "names.csv": "a,y\n" + "".join(f"name {i} of {i * i} words,{i % 7}\n" for i in range(60)),
    "infinite.csv": "a,y\n" + "".join(f"{'inf' if i == 4 else i},{2 * i}\n" for i in N),
    "infinite_y.csv": "a,y\n" + "".join(f"{i},{'1e400' if i == 4 else 2 * i}\n" for i in N),
    "ragged.csv": "a,b,y\n1,2,3\n4,5\n6,7,8,9\n",
    "classes.csv": "a,y\n" + "".join(f"{i},c{i % 700}\n" for i in range(1400)),
    "words.csv": "a,y\n" + "".join(f"{i},{'no' if i % 2 else 'yes'}\n" for i in N),
    "good.csv": "a,price\n" + "".join(f"{i},{2 * i + i % 3}\n" for i in N),
    "renamed.csv": "aa,price\n1,2\n",
    "words_for_numbers.csv": "size,rooms,town\nbig,2,Bonn\n",
    "costs_gap.csv": "action,yes\nlend,1\n",
    "costs_words.csv": "action,yes,no\nlend,1,much\nrefuse,2,3\n",
}  # fmt: skip

#: name → (command line with {folder}, {houses}, {loans}; exit code; words of the message)
CASES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "no file": ("fit {folder}/nope.csv -t y", 1, ("nope.csv", "no file")),
    "a folder": ("fit {folder} -t y", 1, ("is a folder",)),
    "an empty file": ("fit {folder}/empty.csv -t y", 1, ("empty",)),
    "a header alone": ("fit {folder}/header.csv -t y", 1, ("no rows", "--header-rows 0")),
    "binary garbage": ("fit {folder}/garbage.bin -t y", 1, ("garbage.bin",)),
    "a zip archive": ("fit {folder}/archive.zip -t y", 1, ("zip archive", "Unpack")),
    "an unknown target": ("fit {folder}/good.csv -t pirce", 1, ("no column 'pirce'", "Did you mean 'price'?")),
    "a target in another case": ("fit {folder}/good.csv -t PRICE", 1, ("Did you mean 'price'?",)),
    "a constant target": ("fit {folder}/constant.csv -t y", 1, ("'y' is 5 in every row",)),
    "one class": ("fit {folder}/one_class.csv -t y", 1, ("one class only", "'yes'")),
    "a target that is missing": ("fit {folder}/missing_y.csv -t y", 1, ("missing in every row",)),
    "one row": ("fit {folder}/one.csv -t y", 1, ("1 row(s)", "too few")),
    "two rows": ("fit {folder}/two.csv -t y", 1, ("2 row(s)", "too few")),
    "nothing to predict from": ("fit {folder}/only_y.csv -t y", 1, ("no column to predict 'y' from",)),
    "only text": ("fit {folder}/names.csv -t y", 1, ("no column to predict from", "'a' is left out (text)")),
    "an infinite cell": ("fit {folder}/infinite.csv -t y", 1, ("'a' is infinite in row 4",)),
    "an infinite outcome": ("fit {folder}/infinite_y.csv -t y", 1, ("'y' is infinite in row 4",)),
    "ragged rows": ("fit {folder}/ragged.csv -t y", 1, ("line 4", "--ragged truncate")),
    "too many classes": ("fit {folder}/classes.csv -t y", 1, ("700 classes",)),
    "regression on words": ("fit {folder}/words.csv -t y --task regression", 1, ("'y'", "not a number")),
    "an unknown task": ("fit {folder}/good.csv -t price --task cluster", 2, ("--task", "'cluster'")),
    "an unknown group": ("fit {folder}/good.csv -t price --group g", 1, ("no column 'g'",)),
    "an unknown time": ("fit {folder}/good.csv -t price --time g", 1, ("no column 'g'",)),
    "an unknown drop": ("fit {folder}/good.csv -t price --drop g", 1, ("no column 'g'",)),
    "everything dropped": ("fit {folder}/good.csv -t price --drop a", 1, ("no column to predict 'price' from",)),
    "the target dropped": ("fit {folder}/good.csv -t price --drop price", 1, ("target",)),
    "a type that is none": ("fit {folder}/good.csv -t price --type a=colour", 2, ("--type", "COLUMN=TYPE")),
    "a type of no column": ("fit {folder}/good.csv -t price --type z=count", 1, ("no column 'z'",)),
    "a schema that is not there": ("fit {folder}/good.csv -t price --schema {folder}/no.toml", 1, ("no.toml",)),
    "a schema that is none": ("fit {folder}/good.csv -t price --schema {folder}/good.csv", 1, ("not valid TOML",)),
    "an unknown encoding": ("fit {folder}/good.csv -t price --encoding klingon", 1, ("encoding", "'klingon'")),
    "an output in no folder": ("fit {folder}/good.csv -t price -o {folder}/no/m.credo", 1, ("no folder",)),
    "an output that is a folder": ("fit {folder}/good.csv -t price -o {folder}", 1, ("is a folder",)),
    "an output that is the input": ("fit {folder}/good.csv -t price -o {folder}/good.csv", 2, ("--output", "input")),
    "an output that is no model": ("fit {folder}/good.csv -t price -o {folder}/one.csv", 2, ("--output", "Credo")),
    "no model": ("predict {folder}/nope.credo {folder}/good.csv", 1, ("nope.credo",)),
    "a table for a model": ("predict {folder}/good.csv {folder}/good.csv", 1, ("not a Credo model", "credo fit")),
    "a damaged model": ("predict {folder}/damaged.credo {folder}/good.csv", 1, ("damaged.credo",)),
    "a truncated model": ("predict {folder}/truncated.credo {folder}/good.csv", 1, ("truncated.credo",)),
    "a newer model": ("predict {folder}/newer.credo {folder}/good.csv", 1, ("newer", "Upgrade")),
    "another object": ("predict {folder}/list.credo {folder}/good.csv", 1, ("holds a list",)),
    "showing a damaged model": ("show {folder}/damaged.credo", 1, ("damaged.credo",)),
    "columns missing": ("predict {houses} {folder}/renamed.csv", 1, ("no column", "'size'", "'rooms'", "'town'")),
    "words where numbers were": ("predict {houses} {folder}/words_for_numbers.csv", 1, ("line 2", "'size'", "'big'")),
    "an interval in per cent": ("predict {houses} {folder}/good.csv --interval 90", 2, ("--interval", "give 0.9")),
    "an interval that is no number": ("predict {houses} {folder}/good.csv --interval x", 2, ("--interval",)),
    "an unknown loss": ("predict {houses} {folder}/good.csv --loss cubic", 2, ("--loss", "linear:over=1,under=9")),
    "a loss half stated": ("predict {houses} {folder}/good.csv --loss linear:over=1", 2, ("linear:over=1,under=9",)),
    "a loss out of range": ("predict {houses} {folder}/good.csv --loss pinball:2", 1, ("Pinball.q",)),
    "a class's loss of numbers": ("predict {houses} {folder}/good.csv --reject 0.1", 2, ("'price' is a number",)),
    "a number's loss of classes": ("predict {loans} {folder}/good.csv --loss square", 2, ("'repaid' is a class",)),
    "two losses": ("predict {loans} {folder}/good.csv --loss zero-one --reject 0.1", 2, ("--reject", "without --loss")),
    "a price of rejection": ("predict {loans} {folder}/good.csv --reject 3", 2, ("--reject", "between 0 and 1")),
    "costs of some classes": ("predict {loans} {folder}/good.csv --costs {folder}/costs_gap.csv", 1, ("class 'no'",)),
    "costs in words": ("predict {loans} {folder}/good.csv --costs {folder}/costs_words.csv", 1, ("'much'",)),
    "an unknown format": ("predict {houses} {houses_csv} -o {folder}/out.doc", 2, ("--output", ".parquet")),
    "a column to keep": ("predict {houses} {houses_csv} --keep nope", 1, ("no column 'nope'",)),
    "an unknown command": ("predcit", 2, ("predcit",)),
    "an unknown option": ("fit --traget y", 2, ("--traget", "credo fit --help")),
    "no target": ("fit {folder}/good.csv", 2, ("--target",)),
    "a negative seed": ("fit {folder}/good.csv -t price --seed -1", 2, ("--seed",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory, houses: Path) -> Path:
    """A folder of awkward files."""
    folder = tmp_path_factory.mktemp("bad")
    for name, text in TABLES.items():
        (folder / name).write_text(text)
    (folder / "garbage.bin").write_bytes(bytes((i * 7919 + i * i) % 256 for i in range(4000)))
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("a.csv", "a,y\n1,2\n")
    good = houses.read_bytes()
    (folder / "truncated.credo").write_bytes(good[: len(good) // 2])
    middle = len(good) // 2
    (folder / "damaged.credo").write_bytes(good[:middle] + bytes(40) + good[middle + 40 :])
    cr.save([1, 2], folder / "list.credo")
    with zipfile.ZipFile(houses) as old, zipfile.ZipFile(folder / "newer.credo", "w") as new:
        for member in old.infolist():
            content = old.read(member)
            if member.filename == "manifest.json":
                content = json.dumps({**json.loads(content), "format": 999}).encode()
            new.writestr(member, content)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_a_named_error(name, bad, folder, houses, loans, credo, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in bad.iterdir()}
    line, code, words = CASES[name]
    places = {"folder": bad, "houses": houses, "loans": loans, "houses_csv": folder / "houses.csv"}
    done = credo(*(part.format(**places) for part in line.split()))
    assert done.code == code, done.err
    assert done.out == ""
    *warned, message = done.err.splitlines()
    assert message.startswith("error: "), done.err
    assert all(line.startswith("warning: ") for line in warned)
    for word in words:
        assert word in message, message
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []
    assert {path: path.read_bytes() for path in bad.iterdir()} == before


def test_an_unexpected_failure_tells_where_its_traceback_is(credo, folder, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("credo.tables.describe", _broken)
    done = credo("show", folder / "houses.csv")
    assert done.code == 1
    assert done.err.count("\n") == 1
    (report,) = tmp_path.iterdir()
    assert str(report) in done.err
    assert "ZeroDivisionError" in report.read_text()


def test_debugging_shows_tracebacks(credo, folder, monkeypatch) -> None:
    monkeypatch.setenv("CREDO_DEBUG", "1")
    monkeypatch.setattr("credo.tables.describe", _broken)
    with pytest.raises(ZeroDivisionError):
        credo("show", folder / "houses.csv")


@pytest.mark.parametrize(("raised", "code", "said"), [
    (KeyboardInterrupt(), 130, "interrupted"),
    (MemoryError(), 1, "not enough memory"),
    (BrokenPipeError(), 141, ""),
])  # fmt: skip
def test_interrupts_have_the_shell_s_codes(credo, folder, monkeypatch, raised, code, said) -> None:
    monkeypatch.setattr("credo.tables.describe", _raiser(raised))
    # The real standard output must survive: closing it is for the process that ends.
    monkeypatch.setattr("os.dup2", lambda *_: None)
    done = credo("show", folder / "houses.csv")
    assert done.code == code
    assert said in done.err
    assert done.out == ""


def _broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError("no reason")


def _raiser(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_help_and_version(credo) -> None:
    assert credo("--version").out == f"credo {cr.__version__}\n"
    for command in ("fit", "predict", "show", "compare"):
        assert command in credo("--help").out
        done = credo(command, "--help")
        assert done.code == 0
        assert all(option in done.out for option in ("--json", "--quiet", "--seed"))
    assert credo().out == credo("--help").out
    assert command_line.FAILED == 1
