"""The figures of the pages on Gaussian processes, drawn by `credo.plots`.

`python docs/figures/processes.py` writes them beside itself, as `make.py` does the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import credo as cr
from credo import plots

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make
import matplotlib.pyplot as plt

DATA = Path(__file__).resolve().parents[2] / "examples" / "data" / "mauna_loa_co2.csv"


def _theme(c: dict[str, str]) -> str:
    return "dark" if c is make.DARK else "light"


def _rows() -> tuple[np.ndarray, np.ndarray]:
    """Those of the page."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 40))[:, None]
    return x, 20 * np.sin(x[:, 0]) + 2 * rng.normal(size=40) + 100


def prior(c: dict[str, str]) -> None:
    x, y = _rows()
    certain = cr.GaussianProcessRegressor(400.0 * cr.kernels.RBF(0.8), noise=0.5, mean=None, optimizer=None)
    plots.draw(plots.function_band(certain.fit(x[::6], y[::6] - 100), prior=True, outcome="f"), theme=_theme(c))


def lengthscales(c: dict[str, str]) -> None:
    plots.draw(plots.lengthscales(cr.GaussianProcessRegressor().fit(*_rows())), theme=_theme(c))


def evidence(c: dict[str, str]) -> None:
    rng = np.random.default_rng(17)
    x = rng.uniform(-3, 3, 7)[:, None]
    y = np.sin(2.5 * x[:, 0]) + 0.1 * rng.normal(size=7)
    quick = cr.GaussianProcessRegressor(1.0 * cr.kernels.RBF(1.0), mean=None, learn="evidence").fit(x, y)
    plots.draw(plots.evidence_surface(quick, "lengthscale", "noise"), theme=_theme(c))


def maps(c: dict[str, str]) -> None:
    rng = np.random.default_rng(3)
    places = rng.uniform(-2, 2, (40, 2))
    height = np.sin(1.5 * places[:, 0]) * np.cos(places[:, 1]) + 0.05 * rng.normal(size=40)
    plots.draw(
        plots.function_maps(cr.GaussianProcessRegressor().fit(places, height), outcome="height"), theme=_theme(c)
    )


def mauna_loa(c: dict[str, str]) -> None:
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    year, ppm = table[:, 0] + (table[:, 1] - 0.5) / 12, table[:, 2]
    past = year < 1988
    k = cr.kernels
    season = 5.0 * k.Periodic(1.0, 1.0, fixed=("period",)) * k.RBF(50.0)
    stated = 2000.0 * k.Matern(50.0, nu=2.5) + season + 0.3 * k.Matern(1.0, nu=1.5)
    figure, panels = plt.subplots(2, 1, figsize=(7.2, 6.4))
    figure.set_layout_engine("constrained", h_pad=0.12)
    for axes, kernel in zip(panels, (None, stated), strict=True):
        model = cr.GaussianProcessRegressor(kernel).fit(year[past, None], ppm[past])
        where = np.linspace(1983, 2002, 343)
        band = plots.function_band(model, where, column="x", outcome="CO₂, ppm", paths=0, rows=(year, ppm))
        plots.draw(band, ax=axes, theme=_theme(c))
        axes.set_title(
            "one lengthscale" if kernel is None else "trend + season + weather", loc="left", fontsize=11, pad=22
        )
        axes.set_xlabel("")
        axes.axvline(1988, color=c["faint"], lw=1, ls=":")
        axes.set_ylim(334, 384)


FIGURES: dict[str, Callable[[dict[str, str]], None]] = {
    "gp-prior": prior,
    "gp-lengthscales": lengthscales,
    "gp-evidence": evidence,
    "gp-maps": maps,
    "mauna-loa": mauna_loa,
}

if __name__ == "__main__":
    make.FIGURES = FIGURES
    make.main(sys.argv[1:])
