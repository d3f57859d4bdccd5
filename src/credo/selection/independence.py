"""Do the rows look independent, once the model has said what it can?

Cross-validation with shuffled rows takes them to be. If residuals of neighbours, or of one group, are alike, rows held
out were not new, scores are flattering, and standard errors too small. A sign counts when chance would show it in one
table in a thousand and the standard error is off by a tenth or more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

__all__ = ["Dependence", "find_dependence", "lag_one", "intraclass", "permutation_p_value"]

FALSE_ALARM = 1e-3
# A variance of the mean 1.21 times what independence says: its standard error is off by 10 %.
INFLATION = 1.21
# Permutation needs (1/rate − 1) shuffles; at ten thousand rows a lag-1 correlation of 0.04 already stands out.
ROWS = 10_000


@dataclass(frozen=True)
class Dependence:
    """kind : "order" or "group"; column : the grouping column; correlation : lag-1 or intraclass; inflation : of the
    variance."""

    kind: str
    correlation: float
    inflation: float
    column: str = ""

    @property
    def message(self) -> str:
        factor = f"standard errors are about {np.sqrt(self.inflation):.1f} times what is shown"
        if self.kind == "order":
            return (
                f"Residuals of consecutive rows are correlated ({self.correlation:.2f}), so rows are not independent "
                f"and {factor}. If rows are in order of time pass time=; if they are sorted by a column, the model "
                "misses a trend in it."
            )
        return (
            f"Residuals are alike within levels of {self.column} (intraclass correlation {self.correlation:.2f}), so "
            f"rows are not independent and {factor}. Pass groups= if new rows will come from new levels, or let the "
            "model use the levels."
        )


def find_dependence(
    residuals: Any, columns: Mapping[str, Any], rng: np.random.Generator, *, ordered: bool = True
) -> list[Dependence]:
    """What contradicts independence.

    residuals : (n,) or (n, k), outcome minus expectation (k indicators for classes)
    columns : name → labels (n,) that may be groups
    ordered : whether the order of rows may mean something (a table sorted by the outcome should not be tested)
    """
    residuals = np.asarray(residuals, dtype=np.float64).reshape(len(residuals), -1)
    residuals = residuals - residuals.mean(axis=0)
    found = []
    if ordered and len(residuals) > 2:
        first = residuals[:ROWS]
        correlation = lag_one(first)
        inflation = (1.0 + correlation) / max(1.0 - correlation, 0.01)
        if inflation >= INFLATION and permutation_p_value(first, lag_one, rng) <= FALSE_ALARM:
            found.append(Dependence("order", correlation, inflation))
    for name, labels in columns.items():
        correlation, p_value, size = intraclass(residuals, labels)
        inflation = 1.0 + (size - 1.0) * correlation
        # The F test is quick but trusts Normal tails; what it finds must survive shuffling.
        if p_value <= FALSE_ALARM and inflation >= INFLATION:
            p_value = permutation_p_value(residuals, lambda e, g=labels: intraclass(e, g)[0], rng)
            if p_value <= FALSE_ALARM:
                found.append(Dependence("group", correlation, inflation, str(name)))
    return found


def permutation_p_value(
    residuals: np.ndarray, statistic: Callable[[np.ndarray], float], rng: np.random.Generator
) -> float:
    """P(statistic of shuffled rows ≥ that of the data), exact under exchangeability, down to `FALSE_ALARM`.

    Shuffles stop as soon as one reaches the data, since the p-value is then above it: independent rows cost next to
    nothing (Besag and Clifford 1991, Biometrika 78).
    """
    observed = statistic(residuals)
    shuffles = round(1.0 / FALSE_ALARM) - 1
    for done in range(1, shuffles + 1):
        if statistic(residuals[rng.permutation(len(residuals))]) >= observed:
            return 1.0 / done
    return 1.0 / (shuffles + 1.0)


def lag_one(residuals: np.ndarray) -> float:
    """Correlation of neighbours, Σ e_i·e_{i+1} / Σ e_i·e_i, of centred residuals (n, k)."""
    total = float(np.square(residuals).sum())
    return float((residuals[:-1] * residuals[1:]).sum()) / total if total > 0.0 else 0.0


def intraclass(residuals: np.ndarray, labels: Any) -> tuple[float, float, float]:
    """Intraclass correlation over the levels of a column, its p-value by the F test, and the effective level size.

    ρ = (B − W)/(B + (m − 1) W), with mean squares B between and W within levels and m = (n − Σ n_g²/n)/(G − 1).
    """
    codes, sizes = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)[1:]
    n, levels, k = len(residuals), sizes.size, max(1, residuals.shape[1] - (residuals.shape[1] > 1))
    if not 2 <= levels < n:
        return 0.0, 1.0, 1.0
    sums = np.stack([np.bincount(codes.ravel(), weights=e, minlength=levels) for e in residuals.T])
    between = float((np.square(sums) / sizes).sum())
    within = float(np.square(residuals).sum()) - between
    size = (n - np.square(sizes).sum() / n) / (levels - 1.0)
    if within <= 1e-12 * between or between == 0.0:
        return (1.0, 0.0, size) if between > 0.0 else (0.0, 1.0, size)
    ratio = (between / (levels - 1.0)) / (within / (n - levels))
    p_value = float(scipy.special.fdtrc(k * (levels - 1.0), k * (n - levels), ratio))
    return max(0.0, (ratio - 1.0) / (ratio + size - 1.0)), p_value, float(size)
