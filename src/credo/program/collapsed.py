"""The collapsed rung: the block integrated out exactly, the rest by quadrature or NUTS, the block drawn back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions import Flat
from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.gaussian_block import GaussianBelief, GaussianBlock
from credo.inference.target import Target
from credo.inference.transforms import unconstrained
from credo.program.evaluate import Program
from credo.program.explain import Step
from credo.program.finite.settled import labels_of, unwarned
from credo.program.fitting import Found, by_fallback, numerical, sampled
from credo.program.passes.centring import typical
from credo.program.passes.factors import rows_of, sites_of
from credo.program.plan import Plan
from credo.program.reasons import reason, with_reasons

if TYPE_CHECKING:
    from credo.inference.laplace_block import LaplaceBlock

__all__ = ["Collapsed", "fit_collapsed"]

# Cells of the arrays of a chunk of θ: 16 MiB each.
CHUNK_CELLS = 2**21
# Seconds, and rows, of a quick evaluation.
QUICK, FEW_ROWS = 2e-3, 50
# Rungs that are taken as asked, never another in their place.
BY_NAME = ("laplace", "metropolis", "slice")
# A sd of this share of the values is rounding.
ROUNDING = 1e-14


class Collapsed:
    """log p(θ, data) = Σ log densities of θ + log ∫ of the block, as a function of the remaining latent nodes θ.

    `target` is that density for any engine; `belief(values)` the block's Normal law given θ. Where the block has sites,
    both are Laplace's approximation.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.rest = plan, plan.rest
        self.nodes = plan.block.nodes if plan.block else ()
        rows = rows_of(plan.factors, plan.block) if plan.block else []
        sites = sites_of(plan.factors, plan.block) if plan.block else []
        self.block = _engine([each.factor for each in rows], [each.site for each in sites], plan)
        done = {id(factor) for leaf in plan.leaves for factor in leaf.factors}
        terms = [
            factor.term
            for factor in plan.factors
            if id(factor) not in done and not (plan.block and plan.block.touches(factor))
        ]
        terms += [leaf.marginal for leaf in plan.leaves]
        coefficients = [node for each in (*rows, *sites) for node in each.coefficients]
        self._program = Program([*terms, *coefficients], self.rest)
        self._n_terms = len(terms)
        slots = [slot for s in self.block.slots for slot in _all_slots(s)] if self.block else []
        ones = self._program.values({node.number: np.ones(node.shape) for node in self.rest})
        self._base = np.empty(self.block.n_coefficients if self.block else 0)
        self._slots: list[tuple[int, slice]] = []
        for k, (node, slot) in enumerate(zip(coefficients, slots, strict=True)):
            self._base[slot] = np.ravel(ones[len(terms) + k])
            if self._program.varies(node):
                self._slots.append((len(terms) + k, slot))
        #: cells of all arrays that depend on θ, for chunks and costs
        self._cells = max(sum(factor.node.size for factor in plan.factors), len(self._base))
        self.is_proper = not any(isinstance(factor.law, Flat) for factor in plan.factors)

    # -- as a density ----------------------------------------------------------------------------------------------

    @property
    def target(self) -> Target:
        """The collapsed density over θ."""
        shapes = {str(node.name): node.shape for node in self.rest}
        target = Target(
            self._log_density,
            shapes,
            value_and_gradient=self._value_and_gradient,
            supports={str(node.name): node.support for node in self.rest},
            dims={str(node.name): node.axes for node in self.rest},
        )
        return with_reasons(target, self._program.outputs, self.rest)

    @cached_property
    def start(self) -> np.ndarray:
        """θ (dim,) where to begin: at the medians of its priors, or at 0 of its free coordinates (1 for a scale), which
        is likelier: medians of vague priors lie anywhere, and at 0 an expression may be singular."""
        medians = np.concatenate([np.empty(0), *(np.ravel(typical(node)) for node in self.rest)])
        if not self.rest:
            return medians
        zero = unconstrained(self.target)[1].forward(np.zeros(len(medians)))
        return max((medians, zero), key=self._log_density)

    def start_at(self, initial: Any) -> None:
        """Begin at these values by name, where they are so given."""
        if not isinstance(initial, Mapping) or not self.rest:
            return
        target = self.target
        given = target.split(self.start) | {name: value for name, value in initial.items() if name in target.shapes}
        for name, value in given.items():  # one number for all cells will do
            given[name] = np.full(target.shapes[name], value) if np.ndim(value) == 0 else value
            if name in initial and not np.all(target.support(name).contains(given[name])):
                raise NumericalError(f"Model: the start {name} = {value} is outside its support.", value=value,
                                     remedy="Give a start inside the support.")  # fmt: skip
        self.start = target.join(given)

    def inputs(self, x: np.ndarray) -> dict[int, np.ndarray]:
        """θ (..., dim) by node."""
        values, start = {}, 0
        for node in self.rest:
            values[node.number] = x[..., start : start + node.size].reshape((*x.shape[:-1], *node.shape))
            start += node.size
        return values

    def coefficients(self, outputs: list[np.ndarray]) -> np.ndarray:
        """The block's flat coefficients from the program's outputs."""
        x = self._base.copy()
        for k, slot in self._slots:
            x[slot] = np.ravel(outputs[k])
        return x

    @property
    def has_batch(self) -> bool:
        """Whether many θ are evaluated at once: no block, or a small dense one."""
        return self.block is None or self.block.is_batched

    @property
    def is_quick(self) -> bool:
        """Whether a mode is found in some ten milliseconds, so that many searches for modes cost little."""
        rows = self.block.rows_each if isinstance(self.block, GaussianBlock) else 0
        return self.has_batch and self.seconds < QUICK and rows <= FEW_ROWS

    @property
    def seconds(self) -> float:
        """Roughly how long an evaluation with its gradient takes, by structure and not by the clock."""
        return 1e-4 + 5e-8 * self._cells if self.block is None else self.block.seconds

    def in_chunks(self, x: np.ndarray) -> list[np.ndarray]:
        """Rows of θ (B, dim) in parts whose arrays fit."""
        step = max(1, CHUNK_CELLS // max(self._cells, 1))
        return [x[i : i + step] for i in range(0, len(x), step)]

    def coefficient_rows(self, x: np.ndarray) -> np.ndarray:
        """The block's coefficients (B, D) at rows of θ (B, dim)."""
        return self._rows_of(self._program.values(self.inputs(x), lead=True), len(x))

    def _rows_of(self, outputs: list[np.ndarray], n: int) -> np.ndarray:
        rows = np.tile(self._base, (n, 1))
        for k, slot in self._slots:
            rows[:, slot] = outputs[k].reshape(n, -1)
        return rows

    def log_densities(self, x: np.ndarray) -> np.ndarray:
        """The density (B,) at rows of θ (B, dim)."""
        if len(parts := self.in_chunks(x)) > 1:
            return np.concatenate([self.log_densities(part) for part in parts])
        outputs = self._program.values(self.inputs(x), lead=True)
        total = np.zeros(len(x)) + sum(outputs[: self._n_terms])
        if self.block is None:
            return np.where(np.isnan(total), -np.inf, total)
        rows = self._rows_of(outputs, len(x))
        good = np.isfinite(total) & self.block.is_valid(rows)
        value = np.full(len(x), -np.inf)
        value[good] = total[good] + self._log_marginals(rows[good])
        return value

    def _log_marginals(self, rows: np.ndarray) -> np.ndarray:
        """Of the block at rows of coefficients; −∞ for those at which it cannot be factored, found by halving."""
        assert self.block is not None
        if not len(rows):
            return np.empty(0)
        try:
            return self.block.log_marginals(rows, gradient=False)[0]
        except (NotIdentifiedError, NumericalError):
            if len(rows) == 1:
                return np.array([-np.inf])
        return np.concatenate([self._log_marginals(part) for part in np.array_split(rows, 2)])

    def _log_density(self, x: np.ndarray) -> float:
        prior, coefficients = self.prior_and_coefficients(x)
        if not (np.isfinite(prior) and np.isfinite(coefficients).all()):
            return -np.inf
        block = self.block
        if block is None:
            return prior
        try:
            return prior + block.log_marginal(coefficients, gradient=False)[0]
        except (NotIdentifiedError, NumericalError):
            return -np.inf

    def prior_and_coefficients(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ log densities of θ (dim,) that the block is not in, and the block's coefficients there."""
        with np.errstate(all="ignore"):
            outputs = self._program.values(self.inputs(x))
        return float(sum(outputs[: self._n_terms])), self.coefficients(outputs)

    def _value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(all="ignore"):  # what is not finite counts as density 0
            outputs, pull = self._program.value_and_pull(self.inputs(x))
        prior = float(sum(outputs[: self._n_terms]))
        coefficients = self.coefficients(outputs)
        if not (np.isfinite(prior) and np.isfinite(coefficients).all()):
            return -np.inf, np.zeros(len(x))
        block, value, gradient = self.block, 0.0, np.empty(0)
        if block is not None:
            try:
                value, gradient = block.log_marginal(coefficients)
            except (NotIdentifiedError, NumericalError):  # scales too far apart: see `require_identified`
                return -np.inf, np.zeros(len(x))
        seeds: list[Any] = [1.0] * self._n_terms + [None] * (len(outputs) - self._n_terms)
        for k, slot in self._slots:
            out = outputs[k]
            seeds[k] = gradient[slot].reshape(out.shape) if out.size > 1 else np.full(out.shape, gradient[slot].sum())
        with np.errstate(all="ignore"):
            back = pull(seeds)
        return prior + value, np.concatenate([np.ravel(back[node.number]) for node in self.rest])

    # -- given θ ---------------------------------------------------------------------------------------------------

    def belief(self, x: np.ndarray) -> GaussianBelief:
        """The block's law given θ (dim,)."""
        coefficients, block = self.prior_and_coefficients(x)[1], self.block
        assert block is not None
        return self._identified(lambda: block.condition(coefficients))

    def require_identified(self) -> None:
        """`NotIdentifiedError`, with the nodes' names, if the block is singular where θ begins.

        Later, far out, where scales lie so many orders apart that a precision has lost all digits, the density counts
        as zero.
        """
        if self.block is not None:
            try:
                self.belief(self.start)
            except NumericalError as error:
                told = reason(self._program.outputs, self.rest, self.inputs(self.start))
                if not told:
                    raise
                raise NumericalError(f"Model: {told}, where the search of the posterior begins.", value=self.start,
                                     remedy="Restrict what it is computed from, or its priors.") from error  # fmt: skip

    def require_noise(self, z: np.ndarray) -> None:
        """`NotIdentifiedError` if a standard deviation at free coordinates z is but the rounding of its data."""
        if self.block is None:
            return
        x = unconstrained(self.target)[1].forward(z)
        coefficients = self.coefficients(self._program.values(self.inputs(x)))
        for factor, slots in zip(self.block.factors, self.block.slots, strict=False):  # sites come after factors
            size = max((float(np.abs(c).max(initial=0.0)) for c in factor.constants), default=0.0)
            if factor.n > 1 and np.max(coefficients[slots.s]) < ROUNDING * size:
                raise NotIdentifiedError(
                    f"Model: {factor.name} leaves no noise: its values are explained exactly, and its sd goes to 0.",
                    value=factor.name,
                    remedy="Give the sd a prior without mass near 0, such as LogNormal; or check for copied rows.",
                )

    def split(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Entries (..., p) by node."""
        out, start = {}, 0
        for node in self.nodes:
            out[str(node.name)] = z[..., start : start + node.size].reshape((*z.shape[:-1], *node.shape))
            start += node.size
        return out

    def _identified(self, evaluate: Any) -> Any:
        try:
            return evaluate()
        except NotIdentifiedError as error:
            columns = np.atleast_1d(np.asarray(error.value, dtype=np.int64)) if error.value is not None else []
            names = self.labels(columns)
            raise NotIdentifiedError(
                f"Model: the data and the priors do not determine {', '.join(names) or 'the linear block'}: the "
                "posterior is improper.",
                value=names,
                remedy="Give a proper prior, such as Normal(0, 10), or leave out an effect that repeats others.",
            ) from None

    def labels(self, columns: Any) -> list[str]:
        """Names of the block's entries of these numbers, eight at most."""
        return [self._label(int(column)) for column in columns[:8]]

    def _label(self, column: int) -> str:
        for node in self.nodes:
            if column < node.size:
                at = np.unravel_index(column, node.shape) if node.shape else ()
                return f"{node.name}" + (f"[{','.join(str(int(i)) for i in at)}]" if at else "")
            column -= node.size
        return "?"


def _engine(factors: list[Any], sites: list[Any], plan: Plan) -> GaussianBlock | LaplaceBlock | None:
    if plan.block is None:
        return None
    if not sites:
        return GaussianBlock(factors, plan.block.size, name="Model")
    from credo.inference.laplace_block import LaplaceBlock

    return LaplaceBlock(factors, sites, plan.block.size, name="Model")


def _all_slots(slots: Any) -> list[slice]:
    """Of a factor or a site, in the order of its coefficients."""
    return [*slots.a, *slots.b, *(slots.psi if hasattr(slots, "psi") else [slots.s])]


def fit_collapsed(plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    """Draws of θ, of the block and of the leaves, and the evidence where all priors are proper."""
    if plan.is_nested:
        from credo.program.nested import fit_nested

        return fit_nested(plan, draws, rng, options)
    collapsed = Collapsed(plan)
    collapsed.start_at(options.get("initial"))
    collapsed.require_identified()
    if plan.method == "exact":
        from credo.program.exact import fit_exact, fit_exact_scaled

        return (fit_exact if plan.variance is None else fit_exact_scaled)(collapsed, draws, rng)
    names, steps = tuple(str(n.name) for n in plan.rest), []
    if plan.method == "quadrature":
        from credo.program.quadrature import fit_quadrature

        found = fit_quadrature(collapsed, draws, rng)
        if found is None:
            steps.append(Step("rest", names, "quadrature met too many nodes: importance sampling"))
        elif found.result.ok or (collapsed.block is not None and not collapsed.has_batch):
            return found
        else:
            steps.append(Step("rest", names, "quadrature did not reach its accuracy: importance sampling"))
    if plan.method in ("quadrature", "importance"):
        from credo.program.importance import fit_importance

        weighed = fit_importance(collapsed, draws, rng)
        if weighed is not None:
            return dataclasses.replace(weighed, steps=steps, method="importance")
        second = plan.with_sites() if plan.with_sites else None
        if second is not None:
            why = Step("rest", names, "importance weights failed, or there are several modes: nested Laplace")
            found = by_fallback(dataclasses.replace(plan, fallback=second), draws, rng, options, why)
            return dataclasses.replace(found, steps=[*steps, *found.steps])
        steps.append(Step("rest", names, "importance weights failed, or there are several modes: NUTS"))
    if plan.block is None and not plan.leaves and plan.method not in BY_NAME:
        found = sampled(plan, draws, rng, options)
        return dataclasses.replace(found, steps=[*steps, *found.steps], method="nuts")
    method = plan.method if plan.method in BY_NAME else "nuts"
    with unwarned(plan):
        if method == "nuts" and not labels_of(plan):
            from credo.program.starts import by_nuts

            found = by_nuts(collapsed.target, plan.rest, draws, rng, options)
            steps += found.steps
        else:
            found = numerical(collapsed.target, method, draws, rng, options)
    x = np.concatenate([v.reshape(*v.shape[:2], -1) for v in found.values.values()], axis=2)
    chains, n = x.shape[:2]
    rows = x.reshape(chains * n, -1)
    drawn: dict[str, np.ndarray] = {}
    if plan.block is not None:
        drawn |= collapsed.split(np.stack([collapsed.belief(row).sample(1, rng)[0] for row in rows]))
    drawn |= leaf_draws(collapsed, rows, rng)
    values = {**found.values, **{k: v.reshape(chains, n, *v.shape[1:]) for k, v in drawn.items()}}
    return Found(ordered(plan, values), found.result, found.sample_stats, steps=steps, method=method)


def leaf_draws(collapsed: Collapsed, rows: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A draw of every leaf for each row of θ (n, dim)."""
    inputs = collapsed.inputs(rows) if collapsed.rest else {}
    nodes = {node.number: node for node in collapsed.rest}
    drawn: dict[str, np.ndarray] = {}
    for leaf in collapsed.plan.leaves:
        drawn |= leaf.draw(inputs, nodes, len(rows), rng)
    return drawn


def leaf_moments(collapsed: Collapsed, rows: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Means and sds (n, *shape) of every leaf given each row of θ (n, dim)."""
    inputs = collapsed.inputs(rows) if collapsed.rest else {}
    nodes = {node.number: node for node in collapsed.rest}
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for leaf in collapsed.plan.leaves:
        found |= leaf.moments(inputs, nodes, len(rows))
    return found


def ordered(plan: Plan, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By the order of declaration."""
    return {str(node.name): values[str(node.name)] for node in plan.latents}
