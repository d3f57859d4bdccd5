"""`Mean`: m(x) = h(x)ᵀβ with β integrated out, flat or Normal.

Notation
    H (n, q) rows h(x): nothing, a constant, or a constant and the columns
    β ~ N(b, B), or flat: B⁻¹ = 0

Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, §2.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.flat import Flat
from credo.distributions.normal import Normal
from credo.errors import NotIdentifiedError, ParameterError
from credo.saving.registry import register

__all__ = ["MEANS", "Mean", "mean_of"]

MEANS = (None, "zero", "constant", "linear")


@register
@dataclass(frozen=True, eq=False)
class Mean:
    """h(x) = (1, (x − centre)/size), or its first entry, or nothing, with the belief about β.

    kind : "zero", "constant" or "linear"
    centre, size (d,) : so that columns of any units give a well-conditioned H
    location (q,) b; precision (q, q) B⁻¹, zeros where flat
    n_values : of the columns of X these are the function's own; beyond is "which" of a row of slopes
    """

    kind: str
    centre: np.ndarray
    size: np.ndarray
    location: np.ndarray
    precision: np.ndarray
    sloped: bool = False

    @property
    def flat(self) -> bool:
        return self.location.size > 0 and not self.precision.any()

    @property
    def n_coefficients(self) -> int:
        return self.location.size

    def design(self, X: np.ndarray) -> np.ndarray:
        """H (n, q). In rows that end in "which" ≥ 0, h is its slope in that column."""
        n = len(X)
        values = X[:, :-1] if self.sloped else X
        parts = [np.ones((n, 1))] if self.kind != "zero" else [np.empty((n, 0))]
        if self.kind == "linear":
            parts.append((values - self.centre) / self.size)
        H = np.concatenate(parts, axis=1)
        if not self.sloped:
            return H
        which = X[:, -1].astype(int)
        rows = np.flatnonzero(which >= 0)
        H[rows] = 0.0
        if self.kind == "linear":
            H[rows, 1 + which[rows]] = 1.0 / self.size[which[rows]]
        return H

    def coefficients(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intercepts (T,) and slopes (d, T) in the columns as they are, from β (q, T)."""
        d, targets = self.centre.size, beta.shape[1]
        if self.kind == "zero":
            return np.zeros(targets), np.zeros((d, targets))
        if self.kind == "constant":
            return beta[0], np.zeros((d, targets))
        slopes = beta[1:] / self.size[:, None]
        return beta[0] - self.centre @ slopes, slopes


def mean_of(mean: Any, prior: Any, X: np.ndarray, weights: np.ndarray, scale: float) -> Mean:
    """The `Mean` of an argument `mean`; `prior`, a `Normal` on intercept and slopes as you see them, or None, flat.

    scale : outcomes are divided by it
    """
    if not (mean is None or isinstance(mean, str)) or mean not in MEANS:
        raise ParameterError("GaussianProcessRegressor", "mean", f"one of {MEANS}", mean)
    d = X.shape[1]
    kind = "zero" if mean is None else mean
    q = {"zero": 0, "constant": 1, "linear": 1 + d}[kind]
    flat = prior is None or isinstance(prior, Flat)
    if not (flat or isinstance(prior, Normal)):
        raise ParameterError("GaussianProcessRegressor", "mean_prior", "a Normal, Flat() or None", prior)
    if isinstance(prior, Normal):  # of coefficients as stated: columns stay as they are
        sd = np.broadcast_to(np.asarray(prior.sd, dtype=np.float64), (q,)) / scale
        location = np.broadcast_to(np.asarray(prior.mean, dtype=np.float64), (q,)) / scale
        return Mean(kind, np.zeros(d), np.ones(d), location, np.diag(1.0 / np.square(sd)))
    share = weights / weights.sum()
    centre = share @ X
    size = np.sqrt(share @ np.square(X - centre))
    if kind == "linear":
        constant = np.flatnonzero(size <= 1e-14 * np.abs(centre))
        if constant.size or len(X) <= d:
            raise NotIdentifiedError(
                f"A flat linear mean needs more than {d} rows and no constant column; "
                f"there are {len(X)} rows, and constant columns {constant.tolist()}.",
                value=constant,
                remedy='State mean_prior=cr.Normal(0, sd), or use mean="constant".',
            )
    return Mean(kind, centre, np.where(size > 0.0, size, 1.0), np.zeros(q), np.zeros((q, q)))
