"""The figure of the page on variational inference: what q is, over what it stands for.

`python docs/figures/variational.py` writes it beside itself, as `make.py` does the others.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import credo as cr
from credo.errors import ConvergenceWarning
from credo.inference.target import Target
from credo.inference.variational import NormalMeanPrecision, stochastic_vi

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make

# Half and nine tenths of a two-dimensional Normal lie above these shares of its peak.
LEVELS = (0.1, 0.5)


def variational(c: dict[str, str]) -> None:
    """A Normal's mean and precision, a correlated pair, a funnel: exact in grey, q in colour."""
    normal, pair, funnel = make._axes(3, (9.6, 3.2))
    fit = NormalMeanPrecision(cr.NormalInverseGamma(0.0, 10.0, 1.0, 1.0)).fit([-0.6, 0.4, 1.9, 0.7])
    grid = np.meshgrid(np.linspace(-1.5, 2.7, 121), np.linspace(0.01, 3.8, 121))
    q = {"mean": grid[0], "precision": grid[1]}
    _contours(normal, c, grid, fit.exact_log_prob(*grid), fit.posterior.log_prob(q))
    normal.set(title="mean field: a Normal", xlabel="mean μ", ylabel="precision τ")

    precision = np.linalg.inv([[1.0, 0.9], [0.9, 1.0]])
    grid = np.meshgrid(*[np.linspace(-2.7, 2.7, 121)] * 2)
    points = np.stack(grid, axis=-1)
    target = Target(
        lambda x: -0.5 * np.sum((x @ precision) * x, axis=-1), {"w": (2,)}, gradient=lambda x: -x @ precision,
        vectorised=True,
    )  # fmt: skip
    _contours(pair, c, grid, target.log_density(points), _log_normal(points, _fit(target, "diagonal")))
    pair.set(title="diagonal: a correlated pair", xlabel="$w_1$", ylabel="$w_2$", aspect="equal")

    rng = np.random.default_rng(0)
    v = 3.0 * rng.standard_normal(900)
    funnel.plot(np.exp(0.5 * v) * rng.standard_normal(900), v, "o", ms=1.8, color=c["faint"], mec="none", alpha=0.6)
    grid = np.meshgrid(np.linspace(-9, 9, 121), np.linspace(-8, 9, 121))
    points = np.stack([grid[1], grid[0]], axis=-1)
    density = _log_normal(points, _fit(_funnel(), "full_rank"))
    funnel.contour(*grid, np.exp(density - density.max()), LEVELS, colors=c["orange"], linewidths=1.6)
    funnel.set(title="full rank: a funnel", xlabel="x", ylabel="v", xlim=(-9, 9), ylim=(-8, 9))


def _contours(axes: Any, c: dict[str, str], grid: Any, exact: np.ndarray, q: np.ndarray) -> None:
    for density, colour, dashes in ((exact, c["faint"], "solid"), (q, c["orange"], "solid")):
        axes.contour(*grid, np.exp(density - density.max()), LEVELS, colors=colour, linewidths=1.6, linestyles=dashes)


def _log_normal(points: np.ndarray, found: Any) -> np.ndarray:
    away = points - found.free_mean
    return -0.5 * np.sum((away @ np.linalg.inv(found.free_covariance)) * away, axis=-1)


def _fit(target: Target, family: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # that is what is shown
        return stochastic_vi(target, family, rng=0)


def _funnel() -> Target:
    def log_density(z: np.ndarray) -> np.ndarray:
        v, x = z.T
        return -(v**2) / 18 - 0.5 * v - 0.5 * np.exp(-v) * x**2

    def gradient(z: np.ndarray) -> np.ndarray:
        v, x = z.T
        return np.column_stack([-v / 9 - 0.5 + 0.5 * np.exp(-v) * x**2, -np.exp(-v) * x])

    return Target(log_density, {"v": (), "x": ()}, gradient=gradient, vectorised=True)


FIGURES: dict[str, Callable[[dict[str, str]], None]] = {"variational": variational}

if __name__ == "__main__":
    make.FIGURES = FIGURES
    make.main(sys.argv[1:])
