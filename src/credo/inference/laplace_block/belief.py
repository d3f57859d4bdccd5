"""`LaplaceBelief`: the Normal at the mode, and draws whose weights correct it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from credo.inference.gaussian_block import GaussianBelief
from credo.inference.laplace_block.mode import Joint, Mode, other_modes
from credo.inference.laplace_block.nested import MOST_CELLS, Nested, log_proposal, proposed

if TYPE_CHECKING:
    from credo.inference.laplace_block.block import LaplaceBlock

__all__ = ["LaplaceBelief"]

# Modes are two where a latent is so many sds apart in them.
APART = 4.0


class LaplaceBelief(GaussianBelief):
    """z ~ Normal(mean, H⁻¹), mean the mode, approximately; everything a `GaussianBelief` has, and weighted draws.

    log_marginal : Laplace's log p(y | θ).

    Where latents are groups given the rest (`LaplaceBlock.groups`), weights are over the rest alone, each group being
    integrated and drawn exactly: a weight over 5,000 groups together would say nothing. Groups of more than three
    numbers (two, above 20,000 rows) are not taken apart.

    Examples
    --------
    Two counts, each of its own group, with a common level; groups of one number, so that only the level has weights:

    >>> import numpy as np
    >>> from credo.distributions.sites import PoissonLog
    >>> from credo.inference.gaussian_block import LinearFactor
    >>> from credo.inference.laplace_block import LaplaceBlock, Site
    >>> site = Site(PoissonLog(), [1, 6], [np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])], name="y")
    >>> block = LaplaceBlock([LinearFactor([np.eye(3)], name="z")], [site], 3)
    >>> belief = block.condition([((1.0,), (), 1.0), ((1.0,), (), ())])
    >>> z, log_w = belief.draw_weighted(2000, np.random.default_rng(0))
    >>> z.shape, round(float(np.log(np.exp(log_w).mean())), 2), round(belief.correction(), 2)
    ((2000, 3), 0.01, 0.01)
    """

    def __init__(self, block: LaplaceBlock, joint: Joint, mode: Mode, log_marginal: float) -> None:
        super().__init__(joint.quadratic.centre + mode.y, mode.factor, log_marginal)
        self._block, self._joint, self._mode = block, joint, mode

    @cached_property
    def _nested(self) -> Nested | None:
        parts = self._block.partition
        return None if parts is None else self._block.nested(self._joint, self._mode)

    def correction(self) -> float:
        """log p(y | θ) − log_marginal with the groups integrated exactly and the rest by Laplace's method; 0 without
        groups. Smooth in θ. Cost: two to five passes over the grids of all groups."""
        return self._nested.correction if self._nested else 0.0

    def rival(self) -> float:
        """By how many nats the rows of a latent speak for this mode and against another one, which neither weights nor
        grids would see; ∞ where none is found. Only laws that are not log-concave (Student's t, a Normal whose sd is
        of the block too) have any.

        Cost: none where the rows are log-concave at the mode, else that of other modes."""
        return min((self._lead(other) for other in other_modes(self._joint, self._mode)), default=np.inf)

    def _lead(self, other: Mode) -> float:
        move = other.y - self._mode.y
        moved = np.abs(move) > APART * self.sd
        if not moved.any():
            return np.inf
        if self._nested:
            moved &= ~self._nested.covers(move)
        if not moved.any():
            return np.inf
        gain = np.zeros(len(move))
        for cells, here, there in zip(self._joint.cells, self._mode.slopes, other.slopes, strict=True):
            gain += cells.rows.totals(here[0] - there[0])
        lead = float(gain[moved].min())
        if any(cells.site.law.predictors > 1 for cells in self._joint.cells):
            # Rows may gain by what the prior loses: a level that fits its rows too well, with a tiny scale.
            lead = min(lead, self._mode.value - other.value, float(self._with_priors(gain, other.y)[moved].min()))
        return lead

    def _with_priors(self, gain: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The gain (p,) of the rows, and of the prior of each latent and those of its group."""
        q, here = self._joint.quadratic, self._mode.y
        own = np.array([q.h[at] for at in self._joint.precision.once(np.arange(len(y)), np.arange(len(y)))])
        prior = 0.5 * own * (y * y - here * here) + q.g * (y - here)
        parts = self._block.partition
        for k in parts.kinds if parts else ():
            prior[k.columns] = prior[k.columns].sum(axis=1, keepdims=True)
        return gain + prior

    def draw_weighted(self, n: int, rng: np.random.Generator, repeats: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """n draws z (n, p) and their log weights (n,): E e^(log w) = p(y | θ)/e^log_marginal, and the draws with these
        weights have the exact posterior of z given θ. They come in antithetic pairs.

        With repeats > 1 z is (n, repeats, p): as many draws that share a weight, with the same c and other groups.
        """
        nested, centre = self._nested, self._joint.quadratic.centre
        if nested is None:
            y, log_w = self._whole(n, rng)
            y = np.repeat(y[:, None], repeats, axis=1)
        else:
            y, log_w = nested.draw(n, rng, repeats)
        return centre + (y if repeats > 1 else y[:, 0]), log_w

    def _whole(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Of all latents from the Normal at once."""
        p = len(self.mean)
        white = proposed(p, p, n, rng)
        y, joint = self._mode.y + self._factor.unwhiten(white).T, self._joint
        rows = sum(cells.rows.n for cells in joint.cells)
        step = max(1, MOST_CELLS // max(rows, 1))
        values = np.concatenate([np.empty(0), *(joint.values(y[k : k + step]) for k in range(0, n, step))])
        return y, values - self._mode.value - log_proposal(np.square(white).sum(axis=0), p)
