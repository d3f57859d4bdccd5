"""An example of acting on the predictions: what is best to do depends on what mistakes cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.decisions import coverage_risk, decide
from credo.decisions.losses import Linear, ZeroOne
from credo.errors import CredoError
from credo.numerics.readable import aligned
from credo.plots.chart import Figure
from credo.plots.choices import expected_loss, net_benefit, rejection
from credo.reports.rows import HeldOut, Rows

__all__ = ["ExampleDecision", "example_decision"]

# Three to one: plain enough to see, and common (too little of something costs more than too much).
OVER, UNDER = 1.0, 3.0


@dataclass(frozen=True)
class ExampleDecision:
    """story : sentences ; columns, cells : a table of rows, or empty ; figure ; option : of `credo predict`"""

    story: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    figure: Figure
    option: str


def example_decision(rows: Rows, typical: int, held: HeldOut | str) -> ExampleDecision | str:
    """typical : the row to decide about. Or why there is none."""
    try:
        if not rows.model.labels:
            return _amount(rows, typical)
        if isinstance(held, str):
            return held
        return _classes(rows, held)
    except CredoError as error:
        return str(error)


def _amount(rows: Rows, typical: int) -> ExampleDecision:
    target, loss = rows.model.target, Linear(over=OVER, under=UNDER)
    order = np.argsort(np.asarray(rows.predict(rows.X).mean), kind="stable")
    chosen = np.array([order[int(q * (order.size - 1))] for q in (0.1, 0.5, 0.9)])
    p = rows.predict(rows.X[chosen])
    low, high = p.interval(0.9)
    scale = 0.25 * float(np.median(high - low))
    columns = ("row", "mean", "90 % interval", "best to act on")
    cells = []
    for i, action in enumerate(decide(p, loss)):
        mean, a, b, best = aligned([float(p.mean[i]), float(low[i]), float(high[i]), float(action)], scale)
        cells.append((f"{chosen[i] + 1:,}", mean, f"{a} … {b}", best))
    story = (
        f"Suppose that stating {target} one unit too low costs three times as much as one unit too high. The number "
        "that costs least is then not the mean but the 75 % quantile of the prediction: above the mean, and further "
        "above it where less is known.",
    )
    figure = expected_loss(rows.predict(rows.X[typical : typical + 1]), loss, action=f"{target} to act on")
    return ExampleDecision(story, columns, tuple(cells), figure, f"--loss linear:over={OVER:g},under={UNDER:g}")


def _classes(rows: Rows, held: HeldOut) -> ExampleDecision:
    labels, p, y = rows.model.labels, held.predictive, held.y
    if len(labels) == 2:
        story = (
            f"Acting on a row only pays if {rows.model.target} = {labels[1]} is probable enough. Whoever takes one "
            "hit to be worth k false alarms acts from a probability of 1/(1 + k) on. The curve counts hits less "
            "false alarms at that price, on rows held out, beside acting always and never.",
        )
        return ExampleDecision(story, (), (), net_benefit(p, y, labels[1]), "--costs COSTS.csv")
    curve = coverage_risk(p, y, ZeroOne())
    story = (
        "Rows about which the model is in doubt can be handed to somebody who knows. The curve shows the share of "
        "mistakes among the rows that are kept, on rows held out, and what the model expected it to be.",
    )
    return ExampleDecision(story, (), (), rejection(curve, "share of mistakes"), "--reject 0.1")
