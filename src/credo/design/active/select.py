"""Which rows of a pool to label next, and whether to label any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.design.active import equations
from credo.design.active.beliefs import (
    LARGEST_JOINT,
    class_draws,
    has_draws,
    has_joint,
    is_class,
    joint_covariance,
    laws,
    n_rows,
    predictive_of,
    some_rows,
)
from credo.errors import DataError, ParameterError, UnavailableError
from credo.numerics.random import as_generator
from credo.prediction.predictive import Predictive

__all__ = ["Remaining", "remaining", "scores", "select"]

OWNER = "select"


def _entropy(p: Any) -> np.ndarray:
    return _classes(p, "entropy").entropy


def _margin(p: Any) -> np.ndarray:
    return equations.margin(_classes(p, "margin").probabilities)


def _bald(p: Any) -> np.ndarray:
    """I(y; θ): the epistemic part of a class's entropy; of a Normal y about a Normal f, ½ log(1 + epistemic/noise)."""
    if is_class(p):
        return p.epistemic
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 0.5 * np.log1p(p.epistemic / p.aleatoric)
    return np.where(np.isnan(gain), 0.0, gain)


SCORES: dict[str, Callable[[Any], np.ndarray]] = {"entropy": _entropy, "margin": _margin, "bald": _bald}
BY = (*SCORES, "variance", "reduction")


def scores(model: Any, X: Any, by: Any = "bald") -> np.ndarray:
    """How much a label of each row would tell, (n,), the more the higher.

    Parameters
    ----------
    model : fitted, with `predict_distribution`
    by : - "bald": mutual information of label and parameters, in nats: the epistemic part only
         - "variance": epistemic variance; of classes Σ_c Var p_c
         - "entropy", "margin": total uncertainty of a class, noise included; margin in [0, 1]
         - "reduction": mean fall of the variance over all rows of X, by closed-form look-ahead
         - a function of (model, X)

    >>> import credo as cr
    >>> X = np.array([[-1.0], [0.0], [1.0], [2.0]])
    >>> model = cr.LinearRegression().fit(X, [0.1, 0.9, 2.1, 3.0])
    >>> int(np.argmax(scores(model, [[0.0], [0.5], [9.0]])))
    2

    References
    ----------
    Houlsby et al. (2011), Bayesian active learning for classification; Settles (2012), Active Learning.
    """
    if callable(by):
        found = np.asarray(by(model, X), dtype=np.float64)
        if found.shape != (n_rows(X),) or np.any(np.isnan(found)):
            raise ParameterError(OWNER, "by", f"a function that gives {n_rows(X)} numbers", found)
        return found
    if not isinstance(by, str) or by not in BY:
        raise ParameterError(OWNER, "by", f"a function or one of {list(BY)}; for select, or 'random'", by)
    predictive = predictive_of(model, X)
    if by in SCORES:
        return SCORES[by](predictive)
    if is_class(predictive):
        return _by_classes(model, X, by)
    if by == "variance":
        return predictive.epistemic
    covariance, noise = _gaussian(model, X, predictive)
    return equations.variance_reduction(covariance, np.diag(covariance), noise)


def _by_classes(model: Any, X: Any, by: str) -> np.ndarray:
    probabilities, weights = class_draws(model, X)
    if by == "variance":
        return np.einsum("s,snk->n", weights, np.square(probabilities - np.tensordot(weights, probabilities, axes=1)))
    if n_rows(X) > LARGEST_JOINT:
        remedy = "Take a random part of the pool, or by='variance'."
        raise ParameterError(OWNER, "pool", f"at most {LARGEST_JOINT} rows with by='reduction'", n_rows(X), remedy)
    return equations.class_variance_reduction(probabilities, weights)


def select(
    model: Any, pool: Any, n: int = 1, by: Any = "bald", rng: Any = None, *, diversity: str | None = "auto"
) -> np.ndarray:
    """Indices (n,) of the rows of `pool` to label next, best first.

    Parameters
    ----------
    model : fitted, with `predict_distribution`, or what `Model.fit` returns; batches by "joint" and "kmeans" need its
        `law_draws`
    pool : (N, P) rows without labels, or what else the model predicts at: a table; a mapping of columns, or of data
        nodes to values
    by : as for `scores`, or "random"
    rng : seed, Generator or None; for ties, "random" and "kmeans"
    diversity : how a batch avoids asking the same thing n times
        - "joint": the rows whose labels *together* tell the most: BatchBALD for classes (kⁿ ≤ 4096), greedy log-det for
          "bald" and "variance", repeated look-ahead for "reduction" of numbers
        - "kmeans": k-means++ seeding in the space of beliefs, weighted by the score
        - None: the n best scores
        - "auto": "joint" where it is defined, else "kmeans" where the model has draws, else None

    Raises
    ------
    ParameterError : n beyond the pool; a score that does not suit the model.

    Examples
    --------
    >>> import credo as cr
    >>> X = np.array([[-1.0], [0.0], [1.0], [2.0]])
    >>> model = cr.LinearRegression().fit(X, [0.1, 0.9, 2.1, 3.0])
    >>> select(model, np.array([[0.0], [9.0], [9.1], [-8.0]]), n=2, by="reduction").tolist()    # one at each end
    [2, 3]
    """
    rng = as_generator(rng)
    size = n_rows(pool)
    if size == 0:
        raise DataError("select: the pool has no rows.", value=pool)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= size:
        raise ParameterError(OWNER, "n", f"an integer from 1 to the {size} rows of the pool", n)
    if diversity not in ("auto", "joint", "kmeans", None):
        raise ParameterError(OWNER, "diversity", "'auto', 'joint', 'kmeans' or None", diversity)
    if isinstance(by, str) and by == "random":
        return rng.permutation(size)[:n]
    if n == 1 or diversity is None:
        return _top(scores(model, pool, by), int(n), rng)
    kind = _kind(model, pool, int(n), by) if diversity == "auto" else diversity
    if kind == "joint":
        return np.array(_joint(model, pool, int(n), by), dtype=np.intp)
    score = scores(model, pool, by)
    if kind is None:
        return _top(score, int(n), rng)
    return np.array(equations.far_apart(_embedding(model, pool), score, int(n), rng), dtype=np.intp)


def _top(score: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """The n largest, ties in random order: the order of a pool often means something."""
    shuffled = rng.permutation(len(score))
    return shuffled[np.argsort(-score[shuffled], kind="stable")[:n]]


def _kind(model: Any, pool: Any, n: int, by: Any) -> str | None:
    """The batch rule that "auto" stands for."""
    predictive: Any = predictive_of(model, some_rows(pool, 1))
    if by == "bald" and is_class(predictive) and has_draws(model, pool):
        return "joint" if len(predictive.classes) ** n <= equations.LARGEST_TABLE else "kmeans"
    if by in ("bald", "variance", "reduction") and not is_class(predictive) and has_joint(model, pool):
        return "joint"
    return "kmeans" if has_draws(model, pool) else None


def _joint(model: Any, pool: Any, n: int, by: Any) -> list[int]:
    if by not in ("bald", "variance", "reduction"):
        raise ParameterError(OWNER, "diversity", f"'kmeans' or None with by={by!r}", "joint")
    predictive = predictive_of(model, pool)
    if is_class(predictive):
        if by != "bald":
            raise ParameterError(OWNER, "diversity", f"'kmeans' or None with by={by!r} of classes", "joint")
        return equations.batch_bald(*class_draws(model, pool), n)
    covariance, noise = _gaussian(model, pool, predictive)
    if by == "reduction":
        return equations.greedy_reduction(covariance, noise, np.arange(len(noise)), n)
    # A noise-free row tells without end: the floor orders such rows by what is left unknown.
    floor = np.finfo(float).eps * max(float(np.diag(covariance).max()), np.finfo(float).tiny)
    return equations.greedy_information(covariance, np.maximum(noise, floor), n)


def _gaussian(model: Any, X: Any, predictive: Predictive) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of f (n, n) and noise variance (n,)."""
    noise = np.asarray(predictive.aleatoric, dtype=np.float64)
    covariance = joint_covariance(model, X)
    if not (np.all(np.isfinite(noise)) and np.all(np.isfinite(covariance))):
        raise UnavailableError(
            "select: the variances of this belief are infinite (too few rows for its noise).",
            remedy="Label a few rows more, give the noise a prior, or use by='random' first.",
        )
    return covariance, noise


def _embedding(model: Any, X: Any) -> np.ndarray:
    """(n, d): what each row's expected outcome is at the points of the posterior, about its mean."""
    found = laws(model, X)
    means = np.asarray(found.means())
    about = means - np.tensordot(found.weights, means, axes=1)
    about = about * np.sqrt(found.weights).reshape(-1, *([1] * (about.ndim - 1)))
    return np.moveaxis(about, 1, 0).reshape(about.shape[1], -1)


def _classes(p: Predictive, by: str) -> Any:
    if not is_class(p):
        raise ParameterError(OWNER, "by", "'bald', 'variance' or 'reduction' for numbers", by)
    return p


@dataclass(frozen=True)
class Remaining:
    """What more labels could still remove, averaged over a pool.

    stop : share < tolerance
    epistemic : mean mutual information in nats (classes), or mean epistemic variance (numbers)
    total : mean entropy, or mean variance; share : epistemic/total
    """

    stop: bool
    epistemic: float
    total: float
    share: float


def remaining(model: Any, X: Any, tolerance: float = 0.05) -> Remaining:
    """Whether labelling may stop: the epistemic share of the uncertainty over the rows X is below `tolerance`.

    What is left is then noise that no label removes, *under this model*: a model too simple is content too soon.

    >>> import credo as cr
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> model = cr.LinearRegression().fit(X, X[:, 0] + np.random.default_rng(0).normal(size=200))
    >>> remaining(model, X).stop
    True
    """
    if not 0.0 < tolerance < 1.0:
        raise ParameterError("remaining", "tolerance", "between 0 and 1 (exclusive)", tolerance)
    p = predictive_of(model, X)
    total = float(np.mean(p.entropy if is_class(p) else p.variance))  # type: ignore[attr-defined]
    epistemic = float(np.mean(p.epistemic))
    share = (epistemic / total if total > 0.0 else 0.0) if np.isfinite(total) else 1.0
    return Remaining(share < tolerance, epistemic, total, share)
