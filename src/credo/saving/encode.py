"""Object → JSON tree and a list of arrays.

The tree is JSON's own null, booleans, numbers, strings and lists; anything else is an object with one key,
the tag that `decode` knows:

    {"float": "nan"}  {"int": "0x…"}  {"complex": [re, im]}  {"bytes": base64}  {"fraction": [n, d]}
    {"datetime": [iso, fold]}  {"date": iso}  {"tuple": […]}  {"set": […]}  {"frozenset": […]}
    {"dict": {…}} (all keys strings)  {"pairs": [[key, value]…]} (other keys)
    {"scalar": [dtype, value]}  {"array": index}  {"objects": [shape, […]]} (an object array)
    {"sparse": {kind, shape, data, indices, indptr}}  {"generator": {…}}  {"object": {class, version, state}}
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import fractions
import json
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from credo.errors import SaveError, shown
from credo.saving.npy import is_saved
from credo.saving.registry import entry_of, state_of

__all__ = ["Encoder", "MAX_DEPTH", "SPARSE_KINDS", "json_bytes"]

# Far beyond any model; three JSON levels a step stay well inside Python's default recursion limit of 1000.
MAX_DEPTH = 100

SPARSE_KINDS = ("csr_array", "csr_matrix", "csc_array", "csc_matrix")

_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, np.ufunc, type)


def json_bytes(tree: Any) -> bytes:
    """The one spelling of a tree: no spaces, keys in their order, UTF-8."""
    return json.dumps(tree, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


class Encoder:
    """Encodes values; `arrays` collects the arrays that the trees point to, each object once."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._index: dict[int, int] = {}
        self._open: dict[int, str] = {}

    def encode(self, value: Any, path: str) -> Any:
        """The tree of `value`; `path` names it in errors. `SaveError` for what has no data form."""
        kind = type(value)
        if kind in _LEAVES:
            return _LEAVES[kind](value, path)
        if isinstance(value, np.generic):
            return _scalar(value, path)
        with self._entered(value, path):
            if kind in _BRANCHES:
                return _BRANCHES[kind](self, value, path)
            if entry_of(kind) is not None:
                return self._object(value, path)
            if kind.__name__ in SPARSE_KINDS and kind.__module__.startswith("scipy.sparse"):
                return self._sparse(value, path)
        raise _refusal(value, path)

    @contextlib.contextmanager
    def _entered(self, value: Any, path: str) -> Iterator[None]:
        key = id(value)
        if key in self._open:
            raise SaveError(f"{path} refers back to {self._open[key]}: a cycle.", value=path)
        if len(self._open) >= MAX_DEPTH:
            raise SaveError(f"{path} is nested more than {MAX_DEPTH} levels deep.", value=path)
        self._open[key] = path
        try:
            yield
        finally:
            del self._open[key]

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.encode(value, f"{path}[{i}]") for i, value in enumerate(values)]

    def _unordered(self, values: Any, path: str) -> list[Any]:
        """Sorted by spelling: a set's own order changes from one process to the next."""
        return sorted((self.encode(value, f"{path}{{…}}") for value in values), key=json_bytes)

    def _dict(self, value: dict[Any, Any], path: str) -> Any:
        if all(type(key) is str for key in value):
            return {"dict": {_text(k, path): self.encode(v, f"{path}[{k!r}]") for k, v in value.items()}}
        named = ((key, item, f"{path}[{shown(key)}]") for key, item in value.items())
        return {"pairs": [[self.encode(key, f"key {at}"), self.encode(item, at)] for key, item, at in named]}

    def _array(self, value: np.ndarray, path: str) -> Any:
        if value.dtype.kind == "O":
            return {"objects": [list(value.shape), self._items(value.flat, path)]}
        if not is_saved(value.dtype):
            remedy = "Save its fields as separate arrays." if value.dtype.names else "Convert it with astype first."
            raise SaveError(f"{path} is an array of unsaved type {value.dtype}.", value=path, remedy=remedy)
        if id(value) not in self._index:  # `arrays` keeps the object alive, so that its id stays its own
            self._index[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return {"array": self._index[id(value)]}

    def _sparse(self, value: Any, path: str) -> Any:
        parts = {name: self._array(getattr(value, name), f"{path}.{name}") for name in ("data", "indices", "indptr")}
        return {"sparse": {"kind": type(value).__name__, "shape": [int(n) for n in value.shape], **parts}}

    def _generator(self, value: Any, path: str) -> Any:
        """Its state, and its seed sequence if it has one: `spawn` after loading gives the same children."""
        bits = value._bit_generator
        legacy = isinstance(value, np.random.RandomState)
        seed = getattr(bits, "seed_seq", None)
        parts = {
            "kind": type(value).__name__,
            "bits": type(bits).__name__,
            "state": value.get_state(legacy=False) if legacy else bits.state,
            "seed": seed.state if isinstance(seed, np.random.SeedSequence) else None,
        }
        return {"generator": {name: self.encode(part, f"{path}.{name}") for name, part in parts.items()}}

    def _object(self, value: Any, path: str) -> Any:
        entry = entry_of(type(value))
        assert entry is not None
        state = state_of(value)
        if type(state) is not dict or not all(type(name) is str for name in state):
            raise SaveError(f"{path}: the state of {entry.name} must be a dict with text keys.", value=state)
        encoded = {_text(name, path): self.encode(item, f"{path}.{name}") for name, item in state.items()}
        return {"object": {"class": entry.name, "version": entry.version, "state": encoded}}


def _refusal(value: Any, path: str) -> SaveError:
    if isinstance(value, _CODE):
        what = getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__name__)
        return SaveError(
            f"{path} is code ({type(value).__name__} {what!r}): a Credo file holds data only.",
            value=value,
            remedy="Use one of Credo's own named objects there, or save the draws or predictions instead.",
        )
    cls = type(value)
    return SaveError(
        f"{path} is a {cls.__module__}.{cls.__qualname__}, which has no data form.",
        value=value,
        remedy=_REMEDIES.get(cls.__name__, "Register its class with credo.saving.register."),
    )


_REMEDIES = {
    "MaskedArray": "Save its data and its mask.",
    "DataFrame": "Save its columns as arrays, or write it as Parquet.",
    **dict.fromkeys(("coo_array", "coo_matrix", "lil_array", "lil_matrix", "dok_array"), "Call .tocsr() first."),
}


def _text(value: str, path: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise SaveError(f"{path} holds a lone surrogate, which UTF-8 cannot.", value=value) from None
    return value


def _int(value: int, path: str) -> Any:
    # Beyond 2**53 other readers of JSON round; hexadecimal is exact, and linear in the digits.
    return value if abs(value) <= 2**53 else {"int": hex(value)}


def _float(value: float, path: str) -> Any:
    return value if -np.inf < value < np.inf else {"float": repr(value)}


def _scalar(value: np.generic, path: str) -> Any:
    """A NumPy scalar, readable where Python has the same value, else by its bytes in hexadecimal."""
    if not is_saved(value.dtype):
        raise SaveError(f"{path} is a scalar of type {value.dtype}, which is not saved.", value=value)
    item = value.item()
    if value.dtype.kind in "mM" or type(item) not in _LEAVES:
        little = np.asarray(value, dtype=value.dtype.newbyteorder("<"))
        return {"scalar": [little.dtype.str, {"bytes": base64.b64encode(little.tobytes()).decode("ascii")}]}
    return {"scalar": [value.dtype.newbyteorder("<").str, _LEAVES[type(item)](item, path)]}


def _datetime(value: datetime.datetime, path: str) -> Any:
    if value.tzinfo is not None and type(value.tzinfo) is not datetime.timezone:
        raise SaveError(
            f"{path} is a time in the zone {value.tzinfo!s}; only UTC and fixed offsets are saved.",
            value=value,
            remedy="Convert it with .astimezone(datetime.timezone.utc).",
        )
    return {"datetime": [value.isoformat(), value.fold]}


_LEAVES: dict[type, Callable[[Any, str], Any]] = {
    type(None): lambda value, path: value,
    bool: lambda value, path: value,
    int: _int,
    float: _float,
    str: _text,
    complex: lambda value, path: {"complex": [_float(value.real, path), _float(value.imag, path)]},
    bytes: lambda value, path: {"bytes": base64.b64encode(value).decode("ascii")},
    fractions.Fraction: lambda v, path: {"fraction": [_int(v.numerator, path), _int(v.denominator, path)]},
    datetime.datetime: _datetime,
    datetime.date: lambda value, path: {"date": value.isoformat()},
}

_BRANCHES: dict[type, Callable[[Encoder, Any, str], Any]] = {
    list: Encoder._items,
    tuple: lambda encoder, value, path: {"tuple": encoder._items(value, path)},
    dict: Encoder._dict,
    set: lambda encoder, value, path: {"set": encoder._unordered(value, path)},
    frozenset: lambda encoder, value, path: {"frozenset": encoder._unordered(value, path)},
    np.ndarray: Encoder._array,
    np.memmap: Encoder._array,
    np.random.Generator: Encoder._generator,
    np.random.RandomState: Encoder._generator,
}
