"""From chains to `Draws`: back to the support, statistics into arrays, and everything that went wrong said aloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.diagnostics.mcmc import Convergence, check_convergence
from credo.diagnostics.visits import seldom_far_out
from credo.errors import ConvergenceWarning, warn
from credo.inference.draws import Draws
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.transforms import Bijection

if TYPE_CHECKING:
    from credo.inference.mcmc.driver import Chain

__all__ = ["build_draws", "assess"]


def build_draws(
    target: Target,
    where: Target,
    bijection: Bijection | None,
    crew: list[Chain],
    draws: int,
    seconds: float,
    interrupted: bool,
) -> Draws:
    """The draws of all chains, cut to the length of the shortest, with one warning if anything is amiss."""
    n = min(draws, *(len(chain.positions) for chain in crew))
    z = np.array([chain.positions[:n] for chain in crew])
    x = z if bijection is None else bijection.forward(z)
    stats = _statistics(crew, n, z, x, bijection)
    inference = crew[0].kernel.inference
    result, said = assess(target, x, stats, inference, seconds, _faults(where, crew), interrupted)
    if said:
        warn(" ".join(said), ConvergenceWarning)
    return Draws(target.split(x), result, stats, target.dims, _density(target))


def assess(
    target: Target,
    x: np.ndarray,
    stats: Mapping[str, np.ndarray],
    inference: str,
    seconds: float,
    faults: Sequence[str] = (),
    interrupted: bool = False,
) -> tuple[Result, tuple[str, ...]]:
    """The verdict on chains x (chains, draws, dim), whoever ran them, and the part of its advice that is worth a
    warning: of interrupted chains not that they are short.

    stats : statistic → (chains, draws); `divergent`, `energy` and `reached_max_depth` are looked at
    faults : what else was met on the way
    """
    complaints = (
        *_standing_still(target, x),
        *faults,
        *_divergences(target, x, stats.get("divergent")),
        *_depth(stats.get("reached_max_depth")),
    )
    verdict = _verdict(target.split(x), stats) if x.shape[1] >= 4 else None
    advice = (*complaints, *(verdict.advice if verdict else ()))
    status = "interrupted" if interrupted else "converged" if verdict and not advice else "not_certified"
    certificate = verdict.certificate if verdict else {}
    if status == "converged":  # of chains that are well otherwise
        certificate["ess_far_out"], seldom = seldom_far_out(target.split(x))
        if seldom is not None:
            status, advice = "not_certified", (seldom,)
    result = Result(status, inference, seconds=(seconds,), certificate=certificate, advice=advice)
    return result, complaints if interrupted or verdict is None else advice


def _density(target: Target) -> Any:
    if not target.has_density:
        return None
    return lambda x: target.evaluate_rows(x.reshape(-1, target.dim))[0].reshape(x.shape[:-1])


def _statistics(
    crew: list[Chain], n: int, z: np.ndarray, x: np.ndarray, bijection: Bijection | None
) -> dict[str, np.ndarray]:
    fields = [name for name in crew[0].infos[0]._fields if name != "parts"]
    columns = [list(zip(*chain.infos[:n])) for chain in crew]
    at = {name: crew[0].infos[0]._fields.index(name) for name in fields}
    stats = {name: np.array([column[at[name]] for column in columns]) for name in fields}
    densities = [chain.log_densities[:n] for chain in crew]
    if all(value is not None for chain in densities for value in chain):
        stats["log_density"] = np.array(densities) - (0.0 if bijection is None else bijection.log_jacobian(x, z)[0])
    return stats


def _verdict(values: Mapping[str, np.ndarray], stats: Mapping[str, np.ndarray]) -> Convergence:
    # Divergences are named with their place by `_divergences`; here they would be said twice.
    verdict = check_convergence(values, None, stats.get("energy"))
    count = int(np.sum(stats.get("divergent", 0)))
    return Convergence(**{**verdict.__dict__, "divergences": count})


def _standing_still(target: Target, x: np.ndarray) -> list[str]:
    """A chain, or a variable of one, that never moved."""
    if x.shape[1] < 2:
        return []
    still = np.all(x == x[:, :1], axis=1)
    complaints = []
    for i, coordinates in enumerate(still):
        if coordinates.all():
            complaints.append(
                f"chain {i} never moved: every proposal was rejected at {target.describe(x[i, 0])}. Take smaller "
                "steps, a longer warm-up, or another start."
            )
        elif coordinates.any():
            where = int(np.flatnonzero(coordinates)[0])
            complaints.append(
                f"chain {i}: {target.labels[where]} stayed at {x[i, 0, where]:.6g} in every draw"
                + (f" (and {coordinates.sum() - 1} more)" if coordinates.sum() > 1 else "")
                + ". Is it updated at all?"
            )
    return complaints


def _faults(where: Target, crew: list[Chain]) -> list[str]:
    return [
        f"chain {chain.number}: the density or its gradient was NaN at {chain.faults} proposals, which were rejected; "
        f"the first at {where.describe(chain.first_fault)}. Check the log density there."
        for chain in crew
        if chain.first_fault is not None
    ]


def _divergences(target: Target, x: np.ndarray, divergent: np.ndarray | None) -> list[str]:
    """Per chain: how many, and the coordinate in which the draws near them are oddest."""
    if divergent is None:
        return []
    centre, spread = x.mean(axis=(0, 1)), x.std(axis=(0, 1))
    complaints = []
    for i, bad in enumerate(np.asarray(divergent, dtype=bool)):
        if bad.any():
            near = np.median(x[i][bad], axis=0)
            where = int(np.argmax(np.abs(near - centre) / np.where(spread > 0, spread, np.inf)))
            complaints.append(
                f"chain {i}: {bad.sum()} divergent trajectories, near {target.labels[where]} = {near[where]:.4g}."
            )
    if complaints:
        complaints.append(
            "The sampler cannot follow the density there, and the draws may be biased. Where the curvature is high, "
            "raise target_acceptance, or reparametrise (a non-centred form for hierarchies). At a kink or an edge, as "
            "of a Laplace prior, write the prior as a scale mixture, declare the support, or take RandomWalk."
        )
    return complaints


#: a few long trajectories are ordinary; more than this share says that the depth limit shortens the typical one
DEPTH_SHARE = 0.1


def _depth(limited: np.ndarray | None) -> list[str]:
    if limited is None or np.mean(limited) <= DEPTH_SHARE:
        return []
    return [
        f"{100 * np.mean(limited):.0f} % of trajectories were cut short by max_depth: correct but slow. Rescale or "
        "decorrelate the variables, lengthen warm-up, or raise max_depth."
    ]
