"""`TableLayout`: all tables of a network end to end in one array, so that EM's steps are a few vector operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo.errors import ParameterError
from credo.models.network.learning.counts import DENSE_CELLS

__all__ = ["TableLayout"]


@dataclass(frozen=True, eq=False)
class TableLayout:
    """sizes, families : of each node; offsets (d + 1,) : where its table begins; starts : where each row of one does.

    strides[c] : {variable: step} in the table of c, for c and its parents
    """

    sizes: tuple[int, ...]
    families: tuple[tuple[int, ...], ...]
    strides: tuple[dict[int, int], ...]
    offsets: np.ndarray
    starts: np.ndarray
    widths: np.ndarray

    @classmethod
    def of(cls, names: Sequence[str], sizes: Sequence[int], families: Sequence[Sequence[int]]) -> TableLayout:
        """Raises `ParameterError` where a table has more numbers than can be held."""
        strides, offsets, starts, widths = [], [0], [], []
        for child, family in enumerate(families):
            steps, step = {}, 1
            for variable in (child, *reversed(tuple(family))):
                steps[variable] = step
                step *= sizes[variable]
            if step > DENSE_CELLS:
                raise ParameterError(
                    "", f"the table of {names[child]}", f"of ≤ {DENSE_CELLS} numbers", step, "Give it fewer parents."
                )
            strides.append(steps)
            starts.append(np.arange(offsets[-1], offsets[-1] + step, sizes[child]))
            widths.append(np.full(step // sizes[child], sizes[child]))
            offsets.append(offsets[-1] + step)
        return cls(
            tuple(sizes),
            tuple(tuple(family) for family in families),
            tuple(strides),
            np.array(offsets),
            np.concatenate(starts),
            np.concatenate(widths),
        )

    @property
    def n_cells(self) -> int:
        return int(self.offsets[-1])

    def normalised(self, concentration: np.ndarray) -> np.ndarray:
        """Every row divided by its sum; even where that is 0."""
        total = np.repeat(np.add.reduceat(concentration, self.starts), self.widths)
        even = np.repeat(1.0 / self.widths, self.widths)
        return np.divide(concentration, total, out=even, where=total > 0.0)

    def table(self, flat: np.ndarray, child: int) -> np.ndarray:
        """The table of a node, (\\*parents' sizes, own size); a view."""
        shape = [*(self.sizes[p] for p in self.families[child]), self.sizes[child]]
        return flat[self.offsets[child] : self.offsets[child + 1]].reshape(shape)

    def tables(self, flat: np.ndarray) -> list[np.ndarray]:
        return [self.table(flat, child) for child in range(len(self.sizes))]
