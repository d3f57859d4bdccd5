"""Values of θ for nested Laplace, drawn near p(θ) L(θ): from a lattice, from importance sampling, or from NUTS."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, NotIdentifiedError, NumericalError
from credo.inference.direct.adaptive import adaptive_importance
from credo.inference.direct.resampling import resample
from credo.inference.hyper import LatticePosterior, integrate
from credo.inference.hyper.density import Density
from credo.inference.hyper.tents import Tents
from credo.inference.transforms import unconstrained
from credo.program.collapsed import Collapsed
from credo.program.fitting import numerical
from credo.program.modes import Modes, find_modes, require_an_end
from credo.program.quadrature import theta_moments

__all__ = ["NoRuleError", "Proposals", "evenly", "propose"]

# Seconds that the rule may take, its fewest evaluations, most where it must be sparing, and how many of one, two, three
# hyperparameters it need not be for; the error asked for, in sds, and one that is too large; what a correction costs.
SECONDS, LEAST, MOST, FREELY = 2.0, 60, 399, (400, 1_500, 6_000)
TOLERANCE, ROUGH, DEARER = 1e-2, 5e-2, 2.0
# By importance sampling, evaluations at least; k̂ that lets draws pass; seconds that they may take in all.
FEWEST, LARGEST_K, LONGEST = 600, 0.7, 10.0
# Laplace's density of θ is corrected if what it misses differs by so many nats so many sds from its mode, where tails
# begin; the step of the correction's slope, in sds.
MISSED, REACH, DIFFERENCE = 0.1, 2.5, 0.3
# Share of values of θ that follow the root of the density: so that its tails, where sds are large, have values too.
FLATTER = 0.3
# Evaluations by NUTS are many: not where one takes longer than this.
SLOWEST = 0.02


class NoRuleError(Exception):
    """The density of θ could not be integrated, and why."""


@dataclass(frozen=True, eq=False)
class Proposals:
    """theta (n, d); log_q (n,) their log densities, None where they are draws of p(θ) L(θ) itself; log_evidence of
    p(θ) L(θ), NaN where not known; certificate of the rule; moments of θ by node, (mean, sd), where known;
    known (n,) : what L has of groups integrated exactly beside Laplace's, as a logarithm; None of nothing"""

    theta: np.ndarray
    log_q: np.ndarray | None
    log_evidence: float
    certificate: dict[str, Any] = field(default_factory=dict)
    moments: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    known: np.ndarray | None = None


def propose(collapsed: Collapsed, n: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Proposals:
    """n values of θ. Raises `NoRuleError`."""
    method = collapsed.plan.method
    if not collapsed.rest:
        return Proposals(np.empty((1, 0)), np.zeros(1), 0.0)
    if method == "nuts":
        return _by_nuts(collapsed, n, rng, options)
    density = _Density(collapsed)
    try:
        modes = find_modes(collapsed, density.for_search, rng)
        density.correct_if_needed(modes.places[0], modes.sds)
    except (NumericalError, NotIdentifiedError, np.linalg.LinAlgError) as error:
        raise NoRuleError(str(error)) from None
    if not modes.are_all:
        raise NoRuleError("the hyperparameters have several modes")
    rule = _by_lattice if method == "quadrature" else _by_importance
    try:
        proposals, positions, weights = rule(density, n, rng, modes)
    except NoRuleError:
        if not density.corrected:
            raise
        density.corrected = False  # Laplace's own density may do: the weights of draws will tell
        proposals, positions, weights = rule(density, n, rng, modes)
    if not require_an_end(collapsed, positions, weights, density.rows, modes):
        raise NoRuleError("the hyperparameters were followed into a spike")
    return proposals


class _Density:
    """log p(θ) L(θ) over free coordinates z. L is Laplace's ∫ of the block; once `corrected`, with groups integrated
    exactly, whose gradient is Laplace's and a difference, or, where that takes long, with a quadratic through some of
    it: what this errs by the weights put right."""

    def __init__(self, collapsed: Collapsed) -> None:
        self.collapsed = collapsed
        self.free, self.bijection = unconstrained(collapsed.target)
        self.corrected = False
        self.step = np.ones(0)
        self.smooth: _Quadratic | None = None

    @property
    def for_search(self) -> Density:
        return Density(None, self.rows, self.value_and_gradient)

    def correct_if_needed(self, mode: np.ndarray, sds: np.ndarray) -> None:
        """Where what Laplace misses changes much over the width of its own density."""
        self.step = DIFFERENCE * sds
        block: Any = self.collapsed.block
        if block.corrects_slowly:
            self.smooth = _Quadratic.through(self.missed, mode, REACH * np.minimum(sds, 3.0))
            self.corrected = self.smooth is not None
            return
        near = [mode, *(mode + sign * k for k in np.diag(REACH * np.minimum(sds, 3.0)) for sign in (1.0, -1.0))]
        missed = np.array([self._correction(z) for z in near])
        self.corrected = bool(np.ptp(missed[np.isfinite(missed)]) > MISSED) if np.isfinite(missed).any() else False

    @property
    def seconds(self) -> float:
        """Roughly, of a value."""
        return self.collapsed.seconds * (DEARER if self.corrected and self.smooth is None else 1.0)

    def value(self, z: np.ndarray) -> float:
        value = float(self.free.evaluate(z).log_density)
        return value + self._correction(z) if self.corrected and np.isfinite(value) else value

    def rows(self, z: np.ndarray) -> np.ndarray:
        return np.array([self.value(row) for row in z])

    def value_and_gradient(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = self.free.evaluate(z, gradient=True)
        assert slope is not None
        if not self.corrected or not np.isfinite(value):
            return float(value), slope
        if self.smooth is not None:
            return float(value) + self.smooth.value(z), slope + self.smooth.slope(z)
        ends = [self._correction(z + h) - self._correction(z - h) for h in np.diag(self.step)]
        return float(value) + self._correction(z), slope + np.array(ends) / (2.0 * self.step)

    def known(self, z: np.ndarray) -> np.ndarray | None:
        """What is corrected at z (n, d)."""
        return np.array([self._correction(each) for each in z]) if self.corrected else None

    def _correction(self, z: np.ndarray) -> float:
        return self.missed(z) if self.smooth is None else self.smooth.value(z)

    def missed(self, z: np.ndarray) -> float:
        """What Laplace's ∫ misses of the groups."""
        try:
            belief: Any = self.collapsed.belief(self.bijection.forward(z))
            return float(belief.correction())
        except (NumericalError, NotIdentifiedError):
            return -np.inf


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """c + b·t + ½ tᵀA t at t = (z − mode)/reach, each within ±1."""

    mode: np.ndarray
    reach: np.ndarray
    c: float
    b: np.ndarray
    A: np.ndarray

    @classmethod
    def through(cls, function: Any, mode: np.ndarray, reach: np.ndarray) -> _Quadratic | None:
        """By least squares at the mode, half and all of the reach along every axis, and between each two; None where
        the function is not finite."""
        d = len(mode)
        ends = [sign * length * e for e in np.eye(d) for sign in (1.0, -1.0) for length in (0.5, 1.0)]
        between = [sign * 0.7 * (e + f) for i, e in enumerate(np.eye(d)) for f in np.eye(d)[:i] for sign in (1.0, -1.0)]
        t = np.array([np.zeros(d), *ends, *between])
        values = np.array([function(mode + reach * each) for each in t])
        finite = np.isfinite(values)
        i, j = np.triu_indices(d)
        if finite.sum() < 1 + d + len(i):
            return None
        terms = np.column_stack([np.ones(len(t)), t, t[:, i] * t[:, j] * np.where(i == j, 0.5, 1.0)])[finite]
        found = np.linalg.lstsq(terms, values[finite])[0]
        A = np.zeros((d, d))
        A[i, j] = A[j, i] = found[1 + d :]
        return cls(mode, reach, float(found[0]), found[1 : 1 + d], A)

    def value(self, z: np.ndarray) -> float:
        t = np.clip((z - self.mode) / self.reach, -1.0, 1.0)
        return self.c + float(t @ (self.b + 0.5 * self.A @ t))

    def slope(self, z: np.ndarray) -> np.ndarray:
        t = (z - self.mode) / self.reach
        inside = np.abs(t) <= 1.0
        return np.where(inside, (self.b + self.A @ np.clip(t, -1.0, 1.0)) / self.reach, 0.0)


_Rule = tuple[Proposals, np.ndarray, np.ndarray]


def _by_lattice(density: _Density, n: int, rng: np.random.Generator, modes: Modes) -> _Rule:
    bijection = density.bijection
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # what the rule errs by, the weights put right
            found = integrate(
                density.value,
                modes.places[0],
                value_and_gradient=density.value_and_gradient,
                tolerance=TOLERANCE,
                max_evaluations=_affordable(density),
                scale=modes.sds,
                more_starts=modes.places[1:],
            )
    except NumericalError as error:
        raise NoRuleError(str(error)) from None
    error = max(found.errors.values())
    if error > ROUGH and FEWEST * density.seconds < LONGEST:  # heavy tails, which proposals of Student's t reach
        return _by_importance(density, n, rng, modes)
    z, log_q = _from_tents(found, n, rng)
    x = bijection.forward(z)
    moments = theta_moments(density.collapsed, bijection.forward(found.nodes), found.weights)
    certificate = {"quadrature_error": error, "evaluations": found.n_evaluations}
    log_q = log_q - bijection.log_jacobian(x, z)[0]
    made = Proposals(x, log_q, found.log_evidence, certificate, moments, density.known(z))
    return made, found.nodes, found.weights


def _affordable(density: _Density) -> int:
    """Evaluations of a lattice: as many as it likes, or so few that it spares what it can."""
    most = int(SECONDS / density.seconds)
    return most if most >= FREELY[len(density.step) - 1] else int(np.clip(most, LEAST, MOST))


def _from_tents(found: LatticePosterior, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draws (n, d) from what a lattice's density is between its nodes, or its root, as evenly as the nodes' weights
    allow, and their log densities."""
    root = np.sqrt(found.weights)
    flatter = replace(found, weights=(1.0 - FLATTER) * found.weights + FLATTER * root / root.sum())
    tents, d = Tents(found.units, flatter.weights, found.cubic), len(found.mode)
    at = found.units[flatter.sample_nodes(n, rng)]
    at = at + found.cubic * (rng.random(at.shape) - rng.random(at.shape))
    volume = d * np.log(found.cubic * found.unit) + np.linalg.slogdet(found.T)[1]
    return found.mode + (found.unit * at) @ found.T.T, np.log(tents.density(at)) - volume


def evenly(z: np.ndarray, weights: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Indices (n,) of rows of z (N, d), row i n·w_i times on average, and spread over z: means of what varies smoothly
    with z, such as sds of effects, err by less than with n independent draws of θ."""
    order = _by_nearness(z / np.maximum(z.std(axis=0), 1e-300), np.arange(len(z)))
    return order[resample(weights[order], n, rng, "stratified")]


def _by_nearness(z: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows in an order in which neighbours are near: halved along the widest axis again and again."""
    if len(rows) < 3:
        return rows
    rows = rows[np.argsort(z[rows, np.argmax(np.ptp(z[rows], axis=0))], kind="stable")]
    half = len(rows) // 2
    return np.concatenate([_by_nearness(z, rows[:half]), _by_nearness(z, rows[half:])])


def _by_importance(density: _Density, n: int, rng: np.random.Generator, modes: Modes) -> _Rule:
    collapsed = density.collapsed
    count = int(np.clip(2.0 * SECONDS / density.seconds, FEWEST, 4_000))
    found = adaptive_importance(density.rows, modes.places, modes.covariances, count, rng)
    if found.pareto_k > LARGEST_K:
        raise NoRuleError(f"k̂ = {found.pareto_k:.2f} of the hyperparameters' weights")
    x = density.bijection.forward(found.positions)
    chosen = evenly(found.positions, found.weights, n, rng)
    certificate = {"evaluations": count, "effective_hyperparameters": found.effective}
    moments = theta_moments(collapsed, x, found.weights)
    known = density.known(found.positions[chosen])
    made = Proposals(x[chosen], None, found.log_evidence, certificate, moments, known)
    return made, found.positions, found.weights


def _by_nuts(collapsed: Collapsed, n: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Proposals:
    if collapsed.seconds > SLOWEST:
        raise NoRuleError(f"{sum(node.size for node in collapsed.rest)} hyperparameters of a large block")
    found = numerical(collapsed.target, "nuts", max(n, 1000), rng, options)
    if not found.result.ok:
        raise NoRuleError(f"NUTS over the hyperparameters: {found.result.message}")
    x = np.concatenate([v.reshape(-1, int(np.prod(v.shape[2:]))) for v in found.values.values()], axis=1)
    chosen = evenly(unconstrained(collapsed.target)[1].inverse(x), np.ones(len(x)), n, rng)
    return Proposals(x[chosen], None, float("nan"), dict(found.result.certificate))
