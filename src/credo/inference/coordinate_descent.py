"""L1-penalised least squares with a certificate: coordinate descent and active sets, stopped by the duality gap.

Notation
    L(w)   ½‖y − Xw‖² = ½ wᵀGw − cᵀw + ½ square,   G = XᵀX,  c = Xᵀy,  square = ‖y‖²
    h_j    penalty l1_j |w_j| + ½ ridge_j w_j²
    r, g   residual y − Xw and its correlations Xᵀr = c − Gw
    s      scale of the dual point s·r

The engine minimises F(w) = L(w) + Σ h_j(w_j). For any s that makes s·r feasible, F(w) is above the minimum by at most

    gap = ½ (1 − s)² ‖r‖² + Σ_j [h_j(w_j) + h*_j(s g_j) − s w_j g_j],    h*_j(u) = (|u| − l1_j)₊²/(2 ridge_j)

with h*_j the indicator of |u| ≤ l1_j where ridge_j = 0. Every term is ≥ 0: nothing cancels. Standardising
columns is a change of l1 and ridge by their sds, so X is never rescaled; an intercept is a projection (G, c and square
about the means), so X is never densified.

Each problem is solved on a working set: what is not zero, and what the sequential strong rule lets in (Tibshirani et
al. 2012, JRSS B 74); the optimality of the others is checked, so that the rule cannot err. On up to `DIRECT` columns
the solver is an active-set Newton method with exact line search (feature-sign search, Lee et al. 2006), which is exact
after finitely many steps and needs no compiler; on more, compiled coordinate sweeps.

References: Friedman, Hastie & Tibshirani (2010), J. Stat. Softw. 33(1); Ndiaye et al. (2017), JMLR 18 (gap).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from credo.errors import NotIdentifiedError, ParameterError
from credo.inference.result import Result
from credo.numerics.cholesky import cholesky, solve_lower

__all__ = [
    "DIRECT", "GramProblem", "PenalisedFit", "PenalisedProblem", "duality_gap", "lasso_gram", "line_search", "minimise",
]  # fmt: skip

# Columns up to which active-set steps in NumPy (a factorisation of ≤ 64 columns: 60 µs) beat importing a compiler.
DIRECT = 64
# Gap at which a lone mode is accepted, relative to ‖y‖²: coefficients then agree with the exact ones to ~1e-6 standard
# errors, since F rises by half a nat times σ² a standard error; the active-set method usually ends far below.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class PenalisedFit:
    """coef (P,) or (T, P); gap ≥ 0 (T targets: the largest) in units of F; n_iter sweeps and steps; result."""

    coef: np.ndarray
    gap: float
    n_iter: int
    result: Result


class PenalisedProblem(Protocol):
    """What the working-set loop needs of the data: columns, ‖y‖², correlations, and a solver on some columns."""

    @property
    def cross(self) -> np.ndarray: ...

    @property
    def square(self) -> float: ...

    def correlations(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """g (P,) and ‖r‖² at w (P,)."""
        ...

    def solve(
        self, columns: np.ndarray, w: np.ndarray, l1: np.ndarray, ridge: np.ndarray, goal: float, limit: int
    ) -> int:
        """Minimise over w[columns] in place until the gap there is ≤ `SHARE` of the goal; returns the iterations used.

        w, l1 and ridge are (P,); at most `limit` iterations.
        """
        ...


def lasso_gram(
    gram: np.ndarray,
    cross: np.ndarray,
    l1: Any,
    ridge: Any = 0.0,
    *,
    square: Any,
    tol: float = TOLERANCE,
    max_iter: int = 100_000,
    start: np.ndarray | None = None,
) -> PenalisedFit:
    """The minimiser of ½ wᵀGw − cᵀw + Σ l1_j |w_j| + ½ Σ ridge_j w_j², one target or several sharing G.

    Parameters
    ----------
    gram, cross, square : G (P, P) positive semidefinite; c (P,) or (P, T); ‖y‖², a number or (T,)
    l1, ridge : ≥ 0, scalars or one a column; columns with neither are eliminated exactly (they must be identified)
    tol : the gap to reach, relative to `square`
    max_iter : sweeps and steps a target
    start : coefficients (P,) or (T, P) to begin from

    Returns
    -------
    PenalisedFit : its `result.certificate["duality_gap"]` is relative to `square`. Status "max_iter" where not reached.

    Raises `NotIdentifiedError` where columns without penalty are collinear. Cost: P² a sweep, or k³/3 a step with k
    columns in the model.

    >>> lasso_gram(np.eye(2), np.array([3.0, 0.5]), 1.0, square=10.0).coef.round(9).tolist()
    [2.0, 0.0]
    """
    gram = np.asarray(gram, dtype=np.float64)
    cross = np.asarray(cross, dtype=np.float64)
    p = gram.shape[0]
    l1, ridge = penalties(p, l1, ridge)
    targets = cross[:, None] if cross.ndim == 1 else cross
    squares = np.broadcast_to(np.asarray(square, dtype=np.float64), (targets.shape[1],))
    starts = np.zeros((targets.shape[1], p)) if start is None else np.atleast_2d(np.array(start, dtype=np.float64))
    free = (l1 == 0.0) & (ridge == 0.0)
    parts = []
    for target, size, begin in zip(targets.T, squares, starts, strict=True):
        problem = GramProblem(gram, np.ascontiguousarray(target), float(size))
        if free.any():
            parts.append(_without_free(problem, l1, ridge, free, begin, tol, max_iter))
        else:
            parts.append(minimise(problem, l1, ridge, begin, tol, max_iter)[0])
    coef = np.stack([part.coef for part in parts])
    worst = max(parts, key=lambda part: part.result.certificate["duality_gap"])
    coef = coef[0] if cross.ndim == 1 else coef
    return PenalisedFit(coef, max(part.gap for part in parts), sum(part.n_iter for part in parts), worst.result)


def penalties(p: int, l1: Any, ridge: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as (P,) arrays, checked."""
    checked = []
    for name, value in (("l1", l1), ("ridge", ridge)):
        array = np.asarray(value, dtype=np.float64)
        if array.shape not in ((), (p,)) or not np.all((array >= 0.0) & np.isfinite(array)):
            raise ParameterError(
                "lasso", name, f"finite and ≥ 0, a scalar or one number for each of {p} columns", value
            )
        checked.append(np.array(np.broadcast_to(array, (p,))))
    return checked[0], checked[1]


def _without_free(
    problem: GramProblem,
    l1: np.ndarray,
    ridge: np.ndarray,
    free: np.ndarray,
    start: np.ndarray,
    tol: float,
    max_iter: int,
) -> PenalisedFit:
    """Columns without a penalty are projected out (a Schur complement), and put back at their least squares."""
    gram, cross = problem.gram, problem.cross
    try:
        factor = scipy.linalg.cho_factor(gram[np.ix_(free, free)], lower=True)
    except np.linalg.LinAlgError:
        raise NotIdentifiedError(
            "Columns without a penalty are collinear or constant.",
            value=np.flatnonzero(free),
            remedy="Drop one of them, or give every coefficient a proper prior.",
        ) from None
    pull = scipy.linalg.cho_solve(factor, np.column_stack([gram[np.ix_(free, ~free)], cross[free]]))
    inner_gram = gram[np.ix_(~free, ~free)] - gram[np.ix_(~free, free)] @ pull[:, :-1]
    inner_cross = cross[~free] - gram[np.ix_(~free, free)] @ pull[:, -1]
    square = max(problem.square - float(cross[free] @ pull[:, -1]), 0.0)
    inner, _ = minimise(
        GramProblem(inner_gram, inner_cross, square), l1[~free], ridge[~free], start[~free], tol, max_iter
    )
    coef = np.empty(free.size)
    coef[~free] = inner.coef
    coef[free] = pull[:, -1] - pull[:, :-1] @ inner.coef
    return PenalisedFit(coef, inner.gap, inner.n_iter, inner.result)


def minimise(
    problem: PenalisedProblem,
    l1: np.ndarray,
    ridge: np.ndarray,
    start: np.ndarray,
    tol: float = TOLERANCE,
    max_iter: int = 100_000,
    previous_l1: np.ndarray | None = None,
    known: tuple[np.ndarray, float] | None = None,
) -> tuple[PenalisedFit, tuple[np.ndarray, float]]:
    """One problem: working sets from the strong rule, each solved to the gap asked for, until all columns agree.

    previous_l1 : the penalty that `start` solved, for the strong rule; None lets in every column that pulls.
    known : correlations and ‖r‖² at `start`, where the caller has them; those at the end are returned beside the fit.
    """
    w = np.array(start, dtype=np.float64)
    goal = tol * problem.square
    correlations, residual = problem.correlations(w) if known is None else known
    bound = l1 if previous_l1 is None else 2.0 * l1 - previous_l1
    working = (w != 0.0) | (np.abs(correlations) > bound)
    # Along a path the start is never good enough, and looking costs as much as a sweep.
    gap = np.inf if previous_l1 is not None else duality_gap(w, correlations, residual, l1, ridge)
    n_iter, last = 0, np.inf
    while gap > goal and n_iter < max_iter:
        columns = np.flatnonzero(working)
        n_iter += max(1, problem.solve(columns, w, l1, ridge, goal, max_iter - n_iter))
        correlations, residual = problem.correlations(w)
        gap = duality_gap(w, correlations, residual, l1, ridge)
        late = (np.abs(correlations) > l1) & ~working
        if not late.any() and gap >= last:  # no column is missing and no digit is left to gain
            break
        working |= late
        last = gap
    converged = gap <= goal
    relative = gap / problem.square if problem.square > 0.0 else gap
    advice = () if converged else (f"The duality gap is {relative:.2g} of the target's square, {tol:.2g} was asked.",)
    result = Result(
        "converged" if converged else "max_iter", "map", certificate={"duality_gap": relative}, advice=advice
    )
    return PenalisedFit(w, gap, n_iter, result), (correlations, residual)


def duality_gap(w: np.ndarray, correlations: np.ndarray, residual: float, l1: np.ndarray, ridge: np.ndarray) -> float:
    """How far F(w) can be above its minimum, ≥ 0, from g = Xᵀr (P,) and ‖r‖². Needs l1 or ridge > 0 in each column.

    The scale s of the dual point is the best of the feasible one and, where ridge > 0 throughout, one.
    """
    size = np.abs(correlations)
    inner = float(w @ correlations)
    penalty = float(l1 @ np.abs(w) + 0.5 * (ridge @ np.square(w)))
    hard = (ridge == 0.0) & (size > 0.0)
    limit = float((l1[hard] / size[hard]).min()) if hard.any() else np.inf
    best = 1.0 + inner / residual if residual > 0.0 else 1.0
    soft = (ridge > 0.0) & (size > 0.0)
    if not soft.any():
        s = max(min(limit, best), -limit)
        return max(0.5 * (1.0 - s) ** 2 * residual + penalty - s * inner, 0.0)
    inside = float((l1[soft] / size[soft]).min())  # beyond it h* costs
    scales = {min(limit, 1.0), max(min(limit, best), -limit), max(min(limit, inside, best), -limit)}
    return max(min(_gap_at(s, size[soft], l1[soft], ridge[soft], residual, penalty, inner) for s in scales), 0.0)


def _gap_at(
    s: float, size: np.ndarray, l1: np.ndarray, ridge: np.ndarray, residual: float, penalty: float, inner: float
) -> float:
    with np.errstate(over="ignore"):
        conjugate = 0.5 * float((np.square(np.maximum(abs(s) * size - l1, 0.0)) / ridge).sum())
    return 0.5 * (1.0 - s) ** 2 * residual + penalty + conjugate - s * inner


@dataclass(frozen=True)
class GramProblem:
    """The data as G (P, P), c (P,) and ‖y‖². `compiled`: sweeps even where few columns pull, for paths of many fits."""

    gram: np.ndarray
    cross: np.ndarray
    square: float
    compiled: bool = False

    def correlations(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        active = np.flatnonzero(w)
        if active.size == 0:
            return self.cross, self.square
        g = self.cross - self.gram[active].T @ w[active]
        return g, max(self.square - float(w @ (self.cross + g)), 0.0)

    def solve(
        self, columns: np.ndarray, w: np.ndarray, l1: np.ndarray, ridge: np.ndarray, goal: float, limit: int
    ) -> int:
        part: Any = columns
        share = SHARE
        if self.compiled or 4 * columns.size > self.cross.size:  # taking a part would cost more than it saves
            part, share = slice(None), 1.0 - 1e-6
        gram = self.gram if part is not columns else self.gram[np.ix_(columns, columns)]
        w[part], steps = solve_gram(
            gram,
            self.cross[part],
            self.square,
            w[part],
            l1[part],
            ridge[part],
            share * goal,
            limit,
            compiled=self.compiled,
        )
        return steps


def solve_gram(
    gram: np.ndarray,
    cross: np.ndarray,
    square: float,
    start: np.ndarray,
    l1: np.ndarray,
    ridge: np.ndarray,
    goal: float,
    limit: int,
    *,
    compiled: bool = False,
) -> tuple[np.ndarray, int]:
    """Active-set steps while the columns are few, else compiled sweeps, finished by a step where they are slow."""
    if start.size <= DIRECT and not compiled:
        return _active_set(gram, cross, square, start, l1, ridge, goal, limit)
    from credo.inference.coordinate_kernels import history, sweep_gram

    gram = np.ascontiguousarray(gram)
    w, n_iter, patience = start.copy(), 0, SWEEPS
    g, room = cross - gram @ w, history(w.size)
    while n_iter < limit:
        sweeps = sweep_gram(gram, cross, square, g, w, l1, ridge, goal, min(limit - n_iter, patience), *room)
        n_iter += sweeps
        if sweeps < patience:
            break
        w, steps = _active_set(gram, cross, square, w, l1, ridge, goal, STEPS)
        n_iter, patience = n_iter + steps, 2 * patience
        g = cross - gram @ w
    return w, n_iter


# Sweeps before active-set steps are tried. Accelerated sweeps seldom need more along a path, where a step costs some
# 50 of them (k³/3 flops and the rest of it in NumPy); so many say that the columns of the model are nearly collinear.
SWEEPS = 120
STEPS = 4
# Part of the gap allowed to a working set: the other columns, whose correlations move a little, take the rest.
SHARE = 0.8


def _active_set(
    gram: np.ndarray,
    cross: np.ndarray,
    square: float,
    start: np.ndarray,
    l1: np.ndarray,
    ridge: np.ndarray,
    goal: float,
    limit: int,
) -> tuple[np.ndarray, int]:
    """Newton steps on the columns in the model with exact line search; F falls at every step.

    Columns enter once the model is at its own minimum: all that pull together, while that leads anywhere; else only
    the one that pulls most, with which the step is always downhill (Lee et al. 2006, theorem 3.1). No set of signs
    comes twice, so the method ends.
    """
    w, settled, lowest, idle = start.copy(), not np.any(start), np.inf, 0
    nobody = np.zeros(w.size, dtype=bool)
    for n_iter in range(limit):
        g = cross - gram @ w
        residual = max(square - float(w @ (cross + g)), 0.0)
        if duality_gap(w, g, residual, l1, ridge) <= goal:
            return w, n_iter
        value = float(l1 @ np.abs(w) + 0.5 * (ridge @ np.square(w)) - 0.5 * (w @ (cross + g)))
        idle = 0 if value < lowest - np.finfo(float).eps * square else idle + 1
        if idle > IDLE:
            return w, n_iter
        lowest = min(value, lowest)
        slope = g - ridge * w
        t = 0.0
        if settled:
            pull = np.where(w == 0.0, np.abs(slope) - l1, -np.inf)
            moved, t = _newton_step(gram, w, slope, l1, ridge, pull > 0.0)
            if t < FAR:
                moved, t = _newton_step(gram, w, slope, l1, ridge, (pull > 0.0) & (pull == pull.max()))
        else:
            moved, t = _newton_step(gram, w, slope, l1, ridge, nobody)
        if settled and t == 0.0:
            return w, n_iter + 1
        settled = t == 0.0 or t > 1.0 - 1e-6
        w = moved
    return w, limit


# Of a matrix with unit diagonal: above the rounding of a factorisation of some hundred columns.
JITTER = 1e-12
# Steps that gain nothing but rounding before the digits are taken to be used up.
IDLE = 10
# Share of a Newton step below which the columns that entered are in each other's way.
FAR = 0.1


def _newton_step(
    gram: np.ndarray, w: np.ndarray, slope: np.ndarray, l1: np.ndarray, ridge: np.ndarray, entering: np.ndarray
) -> tuple[np.ndarray, float]:
    """From w towards the minimum of F with the signs held, to the lowest point on the way; and the share t walked."""
    columns = np.flatnonzero((w != 0.0) | entering)
    if columns.size == 0:
        return w, 0.0
    at, push = w[columns], slope[columns]
    sign = np.where(at != 0.0, np.sign(at), np.sign(push))
    hessian = gram[np.ix_(columns, columns)]
    hessian[np.diag_indices_from(hessian)] += ridge[columns]
    # With collinear columns, or more of them than rows, F may fall without bound while the signs hold: the jitter keeps
    # the step a descent along such directions, and costs others some of their length, which the next step makes up.
    unit = 1.0 / np.sqrt(np.diag(hessian))
    stiff = hessian * unit[:, None] * unit + JITTER * np.eye(unit.size)
    lower = cholesky(stiff, "the Gram matrix").lower
    half = solve_lower(lower, unit * (push - l1[columns] * sign))
    direction = unit * solve_lower(lower, half, transpose=True)
    t, stopped = line_search(at, direction, push, float(direction @ hessian @ direction), l1[columns])
    moved = at + t * direction
    moved[stopped] = 0.0
    result = w.copy()
    result[columns] = moved
    # A step of a few roundings is none: with it the slope along the way is noise, and t too.
    still = np.all(np.abs(moved - at) <= 4.0 * np.finfo(float).eps * np.abs(at))
    return (w, 0.0) if still else (result, t)


def line_search(
    at: np.ndarray, direction: np.ndarray, push: np.ndarray, curvature: float, l1: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minimise −t push·d + ½ t² curvature + Σ l1 |at + t d| over 0 ≤ t ≤ 1; also which coordinates end at zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(at * direction < 0.0, -at / direction, np.inf)
    order = np.argsort(crossing)
    order = order[: np.count_nonzero(crossing <= 1.0)]
    weight = l1 * np.abs(direction)
    level = float(np.sum(np.where(at * direction < 0.0, -weight, weight))) - float(push @ direction)
    for j in order:  # slopes just before and just after each kink
        t = crossing[j]
        before = level + t * curvature
        if before >= 0.0:
            break
        level += 2.0 * weight[j]
        if level + t * curvature >= 0.0:
            return float(t), crossing == t
    whole = level <= -curvature or curvature <= 0.0
    t = float(level < 0.0) if whole else max(float(-level / curvature), 0.0)
    return t, np.zeros(at.size, dtype=bool)
