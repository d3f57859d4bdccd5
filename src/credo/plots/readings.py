"""What pictures ask of a fitted Gaussian process, whatever its outcomes: a function of x, and what is believed of it.

Of numbers the function is f itself, of counts the rate E[y | f], of classes a probability. `reading` knows which.

Notation, of every reading
    kind : "real", "count" or "class" ; label : of the output that is shown, or None
    X (n, d), y (n,) : the rows that were seen, in the units that are drawn
    exact : whether the belief is exact, given the hyperparameters
    known(X, mass, prior) : `Known` at rows X (m, d)
    outcomes(X, mass, noise_scale) : the interval of new outcomes, or None where the function's says it all
    paths(X, n, prior) : n draws (n, m) of the function at all rows together, always the same
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, softmax

from credo.errors import ParameterError

__all__ = ["Known", "Reading", "column_names", "reading"]

# Of several classes quantiles of a probability have no closed form: this many draws of the functions at each row leave
# an error of a fiftieth of the spread.
DRAWS = 2000


class Known(NamedTuple):
    """mean, sd (m,) of the function at m rows, and the interval of it."""

    mean: np.ndarray
    sd: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def reading(owner: str, model: Any, output: Any = None) -> Reading:
    """How a fitted model is read.

    output : the number of one of several targets, or a class; None is the only target, the second of two classes, or
        the first of more

    Raises
    ------
    ParameterError : no Gaussian process of Credo, or no such output. NotFittedError : not fitted.
    """
    from sklearn.utils.validation import check_is_fitted

    from credo.models.gaussian_process.latent import LatentFit
    from credo.models.gaussian_process.latent_estimator import LatentEstimator
    from credo.models.gaussian_process.latent_softmax import SoftmaxFit
    from credo.models.gaussian_process.regression import GaussianProcessRegressor

    if not isinstance(model, (GaussianProcessRegressor, LatentEstimator)):
        raise ParameterError(
            owner, "model", "a Gaussian process: GaussianProcessRegressor, GaussianProcessClassifier or one of counts",
            model, "For other models use plots.predictive_band.",
        )  # fmt: skip
    check_is_fitted(model, "kernel_")
    # The places are made here, in the order of the columns of `fit`; their names scikit-learn would ask for.
    model = copy.copy(model)
    vars(model).pop("feature_names_in_", None)
    belief = getattr(model, "latent_", None) or model.belief_
    if isinstance(belief, SoftmaxFit):
        return _Softmax.of(owner, model, belief, output)
    if isinstance(belief, LatentFit):
        return _Latent.of(owner, model, belief, output)
    return _Normal.of(owner, model, output)


def column_names(model: Any) -> tuple[str, ...]:
    """Names that fit saw, else x0, x1, …; of one column x."""
    names = getattr(model, "feature_names_in_", None)
    d = int(model.n_features_in_)
    return tuple(map(str, names)) if names is not None else ("x",) if d == 1 else tuple(f"x{j}" for j in range(d))


def _root(covariance: np.ndarray) -> np.ndarray:
    """The symmetric root, of a matrix that may be singular: rows close together know each other's value."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _drawn(mean: np.ndarray, covariance: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, m) draws."""
    return mean + rng.standard_normal((n, mean.size)) @ _root(covariance)


@dataclass(frozen=True, eq=False)
class _Normal:
    """`GaussianProcessRegressor` with Normal noise: one belief, or several over hyperparameters."""

    model: Any
    target: int
    label: str | None
    X: np.ndarray
    y: np.ndarray
    kind: str = "real"
    exact: bool = True

    @classmethod
    def of(cls, owner: str, model: Any, output: Any) -> _Normal:
        targets = model.units_.unit.size
        if output is not None and not (
            isinstance(output, (int, np.integer)) and not isinstance(output, bool) and 0 <= output < targets
        ):
            raise ParameterError(owner, "output", f"the number of a target, 0 … {targets - 1}", output)
        if output is None and targets > 1:
            raise ParameterError(owner, "output", f"stated, 0 … {targets - 1}, of several targets", output)
        target, seen = int(output or 0), model.belief_.observations
        X, y = seen.X, model.units_.outside(seen.y)[:, target]
        if model.belief_.mean.sloped:
            values = X[:, -1] < 0
            X, y = X[values, :-1], y[values]
        return cls(model, target, None if targets == 1 else f"target {target}", X, y)

    def known(self, X: np.ndarray, mass: float, prior: bool = False) -> Known:
        p = self._prior(X) if prior else self.model.predict_distribution(X, noise_scale=0.0)
        lower, upper = p.interval(mass)
        return Known(*(self._own(each) for each in (p.mean, p.sd, lower, upper)))

    def _own(self, values: Any) -> np.ndarray:
        values = np.asarray(values, dtype=np.float64)
        return values if values.ndim == 1 else values[:, self.target]

    def outcomes(self, X: np.ndarray, mass: float, noise_scale: Any) -> tuple[np.ndarray, np.ndarray] | None:
        if noise_scale is None and np.ndim(self.model.noise_stated_):
            return None  # each row's noise was known; that of rows between them is not
        p = self.model.predict_distribution(X, noise_scale=noise_scale)
        lower, upper = p.interval(mass)
        return self._own(lower), self._own(upper)

    def _prior(self, X: np.ndarray) -> Any:
        from credo.models.gaussian_process.reading import parts
        from credo.prediction.mixture import MixturePredictive
        from credo.prediction.normal import NormalPredictive

        several = []
        for belief in parts(self.model):
            mean, covariance = self._before(belief, X, joint=False)
            several.append(NormalPredictive(mean, np.zeros(len(X)), covariance))
        return several[0] if len(several) == 1 else MixturePredictive(np.ones(len(several)), several)

    def _before(self, belief: Any, X: np.ndarray, joint: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mean (m,) and variance (m,) or covariance (m, m) before rows were seen.

        A flat mean has no prior; it stands where the rows put it, as in `sample_paths(prior=True)`.
        """
        from credo.models.gaussian_process.reading import rows_of

        rows, units, c = rows_of(belief, X), self.model.units_, belief.conditioned
        design = belief.mean.design(rows)
        mean = design @ (c.coefficients[:, self.target] if c.flat else c.location)
        covariance = belief.kernel(rows) if joint else belief.kernel.diagonal(rows)
        if design.shape[1] and not c.flat:
            half = design @ np.linalg.cholesky(np.linalg.inv(c.precision))
            covariance = covariance + (half @ half.T if joint else np.einsum("mq,mq->m", half, half))
        unit = units.unit[self.target]
        return units.location[self.target] + unit * mean, unit**2 * covariance

    def paths(self, X: np.ndarray, n: int, prior: bool = False) -> np.ndarray:
        from credo.models.gaussian_process.reading import parts, rows_of

        rng, several, units = np.random.default_rng(0), parts(self.model), self.model.units_
        chosen = np.unique(np.linspace(0, len(several) - 1, min(n, len(several))).round().astype(int)) if n else []
        counts = np.bincount(np.arange(n) % max(1, len(chosen)), minlength=len(chosen))
        drawn = [np.empty((0, len(X)))]
        for i, count in zip(chosen, counts.tolist(), strict=True):
            belief = several[i]
            if prior:
                mean, covariance = self._before(belief, X, joint=True)
            else:
                latent, covariance = belief.latent(rows_of(belief, X), joint=True)
                mean = units.outside(latent)[:, self.target]
                covariance = covariance * units.unit[self.target] ** 2
            drawn.append(_drawn(mean, covariance, count, rng))
        return np.concatenate(drawn)


@dataclass(frozen=True, eq=False)
class _Latent:
    """A process seen through a likelihood: two classes, counts, numbers with far outcomes."""

    model: Any
    fit: Any
    label: str | None
    X: np.ndarray
    y: np.ndarray
    kind: str
    turned: bool = False  # the first of two classes: 1 − P
    exact: bool = False

    @classmethod
    def of(cls, owner: str, model: Any, fit: Any, output: Any) -> _Latent:
        kind = fit.likelihood.kind
        if kind == "class":
            at = _class(owner, model.classes_, output, 1)
            return cls(model, fit, str(model.classes_[at]), fit.X, fit.y if at else 1.0 - fit.y, kind, at == 0)
        if output not in (None, 0):
            raise ParameterError(owner, "output", "None, of one target", output)
        exposure = np.exp(0.0 if fit.offset is None else fit.offset)
        return cls(model, fit, None, fit.X, fit.y / exposure if kind == "count" else fit.y, kind)

    def _at(self, X: np.ndarray, prior: bool) -> tuple[np.ndarray, np.ndarray]:
        if prior:
            return np.full(len(X), float(self.fit.mean)), self.fit.kernel.diagonal(X)
        return self.fit.latent(X)

    def _shown(self, f: np.ndarray) -> np.ndarray:
        if self.kind == "real":
            return f
        with np.errstate(over="ignore"):
            y = np.asarray(self.fit.likelihood.mean(f, self.fit.psi), dtype=np.float64)
        return 1.0 - y if self.turned else y

    def known(self, X: np.ndarray, mass: float, prior: bool = False) -> Known:
        mean, variance = self._at(X, prior)
        half = float(ndtri(0.5 * (1.0 + mass))) * np.sqrt(variance)
        ends = np.sort([self._shown(mean - half), self._shown(mean + half)], axis=0)  # the link is monotone
        if self.kind == "real":
            return Known(mean, np.sqrt(variance), *ends)
        likelihood, psi = self.fit.likelihood, self.fit.psi
        with np.errstate(over="ignore"):
            average = np.asarray(likelihood.predictive_mean(mean, variance, psi), dtype=np.float64)
            sd = np.sqrt(np.asarray(likelihood.epistemic(mean, variance, psi), dtype=np.float64))
        return Known(1.0 - average if self.turned else average, sd, *ends)

    def outcomes(self, X: np.ndarray, mass: float, noise_scale: Any) -> tuple[np.ndarray, np.ndarray] | None:
        if noise_scale is not None:
            raise ParameterError("plots", "noise_scale", "None: this noise is learned", noise_scale)
        if self.kind == "class":
            return None
        lower, upper = self.fit.predictive(X).interval(mass)
        return np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)

    def paths(self, X: np.ndarray, n: int, prior: bool = False) -> np.ndarray:
        mean, _ = self._at(X, prior)
        covariance = self.fit.kernel(X)
        if not prior:
            cross = self.fit.kernel(self.fit.X, X)
            covariance = covariance - cross.T @ self.fit.state.reduce(cross)
        return self._shown(_drawn(mean, covariance, n, np.random.default_rng(0)))


@dataclass(frozen=True, eq=False)
class _Softmax:
    """One of several classes."""

    model: Any
    fit: Any
    at: int
    label: str
    X: np.ndarray
    y: np.ndarray
    kind: str = "class"
    exact: bool = False

    @classmethod
    def of(cls, owner: str, model: Any, fit: Any, output: Any) -> _Softmax:
        at = _class(owner, model.classes_, output, 0)
        return cls(model, fit, at, str(model.classes_[at]), fit.X, (fit.codes == at).astype(np.float64))

    def known(self, X: np.ndarray, mass: float, prior: bool = False) -> Known:
        if prior:
            own = self.fit.kernel.diagonal(X)[:, None, None]
            mean, joint = np.tile(self.fit.mean, (len(X), 1)), own * np.eye(self.fit.n_classes)
        else:
            mean, joint = self.fit.latent(X)
        noise = np.random.default_rng(0).standard_normal((DRAWS, self.fit.n_classes))
        p = np.empty((DRAWS, len(X)))
        for i, each in enumerate(joint):
            p[:, i] = softmax(mean[i] + noise @ _root(each), axis=1)[:, self.at]
        lower, upper = np.quantile(p, [0.5 * (1.0 - mass), 0.5 * (1.0 + mass)], axis=0)
        average = p.mean(axis=0) if prior else self.model.predict_proba(X)[:, self.at]
        return Known(average, p.std(axis=0), lower, upper)

    def outcomes(self, X: np.ndarray, mass: float, noise_scale: Any) -> None:
        if noise_scale is not None:
            raise ParameterError("plots", "noise_scale", "None: classes have no noise", noise_scale)

    def paths(self, X: np.ndarray, n: int, prior: bool = False) -> np.ndarray:
        if not n:
            return np.empty((0, len(X)))
        if prior:
            root, rng = _root(self.fit.kernel(X)), np.random.default_rng(0)
            noise = rng.standard_normal((n, self.fit.n_classes, len(X)))
            f = self.fit.mean + np.swapaxes(noise @ root, 1, 2)
        else:
            f = self.fit.paths(X, n)
        return softmax(f, axis=-1)[..., self.at]


def _class(owner: str, classes: np.ndarray, output: Any, default: int) -> int:
    if output is None:
        return default
    found = [i for i, label in enumerate(classes.tolist()) if label == output or str(label) == str(output)]
    if not found:
        raise ParameterError(owner, "output", f"one of the classes {classes.tolist()}", output)
    return found[0]


#: what `reading` returns; all have the attributes and methods of the notation
Reading = _Normal | _Latent | _Softmax
