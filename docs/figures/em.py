"""The figures of the pages on EM: bounds that touch the likelihood, and clusters as σ → 0.

`python docs/figures/em.py` writes them beside itself, as `make.py` does the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import credo as cr

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make

TOSSES = np.array([[5, 5], [9, 1], [8, 2], [4, 6], [7, 3]], dtype=float)


def em_bounds(c: dict[str, str]) -> None:
    """One unknown: the second coin's bias, the first known to be 0.7. Each bound touches where its E-step was taken."""
    grid = np.linspace(0.03, 0.9, 400)

    def log_joint(bias: np.ndarray) -> np.ndarray:
        """log ½ p(row | coin) (coins, rows, biases)."""
        first = TOSSES @ np.log([0.7, 0.3])
        second = TOSSES @ np.log([bias, 1 - bias])
        return np.stack([np.broadcast_to(first[:, None], second.shape), second]) + np.log(0.5)

    def likelihood(bias: np.ndarray) -> np.ndarray:
        return np.logaddexp(*log_joint(bias)).sum(axis=0)

    axes = make._axes(1, (6.4, 3.4))[0]
    axes.plot(grid, likelihood(grid), color=c["ink"], lw=2)
    bias = 0.12
    for colour, name in zip((c["orange"], c["blue"], c["green"]), ("first", "second", "third"), strict=True):
        at = np.array([bias])
        share = np.exp(log_joint(at)[1] - np.logaddexp(*log_joint(at)))[:, 0]
        q = np.stack([1 - share, share])[:, :, None]
        bound = np.sum(q * (log_joint(grid) - np.log(q)), axis=(0, 1))
        axes.plot(grid, bound, color=colour, lw=1.5, ls=(0, (5, 2)))
        axes.plot(at, likelihood(at), "o", color=colour, ms=6)
        heads, tails = share @ TOSSES
        bias = heads / (heads + tails)
        axes.plot([bias, bias], [bound.max(), likelihood(np.array([bias]))[0]], color=colour, lw=1)
        axes.annotate(name, (at[0], likelihood(at)[0]), (-4, 9), textcoords="offset points", color=colour, ha="right")
    axes.set(xlabel="bias of the second coin", ylabel="log likelihood", ylim=(-37, -31), xlim=(0.03, 0.9))


def k_means_limit(c: dict[str, str]) -> None:
    """Memberships of a spherical mixture with σ given: soft, firmer, and k-means."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 0.9, (60, 2)) for centre in ([0, 0], [3, 0.5], [1, 2.8])])
    palette = np.array([[int(c[n][i : i + 2], 16) / 255 for i in (1, 3, 5)] for n in ("blue", "orange", "green")])
    for axes, sigma in zip(make._axes(3, (9.0, 3.0), sharey=True), (1.2, 0.5, 0.05)):
        model = spherical(X, sigma)
        axes.scatter(*X.T, c=np.clip(model.predict_proba(X) @ palette, 0, 1), s=14, lw=0)
        axes.plot(*model.means_.T, "+", color=c["ink"], ms=11, mew=2)
        axes.set(title=f"σ = {sigma:g}", aspect="equal", xticks=[], yticks=[])


def spherical(X: np.ndarray, sigma: float) -> cr.GaussianMixture:
    """A mixture with equal weights and one known σ: the means alone are learned, a step at a time."""
    means = X[[0, 60, 120]]
    for _ in range(200):
        model = cr.GaussianMixture(
            3,
            covariance_type="spherical",
            means_init=means,
            weights_init=np.full(3, 1 / 3),
            precisions_init=np.full(3, sigma**-2),
            max_iter=0,
        ).fit(X)
        shares = model.predict_proba(X)
        means = shares.T @ X / shares.sum(axis=0)[:, None]
    return model


FIGURES: dict[str, Callable[[dict[str, str]], None]] = {"em-bounds": em_bounds, "k-means-limit": k_means_limit}

if __name__ == "__main__":
    make.FIGURES = FIGURES
    make.main(sys.argv[1:])
