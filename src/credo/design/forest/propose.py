"""`propose_by_forest`: the next points to try where a random forest is the belief. Values are minimised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.acquisition import equations
from credo.design.acquisition.checks import checked_constraints
from credo.design.forest.candidates import best_of
from credo.design.forest.forest import TREES, Forest, ForestMoments
from credo.design.forest.table import Table
from credo.design.spaces import Space
from credo.design.surrogates.outcomes import Outcomes
from credo.errors import DataError, ParameterError, UnavailableError
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread

__all__ = ["ForestProposal", "propose_by_forest"]

# Draws of what pending trials may bring, a forest for each.
FANTASIES = 4
# sds below are 0 to the forest: all trees have the same trials there. In sds of values.
LEAST = 1e-3
# Trials that forests are grown from, at most: the best half and others evenly through time.
MOST = 1000
# Best trials that candidates are sought around.
AROUND = 5

LogWeights = Callable[[Sequence[Mapping[str, Any]]], np.ndarray]


@dataclass(frozen=True, eq=False)
class ForestProposal:
    """Points to try, and why; arrays are (n,).

    points : of the space; mean, sd : of the belief about the objective there, in its units
    within, between : shares of its variance, in standardised units: within leaves, and between trees
    acquisition : log expected improvement, with constraints' log probability, given the points before
    exploitation, exploration : (b − μ)Φ and σφ, in standardised units; feasibility : P(all constraints are met)
    """

    points: list[dict[str, Any]]
    mean: np.ndarray
    sd: np.ndarray
    within: np.ndarray
    between: np.ndarray
    acquisition: np.ndarray
    exploitation: np.ndarray
    exploration: np.ndarray
    feasibility: np.ndarray
    method: str = "log_ei"
    reason: str = "a forest's mean and variance"


def propose_by_forest(
    space: Space,
    points: Sequence[Mapping[str, Any]],
    values: Any,
    *,
    pending: Sequence[Mapping[str, Any]] = (),
    n: int = 1,
    noisy: bool | None = None,
    constraints: Any = None,
    prior: LogWeights | None = None,
    rng: np.random.Generator,
    warp: bool = True,
    trees: int = TREES,
) -> ForestProposal:
    """The n points of highest log expected improvement under a random forest: lower values are better.

    Parameters
    ----------
    space : may be conditional and constrained; points, values (m,) : what was tried, m ≥ 1, finite
    pending : points being tried: their values are drawn from the forest, and others grown with each draw
    noisy : if True, leaves hold three trials or more, the best value is the lowest mean, and a point may come again
    constraints (m, k) : of each trial, numbers that must be ≤ 0; each has a forest of its own
    prior : points → log weights that are added, as in πBO

    Raises
    ------
    ParameterError, DataError : bad shapes, points outside the space, values that are not finite
    UnavailableError : no new point was found

    Cost about 50 ms for 100 trials of ten parameters.

    >>> import credo as cr
    >>> space = cr.Space(kind=cr.Choice(["a", "b"]), x=cr.Real(0, 1, when={"kind": "b"}))
    >>> rng = np.random.default_rng(0)
    >>> tried = space.design(20, rng)
    >>> found = propose_by_forest(space, tried, [point.get("x", 1.0) for point in tried], rng=rng)
    >>> found.points[0]["kind"], found.points[0]["x"] < 0.3
    ('b', True)
    """
    rng = as_generator(rng)
    y, limits = _checked(space, points, values, constraints, n)
    with single_blas_thread():
        return _Search(space, list(points), y, limits, list(pending), noisy, prior, rng, warp, trees).run(n)


class _Search:
    """One call of `propose_by_forest`."""

    def __init__(
        self, space: Space, points: list[Mapping[str, Any]], y: np.ndarray, limits: np.ndarray,
        waiting: list[Mapping[str, Any]], noisy: bool | None, prior: LogWeights | None, rng: np.random.Generator,
        warp: bool, trees: int,
    ) -> None:  # fmt: skip
        self.space, self.points, self.waiting, self.rng, self.trees = space, points, waiting, rng, trees
        self.noisy, self.prior, self.table = bool(noisy), prior, Table(space)
        self.outcomes = Outcomes.of(y, warp=warp)
        self.z, self.X = self.outcomes.inside(y), self.table.columns(points)
        self.leaf = 3 if noisy else 1
        self.kept = _kept(self.z)
        self.forest = self._grown(self.X[self.kept], self.z[self.kept])
        self.met = np.all(limits <= 0.0, axis=1)
        self.bounds = [self._constraint(column) for column in limits.T]
        rank = self.forest.moments(self.X).mean if noisy else self.z
        self.order = np.lexsort((rank, ~self.met))
        self.best = float(rank[self.order[0]])

    def run(self, n: int) -> ForestProposal:
        found: list[dict[str, Any]] = []
        acquisition = np.empty(n)
        for i in range(n):
            point, acquisition[i] = self._next([*self.waiting, *found])
            found.append(point)
        X = self.table.columns(found)
        moments = self.forest.moments(X)
        sd = np.maximum(moments.sd, LEAST)
        parts = equations.improvement_parts(moments.mean, sd, np.array(self.best))
        own, spread = self.outcomes.moments(moments.mean, sd)
        return ForestProposal(
            found, own, spread, moments.within, moments.between, acquisition, *parts, np.exp(self._feasibility(X))
        )

    def _next(self, waiting: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], float]:
        forests, bests = self._given(waiting)
        seen = [*waiting] if self.noisy else [*self.points, *waiting]
        taken = {self.space.key(point) for point in seen}
        good = self.table.uniforms([self.points[i] for i in self.order[:AROUND]], self.rng)

        def worth(X: np.ndarray) -> np.ndarray:
            logs = np.zeros((len(X), len(forests)))
            if self.met.any():
                for s, (forest, best) in enumerate(zip(forests, bests)):
                    mean, sd = _mean_sd(forest.moments(X))
                    logs[:, s] = equations.log_expected_improvement(mean, sd, np.array(best)).value
            return equations.log_mean_exp(logs)[0] + self._feasibility(X)

        def weighted(X: np.ndarray, points: Sequence[Mapping[str, Any]]) -> np.ndarray:
            return worth(X) if self.prior is None else worth(X) + self.prior(points)

        looked = best_of(self.table, good, weighted, taken, self.rng)
        if not looked.points:
            raise UnavailableError(
                "propose_by_forest found no new point that satisfies the constraints.",
                remedy="Every point was tried: stop, or state noisy=True to try some again.",
            )
        best = int(np.argmax(looked.worth))
        return looked.points[best], float(looked.worth[best])

    def _given(self, waiting: Sequence[Mapping[str, Any]]) -> tuple[list[Forest], list[float]]:
        """Forests given draws of what waiting trials bring, and the best value of each."""
        if not waiting:
            return [self.forest], [self.best]
        W = self.table.columns(waiting)
        mean, sd = _mean_sd(self.forest.moments(W))
        forests, bests = [], []
        for _ in range(FANTASIES):
            drawn = mean + sd * self.rng.standard_normal(len(W))
            X, z = np.concatenate([self.X[self.kept], W]), np.concatenate([self.z[self.kept], drawn])
            forests.append(self._grown(X, z, self.trees // 2))
            bests.append(min(self.best, float(drawn.min())))
        return forests, bests

    def _grown(self, X: np.ndarray, z: np.ndarray, trees: int | None = None) -> Forest:
        return Forest.grow(X, z, self.table.levels, self.rng, trees=trees or self.trees, leaf=self.leaf)

    def _constraint(self, c: np.ndarray) -> tuple[Forest, float]:
        outcomes = Outcomes.of(c, warp=False)
        return self._grown(self.X[self.kept], outcomes.inside(c)[self.kept]), float(outcomes.inside(np.zeros(1))[0])

    def _feasibility(self, X: np.ndarray) -> np.ndarray:
        """log P(all constraints are met) (m,)."""
        total = np.zeros(len(X))
        for forest, threshold in self.bounds:
            mean, sd = _mean_sd(forest.moments(X))
            total += equations.log_feasibility(mean - threshold, sd).value
        return total


def _mean_sd(moments: ForestMoments) -> tuple[np.ndarray, np.ndarray]:
    return moments.mean, np.maximum(moments.sd, LEAST)


def _kept(z: np.ndarray) -> np.ndarray:
    if len(z) <= MOST:
        return np.arange(len(z))
    order = np.argsort(z, kind="stable")
    rest = np.sort(order[MOST // 2 :])
    return np.concatenate([order[: MOST // 2], rest[np.linspace(0, len(rest) - 1, MOST - MOST // 2).astype(np.intp)]])


def _checked(
    space: Space, points: Sequence[Mapping[str, Any]], values: Any, constraints: Any, n: int
) -> tuple[np.ndarray, np.ndarray]:
    y = np.asarray(values, dtype=np.float64)
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise ParameterError("propose_by_forest", "n", "an integer ≥ 1", n)
    if not len(points) or y.shape != (len(points),):
        raise ParameterError("propose_by_forest", "values", f"one for each of {len(points)} ≥ 1 points", y.shape)
    if not np.all(np.isfinite(y)):
        bad = np.flatnonzero(~np.isfinite(y)).tolist()
        raise DataError(
            f"Values of trials {bad[:5]} are not finite.", rows=bad, value=y[bad[0]], remedy="Leave failed trials out."
        )
    for point in points:
        space.check(point)
    return y, checked_constraints(constraints, len(points))
