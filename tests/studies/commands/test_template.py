"""The words of a command and its places."""

import json

import pytest

from credo.errors import ParameterError
from credo.studies.commands import CommandTemplate


def filled(words, params, names=("x", "fast", "kind"), **special):
    return CommandTemplate(words, names, [], tuple(special) or ("trial", "params")).fill(params, special)


@pytest.mark.parametrize(
    ("words", "params", "expected"),
    [
        (["run", "{x}"], {"x": 0.1}, ["run", "0.1"]),
        (["run", "--x={x}"], {"x": 1e-7}, ["run", "--x=1e-07"]),
        (["run", "{kind}-{x}.txt"], {"x": 3, "kind": "a b"}, ["run", "a b-3.txt"]),
        (["run", "{fast}"], {"fast": True}, ["run", "true"]),
        (["run", "{{x}}", '{{"x": {x}}}'], {"x": 2}, ["run", "{x}", '{"x": 2}']),
        (["run", "$(rm -rf {x})", "; {kind}"], {"x": 1, "kind": "`ls`"}, ["run", "$(rm -rf 1)", "; `ls`"]),
        (["run", ""], {}, ["run", ""]),
        # inactive: the word goes, and an option whose whole value it was
        (["run", "--x", "{x}", "end"], {}, ["run", "end"]),
        (["run", "-x", "{x}", "end"], {}, ["run", "end"]),
        (["run", "--x={x}", "end"], {}, ["run", "end"]),
        (["run", "--x", "a{x}", "end"], {}, ["run", "--x", "end"]),
        (["run", "in", "{x}"], {}, ["run", "in"]),
        (["run", "--a=1", "{x}"], {}, ["run", "--a=1"]),
        (["run", "--", "{x}"], {}, ["run", "--"]),
        (["run", "-1", "{x}"], {}, ["run", "-1"]),
        # stated otherwise
        (["run", "--x", "{x:-0}"], {}, ["run", "--x", "0"]),
        (["run", "--x", "{x:-0}"], {"x": 5}, ["run", "--x", "5"]),
        (["run", "--x={x:-}"], {}, ["run", "--x="]),
        (["run", "--quiet", "{x:-}"], {}, ["run", "--quiet"]),
        (["run", "{fast:+--fast}"], {"fast": True}, ["run", "--fast"]),
        (["run", "-v", "{fast:+--fast}"], {"fast": False}, ["run", "-v"]),
        (["run", "-O2{fast:+,fast}"], {"fast": False}, ["run", "-O2"]),
        (["run", "{x:+--with-x}"], {"x": 0}, ["run", "--with-x"]),
        (["run", "{x:+--with-x}"], {}, ["run"]),
    ],
)
def test_words(words, params, expected):
    assert filled(words, params) == expected


def test_special_places_yield_to_parameters():
    assert filled(["run", "{trial}", "{dir}"], {}, trial=7, dir="/a b") == ["run", "7", "/a b"]
    assert filled(["run", "{trial}"], {"trial": 0.5}, names=("trial",), trial=7) == ["run", "0.5"]
    (_, text) = filled(["run", "{params}"], {"x": 0.5, "kind": "a"})
    assert json.loads(text) == {"x": 0.5, "kind": "a"}


@pytest.mark.parametrize("word", ["{y}", "{}", "{x", "x}", "{print $1}", "{x:?}", "{dir}", "{ x}"])
def test_what_is_no_place_is_an_error(word):
    with pytest.raises(ParameterError) as caught:
        CommandTemplate(["run", word], ["x"])
    assert "twice" in str(caught.value)


def test_reals_are_given_in_full():
    x = 0.1 + 0.2
    assert float(filled(["run", "{x}"], {"x": x})[1]) == x


def test_unused_parameters():
    assert CommandTemplate(["run", "{x}"], ["x", "y", "z"]).unused == ("y", "z")
    assert CommandTemplate(["run", "{params}"], ["x", "y"]).unused == ()
    assert CommandTemplate(["run", "{x:+a}"], ["x"]).unused == ()


def test_the_program_may_not_vanish():
    with pytest.raises(ParameterError, match="begun by a program"):
        CommandTemplate(["./{x}", "a"], ["x"], conditional=["x"])
    template = CommandTemplate(["./{x:-plain}"], ["x"], conditional=["x"])
    assert template.fill({}) == ["./plain"]
    assert template.program is None
    assert CommandTemplate(["./{{a}}"], ["x"]).program == "./{a}"
    for words in ([], [""]):
        with pytest.raises(ParameterError, match="a program"):
            CommandTemplate(words, ["x"])
