"""Scales, rates and precisions: positive nodes that enter their laws as powers.

If every law the node θ stands in depends on it through s = c θ^e with log p = A log s − B s^k (`passes.kernels`), then

    log p(θ | rest) = α log θ − Σ_γ β_γ θ^γ + (what is left of the prior)

entry by entry, whatever the laws are: Gamma, Inverse-Gamma, inverse Gaussian where that is so, else a slice in log θ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.distributions.slopes import unchecked
from credo.errors import NumericalError
from credo.inference.slice_update import slice_update
from credo.program.density import is_opaque
from credo.program.gibbs.expressions import Expressions, State, touches
from credo.program.gibbs.picked import Placed, Places, placed
from credo.program.model import Factor
from credo.program.nodes import Node, as_node
from credo.program.passes.affine import dependencies
from credo.program.passes.kernels import Kernel, kernel_of
from credo.program.passes.powers import Memo, power_of

__all__ = ["PowerMove", "power_move"]

SMALLEST, LARGEST = 1e-150, 1e150


@dataclass(frozen=True, eq=False)
class Child:
    """One law that the node stands in, and how."""

    factor: Factor
    power: Placed
    kernel: Kernel

    @property
    def gamma(self) -> float:
        return self.power.exponent * self.kernel.k


def children_of(node: Node, factors: Sequence[Factor], memo: Memo) -> list[Child] | None:
    """All of them; None where one is not of the form."""
    found = []
    for factor in factors:
        if factor.node.number == node.number or not touches(factor, node, memo):
            continue
        kernel = kernel_of(factor)
        if kernel is None or factor.law is None or factor.law.event_ndim or is_opaque(factor.law):
            return None
        others = [factor.node, *(v for k, v in factor.law.parameters.items() if k != kernel.parameter)]
        if any(isinstance(v, Node) and node.number in dependencies(v, memo) for v in others):
            return None
        parameter = as_node(factor.law.parameters[kernel.parameter])
        power = placed(parameter, node, memo, _power)
        if power is None:
            return None
        power = replace(power, entries=np.broadcast_to(power.entries, factor.node.shape))
        found.append(Child(factor, power, kernel))
    return found


def _power(value: Node, node: Node, memo: Memo) -> Placed | None:
    found = power_of(value, node, memo)
    return None if found is None else Placed(found.entries, found.exponent)


def power_move(node: Node, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> PowerMove | None:
    """The move of a positive node, where its laws are of the table."""
    support = node.support
    if support.kind != "real" or np.any(np.asarray(support.low) < 0.0):
        return None
    own = next((factor for factor in factors if factor.node.number == node.number), None)
    children = children_of(node, factors, memo)
    if own is None or own.law is None or not children:
        return None
    return PowerMove(node, own.law, children, latents, memo)


class PowerMove:
    """The draw of one such node, all entries and chains at once."""

    def __init__(self, node: Node, law: Any, children: Sequence[Child], latents: Sequence[Node], memo: Memo) -> None:
        self.node, self.law, self.children = node, law, children
        self.nodes = (node,)
        low, high = (np.asarray(end, dtype=np.float64) for end in (node.support.low, node.support.high))
        self.bounds = (low, high) if np.any(low > 0.0) or np.any(np.isfinite(high)) else None
        self.rule, names = _prior(law)
        self._prior_values = Expressions([as_node(law.parameters[name]) for name in names], latents, node.ndim, memo)
        self._names = names
        self._children = []
        for child in children:
            expressions = Expressions([child.kernel.a, child.kernel.b], latents, child.factor.node.ndim, memo)
            self._children.append((child, Places(child.power, node, latents, memo), expressions))
        self.gammas = sorted({*(child.gamma for child in children), *self._prior_gammas()})
        self.is_exact = self.rule is not None and self.bounds is None and len(self.gammas) == 1
        self.is_inverse_gaussian = self.rule is not None and self.bounds is None and self._is_inverse_gaussian()
        self.said = f"{node.name}: {self._how()} given the rest"

    def _prior_gammas(self) -> tuple[float, ...]:
        return () if self.rule is None else {"Gamma": (1.0,), "Exponential": (1.0,), "InverseGamma": (-1.0,),
                                             "HalfNormal": (2.0,)}.get(type(self.law).__name__, ())  # fmt: skip

    def _is_inverse_gaussian(self) -> bool:
        """Exponential prior, one Normal observation an entry whose variance it is: the Laplace law's auxiliary."""
        one = len(self.children) == 1 and type(self.law).__name__ == "Exponential"
        child, places, _ = self._children[0]
        return one and child.gamma == -1.0 and child.kernel.k == -2.0 and places.is_each_by_itself()

    def _how(self) -> str:
        if self.is_inverse_gaussian:
            return "inverse Gaussian"
        if not self.is_exact:
            return "a slice in its logarithm"
        if self.gammas[0] == 1.0:
            return "Gamma"
        inner = {2.0: "²", -1.0: "⁻¹", -2.0: "⁻²"}.get(self.gammas[0], f"^{self.gammas[0]:g}")
        return "Inverse-Gamma" if self.gammas[0] == -1.0 else f"{self.node.name}{inner} Gamma"

    def statistics(self, state: State) -> tuple[np.ndarray, dict[float, np.ndarray]]:
        """α and β_γ, each (chains, *shape)."""
        shape, now = self.node.shape, state[self.node.number]
        alpha, betas = np.zeros(now.shape), dict.fromkeys(self.gammas, 0.0)
        if self.rule is not None:
            first, gamma, beta = self.rule(*self._prior_values(state))
            alpha = alpha + first
            if gamma is not None:
                betas[gamma] = betas[gamma] + beta
        for child, places, expressions in self._children:
            a, b = expressions(state)
            alpha = alpha + places.gathered(child.power.exponent * a, state).reshape(-1, *shape)
            at_present = places.gathered(b, state).reshape(-1, *shape)
            betas[child.gamma] = betas[child.gamma] + at_present * now**-child.gamma
        return alpha, {gamma: np.broadcast_to(beta, now.shape) for gamma, beta in betas.items()}

    def step(self, state: State, rng: np.random.Generator) -> None:
        """Replaces the node's values in the state."""
        with np.errstate(over="ignore", divide="ignore"):
            alpha, betas = self.statistics(state)
        if self.is_exact:
            new = self._gamma(alpha, *next(iter(betas.items())), rng)
        elif self.is_inverse_gaussian:
            new = _inverse_of_inverse_gaussian(betas[1.0], betas[-1.0], rng)
        else:
            new = self._slice(alpha, betas, state, rng)
        state[self.node.number] = np.clip(new, SMALLEST, LARGEST)

    def _gamma(self, alpha: np.ndarray, gamma: float, beta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shape = (alpha + 1.0) / gamma
        if not (np.all(shape > 0.0) and np.all(beta > 0.0)):
            raise NumericalError(
                f"Model: the conditional of {self.node.name} in a Gibbs sweep is not a distribution: the data explain "
                "nothing of it, or everything.", value=float(np.min(beta)),
                remedy="Give it a proper prior without mass near 0, such as LogNormal.",
            )  # fmt: skip
        drawn = rng.standard_gamma(shape) / beta
        return drawn if gamma == 1.0 else drawn ** (1.0 / gamma)

    def _slice(
        self, alpha: np.ndarray, betas: dict[float, np.ndarray], state: State, rng: np.random.Generator
    ) -> np.ndarray:
        log_prior = None if self.rule is not None else self._log_prior(state)

        def density(t: np.ndarray) -> np.ndarray:
            with np.errstate(all="ignore"):
                value = (alpha + 1.0) * t
                for gamma, beta in betas.items():
                    value = value - beta * np.exp(gamma * t)
                if log_prior is not None:
                    value = value + log_prior(np.exp(t))
                if self.bounds is not None:
                    x = np.exp(t)
                    value = np.where((x >= self.bounds[0]) & (x <= self.bounds[1]), value, -np.inf)
            return np.where(np.isnan(value), -np.inf, value)

        return np.exp(slice_update(density, np.log(state[self.node.number]), rng))

    def _log_prior(self, state: State) -> Callable[[np.ndarray], Any]:
        """Of a law that is no power, up to a constant."""
        if type(self.law).__name__ == "HalfCauchy":  # the law that horseshoes evaluate most
            scale = self._prior_values(state)[0]
            return lambda x: -np.log1p(np.square(x / scale))
        if is_opaque(self.law):
            return self.law.log_prob
        return unchecked(type(self.law), dict(zip(self._names, self._prior_values(state)))).log_prob

    def log_prior(self, state: State) -> Callable[[np.ndarray], Any]:
        """The prior's log density of values (chains, *shape), cell by cell, up to a constant."""
        if self.rule is None:
            inside = self._log_prior(state)
        else:
            alpha, gamma, beta = self.rule(*self._prior_values(state))
            inside = lambda x: alpha * np.log(x) - (0.0 if gamma is None else beta * x**gamma)  # noqa: E731
        if self.bounds is None:
            return inside
        low, high = self.bounds
        return lambda x: np.where((x >= low) & (x <= high), inside(x), -np.inf)


def _inverse_of_inverse_gaussian(b: np.ndarray, c: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """v ∝ v^−½ exp(−b v − c/v): 1/v is inverse Gaussian with mean √(b/c) and shape 2b, by Michael, Schucany and Haas
    (1976), both roots of their quadratic written for v itself, so that c = 0 is ordinary."""
    a = np.sqrt(c / b)
    half = np.square(rng.standard_normal(b.shape)) / (4.0 * b)
    large = a + half + np.sqrt(half * (2.0 * a + half))
    small = np.square(a) / np.maximum(large, SMALLEST)
    return np.where(rng.random(b.shape) * (large + a) <= large, large, small)


# -- priors: α, γ and β from the parameters ----------------------------------------------------------------------------

_Rule = Callable[..., tuple[Any, Any, Any]]
_PRIORS: dict[str, tuple[_Rule, tuple[str, ...]]] = {
    "Gamma": (lambda shape, rate: (shape - 1.0, 1.0, rate), ("shape", "rate")),
    "InverseGamma": (lambda shape, scale: (-shape - 1.0, -1.0, scale), ("shape", "scale")),
    "Exponential": (lambda rate: (0.0, 1.0, rate), ("rate",)),
    "HalfNormal": (lambda scale: (0.0, 2.0, 0.5 / np.square(scale)), ("scale",)),
    "Flat": (lambda: (0.0, None, None), ()),
    "Uniform": (lambda low, high: (0.0, None, None), ("low", "high")),
}


def _prior(law: Any) -> tuple[_Rule | None, tuple[str, ...]]:
    known = _PRIORS.get(type(law).__name__)
    if known is not None:
        return known
    return None, () if is_opaque(law) else tuple(k for k, v in law.parameters.items() if v is not None)
