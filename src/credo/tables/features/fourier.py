"""Sines and cosines of a known period: sin(2πk x/T), cos(2πk x/T), k = 1…order."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.tables.features.base import FeatureMap, check_integer, check_per_column

__all__ = ["Fourier"]


class Fourier(FeatureMap):
    """Smooth functions of a known period, as in seasonal effects.

    Parameters
    ----------
    period : T > 0 in the column's units, one for all columns or one each; 1 when the column counts cycles.
    order : number of harmonics ≥ 1: 2·order new columns a column. Three follow a season with two or three turns;
        a sharp peak wants more (or periodic `Splines`).

    Examples
    --------
    >>> import numpy as np
    >>> weekly = Fourier(period=7, order=1).fit(np.arange(3.0)[:, None])
    >>> weekly.get_feature_names_out(["day"]).tolist()
    ['sin(2π·day/7)', 'cos(2π·day/7)']
    >>> weekly.transform([[3.5]]).round(12).tolist()
    [[0.0, -1.0]]
    """

    def __init__(self, period: Any = 1.0, order: int = 3) -> None:
        self.period = period
        self.order = order

    def _learn(self, X: np.ndarray) -> None:
        check_integer(self, "order", self.order, 1)
        self.period_ = check_per_column(self, "period", self.period, X.shape[1])

    def _map(self, X: np.ndarray) -> np.ndarray:
        # fmod is exact: a time stamp of 1e9 seconds keeps the digits of its phase.
        phase = 2.0 * np.pi * (np.fmod(X, self.period_) / self.period_)
        angles = phase[:, :, None] * np.arange(1.0, self.order + 1)
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(X), -1)

    def _names(self, names: list[str]) -> list[str]:
        return [
            f"{function}({2 * k}π·{name}/{period:.12g})"
            for name, period in zip(names, self.period_, strict=True)
            for k in range(1, self.order + 1)
            for function in ("sin", "cos")
        ]
