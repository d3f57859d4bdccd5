"""`propose_front`: the next points to try where two objectives are to be low at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.acquisition.checks import checked_box, checked_constraints, checked_history, checked_points
from credo.design.acquisition.functions import Acquisition, Bound, Feasible, LogWeight, Weighted
from credo.design.acquisition.points import even_points
from credo.design.acquisition.propose import State
from credo.design.acquisition.quick import moments_of
from credo.design.acquisition.search import highest, narrowed
from credo.design.fronts.equations import corners, hypervolume_improvement
from credo.design.fronts.functions import End, FrontImprovement, padded_corners
from credo.design.fronts.hypervolume import checked_reference, reference_point
from credo.design.fronts.incumbents import fantasise_front, likely_front
from credo.design.fronts.pareto import non_dominated
from credo.design.surrogates.cube import Cube, Grid, OneHot, cube_of
from credo.design.surrogates.surrogate import Surrogate, fit_surrogate
from credo.errors import ParameterError
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread

__all__ = ["FrontProposal", "propose_front"]

# Weight of the other objective, in standardised units, where an end of the front is sought: on a convex front the ends
# are then where an objective is bought with twenty times the other.
TILT = 0.05
# Sds below the mean that an objective may be at an end, as in the confidence bound. With 0 the reference followed the
# front that was found first, and the rest of the true front was never looked for (ZDT1, ZDT2).
OPTIMISM = 2.0
# Means are smooth, and an end need not be exact.
SCREENED, STARTS = 512, 3


@dataclass(frozen=True, eq=False)
class FrontProposal:
    """Points to try, and why.

    points (n, d); mean, sd (n, 2) : of the beliefs about the objectives there, in their units (without noise)
    acquisition (n,) : the value that was maximised, log expected hypervolume improvement, given the points before; log
        weights of a prior and of constraints are part of it
    exploitation, exploration (n,) : what the means alone add to the front's hypervolume, and what uncertainty adds to
        that, in standardised units; both are ≥ 0 and sum to the expected improvement
    feasibility (n,) : the probability that all constraints are met; 1 without any
    reference (2,) : the reference point, in the objectives' units
    method, reason : the acquisition function, and why it; state : for the next call
    """

    points: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    acquisition: np.ndarray
    exploitation: np.ndarray
    exploration: np.ndarray
    feasibility: np.ndarray
    reference: np.ndarray
    method: str
    reason: str
    state: State


def propose_front(
    X: Any,
    Y: Any,
    *,
    pending: Any = None,
    n: int = 1,
    kinds: Sequence[Grid | OneHot] | None = None,
    noisy: bool | None = None,
    constraints: Any = None,
    rng: np.random.Generator,
    state: State | None = None,
    warp: bool = False,
    box: tuple[Any, Any] | None = None,
    prior: LogWeight | None = None,
    reference: Any = None,
) -> FrontProposal:
    """The n points where trying adds most to the front of two objectives, both lower better.

    What is maximised is the log of the expected hypervolume improvement, in closed form for independent beliefs; where
    trials are noisy or pending, its mean over draws of the front.

    Parameters
    ----------
    X (m, d) : points tried, in [0, 1]ᵈ; Y (m, 2) : their values, finite (leave failed trials out)
    reference (2,) : outcomes worse than this in either objective count for nothing; None takes `reference_point` of the
        outcomes that met the constraints (of the beliefs' means where trials are noisy), anew at each call
    warp : whether far values may be tamed by a power: hypervolumes are then those of tamed values
    state : of the last proposal; its `theta` holds both objectives' hyperparameters, one after another

    The other arguments are those of `propose`. As long as no trial meets the constraints, one is sought that does.

    Raises
    ------
    ParameterError, DataError : bad shapes, points outside the cube, values that are not finite; a space without a new
        point left.

    Cost n² for n trials a point looked at, and the size of the front; n³ a step in learning.

    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0.0, 1.0, 6)[:, None]
    >>> found = propose_front(X, np.column_stack([(X - 0.3) ** 2, (X - 0.7) ** 2]), noisy=False, rng=rng)
    >>> found.points.shape, bool(0.25 < found.points[0, 0] < 0.75), found.method
    ((1, 1), True, 'log_ehvi')
    """
    rng = as_generator(rng)
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2:
        raise ParameterError("propose_front", "Y", "of shape (trials, 2): two objectives", Y.shape)
    X, _ = checked_history(X, Y[:, 0])
    X, _ = checked_history(X, Y[:, 1])
    cube = cube_of(kinds, X.shape[1])
    waiting, limits = checked_points("pending", pending, cube.d), checked_constraints(constraints, len(X))
    region = checked_box(box, cube.d)
    stated = None if reference is None else checked_reference("propose_front", reference, 2)
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise ParameterError("propose_front", "n", "an integer ≥ 1", n)
    if prior is not None and not callable(prior):
        raise ParameterError("propose_front", "prior", "a function of points, or None", prior)
    state = state or State()
    if not len(X):
        return _even(*narrowed(cube, region), int(n), rng, state, np.full(2, np.nan) if stated is None else stated)
    half = len(state.theta) // 2
    with single_blas_thread():
        surrogates, theirs = (
            [
                fit_surrogate(X, column, cube, noisy=noisy, warp=tame, theta=theta, learned_from=state.n, rng=rng)
                for column, theta in zip(columns, thetas)
            ]
            for columns, thetas, tame in (
                (Y.T, (state.theta[:half], state.theta[half:]), warp),
                (limits.T, (*state.constraints, *[()] * limits.shape[1]), False),
            )
        )
        after = State(
            surrogates[0].theta + surrogates[1].theta, surrogates[0].learned_from, tuple(each.theta for each in theirs)
        )
        search = _Search((surrogates[0], surrogates[1]), theirs, X, Y, limits, waiting, noisy, rng, stated)
        return search.run(int(n), after, region, prior)


class _Search:
    """One call of `propose_front`."""

    def __init__(
        self, surrogates: tuple[Surrogate, Surrogate], theirs: list[Surrogate], X: np.ndarray, Y: np.ndarray,
        limits: np.ndarray, waiting: np.ndarray, noisy: bool | None, rng: np.random.Generator,
        reference: np.ndarray | None,
    ) -> None:  # fmt: skip
        self.surrogates, self.X, self.waiting, self.rng = surrogates, X, waiting, rng
        self.cube = surrogates[0].cube
        noise = max(each.noise for each in surrogates)
        self.repeat = noisy is not False and noise > 0.05
        self.noisy, self.reason = _noisy(noisy, noise)
        self.constraints = tuple((moments_of(each.belief, self.cube), float(each.outcomes.inside(np.zeros(1))[0]))
                                 for each in theirs)  # fmt: skip
        self.met = np.all(limits <= 0.0, axis=1)
        mean = np.column_stack([each.mean_at(X) for each in surrogates])
        seen = mean if self.noisy else self._inside(Y)
        own = np.column_stack([each.outcomes.outside(z) for each, z in zip(surrogates, seen.T)]) if self.noisy else Y
        among = self.met if self.met.any() else np.ones(len(X), dtype=bool)
        self.moments = moments_of(surrogates[0].belief, self.cube), moments_of(surrogates[1].belief, self.cube)
        self.reference = self._reference(own[among], X[among]) if reference is None else reference
        self.limit = self._inside(self.reference[None])[0]
        on = np.flatnonzero(among)[non_dominated(seen[among], duplicates=False)]
        self.front = seen[on]
        self.order = np.concatenate([rng.permutation(on), np.setdiff1d(np.arange(len(X)), on)])

    def _reference(self, own: np.ndarray, X: np.ndarray) -> np.ndarray:
        """`reference_point` of outcomes seen at X, and of what may be at the front's ends: one objective at its lower
        bound there, the other at its mean."""
        hoped = []
        for j, weights in enumerate(((1.0, TILT), (TILT, 1.0))):
            widths = (OPTIMISM, 0.0) if j == 0 else (0.0, OPTIMISM)
            bounds = Bound(self.moments[0], widths[0]), Bound(self.moments[1], widths[1])
            function: Acquisition = End(bounds, weights)
            function = Feasible(function, self.constraints) if self.constraints else function
            end = highest(
                function, self.cube, best=X[np.argsort(own[:, j])[:10]], taken=X[:0], rng=self.rng, repeat=True,
                candidates=SCREENED, starts=STARTS,
            )  # fmt: skip
            hoped.append([
                float(each.outcomes.outside(-bound.value(end[None]))[0])
                for each, bound in zip(self.surrogates, bounds)
            ])  # fmt: skip
        return reference_point(np.concatenate([own, hoped]))

    def _inside(self, Y: np.ndarray) -> np.ndarray:
        return np.column_stack([each.outcomes.inside(column) for each, column in zip(self.surrogates, Y.T)])

    def run(
        self, n: int, state: State, box: tuple[np.ndarray, np.ndarray] | None, prior: LogWeight | None
    ) -> FrontProposal:
        best = self.X[self.order]
        if box is not None:  # to look around: those in the box first
            best = best[np.argsort(np.any((best < box[0]) | (best > box[1]), axis=1), kind="stable")]
        points, values = np.empty((n, self.cube.d)), np.empty(n)
        for i in range(n):
            waiting = np.concatenate([self.waiting, points[:i]])
            function = self._acquisition(waiting)
            function = function if prior is None else Weighted(function, prior)
            points[i] = highest(
                function, self.cube, best=best[:10], taken=np.concatenate([self.X, waiting]), rng=self.rng,
                repeat=self.repeat, box=box,
            )  # fmt: skip
            values[i] = function.value(points[i : i + 1])[0]
        return self._told(points, values, state)

    def _told(self, points: np.ndarray, values: np.ndarray, state: State) -> FrontProposal:
        plain = self._plain()
        means, sds = zip(*(moments(points) for moments in (plain.first, plain.second)))
        sure = hypervolume_improvement(means[0][:, 0], means[1][:, 0], plain.right, plain.top)
        with np.errstate(under="ignore"):
            expected = np.exp(plain.value(points))
        chance = np.exp(Feasible(None, self.constraints).value(points))
        own, spread = zip(*(
            each.outcomes.moments(mean[:, 0], sd) for each, mean, sd in zip(self.surrogates, means, sds)
        ))  # fmt: skip
        return FrontProposal(
            points, np.column_stack(own), np.column_stack(spread), values, sure, np.maximum(expected - sure, 0.0),
            chance, self.reference, "noisy_log_ehvi" if self.noisy else "log_ehvi", self.reason, state,
        )  # fmt: skip

    def _acquisition(self, waiting: np.ndarray) -> Acquisition:
        if not self.met.any():  # there is no front yet: find a point that meets the constraints
            return Feasible(None, self.constraints)
        function = self._improvement(waiting)
        return Feasible(function, self.constraints) if self.constraints else function

    def _improvement(self, waiting: np.ndarray) -> FrontImprovement:
        beliefs = self.surrogates[0].belief, self.surrogates[1].belief
        sampled = waiting
        if self.noisy:
            met = self.X[self.met]
            sampled = np.concatenate([met[likely_front(beliefs, self.cube.rows(met), self.rng)], waiting])
        if not len(sampled):
            return self._plain()
        given, draws = fantasise_front(beliefs, self.cube, sampled, self.rng)
        known = self.front[:0] if self.noisy else self.front
        fronts = [outcomes[non_dominated(outcomes)] for outcomes in (np.concatenate([known, draw]) for draw in draws)]
        right, top = padded_corners(fronts, self.limit)
        return FrontImprovement(moments_of(given[0], self.cube), moments_of(given[1], self.cube), right, top)

    def _plain(self) -> FrontImprovement:
        right, top = corners(self.front, self.limit)
        return FrontImprovement(*self.moments, right[None], top[None])


def _even(
    part: Cube, low: np.ndarray, high: np.ndarray, n: int, rng: np.random.Generator, state: State, reference: np.ndarray
) -> FrontProposal:
    """An even design, with nothing believed yet."""
    points = part.snap(low + (high - low) * even_points(n, part.d, rng))
    nothing, two = np.full(n, np.nan), np.full((n, 2), np.nan)
    return FrontProposal(
        points, two, two, nothing, nothing, nothing, np.ones(n), reference, "even", "nothing was tried", state
    )


def _noisy(noisy: bool | None, noise: float) -> tuple[bool, str]:
    if noisy or (noisy is None and noise > Surrogate.NOISY):
        said = "trials are stated to be noisy" if noisy else f"noise of {noise:.2g} sds of values was learned"
        return True, f"{said}, so the front is uncertain too"
    return False, "no noise to speak of: the front is known"
