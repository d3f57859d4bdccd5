"""Answers of a linear-Gaussian network with the doubt about its equations: posteriors carried through a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.special

from credo.errors import ParameterError, UnavailableError, ZeroProbabilityError
from credo.models.network.gaussian.equations import residual, responses, whitened
from credo.models.network.gaussian.structure import known_evidence, known_name, places
from credo.numerics.inversion import invert_cdf
from credo.saving import register

if TYPE_CHECKING:
    from credo.models.network.gaussian.network import LinearGaussianNetwork

__all__ = ["CredibleNumber", "LevelBelief", "credible_number"]

OWNER = "LinearGaussianNetwork"


@register
@dataclass(frozen=True)
class LevelBelief:
    """Belief about a node without parents, x ~ N(m, s²) with both unknown and the prior 1/s²: Normal–Inverse-Gamma.

        s² ~ squares/χ²(rows − 1),  m | s² ~ N(mean, s²/rows)

    mean, squares : of the rows, Σ w x/Σ w and Σ w (x − mean)² ; rows : Σ w
    """

    mean: float
    squares: float
    rows: float

    def sample_all(self, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """n joint draws of "intercept" and "noise_scale"; "coef" is (n, 0)."""
        variance = self.squares / rng.chisquare(self.rows - 1.0, size=n)
        level = self.mean + np.sqrt(variance / self.rows) * rng.standard_normal(n)
        return {"coef": np.empty((n, 0)), "intercept": level, "noise_scale": np.sqrt(variance)}


@dataclass(frozen=True, eq=False)
class CredibleNumber:
    """p(target | evidence) under draws of the equations: a normal for each draw, their mixture together.

    means, sds (n,) : of the target under each draw

    `variance` is the sum of `aleatoric`, E[sd²], which stays however many rows there are, and `epistemic`, the variance
    of the means, which more rows would lessen.
    """

    means: np.ndarray
    sds: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.means.mean())

    @property
    def aleatoric(self) -> float:
        return float(np.square(self.sds).mean())

    @property
    def epistemic(self) -> float:
        return float(self.means.var())

    @property
    def variance(self) -> float:
        return self.aleatoric + self.epistemic

    @property
    def sd(self) -> float:
        return float(np.sqrt(self.variance))

    def quantile(self, q: Any) -> np.ndarray:
        """Of the target: of the mixture of the draws' normals."""
        level = np.asarray(q, dtype=np.float64)
        if not np.all((level > 0.0) & (level < 1.0)):
            raise ParameterError("CredibleNumber.quantile", "q", "numbers in (0, 1)", q)
        if not self.sds.any():
            return np.quantile(self.means, level)
        flat = level.ravel()
        ends = self.means[:, None] + self.sds[:, None] * scipy.special.ndtri(flat)
        scale = np.maximum(self.sds, 1e-12 * max(float(self.sds.max()), float(np.abs(self.means).max())))

        def cdf(x: np.ndarray) -> np.ndarray:
            return scipy.special.ndtr((np.asarray(x) - self.means[:, None]) / scale[:, None]).mean(axis=0)

        return invert_cdf(cdf, flat, ends.min(axis=0), ends.max(axis=0)).reshape(level.shape)

    def interval(self, mass: float = 0.9) -> tuple[float, float]:
        """Ends between which the target is with this probability: noise and doubt together."""
        low, high = self.quantile(_ends("interval", mass)).tolist()
        return low, high

    def mean_interval(self, mass: float = 0.9) -> tuple[float, float]:
        """Ends between which the *expected* target is with this probability: the doubt alone."""
        low, high = np.quantile(self.means, _ends("mean_interval", mass)).tolist()
        return low, high

    def __repr__(self) -> str:
        return f"CredibleNumber({self.mean:.4g} ± {self.sd:.2g}, of which {np.sqrt(self.epistemic):.2g} is doubt)"


def _ends(method: str, mass: Any) -> np.ndarray:
    if isinstance(mass, bool) or not isinstance(mass, (int, float, np.number)) or not 0.0 < mass < 1.0:
        raise ParameterError(f"CredibleNumber.{method}", "mass", "a number in (0, 1)", mass)
    return np.array([0.5 * (1.0 - mass), 0.5 * (1.0 + mass)])


def credible_number(
    network: LinearGaussianNetwork, target: str, evidence: Mapping[str, float] | None, draws: int, rng: Any
) -> CredibleNumber:
    """The target's normal under each of `draws` draws of all equations, conditioned in one stack.

    Raises
    ------
    UnavailableError : no posterior. ZeroProbabilityError : evidence that nodes with sd 0 exclude.
    """
    if not network.posterior_:
        raise UnavailableError(
            f"{OWNER}: there is no posterior of the equations, so that nothing is in doubt about them.",
            remedy='Learn them: network.fit(frame), with method="bayes", the default.',
        )
    seen = known_evidence(OWNER, network.nodes, evidence)
    known_name(OWNER, network.nodes, target, "target")
    if target in seen:
        raise ParameterError(OWNER, "evidence", "about nodes other than the target", target)
    mean, a = _drawn(network, draws, rng)
    at, of = places(network._order, seen), places(network._order, [target])
    parts = whitened(a[:, at])
    z, possible = parts.noises(np.broadcast_to(np.array(list(seen.values())), (draws, len(seen))), mean[:, at])
    if not np.all(possible):
        raise ZeroProbabilityError(
            f"{OWNER}: the density of the evidence is 0: it cannot occur together, for some of its nodes have sd 0.",
            value=seen, remedy="Leave out or correct one of them.",
        )  # fmt: skip
    along = np.matmul(a[:, of], parts.basis)
    means = mean[:, of[0]] + np.matmul(along, z[..., None])[:, 0, 0]
    left = residual(a[:, of], parts.basis)[:, 0]
    return CredibleNumber(means, np.sqrt(np.square(left).sum(axis=-1)))


def _drawn(network: LinearGaussianNetwork, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """μ (n, d) and A (n, d, d) under draws of the equations, nodes in topological order."""
    order = network._order
    rank = {node: i for i, node in enumerate(order)}
    weights, level, sd = np.zeros((n, len(order), len(order))), np.empty((n, len(order))), np.empty((n, len(order)))
    for i, node in enumerate(order):
        own, belief = network.equations_[node], network.posterior_.get(node)
        above = [rank[p] for p in network.parents(node)]
        if belief is None or own.sd == 0.0:  # set from outside, or told exactly by the rows
            weights[:, i, above] = [own.coefficients[p] for p in network.parents(node)]
            level[:, i], sd[:, i] = own.intercept, own.sd
            continue
        drawn = belief.sample_all(n, rng)
        weights[:, i, above] = drawn["coef"]
        level[:, i], sd[:, i] = drawn["intercept"], drawn["noise_scale"]
    return responses(weights, level, sd)
