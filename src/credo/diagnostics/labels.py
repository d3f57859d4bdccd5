"""Class labels and their positions: what scores, predictives and losses of classes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["label_codes", "class_table"]


def label_codes(classes: np.ndarray, labels: Any, owner: str = "labels") -> np.ndarray:
    """Position in `classes` (k,) of each label, any shape; a scalar gives a 0-d array.

    A label that is not a class raises `DataError` naming the first rows: its probability is not small, the
    model has no opinion about it. Cost O(number of labels).

    >>> label_codes(np.array(["no", "yes"]), ["yes", "no"]).tolist()
    [1, 0]
    """
    labels = np.asarray(labels)
    position = {label: i for i, label in enumerate(np.asarray(classes).tolist())}
    codes = np.array([position.get(label, -1) for label in labels.ravel().tolist()], dtype=np.intp)
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        value = labels.ravel().tolist()[bad[0]]
        raise DataError(
            f"{owner}: {value!r} in row {bad[0]} is not one of the classes {list(position)[:10]} "
            f"({bad.size} such rows).",
            rows=bad[:20].tolist(),
            value=value,
            remedy="Fit with every class present, or drop these rows.",
        )
    return codes.reshape(labels.shape)


def class_table(predictive: Any, classes: Any = None, owner: str = "probabilities") -> tuple[np.ndarray, np.ndarray]:
    """(probabilities (n, k), classes (k,)) of a class predictive, or of a checked array.

    An array (n,) is P(second class) of two; `classes` default to 0..k−1 for arrays.
    """
    if hasattr(predictive, "probabilities"):
        return predictive.probabilities, predictive.classes
    table = np.asarray(predictive, dtype=np.float64)
    if table.ndim == 1:
        table = np.column_stack([1.0 - table, table])
    if table.ndim != 2 or not np.all((table >= 0) & (table <= 1)) or np.any(np.abs(table.sum(axis=1) - 1) > 1e-5):
        # 1e-5: float32 probabilities of a thousand classes sum to one no better than this.
        raise ParameterError("", owner, "probabilities (rows, classes) whose rows sum to 1", predictive)
    classes = np.arange(table.shape[1]) if classes is None else np.asarray(classes)
    if classes.shape != (table.shape[1],):
        raise ParameterError("", "classes", f"{table.shape[1]} labels, one per column of probabilities", classes)
    return table, classes
