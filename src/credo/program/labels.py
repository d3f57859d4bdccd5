"""Group labels: text, numbers or dates, none missing, and their codes 0, 1, … among the levels of a dim."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from credo.errors import DataError, shown

__all__ = ["checked_labels", "codes_of", "kind_of", "unwrapped"]

_KINDS = {"b": "numbers", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "S": "bytes", "M": "dates"}


def unwrapped(value: Any) -> Any:
    """A column of pandas, polars or pyarrow as an array; anything else as it is."""
    if not hasattr(value, "to_numpy"):
        return value
    try:
        return value.to_numpy()
    except ValueError:  # pyarrow's text, bool and nulls need a copy, which it makes if told to
        return value.to_numpy(zero_copy_only=False)


def checked_labels(owner: str, value: Any) -> np.ndarray:
    """The labels as an array of one kind; a missing one, or two kinds together, are a `DataError` with their rows."""
    value = unwrapped(value)
    # NumPy would turn [1, "a"] and ["a", nan] into text before anyone could see what was given.
    raw = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=object)
    if not raw.size:
        raise DataError(f"{owner}: there are no labels.", value=value)
    gone = _missing(raw)
    if gone.any():
        raise DataError(f"{owner}: a group label is missing, in row {int(np.argwhere(gone)[0][0]) if raw.ndim else 0}.",
                        rows=np.flatnonzero(gone)[:20].tolist(), value=raw,
                        remedy="Drop those rows, or name the group.")  # fmt: skip
    if raw.dtype.kind != "O":
        return raw
    kinds: dict[str, Any] = {}
    for each in raw.ravel():
        kinds.setdefault(_kind(each), each)
    if len(kinds) > 1:
        told = " and ".join(f"{kind} ({shown(each, 30)})" for kind, each in kinds.items())
        raise DataError(f"{owner}: the labels are {told} together.", value=list(kinds.values()),
                        remedy="Write them all as text, or all as numbers.")  # fmt: skip
    if isinstance(raw.ravel()[0], (list, tuple, dict, set, np.ndarray)):
        raise DataError(f"{owner}: the labels are {next(iter(kinds))}.", value=value,
                        remedy="Give one text, number or date for each row.")  # fmt: skip
    return np.asarray(raw.tolist()) if set(kinds) <= {"text", "numbers"} else raw


def _missing(raw: np.ndarray) -> np.ndarray:
    if raw.dtype.kind != "O":
        return np.ma.getmaskarray(raw) | np.ma.getdata(raw != raw)
    return np.array([_is_missing(each) for each in raw.ravel()], dtype=bool).reshape(raw.shape)


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # pandas.NA compares as itself; a nested list is no label, but not missing
        return not isinstance(label, (list, tuple, np.ndarray))


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    return "numbers" if isinstance(label, (numbers.Real, np.bool_)) else f"of type {type(label).__name__}"


def kind_of(labels: np.ndarray) -> str:
    """ "numbers", "text", "dates" or the type's name."""
    return _kind(labels.ravel()[0]) if labels.dtype.kind == "O" else _KINDS.get(labels.dtype.kind, str(labels.dtype))


def codes_of(name: str, raw: np.ndarray, labels: np.ndarray, *, unseen: bool = False) -> np.ndarray:
    """Places of values among labels; a value that is none of them is a `DataError`, or −1 if `unseen`; values of
    another kind than the labels always are."""
    given, known = kind_of(raw), kind_of(labels)
    if given != known:
        raise DataError(
            f"{name}: the labels given are {given} ({shown(_plain(raw.ravel()[0]), 30)}), and those of the model are "
            f"{known} ({shown(_plain(labels[0]), 30)}).", value=raw, remedy="Give them as they were declared.",
        )  # fmt: skip
    order = np.argsort(labels, kind="stable")
    at = np.searchsorted(labels[order], raw)
    codes = order[np.minimum(at, len(labels) - 1)]
    bad = labels[codes] != raw
    if bad.any() and not unseen:
        first = _plain(raw[bad][0])
        raise DataError(f"{name}: {first!r} is not among the {len(labels)} levels declared.", value=raw[bad][:20])
    return np.where(bad, -1, codes).astype(np.int64)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
