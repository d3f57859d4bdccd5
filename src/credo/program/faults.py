"""Which expression of a model is NaN or infinite, and where: what an engine only sees as a density that is NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import UnavailableError
from credo.numerics.readable import count, number
from credo.program.evaluate import Program
from credo.program.forward import law_at, sample_forward
from credo.program.model import Factor, Model
from credo.program.nodes import Node, described, topological

__all__ = ["fault_of"]

# Draws from the priors at which expressions are looked at: what is NaN at 1 % of them is found with probability 0.87.
DRAWS = 200
# Latent numbers that the sentence shows.
MOST_SHOWN = 4


def fault_of(model: Model, random_state: Any = 0) -> str:
    """A sentence that names the first expression which is NaN or infinite at draws from the priors, in which node's law
    it stands, and at which values; "" if there is none, or if the priors have no draws.

    >>> import credo as cr
    >>> m = cr.Model()
    >>> a = m.latent("a", cr.HalfNormal(1))
    >>> y = m.observed("y", cr.Normal(cr.math.log(a - 100.0), 1.0), [0.3, 0.2])
    >>> fault_of(m)
    'log(a - 100), in the law of y, is NaN at 200 of 200 draws from the priors, as at a = 0.1257.'
    """
    try:
        with np.errstate(all="ignore"):
            draws = _latents(model, random_state)
            return next((told for f in model.factors if (told := _fault(model, f, draws))), "")
    except (UnavailableError, ValueError, OverflowError):  # a flat prior; rates that NumPy cannot draw
        return ""


def _latents(model: Model, random_state: Any) -> dict[int, np.ndarray]:
    """Draws of the latent nodes by number; data are not drawn, since their laws may be what is wrong."""
    bare = Model()
    bare.nodes = {name: node for name, node in model.nodes.items() if node.kind == "latent"}
    bare.factors = [f for f in model.factors if not f.observed and f.law is not None]
    found = sample_forward(bare, DRAWS, random_state)
    return {node.number: found[name] for name, node in bare.nodes.items()}


def _fault(model: Model, factor: Factor, draws: dict[int, np.ndarray]) -> str:
    latents = [node for node in model.latents if node.number in draws]
    parts = [node for node in topological(factor.parts) if node.is_operation]
    program = Program(parts, latents)
    for node, value in zip(parts, program.values(draws, lead=True)):
        whole = value if program.varies(node) else np.broadcast_to(value, (DRAWS, *np.shape(value)))
        bad = ~np.isfinite(whole.reshape(DRAWS, -1)).all(axis=1)
        if bad.any():
            place = f"in the {'potential' if factor.law is None else 'law of'} {factor.name}"
            return _told(f"{described(node)}, {place},", whole, bad, _behind(node, latents), draws)
    if factor.observed and factor.law is not None and factor.node.value is not None:
        law: Any = law_at(factor.law, draws, {n.number: n for n in latents}, DRAWS, factor.node.ndim)
        value = np.asarray(law.log_prob(factor.node.value))
        lost = np.isnan(np.broadcast_to(value, (DRAWS, *value.shape[1:])).reshape(DRAWS, -1)).any(axis=1)
        if lost.any():
            return _told(f"The density of {factor.name}", np.full((DRAWS, 1), np.nan), lost, latents, draws)
    return ""


def _told(what: str, value: np.ndarray, bad: Any, latents: list[Node], draws: dict[int, np.ndarray]) -> str:
    kind = "NaN" if np.isnan(value[bad]).any() else "infinite"
    first = int(np.flatnonzero(bad)[0])
    shown = [node for node in latents if not node.shape][:MOST_SHOWN]
    at = ", ".join(f"{node.name} = {number(float(draws[node.number][first]))}" for node in shown)
    share = f"{int(bad.sum())} of {count(DRAWS, 'draw')} from the priors"
    return f"{what} is {kind} at {share}{f', as at {at}' if at else ''}."


def _behind(node: Node, latents: list[Node]) -> list[Node]:
    there = {leaf.number for leaf in topological([node])}
    return [each for each in latents if each.number in there]
