"""`mean_field`: coordinate ascent on q(z) = Π_k q_k(z_k), for conjugate-exponential targets.

    log p(x) = ELBO + KL(q ‖ p(z | x)) ≥ ELBO,      ELBO = E_q log p(x, z) + Σ_k H(q_k)

With the others held, the best q_k has log q_k(z_k) = E_{−k} log p(x, z) + const: the expectation of the *log*. Where
the complete conditional p(z_k | z_−k, x) is of an exponential family, so is q_k, and its natural parameters are the
expectation of the conditional's. Each update can only raise the ELBO, which is computed after every sweep.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, CredoError, NumericalError, ParameterError, warn
from credo.inference.result import Result
from credo.inference.variational.exponential import ExponentialFamily, Tuple, inner

__all__ = ["VariationalFactor", "MeanFieldFit", "mean_field"]

# Share of the ELBO's terms that summation in double precision can lose; as for EM, far below any tol.
ROUNDING = 1e-10


@dataclass(frozen=True)
class VariationalFactor:
    """One factor q_k of q.

    name : of z_k
    family : the exponential family of q_k
    update : moments (name → E t(z), a tuple) of all factors → natural parameters of q_k, E_{−k} of those of
        p(z_k | z_−k, x); it reads those of the others only
    """

    name: str
    family: ExponentialFamily
    update: Callable[[Mapping[str, Tuple]], Any]


@dataclass(frozen=True, eq=False)
class MeanFieldFit:
    """Where coordinate ascent ended.

    natural, moments : name → natural parameters and E t(z) of each factor
    elbo : lower bound on log p(x), in nats
    result : status, ELBO after every sweep (the start first), seconds, the last rise
    """

    factors: tuple[VariationalFactor, ...]
    natural: Mapping[str, Tuple]
    moments: Mapping[str, Tuple]
    elbo: float
    result: Result

    def distribution(self, name: str) -> Any:
        """q of one factor, as a member of `credo.distributions`."""
        for factor in self.factors:
            if factor.name == name:
                return factor.family.distribution(self.natural[name])
        raise ParameterError("MeanFieldFit", "name", f"one of {', '.join(self.natural)}", name)


def mean_field(
    factors: Sequence[VariationalFactor],
    expected_log_joint: Callable[[Mapping[str, Tuple]], float],
    start: Mapping[str, Any] | None = None,
    *,
    tol: float = 1e-10,
    parameter_tol: float | None = None,
    max_iter: int = 1000,
    callback: Callable[[int, Mapping[str, Tuple], float], None] | None = None,
) -> MeanFieldFit:
    """Raise the ELBO factor by factor until it stands still.

    Parameters
    ----------
    factors : updated in this order; the engine knows nothing else of the model
    expected_log_joint : moments of all factors → E_q log p(x, z), constants included if the ELBO is to be a bound
    start : name → natural parameters of the factors that the first update needs; factors left out are set by their own
        updates, in order
    tol : stop when a sweep raises the ELBO by less than tol × (1 + |ELBO|). The ELBO is flat at its top: parameters are
        right to about √tol
    parameter_tol : also wait until no moment moves by more than this share of the largest of its array
    callback : called with (sweep, natural parameters, ELBO) after every sweep

    Returns
    -------
    MeanFieldFit : status "converged", "max_iter" (with a `ConvergenceWarning`) or "interrupted"

    Raises
    ------
    NumericalError : the ELBO fell beyond rounding, a factor is not finite, or (looked at in the first sweep) an update
        is not the slope of `expected_log_joint`. Each names the factor.
    ParameterError : names that repeat or are unknown, or a start that lacks what the first update reads.

    Notes
    -----
    Ascent is to a local maximum, and q is too narrow: KL(q ‖ p) makes it avoid where p has no mass. `stochastic_vi`
    checks that by k̂; here the gap log p(x) − ELBO is unknown unless log p(x) is.

    Cost: an update of every factor and one `expected_log_joint` a sweep.

    Examples
    --------
    A pair with precision matrix Λ, each given its own q: means are right, variances 1/Λ_ii too small.

    >>> from credo.inference.variational.exponential import Normal
    >>> L = np.array([[2.0, 1.2], [1.2, 1.0]])
    >>> def given(other, own):
    ...     return lambda m: (1.0 - L[own, other] * m["ab"[other]][0], -0.5 * L[own, own])
    >>> factors = [VariationalFactor("ab"[k], Normal(), given(1 - k, k)) for k in (0, 1)]
    >>> def expected(m):
    ...     square = L[0, 0] * m["a"][1] + L[1, 1] * m["b"][1] + 2 * L[0, 1] * m["a"][0] * m["b"][0]
    ...     return float(m["a"][0] + m["b"][0] - 0.5 * square)
    >>> fit = mean_field(factors, expected, {"b": (0.0, -0.5)})
    >>> round(float(fit.distribution("a").sd ** 2), 9), np.round(np.linalg.solve(L, [1, 1])[0], 3)
    (0.5, np.float64(-0.357))
    >>> round(float(fit.distribution("a").mean), 3)
    -0.357

    References
    ----------
    Jordan, Ghahramani, Jaakkola and Saul (1999), Machine Learning 37; Winn and Bishop (2005), JMLR 6.
    """
    names: list[Any] = [getattr(factor, "name", None) for factor in factors]
    _check(names, start or {}, tol, max_iter)
    run = _Ascent(tuple(factors), expected_log_joint)
    try:
        run.begin(start or {})
        for sweep in range(1, max_iter + 1):
            before, held = run.elbo, dict(run.moments)
            run.sweep(checking=sweep == 1)
            if callback:
                callback(sweep, dict(run.natural), run.elbo)
            if run.elbo - before <= tol * (1.0 + abs(run.elbo)) and run.is_still(held, parameter_tol):
                return run.fit("converged")
    except KeyboardInterrupt:
        if not run.trace:
            raise
        return run.fit("interrupted")
    fit = run.fit("max_iter", (_unfinished(run.trace, max_iter),))
    warn(f"mean_field: {fit.result.message}", ConvergenceWarning)
    return fit


@dataclass
class _Ascent:
    """The state of a run: every factor's parameters and moments, and the ELBO's trace."""

    factors: tuple[VariationalFactor, ...]
    expected_log_joint: Callable[[Mapping[str, Tuple]], float]
    natural: dict[str, Tuple] = field(default_factory=dict)
    moments: dict[str, Tuple] = field(default_factory=dict)
    entropy: dict[str, float] = field(default_factory=dict)
    trace: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    @property
    def elbo(self) -> float:
        return self.trace[-1]

    def begin(self, start: Mapping[str, Any]) -> None:
        for factor in self.factors:
            if factor.name in start:
                self.take(factor, _numbers(factor.name, start[factor.name]))
        for factor in self.factors:
            if factor.name not in start:
                try:
                    self.update(factor)
                except KeyError as missing:
                    if missing.args[0] not in [other.name for other in self.factors]:
                        raise  # of the update's own
                    raise ParameterError(
                        "mean_field", "start", f"given for {missing.args[0]!r}, which {factor.name!r} is updated from",
                        sorted(start), "Give natural parameters of q, or put the factors in another order.",
                    ) from None  # fmt: skip
        self.note(self.evaluate("the start"))

    def take(self, factor: VariationalFactor, natural: Tuple) -> None:
        name = factor.name
        try:
            with np.errstate(all="ignore"):
                moments = _arrays(factor.family.moments(natural))
                entropy = factor.family.log_normaliser(natural) - inner(natural, moments)
        except (IndexError, ValueError) as error:
            raise ParameterError(
                "mean_field", f"natural parameters of {name!r}", f"arrays as {type(factor.family).__name__} has them",
                natural, f"({error})",
            ) from None  # fmt: skip
        # a share of 0 has logarithm −∞ and weight 0; NaN is never right
        bad = [not np.all(np.isfinite(eta)) for eta in natural] + [bool(np.any(np.isnan(m))) for m in moments]
        if any(bad) or not math.isfinite(entropy):
            raise NumericalError(
                f"mean_field: the factor {name!r} is not a distribution (entropy {entropy}).",
                value=natural,
                remedy=f"Natural parameters must lie in the domain of {type(factor.family).__name__}: "
                "see credo.inference.variational.exponential, and check signs.",
            )
        self.natural[name], self.moments[name], self.entropy[name] = natural, moments, entropy

    def update(self, factor: VariationalFactor) -> None:
        self.take(factor, _numbers(factor.name, factor.update(self.moments)))

    def evaluate(self, when: str) -> float:
        elbo = self.expected() + sum(self.entropy.values())
        if not math.isfinite(elbo):
            raise NumericalError(
                f"mean_field: the ELBO is {elbo} after {when}.",
                value=elbo,
                remedy="Check expected_log_joint, and that the start gives every datum a positive density.",
            )
        return elbo

    def sweep(self, checking: bool) -> None:
        for factor in self.factors:
            if checking:
                self.checked_update(factor)
            else:
                self.update(factor)
        elbo = self.evaluate(f"sweep {len(self.trace)}")
        self.refuse_fall(self.elbo, elbo, "a sweep")
        self.note(elbo)

    def checked_update(self, factor: VariationalFactor) -> None:
        """E log p is linear in the moments of one factor, and its slope there is the update: so its change is known."""
        name, old = factor.name, self.moments[factor.name]
        before = self.expected()
        elbo = before + sum(self.entropy.values())
        self.update(factor)
        after = self.expected()
        self.refuse_fall(elbo, after + sum(self.entropy.values()), f"the update of {name!r}")
        self.refuse_slope(name, before, after, old)
        # A start that an update has set hides its faults, since nothing moves: so a look from elsewhere too.
        for probe in self.elsewhere(factor):
            seen = float(self.expected_log_joint({**self.moments, name: probe}))
            if math.isfinite(seen):
                self.refuse_slope(name, seen, after, probe)

    def elsewhere(self, factor: VariationalFactor) -> Iterator[Tuple]:
        """Moments of members of the family near the present one: each natural parameter shrunk, and shifted."""
        natural = self.natural[factor.name]
        for i, eta in enumerate(natural):
            for moved in (0.9 * eta, eta + 0.1):
                trial = (*natural[:i], moved, *natural[i + 1 :])
                try:
                    with np.errstate(all="ignore"):
                        moments = _arrays(factor.family.moments(trial))
                        sizes = [factor.family.log_normaliser(trial), *(float(np.sum(m)) for m in moments)]
                except (CredoError, np.linalg.LinAlgError):
                    continue  # outside the domain
                if all(map(math.isfinite, sizes)):
                    yield moments

    def expected(self) -> float:
        """E log p(x, z), a number."""
        value = self.expected_log_joint(self.moments)
        if np.ndim(value):
            raise ParameterError("mean_field", "expected_log_joint", "a function that returns one number", value)
        return float(value)

    def refuse_slope(self, name: str, before: float, after: float, old: Tuple) -> None:
        new, natural = self.moments[name], self.natural[name]
        with np.errstate(invalid="ignore"):
            moved = inner(natural, new) - inner(natural, old)
        size = abs(before) + abs(after) + sum(float(np.sum(np.abs(e * m))) for e, m in zip(natural, new))
        if math.isfinite(moved) and abs(after - before - moved) > 100.0 * ROUNDING * (1.0 + size):
            raise NumericalError(
                f"mean_field: the update of {name!r} and expected_log_joint disagree: E log p changed by "
                f"{after - before:.9g}, where the update says {moved:.9g}.",
                value=(after - before, moved),
                remedy="The natural parameters must be the slope of expected_log_joint in the moments of that factor.",
            )

    def refuse_fall(self, before: float, after: float, what: str) -> None:
        size = 1.0 + abs(before) + sum(abs(h) for h in self.entropy.values())
        if after < before - ROUNDING * size:
            raise NumericalError(
                f"mean_field: the ELBO fell from {before!r} to {after!r} in {what}.",
                value=(before, after),
                remedy="That update does not maximise the ELBO, or expected_log_joint is not E log p(x, z).",
            )

    def note(self, elbo: float) -> None:
        self.trace.append(elbo)
        self.seconds.append(time.perf_counter() - self.began)

    def is_still(self, held: Mapping[str, Tuple], parameter_tol: float | None) -> bool:
        if parameter_tol is None:
            return True
        pairs = [(a, b) for name in held for a, b in zip(held[name], self.moments[name], strict=True)]
        moves = [float(np.max(np.abs(a - b), initial=0.0)) for a, b in pairs]
        return all(move <= parameter_tol * float(np.max(np.abs(b), initial=0.0)) for move, (_, b) in zip(moves, pairs))

    def fit(self, status: str, advice: tuple[str, ...] = ()) -> MeanFieldFit:
        rise = self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else math.nan
        result = Result(status, "mean_field", tuple(self.trace), tuple(self.seconds), {"last_rise": rise}, advice)
        return MeanFieldFit(self.factors, dict(self.natural), dict(self.moments), self.elbo, result)


def _arrays(values: Any) -> Tuple:
    parts = values if isinstance(values, tuple) else (values,)
    return tuple(np.asarray(part, dtype=np.float64) for part in parts)


def _numbers(name: str, values: Any) -> Tuple:
    """Natural parameters that a user gave."""
    try:
        return _arrays(values)
    except (TypeError, ValueError):
        raise ParameterError(
            "mean_field", f"natural parameters of {name!r}", "a tuple of arrays of numbers", values
        ) from None


def _check(names: list[str], start: Mapping[str, Any], tol: float, max_iter: int) -> None:
    if not names or any(name is None for name in names) or len(set(names)) != len(names):
        raise ParameterError("mean_field", "factors", "VariationalFactors, one or more, of different names", names)
    unknown = [name for name in start if name not in names]
    if unknown:
        raise ParameterError("mean_field", "start", f"about factors ({', '.join(names)})", unknown[0])
    if isinstance(tol, str) or not tol >= 0.0:
        raise ParameterError("mean_field", "tol", "a number ≥ 0", tol)
    if not (isinstance(max_iter, (int, np.integer)) and max_iter >= 1):
        raise ParameterError("mean_field", "max_iter", "an integer ≥ 1", max_iter)


def _unfinished(trace: list[float], max_iter: int) -> str:
    """What is left, if rises keep shrinking at the rate of the last ones (Aitken)."""
    rises = np.diff(trace)
    left = ""
    if rises.size > 1 and 0.0 < rises[-1] < rises[-2]:
        rate = float(rises[-1] / rises[-2])
        left = f"; about {rises[-1] * rate / (1.0 - rate):.1e} is left at this rate"
    return f"Stopped at max_iter = {max_iter} with the ELBO rising by {rises[-1]:.1e} a sweep{left}."
