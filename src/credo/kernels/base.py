"""`Kernel`: what every covariance function answers, and `Hyperparameter`, what it says of a parameter.

Notation
    X, Z   rows (n, d) and (m, d); Z = None means X itself, which only `White` tells apart from an equal Z
    K      (n, m) covariances k(x_a, z_b)
    θ      (h,) the logs of all positive hyperparameters that are not fixed, in the order of `hyperparameters`
    W      (n, m) weights: gradients are contracted with them at once, Σ_ab W_ab ∂K_ab/∂θ, so that no (n, m, h) or
           (n, m, d) array is ever made. (For the evidence W = ½(αα' − K⁻¹).)
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.kernels.priors import log_density, log_density_gradient

__all__ = ["Hyperparameter", "Kernel", "Leaf"]

#: What `Kernel.value_and_pullback` returns beside K: weights (n, n) → gradient (h,).
Pullback = Callable[[np.ndarray], np.ndarray]
#: What `Kernel.half_and_pullback` returns: symmetric weights (n, n) → Σ W K and the gradient (h,).
HalfPullback = Callable[[np.ndarray], tuple[float, np.ndarray]]

# At 4096 rows an array of all pairs takes 128 MiB, and all kernel work together less than a tenth of a factorisation.
KEPT = 4096

# Beyond five decades on either side of the data's scale a kernel is a constant or white noise to working precision;
# within, an optimiser cannot overflow. The same limits as scikit-learn's.
BOUNDS = (1e-5, 1e5)


@dataclasses.dataclass(frozen=True)
class Hyperparameter:
    """name ("0.lengthscale" in the first part of a sum); value (size,) > 0; bounds; prior, a family or None; fixed."""

    name: str
    value: np.ndarray
    bounds: tuple[float, float]
    prior: Any
    fixed: bool


class Kernel(ABC):
    """A covariance function. Subclasses are frozen records; `+` and `*` build new ones, a number × a kernel scales it.

    A subclass supplies the abstract methods; `credo.testing.covariances.check_kernel` checks them against each other.
    """

    __array_ufunc__ = None  # so that NumPy numbers and arrays leave + and * to the kernel

    @abstractmethod
    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        """K (n, m)."""

    @abstractmethod
    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """k(x, x) (n,), without K."""

    @abstractmethod
    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        """Σ_ab W_ab ∂K_ab/∂θ, (h,). Cost about that of K."""

    def value_and_pullback(self, X: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """K(X, X) (n, n), and the function W (n, n) → Σ_ab W_ab ∂K_ab/∂θ (h,): value and gradient for less than both.

        K is the caller's: to factorise it in place is safe. The function keeps an array (n, n) or two a part of the
        kernel; beyond 4096 rows none, and computes again, which is little beside n³. It leaves W as it is, and may be
        called again.
        """
        if len(X) > KEPT:
            return self(X), lambda weight: self.gradient(X, None, weight)
        return self._value_and_pullback(X)

    def _value_and_pullback(self, X: np.ndarray) -> tuple[np.ndarray, Pullback]:
        return self(X), lambda weight: self.gradient(X, None, weight)

    def half_and_pullback(self, X: np.ndarray, factor: float = 1.0) -> tuple[np.ndarray, HalfPullback]:
        """factor · K(X, X) (n, n), column-major, of which only the lower triangle means anything; and the function
        W → (factor Σ_ab W_ab K_ab, factor Σ_ab W_ab ∂K_ab/∂θ), W symmetric, of whose lower triangle alone it reads.

        As `value_and_pullback`, for half the work where a kernel knows how: what a Cholesky factor and a gradient take.
        """
        K, pullback = self.value_and_pullback(X)
        total = factor * K  # K itself is kept: W → Σ W K is asked for after the caller has overwritten his

        def halves(weight: np.ndarray) -> tuple[float, np.ndarray]:
            whole = np.tril(weight) + np.tril(weight, -1).T
            return factor * float(np.vdot(whole, K)), factor * pullback(whole)

        return np.asfortranarray(total), halves

    def derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        """∂/∂x_i ∂/∂z_j k(x_a, z_b) (n, m), None for no derivative: the covariance of slopes and values of f.

        UnavailableError : functions of this kernel have no slope in that column.
        """
        raise UnavailableError(f"{type(self).__name__} has no `derivative`.")

    def derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        """Σ_ab W_ab ∂/∂θ of `derivative`, (h,)."""
        raise UnavailableError(f"{type(self).__name__} has no `derivative`.")

    @abstractmethod
    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Σ_a w_a ∂k(x_a, x_a)/∂θ, (h,), for w (n,)."""

    @abstractmethod
    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Σ_b W_ab ∂k(x_a, z_b)/∂x_a, (n, d); Z is held still."""

    @property
    @abstractmethod
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """All of them, the fixed ones too."""

    @abstractmethod
    def _with_values(self, values: Mapping[str, np.ndarray]) -> Kernel:
        """The same kernel with the named hyperparameters replaced by natural values (size,)."""

    @property
    def names(self) -> tuple[str, ...]:
        """(h,) names of the entries of θ: "lengthscale", or "lengthscale[0]", … where there are several."""
        return tuple(
            hyper.name if hyper.value.size == 1 else f"{hyper.name}[{i}]"
            for hyper in self.hyperparameters
            if not hyper.fixed
            for i in range(hyper.value.size)
        )

    @property
    def theta(self) -> np.ndarray:
        """(h,) logs of the hyperparameters that are not fixed."""
        free = [np.log(hyper.value) for hyper in self.hyperparameters if not hyper.fixed]
        return np.concatenate(free) if free else np.empty(0)

    @property
    def bounds(self) -> np.ndarray:
        """(h, 2) bounds of θ."""
        rows = [np.tile(np.log(h.bounds), (h.value.size, 1)) for h in self.hyperparameters if not h.fixed]
        return np.concatenate(rows) if rows else np.empty((0, 2))

    def with_theta(self, theta: Any) -> Kernel:
        """The same kernel at another θ (h,)."""
        theta = np.asarray(theta, dtype=np.float64)
        free = [hyper for hyper in self.hyperparameters if not hyper.fixed]
        sizes = [hyper.value.size for hyper in free]
        if theta.shape != (sum(sizes),):
            raise ParameterError(type(self).__name__, "theta", f"of shape {(sum(sizes),)}", theta.shape)
        parts = np.split(np.exp(theta), np.cumsum(sizes)[:-1]) if sizes else []
        return self._with_values({hyper.name: part for hyper, part in zip(free, parts, strict=True)})

    def log_prior(self) -> float:
        """Log density of θ under the stated priors, with the Jacobian of the log; parameters without one add 0."""
        stated = [hyper for hyper in self.hyperparameters if not hyper.fixed and hyper.prior is not None]
        return float(sum(log_density(hyper.prior, hyper.value[None])[0] for hyper in stated))

    def log_prior_gradient(self) -> np.ndarray:
        """∂ log_prior/∂θ (h,), for a prior of any family; 0 for parameters without one.

        >>> from credo.distributions import Gamma
        >>> from credo.kernels import RBF
        >>> RBF(4.0, priors={"lengthscale": Gamma(shape=3.0, rate=2.0)}).log_prior_gradient().round(9).tolist()
        [-5.0]
        """
        parts = [
            np.zeros(hyper.value.size) if hyper.prior is None else log_density_gradient(hyper.prior, hyper.value)
            for hyper in self.hyperparameters
            if not hyper.fixed
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def __add__(self, other: Any) -> Kernel:
        from credo.kernels.compose import add

        return add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        from credo.kernels.compose import add

        return add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        from credo.kernels.compose import multiply

        return multiply(self, other)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        """The call that makes it, without what is left at an empty default."""
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if not field.kw_only or getattr(self, field.name) not in (None, (), {})
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclasses.dataclass(frozen=True, repr=False)
class Leaf(Kernel):
    """A kernel that is not made of others. Its positive parameters are named in `positive`.

    active_dims : the columns it looks at, None for all
    priors : name → family, for MAP and for integrating over hyperparameters
    fixed : names of hyperparameters that are not learned
    limits : name → (lower, upper), where the default bounds 1e-5 … 1e5 do not do
    """

    positive: ClassVar[tuple[str, ...]] = ()
    vectors: ClassVar[tuple[str, ...]] = ("lengthscale",)  # those of `positive` that may be one for each column

    active_dims: tuple[int, ...] | None = dataclasses.field(default=None, kw_only=True)
    priors: Mapping[str, Any] = dataclasses.field(default_factory=dict, kw_only=True, hash=False)
    fixed: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    limits: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict, kw_only=True, hash=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in self.positive:
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if value.ndim > 1 or value.size == 0 or not np.all((value > 0.0) & np.isfinite(value)):
                raise ParameterError(owner, name, "finite and > 0", getattr(self, name))
            if value.ndim and name not in self.vectors:
                raise ParameterError(owner, name, "a number", getattr(self, name))
            object.__setattr__(self, name, float(value) if value.ndim == 0 else tuple(value.tolist()))
        for field in ("fixed", "priors", "limits"):
            stated = (getattr(self, field),) if isinstance(getattr(self, field), str) else tuple(getattr(self, field))
            unknown = [name for name in stated if name not in self.positive]
            if unknown:
                raise ParameterError(owner, field, f"names among {self.positive}", unknown)
        object.__setattr__(self, "fixed", (self.fixed,) if isinstance(self.fixed, str) else tuple(self.fixed))
        if self.active_dims is not None:
            dims = np.atleast_1d(np.asarray(self.active_dims))
            if dims.ndim != 1 or dims.dtype.kind not in "iu" or np.any(dims < 0) or np.unique(dims).size != dims.size:
                raise ParameterError(owner, "active_dims", "distinct column numbers ≥ 0", self.active_dims)
            object.__setattr__(self, "active_dims", tuple(int(j) for j in dims))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return tuple(
            Hyperparameter(
                name,
                np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64)),
                self.limits.get(name, BOUNDS),
                self.priors.get(name),
                name in self.fixed,
            )
            for name in self.positive
        )

    def _with_values(self, values: Mapping[str, np.ndarray]) -> Kernel:
        return dataclasses.replace(
            self, **{k: float(v[0]) if np.ndim(getattr(self, k)) == 0 else v for k, v in values.items()}
        )

    def _free(self, gradients: Mapping[str, Any]) -> np.ndarray:
        """(h,) the gradients of what is not fixed, in order."""
        parts = [np.atleast_1d(gradients[name]) for name in self.positive if name not in self.fixed]
        return np.concatenate(parts).astype(np.float64) if parts else np.empty(0)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """The rows as the kernel sees them, (n, active), as numbers; other columns may hold anything."""
        columns = self._selected(np.asarray(X))
        try:
            numbers = columns.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise ParameterError(type(self).__name__, "X", "of numbers in the active columns", X) from None
        if not np.all(np.isfinite(numbers)):
            raise ParameterError(type(self).__name__, "X", "finite", X)
        return numbers

    def _like(self, Z: np.ndarray, x: np.ndarray) -> np.ndarray:
        """`_columns` of Z, as many as of x."""
        z = self._columns(Z)
        if z.shape[1] != x.shape[1]:
            raise ParameterError(type(self).__name__, "Z", f"of {x.shape[1]} columns, as X", z.shape)
        return z

    def _selected(self, X: np.ndarray) -> np.ndarray:
        """The active columns (n, active) as they are."""
        if X.ndim != 2:
            raise ParameterError(type(self).__name__, "X", "of shape (n, d)", X.shape)
        if self.active_dims is None:
            return X
        if max(self.active_dims, default=-1) >= X.shape[1]:
            raise ParameterError(type(self).__name__, "active_dims", f"below {X.shape[1]} columns", self.active_dims)
        return X[:, list(self.active_dims)]

    def _scattered(self, gradient: np.ndarray, X: np.ndarray) -> np.ndarray:
        """A gradient in the active columns (n, active) as one in all, (n, d)."""
        if self.active_dims is None:
            return gradient
        full = np.zeros(np.shape(X))
        full[:, list(self.active_dims)] = gradient
        return full

    def derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        if i is None and j is None:
            return self(X, Z)
        places = self._places(X, i, j)
        if places is None:
            return np.zeros((len(X), len(X if Z is None else Z)))
        return self._derivative(X, Z, places[0], places[1])

    def derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        if i is None and j is None:
            return self.gradient(X, Z, weight)
        places = self._places(X, i, j)
        if places is None:
            return np.zeros(self.theta.size)
        return self._derivative_gradient(X, Z, places[0], places[1], weight)

    def _places(self, X: np.ndarray, i: int | None, j: int | None) -> tuple[int | None, int | None] | None:
        """Columns as numbers among the active ones; None if one is not, so that k does not depend on it."""
        active = range(np.shape(X)[1]) if self.active_dims is None else self.active_dims
        if any(column is not None and column not in active for column in (i, j)):
            return None
        if not self._has_slopes():
            raise UnavailableError(
                f"{self!r} has no slopes.",
                value=self,
                remedy="Use RBF, Matern(nu=1.5) or Matern(nu=2.5), or take slopes in columns that it does not look at.",
            )
        return None if i is None else active.index(i), None if j is None else active.index(j)

    def _has_slopes(self) -> bool:
        """Whether `_derivative` and `_derivative_gradient`, by numbers of active columns, are there."""
        return False

    def _derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        return np.zeros((len(X), len(X if Z is None else Z)))

    def _derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        return np.zeros(self.theta.size)
