"""On which numbers of a network's tables an answer hangs: a tornado diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.numerics.readable import count, number, percent, shortened
from credo.plots.chart import Bars, Chart, Segments, Text, axis, categories

if TYPE_CHECKING:
    from credo.models.network.analysis import Tornado

__all__ = ["TornadoFigure", "tornado"]

# What fits a page, and characters of a number's name beside its bar.
MOST_ROWS, NAME = 12, 30


@dataclass(frozen=True)
class TornadoFigure:
    """How far an answer moves with each number, the widest bar at the top.

    names (k,) : of the numbers ; low, high (k,) : the answer where the number is less, and where it is more
    answer : as the numbers are ; question : what is answered ; share : by which each number is moved
    left_out : how many more there are, with narrower bars
    """

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    answer: float
    question: str
    share: float
    left_out: int = 0

    def chart(self) -> Chart:
        at = np.arange(len(self.names))[::-1].astype(float)
        x = axis(shortened(self.question, 60), self.low, self.high, self.answer)
        base = np.full(len(at), self.answer)
        marks: list[Any] = []
        for ends, role, opacity in ((self.low, "muted", 0.55), (self.high, "primary", 0.75)):
            marks.append(Bars(np.minimum(base, ends), np.maximum(base, ends), at - 0.34, at + 0.34, role, opacity))
        top = len(at) - 0.4
        marks.append(Segments(base[:1], np.array([-0.6]), base[:1], np.array([top]), "ink", 1.0))
        marks.append(Text(x.low, top, f"{percent(self.share)} less", "muted", "start", dy=8.0))
        marks.append(Text(x.high, top, f"{percent(self.share)} more", "primary", "end", dy=8.0))
        y = categories([shortened(name, NAME) for name in self.names])
        return Chart(
            "What the answer hangs on", self._description(), x, y, tuple(marks),
            margin=24.0, head=18.0, rows=len(self.names), grid="x",
        )  # fmt: skip

    def _description(self) -> str:
        told = [
            f"{name} moves it between {number(min(a, b), 3)} and {number(max(a, b), 3)}"
            for name, a, b in list(zip(self.names, self.low.tolist(), self.high.tolist()))[:3]
        ]
        text = f"It is {number(self.answer, 3)}. If a number of a table is {percent(self.share)} less or more: "
        text += f"{'; '.join(told)}."
        more = f" {count(self.left_out, 'number')} that move it less are not shown."
        return text + (more if self.left_out else "")


def tornado(influences: Tornado, most: int = MOST_ROWS) -> TornadoFigure:
    """A tornado diagram of what `BayesianNetwork.sensitivity` found.

    Parameters
    ----------
    influences : a `Tornado`
    most : bars at most; numbers that do not move the answer are left out, and those at whose ends the evidence is
        impossible

    Raises
    ------
    DataError : no number moves the answer. ParameterError : something else than a `Tornado`.

    Examples
    --------
    >>> import credo as cr
    >>> network = cr.BayesianNetwork([("rain", "wet")], {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]})
    >>> tornado(network.sensitivity("rain", 1, {"wet": 1})).names[:2]
    ('wet=0 | rain=0', 'rain=0')
    """
    if not hasattr(influences, "question"):
        raise ParameterError("tornado", "influences", "what BayesianNetwork.sensitivity returns", type(influences))
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise ParameterError("tornado", "most", "an integer ≥ 1", most)
    moving = [each for each in influences if np.isfinite(each.range) and each.range > 1e-12]
    if not moving:
        raise DataError(f"No number of the tables moves {influences.question}.", value=influences)
    shown = moving[:most]
    return TornadoFigure(
        tuple(each.name for each in shown), np.array([each.low for each in shown]),
        np.array([each.high for each in shown]), influences.answer, influences.question, influences.share,
        len(moving) - len(shown),
    )  # fmt: skip
