"""`cr.noise`: how outcomes scatter around a regression's prediction. The noise is the loss.

A noise record states a *scale* (standard deviation for `Normal`); None means learned from the data, a scalar is
known, an array is known row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.base import is_concrete
from credo.errors import ParameterError
from credo.saving.registry import register

__all__ = ["Normal"]


@register
@dataclass(frozen=True)
class Normal:
    """Normal noise, y = f(x) + N(0, scale²): least squares.

    scale : None, learned; a number > 0, known; an array (rows,) of numbers > 0, known per row (precision weights
        1/scale²).
    variance_prior : `InverseGamma` on scale² where the scale is learned; None is the scale-free 1/scale².

    >>> import credo as cr
    >>> cr.noise.Normal(0.5).scale
    0.5
    """

    scale: Any = None
    variance_prior: Any = None

    def __post_init__(self) -> None:
        if self.scale is None or not is_concrete(self.scale):
            return
        if self.variance_prior is not None:
            raise ParameterError("noise.Normal", "variance_prior", "None when the scale is known", self.variance_prior)
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim > 1 or not np.all(np.isfinite(scale) & (scale > 0)):
            raise ParameterError(
                "noise.Normal", "scale", "None, or finite numbers > 0 (a scalar or one per row)", self.scale
            )
        if isinstance(self.scale, (list, tuple)):
            object.__setattr__(self, "scale", scale)
