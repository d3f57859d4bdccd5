"""`Custom`: a kernel that the user writes as a function of one pair of rows; JAX batches and differentiates it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from credo.errors import MissingDependencyError, NumericalError, ParameterError
from credo.kernels.base import Kernel, Leaf
from credo.saving.registry import register

__all__ = ["Custom"]

# Numbers (rows × columns × features) in flight at once: 8 MiB an intermediate array, so that none is (n, m, d).
ENTRIES = 2**20


@register
@dataclasses.dataclass(frozen=True, init=False, repr=False)
class Custom(Leaf):
    """k(x, z) = function(x, z, **hyperparameters) of one pair of rows x (active,), z (active,), written in `jax.numpy`.

    The function must be symmetric and positive semidefinite: `credo.testing.covariances.check_kernel` looks. All
    gradients, and the slopes that `Differentiated` takes, are JAX's: exact, where differences would cost two more
    evaluations a hyperparameter and half of the digits. So there is no way round the package.

    Parameters
    ----------
    function : (x, z, **hyperparameters) → a number; at x = z it must have a slope if you use one (√0 has none: write
        `jnp.sqrt(jnp.maximum(q, 1e-30))`)
    **hyperparameters : name=value, > 0, numbers or lists; learned like those of any kernel
    active_dims, priors, fixed, limits : as of any kernel

    Raises
    ------
    MissingDependencyError : JAX is not installed (`pip install 'credo[programs]'`)
    NumericalError : a value or derivative is not finite
    SaveError : on saving: a file holds data, never code

    It is compiled for each number of rows, which takes a second; computing is in float64 whatever JAX is set to.

    Examples
    --------
    >>> from credo.kernels import Custom
    >>> Custom(lambda x, z, scale: scale * (x @ z) ** 2, scale=2.0).names
    ('scale',)
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = dataclasses.field(hash=False)

    def __init__(
        self,
        function: Callable[..., Any],
        /,
        *,
        active_dims: Any = None,
        priors: Mapping[str, Any] | None = None,
        fixed: Any = (),
        limits: Mapping[str, tuple[float, float]] | None = None,
        **hyperparameters: Any,
    ) -> None:
        if not callable(function):
            raise ParameterError("Custom", "function", "a function of two rows", function)
        taken = [name for name in hyperparameters if hasattr(Leaf, name) or name in ("function", "parameters")]
        if taken:
            raise ParameterError("Custom", "hyperparameters", "names that kernels do not use themselves", taken)
        options = {"active_dims": active_dims, "priors": priors or {}, "fixed": fixed, "limits": limits or {}}
        names = tuple(hyperparameters)
        record = {"function": function, "positive": names, "vectors": names, **options, **hyperparameters}
        for name, value in record.items():
            object.__setattr__(self, name, value)
        super().__post_init__()  # which makes the values numbers and tuples
        object.__setattr__(self, "parameters", {name: getattr(self, name) for name in hyperparameters})

    def __call__(self, X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return self._evaluated(X, Z, None, None)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        x = self._columns(X)
        with _jax() as jax:
            return self._finite(_compiled(jax, self.function, "diagonal", None, None)(self._values(), x, x))

    def gradient(self, X: np.ndarray, Z: np.ndarray | None, weight: np.ndarray) -> np.ndarray:
        return self._pulled(X, Z, None, None, weight)

    def diagonal_gradient(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x = self._columns(X)
        with _jax() as jax:
            gradients = _compiled(jax, self.function, "diagonal_pulled", None, None)(self._values(), x, x, weight)
            return self._finite(self._in_logs(gradients))

    def input_gradient(self, X: np.ndarray, Z: np.ndarray, weight: np.ndarray) -> np.ndarray:
        x = self._columns(X)
        z = self._like(Z, x)
        total = np.zeros_like(x)
        with _jax() as jax:
            pulled = _compiled(jax, self.function, "input", None, None)
            for rows, count, block, w in _padded(x, z, weight):
                total[rows] = np.asarray(pulled(self._values(), block, z, w))[:count]
        return self._scattered(self._finite(total), X)

    def _has_slopes(self) -> bool:
        return True

    def _derivative(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        return self._evaluated(X, Z, i, j)

    def _derivative_gradient(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        return self._pulled(X, Z, i, j, weight)

    def _evaluated(self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None) -> np.ndarray:
        x = self._columns(X)
        z = x if Z is None else self._like(Z, x)
        K = np.empty((len(x), len(z)))
        with _jax() as jax:
            values = _compiled(jax, self.function, "values", i, j)
            for rows, count, block, _ in _padded(x, z):
                part = np.asarray(values(self._values(), block, z))
                if part.shape != (len(block), len(z)):
                    raise ParameterError("Custom", "function", "a single number for a pair", part.shape[2:])
                K[rows] = part[:count]
        return self._finite(K)

    def _pulled(
        self, X: np.ndarray, Z: np.ndarray | None, i: int | None, j: int | None, weight: np.ndarray
    ) -> np.ndarray:
        x = self._columns(X)
        z = x if Z is None else self._like(Z, x)
        total = np.zeros(self.theta.size)
        with _jax() as jax:
            pulled = _compiled(jax, self.function, "pulled", i, j)
            for _, _, block, w in _padded(x, z, weight):
                total += self._in_logs(pulled(self._values(), block, z, w))
        return self._finite(total)

    def _values(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(value, dtype=np.float64) for name, value in self.parameters.items()}

    def _in_logs(self, gradients: Mapping[str, Any]) -> np.ndarray:
        return self._free({name: np.asarray(gradients[name]) * value for name, value in self._values().items()})

    def _finite(self, array: Any) -> np.ndarray:
        array = np.array(array, dtype=np.float64)
        if not np.all(np.isfinite(array)):
            raise NumericalError(
                f"{self!r}: a value or derivative is not finite.",
                value=array,
                remedy="Where two rows coincide a root needs a guard, such as jnp.sqrt(jnp.maximum(q, 1e-30)).",
            )
        return array

    def _with_values(self, values: Mapping[str, np.ndarray]) -> Kernel:
        new = {k: float(v[0]) if np.ndim(self.parameters[k]) == 0 else v for k, v in values.items()}
        options = {name: getattr(self, name) for name in ("active_dims", "priors", "fixed", "limits")}
        return Custom(self.function, **options, **{**self.parameters, **new})

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        options = {key: getattr(self, key) for key in ("active_dims", "priors", "fixed", "limits")}
        shown = {**self.parameters, **{key: value for key, value in options.items() if value not in (None, (), {})}}
        return f"Custom({', '.join([name, *(f'{key}={value!r}' for key, value in shown.items())])})"


@contextlib.contextmanager
def _jax() -> Iterator[Any]:
    """JAX in float64, for the length of the block and this thread only."""
    try:
        import jax  # type: ignore[import-not-found]
    except ImportError:
        raise MissingDependencyError("jax", "programs", "credo.kernels.Custom") from None
    if hasattr(jax, "enable_x64"):
        double = jax.enable_x64(True)
    else:  # before JAX 0.8
        from jax.experimental import enable_x64  # type: ignore[import-not-found]

        double = enable_x64()
    with double:
        yield jax


@functools.lru_cache(maxsize=128)
def _compiled(jax: Any, function: Callable[..., Any], what: str, i: int | None, j: int | None) -> Any:
    """One of the functions of (parameters, x, z[, weight]), compiled; data are arguments: a fit compiles once."""

    def one(parameters: dict[str, Any], x: Any, z: Any) -> Any:
        return function(x, z, **parameters)

    if i is not None:
        of_values = one
        one = lambda parameters, x, z: jax.grad(of_values, 1)(parameters, x, z)[i]  # noqa: E731
    if j is not None:
        of_slopes = one
        one = lambda parameters, x, z: jax.grad(of_slopes, 2)(parameters, x, z)[j]  # noqa: E731
    pairs = jax.vmap(jax.vmap(one, (None, None, 0)), (None, 0, None))
    along = jax.vmap(one, (None, 0, 0))

    def total(parameters: dict[str, Any], x: Any, z: Any, weight: Any) -> Any:
        return (weight * (pairs if weight.ndim == 2 else along)(parameters, x, z)).sum()

    pulled, moved = jax.grad(total, 0), jax.grad(total, 1)
    kinds = {"values": pairs, "diagonal": along, "pulled": pulled, "diagonal_pulled": pulled, "input": moved}
    return jax.jit(kinds[what])


def _padded(
    x: np.ndarray, z: np.ndarray, weight: np.ndarray | None = None
) -> Iterator[tuple[slice, int, np.ndarray, np.ndarray]]:
    """(rows, how many, x block, weights): blocks all of one shape, so that one compilation serves; padding weighs 0."""
    size = min(max(1, ENTRIES // max(len(z) * x.shape[1], 1)), max(len(x), 1))
    for start in range(0, len(x), size):
        rows = slice(start, min(start + size, len(x)))
        count = rows.stop - start
        block = np.concatenate([x[rows], np.repeat(x[rows][-1:], size - count, axis=0)])
        w = np.zeros((size, len(z)))
        if weight is not None:
            w[:count] = weight[rows]
        yield rows, count, block, w
