"""A whole fit of a Gaussian process to 500 rows of 5 columns, hyperparameters learned, to an evidence as good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

#: of the evidence, in nats: less than a thousandth of what would count as a difference between hypotheses
EQUAL = 1e-2
Fitted = tuple[float, list[float], float]


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.standard_normal(500)
    return X, (y - y.mean()) / y.std()


def credo(data: tuple[Any, Any]) -> Fitted:
    import numpy as np

    import credo as cr

    kernel = 1.0 * cr.kernels.Matern(np.ones(5), nu=2.5)
    model = cr.GaussianProcessRegressor(kernel, learn="evidence", mean=None).fit(*data)
    return model.kernel_.variance, list(model.kernel_.kernel.lengthscale), model.noise_scale_**2


def scikit_learn(data: tuple[Any, Any]) -> Fitted:
    import numpy as np
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern, WhiteKernel

    kernel = 1.0 * Matern(np.ones(5), nu=2.5) + WhiteKernel(0.1)
    found = GaussianProcessRegressor(kernel).fit(*data).kernel_
    return found.k1.k1.constant_value, list(found.k1.k2.length_scale), found.k2.noise_level


def log_evidence(data: tuple[Any, Any], fitted: Fitted) -> float:
    """Of what either found, by scikit-learn."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern, WhiteKernel

    variance, lengthscale, noise = fitted
    kernel = variance * Matern(lengthscale, nu=2.5) + WhiteKernel(noise)
    return float(GaussianProcessRegressor(kernel, optimizer=None).fit(*data).log_marginal_likelihood_value_)


CASE = Case(
    question="A Gaussian process of 500 rows and 5 columns, Matérn 5/2 with a lengthscale a column and learned noise: "
    "the whole fit, to an evidence as good, which scikit-learn computes of both.",
    load=load,
    contestants=(
        Contestant("credo GaussianProcessRegressor", credo),
        Contestant("scikit-learn GaussianProcessRegressor", scikit_learn, requires=("scikit-learn",)),
    ),
    quality=Quality("log evidence", log_evidence, "higher", EQUAL),
    bars={"scikit-learn GaussianProcessRegressor": Bar("≥", 5)},
    repeats=5,
)
