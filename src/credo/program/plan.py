"""`plan_of`: which rung a model stands on, and what each latent node becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from credo.distributions import Flat, Normal
from credo.errors import ParameterError, UnavailableError
from credo.program.explain import Explanation, Step
from credo.program.finite.states import is_finite
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.passes.collapse import Block, find_block, in_logarithms
from credo.program.passes.conjugate import Leaf, conjugate_leaves
from credo.program.passes.scale import common_variance
from credo.program.prepare import prepared

if TYPE_CHECKING:
    from credo.program.model import Model
    from credo.program.passes.finite import FiniteLeaf

__all__ = ["NESTED", "RUNGS", "Plan", "plan_of"]

RUNGS = ("auto", "exact", "collapsed", "nested_laplace", "laplace", "map", "nuts", "metropolis", "slice", "gibbs",
         "mean_field")  # fmt: skip
#: what other packages call them
_ELSEWHERE = {"hmc": "nuts", "mcmc": "nuts", "advi": "mean_field", "vi": "mean_field", "meanfield": "mean_field",
              "mh": "metropolis", "inla": "nested_laplace", "optimize": "map"}  # fmt: skip
#: rungs that integrate out what they can
COLLAPSING = ("auto", "exact", "collapsed", "nested_laplace")
#: the treatment of a block that has sites
NESTED = "nested Laplace"
#: so many hyperparameters are integrated by quadrature; more are sampled
MOST_BY_QUADRATURE = 3
#: … so many by importance sampling
MOST_BY_IMPORTANCE = 12
#: Cells of observed data up to which so few numbers are cheaper all together than a block of them.
FEW_CELLS = 20_000


@dataclass(frozen=True, eq=False)
class Plan:
    """factors, latents : of the posterior; block, leaves : what is integrated out; rest : other latent nodes;
    variance : the one of them that scales the whole block, and is conjugate to it;
    method : "exact", "quadrature", "importance", "nuts", "laplace", "map", "metropolis", "slice", "gibbs" or
    "mean_field", for the rest, or "nested Laplace" where there is none;
    fallback : of a block with sites, and of Gibbs that was not asked for, what is done where the certificate fails;
    with_sites : of a few numbers that are weighed together, a block with sites, to be tried before NUTS"""

    factors: tuple[Factor, ...]
    latents: tuple[Node, ...]
    block: Block | None
    leaves: tuple[Leaf | FiniteLeaf, ...]
    rest: tuple[Node, ...]
    variance: Node | None
    method: str
    explanation: Explanation
    fallback: Plan | None = None
    with_sites: Callable[[], Plan | None] | None = None

    @property
    def is_nested(self) -> bool:
        """Whether the block has sites, so that it is integrated out by Laplace."""
        return self.block is not None and self.fallback is not None


def plan_of(model: Model, inference: str = "auto") -> Plan:
    """The plan of a fit.

    Raises
    ------
    ParameterError : an unknown rung; a latent node that nothing observed depends on
    UnavailableError : a forced rung that the model does not admit, and why
    """
    if inference not in RUNGS:
        known = _ELSEWHERE.get(str(inference).lower(), str(inference).lower())
        remedy = f"Did you mean {known!r}?" if known in RUNGS else None
        raise ParameterError("Model", "inference", f"one of {RUNGS}", inference, remedy)
    factors, latents = prepared(model)
    collapses = inference in COLLAPSING
    if collapses:
        factors = in_logarithms(factors)
    parts = _Parts(tuple(factors), tuple(latents), (), (factors, latents))
    # All rungs but these need densities of numbers.
    if inference not in ("gibbs", "mean_field") and any(is_finite(node) for node in latents):
        from credo.program.passes.finite import finite_leaves, summed  # elimination takes long to import

        finite = tuple(finite_leaves(factors, latents))
        parts = _Parts(tuple(factors), tuple(latents), finite, summed(factors, latents, finite))
    if not collapses:
        return parts.plan(None, (), inference)
    leaves = tuple(conjugate_leaves(*parts.open))
    plain, why = parts.plan(find_block(*parts.open), leaves, inference), {}
    if inference == "nested_laplace" or (inference == "auto" and _is_worth_it(plain)):
        block = find_block(*parts.open, sites=True)
        if any(block.is_site(factor) for factor in parts.open[0]):
            return parts.nested(block, leaves, plain)
        why = block.reasons
    if inference == "auto" and plain.method in ("quadrature", "importance"):
        return replace(plain, with_sites=partial(parts.before_nuts, leaves, plain))
    if inference == "auto" and plain.method == "nuts":
        from credo.program.gibbs import is_all_conditional

        if is_all_conditional(factors, latents):
            return parts.gibbs(plain)
    if inference == "nested_laplace":
        raise UnavailableError(
            'inference="nested_laplace" is not available: no Normal latent node is behind a known link of observed '
            f"data that are not Normal ({_listed(why)}).",
            remedy='Use inference="auto".',
        )
    return plain


def _is_worth_it(plain: Plan) -> bool:
    """Whether what is left after exact algebra is more than a few numbers, or slow."""
    if plain.method == "exact":
        return False
    # What is Normal is exact whatever its rows, given a few numbers.
    cells = sum(f.node.size for f in plain.factors if f.observed and not isinstance(f.law, Normal))
    return _count(plain.rest) > MOST_BY_IMPORTANCE or cells > FEW_CELLS


@dataclass(frozen=True)
class _Parts:
    """What plans of one model share. open : factors and latents as other passes see them, to which all that depends on
    states that are summed out is one potential."""

    factors: tuple[Factor, ...]
    latents: tuple[Node, ...]
    finite: tuple[FiniteLeaf, ...]
    open: tuple[Sequence[Factor], Sequence[Node]]

    def plan(self, block: Block | None, leaves: tuple[Leaf, ...], inference: str) -> Plan:
        """Exact algebra for the block and the leaves, the rung for the rest."""
        collapses, every = inference in COLLAPSING, (*leaves, *self.finite)
        reasons = block.reasons if block else {}
        block = block if block is not None and block.nodes else None
        inside, conjugate, rest = self._split(block, every)
        variance = None if block is None else common_variance(self.open[0], block, rest)
        left = {} if variance is not None else {str(node.name): reasons.get(str(node.name), "") for node in rest}
        _require_available(inference, block, every, left)
        steps: list[Step] = []
        if block is not None:
            steps.append(_collapsed(block, rest, left))
            if variance is not None:
                steps.append(
                    Step("conjugate", (str(variance.name),), f"{variance.name}: Normal–InverseGamma with the block")
                )
                conjugate = conjugate | {variance.number}
        elif collapses and left and not every:
            steps.append(Step("collapse", (), f"no latent node is linear and Normal given the others: {_listed(left)}"))
        steps += [_leaf(leaf) for leaf in every]
        method = inference if not collapses else _method(_count(rest)) if left else "exact"
        if block is None and not every:
            rung = method
        else:
            rung = "collapsed" if left else "exact"
        if collapses and left and method == "nuts":
            steps.append(_too_many(rest))
        treatment = self._treatment(inside, "exact", conjugate, method)
        return Plan(self.factors, self.latents, block, every, rest, variance, method,
                    Explanation(rung, treatment, tuple(steps)))  # fmt: skip

    def nested(self, block: Block, leaves: tuple[Leaf, ...], plain: Plan) -> Plan:
        """A block with sites; `plain` is what takes over where its certificate fails."""
        every = (*leaves, *self.finite)
        inside, conjugate, rest = self._split(block, every)
        left = {str(node.name): block.reasons.get(str(node.name), "") for node in rest}
        method = _method(_count(rest)) if rest else NESTED
        steps = [_by_laplace(self.open[0], block, rest, left), *(_leaf(leaf) for leaf in every)]
        if method == "nuts":
            steps.append(_too_many(rest))
        treatment = self._treatment(inside, NESTED, conjugate, method)
        return Plan(self.factors, self.latents, block, every, rest, None, method,
                    Explanation("nested_laplace", treatment, tuple(steps)), plain)  # fmt: skip

    def before_nuts(self, leaves: tuple[Leaf, ...], plain: Plan) -> Plan | None:
        """A block with sites where importance sampling of `plain` failed; NUTS takes over. None without sites."""
        block = find_block(*self.open, sites=True)
        if not any(block.is_site(factor) for factor in self.open[0]):
            return None
        explanation = plain.explanation.after(plain.method, "nuts", ())
        return self.nested(block, leaves, replace(plain, method="nuts", explanation=explanation))

    def gibbs(self, plain: Plan) -> Plan:
        """Every node drawn from its law given the others, none by slices; `plain` takes over if chains do not mix."""
        names = tuple(str(node.name) for node in self.latents)
        said = f"{_count(plain.rest)} numbers, more than {MOST_BY_IMPORTANCE}, of known laws given the others"
        treatment = dict.fromkeys(names, "gibbs")
        return Plan(self.factors, self.latents, None, (), tuple(self.latents), None, "gibbs",
                    Explanation("gibbs", treatment, (Step("rest", names, f"{said}: Gibbs"),)), plain)  # fmt: skip

    def _split(
        self, block: Block | None, leaves: tuple[Leaf | FiniteLeaf, ...]
    ) -> tuple[set[int], set[int], tuple[Node, ...]]:
        inside = {node.number for node in block.nodes} if block else set()
        conjugate = {node.number for leaf in leaves for node in leaf.nodes}
        return inside, conjugate, tuple(node for node in self.latents if node.number not in inside | conjugate)

    def _treatment(self, inside: set[int], how: str, conjugate: set[int], method: str) -> dict[str, str]:
        return {
            str(node.name): how if node.number in inside else "conjugate" if node.number in conjugate else method
            for node in self.latents
        }


def _require_available(
    inference: str, block: Block | None, leaves: Sequence[Leaf | FiniteLeaf], left: dict[str, str]
) -> None:
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


def _method(n: int) -> str:
    """How n hyperparameters are integrated."""
    if n == 0:
        return "exact"
    if n <= MOST_BY_QUADRATURE:
        return "quadrature"
    return "importance" if n <= MOST_BY_IMPORTANCE else "nuts"


def _count(nodes: tuple[Node, ...]) -> int:
    return sum(node.size for node in nodes)


def _too_many(rest: tuple[Node, ...]) -> Step:
    names = tuple(str(node.name) for node in rest)
    return Step("rest", names, f"{_count(rest)} numbers, more than {MOST_BY_IMPORTANCE}: NUTS")


def _collapsed(block: Block, rest: tuple[Node, ...], left: dict[str, str]) -> Step:
    names = tuple(str(node.name) for node in block.nodes)
    return Step("collapse", names, f"{_entries(block)}, linear and Normal given {_given(rest)}{_flat(block)}"
                + (f"; left out: {_listed(left)}" if left else ""))  # fmt: skip


def _by_laplace(factors: Sequence[Factor], block: Block, rest: tuple[Node, ...], left: dict[str, str]) -> Step:
    names = tuple(str(node.name) for node in block.nodes)
    sites = [f"{factor.name} ({type(factor.law).__name__})" for factor in factors if block.is_site(factor)]
    return Step("nested Laplace", names, f"{_entries(block)}, Normal given {_given(rest)}, behind a link of "
                f"{', '.join(sites)}{_flat(block)}: by Laplace's method at each value of what is left, then weighed by "
                "the exact density" + (f"; left out: {_listed(left)}" if left else ""))  # fmt: skip


def _entries(block: Block) -> str:
    names = ", ".join(str(node.name) for node in block.nodes)
    return f"{block.size} {'entry' if block.size == 1 else 'entries'} of {names}"


def _given(rest: tuple[Node, ...]) -> str:
    return ", ".join(str(node.name) for node in rest) if rest else "nothing else"


def _flat(block: Block) -> str:
    flat = [str(node.name) for node in block.nodes if isinstance(node.law, Flat)]
    return f" (flat: {', '.join(flat)})" if flat else ""


def _leaf(leaf: Leaf | FiniteLeaf) -> Step:
    names = tuple(str(node.name) for node in leaf.nodes)
    return Step("conjugate" if isinstance(leaf, Leaf) else "states", names, f"{', '.join(names)}: {leaf.pair}")


def _listed(reasons: dict[str, str]) -> str:
    return "; ".join(f"{name} ({reason})" if reason else name for name, reason in reasons.items())
