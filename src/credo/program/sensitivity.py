"""How far the conclusions rest on the priors: power-scaling, and the scales of hyper-priors times or over ten."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.diagnostics.psis import psis
from credo.diagnostics.sensitivity import Sensitivity, power_scaling_sensitivity
from credo.distributions.base import Family, is_concrete
from credo.errors import UnavailableError
from credo.program.evaluate import Program
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.prepare import prepared

if TYPE_CHECKING:
    from credo.program.posterior import ModelPosterior

__all__ = ["HyperPriorSensitivity", "hyper_prior_sensitivity", "power_scaling"]

#: parameter that a family scales with, +1, or inversely, −1
_SCALES = {"HalfNormal": ("scale", 1), "HalfCauchy": ("scale", 1), "Exponential": ("rate", -1), "Gamma": ("rate", -1),
           "InverseGamma": ("scale", 1), "LogNormal": ("mu", 0)}  # fmt: skip
# Movements below this share of an sd are said not to matter.
SMALL = 0.1


@dataclass(frozen=True)
class HyperPriorSensitivity:
    """How far posterior means move when one hyper-prior's scale is multiplied by `factor`.

    moves : (hyperparameter, factor) → entry → movement in its own posterior sds, those beyond a tenth of the largest
    refitted : pairs for which reweighting the draws was not reliable, so that the model was fitted again
    """

    moves: dict[tuple[str, float], dict[str, float]]
    refitted: tuple[tuple[str, float], ...]

    @property
    def largest(self) -> tuple[str, tuple[str, float], float]:
        """(entry, (hyperparameter, factor), movement) of the greatest movement."""
        return max(
            ((entry, pair, move) for pair, found in self.moves.items() for entry, move in found.items()),
            key=lambda each: abs(each[2]),
        )

    def __str__(self) -> str:
        entry, (name, factor), move = self.largest
        scale = f"×{factor:g}" if factor >= 1 else f"÷{1 / factor:g}"
        if abs(move) < SMALL:
            return (f"Nothing moves by more than {SMALL:g} sd when a hyper-prior's scale is multiplied or divided "
                    f"(at most {abs(move):.2g} sd: {entry}, {name} {scale}).")  # fmt: skip
        return f"{entry} moves by {move:+.2g} of its sds when the scale of {name}'s prior is {scale}."


def hyper_prior_sensitivity(
    posterior: ModelPosterior, factors: tuple[float, ...] = (10.0, 0.1)
) -> HyperPriorSensitivity:
    """See `ModelPosterior.hyper_prior_sensitivity`."""
    model = posterior.model
    if model is None:
        raise UnavailableError("This posterior came without its model.")
    entries = _entries(posterior.values)
    moves: dict[tuple[str, float], dict[str, float]] = {}
    refitted = []
    for node in model.latents:
        scaled = {factor: _scaled(node.law, factor) for factor in factors}  # type: ignore[arg-type]
        for factor, law in scaled.items():
            if law is None:
                continue
            pair = (str(node.name), float(factor))
            x = posterior[str(node.name)]
            own: Any = node.law
            ratio = np.asarray(law.log_prob(x) - own.log_prob(x)).reshape(len(x), -1).sum(axis=1)  # type: ignore[attr-defined]
            weighed = psis(ratio)
            if weighed.reliable:
                mean = _weighted_means(posterior.values, np.exp(weighed.log_weights))
            else:
                mean = _refitted(posterior, node, law)
                refitted.append(pair)
            moves[pair] = {k: float((mean[k] - m) / s) for k, (m, s) in entries.items() if s > 0.0}
    if not moves:
        raise UnavailableError("No latent node has a prior whose scale is a number: HalfNormal, HalfCauchy, Gamma, "
                               "Exponential, InverseGamma or LogNormal.")  # fmt: skip
    return HyperPriorSensitivity(moves, tuple(refitted))


def _scaled(law: Family, factor: float) -> Family | None:
    """The law of factor × X."""
    known = _SCALES.get(type(law).__name__)
    if known is None or not all(is_concrete(v) for v in law.parameters.values()):
        return None
    name, sign = known
    value = np.asarray(law.parameters[name], dtype=np.float64)
    value = value + np.log(factor) if sign == 0 else value * factor**sign
    return type(law)(**{**law.parameters, name: value[()]})


def _entries(values: Mapping[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    found = {}
    for name, value in values.items():
        flat = value.reshape(-1, *value.shape[2:])
        for at in np.ndindex(*value.shape[2:]):
            column = flat[(slice(None), *at)]
            label = name + (f"[{','.join(map(str, at))}]" if at else "")
            found[label] = (float(column.mean()), float(column.std(ddof=1)))
    return found


def _weighted_means(values: Mapping[str, np.ndarray], weights: np.ndarray) -> dict[str, float]:
    weights = weights / weights.sum()
    found = {}
    for name, value in values.items():
        mean = np.tensordot(weights, value.reshape(-1, *value.shape[2:]), axes=1)
        for at in np.ndindex(*value.shape[2:]):
            found[name + (f"[{','.join(map(str, at))}]" if at else "")] = float(mean[at])
    return found


def _refitted(posterior: ModelPosterior, node: Node, law: Family) -> dict[str, float]:
    """Means after a fit with another law for one node."""
    from credo.program.fitting import fit_model

    model = posterior.model
    assert model is not None
    own = next(i for i, f in enumerate(model.factors) if f.node is node)
    before: Factor = model.factors[own]
    try:
        model.factors[own] = dataclasses.replace(before, law=law)
        again = fit_model(model, "auto", 2000, 0, {})
    finally:
        model.factors[own] = before
    return {name: mean for name, (mean, _) in _entries(again.values).items()}


def power_scaling(posterior: ModelPosterior) -> dict[str, Sensitivity]:
    """See `ModelPosterior.power_scaling`."""
    model = posterior.model
    if model is None:
        raise UnavailableError("This posterior came without its model.")
    factors, latents = prepared(model)
    shape = next(iter(posterior.values.values())).shape[:2]
    inputs = {node.number: posterior[str(node.name)] for node in latents}

    def total(chosen: list[Factor]) -> np.ndarray:
        terms = [f.term for f in chosen]
        program = Program(terms, latents)
        each = [v for v, t in zip(program.values(inputs, lead=True), terms) if program.varies(t)]
        return np.sum(each, axis=0).reshape(shape) if each else np.zeros(shape)

    top = [f for f in factors if not f.observed and f.law is not None and not any(
        isinstance(v, Node) for v in f.law.parameters.values())]  # fmt: skip
    return power_scaling_sensitivity(posterior.values, total(top), total([f for f in factors if f.observed]))
