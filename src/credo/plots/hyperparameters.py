"""A fitted Gaussian process at other hyperparameters: its evidence there, and a copy of the model as it would be.

The model itself is never changed.

Notation
    θ (h,)  logs of the positive hyperparameters, as the model's search has them; a few of noise are coefficients
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, NumericalError, ParameterError
from credo.numerics.threads import single_blas_thread

__all__ = ["Hyperparameters"]

# Rows up to which one BLAS thread is kept, as the estimators do.
SMALL = 500


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """names, theta (h,) ; shift (h,) : added to θ gives logs in the user's units ; positive (h,) : whether θ is a log
    model_at : θ → a copy of the model conditioned there, its `log_evidence_` set
    log_prior : θ → log density of the priors that are stated
    kernel : at the learned values ; n : rows
    scales : entries of θ that only scale the kernel or the noise; along_scales : many θ that differ in these alone →
        their log evidences, from one factorisation of a kind, NaN where that does not do
    """

    owner: str
    names: tuple[str, ...]
    theta: np.ndarray
    shift: np.ndarray
    positive: np.ndarray
    kernel: Any
    model_at: Callable[[np.ndarray], Any]
    log_prior: Callable[[np.ndarray], float]
    n: int
    scales: tuple[int, ...] = ()
    along_scales: Callable[[Sequence[np.ndarray]], np.ndarray] | None = None

    @classmethod
    def of(cls, owner: str, model: Any) -> Hyperparameters:
        """Of a fitted model that `readings.reading` takes."""
        from credo.models.gaussian_process.latent import LatentFit
        from credo.models.gaussian_process.latent_softmax import SoftmaxFit

        belief = getattr(model, "latent_", None) or model.belief_
        if isinstance(belief, LatentFit):
            return _of_latent(owner, model, belief)
        return _of_softmax(owner, model, belief) if isinstance(belief, SoftmaxFit) else _of_normal(owner, model)

    @property
    def values(self) -> np.ndarray:
        """(h,) in the user's units."""
        return self.natural(self.theta)

    def natural(self, theta: np.ndarray) -> np.ndarray:
        return np.where(self.positive, np.exp(np.where(self.positive, theta + self.shift, 0.0)), theta)

    def moved(self, values: Mapping[int, float]) -> np.ndarray:
        """θ with some entries at values in the user's units."""
        theta = self.theta.copy()
        for i, value in values.items():
            theta[i] = np.log(value) - self.shift[i] if self.positive[i] else value
        return theta

    def log_evidence(self, theta: np.ndarray, prior: bool = False) -> float:
        """log p(y | θ), with the log prior of θ if asked; −∞ where the covariance cannot be factored."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                value = float(self.model_at(theta).log_evidence_)
        except NumericalError:
            return -np.inf
        value = value + self.log_prior(theta) if prior else value
        return value if np.isfinite(value) else -np.inf

    def log_evidences(self, i: int, j: int, a: np.ndarray, b: np.ndarray, prior: bool = False) -> np.ndarray:
        """`log_evidence` (k, m) with entry i at each of a (m,) and entry j at each of b (k,)."""
        places = np.array([[self.moved({i: u, j: v}) for u in a.tolist()] for v in b.tolist()])
        values = np.full(places.shape[:2], np.nan)
        if self.along_scales is not None:
            free = (j in self.scales, i in self.scales)
            whole = slice(None)
            lines: dict[tuple[bool, bool], list[Any]] = {
                (True, True): [(whole, whole)],
                (True, False): [(whole, m) for m in range(len(a))],
                (False, True): [(k, whole) for k in range(len(b))],
                (False, False): [],
            }
            for line in lines[free]:
                at = places[line].reshape(-1, self.theta.size)
                with contextlib.suppress(NumericalError), np.errstate(all="ignore"):
                    found = self.along_scales(list(at))
                    values[line] = np.reshape(found, values[line].shape)
                    values[line] += np.reshape([self.log_prior(t) if prior else 0.0 for t in at], values[line].shape)
        for k, m in np.argwhere(~np.isfinite(values)):
            values[k, m] = self.log_evidence(places[k, m], prior)
        return values

    def threads(self) -> Any:
        """To be held during many evaluations: factors of few rows are too small for BLAS to share among threads."""
        return single_blas_thread() if self.n <= SMALL else contextlib.nullcontext()

    def index(self, parameter: str, name: Any) -> int:
        """The entry of θ with this name, or the only one whose name ends in it.

        ParameterError : none, or several; the message has the names there are.
        """
        if not self.names:
            raise ParameterError(
                self.owner, "model", "one with hyperparameters that are not fixed", self.kernel,
                "Take the names out of `fixed`.",
            )  # fmt: skip
        found = [i for i, own in enumerate(self.names) if own == name]
        found = found or [i for i, own in enumerate(self.names) if own.endswith(f".{name}")]
        if len(found) != 1:
            what = "one of" if not found else "one alone of"
            raise ParameterError(self.owner, parameter, f"{what} {', '.join(map(repr, self.names))}", name)
        return found[0]

    def lengthscale(self, column: int) -> int:
        """The entry of θ that is the lengthscale of a column."""
        found = [self.names.index(name) for name in _lengthscales(self.kernel, column) if name in self.names]
        if len(found) != 1:
            raise ParameterError(
                self.owner, "hyperparameter", f"stated, one of {', '.join(map(repr, self.names))}: column {column} has "
                f"{len(found) or 'no'} lengthscale{'s' if len(found) != 1 else ''} that can be moved", None,
            )  # fmt: skip
        return found[0]


def _lengthscales(kernel: Any, column: int, prefix: str = "") -> Iterator[str]:
    """Names of the lengthscales, in all parts of a kernel, that stretch a column."""
    from credo.kernels import Product, Scaled, Sum

    if isinstance(kernel, (Sum, Product)):
        for i, part in enumerate(kernel.parts):
            yield from _lengthscales(part, column, f"{prefix}{i}.")
    elif isinstance(kernel, Scaled):
        yield from _lengthscales(kernel.kernel, column, f"{prefix}kernel.")
    else:
        active = getattr(kernel, "active_dims", None)
        for hyper in kernel.hyperparameters:
            if hyper.name != "lengthscale" or (active is not None and column not in active):
                continue
            at = column if active is None else list(active).index(column)
            yield f"{prefix}lengthscale" if hyper.value.size == 1 else f"{prefix}lengthscale[{at}]"


def _of_normal(owner: str, model: Any) -> Hyperparameters:
    from credo.kernels import Differentiated, Scaled
    from credo.models.gaussian_process.fitting import in_users_units, log_evidence
    from credo.models.gaussian_process.noise import Known, Learned, WithSlopes
    from credo.models.gaussian_process.scales import evidence_of_scales, has_scales

    belief, stated = model.belief_, model.noise_stated_
    if isinstance(belief.noise, Known) and np.ndim(stated) == 0 and stated > 0.0:
        # A stated noise is s = 1 times its own variance: that 1 can be moved as a learned one.
        belief = replace(belief, noise=Learned(1.0, 1.0))
        first = np.log(stated)
    else:
        first, stated = np.log(model.units_.shared), None
    inner = belief.noise.values if isinstance(belief.noise, WithSlopes) else belief.noise
    kernel = belief.kernel.kernel if isinstance(belief.kernel, Differentiated) else belief.kernel
    k, h = belief.kernel.theta.size, belief.theta.size
    shift, positive = np.zeros(h), np.ones(h, dtype=bool)
    shift[:k] = in_users_units(kernel, model.units_.shared).theta - kernel.theta
    shift[k : k + 1] = first
    if not isinstance(inner, Learned):  # the level of a log sd, then its coefficients
        positive[k + 1 :] = False

    def model_at(theta: np.ndarray) -> Any:
        there = copy.copy(model)
        there.belief_ = belief.at(theta)
        there.theta_draws_ = np.empty((0, h))
        there.log_evidence_ = log_evidence(there.belief_, model.units_)
        if stated is not None:
            there.noise_stated_ = float(stated * np.exp(theta[k]))
        return there

    def log_prior(theta: np.ndarray) -> float:
        return float(belief.at(theta).log_prior()[0])

    def along_scales(thetas: Sequence[np.ndarray]) -> np.ndarray:
        there = [belief.at(theta) for theta in thetas]
        return np.array([log_evidence(belief, model.units_, float(v)) for v in evidence_of_scales(there)])

    n, scales = len(belief.observations.X), ()
    if has_scales(belief):
        scales = (h - 1, 0) if belief.names[0] == "variance" and isinstance(belief.kernel, Scaled) else (h - 1,)
    return Hyperparameters(
        owner, belief.names, belief.theta, shift, positive, kernel, model_at, log_prior, n, scales,
        along_scales if scales else None,
    )  # fmt: skip


def _of_latent(owner: str, model: Any, fit: Any) -> Hyperparameters:
    from credo.models.gaussian_process.latent_evidence import LatentEvidence, LatentTask

    task = LatentTask(fit.kernel, fit.likelihood, fit.X, fit.y, fit.offset, fit.weights, fit.mean)
    engine = "ep" if fit.inference == "ep" else "laplace"
    psi = np.zeros(0) if fit.psi is None else np.asarray(fit.psi, dtype=np.float64)
    theta = np.concatenate([fit.kernel.theta, psi])
    evidence = LatentEvidence(task, engine)  # each search for q(f) starts where the last one ended
    names = (*fit.kernel.names, *(name.removeprefix("log_") for name in fit.likelihood.auxiliary))

    def model_at(theta: np.ndarray) -> Any:
        kernel, psi, _ = task.parts(theta)
        posterior = evidence.posterior(theta)
        if posterior.result.status == "not_identified":
            raise NumericalError("The mode of the latent function is no maximum.", value=theta)
        state, value = posterior.state, float(posterior.log_evidence)
        moved = replace(fit, kernel=kernel, psi=psi, tau=state.tau, nu=state.nu, log_evidence=value)
        return _with(model, moved, value)

    def log_prior(theta: np.ndarray) -> float:
        kernel, psi, _ = task.parts(theta)
        own = 0.0 if psi is None else float(fit.likelihood.auxiliary_log_prior(psi)[0])
        return float(kernel.log_prior()) + own

    zeros, ones = np.zeros(theta.size), np.ones(theta.size, dtype=bool)
    return Hyperparameters(owner, names, theta, zeros, ones, fit.kernel, model_at, log_prior, len(fit.X))


def _of_softmax(owner: str, model: Any, fit: Any) -> Hyperparameters:
    from credo.inference.latent_gaussian import laplace_softmax, softmax_propagation

    theta = fit.kernel.theta
    engine: Any = laplace_softmax if fit.sites is None else softmax_propagation

    def model_at(theta: np.ndarray) -> Any:
        kernel = fit.kernel.with_theta(theta)
        found = engine(kernel(fit.X), fit.codes, fit.n_classes, fit.mean, fit.weights)
        value = float(found.log_evidence)
        return _with(model, replace(fit, kernel=kernel, pull=found.pull, sites=found.sites, log_evidence=value), value)

    zeros, ones = np.zeros(theta.size), np.ones(theta.size, dtype=bool)
    return Hyperparameters(
        owner, fit.kernel.names, theta, zeros, ones, fit.kernel, model_at,
        lambda theta: float(fit.kernel.with_theta(theta).log_prior()), len(fit.X),
    )  # fmt: skip


def _with(model: Any, fit: Any, value: float) -> Any:
    there = copy.copy(model)
    setattr(there, "latent_" if hasattr(model, "latent_") else "belief_", fit)
    there.log_evidence_ = value
    return there
