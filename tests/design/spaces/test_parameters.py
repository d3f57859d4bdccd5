"""Each parameter on its own: its interval, what survives encoding, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.design.spaces import Boolean, Choice, Constant, Integer, Ordinal, Real
from credo.errors import ParameterError


@given(st.data(), st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_reals_return_to_within_a_few_units_of_their_range(data: st.DataObject, low: float, span: float) -> None:
    parameter = Real(low, low + span)
    value = data.draw(st.floats(parameter.low, parameter.high))
    u = parameter.to_unit([value])
    assert 0 <= u[0, 0] <= 1
    scale = max(abs(parameter.low), abs(parameter.high))
    assert abs(parameter.from_unit(u)[0] - value) <= 8 * np.finfo(float).eps * scale


@given(st.data(), st.floats(1e-300, 1e250), st.floats(1.001, 1e50))
def test_logarithmic_reals_return_to_within_a_relative_rounding(data: st.DataObject, low: float, ratio: float) -> None:
    parameter = Real(low, low * ratio, log=True)
    value = data.draw(st.floats(parameter.low, parameter.high))
    back = parameter.from_unit(parameter.to_unit([value]))[0]
    assert parameter.contains(back)
    # log x is up to 700, rounded to 2⁻⁴⁴: that is the relative error of x
    assert back == pytest.approx(value, rel=8 * 700 * np.finfo(float).eps)


def test_the_ends_of_a_real_are_exact() -> None:
    for parameter in (Real(0.1, 0.3), Real(1e-5, 0.7, log=True), Real(-1.7e308, 1.7e308)):
        assert parameter.from_unit(np.array([[0.0], [1.0], [-3.0], [4.0]])) == [
            parameter.low, parameter.high, parameter.low, parameter.high,
        ]  # fmt: skip
        assert parameter.to_unit([parameter.low, parameter.high]).ravel().tolist() == pytest.approx([0, 1], abs=1e-15)


@given(st.data(), st.integers(-(2**60), 2**60), st.integers(1, 2**50 - 1))
def test_every_integer_survives_encoding(data: st.DataObject, low: int, span: int) -> None:
    parameter = Integer(low, low + span)
    values = [low, low + span, *data.draw(st.lists(st.integers(low, low + span), max_size=5))]
    assert parameter.from_unit(parameter.to_unit(values)) == values
    assert parameter.from_unit(np.array([[0.0], [1.0]])) == [low, low + span]


@given(st.data(), st.integers(1, 2**40 - 1))
def test_every_logarithmic_integer_survives_encoding(data: st.DataObject, low: int) -> None:
    high = data.draw(st.integers(low + 1, 2**40))
    parameter = Integer(low, high, log=True)
    values = [low, high, *data.draw(st.lists(st.integers(low, high), max_size=5))]
    assert parameter.from_unit(parameter.to_unit(values)) == values


def test_uniform_numbers_choose_integers_and_choices_equally_often() -> None:
    u = (np.arange(1200) + 0.5) / 1200
    for parameter in (Integer(-1, 4), Choice([*"abcdef"]), Ordinal([*"abcdef"])):
        values = parameter.quantile(u)
        assert [values.count(v) for v in dict.fromkeys(values)] == [200] * 6
    assert Boolean().quantile(u).count(True) == 600
    # on the logarithmic scale n has the share log((n + ½)/(n − ½)) of log((high + ½)/(low − ½))
    counts = Integer(1, 3, log=True).quantile(u)
    assert counts.count(1) / 1200 == pytest.approx(math.log(3) / math.log(7), abs=1 / 1200)


def test_choices_tell_truth_from_one_and_text_from_numbers() -> None:
    parameter = Choice([1, True, "1", None, 0.5])
    assert [parameter.index(v) for v in (1, 1.0, np.int64(1), True, np.True_, "1", None, 0.5)] == [
        0, 0, 0, 1, 1, 2, 3, 4,
    ]  # fmt: skip
    assert not parameter.contains([1])
    assert not parameter.contains(0)
    assert parameter.from_unit(parameter.to_unit(parameter.choices)) == list(parameter.choices)
    assert parameter.gap(1, True) == 1
    assert parameter.gap("1", "1") == 0


def test_what_numbers_contain() -> None:
    assert Real(0, 1).contains(np.float32(0.5))
    assert Real(0, 1).contains(1)
    assert not any(Real(0, 1).contains(v) for v in (math.nan, math.inf, -0.1, True, "0.5", None))
    assert Integer(0, 3).contains(2.0)
    assert Integer(0, 3).contains(np.int8(3))
    assert not any(Integer(0, 3).contains(v) for v in (math.nan, 2.5, 4, True, "2", None))
    assert type(Integer(0, 3).normal(np.int64(2))) is int
    assert type(Real(0, 1).normal(np.float32(0.5))) is float


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: Real(1, 1), "high"),
        (lambda: Real(2, 1), "high"),
        (lambda: Real(0, math.inf), "high"),
        (lambda: Real(math.nan, 1), "low"),
        (lambda: Real("0", 1), "low"),
        (lambda: Real(0, 1, log=True), "low"),
        (lambda: Real(0, 1, log="yes"), "log"),  # type: ignore[arg-type]
        (lambda: Integer(0.5, 2), "low"),  # type: ignore[arg-type]
        (lambda: Integer(True, 2), "low"),
        (lambda: Integer(0, 2**50), "high"),
        (lambda: Integer(1, 2**41, log=True), "high"),
        (lambda: Integer(0, 9, log=True), "low"),
        (lambda: Choice([]), "choices"),
        (lambda: Choice("abc"), "choices"),  # type: ignore[arg-type]
        (lambda: Choice(["a", "a"]), "choices"),
        (lambda: Choice([1, 1.0]), "choices"),
        (lambda: Choice([(64, 64)]), "choices"),
        (lambda: Choice({"a", "b"}), "choices"),  # type: ignore[arg-type]
        (lambda: Ordinal([math.nan]), "choices"),
        (lambda: Constant(math.inf), "value"),
    ],
)
def test_refusals_name_the_parameter(make: object, parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()  # type: ignore[operator]
    assert caught.value.parameter == parameter
