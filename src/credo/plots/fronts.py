"""With two objectives: what can be had at once, and how it grew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from credo.errors import UnavailableError
from credo.numerics.readable import count, number, typeset
from credo.plots.chart import Axis, Chart, Dots, Line, Mark, axis
from credo.plots.studies import fenced, trials_dots, whole_axis
from credo.plots.trials import checked_study, directions, kind_of, values_of

if TYPE_CHECKING:
    from credo.studies import Study, Trial

__all__ = ["FrontFigure", "HypervolumeFigure", "balanced", "front", "hypervolume_history"]


def balanced(study: Study) -> Trial | None:
    """The front's trial nearest to the best of both, each objective scaled to the front's range: what to take if
    neither matters more. None without a front."""
    edge = study.front
    if not edge:
        return None
    values = np.array([trial.values for trial in edge]) * [1.0 if d == "minimize" else -1.0 for d in directions(study)]
    reach = np.ptp(values, axis=0)
    scaled = (values - values.min(axis=0)) / np.where(reach > 0.0, reach, 1.0)
    return edge[int(np.argmin(np.linalg.norm(scaled, axis=1)))]


@dataclass(frozen=True)
class FrontFigure:
    """Two objectives: what can be had at once.

    value (n, 2) ; number (n,) : of the trial ; on_front, feasible (n,) ; directions : of each objective
    balanced : place within these of the trial to take if neither objective matters more, or −1
    """

    value: np.ndarray
    number: np.ndarray
    on_front: np.ndarray
    feasible: np.ndarray
    directions: tuple[str, str]
    outcomes: tuple[str, str] = ("objective 1", "objective 2")
    balanced: int = -1

    @property
    def description(self) -> str:
        n, best = len(self.value), self.value[self.on_front]
        said = f"{count(n, 'trial')}, of which {count(int(self.on_front.sum()), 'is', 'are')} on the front"
        said = said.replace(" is on", " on").replace(" are on", " on")
        ends = []
        for k, direction in enumerate(self.directions):
            if len(best):
                end = best[np.argmin(best[:, k]) if direction == "minimize" else np.argmax(best[:, k])]
                ends.append(f"({', '.join(number(float(v)) for v in end)})")
        tail = f": no other is better in both. It goes from {' to '.join(ends)}." if ends else "."
        infeasible = int(np.sum(~self.feasible))
        if self.balanced >= 0 and len(best) > 1:
            tail += f" Orange: trial {int(self.number[self.balanced])}, the nearest to the best of both."
        return typeset(said + tail + (f" Hollow: {infeasible:,} not feasible." if infeasible else ""))

    def chart(self) -> Chart:
        labels = [
            f"{name}, {'lower' if direction == 'minimize' else 'higher'} is better"
            for name, direction in zip(self.outcomes, self.directions)
        ]
        seen = [fenced(self.value[:, k], self.directions[k]) for k in (0, 1)]
        x, y = axis(labels[0], *seen[0]), axis(labels[1], *seen[1])
        shown = np.all([(self.value[:, k] >= seen[k][0]) & (self.value[:, k] <= seen[k][1]) for k in (0, 1)], axis=0)
        marks: list[Mark] = []
        for role, hollow, here in (
            ("muted", True, ~self.feasible & shown),
            ("muted", False, self.feasible & ~self.on_front & shown),
        ):
            if here.any():
                marks.append(trials_dots(self.value[here, 0], self.value[here, 1], role, hollow))
        best = self.value[self.on_front]
        if len(best):
            marks += self._stairs(best[np.lexsort((best[:, 1], best[:, 0]))], x, y)
        if self.balanced >= 0:
            here = self.value[[self.balanced]]
            marks.append(Dots(here[:, 0], here[:, 1], "secondary", 5.5))
        return Chart("What can be had at once", self.description, x, y, tuple(marks), grid="xy", margin=20.0)

    def _stairs(self, best: np.ndarray, x: Axis, y: Axis) -> list[Mark]:
        """The edge of what is dominated: steps between the front's points, out to the worse ends of both axes."""
        worse = [axis_.high if d == "minimize" else axis_.low for axis_, d in zip((x, y), self.directions)]
        order = best if self.directions[0] == "minimize" else best[::-1]
        corner_x = np.append(np.repeat(order[:, 0], 2), worse[0])
        corner_y = np.append(worse[1], np.repeat(order[:, 1], 2))
        return [Line(corner_x, corner_y, "primary", 1.6), Dots(best[:, 0], best[:, 1], "primary", 4.0)]


def front(study: Study, *, outcomes: tuple[str, str] = ("objective 1", "objective 2")) -> FrontFigure:
    """The trials of a study with two objectives, and those of which no other is better in both.

    Raises
    ------
    ParameterError : no study of two objectives. UnavailableError : no trial was told.
    """
    checked_study("plots.front", study, objectives=2)
    told = [(trial, values) for trial in study.records if (values := values_of(trial)) is not None]
    if not told:
        raise UnavailableError(f"plots.front: none of {len(study.records)} trials has values yet.")
    best = {trial.id for trial in study.front}
    number_of = np.array([trial.id for trial, _ in told])
    on_front = np.array([trial.id in best for trial, _ in told])
    feasible = np.array([kind_of(trial) == "told" for trial, _ in told])
    first, second = directions(study)
    value = np.array([values for _, values in told])
    middle = balanced(study)
    at = -1 if middle is None else [trial.id for trial, _ in told].index(middle.id)
    return FrontFigure(value, number_of, on_front, feasible, (first, second), outcomes, at)


@dataclass(frozen=True)
class HypervolumeFigure:
    """What the front of the trials so far leaves behind it, up to a reference.

    number (n,) : of trials told ; volume (n,) : in units of the objectives' product, never falling ; reference (2,)
    """

    number: np.ndarray
    volume: np.ndarray
    reference: tuple[float, float]

    @property
    def description(self) -> str:
        last, half = float(self.volume[-1]), float(self.volume[(len(self.volume) - 1) // 2])
        at = ", ".join(number(each) for each in self.reference)
        gain = f"; the second half of the trials added {number(last - half, 2)}" if len(self.volume) > 3 else ""
        return typeset(f"The area between the front and ({at}): {number(last)}{gain}.")

    def chart(self) -> Chart:
        x = whole_axis("trial", int(self.number.max()) + 1)
        at, height = np.repeat(self.number, 2)[1:], np.repeat(self.volume, 2)[:-1]
        y = axis("hypervolume, higher is better", self.volume)
        return Chart("How the front grew", self.description, x, y, (Line(at, height, "primary", 2.2),), margin=20.0)


def hypervolume_history(study: Study) -> HypervolumeFigure:
    """The hypervolume of the front by trial, all up to the reference that the trials so far give.

    Raises
    ------
    ParameterError : no study of two objectives. UnavailableError : no feasible trial was told.
    """
    from credo.design.fronts import hypervolume, reference_point

    checked_study("plots.hypervolume_history", study, objectives=2)
    told = [(t.id, values) for t in study.records if (values := values_of(t)) is not None and kind_of(t) == "told"]
    if not told:
        raise UnavailableError(f"plots.hypervolume_history: none of {len(study.records)} trials is feasible yet.")
    signs = np.array([1.0 if direction == "minimize" else -1.0 for direction in directions(study)])
    values = np.array([each for _, each in told]) * signs
    reference = reference_point(values)
    edge, volumes = np.empty((0, 2)), []
    for row in values:
        if np.any(np.all(edge <= row, axis=1)):  # nothing new
            volumes.append(volumes[-1])
            continue
        edge = np.vstack([edge[~np.all(row <= edge, axis=1)], row])
        volumes.append(hypervolume(edge, reference))
    first, second = (signs * reference).tolist()
    return HypervolumeFigure(np.array([float(i) for i, _ in told]), np.array(volumes), (first, second))
