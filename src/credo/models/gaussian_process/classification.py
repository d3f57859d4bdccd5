"""`GaussianProcessClassifier`: belief about classes that vary smoothly with the features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit, ndtr
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from credo.distributions.categorical import Categorical
from credo.distributions.likelihoods import BernoulliLogit, BernoulliProbit, CategoricalLogit
from credo.errors import DataError, ParameterError
from credo.kernels import Kernel
from credo.models.columns import checked_rows, checked_weights, validated
from credo.models.evidence import Outcomes
from credo.models.gaussian_process.class_kernels import ClassKernels
from credo.models.gaussian_process.latent import LatentFit
from credo.models.gaussian_process.latent_estimator import LatentEstimator
from credo.models.gaussian_process.latent_evidence import LatentTask
from credo.models.gaussian_process.latent_softmax import SoftmaxFit
from credo.numerics.random import as_generator
from credo.prediction.classes import ClassPredictive
from credo.prediction.law_draws import LawDraws
from credo.saving.registry import register

__all__ = ["GaussianProcessClassifier"]

LINKS = {"logit": BernoulliLogit, "probit": BernoulliProbit}
DRAWS = 1000


@register
class GaussianProcessClassifier(ClassifierMixin, LatentEstimator):
    """Gaussian-process classification: P(y = 1 | x) = σ(f(x)), f ~ GP(m, k); of k classes softmax(f_1(x) … f_k(x)).

    The posterior of f is a Gaussian, by Laplace's method or by expectation propagation, and predictive probabilities
    are averages over it, never the plug-in σ(E f). Hyperparameters are where the evidence (and their priors) is
    highest.

    Parameters
    ----------
    kernel : a record of `cr.kernels`, its hyperparameters the start. None: 4 · Matérn 5/2 with a lengthscale for each
        column, under weak priors in the columns' own units. Several classes share it, unless it is a list: one kernel
        (or None) for each class in sorted order, each with hyperparameters of its own.
    inference : "laplace" or "ep"; "auto" is Laplace, and EP where the importance weights of Laplace's Gaussian fail
        (k̂ ≥ 0.7). EP of several classes is nested (an EP within each row).
    link : "logit" or "probit", of two classes; more have the softmax, of "logit"
    mean : of f a priori: "zero"; a number; "constant", learned: far from all rows P is then near the base rate
    optimizer : "auto" learns the hyperparameters; None keeps them
    n_restarts_optimizer : further starts of the search, scattered about the first
    random_state : of the restarts; nothing else is random

    Attributes
    ----------
    classes_ ; kernel_ : with the hyperparameters learned, a list where one a class was stated
    mean_ : of f, a number or (k,)
    log_evidence_ : log p(y | X, kernel_), approximated by the rung `result_.inference`
    result_ : certificate "pareto_k", "log_evidence_weighted" of 1,000 importance weights, "largest_slope" of the search
    belief_ : `LatentFit` or `SoftmaxFit` ; n_features_in_, feature_names_in_

    Raises
    ------
    ParameterError, DataError : a bad argument; bad rows, or one class.
    NumericalError : covariances that are not finite; more rows than memory holds matrices of.
    FitConvergenceWarning : the search, or EP, did not converge; or "laplace" was asked for and its check failed.

    Notes
    -----
    Each of some 10 to 30 evaluations costs about 4n³ (EP: 20n³; k classes: 10 k n³, EP: 70 k n³), at a dozen n × n
    arrays (5 k): up to some 5,000 rows. `sample_weight` counts rows.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, ch. 3 and 5; Minka (2001), UAI 17; Nickisch
    and Rasmussen (2008), JMLR 9; Riihimäki, Jylänki and Vehtari (2013), JMLR 14, for EP of several classes.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.gaussian_process.classification import GaussianProcessClassifier
    >>> X = np.linspace(-3, 3, 25)[:, None]; y = np.where(np.abs(X[:, 0]) < 1.2, "in", "out")
    >>> model = GaussianProcessClassifier().fit(X, y)
    >>> p = model.predict_distribution([[0.0], [1.2], [30.0]])
    >>> model.predict([[0.0], [2.5]]).tolist(), bool(p.epistemic[2] > p.epistemic[0])
    (['in', 'out'], True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        inference: str = "auto",
        link: str = "logit",
        mean: Any = "zero",
        optimizer: Any = "auto",
        n_restarts_optimizer: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.inference = inference
        self.link = link
        self.mean = mean
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X (n, d) and labels y (n,)."""
        self._options()
        if not (isinstance(self.link, str) and self.link in LINKS):
            raise ParameterError(self._owner, "link", f"one of {tuple(LINKS)}", self.link)
        mean, rng = self._constant(), as_generator(self.random_state)
        X, y = validated(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weights = checked_weights(self._owner, sample_weight, X)
        classes, codes = np.unique(y, return_inverse=True)
        if weights is not None:
            kept = weights > 0
            X, codes, weights = X[kept], codes[kept], weights[kept]
        self._require_classes(classes, codes)
        kernel: Any = self._start(X, weights)
        options: dict[str, Any] = {
            "optimize": self.optimizer is not None, "n_restarts": int(self.n_restarts_optimizer), "rng": rng,
        }  # fmt: skip
        with self._threads(len(X)):
            if classes.size == 2:
                task = LatentTask(kernel, LINKS[self.link](), X, codes.astype(np.float64), None, weights, mean)
                belief: Any = LatentFit.learn(task, inference=self.inference, **options)
            else:
                belief = SoftmaxFit.learn(
                    kernel, X, codes, classes.size, mean=mean, weights=weights, inference=self.inference, **options
                )
        self.classes_ = classes
        self._settle(belief, Outcomes.of_labels(classes[codes], weights))
        return self

    def _require_classes(self, classes: np.ndarray, codes: np.ndarray) -> None:
        seen = np.unique(codes).size
        if seen < 2:
            raise DataError(
                f"{self._owner} needs rows of two classes or more; y has one class.", value=classes,
                remedy="A class that is certain needs no model.",
            )  # fmt: skip
        if isinstance(self.kernel, (list, tuple)) and (classes.size == 2 or len(self.kernel) != classes.size):
            raise ParameterError(
                self._owner, "kernel", "one kernel for two classes, which have one function"
                if classes.size == 2 else f"one kernel, or a list of one for each of {classes.size} classes",
                self.kernel,
            )  # fmt: skip
        if classes.size > 2 and self.link == "probit":
            raise ParameterError(
                self._owner, "link", "'logit' for more than two classes: the multinomial probit has no closed form",
                self.link,
            )  # fmt: skip

    def _start(self, X: np.ndarray, weights: np.ndarray | None) -> Any:
        if not isinstance(self.kernel, (list, tuple)):
            return super()._start(X, weights)
        return ClassKernels(tuple(self._default(X, weights) if each is None else each for each in self.kernel))

    def _check_kernel(self) -> None:
        if not isinstance(self.kernel, (list, tuple)):
            super()._check_kernel()
        elif not all(each is None or isinstance(each, Kernel) for each in self.kernel):
            raise ParameterError(self._owner, "kernel", "a list of kernels, or None among them", self.kernel)

    def _settle(self, belief: Any, outcomes: Any) -> None:
        super()._settle(belief, outcomes)
        if isinstance(self.kernel_, ClassKernels):
            self.kernel_ = list(self.kernel_.kernels)

    def latent(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (q,) of f at the rows of X; of k classes means (q, k) and covariances (q, k, k)."""
        rows = checked_rows(self, X, dtype=np.float64)
        return self.belief_.latent(rows)

    def predict_distribution(self, X: Any) -> ClassPredictive:
        """`ClassPredictive`: probabilities averaged over f, their entropy split in aleatoric and epistemic."""
        mean, variance = self.latent(X)
        likelihood = self._likelihood()
        table = likelihood.predictive_probabilities(mean, variance)
        entropy = likelihood.expected_entropy(mean, variance)
        return ClassPredictive(table, self.classes_, entropy, self.result_.inference)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predictive probabilities (q, k), averaged over f, columns in the order of `classes_`."""
        mean, variance = self.latent(X)
        return self._likelihood().predictive_probabilities(mean, variance)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row (the first of ties)."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def law_draws(self, X: Any, draws: int | None = None) -> LawDraws:
        """Class probabilities at the rows of X, jointly, at a thousand draws of the functions, or `draws`."""
        X = checked_rows(self, X, dtype=np.float64)
        self._joint(len(X) * (1 if self.classes_.size == 2 else self.classes_.size), "law_draws")
        n = draws or DRAWS
        paths = self.belief_.paths(X, n)
        if paths.ndim == 3:
            softmax = CategoricalLogit(self.classes_.size)
            return LawDraws(np.full(n, 1.0 / n), lambda rows: Categorical(softmax.mean(paths[:, rows])), len(X),
                            self.classes_)  # fmt: skip
        inverse = expit if self.link == "logit" else ndtr

        def law(rows: np.ndarray) -> Categorical:
            f = paths[:, rows]
            return Categorical(np.stack([inverse(-f), inverse(f)], axis=-1))

        return LawDraws(np.full(n, 1.0 / n), law, len(X), self.classes_)

    def _likelihood(self) -> Any:
        return LINKS[self.link]() if self.classes_.size == 2 else CategoricalLogit(self.classes_.size)
