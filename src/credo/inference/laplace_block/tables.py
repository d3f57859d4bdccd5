"""Integrals over the groups of a block on randomly shifted grids, which also give exact draws.

Notation: for group g, log p(u) = −½ uᵀP u − tᵀu + Σ_i ℓ_i(o_i + a_iᵀu) over its rows i; nodes u_k = centre + L (k + s)
with k whole, |k| ≤ radius, L Lᵀ about the covariance of u and s uniform on [−½, ½)ʷ.

The sum over all k of p(u_k) |L| is the integral, but for terms that fall like exp(−2π²/h²) for a Normal whose sd is 1/h
nodes (3e-9 at h = 1), whatever s; over s its mean is the integral exactly. And a node drawn with probability ∝ p(u_k)
has, over s, the density p: so one table gives the integral and any number of draws.

L and radius must not depend on s, or draws would; `settled` sets them with s = 0. How far a sum is from converged is
seen in its halves (nodes with even and odd Σk), which err by the square root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.errors import NumericalError
from credo.inference.laplace_block.forms import pooled
from credo.inference.laplace_block.targets import GroupTarget, Nodes, at_nodes

__all__ = ["Grids", "Integrals", "Summary", "first_grids", "integrate", "settled"]

# Distance of nodes in sds, by w: errors of a Normal's integral are 3e-12, 5e-9 and 7e-6 (their mean over shifts is 0).
# Beyond the radius, also in sds, is 1e-9 of its mass, even if the centre is one sd off.
SPACING = {1: 0.85, 2: 1.0, 3: 1.25}
RADIUS = 7.0
# A grid has converged where its halves differ by less than this share (3% for a Normal at one sd): the sum then errs by
# less than 1e-3 of it; where the sd of u is this many nodes in every direction; and is wide enough where its edge is
# this many nats below its top.
HALVES, LEAST_SD, EDGE = 0.06, 0.72, 14.0
# In a draw, far from where the grids were set, an edge so high that it must be moved.
HIGH_EDGE = 7.0
MOST_ROUNDS = 24
# Nodes from the centre beyond which a density is taken for one that has no integral.
WIDEST = {1: 400.0, 2: 40.0, 3: 12.0}
# Groups and rows at all nodes that are looked at together.
AT_ONCE = 2**14


class Grids(NamedTuple):
    """move (G, w): centres less the means that Laplace's Normal has given c. half (G, w, w): L. radius (G,)."""

    move: np.ndarray
    half: np.ndarray
    radius: np.ndarray

    def take(self, groups: np.ndarray) -> Grids:
        return Grids(self.move[groups], self.half[groups], self.radius[groups])

    def put(self, groups: np.ndarray, other: Grids) -> None:
        for own, new in zip(self, other, strict=True):
            own[groups] = new

    def tile(self, n: int) -> Grids:
        return Grids(*(np.concatenate([each] * n) for each in self))


class Integrals(NamedTuple):
    """log ∫ p (G,), draws (r, G, w), E u (G, w), and E ℓ′ of the rows of each site where asked for."""

    log_integral: np.ndarray
    draws: np.ndarray
    mean: np.ndarray
    slopes: list[np.ndarray]


class Summary(NamedTuple):
    """Of the nodes k of every group: log Σ p (G,), mean (G, w), covariance (G, w, w), share of odd ones (G,), how many
    nats the edge is below the top (G,), the likeliest (G, w), one for each uniform (r, G, w); and E ℓ′ of the rows."""

    log_sum: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    odd: np.ndarray
    edge: np.ndarray
    best: np.ndarray
    picked: np.ndarray
    slopes: list[np.ndarray]

    def put(self, groups: np.ndarray, rows: list[np.ndarray], other: Summary) -> None:
        for own, new in zip(self[:6], other[:6], strict=True):
            own[groups] = new
        self.picked[:, groups] = other.picked
        for own, mine, new in zip(self.slopes, rows, other.slopes, strict=False):
            if own.shape[-1]:
                own[..., mine] = new


def summarise(
    target: GroupTarget,
    centre: np.ndarray,
    half: np.ndarray,
    shift: np.ndarray,
    radius: np.ndarray,
    uniforms: np.ndarray,
    slopes: bool,
) -> Summary:
    """The nodes of all groups: by the compiled loop where rows are many and have a form, else by array operations."""
    if target.compiles and target.form is not None:
        from credo.inference.laplace_block import compiled  # numba takes long to import

        found, lost = compiled.summarise(target, target.form, centre, half, shift, uniforms, slopes)
        if not len(lost):
            return found
        part, rows = target._replace(form=None).take(lost)
        again = summarise(part, centre[lost], half[lost], shift[lost], radius[lost], uniforms[:, lost], slopes)
        found.put(lost, rows, again)
        return found
    (G, w), r = centre.shape, len(uniforms)
    every = np.unique(radius)
    if len(every) == 1:
        return _nodes_of(target, centre, half, shift, every[0], uniforms, slopes)
    found = Summary(
        np.empty(G), np.empty((G, w)), np.empty((G, w, w)), np.empty(G), np.empty(G), np.empty((G, w)),
        np.empty((r, G, w)), [np.zeros(o.shape)[..., : o.shape[-1] * slopes] for _, o, _, _ in target.parts],
    )  # fmt: skip
    for each in every:
        groups = np.flatnonzero(radius == each)
        part, rows = target.take(groups)
        one = _nodes_of(part, centre[groups], half[groups], shift[groups], each, uniforms[:, groups], slopes)
        found.put(groups, rows, one)
    return found


def _nodes_of(
    target: GroupTarget,
    centre: np.ndarray,
    half: np.ndarray,
    shift: np.ndarray,
    radius: float,
    uniforms: np.ndarray,
    slopes: bool,
) -> Summary:
    """Of groups whose grids have the same radius."""
    index = _nodes(centre.shape[1], radius)
    if target.factor is None or target.only is None:
        values, slope = _over_nodes(target, target.nodes(centre, half, shift), index, slopes)
    else:
        values, slope = _of_pools(target, centre[:, 0], half[:, 0, 0] * (index + shift[:, 0]), slopes)
    top = values.max(axis=0)
    if target.form is not None and not np.isfinite(top).all():  # out of reach of the form, perhaps not of the law
        plain = target._replace(form=None, factor=None)
        return _nodes_of(plain, centre, half, shift, radius, uniforms, slopes)
    if not np.isfinite(top).all():
        raise NumericalError("Laplace block: the density of a group is 0 or infinite wherever it was looked for.")
    weights = np.exp(values - top)
    total = weights.sum(axis=0)
    weights /= total
    mean = np.einsum("kg,ki->gi", weights, index)
    spread = np.einsum("kg,ki,kj->gij", weights, index, index) - mean[:, :, None] * mean[:, None]
    outer = np.linalg.norm(index, axis=1)
    edge = top - values[outer > outer.max() - 1.0].max(axis=0)
    odd = weights[index.sum(axis=1) % 2 == 1].sum(axis=0)
    drawn = (np.cumsum(weights, axis=0)[:, None] < uniforms).sum(axis=0).clip(max=len(index) - 1)
    slope = [own / total[part[3]] if slopes else own[..., :0] for own, part in zip(slope, target.parts, strict=True)]
    return Summary(top + np.log(total), mean, spread, odd, edge, index[values.argmax(axis=0)], index[drawn], slope)


def _over_nodes(
    target: GroupTarget, nodes: Nodes, index: np.ndarray, slopes: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    """log p (K, G) at every node; and of each row Σ ℓ′ p, relative to the top of its group, in the same pass."""
    G = len(target.P)
    values, top = np.empty((len(index), G)), np.full(G, -np.inf)
    sums = [np.zeros(offset.shape) for _, offset, _, _ in target.parts]
    step = max(1, AT_ONCE // (G + sum(each.size for each in sums)))
    for start in range(0, len(index), step):
        some = values[start : start + step]
        some[:], own = target.over(nodes, index[start : start + step], int(slopes))
        if not slopes:
            continue
        higher = np.maximum(top, some.max(axis=0))
        known = np.where(np.isfinite(higher), higher, 0.0)
        share, kept = np.exp(some - known), np.exp(top - known)
        for total, slope, part in zip(sums, own, target.parts, strict=True):
            of = part[3]
            own_share = share[:, of] if slope.ndim == 2 else share[:, None, of]
            total *= kept[of]
            total += np.where(own_share > 0.0, own_share * slope, 0.0).sum(axis=0)
        top = higher
    return values, sums


def _of_pools(
    target: GroupTarget, centre: np.ndarray, d: np.ndarray, slopes: bool
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The same at u = centre + d (K, G), where the rows of a group are one number to it."""
    site, form, factor = target.only, target.form, target.factor
    assert site is not None
    assert form is not None
    assert factor is not None
    _, offset, _, of = target.parts[site]
    with np.errstate(over="ignore", invalid="ignore"):
        pool = pooled(form, factor, offset, of, centre)
        own, growth = pool.values(d)
        u = centre + d
        values = own - u * (0.5 * target.P[:, 0, 0] * u + target.t[:, 0])
        values = np.where(np.isnan(values), -np.inf, values)
        sums = [np.zeros(len(part[3])) for part in target.parts]
        if slopes:
            top = values.max(axis=0)
            share = np.exp(values - np.where(np.isfinite(top), top, 0.0))
            tilted = np.where(share > 0.0, share * growth, 0.0).sum(axis=0)
            sums[site] = form.sign * (form.linear * share.sum(axis=0)[of] - pool.rows * tilted[of])
    return values, sums


def first_grids(inverse: np.ndarray) -> Grids:
    """For groups of these covariances (G, w, w)."""
    G, w = inverse.shape[:2]
    return Grids(np.zeros((G, w)), SPACING[w] * np.linalg.cholesky(inverse), np.full(G, RADIUS / SPACING[w]))


def settled(target: GroupTarget, centre: np.ndarray, grids: Grids) -> tuple[Grids, Integrals]:
    """Grids that do for these groups, about the centres (G, w): moved, narrowed, made finer or wider where needed; and
    what they give unshifted, with E ℓ′."""
    G, w = centre.shape
    made, still = Grids(*(each.copy() for each in grids)), np.zeros((G, w))
    nothing, active = np.zeros((0, G)), np.arange(G)
    found = whole = summarise(target, centre + made.move, made.half, still, made.radius, nothing, True)
    for _ in range(MOST_ROUNDS):
        failed, better = _judged(made.take(active), found)
        if not len(failed):
            return made, _integrals(whole, centre + made.move, made.half, still)
        active = active[failed]
        made.put(active, better)
        if (better.radius > WIDEST[w]).any():
            break
        part, rows = target.take(active)
        about = centre[active] + better.move
        found = summarise(part, about, better.half, still[active], better.radius, nothing[:, active], True)
        whole.put(active, rows, found)
    raise _endless(active)


def _judged(own: Grids, found: Summary) -> tuple[np.ndarray, Grids]:
    """Which grids fail, and better ones for these."""
    edge = found.edge < EDGE
    least = np.linalg.eigvalsh(found.spread)[:, 0]
    coarse = ~edge & (least < LEAST_SD**2)
    rough = ~edge & ~coarse & (np.abs(1.0 - 2.0 * found.odd) > HALVES)
    failed = np.flatnonzero(edge | coarse | rough)
    if not len(failed):
        return failed, own.take(failed)
    edge, coarse, rough, spread = (each[failed] for each in (edge, coarse, rough, found.spread))
    own = own.take(failed)
    roomy = edge & (least[failed] > (2.0 * LEAST_SD) ** 2)
    to = np.where(edge[:, None], found.best[failed], found.mean[failed])
    move = np.einsum("gij,gj->gi", own.half, to) * (edge | coarse)[:, None]
    # a density within a single node has spread 0: narrowed sixfold, it is looked at again
    narrow = own.half @ np.linalg.cholesky(spread + 0.04 * np.eye(len(spread[0]))) * 0.85
    scale = np.where(rough, 0.5, np.where(roomy, 1.4, 1.0))
    half = np.where(coarse[:, None, None], narrow, own.half * scale[:, None, None])
    radius = np.where(edge & ~roomy, 1.4, np.where(rough, 2.0, 1.0)) * own.radius
    return failed, Grids(own.move + move, half, radius)


def integrate(
    target: GroupTarget, centre: np.ndarray, grids: Grids, shift: np.ndarray, uniforms: np.ndarray
) -> Integrals:
    """Every group on a grid of its own.

    centre (G, w), less the grids' moves; shift (G, w) in [−½, ½); uniforms (r, G), one a draw.
    Cost: 17 evaluations of the rows for w = 1, 150 for w = 2, 600 for w = 3; twice that with slopes.
    """
    about, radius = centre + grids.move, grids.radius.copy()
    found = summarise(target, about, grids.half, shift, radius, uniforms, False)
    while True:
        high = np.flatnonzero(found.edge < HIGH_EDGE)
        if not len(high):
            return _integrals(found, about, grids.half, shift)
        about[high] += np.einsum("gij,gj->gi", grids.half[high], found.best[high])
        radius[high] *= 1.4
        if (radius[high] > WIDEST[centre.shape[1]]).any():
            raise _endless(high)
        part = target.take(high)[0]
        again = summarise(part, about[high], grids.half[high], shift[high], radius[high], uniforms[:, high], False)
        found.put(high, [], again)


def _integrals(found: Summary, about: np.ndarray, half: np.ndarray, shift: np.ndarray) -> Integrals:
    """On the scale of u."""
    volume = np.log(np.abs(np.linalg.det(half))) if half.shape[1] > 1 else np.log(half[:, 0, 0])
    draws, mean = (at_nodes(about, half, shift, k) for k in (found.picked, found.mean))
    return Integrals(found.log_sum + volume, draws, mean, found.slopes)


def _endless(groups: np.ndarray) -> NumericalError:
    return NumericalError(
        "Laplace block: the integral over a group of latents does not converge.",
        value=groups,
        remedy="Is its prior proper, and the data not separated?",
    )


def _nodes(w: int, radius: float) -> np.ndarray:
    """Whole k (K, w) with |k| ≤ radius."""
    most = int(radius)
    box = np.stack(np.meshgrid(*[np.arange(-most, most + 1)] * w, indexing="ij"), axis=-1).reshape(-1, w)
    return box[np.square(box).sum(axis=1) <= radius**2]
