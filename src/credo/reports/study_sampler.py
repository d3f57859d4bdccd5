"""What a study's sampler did and why, in sentences."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from credo.numerics.readable import count, number, percent
from credo.plots.trials import directions, values_of
from credo.reports.study_words import in_own_words

if TYPE_CHECKING:
    from credo.studies import Study, Trial

__all__ = ["sampler_story"]

#: method → what it is
METHODS = {
    "sobol": "an even design over the space, to begin with",
    "random": "uniform at random",
    "queued": "points put into the queue, or asked again after a worker was lost",
    "recorded": "tried elsewhere and recorded",
    "guess": "near what was said to be near the best",
    "gp": "where a Gaussian process promised most",
    "forest": "where a random forest promised most",
    "trust": "where a Gaussian process promised most within a trust region",
}
# Reasons that are told of each method.
MOST_REASONS = 2
# Foretold values that make their share within an interval worth telling.
ENOUGH = 10
ABSURD = 2.0
WITHIN, MASS = 1.6448536269514722, 0.9


def sampler_story(study: Study) -> tuple[str, ...]:
    """How many trials each method asked, with its reasons; whether what it foretold came true."""
    trials = study.records
    said = []
    for method, n in Counter(str(trial.why.get("method", "")) for trial in trials).most_common():
        if not method:
            continue
        text = f"{count(n, 'trial')} by {method}: {METHODS.get(method, 'see its documentation')}"
        reasons = Counter(str(t.why["reason"]) for t in trials if t.why.get("method") == method and t.why.get("reason"))
        told = [reason for reason, _ in reasons.most_common(MOST_REASONS)]
        said.append(text + (f" ({'; or '.join(told)})." if told else "."))
    replaced = sum("replaced" in trial.why for trial in trials)
    if replaced:
        said.append(f"{count(replaced, 'proposal')} gave way to a near one: tried before, or against a constraint.")
    foretold = _foretold(study, trials)
    return tuple(in_own_words(study, each) for each in (*said, *([foretold] if foretold else [])))


def _foretold(study: Study, trials: list[Trial]) -> str | None:
    """Exact values are compared with the interval that was expected of them; noisy ones would need the noise too."""
    if len(directions(study)) > 1 or study.noisy:
        return None
    rows = [
        (values[0], trial.why["mean"], trial.why["sd"])
        for trial in trials
        if (values := values_of(trial)) and isinstance(trial.why.get("mean"), float) and trial.why.get("sd")
    ]
    if len(rows) < ENOUGH:
        return None
    value, mean, sd = np.array(rows, dtype=np.float64).T
    if np.median(sd) > ABSURD * np.ptp(value):  # a belief about warped values may have no sd to speak of
        return None
    inside = int(np.sum(np.abs(value - mean) <= WITHIN * sd))
    off = number(float(np.median(np.abs(value - mean))), 2)
    return (
        f"Of {len(rows):,} values foretold when they were asked, {inside:,} ({percent(inside / len(rows))}) came "
        f"within the {percent(MASS)} interval; the middling error was {off}."
    )
