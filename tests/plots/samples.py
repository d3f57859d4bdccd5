"""One of every figure, with an awkward name or two."""

from __future__ import annotations

import functools

import numpy as np

import credo as cr
from credo import diagnostics, plots
from credo.diagnostics.sbc import Calibration, rank_calibration
from credo.inference.draws import Draws
from credo.inference.result import Result
from credo.prediction.classes import ClassPredictive
from credo.selection.comparison import Comparison, ComparisonRow


@functools.cache
def rows() -> tuple[np.ndarray, np.ndarray, cr.LinearRegression]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, -0.5, 0.02] + 0.5 * rng.normal(size=200)
    return X, y, cr.LinearRegression().fit(X, y)


@functools.cache
def classes() -> tuple[ClassPredictive, np.ndarray]:
    rng = np.random.default_rng(1)
    p = rng.beta(0.7, 1.2, 300)
    y = np.where(rng.random(300) < p, "yes", "no")
    return ClassPredictive(np.column_stack([1 - p, p]), ["no", "yes"], np.zeros(300)), y


def comparison() -> Comparison:
    names = ("interactions", "linear", "squares", "baseline")
    found = [
        ComparisonRow(name, -7.0 + d, 0.04, d, e, -100.0 + 10 * d, rank, 0.1)
        for name, d, e, rank in zip(names, (0.0, -0.011, -0.023, -1.02), (0.0, 0.017, 0.015, 0.04), (30, 10, 20, 0))
    ]
    return Comparison(tuple(found), {}, {}, "5 shuffled folds", ("log",), 200, 200, {}, {})


def draws() -> Draws:
    rng = np.random.default_rng(2)
    w = rng.normal(size=(4, 400, 2))
    stats = {"energy": np.square(w).sum(axis=-1) + rng.gamma(2.0, size=(4, 400)), "divergent": w[..., 0] > 2.8}
    return Draws({"w": w}, Result("converged", "nuts"), stats)


def calibration() -> Calibration:
    rng = np.random.default_rng(3)
    ranks = {"w": rng.integers(0, 20, 300), "narrow": np.where(rng.random(300) < 0.3, 0, rng.integers(0, 20, 300))}
    return rank_calibration(ranks, 19, 0.01, rng)


def network() -> cr.BayesianNetwork:
    wet = "<wet> & cold, as it was seen"
    return cr.BayesianNetwork(
        [("rain", wet)], {"rain": {"no": 0.8, "yes": 0.2}, wet: {"no": {0: 0.9, 1: 0.1}, "yes": {0: 0.2, 1: 0.8}}}
    )


@functools.cache
def figures() -> dict[str, plots.Figure]:
    X, y, model = rows()
    p = model.predict_distribution(X)
    grid = np.linspace(-3, 3, 41)
    along = model.predict_distribution(np.column_stack([grid, np.zeros((41, 2))]))
    levels = model.predict_distribution(np.eye(3))
    forecast, outcome = classes()
    names = ["$x_1$ <b>", "a name that goes on and on, to its end (mm)", "z"]
    summary = dict(zip(names, list(model.posterior_.summary(0.9).values())[1:]))
    table = np.column_stack([np.linspace(0.1, 0.7, 41), np.linspace(0.5, 0.2, 41)])
    three = ClassPredictive(np.column_stack([table, 1.0 - table.sum(axis=1)]), ["a", "b", "c"], np.zeros(41))
    sizes = [10, 30, 100, 300, 1000]
    scores = {
        name: [[-level - 3 / n, -level - 3.5 / n] for n in sizes] for name, level in (("line", 1.2), ("curve", 1.0))
    }
    chains = draws()
    return {
        "forest": plots.forest(summary, unit="kg for a step of the column"),
        "tornado": plots.tornado(network().sensitivity("rain", "yes", {"<wet> & cold, as it was seen": 1})),
        "posterior": plots.posterior_density(cr.Gamma(shape=3.0, rate=2.0), "rate"),
        "posterior-draws": plots.posterior_density(chains["w"][:, 0], "w[0]"),
        "band": plots.predictive_band(grid, along, column="flipper_length_mm", outcome="weight", rows=(X[:, 0], y)),
        "band-levels": plots.predictive_band(np.array(["Adelie", "Gentoo", "Chinstrap"]), levels, outcome="weight"),
        "classes": plots.class_probabilities(grid, three, column="age"),
        "classes-levels": plots.class_probabilities(np.array(["a", "b"]), forecast[:2], outcome="rain"),
        "share": plots.uncertainty_share(grid, along, X[:, 0], column="age"),
        "share-levels": plots.uncertainty_share(np.array(["a", "b", "c"]), levels, np.array(["a"] * 40 + ["b"] * 3)),
        "reliability": plots.reliability(diagnostics.reliability(forecast, outcome)),
        "pit": plots.pit(diagnostics.pit(p, y)),
        "coverage": plots.coverage(diagnostics.coverage(p, y)),
        "residuals": plots.residuals(p.mean, y - p.mean),
        "quantiles": plots.normal_quantiles(diagnostics.pit(p, y).values),
        "autocorrelation": plots.autocorrelation(y - p.mean),
        "comparison": plots.comparison(comparison()),
        "expected-loss": plots.expected_loss(p, cr.losses.Linear(over=1, under=9), row=3, action="price to state"),
        "net-benefit": plots.net_benefit(forecast, outcome),
        "rejection": plots.rejection(cr.coverage_risk(forecast, outcome, cr.losses.ZeroOne()), "share of mistakes"),
        "learning": plots.learning_curve(sizes, scores),
        "trace": plots.trace(chains, "w", 0),
        "ranks": plots.ranks(chains, "w", 0),
        "lags": plots.chain_lags(chains, "w", 0),
        "energy": plots.energy(chains),
        "pair": plots.pair(chains, ("w", 0), ("w", 1)),
        "calibration": plots.calibration(calibration()),
    }
