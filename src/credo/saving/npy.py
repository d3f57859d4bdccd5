"""One array ↔ one `.npy` member, in chunks: an array of 100 MB passes without a second copy of it.

Version 1.0 of NumPy's format, little-endian, in C or Fortran order as the array is; `numpy.load` reads it.
Reading never unpickles or evaluates, and asks for memory only once header, shape and the member's size agree.

Reference: NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, Protocol

import numpy as np

from credo.errors import FileFormatError

__all__ = ["NpyMember", "check_contents", "dtype_from_text", "is_saved", "read_npy"]

_KINDS = "biufcSUmM"  # kinds whose bytes are their whole meaning: O holds pointers, V other types
CHUNK = 1 << 20  # bytes; small beside any array worth chunking, large beside the cost of a call

_DTYPE = re.compile(r"[<|][biufcSUmM]\d{0,9}(\[\d{0,9}[A-Za-z]{1,7}\])?", re.ASCII)

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([^']{2,40})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,19}, ?)*(?:\d{1,19})?)\), \} *\n"
)


class Digest(Protocol):
    def update(self, data: Any, /) -> None: ...


def is_saved(dtype: np.dtype) -> bool:
    """Whether arrays of this type mean the same everywhere: long double does not, and is padded."""
    return dtype.kind in _KINDS and dtype.char not in "gG"


class NpyMember:
    """An array ready to be written: `size` bytes, delivered by `chunks()`; copied only if not contiguous."""

    def __init__(self, array: np.ndarray) -> None:
        array = np.asarray(array, dtype=array.dtype.newbyteorder("<"))
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self._array = np.asarray(array, order="F" if fortran else "C")
        self._header = _header(array.dtype.str, fortran, array.shape)
        self.size = len(self._header) + array.nbytes

    def chunks(self) -> Iterator[bytes | memoryview]:
        yield self._header
        data = _memory(self._array)
        for start in range(0, len(data), CHUNK):
            yield data[start : start + CHUNK]


def _header(descr: str, fortran: bool, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    padding = -(len(_MAGIC) + 2 + len(text) + 1) % 64  # the format aligns the data to 64 bytes
    text += " " * padding + "\n"
    return _MAGIC + len(text).to_bytes(2, "little") + text.encode("ascii")


def _memory(array: np.ndarray) -> memoryview:
    """The bytes of a contiguous array in the order of its memory."""
    return (array if array.flags.c_contiguous else array.T).reshape(-1).view(np.uint8).data


def read_npy(stream: BinaryIO, size: int, digest: Digest) -> np.ndarray:
    """The array in a member of `size` bytes, feeding every byte read to `digest`."""
    prefix = stream.read(len(_MAGIC) + 2)
    header = stream.read(int.from_bytes(prefix[-2:], "little"))
    match = _HEADER.fullmatch(header)
    if not prefix.startswith(_MAGIC) or match is None:
        raise FileFormatError("An array's header was not written by Credo.", value=header[:200])
    digest.update(prefix)
    digest.update(header)
    dtype = dtype_from_text(match[1].decode("latin-1"))
    shape = tuple(int(digits) for digits in match[3].split(b",") if digits.strip())
    if math.prod(shape) * dtype.itemsize != size - len(prefix) - len(header):
        raise FileFormatError(
            f"An array {shape} of {dtype} does not fit its member of {size} bytes.",
            value=shape,
        )
    array = np.empty(shape, dtype, order="F" if match[2] == b"True" else "C")
    data = _memory(array)
    for start in range(0, len(data), CHUNK):
        part = data[start : start + CHUNK]
        if stream.readinto(part) != len(part):  # type: ignore[attr-defined]  # every zip member has it
            raise FileFormatError("An array ends early: the file is damaged.", value=shape)
        digest.update(part)
    return check_contents(array.astype(dtype.newbyteorder("="), copy=False))


def check_contents(array: np.ndarray) -> np.ndarray:
    """Refuse bytes that no bool and no character has: NumPy would trust them."""
    word, largest = {"b": (np.uint8, 1), "U": (np.uint32, 0x10FFFF)}.get(array.dtype.kind, (None, 0))
    if word is not None and array.size and np.frombuffer(_memory(array), word).max() > largest:
        raise FileFormatError(f"An array of type {array.dtype} holds bytes that are none of its values.")
    return array


def dtype_from_text(text: str) -> np.dtype:
    """The dtype of a stored name such as ``<f8``; `FileFormatError` unless it is one that Credo writes."""
    try:
        dtype = np.dtype(text) if _DTYPE.fullmatch(text) else None
    except TypeError:
        dtype = None
    if dtype is None or not is_saved(dtype) or dtype.str != text:
        raise FileFormatError(f"Credo writes no array of type {text!r}.", value=text)
    return dtype
