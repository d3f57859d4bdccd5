"""Have the chains converged, and how precise are they: R̂, ESS, MCSE, HDI, BFMI, and one verdict.

Arrays are (chains, draws, *shape); results have `shape`. The estimators are those of Vehtari, Gelman, Simpson,
Carpenter and Bürkner (2021), Bayesian Analysis 16; a quantity that never varies has R̂ = NaN and ESS = NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.diagnostics.chains import autocovariance, effective_size, rank_normal, scale_reduction, split
from credo.errors import DataError, ParameterError

__all__ = [
    "rhat",
    "ess",
    "mcse",
    "hdi",
    "autocorrelation",
    "bfmi",
    "Convergence",
    "check_convergence",
    "RHAT_LIMIT",
    "ESS_LIMIT",
    "BFMI_LIMIT",
]

#: R̂ ≥ 1.01 or fewer than 400 effective draws: not certified (Vehtari et al. 2021, §4.1 and §4.2)
RHAT_LIMIT, ESS_LIMIT = 1.01, 400
#: below 0.3 the momentum draws explore the energy too slowly (Betancourt 2016, arXiv:1604.00695)
BFMI_LIMIT = 0.3


def _checked(x: Any) -> np.ndarray:
    """(chains, draws, *shape) as finite float64, chains and draws last, as arviz-stats wants them."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim < 2:
        raise DataError(f"Draws must have shape (chains, draws, *shape), got {x.shape}.", value=x.shape)
    if x.shape[1] < 4:
        raise DataError(f"Convergence diagnostics need at least 4 draws a chain, got {x.shape[1]}.", value=x.shape[1])
    if not np.all(np.isfinite(x)):
        raise DataError("Draws hold NaN or infinite values.", value=x)
    return np.moveaxis(x, (0, 1), (-2, -1))


def _varying(result: Any, x: np.ndarray) -> np.ndarray:
    """The result where the draws vary, NaN elsewhere: a constant has no R̂ and no effective size."""
    return np.where(np.ptp(x, axis=(-2, -1)) > 0, result, np.nan)


def rhat(x: Any, method: str = "rank") -> np.ndarray:
    """Potential scale reduction: how much wider all chains together are than each alone; 1 at convergence.

    `method` "rank" is the larger of the rank-normalised split R̂ and its folded form, which sees differences of scale;
    "split" and "identity" are the classic forms with and without splitting chains in halves. One chain is compared with
    itself by halves. Cost O(N log N).

    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(rhat(x) < 1.01), bool(rhat(x + np.arange(4)[:, None]) > 1.5)
    (True, True)
    """
    if method not in ("rank", "split", "folded", "identity"):
        raise ParameterError("rhat", "method", '"rank", "split", "folded" or "identity"', method)
    y = _checked(x)
    if y.shape[-2] == 1:
        y = split(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _varying(_RHAT[method](y), y)


def _folded(y: np.ndarray) -> np.ndarray:
    return np.abs(y - np.median(y, axis=(-2, -1), keepdims=True))


_RHAT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": scale_reduction,
    "split": lambda y: scale_reduction(split(y)),
    "folded": lambda y: scale_reduction(rank_normal(_folded(split(y)))),
    "rank": lambda y: np.maximum(scale_reduction(rank_normal(split(y))), _RHAT["folded"](y)),
}


def ess(x: Any, method: str = "bulk", prob: float | None = None) -> np.ndarray:
    """Effective sample size: how many independent draws would be as precise about the `method` statistic.

    "bulk" (the location, rank-normalised), "tail" (the worse of the 5 % and 95 % quantiles), "mean", "sd", "median", or
    "quantile" with `prob`; "identity" does not split chains. Draws that repel each other can count for more than N.

    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(1600 < ess(x) < 2400)
    True
    """
    if method not in ("bulk", "tail", "mean", "sd", "median", "quantile", "identity"):
        raise ParameterError(
            "ess", "method", '"bulk", "tail", "mean", "sd", "median", "quantile" or "identity"', method
        )
    if (method == "quantile" and prob is None) or not (prob is None or 0.0 < prob < 1.0):
        raise ParameterError("ess", "prob", "between 0 and 1 (exclusive)", prob)
    y = _checked(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _varying(_effective(y, method, prob), y)


def _effective(y: np.ndarray, method: str, prob: float | None) -> np.ndarray:
    if method == "identity":
        return effective_size(y)
    if method == "tail":
        low = 0.05 if prob is None else prob
        return np.minimum(_effective(y, "quantile", low), _effective(y, "quantile", 1.0 - low))
    if method in ("quantile", "median"):
        at = 0.5 if prob is None else prob
        return effective_size(split((y <= np.quantile(y, at, axis=(-2, -1), keepdims=True)).astype(np.float64)))
    if method == "sd":
        y = np.square(y - y.mean(axis=(-2, -1), keepdims=True))
    return effective_size(rank_normal(split(y)) if method == "bulk" else split(y))


def mcse(x: Any, method: str = "mean", prob: float | None = None) -> np.ndarray:
    """Monte Carlo standard error of the "mean", "sd", "median" or the "quantile" at `prob`, in the draws' units.

    >>> x = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(0.015 < mcse(x) < 0.03)
    True
    """
    if method not in ("mean", "sd", "median", "quantile"):
        raise ParameterError("mcse", "method", '"mean", "sd", "median" or "quantile"', method)
    y = _checked(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        if method == "mean":
            result = y.std(axis=(-2, -1), ddof=1) / np.sqrt(_effective(y, "mean", None))
        elif method == "sd":
            result = _mcse_sd(y)
        else:
            from arviz_stats.base.array import array_stats

            result = array_stats.mcse(y, method=method, prob=prob)
    return np.where(np.ptp(y, axis=(-2, -1)) > 0, result, 0.0)


def _mcse_sd(y: np.ndarray) -> np.ndarray:
    """Delta method: Var(s) ≈ Var((x − x̄)²)/(4 s² ESS), the ESS that of the squares.

    arviz-stats 0.8 takes the ESS of x itself, which is far too large when draws repel each other, as those of NUTS do.
    """
    squares = np.square(y - y.mean(axis=(-2, -1), keepdims=True))
    variance = squares.mean(axis=(-2, -1))
    spread = np.square(squares).mean(axis=(-2, -1)) - np.square(variance)
    return np.sqrt(spread / (4.0 * variance * _effective(squares, "mean", None)))


def hdi(x: Any, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    """The shortest interval holding `mass` of the draws: (lower, upper).

    >>> low, high = hdi(np.random.default_rng(0).exponential(size=(4, 2000)), 0.9)
    >>> bool(low < 0.01), bool(2.1 < high < 2.5)
    (True, True)
    """
    if not 0.0 < mass < 1.0:
        raise ParameterError("hdi", "mass", "between 0 and 1 (exclusive)", mass)
    y = _checked(x)
    y = np.sort(y.reshape(*y.shape[:-2], -1), axis=-1)
    width = int(mass * y.shape[-1])
    first = np.argmin(y[..., width:] - y[..., : y.shape[-1] - width], axis=-1)[..., None]
    return np.take_along_axis(y, first, -1)[..., 0], np.take_along_axis(y, first + width, -1)[..., 0]


def autocorrelation(x: Any, max_lag: int | None = None) -> np.ndarray:
    """Autocorrelation of each chain at lags 0..max_lag: (chains, lags, *shape), by FFT in O(N log N).

    >>> autocorrelation(np.tile([1.0, -1.0], 50)[None], max_lag=1).round(2).tolist()
    [[1.0, -0.99]]
    """
    y = _checked(x)
    lags = y.shape[-1] if max_lag is None else min(max_lag + 1, y.shape[-1])
    covariance = autocovariance(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.moveaxis(covariance[..., :lags] / covariance[..., :1], (-2, -1), (0, 1))


def bfmi(energy: Any) -> np.ndarray:
    """Bayesian fraction of missing information of each chain, E (ΔE)²/Var E, from energies (chains, draws)."""
    y = _checked(energy)
    with np.errstate(invalid="ignore"):  # a constant energy has none: NaN
        return np.square(np.diff(y, axis=-1)).sum(axis=-1) / np.square(y - y.mean(axis=-1, keepdims=True)).sum(axis=-1)


@dataclass(frozen=True)
class Convergence:
    """The verdict on a set of chains.

    `rhat`, `ess_bulk`, `ess_tail` are the worst over all quantities, `worst` names the quantity of the largest R̂;
    `divergences` counts, `bfmi` is the lowest (NaN where there is no energy). `advice` is empty when `ok`.
    """

    rhat: float
    ess_bulk: float
    ess_tail: float
    divergences: int
    bfmi: float
    worst: str
    advice: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.advice

    @property
    def certificate(self) -> dict[str, Any]:
        """The figures alone."""
        names = ("rhat", "ess_bulk", "ess_tail", "divergences", "bfmi")
        return {name: getattr(self, name) for name in names}


def check_convergence(values: Mapping[str, Any], divergent: Any = None, energy: Any = None) -> Convergence:
    """Split R̂ < 1.01, bulk and tail ESS ≥ 400, no divergences, BFMI ≥ 0.3: all must hold.

    `values`: name → (chains, draws, *shape); `divergent`, `energy`: (chains, draws) or None.

    >>> x = np.random.default_rng(0).normal(size=(4, 1000, 2))
    >>> check_convergence({"w": x}).ok
    True
    """
    r = {name: np.atleast_1d(rhat(x)) for name, x in values.items()}
    bulk = {name: np.atleast_1d(ess(x)) for name, x in values.items()}
    tail = {name: np.atleast_1d(ess(x, "tail")) for name, x in values.items()}
    worst, largest = _extreme(r, np.nanargmax)
    least, smallest = _extreme(bulk, np.nanargmin)
    thin, thinnest = _extreme(tail, np.nanargmin)
    n_divergent = 0 if divergent is None else int(np.sum(divergent))
    fraction = np.nan if energy is None or np.ptp(energy) == 0 else float(np.min(bfmi(energy)))
    advice = []
    if largest >= RHAT_LIMIT:
        advice.append(
            f"R̂ of {worst} is {largest:.3f} (≥ {RHAT_LIMIT}): the chains disagree. Run longer; if it persists, look "
            "for several modes or a parameter that the data do not determine."
        )
    if smallest < ESS_LIMIT:
        advice.append(f"Only {smallest:.0f} effective draws of {least} (bulk, < {ESS_LIMIT}): take more draws.")
    if thinnest < ESS_LIMIT:
        advice.append(f"Only {thinnest:.0f} effective draws for the tails of {thin} (< {ESS_LIMIT}): take more draws.")
    if n_divergent:
        advice.append(
            f"{n_divergent} divergent trajectories: the sampler missed a region of high curvature, and the draws are "
            "biased. Raise target_acceptance, or reparametrise (a non-centred form for hierarchies)."
        )
    if fraction < BFMI_LIMIT:
        advice.append(
            f"BFMI is {fraction:.2f} (< {BFMI_LIMIT}): heavy tails of the energy; reparametrise, or run longer."
        )
    return Convergence(largest, smallest, thinnest, n_divergent, fraction, worst, tuple(advice))


def _extreme(table: Mapping[str, np.ndarray], arg: Any) -> tuple[str, float]:
    """Label and value of the extreme entry over all names; ("", NaN) when every entry is NaN."""
    best = {name: int(arg(a)) for name, a in table.items() if np.any(np.isfinite(a))}
    if not best:
        return "", float("nan")
    name = list(best)[int(arg([table[n].flat[i] for n, i in best.items()]))]
    index = np.unravel_index(best[name], table[name].shape)
    label = name if table[name].size == 1 else f"{name}[{','.join(map(str, index))}]"
    return label, float(table[name].flat[best[name]])
