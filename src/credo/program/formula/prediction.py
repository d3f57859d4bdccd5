"""The response of new rows: the linear predictor at each draw, then the family's law."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from credo.distributions.support import REAL
from credo.errors import DataError
from credo.numerics.random import as_generator
from credo.program.formula.effects import ImputedFactor, MeasuredFactor, MonotoneFactor, SmoothFactor
from credo.program.formula.encoder import EncodedRows
from credo.program.formula.families import parameter_of
from credo.program.formula.groups import GroupDesign
from credo.program.formula.latent_effects import column_center, increments_name, ways
from credo.program.formula.lowering import PROBABILITIES, cuts_of, slope_name, slopes_of
from credo.program.formula.predictors import Part
from credo.program.formula.quantities import correlated_effects
from credo.program.forward import law_at
from credo.program.nodes import Node
from credo.program.predict import Laws, check_new_levels, kept_draws

if TYPE_CHECKING:
    from credo.program.formula.regress import Regression

__all__ = ["response_laws"]


def response_laws(
    fit: Regression, rows: EncodedRows, trials: np.ndarray | None, new_levels: str, random_state: Any,
    draws: int | None = None,
) -> Laws:  # fmt: skip
    """The law of the response in these rows at each draw of the fit (at most `draws` of them)."""
    check_new_levels(new_levels)
    if new_levels == "error":
        _refuse_new([group for own in (rows, *rows.others) for group in own.groups])
    rng = as_generator(random_state, "prediction")
    n = len(rows.rows)
    values = _Values(fit.posterior.values, n * max(len(fit.encoder.response_levels), 1), draws)
    made = [Part(p, fit.priors.under(p.prefix), values.under(p.prefix)) for p in fit.predictors]
    parts = list(zip(made, [*[rows] * (len(made) - len(rows.others)), *rows.others]))  # classes share their columns
    # Groups first, so that levels to come have the same effects in whichever rows they are asked for.
    groups = [sum((_of_group(part.values, group, new_levels, rng) for group in own.groups), 0.0) for part, own in parts]
    eta = [_linear_predictor(part, own, group, rng) for (part, own), group in zip(parts, groups)]
    return Laws(_law(fit, values, eta, trials), (n,), len(eta[0]), rng, fit.classes)


class _Values(Mapping[str, np.ndarray]):
    """Draws by node, (S, …), fewer of them where they would fill too many cells."""

    def __init__(self, values: Mapping[str, np.ndarray], cells: int, most: int | None = None) -> None:
        self.values_, (chains, draws) = values, next(iter(values.values())).shape[:2]
        self.at, self.prefix = kept_draws(chains * draws, cells, most), ""

    def under(self, prefix: str) -> _Values:
        """By names without a prefix."""
        found = copy(self)
        found.prefix = prefix
        return found

    def __getitem__(self, name: str) -> np.ndarray:
        value = self.values_[self.prefix + name]
        return value.reshape(-1, *value.shape[2:])[self.at]

    def __iter__(self) -> Any:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)

    def picked(self, name: str, places: np.ndarray) -> np.ndarray:
        """(S, places) along the last axis."""
        value = self.values_[self.prefix + name]
        return value.reshape(-1, value.shape[-1])[self.at[:, None], places]


def _linear_predictor(fit: Part, rows: EncodedRows, groups: Any, rng: np.random.Generator) -> np.ndarray:
    """η of each draw and row (S, n), from what groups add to it."""
    names, values = fit.encoder.names, cast("_Values", fit.values)
    normal, others = slopes_of(names, fit.priors)
    eta = np.zeros((len(values.at), 1)) + rows.offset + groups
    if "Intercept" in fit.priors:
        eta += values["Intercept"][:, None]
    if normal:
        eta += values["coefficients"] @ (rows.fixed[:, normal] - fit.centers[normal]).T
    for i in others:
        eta += values[slope_name(names[i])][:, None] * (rows.fixed[:, i] - fit.centers[i])
    for text, effect in fit.encoder.effects.items():
        eta += _of_effect(fit, values, rows, text, effect, rng)
    return eta


def _of_effect(
    fit: Part, values: Any, rows: EncodedRows, text: str, effect: Any, rng: np.random.Generator
) -> np.ndarray:
    if isinstance(effect, SmoothFactor):
        return np.sum([values[label] @ rows.latent[label].T for label in effect.parts], axis=0)
    coefficient = values[text][:, None]
    if isinstance(effect, MonotoneFactor):
        if effect.steps == 1:
            return coefficient * rows.latent[text]
        return coefficient * (values[increments_name(text)] @ ways(effect.steps).T)[:, rows.latent[text]]
    column = (
        _true(values, rows, effect, rng) if isinstance(effect, MeasuredFactor) else _whole(values, rows, effect, rng)
    )
    return coefficient * (column - column_center(effect, fit.priors))


def _true(values: Any, rows: EncodedRows, effect: MeasuredFactor, rng: np.random.Generator) -> np.ndarray:
    """Draws of true values given their measurements alone (S, n): both laws are Normal."""
    x, precision = rows.latent[effect.text], rows.latent[f"error of {effect.text}"] ** -2
    mean, own = values[f"{effect.column}: mean"][:, None], values[f"{effect.column}: sd"][:, None] ** -2
    total = own + precision
    return (own * mean + precision * x) / total + rng.standard_normal(total.shape) / np.sqrt(total)


def _whole(values: Any, rows: EncodedRows, effect: ImputedFactor, rng: np.random.Generator) -> np.ndarray:
    """A column with its missing cells drawn (S, n)."""
    x = rows.latent[effect.text]
    column = np.broadcast_to(x, (len(values.at), len(x))).copy()
    missing = np.flatnonzero(np.isnan(x))
    if missing.size:
        mean = values[f"{effect.column}: mean"][:, None]
        for i, part in enumerate(effect.given):
            mean = (
                mean + values[f"{effect.column}: {part}"][:, None] * rows.latent[f"given for {effect.text}"][missing, i]
            )
        noise = rng.standard_normal((len(column), missing.size))
        column[:, missing] = mean + values[f"{effect.column}: sd"][:, None] * noise
    return column


def _of_group(values: Any, group: GroupDesign, new_levels: str, rng: np.random.Generator) -> np.ndarray:
    """Σ_k x_k u_k[level] (S, n)."""
    known = len(group.levels)
    levels, at = np.unique(group.codes, return_inverse=True)
    old = levels[levels < known]
    size, new = len(values.at), len(group.unseen)
    correlated = group.correlated and len(group.effects) > 1
    z = []
    for effect in group.effects:
        name = f"z({effect} | {group.name})" if correlated else f"{effect} | {group.name}"
        fresh = rng.standard_normal((size, new)) if new_levels == "sample" else np.zeros((size, new))
        if not correlated:
            fresh = fresh * values[f"sd({effect} | {group.name})"][:, None]
        z.append(np.concatenate([values.picked(name, old), fresh[:, levels[levels >= known] - known]], axis=1))
    u = correlated_effects(values, group.name, group.effects, z) if correlated else dict(zip(group.effects, z))
    return np.sum([u[effect][:, at] * column for effect, column in zip(group.effects, group.matrix.T)], axis=0)


def _law(fit: Regression, values: Any, eta: list[np.ndarray], trials: np.ndarray | None) -> Any:
    """The law of each draw and row; eta : of each linear predictor."""
    family = fit.of_family

    def node(name: str, value: np.ndarray) -> Node:
        made = Node(
            "latent", shape=value.shape[1:], dims=(None,) * (value.ndim - 1), name=name, static={"support": REAL}
        )
        inputs[made.number], nodes[made.number] = value, made
        return made

    inputs: dict[int, np.ndarray] = {}
    nodes: dict[int, Node] = {}
    below = {p.target: node(f"eta of {p.prefix}", value) for p, value in zip(fit.predictors, eta)}
    own: dict[str, Any] = {name: parameter_of(name, below[name]) if name in below else node(name, values[name])
                           for name in family.parameters}  # fmt: skip
    if family.is_ordered:
        own["cuts"] = cuts_of(node(PROBABILITIES, values[PROBABILITIES]), family.link)
    at: Any = list(below.values()) if family.is_nominal else below[""]
    return law_at(family.of(at, own, trials), inputs, nodes, len(eta[0]), 1)


def _refuse_new(groups: Any) -> None:
    for group in groups:
        if group.unseen:
            raise DataError(
                f"Group {group.name} has levels that the fit never met: {', '.join(map(repr, group.unseen[:5]))}.",
                rows=np.flatnonzero(group.is_new)[:20].tolist(),
                value=group.unseen,
                remedy='new_levels="sample" draws their effects (on the command line, --new-levels sample).',
            )
