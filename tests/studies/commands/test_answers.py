"""Numbers from what a program left."""

import json
import math

import pytest

from credo.errors import ParameterError
from credo.studies.commands import Answers, Bound
from credo.studies.commands.answers import Answer, NoAnswer

DATA = {"loss": 0.5, "test": {"loss": [1, 2.5]}, "a.b": 3, "a": {"b": 4, "c.d": 5}, "text": "0.5", "flag": True}


@pytest.mark.parametrize(
    ("line", "values"),
    [("0.5", (0.5,)), (" -1e-3\t", (-1e-3,)), ("7", (7.0,)), ("inf", (math.inf,)), ("0.5,", (0.5,))],
)
def test_a_line(line, values):
    assert Answers().of_line(line) == Answer(values)


@pytest.mark.parametrize("line", ["loss: 0.5", "0.5 0.6", "done", "", "   ", "0,5", "0.5s", '{"loss": 0.5}'])
def test_a_line_that_is_no_number(line):
    with pytest.raises(NoAnswer, match="printed nothing" if not line.strip() else "not a number"):
        Answers().of_line(line)


def test_two_numbers():
    assert Answers(2).of_line("0.5 7").values == Answers(2).of_line("0.5, 7").values == (0.5, 7.0)
    with pytest.raises(NoAnswer, match="2 numbers"):
        Answers(2).of_line("0.5")
    assert Answers(2).of_line("0.5 7").as_returned == (0.5, 7.0)


@pytest.mark.parametrize(
    ("key", "value"),
    [("loss", 0.5), ("test.loss.1", 2.5), ("test.loss.-2", 1.0), ("a.b", 3.0), ("a.c.d", 5.0)],
)
def test_keys(key, value, tmp_path):
    path = tmp_path / "out.json"
    path.write_text(json.dumps(DATA), encoding="utf-8")
    assert Answers(1, [key]).of_file(path) == Answers(1, [key]).of_line(json.dumps(DATA)) == Answer((value,))


@pytest.mark.parametrize("key", ["lost", "test.loss.2", "test.lost", "text", "flag", "test", "loss.x", ""])
def test_keys_that_lead_nowhere(key):
    with pytest.raises(NoAnswer, match="no '" if key not in ("text", "flag", "test") else "not a number"):
        Answers(1, [key]).of_line(json.dumps(DATA))


def test_files(tmp_path):
    path = tmp_path / "out.json"
    for text, n, values in (("0.25", 1, (0.25,)), ("[1, 2]", 2, (1.0, 2.0)), ("[0.5]", 1, (0.5,))):
        path.write_text(text, encoding="utf-8")
        assert Answers(n).of_file(path).values == values
    for text, match in (
        ('{"a": 1}', "which: ..a"),
        ("[1, 2]", "2 values"),
        ("{", "not JSON"),
        ("null", "not a number"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(NoAnswer, match=match):
            Answers().of_file(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(NoAnswer, match="can be read"):
        Answers().of_file(path)
    with pytest.raises(NoAnswer, match="No such file"):
        Answers().of_file(tmp_path / "absent.json")
    with pytest.raises(NoAnswer, match="directory"):
        Answers().of_file(tmp_path)


def test_bounds():
    bounds = [Bound.parse(text) for text in ("loss<=0.4", "test.loss.1 >= 2", "a.b")]
    found = Answers(1, ["loss"], bounds).of_line(json.dumps(DATA))
    assert found.constraints == pytest.approx((0.1, -0.5, 3.0))
    assert found.as_returned == {"value": 0.5, "constraints": found.constraints}
    for text in ("loss<=x", "", "<= 3", "a <= 1 2", "a<=1e400", "a>=nan"):
        with pytest.raises(ParameterError, match="KEY"):
            Bound.parse(text)
