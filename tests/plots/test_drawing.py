"""matplotlib draws every figure, in both themes, and leaves the user's settings alone."""

from __future__ import annotations

import io
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from credo.errors import MissingDependencyError, ParameterError
from credo.plots import draw
from tests.plots.samples import figures


@pytest.mark.parametrize("name", figures())
def test_every_figure_is_drawn(name: str) -> None:
    figure, before = figures()[name], mpl.rcParams.copy()
    canvas, axes = plt.subplots(1, 2)
    for ax, theme in zip(axes, ("light", "dark")):
        draw(figure, ax, theme)
    # Drawn without a warning: a $ in a name is no formula, and every glyph is there.
    canvas.savefig(io.BytesIO(), dpi=30)
    plt.close(canvas)
    assert axes[0].get_title(loc="left") == figure.chart().title
    assert mpl.rcParams == before


def test_axes_of_its_own() -> None:
    ax = draw(figures()["forest"])
    ax.figure.savefig(io.BytesIO(), dpi=30)
    plt.close(ax.figure)


def test_axes_of_the_user() -> None:
    figure, axes = plt.subplots(1, 2)
    assert draw(figures()["band"], axes[1]) is axes[1]
    assert not axes[0].lines
    plt.close(figure)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="theme"):
        draw(figures()["band"], theme="sepia")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"credo\[plots\]"):
        draw(figures()["band"])
