"""What a posterior became, and how far it is from what was published."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import credo as cr
from benchmarks.posteriordb.tables import known

__all__ = ["FIELDS", "Verdict", "compared", "judged"]

#: combined Monte Carlo standard errors
ENOUGH = 4.0
# What quadrature and a certified moment promise, in sds (credo/program/quadrature.py).
PROMISED = 1e-3
FIELDS = (
    "posterior", "numbers", "rung", "how", "seconds_cpu", "seconds_wall", "status", "certificate", "log_evidence",
    "z_mean", "z_sd", "worst", "error_in_sds", "ok",
)  # fmt: skip


class Verdict(NamedTuple):
    """z_mean, z_sd : the largest |difference| in combined MCSEs; worst : of which; error : from integration, in sds."""

    z_mean: float
    z_sd: float
    worst: str
    error: float

    @property
    def ok(self) -> bool:
        return max(self.z_mean, self.z_sd) < ENOUGH


def entry(values: Any, name: str) -> Any:
    """The array called name in a dict; "beta[2]" is one of its entries, counted from 1, along the last axis."""
    found = re.fullmatch(r"(.+)\[(\d+)\]", name)
    return np.asarray(values[name]) if found is None else np.asarray(values[found[1]])[..., int(found[2]) - 1]


def own_errors(posterior: Any, name: str, sd: float) -> tuple[float, float]:
    """Credo's Monte Carlo errors of a mean and of an sd."""
    effective = float(np.min(posterior.result.certificate.get("effective", np.inf)))
    least = sd * max(PROMISED if posterior.result.status != "exact" else 0.0, effective**-0.5)
    if name.partition("[")[0] in posterior.exact_moments:
        return least, least
    # Draws are chosen from the weighted ones, and no better than these.
    draws = entry(posterior.values, name)
    mean, spread = (float(cr.diagnostics.mcse(draws, what)) for what in ("mean", "sd"))
    return max(mean, least), max(spread, least)


def kurtosis(draws: np.ndarray) -> float:
    """Of a Normal, 3; not below, so that errors are not taken too small."""
    return max(3.0, float(np.mean((draws - draws.mean()) ** 4) / draws.var() ** 2))


def distance(difference: float, error: float) -> float:
    """In errors; infinite where either is no number, which `max` would pass over."""
    z = abs(difference) / error
    return float(z) if z >= 0.0 else np.inf


def compared(posterior: Any, name: str) -> Verdict:
    """Against the published draws; where there are none, against what was integrated without Credo."""
    facts = known()[name]
    integrated = {key: [mean, sd, PROMISED * sd / 4.0, np.inf] for key, (mean, sd) in facts["exact"].items()}
    reference = facts["draws"] or integrated
    mean, sd = posterior.mean, posterior.sd
    means, sds = {}, {}
    for key, (centre, spread, error, size) in reference.items():
        own = own_errors(posterior, key, float(entry(sd, key)))
        means[key] = distance(float(entry(mean, key)) - centre, np.hypot(error, own[0]))
        if spread is not None:
            share = (kurtosis(entry(posterior.values, key)) - 1.0) / 4.0 / size
            theirs = spread * np.hypot(np.sqrt(share), PROMISED / 4.0)
            sds[key] = distance(float(entry(sd, key)) - spread, np.hypot(theirs, own[1]))
    off = [
        max(abs(float(entry(mean, key)) - centre) / spread, abs(float(entry(sd, key)) / spread - 1.0))
        for key, (centre, spread) in facts["exact"].items()
    ]
    every = means | {f"sd of {key}": z for key, z in sds.items()}
    return Verdict(
        max(means.values()), max(sds.values(), default=np.nan), max(every, key=lambda key: every[key]),
        max(off, default=np.nan),
    )  # fmt: skip


def judged(name: str, build: Callable[[], Any], seed: int = 0) -> dict[str, Any]:
    """One row of the table."""
    model = build()
    wall, cpu = time.perf_counter(), time.process_time()
    posterior = model.fit(random_state=seed)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    treatment = posterior.explain().treatment
    groups = {how: [k for k, v in treatment.items() if v == how] for how in dict.fromkeys(treatment.values())}
    verdict = compared(posterior, name) if name in known() else Verdict(np.nan, np.nan, "", np.nan)
    certificate = {
        k: v for k, v in posterior.result.certificate.items() if isinstance(v, (int, float, np.number))
    }  # fmt: skip
    return {
        "posterior": name,
        "numbers": str(sum(node.size for node in model.latents)),
        "rung": posterior.inference,
        "how": "; ".join(f"{', '.join(names)}: {how}" for how, names in groups.items()),
        "seconds_cpu": f"{cpu:.2f}",
        "seconds_wall": f"{wall:.2f}",
        "status": posterior.result.status,
        "certificate": "; ".join(f"{k} {v:.3g}" for k, v in certificate.items()),
        "log_evidence": f"{posterior.log_evidence:.3f}",
        "z_mean": f"{verdict.z_mean:.2f}",
        "z_sd": f"{verdict.z_sd:.2f}",
        "worst": verdict.worst,
        "error_in_sds": f"{verdict.error:.1e}",
        "ok": "" if name not in known() else "yes" if verdict.ok and posterior.result.ok else "no",
    }
