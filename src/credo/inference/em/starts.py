"""EM finds a local maximum: try several starts, or begin where the surface is flat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.em.engine import EMFit, em
from credo.inference.em.model import EMModel

__all__ = ["best_of", "anneal"]


def best_of(
    model: EMModel, data: Any, starts: Iterable[Any], *, screen: int | None = None, keep: int = 1, **options: Any
) -> EMFit:
    """The fit with the highest bound over several starts.

    screen : None runs every start to the end; a number runs each for so many steps and only the best `keep` to the end
    options : as for `em`

    The spread of the bounds says whether there are several maxima: it is in the result's certificate as "starts".
    """
    starts = list(starts)
    if not starts:
        raise ParameterError("best_of", "starts", "at least one start", starts)
    if screen is not None and len(starts) > keep:
        tried = [em(model, data, start, **{**options, "max_iter": screen}) for start in starts]
        tried.sort(key=lambda fit: -fit.bound)  # stable: the earlier start wins a tie
        fits = [_joined(first, em(model, data, first.params, **options)) for first in tried[:keep]]
    else:
        fits = [em(model, data, start, **options) for start in starts]
    best = max(fits, key=lambda fit: fit.bound)
    bounds = tuple(fit.bound for fit in fits)
    return replace(best, result=replace(best.result, certificate={**best.result.certificate, "starts": bounds}))


def _joined(first: EMFit, then: EMFit) -> EMFit:
    """The run `then`, which went on from where `first` ended, with the trace of both."""
    a, b = first.result, then.result
    seconds = (*a.seconds, *(a.seconds[-1] + second for second in b.seconds))
    result = replace(b, objective=(*a.objective, *b.objective), seconds=seconds)
    return replace(then, n_passes=first.n_passes + then.n_passes, result=result, gaps=(*first.gaps, *then.gaps))


def anneal(
    model: EMModel,
    data: Any,
    start: Any,
    rng: np.random.Generator,
    powers: Sequence[float] = (0.1, 0.2, 0.4, 0.7),
    **options: Any,
) -> EMFit:
    """EM on p(z | x)^power for each of the rising powers, then on the model itself, each from where the last ended.

    At a low power all assignments are nearly even and there is one maximum; as the power grows it splits (Ueda and
    Nakano 1998, Deterministic annealing EM algorithm). Components that have met would stay together for ever, so each
    stage begins with a nudge (`model.perturbed`). Dearer than one start and less dependent on which.
    """
    if not powers or any(not 0.0 < power < 1.0 for power in powers) or list(powers) != sorted(powers):
        raise ParameterError("anneal", "powers", "rising numbers between 0 and 1 (exclusive)", powers)
    for power in powers:
        start = model.perturbed(em(model.tempered(power), data, start, **options).params, rng)
    return em(model, data, start, **options)
