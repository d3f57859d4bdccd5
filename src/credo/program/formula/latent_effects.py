"""Smooths, monotone effects and latent columns as nodes: what each adds to the linear predictor.

    s(x)      Z u,  u ~ Normal(0, τ)                              (its straight part is among the fixed effects)
    mo(x)     b D Σ_{i ≤ x} ζ_i,  ζ ~ Dirichlet                   D steps; b is a step's average
    me(x, s)  b (t − x̄),  x ~ Normal(t, s),  t ~ Normal(μ, τ)     (t integrated out where y is Normal, s one number)
    mi(x, z)  b (x − x̄),  x ~ Normal(μ + (z − z̄) γ, τ), missing cells latent

Reference: Bürkner and Charpentier (2020), Modelling monotonic effects of ordinal predictors in Bayesian regression
models; Richardson and Gilks (1993), Conditional independence models for epidemiological studies with covariate
measurement error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions import Normal
from credo.program.formula.design import Design
from credo.program.formula.effects import ImputedFactor, MeasuredFactor, MonotoneFactor, SmoothFactor
from credo.program.formula.predictors import NamedModel
from credo.program.formula.priors import Priors
from credo.program.nodes import Node

__all__ = [
    "column_center",
    "declared_effects",
    "error_name",
    "imputed_name",
    "increments_name",
    "measured_name",
    "true_name",
    "ways",
]


def increments_name(text: str) -> str:
    return f"increments({text})"


def true_name(text: str) -> str:
    """The node of true values behind me(x, sd)."""
    return f"true values of {text}"


def error_name(text: str) -> str:
    """The sds of measurements."""
    return f"error of {text}"


def measured_name(text: str) -> str:
    """The observed node of measurements."""
    return f"measured {text}"


def imputed_name(text: str) -> str:
    """The observed node of a column with holes."""
    return f"values of {text}"


def column_center(effect: Any, priors: Priors) -> float:
    """What is taken off a latent column before it is multiplied: its mean where the intercept is about means."""
    return effect.center if priors.is_centred and isinstance(effect, (MeasuredFactor, ImputedFactor)) else 0.0


def declared_effects(model: NamedModel, design: Design, priors: Priors, obs: str) -> list[Node]:
    """The parts of the linear predictor; their nodes are declared."""
    found = []
    for text, effect in design.encoder.effects.items():
        if isinstance(effect, SmoothFactor):
            found += [_smooth(model, design, priors, label, obs) for label in effect.parts]
        elif isinstance(effect, MonotoneFactor):
            found.append(_monotone(model, design, priors, text, effect, obs))
        else:
            if isinstance(effect, MeasuredFactor) and model.is_normal and _is_even(design, effect):
                found.append(_integrated(model, design, priors, effect, obs))
                continue
            if isinstance(effect, MeasuredFactor):
                column = _measured(model, design, priors, effect, obs)
            else:
                column = _imputed(model, design, priors, effect, obs)
            found.append(model.latent(text, priors[text]) * (column - column_center(effect, priors)))
    return found


def _smooth(model: NamedModel, design: Design, priors: Priors, label: str, obs: str) -> Node:
    basis = f"{model.prefix}basis of {label}"
    wiggles = model.data(f"wiggles of {label}", design.latent[label], dims=(obs, basis))
    sd = model.latent(f"sd({label})", priors[f"sd({label})"])
    return wiggles @ model.latent(label, Normal(0, sd), dims=basis)


def ways(steps: int) -> np.ndarray:
    """(D + 1, D): D times the sum of the first i increments, for i = 0 … D."""
    return np.tril(np.full((steps + 1, steps), float(steps)), -1)


def _monotone(model: NamedModel, design: Design, priors: Priors, text: str, effect: MonotoneFactor, obs: str) -> Node:
    coefficient = model.latent(text, priors[text])
    codes = model.data(f"category of {text}", design.latent[text], dims=obs)
    if effect.steps == 1:
        return coefficient * codes
    increments = model.latent(increments_name(text), priors[increments_name(text)])
    return coefficient * (ways(effect.steps) @ increments)[codes]


def _belief(model: NamedModel, priors: Priors, column: str) -> tuple[Node, Node]:
    """Mean and sd of a latent column."""
    return tuple(model.latent(f"{column}: {of}", priors[f"{column}: {of}"]) for of in ("mean", "sd"))  # type: ignore[return-value]


def _measured(model: NamedModel, design: Design, priors: Priors, effect: MeasuredFactor, obs: str) -> Node:
    x, error = design.latent[effect.text], design.latent[error_name(effect.text)]
    mean, sd = _belief(model, priors, effect.column)
    true = model.latent(true_name(effect.text), Normal(mean, sd), dims=obs)
    model.observed(measured_name(effect.text), Normal(true, error), x, dims=obs)
    return true


def _is_even(design: Design, effect: MeasuredFactor) -> bool:
    """Whether all measurements have one error: then many values of the parameters are looked at together, while
    variances that differ from row to row are slower than true values in a block."""
    error = design.latent[error_name(effect.text)]
    return bool(np.all(error == error[0]))


def _integrated(model: NamedModel, design: Design, priors: Priors, effect: MeasuredFactor, obs: str) -> Node:
    """b (m − x̄), with t ~ Normal(m, v) given its measurement: b² v is added to the response's variance."""
    error = model.data(error_name(effect.text), design.latent[error_name(effect.text)][0])
    mean, sd = _belief(model, priors, effect.column)
    spread = sd**2 + error**2
    x = model.observed(measured_name(effect.text), Normal(mean, spread**0.5), design.latent[effect.text], dims=obs)
    slope = model.latent(effect.text, priors[effect.text])
    gain = sd**2 / spread
    model.variances.append(slope**2 * (gain * error**2))
    return slope * ((1.0 - gain) * mean + (gain * x - column_center(effect, priors)))


def _imputed(model: NamedModel, design: Design, priors: Priors, effect: ImputedFactor, obs: str) -> Node:
    mean, sd = _belief(model, priors, effect.column)
    if effect.given:
        names = [f"{effect.column}: {part}" for part in effect.given]
        given = model.data(f"given for {effect.text}", design.latent[f"given for {effect.text}"], dims=(obs, None))
        for i, name in enumerate(names):
            mean = mean + given[:, i] * model.latent(name, priors[name])
    return model.observed(imputed_name(effect.text), Normal(mean, sd), design.latent[effect.text], dims=obs)
