"""Hyperparameters by quadrature: the collapsed density integrated over at most three numbers, the block drawn back.

Where giving the block's law at one θ takes long, its draws are made at fewer values of θ than there are draws: each
draw takes the nearest of them, in sds, which moves z | θ by far less than its own spread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.hyper import LatticePosterior, integrate
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.transforms import Bijection, unconstrained
from credo.program.collapsed import Collapsed, in_chains, leaf_draws, ordered
from credo.program.fitting import Found

__all__ = ["block_draws", "density_rows", "fit_quadrature", "named"]

# Seconds that draws of the block may take, and the fewest values of θ they are made at.
BUDGET, FEWEST = 2.0, 40
# Seconds that the lattice may take where densities are slow, and its fewest and most evaluations.
LATTICE, LEAST, MOST = 5.0, 300, 50_000
# Errors asked for, in sds; the rougher one where so many evaluations are too many.
TOLERANCE, ROUGH, MANY = 1e-3, 1e-2, 20_000


def fit_quadrature(
    collapsed: Collapsed, draws: int, rng: np.random.Generator, options: Mapping[str, Any]
) -> Found:  # fmt: skip
    """Moments by quadrature, independent draws, the evidence and its error."""
    if options:
        raise ParameterError("Model.fit", sorted(options)[0], "left out: this model needs no sampler", dict(options))
    free, bijection = unconstrained(collapsed.target)
    start = bijection.inverse(collapsed.start())
    rows = density_rows(collapsed, free, bijection) if collapsed.has_batch else None
    each = collapsed.seconds if rows is None else 0.0
    most = MOST if rows is not None else int(np.clip(LATTICE / each, LEAST, MOST))
    rough, exact = most < MANY, each * draws < BUDGET
    found = integrate(
        lambda z: float(free.evaluate(z).log_density),
        start,
        batch=rows,
        value_and_gradient=lambda z: free.evaluate(z, gradient=True),  # type: ignore[arg-type,return-value]
        tolerance=ROUGH if rough else TOLERANCE,
        max_evaluations=most,
    )
    theta = bijection.forward(found.sample(draws, rng, exact=exact))
    values = named(collapsed, theta)
    if collapsed.block is not None:
        values |= collapsed.split(block_draws(collapsed, theta, rng))
    values |= leaf_draws(collapsed, theta, rng)
    certificate = {
        "quadrature_error": max(found.errors.values()), "evaluations": found.n_evaluations, "modes": found.n_modes
    }  # fmt: skip
    result = Result("converged" if found.converged else "not_certified", "collapsed", certificate=certificate)
    return Found(ordered(collapsed.plan, in_chains(values)), result,
                 log_evidence=found.log_evidence if collapsed.is_proper else float("nan"),
                 moments=_moments(collapsed, found, bijection))  # fmt: skip


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
            return collapsed.log_densities(x) + bijection.log_jacobian(x, z)[0]

    return batch


def block_draws(collapsed: Collapsed, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One draw of the block for each row of θ."""
    if collapsed.has_batch:
        assert collapsed.block is not None
        return collapsed.block.sample_each(collapsed.coefficient_rows(theta), rng)
    most = int(np.clip(BUDGET / collapsed.seconds, FEWEST, len(theta)))
    return _at_representatives(collapsed, theta, most, rng)


def _at_representatives(collapsed: Collapsed, theta: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of the block at `most` of the rows of θ, every row taking the nearest of them."""
    from scipy.spatial import KDTree

    n = len(theta)
    if most >= n:
        return np.stack([collapsed.belief(row).sample(1, rng)[0] for row in theta])
    scaled = (theta - theta.mean(axis=0)) / np.maximum(theta.std(axis=0), 1e-300)
    chosen = np.linspace(0, n - 1, most).astype(np.intp)
    nearest = KDTree(scaled[chosen]).query(scaled)[1]
    z: np.ndarray | None = None
    for k, at in enumerate(chosen):
        rows = np.flatnonzero(nearest == k)
        drawn = collapsed.belief(theta[at]).sample(len(rows), rng)
        z = np.empty((n, drawn.shape[1])) if z is None else z
        z[rows] = drawn
    assert z is not None
    return z


def _moments(
    collapsed: Collapsed, found: LatticePosterior, bijection: Bijection
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Means and sds by the nodes: of θ on its own scale, and of the block by the laws of total mean and variance."""
    theta, weights = bijection.forward(found.nodes), found.weights
    moments: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, value in named(collapsed, theta).items():
        mean = np.tensordot(weights, value, 1)
        with np.errstate(over="ignore"):
            moments[name] = (mean, np.sqrt(np.tensordot(weights, np.square(value - mean), 1)))
    if collapsed.block is None or not collapsed.has_batch:
        return moments
    kept = weights > 1e-12
    means, sds = collapsed.block.moments(collapsed.coefficient_rows(theta[kept]))
    w = weights[kept] / weights[kept].sum()
    mean = w @ means
    sd = np.sqrt(w @ (np.square(sds) + np.square(means - mean)))
    split = collapsed.split(sd)
    return moments | {name: (value, split[name]) for name, value in collapsed.split(mean).items()}
