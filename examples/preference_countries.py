"""Where would you like to go? Ratings of a few countries by position, the whole map predicted, the next one asked.

A traveller (simulated here, so that the answer can be checked) rates countries from 0 to 10. Utility is a Gaussian
process on the globe. After six ratings and two duels the model predicts every country, and asks for the one it is least
sure of; eleven more answers later it knows the traveller's taste. An answer given by mistake is taken back.

    python examples/preference_countries.py [picture.png]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

import credo as cr
from credo.models.preference import most_informative_duel, most_uncertain_item

DATA = Path(__file__).parent / "data" / "country_centroids.csv"


def on_globe(latitude: Any, longitude: Any) -> np.ndarray:
    """Points of the unit sphere (n, 3): the date line is no edge, and meridians meet."""
    north, east = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)


def taste(X: np.ndarray) -> np.ndarray:
    """What the traveller feels, 0 to 10: the Mediterranean best, Japan well, far from both little."""
    near = [(39.0, 12.0, 9.0, 0.45), (36.0, 138.0, 7.0, 0.35)]
    parts = [height * np.exp(np.square(X - on_globe(a, b)).sum(axis=1) / (-2.0 * w * w)) for a, b, height, w in near]
    return np.sum(parts, axis=0)


def read() -> tuple[list[str], np.ndarray]:
    with DATA.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    where = np.array([[float(row["latitude"]), float(row["longitude"])] for row in rows])
    return [row["country"] for row in rows], where


def main(picture: str | None = None) -> None:
    names, where = read()
    X = on_globe(*where.T)
    truth = dict(zip(names, taste(X), strict=True))
    rng = np.random.default_rng(4)

    def rated(history: cr.Preferences, country: str) -> cr.Preferences:
        return history.with_rating(country, round(truth[country] + 0.3 * rng.normal(), 1))

    history = cr.Preferences(names)
    for country in ("France", "Italy", "Japan", "Norway", "Brazil", "India"):
        history = rated(history, country)
    history = history.with_duel("Greece", "Poland").with_duel("South Korea", "Mongolia")

    # Tastes change over some 0.5 of the earth's radius, 3,000 km, within a factor of two.
    lengthscale = cr.LogNormal(np.log(0.5), np.log(2.0))
    model = cr.PreferenceGP(1.0 * cr.kernels.RBF(0.5, priors={"lengthscale": lengthscale}), link="probit")

    def error(fitted: cr.PreferenceGP) -> float:
        return float(np.sqrt(np.mean((fitted.predict_rating().mean - [truth[c] for c in names]) ** 2)))

    first = model.fit(history, X)
    before, sd_before = error(first), first.predict_rating().sd.max()
    print(
        f"{len(history)} answers: the map is off by {before:.2f} points, the least known country by ± {sd_before:.2f}"
    )
    print(f"a duel would tell most between {' and '.join(most_informative_duel(first))}")

    asked = []
    while len(asked) < 11:
        country = most_uncertain_item(model)
        asked.append(country)
        history = rated(history, country)
        model = model.fit(history, X)
    after, sd_after = error(model), model.predict_rating().sd.max()
    print(f"asked: {', '.join(asked)}")
    print(f"{len(history)} answers: off by {after:.2f} points, the least known by ± {sd_after:.2f}")

    slip = history.with_rating("Spain", 0.0)  # meant 10
    slipped = cr.PreferenceGP(model.kernel, link="probit").fit(slip, X)
    undone = cr.PreferenceGP(model.kernel, link="probit").fit(slip.undo(), X)

    ranking = model.ranking(random_state=0)
    print("best:", ", ".join(f"{c} ({p:.0%})" for c, p in zip(ranking.items[:5], ranking.best[:5], strict=True)))
    duel = model.duel("Italy", "Japan")
    low, high = duel.interval(0.9)
    print(f"P(Italy ≻ Japan) = {duel.win:.2f}, 90 % sure it is between {low:.2f} and {high:.2f}")

    assert len(names) == 65
    assert len(set(asked)) == 11, "each answer makes its country known"
    assert after < 0.6 * before
    assert sd_after < sd_before
    assert np.corrcoef(model.predict(), [truth[c] for c in names])[0, 1] > 0.95
    assert set(ranking.items[:6]) & {"Italy", "Greece", "Tunisia"}
    assert duel.win > 0.5
    assert slipped.predict("Spain") < undone.predict("Spain")
    assert np.array_equal(undone.predict(), model.predict()), "the same history, the same belief"
    if picture:
        draw(model, where, [names.index(c) for c in asked], picture)


def draw(model: cr.PreferenceGP, where: np.ndarray, asked: list[int], path: str) -> None:
    """Mean and sd of the next rating on the map; circles are countries, filled where they were asked for."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    east, north = np.meshgrid(np.linspace(-180, 180, 121), np.linspace(-60, 80, 71))
    p = model.predict_rating(on_globe(north.ravel(), east.ravel()))
    figure, axes = plt.subplots(2, 1, figsize=(8, 7), sharex=True, sharey=True, layout="constrained")
    for axis, values, title in ((axes[0], p.mean, "rating predicted"), (axes[1], np.sqrt(p.epistemic), "± sd of it")):
        shown = axis.pcolormesh(east, north, values.reshape(east.shape), shading="auto", rasterized=True)
        figure.colorbar(shown, ax=axis)
        axis.plot(where[:, 1], where[:, 0], "o", ms=4, mfc="none", mec="white")
        axis.plot(where[asked, 1], where[asked, 0], "o", ms=4, color="white")
        axis.set(title=title, ylabel="latitude")
    axes[1].set_xlabel("longitude")
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
