"""The ELBO over fixed noise, and its maximum: a deterministic problem for L-BFGS, solved on more and more draws.

    F_S(λ) = (1/S) Σ_s log p(z_λ(ε_s)) + H(q_λ)

With the ε held, F_S is smooth and its gradient exact, so that a quasi-Newton method applies and knows when it has
finished. What the finite sample costs is seen by moving to four times as many fresh draws: the rise there, F_B(λ_B) −
F_B(λ_A), is about five times what λ_B still lacks (both are quadratic in errors of variance 1/S). Rounds go on until
that is small.

Reference: Giordano, Ingram and Broderick (2024), Black box variational inference with a deterministic objective, JMLR
25.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
import scipy.optimize

from credo.errors import NotIdentifiedError, NumericalError
from credo.inference.target import Target
from credo.inference.variational.gaussian import NormalMap, even_noise

__all__ = ["GROWTH", "Ascent", "ascend"]

#: by how much the draws grow from round to round, and what the next round's rise is in units of what is left
GROWTH, LEFT = 4, 5.0
#: widths of the guess: eight schools, the widest of six proper posteriors tried, ended at 20; improper ones go on
RUNAWAY = 1e4
#: share of tol below which a step of an early round is not worth its cost
SHARE = 0.01
#: the same in the last: far below what the draws leave uncertain, and small enough that tol alone sets the accuracy
POLISH = 1e-6
#: pairs of steps that L-BFGS remembers
HISTORY = 20


@dataclass
class Ascent:
    """Where the rounds ended: parameters λ, the last F_S, the rise of the last round over LEFT, the trace."""

    parameters: np.ndarray
    value: float = -math.inf
    left: float = math.inf
    draws: int = 0
    converged: bool = False
    trace: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def ascend(
    target: Target,
    family: NormalMap,
    rng: np.random.Generator,
    *,
    draws: int,
    max_draws: int,
    tol: float,
    max_iter: int,
) -> Ascent:
    """Maximise the ELBO of `family` for an unconstrained target until what is left is below `tol` nats.

    draws : of the first round
    max_iter : L-BFGS iterations, all rounds together

    Raises `NumericalError` where q's own draws have no density, `NotIdentifiedError` where the ELBO has no maximum.
    """
    began = time.perf_counter()
    state = Ascent(family.start())
    while True:
        noise = even_noise(draws, family.n_noise, rng)
        objective = _Objective(target, family, noise)
        before = objective(state.parameters)[0]
        if before >= objective.WALL:
            raise objective.refusal(state.parameters)
        _lbfgs(objective, state, max_iter - len(state.trace), began, SHARE * tol)
        rise = before + state.value
        first = state.draws == 0
        state.draws = draws
        # the first round starts from a guess: its rise says nothing of the draws
        state.left = math.inf if first else max(rise, 0.0) / LEFT
        settled = state.left <= tol
        if settled or len(state.trace) >= max_iter or GROWTH * draws > max_draws:
            state.converged = _lbfgs(objective, state, max_iter - len(state.trace), began, POLISH * tol) and settled
            return state
        draws *= GROWTH


def _lbfgs(objective: _Objective, state: Ascent, max_iter: int, began: float, slack: float) -> bool:
    """Climb from the state's parameters, into it, until a step gains less than `slack` nats; whether the maximum, or
    that, was reached."""
    if max_iter < 1:
        return False

    def note(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        state.trace.append(-float(intermediate_result.fun))
        state.seconds.append(time.perf_counter() - began)
        objective.refuse_runaway(intermediate_result.x)

    found = scipy.optimize.minimize(
        objective, state.parameters, jac=True, method="L-BFGS-B", callback=note,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": 1e-8, "maxcor": HISTORY,
                 "ftol": max(slack / (1.0 + abs(state.value) if math.isfinite(state.value) else 1.0), 1e-15)},
    )  # fmt: skip
    state.parameters, state.value = found.x, -float(found.fun)
    # a line search that finds nothing larger has met rounding, if the slope is small too
    return bool(found.success) or float(np.max(np.abs(found.jac))) < 1e-4


class _Objective:
    """−F_S and its gradient."""

    #: value where a draw has no density: the line search shrinks away from there
    WALL = 1e300

    def __init__(self, target: Target, family: NormalMap, noise: np.ndarray) -> None:
        self.target, self.family, self.noise = target, family, noise

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(all="ignore"):
            z = self.family.draw(parameters, self.noise)
            if not np.all(np.isfinite(z)):
                return self.WALL, np.zeros_like(parameters)
            values, slopes = self.target.evaluate_rows(z, gradient=True)
            entropy, by_entropy = self.family.entropy(parameters)
            gradient = self.family.pull_back(parameters, self.noise, slopes) + by_entropy  # type: ignore[arg-type]
        value = float(np.mean(values)) + entropy
        if not (math.isfinite(value) and np.all(np.isfinite(gradient))):
            return self.WALL, np.zeros_like(parameters)
        return -value, -gradient

    def refusal(self, parameters: np.ndarray) -> NumericalError:
        """What is wrong with the first draw that has no finite density or gradient."""
        z = self.family.draw(parameters, self.noise)
        with np.errstate(all="ignore"):
            values, slopes = self.target.evaluate_rows(z, gradient=True)
        bad_value = ~np.isfinite(values)
        row = int(np.argmax(bad_value | ~np.all(np.isfinite(np.asarray(slopes)), axis=1)))
        what = f"log density is {values[row]}" if bad_value[row] else "gradient is not finite"
        return NumericalError(
            f"stochastic_vi: the {what} at {self.target.describe(z[row])}, which q reaches.",
            value=z[row],
            remedy="q has mass on the whole space: declare the variables' supports, and check the gradient there.",
        )

    def refuse_runaway(self, parameters: np.ndarray) -> None:
        growth = self.family.growth(parameters)
        worst = int(np.argmax(growth))
        if not growth[worst] < RUNAWAY:
            raise NotIdentifiedError(
                f"stochastic_vi: the ELBO rises without bound as {self.target.labels[worst]} spreads or runs off "
                f"({growth[worst]:.0e} times the width of the first guess): the density is improper there, or on quite "
                "another scale.",
                value=float(growth[worst]),
                remedy="Give that variable a proper prior, or measure it in units in which its sd is nearer to 1.",
            )
