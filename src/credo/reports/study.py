"""The report of a study: what to do, whether to go on, what was tried, what matters. Data first, a page second."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import NumericalError, ParameterError, UnavailableError
from credo.numerics.readable import count
from credo.plots.fronts import FrontFigure, HypervolumeFigure, balanced, front, hypervolume_history
from credo.plots.parallel import ParallelFigure, parallel_coordinates
from credo.plots.slicing import SliceFigure, slices
from credo.plots.studies import HistoryFigure, ImportancesFigure, history, importances
from credo.plots.trials import ObjectiveBelief, checked_study, directions, kind_of, objective_belief, values_of
from credo.reports import study_words as words
from credo.reports.study_left import Left, left_to_gain
from credo.reports.study_origin import code_of
from credo.reports.study_sampler import sampler_story

if TYPE_CHECKING:
    from credo.studies import Study, Trial

__all__ = ["StudyReport", "TrialRow", "study_report"]

# Slices that are shown: those of the parameters that matter most.
MOST_SLICES = 12
# Trials that are listed: the best, and the last.
MOST_BEST, MOST_LAST = 25, 200


@dataclass(frozen=True)
class TrialRow:
    """A trial for a table: number, what came of it, values, parameters in words, the method that asked it."""

    id: int
    kind: str
    values: tuple[float, ...]
    params: Mapping[str, Any]
    method: str


@dataclass(frozen=True)
class StudyReport:
    """What is known of a study.

    name ; directions : of its objectives ; lead : what to do, in a sentence or two
    facts : (name, value) ; best : params, value, sd, trial of what is recommended, or None
    left : what is left to gain ; front, growth, history, slices, parallel, importances : figures, None or empty where
        `absent` says why
    names : of parameters ; outcomes : of objectives
    table : the best trials, those on the front, or the last ones ; others : the other ones, latest first
    failures : (state, reason, how many, first of their numbers) ; sampler, changes : sentences ; notes : remarks
    code : makes the study again ; is_constrained : whether constraints were told ; command : what made the report
    """

    name: str
    directions: tuple[str, ...]
    lead: str
    facts: tuple[tuple[str, str], ...]
    best: dict[str, Any] | None
    left: Left | None
    history: HistoryFigure | None
    front: FrontFigure | None
    slices: tuple[SliceFigure, ...]
    parallel: ParallelFigure | None
    importances: tuple[ImportancesFigure, ...]
    growth: HypervolumeFigure | None
    names: tuple[str, ...]
    outcomes: tuple[str, ...]
    table: tuple[TrialRow, ...]
    others: tuple[TrialRow, ...]
    n_trials: int
    failures: tuple[tuple[str, str, int, tuple[int, ...]], ...]
    sampler: tuple[str, ...]
    changes: tuple[str, ...]
    notes: tuple[str, ...]
    code: str
    is_constrained: bool = False
    command: str | None = None
    absent: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All but the pictures and the listed trials."""
        left = self.left
        return {
            "name": self.name, "directions": list(self.directions), "lead": self.lead, "facts": dict(self.facts),
            "best": self.best, "trials": self.n_trials, "sampler": list(self.sampler), "notes": list(self.notes),
            "left": None if left is None else {**vars(left), "share": left.share, "verdict": left.verdict},
            "importance": [each.found.to_json() for each in self.importances],
            "failures": [dict(zip(("state", "reason", "count", "trials"), f)) for f in self.failures],
            "changes": list(self.changes), "absent": dict(self.absent),
        }  # fmt: skip


def study_report(
    study: Study, *, outcome: str | Sequence[str] | None = None, command: str | None = None
) -> StudyReport:
    """What a person wants to know after (or in the middle of) a study: first of all, what to do.

    Parameters
    ----------
    study : with one objective or two, and any number of trials
    outcome : the objective's name, or two ; command : that made the report, for its last section

    Cost: a few fits of a Gaussian process to the trials, and the trees of `design.importance`: about a second for 100
    trials, five for 2,000.

    Examples
    --------
    >>> import credo as cr
    >>> study = cr.Study(cr.Space(x=cr.Real(0, 4)), sampler="sobol", random_state=0)
    >>> for _ in range(12):
    ...     trial = study.ask()
    ...     _ = study.tell(trial, (trial["x"] - 1) ** 2)
    >>> print(study_report(study).lead)
    Take x = 1....
    """
    checked_study("study_report", study)
    absent: dict[str, str] = {}
    two = len(directions(study)) > 1
    told = [trial for trial in study.records if trial.state == "told"]
    names = _names(outcome, 2 if two else 1)
    best = _best_of_two(study) if two else _best(study)
    beliefs = _beliefs(absent, study, len(names)) if told else []
    noisy = best is not None and bool(best["sd"])
    left = None
    if beliefs and best is not None and not two and study.space.contains(best["params"]):
        left = _or_none(absent, "left", lambda: left_to_gain(beliefs[0], best["params"]))
    matter = _matter(absent, study, names) if told else ()
    free = [name for name, parameter in study.space.parameters.items() if parameter.width]
    table, others = _rows(study)
    return StudyReport(
        study.name, directions(study), words.lead(study, told, best, left, names[0]),
        words.facts(study, best, beliefs[0] if beliefs else None, noisy), best, left,
        None if two else _history(absent, study, beliefs[0] if beliefs and noisy else None, names[0]),
        front(study, outcomes=(names[0], names[-1])) if two and told else None,
        _slices(absent, study, beliefs, matter, free, names, best),
        parallel_coordinates(study, outcomes=names) if len(free) > 1 and _is_within(study, told) else None,
        matter, _or_none(absent, "growth", lambda: hypervolume_history(study)) if two and told else None,
        tuple(study.space.names), names, table, others, len(study.records), words.failures(study.records),
        sampler_story(study), words.changes(study), tuple(str(note) for note in study.notes), code_of(study),
        any(trial.constraints for trial in told), command,
        absent,
    )  # fmt: skip


def _names(given: str | Sequence[str] | None, n: int) -> tuple[str, ...]:
    if given is None:
        return ("value",) if n == 1 else ("objective 1", "objective 2")
    names = (given,) if isinstance(given, str) else tuple(given)
    if len(names) != n:
        raise ParameterError("study_report", "outcome", f"the names of {count(n, 'objective')}", given)
    return names


def _history(
    absent: dict[str, str], study: Study, belief: ObjectiveBelief | None, outcome: str
) -> HistoryFigure | None:
    return _or_none(absent, "history", lambda: history(study, belief=belief, outcome=outcome))


def _beliefs(absent: dict[str, str], study: Study, n: int) -> list[ObjectiveBelief]:
    found = [_or_none(absent, "belief", lambda k=k: objective_belief(study, k, "the report")) for k in range(n)]
    return [each for each in found if each is not None]


def _matter(absent: dict[str, str], study: Study, names: Sequence[str]) -> tuple[ImportancesFigure, ...]:
    titles = names if len(names) > 1 else ("",)
    found = [
        _or_none(absent, "importances", lambda k=k, title=title: importances(study, objective=k, outcome=title))
        for k, title in enumerate(titles)
    ]
    return tuple(each for each in found if each is not None)


def _is_within(study: Study, told: Sequence[Trial]) -> bool:
    return any(study.space.contains(trial.params) for trial in told)


def _or_none(absent: dict[str, str], name: str, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (UnavailableError, NumericalError) as error:
        text = str(error)
        absent[name] = text.split(": ", 1)[1] if ": " in text else text
        return None


def _best(study: Study) -> dict[str, Any] | None:
    try:
        found = study.recommendation
    except UnavailableError:
        return None
    trial = found.trial
    value = found.mean if found.sd else trial.value
    reason = words.in_own_words(study, found.reason)
    return {"params": dict(trial.params), "value": value, "sd": found.sd, "trial": trial.id, "reason": reason}


def _best_of_two(study: Study) -> dict[str, Any] | None:
    trial = balanced(study)
    if trial is None:
        return None
    reason = "of those on the front the nearest to the best of both, each objective scaled to the front's range"
    return {"params": dict(trial.params), "values": trial.values, "sd": None, "trial": trial.id, "reason": reason}


def _slices(
    absent: dict[str, str], study: Study, beliefs: Sequence[ObjectiveBelief], matter: Sequence[ImportancesFigure],
    free: list[str], outcomes: Sequence[str], best: Mapping[str, Any] | None,
) -> tuple[SliceFigure, ...]:  # fmt: skip
    names = list(matter[0].found.names) if matter else free
    most = MOST_SLICES // len(outcomes)
    at = best["params"] if best is not None and study.space.contains(best["params"]) else None
    found: list[SliceFigure] = []
    for belief, name in zip(beliefs, outcomes):
        found += slices(study, names[:most], at=at, belief=belief, outcome=name)
    if len(names) > most:
        absent["more slices"] = f"of {len(names)} parameters the {most} that matter most are shown."
    return tuple(found)


def _row(trial: Trial) -> TrialRow:
    values = trial.values if trial.state == "told" and trial.values is not None else ()
    return TrialRow(trial.id, kind_of(trial), tuple(values), trial.params, str(trial.why.get("method", "")))


def _rows(study: Study) -> tuple[tuple[TrialRow, ...], tuple[TrialRow, ...]]:
    """The trials to look at first, best first; then the others, latest first."""
    trials = study.records
    signs = [1.0 if direction == "minimize" else -1.0 for direction in directions(study)]
    good = [trial for trial in trials if kind_of(trial) == "told"]
    if len(signs) == 2:
        first = list(study.front) if good else []
    else:
        first = sorted(good, key=lambda trial: signs[0] * (values_of(trial) or (np.inf,))[0])
    first = first[:MOST_BEST]
    listed = {trial.id for trial in first}
    rest = [trial for trial in reversed(trials) if trial.id not in listed]
    return tuple(map(_row, first)), tuple(map(_row, rest[:MOST_LAST]))
