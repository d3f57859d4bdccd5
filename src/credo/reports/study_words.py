"""What a report of a study says in words: what to do, facts, why trials have no value, how the space was changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.numerics.readable import aligned, count, number, percent
from credo.plots.slicing import shown_value
from credo.plots.trials import ObjectiveBelief, directions, kind_of
from credo.reports.study_left import Left

if TYPE_CHECKING:
    from credo.studies import Study, Trial

__all__ = ["assignments", "changes", "facts", "failures", "in_own_words", "lead"]

# Different reasons of failures.
MOST_REASONS = 8
# Parameters that a sentence names.
MOST_NAMED = 8


def assignments(params: Mapping[str, Any], most: int = MOST_NAMED) -> str:
    """`x = 1.5, kernel = rbf`, the first few of them."""
    named = [f"{name} = {shown_value(value)}" for name, value in params.items()]
    more = len(named) - most
    return ", ".join(named[:most]) + (f" and {more} more (below)" if more > 0 else "")


#: what a sampler or a study says → what a user of `credo tune` would do
_IN_COMMANDS = {
    "state noisy=True": "give --noisy",
    "study.ask() or study.optimize(…) begins": "credo tune begins",
    "Take study.best": "See credo study best",
}


def in_own_words(study: Study, text: str) -> str:
    """The same in words of the command line, where the study is a command's."""
    if study.description:
        for python, command in _IN_COMMANDS.items():
            text = text.replace(python, command)
    return text


def lead(study: Study, told: list[Trial], best: dict[str, Any] | None, left: Left | None, outcome: str) -> str:
    trials = study.records
    if not trials:
        return in_own_words(study, "Nothing was asked yet: study.ask() or study.optimize(…) begins.")
    if not told:
        states = Counter(trial.state for trial in trials)
        what = ", ".join(f"{n:,} {state}" for state, n in states.items())
        reasons = Counter(_reason(trial) for trial in trials if trial.state == "failed").most_common(1)
        why = f" Mend this first: {reasons[0][0]} ({reasons[0][1]:,} times)." if reasons else ""
        return f"No trial has a value yet ({what}).{why}"
    if len(directions(study)) == 2:
        return _lead_of_two(study, told, best)
    if best is None:
        return f"None of {count(len(told), 'trial')} told meets the constraints: nothing can be recommended yet."
    value, *sd = aligned([best["value"], best["sd"]], best["sd"]) if best["sd"] else [number(best["value"])]
    shown = f"{value} ± {sd[0]}" if sd else value
    said = f"Take {assignments(best['params'])}: {outcome} {shown} (trial {best['trial']})."
    if left is None:
        return f"{said} From {count(len(told), 'trial')} it cannot be told whether it is worth going on."
    return f"{said} {left.sentence}"


def _lead_of_two(study: Study, told: list[Trial], best: dict[str, Any] | None) -> str:
    if best is None:
        return f"None of {count(len(told), 'trial')} told meets the constraints: nothing can be recommended yet."
    values, n = ", ".join(number(v) for v in best["values"]), len(study.front)
    point = f"{assignments(best['params'])}: ({values}), trial {best['trial']}"
    if n == 1:
        return f"Take {point}: it is the best in both objectives."
    among = f"Choose among {n:,} trials of which no other is better in both objectives"
    return f"{among}. If neither matters more, take {point}."


def facts(
    study: Study, best: dict[str, Any] | None, belief: ObjectiveBelief | None, noisy: bool
) -> tuple[tuple[str, str], ...]:
    trials = study.records
    states = Counter(kind_of(trial) for trial in trials)
    found = [("trials", f"{len(trials):,}")]
    found += [(state, f"{n:,}") for state, n in states.items() if len(states) > 1 or state != "told"]
    if best is not None and len(directions(study)) == 1:
        shown = " ± ".join(aligned([best["value"], best["sd"]], best["sd"])) if best["sd"] else number(best["value"])
        found.append(("best value", shown))
    if len(directions(study)) == 2 and states["told"]:
        found += [("on the front", f"{len(study.front):,}"), ("hypervolume", number(study.hypervolume()))]
    found.append(("parameters", str(sum(p.width > 0 for p in study.space.parameters.values()))))
    if noisy and belief is not None:
        found.append(("noise (sd)", number(belief.noise_sd, 2)))
    seconds = _seconds(study)
    if seconds is not None:
        found.append(("a trial takes", seconds))
    return tuple(found)


def _seconds(study: Study) -> str | None:
    """The median time from asking to telling, where it is worth a word; clocks jump, and a median does not mind."""
    begun: dict[int, float] = {}
    taken = []
    for event in study.events():
        if event.kind == "asked" and event.trial is not None:
            begun[event.trial] = event.time
        elif event.kind == "told" and event.trial in begun:
            taken.append(event.time - begun[event.trial])
    middle = float(np.median(taken)) if taken else 0.0
    if middle < 0.5:
        return None
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if middle >= 2.0 * size:
            return f"{number(middle / size, 2)} {unit}"
    return f"{number(middle, 2)} s"


def _reason(trial: Trial) -> str:
    return " ".join((trial.reason or trial.state).split())


def failures(trials: Sequence[Trial]) -> tuple[tuple[str, str, int, tuple[int, ...]], ...]:
    """Why trials have no value, the commonest reason first."""
    found: dict[tuple[str, str], list[int]] = {}
    for trial in trials:
        if trial.state in ("failed", "pruned", "stale"):
            found.setdefault((trial.state, _reason(trial)[:300]), []).append(trial.id)
    ranked = sorted(found.items(), key=lambda item: -len(item[1]))
    shown = [(state, reason, len(ids), tuple(ids[:5])) for (state, reason), ids in ranked[:MOST_REASONS]]
    rest = [i for _, ids in ranked[MOST_REASONS:] for i in ids]
    if rest:
        shown.append(("", f"{count(len(ranked) - MOST_REASONS, 'other reason')}", len(rest), tuple(sorted(rest)[:5])))
    return tuple(shown)


def changes(study: Study) -> tuple[str, ...]:
    """How the space was changed in mid-study, and what was guessed."""
    said, asked = [], 0
    for event in study.events():
        asked += event.kind == "asked"
        if event.kind == "narrowed":
            for name, ends in (event.data.get("ranges") or {}).items():
                said.append(f"After {count(asked, 'trial')} {name} was narrowed to {_range(ends)}.")
            for name, value in (event.data.get("fixed") or {}).items():
                said.append(f"After {count(asked, 'trial')} {name} was fixed at {shown_value(value)}.")
        elif event.kind == "guessed":
            where = assignments(event.data["params"])
            widths = {percent(float(sd), 2) for sd in dict(event.data["sd"]).values()}
            said.append(f"After {count(asked, 'trial')} the best was said to be near {where} (± {', '.join(widths)}).")
    return tuple(said)


def _range(ends: Any) -> str:
    if not isinstance(ends, list):
        return str(ends)
    numbers = len(ends) == 2 and not any(isinstance(end, (str, bool)) for end in ends)
    return (" to " if numbers else ", ").join("as it was" if end is None else shown_value(end) for end in ends)
