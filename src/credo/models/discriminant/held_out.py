"""The strength of the prior about covariances, by how well rows left out of the fit are told.

The evidence of the scatters (`shrinkage`) sees second moments alone: of tails heavier than a Normal's it concludes that
covariances differ, and classes are then told apart, with far too much confidence, by how far out a row lies. Where they
are Normal it is the better judge, since it does not wait for rows between the classes. So it has the word unless the
rows left out gainsay it beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import gammaln, logsumexp

from credo.blocks.reduction import reduce
from credo.blocks.source import Block, Source

__all__ = ["STRENGTHS", "LeftOut"]

# The rows the others may be worth, in steps of 2: from the least that leaves a mean, to where all classes are one.
STRENGTHS = 2.0 ** np.arange(25)
# Standard errors by which another strength must be better than the evidence's.
_SURE = 1.0
# Densities of a row in a class at once: at all strengths they stay in the second-level cache.
_AT_ONCE = 4096
# What rounding may leave of 1 − bᵀ M⁻¹ b, which is above 0.
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class LeftOut:
    """log p(y_i | x_i, the other rows) at every strength r of the prior, Ψ = r T.

    weight (k,), mean (k, d) : of the classes' rows ; m (k, d), kappa : posterior means, and κ of the prior
    spread (k, d, d) : S_c with what the prior's mean adds ; within (d, d) : T ; total : rows behind T ; log_class (k,)
    strengths (R,) : the values of r, the evidence's first

    A row x of class c leaves by updates of rank one: from T, which all classes share, with x − x̄_c; and from its own
    class's posterior with x − m_c. The prior's mean and κ stay. In coordinates in which T is I and a class's spread is
    diagonal every inner product is a sum over columns, at all r at once: O(n k d (d + R)).
    """

    weight: np.ndarray
    mean: np.ndarray
    m: np.ndarray
    kappa: float
    spread: np.ndarray
    within: np.ndarray
    total: float
    log_class: np.ndarray
    strengths: np.ndarray

    def best(self, source: Source) -> float:
        """The r of largest score, of ties the largest; the evidence's, where that is not better by a standard error of
        the paired differences."""
        axes = [scipy.linalg.eigh(own, self.within) for own in self.spread]
        gain, square = reduce(source, lambda block: self._gains(block, axes), np.add)
        i = gain.size - 1 - int(np.argmax(gain[::-1]))
        return float(self.strengths[i if gain[i] > _SURE * square[i] ** 0.5 else 0])

    def _gains(self, block: Block, axes: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """(2, R): differences of the scores from the evidence's and their squares, summed over the rows of a block."""
        scores = self.scores(block, axes)
        away = scores - scores[:, :1]
        weights = np.ones(len(away)) if block.weights is None else block.weights
        return np.stack([weights @ away, weights @ np.square(away)])

    def scores(self, block: Block, axes: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """(n, R) of the rows of a block whose y are codes, 0 of those with missing cells.

        axes : values and vectors of every spread beside T
        """
        assert block.y is not None
        whole = ~np.isnan(block.X).any(axis=1)
        out, step = np.zeros((block.n_rows, self.strengths.size)), max(1, _AT_ONCE // len(axes))
        for c in np.unique(block.y[block.y >= 0]):
            rows = np.flatnonzero(whole & (block.y == c))
            for start in range(0, rows.size, step):
                some = rows[start : start + step]
                weights = np.ones(some.size) if block.weights is None else block.weights[some]
                X = np.asarray(block.X[some], dtype=np.float64)
                once = np.minimum(weights, 1.0)[:, None]  # of a row that counts thrice two are left
                joint = np.stack([self._log_density(X, once, c, k, *own) for k, own in enumerate(axes)])
                joint += self.log_class[:, None, None]
                out[some] = joint[c] - logsumexp(joint, axis=0)
        return out

    def _log_density(
        self, X: np.ndarray, once: np.ndarray, c: int, k: int, values: np.ndarray, vectors: np.ndarray
    ) -> np.ndarray:
        """log p(x | class k, the rows but this one of class c) (n, R), up to what the classes have in common."""
        d = X.shape[1]
        rest = np.maximum(self.weight[c] - once, 0.0)
        own, s = (X - self.mean[c]) @ vectors, (X - self.m[k]) @ vectors
        inverse = 1.0 / (self.strengths + np.maximum(values, 0.0)[:, None])
        a = (
            np.where(rest > 0.0, once * self.weight[c] / np.where(rest > 0.0, rest, 1.0), 0.0)
            * self.strengths
            / self.total
        )
        left = np.maximum(1.0 - a * (np.square(own) @ inverse), _LEAST)
        square = np.square(s) @ inverse + a * np.square((own * s) @ inverse) / left
        log_det = np.log(left) - np.log(inverse).sum(axis=0)
        kappa, rows = self.kappa + self.weight[k], self.weight[k]
        if k == c:
            ratio = kappa / (kappa - once)  # as many times as far is the mean without the row
            left = np.maximum(1.0 - once * ratio * square, _LEAST)
            square = np.square(ratio) * square / left
            log_det = log_det + np.log(left)
            kappa, rows = kappa - once, rest
        df, wider = self.strengths + 2.0 + rows, 1.0 + 1.0 / kappa
        constant = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(wider)
        return constant - 0.5 * log_det - 0.5 * (df + d) * np.log1p(square / wider)
