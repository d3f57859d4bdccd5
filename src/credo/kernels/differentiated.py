"""`Differentiated`: values and slopes of one function together, as one kernel on rows that say which they are."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from credo.errors import DataError, NumericalError, ParameterError, UnavailableError
from credo.kernels.base import Hyperparameter, Kernel
from credo.saving.registry import register

__all__ = ["Differentiated"]

# 64 pairs for each entry of the diagonal cost less than a call in Python for each row would.
SQUARE = 64


Method = TypeVar("Method", bound=Callable[..., np.ndarray])


def _finite(method: Method) -> Method:
    """A slope goes with 1/ℓ and its variance with 1/ℓ², so that they leave the range of numbers before k does."""

    @functools.wraps(method)
    def checked(self: Differentiated, *arguments: Any) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            result = method(self, *arguments)
        if not np.all(np.isfinite(result)):
            raise NumericalError(
                "Differentiated: the slopes of this prior are beyond the range of floating point.",
                value=self.kernel,
                remedy="Standardise the columns, or state a longer lengthscale.",
            )
        return result

    return checked  # type: ignore[return-value]


@register
@dataclasses.dataclass(frozen=True, repr=False)
class Differentiated(Kernel):
    """The joint prior of a function and its slopes, on rows [x, which]: which = −1 is f(x), which = j is ∂f/∂x_j (x).

        Cov(f(x), f(z)) = k          Cov(∂_i f(x), f(z)) = ∂k/∂x_i
        Cov(f(x), ∂_j f(z)) = ∂k/∂z_j      Cov(∂_i f(x), ∂_j f(z)) = ∂²k/∂x_i ∂z_j

    kernel : of functions with slopes: RBF, Matern (nu = 3/2, 5/2), RationalQuadratic, Periodic, Linear, Polynomial,
        Constant, `Custom`, and sums, products and multiples; its hyperparameters are this one's, by the same names

    A slope is the derivative in x as given: scaling a column divides its slopes. `White` is noise of values only: a
    noisy function has no slopes, and noise of observed slopes is a row's own. Cost as of k, for each pair of kinds of
    rows. `input_gradient` is there for rows that are values.

    UnavailableError : k has no slopes (Matern with nu = ½, ArcCosine, Categorical), or slopes of slopes are asked for
    DataError : the last column is not a whole number from −1 to d − 1

    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, section 9.4.

    >>> from credo.kernels import RBF
    >>> k = Differentiated(RBF(2.0))
    >>> k(np.array([[0.0, -1.0], [0.0, 0.0]])).tolist()        # a value and a slope at the same place
    [[1.0, 0.0], [0.0, 0.25]]
    >>> k(np.array([[1.0, -1.0]]), np.array([[0.0, 0.0]])).round(6).tolist()      # a rising slope: higher to the right
    [[0.220624]]
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ParameterError("Differentiated", "kernel", "a kernel", self.kernel)
        if isinstance(self.kernel, Differentiated):
            raise ParameterError("Differentiated", "kernel", "a kernel that is not differentiated yet", self.kernel)

    @_finite
    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        K = np.empty((len(X), len(X if Z is None else Z)))
        for i, a, j, b, x, z in _kinds(X, Z):
            K[np.ix_(a, b)] = part = self.kernel.derivative(x, z, i, j)
            if Z is None and i != j:
                K[np.ix_(b, a)] = part.T
        return K

    @_finite
    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        total = np.zeros(self.theta.size)
        for i, a, j, b, x, z in _kinds(X, Z):
            part = weight[np.ix_(a, b)]
            if Z is None and i != j:
                part = part + weight[np.ix_(b, a)].T
            total += self.kernel.derivative_gradient(x, z, i, j, part)
        return total

    @_finite
    def diagonal(self, X: np.ndarray) -> np.ndarray:
        result = np.empty(len(X))
        for i, rows, x in _squares(X):
            result[rows] = self.kernel.diagonal(x) if i is None else np.diag(self.kernel.derivative(x, None, i, i))
        return result

    @_finite
    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        total = np.zeros(self.theta.size)
        for i, rows, x in _squares(X):
            if i is None:
                total += self.kernel.diagonal_gradient(x, weight[rows])
            else:
                total += self.kernel.derivative_gradient(x, None, i, i, np.diag(weight[rows]))
        return total

    @_finite
    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """For rows that are values, the covariances of their slopes; 0 in the last column."""
        X = np.asarray(X, dtype=np.float64)
        if np.any(_which(X) >= 0):
            raise UnavailableError(
                "Differentiated.input_gradient is there for values, not for slopes, whose slopes it would take.",
                value=X,
                remedy="Ask for rows whose last column is -1.",
            )
        gradient = np.zeros_like(X)
        for j in range(X.shape[1] - 1):
            slopes = np.column_stack([X[:, :-1], np.full(len(X), float(j))])
            gradient[:, j] = np.einsum("ab,ab->a", weight, self(slopes, Z))
        return gradient

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return self.kernel.hyperparameters

    def _with_values(self, values: Mapping[str, np.ndarray]) -> Kernel:
        return Differentiated(self.kernel._with_values(values))


Kind = int | None  # the column of a slope, None for a value


def _which(X: np.ndarray) -> np.ndarray:
    """The last column (n,), checked."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 2:
        raise DataError(f"Differentiated takes rows [x, which], two columns or more, got shape {X.shape}.", value=X)
    which = X[:, -1]
    bad = np.flatnonzero(~((which == np.floor(which)) & (which >= -1) & (which <= X.shape[1] - 2)))
    if bad.size:
        raise DataError(
            f"Differentiated: the last column must be -1 (a value) or the number of one of {X.shape[1] - 1} columns (a "
            f"slope), got {which[bad[0]]!r} in row {bad[0]}.",
            rows=bad[:20].tolist(),
            value=which[bad[:20]],
        )
    return which


def _groups(X: np.ndarray) -> list[tuple[Kind, np.ndarray, np.ndarray]]:
    """(kind, row numbers, x) of each kind of row that there is."""
    X = np.asarray(X, dtype=np.float64)
    which = _which(X)
    groups = ((int(kind), np.flatnonzero(which == kind)) for kind in np.unique(which))
    return [(None if kind < 0 else kind, rows, X[rows, :-1]) for kind, rows in groups]


def _kinds(
    X: np.ndarray, Z: np.ndarray | None
) -> Iterator[tuple[Kind, np.ndarray, Kind, np.ndarray, np.ndarray, np.ndarray | None]]:
    """(i, rows, j, columns, x, z) of each pair of kinds; of a pair and its mirror image within X only one."""
    left = _groups(X)
    right = left if Z is None else _groups(Z)
    for n, (i, a, x) in enumerate(left):
        for j, b, z in right[n:] if Z is None else right:
            yield i, a, j, b, x, None if Z is None and i == j else z


def _squares(X: np.ndarray) -> Iterator[tuple[Kind, np.ndarray, np.ndarray]]:
    """(kind, row numbers, x) in blocks so small that for a diagonal of slopes all pairs may be computed."""
    for kind, rows, x in _groups(X):
        for start in range(0, len(x), len(x) if kind is None else SQUARE):
            part = slice(start, start + (len(x) if kind is None else SQUARE))
            yield kind, rows[part], x[part]
