"""`climb_in_stages`: hyperparameters by `Vecchia`, whose evidence is smooth only while neighbours stay as they are.

1. Neighbours are chosen at the current θ and kept; the objective of `TERMS` rows' conditional densities, each
   standing for n/TERMS, is climbed; neighbours are chosen anew; until θ stays.
2. Neighbours are chosen once more, for all rows, and the objective of all is climbed.
3. At the θ found they are chosen a last time: what all rows say there, with its slope, is the answer and certifies it.

Nothing is drawn: the rows of the first stage lie evenly through the ordering, so that all scales are among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.kernels import Kernel
from credo.models.gaussian_process.learning import TOLERANCE, Climb, Objective, climb
from credo.models.gaussian_process.solvers.base import Solver
from credo.models.gaussian_process.solvers.vecchia import Vecchia, VecchiaAt

__all__ = ["climb_in_stages"]

# The optimum of t of n terms misses that of all by about h/2 · n/t nats, h hyperparameters: at 1e5 rows and h = 10 some
# 60, which the second stage wins in a few steps, for a twelfth of the cost of going all the way with all rows.
TERMS = 8192
# Stages of the first kind stop when no hyperparameter moves by more than a tenth of itself, or after four.
MOVED, ROUNDS = 0.1, 4
# Nats a row: neighbours that are chosen anew move the evidence by more.
ROUGH, FINE = 1e-4, 1e-5


def climb_in_stages(
    solver: Vecchia,
    kernel_at: Callable[[np.ndarray], Kernel],
    X: np.ndarray,
    objective_with: Callable[[Solver], Objective],
    start: Any,
    bounds: Any,
    *,
    n_restarts: int = 0,
    rng: np.random.Generator,
    names: Sequence[str] = (),
    inference: str = "evidence",
) -> tuple[VecchiaAt, Climb]:
    """Maximise an objective over a box as `climb` does; and the solver with the neighbours of the θ found.

    kernel_at : θ (h,) → the kernel there; X (n, d) rows
    objective_with : a solver → the objective θ → (value, gradient) that solves with it
    n_restarts : further starts, tried in the first stage only

    The certificate adds "first_stage_rows"; "rounds", how often neighbours were chosen there; and
    "gain_at_last_neighbors", by how much choosing them at the answer changed its value, nats.
    """
    n = len(X)
    fine = max(TOLERANCE, FINE * n)
    rough = {"rng": rng, "tol": max(fine, ROUGH * n), "inference": inference}
    terms = TERMS if n > 2 * TERMS else None
    theta, rounds, moved = np.asarray(start, dtype=np.float64), 0, np.inf
    while moved > MOVED and rounds < ROUNDS:
        at = solver.at(kernel_at(theta), X, terms)
        top = climb(objective_with(at), theta, bounds, n_restarts=0 if rounds else n_restarts, **rough)
        moved, theta, rounds = float(np.abs(top.theta - theta).max(initial=0.0)), top.theta, rounds + 1
    at = solver.at(kernel_at(theta), X)
    top = climb(objective_with(at), theta, bounds, rng=rng, tol=fine, names=names, inference=inference)
    at = solver.at(kernel_at(top.theta), X)
    value, gradient = objective_with(at)(top.theta)
    certificate = {
        **top.result.certificate,
        "first_stage_rows": terms or n,
        "rounds": rounds,
        "gain_at_last_neighbors": value - top.value,
    }
    result = replace(top.result, certificate=certificate)
    return at, replace(top, value=value, gradient=gradient, result=result)
