"""`importance`: how much of an objective's variance over a space is due to each parameter, and to pairs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from credo.design.importance.boxes import Boxes, Measure
from credo.design.importance.equations import Shared, decompose
from credo.design.importance.forest import Forest, grow
from credo.design.importance.process import grow_on_draws
from credo.design.spaces import Space
from credo.design.surrogates.outcomes import Outcomes
from credo.errors import DataError, ParameterError, UnavailableError
from credo.numerics.random import as_generator
from credo.numerics.readable import count

__all__ = ["Importance", "Pair", "importance"]

METHODS = ("auto", "forest", "process")
TREES = 64
# Fewer trials say nothing of several parameters.
FEWEST = 8
# Values further outside this share of them than so many of its widths are far.
MIDDLE, FAR = 0.6, 2.0
# A forest that explains more than this is not doubted, nor where a process would take long.
GOOD, MOST_BY_PROCESS = 0.98, 1000
# Pairs are looked at between so many parameters, those that matter most.
MOST_PAIRED = 12


@dataclass(frozen=True)
class Pair:
    """What two parameters do together, beyond what each does alone: share of the variance, and sd between trees."""

    names: tuple[str, str]
    share: float
    sd: float


@dataclass(frozen=True)
class Importance:
    """Shares of the variance of an objective over a space.

    names : parameters, largest total first
    share, sd (p,) : of each alone, and its sd between trees ; total, total_sd (p,) : of all it takes part in
    pairs : beyond what both do alone, largest first
    explained : of the variance of trials, by what was made without them; the rest is noise, or what more trials would
        teach. Below 0.3 the shares are hardly more than guesses
    n_trials, n_trees : how many there were ; method : "forest" or "process", what the trees were grown on
    """

    names: tuple[str, ...]
    share: np.ndarray
    sd: np.ndarray
    total: np.ndarray
    total_sd: np.ndarray
    pairs: tuple[Pair, ...]
    explained: float
    n_trials: int
    n_trees: int
    method: str = "forest"

    def to_json(self) -> dict[str, Any]:
        """As JSON data."""
        columns = zip(self.names, self.share, self.sd, self.total, self.total_sd, strict=True)
        rows = [dict(zip(("name", "share", "sd", "total", "total_sd"), (n, *map(float, r)))) for n, *r in columns]
        pairs = [asdict(pair) | {"names": list(pair.names)} for pair in self.pairs]
        counts = {"trials": self.n_trials, "trees": self.n_trees}
        return {"parameters": rows, "pairs": pairs, "explained": self.explained, "method": self.method, **counts}


def importance(
    space: Space,
    points: Sequence[Mapping[str, Any]],
    values: Any,
    rng: np.random.Generator,
    *,
    tame: bool = False,
    method: str = "auto",
    n_trees: int = TREES,
) -> Importance:
    """Share out the variance of an objective over a space among the parameters (functional ANOVA).

    f(x) = f₀ + Σ_j f_j(x_j) + Σ_{i<j} f_ij(x_i, x_j) + …, with parts of mean 0 that are uncorrelated when parameters
    are drawn independently, each uniform in its own measure: Var f = Σ_j Var f_j + Σ Var f_ij + …. The objective is
    what regression trees agree on, each grown on a resample of the trials, or on a function drawn from a Gaussian
    process given the trials: a part's variance is the covariance of that part in one tree and in the next, computed
    exactly from their leaves; what is peculiar to a tree is left out.

    Parameters
    ----------
    space, points, values (n,) : what was tried, and what came of it; without failed trials
    rng : of the resamples
    tame : whether a few far values, which would own the variance, are pulled in: those further outside the middle
        60 % than twice its width count as if they were just that far
    method : "forest", "process", or "auto": of the two the one that foretells trials better; of more than 1,000
        trials, and where a forest foretells nearly all, a forest
    n_trees : how many trees

    An inactive parameter does not matter where it is inactive; what it does elsewhere is its share, and with what
    switches it on, a pair's. The space's constraints are not heeded: the shares are of the whole box.

    Raises
    ------
    ParameterError : a point outside the space, no such method.
    DataError : values that are not finite, or not one a point.
    UnavailableError : fewer than 8 trials, values that are all the same, no parameter that can vary.

    Cost: `n_trees` trees of at most 200 leaves, and 200² (3 p + 72) operations each; for a process its fit, and 1024³.

    Hutter, Hoos & Leyton-Brown (2014), An efficient approach for assessing hyperparameter importance, ICML.

    >>> import credo as cr
    >>> space = cr.Space(x=cr.Real(0, 1), y=cr.Real(0, 1), c=cr.Categorical(["a", "b"]))
    >>> points = space.design(128, np.random.default_rng(0))
    >>> found = importance(space, points, [3 * p["x"] + p["y"] for p in points], np.random.default_rng(1))
    >>> found.names[:2], found.share[:2].round(1).tolist()    # 9/10 and 1/10
    (('x', 'y'), [0.9, 0.1])
    """
    X, active, y = _checked(space, points, values)
    measures = Measure.of(space)
    if not measures:
        raise UnavailableError("importance: the space has no parameter that can vary.")
    if method not in METHODS:
        raise ParameterError("importance", "method", f"one of {', '.join(METHODS)}", method)
    forest, by = _grown(space, measures, (X, active, y), tame, method, n_trees, as_generator(rng))
    trees = [Boxes.of(tree, measures) for tree in forest.trees]
    neighbours = [(tree, trees[(t + 1) % len(trees)]) for t, tree in enumerate(trees)]
    every = range(len(measures)) if len(measures) <= MOST_PAIRED else ()  # of more, those that matter, in a second pass
    first = _decomposed(neighbours, measures, every)
    variance = float(np.mean([each.variance for each in first]))
    if variance <= 0.0:
        raise UnavailableError(f"importance: nothing in {len(y)} trials foretells the value of another.")
    total, total_sd = _shares([each.total for each in first], variance)
    main, sd = _shares([each.main for each in first], variance)
    order = np.argsort(-total, kind="stable")
    names = [measure.name for measure in measures]
    paired = order[:MOST_PAIRED].tolist()
    parts = first if every else _decomposed(neighbours, measures, paired)
    pairs = _pairs([each.pairs for each in parts], names, paired, variance)
    return Importance(
        tuple(names[j] for j in order), main[order], sd[order], total[order], total_sd[order], pairs,
        forest.explained, len(y), len(trees), by,
    )  # fmt: skip


def _grown(
    space: Space, measures: list[Measure], data: tuple[np.ndarray, np.ndarray, np.ndarray], tame: bool, method: str,
    n_trees: int, rng: np.random.Generator,
) -> tuple[Forest, str]:  # fmt: skip
    """Trees, and what they were grown on."""
    X, active, y = data
    low, high = _ends(y) if tame else (-np.inf, np.inf)
    outcomes = Outcomes.of(np.clip(y, low, high), warp=False)
    limits = (float(outcomes.inside(np.array(low))), float(outcomes.inside(np.array(high))))
    z = np.clip(outcomes.inside(y), *limits)
    forest = grow(X, active, z, n_trees, rng)
    if method == "forest" or (method == "auto" and (forest.explained > GOOD or len(y) > MOST_BY_PROCESS)):
        return forest, "forest"
    drawn = grow_on_draws(space, measures, X, z, limits, n_trees, rng)
    return (drawn, "process") if method == "process" or drawn.explained > forest.explained else (forest, "forest")


def _ends(y: np.ndarray) -> tuple[float, float]:
    """Between which values are not far."""
    low, high = np.quantile(y, [0.5 * (1.0 - MIDDLE), 0.5 * (1.0 + MIDDLE)])
    room = FAR * (high - low) if high > low else np.inf
    return float(low - room), float(high + room)


def _checked(
    space: Space, points: Sequence[Mapping[str, Any]], values: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y = np.asarray(values, dtype=np.float64)
    if y.shape != (len(points),) or not np.all(np.isfinite(y)):
        raise DataError("importance: values must be finite, one a point.", value=y)
    if len(y) < FEWEST:
        raise UnavailableError(f"importance: {count(len(y), 'trial')} with a value; fewer than {FEWEST} say nothing.")
    if np.ptp(y) <= 0.0:
        raise UnavailableError(f"importance: all {len(y)} values are {y[0]:g}, so nothing explains their variance.")
    X, active = space.encode([space.check(point) for point in points])
    return X, active, y


def _shares(parts: list[np.ndarray], variance: float) -> tuple[np.ndarray, np.ndarray]:
    """Means and sds over pairs of trees. Covariances of noise may fall below 0, which no share is."""
    shares = np.array(parts) / variance
    return np.clip(shares.mean(axis=0), 0.0, 1.0), shares.std(axis=0)


def _decomposed(neighbours: list[tuple[Boxes, Boxes]], measures: list[Measure], paired: Sequence[int]) -> list[Shared]:
    return [decompose(a.weighted, b.weighted, a.ratios(b, measures), paired) for a, b in neighbours]


def _pairs(found: list[np.ndarray], names: list[str], paired: list[int], variance: float) -> tuple[Pair, ...]:
    share, sd = _shares(found, variance)
    at = [(min(i, j), max(i, j)) for n, i in enumerate(paired) for j in paired[n + 1 :]]
    listed = [Pair((names[i], names[j]), float(share[i, j]), float(sd[i, j])) for i, j in at]
    return tuple(sorted(listed, key=lambda pair: -pair.share))
