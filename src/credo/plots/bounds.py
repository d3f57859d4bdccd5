"""How EM rose: the bound by iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.numerics.readable import count, number, typeset
from credo.plots.chart import Chart, Line, axis

__all__ = ["BoundFigure", "bound"]


@dataclass(frozen=True)
class BoundFigure:
    """objective (steps + 1,) : nats a row (or whatever `per` says) after every step, the start included"""

    objective: np.ndarray
    per: str = "row"

    def chart(self) -> Chart:
        steps = np.arange(self.objective.size, dtype=np.float64)
        # The first of many steps rise so much that the rest would look flat.
        low = float(np.quantile(self.objective, 0.05)) if steps.size > 20 else -np.inf
        return Chart(
            "The bound by iteration",
            f"It rose to {typeset(number(float(self.objective[-1]), 5))} nats a {self.per} in "
            f"{count(self.objective.size - 1, 'step')}; EM never lowers it.",
            axis("step", steps),
            axis(f"bound a {self.per}", self.objective[self.objective >= low]),
            (Line(steps, np.where(self.objective >= low, self.objective, np.nan)),),
        )


def bound(model: Any, per: str = "row") -> BoundFigure:
    """The bound of a fitted mixture by iteration.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> X = np.concatenate([np.linspace(-3, -1, 20), np.linspace(1, 3, 20)])[:, None]
    >>> figure = bound(cr.GaussianMixture(2, random_state=0).fit(X))
    >>> bool(np.all(np.diff(figure.objective) > -1e-9))
    True
    """
    return BoundFigure(np.asarray(model.lower_bounds_, dtype=np.float64), per)
