"""One density formula for NumPy and JAX: `namespace(x, ...)` returns the functions to use on these arrays.

A namespace offers what the densities need: NumPy's elementwise functions by their NumPy names and, under
`special`, the special functions by their SciPy names. JAX is never imported here unless one of the
arguments is already a JAX array or tracer.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import scipy  # which imports `scipy.special` when first asked for it: small models never do

__all__ = ["namespace", "is_jax"]


def is_jax(value: Any) -> bool:
    """Whether `value` is a JAX array or tracer (False, at no cost, while JAX is not loaded)."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


class Namespace(SimpleNamespace):
    """`xp.exp`, `xp.where`... from the array module; `xp.special.gammaln`... from its special functions."""

    def __init__(self, module: ModuleType, library: ModuleType, name: str) -> None:
        super().__init__(name=name)
        self._module, self._library = module, library

    @property
    def special(self) -> Any:
        return self.__dict__["_library"].special

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.__dict__["_module"], attribute)


_NUMPY = Namespace(np, scipy, "numpy")
_JAX: Namespace | None = None


def namespace(*values: Any) -> Namespace:
    """The namespace of the arguments: JAX if any of them is a JAX array, else NumPy.

    >>> namespace(1.0).name
    'numpy'
    """
    if any(is_jax(value) for value in values):
        global _JAX
        if _JAX is None:
            import jax.numpy  # type: ignore[import-not-found]  # the extra `programs`; already loaded by the caller
            import jax.scipy.special  # type: ignore[import-not-found]

            _JAX = Namespace(jax.numpy, jax.scipy, "jax")
        return _JAX
    return _NUMPY
