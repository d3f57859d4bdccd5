"""`plan_of`: which rung a model stands on, and what each latent node becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from credo.distributions import Flat
from credo.errors import ParameterError, UnavailableError
from credo.program.explain import Explanation, Step
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.passes.collapse import Block, find_block
from credo.program.passes.conjugate import Leaf, conjugate_leaves
from credo.program.passes.finite import FiniteLeaf, finite_leaves
from credo.program.passes.scale import common_variance
from credo.program.prepare import prepared

if TYPE_CHECKING:
    from credo.program.model import Model

__all__ = ["RUNGS", "Plan", "plan_of"]

RUNGS = ("auto", "exact", "collapsed", "laplace", "map", "nuts", "metropolis", "slice", "gibbs", "mean_field")
#: so many hyperparameters are integrated by quadrature; more are sampled
MOST_BY_QUADRATURE = 3
#: … so many by importance sampling
MOST_BY_IMPORTANCE = 12


@dataclass(frozen=True, eq=False)
class Plan:
    """factors, latents : of the posterior; block, leaves : what is integrated out; rest : other latent nodes;
    variance : the one of them that scales the whole block, and is conjugate to it;
    method : "exact", "quadrature", "importance", "nuts", "laplace", "map", "metropolis", "slice", "gibbs" or
    "mean_field", for the rest"""

    factors: tuple[Factor, ...]
    latents: tuple[Node, ...]
    block: Block | None
    leaves: tuple[Leaf | FiniteLeaf, ...]
    rest: tuple[Node, ...]
    variance: Node | None
    method: str
    explanation: Explanation


def plan_of(model: Model, inference: str = "auto") -> Plan:
    """The plan of a fit.

    Raises
    ------
    ParameterError : an unknown rung; a latent node that nothing observed depends on
    UnavailableError : a forced rung that the model does not admit, and why
    """
    if inference not in RUNGS:
        raise ParameterError("Model", "inference", f"one of {RUNGS}", inference)
    factors, latents = prepared(model)
    steps: list[Step] = []
    exactly = inference in ("auto", "exact", "collapsed")
    block = find_block(factors, latents) if exactly else None
    reasons = block.reasons if block else {}
    leaves: tuple[Leaf | FiniteLeaf, ...] = tuple(conjugate_leaves(factors, latents)) if exactly else ()
    if inference not in ("gibbs", "mean_field"):  # all other rungs need densities of numbers
        leaves += tuple(finite_leaves(factors, latents))
    if block is not None and not block.nodes:
        block = None
    inside = {node.number for node in block.nodes} if block else set()
    conjugate = {node.number for leaf in leaves for node in leaf.nodes}
    rest = tuple(node for node in latents if node.number not in inside | conjugate)
    variance = None if block is None else common_variance(factors, block, rest)
    left = {} if variance is not None else {str(node.name): reasons.get(str(node.name), "") for node in rest}
    if inference == "exact" and left:
        raise UnavailableError(
            f'inference="exact" is not available: {", ".join(left)} cannot be integrated out exactly '
            f"({_listed(left)}).",
            remedy='Use inference="auto" or "collapsed".',
        )
    if inference == "collapsed" and block is None and not leaves:
        raise UnavailableError(
            f'inference="collapsed" is not available: nothing can be integrated out ({_listed(left)}).',
            remedy='Use inference="auto".',
        )
    if block is not None:
        steps.append(_collapsed(block, rest, left))
        if variance is not None:
            steps.append(
                Step("conjugate", (str(variance.name),), f"{variance.name}: Normal–InverseGamma with the block")
            )
            conjugate = conjugate | {variance.number}
    elif exactly and left and not leaves:
        steps.append(Step("collapse", (), f"no latent node is linear and Normal given the others: {_listed(left)}"))
    steps += [_leaf(leaf) for leaf in leaves]
    method = inference if not exactly else _method(_count(rest)) if left else "exact"
    if block is None and not leaves:
        rung = method
    else:
        rung = "collapsed" if left else "exact"
    if exactly and left and method == "nuts":
        steps.append(Step("rest", tuple(left), f"{_count(rest)} numbers, more than {MOST_BY_IMPORTANCE}: NUTS"))
    treatment = {
        str(node.name): "exact" if node.number in inside else "conjugate" if node.number in conjugate else method
        for node in latents
    }
    return Plan(tuple(factors), tuple(latents), block, leaves, rest, variance, method,
                Explanation(rung, treatment, tuple(steps)))  # fmt: skip


def _method(n: int) -> str:
    """How n hyperparameters are integrated."""
    if n == 0:
        return "exact"
    if n <= MOST_BY_QUADRATURE:
        return "quadrature"
    return "importance" if n <= MOST_BY_IMPORTANCE else "nuts"


def _count(nodes: tuple[Node, ...]) -> int:
    return sum(node.size for node in nodes)


def _collapsed(block: Block, rest: tuple[Node, ...], left: dict[str, str]) -> Step:
    names = tuple(str(node.name) for node in block.nodes)
    flat = [str(node.name) for node in block.nodes if isinstance(node.law, Flat)]
    entries = "entry" if block.size == 1 else "entries"
    sentence = f"{block.size} {entries} of {', '.join(names)}, linear and Normal given " + (
        ", ".join(str(node.name) for node in rest) if rest else "nothing else"
    )
    if flat:
        sentence += f" (flat: {', '.join(flat)})"
    return Step("collapse", names, sentence + (f"; left out: {_listed(left)}" if left else ""))


def _leaf(leaf: Leaf | FiniteLeaf) -> Step:
    names = tuple(str(node.name) for node in leaf.nodes)
    return Step("conjugate", names, f"{', '.join(names)}: {leaf.pair}")


def _listed(reasons: dict[str, str]) -> str:
    return "; ".join(f"{name} ({reason})" if reason else name for name, reason in reasons.items())
