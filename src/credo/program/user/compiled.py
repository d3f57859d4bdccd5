"""A user's function compiled by JAX: values, values of many rows, and a value with its pull.

What is compiled is kept by function and by which arguments vary; JAX keeps one program for each set of shapes. Data are
arguments, never constants, so that other data of the same shapes need no compilation.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from credo.errors import MissingDependencyError

__all__ = ["linear", "rows", "shape_of", "value"]

Array = np.ndarray
Pattern = tuple[bool, ...]
# Rows are padded to one of these numbers, so that few programs serve all; and the most cells in flight.
BUCKETS, CELLS = (16, 64, 256, 1024), 2**21


@contextlib.contextmanager
def _double() -> Iterator[Any]:
    """JAX in float64, for the length of the block and this thread only."""
    jax = _jax()
    if hasattr(jax, "enable_x64"):
        double = jax.enable_x64(True)
    else:  # before JAX 0.8
        from jax.experimental import enable_x64  # type: ignore[import-not-found]

        double = enable_x64()
    with double:
        yield jax


def _jax() -> Any:
    try:
        import jax  # type: ignore[import-not-found]
    except ImportError:
        raise MissingDependencyError("jax", "programs", "A function of yours in a Model") from None
    return jax


def shape_of(function: Callable[..., Any], arguments: Sequence[tuple[tuple[int, ...], Any]]) -> tuple[int, ...]:
    """The shape of its value, from (shape, dtype) of the arguments; nothing is compiled or computed."""
    with _double() as jax:
        given = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in arguments]
        return tuple(jax.eval_shape(_as_array(function), *given).shape)


def value(function: Callable[..., Any], arguments: Sequence[Array]) -> Array:
    """function(*arguments), float64."""
    with _double():
        return np.asarray(_compiled(function, "value", ())(*arguments))


def rows(function: Callable[..., Any], arguments: Sequence[Array], lead: Sequence[bool], cells: int = 1) -> Array:
    """The values (n, …), of `cells` numbers each, at n rows of those arguments that have a leading axis."""
    n = next(len(a) for a, has in zip(arguments, lead) if has)
    with _double():
        many = _compiled(function, "rows", tuple(bool(has) for has in lead))
        largest = max(cells, *(a.size // max(n, 1) if has else a.size for a, has in zip(arguments, lead)))
        most = next((b for b in BUCKETS[::-1] if b * largest <= CELLS), BUCKETS[0])
        parts = []
        for start in range(0, n, most):
            count = min(most, n - start)
            size = next(b for b in BUCKETS if b >= count)
            at = np.minimum(np.arange(start, start + size), n - 1)
            block = [a[at] if has else a for a, has in zip(arguments, lead)]
            parts.append(np.asarray(many(*block))[:count])
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def linear(
    function: Callable[..., Any], arguments: Sequence[Array], varies: Pattern
) -> tuple[Array, Callable[[Array], list[Array | None]]]:
    """The value, and gradient by it → gradient by each argument, None for those that do not vary."""
    own = [a for a, has in zip(arguments, varies) if has]
    rest = [a for a, has in zip(arguments, varies) if not has]
    with _double():
        out, back = _compiled(function, "linear", varies)(own, rest)
        out = np.asarray(out)

    def pull(gradient: Array) -> list[Array | None]:
        with _double():
            if out.ndim:
                spread = np.asarray(np.broadcast_to(gradient, out.shape), dtype=np.float64)
                found = iter(_compiled(function, "pulled", varies)(back, spread))
            else:  # a number: its gradient came with it
                found = iter(np.asarray(gradient) * np.asarray(each) for each in back)
            return [np.asarray(next(found)) if has else None for has in varies]

    return out, pull


def _as_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """With a value of float64: a list of numbers is an array too."""

    def wrapped(*arguments: Any) -> Any:
        import jax.numpy as jnp  # type: ignore[import-not-found]

        return jnp.asarray(function(*arguments), dtype=float)

    return wrapped


@functools.lru_cache(maxsize=256)
def _compiled(function: Callable[..., Any], what: str, pattern: Pattern) -> Any:
    jax, plain = _jax(), _as_array(function)
    if what == "value":
        return jax.jit(plain)
    if what == "rows":
        return jax.jit(jax.vmap(plain, in_axes=tuple(0 if has else None for has in pattern)))
    if what == "pulled":
        return jax.jit(lambda back, gradient: back(gradient))

    def with_pull(own: Sequence[Any], rest: Sequence[Any]) -> tuple[Any, Any]:
        def of_own(*moved: Any) -> Any:
            moving, staying = iter(moved), iter(rest)
            return plain(*(next(moving) if has else next(staying) for has in pattern))

        out, back = jax.vjp(of_own, *own)
        return (out, back) if out.ndim else (out, back(np.ones(())))

    return jax.jit(with_pull)
