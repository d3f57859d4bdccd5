"""`credo predict`: rows in order, formats, decisions."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest

from credo.cli.losses import REJECTED, loss_of
from credo.decisions import losses
from credo.errors import DataError, ParameterError

# Only the plainest candidates, where what is compared is not what is tested.
QUICKLY = ("--time-limit", 1e-5)


def test_csv_on_a_pipe_has_a_row_for_every_row(credo, folder, houses) -> None:
    done = credo("predict", houses, folder / "new_houses.csv", "--quiet")
    frame = pl.read_csv(io.StringIO(done.out))
    assert frame.columns == ["mean", "sd", "lower", "upper", "aleatoric", "epistemic"]
    assert frame.height == 3
    assert (frame["aleatoric"] + frame["epistemic"]).to_numpy() == pytest.approx(frame["sd"].to_numpy() ** 2)
    assert done.err == ""


def test_unseen_levels_are_warned_of_once_on_standard_error(credo, folder, houses) -> None:
    done = credo("predict", houses, folder / "new_houses.csv")
    assert done.err.count("warning:") == 1
    assert "'Ulm'" in done.err


def test_wider_intervals_hold_more(credo, folder, houses) -> None:
    def widths(mass: float) -> np.ndarray:
        rows = credo("predict", houses, folder / "new_houses.csv", "--interval", mass, "--json", "-q").json[
            "predictions"
        ]
        return np.array([row["upper"] - row["lower"] for row in rows])

    assert np.all(widths(0.5) < widths(0.9))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_every_format_holds_the_same_rows(credo, folder, houses, tmp_path, suffix) -> None:
    path = tmp_path / f"out.{suffix}"
    readers = {
        "csv": pl.read_csv, "tsv": lambda p: pl.read_csv(p, separator="\t"),
        "parquet": pl.read_parquet, "jsonl": pl.read_ndjson,
    }  # fmt: skip
    document = credo("predict", houses, folder / "new_houses.csv", "-o", path, "--json", "-q").json
    assert (document["rows"], document["output"]) == (3, str(path))
    expected = credo("predict", houses, folder / "new_houses.csv", "--json", "-q").json["predictions"]
    found = readers[suffix](path)
    assert found.to_dicts() == [pytest.approx(row) for row in expected]


def test_kept_columns_stay_as_they_are_written(credo, folder, houses) -> None:
    frame = pl.read_csv(
        io.StringIO(credo("predict", houses, folder / "new_houses.csv", "--keep", "id", "-q").out), infer_schema=False
    )
    assert frame["id"].to_list() == ["007", "008", "009"]


def test_rows_from_standard_input(credo, folder, houses, monkeypatch) -> None:
    text = (folder / "new_houses.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    piped = credo("predict", houses, "-", "-q").out
    assert piped == credo("predict", houses, folder / "new_houses.csv", "-q").out


def test_classes_have_probabilities_under_their_labels(credo, folder, loans) -> None:
    rows = credo("predict", loans, folder / "new_loans.csv", "--json").json["predictions"]
    assert [row["prediction"] for row in rows][::2] == ["no", "yes"]
    for row in rows:
        assert row["p(no)"] + row["p(yes)"] == pytest.approx(1.0)


def test_an_interval_of_classes_is_a_set(credo, folder, loans, tmp_path) -> None:
    new, out = folder / "new_loans.csv", tmp_path / "p.csv"
    for mass in (0.5, 0.9, 0.9999):
        rows = credo("predict", loans, new, "--interval", mass, "--json").json["predictions"]
        assert credo("predict", loans, new, "--interval", mass, "-o", out, "-q").code == 0
        written = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
        for row, text in zip(rows, written, strict=True):
            held = sum(row[f"p({label})"] for label in row["set"])
            # The fewest: without its least likely member it falls short.
            assert held >= mass > held - min(row[f"p({label})"] for label in row["set"])
            assert row["prediction"] in row["set"]
            assert text == "|".join(row["set"])


def test_a_table_of_costs_decides(credo, folder, loans) -> None:
    rows = credo("predict", loans, folder / "new_loans.csv", "--costs", folder / "costs.csv", "--json").json[
        "predictions"
    ]
    for row in rows:
        # Lending costs 5 if it is not repaid and gains 1 if it is; refusing costs nothing.
        lend = 5 * row["p(no)"] - row["p(yes)"]
        assert row["action"] == ("lend" if lend <= 0 else "refuse")
        assert row["expected_loss"] == pytest.approx(min(lend, 0.0), abs=1e-12)


def test_rejection_declines_the_doubtful(credo, folder, loans) -> None:
    rows = credo("predict", loans, folder / "new_loans.csv", "--reject", 0.2, "--json").json["predictions"]
    for row in rows:
        sure = max(row["p(no)"], row["p(yes)"]) >= 0.8
        assert row["action"] == (row["prediction"] if sure else REJECTED)


def test_a_loss_of_numbers_moves_the_action(credo, folder, houses) -> None:
    rows = credo("predict", houses, folder / "new_houses.csv", "--loss", "linear:over=1,under=9", "--json", "-q").json
    upper = credo("predict", houses, folder / "new_houses.csv", "--interval", 0.8, "--json", "-q").json
    for row, wide in zip(rows["predictions"], upper["predictions"], strict=True):
        # The best action is the 0.9-quantile, which is the upper end of the central 80 %.
        assert row["action"] == pytest.approx(wide["upper"], rel=1e-9)


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("square", losses.Square()),
        ("ABSOLUTE", losses.Absolute()),
        ("pinball:0.9", losses.Pinball(0.9)),
        ("pinball:q=0.9", losses.Pinball(0.9)),
        ("linear:over=1,under=9", losses.Linear(1, 9)),
        ("linear:1,9", losses.Linear(1, 9)),
        ("linex:-0.5", losses.Linex(-0.5)),
        ("zero-one", losses.ZeroOne()),
    ],
)
def test_losses_are_read(text, loss) -> None:
    assert loss_of(text) == loss


@pytest.mark.parametrize(
    "text", ["", "cubic", "linear", "linear:over=1", "pinball:x", "square:1", "linear:1,2,3", "pinball:0.9,q=1,"]
)
def test_what_is_no_loss_is_refused(text) -> None:
    with pytest.raises(ParameterError):
        loss_of(text)


def test_a_terminal_gets_a_table(credo, folder, houses, loans, monkeypatch) -> None:
    monkeypatch.setattr("credo.cli.predict._SHOWN", 2)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    done = credo("predict", houses, folder / "new_houses.csv", "--interval", 0.8)
    assert "80 % interval" in done.out
    assert "and 1 row more" in done.out
    shown = credo("predict", loans, folder / "new_loans.csv", "--interval", 0.8).out
    assert "p(yes)" in shown
    assert "80 % set" in shown


def test_costs_of_classes_named_by_numbers(credo, tmp_path) -> None:
    # the header 'action,0,1' looks like data; and a price of rejection is refused for numbers by what it is for
    rows = "\n".join(f"{i},{int(i % 7 > 2)},{i % 7}" for i in range(70))
    (tmp_path / "t.csv").write_text(f"id,y,x\n{rows}\n")
    credo(
        "fit",
        tmp_path / "t.csv",
        "-t",
        "y",
        "--task",
        "classification",
        "-o",
        tmp_path / "m.credo",
        "-q",
        "--no-report",
        *QUICKLY,
    )
    (tmp_path / "costs.csv").write_text("action,0,1\ngrant,5,0\nrefuse,0,1\n")
    done = credo("predict", tmp_path / "m.credo", tmp_path / "t.csv", "--costs", tmp_path / "costs.csv", "--json")
    assert {row["action"] for row in done.json["predictions"]} <= {"grant", "refuse"}


@pytest.mark.parametrize(("no", "yes"), [(1, 2), ("FALSE", "TRUE"), ("01", "02")])
def test_labels_that_are_no_words(credo, tmp_path, no, yes) -> None:
    rows = "".join(f"{i % 7},{yes if i % 7 > 2 else no}\n" for i in range(70))
    (tmp_path / "t.csv").write_text(f"x,y\n{rows}")
    (tmp_path / "costs.csv").write_text(f"action,{no},{yes}\ngrant,5,0\nrefuse,0,1\n")
    model, data = tmp_path / "m.credo", tmp_path / "t.csv"
    assert credo("fit", data, "-t", "y", "-o", model, "-q", "--no-report", *QUICKLY).code == 0
    labels = {"FALSE": [False, True], "01": ["01", "02"]}.get(no, [1, 2])
    rows = credo("predict", model, data, "--reject", 0.3, "--json").json["predictions"]
    assert {row["prediction"] for row in rows} == set(labels)
    assert all(f"p({str(label).lower()})" in rows[0] for label in labels)
    assert {row["action"] for row in rows} <= {REJECTED, *(str(label).lower() for label in labels)}
    done = credo("predict", model, data, "--costs", tmp_path / "costs.csv", "--json")
    assert {row["action"] for row in done.json["predictions"]} == {"grant", "refuse"}
    for suffix in ("parquet", "csv", "jsonl"):
        assert credo("predict", model, data, "--reject", 0.3, "-o", tmp_path / f"p.{suffix}").code == 0


def test_costs_of_true_and_false_may_be_named_as_the_table_writes_them(tmp_path) -> None:
    from credo.cli.losses import costs_of

    path = tmp_path / "costs.csv"
    for header in ("action,0,1", "action,FALSE,true", "action,false,true"):
        path.write_text(f"{header}\ngrant,5,0\nrefuse,0,1\n")
        assert costs_of(str(path), (False, True)).costs.tolist() == [[5.0, 0.0], [0.0, 1.0]]
    path.write_text("action,0,true\ngrant,5,0\nrefuse,0,1\n")
    with pytest.raises(DataError, match="no column for the class False"):
        costs_of(str(path), (False, True))
