"""The figures of the pages: `python docs/figures/make.py [NAME ...]` writes NAME.svg and NAME-dark.svg beside itself.

Each function draws one figure from what Credo computes, with the data and seeds of the page that shows it.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.pipeline import make_pipeline

import credo as cr
from credo.diagnostics.mcmc import autocorrelation
from credo.inference.mcmc import RandomWalk, sample
from credo.inference.target import Target

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
# Okabe and Ito's blue, orange and green: told apart by every kind of colour vision.
LIGHT = {"ink": "#24292f", "faint": "#8c959f", "blue": "#0072b2", "orange": "#d55e00", "green": "#00785a"}
DARK = {"ink": "#e6e6e6", "faint": "#9aa4ae", "blue": "#56b4e9", "orange": "#f0904a", "green": "#3fc79a"}


def belief(c: dict[str, str]) -> None:
    """README: what is believed along x, its two parts, and the action for a loss."""
    rng = np.random.default_rng(4)
    x = np.sort(np.concatenate([rng.uniform(0, 4.2, 45), rng.uniform(7.0, 8.0, 8)]))[:, None]
    y = 3 + 1.5 * np.sin(0.9 * x[:, 0]) + rng.normal(0, 0.35, len(x))
    grid = np.linspace(0, 10, 241)[:, None]
    p = make_pipeline(cr.features.Splines(7, kind="natural", knots=_even(7)), cr.LinearRegression()).fit(x, y)
    p = p[-1].predict_distribution(p[:-1].transform(grid))
    z = 1.645
    axes = _axes(1, (7.2, 3.3))[0]
    for sd, alpha in ((p.sd, 0.16), (np.sqrt(p.epistemic), 0.32)):
        axes.fill_between(grid[:, 0], p.mean - z * sd, p.mean + z * sd, color=c["blue"], alpha=alpha, lw=0)
    axes.plot(grid, p.mean, color=c["blue"], lw=1.8)
    axes.plot(grid, cr.decide(p, cr.losses.Linear(over=1, under=9)), color=c["orange"], lw=1.8, ls=(0, (5, 2)))
    axes.plot(x, y, "o", ms=3.2, color=c["ink"], mec="none")
    axes.set(xlim=(0, 10), ylim=(-1.9, 7.6), xlabel="x", ylabel="y")
    axes.text(2.25, 2.5, "mean", color=c["blue"], va="top", ha="center")
    axes.text(3.1, 6.6, "what to do when too little\ncosts nine times too much", color=c["orange"], ha="center")
    axes.text(5.3, -0.75, "epistemic: more data\nwould remove it", color=c["blue"], ha="center", va="top")
    axes.text(0.15, 0.9, "outer band: with\nthe noise, aleatoric", color=c["faint"], va="top")


def _even(n: int) -> np.ndarray:
    return np.linspace(0.0, 8.0, n)


def curve_fitting(c: dict[str, str]) -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 10)[:, None]
    t = np.sin(2 * np.pi * x[:, 0]) + rng.normal(0, 0.3, 10)
    grid = np.linspace(0, 1, 201)[:, None]
    cases = [("degree 1", 1, cr.Flat()), ("degree 3", 3, cr.Flat()), ("degree 9", 9, cr.Flat())]
    cases.append(("degree 9, λ = e⁻¹⁸", 9, cr.Normal(0, 0.3 * np.exp(9))))
    for axes, (title, degree, prior) in zip(_axes(4, (9.6, 2.7), sharey=True), cases):
        line = cr.LinearRegression(prior=prior, noise=cr.noise.Normal(0.3))
        p = _polynomial(degree, line).fit(x, t).predict_distribution(grid)
        axes.fill_between(grid[:, 0], *p.interval(0.9), color=c["blue"], alpha=0.2, lw=0)
        axes.plot(grid, np.sin(2 * np.pi * grid), color=c["green"], lw=1.4, ls=(0, (4, 2)))
        axes.plot(grid, p.mean, color=c["blue"], lw=1.8)
        axes.plot(x, t, "o", ms=4, color=c["ink"], mec="none")
        axes.set(title=title, xlim=(-0.02, 1.02), ylim=(-2.6, 2.6), xlabel="x", xticks=[0, 0.5, 1])


def ridge(c: dict[str, str]) -> None:
    np.random.seed(1)  # noqa: NPY002 — the published example uses this generator
    z = np.random.normal(0, 1, 1000)  # noqa: NPY002
    X = np.column_stack([z + np.random.normal(0, 0.1, 1000) for _ in range(3)])  # noqa: NPY002
    y = X.sum(axis=1) + np.random.normal(0, 1, 1000)  # noqa: NPY002
    scales = np.geomspace(0.005, 10, 60)
    posts = [
        cr.LinearRegression(prior=cr.Normal(0, s), noise=cr.noise.Normal(1.0)).fit(X, y).posterior_ for s in scales
    ]
    axes = _axes(1, (7.2, 3.3))[0]
    for j, colour in enumerate((c["blue"], c["orange"], c["green"])):
        low, high = np.array([[bound[j] for bound in p.interval(0.9)] for p in posts]).T
        axes.fill_between(scales, low, high, color=colour, alpha=0.13, lw=0)
        axes.plot(scales, [p.mean[j] for p in posts], color=colour, lw=1.8)
        axes.text(10.8, posts[-1].mean[j], f"w{j + 1}", color=colour, va="center")
    axes.axvline(1000**-0.5, color=c["faint"], lw=1, ls=":")
    axes.text(1000**-0.5 * 1.08, 1.52, "λ = 1000", color=c["faint"], va="top")
    axes.set(xscale="log", xlim=(0.005, 10), ylim=(0, 1.6), xlabel="prior sd of a coefficient", ylabel="coefficient")


def map_is_not_invariant(c: dict[str, str]) -> None:
    rate = cr.Gamma(shape=6, rate=4)
    x = np.linspace(0.02, 4.2, 400)
    wait = np.linspace(0.15, 2.6, 400)
    panels = [
        ("rate", x, rate.prob(x), 5 / 4, "rate 1.25"),
        ("log rate", np.log(x), rate.prob(x) * x, np.log(6 / 4), "rate 1.5"),
        ("mean wait 1/rate", wait, cr.InverseGamma(shape=6, scale=4).prob(wait), 4 / 7, "rate 1.75"),
    ]
    for axes, (label, at, density, mode, said) in zip(_axes(3, (9.0, 2.5)), panels):
        axes.fill_between(at, density, color=c["blue"], alpha=0.2, lw=0)
        axes.plot(at, density, color=c["blue"], lw=1.8)
        axes.axvline(mode, color=c["orange"], lw=1.5)
        axes.text(mode, density.max() * 1.05, f" mode: {said}", color=c["orange"])
        axes.set(xlabel=label, yticks=[], ylim=(0, density.max() * 1.18))
        axes.spines["left"].set_visible(False)
    plt.gcf().axes[1].set_xlim(-2.2, 1.5)


def two_parts(c: dict[str, str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(20_000, 3))
    y = X @ [1.0, -0.5, 0.2] + rng.normal(0, 0.5, 20_000)
    new = rng.uniform(-2, 2, size=(200, 3))
    sizes = np.unique(np.geomspace(8, 20_000, 30).astype(int))
    ps = [cr.LinearRegression().fit(X[:n], y[:n]).predict_distribution(new) for n in sizes]
    axes = _axes(1, (7.2, 3.1))[0]
    axes.plot(sizes, [p.aleatoric.mean() for p in ps], color=c["orange"], lw=1.8)
    axes.plot(sizes, [p.epistemic.mean() for p in ps], color=c["blue"], lw=1.8)
    axes.axhline(0.25, color=c["faint"], lw=1, ls=":")
    axes.text(9_000, 0.34, "aleatoric", color=c["orange"], ha="center")
    axes.text(1_800, 0.0018, "epistemic", color=c["blue"], ha="center")
    axes.text(19_000, 0.19, "the noise, 0.5²", color=c["faint"], va="top", ha="right")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="variance of a prediction", xlim=(8, 20_000))


def misspecified(c: dict[str, str]) -> None:
    grid = np.linspace(-2.2, 2.2, 100)[:, None]
    for axes, n in zip(_axes(3, (9.0, 2.7), sharey=True), (20, 200, 20_000)):
        rng = np.random.default_rng(0)
        x = rng.uniform(-2, 2, (n, 1))
        y = x[:, 0] ** 2 + rng.normal(0, 0.5, n)
        p = cr.LinearRegression().fit(x, y).predict_distribution(grid)
        z = 1.645
        for sd, alpha in ((p.sd, 0.14), (np.sqrt(p.epistemic), 0.4)):
            axes.fill_between(grid[:, 0], p.mean - z * sd, p.mean + z * sd, color=c["blue"], alpha=alpha, lw=0)
        axes.plot(grid, p.mean, color=c["blue"], lw=1.8)
        axes.plot(x[:300], y[:300], "o", ms=2.6, color=c["ink"], mec="none", alpha=0.6)
        axes.plot(grid, grid**2, color=c["green"], lw=1.4, ls=(0, (4, 2)))
        axes.set(title=f"{n:,} rows", xlabel="x", ylim=(-2, 5.5))


def actions(c: dict[str, str]) -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, 400)
    y = 50 + 4 * x + _scatter(x) * rng.normal(size=400)
    loss = cr.losses.Linear(over=1, under=9)
    line = minimize(lambda w: loss(w[0] + w[1] * x, y).sum(), [50, 4], method="Nelder-Mead").x
    grid = np.linspace(0, 10, 201)
    model = cr.LinearRegression(noise=cr.noise.Normal(_scatter(x))).fit(x[:, None], y)
    p = model.predict_distribution(grid[:, None], noise_scale=_scatter(grid))
    one = line[0] + line[1] * grid
    left, right = _axes(2, (9.0, 3.1))
    left.plot(x, y, "o", ms=2.4, color=c["ink"], mec="none", alpha=0.55)
    right.plot(grid, cr.expected_loss(p, loss, one), color=c["orange"], lw=1.8)
    right.plot(grid, cr.expected_loss(p, loss), color=c["blue"], lw=1.8)
    left.plot(grid, one, color=c["orange"], lw=1.8)
    left.plot(grid, cr.decide(p, loss), color=c["blue"], lw=1.8)
    left.text(0.2, 112, "best action at each x", color=c["blue"])
    left.text(0.2, 105, "one line of least total loss", color=c["orange"])
    left.set(xlabel="x", ylabel="demand, and what to order", xlim=(0, 10), ylim=(35, 118))
    right.set(xlabel="x", ylabel="expected loss", xlim=(0, 10), ylim=(0, None))


def _scatter(x: np.ndarray) -> np.ndarray:
    return 2 + 10 * np.exp(-np.square((x - 5) / 1.2))


def boundaries(c: dict[str, str]) -> None:
    rng = np.random.default_rng(2)
    ill = rng.random(400) < 0.3
    marker = np.where(ill, 6.0, 4.0) + rng.normal(0, 1.0, 400)
    model = cr.LogisticRegression().fit(marker[:, None], np.where(ill, "ill", "healthy"))
    grid = np.linspace(1, 9, 801)[:, None]
    p = model.predict_distribution(grid)
    axes = _axes(1, (7.2, 3.1))[0]
    axes.plot(grid, p.probabilities[:, 1], color=c["blue"], lw=1.8)
    for row, (cost, colour) in enumerate(((1, c["ink"]), (5, c["green"]), (25, c["orange"]))):
        costs = cr.losses.CostMatrix([[0, cost], [1, 0]], actions=["send home", "treat"], states=["healthy", "ill"])
        cut = grid[np.argmax(cr.decide(p, costs) == "treat"), 0]
        axes.axvline(cut, color=colour, lw=1.5, ls=(0, (4, 2)))
        axes.text(8.9, 0.42 - 0.1 * row, f"missing one costs {cost}: treat from {cut:.2f}", color=colour, ha="right")
    for value, level in ((True, 1.03), (False, -0.03)):
        axes.plot(marker[ill == value], np.full((ill == value).sum(), level), "|", color=c["faint"], ms=6, alpha=0.6)
    axes.set(xlabel="marker", ylabel="P(ill | marker)", xlim=(1, 9), ylim=(-0.07, 1.07))


def averaging(c: dict[str, str]) -> None:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (12, 1))
    y = np.sin(2.2 * x[:, 0]) + rng.normal(0, 0.3, 12)
    models = {f"degree {d}": _polynomial(d, cr.LinearRegression()) for d in (1, 2, 3, 4, 5)}
    both = cr.average(models, x, y)
    best = max(both.weights_, key=lambda name: both.weights_[name])
    grid = np.linspace(-1.6, 1.6, 161)[:, None]
    shown = [
        (f"the best alone: {best}, {both.weights_[best]:.0%}", both.estimators_[best]),
        ("all five, averaged", both),
    ]
    for axes, (title, model) in zip(_axes(2, (9.0, 3.0), sharey=True), shown):
        p = model.predict_distribution(grid)
        axes.fill_between(grid[:, 0], *p.interval(0.9), color=c["blue"], alpha=0.2, lw=0)
        axes.plot(grid, p.mean, color=c["blue"], lw=1.8)
        axes.plot(grid, np.sin(2.2 * grid), color=c["green"], lw=1.4, ls=(0, (4, 2)))
        axes.plot(x, y, "o", ms=4, color=c["ink"], mec="none")
        axes.set(title=title, xlabel="x", ylim=(-3.2, 3.2), xlim=(-1.6, 1.6))


def _polynomial(degree: int, line: Any) -> Any:
    return cr.FeaturedModel(cr.features.PolynomialFeatures(degree), line)


def proposals(c: dict[str, str]) -> None:
    """The proposals' page: one chain of a random walk for three step sizes, and its autocorrelation."""
    target = Target(lambda x: -0.5 * x[:, 0] ** 2, {"x": ()}, vectorised=True)
    figure, axes = plt.subplots(2, 3, figsize=(9.0, 4.0), sharey="row", layout="constrained")
    del figure
    for (above, below), (title, scale) in zip(axes.T, (("too narrow", 0.1), ("right", 2.4), ("too wide", 50.0))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cr.errors.ConvergenceWarning)  # two of the three deserve their warning
            kernel = RandomWalk(scale=scale, adapt=None)
            run = sample(target, kernel, draws=2000, warmup=0, rng=0, initial=[3.0], progress=False)
        above.plot(run.values["x"][0, :500], color=c["blue"], lw=0.8)
        above.set(title=f"{title}: {run.sample_stats['accepted'].mean():.0%} accepted", xlabel="draw", ylim=(-4, 4))
        lags = autocorrelation(run.values["x"], 50).mean(axis=0)
        below.axhline(0.0, color=c["faint"], lw=0.8)
        below.bar(range(len(lags)), lags, width=0.6, color=c["orange"])
        below.set(xlabel="draws apart", ylim=(-0.1, 1.05))
    axes[0, 0].set_ylabel("x")
    axes[1, 0].set_ylabel("autocorrelation")


FIGURES: dict[str, Callable[[dict[str, str]], None]] = {
    "belief": belief,
    "curve-fitting": curve_fitting,
    "ridge": ridge,
    "map": map_is_not_invariant,
    "two-parts": two_parts,
    "misspecified": misspecified,
    "actions": actions,
    "boundaries": boundaries,
    "averaging": averaging,
    "proposals": proposals,
}


def _axes(n: int, size: tuple[float, float], **options: Any) -> list[Any]:
    figure, axes = plt.subplots(1, n, figsize=size, squeeze=False, layout="constrained", **options)
    del figure
    return list(axes[0])


def _style(c: dict[str, str]) -> dict[str, Any]:
    return {
        "svg.fonttype": "none",  # text stays text: small files, and the reader's own font
        "svg.hashsalt": "credo",  # the same figure is the same bytes
        "font.size": 10, "axes.titlesize": 10, "axes.titlelocation": "left",
        "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": c["faint"], "axes.linewidth": 0.8,
        "axes.facecolor": "none", "text.color": c["ink"], "axes.labelcolor": c["ink"], "axes.titlecolor": c["ink"],
        "xtick.color": c["faint"], "ytick.color": c["faint"],
        "xtick.labelcolor": c["ink"], "ytick.labelcolor": c["ink"],
    }  # fmt: skip


def draw(name: str, dark: bool, path: Path) -> None:
    colours = DARK if dark else LIGHT
    with plt.rc_context(_style(colours)), warnings.catch_warnings():
        warnings.simplefilter("error")
        FIGURES[name](colours)
        options: dict[str, Any] = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 110}
        background = {"facecolor": "#1e1e26" if dark else "white"} if path.suffix == ".png" else {"transparent": True}
        plt.savefig(path, **options, **background)
        plt.close("all")
    if path.suffix == ".svg":  # a hundredth of a point is finer than any screen, and half the bytes
        text = re.sub(  # what is written between tags is for readers: its digits stay
            r"(>[^<]+<)|(\d+\.\d{3,})",
            lambda found: found[1] or f"{float(found[2]):.2f}".rstrip("0").rstrip("."),
            path.read_text(),
        )
        path.write_text(text)


def main(names: list[str]) -> None:
    for name in names or FIGURES:
        for dark in (False, True):
            draw(name, dark, HERE / f"{name}{'-dark' if dark else ''}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
