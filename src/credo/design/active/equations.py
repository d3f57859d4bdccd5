"""What a label is worth, from probabilities and covariances: pure functions of arrays.

Axes: S points of the posterior with weights w summing to 1, n candidates, k classes, m rows that matter.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from credo.errors import ParameterError

__all__ = [
    "batch_bald",
    "class_variance_reduction",
    "far_apart",
    "greedy_information",
    "greedy_reduction",
    "margin",
    "variance_reduction",
]

# Joint outcomes of a batch that are enumerated: 12 binary labels.
LARGEST_TABLE = 4096
# Cells of a chunk of (outcomes × candidates): 16 MiB.
CHUNK_CELLS = 2**21


def margin(probabilities: np.ndarray) -> np.ndarray:
    """1 − (largest − second largest probability), (n,), in [0, 1]: 1 where two classes tie for first.

    >>> margin(np.array([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]])).round(3).tolist()
    [1.0, 0.2]
    """
    if probabilities.shape[1] < 2:
        return np.zeros(len(probabilities))
    top = np.partition(probabilities, -2, axis=1)[:, -2:]
    return 1.0 - (top[:, 1] - top[:, 0])


def variance_reduction(cross: np.ndarray, variance: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Mean fall of the variance at the rows that matter once candidate i is labelled, (n,).

        r_i = (1/m) Σ_j Cov(f_i, f_j)²/(Var f_i + noise_i)

    cross : (n, m) covariances of candidates and rows that matter; variance, noise : (n,) of f and of the label about it

    Exact for a linear-Gaussian belief, whose posterior variance does not depend on the label; in expectation where the
    noise variance is unknown. Reference: Cohn, Ghahramani and Jordan (1996), Active learning with statistical models.
    """
    total = variance + noise
    return np.where(total > 0.0, np.square(cross).mean(axis=1) / np.where(total > 0.0, total, 1.0), 0.0)


def class_variance_reduction(probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same for classes: expected fall of Σ_c Var p_c, averaged over the rows, once row i is labelled, (n,).

        r_i = (1/n) Σ_j Σ_c Σ_k Cov(p_ik, p_jc)²/E p_ik

    For by total variance what a label removes is the variance of E[p_jc | y_i], and E[p_jc | y_i = k] is
    E[p_ik p_jc]/E p_ik. probabilities : (S, n, k) given each point of the posterior, weights (S,). Cost S (n k)².
    """
    mean = np.tensordot(weights, probabilities, axes=1)
    root = np.sqrt(weights)[:, None, None] * (probabilities - mean)
    points, n, k = root.shape
    flat, step = root.reshape(points, -1), max(1, CHUNK_CELLS // (n * k * k))
    fall = np.empty((n, k))
    for a in range(0, n, step):
        cross = root[:, a : a + step].reshape(points, -1).T @ flat
        fall[a : a + step] = np.square(cross).sum(axis=1).reshape(-1, k) / n
    return np.divide(fall, mean, out=np.zeros_like(fall), where=mean > 0.0).sum(axis=1)


def greedy_reduction(covariance: np.ndarray, noise: np.ndarray, candidates: np.ndarray, n: int) -> list[int]:
    """n of `candidates`, each of the largest `variance_reduction` given those before it; covariance (m, m) of all rows.

    Each label downdates the covariance by one rank: cost n m².
    """
    covariance, chosen = covariance.copy(), []
    for _ in range(n):
        gain = variance_reduction(covariance[candidates], np.diag(covariance)[candidates], noise[candidates])
        gain[np.isin(candidates, chosen)] = -np.inf
        chosen.append(int(candidates[np.argmax(gain)]))
        _condition(covariance, noise, chosen[-1])
    return chosen


def greedy_information(covariance: np.ndarray, noise: np.ndarray, n: int) -> list[int]:
    """n rows, each adding the most to I(y; f) = ½ log det(1 + noise⁻¹ covariance) of the batch, (n, n) of Normal f.

    Within 1 − 1/e of the best batch, as the information is submodular. Cost n m².

    >>> greedy_information(np.array([[2.0, 1.9, 0.0], [1.9, 2.0, 0.0], [0.0, 0.0, 1.0]]), np.full(3, 0.1), 2)
    [0, 2]

    Reference: Krause, Singh and Guestrin (2008), Near-optimal sensor placements in Gaussian processes, JMLR 9.
    """
    covariance, chosen = covariance.copy(), []
    for _ in range(n):
        gain = np.diag(covariance) / noise
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        _condition(covariance, noise, chosen[-1])
    return chosen


def _condition(covariance: np.ndarray, noise: np.ndarray, i: int) -> None:
    """The covariance given a label of row i, in place."""
    column = covariance[:, i].copy()
    total = column[i] + noise[i]
    if total > 0.0:
        covariance -= np.outer(column, column / total)


def batch_bald(probabilities: np.ndarray, weights: np.ndarray, n: int) -> list[int]:
    """n rows, each adding the most to I(y_1…y_n; θ), the mutual information of all their labels together.

        I = H(y_1…y_n) − Σ_i E H(y_i | θ)

    probabilities : (S, n, k) given each point of the posterior. The joint entropy is enumerated: kⁿ ≤ 4096, else a
    `ParameterError`. Cost kⁿ S times the pool.

    Reference: Kirsch, van Amersfoort and Gal (2019), BatchBALD.
    """
    points, _, k = probabilities.shape
    if k**n > LARGEST_TABLE:
        raise ParameterError(
            "select", "n", f"small enough that {k}ⁿ ≤ {LARGEST_TABLE}", n, "Use diversity='kmeans', or a smaller batch."
        )
    given = np.einsum("s,sn->n", weights, entr(probabilities).sum(axis=2))
    joint, chosen = weights[None, :], []  # (outcomes so far, S): p(outcomes | θ_s) w_s
    for _ in range(n):
        gain = _joint_entropy(joint, probabilities) - given
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        joint = (joint[:, None, :] * probabilities[:, chosen[-1]].T[None]).reshape(-1, points)
    return chosen


def _joint_entropy(joint: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """H(outcomes so far, y_i) of every candidate, (n,)."""
    points, size, k = probabilities.shape
    step = max(1, CHUNK_CELLS // (len(joint) * k))
    parts = []
    for a in range(0, size, step):
        table = joint @ probabilities[:, a : a + step].reshape(points, -1)
        parts.append(entr(table).reshape(len(joint), -1, k).sum(axis=(0, 2)))
    return np.concatenate(parts)


def far_apart(embedding: np.ndarray, score: np.ndarray, n: int, rng: np.random.Generator) -> list[int]:
    """n rows as k-means++ seeds them: the best score first, then with probability ∝ score × distance² to those chosen.

    embedding : (n, d) of a candidate's belief. Rows that believe alike are taken once. Cost n d a pick.

    Reference: Ash et al. (2020), Deep batch active learning by diverse, uncertain gradient lower bounds.
    """
    score = np.maximum(score, 0.0)
    chosen = [int(np.argmax(score))]
    distance = np.full(len(score), np.inf)
    while len(chosen) < n:
        distance = np.minimum(distance, np.square(embedding - embedding[chosen[-1]]).sum(axis=1))
        p = score * distance
        p[chosen] = 0.0
        if p.sum() > 0.0:
            chosen.append(int(rng.choice(len(p), p=p / p.sum())))
        else:  # nothing left that differs: any other row
            chosen.append(int(rng.choice(np.setdiff1d(np.arange(len(p)), chosen))))
    return chosen
