"""A Gaussian-process classifier of breast cancer (569 × 30, standardised), hyperparameters learned, by Laplace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

#: of the evidence, in nats: Laplace's own error is a hundred times that
EQUAL = 1e-3


def load(_: Path) -> tuple[Any, Any]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def credo(data: tuple[Any, Any]) -> tuple[float, float]:
    import credo as cr

    model = cr.GaussianProcessClassifier(4.0 * cr.kernels.RBF(5.0), inference="laplace").fit(*data)
    return model.kernel_.variance, model.kernel_.kernel.lengthscale


def scikit_learn(data: tuple[Any, Any]) -> tuple[float, float]:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    kernel = GaussianProcessClassifier(4.0 * RBF(5.0)).fit(*data).kernel_
    return kernel.k1.constant_value, kernel.k2.length_scale


def log_evidence(data: tuple[Any, Any], fitted: tuple[float, float]) -> float:
    """Of variance · RBF(lengthscale), by scikit-learn, for both."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    kernel = fitted[0] * RBF(fitted[1])
    return float(GaussianProcessClassifier(kernel, optimizer=None).fit(*data).log_marginal_likelihood_value_)


CASE = Case(
    question="A Gaussian-process classifier of breast cancer (569 × 30, standardised): hyperparameters learned from "
    "4·RBF(5) by Laplace's evidence, to an equal one, which scikit-learn computes of both. Credo also checks its "
    "Gaussian by importance weights (and warns that here they fail).",
    load=load,
    contestants=(
        Contestant("credo GaussianProcessClassifier", credo),
        Contestant("scikit-learn GaussianProcessClassifier", scikit_learn, requires=("scikit-learn",)),
    ),
    quality=Quality("log evidence", log_evidence, "higher", EQUAL),
    bars={"scikit-learn GaussianProcessClassifier": Bar("≥", 5)},
    repeats=5,
)
