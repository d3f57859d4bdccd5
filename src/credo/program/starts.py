"""Where chains begin: at random as in Stan; where that fails, at draws along climbs from likely draws of the priors.

A start within ±2 of 0 is nowhere for a differential equation, or for a mean of 1,000: the density is 0 there, or so
steep that chains stay in corners of it. Draws of the priors lie where the model was meant to be; the likeliest of them
are climbed from by Pathfinder, whose Normals along the way are weighed by the density. Modes of like mass all keep
chains, so that chains which do not meet afterwards have something to say.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ConvergenceWarning, CredoError, NumericalError
from credo.inference.transforms import Bijection, unconstrained
from credo.program.explain import Step
from credo.program.forward import draw_node, law_at
from credo.program.nodes import Node

if TYPE_CHECKING:
    from credo.inference.target import Target
    from credo.program.fitting import Found

__all__ = ["by_nuts", "prior_points"]

# R̂ from which on chains are taken for lost, and not only short.
LOST = 1.1
# Draws of the priors, and how many of them are climbed from: the likeliest.
DRAWS, PATHS = 64, 8


def prior_points(nodes: Sequence[Node], bijection: Bijection, rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Draws (·, d) of the priors of nodes in free coordinates, those that are finite; None where a prior has none."""
    inputs: dict[int, np.ndarray] = {}
    known: dict[int, Node] = {}
    x = np.empty((n, 0))
    try:
        for node in nodes:
            law = law_at(node.law, inputs, known, n, node.ndim)  # type: ignore[arg-type]
            value = np.asarray(draw_node(node, law, n, rng), dtype=np.float64)
            inputs[node.number], known[node.number] = value, node
            x = np.concatenate([x, value.reshape(n, -1)], axis=1)
        z = bijection.inverse(x)
    except (CredoError, ValueError, KeyError):
        return None
    return z[np.isfinite(z).all(axis=1)]


def by_nuts(
    target: Target, nodes: Sequence[Node], draws: int, rng: np.random.Generator, options: Mapping[str, Any]
) -> Found:
    """NUTS from random starts, and from likelier ones if these fail or chains do not meet; certified by R̂, effective
    draws, divergences, and visits of the far ends."""
    from credo.program.fitting import numerical

    first, failure = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what is kept is warned of when all is done
        try:
            first = numerical(target, "nuts", draws, rng, options)
        except NumericalError as error:
            failure = error
    lost = first is None or float(first.result.certificate.get("rhat", 1.0)) > LOST
    starts = _likely(target, nodes, int(options.get("chains", 4)), rng) if lost and "initial" not in options else None
    if starts is not None:
        try:
            second = numerical(target, "nuts", draws, rng, {**options, "initial": starts})
        except NumericalError:
            second = None
        if second is not None and (first is None or _rhat(second) < _rhat(first)):
            why = "at random have no density" if first is None else f"at random do not meet (R̂ = {_rhat(first):.2f})"
            names = tuple(str(node.name) for node in nodes)
            second.steps.append(
                Step("starts", names, f"chains that start {why}: from draws of the priors, by Pathfinder")
            )
            return second
    if first is None:
        assert failure is not None
        raise failure
    return first


def _rhat(found: Found) -> float:
    return float(found.result.certificate.get("rhat", np.inf))


def _likely(target: Target, nodes: Sequence[Node], chains: int, rng: np.random.Generator) -> np.ndarray | None:
    """(chains, dim) in the coordinates of the target; None where there are none."""
    from credo.inference.pathfinder import pathfinder

    free, bijection = unconstrained(target)
    points = prior_points(nodes, bijection, rng, DRAWS)
    if points is None:
        return None
    with np.errstate(all="ignore"):
        values = np.array([free.evaluate(z).log_density for z in points])
        best = points[np.argsort(-np.where(np.isfinite(values), values, -np.inf))][
            : min(PATHS, np.isfinite(values).sum())
        ]
        try:
            found = pathfinder(target, initial=bijection.forward(best), rng=rng)
        except (CredoError, np.linalg.LinAlgError, ValueError, IndexError):
            return bijection.forward(best[np.arange(chains) % len(best)]) if len(best) else None
        x = np.concatenate([v.reshape(len(v), -1) for v in found.values.values()], axis=1)
        starts = x[rng.choice(len(x), size=chains, p=found.weights)]
        good = [np.isfinite(free.evaluate(z, True).log_density) for z in bijection.inverse(starts)]
    return starts if all(good) else bijection.forward(best[np.arange(chains) % len(best)])
