"""`propose`: the next points to try; `recommend`: the best of those tried. Values are minimised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.acquisition import equations
from credo.design.acquisition.averaged import averaged
from credo.design.acquisition.checks import checked_box, checked_constraints, checked_history, checked_points
from credo.design.acquisition.functions import Acquisition, Bound, Feasible, Improvement, LogWeight, Weighted
from credo.design.acquisition.incumbents import fantasise, likely_incumbents
from credo.design.acquisition.inside import Inside
from credo.design.acquisition.points import even_points
from credo.design.acquisition.quick import moments_of
from credo.design.acquisition.search import highest, narrowed
from credo.design.acquisition.thompson import drawn_path
from credo.design.surrogates.cube import Cube, Grid, OneHot, cube_of
from credo.design.surrogates.moments import Moments
from credo.design.surrogates.surrogate import Surrogate, fit_surrogate
from credo.errors import ParameterError
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread

__all__ = ["ACQUISITIONS", "Proposal", "State", "propose", "recommend"]

ACQUISITIONS = ("auto", "log_ei", "noisy_log_ei", "ucb", "thompson")
# √β of the confidence bound: 2 sds, where theory's grows with log n and is too wide in practice (Srinivas et al. 2010).
WIDTH = 2.0


@dataclass(frozen=True)
class State:
    """What one proposal leaves for the next: hyperparameters of the objective's belief and of each constraint's, and
    how many trials they were learned from. Numbers only; `propose` without it starts afresh."""

    theta: tuple[float, ...] = ()
    n: int = 0
    constraints: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Proposal:
    """Points to try, and why.

    points (n, d); mean, sd (n,) : of the belief about the objective there, in its units (without noise)
    acquisition (n,) : the value that was maximised, in logs for improvements, given the points before; a prior's log
        weight is part of it, what `Inside` takes off is not
    exploitation, exploration (n,) : the two terms of expected improvement, (b − μ)Φ and σφ, in standardised units: the
        first is positive where the mean itself is better than what is known, the second grows with what is not known
    feasibility (n,) : the probability that all constraints are met; 1 without any
    method : the acquisition function; reason : why; state : for the next call
    """

    points: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    acquisition: np.ndarray
    exploitation: np.ndarray
    exploration: np.ndarray
    feasibility: np.ndarray
    method: str
    reason: str
    state: State


def propose(
    X: Any,
    y: Any,
    *,
    pending: Any = None,
    n: int = 1,
    kinds: Sequence[Grid | OneHot] | None = None,
    noisy: bool | None = None,
    constraints: Any = None,
    rng: np.random.Generator,
    acquisition: str = "auto",
    state: State | None = None,
    warp: bool = True,
    warp_inputs: bool = False,
    box: tuple[Any, Any] | None = None,
    prior: LogWeight | None = None,
) -> Proposal:
    """The n points where trying is worth most, given what was tried: lower values are better.

    Parameters
    ----------
    X (m, d) : points tried, in [0, 1]ᵈ; y (m,) : their values, finite (leave failed trials out)
    pending (p, d) : points being tried, whose values are not known yet
    kinds : which columns are not continuous, as records `Grid` and `OneHot`
    noisy : whether trying a point again may give another value; None lets the belief learn it
    constraints (m, k) : of each trial, numbers that must be ≤ 0
    acquisition : "auto", "log_ei", "noisy_log_ei", "ucb" or "thompson"; "auto" is "noisy_log_ei" where noise was stated
        or learned, else "log_ei"
    state : of the last proposal: hyperparameters are then learned from where they were
    warp : whether far values may be tamed by a power, learned from them ("output warping")
    warp_inputs : whether columns that are numbers may be bent by Kumaraswamy's functions, learned with the
        hyperparameters: for an objective that changes faster at one end of a range. Learning takes three times as long
    box : low (d,) and high (d,) within [0, 1]: points are sought only there (a trust region). The belief is still about
        the whole cube. Of a grid its values in the box, or the nearest one; levels of categories are all allowed
    prior : where the best is thought to be: a function of points (m, d) that returns log weights (m,), up to a
        constant, and their slopes (m, d). They are added to what is maximised: an improvement, being in logs, is
        multiplied by the weight (πBO); give weights that fade with the number of trials, as log π(x)·β/m

    Points of a batch are chosen one after another, each given draws of what those before it may bring. Without trials
    the points are an even design.

    Raises
    ------
    ParameterError, DataError : bad shapes, points outside the cube, values that are not finite; a space without a new
        point left.

    Cost n² for n trials a point looked at, n³ a step in learning; beyond 1000 trials those of a chosen thousand.

    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0.0, 1.0, 6)[:, None]
    >>> found = propose(X, (X[:, 0] - 0.3) ** 2, noisy=False, rng=rng)
    >>> found.points.shape, bool(abs(found.points[0, 0] - 0.3) < 0.05), found.method
    ((1, 1), True, 'log_ei')
    """
    rng = as_generator(rng)
    X, y = checked_history(X, y)
    cube = cube_of(kinds, X.shape[1])
    waiting = checked_points("pending", pending, cube.d)
    limits = checked_constraints(constraints, len(X))
    if acquisition not in ACQUISITIONS:
        raise ParameterError("propose", "acquisition", f"one of {ACQUISITIONS}", acquisition)
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
        raise ParameterError("propose", "n", "an integer ≥ 1", n)
    if prior is not None and not callable(prior):
        raise ParameterError("propose", "prior", "a function of points, or None", prior)
    region = checked_box(box, cube.d)
    state = state or State()
    if not len(X):
        return _even(cube, region, int(n), rng, state)
    with single_blas_thread():
        surrogate = fit_surrogate(X, y, cube, noisy=noisy, warp=warp, theta=state.theta, learned_from=state.n, rng=rng,
                                  warp_inputs=warp_inputs)  # fmt: skip
        theirs = [
            fit_surrogate(X, column, cube, noisy=noisy, warp=False, theta=_item(state.constraints, k),
                          learned_from=state.n, rng=rng)
            for k, column in enumerate(limits.T)
        ]  # fmt: skip
        after = State(surrogate.theta, surrogate.learned_from, tuple(each.theta for each in theirs))
        search = _Search(surrogate, theirs, X, y, limits, waiting, noisy, acquisition, rng)
        return search.run(int(n), after, region, prior)


class _Search:
    """One call of `propose`."""

    def __init__(
        self, surrogate: Surrogate, theirs: list[Surrogate], X: np.ndarray, y: np.ndarray, limits: np.ndarray,
        waiting: np.ndarray, noisy: bool | None, acquisition: str, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.surrogate, self.X, self.waiting, self.rng, self.cube = surrogate, X, waiting, rng, surrogate.cube
        self.repeat = noisy is not False and surrogate.noise > 0.05
        self.method, self.reason = _method(acquisition, noisy, surrogate)
        self.constraints = tuple((moments_of(each.belief, each.cube), float(each.outcomes.inside(np.zeros(1))[0]))
                                 for each in theirs)  # fmt: skip
        self.met = np.all(limits <= 0.0, axis=1)
        mean = surrogate.mean_at(X)
        rank = mean if self.method == "noisy_log_ei" else surrogate.outcomes.inside(y)
        self.order = np.lexsort((rank, ~self.met))
        self.best_value = float(rank[self.order[0]])

    def run(self, n: int, state: State, box: tuple[np.ndarray, np.ndarray] | None, prior: LogWeight | None) -> Proposal:
        plain = moments_of(self.surrogate.belief, self.cube)
        best = self.X[self.order]
        if box is not None:  # to look around: those in the box first
            best = best[np.argsort(np.any((best < box[0]) | (best > box[1]), axis=1), kind="stable")]
        inside = Inside.of(self.surrogate, self.X[self.order[0]])
        improves = self.method == "log_ei" and bool(self.met.any())  # with noise it gained nothing
        points, values = np.empty((n, self.cube.d)), np.empty(n)
        for i in range(n):
            waiting = np.concatenate([self.waiting, points[:i]])
            function = self._acquisition(waiting, plain)
            function = function if prior is None else Weighted(function, prior)
            sought = Weighted(function, inside) if improves else function
            points[i] = highest(
                sought, self.cube, best=best[:10], taken=np.concatenate([self.X, waiting]), rng=self.rng,
                repeat=self.repeat, box=box, scale=self.surrogate.scale,
            )  # fmt: skip
            values[i] = function.value(points[i : i + 1])[0]
        mean, sd = plain(points)
        exploitation, exploration = equations.improvement_parts(mean[:, 0], sd, np.array(self.best_value))
        chance = np.exp(Feasible(None, self.constraints).value(points))
        own, spread = self.surrogate.outcomes.moments(mean[:, 0], sd)
        return Proposal(points, own, spread, values, exploitation, exploration, chance, self.method, self.reason, state)

    def _acquisition(self, waiting: np.ndarray, plain: Moments) -> Acquisition:
        objective = self._objective(waiting, plain)
        if not self.constraints:
            return objective
        # Before any trial met the constraints there is nothing to improve upon: find one that does.
        return Feasible(objective if self.met.any() else None, self.constraints)

    def _objective(self, waiting: np.ndarray, plain: Moments) -> Acquisition:
        belief = self.surrogate.belief
        if self.method == "thompson":
            return drawn_path(self.surrogate, self.rng)
        sampled = waiting
        if self.method == "noisy_log_ei":
            met = self.X[self.met] if self.met.any() else self.X
            sampled = np.concatenate([met[likely_incumbents(belief, self.cube.rows(met), self.rng)], waiting])
        if not len(sampled):
            moments, best = plain, np.array([self.best_value])
        else:
            given, draws = fantasise(belief, self.cube, sampled, self.rng)
            moments, best = moments_of(given, self.cube), draws.min(axis=0)
            if self.method != "noisy_log_ei":
                best = np.minimum(best, self.best_value)
        return Bound(moments, WIDTH) if self.method == "ucb" else Improvement(moments, best)


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Which of the trials to take: its number, and the belief about the objective there, without noise.

    mean, sd : with hyperparameters integrated out (`averaged`); a `Proposal` has those at the likeliest
    """

    index: int
    mean: float
    sd: float
    state: State


def recommend(
    X: Any, y: Any, *, kinds: Sequence[Grid | OneHot] | None = None, noisy: bool | None = None, constraints: Any = None,
    rng: np.random.Generator, state: State | None = None, warp: bool = True, warp_inputs: bool = False,
) -> Recommendation:  # fmt: skip
    """The trial with the lowest mean of the belief, of those that meet the constraints (if any does).

    The lowest *value* of noisy trials is mostly the luckiest. Arguments as in `propose`.

    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.linspace(0.0, 1.0, 5), 5)[:, None]
    >>> y = (X[:, 0] - 0.5) ** 2 + 0.1 * rng.standard_normal(25)
    >>> float(X[recommend(X, y, noisy=True, rng=rng).index, 0])
    0.5
    """
    rng = as_generator(rng)
    X, y = checked_history(X, y)
    if not len(X):
        raise ParameterError("recommend", "X", "of at least one trial", X.shape)
    cube, state = cube_of(kinds, X.shape[1]), state or State()
    met = np.all(checked_constraints(constraints, len(X)) <= 0.0, axis=1)
    with single_blas_thread():
        surrogate = fit_surrogate(X, y, cube, noisy=noisy, warp=warp, theta=state.theta, learned_from=state.n, rng=rng,
                                  warp_inputs=warp_inputs)  # fmt: skip
        # By means at the likeliest hyperparameters: averaged ones follow luck more, for some θ explain noise by tiny
        # lengthscales. In 100 studies of a bowl with 20 trials these led to a regret of .082 in place of .060.
        rank = y if noisy is False else surrogate.mean_at(X)
        index = int(np.lexsort((rank, ~met))[0])
        mean, sd = averaged(surrogate, X[index : index + 1], rng)
    own, spread = surrogate.outcomes.moments(mean, sd)
    after = State(surrogate.theta, surrogate.learned_from, state.constraints)
    return Recommendation(index, float(own[0]), float(spread[0]), after)


def _method(acquisition: str, noisy: bool | None, surrogate: Surrogate) -> tuple[str, str]:
    if acquisition != "auto":
        return acquisition, "stated"
    if noisy or (noisy is None and surrogate.noise > surrogate.NOISY):
        said = "trials are stated to be noisy" if noisy else f"noise of {surrogate.noise:.2g} sds of values was learned"
        return "noisy_log_ei", f"{said}, so the best value is uncertain too"
    return "log_ei", "no noise to speak of: the best value is known"


def _item(thetas: tuple[tuple[float, ...], ...], k: int) -> tuple[float, ...]:
    return thetas[k] if k < len(thetas) else ()


def _even(
    cube: Cube, box: tuple[np.ndarray, np.ndarray] | None, n: int, rng: np.random.Generator, state: State
) -> Proposal:
    """An even design, with nothing believed yet."""
    part, low, high = narrowed(cube, box)
    points = part.snap(low + (high - low) * even_points(n, cube.d, rng))
    nothing = np.full(n, np.nan)
    return Proposal(points, nothing, nothing, nothing, nothing, nothing, np.ones(n), "even", "nothing was tried", state)
