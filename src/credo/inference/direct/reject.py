"""Rejection: draws x of q are kept with probability p̃(x)/(M q(x)), and are then draws of p."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.direct.densities import Density, as_density, as_proposal, check_size
from credo.inference.direct.reach import check_reach
from credo.inference.direct.records import DirectDraws
from credo.inference.result import Result
from credo.numerics.random import as_generator

__all__ = ["rejection", "direct_draws"]

#: proposals drawn at once at least and at most: enough for NumPy, few enough for memory
BLOCK = (256, 100_000)
#: proposals a wanted draw before giving up, unless the user says otherwise
PATIENCE = 1000
#: a tight bound is met up to the rounding of three numbers, each a sum of some terms
ROUNDING = 64.0 * np.finfo(float).eps


def rejection(
    target: Any, proposal: Any, *, log_bound: float, size: int, rng: Any = None, max_proposals: int | None = None
) -> DirectDraws:
    """Independent, exact draws of the target: x ~ q is kept if log u ≤ log p̃(x) − log M − log q(x), u ~ U(0, 1).

    Parameters
    ----------
    target : a `Target`, a distribution, or log p̃ of all draws at once, (n, ...) → (n,); up to a constant.
    proposal : a distribution q with `sample` and `log_prob`; for a `Target` also a mapping of names to distributions.
    log_bound : log M with p̃(x) ≤ M q(x) everywhere. A draw that shows otherwise is an error, not a bias.
    size : number of draws kept.
    rng : seed or generator.
    max_proposals : give up beyond so many; None is 1,000 a wanted draw, and at least a million.

    Returns
    -------
    DirectDraws with `acceptance_rate` (Z/M for Z = ∫ p̃: 1/M for a normalised p) and log evidence log M + log Z/M with
    its standard error √((1 − a)/size). The rate is (size − 1)/(N − 1), N the proposal that brought the last draw, which
    is unbiased (Haldane 1945); what the block drew beyond is discarded.

    Raises
    ------
    ParameterError : the bound is violated (the message shows the point and both sides), or the proposal has density 0
        where the target has mass, as far as points beyond its draws show.
    NumericalError : log p̃ is NaN or +inf somewhere; or too few are accepted.

    Cost: size · M/Z evaluations: e^(c·dim) for a target and a proposal that are products.

    Reference: von Neumann (1951), Various techniques used in connection with random digits.

    Examples
    --------
    >>> import credo as cr
    >>> draws = rejection(cr.Beta(2, 3), cr.Uniform(0, 1), log_bound=np.log(16 / 9), size=1000, rng=0)
    >>> abs(draws.acceptance_rate - 9 / 16) < 0.05, abs(draws.mean - 0.4) < 0.02
    (True, np.True_)
    """
    size = check_size("rejection", size)
    density = as_density("rejection", target)
    q = as_proposal("rejection", proposal, density.target)
    log_bound = _number(log_bound)
    limit = max(1_000_000, PATIENCE * size) if max_proposals is None else check_size(
        "rejection", max_proposals, size, "max_proposals"
    )  # fmt: skip
    rng = as_generator(rng)
    began = time.perf_counter()
    kept: list[np.ndarray] = []
    accepted = tried = 0
    while accepted < size:
        rate = max(accepted, 1) / tried if tried else 1.0
        n = min(int(np.clip(1.1 * (size - accepted) / rate, *BLOCK)), limit - tried)
        x, log_q = q.draw(n, rng)
        log_p = density(x)
        if not tried and np.any(log_p > -np.inf):
            check_reach(density, q, x, log_p)
        log_ratio = log_p - log_q
        _check_bound(density, x, log_ratio, log_q, log_bound)
        taken = np.flatnonzero(-rng.standard_exponential(n) <= log_ratio - log_bound)[: size - accepted]
        kept.append(x[taken])
        accepted += taken.size
        # The count ends with the proposal that brought the last draw.
        tried += int(taken[-1]) + 1 if accepted == size else n
        if accepted < size and tried >= limit:
            raise NumericalError(
                f"rejection: {accepted} of {tried} proposals were accepted, where {size} draws are wanted.",
                value=accepted / tried,
                remedy="Lower log_bound if it is loose, take a proposal nearer to the target, or use a Markov chain: "
                "acceptance falls exponentially with the dimension.",
            )
    rate = (size - 1) / (tried - 1) if size > 1 else 1.0 / tried
    return direct_draws(
        density, np.concatenate(kept), "rejection", time.perf_counter() - began,
        rate, log_bound + math.log(rate), math.sqrt((1.0 - rate) / size), {"proposals": tried},
    )  # fmt: skip


def direct_draws(
    density: Density,
    x: np.ndarray,
    inference: str,
    seconds: float,
    acceptance_rate: float = 1.0,
    log_evidence: float = float("nan"),
    log_evidence_error: float = float("nan"),
    certificate: dict[str, Any] | None = None,
    advice: tuple[str, ...] = (),
) -> DirectDraws:
    """Rows x (n, ...) as the record that direct samplers return."""
    status = "not_certified" if advice else "converged"
    certificate = {"acceptance_rate": acceptance_rate, **(certificate or {})}
    return DirectDraws(
        {name: value[None] for name, value in density.split(x).items()},
        Result(status, inference, (), (seconds,), certificate, advice),
        dims={} if density.target is None else density.target.dims,
        density=density.joint(),
        acceptance_rate=acceptance_rate,
        log_evidence=log_evidence,
        log_evidence_error=log_evidence_error,
    )


def _check_bound(density: Density, x: np.ndarray, log_ratio: np.ndarray, log_q: np.ndarray, log_bound: float) -> None:
    slack = ROUNDING * (1.0 + np.abs(log_q) + abs(log_bound))
    over = np.where(np.isfinite(log_ratio), log_ratio - log_bound - slack, -np.inf)
    worst = int(np.argmax(over))
    if over[worst] > 0.0:
        raise ParameterError(
            "rejection", "log_bound",
            f"≥ log p̃(x) − log q(x) everywhere, which is {log_ratio[worst]:.9g} at {density.describe(x[worst])}",
            log_bound, "Raise it, or find the maximum of the difference.",
        )  # fmt: skip


def _number(log_bound: Any) -> float:
    try:
        value = float(log_bound)
    except (TypeError, ValueError):
        value = float("nan")
    if not math.isfinite(value):
        raise ParameterError("rejection", "log_bound", "a finite number, log M", log_bound)
    return value
