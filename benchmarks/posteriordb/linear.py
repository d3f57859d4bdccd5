"""Regressions: y ~ Normal(X β, σ), mostly with flat priors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import numbers, table

__all__ = ["POSTERIORS"]

Columns = list[np.ndarray]


def regression(y: Any, columns: Columns, intercept: bool = True, prior: Any = None, noise: Any = None) -> cr.Model:
    """Flat priors where none is named."""
    X = np.column_stack([np.ones(len(y)), *columns] if intercept else columns)
    m = cr.Model()
    x = m.data("X", X, dims=("row", "term"))
    beta = m.latent("beta", prior or cr.Flat(), dims="term")
    sigma = m.latent("sigma", noise or cr.Flat(), low=0.0)
    m.observed("y", cr.Normal(x @ beta, sigma), y, dims="row")
    return m


def standard(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / x.std(ddof=1)


def earnings(scale: Callable[..., Any], columns: Callable[[dict[str, Any]], Columns]) -> cr.Model:
    t = table("earnings.csv")
    return regression(scale(t["earn"]), columns(t))


def same(x: np.ndarray) -> np.ndarray:
    return x


def interaction_z(t: dict[str, Any]) -> Columns:
    z = standard(t["height"])
    return [z, t["male"], z * t["male"]]


def kidiq(columns: Callable[[dict[str, Any]], Columns], noise: Any = None) -> cr.Model:
    t = table("kidiq.csv")
    return regression(t["kid_score"], columns(t), noise=noise)


def iq_products(high_school: Callable[..., Any], score: Callable[..., Any]) -> Callable[[dict[str, Any]], Columns]:
    """Both predictors shifted or scaled, and their product."""

    def columns(t: dict[str, Any]) -> Columns:
        a, b = high_school(t["mom_hs"]), score(t["mom_iq"])
        return [a, b, a * b]

    return columns


def mother_at_work() -> cr.Model:
    """By when the mother went to work in the child's first three years: four groups."""
    work = table("kidiq_mom_work.csv")["mom_work"]
    return regression(table("kidiq.csv")["kid_score"], [(work == level).astype(float) for level in (2, 3, 4)])


def mesquite(columns: Callable[[dict[str, Any]], Columns], scale: Callable[..., Any] = np.log) -> cr.Model:
    t = table("mesquite.csv")
    return regression(scale(t["weight"]), columns(t))


def plain(t: dict[str, Any]) -> Columns:
    return [t[k] for k in ("diam1", "diam2", "canopy_height", "total_height", "density", "group")]


def logarithms(t: dict[str, Any]) -> Columns:
    return [*(np.log(x) for x in plain(t)[:-1]), t["group"]]


def canopy(*more: str) -> Callable[[dict[str, Any]], Columns]:
    """log volume, then of area, shape, total_height, density (logarithms) and group those named."""

    def columns(t: dict[str, Any]) -> Columns:
        made = {**t, "area": t["diam1"] * t["diam2"], "shape": t["diam1"] / t["diam2"]}
        volume = made["area"] * t["canopy_height"]
        return [np.log(volume), *(made[k] if k == "group" else np.log(made[k]) for k in more)]

    return columns


def nes(year: int) -> cr.Model:
    t = table("nes.csv.gz")
    t = {k: v[t["year"] == year] for k, v in t.items()}
    ages = [(t["age_discrete"] == level).astype(float) for level in (2, 3, 4)]
    return regression(t["partyid7"], [t["real_ideo"], t["race_adj"], *ages, t["educ1"], t["gender"], t["income"]])


def sblr(name: str) -> cr.Model:
    t = table(f"{name}.csv")
    return regression(t.pop("y"), [*t.values()], intercept=False, prior=cr.Normal(0, 10), noise=cr.HalfNormal(10))


def kilpisjarvi() -> cr.Model:
    t = numbers("kilpisjarvi_mod")
    m = cr.Model()
    alpha = m.latent("alpha", cr.Normal(t["pmualpha"].item(), t["psalpha"].item()))
    beta = m.latent("beta", cr.Normal(t["pmubeta"].item(), t["psbeta"].item()))
    sigma = m.latent("sigma", cr.Flat(), low=0.0)
    m.observed("y", cr.Normal(alpha + beta * t["x"], sigma), t["y"])
    return m


def radon(floor: np.ndarray, log_radon: np.ndarray) -> cr.Model:
    m = cr.Model()
    alpha, beta = m.latent("alpha", cr.Normal(0, 10)), m.latent("beta", cr.Normal(0, 10))
    sigma = m.latent("sigma_y", cr.HalfNormal(1))
    m.observed("y", cr.Normal(alpha + beta * floor, sigma), log_radon)
    return m


def radon_mn() -> cr.Model:
    t = table("radon_mn.csv")
    return radon(t["floor_measure"], t["log_radon"])


def radon_all() -> cr.Model:
    """Seven states and a reservation region; a floor that is not known is the 9th there."""
    t = table("radon_all.csv.gz")
    return radon(t["floor_measure"], np.log(t["activity"] + 0.1))


def sesame() -> cr.Model:
    """Whether children watched, by whether they were encouraged to: told by four counts."""
    t = table("sesame.csv")
    encouraged, watched = [], []
    for group, children, those in zip(t["encouraged"], t["children"], t["watched"], strict=True):
        encouraged += [np.full(int(children), group)]
        watched += [np.arange(children) < those]
    return regression(np.concatenate(watched).astype(float), [np.concatenate(encouraged)])


def iq(*names: str) -> Callable[[dict[str, Any]], Columns]:
    return lambda t: [t["mom_hs"] * t["mom_iq"] if name == "product" else t[name] for name in names]


POSTERIORS: dict[str, Callable[[], cr.Model]] = {
    "earnings-earn_height": lambda: earnings(same, lambda t: [t["height"]]),
    "earnings-log10earn_height": lambda: earnings(np.log10, lambda t: [t["height"]]),
    "earnings-logearn_height": lambda: earnings(np.log, lambda t: [t["height"]]),
    "earnings-logearn_height_male": lambda: earnings(np.log, lambda t: [t["height"], t["male"]]),
    "earnings-logearn_interaction": lambda: earnings(
        np.log, lambda t: [t["height"], t["male"], t["height"] * t["male"]]
    ),
    "earnings-logearn_interaction_z": lambda: earnings(np.log, interaction_z),
    "earnings-logearn_logheight_male": lambda: earnings(np.log, lambda t: [np.log(t["height"]), t["male"]]),
    "kidiq-kidscore_momhs": lambda: kidiq(iq("mom_hs"), cr.HalfCauchy(2.5)),
    "kidiq-kidscore_momiq": lambda: kidiq(iq("mom_iq"), cr.HalfCauchy(2.5)),
    "kidiq-kidscore_momhsiq": lambda: kidiq(iq("mom_hs", "mom_iq"), cr.HalfCauchy(2.5)),
    "kidiq-kidscore_interaction": lambda: kidiq(iq("mom_hs", "mom_iq", "product"), cr.HalfCauchy(2.5)),
    "kidiq_with_mom_work-kidscore_interaction_c": lambda: kidiq(
        iq_products(lambda x: x - x.mean(), lambda x: x - x.mean())
    ),
    "kidiq_with_mom_work-kidscore_interaction_c2": lambda: kidiq(iq_products(lambda x: x - 0.5, lambda x: x - 100.0)),
    "kidiq_with_mom_work-kidscore_interaction_z": lambda: kidiq(
        iq_products(lambda x: (x - x.mean()) / (2.0 * x.std(ddof=1)), lambda x: (x - x.mean()) / (2.0 * x.std(ddof=1)))
    ),
    "kidiq_with_mom_work-kidscore_mom_work": mother_at_work,
    "kilpisjarvi_mod-kilpisjarvi": kilpisjarvi,
    "mesquite-mesquite": lambda: mesquite(plain, same),
    "mesquite-logmesquite": lambda: mesquite(logarithms),
    "mesquite-logmesquite_logva": lambda: mesquite(canopy("area", "group")),
    "mesquite-logmesquite_logvas": lambda: mesquite(canopy("area", "shape", "total_height", "density", "group")),
    "mesquite-logmesquite_logvash": lambda: mesquite(canopy("area", "shape", "total_height", "group")),
    "mesquite-logmesquite_logvolume": lambda: mesquite(canopy()),
    "nes1972-nes": lambda: nes(1972),
    "nes1980-nes": lambda: nes(1980),
    "nes1988-nes": lambda: nes(1988),
    "nes1996-nes": lambda: nes(1996),
    "radon_all-radon_pooled": radon_all,
    "radon_mn-radon_pooled": radon_mn,
    "sblrc-blr": lambda: sblr("sblrc"),
    "sblri-blr": lambda: sblr("sblri"),
    "sesame_data-sesame_one_pred_a": sesame,
}
