"""`GaussianProcessRegressor`: belief about a function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from credo.diagnostics.information import LeaveOneOut
from credo.distributions.multivariate_normal import MultivariateNormal
from credo.distributions.normal import Normal
from credo.errors import DataWarning, ParameterError, UnavailableError, warn
from credo.inference.result import Result
from credo.kernels import Kernel
from credo.models.columns import checked_rows, checked_weights, validated
from credo.models.convergence import FitConvergenceWarning
from credo.models.evidence import Evidence, Outcomes
from credo.models.gaussian_process import reading
from credo.models.gaussian_process.fitting import LEARN, Seen, choose_theta, in_users_units, log_evidence, prepare
from credo.models.gaussian_process.noise import Stated, stated
from credo.models.gaussian_process.noise_process import process_kernel
from credo.models.gaussian_process.regression_robust import fit_robust, leave_one_out_robust, require_normal
from credo.models.gaussian_process.robust import is_robust
from credo.models.gaussian_process.slopes import checked_slopes, slope_rows
from credo.models.reading import Readable
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread
from credo.prediction.law_draws import LawDraws
from credo.prediction.predictive import Predictive
from credo.saving.registry import register

__all__ = ["GaussianProcessRegressor"]

OWNER = "GaussianProcessRegressor"
INFERENCES = ("auto", "laplace", "nuts", "slice")
# Share of an outcome's sd by which rows without noise may be missed: what a plot does not show.
MISSED = 1e-3
# Rows up to which one BLAS thread is kept: factoring 500 takes 2 ms, too short to share.
SMALL = 500
# Of the outcomes' variance, below which the learned noise is next to its floor of 1e-8.
NO_NOISE = 1e-7


@register
class GaussianProcessRegressor(Readable, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Belief about a function: y = m(x) + f(x) + ε, f ~ GP(0, k), m with its coefficients integrated out.

    Given y, f(x) is Normal with mean k(x)ᵀK_y⁻¹(y − m) and variance k(x, x) − k(x)ᵀK_y⁻¹k(x), K_y = K + noise: few rows
    near x leave it wide, many make it narrow.

    Parameters
    ----------
    kernel : a record of `cr.kernels`, in the units of X and y as they are; None is variance · Matérn 5/2 with a
        lengthscale for each column, and weak priors in units of the columns and outcomes, so that units do not matter
    noise : standard deviation: None, learned; a number ≥ 0; one for each row; `cr.noise.Normal(…)` with a prior on it.
        Far outcomes: `cr.noise.StudentT(…)` or `cr.noise.Laplace(…)`, by expectation propagation (`latent_`).
        Varying with x: `cr.noise.LogLinear()`, or a kernel, that of a second Gaussian process for log sd, learned too
    mean : "constant", "linear", or None (zero)
    mean_prior : `Normal` on intercept and slopes; None is flat
    optimizer : "auto" learns what is not fixed; None keeps kernel and noise as stated
    n_restarts_optimizer : further starts, scattered about the first by a factor e^1.5
    learn : what is maximised: "evidence", log p(y); "map", with the priors that kernel and noise state; "loo", "kfold",
        the log predictive density of rows, or `folds` folds, left out (with those priors)
    inference : "auto" plugs the maximum in; "laplace" (weighted draws about it, certified by Pareto k̂), "nuts", "slice"
        integrate over the hyperparameters, with `chains` × `draws` draws, of the samplers after `warmup`
    solver : "auto", by predicted cost and memory, or a record of `models.gaussian_process.solvers`

    Attributes
    ----------
    kernel_ : the prior covariance of f, learned; for several targets with kernel=None, of f/`target_scale_`
    noise_scale_ : sd of the noise, a number, (targets,) or (n,); None where it varies with x: see `noise_scale(X)`
    noise_kernel_ : that of log sd of the noise, learned by Laplace's evidence of it; None where it is no process
    alpha_, centres_ : (n,) or (n, targets), (n, d): the posterior mean is m(x) + Σ_i alpha_i k(x, centres_i), a network
        with a basis at each distinct row
    intercept_, mean_coef_ : of m
    log_evidence_ : log p(y | X) at the hyperparameters; evidence_ : `Evidence`, for `cr.compare` and `cr.average`
    posterior_ : draws of the hyperparameters by name, where integrated
    result_ : `Result`: the objective at each step, solver, jitter, advice
    target_scale_ : what outcomes were divided by, where targets have kernels of their own scale, else 1

    Raises
    ------
    ParameterError, DataError : a bad argument; bad rows, such as equal ones that differ in y without noise
    NotIdentifiedError : one row and the noise to learn
    NotPositiveDefiniteError, NumericalError : a covariance beyond repair by jitter; more rows than memory

    Notes
    -----
    Exactly solved, n rows cost n³ flops a step and 40 n² bytes. Copies of a row, and weights, count as one row with
    less noise, which is the same and cheaper. `sample_weight` counts rows.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> from credo.models.gaussian_process import GaussianProcessRegressor
    >>> x = np.linspace(0, 1, 30)[:, None]; y = np.sin(6 * x[:, 0]) + 5.0
    >>> model = GaussianProcessRegressor(noise=0.01).fit(x, y)
    >>> p = model.predict_distribution([[0.5], [3.0]])
    >>> bool(abs(p.mean[0] - np.sin(3) - 5) < 0.01), bool(p.sd[1] > 10 * p.sd[0])
    (True, True)
    """

    latent_: Any  # `LatentFit`, under noise that is not Normal

    def __init__(
        self,
        kernel: Any = None,
        *,
        noise: Any = None,
        mean: Any = "constant",
        mean_prior: Any = None,
        optimizer: Any = "auto",
        n_restarts_optimizer: int = 0,
        learn: str = "map",
        folds: int = 10,
        inference: str = "auto",
        chains: int = 4,
        draws: int = 250,
        warmup: int = 250,
        solver: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.mean = mean
        self.mean_prior = mean_prior
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.learn = learn
        self.folds = folds
        self.inference = inference
        self.chains = chains
        self.draws = draws
        self.warmup = warmup
        self.solver = solver
        self.random_state = random_state

    # -- fitting -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, slopes: Any = None) -> Self:
        """Fit to X (n, d) and y (n,) or (n, targets).

        slopes : (X, columns, values) or (X, columns, values, sd): ∂f/∂x_column at rows X (m, d), `columns` a number or
            one for each, seen with noise of that sd (0 where not given)
        """
        X, y = validated(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        weights = checked_weights(OWNER, sample_weight, X)
        vars(self).pop("latent_", None)
        if is_robust(self.noise):
            if slopes is not None:
                raise ParameterError(f"{OWNER}.fit", "slopes", "None under noise that is not Normal", slopes)
            return self._fit_robust(X, y, weights)
        given = self._checked(len(X))
        seen, given = _kept(X, y, weights, given)
        if slopes is not None:
            seen = seen._replace(slopes=checked_slopes(slopes, X.shape[1], seen.y.shape[1]))
        rng = as_generator(self.random_state)
        if len(X) <= SMALL:
            with single_blas_thread():
                self._fit(seen, given, rng)
        else:
            self._fit(seen, given, rng)
        self._single = y.ndim == 1
        self._read(np.asarray(y, dtype=np.float64), weights, given)
        if self.inference == "auto" and not self.result_.ok:  # samplers warn themselves
            warn(self.result_.message, FitConvergenceWarning)
        if given.scale is None and self.optimizer is not None and (copied := self._read_off_copies()):
            warn(copied, DataWarning)
        return self

    def _read_off_copies(self) -> str:
        """What to say where copies that agree to the last digit have driven the learned noise to nothing."""
        belief, seen = self.belief_, self.belief_.observations
        if len(belief.variance) != len(seen.count) or not np.any(seen.count > 1.0):
            return ""
        size = np.var(seen.y) + np.finfo(float).tiny
        if np.max(belief.variance) > NO_NOISE * size or seen.within.max() > NO_NOISE**2 * size:
            return ""
        return (
            f"{OWNER}: {np.count_nonzero(seen.count > 1.0)} of {len(seen.count)} distinct rows come in copies "
            "that agree exactly, from which noise was learned to be none. If they are copies of one measurement, "
            "keep one of each; if each was measured, state noise=0."
        )

    def _fit_robust(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> Self:
        self._check()
        vars(self).pop("belief_", None)
        fit_robust(self, X, y, weights, as_generator(self.random_state))
        self.outcomes_ = Outcomes.of_numbers(y, weights)
        if not self.result_.ok:
            warn(self.result_.message, FitConvergenceWarning)
        return self

    def _check(self) -> None:
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise ParameterError(OWNER, "kernel", "a kernel of cr.kernels, or None", self.kernel)
        for name, choices in (("learn", LEARN), ("inference", INFERENCES), ("optimizer", ("auto", None))):
            if getattr(self, name) not in choices:
                raise ParameterError(OWNER, name, f"one of {choices}", getattr(self, name))
        for name, least in (("n_restarts_optimizer", 0), ("folds", 2), ("chains", 1), ("draws", 1), ("warmup", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ParameterError(OWNER, name, f"an integer ≥ {least}", value)

    def _checked(self, n: int) -> Stated:
        """The noise argument, read; the other arguments are what they must be."""
        self._check()
        given = stated(self.noise)
        if np.ndim(given.scale) and len(given.scale) != n:
            raise ParameterError(OWNER, "noise", f"a number or one for each of {n} rows", self.noise)
        if self.optimizer is None and given.scale is None:
            raise ParameterError(
                OWNER, "noise", "stated where optimizer=None", self.noise, "State a standard deviation; 0 is none."
            )
        return given

    def _fit(self, seen: Seen, given: Stated, rng: np.random.Generator) -> None:
        merge = self.optimizer is None or self.learn in ("map", "evidence")
        belief, units, reason = prepare(
            seen, self.kernel, given, self.mean, self.mean_prior, self.solver, merge=merge
        )  # fmt: skip
        result, thetas, found = Result("exact", "exact"), np.empty((0, belief.theta.size)), None
        if self.optimizer is not None:
            belief, result = choose_theta(
                belief, self.learn, n_restarts=self.n_restarts_optimizer, folds=self.folds, rng=rng
            )
            if self.inference != "auto" and belief.theta.size:
                from credo.models.gaussian_process.hierarchical import integrate

                found = integrate(
                    belief, self.inference, chains=self.chains, draws=self.draws, warmup=self.warmup,
                    units=units, rng=rng,
                )  # fmt: skip
                result, thetas = found.posterior.result, found.theta
        self.belief_, self.theta_draws_, self.units_ = belief.settled(), thetas, units
        for name in ("posterior_", "scaled_powers_"):
            vars(self).pop(name, None)
        if found is not None:
            self.posterior_ = found.posterior
            self.scaled_powers_ = {"values": found.values, "log_prior": found.log_prior,
                                   "log_evidence": found.log_evidence}  # fmt: skip
        factored = self.belief_.conditioned.factored
        solved = factored.certificate
        advice = (*result.advice, *getattr(factored, "advice", ()))
        if solved.get("jitter", 0.0) > 0.0:
            advice = (*advice, f"K_y was factored with jitter {solved['jitter']:.0e} on its diagonal.")
            gap = self._missed(solved["jitter"])
            if gap > MISSED:
                missed = (
                    f"The rows are missed by up to {gap * float(units.unit.max()):.3g} where no noise was stated: the "
                    "kernel is too smooth for them, and only jitter made its matrix positive definite. Standard "
                    "deviations there are too small. State a noise, or a shorter lengthscale."
                )
                result, advice = replace(result, status="not_certified"), (*advice, missed)
        self.result_ = replace(
            result, certificate={**result.certificate, **solved, "solver_reason": reason}, advice=advice
        )

    def _missed(self, jitter: float) -> float:
        """How far jitter leaves the mean from rows whose own noise is below it, in the belief's units."""
        belief = self.belief_
        own = belief.observations.noise(belief.variance) < jitter
        return float(np.abs(jitter * belief.dual[own]).max(initial=0.0))

    def _read(self, y: np.ndarray, weights: np.ndarray | None, given: Stated) -> None:
        """Attributes that are read off the belief."""
        belief, units, single = self.belief_, self.units_, self._single
        self.single_ = single
        same = np.ptp(units.unit) == 0.0
        self.kernel_ = in_users_units(belief.kernel, units.shared)
        self.target_scale_ = 1.0 if same else units.unit
        self.noise_scale_ = reading.noise_scale(belief, units, given, single)
        self.noise_kernel_ = process_kernel(belief)
        # Of the kernel in the user's units: α times it is unchanged.
        dual = belief.dual * (1.0 / units.unit if same else units.unit)
        self.alpha_ = dual[:, 0] if single else dual
        self.centres_ = belief.observations.X
        intercept, slopes = belief.mean.coefficients(belief.conditioned.coefficients)
        intercept, slopes = units.location + units.unit * intercept, (units.unit * slopes).T
        self.intercept_ = float(intercept[0]) if single else intercept
        self.mean_coef_ = slopes[0] if single else slopes
        self.outcomes_ = Outcomes.of_numbers(y, weights)
        self.log_evidence_ = log_evidence(belief, units)
        self.noise_stated_ = given.scale

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, noise: Any = None) -> Self:
        """The first rows as `fit` does; further ones by `update`."""
        if not hasattr(self, "units_"):
            return self.fit(X, y, sample_weight)
        return self.update(X, y, sample_weight, noise=noise)

    def update(self, X: Any, y: Any, sample_weight: Any = None, *, noise: Any = None) -> Self:
        """Learn from more rows, the hyperparameters staying as they are: the Cholesky factor grows, n² flops a row.

        noise : sd of the new rows, where `fit` was given one for each row
        """
        check_is_fitted(self, "units_")
        require_normal(self, "update")
        X, y = validated(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, reset=False)
        if (y.ndim == 1) != self.single_ or (y.ndim == 2 and y.shape[1] != self.units_.unit.size):
            raise ParameterError(f"{OWNER}.update", "y", f"of {self.units_.unit.size} targets, as in fit", y.shape)
        if len(self.theta_draws_):
            raise UnavailableError(
                "update keeps the hyperparameters, and these were integrated over.", remedy="Fit again with all rows."
            )
        weights = checked_weights(OWNER, sample_weight, X)
        w = np.ones(len(X)) if weights is None else weights
        s = reading.ratio(self.noise_stated_, noise, len(X), self.units_, f"{OWNER}.update")
        keep = w > 0.0
        rows = reading.rows_of(self.belief_, X[keep])
        z = self.units_.inside(np.asarray(y, dtype=np.float64).reshape(len(y), -1))
        self.belief_ = self.belief_.extended(rows, z[keep], s[keep], w[keep]).settled()
        outcomes = self.outcomes_.merge(Outcomes.of_numbers(y, weights))
        if np.ndim(self.noise_stated_):
            self.noise_stated_ = np.concatenate([self.noise_stated_, np.sqrt(s[keep]) * self.units_.common])
        self._single = self.single_
        self._read(np.asarray(y, dtype=np.float64), weights, Stated(self.noise_stated_))
        self.outcomes_ = outcomes
        return self

    # -- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Posterior mean, (m,) or (m, targets)."""
        X = checked_rows(self, X, dtype=np.float64)
        if hasattr(self, "latent_"):
            return self.latent_.latent(X)[0]
        mean = np.mean([part.latent_mean(reading.rows_of(part, X)) for part in reading.parts(self)], axis=0)
        mean = self.units_.outside(mean)
        return mean[:, 0] if self.single_ else mean

    def predict_distribution(self, X: Any, noise_scale: Any = None) -> Predictive:
        """`Predictive` of y at the rows of X: Normal; a mixture where hyperparameters were integrated over.

        noise_scale : sd of the noise there, a number or one for each row, in place of the model's; 0 gives the belief
            about the function. Needed where `fit` was given one for each row.
        """
        X = checked_rows(self, X, dtype=np.float64)
        if hasattr(self, "latent_"):
            if noise_scale is not None:
                require_normal(self, "noise_scale")
            return self.latent_.predictive(X)
        return reading.predictive(self, X, noise_scale)

    def predict_joint(self, X: Any, noise_scale: Any = None) -> MultivariateNormal:
        """The joint law of y at the rows of X, (m,); `noise_scale` as in `predict_distribution`. Cost n²m + nm²."""
        X = checked_rows(self, X, dtype=np.float64)
        require_normal(self, "predict_joint")
        return reading.joint(self, X, noise_scale)

    def predict_slope_distribution(self, X: Any, column: int) -> Predictive:
        """`Predictive` of ∂f/∂x_column, the mean's slope included, at the rows of X."""
        X = checked_rows(self, X, dtype=np.float64)
        require_normal(self, "predict_slope_distribution")
        return reading.slope_predictive(self, slope_rows(X, column))

    def noise_scale(self, X: Any) -> np.ndarray:
        """sd of the noise at the rows of X, (m,)."""
        X = checked_rows(self, X, dtype=np.float64)
        require_normal(self, "noise_scale")
        return np.sqrt(reading.noise_variance(self, self.belief_, X, None)[:, 0])

    def sample_paths(self, n: int = 1, *, prior: bool = False, random_state: Any = None, features: int = 2048) -> Any:
        """n draws of the function itself, each a function with values and slopes: see `Paths`."""
        check_is_fitted(self, "units_")
        require_normal(self, "sample_paths")
        from credo.models.gaussian_process.paths import paths_of

        return paths_of(self, n, prior=prior, features=features, rng=as_generator(random_state))

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def evidence_(self) -> Evidence:
        """log p(y | X), relative to a flat mean, at the hyperparameters that were learned, or over them by
        inference="laplace"."""
        check_is_fitted(self, "units_")
        if hasattr(self, "latent_"):
            learned = self.latent_.n_learned
            return Evidence(self.log_evidence_, self.outcomes_, float(learned), maximised=learned > 0)
        mean = self.belief_.mean
        improper = {"constant": {"intercept"}, "linear": {"intercept", "slopes"}}.get(mean.kind, set())
        learned = self.belief_.theta.size if self.optimizer is not None else 0
        integrated = getattr(getattr(self, "posterior_", None), "log_evidence", None)
        return Evidence(
            self.log_evidence_ if integrated is None else integrated, self.outcomes_,
            float(mean.n_coefficients * self.units_.unit.size + learned), frozenset(improper if mean.flat else ()),
            maximised=learned > 0 and integrated is None,
        )  # fmt: skip

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> LeaveOneOut:
        """log p(y_i | x_i, the other rows) of the rows of `fit`, in closed form at its hyperparameters; targets are
        summed. Hyperparameters that were integrated over are weighed again by what the row said of them."""
        check_is_fitted(self, "units_")
        X, y = validated(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, reset=False)
        if hasattr(self, "latent_"):
            return leave_one_out_robust(self, X, sample_weight)
        weights = checked_weights(OWNER, sample_weight, X)
        return LeaveOneOut(reading.leave_one_out(self, X, np.asarray(y).reshape(len(y), -1), weights))

    def law_draws(self, X: Any, noise_scale: Any = None, draws: int | None = None) -> LawDraws:
        """The law of y at the rows of X given each of 1000 draws of the function there."""
        X = checked_rows(self, X, dtype=np.float64)
        require_normal(self, "law_draws")
        values, sd = reading.function_draws(self, X, noise_scale, 1000 if draws is None else draws)
        weights = np.full(len(values), 1.0 / len(values))
        return LawDraws(weights, lambda rows: Normal(values[:, rows], sd[:, rows]), len(X))

    def sensitivity(self, X: Any) -> Any:
        """How far the predictions at X depend on hyperparameters and priors: see `reading.sensitivity`."""
        X = checked_rows(self, X, dtype=np.float64)
        require_normal(self, "sensitivity")
        return reading.sensitivity(self, X)


def _kept(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, given: Stated) -> tuple[Seen, Stated]:
    """Rows of positive weight."""
    w = np.ones(len(X)) if weights is None else weights
    keep = w > 0.0
    if np.ndim(given.scale):
        given = given._replace(scale=given.scale[keep])
    return Seen(X[keep], y.reshape(len(y), -1)[keep].astype(np.float64), w[keep]), given
