"""Simulation-based calibration of a model's fit: draw parameters and data from the prior, fit, rank the truth.

Beside latent nodes the log-likelihood is ranked, which depends on the data too and finds faults that single parameters
hide (Modrák et al. 2023, Bayesian Analysis).
"""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.diagnostics.mcmc import ess
from credo.diagnostics.sbc import rank_calibration
from credo.errors import ConvergenceWarning, CredoError, CredoWarning, ParameterError, UnavailableError
from credo.numerics.readable import count, percent
from credo.program.check.prior import check_no_potential
from credo.program.check.records import Finding, Simulations
from credo.program.fitting import fit_model
from credo.program.forward import sample_forward
from credo.program.model import Factor, Model
from credo.program.posterior import ModelPosterior
from credo.program.predict import pointwise_at

__all__ = ["simulate_fits", "simulation_findings"]

#: probability that a right inference fails somewhere
ALARM = 0.01
# Draws among which the truth is ranked, evenly taken from those of a fit so that they are nearly independent.
RANKED = 99
# Entries of one node that are ranked, evenly taken: a fault of one group's effect is one of most.
MOST_ENTRIES = 20
LOG_LIKELIHOOD = "log-likelihood"
# Rungs whose draws are correlated; a collapsed one that had to sample has statistics of its chains.
CHAINED = ("nuts", "metropolis", "slice", "gibbs")
#: errors of the arithmetic, which say nothing of the data
NUMERICAL = ("NumericalError", "LinAlgError", "ArithmeticError", "FloatingPointError", "OverflowError",
             "ZeroDivisionError")  # fmt: skip
#: where ranks gather → what that says of the posterior
WRONG = {"low": "too high", "high": "too low", "ends": "too narrow", "middle": "too wide"}


@dataclass(frozen=True)
class _Fit:
    ranks: dict[str, int]
    certified: bool
    correlated: bool
    inference: str


def simulate_fits(
    model: Model, n: int, inference: str, draws: int, rng: np.random.Generator, options: Mapping[str, Any],
    n_jobs: int = 1,
) -> Simulations:  # fmt: skip
    """Fits of n data sets drawn from the prior; the same for any number of threads.

    Raises
    ------
    UnavailableError : the prior has no draws, or the inference no posterior
    """
    _check(model, n, inference, n_jobs)
    streams = rng.spawn(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredoWarning)  # counted instead
        warnings.simplefilter("ignore", ConvergenceWarning)

        def one(stream: np.random.Generator) -> _Fit | str:
            return _one(model, inference, draws, stream, options)

        if n_jobs == 1:
            found = [one(stream) for stream in streams]
        else:
            with ThreadPoolExecutor(n_jobs) as pool:
                found = list(pool.map(one, streams))
    fits = [each for each in found if isinstance(each, _Fit)]
    failed = dict(Counter(each for each in found if isinstance(each, str)))
    if len(fits) < 10:
        raise UnavailableError(f"of {n} fits {n - len(fits)} failed: {next(iter(failed), '')}")
    ranks = {label: np.array([fit.ranks[label] for fit in fits]) for label in fits[0].ranks}
    rungs = Counter(fit.inference for fit in fits).most_common(1)[0][0]
    return Simulations(
        rank_calibration(ranks, min(RANKED, draws), ALARM, rng), n, failed, sum(not fit.certified for fit in fits),
        sum(fit.correlated for fit in fits), rungs,
    )  # fmt: skip


def _check(model: Model, n: int, inference: str, n_jobs: int) -> None:
    for name, value, least in (("sbc", n, 10), ("n_jobs", n_jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ParameterError("Model.check", name, f"an integer ≥ {least}", value)
    if inference == "map":
        raise ParameterError("Model.check", "inference", "one that gives a posterior, to rank the truth in", inference)
    flat = [str(node.name) for node in model.latents if type(node.law).__name__ == "Flat"]
    if flat:
        raise UnavailableError(f"{', '.join(flat)} {'has' if len(flat) == 1 else 'have'} a flat prior, from which "
                               "nothing can be drawn.")  # fmt: skip
    check_no_potential(model)


def _one(model: Model, inference: str, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> _Fit | str:
    """Ranks of one simulation, or what went wrong."""
    try:
        with np.errstate(all="ignore"):
            truth = _with_holes(model, sample_forward(model, 1, rng))
        twin = _with_data(model, {f.name: truth[f.name][0] for f in model.factors if f.observed})
        posterior: Any = fit_model(twin, inference, draws, rng, options)
        return _ranked(twin, truth, posterior, rng, min(RANKED, draws))
    except (CredoError, ArithmeticError, np.linalg.LinAlgError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def _with_holes(model: Model, drawn: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Beside what was drawn, the cells that the fit will not see, under the name it reports them by."""
    holes = {
        f"{f.name}_missing": drawn[f.name].reshape(1, -1)[:, f.missing] for f in model.factors if f.missing is not None
    }
    return {**drawn, **holes}


def _with_data(model: Model, data: Mapping[str, np.ndarray]) -> Model:
    """The model with other data in its observed nodes; cells that were missing stay so."""
    twin = copy.deepcopy(model)
    for factor in twin.factors:
        if factor.observed:
            node = factor.node.parents[0] if factor.node.kind == "fill" else factor.node
            node.value = _as_seen(factor, data[factor.name], node.value)
    return twin


def _as_seen(factor: Factor, drawn: np.ndarray, before: Any) -> np.ndarray:
    if factor.missing is None:
        return drawn.astype(np.asarray(before).dtype) if np.asarray(before).dtype.kind in "iu" else drawn
    value = np.array(drawn, dtype=np.float64)
    value.reshape(-1)[factor.missing] = np.asarray(before).ravel()[factor.missing]
    return value


def _ranked(
    model: Model, truth: Mapping[str, np.ndarray], posterior: ModelPosterior, rng: np.random.Generator, n: int
) -> _Fit:
    kept = np.linspace(0, len(posterior) - 1, n).astype(np.intp)
    latents = [str(node.name) for node in model.latents]
    latents += [f"{f.name}_missing" for f in model.factors if f.missing is not None]
    found = {name: posterior[name][kept] for name in posterior.values}
    ranks: dict[str, int] = {}
    few, chained = np.inf, bool(posterior.sample_stats) or posterior.inference in CHAINED
    for name in latents:
        values, true = found[name].reshape(n, -1), np.asarray(truth[name][0], dtype=np.float64).ravel()
        whole = posterior.values[name].reshape(*posterior.values[name].shape[:2], -1)
        for label, i in _entries(name, np.shape(truth[name])[1:]):
            ranks[label] = _rank(values[:, i], true[i], rng)
            if chained:
                few = min(few, float(np.asarray(ess(whole[..., i]))))
    ranks[LOG_LIKELIHOOD] = _rank(_log_likelihood(model, found),
                                  _log_likelihood(model, {k: truth[k] for k in latents})[0], rng)  # fmt: skip
    return _Fit(ranks, posterior.result.ok, few < n, posterior.inference)


def _rank(draws: np.ndarray, truth: float, rng: np.random.Generator) -> int:
    below, tied = int(np.count_nonzero(draws < truth)), int(np.count_nonzero(draws == truth))
    return below + int(rng.integers(0, tied + 1))


def _entries(name: str, shape: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    """(label, place in C order) of the entries of a node that are ranked."""
    size = int(np.prod(shape, dtype=np.intp))
    for i in np.unique(np.linspace(0, size - 1, min(size, MOST_ENTRIES)).astype(np.intp)).tolist():
        at = ",".join(str(int(k)) for k in np.unravel_index(i, shape)) if shape else ""
        yield (f"{name}[{at}]" if shape else name), i


def _log_likelihood(model: Model, draws: Mapping[str, np.ndarray]) -> np.ndarray:
    """(n,) of all that was observed."""
    n = len(next(iter(draws.values())))
    each = [pointwise_at(model, f, draws).reshape(n, -1) for f in model.factors if f.observed]
    return np.sum([np.nansum(part, axis=1) for part in each], axis=0)


def simulation_findings(found: Simulations) -> Iterator[Finding]:
    """What the ranks say against the inference."""
    for label in found.calibration.failed:
        where = found.calibration.envelopes[label].departure
        yield Finding("inference", label, f"On average over its prior, the posterior of {label} is {WRONG[where]}: its "
                      "ranks are not uniform.", _advice(found))  # fmt: skip
    for numerical, advice in (
        (False, "Such data are possible for the model: give narrower priors."),
        (True, 'The arithmetic of this inference failed, not the data: try another rung, such as inference="nuts".'),
    ):
        failed = {said: times for said, times in found.failed.items() if said.startswith(NUMERICAL) == numerical}
        if failed:
            first = max(failed, key=lambda key: failed[key])
            yield Finding("inference", "", f"{sum(failed.values())} of {found.n} fits to data drawn from the prior "
                          f"failed ({first}).", advice)  # fmt: skip
    if found.uncertified > max(1.0, 0.05 * found.n):
        yield Finding("inference", "", f"{percent(found.uncertified / found.n)} of the fits to data drawn from the "
                      "prior were not certified.", "See posterior.result.advice of a fit.")  # fmt: skip


def _advice(found: Simulations) -> str:
    if found.correlated > 0.05 * found.n:
        return (f"In {count(found.correlated, 'fit')} the draws were so correlated that ranks cannot be uniform: ask "
                "for more draws before believing it.")  # fmt: skip
    return 'The inference is wrong for this model: try another rung, such as inference="nuts".'
