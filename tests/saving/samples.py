"""What the saving tests share: strict equality, registered classes of each shape, and strategies."""

from __future__ import annotations

import dataclasses
import datetime
import fractions
import struct
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from credo.saving import register


@register
@dataclasses.dataclass(frozen=True)
class Record:
    name: str
    value: Any = None
    square: Any = dataclasses.field(init=False, default=None)


@register
class Pair(NamedTuple):
    left: Any
    right: Any


@register
class Plain:
    """Supplies its own state; version 2 renamed `old` to `new`."""

    def __init__(self, new: Any) -> None:
        self.new = new

    def state(self) -> dict[str, Any]:
        return {"new": self.new}

    @classmethod
    def from_state(cls, state: dict[str, Any], version: int) -> Plain:
        return cls(state["old"] if version == 1 else state["new"])


register(Plain, version=2)


@register
class Estimator:
    """Shaped like scikit-learn's."""

    def __init__(self, kernel: Any = None, tol: float = 1e-3) -> None:
        self.kernel = kernel
        self.tol = tol

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"kernel": self.kernel, "tol": self.tol}

    def fit(self, x: np.ndarray) -> Estimator:
        self.coef_ = x.mean(axis=0)
        self._cache = object()
        return self


def same(a: Any, b: Any) -> bool:
    """Equal in type, order, bits and memory layout."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return False
        if a.dtype == object:
            return all(same(x, y) for x, y in zip(a.flat, b.flat, strict=True))
        return a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, (set, frozenset)):
        return len(a) == len(b) and all(any(same(x, y) for y in b) for x in a)
    if scipy.sparse.issparse(a):
        return a.shape == b.shape and all(same(getattr(a, n), getattr(b, n)) for n in ("data", "indices", "indptr"))
    if isinstance(a, (Record, Plain, Estimator)):
        hidden = {"_cache"}
        mine, theirs = ({k: v for k, v in vars(x).items() if k not in hidden} for x in (a, b))
        return same(mine, theirs)
    return bool(a == b)


text = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.one_of(
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.complex_numbers(),
    st.fractions(),
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    numbers,
    text,
    st.binary(max_size=8),
    st.dates(),
    st.datetimes(timezones=st.one_of(st.none(), st.just(datetime.UTC))),
)
keys = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.frozensets(inner, max_size=3)),
    max_leaves=4,
)
dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="="),
    hnp.unsigned_integer_dtypes(endianness="="),
    hnp.floating_dtypes(endianness="="),
    hnp.complex_number_dtypes(endianness="="),
    hnp.datetime64_dtypes(endianness="="),
    hnp.timedelta64_dtypes(endianness="="),
    hnp.unicode_string_dtypes(endianness="=", max_len=4),
    hnp.byte_string_dtypes(max_len=4),
)
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
)
scalars = arrays.filter(lambda array: array.size > 0).map(lambda array: array.reshape(-1)[0])
values = st.recursive(
    st.one_of(leaves, arrays, scalars),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(text, inner, max_size=3),
        st.dictionaries(keys, inner, max_size=3),
        st.sets(keys, max_size=3),
        st.builds(Record, text, inner),
        st.builds(Pair, inner, inner),
        st.builds(Plain, inner),
        st.builds(Estimator, inner),
    ),
    max_leaves=12,
)


def rich_model() -> Estimator:
    """One of everything, for the fuzz."""
    rng = np.random.default_rng(7)
    model = Estimator(
        kernel=Record("rbf", {"scale": 0.3, (1, "a"): [True, None, 2**70, float("nan")], "set": {3, 1, 2}}),
        tol=1e-9,
    ).fit(rng.normal(size=(20, 4)))
    model.names_ = np.array(["x", "ψ", "long name"])
    model.classes_ = np.array(["a", None, 3], dtype=object)
    model.counts_ = scipy.sparse.csr_array(rng.poisson(0.5, size=(6, 5)))
    model.when_ = [
        datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC),
        fractions.Fraction(1, 3),
        1 - 2j,
        b"\0\xff",
    ]
    model.pair_ = Pair(np.float32(0.1), np.datetime64("2020-01-01", "D"))
    model.rng_ = np.random.default_rng(3)
    return model
