"""Hyperparameters by quadrature: the collapsed density integrated over at most three numbers, the block drawn back.

Where giving the block's law at one θ takes long, it is found at fewer values of θ than there are draws: each draw takes
the covariance of the nearest of them, in sds, and its mean moved on by the regression of all means on θ. What that is
wrong by is of second order, far less than the spread of z | θ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.distributions import Flat
from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.direct.resampling import resample
from credo.inference.gaussian_block import GaussianBlock
from credo.inference.hyper import LatticePosterior, integrate
from credo.inference.hyper.density import Density
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.transforms import Bijection, unconstrained
from credo.program.collapsed import Collapsed, leaf_draws, leaf_moments, ordered
from credo.program.fitting import Found, in_chains
from credo.program.modes import Modes, find_modes, require_an_end

__all__ = ["block_laws", "completed", "conditional_moments", "density_rows", "fit_quadrature", "theta_moments"]

# Seconds that draws of the block may take, and the fewest values of θ they are made at: so many, and more for each
# hyperparameter.
BUDGET, FEWEST, FOR_EACH = 1.0, 12, 4
# Where no coefficient of the block varies by more than this share of itself, variances err by its square or so, and
# twice as many values as a regression on θ needs will do.
NARROW = 0.05
# Rounds of k-means that place them.
ROUNDS = 5
# Seconds that the lattice may take where densities are slow, and its fewest and most evaluations.
LATTICE, LEAST, MOST = 5.0, 300, 50_000
# Evaluations of a block of more entries than these, which may go through QR at 10 ms each, where three hyperparameters
# would flood far.
FEW_ENTRIES, MOST_COSTLY = 24, 4_000
# Errors asked for, in sds; the rougher one where so many evaluations are too many.
TOLERANCE, ROUGH, MANY = 1e-3, 1e-2, 20_000
# At how many draws of an interpolated density the density itself is looked at, and the sd of their ratio up to which
# they pass for draws of it; a third as many where it is a third of that.
TRIED, OFF = 200, 0.1


def fit_quadrature(collapsed: Collapsed, draws: int, rng: np.random.Generator) -> Found | None:
    """Moments by quadrature, independent draws, the evidence and its error; None where a lattice of a costly density
    finds no end."""
    free, bijection = unconstrained(collapsed.target)
    rows = density_rows(collapsed, free, bijection)
    both: Any = lambda z: free.evaluate(z, gradient=True)  # noqa: E731
    costly = collapsed.block is not None and collapsed.block.size > FEW_ENTRIES
    if collapsed.has_batch:
        most = MOST_COSTLY if costly else MOST
    else:
        most = int(np.clip(LATTICE / collapsed.seconds, LEAST, MOST))
    exact = collapsed.is_quick or collapsed.seconds * draws < BUDGET
    modes = find_modes(collapsed, Density(None, rows, both), rng)
    laws = _Laws(collapsed, bijection) if collapsed.has_batch else None
    try:
        found = integrate(
            lambda z: float(free.evaluate(z).log_density),
            modes.places[0],
            batch=rows if collapsed.has_batch else None,
            value_and_gradient=both,
            tolerance=ROUGH if most < MANY else TOLERANCE,
            max_evaluations=most,
            scale=modes.sds,
            more_starts=modes.places[1:],
            covariances=modes.covariances,
            also=None if collapsed.has_batch else bijection.forward,
            laws=laws,
        )
    except NumericalError as error:
        if costly and collapsed.has_batch and bijection.free == 3:
            return None
        if flat := [node.name for node in collapsed.rest if isinstance(node.law, Flat)]:
            raise NotIdentifiedError(
                f"Model: the data do not determine {', '.join(map(str, flat))}, whose prior is flat: the posterior is "
                "improper, or nearly.",
                value=flat,
                remedy="Give a proper prior, such as Normal(0, 10), or leave out an effect that repeats others.",
            ) from error
        raise
    ends = require_an_end(collapsed, found.nodes, found.weights, rows, modes)
    certificate = {
        "quadrature_error": max(found.errors.values()), "evaluations": found.n_evaluations, "modes": found.n_modes
    }  # fmt: skip
    draw, quality = _drawn(found, draws, rows, 0 if exact else most, rng)
    certificate |= quality
    certain = found.converged and ends and modes.are_all and quality.get("pareto_k", 0.0) <= K_RELIABLE
    advice = () if modes.are_all else (_doubt(modes),)
    result = Result("converged" if certain else "not_certified", "quadrature", certificate=certificate, advice=advice)
    theta, kept = bijection.forward(found.nodes), found.weights > 1e-12
    moments = theta_moments(collapsed, theta, found.weights)
    moments |= conditional_moments(collapsed, theta[kept], found.weights[kept] / found.weights[kept].sum())
    if laws is not None and found.endless is not None:
        moments = laws.without_variance(moments, found.endless)
    return completed(collapsed, bijection.forward(draw), result, found.log_evidence, moments, rng)


class _Laws:
    """z (B, d) → means and sds of θ, and of a block of which many laws are found at once, given z."""

    def __init__(self, collapsed: Collapsed, bijection: Bijection) -> None:
        self.collapsed, self.bijection = collapsed, bijection
        self.block = collapsed.block if isinstance(collapsed.block, GaussianBlock) else None

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(all="ignore"):
            theta = self.bijection.forward(z)
            mean, sd = theta, np.zeros_like(theta)
            if self.block is not None:
                mean, sd = (np.concatenate(both, axis=1) for both in zip((mean, sd), self._moments(theta), strict=True))
        return mean, sd

    def _moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The block's; 0 and ∞ far out where rounding makes it singular (a scale of 0 is an error: θ is improper)."""
        assert self.block is not None
        try:
            return block_laws(self.collapsed, self.block, theta)
        except NotIdentifiedError:
            if len(theta) == 1:
                return np.zeros((1, self.block.size)), np.full((1, self.block.size), np.inf)
            halves = [self._moments(part) for part in np.array_split(theta, 2)]
            means, sds = (np.concatenate(each) for each in zip(*halves, strict=True))
            return means, sds

    def without_variance(self, moments: Moments, endless: np.ndarray) -> Moments:
        """The moments, with infinite sds of what has no second moment."""
        d = endless.size - (self.block.size if self.block is not None else 0)
        of = named(self.collapsed, endless[None, :d]) | (self.collapsed.split(endless[None, d:]) if self.block else {})
        return {
            name: (mean, np.where(of[name][0], np.inf, sd) if name in of and np.any(of[name][0]) else sd)
            for name, (mean, sd) in moments.items()
        }


def _drawn(
    found: LatticePosterior, draws: int, rows: Any, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, float]]:
    """Draws of θ, free (draws, d), and what is known of them; exact where `most` is 0.

    Where the density costs they come from its interpolation, which is tried at some of them. Where it is off by too
    much, as many as may be evaluated are weighed by the density and drawn from again.
    """
    if not most:
        return found.sample(draws, rng), {}
    z = found.sample(draws, rng, exact=False)
    ratio = lambda z: np.asarray(rows(z)) - found.interpolated(z)  # noqa: E731
    first, error = min(TRIED, most // 10), 0.0
    logs = np.empty(0)
    for share in (3, 1):
        logs = np.concatenate([logs, ratio(z[logs.size : first // share])])
        tried = np.exp(logs - logs.max())
        if (error := float(tried.std() / tried.mean())) <= OFF / share:
            return z, {"interpolation_error": error}
    z = z[:most]
    weighed = psis(ratio(z))
    weights = np.exp(np.asarray(weighed.log_weights) - np.max(weighed.log_weights))
    again = rng.permutation(resample(weights / weights.sum(), draws, rng))
    return z[again], {
        "interpolation_error": error, "pareto_k": float(weighed.k_hat), "effective": float(weighed.ess)
    }  # fmt: skip


def completed(
    collapsed: Collapsed, theta: np.ndarray, result: Result, log_evidence: float,
    moments: dict[str, tuple[np.ndarray, np.ndarray]], rng: np.random.Generator,
) -> Found:  # fmt: skip
    """What is found once θ (n, dim) is drawn: the block and the leaves drawn given it."""
    values = named(collapsed, theta)
    if collapsed.block is not None:
        values |= collapsed.split(block_draws(collapsed, theta, rng))
    values |= leaf_draws(collapsed, theta, rng)
    evidence = log_evidence if collapsed.is_proper else float("nan")
    return Found(ordered(collapsed.plan, in_chains(values)), result, log_evidence=evidence, moments=moments)


def _doubt(modes: Modes) -> str:
    return (f"{len(modes.places)} modes were found, {modes.unseen:.0%} of the searches ending in one that no other "
            "found: there may be more.")  # fmt: skip


def named(collapsed: Collapsed, theta: np.ndarray) -> dict[str, np.ndarray]:
    inputs = collapsed.inputs(theta)
    return {str(node.name): inputs[node.number] for node in collapsed.rest}


def density_rows(collapsed: Collapsed, free: Target, bijection: Bijection) -> Any:
    """The density at many z, in one go where the block can do many at once."""
    if not collapsed.has_batch:
        return lambda z: np.array([free.evaluate(row).log_density for row in z])

    def batch(z: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            x = bijection.forward(z)
            values = collapsed.log_densities(x) + bijection.log_jacobian(x, z)[0]
            return np.where(np.isnan(values), -np.inf, values)  # −∞ + ∞, where a scale overflows

    return batch


def block_draws(collapsed: Collapsed, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One draw of the block for each row of θ."""
    if collapsed.has_batch:
        assert isinstance(collapsed.block, GaussianBlock)  # the only one that does many at once
        block = collapsed.block
        parts = collapsed.in_chunks(theta)
        return np.concatenate([block.sample_each(collapsed.coefficient_rows(part), rng) for part in parts])
    d = theta.shape[1]
    fewest = FEWEST + FOR_EACH * d if _spread(collapsed, theta) > NARROW else 2 * (d + 1)
    most = int(min(max(BUDGET / collapsed.seconds, fewest), len(theta)))
    return _at_representatives(collapsed, theta, most, rng)


def _spread(collapsed: Collapsed, theta: np.ndarray) -> float:
    """The largest sd of a coefficient of the block relative to its mean, over the first rows of θ."""
    x = collapsed.coefficient_rows(theta[:TRIED])
    return float(np.max(x.std(axis=0) / np.maximum(np.abs(x.mean(axis=0)), np.finfo(float).tiny)))


def _at_representatives(collapsed: Collapsed, theta: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of the block for all rows of θ from its laws at `most` values."""
    if most >= len(theta):
        return np.stack([collapsed.belief(row).sample(1, rng)[0] for row in theta])
    assert collapsed.block is not None
    centres, nearest = _representatives(theta, most)
    z, means = np.empty((len(theta), collapsed.block.size)), np.empty((most, collapsed.block.size))
    members = [np.flatnonzero(nearest == k) for k in range(most)]
    for k, rows in enumerate(members):
        belief = collapsed.belief(centres[k])
        means[k], z[rows] = belief.mean, belief.sample(len(rows), rng)
    slope = np.linalg.lstsq(centres - centres.mean(axis=0), means - means.mean(axis=0))[0]
    for k, rows in enumerate(members):
        z[rows] += (theta[rows] - centres[k]) @ slope
    return z


def _representatives(theta: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of groups of near rows (count, dim), and the group of each row, by a few rounds of k-means in sds."""
    from scipy.spatial import KDTree

    middle, scale = theta.mean(axis=0), np.maximum(theta.std(axis=0), 1e-300)
    scaled = (theta - middle) / scale
    centres, nearest = scaled[:count], np.empty(0, dtype=np.intp)  # rows are independent draws
    for _ in range(ROUNDS):
        nearest = np.asarray(KDTree(centres).query(scaled)[1])
        size = np.bincount(nearest, minlength=count)
        sums = np.array([np.bincount(nearest, column, count) for column in scaled.T]).T
        centres = np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], centres)
    return middle + scale * centres, nearest


Moments = dict[str, tuple[np.ndarray, np.ndarray]]


def theta_moments(collapsed: Collapsed, theta: np.ndarray, weights: np.ndarray) -> Moments:
    """Means and sds of θ on its own scale, of weighted points (n, dim)."""
    return {name: _mixture(weights, x, np.zeros_like(x)) for name, x in named(collapsed, theta).items()}


def block_laws(collapsed: Collapsed, block: GaussianBlock, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and sds (B, m) of the block's entries given each θ (B, d)."""
    parts = [block.moments(collapsed.coefficient_rows(part)) for part in collapsed.in_chunks(theta)]
    means, sds = (np.concatenate(each) for each in zip(*parts, strict=True))
    return means, sds


def conditional_moments(collapsed: Collapsed, theta: np.ndarray, weights: np.ndarray) -> Moments:
    """Means and sds of leaves, and of a block of which many laws are found at once, by the laws of total mean and
    variance over weighted points of θ."""
    moments = {name: _mixture(weights, *pair) for name, pair in leaf_moments(collapsed, theta).items()}
    if not isinstance(collapsed.block, GaussianBlock) or not collapsed.has_batch:
        return moments
    block = collapsed.block
    mean, sd = _mixture(weights, *block_laws(collapsed, block, theta))
    split = collapsed.split(sd)
    return moments | {name: (value, split[name]) for name, value in collapsed.split(mean).items()}


def _mixture(weights: np.ndarray, means: np.ndarray, sds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of a mixture from those of its parts (B, ...)."""
    mean = np.tensordot(weights, means, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # some laws have no variance, or no mean
        return mean, np.sqrt(np.tensordot(weights, np.square(sds) + np.square(means - mean), 1))
