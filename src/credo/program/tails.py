"""Moments that do not exist: a summary of draws does not print them as if they did.

A scale whose prior is half-Cauchy, seen through two groups, has a posterior mean and no variance; a mean seen through
one row of unknown sd has neither. Averages of draws are finite all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from credo.diagnostics.tails import tail_shape
from credo.inference.draws import Summary

if TYPE_CHECKING:
    from credo.program.posterior import ModelPosterior

__all__ = ["without_endless_moments"]

# A mean exists below k = 1, an sd below ½; k̂ errs by 0.1 with 4,000 draws, so that 0.7 is hardly ever a law with one.
NO_MEAN, NO_SD = 1.0, 0.7
# Columns that say nothing where there is no sd.
OF_SD = ("sd", "mcse_mean", "mcse_sd")


def without_endless_moments(table: Summary, posterior: ModelPosterior) -> Summary:
    """The table with NaN for the moments that draws cannot tell, and a note for each node that has such."""
    shape = _shapes(posterior.values)
    no_sd, no_mean = shape >= NO_SD, shape >= NO_MEAN
    if not no_sd.any():
        return table
    columns = dict(table.columns)
    for name in OF_SD:
        columns[name] = np.where(no_sd, np.nan, columns[name])
    columns["mean"] = np.where(no_mean, np.nan, columns["mean"])
    notes = []
    for name in posterior.values:
        own = np.array([row == name or row.startswith(f"{name}[") for row in table.rows])
        worst = float(shape[own].max(initial=-np.inf))
        if worst >= NO_SD:
            what = "a mean or sd" if worst >= NO_MEAN else "an sd"
            entries = f", in {np.count_nonzero(no_sd & own)} of {own.sum()} entries" if own.sum() > 1 else ""
            notes.append(
                f"{name} may not have {what}: its draws fall off like a power, k̂ = {worst:.2f} (means exist below 1, "
                f"sds below ½){entries}. Read the median and the interval, or give a prior of shorter tails."
            )
    return Summary(table.rows, columns, (*table.notes, *notes))


def _shapes(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """k̂ of every entry, in the order of a summary's rows."""
    return np.concatenate([np.ravel(tail_shape(x.reshape(-1, *x.shape[2:]))) for x in values.values()])
