"""`LatticePosterior`: a density over few hyperparameters seen through the nodes of a lattice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
import scipy

from credo.errors import UnavailableError
from credo.inference.hyper.density import Density
from credo.inference.hyper.splines import Splines
from credo.inference.hyper.tents import Tents

__all__ = ["LatticePosterior"]

# Draws are exact where the density is above exp(−9) of its peak; beyond, proposals end where the nodes do.
BULK = 9.0
# What nodes carry together that an interpolation leaves out: it is not known beyond them.
NEGLIGIBLE = 1e-6
# Nodes so many sds apart are too few for splines; kernels about them so wide, in their distances, have no holes.
COARSE, KERNEL = 1.2, 0.5
# Of proposals for draws of an interpolation at least so many are accepted: it may be rough where nodes end.
FEWEST = 0.1


@dataclass(frozen=True)
class LatticePosterior:
    """What `integrate` returns. J nodes, d hyperparameters, unconstrained.

    nodes : (J, d). weights : (J,), summing to 1. log_density : (J,) as the caller's function gave it
    mean, sd : (d,). covariance : (d, d). mode : (d,)
    log_evidence : log ∫ exp(log_density) dθ
    errors : estimated errors: "log_evidence" absolute, "mean" and "sd" the worst in sds, "tail" the share that may lie
        beyond the nodes
    converged : whether all of them are below the tolerance asked for
    n_evaluations : of the density, a gradient counting as two
    n_modes : peaks within exp(−6) of the highest that a path between nodes leaves only by falling by e
    endless : (k,) which second moments of the laws given θ have no end; None if there were none to follow
    """

    nodes: np.ndarray
    weights: np.ndarray
    log_density: np.ndarray
    log_evidence: float
    mode: np.ndarray
    errors: dict[str, float]
    converged: bool
    n_evaluations: int
    n_modes: int
    #: nodes = mode + unit · T units; the cubic parts of their lattice have spacing `cubic`
    T: np.ndarray
    units: np.ndarray
    unit: float
    cubic: int
    endless: np.ndarray | None = None
    density: Density | None = field(default=None, repr=False, compare=False)

    @cached_property
    def mean(self) -> np.ndarray:
        return self.weights @ self.nodes

    @cached_property
    def covariance(self) -> np.ndarray:
        shift = self.nodes - self.mean
        return (self.weights[:, None] * shift).T @ shift

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))

    def expect(self, values: np.ndarray) -> np.ndarray:
        """Σ_j weight_j values_j over the first axis."""
        return np.tensordot(self.weights, values, axes=(0, 0))

    def heaviest(self, mass: float = 0.9999) -> tuple[np.ndarray, np.ndarray]:
        """The fewest nodes (K, d) that hold `mass`, and weights (K,) made to sum to 1: for costly conditionals."""
        order = np.argsort(-self.weights, kind="stable")
        count = int(np.searchsorted(np.cumsum(self.weights[order]), mass * (1.0 - 1e-12))) + 1
        kept = order[:count]
        return self.nodes[kept], self.weights[kept] / self.weights[kept].sum()

    def matched(self) -> tuple[np.ndarray, np.ndarray]:
        """3, 9 or 15 points (K, d) with weights (K,) that have the posterior's mean and covariance.

        For averages of what costs a lot at each θ and changes little over an sd (moments of a large block): exact for
        polynomials of degree 3, of degree 5 if the posterior is Normal. Its skewness is left out.

        With β = 3/2, in standardised coordinates: ±√β (1, …, 1) with all signs, weight 2⁻ᵈ/β² each; ±√(2β/(β − 1)) e_i,
        weight ((β − 1)/2β)² each; the mean takes the rest.
        """
        d, beta = len(self.mode), 1.5
        if d == 1:
            points, weights = np.sqrt(3.0) * np.array([[0.0], [1.0], [-1.0]]), np.array([4.0, 1.0, 1.0]) / 6.0
        else:
            corners = np.sqrt(beta) * np.array(list(product((1.0, -1.0), repeat=d)))
            axes = np.sqrt(2.0 * beta / (beta - 1.0)) * np.concatenate([np.eye(d), -np.eye(d)])
            of_corners, of_axes = 0.5**d / beta**2, ((beta - 1.0) / (2.0 * beta)) ** 2
            points = np.concatenate([np.zeros((1, d)), corners, axes])
            weights = np.concatenate([[0.0], np.full(2**d, of_corners), np.full(2 * d, of_axes)])
            weights[0] = 1.0 - weights.sum()
        return self.mean + points @ np.linalg.cholesky(self.covariance).T, weights

    def sample_nodes(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Numbers (n,) of nodes drawn by weight, systematically and shuffled: each comes n times its weight, ±1."""
        levels = (np.arange(n) + rng.random()) / n
        drawn = np.searchsorted(np.cumsum(self.weights), levels * self.weights.sum(), side="right")
        return rng.permutation(np.minimum(drawn, len(self.weights) - 1))

    def sample(self, n: int, rng: np.random.Generator, *, exact: bool = True) -> np.ndarray:
        """n independent continuous draws (n, d).

        Proposals come from the density's linear interpolation between nodes. Each is accepted with probability
        p/(M q), M the largest ratio met above exp(−9) of the peak, so that draws follow p. With `exact` p is
        the density itself, evaluated some 2n times. Without, for a density that costs, it is the exponential of
        `interpolated`; where nodes are more than an sd apart, Normal kernels about them are drawn in towards the mean
        so that mean and covariance stay right (Liu & West 2001).
        """
        if not exact:
            if self._is_coarse:
                return self._by_kernels(n, rng)
            own = self._heavy
            tents = Tents(self.units[own], self.weights[own] / self.weights[own].sum(), self.cubic)
            return self._accepted(n, self._splines, rng, tents, self.log_density[own], FEWEST)
        if self.density is None:
            raise UnavailableError("The density was not kept.", remedy="Use sample(n, rng, exact=False).")
        density = self.density
        log_p = lambda units: density.rows(self.mode + (self.unit * units) @ self.T.T)  # noqa: E731
        return self._accepted(n, log_p, rng, Tents(self.units, self.weights, self.cubic), self.log_density, 0.0)

    def interpolated(self, theta: np.ndarray) -> np.ndarray:
        """log q (n,) at θ (n, d), up to a constant, of which draws not exact are made: the spline of the log density
        through the nodes, or the kernels about them.

        A mean of any function over them is off by at most sd(p/q) of the function's sds (Cauchy and Schwarz).
        """
        u = np.linalg.solve(self.T, (theta - self.mode).T).T
        if not self._is_coarse:
            return self._splines(u / self.unit)
        centres, root = self._kernels
        z = np.linalg.solve(root, (u[:, None] - centres).reshape(-1, u.shape[1]).T).reshape(u.shape[1], len(u), -1)
        return np.asarray(scipy.special.logsumexp(-0.5 * np.square(z).sum(axis=0), axis=1, b=self.weights))

    @property
    def _is_coarse(self) -> bool:
        return self.unit * self.cubic > COARSE

    @cached_property
    def _kernels(self) -> tuple[np.ndarray, np.ndarray]:
        """Whitened centres (J, d), and a root of the covariance that all have."""
        u = self.units * self.unit
        mean = self.weights @ u
        spread = (self.weights[:, None] * (u - mean)).T @ (u - mean)
        width = min(0.5, KERNEL * self.unit * self.cubic / float(np.sqrt(np.linalg.eigvalsh(spread)[0])))
        return mean + np.sqrt(1.0 - width * width) * (u - mean), width * np.linalg.cholesky(spread)

    def _by_kernels(self, n: int, rng: np.random.Generator) -> np.ndarray:
        centres, root = self._kernels
        drawn = centres[self.sample_nodes(n, rng)] + rng.standard_normal((n, len(root))) @ root.T
        return self.mode + drawn @ self.T.T

    @cached_property
    def _splines(self) -> Splines:
        return Splines(self.units, self.log_density, self.cubic, self._heavy)

    @cached_property
    def _heavy(self) -> np.ndarray:
        """(J,) which nodes carry all but a millionth, those as heavy as one of them included."""
        ordered = np.sort(self.weights)
        return self.weights >= ordered[np.searchsorted(np.cumsum(ordered), NEGLIGIBLE)]

    def _accepted(
        self, n: int, log_density: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator, tents: Tents,
        log_p: np.ndarray, fewest: float,
    ) -> np.ndarray:  # fmt: skip
        """n draws (n, d) of a density given in units, by rejection from tents, at whose nodes it is known; M is made
        less if fewer than the share `fewest` would be accepted."""
        floor = float(log_p.max()) - BULK
        bulk = log_p > floor
        most = float(np.max(log_p[bulk] - np.log(tents.density(tents.units[bulk]))))
        drawn, ratios, uniform = np.zeros((0, len(self.mode))), np.zeros(0), np.zeros(0)
        accepted = np.zeros(0, dtype=bool)
        while (size := int(np.count_nonzero(accepted))) < n:
            count = 64 + int(1.2 * (n - size) * (len(ratios) / size if size else 2.0))
            fresh = tents.draw(count, rng)
            value = log_density(fresh)
            ratio = value - np.log(tents.density(fresh))
            most = max(most, float(np.max(ratio[value > floor], initial=-np.inf)))
            drawn, ratios = np.concatenate([drawn, fresh]), np.concatenate([ratios, ratio])
            uniform = np.concatenate([uniform, np.log(rng.random(count))])
            enough = float(np.quantile(ratios, 1.0 - fewest)) if fewest > 0.0 else np.inf
            accepted = uniform < ratios - min(most, enough)
        return self.mode + (self.unit * drawn[accepted][:n]) @ self.T.T
