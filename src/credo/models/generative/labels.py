"""Class labels → codes 0 … k − 1, in the order of `np.unique`; −1 where the label is missing (None or NaN)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from credo.errors import DataError

__all__ = ["encode_labels", "coded"]

# Whole numbers in a range this small are counted rather than sorted: O(n) instead of O(n log n).
_SMALL_RANGE = 2**16


def encode_labels(owner: str, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """(classes (k,), codes (n,)) of labels.

    Raises
    ------
    DataError : no label at all, or targets that are not classes (ValueError for those, as scikit-learn says it).
    """
    y, missing = _labels(owner, y)
    if not missing.any():
        check_cheaply(y)
        return _unique(y)
    if missing.all():
        raise DataError(f"{owner}.fit: every label is missing.", value=None, remedy="Label some rows of each class.")
    known = y[~missing]
    if known.dtype == object:
        known = np.asarray(known.tolist())
    check_cheaply(known)
    classes, seen = _unique(known)
    codes = np.full(len(y), -1, dtype=np.intp)
    codes[~missing] = seen
    return _narrowed(classes), codes


def coded(owner: str, y: Any, classes: np.ndarray) -> np.ndarray:
    """Codes (n,) of labels that are all among `classes`.

    Raises
    ------
    DataError : a label that is not.
    """
    y, missing = _labels(owner, y)
    codes = np.full(len(y), -1, dtype=np.intp)
    known = y[~missing]
    if known.dtype == object and len(known):
        known = np.asarray(known.tolist())
    found, inverse = _unique(known) if len(known) else (classes[:0], codes[:0])
    strange = found[~np.isin(found, classes)]
    if strange.size:
        raise DataError(
            f"{owner}: The target label(s) {strange} in y do not exist in the initial classes {classes}.",
            value=strange.tolist(),
            remedy="Name every class in `classes` at the first call of partial_fit.",
        )
    codes[~missing] = np.searchsorted(classes, found)[inverse]
    return codes


def check_cheaply(y: np.ndarray) -> None:
    """scikit-learn's check of classification targets, which whole numbers and booleans always pass."""
    if y.dtype.kind not in "iub":
        check_classification_targets(y)


def _labels(owner: str, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) and whether each is missing."""
    if y is None:
        raise DataError(
            f"{owner} requires y to be passed, but the target y is None.",
            value=None,
            remedy="Rows without a label have None or NaN in y.",
        )
    y = column_or_1d(y, warn=True)
    if y.dtype == object:
        return y, np.array([label is None or label != label for label in y], dtype=bool)
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise DataError(
                f"{owner}: Input y contains infinity or a value too large for {y.dtype!r}.",
                rows=np.flatnonzero(np.isinf(y))[:20].tolist(),
            )
        return y, np.isnan(y)
    return y, np.zeros(len(y), dtype=bool)


def _unique(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if y.dtype.kind in "iu" and y.size:
        low, high = int(y.min()), int(y.max())
        if high - low < _SMALL_RANGE:
            shifted = (y - low).astype(np.intp) if low else y.astype(np.intp, copy=False)
            present = np.bincount(shifted) > 0
            classes = (np.flatnonzero(present) + low).astype(y.dtype)
            return classes, shifted if present.all() else (np.cumsum(present) - 1)[shifted]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.ravel()


def _narrowed(classes: np.ndarray) -> np.ndarray:
    """Whole numbers that were floats only because some label was NaN become integers again."""
    if classes.dtype.kind == "f" and np.all(classes == np.round(classes)):
        return classes.astype(np.int64)
    return classes
