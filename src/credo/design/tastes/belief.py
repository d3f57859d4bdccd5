"""`TasteBelief`: what is believed of how much one person likes any point of a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.design.tastes.answers import Answer, Point
from credo.design.tastes.learning import Learned
from credo.design.tastes.parts import checked_points
from credo.design.tastes.prior import rows_of
from credo.design.tastes.record import Record
from credo.errors import ParameterError
from credo.models.preference.belief import UtilityBelief
from credo.numerics.cholesky import solve_lower
from credo.numerics.threads import single_blas_thread

__all__ = ["TasteBelief"]

# Of `sure`, which is read to two digits at most: draws, over so many points.
DRAWS, POINTS = 256, 256
# Even points that stand for the space where an average over it is meant.
EVEN = 64


@dataclass(frozen=True, eq=False)
class TasteBelief:
    """What `believe_taste` makes of answers. Liking is in units of the noise of a choice, 0 on average over the
    space.

    space : the whole space; answers : one's own, oldest first; people : those of others
    record : the distinct points that answers name, one's own first; utility : the belief about them
    learned : the hyperparameters; seed : of what is drawn inside
    """

    space: Space
    answers: tuple[Answer, ...]
    people: Mapping[Any, tuple[Answer, ...]]
    record: Record
    utility: UtilityBelief
    learned: Learned
    seed: int

    @property
    def points(self) -> list[dict[str, Any]]:
        """Distinct ones that answers name."""
        return self.record.points

    @property
    def user(self) -> Any:
        """Whose it is, in `utility`; None where there is nobody else."""
        return self.record.user

    def liking(self, points: Point | Sequence[Point]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd (n,) of the liking of points of the space, less its average over the space.

        Choices tell of differences alone: without its average, what nobody can know would be most of the sd.
        ParameterError : a point that is not in the space.
        """
        return self.liking_at(self.space.encode(checked_points("TasteBelief.liking", "points", self.space, points)).X)

    def liking_at(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of encoded points (n, width)."""
        rows = rows_of(self.space, X)
        with single_blas_thread():
            k = self.utility.kernel(self.kept, rows)
            return self._weights @ (k - self._level[:, None]), np.sqrt(self._variances(rows, k))

    @cached_property
    def coordinates(self) -> np.ndarray:
        """Of `points`, encoded (n, width)."""
        return self.space.encode(self.points).X

    @cached_property
    def likings(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd (n,) of the liking of `points`."""
        return self.liking_at(self.coordinates)

    def best_of(self, points: Sequence[Point]) -> tuple[int, float, float]:
        """Number of the point liked best, its liking and the sd; of those that answers name, if there are any.

        ParameterError : no points.
        """
        if isinstance(points, Mapping) or not len(points):
            raise ParameterError("TasteBelief.best_of", "points", "a list of one or more points", points)
        at = [(i, n) for i, point in enumerate(points) if (n := self.record.number(point)) is not None]
        if not at:
            mean, sd = self.liking(points)
            best = int(np.argmax(mean))
            return best, float(mean[best]), float(sd[best])
        (mean, sd), numbers = self.likings, np.array([n for _, n in at])
        best = int(np.argmax(mean[numbers]))
        return at[best][0], float(mean[numbers[best]]), float(sd[numbers[best]])

    def draws_at(self, X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Joint draws (n, points) of the utility of encoded points, the average over the space included."""
        with single_blas_thread():
            return self.utility.draws(rows_of(self.space, X), self.user, n, rng)

    def bound_and_slopes(self, rows: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """mean + β sd (n,) of liking at rows that the kernel reads, β (n,), and its slopes (n, columns of rows)."""
        kernel, k = self.utility.kernel, self.utility.kernel(self.kept, rows)
        sd = np.sqrt(np.maximum(self._variances(rows, k), 1e-12))
        share = beta / sd
        gap = k - self._level[:, None]
        pull = self._weights[None, :] - share[:, None] * (self._explained @ gap).T
        even = np.repeat((-self._own * share / len(self._even))[:, None], len(self._even), axis=1)
        slopes = kernel.input_gradient(rows, self.kept, pull) + kernel.input_gradient(rows, self._even, even)
        return self._weights @ gap + beta * sd, slopes

    def best(self, n: int = 1) -> list[Any]:
        """The n points believed best, as `Card`s, searched over the whole space; no two alike."""
        from credo.design.tastes.propose import best_cards

        return best_cards(self, self.space, n, np.random.default_rng(self.seed))

    @cached_property
    def sure(self) -> float:
        """How sure it is that the best point believed is nearly the best there is, from 0 to 1.

        1 − E[max f − f(best)]/E₀[max f − mean f], before anything was said in the denominator; over even points of the
        space and those near the best. It says how much of what there was to gain is left.
        """
        if not self.record.numbers:  # nothing was said: draws would find a few hundredths
            return 0.0
        from credo.design.tastes.pool import pool_of

        rng = np.random.default_rng(self.seed)
        with single_blas_thread():
            X = pool_of(self, self.space, rng, even=POINTS // 2, most=POINTS)
            drawn = self.draws_at(X, DRAWS, rng)
            best = int(np.argmax(self.liking_at(X)[0]))
            left = float(np.mean(drawn.max(axis=1) - drawn[:, best]))
            before = self._prior_spread * float(np.mean(_maxima(self, X, rng)))
        return float(np.clip(1.0 - left / max(before, 1e-12), 0.0, 1.0))

    @property
    def kept(self) -> np.ndarray:
        """Rows of the points that inference is about."""
        return self.utility.rows

    @property
    def _own(self) -> float:
        """1 + ρ: the prior variance of one person's liking, in units of the shared."""
        return 1.0 + (self.utility.deviation if self.user is not None else 0.0)

    @property
    def _prior_spread(self) -> float:
        return float(np.sqrt(self._own))

    @cached_property
    def prior_sd(self) -> float:
        """The sd of liking before anything was said, of a point drawn at random."""
        kernel = self.utility.kernel
        apart = kernel.diagonal(self._even[:1])[0] - float(kernel(self._even).mean())
        return float(self._prior_spread * np.sqrt(apart))

    @cached_property
    def _even(self) -> np.ndarray:
        """Rows of points whose average is that over the space: the same for every belief about it."""
        points = self.space.design(EVEN, np.random.default_rng(0))
        return rows_of(self.space, self.space.encode(points).X)

    @cached_property
    def _level(self) -> np.ndarray:
        """k̄ (m,): covariances of the average over the space with the points inference is about."""
        return self.utility.kernel(self.kept, self._even).mean(axis=1)

    @cached_property
    def _level_variance(self) -> float:
        prior = self._own * float(self.utility.kernel(self._even).mean())
        return prior - float(self._level @ self._explained @ self._level)

    @cached_property
    def _weights(self) -> np.ndarray:
        """w: the mean is w'k(·, x)."""
        block = self.utility.block(self.user)
        alpha = self.utility.alpha[0]
        return alpha.sum(axis=0) + (self.utility.deviation * alpha[block] if block else 0.0)

    @cached_property
    def _explained(self) -> np.ndarray:
        """Q: the variance of utility is (1 + ρ) k(x, x) − k'Q k."""
        arrow = self.utility.arrow
        root = arrow.prior.root
        inside = self._own * np.eye(len(root)) - arrow.whitened(self.utility.block(self.user))
        half = solve_lower(root, inside, transpose=True)
        return solve_lower(root, half.T, transpose=True)

    def _variances(self, rows: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Of liking at rows (n, d), given k (m, n): of the utility, less twice its covariance with the average, and
        that of the average."""
        kernel = self.utility.kernel
        shared = kernel.diagonal(rows) - 2.0 * kernel(rows, self._even).mean(axis=1)
        seen = np.einsum("mn,mn->n", k - 2.0 * self._level[:, None], self._explained @ k)
        return np.maximum(self._own * shared - seen + self._level_variance, 0.0)


def _maxima(belief: TasteBelief, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Largest of draws from the prior (draws,)."""
    from credo.numerics.cholesky import cholesky

    rows = rows_of(belief.space, X)
    root = cholesky(belief.utility.kernel(rows), "the prior covariance of the likings").lower
    return (rng.standard_normal((DRAWS, len(rows))) @ root.T).max(axis=1)
