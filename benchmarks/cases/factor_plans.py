"""How good an elimination order is after a tenth of a second: entries of all products formed."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Quality

SECONDS = 0.1


def load(_: Path) -> dict[str, list[tuple[int, ...]]]:
    """Scopes of tables of two-state variables: a 40 × 8 and a 10 × 10 grid, and six random graphs."""
    import numpy as np

    rng = np.random.default_rng(0)

    def grid(rows: int, columns: int) -> list[tuple[int, ...]]:
        number = np.arange(rows * columns).reshape(rows, columns)
        down = zip(number[:-1].ravel().tolist(), number[1:].ravel().tolist(), strict=True)
        right = zip(number[:, :-1].ravel().tolist(), number[:, 1:].ravel().tolist(), strict=True)
        return [*down, *right]

    def random(n: int, tables: int, size: int) -> list[tuple[int, ...]]:
        found: set[tuple[int, ...]] = set()
        while len(found) < tables:
            found.add(tuple(sorted(rng.choice(n, size, replace=False).tolist())))
        return sorted(found)

    graphs = {"grid 40 × 8": grid(40, 8), "grid 10 × 10": grid(10, 10)}
    for n, tables, size in ((60, 90, 2), (100, 150, 2), (60, 120, 2), (200, 260, 2), (80, 48, 3), (120, 90, 3)):
        graphs[f"{n} variables, {tables} tables of {size}"] = random(n, tables, size)
    return {name: [*scopes, *((v,) for v in sorted({v for s in scopes for v in s}))] for name, scopes in graphs.items()}


def credo(data: dict[str, list[tuple[int, ...]]]) -> dict[str, float]:
    from credo.probability.factors.elimination import compile_plan

    return {
        name: math.log2(compile_plan([(2,) * len(s) for s in scopes], scopes).entries) for name, scopes in data.items()
    }


def cotengra(how: str) -> Any:
    """log₂ entries of all products in cotengra's contraction trees, by one of its optimisers."""

    def run(data: dict[str, list[tuple[int, ...]]]) -> dict[str, float]:
        import cotengra as ctg

        found = {}
        for name, scopes in data.items():
            inputs = [tuple(chr(200 + v) for v in scope) for scope in scopes]
            sizes = {letter: 2 for term in inputs for letter in term}
            if how == "greedy":
                cost = ctg.array_contract_tree(inputs, (), sizes, optimize="greedy").contraction_cost()
            elif how == "random greedy":
                cost, seed, end = math.inf, 0, time.perf_counter() + SECONDS
                while time.perf_counter() < end:
                    search = ctg.RandomGreedyOptimizer(max_repeats=8, seed=seed, parallel=False)
                    cost, seed = min(cost, search.search(inputs, (), sizes).contraction_cost()), seed + 1
            else:
                search = ctg.HyperOptimizer(methods=["greedy"], max_time=SECONDS, parallel=False, progbar=False)
                cost = search.search(inputs, (), sizes).contraction_cost()
            found[name] = math.log2(cost)
        return found

    return run


def mean(data: Any, result: dict[str, float]) -> float:
    """Mean over the graphs of log₂ entries."""
    return sum(result.values()) / len(result)


CASE = Case(
    question="The elimination order of eight graphs of two-state variables: log₂ of the entries of all products "
    "formed, on average, after a tenth of a second of search for each.",
    load=load,
    contestants=(
        Contestant("credo compile_plan", credo),
        Contestant("cotengra greedy", cotengra("greedy"), requires=("cotengra",)),
        Contestant("cotengra random greedy", cotengra("random greedy"), requires=("cotengra", "cotengrust")),
        Contestant("cotengra HyperOptimizer", cotengra("hyper"), requires=("cotengra", "optuna")),
    ),
    quality=Quality("mean log₂ entries", mean, "lower", 0.01),
    repeats=3,
)
