"""Pictures of densities: what they say, and that both painters draw them."""

from __future__ import annotations

import numpy as np
import pytest

from credo import plots
from credo.errors import DataError
from credo.models.density import Histogram, KernelDensity
from credo.plots.densities import density, histogram
from credo.reports.svg import svg

X = np.concatenate([np.linspace(-1, 1, 50), np.linspace(4, 8, 50), [1e6]])[:, None]


def test_both_are_drawn_and_told() -> None:
    curve = density(KernelDensity(bandwidth=0.7).fit(X), "<width> $x$", 0.8)
    assert curve.modes[:2].round(1).tolist() == [0.0, 6.0]
    assert curve.x[-1] < 1e6 + 10
    bars = histogram(Histogram("blocks").fit(X), "<width> $x$")
    for figure, words in ((curve, "3 modes: 0"), (bars, "strokes are the intervals")):
        chart = figure.chart()
        assert words in chart.description
        assert "&lt;width&gt;" in svg(chart, "c")
        plots.draw(figure)


def test_one_column_is_drawn() -> None:
    two = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(DataError, match="one column"):
        density(KernelDensity().fit(two))
    with pytest.raises(DataError, match="one column"):
        histogram(Histogram().fit(two))
