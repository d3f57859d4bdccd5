"""What a posterior says of rows it has not seen, from log p(y_i | θ_s): PSIS leave-one-out and WAIC.

Notation: S draws θ_s with weights w_s, n rows; ll_is = log p(y_i | θ_s).

    lpd_i  = log Σ_s w_s p(y_i | θ_s)                          in-sample
    loo_i  = log Σ_s r_is p(y_i | θ_s),   r_is ∝ w_s / p(y_i | θ_s)  smoothed (PSIS)
    waic_i = lpd_i − p_i,                 p_i = Var_s ll_is

Both estimate Σ_i log p(y_i | the other rows), elpd, in nats. Leave-one-out says by k̂ where it cannot be trusted, WAIC
only by p_i > 0.4; the first is the one to use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from credo.diagnostics.psis import K_RELIABLE, psis
from credo.errors import ConvergenceWarning, DataError, warn
from credo.numerics.readable import number

__all__ = ["WAIC", "LeaveOneOut", "psis_loo", "waic"]

#: a row's variance of log p(y_i | θ) beyond which WAIC's expansion fails (Vehtari, Gelman and Gabry 2017, §2.3)
VARIANCE_RELIABLE = 0.4
# Row numbers that a warning spells out.
SHOWN = 10


class _Criterion:
    """Sums and standard errors of pointwise values."""

    pointwise: np.ndarray
    penalty: np.ndarray | None

    @property
    def elpd(self) -> float:
        """Σ_i log p(y_i | the other rows), in nats; larger is better."""
        return float(self.pointwise.sum())

    @property
    def standard_error(self) -> float:
        """Of `elpd`: √n times the sd over rows."""
        n = self.pointwise.size
        return float(np.sqrt(n * np.var(self.pointwise, ddof=1))) if n > 1 else np.inf

    @property
    def n_effective(self) -> float | None:
        """Effective number of parameters: by how much the rows themselves are predicted better."""
        return None if self.penalty is None else float(self.penalty.sum())

    def __str__(self) -> str:
        name, how = type(self).__name__, getattr(self, "method", "")
        parts = f"{name}: elpd {number(self.elpd)} ± {number(self.standard_error)}"
        effective = "" if self.n_effective is None else f", effective parameters {number(self.n_effective)}"
        return f"{parts}{effective}, {self.pointwise.size} rows{f' ({how})' if how else ''}"


@dataclass(frozen=True, eq=False)
class LeaveOneOut(_Criterion):
    """Leave-one-out log predictive densities.

    pointwise : (n,) log p(y_i | x_i, the other rows)
    method : "exact", algebra; "normal", a closed form for a Normal posterior of the predictors; "psis"
    k_hat : (n,) Pareto shape of each row's weights under "psis"; None for closed forms
    penalty : (n,) how much better each row is predicted when it is among the rows; None where not computed
    """

    pointwise: np.ndarray
    method: str = "exact"
    k_hat: np.ndarray | None = None
    penalty: np.ndarray | None = None

    @property
    def unreliable(self) -> np.ndarray:
        """Numbers of the rows whose k̂ is 0.7 or more."""
        return np.zeros(0, dtype=int) if self.k_hat is None else np.flatnonzero(~(self.k_hat < K_RELIABLE))

    @property
    def reliable(self) -> bool:
        return self.unreliable.size == 0

    def warn(self) -> LeaveOneOut:
        """Warn of unreliable rows, by number; returns itself."""
        if not self.reliable:
            rows = self.unreliable
            warn(
                f"Leave-one-out is unreliable in {rows.size} of {self.pointwise.size} rows (Pareto k̂ ≥ 0.7): "
                f"{_numbers(rows)}. They move the posterior too far for importance weights; hold rows out instead, "
                "cr.compare(models, X, y, cv=5).",
                ConvergenceWarning,
            )
        return self


@dataclass(frozen=True, eq=False)
class WAIC(_Criterion):
    """The widely applicable information criterion, on the scale of elpd (Watanabe's is −1/n times it).

    pointwise : (n,) lpd_i − p_i ; penalty : (n,) p_i
    """

    pointwise: np.ndarray
    penalty: np.ndarray

    @property
    def unreliable(self) -> np.ndarray:
        """Numbers of the rows with p_i > 0.4."""
        return np.flatnonzero(~(self.penalty <= VARIANCE_RELIABLE))

    @property
    def reliable(self) -> bool:
        return self.unreliable.size == 0

    def warn(self) -> WAIC:
        """Warn of unreliable rows, by number; returns itself."""
        if not self.reliable:
            rows = self.unreliable
            warn(
                f"WAIC is unreliable in {rows.size} of {self.pointwise.size} rows (variance of log p(y_i | θ) > 0.4): "
                f"{_numbers(rows)}. Use leave_one_out, whose k̂ is a sharper check.",
                ConvergenceWarning,
            )
        return self


def _numbers(rows: np.ndarray) -> str:
    return ", ".join(map(str, rows[:SHOWN].tolist())) + (", …" if rows.size > SHOWN else "")


def psis_loo(log_likelihood: Any, weights: Any = None, counts: Any = None) -> LeaveOneOut:
    """Leave-one-out by Pareto-smoothed importance weights.

    Parameters
    ----------
    log_likelihood : (S, n) log p(y_i | θ_s) at S ≥ 25 draws
    weights : (S,) of the draws, ≥ 0, any scale; None is equal
    counts : (n,) rows that each row stands for: a row is left out whole, its value is that of one of them

    Returns
    -------
    LeaveOneOut : does not warn by itself; `.warn()` names the rows with k̂ ≥ 0.7.

    Raises
    ------
    DataError : shapes, NaN or +inf, or a row impossible under every draw.

    >>> rng = np.random.default_rng(0); y = rng.normal(size=20)
    >>> mean = y.mean() + rng.normal(size=4000) / 20**0.5
    >>> ll = -0.5 * (y - mean[:, None]) ** 2 - 0.5 * np.log(2 * np.pi)
    >>> exact = -0.5 * ((y - y.mean()) * 20 / 19) ** 2 * 19 / 20 - 0.5 * np.log(2 * np.pi * 20 / 19)
    >>> bool(np.abs(psis_loo(ll).pointwise - exact).max() < 0.02)
    True

    References
    ----------
    Vehtari, Gelman and Gabry (2017), Statistics and Computing 27; Magnusson et al. (2019), ICML, for weighted draws.
    """
    ll, log_w = _checked("psis_loo", log_likelihood, weights)
    copies = 1.0 if counts is None else np.asarray(counts, dtype=np.float64)
    smoothed = psis(log_w[:, None] - copies * ll)
    pointwise = np.asarray(logsumexp(smoothed.log_weights + ll, axis=0))
    return LeaveOneOut(pointwise, "psis", smoothed.k_hat, _in_sample(ll, log_w) - pointwise)


def waic(log_likelihood: Any, weights: Any = None) -> WAIC:
    """The widely applicable information criterion; arguments and errors as for `psis_loo`.

    >>> ll = np.log([[0.5, 0.2], [0.5, 0.4]])
    >>> waic(ll).pointwise.round(4).tolist()
    [-0.6931, -1.3241]

    References
    ----------
    Watanabe (2010), JMLR 11; Gelman, Hwang and Vehtari (2014), Statistics and Computing 24.
    """
    ll, log_w = _checked("waic", log_likelihood, weights)
    w = np.exp(log_w)
    variance = w @ np.square(ll - w @ ll)
    return WAIC(_in_sample(ll, log_w) - variance, variance)


def _in_sample(ll: np.ndarray, log_w: np.ndarray) -> np.ndarray:
    return np.asarray(logsumexp(log_w[:, None] + ll, axis=0))


def _checked(owner: str, log_likelihood: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """(S, n) finite log-likelihoods of the draws with weight, and their normalised log weights (S,)."""
    ll = np.asarray(log_likelihood, dtype=np.float64)
    if ll.ndim != 2 or ll.size == 0:
        raise DataError(f"{owner} takes log-likelihoods (draws, rows), got shape {ll.shape}.", value=ll.shape)
    w = np.ones(len(ll)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (len(ll),) or not np.all(np.isfinite(w) & (w >= 0.0)) or not w.sum() > 0.0:
        raise DataError(f"{owner}: weights must be {len(ll)} numbers ≥ 0, not all 0.", value=w.shape)
    kept = w > 0.0
    ll, w = ll[kept], w[kept] / w.sum()
    bad = np.flatnonzero(~np.isfinite(ll).all(axis=0))
    if bad.size:
        raise DataError(
            f"{owner}: log p(y | θ) of row {bad[0]} is not finite at some draw ({bad.size} such rows).",
            rows=bad[:20].tolist(),
            remedy="A row that a draw makes impossible cannot be left out by weighting: hold rows out, cv=5.",
        )
    return ll, np.log(w)
