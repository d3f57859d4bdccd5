"""Where chains start: given positions, checked, or random ones of positive density."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.mcmc.kernel import Kernel
from credo.inference.target import Target
from credo.inference.transforms import Bijection, unconstrained

__all__ = ["starting_positions"]

#: tries at a random start before giving up, as in Stan
TRIES = 100


def starting_positions(
    target: Target,
    where: Target,
    bijection: Bijection | None,
    initial: Any,
    streams: list[np.random.Generator],
    kernel: Kernel,
    each: str = "chain",
) -> np.ndarray:
    """One start a chain in the coordinates of `where`, (chains, where.dim), each of finite density (and gradient).

    each : what starts there, for messages
    """
    if initial is None:
        return np.array(
            [_random(target, where, bijection, rng, kernel, f"{each} {i}") for i, rng in enumerate(streams)]
        )
    starts = _given(target, initial, streams)
    for i, x in enumerate(starts):
        low, high = target.bounds
        bad = np.flatnonzero(~np.isfinite(x) | (x < low) | (x > high) | _off_simplex(target, x))
        if bad.size:
            raise NumericalError(
                f"{each} {i}: the start {target.labels[bad[0]]} = {x[bad[0]]:.6g} is outside its support, where the "
                "density is zero.",
                value=x,
                remedy="Give a start inside the support.",
            )
    moved = starts if bijection is None else bijection.inverse(starts)
    for i, z in enumerate(moved):
        if not np.all(np.isfinite(z)):
            raise NumericalError(
                f"{each} {i}: the start ({target.describe(starts[i])}) is on the edge of its support, where a sampler "
                "that moves on the transformed line cannot be.",
                value=starts[i],
                remedy="Start inside the support.",
            )
        if where.has_density:
            where.check_start(z, kernel.needs_gradient, f"{each} {i}")
    return moved


def _off_simplex(target: Target, x: np.ndarray) -> np.ndarray:
    """Which entries belong to a row of a simplex that does not sum to 1 (within 1e-8, as for printed digits)."""
    off = np.zeros(target.dim, dtype=bool)
    for name, value in target.split(x).items():
        if target.support(name).kind == "simplex":
            off[target.slices[name]] = np.broadcast_to(
                np.abs(value.sum(axis=-1, keepdims=True) - 1.0) > 1e-8, value.shape
            ).ravel()
    return off


def _given(target: Target, initial: Any, streams: list[np.random.Generator]) -> np.ndarray:
    if callable(initial):
        starts = np.array([np.asarray(initial(rng), dtype=np.float64).ravel() for rng in streams])
    elif isinstance(initial, Mapping):
        starts = target.join(initial)
    else:
        starts = np.asarray(initial, dtype=np.float64)
    shape = (len(streams), target.dim)
    if starts.shape != shape and starts.shape != shape[1:]:
        raise ParameterError("sample", "initial", f"of shape ({target.dim},) or (chains, dim) = {shape}", starts)
    return np.broadcast_to(starts, shape).copy()


def _random(
    target: Target, where: Target, bijection: Bijection | None, rng: np.random.Generator, kernel: Kernel, which: str
) -> np.ndarray:
    if any(target.support(name).is_discrete for name in target.shapes):
        raise ParameterError("sample", "initial", "given when a variable is discrete", None)
    free = bijection or unconstrained(target)[1]
    for _ in range(TRIES):
        z = rng.uniform(-2.0, 2.0, free.free)
        if bijection is None:
            z = free.forward(z)
        if not where.has_density:
            return z
        value, slope = where.evaluate(z, kernel.needs_gradient)
        if np.isfinite(value) and (slope is None or np.all(np.isfinite(slope))):
            return z
    where.check_start(z, kernel.needs_gradient, f"{which}, the last of {TRIES} random starts")
    raise NumericalError(f"{which}: no usable start was found.", value=z)
