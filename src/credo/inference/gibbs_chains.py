"""Chains advanced together, lengthened until their certificate holds.

A step here moves all chains at once (a batch axis leads every array of the state), which is what conjugate samplers in
NumPy want; `inference.mcmc.sample` runs kernels of a general target one chain at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from credo.diagnostics.mcmc import check_convergence
from credo.errors import ConvergenceWarning, warn
from credo.inference.draws import Draws
from credo.inference.result import Result
from credo.numerics.threads import single_blas_thread

__all__ = ["CHAINS", "run_chains"]

# Split R̂ of four chains is what the certificate was calibrated on (Vehtari et al. 2021).
CHAINS = 4
# A sampler that mixes well has forgotten its start after some dozen sweeps, and is certified at the first look.
WARM_UP = 300
DRAWS = 500
# Sweeps of a chain before it gives up: 60 times what a sampler that mixes well needs.
BUDGET = 32_000
# Draws of a chain that are kept; beyond, every second one goes: memory is bounded, and slow chains lose little.
KEPT = 4_000


def run_chains(
    step: Callable[[Any, np.random.Generator], Any],
    state: Any,
    collect: Callable[[Any], Mapping[str, np.ndarray]],
    rng: np.random.Generator,
    *,
    owner: str,
    inference: str = "gibbs",
    warm_up: int = WARM_UP,
    draws: int = DRAWS,
    budget: int = BUDGET,
) -> Draws:
    """Draws of what `collect(state)` names, arrays (chains, *shape), after `warm_up` sweeps of `step(state, rng)`.

    `draws` sweeps a chain, doubled until R̂ < 1.01 and the bulk and tail ESS reach 400 for every entry; at `budget`
    sweeps the run ends with a `ConvergenceWarning` and the status "not_certified".
    """
    began = time.perf_counter()
    with single_blas_thread():  # a sweep is many small products: threads would wait for each other
        for _ in range(warm_up):
            state = step(state, rng)
        kept: dict[str, list[np.ndarray]] = {name: [] for name in collect(state)}
        done, every, target = 0, 1, draws
        while True:
            while done < target:
                state = step(state, rng)
                done += 1
                if done % every == 0:
                    for name, value in collect(state).items():
                        kept[name].append(np.array(value))
            values = {name: np.stack(rows, axis=1) for name, rows in kept.items()}
            verdict = check_convergence(values)
            if verdict.ok or target >= budget:
                break
            target = min(2 * target, budget)
            if target // every > KEPT:
                every *= 2
                kept = {name: rows[1::2] for name, rows in kept.items()}
    if not verdict.ok:
        warn(f"{owner}: after {done} sweeps of {len(next(iter(values.values())))} chains, {' '.join(verdict.advice)}",
             ConvergenceWarning)  # fmt: skip
    status = "converged" if verdict.ok else "not_certified"
    certificate = {name: verdict.certificate[name] for name in ("rhat", "ess_bulk", "ess_tail")}
    result = Result(status, inference, seconds=(time.perf_counter() - began,), certificate=certificate,
                    advice=verdict.advice)  # fmt: skip
    return Draws(values, result)
