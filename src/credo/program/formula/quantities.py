"""What a regression's draws say, in the user's coordinates: coefficients, groups, cut-points."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from credo.program.formula.effects import MonotoneFactor, SmoothFactor
from credo.program.formula.encoder import RowEncoder
from credo.program.formula.latent_effects import column_center, error_name, increments_name, measured_name
from credo.program.formula.lowering import PROBABILITIES, cholesky_of, partial_name, slope_name, slopes_of
from credo.program.formula.predictors import Part, parts_of
from credo.program.predict import kept_draws, laws

if TYPE_CHECKING:
    from credo.program.formula.regress import Regression

__all__ = ["correlated_effects", "cut_names", "group_draws", "group_terms", "true_values", "named_draws", "raw_cuts"]

Values = Mapping[str, np.ndarray]


def named_draws(fit: Regression) -> dict[str, np.ndarray]:
    """See `Regression.draws`."""
    found, values = {}, fit.posterior.values
    shifts = []
    for part in parts_of(fit):
        own, shift = _of_part(part)
        shifts.append(shift)
        found |= {part.prefix + name: value for name, value in own.items()}
    found |= {name: values[name] for name in fit.of_family.parameters if name in values}
    if fit.of_family.is_ordered:
        cuts = raw_cuts(values, fit.of_family.link) + np.asarray(shifts[0])[..., None]
        found |= {name: cuts[..., k] for k, name in enumerate(cut_names(fit.encoder.response_levels))}
    return found


def _of_part(part: Part) -> tuple[dict[str, np.ndarray], Any]:
    """(draws by name of one linear predictor, what centring took out of it)."""
    values = part.values
    found = _coefficients(part, values)
    shift = _shift(part, found)
    if "Intercept" in found:
        found["Intercept"] = found["Intercept"] - shift
    for text, effect in part.encoder.effects.items():
        found |= _of_effect(text, effect, values)
    for name, effects, correlated in group_terms(part.encoder):
        found |= {f"sd({e} | {name})": values[f"sd({e} | {name})"] for e in effects}
        if correlated:
            found |= _correlations(values, name, effects)
    return found, shift


def true_values(fit: Regression, text: str, column: str) -> np.ndarray:
    """Draws of the true values behind me(x, sd) where the fit integrated them out, (chains, draws, rows).

    Given its measurement t ~ Normal(m, v), and with y ~ Normal(η, s) marginally, t and y have the covariance b v:
    t | y ~ Normal(m + b v (y − η)/s², v − (b v)²/s²). Where rows are so many that not all draws are used, they are one
    chain.
    """
    posterior = fit.posterior
    assert posterior.model is not None
    nodes = posterior.model.nodes
    law: Any = laws(posterior, "response", "error", 0, {}).law
    y = np.asarray(nodes["response"].value)
    y, center, spread = (np.log(y), law.mu, law.sigma) if fit.family == "lognormal" else (y, law.mean, law.sd)
    at = kept_draws(len(posterior), len(y))
    b, mean, sd = (posterior[name][at][:, None] for name in (text, f"{column}: mean", f"{column}: sd"))
    error, x = float(nodes[error_name(text)].value), np.asarray(nodes[measured_name(text)].value)  # type: ignore[arg-type]
    gain = sd**2 / (sd**2 + error**2)
    v = gain * error**2
    middle = mean + gain * (x - mean) + b * v * (y - center) / spread**2
    noise = np.random.default_rng(0).standard_normal(middle.shape)
    found = middle + np.sqrt(np.maximum(v - (b * v / spread) ** 2, 0.0)) * noise
    chains = posterior.values[text].shape[0] if len(at) == len(posterior) else 1
    return found.reshape(chains, -1, len(y))


def group_draws(fit: Regression, group: str) -> dict[str, np.ndarray]:
    """Draws of the effects of a group's levels, of all linear predictors: effect → (chains, draws, levels)."""
    found: dict[str, np.ndarray] = {}
    for part in parts_of(fit):
        values, own = part.values, {}
        for name, effects, correlated in group_terms(part.encoder):
            if name == group and correlated:
                own |= correlated_effects(values, name, effects, [values[f"z({e} | {name})"] for e in effects])
            elif name == group:
                own |= {e: values[f"{e} | {name}"] for e in effects}
        found |= {part.prefix + effect: value for effect, value in own.items()}
    return found


def cut_names(levels: tuple[str, ...]) -> list[str]:
    """Of the cut-points, each by the two categories it parts."""
    return [f"cut({a} | {b})" for a, b in pairwise(levels)]


def raw_cuts(values: Values, link: str) -> np.ndarray:
    """Cut-points (…, K − 1) where the linear predictor has its centre."""
    p = values[PROBABILITIES]
    below, above = np.cumsum(p, axis=-1)[..., :-1], np.cumsum(p[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    if link == "logit":
        return np.log(below) - np.log(above)
    return special.ndtri(below) if link == "probit" else np.log(-np.log(above))


def _coefficients(part: Part, values: Values) -> dict[str, np.ndarray]:
    """Of the fixed effects' columns, in their order, the intercept as it was fitted; then of latent columns."""
    names = part.encoder.names
    normal, others = slopes_of(names, part.priors)
    found = {names[i]: values["coefficients"][..., at] for at, i in enumerate(normal)}
    found |= {names[i]: values[slope_name(names[i])] for i in others}
    if "Intercept" in part.priors:
        found["Intercept"] = values["Intercept"]
    found = {name: found[name] for name in names if name in found}
    latent = {text for text, effect in part.encoder.effects.items() if not isinstance(effect, SmoothFactor)}
    return found | {text: values[text] for text in part.encoder.effects if text in latent}


def _shift(part: Part, found: Values) -> Any:
    """The linear predictor that centring took out."""
    terms: list[Any] = [c * found[name] for name, c in zip(part.encoder.names, part.centers) if c]
    for text, effect in part.encoder.effects.items():
        center = column_center(effect, part.priors)
        if center:
            terms.append(center * found[text])
    return sum(terms) if terms else 0.0


def _of_effect(text: str, effect: Any, values: Values) -> dict[str, np.ndarray]:
    if isinstance(effect, SmoothFactor):
        return {f"sd({label})": values[f"sd({label})"] for label in effect.parts}
    if isinstance(effect, MonotoneFactor):
        if effect.steps == 1:
            return {}
        shares, levels = values[increments_name(text)], effect.category.levels
        return {f"{text}: {a} → {b}": shares[..., i] for i, (a, b) in enumerate(pairwise(levels))}
    names = [f"{effect.column}: {of}" for of in ("mean", *getattr(effect, "given", ()), "sd")]
    return {name: values[name] for name in names}


def group_terms(encoder: RowEncoder) -> list[tuple[str, tuple[str, ...], bool]]:
    """(name, effects, whether they are correlated) of each group term."""
    terms = zip(encoder.formula.groups, encoder.group_effects)
    return [(term.label, effects, term.correlated and len(effects) > 1) for term, effects in terms]


def _partial(values: Values, group: str, q: int) -> list[list[Any]]:
    return [[2.0 * values[partial_name(group, j, k)] - 1.0 for k in range(j)] for j in range(q)]


def correlated_effects(values: Values, group: str, effects: tuple[str, ...], z: Any) -> dict[str, np.ndarray]:
    """u_j = τ_j Σ_k L_jk z_k of standard effects z (q arrays (…, levels))."""
    L = cholesky_of(_partial(values, group, len(effects)))
    found = {}
    for j, effect in enumerate(effects):
        sd = values[f"sd({effect} | {group})"]
        found[effect] = np.sum([np.asarray(sd * L[j][k])[..., None] * z[k] for k in range(j + 1)], axis=0)
    return found


def _correlations(values: Values, group: str, effects: tuple[str, ...]) -> dict[str, np.ndarray]:
    L = cholesky_of(_partial(values, group, len(effects)))
    pairs = [(j, k) for j in range(len(effects)) for k in range(j)]
    return {
        f"cor({effects[k]}, {effects[j]} | {group})": np.sum([L[j][i] * L[k][i] for i in range(k + 1)], axis=0)
        for j, k in pairs
    }
