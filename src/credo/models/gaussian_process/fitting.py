"""From rows to a `Belief`: units, defaults, and the hyperparameters where a score is highest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from credo.distributions import LogNormal
from credo.errors import DataError, NotIdentifiedError, ParameterError
from credo.inference.result import Result
from credo.kernels import Differentiated, Kernel, Scaled
from credo.models.gaussian_process.belief import Belief, as_values
from credo.models.gaussian_process.defaults import default_kernel
from credo.models.gaussian_process.fewer_rows import climb_from_fewer
from credo.models.gaussian_process.learning import climb
from credo.models.gaussian_process.mean import mean_of
from credo.models.gaussian_process.noise import Learned, Stated, WithSlopes, noise_of
from credo.models.gaussian_process.noise_process import has_noise_process, learn_noise_process
from credo.models.gaussian_process.observations import Observations
from credo.models.gaussian_process.solvers.base import Solver
from credo.models.gaussian_process.solvers.exact import Exact
from credo.models.gaussian_process.solvers.vecchia import Vecchia
from credo.models.gaussian_process.solvers.vecchia_learning import climb_in_stages
from credo.models.gaussian_process.solvers.white import has_white
from credo.saving.registry import register

__all__ = ["LEARN", "Seen", "Units", "choose_theta", "in_users_units", "log_evidence", "prepare"]

LEARN = ("map", "evidence", "loo", "kfold")
OWNER = "GaussianProcessRegressor"
# Places are chosen at the start, and once more where the first search led; further choices follow θ ever less.
PLACES = 2
# Of lengthscales and noise, for further starts: of functions with a few waves in the range of a column a third found
# the top that is 500 nats higher where the default's start did not, and from less noise it is found more often.
ROUGHER = 3.0


@register
@dataclass(frozen=True, eq=False)
class Units:
    """Outcomes are location + unit · (what the belief is about); both (T,)."""

    location: np.ndarray
    unit: np.ndarray

    def inside(self, y: np.ndarray) -> np.ndarray:
        """y (n, T) in these units."""
        return (y - self.location) / self.unit

    def outside(self, z: np.ndarray) -> np.ndarray:
        return self.location + self.unit * z

    @property
    def common(self) -> float:
        """The unit, where all targets share it."""
        return float(self.unit[0])

    @property
    def shared(self) -> float:
        """The unit that a kernel is to be multiplied by, 1 where targets differ in theirs."""
        return self.common if np.ptp(self.unit) == 0.0 else 1.0

    @classmethod
    def trivial(cls) -> Units:
        return cls(np.zeros(1), np.ones(1))


class Seen(NamedTuple):
    """What a fit is given: rows X (n, d), y (n, T), copies w (n,), and slopes (X, column, value, sd), each (m, …)."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    slopes: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None = None


def prepare(
    seen: Seen, kernel: Kernel | None, noise: Stated, mean: Any, mean_prior: Any, solver: Any, *, merge: bool
) -> tuple[Belief, Units, str]:
    """The belief at the hyperparameters that a search starts from, its units, and why its solver was taken."""
    X, y, w = seen.X, seen.y, seen.weights
    centred = mean in ("constant", "linear") and (mean_prior is None or type(mean_prior).__name__ == "Flat")
    units, size = _units(y, w, centred=centred, scaled=kernel is None, common=noise.scale is not None)
    covariance: Kernel = default_kernel(X, w) if kernel is None else kernel
    scatter: Any = noise_of(noise, X, w, size, units.common)
    ratio = np.ones(len(X))
    if noise.scale is not None:
        ratio = np.broadcast_to(np.square(np.asarray(noise.scale) / units.common), ratio.shape).astype(np.float64)
    average = mean_of(mean, mean_prior, X, w, units.common)
    _require_identified(noise, average.flat, average.n_coefficients, float(w.sum()))
    merge = merge and not has_white(covariance)  # copies of a row differ in what no other row shares
    z = units.inside(y)
    if seen.slopes is not None:
        where, column, value, sd = seen.slopes
        covariance, scatter = Differentiated(covariance), WithSlopes(scatter)
        average = replace(average, sloped=True)
        X = np.concatenate([as_values(X), np.column_stack([where, column])])
        z = np.concatenate([z, value[:, None] / units.unit])
        w = np.concatenate([w, np.ones(len(value))])
        ratio = np.concatenate([ratio, np.square(sd / units.common)])
    chosen, reason = _solver(solver, covariance, X, scatter)
    return Belief(covariance, scatter, average, Observations.of(X, z, ratio, w, merge=merge), chosen), units, reason


def _solver(solver: Any, kernel: Kernel, X: np.ndarray, noise: Any) -> tuple[Solver, str]:
    from credo.models.gaussian_process.solvers.choose import choose

    if isinstance(solver, str) and solver == "auto":
        return choose(kernel, *X.shape)
    if isinstance(solver, (str, type)) or not callable(solver) or not hasattr(solver, "cost"):
        raise ParameterError(OWNER, "solver", '"auto" or a record such as solvers.Exact()', solver)
    record: Any = solver
    return record, "stated"


def _units(y: np.ndarray, weights: np.ndarray, *, centred: bool, scaled: bool, common: bool) -> tuple[Units, float]:
    """Units of y (n, T), and the sd of the outcomes in them; `common`: one unit for all targets."""
    share = weights / weights.sum()
    size = np.abs(y).max(axis=0)
    size = np.where(size > 0.0, size, 1.0)  # squares of y near the ends of floating point are out of its range
    location = share @ (y / size) if centred else np.zeros(y.shape[1])
    sd = np.sqrt(share @ np.square(y / size - location))
    # A constant target has no scale but its own level.
    sd = size * np.where(sd > 1e-13, sd, 1.0)
    largest = sd.max()
    overall = float(largest * np.sqrt(np.mean(np.square(sd / largest))))
    with np.errstate(over="ignore", under="ignore"):
        square = np.square(sd)
    if not np.all((square >= np.finfo(float).tiny) & (square < np.inf)):
        raise DataError(
            f"y has a standard deviation of {overall:.3g}, whose square is no normal number of double precision.",
            value=overall,
            remedy="Express y in another unit.",
        )
    if not scaled:
        return Units(size * location, np.ones(sd.size)), overall
    return Units(size * location, np.full(sd.size, overall) if common else sd), 1.0


def _require_identified(noise: Stated, flat: bool, coefficients: int, rows: float) -> None:
    if noise.scale is None and noise.prior is None and rows <= (coefficients if flat else 0):
        raise NotIdentifiedError(
            f"The noise cannot be learned from n_samples={rows:g} with a flat mean.",
            value=rows,
            remedy="State noise=, or add rows.",
        )


def in_users_units(kernel: Kernel, unit: float) -> Kernel:
    """unit² · kernel, with the priors that it states."""
    if isinstance(kernel, Differentiated):
        kernel = kernel.kernel
    if unit == 1.0:
        return kernel
    if not isinstance(kernel, Scaled):
        return unit**2 * kernel
    prior = kernel.priors.get("variance")
    priors = {} if prior is None else {"variance": LogNormal(prior.mu + 2.0 * np.log(unit), prior.sigma)}
    limits = {name: (low * unit**2, high * unit**2) for name, (low, high) in kernel.limits.items()}
    return replace(kernel, variance=kernel.variance * unit**2, priors=priors, limits=limits)


def choose_theta(
    belief: Belief, how: str, *, n_restarts: int, folds: int, rng: np.random.Generator
) -> tuple[Belief, Result]:
    """The belief at the θ where the score is highest.

    how : "evidence", log p(y); "map", plus the log priors stated of kernel and noise; "loo", "kfold", log p of what is
        left out, plus those priors
    Of a process that the noise is, "evidence" and "map" learn the hyperparameters too; the others keep them.
    """
    search = partial(_searched, how=how, n_restarts=n_restarts, folds=folds, rng=rng)
    if how in ("loo", "kfold") or not has_noise_process(belief):
        return search(belief)
    return learn_noise_process(belief, search)


def _searched(
    belief: Belief, *, how: str, n_restarts: int, folds: int, rng: np.random.Generator
) -> tuple[Belief, Result]:
    """The belief at the best θ that one search finds."""
    if not belief.theta.size:
        return belief, Result("exact", "exact")
    groups = _folds(len(belief.observations.X), how, folds, rng)
    options: dict[str, Any] = {"n_restarts": n_restarts, "rng": rng, "names": belief.names, "inference": how}
    if isinstance(belief.solver, Vecchia) and groups is None:
        size = belief.kernel.theta.size
        _, top = climb_in_stages(
            belief.solver, lambda theta: belief.kernel.with_theta(theta[:size]), belief.observations.X,
            lambda solver: _Objective(replace(belief, solver=solver), how, groups), belief.theta, belief.bounds,
            **options,
        )  # fmt: skip
        return belief.at(top.theta), top.result
    if isinstance(belief.solver, Exact):  # before some rows are fitted for nothing
        belief.solver.require_memory(len(belief.observations.X))
    rounds = PLACES if hasattr(belief.solver, "at") else 1
    theta = belief.theta
    for _ in range(rounds):
        placed = _placed(belief, theta)
        objective = _Objective(placed, how, groups)
        if groups is None and isinstance(belief.solver, Exact):
            fewer = partial(_of_fewer, placed, how)
            also: dict[str, Any] = {"others": _rougher(belief), "doubtful": partial(_noisier, belief)}
            n = len(placed.observations.X)
            top = climb_from_fewer(objective, fewer, n, theta, belief.bounds, **also, **options)
        else:
            top = climb(objective, theta, belief.bounds, **options)
        theta, options = top.theta, {**options, "n_restarts": 0}
    # The search mostly ends where it last looked; what it made there serves.
    last = objective.last
    kept = rounds == 1 and np.array_equal(last.theta, theta)
    return (last if kept else belief.at(theta)), top.result


class _Objective:
    """θ → the score of `choose_theta` and its gradient; `last` is the belief that it made last."""

    def __init__(self, belief: Belief, how: str, groups: list[np.ndarray] | None) -> None:
        self.last, self.how, self.groups, self.theta = belief, how, groups, np.empty(0)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        self._move(theta)
        score = self.last.evidence() if self.groups is None else self.last.left_out_score(self.groups)
        if self.how == "evidence":
            return score.value, score.theta
        prior, slope = self.last.log_prior()
        return score.value + prior, score.theta + slope

    def value(self, theta: np.ndarray) -> float:
        """The score alone; its gradient at the same θ then takes the factor that this made."""
        if self.groups is not None:
            return self(theta)[0]
        self._move(theta)
        value = self.last.evidence(False).value
        return value if self.how == "evidence" else value + self.last.log_prior()[0]

    def _move(self, theta: np.ndarray) -> None:
        if not np.array_equal(theta, self.theta):
            self.last, self.theta = self.last.at(theta), theta.copy()


def _rougher(belief: Belief) -> list[np.ndarray]:
    """θ with shorter lengthscales, less noise, or both: starts for functions that are rough in their columns' range."""
    lengths, noise = (
        np.array([part in name for name in belief.names], dtype=float) for part in ("lengthscale", "noise")
    )
    if not (lengths.any() and isinstance(belief.noise, Learned)):
        return []
    by = float(np.log(ROUGHER))
    return [belief.theta - by * (a * lengths + b * noise) for a, b in ((0, 1), (1, 0), (1, 1))]


def _noisier(belief: Belief, theta: np.ndarray) -> bool:
    """Whether there is more noise at θ than at the start, by which what is rough may have been taken for noise."""
    return bool(theta[-1] > belief.theta[-1])


def _of_fewer(belief: Belief, how: str, size: int) -> _Objective:
    return _Objective(replace(belief, observations=belief.observations.some(size)), how, None)


def _placed(belief: Belief, theta: np.ndarray) -> Belief:
    """The belief with the places or neighbours of its solver as θ has them: chosen anew at each θ, the objective would
    jump where they change."""
    solver: Any = belief.solver
    if not hasattr(solver, "at"):
        return belief
    return replace(belief, solver=solver.at(belief.at(theta).kernel, belief.observations.X))


def _folds(n: int, how: str, folds: int, rng: np.random.Generator) -> list[np.ndarray] | None:
    if how not in ("loo", "kfold"):
        return None
    if n < 2:
        raise DataError(f"learn={how!r} leaves rows out, and there is one.", value=n, remedy='Use learn="map".')
    return np.array_split(rng.permutation(n), n if how == "loo" else min(folds, n))


def log_evidence(belief: Belief, units: Units, value: float | None = None) -> float:
    """log p(y) in the user's units, with β flat in those of the columns; `value`: the belief's, where it is known."""
    value, mean = belief.evidence(False).value if value is None else value, belief.mean
    scale = float(np.sum(np.log(units.unit)))
    value -= scale * float(belief.observations.count.sum())
    if mean.flat:
        value += scale * mean.n_coefficients
        if mean.kind == "linear":
            value -= units.unit.size * float(np.sum(np.log(mean.size)))
    return value
