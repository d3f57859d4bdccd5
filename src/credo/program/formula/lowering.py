"""A design and its priors → a `Model` of nodes.

    η = offset + α + (X − x̄) β + Σ_groups Σ_k x_k ∘ u_k[level] + smooths and other latent effects

with u_k ~ Normal(0, τ_k) independently for each level,

and within a correlated group term u_j = τ_j Σ_{k≤j} L_jk z_k, z ~ Normal(0, 1), with L the Cholesky factor of the
effects' correlations, made of partial correlations r_jk that are independent under LKJ(η). Ordered categories have
cut-points in place of α: with π ~ Dirichlet the categories' probabilities at the columns' means,

    c_k = F⁻¹(π₁ + … + π_k)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.distributions import Beta, Normal
from credo.program import math
from credo.program.formula.design import Design
from credo.program.formula.encoder import EncodedRows
from credo.program.formula.families import ResponseFamily, parameter_of
from credo.program.formula.groups import GroupDesign
from credo.program.formula.latent_effects import declared_effects
from credo.program.formula.predictors import NamedModel, class_prefix, parameter_prefix
from credo.program.formula.priors import Priors, correlation_name, sd_name
from credo.program.model import Model

__all__ = ["PROBABILITIES", "centers_of", "cholesky_of", "cuts_of", "data_of", "model_of", "partial_name",
           "slope_name", "slopes_of"]  # fmt: skip


#: the node of the categories' probabilities where all columns are at their means
PROBABILITIES = "category probabilities"


def centers_of(design: Design, priors: Priors) -> np.ndarray:
    """What is taken off the columns (p,): their means where the intercept's prior is about those, else 0."""
    centers = np.zeros(len(design.names))
    if priors.is_centred:
        centers[1:] = design.fixed[:, 1:].mean(axis=0)
    return centers


def slopes_of(names: tuple[str, ...], priors: Priors) -> tuple[list[int], list[int]]:
    """Places of the columns but the intercept: (those with Normal priors, which are one vector; the others)."""
    places = [i for i, name in enumerate(names) if name != "Intercept"]
    normal = [i for i in places if type(priors[names[i]]) is Normal]
    return normal, [i for i in places if i not in normal]


def slope_name(name: str) -> str:
    """The node of a coefficient whose prior is not Normal."""
    return f"coefficient of {name}"


def data_of(names: tuple[str, ...], rows: EncodedRows, priors: Priors, centers: np.ndarray) -> dict[str, np.ndarray]:
    """The values of the model's data nodes for these rows, by name."""
    normal, others = slopes_of(names, priors)
    data = {}
    if normal:
        data["X"] = np.ascontiguousarray(rows.fixed[:, normal] - centers[normal])
    for i in others:
        data[f"column {names[i]}"] = rows.fixed[:, i] - centers[i]
    for group in rows.groups:
        data[f"level of {group.name}"] = group.codes
        for k, effect in enumerate(group.effects):
            if effect != "Intercept":
                data[f"{effect} by {group.name}"] = np.ascontiguousarray(group.matrix[:, k])
    data["offset"] = rows.offset
    return data


def model_of(
    design: Design, family: ResponseFamily, priors: Priors, trials: np.ndarray | None, others: Mapping[str, Design]
) -> Model:
    """The model, its response observed; others : what parameters beside the mean depend on, by name."""
    model = Model()
    dims = _dims([design, *others.values()])
    if family.is_nominal:
        classes = map(class_prefix, design.response_levels[1:])
        eta: Any = [_predictor(NamedModel(model, prefix), design, priors, dims) for prefix in classes]
        main = None
    else:
        main = NamedModel(model, "", family.is_normal)
        eta = _predictor(main, design, priors, dims)
    own = {}
    for name in family.parameters:
        if name in others:
            below = _predictor(NamedModel(model, parameter_prefix(name)), others[name], priors, dims)
            own[name] = parameter_of(name, below)
        else:
            own[name] = model.latent(name, priors[name])
    if main is not None and main.variances:
        own["sigma"] = math.sqrt(_total([own["sigma"] ** 2, *main.variances]))
    if family.is_ordered:
        own["cuts"] = cuts_of(model.latent(PROBABILITIES, priors["cuts"]), family.link)
    n = None if trials is None else model.data("trials", trials, dims=dims[0])
    model.observed("response", family.of(eta, own, n), design.response, dims=dims[0])
    return model


def _predictor(model: NamedModel, design: Design, priors: Priors, dims: tuple[str, str]) -> Any:
    """The node of one linear predictor; dims : of rows, and of coefficients after the predictor's prefix."""
    priors, obs = priors.under(model.prefix), dims[0]
    data = data_of(design.names, design.encoded, priors, centers_of(design, priors))
    eta = _fixed(model, design.names, priors, data, (obs, model.prefix + dims[1]))
    # An intercept alone has an offset too, so that new rows can be of another number.
    if design.formula.offsets or set(data) <= {"offset"}:
        offset = model.data("offset", data["offset"], dims=obs)
        eta = offset if eta is None else eta + offset
    groups = [effect for group in design.groups for effect in _effects(model, group, priors, data, obs)]
    for effect in [*groups, *declared_effects(model, design, priors, obs)]:
        eta = effect if eta is None else eta + effect
    return eta


def cuts_of(p: Any, link: str) -> Any:
    """Cut-points (K − 1,) of a node of categories' probabilities (K,) at η = 0; each tail is summed by itself."""
    k = p.shape[-1]
    first = np.triu(np.ones((k, k - 1)))
    below, above = p @ first, p @ (1.0 - first)
    if link == "logit":
        return math.log(below) - math.log(above)
    return math.ndtri(below) if link == "probit" else math.log(-math.log(above))


def _dims(designs: Sequence[Design]) -> tuple[str, str]:
    """Names of the axes of rows and of coefficients that no group has."""
    taken = {group.name for design in designs for group in design.groups}
    found = []
    for name in ("obs", "coefficient"):
        while name in taken:
            name += "_"
        found.append(name)
    return found[0], found[1]


def _fixed(
    model: NamedModel, names: tuple[str, ...], priors: Priors, data: dict[str, np.ndarray], dims: tuple[str, str]
) -> Any:
    """α + (X − x̄) β, or None where there is nothing of it."""
    normal, others = slopes_of(names, priors)
    parts = []
    if "Intercept" in names and "Intercept" in priors:
        parts.append(model.latent("Intercept", priors["Intercept"]))
    if normal:
        X = model.data("X", data["X"], dims=dims)
        means, sds = (np.array([float(getattr(priors[names[i]], of)) for i in normal]) for of in ("mean", "sd"))
        parts.append(X @ model.latent("coefficients", Normal(means, sds), dims=dims[1]))
    for i in others:
        column = model.data(f"column {names[i]}", data[f"column {names[i]}"], dims=dims[0])
        parts.append(column * model.latent(slope_name(names[i]), priors[names[i]]))
    return _total(parts)


def _total(parts: list[Any]) -> Any:
    total = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _effects(model: NamedModel, group: GroupDesign, priors: Priors, data: dict[str, np.ndarray], obs: str) -> list[Any]:
    """x_k ∘ u_k[level] of each effect."""
    level = model.level_of(group.name, len(group.levels), data[f"level of {group.name}"], obs)
    sds = [model.latent(sd_name(effect, group), priors[sd_name(effect, group)]) for effect in group.effects]
    # Each row picks its level before anything is multiplied: a prediction of few rows is then a matter of few numbers.
    if group.correlated and len(group.effects) > 1:
        z = [model.latent(f"z({e} | {group.name})", Normal(0, 1), dims=group.name)[level] for e in group.effects]
        L = cholesky_of(_partial_correlations(model, group, priors[correlation_name(group)]))
        rows = [_total([(sd * L[j][k]) * z[k] for k in range(j + 1)]) for j, sd in enumerate(sds)]
    else:
        rows = [
            model.latent(f"{effect} | {group.name}", Normal(0, sd), dims=group.name)[level]
            for effect, sd in zip(group.effects, sds)
        ]
    found = []
    for effect, u in zip(group.effects, rows):
        if effect != "Intercept":
            column = f"{effect} by {group.name}"
            u = u * model.data(column, data[column], dims=obs)
        found.append(u)
    return found


def partial_name(group: str, j: int, k: int) -> str:
    """The node of (1 + r_jk)/2, k < j counted from 0."""
    return f"partial {j + 1},{k + 1} of cor({group})"


def _partial_correlations(model: NamedModel, group: GroupDesign, eta: float) -> list[list[Any]]:
    """r_jk, k < j: 2 Beta(b, b) − 1 with b = η + (q − 2 − k)/2, the C-vine of LKJ(η) for q effects."""
    q = len(group.effects)
    rows: list[list[Any]] = []
    for j in range(q):
        row = []
        for k in range(j):
            b = eta + (q - 2 - k) / 2.0
            row.append(2.0 * model.latent(partial_name(group.name, j, k), Beta(b, b)) - 1.0)
        rows.append(row)
    return rows


def cholesky_of(partial: list[list[Any]]) -> list[list[Any]]:
    """The Cholesky factor L of the correlations, of nodes or arrays: L_jk = r_jk Π_{l<k} √(1 − r_jl²)."""
    rows: list[list[Any]] = []
    for r in partial:
        left: Any = 1.0
        row = []
        for value in r:
            row.append(value * left)
            left = left * (1.0 - value * value) ** 0.5
        rows.append([*row, left])
    return rows
