"""How items are described to a kernel: by features, by a similarity matrix, or by nothing but their number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from credo.distributions import Gamma
from credo.errors import DataError, NotPositiveDefiniteError, ParameterError, UnavailableError
from credo.kernels import Kernel, Scaled, Sum
from credo.kernels.base import BOUNDS
from credo.models.gaussian_process.defaults import default_kernel
from credo.models.preference.similarity import Similarity
from credo.saving.registry import register

__all__ = ["Items", "described"]

# Variances of utility over noise²: where the search starts, of what features explain (or of all, without features) and
# of an item's own part; and their prior, Gamma(SHAPE, RATE). Below, an e-fold costs a fifth of a nat: items may well be
# all alike. Above 20, pairs that are told apart 999 times in 1,000, it falls exponentially.
VARIANCE, OWN = 1.0, 0.1
SHAPE, RATE = 0.2, 0.05


@register
@dataclass(frozen=True, eq=False)
class Items:
    """rows (n, d′) are what the kernel reads of each item; the last column is its number where `numbered`.

    width : columns of features, 0 where items are known by number alone
    """

    rows: np.ndarray
    width: int
    numbered: bool

    @classmethod
    def numbers(cls, n: int) -> Self:
        """n items without features."""
        return cls(np.arange(float(n))[:, None], 0, True)

    def new(self, X: Any) -> np.ndarray:
        """Rows of items not seen before, of features X (q, width); each has a number of its own."""
        if self.width == 0:
            raise UnavailableError("New items need features, and these items have none: fit with X.")
        X = checked_features(X, self.width)
        if not self.numbered:
            return X
        return np.column_stack([X, -1.0 - np.arange(len(X))])


def described(kernel: Any, X: Any, n: int, noise: float) -> tuple[Items, Kernel]:
    """Items and the kernel of `PreferenceGP(kernel)` given X, for n items and that noise."""
    if isinstance(kernel, str) and kernel == "precomputed":
        matrix = np.asarray(X, dtype=np.float64) if X is not None else np.zeros(0)
        if matrix.shape != (n, n):
            raise ParameterError("PreferenceGP.fit", "X", f"similarities ({n}, {n}) of the items", matrix.shape)
        similarity = Similarity(matrix)
        smallest = float(np.linalg.eigvalsh(similarity.matrix)[0])
        if smallest < -1e-8 * float(np.trace(similarity.matrix)) / n:  # what rounding may do to a singular one
            raise NotPositiveDefiniteError(
                f"PreferenceGP.fit: the similarity matrix has a negative eigenvalue, {smallest:.3g}.", value=smallest,
                remedy="Clip its negative eigenvalues at 0, or describe items by features.",
            )  # fmt: skip
        return Items.numbers(n), _scaled(similarity, VARIANCE, noise)
    if kernel is not None and not isinstance(kernel, Kernel):
        raise ParameterError("PreferenceGP", "kernel", 'a kernel of credo.kernels, "precomputed" or None', kernel)
    if X is None:
        if kernel is not None:
            raise ParameterError("PreferenceGP.fit", "X", "features of the items, which the kernel compares", X)
        return Items.numbers(n), _scaled(Similarity(), VARIANCE, noise)
    features = checked_features(X, None)
    if len(features) != n:
        raise ParameterError("PreferenceGP.fit", "X", f"one row for each of {n} items", features.shape)
    width = features.shape[1]
    if kernel is not None:
        return Items(features, width, False), kernel
    numbered = np.column_stack([features, np.arange(n)])
    return Items(numbered, width, True), _by_features_and_own(features, noise)


def _by_features_and_own(features: np.ndarray, noise: float) -> Kernel:
    """variance · Matérn 5/2 of the features, plus a part of each item's own."""
    n, width = features.shape
    stated = default_kernel(features, np.ones(n))
    smooth = replace(stated.kernel, active_dims=tuple(range(width)))  # type: ignore[attr-defined]
    own = Similarity(active_dims=(width,))
    return Sum((_scaled(smooth, VARIANCE, noise), _scaled(own, OWN, noise)))


def _scaled(kernel: Kernel, variance: float, noise: float) -> Kernel:
    """With a variance to be learned, in units of noise²."""
    prior = Gamma(shape=SHAPE, rate=RATE / noise**2)
    limits = (BOUNDS[0] * noise**2, BOUNDS[1] * noise**2)
    return Scaled(kernel, variance * noise**2, priors={"variance": prior}, limits={"variance": limits})


def checked_features(X: Any, width: int | None) -> np.ndarray:
    """X (q, width) as finite numbers; a bad row is named."""
    try:
        X = np.array(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("PreferenceGP: features must be numbers.", value=X) from None
    if X.ndim != 2 or X.shape[1] == 0 or (width is not None and X.shape[1] != width):
        columns = "one column or more" if width is None else f"{width} columns"
        raise ParameterError("PreferenceGP", "X", f"features of shape (items, columns), {columns}", X.shape)
    bad = np.flatnonzero(~np.all(np.isfinite(X), axis=1))
    if bad.size:
        raise DataError(
            f"PreferenceGP: features of items {bad[:5].tolist()} hold NaN or infinite values.", rows=bad.tolist(),
            value=X[bad[0]], remedy="Fill them in, or leave those items out.",
        )  # fmt: skip
    return X
