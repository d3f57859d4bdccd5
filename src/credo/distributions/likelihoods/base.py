"""`Likelihood`: log p(y | η, ψ) of one row given its latent predictor η, everything an engine asks of it.

GLMs, latent-Gaussian models and Gaussian-process counts and classes share these records. All arguments are arrays over
rows; weights multiply outside. Scalar likelihoods take η (rows,); any shape that broadcasts with y will do.

ψ holds the likelihood's own unknowns, its *auxiliary* parameters, on the whole real line: log dispersion, log scale,
cut-points. Most likelihoods have none and ignore `psi`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from credo.distributions.base import Family
from credo.distributions.likelihoods.integrals import HALF_LOG_2PI, NEGLIGIBLE, log_gaussian_integral, log_moments
from credo.distributions.likelihoods.priors import Derivatives, along_line, flat
from credo.errors import DataError, ParameterError
from credo.numerics.namespace import namespace
from credo.saving.registry import register

__all__ = ["Likelihood", "bad_rows", "column", "gaussian", "stacked"]

# Logarithms of positive parameters are read within ±300: e³⁰⁰ is infinity to every likelihood (a negative binomial is a
# Poisson long before), and its square and its products with counts are numbers still.
FARTHEST = 300.0


class Likelihood:
    """A likelihood of one outcome a row. A subclass is a frozen dataclass with

        check(y)                           outcomes as float64 (or codes), `DataError` naming the bad rows
        initial_eta(y)                     a finite start for Newton, near the mode of log p(y | ·)
        log_prob(y, eta, psi)              on NumPy or JAX arrays
        value_and_derivatives(y, eta, order, out, psi)      in η
        joint_derivatives(y, eta, psi)     in (η, ψ)
        mean(eta, psi), link(mean)         E[y | η] and its inverse
        variance(eta, psi)                 Var(y | η)
        law(eta, psi)                      the distribution of y, a `Family` over the rows
        predictive_mean(m, v, psi)         E[y], η ~ N(m, v)
        aleatoric, epistemic (m, v, psi)   E Var(y | η) and Var E(y | η)

    and this class adds the predictive probability of an outcome, and what concerns ψ:

        auxiliary                          names of ψ, () for most
        initial_auxiliary(y)               a finite start (a,)
        auxiliary_values(psi)              natural name → value
        auxiliary_log_prior(psi)           log density of ψ, its gradient and Hessian

    Shapes: η (..., n) with ψ (..., a): leading axes (draws, chains) broadcast, ψ's last axis is its own. A ψ of one
    axis serves all rows. The fields named in `positive` are numbers when known, None when learned under the default
    prior, or a `Family` that is their prior; ψ has the logarithms of the learned ones, in that order.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register(cls)  # every likelihood can be saved

    #: "real", "count" or "class", as in `Predictive.kind`
    kind: str = "real"
    #: whether log p is concave in η for every y: Newton may then use its curvature as it stands
    log_concave: bool = True
    #: whether log p has two continuous derivatives in η: else its curvature says nothing about the posterior
    smooth: bool = True
    #: fields that are positive numbers, and auxiliary parameters when not known
    positive: ClassVar[tuple[str, ...]] = ()

    @property
    def without_mean(self) -> tuple[str, ...]:
        """Natural names whose posterior mean is infinite whatever the rows say."""
        return ()

    def __post_init__(self) -> None:
        for name in self.positive:
            value = getattr(self, name)
            if value is None or isinstance(value, Family):
                continue
            try:
                array = np.asarray(value, dtype=np.float64)
                good = array.ndim <= 1 and array.size > 0 and bool(np.all(np.isfinite(array) & (array > 0)))
            except (TypeError, ValueError):
                array, good = np.empty(0), False
            if not good:
                constraint = "finite and > 0 (a number, or one a row), None or a prior to be learned"
                raise ParameterError(type(self).__name__, name, constraint, value)
            object.__setattr__(self, name, array[()])

    # -- what a subclass supplies ------------------------------------------------------------------------------

    def check(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def initial_eta(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _log_prob(self, y: Any, eta: Any, *natural: Any) -> Any:
        """`log_prob` given the natural auxiliary values."""
        raise NotImplementedError

    def _derivatives(self, y: Any, eta: np.ndarray, order: int, *natural: Any) -> tuple[Any, ...]:
        """(first, ..., `order`-th) derivative in η given the natural auxiliary values, order ≥ 1."""
        raise NotImplementedError

    def _joint(self, y: Any, eta: np.ndarray, *natural: Any) -> tuple[list[Any], list[list[Any]]]:
        """Gradient and upper triangle of the Hessian in η and the logarithms of *all* of `positive`, by rows."""
        raise NotImplementedError

    def _start(self, y: np.ndarray) -> dict[str, float]:
        """Natural starting values of `positive`."""
        return {}

    def _default_prior(self, name: str) -> Any:
        """u = log value → (log density, first, second derivative) of a learned parameter without a stated prior."""
        return flat

    def mean(self, eta: Any, psi: Any = None) -> Any:
        raise NotImplementedError

    def link(self, mean: Any) -> Any:
        raise NotImplementedError

    def variance(self, eta: Any, psi: Any = None) -> Any:
        raise NotImplementedError

    def law(self, eta: Any, psi: Any = None) -> Family:
        raise NotImplementedError

    def predictive_mean(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        raise NotImplementedError

    def aleatoric(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        raise NotImplementedError

    def epistemic(self, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        raise NotImplementedError

    # -- auxiliary parameters ----------------------------------------------------------------------------------

    @property
    def learned(self) -> tuple[str, ...]:
        """The members of `positive` that are not known."""
        values = ((name, getattr(self, name)) for name in self.positive)
        return tuple(name for name, value in values if value is None or isinstance(value, Family))

    @property
    def auxiliary(self) -> tuple[str, ...]:
        """Names of ψ's components, each on the whole real line."""
        return tuple(f"log_{name}" for name in self.learned)

    def initial_auxiliary(self, y: Any) -> np.ndarray:
        """A finite start for ψ, (a,), from checked outcomes alone."""
        start = self._start(np.asarray(y, dtype=np.float64))
        return np.log(np.array([start[name] for name in self.learned], dtype=np.float64))

    def auxiliary_values(self, psi: Any) -> dict[str, np.ndarray]:
        """Natural name → value, of ψ (..., a): arrays (...)."""
        psi = self._checked(psi)
        return {name: np.exp(psi[..., k]) for k, name in enumerate(self.learned)}

    def auxiliary_log_prior(self, psi: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Log density of ψ (..., a), Jacobian included: value (...), gradient (..., a) and Hessian (..., a, a)."""
        psi = self._checked(psi)
        a = len(self.learned)
        value, gradient, hessian = np.zeros(psi.shape[:-1]), np.zeros(psi.shape), np.zeros((*psi.shape, a))
        for k, name in enumerate(self.learned):
            prior = getattr(self, name)
            density: Derivatives = self._default_prior(name) if prior is None else along_line(prior)
            part, gradient[..., k], hessian[..., k, k] = density(psi[..., k])
            value = value + part
        return value[()], gradient, hessian

    def natural(self, psi: Any = None) -> tuple[Any, ...]:
        """The values of `positive`, known or from ψ, shaped to broadcast with η (..., n)."""
        if not self.positive:
            return ()
        learned = self.learned
        if learned:
            psi = self._checked(psi)
        values = []
        for name in self.positive:
            if name not in learned:
                values.append(getattr(self, name))
                continue
            xp = namespace(psi)
            value = xp.exp(xp.clip(psi[..., learned.index(name)], -FARTHEST, FARTHEST))
            values.append(value[..., None] if value.ndim else value)
        return tuple(values)

    def _checked(self, psi: Any) -> Any:
        names = self.auxiliary
        if psi is None and not names:
            return np.zeros(0)
        psi = None if psi is None else namespace(psi).asarray(psi) * 1.0
        if psi is None or psi.ndim == 0 or psi.shape[-1] != len(names):
            raise ParameterError(type(self).__name__, "psi", f"given, its last axis holding {names}", psi)
        return psi

    # -- what follows from the pieces --------------------------------------------------------------------------

    def log_prob(self, y: Any, eta: Any, psi: Any = None) -> Any:
        """log p(y | η, ψ) in nats, on NumPy or JAX arrays."""
        return self._log_prob(y, eta, *self.natural(psi))

    def value_and_derivatives(
        self, y: Any, eta: Any, order: int = 2, out: tuple[np.ndarray, ...] | None = None, psi: Any = None
    ) -> tuple[np.ndarray, ...]:
        """(log p, its first, ..., its `order`-th derivative in η), order ≤ 3, in one pass.

        `out` is a tuple of order + 1 float64 arrays to write into (allocated when None).
        """
        eta, natural = np.asarray(eta, dtype=np.float64), self.natural(psi)
        with np.errstate(over="ignore", under="ignore"):
            value = self._log_prob(y, eta, *natural)
            parts = out or tuple(np.empty(np.shape(value)) for _ in range(order + 1))
            parts[0][...] = value
            if order >= 1:
                for part, values in zip(parts[1:], self._derivatives(y, eta, order, *natural), strict=False):
                    part[...] = values
        return parts[: order + 1]

    def joint_derivatives(
        self, y: Any, eta: Any, psi: Any = None, order: int = 2
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | tuple[np.ndarray, ...]:
        """log p (..., n), gradient (..., n, 1 + a) and Hessian (..., n, 1 + a, 1 + a) in (η, ψ), up to `order` ≤ 2."""
        learned = self.learned
        if not learned:
            value, *rest = self.value_and_derivatives(y, eta, order, psi=psi)
            return (value, *(part[(..., *(None,) * k)] for k, part in enumerate(rest, start=1)))
        eta, natural = np.asarray(eta, dtype=np.float64), self.natural(psi)
        with np.errstate(over="ignore", under="ignore"):
            value = np.asarray(self._log_prob(y, eta, *natural))
            first, second = self._joint(y, eta, *natural)
        keep = [0, *(1 + self.positive.index(name) for name in learned)]
        return (value, *stacked(value.shape, first, second, keep)[:order])

    def predictive_log_prob(self, y: Any, m: Any, v: Any, psi: Any = None) -> np.ndarray:
        """log ∫ p(y | η) N(η; m, v) dη, row by row; absolute error below 1e-10 (see `log_gaussian_integral`)."""
        m, v = gaussian(type(self).__name__, m, v)
        y, m, v, *natural = np.broadcast_arrays(np.asarray(y, dtype=np.float64), m, v, *self.natural(psi))
        flat_y, flat_natural = y.ravel(), [value.ravel() for value in natural]

        def at(rows: np.ndarray) -> list[np.ndarray]:
            return [value[rows] for value in flat_natural]

        if natural:
            slopes = lambda rows, eta: self._derivatives(flat_y[rows], eta, 2, *at(rows))[:2]  # noqa: E731
        else:
            slopes = lambda rows, eta: self.value_and_derivatives(flat_y[rows], eta)[1:]  # noqa: E731
        return log_gaussian_integral(
            lambda rows, eta: self._log_prob(flat_y[rows], eta, *at(rows)), slopes, self.initial_eta(y), m, v
        )

    def tilted_moments(
        self, y: Any, m: Any, v: Any, psi: Any = None, power: Any = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log Z, mean and variance of p(y | η)^power N(η; m, v)/Z, row by row (EP's one need); v > 0, ψ of one axis.

        Where log p is smooth, relative error of Z below 1e-10. Cost about 700 evaluations a row.
        """
        y, m, v, power = (
            np.ravel(a) for a in np.broadcast_arrays(np.asarray(y, dtype=np.float64), m, v, np.asarray(power))
        )
        s, natural = np.sqrt(v), self.natural(psi)

        def log_joint(rows: np.ndarray, eta: np.ndarray) -> np.ndarray:
            z = (eta - m[rows]) / s[rows]
            log_p = self._log_prob(y[rows], eta, *self._natural_at(natural, rows))
            return power[rows] * log_p - 0.5 * z * z - HALF_LOG_2PI - np.log(s[rows])

        rows = np.arange(y.size)
        with np.errstate(over="ignore"):
            # Between the likelihood's best and the Gaussian's the product is at least `floor`, and nowhere above
            # best − z²/2: beyond √(2 (best − floor + 40)) sds of m nothing is left.
            best_at = np.stack([m, self._best_eta(y, psi)])
            best = power * np.max(self._best_log_prob(y, best_at, psi), axis=0) - HALF_LOG_2PI - np.log(s)
            path = best_at[0] + (best_at[1] - best_at[0]) * np.linspace(0.0, 1.0, 17)[:, None]
            floor = np.max(log_joint(rows, path), axis=0)
            reach = s * np.sqrt(2.0 * (np.maximum(best - floor, 0.0) + NEGLIGIBLE + 10.0))
            return log_moments(log_joint, m - reach, m + reach)

    def _natural_at(self, natural: tuple[Any, ...], rows: np.ndarray) -> list[Any]:
        """Natural values of these rows."""
        return [value[rows] if np.ndim(value) else value for value in natural]

    def _best_eta(self, y: np.ndarray, psi: Any) -> np.ndarray:
        """Near where log p(y | ·) is highest."""
        return self.initial_eta(y)

    def _best_log_prob(self, y: np.ndarray, eta: np.ndarray, psi: Any) -> np.ndarray:
        """At least nearly the highest log p(y | ·); 0 bounds a probability."""
        return np.zeros_like(eta) if self.kind != "real" else self.log_prob(y, eta, psi)


def stacked(
    shape: tuple[int, ...], first: list[Any], second: list[list[Any]], keep: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (*shape, d) and symmetric Hessian (*shape, d, d) of the kept coordinates, from their entries.

    second[i][j − i] is entry (i, j), j ≥ i.
    """
    d = len(keep)
    gradient, hessian = np.empty((*shape, d)), np.empty((*shape, d, d))
    for a, i in enumerate(keep):
        gradient[..., a] = first[i]
        for b in range(a, d):
            hessian[..., a, b] = second[i][keep[b] - i]
            hessian[..., b, a] = hessian[..., a, b]
    return gradient, hessian


def gaussian(owner: str, m: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """The mean and variance of η, broadcast, finite, v ≥ 0."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=np.float64), np.asarray(v, dtype=np.float64))
    if not np.all(np.isfinite(m)):
        raise ParameterError(owner, "m", "finite", m)
    if not np.all(np.isfinite(v) & (v >= 0)):
        raise ParameterError(owner, "v", "finite and ≥ 0, a variance", v)
    return m, v


def column(owner: str, y: Any) -> np.ndarray:
    """Outcomes (rows,) as float64; `DataError` for another shape, for no rows, and naming rows that are not finite."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{owner}: outcomes must be numbers.", value=y) from None
    if values.ndim != 1 or values.size == 0:
        raise DataError(f"{owner}: outcomes must be one number a row, got shape {values.shape}.", value=values.shape)
    bad_rows(owner, values, ~np.isfinite(values), "finite")
    return values


def bad_rows(owner: str, y: np.ndarray, bad: np.ndarray, constraint: str, remedy: str | None = None) -> None:
    """Raise the `DataError` that names the rows where `bad`, if there are any."""
    rows = np.flatnonzero(bad)
    if rows.size:
        more = f" ({rows.size} such rows)" if rows.size > 1 else ""
        raise DataError(
            f"{owner}: outcomes must be {constraint}, got {y[rows[0]].item()!r} in row {rows[0]}{more}.",
            rows=rows[:20].tolist(),
            value=y[rows[:20]],
            remedy=remedy,
        )
