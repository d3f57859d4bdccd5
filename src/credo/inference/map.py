"""Maximum a posteriori: the mode of a target, on any support, from several starts.

Jacobian policy: the search runs on ℝᵏ through `transforms`, but maximises the density *as stated* on the support,
without the Jacobian; the mode is then the same whatever the transform. With `jacobian=True` it is the mode of the
transformed density, which is what a Normal approximation on ℝᵏ needs. Neither is invariant to how the model is written,
and in many dimensions neither need be typical of the posterior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.optimize

from credo.errors import ConvergenceWarning, NumericalError, ParameterError, UnavailableError, warn
from credo.inference.damped_newton import Ascent, climb, gradient_of, identified, negative_hessian, widths_of
from credo.inference.mcmc.starts import starting_positions
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.transforms import Bijection, unconstrained
from credo.numerics.random import as_generator

__all__ = ["Mode", "maximise", "negative_hessian"]

# What scales are multiplied by, in logs, where a search ended on a plateau.
WIDER = (float(np.log(10.0)), float(np.log(100.0)))


@dataclass(frozen=True, eq=False)
class Mode:
    """A posterior mode: a point, with the curvature there.

    values : name → (*shape). log_density : at the mode. free : (k,), the mode on the transformed line.
    hessian : (k, k), −∂²log p/∂z² there: the precision of the Normal with the same curvature.
    modes : the distinct local modes (log density, flat position) that the starts led to, best first.
    """

    values: dict[str, np.ndarray]
    log_density: float
    free: np.ndarray
    hessian: np.ndarray
    result: Result
    modes: tuple[tuple[float, np.ndarray], ...] = ()
    target: Target | None = field(default=None, repr=False)

    inference = "map"

    @property
    def mode(self) -> Any:
        """The point: an array if there is one variable, else a dict by name."""
        return self.values if len(self.values) > 1 else next(iter(self.values.values()))

    def __getitem__(self, name: str) -> np.ndarray:
        """The point as a single draw, (1, *shape)."""
        if name not in self.values:
            raise ParameterError("Mode", "name", f"one of {', '.join(self.values)}", name)
        return self.values[name][None]

    def log_prob(self, theta: Any) -> Any:
        """Joint log density up to a constant at flat positions (..., dim)."""
        if self.target is None:
            raise UnavailableError("This mode came without its density, so log_prob is unknown.")
        x = np.asarray(theta, dtype=np.float64)
        return self.target.evaluate_rows(x.reshape(-1, self.target.dim))[0].reshape(x.shape[:-1])

    def summary(self) -> dict[str, np.ndarray]:
        return dict(self.values)

    def _refuse(self, what: str) -> Any:
        raise UnavailableError(
            f"A MAP point has no {what}.",
            remedy='Use .mode for the point, or inference="laplace" or "nuts" for a posterior.',
        )

    @property
    def mean(self) -> Any:
        return self._refuse("mean")

    @property
    def sd(self) -> Any:
        return self._refuse("sd")

    def quantile(self, q: Any) -> Any:
        return self._refuse("quantiles")

    def interval(self, mass: float = 0.9) -> Any:
        return self._refuse("interval")

    def sample(self, n: int, rng: Any = None) -> Any:
        return self._refuse("draws")


def maximise(
    target: Target,
    *,
    initial: Any = None,
    n_starts: int = 4,
    rng: Any = None,
    method: str = "auto",
    jacobian: bool = False,
    max_iter: int = 500,
    tol: float = 1e-10,
) -> Mode:
    """The mode of the target.

    Parameters
    ----------
    initial : a start (dim,), starts (n, dim), a dict by name or rng → (dim,); None is `target.initial` or random ones.
        A dict may leave variables out.
    n_starts : starts when `initial` is not one point per start; several, because a density may have several modes.
    method : "newton" (Hessian of the target, or differences of its gradient; damped, and scaled so that units do not
        matter), "lbfgs" (memory O(k)), or "auto": Newton up to 50 dimensions when there is a gradient.
    jacobian : the mode of the transformed density instead; see the module.
    tol : Newton stops when the model promises less than `tol` nats more (relative to 1 + |log p|); L-BFGS when the
        largest gradient entry is below √tol.

    Returns
    -------
    Mode, whose `result` says "converged", "max_iter", or "not_identified" when the density is flat or rising in some
    direction at the best point found.

    Raises
    ------
    NumericalError : the density is zero, NaN or infinite at a start, naming the variable.

    Examples
    --------
    >>> from credo.distributions.support import POSITIVE
    >>> gamma = Target(lambda x: 2.0 * np.log(x[0]) - x[0], {"x": ()}, supports={"x": POSITIVE},
    ...                gradient=lambda x: 2.0 / x - 1.0)
    >>> float(maximise(gamma, rng=0).mode.round(6)), float(maximise(gamma, rng=0, jacobian=True).mode.round(6))
    (2.0, 3.0)
    """
    if method not in ("auto", "newton", "lbfgs"):
        raise ParameterError("maximise", "method", '"auto", "newton" or "lbfgs"', method)
    if n_starts < 1 or max_iter < 1:
        raise ParameterError("maximise", "n_starts and max_iter", "≥ 1", (n_starts, max_iter))
    free, bijection = unconstrained(target, jacobian)
    starts = starts_of(
        target, free, bijection, target.initial if initial is None else initial, n_starts, as_generator(rng)
    )
    newton = method == "newton" or (method == "auto" and free.has_gradient and free.dim <= 50)
    search = climb if newton else _lbfgs
    with np.errstate(all="ignore"):
        climbs, lost = [], None
        for z in starts:
            try:
                climbs.append(search(free, z, max_iter, tol))
            except NumericalError as error:  # a start on a cliff: the others may do
                lost = error
        if not climbs:
            assert lost is not None
            raise lost
        best, hessian = _best(free, climbs)
        wide = bijection.half_lines
        if initial is not None and wide.any() and _is_flat(free, best, hessian):
            # From a scale too small a search may end on a plateau; a large one lets it see the density's outline.
            climbs += [search(free, z + factor * wide, max_iter, tol) for z in starts for factor in WIDER]
            best, hessian = _best(free, climbs)
    result = _report(target, free, bijection, best, hessian, len(climbs))
    if not result.ok:
        warn(result.message, ConvergenceWarning)
    x = bijection.forward(best.z)
    modes = _distinct([(found.value, bijection.forward(found.z)) for found in climbs])
    values = {name: np.array(value) for name, value in target.split(x).items()}
    result = replace(result, certificate={**result.certificate, "modes": len(modes)})
    return Mode(values, best.value, best.z, hessian, result, modes, target)


def _best(free: Target, climbs: list[Ascent]) -> tuple[Ascent, np.ndarray]:
    """The highest, and −∂²log p there, by differences as wide as the density is."""
    best = max(climbs, key=lambda found: found.value)
    hessian = negative_hessian(free, best.z)
    if np.all(np.isfinite(hessian)):
        size = np.minimum(np.maximum(np.abs(best.z), widths_of(hessian, best.z)), np.maximum(1.0, np.abs(best.z)))
        hessian = negative_hessian(free, best.z, size)
    return best, hessian


def _is_flat(free: Target, best: Ascent, hessian: np.ndarray) -> bool:
    return not np.all(np.isfinite(hessian)) or identified(hessian, best.z)[0] <= 0.0


class _Searching:
    """Only what `starting_positions` asks of a kernel."""

    def __init__(self, needs_gradient: bool) -> None:
        self.needs_gradient = needs_gradient


def starts_of(
    target: Target, free: Target, bijection: Bijection, initial: Any, n_starts: int, rng: np.random.Generator
) -> np.ndarray:
    """Free coordinates to climb from: those that are stated, one a row, else drawn."""
    if isinstance(initial, np.ndarray | list | tuple) and np.ndim(initial) == 2:
        n_starts = len(initial)
    elif initial is not None and not callable(initial):
        n_starts = 1
    if isinstance(initial, Mapping) and 0 < sum(name in initial for name in target.shapes) < len(target.shapes):
        # What is left out starts at 0 of its free coordinates: at 1 for a scale.
        initial = {**target.split(bijection.forward(np.zeros(bijection.free))), **initial}
    kernel: Any = _Searching(free.has_gradient)
    return starting_positions(target, free, bijection, initial, rng.spawn(n_starts), kernel, "search")


def _lbfgs(target: Target, z: np.ndarray, max_iter: int, tol: float) -> Ascent:
    trace: list[float] = []

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = target.evaluate(z).log_density, gradient_of(target, z)
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            return 1e300, np.zeros_like(z)  # the line search shrinks away from where there is no density
        return -value, -slope

    found = scipy.optimize.minimize(
        objective, z, jac=True, method="L-BFGS-B", callback=lambda z: trace.append(target.evaluate(z).log_density),
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": np.sqrt(tol), "ftol": 1e-2 * tol, "maxcor": 20},
    )  # fmt: skip
    return Ascent(found.x, -float(found.fun), tuple(trace), bool(found.success))


def _report(
    target: Target, free: Target, bijection: Bijection, best: Ascent, hessian: np.ndarray, n_starts: int
) -> Result:
    x = bijection.forward(best.z)
    certificate: dict[str, Any] = {"starts": n_starts}
    low, high = target.bounds
    near = 1e-8 * (1.0 + np.abs(x))
    edge = np.flatnonzero((x - low < near) | (high - x < near))
    if edge.size:
        advice = (
            f"{target.labels[edge[0]]} lies on the edge of its support ({x[edge[0]]:.3g}): "
            "a mode there has no curvature.",
        )
        return Result("converged" if best.converged else "max_iter", "map", best.trace, (), certificate, advice)
    if not np.all(np.isfinite(hessian)):
        raise NumericalError(f"maximise: the Hessian is not finite at {target.describe(x)}.", value=x)
    curvature, weak = identified(hessian, best.z)
    certificate["smallest_curvature"] = curvature
    if curvature <= 0.0:
        advice = (f"The density is flat or rising along {free.labels[weak]} at {target.describe(x)}.",)
        return Result("not_identified", "map", best.trace, (), certificate, advice)
    return Result("converged" if best.converged else "max_iter", "map", best.trace, (), certificate)


def _distinct(found: list[tuple[float, np.ndarray]]) -> tuple[tuple[float, np.ndarray], ...]:
    """Best first, without repeats: equal log density and position within 1e-4 of their size."""
    kept: list[tuple[float, np.ndarray]] = []
    for value, x in sorted(found, key=lambda pair: -pair[0]):
        if not any(np.allclose(x, other, rtol=1e-4, atol=1e-4) for _, other in kept):
            kept.append((value, x))
    return tuple(kept)
