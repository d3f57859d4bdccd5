"""Random points, Sobol designs, all points; and what is said when there is none."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.design.spaces.choices import Constant
from credo.design.spaces.constraints import LinearConstraint, holds
from credo.errors import ParameterError

if TYPE_CHECKING:
    from credo.design.spaces.space import Space

__all__ = ["sample", "sobol", "SobolStream", "enumerate_points"]

# Rejection gives up after this many points in a row: then less than 1 in 5,000 of the space is feasible, with 95 %
# confidence (3/16384), and a constraint is better written into the ranges.
MOST_REJECTED = 2**14
# After this many it looks whether there is anything to find, or a short list to find it in.
SUSPICIOUS = 2**10
# Finite spaces up to this size are listed before rejection is said to have failed.
MOST_LISTED = 100_000
# Linear constraints that are compared two by two.
MOST_PAIRED = 20


def _accepted(space: Space, n: int, draw: Callable[[int], np.ndarray]) -> list[dict[str, Any]]:
    """The first n feasible points of a stream of uniform rows."""
    kept: list[dict[str, Any]] = []
    rejected, chunk = 0, n
    while len(kept) < n:
        rows = space.from_uniform(draw(chunk))
        good = [row for row in rows if space.feasible(row)] if space.constraints else rows
        rejected = 0 if good else rejected + len(rows)
        if rejected >= (SUSPICIOUS if space.size <= MOST_LISTED else MOST_REJECTED):
            raise nothing_left(space)
        if rejected >= SUSPICIOUS > rejected - len(rows) and _contradiction(space):
            raise nothing_left(space)
        kept += good
        chunk = min(max(2 * chunk, 64), 1024) if not good else max(n - len(kept), 16) * 2
    return kept[:n]


def _from_list(space: Space) -> list[dict[str, Any]] | None:
    """All feasible points of a finite space small enough to list, in which rejection might not find the last few."""
    if not space.constraints or space.size > MOST_LISTED:
        return None
    points = enumerate_points(space, MOST_LISTED)
    if not points:
        raise nothing_left(space)
    return points


def checked_size(method: str, n: int) -> int:
    """How many points are wanted."""
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0:
        raise ParameterError(f"Space.{method}", "n", "an integer ≥ 0", n)
    return int(n)


def sample(space: Space, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """See `Space.sample`."""
    try:
        return _accepted(space, n, lambda m: rng.random((m, len(space.parameters))))
    except ParameterError:
        points = _from_list(space)
        if points is None:
            raise
        return [points[i] for i in rng.integers(len(points), size=n).tolist()]


def sobol(space: Space, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """See `Space.design`."""
    return SobolStream(space, rng).take(n)


class SobolStream:
    """The feasible points of one scrambled Sobol sequence, from the first."""

    def __init__(self, space: Space, rng: np.random.Generator) -> None:
        from scipy.stats import qmc  # half a second to import

        self._space = space
        self._sequence = qmc.Sobol(len(space.parameters), scramble=True, seed=rng)  # type: ignore[call-arg]
        self._ahead: list[dict[str, Any]] = []
        self._drawn = 0
        self._rng = rng

    def take(self, n: int) -> list[dict[str, Any]]:
        """The next n feasible points."""
        try:
            while len(self._ahead) < n:
                self._ahead += _accepted(self._space, max(n - len(self._ahead), 16), self._uniform)
        except ParameterError:
            points = _from_list(self._space)
            if points is None:
                raise
            order = self._rng.permutation(len(points)).tolist()
            self._ahead += [points[i] for _ in range(1 + n // len(points)) for i in order]
        taken, self._ahead = self._ahead[:n], self._ahead[n:]
        return taken

    def _uniform(self, n: int) -> np.ndarray:
        """Powers of two at a time, as the sequence's balance wants."""
        size = 1 << max(n - 1, 1).bit_length()
        if self._drawn and self._drawn % size:
            size = self._drawn & -self._drawn
        rows = self._sequence.random(size)
        self._drawn += size
        return rows


def enumerate_points(space: Space, limit: int) -> list[dict[str, Any]]:
    """See `Space.points`."""
    if space.size > limit:
        raise ParameterError("Space.points", "limit", f"at least the space's size, {space.size:g}", limit)
    axes = [_values(parameter) for parameter in space.parameters.values()]
    found = {}
    for row in itertools.product(*axes):
        point = space.activate(dict(zip(space.parameters, row)))
        if space.feasible(point):
            found.setdefault(space.key(point), point)
    return list(found.values())


def _values(parameter: Any) -> Any:
    if isinstance(parameter, Constant):
        return [parameter.value]
    return parameter.choices if hasattr(parameter, "choices") else range(parameter.low, parameter.high + 1)


def nothing_left(space: Space) -> ParameterError:
    """The error of a space without points, naming the constraint that was false most often, or the two of which one
    was false always, where they can be told."""
    culprits = _contradiction(space)
    if culprits:
        why = "They contradict the ranges." if len(culprits) != 2 else "These two contradict each other."
        return ParameterError("Space", "constraints", "satisfied by some point", culprits, why)
    rows = space.from_uniform(np.random.default_rng(0).random((1024, len(space.parameters))))
    true = np.array([[holds(constraint, row) for row in rows] for constraint in space.constraints])
    often = true.sum(axis=1)
    if often.min() > 0:
        for i, j in itertools.combinations(np.argsort(often, kind="stable").tolist(), 2):
            if not np.any(true[i] & true[j]):
                two = [space.constraints[k] for k in sorted((i, j))]
                why = "Each is met by some, both by none: do they contradict each other?"
                return ParameterError(
                    "Space", "constraints", f"both satisfied by one of {len(rows):,} points", two, why
                )
    worst = space.constraints[int(np.argmin(often))]
    why = "This one is false most often. " if len(often) > 1 else ""
    if space.size <= MOST_LISTED:
        wanted = f"all satisfied by one of the {space.size:,} points"
        return ParameterError("Space", "constraints", wanted, worst, why.strip())
    wanted = f"all satisfied by some of {MOST_REJECTED:,} random points"
    why += "Write an equation or a narrow band into the parameters themselves: ask for the sum and the share, say."
    return ParameterError("Space", "constraints", wanted, worst, why)


def _contradiction(space: Space) -> list[LinearConstraint] | None:
    """As few of the linear constraints as are known that no real numbers of the ranges satisfy (by linear programming):
    one, two, or all; None if some do."""
    numeric = {n: p for n, p in space.parameters.items() if p.kind in ("real", "integer") and p.when is None}
    linear = [c for c in space.constraints if isinstance(c, LinearConstraint) and set(c.names) <= set(numeric)]
    if not linear:
        return None
    from scipy.optimize import linprog

    def impossible(some: Sequence[LinearConstraint]) -> bool:
        rows, bounds = [], []
        for constraint in some:
            row = np.array([constraint.coefficients.get(name, 0.0) for name in numeric])
            if constraint.upper is not None:
                rows.append(row)
                bounds.append(constraint.upper)
            if constraint.lower is not None:
                rows.append(-row)
                bounds.append(-constraint.lower)
        solved = linprog(np.zeros(len(numeric)), A_ub=np.array(rows), b_ub=bounds, bounds=ranges, method="highs")
        return solved.status == 2

    ranges = [(p.low, p.high) for p in numeric.values()]  # type: ignore[attr-defined]
    if not impossible(linear):
        return None
    few = linear[:MOST_PAIRED]
    smaller = (list(some) for k in (1, 2) for some in itertools.combinations(few, k) if len(linear) > k)
    return next((some for some in smaller if impossible(some)), linear)
