"""What a singular precision leaves undetermined, told by its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from credo.errors import NotIdentifiedError

__all__ = ["not_identified"]

# Columns up to which all eigenvectors are computed.
LARGEST_DENSE = 1500
# Columns whose share in the null direction is beyond this part of the largest are named.
SHARE = 1e-3


def not_identified(matrix: Any, name: str) -> NotIdentifiedError:
    """The error for a singular H (p, p), sparse; its `value` holds the columns of a null direction of H, scaled."""
    columns = null_columns(matrix)
    shown = ", ".join(map(str, columns[:8])) + (", ..." if len(columns) > 8 else "")
    one = len(columns) == 1
    what = f"latent column {shown} is" if one else f"a combination of the latent columns {shown} is"
    return NotIdentifiedError(
        f"{name}: {what} not determined by the rows and priors given: the posterior is improper.",
        value=columns,
        remedy="Give it a proper prior, or leave out a column." if one else "Give them proper priors, or drop one.",
    )


def null_columns(matrix: Any) -> np.ndarray:
    """Columns that take part in the direction of least precision, after scaling to a unit diagonal."""
    diagonal = matrix.diagonal()
    empty = np.flatnonzero(~(diagonal > 0.0))
    if len(empty):
        return empty
    scale = 1.0 / np.sqrt(diagonal)
    scaled = scipy.sparse.diags_array(scale) @ matrix @ scipy.sparse.diags_array(scale)
    if matrix.shape[0] <= LARGEST_DENSE:
        direction = np.linalg.eigh(scaled.toarray())[1][:, 0]
    else:
        from scipy.sparse.linalg import splu  # takes long to import, and only this error needs it

        solver = splu((scaled + 1e-9 * scipy.sparse.eye_array(matrix.shape[0])).tocsc())
        direction = np.cos(np.arange(matrix.shape[0]))  # any start that is not orthogonal to it
        for _ in range(4):
            direction = solver.solve(direction)
            direction /= np.linalg.norm(direction)
    size = np.abs(direction)
    return np.flatnonzero(size > SHARE * size.max())
