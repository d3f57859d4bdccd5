"""JSON tree and arrays → object, trusting nothing: an unknown tag, or contents of a wrong type, is an error.

Nothing here evaluates or unpickles; names from the file select from fixed lists and the registry.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import fractions
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from credo.errors import FileFormatError
from credo.saving.encode import MAX_DEPTH, SPARSE_KINDS
from credo.saving.npy import check_contents, dtype_from_text
from credo.saving.registry import find, rebuild

__all__ = ["Decoder", "parse_json"]


def parse_json(data: bytes) -> Any:
    """Strict JSON: UTF-8, no NaN literals; `FileFormatError` otherwise."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"The file's description is not valid JSON ({error}).") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def expect(value: Any, *kinds: type) -> Any:
    """`value`, if it is exactly of one of these types."""
    if type(value) not in kinds:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise FileFormatError(f"Expected {names} in the file, found {type(value).__name__}.", value=value)
    return value


class Decoder:
    """Decodes trees; `read_array(index)` supplies the arrays, each read once and shared as when saved."""

    def __init__(self, read_array: Callable[[int], np.ndarray]) -> None:
        self._read_array = read_array
        self._arrays: dict[int, np.ndarray] = {}
        self._depth = 0

    @property
    def n_arrays(self) -> int:
        """How many different arrays have been read."""
        return len(self._arrays)

    def decode(self, tree: Any) -> Any:
        """The object of a tree; `FileFormatError` for anything that `Encoder` does not write."""
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        self._depth += 1
        if self._depth > MAX_DEPTH + 1:
            raise FileFormatError(f"The file nests values more than {MAX_DEPTH} levels deep.")
        try:
            if type(tree) is list:
                return self._items(tree)
            if type(tree) is not dict or len(tree) != 1:
                raise FileFormatError("The file holds a value without a tag.", value=tree)
            ((tag, payload),) = tree.items()
            if tag not in _TAGS:
                raise FileFormatError(f"The file holds a value with the unknown tag {tag!r}.", value=tag)
            return _TAGS[tag](self, payload)
        finally:
            self._depth -= 1

    def _items(self, payload: Any) -> list[Any]:
        return [self.decode(item) for item in expect(payload, list)]

    def _dict(self, payload: Any) -> dict[str, Any]:
        return {key: self.decode(value) for key, value in expect(payload, dict).items()}

    def _pairs(self, payload: Any) -> dict[Any, Any]:
        return {self.decode(key): self.decode(value) for key, value in expect(payload, list)}

    def _scalar(self, payload: Any) -> np.generic:
        text, value = payload
        dtype, item = dtype_from_text(expect(text, str)), self.decode(value)
        if type(item) is bytes and dtype.kind != "S":
            array = np.frombuffer(item, dtype).astype(dtype.newbyteorder("="))
            if array.shape != (1,):
                raise FileFormatError(f"A scalar of type {text} has {len(item)} bytes.", value=item)
            return check_contents(array)[0]
        with np.errstate(over="ignore"):
            scalar = dtype.type(expect(item, _PYTHON[dtype.kind]))
        if scalar.item() != item and item == item:
            raise FileFormatError(f"{item!r} is no value of type {text}.", value=item)
        return scalar

    def _array(self, payload: Any) -> np.ndarray:
        index = expect(payload, int)
        if index not in self._arrays:
            self._arrays[index] = self._read_array(index)
        return self._arrays[index]

    def _objects(self, payload: Any) -> np.ndarray:
        shape, items = payload
        items = self._items(items)
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # one by one: a slice would spread lists of equal length
            array[i] = item
        return array.reshape([expect(n, int) for n in shape])

    def _sparse(self, payload: Any) -> Any:
        import scipy.sparse

        kind = expect(payload["kind"], str)
        if kind not in SPARSE_KINDS:
            raise FileFormatError(f"Credo writes no sparse matrix of kind {kind!r}.", value=kind)
        parts = tuple(self._array(expect(payload[name], dict)["array"]) for name in ("data", "indices", "indptr"))
        shape = tuple(expect(n, int) for n in payload["shape"])
        matrix = getattr(scipy.sparse, kind)(parts, shape=shape)
        matrix.check_format(full_check=True)  # compiled code would follow an index out of the arrays
        return matrix

    def _generator(self, payload: Any) -> Any:
        parts = self._dict(payload)
        legacy = parts["kind"] == "RandomState"
        if parts["kind"] not in ("Generator", "RandomState") or parts["bits"] not in _BIT_GENERATORS:
            raise FileFormatError("The file holds an unknown random generator.", value=parts["bits"])
        seed = parts["seed"]
        if seed is not None and seed["pool_size"] > MAX_POOL:
            raise FileFormatError("The file holds a random generator of impossible size.", value=seed["pool_size"])
        seed = 0 if seed is None else np.random.SeedSequence(**seed)
        bits = getattr(np.random, parts["bits"])(seed)
        if legacy:
            state = np.random.RandomState(bits)
            state.set_state(parts["state"])
            return state
        bits.state = parts["state"]
        return np.random.Generator(bits)

    def _object(self, payload: Any) -> Any:
        name, version, state = (expect(payload, dict)[key] for key in ("class", "version", "state"))
        return rebuild(find(expect(name, str)), self._dict(state), expect(version, int))


MAX_POOL = 1024  # words; NumPy's default is 4, and more than 256 serves nobody
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")

#: dtype kind → the Python type of a readable scalar
_PYTHON = {"b": bool, "i": int, "u": int, "f": float, "c": complex, "S": bytes, "U": str}


def _bytes(decoder: Decoder, payload: Any) -> bytes:
    try:
        return base64.b64decode(expect(payload, str).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise FileFormatError("The file holds damaged base64 text.") from error


def _float(decoder: Decoder, payload: Any) -> float:
    if payload not in ("nan", "inf", "-inf"):
        raise FileFormatError("The file holds a damaged number.", value=payload)
    return float(payload)


def _complex(decoder: Decoder, payload: Any) -> complex:
    real, imaginary = (expect(decoder.decode(part), float) for part in payload)
    return complex(real, imaginary)


def _fraction(decoder: Decoder, payload: Any) -> fractions.Fraction:
    numerator, denominator = (expect(decoder.decode(part), int) for part in payload)
    return fractions.Fraction(numerator, denominator)


def _datetime(decoder: Decoder, payload: Any) -> datetime.datetime:
    text, fold = payload
    return datetime.datetime.fromisoformat(expect(text, str)).replace(fold=expect(fold, int))


_TAGS: dict[str, Callable[[Decoder, Any], Any]] = {
    "int": lambda decoder, payload: int(expect(payload, str), 16),
    "float": _float,
    "complex": _complex,
    "bytes": _bytes,
    "fraction": _fraction,
    "datetime": _datetime,
    "date": lambda decoder, payload: datetime.date.fromisoformat(expect(payload, str)),
    "tuple": lambda decoder, payload: tuple(decoder._items(payload)),
    "set": lambda decoder, payload: set(decoder._items(payload)),
    "frozenset": lambda decoder, payload: frozenset(decoder._items(payload)),
    "dict": Decoder._dict,
    "pairs": Decoder._pairs,
    "scalar": Decoder._scalar,
    "array": Decoder._array,
    "objects": Decoder._objects,
    "sparse": Decoder._sparse,
    "generator": Decoder._generator,
    "object": Decoder._object,
}
