"""The figures of the page on reports of studies, drawn by `credo.plots`.

`python docs/figures/studies.py` writes them beside itself, as `make.py` does the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import credo as cr
from credo import plots

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make
import matplotlib.pyplot as plt


def _theme(c: dict[str, str]) -> str:
    return "dark" if c is make.DARK else "light"


def _loss(p: dict[str, Any]) -> float:
    if p["rate"] > 0.5:
        raise RuntimeError("diverged")
    width = np.log10(p["width"]) ** 2 if p["kernel"] == "rbf" else 1.0
    return float((np.log10(p["rate"]) + 2.5) ** 2 + width + 0.002 * (p["layers"] - 12) ** 2)


@cache
def _study() -> cr.Study:
    """That of the page."""
    space = cr.Space(
        rate=cr.Real(1e-5, 1, log=True), kernel=cr.Categorical(["rbf", "linear"]),
        width=cr.Real(0.1, 10, log=True, when={"kernel": "rbf"}), layers=cr.Integer(1, 40),
    )  # fmt: skip
    study = cr.Study(space, random_state=1)
    for _ in range(40):
        trial = study.ask()
        try:
            study.tell(trial, _loss(dict(trial.params)))
        except RuntimeError as error:
            study.fail(trial, str(error))
    return study


def history(c: dict[str, str]) -> None:
    plots.draw(plots.history(_study()), theme=_theme(c))


def slices(c: dict[str, str]) -> None:
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.2))
    figure.set_layout_engine("constrained", w_pad=0.12)
    for axes, along in zip(panels, plots.slices(_study(), ["rate", "kernel", "layers"]), strict=True):
        plots.draw(along, ax=axes, theme=_theme(c))


def parallel(c: dict[str, str]) -> None:
    plots.draw(plots.parallel_coordinates(_study()), theme=_theme(c))


def importances(c: dict[str, str]) -> None:
    plots.draw(plots.importances(_study()), theme=_theme(c))


FIGURES: dict[str, Callable[[dict[str, str]], None]] = {
    "study-history": history,
    "study-slices": slices,
    "study-parallel": parallel,
    "study-importances": importances,
}

if __name__ == "__main__":
    make.FIGURES = FIGURES
    make.main(sys.argv[1:])
