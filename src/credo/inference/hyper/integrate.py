"""`integrate`: the integral of a density over at most three unconstrained hyperparameters, with an error estimate.

1. The mode, by BFGS; directions from the Hessian there, widths measured along them.
2. A lattice of 1.6 sds between nodes, flooded until all that lies above exp(−9) of the peak is covered; deeper while
   the shell of nodes below that still carries weight (heavy tails).
3. Finer lattices (every level contains the last) until log evidence, means and sds stand still.
4. On, where second moments of what depends on θ lie further out than the density does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from credo.errors import ConvergenceWarning, NumericalError, ParameterError, warn
from credo.inference.hyper.density import Density
from credo.inference.hyper.lattice import FINEST, Lattice
from credo.inference.hyper.mode import find_mode, whitening
from credo.inference.hyper.posterior import LatticePosterior
from credo.inference.hyper.surrogate import Surrogate

__all__ = ["integrate"]

# Distances between nodes of level 0 in sds: a Normal errs by 3e-3 there and 3e-6 at level 1; and with few nodes.
STEP, WIDE_STEP = 1.6, 2.0
# Below this many evaluations allowed the wide step is taken: 3 dimensions need about 130 nodes otherwise.
FEW = 400
DEPTH, SHALLOW, DEEPER, DEEPEST = 9.0, 6.0, 3.0, 60.0
# A shell may carry this part of the tolerance.
TAIL_SHARE = 0.5
# Exponential tails fall by more from one band of depth to the next: polynomial ones do not.
HEAVY = 0.1
# A function of θ has no sd to speak of if this share of its second moment lies below exp(−9) of the peak.
IN_TAILS = 0.01
# A squared distance from the mode, in sds, at which the search is taken up again.
OFF_CENTRE = 0.1
# Second moments that depend on θ are followed until nodes carry exp(−8) of what the heaviest does; if that takes more
# nodes than these, times d², on top of as many again as there are, they have no end, and there is no variance.
FOLLOWED, MOST_FOLLOWED = 8.0, 400
# Nodes of level 0, times d²: 15 times what the logarithm of a Gamma(0.05) variable needs.
MOST_FIRST = 1000
# Peaks that are climbed from to tell whether they are modes.
MOST_CLIMBS = 12


Also = Callable[[np.ndarray], np.ndarray] | None
Laws = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None


class Estimate(NamedTuple):
    log_evidence: float
    mean: np.ndarray
    sd: np.ndarray


def integrate(
    log_density: Callable[[np.ndarray], float] | None,
    start: Any,
    *,
    batch: Callable[[np.ndarray], np.ndarray] | None = None,
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]] | None = None,
    scale: Any = 1.0,
    tolerance: float = 1e-3,
    max_evaluations: int = 50_000,
    more_starts: Any = (),
    covariances: Any = None,
    also: Callable[[np.ndarray], np.ndarray] | None = None,
    laws: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None,
) -> LatticePosterior:
    """Integrate exp(log_density) over ℝᵈ, d ≤ 3.

    Parameters
    ----------
    log_density : θ (d,) → float, up to a constant; −∞ where the density is 0.
    start : (d,) where the search of the mode begins.
    batch : (B, d) → (B,), if many at once cost less.
    value_and_gradient : θ → (value, (d,)); differences are taken without it.
    scale : rough widths, a number or (d,): the first step of the search is of that size. 1 suits logarithms of scales.
    tolerance : of log evidence (absolute), means and sds (in sds).
    max_evaluations : beyond it the answer is returned as it is, with a `ConvergenceWarning`. Below 400 the lattice
        is wider (2 sds) and spares nodes that a log-concave density would not need, and a polynomial fitted there is
        integrated (and drawn from) if it keeps the tolerance (1e-2 is apt), some 40 nodes in three dimensions: for
        densities that cost.
    more_starts : (m, d) further starts, for other modes. With `batch` some places far around the mode are tried too.
    covariances : (1 + m, d, d), inverse curvatures of log p at the starts, if these are known to be modes.
    also : (B, d) → (B, k), functions of θ whose means and sds are to keep the tolerance too, such as exponentials: what
        they weigh most may lie far from where θ does. Those whose sds lie in the tails are left out.
    laws : (B, d) → means and sds (B, k) given θ. The lattice goes on to where the second moments of their mixture lie,
        such as a tail of little mass in which sds are large; those it finds no end of are told in `endless`.

    Returns
    -------
    LatticePosterior : nodes, weights, `log_evidence`, `mean`, `sd`, `errors`, `sample(n, rng)`.

    Raises `NumericalError` where the density is improper (no mode, or no end), 0 at the start, or NaN.

    Examples
    --------
    A half-Normal of scale 1, in its logarithm t: density exp(−½ e²ᵗ) eᵗ, whose integral is √(π/2).

    >>> found = integrate(lambda t: float(t[0] - 0.5 * np.exp(2 * t[0])), [0.0])
    >>> bool(abs(found.log_evidence - 0.5 * np.log(np.pi / 2)) < 1e-3), found.converged
    (True, True)
    """
    start = np.atleast_1d(np.asarray(start, dtype=np.float64))
    d = start.size
    if start.ndim != 1 or not 1 <= d <= 3 or not np.isfinite(start).all():
        raise ParameterError("integrate", "start", "one to three finite numbers", start)
    if not tolerance > 0.0:
        raise ParameterError("integrate", "tolerance", "> 0", tolerance)
    scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), (d,))
    density = Density(log_density, batch, value_and_gradient)
    starts = (start, *np.reshape(more_starts, (-1, d)))
    if covariances is None:
        found = [find_mode(density, each, scale) for each in starts]
    else:
        found = [find_mode(density, *each, finish=False) for each in zip(starts, [scale] * len(starts), covariances)]
    mode, value, inverse = max(found, key=lambda each: each[1])
    T = whitening(density, mode, value, inverse, scale)
    if np.square(density.gradient(mode, scale)[1] @ T).sum() > OFF_CENTRE:  # BFGS thought itself nearer than it was
        mode, value, inverse = find_mode(density, mode, scale, T @ T.T)
        T = whitening(density, mode, value, inverse, scale)
    sparing = max_evaluations < FEW
    lattice = Lattice(density, mode, T, WIDE_STEP if sparing else STEP, sparing)
    lattice.add(lattice.nearest(np.array([mode, *(each[0] for each in found)])))
    if density.is_cheap:
        _look_around(lattice)
    return _refine(lattice, tolerance, max_evaluations, also, laws)


def _look_around(lattice: Lattice) -> None:
    """Level-0 points along the axes and diagonals, up to 25 sds away: a second mode there would start a flood."""
    whole = 2**FINEST
    along = np.concatenate([lattice.moves(0), lattice.moves(1) * (2 if lattice.d > 1 else 1)])
    along = np.sign(along) * whole
    lattice.add(np.unique(np.concatenate([along * k for k in (2, 3, 4, 6, 8, 11, 15)]), axis=0))


def _refine(lattice: Lattice, tolerance: float, limit: int, also: Also = None, laws: Laws = None) -> LatticePosterior:
    depth, level = SHALLOW if lattice.sparing else DEPTH, 0
    before: Estimate | None = None
    previous: Estimate | None = None
    most = min(limit, MOST_FIRST * lattice.d**2)
    errors: dict[str, float] = {}
    while True:
        allowed = min(limit, int(most * lattice.refinement(level)))
        complete, depth, tail = _flooded(lattice, level, depth, tolerance, allowed)
        if lattice.sparing and lattice.d > 1 and complete:
            found = _by_surrogate(lattice, tolerance)
            if found is not None:
                return found
        now = _estimate(lattice, level, also)
        growth = lattice.refinement(level + 1) / lattice.refinement(level)
        last = level == (FINEST if lattice.d == 1 else 2 * FINEST - 1) or growth * len(lattice.log_p) > limit
        if previous is not None:
            errors = {**_errors(before, previous, now, lattice.d), "tail": tail}
            # Two lattices may share an error in two dimensions or more, three do not.
            settled = before is not None or lattice.d == 1 or lattice.sparing or last
            if max(errors.values()) <= tolerance and settled:
                endless = None if laws is None else _followed(lattice, level, laws)
                return replace(_posterior(lattice, level, now, errors, True), endless=endless)
            complete &= errors["log_evidence"] > tolerance or not settled  # a finer lattice would not mend the tail
        if previous is not None and (not complete or last):
            worst = max(errors, key=lambda name: errors[name])
            warn(
                f"Quadrature over {lattice.d} hyperparameters stopped at {len(lattice.log_p)} nodes: the error of "
                f"{worst} is about {errors[worst]:.1g}, above the tolerance {tolerance:g}.",
                ConvergenceWarning,
            )
            return _posterior(lattice, level, now, errors, False)
        before, previous, level = previous, now, level + 1


def _flooded(lattice: Lattice, level: int, depth: float, tolerance: float, limit: int) -> tuple[bool, float, float]:
    """Floods to `depth`, and deeper until what the outermost nodes add to second moments is small: whether it came to
    an end, the depth it reached, and what may lie beyond."""
    reached = None
    while True:
        if not lattice.flood(level, depth, limit):
            if reached is None and level == 0 and not lattice.sparing:
                raise NumericalError(
                    f"The density of the hyperparameters does not fall off within {limit} nodes.",
                    value=lattice.theta(lattice.units[-1:])[0],
                    remedy="Its posterior is improper, or nearly: state proper priors for the hyperparameters.",
                )
            depth = depth - DEEPER if reached is None else reached
            return False, depth, _tail(lattice, depth)
        tail = _tail(lattice, depth)
        if tail <= TAIL_SHARE * tolerance or depth >= DEEPEST or lattice.sparing:
            return True, depth, tail
        reached, depth = depth, depth + DEEPER


def _tail(lattice: Lattice, depth: float) -> float:
    """About which share of the second moments may lie beyond the nodes.

    Where tails are exponential or shorter, what the outermost nodes carry bounds it. Where they are polynomial, shares
    of bands of equal depth fall slowly, by a ratio ρ: then it is the sum of the geometric series.
    """
    log_p = lattice.log_p - lattice.log_p.max()
    share = np.exp(log_p) * (1.0 + np.square(lattice.u()).sum(axis=1))
    outer, inner = (share[(log_p > k * DEEPER - depth) & (log_p <= (k + 1) * DEEPER - depth)] for k in (0, 1))
    ratio = outer.sum() / inner.sum() if len(outer) > 4 * lattice.d and len(inner) else 0.0
    series = outer.sum() * (ratio / (1.0 - ratio) if ratio < 1.0 else np.inf) if ratio > HEAVY else 0.0
    return float(min(1.0, max(series, share[log_p <= -depth].sum()) / share.sum()))


def _followed(lattice: Lattice, level: int, laws: Any) -> np.ndarray:
    """Floods to where second moments of the laws are carried; (k,) which of them have no end."""
    moves, seen, mass = lattice.moves(level), 0, np.exp(lattice.log_p - lattice.log_p.max())
    limit = 2 * len(mass) + MOST_FOLLOWED * lattice.d**2
    square, centre = np.empty((0, 0)), np.empty(0)
    while True:
        mean, sd = laws(lattice.theta(lattice.units[seen:]))
        with np.errstate(all="ignore"):
            if seen == 0:
                centre = mass @ mean / mass.sum()
                square = np.empty((0, len(centre)))
            square = np.concatenate([square, np.square(sd) + np.square(mean - centre)])
            carried = lattice.log_p[:, None] + np.log(square)
        carried[~np.isfinite(carried)] = -np.inf  # overflown, or no law at all there
        high = carried[seen:] > carried.max(axis=0) - FOLLOWED
        if len(lattice.log_p) > limit:
            return high.any(axis=0)
        around = lattice.units[seen:][high.any(axis=1)][:, None] + moves
        seen = len(lattice.log_p)
        lattice.add(np.unique(around.reshape(-1, lattice.d), axis=0))
        if len(lattice.log_p) == seen:
            return np.zeros(len(centre), dtype=bool)


def _by_surrogate(lattice: Lattice, tolerance: float) -> LatticePosterior | None:
    """The integral of a polynomial fitted to the nodes and to the centres of the cells about the mode; None if that
    misses them by more than the tolerance."""
    lattice.add(lattice.centres())
    surrogate = Surrogate(lattice.u(), lattice.log_p)
    if not surrogate.error <= tolerance:
        return None
    inverse = np.linalg.inv(lattice.T)
    density = Density(None, lambda theta: surrogate((theta - lattice.origin) @ inverse.T), None)
    fine = Lattice(density, lattice.origin, lattice.T, STEP)
    fine.add(np.zeros((1, lattice.d), dtype=np.int64))
    found = _refine(fine, max(0.1 * tolerance, 1e-4), FEW * 100)
    errors = {name: value + surrogate.error for name, value in found.errors.items()}
    return replace(
        found, errors=errors, n_evaluations=lattice.density.calls, converged=max(errors.values()) <= tolerance
    )


def _estimate(lattice: Lattice, level: int, also: Also) -> Estimate:
    on, top = lattice.on(level), lattice.log_p.max()
    mass = np.exp(lattice.log_p[on] - top)
    total = mass.sum()
    theta = lattice.theta(lattice.units[on])
    if also is not None:
        theta = np.concatenate([theta, _settling(also(theta), lattice.log_p[on] - top)], axis=1)
    mean = mass @ theta / total
    sd = np.sqrt(mass @ np.square(theta - mean) / total)
    return Estimate(float(top + np.log(total * lattice.cell(level))), mean, sd)


def _settling(values: np.ndarray, fall: np.ndarray) -> np.ndarray:
    """Columns of values (J, k), with 0 for those whose second moment lies to a hundredth or more in the tails."""
    with np.errstate(over="ignore", invalid="ignore"):
        shares = np.exp(fall)[:, None] * np.square(values - values[np.argmax(fall)])
        tame = shares[fall < -DEPTH].sum(axis=0) <= IN_TAILS * shares.sum(axis=0)
    return np.where(tame & np.isfinite(shares).all(axis=0), values, 0.0)


def _errors(before: Estimate | None, previous: Estimate, now: Estimate, d: int) -> dict[str, float]:
    """Errors of the finest of three levels from what it changed.

    Its dual lattice reaches √2 times as far as the last one's (twice in one dimension), and twice as far as the one's
    before. If the Fourier transform falls off like exp(−c k), as for the exponential tails of log scales, an error e
    becomes e^√2 and e²; less for Normals. Both are looked at: where the transform is long along one direction only,
    two lattices in a row may share its error, and three do not.
    """
    worst = _predicted(previous, now, 2.0 if d == 1 else np.sqrt(2.0))
    if d > 1 and before is not None:
        worst = max(worst, _predicted(before, now, 2.0))
    # One number for all three: which of them happens to stand still says nothing of the rule.
    return dict.fromkeys(("log_evidence", "mean", "sd"), worst)


def _predicted(coarse: Estimate, fine: Estimate, power: float) -> float:
    sd = np.maximum(fine.sd, np.finfo(float).tiny)
    worst = max(
        abs(fine.log_evidence - coarse.log_evidence),
        float(np.max(np.abs(fine.mean - coarse.mean) / sd)),
        float(np.max(np.abs(fine.sd - coarse.sd) / sd)),
    )
    return float(min(worst, 2.0 * worst**power))


def _count_modes(lattice: Lattice, level: int) -> int:
    """Peaks among the nodes, less those from which a climb ends where another did: a ridge askew looks like many."""
    peaks = lattice.peaks(level, 6.0)
    if len(peaks) == 1 or not lattice.density.is_cheap:
        return len(peaks)
    ends: list[np.ndarray] = []
    scale = np.sqrt(np.square(lattice.T).sum(axis=1))
    for at in sorted(peaks, key=lambda k: -lattice.log_p[k])[:MOST_CLIMBS]:
        mode, _, _ = find_mode(lattice.density, lattice.theta(lattice.units[[at]])[0], scale)
        u = np.linalg.solve(lattice.T, mode - lattice.origin)
        if all(np.linalg.norm(u - other) > 0.5 for other in ends):
            ends.append(u)
    return len(ends)


def _posterior(
    lattice: Lattice, level: int, now: Estimate, errors: dict[str, float], converged: bool
) -> LatticePosterior:
    mass = np.exp(lattice.log_p - lattice.log_p.max())
    kept = mass > 0.0
    return LatticePosterior(
        nodes=lattice.theta(lattice.units[kept]),
        weights=mass[kept] / mass.sum(),
        log_density=lattice.log_p[kept],
        log_evidence=now.log_evidence,
        mode=lattice.origin,
        errors=errors,
        converged=converged,
        n_evaluations=lattice.density.calls,
        n_modes=_count_modes(lattice, level),
        T=lattice.T,
        units=lattice.units[kept],
        unit=lattice.unit,
        cubic=2 ** (FINEST - (level if lattice.d == 1 else level // 2)),
        density=lattice.density,
    )
