"""Axes and labels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from credo.numerics.readable import aligned, number, percent, share, shortened, typeset
from credo.plots.chart import axis, categories, logarithmic, spread_out

finite = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(st.lists(finite, min_size=1, max_size=6))
def test_an_axis_holds_its_values_and_has_a_few_round_ticks(values: list[float]) -> None:
    found = axis("x", values)
    assert found.low < found.high
    assert found.low <= min(values) <= max(values) <= found.high
    positions = [p for p, _ in found.ticks]
    assert 2 <= len(positions) <= 7
    assert all(found.low <= p <= found.high or np.isclose(p, (found.low, found.high)).any() for p in positions)
    assert len({text for _, text in found.ticks}) == len(positions)


def test_ticks_read_well() -> None:
    assert [t for _, t in axis("x", [1990, 2020], pad=0.0).ticks] == ["1990", "2000", "2010", "2020"]
    assert [t for _, t in axis("x", [0, 40_000], pad=0.0, n=4).ticks] == ["0", "10,000", "20,000", "30,000", "40,000"]
    assert [t for _, t in axis("x", [-1, 1], pad=0.0, n=4).ticks] == ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
    assert [t for _, t in axis("x", low=0.0, high=0.05, as_percent=True, n=5).ticks][:3] == ["0 %", "1 %", "2 %"]


def test_axes_of_nothing_and_of_what_is_not_finite() -> None:
    assert axis("x").low < axis("x").high
    assert axis("x", [np.nan, np.inf, 2.0]).low < 2.0 < axis("x", [np.nan, np.inf, 2.0]).high


def test_other_axes() -> None:
    assert categories(["a", "b"]).ticks == ((1.0, "a"), (0.0, "b"))
    assert [t for _, t in logarithmic("rows", [10, 1000]).ticks] == ["10", "100", "1000"]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8))
def test_labels_are_spread_out_in_order_about_where_they_were(positions: list[float]) -> None:
    placed = spread_out(positions, 1.0)
    order = np.argsort(positions, kind="stable")
    assert np.all(np.diff(np.array(placed)[order]) >= 1.0 - 1e-9)
    assert np.isclose(np.mean(placed), np.mean(positions), atol=1e-8)


def test_numbers() -> None:
    assert aligned([1.0, None, np.inf], 0.1) == ["1.00", "-", "∞"]
    assert aligned([1e15], 1e-3) == ["1e+15"]
    assert aligned([-0.0001], 1.0) == ["0.0"]
    assert (number(123456789.0), number(float("nan")), share(float("nan")), percent(0.5)) == (
        "1.235e+08",
        "-",
        "-",
        "50 %",
    )
    assert shortened("a\nb") == "a b"
    assert len(shortened("x" * 99, 20)) == 20
    assert typeset("pre-2000 -3") == "pre-2000 −3"
