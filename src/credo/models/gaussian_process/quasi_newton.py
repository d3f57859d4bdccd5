"""`QuasiNewton`: steps up a smooth objective in a box, with the curvature of all entries together (BFGS).

Notation
    θ (h,), f(θ), g (h,) its slope; B (h, h) positive definite, what is believed of −∂²f
    free    entries that no bound holds: not at a bound, or the step leads inwards
    promise ½ g_f B_ff⁻¹ g_f, what a step would gain were f the parabola that B says

A handful of hyperparameters is cheap to keep whole matrices of, each evaluation is dear: so the start may bring the
matrix of a smaller problem (the same evidence of fewer rows), and the first step is then of the right length already.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credo.numerics.cholesky import cholesky, solve_lower

__all__ = ["Curvature", "QuasiNewton"]

Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]
Value = Callable[[np.ndarray], float]
Curvature = Callable[[np.ndarray], np.ndarray]

# Of the rise that the slope promises a step must bring a ten-thousandth, and leave less than nine tenths of the slope:
# Nocedal and Wright (2006), Numerical Optimization, §3.1, their values for quasi-Newton steps.
RISE, STEEP = 1e-4, 0.9
# No entry, a log, moves by more than a factor e² in a step: beyond, a parabola says nothing of an evidence.
REACH = 2.0
# Evaluations of one line search: each cut is at least a half, so the last is at rounding of the first steps.
TRIES = 20
# A climb that gains much after so many steps has left the place that its curvature was asked for, and asks again.
FRESH = 8
# A gain of so many tolerances a step says that the climb has not yet begun to converge,
# unless the next promises next to nothing: as near the top each step squares what is missing.
LIVELY, CERTAIN = 10.0, 1e-2


class QuasiNewton:
    """One climb; `theta`, `value`, `slope`, `curvature` are those of the best place so far."""

    def __init__(
        self,
        evaluate: Evaluate,
        theta: np.ndarray,
        value: float,
        slope: np.ndarray,
        bounds: np.ndarray,
        curvature: Curvature,
        value_at: Value | None = None,
    ) -> None:
        """`value_at`: the value alone, cheaper; of a step that is too long nothing else is asked."""
        self.evaluate, self.bounds, self.curvature_at = evaluate, bounds, curvature
        self.theta, self.value, self.slope = theta, value, slope
        self.curvature, self.known = curvature(theta), True
        self.value_at = value_at

    def run(self, tol: float, max_iter: int, accepted: Callable[[], None]) -> bool:
        """Whether it converged within so many steps; `accepted` is called after each."""
        gain = 0.0
        for taken in range(max_iter):
            if taken and taken % FRESH == 0 and gain > LIVELY * tol:
                self.curvature, self.known = self.curvature_at(self.theta), True
            step = self._step()
            promise = 0.5 * float(step @ self.slope)
            if promise <= tol and (gain <= LIVELY * tol or promise <= CERTAIN * tol):
                return True
            before = self.value
            if not self._search(step):
                if not self.known:
                    return True  # nothing more along the slope itself: the top, up to rounding
                self.curvature, self.known = self._plain(), False
                gain = np.inf
                continue
            gain = self.value - before
            accepted()
        return False

    # -- the step ----------------------------------------------------------------------------------------------------

    def _plain(self) -> np.ndarray:
        """The curvature that makes the first step one of length 1 at most along the slope."""
        size = float(np.linalg.norm(self._free_slope())) if self.theta.size else 1.0
        return np.eye(self.theta.size) * max(size, 1e-300)

    def _held(self, direction: np.ndarray) -> np.ndarray:
        low, high = self.bounds.T
        return ((self.theta <= low) & (direction < 0.0)) | ((self.theta >= high) & (direction > 0.0))

    def _free_slope(self) -> np.ndarray:
        return np.where(self._held(self.slope), 0.0, self.slope)

    def _step(self) -> np.ndarray:
        """B_ff⁻¹ g_f, 0 where held; entries that it would lead out of the box are held in their turn."""
        free = ~self._held(self.slope)
        while True:
            step = np.zeros(self.theta.size)
            if free.any():
                step[free] = _solved(self.curvature[np.ix_(free, free)], self.slope[free])
            outward = self._held(step) & free
            if not outward.any():
                return step
            free &= ~outward

    def _search(self, step: np.ndarray) -> bool:
        """Move along θ + t · step, cut off at the bounds, to where enough is gained; False if nothing is."""
        start, value, slope = self.theta, self.value, self.slope
        step = step * min(1.0, REACH / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        t, longest, shortest, moved = 1.0, np.inf, 0.0, False
        for _ in range(TRIES):
            place = np.clip(start + t * step, self.bounds[:, 0], self.bounds[:, 1])
            shift = place - start
            rise = float(slope @ shift)
            if not (np.any(shift) and rise > 0.0):
                break
            new, new_slope = self._look(place, value + RISE * rise)
            if new < value + RISE * rise or (moved and new <= self.value):
                if moved:
                    break  # what was found is good enough
                longest = t
                t = shortest + (t - shortest) * _shorter(value, rise, new)
                continue
            self._learn(shift if not moved else place - self.theta, self.slope - new_slope)
            self.theta, self.value, self.slope, moved = place, new, new_slope, True
            left = float(new_slope @ shift)
            if left <= STEEP * rise or longest < np.inf or t * np.abs(step).max() >= REACH:
                break
            shortest = t
            t *= min(4.0, max(1.5, rise / max(rise - left, 0.25 * rise)))
        return moved

    def _look(self, place: np.ndarray, least: float) -> tuple[float, np.ndarray]:
        """Value and slope there; where the value is too small, no slope."""
        if self.value_at is not None and (new := self.value_at(place)) < least:
            return new, np.empty(0)
        return self.evaluate(place)

    def _learn(self, shift: np.ndarray, fall: np.ndarray) -> None:
        """B after a step over which the slope fell by so much; damped where that is no positive curvature (Powell)."""
        bent = self.curvature @ shift
        before, seen = float(shift @ bent), float(shift @ fall)
        if before <= 0.0 or not np.isfinite(seen):
            return
        if not self.known and seen > 0.0:
            self.curvature, self.known = np.eye(shift.size) * (float(fall @ fall) / seen), True
            bent = self.curvature @ shift
            before = float(shift @ bent)
        if seen < 0.2 * before:
            weight = 0.8 * before / (before - seen)
            fall = weight * fall + (1.0 - weight) * bent
            seen = float(shift @ fall)
        self.curvature = self.curvature + np.outer(fall, fall) / seen - np.outer(bent, bent) / before


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """matrix⁻¹ right, with jitter where rounding has made the matrix indefinite."""
    lower = cholesky(matrix, "The curvature of the objective").lower
    return solve_lower(lower, solve_lower(lower, right), transpose=True)


def _shorter(value: float, rise: float, new: float) -> float:
    """The share of the step at the top of the parabola through both values and the slope at the first; between a tenth
    and a half, a quarter at a wall, whose value is −∞."""
    if not np.isfinite(new):
        return 0.25
    return float(np.clip(0.5 * rise / max(rise - (new - value), 1e-300), 0.1, 0.5))
