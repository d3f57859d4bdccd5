"""Statistics of Normal classes whose rows miss some cells: EM over the cells, the labels being known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from credo.blocks.source import Block, Source
from credo.inference.em import EMFit, EMModel, em
from credo.models.discriminant.family import DiscriminantBelief, DiscriminantFamily
from credo.models.discriminant.statistics import ClassScatter
from credo.models.generative.memberships import Memberships
from credo.models.naive_bayes.gaussian_family import GaussianFamily

__all__ = ["complete", "expected_cells"]


@dataclass(frozen=True, eq=False)
class _MissingCells(EMModel):
    """Parameters: a belief's means and covariances, at maximum likelihood. The objective is Σ log p(observed cells)."""

    family: DiscriminantFamily
    n_classes: int

    def accumulate(self, block: Block, params: DiscriminantBelief) -> tuple[np.ndarray, ClassScatter, float]:
        codes = block.y
        assert codes is not None
        X = np.array(block.X, dtype=np.float64)
        weights = np.ones(len(X)) if block.weights is None else block.weights
        value = np.take_along_axis(params.log_plug(X), codes[:, None], axis=1)[:, 0]
        spread = np.zeros((self.n_classes, X.shape[1], X.shape[1]))
        patterns, which = np.unique(np.isnan(X), axis=0, return_inverse=True)
        for i, missing in enumerate(patterns):
            for c in range(self.n_classes) if missing.any() else ():
                rows = np.flatnonzero((which.ravel() == i) & (codes == c))
                if rows.size:
                    X[np.ix_(rows, missing)], left = _given(X[rows], missing, params, c)
                    spread[c][np.ix_(missing, missing)] += weights[rows].sum() * left
        members = Memberships(self.n_classes, codes, block.weights)
        own = ClassScatter.accumulate(X, members, full=True)
        return members.class_weight(), ClassScatter(own.rows, own.weight, own.mean, own.scatter + spread), float(
            weights @ value
        )  # fmt: skip

    def finalize(self, statistics: Any) -> DiscriminantBelief:
        return self.family.finalize(statistics[1], statistics[0])

    def bound(self, statistics: Any, params: Any) -> float:
        return statistics[-1]


def _given(X: np.ndarray, missing: np.ndarray, params: DiscriminantBelief, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean (rows, missing) and covariance of the missing cells given the observed ones, in class c."""
    sigma = params.covariance[c if len(params.covariance) > 1 else 0]
    mean, seen = params.mean[c], ~missing
    cross = sigma[np.ix_(missing, seen)]
    if not seen.any():
        return np.repeat(mean[missing][None], len(X), axis=0), sigma[np.ix_(missing, missing)]
    factor = cho_factor(sigma[np.ix_(seen, seen)], lower=True)
    slope = cho_solve(factor, cross.T).T
    return mean[missing] + (X[:, seen] - mean[seen]) @ slope.T, sigma[np.ix_(missing, missing)] - slope @ cross.T


def complete(source: Source, family: DiscriminantFamily, n_classes: int, start: Any) -> EMFit:
    """EM from independent columns, `start` being their `ClassMoments`; its statistics are those of completed rows.

    tol 1e-9 of the objective, 1,000 passes: covariances then move by less than 1e-4 of themselves.
    """
    diagonal = GaussianFamily(1e-6).finalize(start, start.weight.max(axis=1))
    variance = diagonal.variance if not family.shared else diagonal.variance.mean(axis=0)[None]
    belief = DiscriminantBelief(
        diagonal.mean, np.stack([np.diag(v) for v in variance]), diagonal.mean, np.empty(0), np.empty(0), np.empty(0)
    )
    plain = DiscriminantFamily(family.shared)
    return em(_MissingCells(plain, n_classes), source, belief, tol=1e-9, max_iter=1000)


def expected_cells(cells: np.ndarray, probability: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Rows (n, d) with every missing cell at its expectation given the observed ones, over the classes too."""
    belief = DiscriminantBelief(mean, covariance, mean, np.empty(0), np.empty(0), np.empty(0))
    X = np.array(cells, dtype=np.float64)
    patterns, which = np.unique(np.isnan(X), axis=0, return_inverse=True)
    for i, missing in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == i)
        if missing.any():
            each = [_given(X[rows], missing, belief, c)[0] for c in range(len(mean))]
            X[np.ix_(rows, missing)] = np.einsum("nc,cnj->nj", probability[rows], np.stack(each))
    return X
