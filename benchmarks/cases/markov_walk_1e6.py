"""The stationary law of random walks on 1e6 states, to a residual of 1e-10."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Limit, Quality

STATES, SIDE = 1_000_000, 1000


def load(_: Path) -> dict[str, Any]:
    """Name → sparse transitions.

    line    a queue: up with 0.49, down with 0.5, else stay; the law spans e^−20,000
    grid    a walk on a square of 1,000 × 1,000 whose steps have unequal weights
    links   four links out of each state, to anywhere: no detailed balance
    """
    import numpy as np
    import scipy.sparse as sparse

    rng = np.random.default_rng(0)
    up, down = np.full(STATES - 1, 0.49), np.full(STATES - 1, 0.5)
    line = sparse.diags_array([up, down], offsets=[1, -1], format="csr")
    line += sparse.diags_array(1.0 - np.asarray(line.sum(axis=1)).ravel())
    number = np.arange(STATES).reshape(SIDE, SIDE)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    a, b = (np.concatenate([pair[i].ravel() for pair in pairs]) for i in (0, 1))
    weight = rng.uniform(0.5, 2.0, a.size)
    shape = (STATES, STATES)
    edges = sparse.csr_array((np.tile(weight, 2), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=shape)
    tails, heads = np.repeat(np.arange(STATES), 4), rng.integers(STATES, size=4 * STATES)
    links = sparse.csr_array((rng.random(4 * STATES), (tails, heads)), shape=shape)
    return {"line": line, "grid": _rows_of_one(edges), "links": _rows_of_one(links)}


def _rows_of_one(weights: Any) -> Any:
    import numpy as np
    import scipy.sparse as sparse

    return sparse.diags_array(1.0 / np.asarray(weights.sum(axis=1)).ravel()) @ weights


def stationary(name: str) -> Callable[[dict[str, Any]], float]:
    def run(chains: dict[str, Any]) -> float:
        """The largest residual max |π − π P|/max π, computed here."""
        import numpy as np

        from credo.probability import MarkovChain

        P = chains[name]
        pi = MarkovChain(P).stationary
        return float(np.abs(P.T @ pi - pi).max() / pi.max())

    return run


CASE = Case(
    question="The stationary law of a walk on 1e6 states (a line, a grid with unequal weights, random links without "
    "detailed balance), chain checked and made first: seconds, and the residual max |π − πP|/max π.",
    load=load,
    contestants=tuple(Contestant(f"credo MarkovChain, {name}", stationary(name)) for name in ("line", "grid", "links")),
    quality=Quality("residual", lambda _, value: value, "lower", 1e-10),
    limits={f"credo MarkovChain, {name}": Limit("seconds", 10.0) for name in ("line", "grid", "links")},
    repeats=3,
)
