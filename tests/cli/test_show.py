"""`credo show`: a table or a model, told by content."""

from __future__ import annotations


def test_a_table_in_json_has_the_names_fixed_in_advance(credo, folder) -> None:
    document = credo("show", folder / "houses.csv", "--json").json
    assert document["rows"] == 80
    assert [(c["name"], c["type"], c["missing"]) for c in document["columns"]] == [
        ("size", "number", 1), ("rooms", "count", 0), ("town", "category", 0), ("price", "number", 0),
    ]  # fmt: skip
    assert document["warnings"] == []
    assert document["kind"] == "table"


def test_a_table_in_words(credo, folder) -> None:
    out = credo("show", folder / "houses.csv").out
    assert "80 rows, 4 columns" in out
    assert "category" in out
    assert "--type COLUMN=TYPE" in out


def test_corrections_show(credo, folder) -> None:
    document = credo("show", folder / "houses.csv", "--type", "rooms=category", "--json").json
    assert document["columns"][1]["type"] == "category"


def test_a_model_is_told_by_its_content(credo, houses, tmp_path) -> None:
    disguised = tmp_path / "model.csv"
    disguised.write_bytes(houses.read_bytes())
    document = credo("show", disguised, "--json").json
    assert (document["kind"], document["target"], document["rows"]) == ("model", "price", 80)
    assert {"rows", "columns", "warnings"} <= set(document)
    assert "A model of 'price'" in credo("show", disguised).out


def test_a_model_s_interval_can_be_chosen(credo, houses) -> None:
    def width(mass: float) -> float:
        row = credo("show", houses, "--interval", mass, "--json").json["coefficients"][1]
        return row["upper"] - row["lower"]

    assert width(0.5) < width(0.99)


def test_names_that_look_like_styles_are_shown_as_they_are(credo, tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("[red]a,b\n[bold]x,1\ny,2\n")
    assert "[red]a" in credo("show", path).out
