"""`Family`: the frozen record of parameters that every distribution is.

A family checks its parameters when they are concrete numbers; a model node or a JAX tracer passes through, so
that ``Normal(X @ w, sigma)`` works inside a model. Scalar families broadcast: parameters and arguments are
arrays of any compatible shapes, and every method works elementwise.

A subclass is a frozen dataclass with a `domain` (parameter → constraint) and these methods:

    support                 property
    log_prob(x)             log density or log mass, −inf outside the support, NaN for NaN
    cdf(x), quantile(q)     scalar families
    mean, variance, entropy properties; entropy in nats
    _draw(size, rng)        one array of shape size + batch_shape (+ event shape)
    fit, from_moments       class methods where they exist
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from credo.distributions.support import Support
from credo.errors import DataError, ParameterError, UnavailableError
from credo.numerics.namespace import is_jax
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = [
    "Constraint",
    "Family",
    "FINITE",
    "POSITIVE_VALUE",
    "NON_NEGATIVE_VALUE",
    "PROBABILITY",
    "CORRELATION",
    "is_concrete",
    "observations",
]


@dataclasses.dataclass(frozen=True)
class Constraint:
    """A sentence for the error message and the test behind it (array → elementwise bool)."""

    text: str
    holds: Callable[[np.ndarray], np.ndarray]


FINITE = Constraint("finite", np.isfinite)
POSITIVE_VALUE = Constraint("finite and > 0", lambda v: np.isfinite(v) & (v > 0))
NON_NEGATIVE_VALUE = Constraint("finite and ≥ 0", lambda v: np.isfinite(v) & (v >= 0))
PROBABILITY = Constraint("between 0 and 1", lambda v: (v >= 0) & (v <= 1))
CORRELATION = Constraint("between -1 and 1", lambda v: (v >= -1) & (v <= 1))


def is_concrete(value: Any) -> bool:
    """Whether `value` holds plain numbers, as opposed to a model node, a JAX array or None (to be learned)."""
    if value is None or is_jax(value) or getattr(value, "__array_ufunc__", True) is None:
        return False
    return isinstance(value, (int, float, complex, str, np.ndarray, np.generic, list, tuple))


class Family:
    """A parametric family at given parameters; see the module's docstring for the contract."""

    domain: ClassVar[dict[str, Constraint]] = {}
    #: parameters for which None is allowed and means "learned from the data"; only an estimator can use such a record
    learnable: ClassVar[tuple[str, ...]] = ()
    #: number of trailing axes of one value: 0 for scalar families, 1 for vectors, 2 for matrices
    event_ndim: ClassVar[int] = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__name__.startswith("_"):
            register(cls)  # every family can be saved

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name not in self.domain:
                continue
            if value is None:
                if field.name not in self.learnable:
                    raise ParameterError(type(self).__name__, field.name, self.domain[field.name].text, None)
                continue
            if not is_concrete(value):
                continue
            try:
                array = np.asarray(value)
                if array.dtype.kind not in "biuf":  # text that looks like a number is not one
                    raise TypeError(array.dtype)
                array = array.astype(np.float64, copy=False)
            except (TypeError, ValueError):
                raise ParameterError(
                    type(self).__name__, field.name, "a number or an array of numbers", value
                ) from None
            if not np.all(self.domain[field.name].holds(array)):
                raise ParameterError(type(self).__name__, field.name, self.domain[field.name].text, value)
            if isinstance(value, (list, tuple)):
                object.__setattr__(self, field.name, array)

    # -- what every family has ---------------------------------------------------------------------------------

    @property
    def support(self) -> Support:
        raise NotImplementedError

    def log_prob(self, x: Any) -> Any:
        raise NotImplementedError

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter name → value, in the order of the constructor."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of one draw without its event axes."""
        return np.broadcast_shapes(*(np.shape(value) for value in self.parameters.values() if value is not None))

    @property
    def sd(self) -> Any:
        """Standard deviation, √variance."""
        return np.sqrt(self.variance)  # type: ignore[attr-defined]

    def prob(self, x: Any) -> Any:
        """Density or mass, exp(log_prob(x))."""
        return np.exp(self.log_prob(x))

    def interval(self, mass: float = 0.9) -> tuple[Any, Any]:
        """Central interval holding `mass` of the probability: the quantiles (1 − mass)/2 and (1 + mass)/2."""
        if not 0.0 < mass < 1.0:
            raise ParameterError(type(self).__name__, "mass", "between 0 and 1 (exclusive)", mass)
        return self.quantile((1.0 - mass) / 2.0), self.quantile((1.0 + mass) / 2.0)  # type: ignore[attr-defined]

    def sample(self, size: int | tuple[int, ...] | None = None, rng: Any = None) -> Any:
        """Independent draws, shape `size` + `batch_shape` (+ event shape); `size=None` is one draw.

        `rng` is a seed, a `numpy.random.Generator` or None.
        """
        shape = () if size is None else (size,) if isinstance(size, (int, np.integer)) else tuple(size)
        return self._draw(shape, as_generator(rng))

    @classmethod
    def fit(cls, x: Any, weights: Any = None, prior: Any = None) -> Self:
        """Maximum likelihood, or maximum a posteriori with a `prior` over the parameters; `weights` count rows."""
        raise UnavailableError(f"{cls.__name__}.fit has no implementation for this family.")

    @classmethod
    def from_moments(cls, mean: Any, sd: Any) -> Self:
        """The member with this mean and standard deviation; infeasible moments are a `ParameterError`."""
        raise UnavailableError(f"{cls.__name__} is not determined by a mean and a standard deviation.")

    # -- identity: arrays compare by value, so that two equal records are equal ---------------------------------

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Family)
        return all(_same(a, b) for a, b in zip(self.parameters.values(), other.parameters.values(), strict=True))

    def __hash__(self) -> int:
        return hash((type(self), *(_key(value) for value in self.parameters.values())))


def _same(a: Any, b: Any) -> bool:
    if is_concrete(a) and is_concrete(b):
        return np.array_equal(a, b)
    return a is b or (isinstance(a, Family) and a == b)


def _key(value: Any) -> Any:
    """Equal values, equal keys: 1 and 1.0, 0.0 and -0.0 are the same parameter."""
    if is_concrete(value) and not isinstance(value, str):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return (array.shape, (array.astype(np.float64) + 0.0).tobytes())
    return hash(value) if isinstance(value, Family) else id(value)


def observations(owner: str, x: Any, weights: Any, support: Support) -> tuple[np.ndarray, np.ndarray]:
    """Checked 1-D data and weights for `fit`: finite, inside the support, not empty; weights ≥ 0 with a positive sum.

    Weight None is one a row. Raises `DataError` naming the first bad rows.
    """
    x = np.asarray(x, dtype=np.float64).ravel()
    if x.size == 0:
        raise DataError(f"{owner}.fit needs at least one observation.")
    weights = np.ones_like(x) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if weights.shape != x.shape:
        raise DataError(f"{owner}.fit: {weights.size} weights for {x.size} observations.")
    if not np.all(np.isfinite(weights) & (weights >= 0)) or weights.sum() <= 0:
        raise ParameterError(f"{owner}.fit", "weights", "finite, ≥ 0 and not all zero", weights)
    bad = np.flatnonzero(~(support.contains(x) & np.isfinite(x)))
    if bad.size:
        raise DataError(
            f"{owner}.fit: value {x[bad[0]]!r} in row {bad[0]} is outside the support ({bad.size} such rows).",
            rows=bad[:20].tolist(),
            value=x[bad[:20]],
        )
    return x, weights
