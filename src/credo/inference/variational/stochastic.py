"""`stochastic_vi`: the Normal nearest to any differentiable posterior, with a certificate.

On the transformed line q maximises the ELBO, E_q log p(z) + H(q), that is, minimises KL(q ‖ p): it prefers to miss mass
rather than to cover emptiness, and is then too narrow without showing it. So the answer is weighed on fresh draws: the
ELBO with its standard error; Pareto k̂ of p/q, which says whether q's tails reach p's; and the evidence of places that
other optimisation paths led to, which says whether q sits in one of several modes.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, ParameterError, warn
from credo.inference.map import starts_of
from credo.inference.pathfinder import Approximation, best_along
from credo.inference.result import Result
from credo.inference.target import Target
from credo.inference.transforms import unconstrained
from credo.inference.variational.certificate import Certificate, certify
from credo.inference.variational.gaussian import FullRank, LowRank, NormalMap
from credo.inference.variational.posterior import VariationalPosterior
from credo.inference.variational.sample_average import GROWTH, Ascent, ascend
from credo.inference.variational.slopes import check_gradient
from credo.numerics.random import as_generator

__all__ = ["FAMILIES", "stochastic_vi"]

FAMILIES = ("diagonal", "low_rank", "full_rank")
#: iterations of the paths that give the first guess; they need only find the mass
PATH_ITERATIONS = 200
#: numbers in the finished q's draws, beyond 200 dimensions; draws there are always
NUMBERS, ALWAYS = 10_000_000, 4000


def stochastic_vi(
    target: Target,
    family: str = "full_rank",
    *,
    rng: Any = None,
    initial: Any = None,
    rank: int = 1,
    n_starts: int = 4,
    draws: int = 50_000,
    tol: float = 0.01,
    first_draws: int = 64,
    max_draws: int = 4096,
    max_iter: int = 2000,
) -> VariationalPosterior:
    """The Normal of a family, on the transformed line, that is nearest to the target in KL(q ‖ p).

    Parameters
    ----------
    target : with a gradient
    family : "diagonal" (no correlations, variances too small where there are), "low_rank" (a diagonal and `rank`
        directions) or "full_rank"
    initial, n_starts : as for `maximise`; paths from the starts give the first guess, and are looked for other modes
    draws : of the finished q, for the ELBO's error, k̂ and `posterior["name"]`; fewer (10⁷/dim) beyond 200 dimensions.
        Weights of a q at its best are so even that the largest of a few thousand are not their tail yet: on 16 logistic
        regressions k̂ averaged 0.4 to 1.6 from 4,000 draws and 0.35 to 0.54 from 50,000, as from 200,000; on funnels 0.8
        to 0.9 from any
    tol : nats of ELBO that may be lost to the finite number of draws in the objective; 0.01 moves a mean by at most
        0.14 sd
    first_draws, max_draws : in the objective, at first (full rank: at least 4 dim) and at most (at least 4 times that)
    max_iter : L-BFGS iterations, all rounds together

    Returns
    -------
    VariationalPosterior : `result.objective` is the ELBO over the draws of its round, after every iteration;
        `result.certificate` holds `pareto_k`, `divergence` (KL(q ‖ p) in nats, from the weights), `elbo_error`, `left`
        (what more draws in the objective would gain, in nats) and `missed` (share of the evidence found where q is not)

    Raises
    ------
    ParameterError : an unknown family, a rank outside 1 … dim − 1, or a target without a gradient.
    NotIdentifiedError : the ELBO has no maximum: the target is improper.
    NumericalError : the density is zero or not a number where q must have mass; the gradient is not its slope.

    Warns
    -----
    ConvergenceWarning : k̂ ≥ 0.7, or another mode holds more than a twentieth of the evidence; the result is then
        "not_certified".

    Notes
    -----
    The objective's draws are held while L-BFGS climbs, then made four times as many until that no longer matters
    (`credo.inference.variational.sample_average`). For a Normal target the answer has no sampling error. Modes that no
    path found cannot be seen.

    Cost: iterations × objective draws gradients; for "full_rank" and "low_rank" memory O(dim²).

    Examples
    --------
    >>> precision = np.array([[2.0, 0.7], [0.7, 1.0]])
    >>> target = Target(lambda x: -0.5 * np.sum((x @ precision) * x, axis=1), {"w": (2,)},
    ...                 gradient=lambda x: -x @ precision, vectorised=True)
    >>> full, diagonal = (stochastic_vi(target, family, rng=0, tol=1e-6) for family in ("full_rank", "diagonal"))
    >>> full.variance.round(2).tolist(), diagonal.variance.round(2).tolist()
    ([0.66, 1.32], [0.5, 1.0])

    References
    ----------
    Kucukelbir, Tran, Ranganath, Gelman and Blei (2017), JMLR 18; Giordano, Ingram and Broderick (2024), JMLR 25; Yao,
    Vehtari, Simpson and Gelman (2018), Yes, but did it work?, ICML.
    """
    _check(family, draws, tol, first_draws, max_draws, max_iter, n_starts)
    if not isinstance(target, Target):
        raise ParameterError("stochastic_vi", "target", "a Target with a gradient", target)
    rng = as_generator(rng)
    free, bijection = unconstrained(target)
    if not free.has_gradient:
        raise ParameterError(
            "stochastic_vi", "target", "with a gradient", None, "Use a sampler without, such as Slice."
        )
    if family == "low_rank" and not (isinstance(rank, (int, np.integer)) and 1 <= rank < free.dim):
        raise ParameterError("stochastic_vi", "rank", f"an integer from 1 to {free.dim - 1}, dimensions less one", rank)
    given = target.initial if initial is None else initial
    starts = starts_of(target, free, bijection, given, n_starts, rng)
    with np.errstate(all="ignore"):
        paths = [best_along(free, z, stream, PATH_ITERATIONS) for z, stream in zip(starts, rng.spawn(len(starts)))]
    guesses = sorted((path for path in paths if path is not None), key=lambda path: -path.elbo)
    best = guesses[0] if guesses else Approximation(starts[0], np.eye(free.dim), -math.inf)
    shape = _family(family, best, rank)
    check_gradient(free, shape, shape.start())
    first = _first_draws(family, shape, first_draws)
    ascent = ascend(free, shape, rng, draws=first, max_draws=max(max_draws, GROWTH * first), tol=tol, max_iter=max_iter)
    check_gradient(free, shape, ascent.parameters)
    n = min(draws, max(ALWAYS, NUMBERS // free.dim))
    certificate = certify(free, shape, ascent.parameters, guesses, n, rng)
    result = _report(family, ascent, certificate, max_iter)
    return VariationalPosterior.of(target, bijection, shape, ascent.parameters, certificate, result, family)


def _family(name: str, guess: Approximation, rank: int) -> NormalMap:
    if name == "full_rank":
        return FullRank(guess.centre, guess.factor)
    return LowRank(guess.centre, guess.factor, rank if name == "low_rank" else 0)


def _first_draws(name: str, family: NormalMap, least: int) -> int:
    """Enough for noise of covariance I; of a diagonal, which has no off-diagonal to mistake, not beyond 512."""
    even = 4 * family.n_noise
    return max(least, even if name == "full_rank" else min(even, 512))


def _report(family: str, ascent: Ascent, certificate: Certificate, max_iter: int) -> Result:
    advice = list(certificate.advice(family))
    status = "not_certified" if advice else "converged"
    if not ascent.converged and not advice:
        status = "max_iter"
        more = "max_iter" if len(ascent.trace) >= max_iter else "max_draws"
        left = f"about {ascent.left:.1e} nats are left" if math.isfinite(ascent.left) else "what is left is unknown"
        advice = [f"The ELBO over {ascent.draws} draws has not settled: {left}. Raise {more}, or loosen tol."]
    if advice:
        warn(f"stochastic_vi: {' '.join(advice)}", ConvergenceWarning)
    values = {
        "pareto_k": certificate.k_hat, "divergence": certificate.log_evidence - certificate.elbo,
        "elbo_error": certificate.elbo_error, "left": ascent.left, "missed": certificate.missed,
    }  # fmt: skip
    return Result(status, "stochastic_vi", tuple(ascent.trace), tuple(ascent.seconds), values, tuple(advice))


def _check(family: str, draws: int, tol: float, first_draws: int, max_draws: int, max_iter: int, n_starts: int) -> None:
    for name, value in {"draws": draws, "tol": tol, "first_draws": first_draws, "max_draws": max_draws,
                        "max_iter": max_iter, "n_starts": n_starts}.items():  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, numbers.Real if name == "tol" else numbers.Integral):
            raise ParameterError("stochastic_vi", name, "a number" if name == "tol" else "an integer", value)
    if family not in FAMILIES:
        raise ParameterError("stochastic_vi", "family", f"one of {', '.join(map(repr, FAMILIES))}", family)
    if draws < 100:
        raise ParameterError("stochastic_vi", "draws", "≥ 100: fewer say nothing about the tail of the weights", draws)
    if not tol > 0.0:
        raise ParameterError("stochastic_vi", "tol", "> 0", tol)
    if not (2 <= first_draws <= max_draws and first_draws % 2 == 0):
        raise ParameterError("stochastic_vi", "first_draws", "even, from 2 to max_draws", first_draws)
    if max_iter < 1 or n_starts < 1:
        raise ParameterError("stochastic_vi", "max_iter and n_starts", "≥ 1", (max_iter, n_starts))
