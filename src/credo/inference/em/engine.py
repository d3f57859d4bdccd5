"""`em`: alternate E and M until the bound stops rising.

log p(x | θ) = L(θ, q) + KL(q ‖ p(z | x, θ)) ≥ L(θ, q). The E-step closes the gap, the M-step raises L, so the
log-likelihood never falls. It is computed at every pass and a fall beyond rounding is an error: the M-step is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.blocks.array import ArraySource
from credo.blocks.reduction import reduce
from credo.blocks.source import Source
from credo.errors import BoundFellError, NumericalError, ParameterError, UnavailableError
from credo.inference.em.acceleration import Squarem
from credo.inference.em.model import EMModel, merge
from credo.inference.result import Result

__all__ = ["em", "EMFit"]

# Share of (|bound| + rows) that summation in double precision can lose in an ill-conditioned E-step; far below any tol.
ROUNDING = 1e-10
# Plain EM converges linearly; while each rise is less than this share of the one before, jumping ahead gains little and
# may land in another basin.
SLOW = 0.75
# A jump leaves several slow directions, of which one plain step may see the least: once jumping, a plain step, the jump
# after it and a plain step must all rise less than tol.
QUIET = 3


@dataclass(frozen=True, eq=False)
class EMFit:
    """Where EM ended.

    params : the last evaluated; statistics : gathered at them; bound : the objective there. With `finish` the params
        are one M-step further, where the objective is no lower
    n_passes : E-steps over the data, refused jumps included
    gaps : KL(q ‖ p(z | x, θ)) opened by each plain M-step, where the model computes it
    result : status, bound after every accepted step, seconds, advice
    """

    params: Any
    statistics: Any
    bound: float
    n_passes: int
    result: Result
    gaps: tuple[float, ...] = ()


@dataclass
class _Run:
    """One EM run's state: the current point and its trace."""

    model: EMModel
    source: Source
    rows: float
    threads: int | None
    params: Any
    finish: bool = False
    statistics: Any = None
    bound: float = -np.inf
    passes: int = 0
    bounds: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def evaluate(self, params: Any) -> tuple[Any, float]:
        self.passes += 1
        statistics = reduce(self.source, lambda block: self.model.accumulate(block, params), merge, self.threads)
        return statistics, float(self.model.bound(statistics, params))

    def move(self, params: Any, statistics: Any, bound: float) -> None:
        self.params, self.statistics, self.bound = params, statistics, bound
        self.bounds.append(bound)
        self.seconds.append(time.perf_counter() - self.began)

    def plain_step(self, params: Any) -> None:
        """Take the M-step `params`; the bound must not fall."""
        statistics, bound = self.evaluate(params)
        if not np.isfinite(bound):
            raise NumericalError(
                f"EM: the bound is {bound} after {len(self.bounds)} steps.",
                value=bound,
                remedy="A component has collapsed onto a point, or the data are out of range: give a prior or rescale.",
            )
        slack = ROUNDING * (abs(self.bound) + self.rows)
        if bound < self.bound - slack - self.model.slack(self.statistics, params):
            raise BoundFellError(self.bound, bound, len(self.bounds))
        with suppress(UnavailableError):
            self.gaps.append(bound - self.model.expected(self.statistics, params))
        self.move(params, statistics, bound)

    def jump(self, vector: np.ndarray | None) -> bool:
        """Take a proposed jump if the bound rises there."""
        if vector is None or not np.all(np.isfinite(vector)):
            return False
        try:
            params = self.model.unpack(vector)
            statistics, bound = self.evaluate(params)
        except (ArithmeticError, ValueError):  # parameters no M-step would give; the plain step will do
            return False
        if not bound >= self.bound:
            return False
        self.move(params, statistics, bound)
        return True

    def fit(self, status: str, advice: tuple[str, ...] = ()) -> EMFit:
        result = Result(status, "em", tuple(self.bounds), tuple(self.seconds), {}, advice)
        params = self.model.finalize(self.statistics) if self.finish else self.params
        return EMFit(params, self.statistics, self.bound, self.passes, result, tuple(self.gaps))


def em(
    model: EMModel,
    data: Any,
    start: Any,
    *,
    tol: float = 1e-8,
    scale: float | None = None,
    parameter_tol: float | None = None,
    max_iter: int = 1000,
    acceleration: str | None = None,
    threads: int | None = None,
    finish: bool = False,
    callback: Callable[[int, Any, float], None] | None = None,
) -> EMFit:
    """Maximise a likelihood with latent variables from the parameters `start`.

    Parameters
    ----------
    model : an `EMModel`
    data : a `Source` of blocks, or an array (n, columns)
    tol : stop when a step raises the bound by less than tol × `scale`
    scale : None is |bound| (a relative rise); a number of rows makes tol a rise per row
    parameter_tol : also wait until no entry of `model.pack(params)` moves more than this
    acceleration : None or "squarem": a quarter of the passes where components overlap (the median of 89 Gaussian
        mixtures; 0.44 at worst). A jump is taken only where the bound is higher than before, else the plain step
    finish : end with an M-step from the last pass, unevaluated: a better point for nothing. It counts as an iteration,
        so that max_iter = 1 is one pass and one M-step
    callback : called with (step, params, bound) after every accepted step

    Returns
    -------
    EMFit : status "converged", "max_iter" or "interrupted" (by Ctrl-C, with what had been reached)

    Raises
    ------
    BoundFellError : the bound fell beyond rounding: the M-step does not maximise what the E-step gathered.
    NumericalError : the bound is not finite.

    Examples
    --------
    Two coins of unknown bias, one chosen for each row of (heads, tails):

    >>> import numpy as np
    >>> class TwoCoins(EMModel):
    ...     def accumulate(self, block, bias):
    ...         log_p = block.X @ np.log([bias, 1 - bias])
    ...         total = np.logaddexp(*log_p.T) - np.log(2)
    ...         share = np.exp(log_p - np.log(2) - total[:, None])
    ...         return share.T @ block.X, total.sum()
    ...     def finalize(self, statistics):
    ...         heads, tails = statistics[0].T
    ...         return heads / (heads + tails)
    ...     def bound(self, statistics, bias):
    ...         return statistics[1]
    >>> tosses = np.array([[5, 5], [9, 1], [8, 2], [4, 6], [7, 3]])
    >>> em(TwoCoins(), tosses, np.array([0.6, 0.5])).params.round(2).tolist()
    [0.8, 0.52]

    References
    ----------
    Dempster, Laird and Rubin (1977), JRSS B 39; Neal and Hinton (1998), A view of the EM algorithm.
    """
    _check(tol, max_iter, acceleration)
    source = data if isinstance(data, Source) else ArraySource(data)
    run = _Run(model, source, float(scale or source.n_rows or 1), threads, start, finish)
    accelerator, quiet = None, 0
    if acceleration:
        model.pack(start)  # a model without a vector of parameters says so before the first pass
        accelerator = Squarem()
    try:
        run.move(start, *run.evaluate(start))
        if not np.isfinite(run.bound):
            raise NumericalError(
                f"EM: the bound is {run.bound} at the start.", value=run.bound, remedy="Choose another start."
            )
        for step in range(1, max_iter + (0 if finish else 1)):
            before, old = run.bound, run.params
            plain = model.finalize(run.statistics)
            jumped = accelerator is not None and _try_jump(run, accelerator, plain)
            if not jumped:
                run.plain_step(plain)
            if callback:
                callback(step, run.params, run.bound)
            quiet = quiet + 1 if _is_still(run, old, before, tol, scale, parameter_tol) else 0
            if quiet >= (QUIET if accelerator is not None and accelerator.began else 1):
                return run.fit("converged")
    except KeyboardInterrupt:
        if run.statistics is None:
            raise
        return run.fit("interrupted")
    return run.fit("max_iter", _unfinished(run, max_iter))


def _try_jump(run: _Run, accelerator: Squarem, plain: Any) -> bool:
    if not _is_slow(run.bounds):
        return False
    vector = accelerator.propose(run.model.pack(run.params), run.model.pack(plain))
    if vector is None:
        return False
    accepted = run.jump(vector)
    accelerator.judge(accepted)
    return accepted


def _is_slow(bounds: list[float]) -> bool:
    """Whether plain steps have begun to creep; once they have, jumps stay allowed."""
    rises = np.diff(bounds)
    return bool(rises.size >= 2 and np.any(rises[1:] > SLOW * rises[:-1]))


def _is_still(run: _Run, old: Any, before: float, tol: float, scale: float | None, parameter_tol: float | None) -> bool:
    unit = scale if scale is not None else max(abs(run.bound), np.finfo(float).tiny)
    if run.bound - before > tol * unit:
        return False
    if parameter_tol is None:
        return True
    return bool(np.abs(run.model.pack(run.params) - run.model.pack(old)).max() <= parameter_tol)


def _unfinished(run: _Run, max_iter: int) -> tuple[str, ...]:
    """What is left, if rises keep shrinking at the rate of the last ones (Aitken)."""
    rises = np.diff(run.bounds)
    if rises.size < 2 or rises[-1] <= 0.0:
        return (f"Stopped at max_iter = {max_iter}.",)
    rate = float(np.clip(rises[-1] / rises[-2], 0.0, 0.9999)) if rises[-2] > 0 else 0.9999
    left = rises[-1] * rate / (1.0 - rate)
    return (
        f"Stopped at max_iter = {max_iter} with the bound still rising {rises[-1]:.1e} an iteration; about {left:.1e} "
        "is left at this rate. Raise max_iter"
        + (" or loosen tol." if type(run.model).pack is EMModel.pack else ", or use acceleration='squarem'."),
    )


def _check(tol: float, max_iter: int, acceleration: str | None) -> None:
    if not tol >= 0.0:
        raise ParameterError("em", "tol", "a number ≥ 0", tol)
    if not (isinstance(max_iter, (int, np.integer)) and max_iter >= 1):
        raise ParameterError("em", "max_iter", "an integer ≥ 1", max_iter)
    if acceleration not in (None, "squarem"):
        raise ParameterError("em", "acceleration", "None or 'squarem'", acceleration)
